// SPDX-License-Identifier: GPL-2.0
/* Who faulted, in whose memory, what became of it, and the cause in one sentence. */
#include "lib/analyze/analysis.h"
#include "lib/analyze/explain_private.h"
#include "lib/analyze/fault_table.h"
#include "lib/analyze/unknown.h"
#include "lib/base/units.h"

static struct explained of_itself(enum explain_part part, const struct fault *fault)
{
	return explained_fault(part, STAGES, CAUSE_UNKNOWN, fault);
}

static const char *access_words(const struct fault *fault)
{
	if (fault->flags & EVENT_WRITE)
		return fault->flags & EVENT_READ ? "read and write" : "write";
	if (fault->flags & EVENT_EXEC)
		return "execute";
	return fault->flags & EVENT_READ ? "read" : "access";
}

static void put_who(const struct explain *e, const struct fault *fault, struct explanation *to)
{
	const struct session *session = e->analysis->session;
	const struct device_info *info = session_device(session, fault->device);
	char name[DEVICE_NAME_TEXT], when[SESSION_WHEN_TEXT], size[UNITS_TEXT];
	struct sentence words = {0};

	sentence_add(&words, "%s", session_device_name(session, fault->device, name));
	if (info && *info->model)
		sentence_add(&words, " (%s%s%s)", info->model, *info->vm ? ", VM " : "", info->vm);
	if (fault->queue != QUEUE_NONE)
		sentence_add(&words, ", queue %u,", fault->queue);
	if (!session_wall_time(session, fault_known_ns(fault), when))
		session_when(session, fault_known_ns(fault), when);
	sentence_add(&words,
		     " wanted to %s %s at 0x%llx and found no translation at %s: fault %u.%u, "
		     "row %llu.",
		     access_words(fault), units_format_size(fault->length, size), fault->address,
		     when, fault->group, fault->instance, to->row);
	explanation_add(to, of_itself(EXPLAIN_WHO, fault), &words);
}

static void tell_owner(const struct fault *fault, const struct device_info *info,
		       struct sentence *words)
{
	if (fault->pid) {
		const char *comm = fault->comm[0] ? fault->comm : info ? info->comm : "";

		sentence_add(words, "The memory is that of process %u", fault->pid);
		if (*comm)
			sentence_add(words, " (%s)", comm);
	} else {
		sentence_add(words, "Whose memory it is was not recorded");
	}
	if (fault->pasid != PASID_NONE)
		sentence_add(words, ", PASID %u", fault->pasid);
}

static void find_both(const struct explain *e, __u32 device, unsigned int point, __u64 from_ns,
		      __u64 to_ns, struct explain_injected *injected,
		      struct explain_injected *perhaps)
{
	*injected = explain_injected(e, device, point, from_ns, to_ns);
	*perhaps = explain_perhaps_injected(e, device, point, from_ns, to_ns);
}

/* Who freed the page had not ended by then, whatever became of it later. */
static void evicted_by(const struct explain *e, const struct fault *fault,
		       const struct taken_time *taken, struct explain_injected *known,
		       struct explain_injected *perhaps)
{
	__u64 when = taken->sent_ns;

	find_both(e, fault->device, INJECT_EVICT, when, when, known, perhaps);
	explain_evicted_by(known, taken);
	explain_evicted_by(perhaps, taken);
	if (explain_freed(perhaps, taken)) {
		*known = *perhaps;
		perhaps->count = 0;
	} else if (explain_freed(known, taken)) {
		perhaps->count = 0;
	}
}

/* Why the page was absent, and how it came. */
static void put_memory(const struct explain *e, const struct fault *fault, struct explanation *to)
{
	__u64 begin = fault_known_ns(fault);
	const struct device_info *info = session_device(e->analysis->session, fault->device);
	const struct taken_time *taken = explain_taken_before(e, fault, begin);
	struct explained item = of_itself(EXPLAIN_MEMORY, fault);
	struct explain_injected perhaps, evict;
	struct sentence words = {0};
	char ago[UNITS_TEXT];

	tell_owner(fault, info, &words);
	if (fault->cause == MM_PERMISSION) {
		sentence_add(&words, "; the page was there, but mapped read-only for the device.");
		explanation_add(to, item, &words);
		return;
	}
	if (!taken) {
		sentence_add(&words,
			     "; that the page was taken back before was not seen, so whether the "
			     "device ever had it is not known.");
		explanation_add(to, item, &words);
		return;
	}
	explained_by_invalidation(&item, taken);
	sentence_add(&words, "; the page had been taken back %s before%s%s",
		     units_format_duration(begin - taken->sent_ns, ago),
		     taken->written ? " and written to storage" : "",
		     explain_lossy(e) ? ", the last time that was seen" : "");
	evicted_by(e, fault, taken, &evict, &perhaps);
	if (evict.count) {
		sentence_add(&words, ", while ");
		explain_tell_injected(&words, &evict);
		sentence_add(&words, " under way");
	}
	explain_tell_perhaps(e, &words, &perhaps);
	sentence_add(&words, ".");
	explanation_add(to, item, &words);
	explanation_add_injected(to, EXPLAIN_MEMORY, STAGES, &evict);
	explanation_add_perhaps(to, EXPLAIN_MEMORY, STAGES, &perhaps);
}

