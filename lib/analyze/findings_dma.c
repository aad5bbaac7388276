// SPDX-License-Identifier: GPL-2.0
/* The findings on unrecoverable IOMMU faults and on DMA mappings. */
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/iommu_faults.h"
#include "lib/analyze/mappings.h"
#include "lib/analyze/session.h"
#include "lib/base/units.h"

#define STACK_SHOWN    160
#define FRAMES_BETWEEN " < "

/* Bytes of the innermost frames, whole ones, that a sentence has room for. */
static int frames_shown(const char *stack)
{
	int length = (int)strlen(stack);
	const char *between = stack;

	if (length <= STACK_SHOWN)
		return length;
	while ((between = strstr(between + 1, FRAMES_BETWEEN)) && between <= stack + STACK_SHOWN)
		length = (int)(between - stack);
	return length;
}

/* What follows them. */
static const char *frames_left(const char *stack)
{
	return strlen(stack) > STACK_SHOWN ? " ..." : "";
}

static void write_owner(const struct session *s, const struct iommu_fault *fault,
			struct writer *writer)
{
	const struct event *owner = &fault->owner;
	const char *stack = session_stack(s, owner->group);
	char since[UNITS_TEXT], length[UNITS_TEXT];
	__u64 ago = fault->event.time_ns > owner->value ? fault->event.time_ns - owner->value : 0;

	if (owner->kind == EVENT_NONE) {
		writer_note(writer, "The address has no known owner.");
		return;
	}
	units_format_duration(ago, since);
	units_format_size(owner->length, length);
	if (owner->code == OWNER_UNMAPPED)
		writer_note(writer,
			    "The address was in %s that %s (pid %u) had mapped and %s (pid %u) "
			    "unmapped %s before.",
			    length, fault->process[0] ? fault->process : "a process", owner->pid,
			    fault->unmapper[0] ? fault->unmapper : "a process", owner->tid, since);
	else
		writer_note(writer, "The address is in %s that %s (pid %u) mapped %s before.",
			    length, fault->process[0] ? fault->process : "a process", owner->pid,
			    since);
	if (stack[0])
		writer_note(writer, "Mapped by %.*s%s.", frames_shown(stack), stack,
			    frames_left(stack));
}

void iommu_faults_write_findings(const struct analysis *a, struct writer *writer)
{
	char name[DEVICE_NAME_TEXT], reason[NAME_TEXT], time[SESSION_WHEN_TEXT], unseen[96] = "";
	struct iommu_faults_counts counts;
	const struct iommu_fault *worst;
	__u64 of_device;

	iommu_faults_counts(a->iommu_faults, &counts);
	if (!counts.seen && !counts.unseen)
		return;
	if (counts.unseen)
		snprintf(unseen, sizeof(unseen),
			 "; %s%llu more were not printed by the kernel and are only counted",
			 counts.at_least ? "at least " : "", counts.unseen);
	writer_note(writer,
		    "%llu unrecoverable IOMMU faults decoded, %llu of them with an owner%s.",
		    counts.seen, counts.owned, unseen);
	worst = iommu_faults_worst(a->iommu_faults, &of_device);
	if (!worst)
		return;
	writer_note(writer, "Most: %s, %llu; the last at %s, address 0x%llx: %s.",
		    session_device_name(a->session, worst->event.device, name), of_device,
		    session_when(a->session, worst->event.time_ns, time), worst->event.address,
		    iommu_fault_reason(worst, reason));
	write_owner(a->session, worst, writer);
}

void mappings_write_findings(const struct analysis *a, struct writer *writer)
{
	struct mappings_device all = mappings_all(a->mappings);
	char name[DEVICE_NAME_TEXT], bytes[UNITS_TEXT], age[UNITS_TEXT], process[16];
	const struct event *oldest = mappings_oldest(a->mappings, process);
	const char *stack = oldest ? session_stack(a->session, oldest->group) : "";

	if (all.window && !mappings_unknown(a->mappings))
		writer_note(writer,
			    "%llu DMA mappings live at the end, %s; %llu huge pages in use.",
			    all.live, units_format_size(all.live_bytes, bytes), all.pages);
	if (all.refused)
		writer_note(writer,
			    "%llu mappings (%s) found no room in the table: what lives and who "
			    "owns it lacks them.",
			    all.refused, units_format_size(all.refused_bytes, bytes));
	if (all.unknown)
		writer_note(writer, "%llu unmaps (%s) were of mappings made before the recording.",
			    all.unknown, units_format_size(all.unknown_bytes, bytes));
	if (!oldest)
		return;
	writer_note(writer,
		    "%llu mappings, %s, are long-lived; most by %s (pid %u) on %s: %u, the oldest "
		    "for %s. %.*s%s",
		    all.old, units_format_size(all.old_bytes, bytes),
		    process[0] ? process : "a process", oldest->pid,
		    session_device_name(a->session, oldest->device, name), oldest->instance,
		    units_format_duration(session_last_ns(a->session) > oldest->value
						  ? session_last_ns(a->session) - oldest->value
						  : 0,
					  age),
		    frames_shown(stack), stack, frames_left(stack));
}
