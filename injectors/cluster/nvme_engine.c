// SPDX-License-Identifier: GPL-2.0
/* The controller's turns: reset and enabling, arbitration, fetching. */
#include "injectors/cluster/nvme_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define CONFIG_COMMAND	  0x04
#define CONFIG_BUS_MASTER 4u
#define CAPABILITIES	  ((NVME_QUEUE_ENTRIES - 1) | 1ull << 16 | 20ull << 24 | 1ull << 37)
#define VERSION		  0x00010400u
#define CC_PAGE_SIZE(cc)  ((cc) >> 7 & 15)
#define AQA_ENTRIES(aqa)  (((aqa)&0xfff) + 1)
#define RETRY_NS	  (20 * NSEC_PER_MSEC) /* of a fetch that has failed */

static void nvme_registers_show(struct nvme_controller *controller)
{
	__u32 status = 0;

	if (controller->state == NVME_STATE_READY)
		status |= NVME_CSTS_READY;
	if (controller->state == NVME_STATE_FAILED || controller->admin_stopped)
		status |= NVME_CSTS_FATAL;
	if (NVME_CC_SHUTDOWN(nvme_bar_read(controller, NVME_CC)))
		status |= NVME_CSTS_SHUTDOWN;
	/* Whoever wrote to what is read-only has changed nothing. */
	nvme_bar_write(controller, NVME_CAP, (__u32)CAPABILITIES);
	nvme_bar_write(controller, NVME_CAP + 4, (__u32)(CAPABILITIES >> 32));
	nvme_bar_write(controller, NVME_VS, VERSION);
	nvme_bar_write(controller, NVME_CSTS, status);
}

static void nvme_controller_reset(struct nvme_controller *controller)
{
	__u32 queues = controller->device->disk->queues;

	memset(controller->sqs, 0, queues * sizeof(*controller->sqs));
	memset(controller->cqs, 0, queues * sizeof(*controller->cqs));
	memset(controller->aborts, 0, sizeof(controller->aborts));
	for (__u32 i = 0; i < queues; i++) {
		nvme_bar_write(controller, NVME_DOORBELL_SQ(i), 0);
		nvme_bar_write(controller, NVME_DOORBELL_CQ(i), 0);
		controller->shared->fates[i].exists = 0;
	}
	controller->events_held = 0;
	controller->events_pending = 0;
	controller->vectors_pending = 0;
	controller->next_queue = 1;
	controller->burst = 1;
	controller->admin_stopped = false;
	controller->state = NVME_STATE_OFF;
}

static __u64 nvme_register_pair(const struct nvme_controller *controller, __u64 offset)
{
	return nvme_bar_read(controller, offset) | (__u64)nvme_bar_read(controller, offset + 4)
							   << 32;
}

static void nvme_controller_enable(struct nvme_controller *controller, __u32 configuration)
{
	__u32 sizes = nvme_bar_read(controller, NVME_AQA);
	__u32 sq_entries = AQA_ENTRIES(sizes), cq_entries = AQA_ENTRIES(sizes >> 16);
	__u64 sq = nvme_register_pair(controller, NVME_ASQ);
	__u64 cq = nvme_register_pair(controller, NVME_ACQ);

	if (CC_PAGE_SIZE(configuration) || sq_entries < 2 || cq_entries < 2 ||
	    sq_entries > NVME_QUEUE_ENTRIES || cq_entries > NVME_QUEUE_ENTRIES || sq % NVME_PAGE ||
	    cq % NVME_PAGE) {
		controller->state = NVME_STATE_FAILED;
		return;
	}
	controller->sqs[0] = (struct nvme_submission){.address = sq, .entries = sq_entries};
	controller->cqs[0] = (struct nvme_completions){
		.address = cq, .entries = cq_entries, .users = 1, .phase = true};
	controller->state = NVME_STATE_READY;
}

static void nvme_controller_look(struct nvme_controller *controller)
{
	struct cluster *cluster = controller->device->cluster;
	__u32 resets = function_resets(cluster, controller->function);
	__u32 configuration = nvme_bar_read(controller, NVME_CC);

	if (resets != controller->resets ||
	    (controller->state != NVME_STATE_OFF && !(configuration & NVME_CC_ENABLE))) {
		controller->resets = resets;
		controller->shared->stats.resets++;
		nvme_controller_reset(controller);
	}
	if (controller->state == NVME_STATE_OFF && configuration & NVME_CC_ENABLE)
		nvme_controller_enable(controller, configuration);
	nvme_registers_show(controller);
	controller->master =
		function_config_read(cluster, controller->function, CONFIG_COMMAND, 2) &
		CONFIG_BUS_MASTER;
	if (controller->master)
		controller->initiator = function_initiator(cluster, controller->function);
}