static void put_outcome(const struct explain *e, const struct fault *fault, struct explanation *to)
{
	unsigned int numbers = unknown_numbers(e->analysis->session, fault->device);
	struct explained item = of_itself(EXPLAIN_OUTCOME, fault);
	struct sentence words = {0};
	char text[UNITS_TEXT], span[SPAN_TEXT];
	__u64 stages = explain_stages_ns(fault);

	item.ns = fault_end_ns(fault) - fault_known_ns(fault);
	sentence_add(&words, "It was %s", unknown_state_name(numbers, fault->state));
	sentence_add(&words, " after %s", units_format_duration(item.ns, text));
	stage_span(fault->seen, span);
	/* What is said of stages below is of their sum, where the host or the request went on after that end. */
	if (fault->abandoned_ns || stages != item.ns)
		sentence_add(&words, "%s; its stages, as far as they were seen (%s), took %s",
			     fault->abandoned_ns ? ", when its device gave up" : "", span,
			     units_format_duration(stages, text));
	else if (fault->state != FAULT_COMPLETE)
		sentence_add(&words, ", as far as it was seen (%s)", span);
	sentence_add(&words, "; response: %s, page: %s.", fault_response_name(fault),
		     fault_effort_name(fault));
	explanation_add(to, item, &words);
}

static const char *cause_words(enum explain_cause cause)
{
	static const char *const words[EXPLAIN_CAUSES] = {
		[CAUSE_UNKNOWN] = "nothing that was recorded says why",
		[CAUSE_INJECTION] = "an injection",
		[CAUSE_HELD_BACK] = "its device had no page request left",
		[CAUSE_ORDER] = "other requests ahead of it in the page request queue",
		[CAUSE_GROUP] = "other pages of its group",
		[CAUSE_BUSY] = "a handler that was busy with other faults",
		[CAUSE_CPU] = "a handler that waited for a CPU",
		[CAUSE_STORAGE] = "storage, from which the page was read",
		[CAUSE_MEMORY] = "making the page present, without storage",
		[CAUSE_PEERS] = "other groups that its device waited for",
		[CAUSE_INTERRUPT] = "the IOMMU's interrupt",
		[CAUSE_IOMMU] = "the IOMMU, which took its time with the response",
		[CAUSE_LOST] = "a response that was sent and did not reach its device",
		[CAUSE_SILENT] = "no response was sent until its device gave up",
		[CAUSE_OVERFLOW] = "the page request queue, which dropped the request",
		[CAUSE_DISCARDED] =
			"an overflow of the page request queue, after which it was thrown away",
	};

	return words[cause];
}

static bool overflow_is_of(const struct event *overflow, const struct fault *fault)
{
	return overflow->device == fault->device && overflow->group == fault->group &&
	       overflow->pasid == fault->pasid && overflow->instance == fault->instance;
}

/* The overflow of its own request, else the newest of its machine before it was over. */
static const struct event *overflow_of(const struct explain *e, const struct fault *fault)
{
	const struct event *near = NULL;

	for (__u64 i = e->overflows.tail; i-- > e->overflows.head;) {
		const struct event *overflow = memory_at(&e->overflows, i);

		if (overflow->time_ns + EXPLAIN_SETTLE_NS < fault_known_ns(fault) ||
		    (near && overflow->time_ns < fault_known_ns(fault)))
			break;
		if (overflow_is_of(overflow, fault) && overflow->address == fault->address)
			return overflow;
		if (!near && overflow->time_ns <= fault_end_ns(fault) &&
		    explain_same_machine(e, overflow->device, fault->device))
			near = overflow;
	}
	return near;
}

static void tell_overflow(const struct explain *e, const struct fault *fault,
			  struct explained *item, struct sentence *words,
			  struct explain_injected *injected, struct explain_injected *perhaps)
{
	const struct event *overflow = overflow_of(e, fault);

