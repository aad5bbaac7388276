// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "bpf/page.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"

#define NO_RECORD    UINT32_MAX
#define GROW_FIRST   (1ul << 20)
#define GROW_MOST    (64ul << 20)
#define SHIFT_MASK   0x3full
#define PAGE_OFFSET  (PAGE_BYTES - 1)
#define ADDRESS_BITS 57
#define RELEASE	     65536 /* packets played, or records added, between two calls of store_release() */

/* In the order of recording; `next` leads to the same tenant's next one. */
struct store_record {
	__u64 page; /* IOVA of its 4 KiB, with the page's shift in the low bits */
	__u32 tenant;
	__u32 next;
};

struct recorded {
	__u64 key;
	__u32 number;
	__u32 first, last;
	__u64 count;
	UT_hash_handle hh;
};

struct store {
	int fd;
	struct store_record *records; /* mapped */
	size_t bytes;
	__u32 count;
	struct recorded *by_key;
	struct recorded **tenants; /* by number */
	__u32 tenant_count;
	__u64 last_page; /* the highest address of a 4 KiB page */
	__u32 largest_shift;
};

static int open_unnamed(void)
{
	const char *directory = getenv("TMPDIR");
	int fd;

	if (!directory || !*directory)
		directory = "/var/tmp";
	fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd >= 0 ? fd
		       : failed(-errno,
				"a temporary file in %s: %s; name another directory in TMPDIR",
				directory, strerror(errno));
}

int store_create(struct store **store)
{
	struct store *s = calloc(1, sizeof(*s));
	int fd;

	if (!s)
		return failed(-ENOMEM, "no memory for a store of translations");
	s->tenants = calloc(MODEL_TENANTS, sizeof(struct recorded *));
	fd = s->tenants ? open_unnamed() : failed(-ENOMEM, "no memory for a store of translations");
	s->fd = fd;
	if (fd < 0) {
		store_destroy(s);
		return fd;
	}
	*store = s;
	return 0;
}

void store_destroy(struct store *s)
{
	if (!s)
		return;
	if (s->records)
		munmap(s->records, s->bytes);
	if (s->fd >= 0)
		close(s->fd);
	HASH_CLEAR(hh, s->by_key);
	for (__u32 i = 0; i < s->tenant_count; i++)
		free(s->tenants[i]);
	free(s->tenants);
	free(s);
}

/* What was touched stays in the file and in the page cache, but is no longer ours to hold. */
static void store_release(const struct store *s)
{
	madvise(s->records, s->bytes, MADV_DONTNEED);
}

/* Space is taken, not only promised: a full disk must not become a SIGBUS. */
static int store_grow(struct store *s)
{
	size_t more_bytes = s->bytes < GROW_FIRST  ? GROW_FIRST
			    : s->bytes < GROW_MOST ? s->bytes
						   : GROW_MOST;
	size_t bytes = s->bytes + more_bytes;
	char most[UNITS_TEXT];
	void *more;
	int error;

	/* A few hundred bytes of a recording may name as many pages as a disk has room for. */
	if (bytes > memory_limit_now())
		return failed(-EDQUOT,
			      "no room for more than %u translations, as --max-memory is %s",
			      s->count, units_format_size(memory_limit_now(), most));
	error = posix_fallocate(s->fd, (off_t)s->bytes, (off_t)more_bytes);
	if (error)
		return failed(-ENOSPC, "a temporary file of %zu MiB: %s", bytes >> 20,
			      strerror(error));
	more = s->records ? mremap(s->records, s->bytes, bytes, MREMAP_MAYMOVE)
			  : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (more == MAP_FAILED)
		return failed(-ENOSPC, "mapping a temporary file of %zu MiB: %s", bytes >> 20,
			      strerror(errno));
	s->records = more;
	s->bytes = bytes;
	return 0;
}

static int store_tenant_of(struct store *s, __u64 key, struct recorded **tenant)
{
	struct recorded *found;

	HASH_FIND(hh, s->by_key, &key, sizeof(key), found);
	if (!found) {
		if (s->tenant_count == MODEL_TENANTS)
			return failed(-E2BIG, "more than %u tenants", MODEL_TENANTS);
		found = calloc(1, sizeof(*found));
		if (!found)
			return failed(-ENOMEM, "no memory for %u tenants", s->tenant_count + 1);
		found->key = key;
		found->number = s->tenant_count;
		found->first = found->last = NO_RECORD;
		HASH_ADD(hh, s->by_key, key, sizeof(key), found);
		if (!found->hh.tbl) {
			free(found);
			return failed(-ENOMEM, "no memory for %u tenants", s->tenant_count + 1);
		}
		s->tenants[s->tenant_count++] = found;
	}
	*tenant = found;
	return 0;
}

