// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "injectors/real/odp.h"

static int write_pass(const struct odp_run *run, const struct odp_pass *pass, struct writer *writer)
{
	const struct odp_options *o = &run->options;
	const struct histogram *latency = &pass->latency;

	return writer_row(writer, (union cell[]){
					  {.text = odp_operation_names[pass->operation]},
					  {.count = pass->pass},
					  {.text = o->pinned ? "pinned" : "on-demand"},
					  {.count = pass->forced},
					  {.count = pass->evictions},
					  {.count = pass->prefetches},
					  {.count = pass->prefetched},
					  {.count = pass->posted},
					  {.count = pass->completed},
					  {.count = pass->failed},
					  {.count = pass->wrong},
					  {.count = histogram_percentile(latency, 50)},
					  {.count = histogram_percentile(latency, 99)},
					  {.count = latency->max},
				  });
}

int odp_report(const struct odp_run *run, struct writer *writer)
{
	static const struct column columns[] = {
		{"operation", NULL, COLUMN_TEXT, 11, false},
		{"pass", NULL, COLUMN_COUNT, 4, false},
		{"region", NULL, COLUMN_TEXT, 9, true},
		{"forced", NULL, COLUMN_COUNT, 6, false},
		{"evictions", NULL, COLUMN_COUNT, 9, true},
		{"prefetches", NULL, COLUMN_COUNT, 10, true},
		{"prefetched", NULL, COLUMN_COUNT, 10, false},
		{"posted", NULL, COLUMN_COUNT, 6, false},
		{"completed", NULL, COLUMN_COUNT, 9, false},
		{"failed", NULL, COLUMN_COUNT, 6, true},
		{"wrong", NULL, COLUMN_COUNT, 5, false},
		{"p50", NULL, COLUMN_DURATION, 7, false},
		{"p99", NULL, COLUMN_DURATION, 7, false},
		{"max", NULL, COLUMN_DURATION, 7, false},
	};
	static const struct table table = {"odp", "Operations", columns,
					   sizeof(columns) / sizeof(columns[0])};
	int err = writer_begin(writer, &table);
	__u64 wrong = 0;

	for (size_t i = 0; !err && i < run->pass_count; i++) {
		err = write_pass(run, &run->passes[i], writer);
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
