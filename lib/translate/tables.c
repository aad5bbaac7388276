// SPDX-License-Identifier: GPL-2.0
#include "lib/translate/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/array.h"
#include "lib/base/fail.h"

#define ENTRIES	      512
#define DOMAINS	      65536
#define ENTRY_READ    (1ull << 0)
#define ENTRY_WRITE   (1ull << 1)
#define ENTRY_PAGE    (1ull << 7) /* a leaf above the last level */
#define ENTRY_ADDRESS 0x000ffffffffff000ull
#define TABLE_SHIFT   12
#define CHUNK_BYTES   (4ul << 20) /* memory is taken in chunks of huge pages */
#define CHUNK_ALIGN   (2ul << 20)
#define CHUNK_TABLES  (CHUNK_BYTES / sizeof(struct io_page_table))
#define HOST_DATA     (1ull << 44) /* host addresses of data: above those of tables */
#define GUEST_DATA    (1ull << 40)

/*
 * All domains use the same few entries of their tables. If tables lay a page apart, these entries
 * would share a few sets of this host's own caches; a line in between spreads them.
 */
struct io_page_table {
	__u64 entries[ENTRIES];
	__u64 spread[8];
};

struct domain {
	__u64 root;	  /* of the first dimension: a table's address; 0: nothing mapped yet */
	__u64 host_root;  /* of the second one */
	__u64 guest_next; /* guest addresses given out: tables, then data above GUEST_DATA */
	__u64 guest_data;
	/* Where the host's tables lead the guest's tables to, by guest page: for what is not a walk. */
	__u64 *places;
	size_t room;
};

struct tables {
	struct tables_config config;
	struct io_page_table **chunks;
	size_t chunk_count;
	__u32 used;	 /* tables; number 0 is none */
	__u64 host_data; /* host addresses given out for data */
	struct domain domains[DOMAINS];
};

static __u64 page_mask(__u32 shift)
{
	return (1ull << shift) - 1;
}

static __u32 level_shift(__u32 level)
{
	return TABLE_SHIFT + 9 * (level - 1);
}

/* A table's host address is its number, shifted: what entries hold. */
static __u64 *table_entry(const struct tables *t, __u64 table_address, __u64 address, __u32 level)
{
	__u64 number = table_address >> TABLE_SHIFT;
	struct io_page_table *chunk = t->chunks[number / CHUNK_TABLES];

	return &chunk[number % CHUNK_TABLES].entries[address >> level_shift(level) & (ENTRIES - 1)];
}

/* Zeroes. Walks go all over the tables: in pages of 4 KiB this host's own translation would be slow. */
static struct io_page_table *chunk_new(void)
{
	void *chunk = aligned_alloc(CHUNK_ALIGN, CHUNK_BYTES);

	if (!chunk)
		return NULL;
	madvise(chunk, CHUNK_BYTES, MADV_HUGEPAGE); /* a wish: without it walks are but slower */
	return memset(chunk, 0, CHUNK_BYTES);
}

static int table_new(struct tables *t, __u64 *address)
{
	size_t chunk = t->used / CHUNK_TABLES;

	if (chunk == t->chunk_count) {
		struct io_page_table **more =
			realloc(t->chunks, (chunk + 1) * sizeof(struct io_page_table *));

		if (!more)
			return -ENOMEM;
		t->chunks = more;
		more[chunk] = chunk_new();
		if (!more[chunk])
			return -ENOMEM;
		t->chunk_count++;
	}
	*address = (__u64)t->used++ << TABLE_SHIFT;
	return 0;
}

/* A new page of data in the host; pages of all sizes share one range, each aligned to its size. */
static __u64 data_new(__u64 *next, __u32 shift)
{
	__u64 address = (*next + page_mask(shift)) & ~page_mask(shift);

	*next = address + (1ull << shift);
	return address;
}

static __u64 entry_make(__u64 address, __u32 shift)
{
	return address | ENTRY_READ | ENTRY_WRITE | (shift > TABLE_SHIFT ? ENTRY_PAGE : 0);
}

static bool is_leaf(__u64 entry, __u32 level)
{
	return level == 1 || entry & ENTRY_PAGE;
}

