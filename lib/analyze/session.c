// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/analysis.h"
#include "lib/analyze/live.h"
#include "lib/analyze/session.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "lib/analyze/session_private.h"
#include "lib/base/fail.h"

#define NAMED_MAX 65536 /* stacks, processes and flows each: more is no recording of ours */

static void note_time(struct session *s, __u64 time_ns)
{
	if (!s->first_ns || time_ns < s->first_ns)
		s->first_ns = time_ns;
	if (time_ns > s->last_ns)
		s->last_ns = time_ns;
}

static int session_on_host(void *self, const struct host_info *host)
{
	struct session *s = self;

	s->host = *host;
	s->has_host = true;
	s->unknown = (struct session_unknown){0};
	if (host->start_ns)
		note_time(s, host->start_ns);
	return 0;
}

static int session_on_clock(void *self, const struct clock_anchor *anchor)
{
	struct session *s = self;

	wall_clock_add(&s->clock, anchor);
	return 0;
}

/*
 * A damaged recording may have lost the entry of a device, and what it did is there; what one of a handle that
 * no table has did is in none.
 */
static void note_device(struct session *s, __u32 handle)
{
	if (handle < SLOTS_MAX)
		s->named[handle / 64] |= 1ull << handle % 64;
	else
		s->dropped++;
}

static int session_on_device(void *self, const struct device_info *device)
{
	struct session *s = self;
	struct device_info *slot = slots_make(&s->devices, device->handle);

	if (!slot) {
		s->dropped++;
		return 0;
	}
	if (slot->handle)
		device_names_remove(&s->names, slot);
	else
		s->device_count++;
	*slot = *device;
	note_device(s, device->handle);
	return device_names_add(&s->names, device);
}

/* Lines become one, so that a stack is a cell of a table. */
static char *in_one_line(const char *text)
{
	char *line = memory_calloc(1, 3 * strlen(text) + 1), *to = line;

	for (; line && *text; text++) {
		if (*text == '\n')
			to = stpcpy(to, " < ");
		else
			*to++ = *text;
	}
	if (line)
		*to = '\0';
	return line;
}

static int session_on_stack(void *self, const struct stack_info *info)
{
	struct session *s = self;
	struct named_stack *stack;

	HASH_FIND(hh, s->stacks, &info->id, sizeof(info->id), stack);
	if (stack)
		return 0;
	if (HASH_COUNT(s->stacks) >= NAMED_MAX) {
		s->dropped++;
		return 0;
	}
	stack = memory_calloc(1, sizeof(*stack));
	if (stack)
		stack->text = in_one_line(info->text);
	if (!stack || !stack->text) {
		memory_free(stack);
		return failed(-ENOMEM, "no memory for a stack");
	}
	stack->id = info->id;
	HASH_ADD(hh, s->stacks, id, sizeof(stack->id), stack);
	if (stack->hh.tbl)
		return 0;
	memory_free(stack->text);
	memory_free(stack);
	return failed(-ENOMEM, "no memory for a stack");
}

static int session_on_process(void *self, const struct process_info *info)
{
	struct session *s = self;
	struct named_process *process;

	HASH_FIND(hh, s->processes, &info->pid, sizeof(info->pid), process);
	if (!process && HASH_COUNT(s->processes) >= NAMED_MAX) {
		s->dropped++;
		return 0;
	}
	if (!process) {
		process = memory_calloc(1, sizeof(*process));
		if (!process)
			return failed(-ENOMEM, "no memory for a process");
		process->pid = info->pid;
		HASH_ADD(hh, s->processes, pid, sizeof(process->pid), process);
		if (!process->hh.tbl) {
			memory_free(process);
			return failed(-ENOMEM, "no memory for a process");
		}
	}
	snprintf(process->comm, sizeof(process->comm), "%s", info->comm);
	return 0;
}

static int session_on_flow(void *self, const struct flow_info *info)
{
	struct session *s = self;
	struct named_flow *flow;

	HASH_FIND(hh, s->flows, &info->id, sizeof(info->id), flow);
	if (!flow && HASH_COUNT(s->flows) >= NAMED_MAX) {
		s->dropped++;
		return 0;
	}
	if (!flow) {
		flow = memory_calloc(1, sizeof(*flow));
		if (!flow)
			return failed(-ENOMEM, "no memory for a flow");
		flow->info.id = info->id;
		HASH_ADD(hh, s->flows, info.id, sizeof(flow->info.id), flow);
		if (!flow->hh.tbl) {
			memory_free(flow);
			return failed(-ENOMEM, "no memory for a flow");
		}
	}
	flow->info = *info;
	return 0;
}

