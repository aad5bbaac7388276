/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets of many tenants on one device, made up: who sends next, and which pages his packet needs.
 *
 * A tenant's packet reads the page of its ring, one data page and its mailbox (HyperTRIO section
 * III). Data pages are walked in streams: each stands on a page for `run` packets, then moves on to
 * the next that no other stream of this tenant stands on, around and around (section IV-D, figure
 * 8). Before the first packet a tenant may touch pages that it never needs again (the same figure's
 * third group), one a packet. All tenants have the same addresses, as they run the same guest and
 * driver. The trace ends when the first tenant has no packet left (section IV-B).
 *
 * Beyond the paper, off by default: phases, in which a tenant uses another set of data pages, and
 * tenants whose addresses lie apart.
 *
 * Seeded, integers only: one configuration, one trace, on any machine.
 */
#ifndef FAULTLINE_TRANSLATE_TENANTS_H
#define FAULTLINE_TRANSLATE_TENANTS_H

#include "lib/translate/model.h"
#include "lib/translate/turns.h"

struct tenants_pages {
	__u64 first; /* IOVA */
	__u32 count;
	__u32 shift; /* 12, 21 or 30 */
};

struct tenants_config {
	struct turns_config turns;
	__u64 packets; /* in all at most; 0: until a tenant has none left */
	/*
	 * Of each tenant, drawn between; 0: no end. Of several tenants one has exactly the least, one
	 * the most: then all together send tenants x least, as in table III.
	 */
	__u64 tenant_packets_min, tenant_packets_max;
	struct tenants_pages ring, mailbox; /* a page each: count is 1 */
	struct tenants_pages data;	    /* of one set */
	struct tenants_pages first_touch;   /* looked at only with first_touches */
	__u32 run;			    /* packets that a stream stays on a data page */
	__u32 streams;			    /* data pages in use at a time, at most data.count */
	__u32 first_touches; /* accesses to each first_touch page, all before the first packet */
	/*
	 * Packets of a tenant, without first touches, from one set of data pages to the next; 0: he
	 * stays on the first. The first change of each comes somewhere in the first `phase` packets.
	 */
	__u32 phase;
	__u32 sets; /* one behind the other, used around and around; from 1 */
	__u64 apart; /* bytes from a tenant's pages to the next one's: 0, or a multiple of all sizes */
	__u64 seed;
};

/* Page patterns with the figures of section IV-D, figure 8 and table III. */
enum tenants_preset { TENANTS_IPERF3, TENANTS_MEDIASTREAM, TENANTS_WEBSEARCH, TENANTS_PRESETS };
void tenants_preset(struct tenants_config *config, enum tenants_preset preset);

struct tenants;

/* -EINVAL with the accepted range: of each value, and of pages of a tenant that overlap. */
int tenants_check(const struct tenants_config *config);
/* Behind the last address of the last tenant. */
__u64 tenants_end(const struct tenants_config *config);
/* As tenants_check(), and -ENOMEM. */
int tenants_create(struct tenants **tenants, const struct tenants_config *config);
/* A model_source_fn: `self` is the struct tenants. */
int tenants_next(void *self, struct model_packet *packets, int room);
/*
 * From now on only one tenant's packets, so many at most and not more than it has: the same ones as among
 * the others'. For a tenant that has not had a packet yet; one after the other may be had.
 */
void tenants_only(struct tenants *tenants, __u32 tenant, __u64 packets);
void tenants_destroy(struct tenants *tenants);

#endif