/*
 * Sets the leaf for `address` in the second dimension, whose tables lie at host addresses; an
 * address that is mapped stays as it is.
 */
static int host_map(struct tables *t, __u64 root, __u64 address, __u64 target, __u32 shift)
{
	__u64 table = root;

	for (__u32 level = TABLES_LEVELS;; level--) {
		__u64 *entry = table_entry(t, table, address, level), next;

		if (level_shift(level) == shift) {
			if (!*entry)
				*entry = entry_make(target, shift);
			return 0;
		}
		if (*entry && is_leaf(*entry, level))
			return -EEXIST;
		if (!*entry) {
			if (table_new(t, &next))
				return -ENOMEM;
			*table_entry(t, table, address, level) = entry_make(next, TABLE_SHIFT);
			table = next;
		} else {
			table = *entry & ENTRY_ADDRESS;
		}
	}
}

/* Host address of a guest address, reading one entry a level; 0 if it is not mapped. */
static __u64 host_walk(const struct tables *t, __u64 root, __u64 address, __u32 *reads)
{
	__u64 table = root;

	for (__u32 level = TABLES_LEVELS; level; level--) {
		__u64 entry = *table_entry(t, table, address, level);

		++*reads;
		if (!(entry & ENTRY_READ))
			return 0;
		table = entry & ENTRY_ADDRESS;
		if (is_leaf(entry, level))
			return table | (address & page_mask(level_shift(level)));
	}
	return 0;
}

/* A table of the guest: it lies at a guest address, which the second dimension leads to its place. */
static int guest_table_new(struct tables *t, struct domain *domain, __u64 *guest)
{
	__u64 host;
	int error = table_new(t, &host);

	if (error)
		return error;
	*guest = domain->guest_next;
	if (!array_grow(&domain->places, &domain->room, (*guest >> TABLE_SHIFT) + 1,
			sizeof(*domain->places), ARRAY_PLAIN))
		return -ENOMEM;
	domain->places[*guest >> TABLE_SHIFT] = host;
	domain->guest_next += 1ull << TABLE_SHIFT;
	return host_map(t, domain->host_root, *guest, host, TABLE_SHIFT);
}

/* What the first dimension's entries hold leads to a host address, in two dimensions by a walk. */
static __u64 to_host(const struct tables *t, const struct domain *domain, __u64 address,
		     __u32 *reads)
{
	return t->config.nested ? host_walk(t, domain->host_root, address, reads) : address;
}

/* Where a table of the first dimension lies, without a walk. */
static __u64 table_place(const struct tables *t, const struct domain *domain, __u64 address)
{
	return t->config.nested ? domain->places[address >> TABLE_SHIFT] : address;
}

static int begin_domain(struct tables *t, struct domain *domain)
{
	int error = table_new(t, &domain->host_root);

	domain->guest_data = GUEST_DATA;
	if (error || !t->config.nested) {
		domain->root = domain->host_root;
		return error;
	}
	/* Guest address 0 is a table's like any other, but roots are told from "none" by it. */
	domain->guest_next = 1ull << TABLE_SHIFT;
	return guest_table_new(t, domain, &domain->root);
}

static int next_table(struct tables *t, struct domain *domain, __u64 *address)
{
	return t->config.nested ? guest_table_new(t, domain, address) : table_new(t, address);
}

/* The data behind a new leaf: host memory, in two dimensions at a guest address of its own. */
static int tables_map_data(struct tables *t, struct domain *domain, __u32 shift, __u64 *target)
{
	__u32 host_shift = t->config.host_shift;
	__u64 guest;

	if (!t->config.nested) {
		*target = data_new(&t->host_data, shift);
		return 0;
	}
	guest = data_new(&domain->guest_data, shift > host_shift ? shift : host_shift);
	*target = guest;
	for (__u64 done = 0; done < 1ull << shift; done += 1ull << host_shift) {
		int error = host_map(t, domain->host_root, guest + done,
				     data_new(&t->host_data, host_shift), host_shift);

		if (error)
			return error;
	}
	return 0;
}

static int tables_overlap(__u64 iova, __u32 shift)
{
	return failed(
		-EEXIST,
		"mapping 0x%llx with a page of 2^%u bytes: accepted: where no page of another "
		"size is mapped",
		iova, shift);
}

