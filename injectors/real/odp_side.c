// SPDX-License-Identifier: GPL-2.0
/* One side of the connection: device, region, queue pair. */
#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "injectors/real/odp.h"
#include "lib/base/clock.h"

#define QUEUE_DEPTH 16
#define PIECE	    ((size_t)1 << 30) /* the kernel's length of a piece has 32 bits */
#define POLL_NS	    (20 * NSEC_PER_USEC)
#define PATIENCE_NS (60 * NSEC_PER_SEC) /* without any completion */

#define REMOTE                                                                       \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | \
	 IBV_ACCESS_REMOTE_ATOMIC)

static int open_device(struct odp_side *side)
{
	const char *wanted = side->options->device;
	struct ibv_device **list;
	int count = 0;

	list = ibv_get_device_list(&count);
	for (int i = 0; list && i < count && !side->context; i++)
		if (!strcmp(ibv_get_device_name(list[i]), wanted))
			side->context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!side->context)
		return failed(-ENODEV,
			      "%s cannot be opened: is the verbs provider of this device "
			      "installed (Debian: ibverbs-providers)?",
			      wanted);
	return 0;
}

/* RoCE takes any of its addresses; one of IPv4 works wherever the device stands. */
static int choose_gid(struct odp_side *side)
{
	static const unsigned char ipv4[12] = {[10] = 0xff, [11] = 0xff};
	struct ibv_port_attr port;
	int wanted = side->options->gid, found = wanted;

	if (ibv_query_port(side->context, 1, &port))
		return failed(-EIO, "%s: its port cannot be asked", side->options->device);
	if (port.state != IBV_PORT_ACTIVE)
		return failed(-ENETDOWN, "%s: its port is not active; is the network device up?",
			      side->options->device);
	for (int i = 0; wanted < 0 && found < 0 && i < port.gid_tbl_len; i++)
		if (!ibv_query_gid(side->context, 1, i, &side->own.gid) &&
		    !memcmp(side->own.gid.raw, ipv4, sizeof(ipv4)))
			found = i;
	if (found < 0)
		found = 0;
	if (ibv_query_gid(side->context, 1, found, &side->own.gid))
		return failed(-EINVAL, "--gid %d: %s has no such address", found,
			      side->options->device);
	side->gid = found;
	return 0;
}

static int check_on_demand(const struct odp_side *side)
{
	struct ibv_device_attr_ex attributes;

	memset(&attributes, 0, sizeof(attributes));
	if (ibv_query_device_ex(side->context, NULL, &attributes) ||
	    !(attributes.odp_caps.general_caps & IBV_ODP_SUPPORT))
		return failed(-EOPNOTSUPP,
			      "%s does not page on demand: soft-RoCE does from Linux 6.15 on; "
			      "--pinned shows the same traffic without",
			      side->options->device);
	return 0;
}

static int register_region(struct odp_side *side, bool on_demand)
{
	int err = on_demand ? check_on_demand(side) : 0;

	if (err)
		return err;
	side->region = ibv_reg_mr(side->domain, side->memory.start, side->memory.bytes,
				  REMOTE | (on_demand ? IBV_ACCESS_ON_DEMAND : 0));
	if (!side->region)
		return failed(-errno, "%s: registering %zu bytes: %s", side->options->device,
			      side->memory.bytes, strerror(errno));
	side->own.memory = (__u64)side->memory.start;
	side->own.key = side->region->rkey;
	return 0;
}