static int session_on_events(void *self, const struct event *events, size_t count)
{
	struct session *s = self;

	if (!count)
		return 0;
	for (size_t i = 0; i < count; i++) {
		s->kinds[events[i].kind < EVENT_KIND_MAX ? events[i].kind : EVENT_NONE]++;
		note_device(s, events[i].device);
	}
	s->events += count;
	/* Events come in merged order; only late ones lie outside, by little. */
	note_time(s, events[0].time_ns);
	note_time(s, events[count - 1].time_ns);
	return 0;
}

static int session_on_tick(void *self, __u64 now_ns)
{
	struct session *s = self;

	if (now_ns > s->last_ns)
		s->last_ns = now_ns;
	return 0;
}

static int session_on_aggregate(void *self, const struct aggregate_frame *frame)
{
	struct session *s = self;

	s->windows_incomplete += frame->incomplete;
	for (size_t i = 0; i < frame->row_count; i++)
		note_device(s, frame->rows[i].key.device);
	for (size_t i = 0; i < frame->page_count; i++)
		note_device(s, frame->pages[i].device);
	session_on_tick(s, frame->window * AGGREGATE_WINDOW_NS);
	return 0;
}

static int session_on_loss(void *self, const struct loss_info *loss)
{
	struct session *s = self;

	s->loss = *loss;
	return 0;
}

static int session_on_kept(void *self, const struct kept_info *kept)
{
	struct session *s = self;

	s->kept = *kept;
	return 0;
}

int session_create(struct session **session)
{
	struct session *s = memory_calloc(1, sizeof(*s));

	*session = s;
	if (!s)
		return failed(-ENOMEM, "no memory for an analysis");
	slots_init(&s->devices, sizeof(struct device_info));
	return 0;
}

struct stream session_stream(struct session *s)
{
	static const struct stream_ops ops = {
		.host = session_on_host,
		.clock = session_on_clock,
		.probe = session_on_probe,
		.device = session_on_device,
		.stack = session_on_stack,
		.process = session_on_process,
		.flow = session_on_flow,
		.events = session_on_events,
		.aggregate = session_on_aggregate,
		.loss = session_on_loss,
		.kept = session_on_kept,
		.tick = session_on_tick,
		.end = session_on_tick,
	};

	return (struct stream){&ops, s};
}

struct stream session_dictionary(struct session *s)
{
	static const struct stream_ops ops = {.device = session_on_device};

	return (struct stream){&ops, s};
}

void session_destroy(struct session *s)
{
	struct named_stack *stack, *next_stack;
	struct named_process *process, *next_process;
	struct named_flow *flow, *next_flow;

	if (!s)
		return;
	HASH_ITER(hh, s->stacks, stack, next_stack) {
		HASH_DEL(s->stacks, stack);
		memory_free(stack->text);
		memory_free(stack);
	}
	HASH_ITER(hh, s->processes, process, next_process) {
		HASH_DEL(s->processes, process);
		memory_free(process);
	}
	HASH_ITER(hh, s->flows, flow, next_flow) {
		HASH_DEL(s->flows, flow);
		memory_free(flow);
	}
	device_names_free(&s->names);
	slots_free(&s->devices);
	wall_clock_free(&s->clock);
	memory_free(s->probes);
	memory_free(s);
}

struct session_unknown *session_unknown(const struct session *s)
{
	return &((struct session *)s)->unknown;
}

const struct host_info *session_host(const struct session *s)
{
	return s->has_host ? &s->host : NULL;
}

const struct wall_clock *session_clock(const struct session *s)
{
	return &s->clock;
}

const struct loss_info *session_loss(const struct session *s)
{
	return &s->loss;
}

bool session_is_unaccounted(const struct session *s)
{
	return s->loss.cut && !s->loss.as_of_ns;
}

const struct kept_info *session_kept(const struct session *s)
{
	return &s->kept;
}

const struct device_info *session_device(const struct session *s, __u32 handle)
{
	const struct device_info *slot = slots_find(&s->devices, handle);

	return slot && slot->handle ? slot : NULL;
}

