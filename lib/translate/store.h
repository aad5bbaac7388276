/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recorded translations of some tenants, on disk: what recordings are read into and traces are made
 * from. The file has no name and vanishes with its owner; memory does not grow with the trace.
 *
 * Played back either as recorded, or merged: tenants take turns (turns.h), each going through his
 * own recording from its beginning, until the first has come to its end (HyperTRIO section IV-B).
 * For more tenants than were recorded a recording is used again, under another number.
 */
#ifndef FAULTLINE_TRANSLATE_STORE_H
#define FAULTLINE_TRANSLATE_STORE_H

#include "lib/translate/model.h"
#include "lib/translate/turns.h"

#define STORE_RECORDS_MAX 0xfffffffeu

struct store;

/* -ENOMEM, or that of a temporary file in $TMPDIR (/var/tmp). */
int store_create(struct store **store);
void store_destroy(struct store *store);

/*
 * Adds a translation of the tenant known by `key` (any number: the next free tenant number is
 * given to a new one). -ENOSPC beyond STORE_RECORDS_MAX, or if the file cannot grow; -E2BIG beyond MODEL_TENANTS; -EDQUOT
 * where the file would be larger than memory may be (lib/base/memory.h): what is there can be played.
 */
int store_add(struct store *store, __u64 key, __u64 iova, __u32 page_shift);
__u32 store_tenants(const struct store *store);
__u64 store_records(const struct store *store);
__u64 store_tenant_records(const struct store *store, __u32 tenant);

struct store_play;

struct store_play_config {
	__u32 requests; /* translations of one packet, 1 to MODEL_REQUESTS */
	__u64 packets;	/* at most; 0: all there are */
	__u64 apart;	/* bytes by which tenants' addresses are moved apart, as in tenants.h */
	const struct turns_config *turns; /* NULL: as recorded */
};

/*
 * At the end of a tenant fewer translations than a packet's may be left, which are not played. The
 * store must not change meanwhile; several may play at a time. -EINVAL with the accepted range, also
 * of recorded pages that `apart` would move between pages or beyond 2^57; -ENODATA: an empty store.
 */
int store_play_create(struct store_play **play, const struct store *store,
		      const struct store_play_config *config);
/* A model_source_fn: `self` is the struct store_play. */
int store_play_next(void *self, struct model_packet *packets, int room);
/* From now on only one tenant's packets, so many at most: as tenants_only(). */
void store_play_only(struct store_play *play, __u32 tenant, __u64 packets);
void store_play_destroy(struct store_play *play);

#endif