static int make_queue_pair(struct odp_side *side)
{
	struct ibv_qp_init_attr wanted = {
		.qp_type = IBV_QPT_RC,
		.cap = {QUEUE_DEPTH, QUEUE_DEPTH, 1, 1, 0},
	};
	struct ibv_qp_attr ready = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = REMOTE,
	};

	side->domain = ibv_alloc_pd(side->context);
	side->completions = ibv_create_cq(side->context, 2 * QUEUE_DEPTH, NULL, NULL, 0);
	if (!side->domain || !side->completions)
		return failed(-errno, "%s: no protection domain or completion queue: %s",
			      side->options->device, strerror(errno));
	wanted.send_cq = wanted.recv_cq = side->completions;
	side->queue_pair = ibv_create_qp(side->domain, &wanted);
	if (!side->queue_pair ||
	    ibv_modify_qp(side->queue_pair, &ready,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return failed(-errno, "%s: no queue pair: %s", side->options->device,
			      strerror(errno));
	side->own.queue_pair = side->queue_pair->qp_num;
	return 0;
}

static void odp_side_fill(const struct odp_side *side, __u64 seed)
{
	__u64 *words = (__u64 *)side->memory.start;

	/* Different in every word, so that data at a wrong place is seen. */
	for (size_t i = 0; i < side->memory.bytes / sizeof(*words); i++)
		words[i] = (i + 1) * 0x9e3779b97f4a7c15ull ^ seed << 48;
}

/* From one operation's memory to the next. */
static size_t odp_stride(const struct odp_options *options)
{
	return (options->offset + options->message + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

size_t odp_bytes(const struct odp_options *options)
{
	return odp_stride(options) * options->count;
}

int odp_side_open(struct odp_side *side, const struct odp_options *options, bool on_demand,
		  __u64 seed)
{
	int err;

	memset(side, 0, sizeof(*side));
	side->options = options;
	side->stride = odp_stride(options);
	side->memory.bytes = odp_bytes(options);
	err = odp_memory_open(&side->memory, options);
	if (!err)
		odp_side_fill(side, seed);
	err = err ? err : open_device(side);
	err = err ? err : choose_gid(side);
	err = err ? err : make_queue_pair(side);
	err = err ? err : register_region(side, on_demand);
	return err;
}

void odp_side_close(struct odp_side *side)
{
	if (side->queue_pair)
		ibv_destroy_qp(side->queue_pair);
	if (side->completions)
		ibv_destroy_cq(side->completions);
	if (side->region)
		ibv_dereg_mr(side->region);
	if (side->domain)
		ibv_dealloc_pd(side->domain);
	if (side->context)
		ibv_close_device(side->context);
	if (side->options)
		odp_memory_close(&side->memory);
	memset(side, 0, sizeof(*side));
}

static enum ibv_mtu mtu_code(__u32 bytes)
{
	return (enum ibv_mtu)(__builtin_ctz(bytes) - 7); /* 256 is IBV_MTU_256, 1 */
}

int odp_side_connect(struct odp_side *side, const struct odp_address *peer)
{
	const struct odp_options *o = side->options;
	struct ibv_qp_attr receive = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_code(o->mtu),
		.dest_qp_num = peer->queue_pair,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = o->rnr_timer,
		.ah_attr = {.is_global = 1, .port_num = 1},
	};
	struct ibv_qp_attr send = {
		.qp_state = IBV_QPS_RTS,
		.timeout = o->timeout,
		.retry_cnt = o->retries,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	receive.ah_attr.grh.dgid = peer->gid;
	receive.ah_attr.grh.sgid_index = (__u8)side->gid;
	receive.ah_attr.grh.hop_limit = 1;
	if (ibv_modify_qp(side->queue_pair, &receive,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return failed(-errno, "%s: cannot be made ready to receive at MTU %u: %s",
			      o->device, o->mtu, strerror(errno));
	if (ibv_modify_qp(side->queue_pair, &send,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		return failed(-errno, "%s: cannot be made ready to send: %s", o->device,
			      strerror(errno));
	return 0;
}

char *odp_side_at(const struct odp_side *side, __u64 number)
{
	return side->memory.start + number * side->stride + side->options->offset;
}

__u64 odp_side_sum(const struct odp_side *side, __u64 number)
{
	const unsigned char *bytes = (const unsigned char *)odp_side_at(side, number);
	__u64 sum = 0xcbf29ce484222325ull;

	for (__u64 i = 0; i < side->options->message; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3ull;
	return sum;
}

int odp_side_receive(struct odp_side *side, __u64 number)
{
	struct ibv_sge where = {
		.addr = (__u64)odp_side_at(side, number),
		.length = (__u32)side->options->message,
		.lkey = side->region->lkey,
	};
	struct ibv_recv_wr request = {.wr_id = number, .sg_list = &where, .num_sge = 1};
	struct ibv_recv_wr *bad;
	int err = ibv_post_recv(side->queue_pair, &request, &bad);

	return err ? failed(-err, "posting a receive: %s", strerror(err)) : 0;
}

int odp_side_wait(struct odp_side *side)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	__u64 patience_ns = monotonic_ns() + PATIENCE_NS + 2 * side->options->late_ns;
	struct ibv_wc done;
	int count;

	while (!(count = ibv_poll_cq(side->completions, 1, &done))) {
		if (verb_stop)
			return failed(-EINTR, "interrupted");
		if (monotonic_ns() > patience_ns)
			return failed(-ETIMEDOUT, "%s: no completion in %llu s",
				      side->options->device, PATIENCE_NS / NSEC_PER_SEC);
		nanosleep(&pause, NULL);
	}
	if (count < 0)
		return failed(-EIO, "%s: its completion queue cannot be read",
			      side->options->device);
	return (int)done.status;
}

static struct ib_uverbs_attr odp_side_attribute(__u16 id, __u16 length, __u64 data)
{
	return (struct ib_uverbs_attr){
		.attr_id = id,
		.len = length,
		.flags = UVERBS_ATTR_F_MANDATORY,
		.data = data,
	};
}

/* rxe's provider library knows nothing of advice, though its driver does: asked without the library. */
static int advise_rxe(const struct odp_side *side, bool write, const struct ibv_sge *pieces,
		      int count)
{
	/* The kernel's own struct has the same layout. */
	_Static_assert(sizeof(*pieces) == sizeof(struct ib_uverbs_sge), "as the kernel's");
	struct {
		struct ib_uverbs_ioctl_hdr header;
		struct ib_uverbs_attr attributes[4];
	} command = {
		.header =
			{
				.length = sizeof(command),
				.object_id = UVERBS_OBJECT_MR,
				.method_id = UVERBS_METHOD_ADVISE_MR,
				.num_attrs = 4,
				.driver_id = RDMA_DRIVER_RXE,
			},
	};

	command.attributes[0] =
		odp_side_attribute(UVERBS_ATTR_ADVISE_MR_PD_HANDLE, 0, side->domain->handle);
	command.attributes[1] = odp_side_attribute(UVERBS_ATTR_ADVISE_MR_ADVICE, sizeof(__u64),
						   write ? IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE
							 : IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH);
	command.attributes[2] = odp_side_attribute(UVERBS_ATTR_ADVISE_MR_FLAGS, sizeof(__u32),
						   IB_UVERBS_ADVISE_MR_FLAG_FLUSH);
	command.attributes[3] =
		odp_side_attribute(UVERBS_ATTR_ADVISE_MR_SGE_LIST,
				   (__u16)((size_t)count * sizeof(*pieces)), (__u64)pieces);
	return ioctl(side->context->cmd_fd, RDMA_VERBS_IOCTL, &command) ? errno : 0;
}

int odp_side_pieces(const struct odp_side *side, struct ibv_sge pieces[ODP_PIECES])
{
	int count = 0;

	for (size_t at = 0; at < side->memory.bytes && count < ODP_PIECES; at += PIECE) {
		size_t left = side->memory.bytes - at;

		pieces[count++] = (struct ibv_sge){
			.addr = (__u64)side->memory.start + at,
			.length = (__u32)(left < PIECE ? left : PIECE),
			.lkey = side->region->lkey,
		};
	}
	return count;
}

int odp_side_prefetch(struct odp_side *side, bool write)
{
	struct ibv_sge pieces[ODP_PIECES];
	int count = odp_side_pieces(side, pieces);
	int err = ibv_advise_mr(side->domain,
				write ? IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE
				      : IBV_ADVISE_MR_ADVICE_PREFETCH,
				IBV_ADVISE_MR_FLAG_FLUSH, pieces, (__u32)count);

	if (err == EOPNOTSUPP)
		err = advise_rxe(side, write, pieces, count);
	return err ? failed(-err, "%s: prefetch by advice: %s", side->options->device,
			    strerror(err))
		   : 0;
}
