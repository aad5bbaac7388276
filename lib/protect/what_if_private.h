/* SPDX-License-Identifier: GPL-2.0 */
/* What a what-if is made of: its domains, and the memory manager of rule `reclaim`. */
#ifndef FAULTLINE_PROTECT_WHAT_IF_PRIVATE_H
#define FAULTLINE_PROTECT_WHAT_IF_PRIVATE_H

#include "lib/protect/protect_private.h"
#include "lib/protect/what_if.h"

/* kept_page.state of a domain's pages; kept_page.due_ns is when it was pinned. */
enum {
	JUDGED_PINNED = 1,
	JUDGED_TOUCHED = 2,
	JUDGED_TOLD = 4, /* an access that its policy knows of */
};

struct what_if_domain {
	struct what_if *what_if;
	__u32 number;
	struct protect *protect;
	struct page_store pages;
	struct what_if_counts counts; /* but for `policy` and `pinned_mean` */
	__u64 pinned;		      /* now */
	__u64 changed_ns;	      /* pinned_time is right until then */
	struct what_if_sample *samples;
	size_t sample_count, sample_room;
};

/* The memory of the tenant under rule `reclaim`. */
struct tenant_reclaimer {
	struct page_store pages;
	struct recency takable; /* touched, in, and pinned by nobody */
	__u64 touched, out;
	__u64 tick_ns;	    /* between two looks; NEVER under another rule */
	__u64 next_ns;	    /* when it looks again */
	__u64 quiet, cycle; /* looks since anything happened, looks of a period */
};

struct what_if {
	struct what_if_config config;
	struct what_if_domain **domains;
	size_t count, room;
	bool started;
	__u64 start_ns, newest_ns;
	__u64 sample_ns, next_sample_ns;
	struct tenant_reclaimer reclaimer;
};

/* All domains are at that time. */
void what_if_advance_all(struct what_if *what_if, __u64 time_ns);

void tenant_reclaimer_init(struct what_if *what_if);
void tenant_reclaimer_free(struct what_if *what_if);
/* The memory manager looks, and takes what it is to take. */
void reclaimer_look(struct what_if *what_if, __u64 time_ns);
/* An access, known to its domain or not; true if the page was out. */
bool reclaimer_access(struct what_if *what_if, struct what_if_domain *domain, __u64 time_ns,
		      __u64 page);
void reclaimer_pin(struct what_if *what_if, struct what_if_domain *domain,
		   const struct protect_action *action);

/* Each domain's sample at a time that all of them have reached. */
void what_if_take_samples(struct what_if *what_if, __u64 time_ns);

#endif
