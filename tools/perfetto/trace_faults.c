// SPDX-License-Identifier: GPL-2.0
/* Slices of faults, with their stages inside. */
#include <stdio.h>
#include <string.h>

#include "lib/analyze/fault_table.h"
#include "lib/analyze/unknown.h"
#include "lib/base/array.h"
#include "tools/perfetto/trace_private.h"

#define PAST_FAULTS_MAX 4096
#define PAST_FAULTS_NS	2000000000ull

bool perfetto_fault_span(const struct perfetto *p, const struct fault *fault, __u64 *from_ns,
			 __u64 *to_ns)
{
	__u64 waited = fault->waited_ns == WAITED_TO_END ? session_last_ns(p->analysis->session)
							 : fault->waited_ns;

	*from_ns = UINT64_MAX;
	*to_ns = fault->abandoned_ns;
	/* In whatever order they are. */
	for (unsigned int k = 0; k < FAULT_STAGES; k++) {
		if (!(fault->seen & (1u << k)))
			continue;
		*from_ns = fault->at[k] < *from_ns ? fault->at[k] : *from_ns;
		*to_ns = fault->at[k] > *to_ns ? fault->at[k] : *to_ns;
	}
	if (!fault_over(fault)) {
		*to_ns = waited > *to_ns ? waited : *to_ns;
		*to_ns = fault->given_up_ns > *to_ns ? fault->given_up_ns : *to_ns;
	}
	return *from_ns != UINT64_MAX;
}

static const char *name_fault(const struct fault *fault, const char *state, char text[64])
{
	const char *effort = fault_effort_name(fault), *access = fault_access_name(fault);
	bool known = strcmp(effort, "-") != 0 && strcmp(effort, "unknown") != 0;

	snprintf(text, 64, "%s%s%s%s%s%sfault", fault->state == FAULT_COMPLETE ? "" : state,
		 fault->state == FAULT_COMPLETE ? "" : " ", known ? effort : "", known ? " " : "",
		 *access == '-' ? "" : access, *access == '-' ? "" : " ");
	return text;
}

static void tell_handler(const struct fault *fault, struct packet_arguments *arguments)
{
	if (!(fault->seen & 1u << (EVENT_FAULT_HANDLER - EVENT_FAULT_DETECT)))
		return;
	packet_count(arguments, "handler_cpu", fault->handler_cpu);
	packet_count(arguments, "handler_tid", fault->handler_tid);
}

/* As the table "faults" has it, but for what the slices show. */
static void tell_fault(const struct fault *fault, const char *state,
		       struct packet_arguments *arguments)
{
	packet_address(arguments, "address", fault->address);
	packet_count(arguments, "length", fault->length);
	if (fault->pasid != PASID_NONE)
		packet_count(arguments, "pasid", fault->pasid);
	packet_count(arguments, "group", fault->group);
	packet_count(arguments, "instance", fault->instance);
	packet_text(arguments, "state", state);
	packet_text(arguments, "response", fault_response_name(fault));
	if (strcmp(fault_response_name(fault), "-") != 0)
		packet_count(arguments, "code", fault->code);
	packet_text(arguments, "cause", fault_cause_name(fault));
	packet_text(arguments, "access", fault_access_name(fault));
	packet_text(arguments, "kind", fault_effort_name(fault));
	packet_text(arguments, "consumer", fault_consumer_name(fault));
	packet_count_known(arguments, "cpu_faults", fault->cpu_faults);
	tell_handler(fault, arguments);
	packet_count_known(arguments, "pid", fault->pid);
	packet_text(arguments, "comm", fault->comm);
	packet_count_known(arguments, "overflows", fault->overflows);
	packet_count_known(arguments, "repeats", fault->repeats);
	packet_count_known(arguments, "interrupt_ns", fault->interrupt_ns);
	packet_count_known(arguments, "mm_fault_ns", fault->mm_ns);
	packet_count_known(arguments, "delivered_ns", fault->delivered_ns);
	packet_count_known(arguments, "held_back_ns", fault->held_ns);
}

/* A stage with the time of those before it that were not seen has their names, too, and says so. */
static void put_stage(struct perfetto *p, __u64 track, const struct fault *fault,
		      unsigned int stage, const struct perfetto_slice *slice)
{
	unsigned int before = stage_before(fault->seen, stage);
	struct packet_arguments arguments = {0};
	char label[STAGE_LABEL];
	const struct packet packet = {
		.type = PACKET_BEGIN,
		.time_ns = slice->from_ns,
		.track = track,
		.category = "stage",
		.name = stage_label(stage, before, label),
		.arguments = &arguments,
	};

	if (before)
		packet_truth(&arguments, "merged", true);
	packets_put(p->packets, &packet);
	perfetto_slice_end(p, track, slice);
}

/* Those of an inconsistent fault, whose timestamps are out of order, are moved so that they follow each other. */
static void put_stages(struct perfetto *p, __u64 track, const struct fault *fault)
{
	struct stage_times times;
	__u64 from = 0;

	stage_times(fault, &times);
	for (unsigned int s = 0; s < STAGES; s++) {
		__u64 to = fault->at[s + 1];
		struct perfetto_slice slice;

		if (!(times.measured & (1u << s)))
			continue;
		slice = (struct perfetto_slice){.from_ns = to - times.ns[s], .to_ns = to};
		slice.from_ns = slice.from_ns > from ? slice.from_ns : from;
		slice.to_ns = to > slice.from_ns ? to : slice.from_ns;
		put_stage(p, track, fault, s, &slice);
		from = slice.to_ns;
	}
}