bool session_began_within(const struct session *s, const struct device_info *info)
{
	return s->has_host && s->host.start_ns &&
	       info->pid_start_ns + PID_START_TICK_NS > s->host.start_ns;
}

__u32 session_device_next(const struct session *s, __u32 handle)
{
	__u32 word = ++handle / 64;
	__u64 bits = handle < SLOTS_MAX ? s->named[word] & ~0ull << handle % 64 : 0;

	while (!bits && ++word < SLOTS_MAX / 64)
		bits = s->named[word];
	return bits ? word * 64 + (__u32)__builtin_ctzll(bits) : SESSION_DEVICES;
}

size_t session_device_count(const struct session *s)
{
	return s->device_count;
}

const char *session_device_name(const struct session *s, __u32 handle, char text[DEVICE_NAME_TEXT])
{
	const struct device_info *info = session_device(s, handle);

	if (handle == DEVICE_NONE)
		return "-";
	if (info && info->name[0])
		return device_names_shown(s->names, info, text);
	snprintf(text, DEVICE_NAME_TEXT, "device %u", handle);
	return text;
}

bool session_device_fits(const struct session *s, __u32 handle, const char *pattern)
{
	const struct device_info *info = session_device(s, handle);
	char text[DEVICE_NAME_TEXT];

	if (info && info->name[0])
		return device_name_fits(info, pattern);
	return !fnmatch(pattern, session_device_name(s, handle, text), 0);
}

const char *session_stack(const struct session *s, __u32 id)
{
	const struct named_stack *stack;

	HASH_FIND(hh, s->stacks, &id, sizeof(id), stack);
	return stack ? stack->text : "";
}

void session_process(const struct session *s, __u32 pid, char comm[16])
{
	const struct named_process *process;

	memset(comm, 0, 16);
	if (!pid) {
		memcpy(comm, "idle", 5);
		return;
	}
	HASH_FIND(hh, s->processes, &pid, sizeof(pid), process);
	if (process)
		memcpy(comm, process->comm, sizeof(process->comm));
}

__u64 session_events(const struct session *s)
{
	return s->events;
}

__u64 session_events_of(const struct session *s, unsigned int kind)
{
	return kind < EVENT_KIND_MAX ? s->kinds[kind] : 0;
}

const struct period *session_period(const struct session *s)
{
	return &s->period;
}

__u64 session_first_ns(const struct session *s)
{
	__u64 first = s->kept.from_ns > s->first_ns ? s->kept.from_ns : s->first_ns;

	return s->period.since_ns > first ? s->period.since_ns : first;
}

__u64 session_last_ns(const struct session *s)
{
	return period_is_after(&s->period, s->last_ns) ? s->period.until_ns : s->last_ns;
}

__u64 session_dropped(const struct session *s)
{
	return s->dropped;
}

__u64 session_windows_incomplete(const struct session *s)
{
	return s->windows_incomplete;
}

static void session_live(const struct analysis *a, struct live_summary *summary)
{
	const struct session *s = a->session;

	summary->host = session_host(s);
	summary->clock = session_clock(s);
	summary->loss = *session_loss(s);
	summary->first_ns = session_first_ns(s);
	summary->events = session_events(s);
	summary->devices = session_device_count(s);
	for (size_t i = 0; i < s->probe_count; i++) {
		summary->probes_on += s->probes[i].info.state == PROBE_ON;
		summary->probes_off += s->probes[i].info.state == PROBE_OFF;
	}
}

static int create_session(struct analysis *a, const struct analysis_config *config)
{
	int error = session_create(&a->session);

	if (!error)
		a->session->period = config->period;
	return error;
}

DEFINE_ANALYZER(session, .of_period = true, .summary = session_live)

const struct flow_info *session_flow(const struct session *s, __u32 id)
{
	const struct named_flow *flow;

	HASH_FIND(hh, s->flows, &id, sizeof(id), flow);
	return flow ? &flow->info : NULL;
}

const char *session_flow_text(const struct session *s, __u32 id, char text[FLOW_TEXT])
{
	const struct flow_info *flow = session_flow(s, id);

	if (flow)
		return flow_format(flow, text);
	snprintf(text, FLOW_TEXT, id ? "flow %u" : "-", id);
	return text;
}
