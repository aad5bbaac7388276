// SPDX-License-Identifier: GPL-2.0
/* Control: what it takes to make things, and to undo it. */
#include <errno.h>

#include "injectors/emu/verbs_load/load_private.h"
#include "lib/base/clock.h"

static bool count_both(struct load_lane *lane, const __u64 at_ns[3], __u64 bytes)
{
	histogram_add(&lane->counts->undo, at_ns[2] - at_ns[1]);
	load_count(lane, at_ns[1] - at_ns[0], bytes);
	lane->done++;
	return true;
}

static bool create_one(struct load_lane *lane)
{
	struct load_end *end = lane->end;
	const struct verbs_pair_attributes attributes = {
		.send_queue = lane->queue,
		.receive_queue = lane->queue,
		.send_depth = end->config->entries,
		.receive_depth = end->config->entries,
		.guest_address = end->room_address,
	};
	__u64 at_ns[3] = {monotonic_ns()};
	struct verbs_pair *pair;
	int error = verbs_create_qp(end->place->device, &pair, &attributes);

	at_ns[1] = monotonic_ns();
	if (!error)
		error = verbs_destroy_qp(pair);
	at_ns[2] = monotonic_ns();
	if (error) {
		load_lane_failed(lane, load_needs(end, "a queue pair", error));
		return false;
	}
	return count_both(lane, at_ns, 0);
}

void load_create_qp(struct load_lane *lane)
{
	while (load_goes_on(lane, lane->done, monotonic_ns()))
		if (!create_one(lane))
			return;
	lane->counts->finished = !load_share_stopping(lane->end->share);
}

static int load_register_once(struct load_lane *lane, struct verbs_mr *region)
{
	struct load_end *end = lane->end;

	return verbs_reg_mr(end->place->device, region, end->memory_address, end->config->size,
			    load_region_kind(end), load_rights(end));
}

/* What is pinned with nothing but the region, outside of what is timed. */
static int look_once(struct load_lane *lane)
{
	struct verbs_mr region;
	int error = load_register_once(lane, &region);

	if (error)
		return error;
	error = load_look(lane->end);
	return verbs_dereg_mr(lane->end->place->device, &region) ?: error;
}

static int register_one(struct load_lane *lane)
{
	__u64 at_ns[3] = {monotonic_ns()};
	struct verbs_mr region;
	int error = load_register_once(lane, &region);

	at_ns[1] = monotonic_ns();
	if (!error)
		error = verbs_dereg_mr(lane->end->place->device, &region);
	at_ns[2] = monotonic_ns();
	if (!error)
		count_both(lane, at_ns, lane->end->config->size);
	return error;
}

/* Each that is refused is one of `operations` that were to be done. */
void load_register(struct load_lane *lane)
{
	struct load_share *share = lane->end->share;
	int error = look_once(lane);
	__u64 refused = 0;

	for (;;) {
		if (load_is_refusal(error)) {
			share->refused[lane->end->index]++;
			refused += lane->sent != 0;
		} else if (error) {
			load_lane_failed(lane, load_needs(lane->end, "a region", error));
			break;
		}
		if (!load_goes_on(lane, lane->done + refused, monotonic_ns()))
			break;
		lane->sent++;
		error = register_one(lane);
	}
	lane->counts->finished = !load_share_stopping(share);
}
