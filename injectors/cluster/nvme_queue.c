// SPDX-License-Identifier: GPL-2.0
/* What a controller's queues are to it: doorbells, completions, interrupts, asynchronous events. */
#include <string.h>

#include "injectors/cluster/nvme_engine.h"

#define CONFIG_COMMAND	      0x04
#define CONFIG_INTX_DISABLED  0x400u
#define CONFIG_CAPABILITIES   0x34
#define CAPABILITY_MSIX	      0x11
#define CAPABILITIES_MOST     48 /* that fit into 256 bytes */
#define MSIX_ENABLED	      0x8000u
#define MSIX_FUNCTION_MASKED  0x4000u
#define MSIX_VECTORS(control) (((control)&0x7ffu) + 1)
#define MSIX_ENTRY	      16u
#define MSIX_ENTRY_MASKED     1u
#define EVENT_LOG_PAGE	      1u /* error information */

__u32 nvme_bar_read(const struct nvme_controller *controller, __u64 offset)
{
	return __atomic_load_n((const __u32 *)(controller->bar + offset), __ATOMIC_ACQUIRE);
}

void nvme_bar_write(struct nvme_controller *controller, __u64 offset, __u32 value)
{
	__atomic_store_n((__u32 *)(controller->bar + offset), value, __ATOMIC_RELEASE);
}

void nvme_interrupt_find(struct nvme_controller *controller)
{
	struct cluster *cluster = controller->device->cluster;
	__u32 at = function_config_read(cluster, controller->function, CONFIG_CAPABILITIES, 1);
	__u32 table;

	for (int i = 0; at >= 0x40 && at < 0x100 && i < CAPABILITIES_MOST; i++) {
		__u32 head = function_config_read(cluster, controller->function, at, 4);

		if ((head & 0xff) == CAPABILITY_MSIX) {
			table = function_config_read(cluster, controller->function, at + 4, 4);
			controller->msix = at;
			controller->msix_table_bar = table & 7;
			controller->msix_table = table & ~7u;
			controller->vectors = MSIX_VECTORS(head >> 16);
			if (controller->vectors > MSI_VECTORS)
				controller->vectors = MSI_VECTORS;
			return;
		}
		at = head >> 8 & 0xff;
	}
	controller->vectors = 1;
}

static void nvme_intx(struct nvme_controller *controller)
{
	struct cluster *cluster = controller->device->cluster;
	__u32 command = function_config_read(cluster, controller->function, CONFIG_COMMAND, 2);

	if (command & CONFIG_INTX_DISABLED) {
		controller->shared->stats.interrupts_masked++;
		return;
	}
	controller->shared->stats.interrupts++;
	interrupt_post(cluster, function_host(cluster, controller->function), controller->function,
		       0);
}

/* Returns model ns. */
static __u64 nvme_interrupt(struct nvme_controller *controller, __u32 vector)
{
	struct cluster *cluster = controller->device->cluster;
	struct access_result result = {0};
	const __u8 *entry;
	__u32 control = 0, words[4];

	if (controller->msix)
		control = function_config_read(cluster, controller->function, controller->msix + 2,
					       2);
	if (!(control & MSIX_ENABLED)) {
		nvme_intx(controller);
		return 0;
	}
	entry = function_bar(cluster, controller->function, controller->msix_table_bar);
	if (!entry || vector >= controller->vectors)
		return 0;
	entry += controller->msix_table + (__u64)vector * MSIX_ENTRY;
	for (int i = 0; i < 4; i++)
		words[i] = __atomic_load_n((const __u32 *)entry + i, __ATOMIC_ACQUIRE);
	if (control & MSIX_FUNCTION_MASKED || words[3] & MSIX_ENTRY_MASKED) {
		if (!(controller->vectors_pending & 1ull << vector))
			controller->shared->stats.interrupts_masked++;
		controller->vectors_pending |= 1ull << vector;
		return 0;
	}
	controller->vectors_pending &= ~(1ull << vector);
	controller->shared->stats.interrupts++;
	access_write(cluster, &controller->initiator, PURPOSE_INTERRUPT,
		     words[0] | (__u64)words[1] << 32, &words[2], sizeof(words[2]), &result);
	/* Posted behind the completion. */
	return result.follow_ns;
}

