// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/verbs_load/load_guest.h"

#include <errno.h>

#include "injectors/emu/hyv/hyv_layout.h"
#include "injectors/emu/verbs_load/load_private.h"
#include "injectors/guest/guest_open.h"
#include "lib/base/fail.h"

static void *allocate_in_guest(struct load_place *place, __u64 bytes, __u64 *guest_address)
{
	return guest_allocate(place->device, bytes, guest_address);
}

static void count_exits(const struct load_place *place, __u64 *kicks, __u64 *injections)
{
	struct guest_exit_counts exits;

	guest_exits_counted(place->device, &exits);
	*kicks = exits.kicks;
	*injections = exits.injections + exits.event_injections;
}

int load_guest_run(void *argument, const int *sockets, __u32 count)
{
	const struct load_guest *guest = argument;
	struct load_place place = {.allocate = allocate_in_guest, .exits = count_exits};
	int error = count == 1 ? guest_open(&place.device, sockets[0])
			       : failed(-EINVAL, "a guest of %u devices", count);

	if (error) {
		load_share_fail(guest->share, error, failure_text());
		load_share_reach(guest->share, guest->end, LOAD_OVER);
		return 1;
	}
	place.demand = guest_hello(place.device)->mode == RDMA_MODE_ODP;
	load_end_run(&place, guest->share, guest->end);
	guest_close(place.device);
	return 0;
}
