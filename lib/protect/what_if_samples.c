// SPDX-License-Identifier: GPL-2.0
#include "lib/base/array.h"
#include "lib/protect/what_if_private.h"

/* Each second one goes, so that a recording of any length has a curve of bounded memory. */
static void samples_halve(struct what_if *what_if, struct what_if_domain *domain)
{
	size_t kept = 0;

	for (size_t i = 0; i < domain->sample_count; i++) {
		const __u64 since_ns = domain->samples[i].time_ns - what_if->start_ns;

		if (since_ns / what_if->sample_ns % 2 == 0)
			domain->samples[kept++] = domain->samples[i];
	}
	domain->sample_count = kept;
}

static void sample_take(struct what_if_domain *domain, __u64 time_ns)
{
	struct protect_state state;

	if (!array_grow(&domain->samples, &domain->sample_room, domain->sample_count + 1,
			sizeof(*domain->samples), ARRAY_LIMITED)) {
		domain->counts.policy.untracked++;
		return;
	}
	protect_state(domain->protect, &state);
	domain->samples[domain->sample_count++] = (struct what_if_sample){
		.time_ns = time_ns,
		.pages = domain->counts.pages,
		.active = state.active,
		.pinned = state.pinned,
		.faults = domain->counts.faults,
		.avoided = domain->counts.avoided,
	};
}

void what_if_take_samples(struct what_if *what_if, __u64 time_ns)
{
	bool full = false;

	what_if_advance_all(what_if, time_ns);
	for (size_t i = 0; i < what_if->count; i++) {
		sample_take(what_if->domains[i], time_ns);
		full |= what_if->domains[i]->sample_count >= WHAT_IF_SAMPLES;
	}
	for (size_t i = 0; full && i < what_if->count; i++)
		samples_halve(what_if, what_if->domains[i]);
	if (full)
		what_if->sample_ns *= 2;
	/* Of the curve that is kept, which may have become coarser just now. */
	what_if->next_sample_ns = time_after(
		time_ns, what_if->sample_ns - (time_ns - what_if->start_ns) % what_if->sample_ns);
}

const struct what_if_sample *what_if_sample(const struct what_if *what_if, __u32 domain,
					    size_t index)
{
	return index < what_if->domains[domain]->sample_count
		       ? &what_if->domains[domain]->samples[index]
		       : NULL;
}
