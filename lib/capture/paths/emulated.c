// SPDX-License-Identifier: GPL-2.0
/* Emulated machines: their probes, whom capture believes to be one, their devices and I/O. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/capture/capture_private.h"
#include "lib/capture/emulator.h"
#include "lib/capture/groups.h"
#include "lib/capture/paths/rows.h"
#include "lib/capture/process.h"
#include "lib/capture/usdt.h"
#include "bpf/emu.skel.h"

DEFINE_OBJECT(emu);

#define IN_ITS_NOTES "the emulator's own notes say where it is"

/* From an I/O's end until its record is published; later ones come out marked as late. */
#define ACCESS_DELAY_NS (50 * NSEC_PER_MSEC)

static const struct probe_row rows[] = {
	{PROBE_FAULT_DETECT, "fault_detect", &emu_object, EVENT_FAULT_DETECT,
	 METHODS(USDT(fault_detect)), .required = true,
	 .without =
		 "how many faults there were and when they began is not known, nor what became of them, their total times and how long queues stood still",
	 .unaccused = IN_ITS_NOTES},
	{PROBE_FAULT_REQUEST, "fault_request", &emu_object, EVENT_FAULT_REQUEST,
	 METHODS(USDT(fault_request)), .required = true,
	 .without =
		 "stage request is part of the next one seen, a fault whose request got through after an overflow is reported as overflowed, and which were discarded is not known",
	 .unaccused = IN_ITS_NOTES},
	{PROBE_FAULT_ISR, "fault_isr", &emu_object, EVENT_FAULT_ISR, METHODS(USDT(fault_isr)),
	 .every = FROM_EMULATED, .without = "stage delivery is part of the next one seen"},
	{PROBE_FAULT_HANDLER, "fault_handler", &emu_object, EVENT_FAULT_HANDLER,
	 METHODS(USDT(fault_handler)), .every = FROM_EMULATED,
	 .without =
		 "stage dispatch is part of the next one seen, and CPU page faults are credited to no fault"},
	{PROBE_FAULT_RESOLVED, "fault_resolved", &emu_object, EVENT_FAULT_RESOLVED,
	 METHODS(USDT(fault_resolved)), .every = FROM_EMULATED,
	 .without =
		 "stage resolve is part of the next one seen, and whether storage was read is not known"},
	{PROBE_FAULT_MAPPED, "fault_mapped", &emu_object, EVENT_FAULT_MAPPED,
	 METHODS(USDT(fault_mapped)), .every = FROM_EMULATED,
	 .without = "stage map is part of the next one seen"},
	{PROBE_FAULT_RESPONSE, "fault_response", &emu_object, EVENT_FAULT_RESPONSE,
	 METHODS(USDT(fault_response)), .required = true, .every = FROM_EMULATED,
	 .without = "stage respond is part of the next one seen"},
	{PROBE_FAULT_RESUME, "fault_resume", &emu_object, EVENT_FAULT_RESUME,
	 METHODS(USDT(fault_resume)), .required = true,
	 .without =
		 "whether and when devices went on is not known: faults stay unfinished, without a total time, and how many overflowed is not known",
	 .unaccused = IN_ITS_NOTES},
	{PROBE_FAULT_OVERFLOW, "fault_overflow", &emu_object, EVENT_FAULT_OVERFLOW,
	 METHODS(USDT(fault_overflow)),
	 .without =
		 "overflowed and discarded faults are not distinguished, and some may be reported as complete",
	 .unaccused = IN_ITS_NOTES},
	{PROBE_FAULT_VOID, "fault_void", &emu_object, EVENT_FAULT_VOID, METHODS(USDT(fault_void)),
	 .without = "discarded faults are not known as such, and some may be reported as complete",
	 .unaccused = IN_ITS_NOTES},
	{PROBE_FAULT_ABANDON, "fault_abandon", &emu_object, EVENT_FAULT_ABANDON,
	 METHODS(USDT(fault_abandon)),
	 .without =
		 "which faults their devices gave up is not known: they are reported as unfinished or complete",
	 .unaccused = IN_ITS_NOTES},
	{PROBE_INVALIDATE_START, "invalidate_start", &emu_object, EVENT_INVALIDATE_START,
	 METHODS(USDT(invalidate_start)),
	 .without =
		 "when invalidations began is not known, nor when devices were notified after that",
	 .unaccused = IN_ITS_NOTES},
	{PROBE_INVALIDATE_DEVICE, "invalidate_device", &emu_object, EVENT_INVALIDATE_DEVICE,
	 METHODS(USDT(invalidate_device)),
	 .without = "when devices were notified of invalidations is not known",
	 .unaccused = IN_ITS_NOTES},
	{PROBE_INVALIDATE_ACK, "invalidate_ack", &emu_object, EVENT_INVALIDATE_ACK,
	 METHODS(USDT(invalidate_ack)),
	 .without = "whether and when devices acknowledged invalidations is not known",
	 .unaccused = IN_ITS_NOTES},
	{PROBE_INVALIDATE_FREED, "invalidate_freed", &emu_object, EVENT_INVALIDATE_FREED,
	 METHODS(USDT(invalidate_freed)),
	 .without =
		 "which invalidations ended, and when, is not known, nor how much memory was freed",
	 .unaccused = IN_ITS_NOTES},
	{PROBE_INJECT_START, "inject_start", &emu_object, EVENT_INJECT_START,
	 METHODS(USDT(inject_start)), .without = "when injections began is not known",
	 .unaccused = IN_ITS_NOTES},
	{PROBE_INJECT_STOP, "inject_stop", &emu_object, EVENT_INJECT_STOP,
	 METHODS(USDT(inject_stop)), .without = "when injections ended is not known",
	 .unaccused = IN_ITS_NOTES},
	{PROBE_FRAMES_LOST, "frames_lost", &emu_object, EVENT_FRAMES_LOST,
	 METHODS(USDT(frames_lost)), .optional = true,
	 .without = "which frames NICs lost is not known, nor why"},
	{PROBE_FRAMES_HELD, "frames_held", &emu_object, EVENT_FRAMES_HELD,
	 METHODS(USDT(frames_held)), .optional = true,
	 .without = "which frames waited for their buffers is not known, nor how long"},
	{PROBE_FRAMES_RECOVERED, "frames_recovered", &emu_object, EVENT_FRAMES_RECOVERED,
	 METHODS(USDT(frames_recovered)), .optional = true,
	 .without = "when what NICs had lost was delivered is not known"},
	{PROBE_HEAD_ADVANCED, "head_advanced", &emu_object, EVENT_HEAD_ADVANCED,
	 METHODS(USDT(head_advanced)), .optional = true,
	 .without = "when guests saw what NICs had held back is not known"},
	{PROBE_RING_STATE, "ring_state", &emu_object, EVENT_RING_STATE, METHODS(USDT(ring_state)),
	 .optional = true, .without = "how many frames rings of NICs have passed is not known"},
	{PROBE_RNR_SENT, "rnr_sent", &emu_object, EVENT_RNR_SENT, METHODS(USDT(rnr_sent)),
	 .optional = true, .without = "which RNR NAKs were sent for which faults is not known"},
	{PROBE_RNR_RECEIVED, "rnr_received", &emu_object, EVENT_RNR_RECEIVED,
	 METHODS(USDT(rnr_received)), .optional = true,
	 .without = "which RNR NAKs reached their senders is not known"},
	{PROBE_PACKETS_DROPPED, "packets_dropped", &emu_object, EVENT_PACKETS_DROPPED,
	 METHODS(USDT(packets_dropped)), .optional = true,
	 .without = "which packets queue pairs dropped is not known, nor why"},
	{PROBE_PACKETS_RESENT, "packets_resent", &emu_object, EVENT_PACKETS_RESENT,
	 METHODS(USDT(packets_resent)), .optional = true,
	 .without = "which packets queue pairs sent again is not known, nor why"},
	{PROBE_QP_REWOUND, "qp_rewound", &emu_object, EVENT_QP_REWOUND, METHODS(USDT(qp_rewound)),
	 .optional = true,
	 .without =
		 "when queue pairs went back is not known, nor their waits for acknowledgements"},
	{PROBE_FAULT_SUPPRESSED, "fault_suppressed", &emu_object, EVENT_FAULT_SUPPRESSED,
	 METHODS(USDT(fault_suppressed)), .optional = true,
	 .without = "which faults RDMA devices did not report is not known"},
	{PROBE_QP_PAUSED, "qp_paused", &emu_object, EVENT_QP_PAUSED, METHODS(USDT(qp_paused)),
	 .optional = true,
	 .without =
		 "which waits of queue pairs are not over is not known, nor for which faults of their own they were"},
	{PROBE_QP_RESUMED, "qp_resumed", &emu_object, EVENT_QP_RESUMED, METHODS(USDT(qp_resumed)),
	 .optional = true, .without = "when waits of queue pairs ended is not known"},
	{PROBE_QP_ERROR, "qp_error", &emu_object, EVENT_QP_ERROR, METHODS(USDT(qp_error)),
	 .optional = true, .without = "when and why queue pairs went into error is not known"},
	{PROBE_QP_STATE, "qp_state", &emu_object, EVENT_QP_STATE, METHODS(USDT(qp_state)),
	 .optional = true, .without = "how much queue pairs have moved is not known"},
	{PROBE_QP_COUNTER, "rdma_counter", &emu_object, EVENT_RDMA_COUNTER,
	 METHODS(USDT(rdma_counter)), .optional = true,
	 .without = "what emulated RDMA devices counted themselves is not known"},
	{PROBE_QP_REGION, "rdma_region", &emu_object, EVENT_ODP_REGION, METHODS(USDT(rdma_region)),
	 .optional = true,
	 .without = "which memory regions emulated RDMA devices had is not known"},
	{PROBE_QP_ADVISED, "rdma_advised", &emu_object, EVENT_ODP_PREFETCH,
	 METHODS(USDT(rdma_advised)), .optional = true,
	 .without = "what emulated RDMA devices brought in by advice is not known"},
	{PROBE_PAGE_PIN, "pin", &emu_object, EVENT_PAGE_PIN, METHODS(USDT(pin)), .optional = true,
	 .without = "which pages protectors pinned is not known, nor why"},
	{PROBE_PAGE_UNPIN, "unpin", &emu_object, EVENT_PAGE_UNPIN, METHODS(USDT(unpin)),
	 .optional = true, .without = "which pages protectors let go is not known, nor when"},
};