int store_add(struct store *s, __u64 key, __u64 iova, __u32 page_shift)
{
	struct recorded *tenant = NULL;
	int error;

	if (s->count == STORE_RECORDS_MAX)
		return failed(-ENOSPC, "more than %u translations", STORE_RECORDS_MAX);
	error = (s->count + 1ul) * sizeof(s->records[0]) > s->bytes ? store_grow(s) : 0;
	if (!error)
		error = store_tenant_of(s, key, &tenant);
	if (error)
		return error;
	s->records[s->count] = (struct store_record){
		.page = (iova & ~PAGE_OFFSET) | page_shift,
		.tenant = tenant->number,
		.next = NO_RECORD,
	};
	if ((iova & ~PAGE_OFFSET) > s->last_page)
		s->last_page = iova & ~PAGE_OFFSET;
	if (page_shift > s->largest_shift)
		s->largest_shift = page_shift;
	if (tenant->last != NO_RECORD)
		s->records[tenant->last].next = s->count;
	else
		tenant->first = s->count;
	tenant->last = s->count++;
	tenant->count++;
	if (!(s->count % RELEASE))
		store_release(s);
	return 0;
}

__u32 store_tenants(const struct store *s)
{
	return s->tenant_count;
}

__u64 store_records(const struct store *s)
{
	return s->count;
}

__u64 store_tenant_records(const struct store *s, __u32 tenant)
{
	return s->tenants[tenant]->count;
}

struct store_play {
	const struct store *store;
	__u32 requests;
	__u64 apart;
	bool merged;
	struct turns turns;
	__u32 *next; /* record of each tenant; as recorded: of those in the store */
	__u32 at;    /* as recorded: the next record */
	__u64 left;  /* packets */
	__u32 since_release;
};

static int play_check_apart(const struct store *store, __u32 tenants, __u64 apart)
{
	unsigned __int128 last = store->last_page + (unsigned __int128)(tenants - 1) * apart;

	if (apart & ((1ull << store->largest_shift) - 1) || last >> ADDRESS_BITS)
		return failed(
			-EINVAL,
			"tenants 0x%llx bytes apart: accepted: 0, or a multiple of the "
			"largest recorded page (%llu bytes) that leaves %u tenants below 2^%d",
			apart, 1ull << store->largest_shift, tenants, ADDRESS_BITS);
	return 0;
}

int store_play_create(struct store_play **play, const struct store *store,
		      const struct store_play_config *config)
{
	__u32 tenants = config->turns ? config->turns->tenants : store->tenant_count;
	struct store_play *p;
	int error;

	if (!config->requests || config->requests > MODEL_REQUESTS)
		return failed(-EINVAL, "packets of %u translations: accepted: 1 to %d",
			      config->requests, MODEL_REQUESTS);
	if (!store->count)
		return failed(-ENODATA, "the recordings hold no translations");
	p = calloc(1, sizeof(*p));
	if (!p)
		return failed(-ENOMEM, "no memory for %u tenants", tenants);
	p->store = store;
	p->requests = config->requests;
	p->apart = config->apart;
	p->merged = config->turns;
	p->left = config->packets ?: UINT64_MAX;
	error = config->turns ? turns_begin(&p->turns, config->turns) : 0;
	if (!error)
		error = play_check_apart(store, tenants, config->apart);
	p->next = error ? NULL : malloc(tenants * sizeof(p->next[0]));
	if (!p->next) {
		store_play_destroy(p);
		return error ? error : failed(-ENOMEM, "no memory for %u tenants", tenants);
	}
	for (__u32 i = 0; i < tenants; i++)
		p->next[i] = store->tenants[i % store->tenant_count]->first;
	*play = p;
	return 0;
}

void store_play_destroy(struct store_play *p)
{
	if (!p)
		return;
	turns_end(&p->turns);
	free(p->next);
	free(p);
}

/* The tenant's next packet; false if he has not enough translations left for one. */
static bool play_take(struct store_play *p, __u32 tenant, struct model_packet *packet)
{
	__u32 at = p->next[tenant];

	packet->source = packet->domain = (__u16)tenant;
	packet->count = p->requests;
	for (__u32 i = 0; i < p->requests; i++) {
		const struct store_record *record;

		if (at == NO_RECORD)
			return false;
		record = &p->store->records[at];
		packet->requests[i] = (struct model_request){
			.iova = (record->page & ~PAGE_OFFSET) + tenant * p->apart,
			.next_use = CACHE_NEVER,
			.page_shift = record->page & SHIFT_MASK,
		};
		at = record->next;
	}
	p->next[tenant] = at;
	return true;
}

/* A packet is played where its first translation was recorded; `next` tells which one that is. */
static bool take_recorded(struct store_play *p, struct model_packet *packet)
{
	for (; p->at < p->store->count; p->at++) {
		__u32 tenant = p->store->records[p->at].tenant;

		if (p->next[tenant] == p->at && play_take(p, tenant, packet)) {
			p->at++;
			return true;
		}
	}
	return false;
}

static bool take_next(struct store_play *p, struct model_packet *packet)
{
	return p->merged ? play_take(p, turns_next(&p->turns), packet) : take_recorded(p, packet);
}

int store_play_next(void *self, struct model_packet *packets, int room)
{
	struct store_play *p = self;
	int count = 0;

	while (count < room && p->left) {
		/* The first tenant at his end ends the trace, whoever would come next. */
		if (!take_next(p, &packets[count])) {
			p->left = 0;
			break;
		}
		p->left--;
		count++;
		if (++p->since_release == RELEASE) {
			p->since_release = 0;
			store_release(p->store);
		}
	}
	return count;
}

void store_play_only(struct store_play *p, __u32 tenant, __u64 packets)
{
	turns_only(&p->turns, tenant);
	p->merged = true;
	p->left = packets;
}
