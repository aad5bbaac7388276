// SPDX-License-Identifier: GPL-2.0
/* Admin commands: NVM Express 1.4, chapter 5. */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "injectors/cluster/nvme_engine.h"

#define VENDOR		  0x1b36
#define CNS_NAMESPACE	  0
#define CNS_CONTROLLER	  1
#define CNS_LIST	  2
#define BURST_NO_LIMIT	  7
#define LOG_ERRORS	  1u
#define LOG_HEALTH	  2u
#define LOG_SLOTS	  3u
#define LOG_BYTES	  512u
#define CREATE_CONTIGUOUS 1u
#define CREATE_INTERRUPTS 2u
#define EVERY_NAMESPACE	  0xffffffffu

static __u32 admin_queue(const struct nvme_command *command)
{
	return command->cdw[0] & 0xffff;
}

static __u32 admin_entries(const struct nvme_command *command)
{
	return (command->cdw[0] >> 16) + 1;
}

static __u32 admin_create_check(const struct nvme_controller *controller,
				const struct nvme_command *command, __u32 entries_there)
{
	__u32 queue = admin_queue(command), entries = admin_entries(command);

	if (!queue || queue >= controller->device->disk->queues || entries_there)
		return NVME_INVALID_QUEUE;
	if (entries < 2 || entries > NVME_QUEUE_ENTRIES)
		return NVME_INVALID_QUEUE_SIZE;
	if (!(command->cdw[1] & CREATE_CONTIGUOUS)) /* CAP.CQR */
		return NVME_INVALID_FIELD;
	return command->prp1 % NVME_PAGE ? NVME_INVALID_PRP_OFFSET : NVME_OK;
}

static bool admin_queue_there(const struct nvme_controller *controller, __u32 queue,
			      bool completions)
{
	if (!queue || queue >= controller->device->disk->queues)
		return false;
	return completions ? controller->cqs[queue].entries : controller->sqs[queue].entries;
}

static __u32 admin_create_cq(struct nvme_controller *controller, const struct nvme_command *command)
{
	__u32 queue = admin_queue(command);
	__u32 vector = command->cdw[1] >> 16;
	__u32 status =
		admin_create_check(controller, command, admin_queue_there(controller, queue, true));

	if (status)
		return status;
	if (!(command->cdw[1] & CREATE_INTERRUPTS))
		vector = NVME_NO_VECTOR;
	else if (vector >= controller->vectors)
		return NVME_INVALID_VECTOR;
	nvme_bar_write(controller, NVME_DOORBELL_CQ(queue), 0);
	controller->cqs[queue] = (struct nvme_completions){
		.address = command->prp1,
		.entries = admin_entries(command),
		.vector = (__u16)vector,
		.phase = true,
	};
	return NVME_OK;
}

static __u32 admin_create_sq(struct nvme_controller *controller, const struct nvme_command *command)
{
	__u32 queue = admin_queue(command), cq = command->cdw[1] >> 16;
	__u32 status = admin_create_check(controller, command,
					  admin_queue_there(controller, queue, false));
	struct nvme_queue_fate *fate;

	if (status)
		return status;
	if (!cq || cq >= controller->device->disk->queues)
		return NVME_INVALID_QUEUE;
	if (!controller->cqs[cq].entries)
		return NVME_INVALID_CQ;
	nvme_bar_write(controller, NVME_DOORBELL_SQ(queue), 0);
	controller->cqs[cq].users++;
	controller->sqs[queue] = (struct nvme_submission){
		.address = command->prp1, .entries = admin_entries(command), .cq = cq};
	fate = &controller->shared->fates[queue];
	*fate = (struct nvme_queue_fate){.entries = admin_entries(command), .exists = 1};
	for (__u32 i = 0; i < NVME_QUEUE_ENTRIES; i++)
		fate->slots[i].status = NVME_FATE_NONE;
	return NVME_OK;
}

static __u32 admin_delete_sq(struct nvme_controller *controller, const struct nvme_command *command)
{
	__u32 queue = admin_queue(command);

	if (!admin_queue_there(controller, queue, false))
		return NVME_INVALID_QUEUE;
	controller->cqs[controller->sqs[queue].cq].users--;
	controller->sqs[queue] = (struct nvme_submission){0};
	controller->shared->fates[queue].exists = 0;
	nvme_bar_write(controller, NVME_DOORBELL_SQ(queue), 0);
	for (__u32 i = 0; i < NVME_ABORTS_HELD; i++)
		if (controller->aborts[i].queue == queue)
			controller->aborts[i].left = 0;
	return NVME_OK;
}

