// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/stage.h"

#include <stdio.h>
#include <string.h>

static const char *const stage_names[STAGES + 1] = {
	"request", "delivery", "dispatch", "resolve", "map", "respond", "resume", "none",
};

static const char *const timestamp_names[FAULT_STAGES] = {
	"detect", "request", "isr", "handler", "resolved", "mapped", "response", "resume",
};

const char *stage_name(unsigned int stage)
{
	return stage_names[stage < STAGES ? stage : STAGES];
}

const char *stage_marked_name(unsigned int stage, bool merged, char text[STAGE_MARKED_TEXT])
{
	snprintf(text, STAGE_MARKED_TEXT, "%s%s", stage_name(stage), merged ? "*" : "");
	return text;
}

/* "detect", "request", "isr", ...: the timestamp with this index. */
static const char *timestamp_name(unsigned int index)
{
	return index < FAULT_STAGES ? timestamp_names[index] : "none";
}

unsigned int stage_before(__u8 seen, unsigned int stage)
{
	unsigned int first = stage;

	/* Stage s lies between the timestamps s and s + 1. Nothing is merged before the first seen. */
	while (stage < STAGES && first > 0 && !(seen & 1u << first) && seen & ((1u << first) - 1))
		first--;
	return stage - first;
}

const char *stage_label(unsigned int stage, unsigned int before, char text[STAGE_LABEL])
{
	size_t used = 0;

	for (unsigned int s = stage - before; s < stage; s++)
		used += (size_t)snprintf(text + used, STAGE_LABEL - used, "%s+", stage_name(s));
	snprintf(text + used, STAGE_LABEL - used, "%s", stage_name(stage));
	return text;
}

void stage_times(const struct fault *fault, struct stage_times *times)
{
	unsigned int before = FAULT_STAGES;

	memset(times, 0, sizeof(*times));
	for (unsigned int k = 0; k < FAULT_STAGES; k++) {
		if (!(fault->seen & (1u << k)))
			continue;
		if (before < FAULT_STAGES) {
			__u64 from = fault->at[before], to = fault->at[k];

			times->ns[k - 1] = to > from ? to - from : 0;
			times->measured |= (__u8)(1u << (k - 1));
			if (before + 1 < k)
				times->merged |= (__u8)(1u << (k - 1));
		}
		before = k;
	}
}

__u64 fault_total_ns(const struct fault *fault)
{
	__u64 from = fault->at[0], to = fault->at[FAULT_STAGES - 1];

	if (fault->kernel && fault->ended) {
		from = fault_first_ns(fault);
		to = fault_last_ns(fault);
	}
	return from && to > from ? to - from : 0;
}

unsigned int fault_slowest_stage(const struct fault *fault)
{
	struct stage_times times;
	unsigned int slowest = STAGES;

	stage_times(fault, &times);
	for (unsigned int s = 0; s < STAGES; s++)
		if (times.measured & (1u << s) &&
		    (slowest == STAGES || times.ns[s] > times.ns[slowest]))
			slowest = s;
	return slowest;
}

__u64 fault_first_ns(const struct fault *fault)
{
	for (unsigned int k = 0; k < FAULT_STAGES; k++)
		if (fault->seen & (1u << k))
			return fault->at[k];
	return 0;
}

__u64 fault_last_ns(const struct fault *fault)
{
	for (unsigned int k = FAULT_STAGES; k-- > 0;)
		if (fault->seen & (1u << k))
			return fault->at[k];
	return 0;
}

__u64 fault_end_ns(const struct fault *fault)
{
	return fault->abandoned_ns ? fault->abandoned_ns : fault_last_ns(fault);
}

__u64 fault_begin_ns(const struct fault *fault)
{
	return fault->kernel ? fault_first_ns(fault) : fault->at[0];
}

__u64 fault_known_ns(const struct fault *fault)
{
	return fault_begin_ns(fault) ?: fault_first_ns(fault);
}