int tables_map(struct tables *t, __u16 number, __u64 iova, __u32 shift)
{
	struct domain *domain = &t->domains[number];
	__u64 table, target, next;
	int error = 0;

	if (iova >> TABLES_IOVA_BITS || (shift != 12 && shift != 21 && shift != 30))
		return failed(-EINVAL,
			      "mapping 0x%llx with a page of 2^%u bytes: accepted: 48 bits, pages "
			      "of 2^12, 2^21, 2^30",
			      iova, shift);
	if (!domain->root)
		error = begin_domain(t, domain);
	table = domain->root;
	for (__u32 level = TABLES_LEVELS; !error; level--) {
		__u64 host = table_place(t, domain, table);
		__u64 entry = *table_entry(t, host, iova, level);

		if (level_shift(level) == shift) {
			if (entry)
				return is_leaf(entry, level) ? 0 : tables_overlap(iova, shift);
			error = tables_map_data(t, domain, shift, &target);
			if (!error)
				*table_entry(t, host, iova, level) = entry_make(target, shift);
			break;
		}
		if (entry && is_leaf(entry, level))
			return tables_overlap(iova, shift);
		if (!entry) {
			error = next_table(t, domain, &next);
			if (!error)
				*table_entry(t, host, iova, level) = entry_make(next, TABLE_SHIFT);
			entry = next;
		}
		table = entry & ENTRY_ADDRESS;
	}
	return error ? failed(error, "mapping 0x%llx of domain %u: %s", iova, number,
			      strerror(-error))
		     : 0;
}

/* The table of a level, as a walk cache would know it: no reads are counted for the way there. */
static __u64 table_of_level(const struct tables *t, const struct domain *domain, __u64 iova,
			    __u32 level)
{
	__u64 table = domain->root;

	for (__u32 above = TABLES_LEVELS; above > level; above--) {
		__u64 host = table_place(t, domain, table);
		__u64 entry = *table_entry(t, host, iova, above);

		if (!(entry & ENTRY_READ) || is_leaf(entry, above))
			return 0;
		table = entry & ENTRY_ADDRESS;
	}
	return table;
}

bool tables_walk(struct tables *t, __u16 number, __u64 iova, __u32 level, struct tables_walk *walk)
{
	const struct domain *domain = &t->domains[number];
	__u64 table;

	*walk = (struct tables_walk){0};
	if (!domain->root || iova >> TABLES_IOVA_BITS)
		return false;
	table = table_of_level(t, domain, iova, level);
	for (; table && level; level--) {
		__u64 host = to_host(t, domain, table, &walk->nested_reads);
		__u64 entry = *table_entry(t, host, iova, level);

		walk->reads = walk->reads + 1;
		if (!(entry & ENTRY_READ))
			break;
		table = entry & ENTRY_ADDRESS;
		if (!is_leaf(entry, level))
			continue;
		walk->shift = level_shift(level);
		walk->address = to_host(t, domain, table | (iova & page_mask(walk->shift)),
					&walk->nested_reads);
		break;
	}
	walk->reads += walk->nested_reads;
	return walk->shift;
}

__u64 tables_bytes(const struct tables *t)
{
	return (__u64)(t->used - 1) << TABLE_SHIFT;
}

int tables_check(const struct tables_config *config)
{
	if (config->nested && config->host_shift != 12 && config->host_shift != 21)
		return failed(-EINVAL, "host pages of 2^%u bytes: accepted: 2^12, 2^21",
			      config->host_shift);
	return 0;
}

int tables_create(struct tables **tables, const struct tables_config *config)
{
	int error = tables_check(config);
	struct tables *t;

	if (error)
		return error;
	t = calloc(1, sizeof(*t));
	if (!t)
		return failed(-ENOMEM, "no memory for page tables");
	t->config = *config;
	t->used = 1;
	t->host_data = HOST_DATA;
	*tables = t;
	return 0;
}

void tables_destroy(struct tables *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->chunk_count; i++)
		free(t->chunks[i]);
	free(t->chunks);
	for (size_t i = 0; i < DOMAINS; i++)
		free(t->domains[i].places);
	free(t);
}
