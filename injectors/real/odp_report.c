// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "injectors/real/odp.h"

#define OPERATIONS(COLUMN)                                                                    \
	COLUMN(operation, none, TEXT, 11, SHOWN, odp_operation_names[row->operation])         \
	COLUMN(pass, none, COUNT, 4, SHOWN, row->pass)                                        \
	COLUMN(region, none, TEXT, 9, WIDE, context->options.pinned ? "pinned" : "on-demand") \
	COLUMN(forced, none, COUNT, 6, SHOWN, row->forced)                                    \
	COLUMN(evictions, none, COUNT, 9, WIDE, row->evictions)                               \
	COLUMN(prefetches, none, COUNT, 10, WIDE, row->prefetches)                            \
	COLUMN(prefetched, none, COUNT, 10, SHOWN, row->prefetched)                           \
	COLUMN(posted, none, COUNT, 6, SHOWN, row->posted)                                    \
	COLUMN(completed, none, COUNT, 9, SHOWN, row->completed)                              \
	COLUMN(failed, none, COUNT, 6, WIDE, row->failed)                                     \
	COLUMN(wrong, none, COUNT, 5, SHOWN, row->wrong)                                      \
	COLUMN(p50, none, DURATION, 7, SHOWN, histogram_percentile(&row->latency, 50))        \
	COLUMN(p99, none, DURATION, 7, SHOWN, histogram_percentile(&row->latency, 99))        \
	COLUMN(max, none, DURATION, 7, SHOWN, row->latency.max)
TABLE(odp, "Operations", OPERATIONS, struct odp_pass, struct odp_run)

int odp_report(const void *self, struct writer *writer)
{
	const struct odp_run *run = self;
	int err = writer_begin_with(writer, &odp_table, run);
	__u64 wrong = 0;

	for (size_t i = 0; !err && i < run->pass_count; i++) {
		err = writer_row(writer, &run->passes[i]);
		wrong += run->passes[i].wrong;
	}
	err = err ? err : writer_end(writer);
	if (!err && wrong && !odp_aligned(&run->options))
		err = writer_note(writer,
				  "The data of %llu operations is wrong: this kernel's driver "
				  "ignores where in its page a packet begins.",
				  wrong);
	if (!err && wrong && run->options.pinned)
		err = writer_note(writer,
				  "Evicting under a pinned region parts the process from it: the "
				  "device went on with the old pages in %llu operations.",
				  wrong);
	return err;
}