/*
 * A fetch fails where the way to the queue is closed. Of an I/O queue, which may be one of many clients', that is no reason to
 * stop: it is tried again later, or when its doorbell is rung, since the way may open. The admin queue's is fatal.
 */
static bool nvme_fetch(struct nvme_controller *controller, __u32 queue,
		       struct nvme_command *command, __u64 *took_ns)
{
	struct nvme_submission *sq = &controller->sqs[queue];
	struct access_result result = {0};

	access_read(controller->device->cluster, &controller->initiator, PURPOSE_FETCH,
		    sq->address + sq->head * sizeof(*command), command, sizeof(*command), &result);
	*took_ns = result.model_ns;
	if (result.status == ACCESS_DONE)
		return true;
	controller->shared->stats.failed_fetches++;
	if (queue) {
		sq->retry_ns = monotonic_ns() + RETRY_NS;
	} else {
		controller->admin_stopped = true;
		nvme_registers_show(controller);
	}
	return false;
}

static void nvme_fate_note(struct nvme_controller *controller, __u32 queue, __u32 slot, __u16 id,
			   __u32 status)
{
	struct nvme_queue_fate *fate = &controller->shared->fates[queue];

	fate->slots[slot].id = id;
	fate->slots[slot].status = (__u16)status;
	fate->fetched++;
}

static bool nvme_admin_turn(struct nvme_controller *controller)
{
	struct nvme_submission *sq = &controller->sqs[0];
	struct nvme_command command;
	__u32 status, result = 0;
	__u64 took_ns;

	nvme_events_deliver(controller);
	nvme_tail_look(controller, sq, 0);
	if (controller->admin_stopped || sq->head == sq->tail ||
	    !nvme_completions_room(controller, &controller->cqs[0], 0) ||
	    !nvme_fetch(controller, 0, &command, &took_ns))
		return false;
	sq->head = (sq->head + 1) % sq->entries;
	status = nvme_admin(controller, &command, &result);
	if (status != NVME_HELD)
		nvme_complete(controller, 0, command.id, status, result, NULL);
	return true;
}

static bool nvme_io_turn(struct nvme_controller *controller, __u32 queue)
{
	struct nvme_submission *sq = &controller->sqs[queue];
	__u32 slot = sq->head;
	struct io_price *price = &controller->shared->prices[queue * NVME_QUEUE_ENTRIES + slot];
	struct nvme_command command;
	__u64 took_ns, data_ns = 0;
	__u32 status;

	if (!nvme_completions_room(controller, &controller->cqs[sq->cq], sq->cq) ||
	    !nvme_fetch(controller, queue, &command, &took_ns))
		return false;
	sq->head = (sq->head + 1) % sq->entries;
	if (nvme_abort_wanted(controller, queue, command.id))
		status = NVME_ABORTED;
	else
		status = nvme_io(controller, queue, slot, &command, &data_ns);
	nvme_fate_note(controller, queue, slot, command.id, status);
	controller->shared->stats.commands++;
	price->model_ns[IO_STAGE_FETCH] = took_ns;
	price->model_ns[IO_STAGE_DATA] = data_ns;
	nvme_complete(controller, queue, command.id, status, 0, price);
	return true;
}

static bool nvme_queue_ready(struct nvme_controller *controller, __u32 queue, __u64 *wait_ns)
{
	struct nvme_submission *sq = &controller->sqs[queue];

	if (!sq->entries)
		return false;
	nvme_tail_look(controller, sq, queue);
	if (sq->head == sq->tail)
		return false;
	if (sq->retry_ns) {
		__u64 now = monotonic_ns();

		if (now < sq->retry_ns) {
			if (*wait_ns > sq->retry_ns - now)
				*wait_ns = sq->retry_ns - now;
			return false;
		}
	}
	return true;
}

