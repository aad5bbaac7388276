// SPDX-License-Identifier: GPL-2.0
/* action=balloon: a guest's balloon takes its memory, until it has `memory` left, and gives it back. */
#include <errno.h>
#include <stdio.h>

#include "bpf/page.h"
#include "injectors/emu/thread.h"
#include "injectors/job/schedule_private.h"
#include "lib/base/fail.h"
#include "lib/base/printable.h"

#define LOOK_NS	 (50 * NSEC_PER_MSEC)
#define GROWS_NS (250 * NSEC_PER_MSEC) /* after its last page a balloon may still grow */

static int balloon_to(const struct schedule_vm *of, __u64 bytes)
{
	return vm_monitor_execute(of->monitor, "balloon",
				  json_pack("{s:I}", "value", (json_int_t)bytes), NULL);
}

/* Pages that the balloon has just now. */
static int balloon_look(struct schedule_vm *of, __u64 *pages)
{
	json_t *answer;
	int err = vm_monitor_execute(of->monitor, "query-balloon", NULL, &answer);
	json_int_t left;

	if (err)
		return err;
	left = json_is_integer(json_object_get(answer, "actual"))
		       ? json_integer_value(json_object_get(answer, "actual"))
		       : -1;
	json_decref(answer);
	if (left < 0 || (__u64)left > of->config->memory)
		return failed(-EPROTO,
			      "virtual machine %s: QEMU says that its balloon has left it %lld of "
			      "%llu bytes",
			      of->config->name, left, of->config->memory);
	*pages = (of->config->memory - (__u64)left) >> PAGE_BITS;
	return 0;
}

static int balloon_begin(struct schedule_vm *of)
{
	int err = balloon_to(of, of->worker->injection->job->memory);

	of->most = 0;
	of->asked |= !err;
	return err;
}

static int balloon_count(struct schedule_vm *of)
{
	__u64 pages = 0;
	int err = balloon_look(of, &pages);

	if (pages <= of->most)
		return err;
	schedule_vm_count(of, &of->worker->schedule->totals.ballooned, pages - of->most);
	of->most = pages;
	of->grown_ns = monotonic_ns();
	return err;
}

/*
 * Looks again and again: a guest that ends meanwhile cannot be asked any more. On a slow machine half a period may be too short to take
 * much: it is not given back as long as the balloon grows.
 */
static int balloon_hold(struct schedule_vm *of, __u64 end_ns)
{
	bool again = of->worker->injection->job->period_ns;
	int err = 0;

	while (!err &&
	       (monotonic_ns() < end_ns || (again && monotonic_ns() < of->grown_ns + GROWS_NS))) {
		err = balloon_count(of);
		if (!err && !schedule_wait(of->worker->schedule, monotonic_ns() + LOOK_NS))
			break;
	}
	return err;
}

/* It is undone once the guest has all of it again. */
static int balloon_end(struct schedule_vm *of)
{
	__u64 pages = 1;
	int err = balloon_to(of, of->config->memory);

	while (!err && pages) {
		err = balloon_look(of, &pages);
		if (!err && pages && !schedule_wait(of->worker->schedule, monotonic_ns() + LOOK_NS))
			break;
	}
	return err;
}

static void balloon_told(const struct schedule_vm *of)
{
	if (of->asked && !of->grown_ns)
		fprintf(stderr,
			"virtual machine %s: the balloon of [inject %s] has not taken a page: its "
			"guest has no driver of it (virtio_balloon), or was not up for long enough\n",
			printable_of(of->config->name).text,
			printable_of(of->worker->injection->job->name).text);
}

void schedule_balloon(struct worker *worker, __u64 begin_ns, __u64 end_ns)
{
	static const struct vm_action action = {.begin = balloon_begin,
						.hold = balloon_hold,
						.end = balloon_end,
						.told = balloon_told};

	schedule_vm_run(worker, begin_ns, end_ns, &action);
}