/* Files that only root, or who owns this very program, can have made. */
static bool trustworthy(const struct stat *file)
{
	struct stat own;

	if (!S_ISREG(file->st_mode) || file->st_mode & (S_IWGRP | S_IWOTH))
		return false;
	return !file->st_uid || (!stat("/proc/self/exe", &own) && own.st_uid == file->st_uid);
}

/* As its starter called it, as far as the kernel still knows it. */
static void name_executable(__u32 pid, int executable, char name[REASON_TEXT])
{
	char path[PATH_MAX], link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", executable);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	snprintf(name, REASON_TEXT, "process %u, %.300s", pid, path);
}

static int trust(void *self, __u32 pid, int executable)
{
	struct capture *c = self;
	struct usdt_binary binary;
	char name[REASON_TEXT];
	struct stat file;
	int place, error;

	name_executable(pid, executable, name);
	if (fstat(executable, &file))
		return failed(-errno, "%s: %s", name, strerror(errno));
	place = emulator_enter(c, &file);
	if (place >= 0)
		return place;
	if (!trustworthy(&file))
		return failed(-EPERM, "%s: others than root can write it", name);
	error = usdt_read(executable, name, "faultline", &binary);
	if (error)
		return error;
	if (!binary.build_id_bytes || !usdt_has(&binary, "fault_detect"))
		error = failed(-EPERM, "%s: is no emulator (no build id or no probes)", name);
	usdt_free(&binary);
	return error ? error : emulator_adopt(c, executable, &file, name);
}