/* Round robin: the next queue that has something, at most `burst` commands of it. */
static bool nvme_arbitrate(struct nvme_controller *controller, __u64 *wait_ns)
{
	__u32 queues = controller->device->disk->queues - 1; /* without the admin pair */

	for (__u32 i = 0; i < queues; i++) {
		__u32 queue = 1 + (controller->next_queue - 1 + i) % queues;
		__u32 done = 0;

		if (!nvme_queue_ready(controller, queue, wait_ns))
			continue;
		while (done < controller->burst &&
		       controller->sqs[queue].head != controller->sqs[queue].tail &&
		       nvme_io_turn(controller, queue))
			done++;
		if (done) {
			controller->next_queue = queue % queues + 1;
			return true;
		}
	}
	return false;
}

static bool nvme_controller_turn(struct nvme_controller *controller, __u32 writes, __u64 *wait_ns)
{
	bool busy;

	nvme_controller_look(controller);
	if (controller->state != NVME_STATE_READY || !controller->master)
		return false;
	if (writes != controller->writes_seen) {
		controller->writes_seen = writes;
		nvme_unused_doorbells(controller);
		nvme_interrupts_pending(controller);
	}
	busy = nvme_admin_turn(controller);
	return nvme_arbitrate(controller, wait_ns) || busy;
}

/* A function had a turn, or had nothing to do with it. */
static void nvme_turns_count(struct nvme_device *device, struct nvme_controller *controller,
			     bool had)
{
	struct nvme_stats *stats = &controller->shared->stats;

	if (had && controller->passed > stats->most_passed)
		stats->most_passed = controller->passed;
	for (__u32 i = 0; had && i < device->function_count; i++)
		device->controllers[i].passed++;
	controller->passed = 0;
}

/* Each function of the device once: equal shares of what it can do. */
bool nvme_device_turn(struct nvme_device *device, __u64 *wait_ns)
{
	__u32 writes = function_writes(device->cluster, device->device);
	bool busy = false;

	for (__u32 i = 0; i < device->function_count; i++) {
		bool had = nvme_controller_turn(&device->controllers[i], writes, wait_ns);

		nvme_turns_count(device, &device->controllers[i], had);
		busy |= had;
	}
	return busy;
}

static int nvme_controller_open(struct nvme_controller *controller, struct nvme_device *device,
				__u32 number)
{
	__u32 queues = device->disk->queues;

	controller->device = device;
	controller->function = function_of(device->cluster, device->device, number);
	controller->bar = function_bar(device->cluster, controller->function, 0);
	controller->shared = &device->disk->shared[number];
	controller->sqs = calloc(queues, sizeof(*controller->sqs));
	controller->cqs = calloc(queues, sizeof(*controller->cqs));
	controller->resets = function_resets(device->cluster, controller->function);
	if (!controller->sqs || !controller->cqs)
		return failed(-ENOMEM, "no memory for %u queues of device %u", queues,
			      device->device);
	if (!controller->bar ||
	    function_bar_bytes(device->cluster, controller->function, 0) < NVME_DOORBELL_SQ(queues))
		return failed(-EINVAL, "BAR 0 of function %u has no doorbells for %u queues",
			      controller->function, queues);
	nvme_interrupt_find(controller);
	nvme_controller_reset(controller);
	/* A host that is begun anew finds its devices without power. */
	nvme_bar_write(controller, NVME_CC, 0);
	nvme_registers_show(controller);
	return 0;
}

int nvme_device_open(struct nvme_device **opened, struct cluster *cluster, __u32 index)
{
	struct nvme_device *device = calloc(1, sizeof(*device));
	int err = 0;

	if (!device)
		return failed(-ENOMEM, "no memory for the engine of device %u", index);
	device->cluster = cluster;
	device->device = index;
	device->disk = nvme_disk(cluster, index);
	device->function_count = device->disk->functions;
	device->controllers = calloc(device->function_count, sizeof(*device->controllers));
	device->segments = calloc(NVME_TRANSFER_BYTES / NVME_PAGE + 1, sizeof(*device->segments));
	if (!device->controllers || !device->segments)
		err = failed(-ENOMEM, "no memory for the engine of device %u", index);
	if (!err)
		nvme_journal_finish(device->disk, cluster, index);
	for (__u32 i = 0; !err && i < device->function_count; i++)
		err = nvme_controller_open(&device->controllers[i], device, i);
	if (err)
		nvme_device_close(device);
	else
		*opened = device;
	return err;
}

void nvme_device_close(struct nvme_device *device)
{
	for (__u32 i = 0; device->controllers && i < device->function_count; i++) {
		free(device->controllers[i].sqs);
		free(device->controllers[i].cqs);
	}
	free(device->controllers);
	free(device->segments);
	free(device);
}
