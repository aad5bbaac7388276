// SPDX-License-Identifier: GPL-2.0
/* What each message of a front-end does, all but those that set up a queue (vhost_vring.c). */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "injectors/emu/memory_views.h"
#include "injectors/emu/vhost/vhost_private.h"

#define BIT(number)	(1ull << (number))
#define MESSAGE_REFUSED 1 /* told if it was asked, and no reason to hang up */
#define IOTLB_PROTOCOL \
	(BIT(VHOST_USER_PROTOCOL_F_BACKEND_REQ) | BIT(VHOST_USER_PROTOCOL_F_REPLY_ACK))

__u64 vhost_offered(const struct vhost *vhost)
{
	__u64 offered = BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_RING_F_INDIRECT_DESC) |
			BIT(VIRTIO_RING_F_EVENT_IDX) | BIT(VHOST_USER_F_PROTOCOL_FEATURES) |
			vhost->config.model->features | vhost->config.features;

	return offered | (vhost->config.iommu ? BIT(VIRTIO_F_ACCESS_PLATFORM) : 0);
}

static __u64 protocol_offered(const struct vhost *vhost)
{
	__u64 offered = BIT(VHOST_USER_PROTOCOL_F_MQ) | BIT(VHOST_USER_PROTOCOL_F_REPLY_ACK) |
			BIT(VHOST_USER_PROTOCOL_F_BACKEND_REQ) |
			BIT(VHOST_USER_PROTOCOL_F_INFLIGHT_SHMFD) |
			BIT(VHOST_USER_PROTOCOL_F_RESET_DEVICE);

	return offered |
	       (vhost->config.model->config_bytes ? BIT(VHOST_USER_PROTOCOL_F_CONFIG) : 0);
}

int vhost_reply(struct vhost *vhost, struct vhost_user_message *message, __u32 bytes, int file)
{
	message->header.flags = VHOST_USER_VERSION | VHOST_USER_FLAG_REPLY;
	message->header.bytes = bytes;
	return vhost_send(vhost->connected, message, file);
}

static int reply_number(struct vhost *vhost, struct vhost_user_message *message, __u64 number)
{
	message->payload.number = number;
	return vhost_reply(vhost, message, sizeof(number), -1);
}

static int get_features(struct vhost *vhost, struct vhost_user_message *message,
			struct vhost_files *files)
{
	(void)files;
	return reply_number(vhost, message, vhost_offered(vhost));
}

static int set_features(struct vhost *vhost, struct vhost_user_message *message,
			struct vhost_files *files)
{
	__u64 strange = message->payload.number & ~vhost_offered(vhost);

	(void)files;
	if (message->payload.number & BIT(VIRTIO_F_ACCESS_PLATFORM) &&
	    (vhost->protocol_features & IOTLB_PROTOCOL) != IOTLB_PROTOCOL)
		return failed(-EPROTO, "VIRTIO_F_ACCESS_PLATFORM without the protocol's "
				       "BACKEND_REQ and REPLY_ACK, by which an IOMMU is asked");
	if (strange)
		return failed(-EPROTO, "features 0x%llx, of which 0x%llx are not offered%s",
			      message->payload.number, strange,
			      strange & BIT(VIRTIO_F_RING_PACKED) ? " (packed rings)" : "");
	vrings_hold(vhost);
	vhost->features = message->payload.number;
	vrings_resume(vhost);
	return 0;
}

static int get_protocol_features(struct vhost *vhost, struct vhost_user_message *message,
				 struct vhost_files *files)
{
	(void)files;
	return reply_number(vhost, message, protocol_offered(vhost));
}

static int set_protocol_features(struct vhost *vhost, struct vhost_user_message *message,
				 struct vhost_files *files)
{
	__u64 strange = message->payload.number & ~protocol_offered(vhost);

	(void)files;
	if (strange)
		return failed(-EPROTO, "protocol features 0x%llx, of which 0x%llx are not offered",
			      message->payload.number, strange);
	vhost->protocol_features = message->payload.number;
	return 0;
}

static int set_owner(struct vhost *vhost, struct vhost_user_message *message,
		     struct vhost_files *files)
{
	(void)vhost;
	(void)message;
	(void)files;
	return 0;
}

static int reset_device(struct vhost *vhost, struct vhost_user_message *message,
			struct vhost_files *files)
{
	(void)message;
	(void)files;
	vrings_reset(vhost);
	vhost_iotlb_forget(vhost);
	return 0;
}

/* QEMU says of memory that was plugged in where in its own part it lies; who is no QEMU says where in the file. */
static void regions_place(const struct vhost *vhost, struct memory_table *table)
{
	for (__u32 i = 0; i < table->count; i++)
		(void)guest_memory_of_view(vhost->config.memory, table->region[i].user,
					   table->region[i].bytes, &table->region[i].file_offset);
}

