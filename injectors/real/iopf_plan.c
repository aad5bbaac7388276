// SPDX-License-Identifier: GPL-2.0
/* Which process raises what, on which device, in which groups: all from the seed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/real/iopf.h"
#include "lib/base/random.h"

static __u32 between(struct random *random, __u32 least, __u32 most)
{
	return least + (__u32)(random_next(random) % (most - least + 1));
}

/* Of eight groups of a mix five are good. */
static enum iopf_page mixed_kind(struct random *random)
{
	static const enum iopf_page rare[] = {IOPF_PAGE_BAD_PASID, IOPF_PAGE_READ_ONLY,
					      IOPF_PAGE_UNMAPPED};
	__u32 draw = between(random, 0, 7);

	return draw < 3 ? rare[draw] : IOPF_PAGE_GOOD;
}

static enum iopf_page kind_of_group(enum iopf_what what, struct random *random)
{
	switch (what) {
	case IOPF_BAD_PASID:
		return IOPF_PAGE_BAD_PASID;
	case IOPF_READ_ONLY:
		return IOPF_PAGE_READ_ONLY;
	case IOPF_UNMAPPED:
		return IOPF_PAGE_UNMAPPED;
	case IOPF_UNMAP:
		return between(random, 0, 1) ? IOPF_PAGE_TO_UNMAP : IOPF_PAGE_GOOD;
	case IOPF_IOMMUFD: /* unmapped: the handler has nothing to map there */
		return between(random, 0, 7) ? IOPF_PAGE_GOOD : IOPF_PAGE_UNMAPPED;
	case IOPF_MIXED:
		return mixed_kind(random);
	default:
		return IOPF_PAGE_GOOD;
	}
}

static void plan_group(struct iopf_plan *plan, struct iopf_share *share,
		       const struct iopf_options *options, struct random *random)
{
	__u32 left = share->count - (plan->count - share->first);
	__u32 size = between(random, options->group_least, options->group_most);
	__u32 device = options->devices[between(random, 0, options->device_count - 1)];
	enum iopf_page kind = kind_of_group(options->what, random);

	if (size > left)
		size = left;
	for (__u32 i = 0; i < size; i++)
		plan->requests[plan->count++] = (struct iopf_planned){
			.page = share->pages[kind]++,
			.device = device,
			.kind = (__u8)kind,
			.last = i + 1 == size,
		};
	plan->groups++;
}

int iopf_plan_make(struct iopf_plan *plan, const struct iopf_options *options)
{
	__u32 left = options->requests;

	*plan = (struct iopf_plan){0};
	plan->requests = calloc(options->requests, sizeof(*plan->requests));
	if (!plan->requests)
		return failed(-ENOMEM, "out of memory for %u requests", options->requests);
	for (__u32 i = 0; i < options->processes; i++) {
		struct iopf_share *share = &plan->shares[i];
		struct random random = {options->seed + i};

		share->first = plan->count;
		share->count = left / (options->processes - i);
		left -= share->count;
		while (plan->count < share->first + share->count)
			plan_group(plan, share, options, &random);
	}
	return 0;
}

void iopf_plan_free(struct iopf_plan *plan)
{
	free(plan->requests);
	plan->requests = NULL;
}
