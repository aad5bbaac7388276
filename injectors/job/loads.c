// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/loads.h"

#include <errno.h>

#include "injectors/emu/thread.h"
#include "injectors/job/schedule.h"
#include "lib/base/clock.h"

/* At each kind of them: of several loads the end of one is seen this much later than it was. */
#define LOOK_NS (10 * NSEC_PER_MSEC)

struct loads_state {
	int networks, guests, vms; /* as of their looks */
};

static bool has_failed(int look)
{
	return look && look != -ETIMEDOUT;
}

/* Programs fail when the virtual machine at the other end of their wire has: the cause comes first, also if it is seen after. */
static int loads_failure(const struct loads *loads, const struct loads_state *state)
{
	int vms = has_failed(state->vms) ? state->vms : vms_look(loads->vms);

	if (has_failed(vms))
		return vms;
	return has_failed(state->networks) ? state->networks : state->guests;
}

/* 0: all have ended; -ETIMEDOUT: one runs; else one has failed, with a sentence. */
static int loads_look(const struct loads *loads, struct loads_state *state)
{
	*state = (struct loads_state){.vms = vms_look(loads->vms)};
	if (!has_failed(state->vms))
		state->networks = programs_look(loads->networks, LOOK_NS);
	if (!has_failed(state->vms) && !has_failed(state->networks))
		state->guests = guest_programs_look(loads->guests, LOOK_NS);
	if (has_failed(state->vms) || has_failed(state->networks) || has_failed(state->guests))
		return loads_failure(loads, state);
	return state->vms || state->networks || state->guests ? -ETIMEDOUT : 0;
}

static int loads_too_long(const struct loads *loads, const struct loads_state *state,
			  __u64 timeout_ns)
{
	if (state->networks)
		return programs_too_long(loads->networks, timeout_ns);
	if (state->guests)
		return guest_programs_too_long(loads->guests, timeout_ns);
	return vms_too_long(loads->vms, timeout_ns);
}

int loads_wait(const struct loads *loads, struct schedule *schedule, __u64 timeout_ns,
	       const volatile sig_atomic_t *stop)
{
	__u64 begin_ns = monotonic_ns();
	struct loads_state state;
	int err;

	while ((err = loads_look(loads, &state)) == -ETIMEDOUT) {
		if (*stop)
			return -EINTR;
		if (monotonic_ns() - begin_ns >= timeout_ns)
			return loads_too_long(loads, &state, timeout_ns);
		if (vms_begun(loads->vms))
			schedule_guests_begun(schedule);
		/* The others' looks wait by themselves. */
		if (!state.networks && !state.guests)
			sleep_until(monotonic_ns() + LOOK_NS);
	}
	return err;
}
