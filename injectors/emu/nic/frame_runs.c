// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/nic/frame_runs.h"

#include <string.h>

static void run_end(struct frame_runs *runs, __u32 index)
{
	runs->tell(runs->argument, &runs->open[index]);
	runs->count--;
	memmove(&runs->open[index], &runs->open[index + 1],
		(runs->count - index) * sizeof(runs->open[0]));
}

static bool run_is_like(const struct frame_run *a, const struct frame_run *b)
{
	return a->addresses == b->addresses && a->ports == b->ports && a->group == b->group &&
	       a->code == b->code;
}

/* Frames without data, such as bare acknowledgements, stand at the end of what came before. */
static bool run_continues(const struct frame_run *run, const struct frame_run *frame)
{
	bool numbered = run->first != run->end || frame->first != frame->end;

	return !numbered || frame->first == run->end;
}

void frame_runs_add(struct frame_runs *runs, const struct frame_run *frame)
{
	struct frame_run *run;

	for (__u32 i = 0; i < runs->count; i++) {
		run = &runs->open[i];
		if (!run_is_like(run, frame))
			continue;
		if (!run_continues(run, frame)) {
			run_end(runs, i);
			break;
		}
		run->end = frame->end;
		run->frames += frame->frames;
		run->bytes += frame->bytes;
		return;
	}
	if (runs->count == FRAME_RUNS_OPEN)
		run_end(runs, 0);
	runs->open[runs->count++] = *frame;
}

void frame_runs_end_group(struct frame_runs *runs, __u32 group)
{
	for (__u32 i = 0; i < runs->count;)
		if (runs->open[i].group == group)
			run_end(runs, i);
		else
			i++;
}

void frame_runs_end_older(struct frame_runs *runs, __u64 than_ns)
{
	while (runs->count && runs->open[0].since_ns < than_ns)
		run_end(runs, 0);
}
