// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/nic/loss_runs.h"

#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/probes.h"
#include "lib/base/fail.h"

#define NO_RUN 0xff

/*
 * Few, and looked at one after the other: their keys lie together for that. Places in use are a list in the
 * order of their opening.
 */
struct loss_runs {
	__u32 keys[LOSS_RUNS_MAX]; /* 0: not in use */
	__u8 older[LOSS_RUNS_MAX], newer[LOSS_RUNS_MAX];
	__u8 oldest, newest;
	__u8 room, count;
	run_tell tell;
	void *argument;
	struct frame_run runs[LOSS_RUNS_MAX];
};

int loss_runs_create(struct loss_runs **runs, unsigned int room, run_tell tell, void *argument)
{
	struct loss_runs *new;

	if (!room || room > LOSS_RUNS_MAX)
		return failed(-EINVAL, "%u runs of frames: accepted: 1 to %d", room, LOSS_RUNS_MAX);
	new = calloc(1, sizeof(*new));
	if (!new)
		return failed(-ENOMEM, "no memory for runs of frames");
	new->room = (__u8)room;
	new->oldest = new->newest = NO_RUN;
	new->tell = tell;
	new->argument = argument;
	*runs = new;
	return 0;
}

void loss_runs_destroy(struct loss_runs *runs)
{
	free(runs);
}

static __u32 run_key(const struct frame_run *run)
{
	__u64 hash = (run->addresses ^ run->ports << 8) * 0x9e3779b97f4a7c15ull;

	return (__u32)(hash >> 32) | 1;
}

/* Of this flow and kind, whatever else; NO_RUN if none is open. */
static unsigned int find_run(const struct loss_runs *runs, const struct frame_run *frame, __u32 key)
{
	for (unsigned int i = 0; i < runs->room; i++) {
		const struct frame_run *run = &runs->runs[i];

		if (runs->keys[i] == key && run->addresses == frame->addresses &&
		    run->ports == frame->ports && run->kind == frame->kind)
			return i;
	}
	return NO_RUN;
}

static void tell_run(struct loss_runs *runs, unsigned int i)
{
	__u8 older = runs->older[i], newer = runs->newer[i];

	if (older == NO_RUN)
		runs->oldest = newer;
	else
		runs->newer[older] = newer;
	if (newer == NO_RUN)
		runs->newest = older;
	else
		runs->older[newer] = older;
	runs->keys[i] = 0;
	runs->count--;
	runs->tell(runs->argument, &runs->runs[i]);
}

static void begin_run(struct loss_runs *runs, const struct frame_run *frame, __u32 key)
{
	unsigned int i = 0;

	if (runs->count == runs->room)
		tell_run(runs, runs->oldest);
	while (runs->keys[i])
		i++;
	runs->keys[i] = key;
	runs->runs[i] = *frame;
	runs->older[i] = runs->newest;
	runs->newer[i] = NO_RUN;
	if (runs->newest == NO_RUN)
		runs->oldest = (__u8)i;
	else
		runs->newer[runs->newest] = (__u8)i;
	runs->newest = (__u8)i;
	runs->count++;
}

static bool continues(const struct frame_run *run, const struct frame_run *frame)
{
	/* Those without a byte are of no range, and make none longer. */
	return run->end == frame->first && run->code == frame->code &&
	       (run->first == run->end) == (frame->first == frame->end) &&
	       run->blames == frame->blames && run->needless == frame->needless &&
	       run->pasid == frame->pasid && run->group == frame->group &&
	       run->bytes + frame->bytes <= RUN_BYTES_MAX;
}

void loss_runs_add(struct loss_runs *runs, const struct frame_run *frame)
{
	__u32 key = run_key(frame);
	unsigned int i = find_run(runs, frame, key);
	struct frame_run *run;

	if (i == NO_RUN || !continues(&runs->runs[i], frame)) {
		if (i != NO_RUN)
			tell_run(runs, i);
		begin_run(runs, frame, key);
		return;
	}
	run = &runs->runs[i];
	run->end = frame->end;
	run->frames += frame->frames;
	run->bytes += frame->bytes;
}

void loss_runs_fault_over(struct loss_runs *runs, __u32 pasid, __u32 group)
{
	for (unsigned int i = runs->oldest, newer; i != NO_RUN; i = newer) {
		const struct frame_run *run = &runs->runs[i];

		newer = runs->newer[i];
		if (run->blames && run->pasid == pasid && run->group == group)
			tell_run(runs, i);
	}
}

void loss_runs_flush_older(struct loss_runs *runs, __u64 time_ns)
{
	for (unsigned int i = runs->oldest, newer; i != NO_RUN; i = newer) {
		newer = runs->newer[i];
		if (runs->runs[i].since < time_ns)
			tell_run(runs, i);
	}
}

void loss_runs_flush(struct loss_runs *runs)
{
	while (runs->count)
		tell_run(runs, runs->oldest);
}

unsigned int loss_runs_open(const struct loss_runs *runs)
{
	return runs->count;
}

void frame_run_probe(const struct frame_run *run, __u32 device, __u16 queue,
		     struct frames_probe *probe)
{
	*probe = (struct frames_probe){
		.device = device,
		.queue = queue,
		.addresses = run->addresses,
		.ports = run->ports,
		.sequence = (__u64)run->first << 32 | run->end,
		.frames = (__u64)run->frames << 32 | run->bytes,
		.since = run->since,
		.code = run->code | (run->needless ? FRAMES_NEEDLESS : 0),
	};
	if (run->blames)
		probe->code |= (run->group + 1ull) << 8 | (__u64)run->pasid << 32;
}