/* In mid-flight, too: what is parked holds nothing, and looks its addresses up anew. */
static int set_mem_table(struct vhost *vhost, struct vhost_user_message *message,
			 struct vhost_files *files)
{
	const struct vhost_user_memory *memory = &message->payload.memory;
	struct memory_table table;
	int error;

	if (message->header.bytes < 8 ||
	    message->header.bytes < 8 + memory->count * sizeof(memory->region[0]))
		return failed(-EPROTO, "a memory table of %u regions in %u bytes", memory->count,
			      message->header.bytes);
	error = memory_table_read(&table, memory, files->file, files->count,
				  guest_memory_file(vhost->config.memory), vhost->bytes);
	if (error)
		return error;
	regions_place(vhost, &table);
	vrings_hold(vhost);
	pthread_mutex_lock(&vhost->lock);
	vhost->table = table;
	pthread_mutex_unlock(&vhost->lock);
	vhost_iotlb_forget(vhost);
	vrings_resume(vhost);
	return 0;
}

static int get_queue_num(struct vhost *vhost, struct vhost_user_message *message,
			 struct vhost_files *files)
{
	(void)files;
	return reply_number(vhost, message,
			    vhost->config.announced ? vhost->config.announced
						    : vhost->config.queues);
}

static int set_backend_req_fd(struct vhost *vhost, struct vhost_user_message *message,
			      struct vhost_files *files)
{
	int backend = vhost_files_take(files, 0);

	(void)message;
	if (backend < 0)
		return failed(-EPROTO, "SET_BACKEND_REQ_FD without a descriptor");
	vhost_iotlb_channel(vhost, backend);
	return 0;
}

static int iotlb_message(struct vhost *vhost, struct vhost_user_message *message,
			 struct vhost_files *files)
{
	(void)files;
	return vhost_iotlb_message(vhost, &message->payload.iotlb);
}

/* What the front-end asks for that is not there is an answer without content. */
static int get_config(struct vhost *vhost, struct vhost_user_message *message,
		      struct vhost_files *files)
{
	const struct vhost_model *model = vhost->config.model;
	struct vhost_user_config *config = &message->payload.config;
	unsigned char space[VHOST_USER_CONFIG] = {0};
	__u32 offset = config->offset, bytes = config->bytes;

	(void)files;
	if (message->header.bytes < VHOST_USER_CONFIG_HEAD || offset > VHOST_USER_CONFIG ||
	    bytes > VHOST_USER_CONFIG - offset ||
	    message->header.bytes != VHOST_USER_CONFIG_HEAD + bytes)
		return failed(-EPROTO, "GET_CONFIG of %u bytes at %u in %u bytes", bytes, offset,
			      message->header.bytes);
	if (!model->config)
		return vhost_reply(vhost, message, 0, -1);
	model->config(vhost->config.argument, space);
	memcpy(config->space, space + offset, bytes);
	return vhost_reply(vhost, message, VHOST_USER_CONFIG_HEAD + bytes, -1);
}

static int set_config(struct vhost *vhost, struct vhost_user_message *message,
		      struct vhost_files *files)
{
	(void)files;
	(void)vhost;
	(void)message;
	return MESSAGE_REFUSED; /* nothing of a model can be set: a guest may try */
}

static int get_inflight_fd(struct vhost *vhost, struct vhost_user_message *message,
			   struct vhost_files *files)
{
	struct vhost_user_inflight *inflight = &message->payload.inflight;
	__u64 bytes;
	int file, error;

	(void)files;
	if (message->header.bytes < VHOST_USER_INFLIGHT_BYTES)
		return failed(-EPROTO, "GET_INFLIGHT_FD of %u bytes", message->header.bytes);
	file = inflight_make(inflight->queues, inflight->queue_size, &bytes);
	if (file < 0)
		return file == -EINVAL ? -EPROTO : file;
	inflight->bytes = bytes;
	inflight->offset = 0;
	error = vhost_reply(vhost, message, sizeof(*inflight), file);
	close(file);
	return error;
}

static int set_inflight_fd(struct vhost *vhost, struct vhost_user_message *message,
			   struct vhost_files *files)
{
	const struct vhost_user_inflight *given = &message->payload.inflight;
	struct inflight *inflight;
	int error;

	if (message->header.bytes < VHOST_USER_INFLIGHT_BYTES || files->count != 1)
		return failed(-EPROTO, "SET_INFLIGHT_FD of %u bytes and %u descriptors",
			      message->header.bytes, files->count);
	for (__u16 i = 0; i < vhost->config.queues; i++)
		if (vhost->queue[i].started)
			return failed(-EPROTO, "SET_INFLIGHT_FD while queue %u runs", i);
	error = inflight_map(&inflight, files->file[0], given->bytes, given->offset, given->queues,
			     given->queue_size);
	if (error)
		return error;
	inflight_unmap(vhost->inflight);
	vhost->inflight = inflight;
	return 0;
}

struct vhost_message_kind {
	const char *name;
	vhost_handler *handle;
	__u32 bytes; /* of the payload; 0 with `any`: the handler looks */
	__u32 files; /* at most */
	bool any;
	bool replies; /* by itself */
};