const char *stage_span(__u8 seen, char text[SPAN_TEXT])
{
	if (!seen)
		return "none";
	snprintf(text, SPAN_TEXT, "%s-%s", timestamp_name((unsigned int)__builtin_ctz(seen)),
		 timestamp_name(31 - (unsigned int)__builtin_clz(seen)));
	return text;
}

const char *fault_reached_name(const struct fault *fault)
{
	return timestamp_name(fault->seen ? 31 - (unsigned int)__builtin_clz(fault->seen)
					  : FAULT_STAGES);
}

const char *fault_state_name(unsigned int state)
{
	static const char *const names[] = {
		[FAULT_OPEN] = "open",
		[FAULT_COMPLETE] = "complete",
		[FAULT_UNFINISHED] = "unfinished",
		[FAULT_INCONSISTENT] = "inconsistent",
		[FAULT_OVERFLOWED] = "overflowed",
		[FAULT_DISCARDED] = "discarded",
		[FAULT_ABANDONED] = "abandoned",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

bool fault_effort_known(const struct fault *fault)
{
	const unsigned int resolved = 1u << (EVENT_FAULT_RESOLVED - EVENT_FAULT_DETECT);
	const unsigned int response = 1u << (EVENT_FAULT_RESPONSE - EVENT_FAULT_DETECT);

	return fault->seen & resolved ||
	       (fault->seen & response && fault->code != RESPONSE_SUCCESS);
}

enum fault_effort fault_effort(const struct fault *fault)
{
	if (!fault_served(fault) || fault->abandoned_ns)
		return EFFORT_NONE;
	if (fault->flags & EVENT_MAJOR)
		return EFFORT_MAJOR;
	return fault_effort_known(fault) ? EFFORT_MINOR : EFFORT_UNKNOWN;
}

const char *fault_effort_name(const struct fault *fault)
{
	static const char *const names[EFFORTS] = {"minor", "major", "unknown", "-"};

	return names[fault_effort(fault)];
}

const char *fault_cause_name(const struct fault *fault)
{
	static const char *const names[] = {
		[MM_NONE] = "none",
		[MM_ANONYMOUS] = "anonymous",
		[MM_PRESENT] = "present",
		[MM_COPY_ON_WRITE] = "copy-on-write",
		[MM_FILE] = "file",
		[MM_HUGE] = "huge",
		[MM_HUGETLB] = "hugetlb",
		[MM_SWAP] = "swap",
		[MM_USERFAULTFD] = "userfaultfd",
		[MM_ERROR] = "error",
		[MM_PERMISSION] = "permission",
	};

	/* Brought, but not before our eyes. */
	if (fault->cause == MM_NONE && (!fault->kernel || fault->code == RESPONSE_SUCCESS))
		return "-";
	return fault->cause < sizeof(names) / sizeof(names[0]) ? names[fault->cause] : "unknown";
}

const char *fault_consumer_name(const struct fault *fault)
{
	static const char *const names[] = {
		[CONSUMER_UNKNOWN] = "-",
		[CONSUMER_SVA] = "sva",
		[CONSUMER_IOMMUFD] = "iommufd",
		[CONSUMER_OTHER] = "other",
	};

	return fault->consumer < sizeof(names) / sizeof(names[0]) ? names[fault->consumer]
								  : "unknown";
}

const char *fault_response_name(const struct fault *fault)
{
	const unsigned int answered = 3u << (EVENT_FAULT_RESPONSE - EVENT_FAULT_DETECT);

	if (!(fault->seen & answered))
		return "-";
	switch (fault->code) {
	case RESPONSE_SUCCESS:
		return "success";
	case RESPONSE_INVALID:
		return "invalid";
	case RESPONSE_FAILURE:
		return "failure";
	case RESPONSE_AUTOMATIC:
		return "automatic";
	default:
		return "reserved";
	}
}
