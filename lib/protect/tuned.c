// SPDX-License-Identifier: GPL-2.0
/*
 * adp that finds its numbers itself. When a page has to be pinned is known, as it is known when it may be gone; for how
 * long it is worth it, and for how many pages, is learned (learner.h).
 */
#include "lib/protect/adp.h"
#include "lib/protect/learner.h"

/* What was looked at for so many times its length says something about a window. */
#define LOOKED 4

struct tuned {
	struct adp adp;
	struct learner learner;
	__u64 learn_ns; /* the next decision, if there were enough accesses by then */
	__u64 accesses; /* since the last */
};

static void tuned_begin(struct protect *protect)
{
	struct tuned *tuned = protect->own;
	const struct protect_keys *keys = &protect->keys;
	struct adp *adp = &tuned->adp;

	adp_init(adp, protect);
	/* The last scan before it may be gone is late enough, and earlier ones have it pinned for longer. */
	adp->promote_after_ns =
		keys->fault_after_ns > keys->scan_ns ? keys->fault_after_ns - keys->scan_ns : 0;
	adp->ghost_cap = adp->active_cap;
	adp->learner = &tuned->learner;
	learner_init(&tuned->learner, adp->promote_after_ns, keys->fault_after_ns);
	tuned->accesses = 0;
}

static void tuned_start(struct protect *protect, __u64 time_ns)
{
	struct tuned *tuned = protect->own;

	adp_start(&tuned->adp, protect, time_ns);
	learner_start(&tuned->learner, time_ns);
	tuned->learn_ns = time_after(time_ns, protect->keys.learn_ns);
}

static void tuned_learn(struct protect *protect, struct tuned *tuned, __u64 time_ns)
{
	struct adp *adp = &tuned->adp;
	const __u64 looked_ns = time_ns - adp->start_ns;
	const struct learner_choice choice =
		learner_decide(&tuned->learner, &protect->store, time_ns, adp->inactive_cap,
			       protect->keys.demote_after_ns);

	tuned->learn_ns = time_after(time_ns, protect->keys.learn_ns);
	tuned->accesses = 0;
	if (!choice.admitted)
		return;
	if (choice.window_ns > looked_ns / LOOKED) {
		adp->give_up_ns = NEVER;
		adp->admitted = ADP_ALL;
	} else {
		adp->give_up_ns = time_after(adp->promote_after_ns, choice.window_ns);
		adp->admitted = choice.admitted;
	}
}

static void tuned_access(struct protect *protect, __u64 time_ns, __u64 page)
{
	struct tuned *tuned = protect->own;

	/* A decision looks at all pages that are known: it has to be earned. */
	if (time_ns >= tuned->learn_ns && tuned->accesses >= protect->store.count)
		tuned_learn(protect, tuned, time_ns);
	tuned->accesses++;
	adp_access(protect, &tuned->adp, time_ns, page);
}

static void tuned_advance(struct protect *protect, __u64 time_ns)
{
	struct tuned *tuned = protect->own;

	adp_advance(protect, &tuned->adp, time_ns);
}

static __u64 tuned_active(const struct protect *protect)
{
	const struct tuned *tuned = protect->own;

	return tuned->adp.active.count;
}

const struct policy protect_policy_tuned = {
	.told = {"tuned", "adp that learns which pages are worth it, and for how long."},
	.own_bytes = sizeof(struct tuned),
	.begin = tuned_begin,
	.start = tuned_start,
	.access = tuned_access,
	.advance = tuned_advance,
	.is_pinned = adp_is_pinned,
	.active = tuned_active,
};