/* Twice the room, those that are kept in it in their order. */
static void past_grow(struct queue_tracks *queue)
{
	size_t room = queue->past_room ? 2 * queue->past_room : 16;
	struct past_fault *larger =
		room <= PAST_FAULTS_MAX ? memory_calloc(room, sizeof(*larger)) : NULL;
	__u64 kept = queue->past_count < queue->past_room ? queue->past_count : queue->past_room;

	if (!larger)
		return;
	for (__u64 i = 0; i < kept; i++)
		larger[i] = queue->past[(queue->past_count - kept + i) & (queue->past_room - 1)];
	memory_free(queue->past);
	queue->past = larger;
	queue->past_room = room;
	queue->past_count = kept;
}

/* Where there is no more room, the oldest goes. */
static void remember_fault(struct queue_tracks *queue, const struct past_fault *past)
{
	const struct past_fault *oldest =
		queue->past_room ? &queue->past[queue->past_count & (queue->past_room - 1)] : NULL;

	if (!oldest ||
	    (queue->past_count >= queue->past_room && oldest->to_ns + PAST_FAULTS_NS > past->to_ns))
		past_grow(queue);
	if (queue->past_room)
		queue->past[queue->past_count++ & (queue->past_room - 1)] = *past;
}

void perfetto_on_began(void *self, const struct fault *fault)
{
	struct perfetto *p = self;
	struct device_tracks *device = perfetto_device(p, fault->device);
	__u64 from = fault_first_ns(fault);

	if (device)
		device->faulted = true;
	if (from)
		perfetto_open(p, fault->device, from, true);
}

/* Whatever a damaged stream says, not before it began. */
static __u64 given_up_at(const struct fault *fault, __u64 from_ns)
{
	return fault->abandoned_ns > from_ns ? fault->abandoned_ns : from_ns;
}

void perfetto_on_over(void *self, const struct fault *fault)
{
	__u64 from = fault_first_ns(fault);

	if (fault->told_over & FAULT_TOLD_GIVEN_UP && from)
		perfetto_open(self, fault->device, given_up_at(fault, from), false);
}

/* The slice may be longer, by what the host did for it afterwards. */
static void tell_given_up(struct perfetto *p, const struct fault *fault,
			  const struct perfetto_slice *slice, struct packet_arguments *arguments)
{
	__u64 end_ns = slice->to_ns;

	if (fault->abandoned_ns) {
		end_ns = given_up_at(fault, slice->from_ns);
		packet_count(arguments, "abandoned_ns", end_ns - slice->from_ns);
	}
	if (!(fault->told_over & FAULT_TOLD_GIVEN_UP))
		perfetto_open(p, fault->device, end_ns, false);
}

void perfetto_on_finished(void *self, const struct fault *fault)
{
	struct perfetto *p = self;
	const struct session *session = p->analysis->session;
	const struct blame_key key = {fault->device, fault->pasid, fault->group, fault->instance};
	const char *state =
		unknown_state_name(unknown_numbers(session, fault->device), fault->state);
	struct queue_tracks *queue = perfetto_queue(p, fault->device, fault->queue);
	const uint64_t flow = perfetto_flow(&key);
	struct packet_arguments arguments = {0};
	char name[64];
	struct perfetto_slice slice = {.category = "fault",
				       .name = name_fault(fault, state, name),
				       .arguments = &arguments,
				       .flows = &flow,
				       .flow_count = 1};
	__u64 track;

	if (!queue || !perfetto_fault_span(p, fault, &slice.from_ns, &slice.to_ns)) {
		p->left_out++;
		return;
	}
	tell_fault(fault, state, &arguments);
	tell_given_up(p, fault, &slice, &arguments);
	track = perfetto_slice_begin(p, &queue->faults, &slice);
	put_stages(p, track, fault);
	perfetto_slice_end(p, track, &slice);
	remember_fault(queue, &(struct past_fault){slice.from_ns, slice.to_ns, fault->address,
						   fault->length, flow});
}

void perfetto_cpu_fault(struct perfetto *p, const struct event *e)
{
	struct device_tracks *device = perfetto_device(p, e->device);
	struct packet_arguments arguments = {0};
	struct packet packet = {
		.type = PACKET_INSTANT,
		.time_ns = e->time_ns,
		.category = "cpu_fault",
		.name = e->flags & EVENT_PRIV ? "CPU fault in the kernel" : "CPU fault",
		.arguments = &arguments,
	};

	if (!device) {
		p->left_out++;
		return;
	}
	if (!device->cpu_faults)
		device->cpu_faults =
			packets_track(p->packets, device->track, "CPU faults of handlers", NULL);
	packet.track = device->cpu_faults;
	packet_address(&arguments, "address", e->address);
	packet_count(&arguments, "error_code", e->value);
	packet_count(&arguments, "group", e->group);
	packet_count(&arguments, "instance", e->instance);
	packet_count(&arguments, "tid", e->tid);
	packet_count(&arguments, "cpu", e->cpu);
	packets_put(p->packets, &packet);
}