static __u32 admin_delete_cq(struct nvme_controller *controller, const struct nvme_command *command)
{
	__u32 queue = admin_queue(command);

	if (!admin_queue_there(controller, queue, true))
		return NVME_INVALID_QUEUE;
	if (controller->cqs[queue].users)
		return NVME_INVALID_DELETION;
	controller->cqs[queue] = (struct nvme_completions){0};
	nvme_bar_write(controller, NVME_DOORBELL_CQ(queue), 0);
	return NVME_OK;
}

static void identify_put(__u8 *page, __u32 offset, __u64 value, __u32 bytes)
{
	value = htole64(value);
	memcpy(page + offset, &value, bytes);
}

static void identify_text(__u8 *page, __u32 offset, const char *text, __u32 bytes)
{
	__u32 length = (__u32)strnlen(text, bytes);

	memset(page + offset, ' ', bytes);
	memcpy(page + offset, text, length);
}

static void identify_controller(const struct nvme_controller *controller, __u8 *page)
{
	char serial[21];

	snprintf(serial, sizeof(serial), "%u-%u", controller->device->device, controller->function);
	identify_put(page, 0, VENDOR, 2);
	identify_put(page, 2, VENDOR, 2);
	identify_text(page, 4, serial, 20);
	identify_text(page, 24, "Faultline emulated controller", 40);
	identify_text(page, 64, "1", 8);
	identify_put(page, 77, (__u64)__builtin_ctz(NVME_TRANSFER_BYTES / NVME_PAGE), 1);
	identify_put(page, 78, controller->function, 2);
	identify_put(page, 80, 0x00010400, 4);
	identify_put(page, 258, NVME_ABORTS_HELD - 1, 1);
	identify_put(page, 259, NVME_EVENTS_HELD - 1, 1);
	identify_put(page, 512, 0x66, 1); /* entries of 64 bytes */
	identify_put(page, 513, 0x44, 1); /* and of 16 */
	identify_put(page, 514, NVME_QUEUE_ENTRIES, 2);
	identify_put(page, 516, 1, 4); /* namespaces */
}

static void identify_namespace(const struct nvme_controller *controller, __u8 *page)
{
	identify_put(page, 0, controller->device->disk->blocks, 8);
	identify_put(page, 8, controller->device->disk->blocks, 8);
	identify_put(page, 16, controller->device->disk->blocks, 8);
	identify_put(page, 128 + 2, (__u64)__builtin_ctz(NVME_BLOCK),
		     1); /* format 0: size of a block */
}

static __u32 admin_identify(struct nvme_controller *controller, const struct nvme_command *command)
{
	__u8 page[NVME_PAGE] = {0};
	__u32 namespace_id = command->namespace_id;
	__u64 data_ns;

	switch (command->cdw[0] & 0xff) {
	case CNS_NAMESPACE:
		if (namespace_id != NVME_NAMESPACE && namespace_id != EVERY_NAMESPACE)
			return NVME_INVALID_NAMESPACE;
		identify_namespace(controller, page);
		break;
	case CNS_CONTROLLER:
		identify_controller(controller, page);
		break;
	case CNS_LIST: /* those above the one that is named */
		if (namespace_id >= EVERY_NAMESPACE - 1)
			return NVME_INVALID_NAMESPACE;
		if (namespace_id < NVME_NAMESPACE)
			identify_put(page, 0, NVME_NAMESPACE, 4);
		break;
	default:
		return NVME_INVALID_FIELD;
	}
	return nvme_send(controller, command, page, sizeof(page), &data_ns);
}

static __u32 admin_fate(struct nvme_controller *controller, const struct nvme_command *command)
{
	__u8 page[NVME_PAGE] = {0};
	__u32 queue = admin_queue(command);
	__u64 data_ns;

	if (!queue || queue >= controller->device->disk->queues)
		return NVME_INVALID_QUEUE;
	memcpy(page, &controller->shared->fates[queue], sizeof(struct nvme_queue_fate));
	return nvme_send(controller, command, page, sizeof(page), &data_ns);
}

static __u32 admin_log_page(struct nvme_controller *controller, const struct nvme_command *command)
{
	__u8 page[LOG_BYTES] = {0};
	__u64 dwords = (command->cdw[0] >> 16 | (__u64)(command->cdw[1] & 0xffff) << 16) + 1;
	__u32 log = command->cdw[0] & 0xff;
	__u64 data_ns;

	if (log < LOG_ERRORS || log > LOG_SLOTS)
		return NVME_INVALID_LOG_PAGE;
	if (dwords * 4 > sizeof(page))
		return NVME_INVALID_FIELD;
	if (log == LOG_ERRORS)
		identify_put(page, 0, controller->shared->stats.asynchronous, 8);
	return nvme_send(controller, command, page, dwords * 4, &data_ns);
}