	if (!overflow)
		return;
	item->evidence = "overflow";
	item->from_ns = item->to_ns = overflow->time_ns;
	item->count = overflow->value;
	item->device = overflow->device;
	item->group = overflow->group;
	item->instance = overflow->instance;
	item->address = overflow->address;
	sentence_add(words, "; it has %llu entries", overflow->value);
	find_both(e, overflow->device, INJECT_OVERFLOW, overflow->time_ns, overflow->time_ns,
		  injected, perhaps);
}

/* What became of it says more than what took longest. */
static enum explain_cause cause_of_state(const struct fault *fault, enum explain_cause slowest)
{
	switch (fault->state) {
	case FAULT_OVERFLOWED:
		return CAUSE_OVERFLOW;
	case FAULT_DISCARDED:
		return CAUSE_DISCARDED;
	case FAULT_ABANDONED: {
		__u64 response = explain_at(fault, EVENT_FAULT_RESPONSE);

		return response && response < fault->abandoned_ns ? CAUSE_LOST : CAUSE_SILENT;
	}
	default:
		return slowest;
	}
}

/* " (stage delivery: 4.08ms of 4.20ms)" */
static void tell_slowest(const struct fault *fault, unsigned int slowest, __u64 ns,
			 struct sentence *words)
{
	char label[STAGE_LABEL], part[UNITS_TEXT], all[UNITS_TEXT];

	sentence_add(words, " (stage %s: %s of %s)",
		     stage_label(slowest, stage_before(fault->seen, slowest), label),
		     units_format_duration(ns, part),
		     units_format_duration(explain_stages_ns(fault), all));
}

static void put_cause(const struct explain *e, const struct fault *fault, struct explanation *to,
		      enum explain_cause stage_cause)
{
	enum explain_cause cause = to->cause = cause_of_state(fault, stage_cause);
	struct explained item = of_itself(EXPLAIN_CAUSE, fault);
	struct explain_injected injected = {0}, perhaps = {0};
	unsigned int slowest = fault_slowest_stage(fault);
	__u64 begin = fault_known_ns(fault), end = fault_end_ns(fault);
	struct sentence words = {0};
	struct stage_times times;

	stage_times(fault, &times);
	item.cause = cause;
	item.stage = slowest;
	item.ns = slowest < STAGES ? times.ns[slowest] : 0;
	sentence_add(&words, "Cause: %s", cause_words(cause));
	if (cause == stage_cause && slowest < STAGES)
		tell_slowest(fault, slowest, item.ns, &words);
	else if (cause == CAUSE_SILENT && stage_cause != CAUSE_UNKNOWN)
		sentence_add(&words, "; what took longest: %s", cause_words(stage_cause));
	if (cause == CAUSE_OVERFLOW || cause == CAUSE_DISCARDED)
		tell_overflow(e, fault, &item, &words, &injected, &perhaps);
	else if (cause == CAUSE_LOST)
		find_both(e, fault->device, INJECT_RESPONSE_LOST,
			  explain_at(fault, EVENT_FAULT_RESPONSE), end, &injected, &perhaps);
	else if (fault->code == RESPONSE_FAILURE && explain_at(fault, EVENT_FAULT_RESPONSE))
		find_both(e, fault->device, INJECT_RESPONSE_FAILURE, begin, end, &injected,
			  &perhaps);
	if (fault->code == RESPONSE_FAILURE && explain_at(fault, EVENT_FAULT_RESPONSE))
		sentence_add(&words, "; the response told its device of a failure%s",
			     explain_at(fault, EVENT_FAULT_MAPPED) ? ", though the page was mapped"
								   : "");
	else if (fault->code == RESPONSE_INVALID && explain_at(fault, EVENT_FAULT_RESPONSE))
		sentence_add(&words, "; the host refused it");
	if (injected.count) {
		sentence_add(&words, ", while ");
		explain_tell_injected(&words, &injected);
		sentence_add(&words, " under way");
	}
	explain_tell_perhaps(e, &words, &perhaps);
	sentence_add(&words, ".");
	explanation_add(to, item, &words);
	explanation_add_injected(to, EXPLAIN_CAUSE, slowest, &injected);
	explanation_add_perhaps(to, EXPLAIN_CAUSE, slowest, &perhaps);
}

void explain_fault(struct explain *e, const struct explain_fault *kept, struct explanation *to)
{
	const struct fault *fault = &kept->fault;

	explanation_begin(to, e->analysis, kept);
	put_who(e, fault, to);
	put_memory(e, fault, to);
	put_outcome(e, fault, to);
	put_cause(e, fault, to, explain_stages(e, fault, to));
	explain_waited(e, fault, to);
	explain_help(e, fault, to);
	explain_unknown(e, fault, to);
}
