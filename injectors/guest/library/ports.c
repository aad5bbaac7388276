// SPDX-License-Identifier: GPL-2.0
/* What a program asks of a device and its one port. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "injectors/emu/rdma/packets.h"
#include "injectors/guest/library/attributes.h"
#include "injectors/guest/library/library.h"

#define PKEY_DEFAULT 0xffff

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attributes)
{
	const struct library_device *device = device_of_context(context);
	const struct verbs_limits *limits = &device->limits;

	*attributes = (struct ibv_device_attr){
		.fw_ver = "1.0",
		.node_guid = htobe64(device->hello->guid),
		.sys_image_guid = htobe64(device->hello->guid),
		.max_mr_size = device->hello->share_bytes,
		.page_size_cap = 4096,
		.hw_ver = 1,
		.max_qp = (int)limits->queue_pairs,
		.max_qp_wr = (int)limits->depth,
		.device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN,
		.max_sge = (int)limits->pieces,
		.max_sge_rd = (int)limits->pieces,
		.max_cq = (int)limits->queues,
		.max_cqe = (int)limits->depth,
		.max_mr = (int)limits->regions,
		.max_pd = 65535,
		.max_qp_rd_atom = RDMA_READS_MAX,
		.max_qp_init_rd_atom = RDMA_READS_MAX,
		.max_res_rd_atom = RDMA_READS_MAX * (int)limits->queue_pairs,
		.atomic_cap = IBV_ATOMIC_NONE,
		.max_srq = VERBS_SRQS_MAX,
		.max_srq_wr = (int)limits->depth,
		.max_srq_sge = (int)limits->pieces,
		.max_pkeys = 1,
		.phys_port_cnt = 1,
	};
	return 0;
}

static uint16_t lid_of(const struct library_device *device)
{
	return (uint16_t)(device->hello->device + 1);
}

int library_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attributes,
		       size_t size)
{
	const struct library_device *device = device_of_context(context);
	struct ibv_port_attr all = {
		.state = library_host_gone(device) ? IBV_PORT_DOWN : IBV_PORT_ACTIVE,
		.max_mtu = mtu_of_bytes(device->hello->mtu),
		.active_mtu = mtu_of_bytes(device->hello->mtu),
		.gid_tbl_len = 1,
		.max_msg_sz = VERBS_MESSAGE_MAX,
		.pkey_tbl_len = 1,
		.lid = lid_of(device),
		.sm_lid = lid_of(device),
		.max_vl_num = 1,
		.active_width = 2, /* 4x ... */
		.active_speed =
			4, /* ... of 10 Gb/s each: what programs print, not what the device does */
		.phys_state = 5, /* LinkUp */
		.link_layer = IBV_LINK_LAYER_INFINIBAND,
	};

	if (port != 1)
		return EINVAL;
	memset(attributes, 0, size);
	memcpy(attributes, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

/* Programs that were built before query_port of struct verbs_context. */
#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port,
		   struct _compat_ibv_port_attr *attributes)
{
	return library_query_port(context, port, (struct ibv_port_attr *)attributes,
				  offsetof(struct ibv_port_attr, port_cap_flags2));
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	if (port != 1 || index != 0) {
		errno = EINVAL;
		return -1;
	}
	gid->global.subnet_prefix = htobe64(0xfe80000000000000ull);
	gid->global.interface_id = htobe64(device_of_context(context)->hello->guid);
	return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	struct ibv_gid_entry all = {.port_num = 1, .gid_type = IBV_GID_TYPE_IB};

	if (flags || port != 1 || index)
		return EINVAL;
	(void)ibv_query_gid(context, 1, 0, &all.gid);
	memset(entry, 0, size);
	memcpy(entry, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t most, uint32_t flags, size_t size)
{
	int error = most ? _ibv_query_gid_ex(context, 1, 0, entries, flags, size) : EINVAL;

	return error ? -error : 1;
}

/* Of libibverbs' own users: 0 is IB_UVERBS's and sysfs's value of what is no RoCE version 2. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
		       unsigned int *type);
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
		       unsigned int *type)
{
	(void)context;
	if (port != 1 || index) {
		errno = EINVAL;
		return -1;
	}
	*type = 0;
	return 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	(void)context;
	if (port != 1 || index != 0) {
		errno = EINVAL;
		return -1;
	}
	*pkey = htobe16(PKEY_DEFAULT);
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	(void)context;
	if (port == 1 && be16toh(pkey) == PKEY_DEFAULT)
		return 0;
	errno = EINVAL;
	return -1;
}

/* Registered pages are shared with a child, not copied on write: there is nothing to protect. */
int ibv_fork_init(void)
{
	return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}
