// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/pasids.h"

#include <string.h>

#include "lib/analyze/hash.h"

#define PASIDS_KEPT 65536

struct pasids_key {
	__u32 device; /* DEVICE_NONE: every one */
	__u32 pasid;
};

struct meaning {
	struct pasids_key key;
	struct pasid_process process;
	UT_hash_handle hh;
};

struct pasids {
	struct meaning *meanings;
};

struct pasids *pasids_create(void)
{
	return memory_calloc(1, sizeof(struct pasids));
}

static void pasids_forget(struct pasids *pasids, struct meaning *meaning)
{
	HASH_DEL(pasids->meanings, meaning);
	memory_free(meaning);
}

void pasids_destroy(struct pasids *pasids)
{
	if (!pasids)
		return;
	while (pasids->meanings)
		pasids_forget(pasids, pasids->meanings);
	memory_free(pasids);
}

static struct meaning *pasids_entry(const struct pasids *pasids, __u32 device, __u32 pasid)
{
	struct pasids_key key = {device, pasid};
	struct meaning *meaning;

	HASH_FIND(hh, pasids->meanings, &key, sizeof(key), meaning);
	return meaning;
}

static struct meaning *pasids_make(struct pasids *pasids, __u32 device, __u32 pasid)
{
	struct meaning *meaning;

	if (HASH_COUNT(pasids->meanings) >= PASIDS_KEPT)
		return NULL;
	meaning = memory_calloc(1, sizeof(*meaning));
	if (!meaning)
		return NULL;
	meaning->key = (struct pasids_key){device, pasid};
	HASH_ADD(hh, pasids->meanings, key, sizeof(meaning->key), meaning);
	if (meaning->hh.tbl)
		return meaning;
	memory_free(meaning);
	return NULL;
}

void pasids_event(struct pasids *pasids, const struct event *e)
{
	struct meaning *meaning = pasids_entry(pasids, e->device, e->pasid);

	if (e->kind == EVENT_PASID_DETACH) {
		if (meaning)
			pasids_forget(pasids, meaning);
		return;
	}
	if (!meaning)
		meaning = pasids_make(pasids, e->device, e->pasid);
	if (!meaning)
		return;
	meaning->process.pid = e->pid;
	/* The name is told in these two. */
	memcpy(meaning->process.comm, &e->address, sizeof(e->address));
	memcpy(meaning->process.comm + sizeof(e->address), &e->length, sizeof(e->length));
	meaning->process.comm[sizeof(meaning->process.comm) - 1] = '\0';
}

const struct pasid_process *pasids_find(const struct pasids *pasids, __u32 device, __u32 pasid)
{
	const struct meaning *meaning = NULL;

	if (pasid != PASID_NONE && HASH_COUNT(pasids->meanings)) {
		meaning = pasids_entry(pasids, device, pasid);
		if (!meaning)
			meaning = pasids_entry(pasids, DEVICE_NONE, pasid);
	}
	return meaning ? &meaning->process : NULL;
}