static __u32 admin_features(struct nvme_controller *controller, const struct nvme_command *command,
			    __u32 *result)
{
	bool set = command->opcode == NVME_SET_FEATURES;
	__u32 pairs = controller->device->disk->queues - 1, wanted = command->cdw[1];

	switch (command->cdw[0] & 0xff) {
	case NVME_FEATURE_ARBITRATION:
		if (set)
			controller->burst = (wanted & 7) == BURST_NO_LIMIT ? NVME_QUEUE_ENTRIES
									   : 1u << (wanted & 7);
		*result = controller->burst == NVME_QUEUE_ENTRIES
				  ? BURST_NO_LIMIT
				  : (__u32)__builtin_ctz(controller->burst);
		return NVME_OK;
	case NVME_FEATURE_QUEUES:
		if (set && ((wanted & 0xffff) == 0xffff || wanted >> 16 == 0xffff))
			return NVME_INVALID_FIELD;
		*result = (pairs - 1) | (pairs - 1) << 16;
		return NVME_OK;
	default:
		return NVME_INVALID_FIELD;
	}
}

/* Commands are carried out one after the other, so one that can still be aborted waits in its queue. */
static bool abort_ahead(struct nvme_controller *controller, __u32 queue, __u16 id, __u32 *ahead)
{
	struct nvme_submission *sq = &controller->sqs[queue];

	*ahead = 0;
	nvme_tail_look(controller, sq, queue);
	for (__u32 at = sq->head; at != sq->tail; at = (at + 1) % sq->entries) {
		struct nvme_command command;
		struct access_result result = {0};

		access_read(controller->device->cluster, &controller->initiator, PURPOSE_FETCH,
			    sq->address + at * sizeof(command), &command, sizeof(command), &result);
		if (result.status != ACCESS_DONE)
			return false;
		++*ahead;
		if (command.id == id)
			return true;
	}
	return false;
}

static __u32 admin_abort(struct nvme_controller *controller, const struct nvme_command *command,
			 __u32 *result)
{
	__u32 queue = admin_queue(command), ahead;
	__u16 id = (__u16)(command->cdw[0] >> 16);

	*result = 1; /* not aborted */
	if (!admin_queue_there(controller, queue, false) ||
	    !abort_ahead(controller, queue, id, &ahead))
		return NVME_OK;
	for (__u32 i = 0; i < NVME_ABORTS_HELD; i++)
		if (!controller->aborts[i].left) {
			controller->aborts[i] = (struct nvme_abort){queue, ahead, id};
			*result = 0;
			return NVME_OK;
		}
	return NVME_OK;
}

/* Called with each command that is fetched, in order. */
bool nvme_abort_wanted(struct nvme_controller *controller, __u32 queue, __u16 id)
{
	bool wanted = false;

	for (__u32 i = 0; i < NVME_ABORTS_HELD; i++) {
		struct nvme_abort *abort = &controller->aborts[i];

		if (!abort->left || abort->queue != queue)
			continue;
		abort->left--;
		if (!abort->left && abort->id == id)
			wanted = true;
	}
	return wanted;
}

static __u32 admin_async_event(struct nvme_controller *controller,
			       const struct nvme_command *command)
{
	if (controller->events_held == NVME_EVENTS_HELD)
		return NVME_EVENT_LIMIT;
	controller->events[controller->events_held++] = command->id;
	return NVME_HELD;
}

__u32 nvme_admin(struct nvme_controller *controller, const struct nvme_command *command,
		 __u32 *result)
{
	if (command->flags) /* fused, or by SGL */
		return NVME_INVALID_FIELD;
	switch (command->opcode) {
	case NVME_DELETE_SQ:
		return admin_delete_sq(controller, command);
	case NVME_CREATE_SQ:
		return admin_create_sq(controller, command);
	case NVME_LOG_PAGE:
		return admin_log_page(controller, command);
	case NVME_DELETE_CQ:
		return admin_delete_cq(controller, command);
	case NVME_CREATE_CQ:
		return admin_create_cq(controller, command);
	case NVME_IDENTIFY:
		return admin_identify(controller, command);
	case NVME_ABORT:
		return admin_abort(controller, command, result);
	case NVME_SET_FEATURES:
	case NVME_GET_FEATURES:
		return admin_features(controller, command, result);
	case NVME_ASYNC_EVENT:
		return admin_async_event(controller, command);
	case NVME_QUEUE_FATE:
		return admin_fate(controller, command);
	default:
		return NVME_INVALID_OPCODE;
	}
}