#define NUMBER	sizeof(__u64)
#define STATE	sizeof(struct vhost_user_vring_state)
#define ADDRESS sizeof(struct vhost_user_vring_address)
#define IOTLB	sizeof(struct vhost_user_iotlb)

static const struct vhost_message_kind kinds[VHOST_USER_REQUESTS] = {
	[VHOST_USER_GET_FEATURES] = {"GET_FEATURES", get_features, .replies = true},
	[VHOST_USER_SET_FEATURES] = {"SET_FEATURES", set_features, NUMBER},
	[VHOST_USER_SET_OWNER] = {"SET_OWNER", set_owner},
	[VHOST_USER_RESET_OWNER] = {"RESET_OWNER", reset_device},
	[VHOST_USER_SET_MEM_TABLE] = {"SET_MEM_TABLE", set_mem_table, .files = VHOST_MESSAGE_FILES,
				      .any = true},
	[VHOST_USER_SET_VRING_NUM] = {"SET_VRING_NUM", vhost_set_vring_num, STATE},
	[VHOST_USER_SET_VRING_ADDR] = {"SET_VRING_ADDR", vhost_set_vring_addr, ADDRESS},
	[VHOST_USER_SET_VRING_BASE] = {"SET_VRING_BASE", vhost_set_vring_base, STATE},
	[VHOST_USER_GET_VRING_BASE] = {"GET_VRING_BASE", vhost_get_vring_base, STATE,
				       .replies = true},
	[VHOST_USER_SET_VRING_KICK] = {"SET_VRING_KICK", vhost_set_vring_kick, NUMBER, 1},
	[VHOST_USER_SET_VRING_CALL] = {"SET_VRING_CALL", vhost_set_vring_call, NUMBER, 1},
	[VHOST_USER_SET_VRING_ERR] = {"SET_VRING_ERR", vhost_set_vring_err, NUMBER, 1},
	[VHOST_USER_GET_PROTOCOL_FEATURES] = {"GET_PROTOCOL_FEATURES", get_protocol_features,
					      .replies = true},
	[VHOST_USER_SET_PROTOCOL_FEATURES] = {"SET_PROTOCOL_FEATURES", set_protocol_features,
					      NUMBER},
	[VHOST_USER_GET_QUEUE_NUM] = {"GET_QUEUE_NUM", get_queue_num, .replies = true},
	[VHOST_USER_SET_VRING_ENABLE] = {"SET_VRING_ENABLE", vhost_set_vring_enable, STATE},
	[VHOST_USER_SET_BACKEND_REQ_FD] = {"SET_BACKEND_REQ_FD", set_backend_req_fd, .files = 1,
					   .any = true},
	[VHOST_USER_IOTLB_MSG] = {"IOTLB_MSG", iotlb_message, IOTLB},
	[VHOST_USER_GET_CONFIG] = {"GET_CONFIG", get_config, .any = true, .replies = true},
	[VHOST_USER_SET_CONFIG] = {"SET_CONFIG", set_config, .any = true},
	[VHOST_USER_GET_INFLIGHT_FD] = {"GET_INFLIGHT_FD", get_inflight_fd, .any = true,
					.replies = true},
	[VHOST_USER_SET_INFLIGHT_FD] = {"SET_INFLIGHT_FD", set_inflight_fd, .files = 1,
					.any = true},
	[VHOST_USER_RESET_DEVICE] = {"RESET_DEVICE", reset_device},
};

/* With REPLY_ACK a front-end may ask what became of a message; what failed ends the connection all the same. */
static int acknowledge(struct vhost *vhost, struct vhost_user_message *message, int result)
{
	int error;

	if (!vhost_has_protocol(vhost, VHOST_USER_PROTOCOL_F_REPLY_ACK))
		return result;
	error = reply_number(vhost, message, result != 0);
	return error ? error : result;
}

int vhost_handle(struct vhost *vhost, struct vhost_user_message *message, struct vhost_files *files)
{
	__u32 request = message->header.request;
	const struct vhost_message_kind *kind =
		request < VHOST_USER_REQUESTS ? &kinds[request] : NULL;
	bool asked = message->header.flags & VHOST_USER_FLAG_NEED_REPLY;
	int result;

	if (!kind || !kind->handle)
		return failed(-EPROTO, "message %u, which is not offered", request);
	if (!kind->any && message->header.bytes != kind->bytes)
		return failed(-EPROTO, "%s of %u bytes: accepted: %u", kind->name,
			      message->header.bytes, kind->bytes);
	if (files->count > kind->files)
		return failed(-EPROTO, "%s with %u descriptors: accepted: at most %u", kind->name,
			      files->count, kind->files);
	result = kind->handle(vhost, message, files);
	if (result < 0)
		failed_in(result, "%s", kind->name);
	if (asked && !kind->replies)
		result = acknowledge(vhost, message, result);
	return result < 0 ? -EPROTO : 0;
}
