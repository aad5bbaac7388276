// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/floor.h"

#include <stdio.h>

#include "lib/analyze/borrows.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/flow_losses.h"
#include "lib/analyze/iommu_faults.h"
#include "lib/analyze/rings.h"
#include "lib/analyze/odp.h"
#include "lib/analyze/queue_pairs.h"
#include "lib/analyze/queues.h"
#include "lib/analyze/rates.h"
#include "lib/analyze/session.h"
#include "lib/analyze/slo.h"
#include "lib/analyze/stages.h"
#include "lib/analyze/stalls.h"
#include "lib/analyze/unknown.h"
#include "lib/analyze/waits.h"
#include "lib/analyze/lent_windows.h"
#include "lib/base/memory.h"

unsigned int floor_of_loss(const struct loss_info *loss, __u64 incomplete_windows)
{
	const bool holds[FLOOR_REASONS] = {
		[FLOOR_LOST] = loss->lost,
		[FLOOR_MISSED] = loss->missed,
		[FLOOR_ACCESS] = loss->access_lost,
		[FLOOR_MACHINES] = loss->access_missed || loss->machines_missed,
		[FLOOR_TOTALS] = loss->machines_unknown,
		[FLOOR_STATE] = loss->state_failed,
		[FLOOR_COUNTERS] = incomplete_windows,
		[FLOOR_CUT] = loss->cut,
		[FLOOR_DAMAGED] = loss->damaged_bytes || loss->damaged_frames,
		[FLOOR_UNWRITTEN] = loss->unwritten_events || loss->unwritten_windows,
	};
	unsigned int reasons = 0;

	for (unsigned int i = 0; i < FLOOR_REASONS; i++)
		reasons |= (unsigned int)holds[i] << i;
	return reasons;
}

unsigned int floor_of(const struct analysis *a)
{
	unsigned int reasons =
		floor_of_loss(session_loss(a->session), session_windows_incomplete(a->session));
	struct iommu_faults_counts unrecoverable;
	struct faults_counts faults;

	faults_counts(a->faults, &faults);
	iommu_faults_counts(a->iommu_faults, &unrecoverable);
	if (faults.given_up || stages_dropped(a->stages) || queues_dropped(a->queues) ||
	    odp_regions_dropped(a->odp) || rings_dropped(a->rings) ||
	    flow_losses_dropped(a->flow_losses) || stalls_dropped(a->stalls) ||
	    queue_pairs_dropped(a->queue_pairs) || waits_dropped(a->waits) ||
	    rates_dropped(a->rates) || session_dropped(a->session) || borrows_dropped(a->borrows) ||
	    lent_windows_dropped(a->lent_windows) || (a->slo && slo_dropped(a->slo)))
		reasons |= 1u << FLOOR_TABLES;
	if (memory_ran_out())
		reasons |= 1u << FLOOR_MEMORY;
	if (unknown_unwatched(a->session))
		reasons |= 1u << FLOOR_UNWATCHED;
	if (faults.went_on)
		reasons |= 1u << FLOOR_WENT_ON;
	if (unrecoverable.at_least)
		reasons |= 1u << FLOOR_UNSEEN;
	return reasons;
}

const char *floor_text(unsigned int reasons, char text[FLOOR_TEXT])
{
	static const char *const names[FLOOR_REASONS] = {
		[FLOOR_LOST] = "events were lost",
		[FLOOR_MISSED] = "runs of probes were skipped",
		[FLOOR_ACCESS] = "access records were lost",
		[FLOOR_MACHINES] = "emulated machines were not met",
		[FLOOR_TOTALS] = "emulated machines reported no total of their I/Os",
		[FLOOR_STATE] = "the kernel's maps had no room",
		[FLOOR_COUNTERS] = "counting ran out of counters",
		[FLOOR_CUT] = "the recording has no end",
		[FLOOR_DAMAGED] = "parts of the recording are unreadable",
		[FLOOR_UNWRITTEN] = "the recorder had no room to write",
		[FLOOR_TABLES] = "tables of the analysis were full",
		[FLOOR_MEMORY] = "memory ran out",
		[FLOOR_WENT_ON] = "faults went on after they were given up",
		[FLOOR_UNWATCHED] = "not each fault was watched",
		[FLOOR_UNSEEN] = "not each fault of the IOMMU was seen",
	};
	size_t used = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < FLOOR_REASONS; i++)
		if (reasons & 1u << i)
			used += (size_t)snprintf(text + used, FLOOR_TEXT - used, "%s%s",
						 used ? ", " : "", names[i]);
	return text;
}
