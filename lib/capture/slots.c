// SPDX-License-Identifier: GPL-2.0
/* What processes have on the kernel side goes back when they have ended: of all that have, in one pass. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/capture/capture_private.h"
#include "lib/capture/groups.h"
#include "lib/capture/pid_namespace.h"
#include "lib/capture/process.h"

/* One of another pid namespace cannot be asked for: its slots stay taken, and are no more than its share. */
static bool runs(const struct owner_key *owner)
{
	__u32 local = pid_to_local(owner->pid);

	return local ? process_runs(local, owner->start) : !pid_namespace_is_initial();
}

int capture_process_ended(struct capture *c, __u32 pid, __u64 start_time)
{
	struct owner_set *ended = &c->ended;

	if (!array_grow(&ended->list, &ended->room, ended->count + 1, sizeof(*ended->list),
			ARRAY_PLAIN))
		return failed(-ENOMEM, "no memory for %zu processes that have ended",
			      ended->count + 1);
	ended->list[ended->count++] = (struct owner_key){.pid = pid, .start = start_time};
	return 0;
}

int capture_forget_ended(struct capture *c)
{
	int error;

	if (!c->ended.count)
		return 0;
	owner_set_sort(&c->ended);
	error = groups_sweep(c->maps.groups, monotonic_ns(), UINT64_MAX, &c->ended,
			     capture_take_unfinished, c);
	if (!error)
		error = paths_take(c, STEP_ENDED, monotonic_ns());
	for (size_t i = 0; i < c->ended.count; i++)
		device_table_forget_owner(c->devices, c->ended.list[i].pid, c->ended.list[i].start);
	c->ended.count = 0;
	return error ? error : capture_report_gone(c, monotonic_ns());
}

int capture_return_slots(struct capture *c)
{
	struct owner_key owner, next;
	int error = 0, end = bpf_map_get_next_key(c->maps.owners, NULL, &next);

	device_table_forget_gone(c->devices);
	error = capture_report_gone(c, monotonic_ns());
	while (!end && !error) {
		owner = next;
		end = bpf_map_get_next_key(c->maps.owners, &owner, &next);
		/* Whom we are connected to tells us. */
		if (!machines_knows(c->machines, owner.pid, owner.start) && !runs(&owner))
			error = capture_process_ended(c, owner.pid, owner.start);
	}
	return error ? error : capture_forget_ended(c);
}