void nvme_interrupts_pending(struct nvme_controller *controller)
{
	for (__u64 left = controller->vectors_pending; left; left &= left - 1)
		nvme_interrupt(controller, (__u32)__builtin_ctzll(left));
}

/* Nothing tells a controller that a write was lost, so it goes on. */
void nvme_complete(struct nvme_controller *controller, __u32 queue, __u16 id, __u32 status,
		   __u32 result, struct io_price *price)
{
	struct nvme_submission *sq = &controller->sqs[queue];
	struct nvme_completions *cq = &controller->cqs[sq->cq];
	struct nvme_completion completion = {
		.result = result,
		.sq_head = (__u16)sq->head,
		.sq_id = (__u16)queue,
		.id = id,
		.status = (__u16)(status << 1 | cq->phase),
	};
	struct access_result written = {0};
	__u64 address = cq->address + cq->tail * sizeof(completion);

	if (status)
		controller->shared->stats.failed++;
	cq->tail = (cq->tail + 1) % cq->entries;
	if (!cq->tail)
		cq->phase = !cq->phase;
	access_write(controller->device->cluster, &controller->initiator, PURPOSE_COMPLETION,
		     address, &completion, sizeof(completion), &written);
	if (price)
		price->model_ns[IO_STAGE_COMPLETION] = written.model_ns;
	if (cq->vector != NVME_NO_VECTOR) {
		__u64 interrupt_ns = nvme_interrupt(controller, cq->vector);

		if (price)
			price->model_ns[IO_STAGE_NOTICE] = interrupt_ns;
	}
	if (price)
		__atomic_store_n(&price->priced, 1, __ATOMIC_RELEASE);
}

bool nvme_completions_room(struct nvme_controller *controller, struct nvme_completions *cq,
			   __u32 number)
{
	__u32 head = nvme_bar_read(controller, NVME_DOORBELL_CQ(number));

	if (head >= cq->entries) {
		if (head != cq->refused_head) {
			cq->refused_head = head;
			nvme_event(controller, NVME_EVENT_DOORBELL_VALUE);
		}
		head = cq->head;
	}
	cq->head = head;
	return (cq->tail + 1) % cq->entries != head;
}

void nvme_tail_look(struct nvme_controller *controller, struct nvme_submission *sq, __u32 number)
{
	__u32 tail = nvme_bar_read(controller, NVME_DOORBELL_SQ(number));

	if (tail < sq->entries) {
		if (tail != sq->tail)
			sq->retry_ns = 0;
		sq->tail = tail;
	} else if (tail != sq->refused_tail) {
		sq->refused_tail = tail;
		nvme_event(controller, NVME_EVENT_DOORBELL_VALUE);
	}
}

static void nvme_unused_doorbell(struct nvme_controller *controller, __u64 offset)
{
	if (!nvme_bar_read(controller, offset))
		return;
	nvme_bar_write(controller, offset, 0);
	nvme_event(controller, NVME_EVENT_DOORBELL);
}

void nvme_unused_doorbells(struct nvme_controller *controller)
{
	for (__u32 i = 0; i < controller->device->disk->queues; i++) {
		if (!controller->sqs[i].entries)
			nvme_unused_doorbell(controller, NVME_DOORBELL_SQ(i));
		if (!controller->cqs[i].entries)
			nvme_unused_doorbell(controller, NVME_DOORBELL_CQ(i));
	}
}

void nvme_event(struct nvme_controller *controller, enum nvme_event_info info)
{
	controller->shared->stats.asynchronous++;
	controller->events_pending |= 1u << info;
}

void nvme_events_deliver(struct nvme_controller *controller)
{
	while (controller->events_pending && controller->events_held &&
	       nvme_completions_room(controller, &controller->cqs[0], 0)) {
		__u32 info = (__u32)__builtin_ctz(controller->events_pending);
		__u16 id = controller->events[--controller->events_held];

		controller->events_pending &= ~(1u << info);
		nvme_complete(controller, 0, id, NVME_OK, info << 8 | EVENT_LOG_PAGE << 16, NULL);
	}
}