static void describe(const struct hello_device *device, struct device_info *info)
{
	memcpy(info->name, device->name, sizeof(info->name));
	memcpy(info->model, device->model, sizeof(info->model));
	memcpy(info->vm, device->tenant, sizeof(info->vm));
	info->queues = device->queues;
	info->memory = device->memory;
	info->mapped_at = device->mapped_at;
}

static __u32 enter_device(void *self, const struct hello *hello, const struct hello_device *device)
{
	struct capture *c = self;
	struct device_key key = {
		.kind = DEVICE_EMULATED,
		.owner = hello->pid,
		.owner_start = hello->start_time,
		.source = device->index,
	};
	struct device_info info = {
		.kind = DEVICE_EMULATED,
		.iommu_group = -1,
		.pid = hello->pid,
		.pid_start_ns = process_start_ns(hello->start_time),
		.source_id = device->index,
		.first_ns = monotonic_ns(),
	};
	__u32 handle;

	describe(device, &info);
	process_describe(hello->pid, info.comm, &info.cgroup);
	handle = device_table_enter(c->devices, &key, &info);
	capture_enter_networks(c, &key, handle, device->networks);
	return handle;
}

void capture_ask_machine(void *self, __u32 pid)
{
	machines_meet(((struct capture *)self)->machines, pid);
}

static bool wanted_alone(const struct capture *c, const struct access_record *record,
			 __u64 latency_ns)
{
	if (!kind_set_empty(&c->config.kinds)) /* asked for by name: every one */
		return true;
	if (record->code & IO_PART) /* the I/O's own record speaks for it */
		return false;
	return record->code != IO_OK || latency_ns > c->config.slow_io_ns;
}

