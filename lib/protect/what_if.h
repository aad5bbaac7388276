/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a policy would have done for one tenant: its pins, and the faults that are left, by a rule. A model: there is
 * no device and no memory, only accesses that somebody recorded or made up (VPRI sections 3.4 and 6.2).
 *
 * A tenant has memory and domains (protect.h), whose pages are pages of that memory, so that two of its devices may use the same. A rule says
 * when an access faults:
 *	interval	it comes more than `idle_ns` after the access before it by the same domain (VPRI's simulated fault), and the
 *			page was not pinned from the last access + idle_ns at the latest until now
 *	reclaim		a memory manager has taken the page. It looks once a second, and of the pages that any domain has touched takes what
 *			nobody has used for longest and nobody pins, until a share of them is out, which moves linearly between share_low
 *			and share_high and back, once in share_period_ns. A fault brings the page back, a pin likewise (which is counted
 *			apart, `brought`). What was used within the last young_ns is never taken; a share_low below 0 is none for as
 *			long as it is
 * The first access to a page by its domain is counted apart and is no fault. Under `interval` each domain is judged by
 * its own pins. Memory: as protect.h, and at most 48 bytes a page, with `reclaim` twice that. Details: docs/protect.md.
 */
#ifndef FAULTLINE_PROTECT_WHAT_IF_H
#define FAULTLINE_PROTECT_WHAT_IF_H

#include "lib/protect/protect.h"

enum what_if_rule { WHAT_IF_INTERVAL, WHAT_IF_RECLAIM };

struct what_if_access {
	__u64 time_ns, page;
	__u32 domain;
	__u32 count; /* accesses that it stands for, from 1: of a page within one second */
	bool lost;   /* it is judged, but the policy is not told of it: an access log with gaps */
};

#define WHAT_IF_SAMPLES 65536
#define WHAT_IF_DOMAINS 4096

struct what_if_config {
	struct protect_keys keys;
	enum what_if_rule rule;
	__u64 memory_pages;
	__u64 idle_ns;	/* interval: 300 s */
	__u64 young_ns; /* reclaim: what was used so recently stays; 0: nothing does */
	double share_low, share_high; /* -1000 to 1; 0 to 1 */
	bool share_of_memory;	      /* of memory_pages, else of what was touched */
	__u64 share_period_ns;
	__u64 sample_ns; /* of the curve; 0: there is none. It doubles when there are WHAT_IF_SAMPLES */
	/* Each access that faults, or that would have if its page had not been pinned; NULL: nobody asks. `gap_ns`: since
	 * the access before it by its domain. */
	void (*fault)(void *argument, const struct what_if_access *access, __u64 gap_ns,
		      bool avoided);
	/* Each pin and unpin; NULL: nobody asks. */
	void (*act)(void *argument, __u32 domain, const struct protect_action *action);
	void *argument; /* of both */
};

struct what_if;

/* -ENOMEM; -EINVAL with a sentence for what is out of range, of the keys as well. */
int what_if_create(struct what_if **what_if, const struct what_if_config *config);
/* Another domain, up to WHAT_IF_DOMAINS: its number, from 0, or as protect_create(). `memory_pages`: what the shares of its policy are shares of. */
int what_if_add_domain(struct what_if *what_if, __u64 memory_pages);
/* In order of times; an earlier one counts as the newest. */
void what_if_access(struct what_if *what_if, const struct what_if_access *access);
/* All domains are advanced to that time, which ends the means. */
void what_if_end(struct what_if *what_if, __u64 time_ns);
/* After that: the means go on until then, though no policy hears of that time and nothing happens. */
void what_if_rest(struct what_if *what_if, __u64 time_ns);
void what_if_destroy(struct what_if *what_if);

struct what_if_counts {
	__u64 accesses;	      /* sum of counts */
	__u64 pages;	      /* that the domain touched */
	__u64 first_accesses; /* = pages */
	__u64 first_pinned; /* of them, to a page that was pinned already: what only spatial can */
	__u64 faults;	    /* left */
	__u64 avoided; /* interval: would have been; reclaim: unknown here, ask a run with `none` */
	__u64 brought; /* reclaim: pages that a pin brought back */
	__u64 pages_told;   /* of `pages`, those with an access that was not lost */
	double pinned_mean; /* pages, over the time from the tenant's first access to what_if_end() */
	unsigned __int128 pinned_time; /* the same before it is divided: pages times ns */
	struct protect_state policy;
};
void what_if_counts(const struct what_if *what_if, __u32 domain, struct what_if_counts *counts);

/* One sample of a domain, at the end of each sample_ns since the tenant's first access. */
struct what_if_sample {
	__u64 time_ns, pages, active, pinned, faults, avoided; /* counts so far */
};
/* Those with index 0, 1, ...; NULL behind the last. */
const struct what_if_sample *what_if_sample(const struct what_if *what_if, __u32 domain,
					    size_t index);

#endif