static int access_event(struct capture *c, __u32 pid, const struct capture_machine_device *device,
			const struct access_record *record, __u64 latency_ns)
{
	struct event event = {
		.time_ns = record->time_ns,
		.address = record->address,
		.length = record->length,
		.value = latency_ns,
		.device = device->handle,
		.pasid = device->hello.pasid,
		.pid = pid,
		.kind = EVENT_IO_COMPLETE,
		.queue = record->queue,
		.code = record->code,
		.flags = record->flags,
	};

	return merge_push(c->merge, source_access(c), &event);
}

/* An I/O counts once, with the bytes it moved: what a copy reads are those that it writes. */
static int count_access(struct capture *c, __u32 pid, const struct capture_machine_device *device,
			const struct access_record *record, __u64 latency_ns)
{
	struct aggregate_key key = {
		.device = device->handle,
		.pid = pid,
		.kind = EVENT_IO_COMPLETE,
		.queue = record->queue,
		.code = record->code & (__u8)~IO_PART,
		.flags = record->flags,
	};

	if (record->code & IO_SOURCE)
		return 0;
	if (record->code & IO_PART)
		return windows_add_bytes(c->windows, record->time_ns, &key, record->length);
	return windows_add(c->windows, record->time_ns, &key, record->length, latency_ns);
}

static int take_access(void *self, __u32 pid, const struct capture_machine_device *device,
		       const struct access_record *record)
{
	struct capture *c = self;
	__u64 latency_ns = access_latency_ns(record);
	int error;

	if (device->handle == HANDLE_DROPPED || !device->handle ||
	    !capture_kind_asked(&c->config, EVENT_IO_COMPLETE) ||
	    !capture_was_on(c, record->time_ns))
		return 0;
	error = count_access(c, pid, device, record, latency_ns);
	if (!error)
		error = windows_add_pages(c->windows, record->time_ns, device->handle,
					  device->hello.pasid, record->address, record->length,
					  record->flags);
	if (!error && wanted_alone(c, record, latency_ns))
		error = access_event(c, pid, device, record, latency_ns);
	return error;
}

static int emulated_machine_gone(void *self, __u32 pid, __u64 start_time)
{
	return capture_process_ended(self, pid, start_time);
}

void capture_promise_access(struct capture *c, __u64 now_ns)
{
	if (machines_count(c->machines))
		now_ns -= ACCESS_DELAY_NS;
	merge_promise(c->merge, source_access(c), now_ns);
}

/* Rows that are off for want of an emulator tell what is wrong with the one there is. */
static void machine_refused(void *self)
{
	struct capture *c = self;

	c->refusals.count++;
	snprintf(c->refusals.last, sizeof(c->refusals.last), "%s", failure_text());
	probe_set_no_emulator(c->probes, failure_text());
}

const struct capture_refusals *capture_refusals(const struct capture *capture)
{
	return &capture->refusals;
}

const char *capture_no_account(const struct capture *capture)
{
	return machines_no_account(capture->machines);
}

const struct machines_ops capture_machines_ops = {
	.refused = machine_refused,
	.trust = trust,
	.leave = emulator_leave,
	.watched_since = emulator_watched_since,
	.device = enter_device,
	.access = take_access,
	.gone = emulated_machine_gone,
};

static int open_machines(struct capture *c, __u64 now_ns)
{
	(void)now_ns;
	return machines_create(&c->machines, &capture_machines_ops, c);
}

static int greet_machines(struct capture *c, __u64 now_ns)
{
	(void)now_ns;
	machines_greet(c->machines);
	return 0;
}

static int poll_machines(struct capture *c, __u64 now_ns)
{
	return machines_poll(c->machines, now_ns);
}

static int look_for_emulator(struct capture *c, __u64 now_ns)
{
	(void)now_ns;
	emulators_look(c);
	return 0;
}

static int finish_machines(struct capture *c, __u64 now_ns)
{
	(void)now_ns;
	return machines_finish(c->machines);
}

static int close_machines(struct capture *c, __u64 now_ns)
{
	(void)now_ns;
	machines_destroy(c->machines);
	return 0;
}

const struct path emulated_path = {
	.name = "emulated machines",
	.needs = "install " EMULATOR_NAME ", or --emulator PATH",
	ROWS(rows),
	.steps = {[STEP_OPEN] = open_machines,
		  [STEP_ATTACHED] = look_for_emulator,
		  [STEP_BEGIN] = greet_machines,
		  [STEP_POLL] = poll_machines,
		  [STEP_SECOND] = look_for_emulator,
		  [STEP_FINISH] = finish_machines,
		  [STEP_CLOSE] = close_machines},
};
