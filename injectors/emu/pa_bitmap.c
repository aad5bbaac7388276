// SPDX-License-Identifier: GPL-2.0
/*
 * VPRI's PA-BITMAP (section 4.1): a linear table of 2-bit page access entries in device memory, 32 a
 * word, bit 0 present and bit 1 writable as in an x86 PTE. A page of 2 MiB is 512 equal entries.
 */
#include "injectors/emu/lookup_private.h"

#include <errno.h>
#include <sys/mman.h>

#include "lib/base/fail.h"

static size_t bitmap_bytes(const struct lookup *lookup)
{
	return ((lookup->bytes >> PAGE_BITS) + WORD_PAES - 1) / WORD_PAES * sizeof(__u64);
}

static int bitmap_create(struct lookup *lookup, const struct lookup_config *config)
{
	lookup->mechanism = mmap(NULL, bitmap_bytes(lookup), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (lookup->mechanism == MAP_FAILED)
		return failed(-ENOMEM, "no memory for a PA-BITMAP of %llu bytes of IOVA",
			      lookup->bytes);
	if (!config->lookup_delay_ns && !lookup->fence)
		lookup->bitmap = lookup->mechanism;
	return 0;
}

static void bitmap_destroy(struct lookup *lookup)
{
	munmap(lookup->mechanism, bitmap_bytes(lookup));
}

/* Lists what `missing` (bits that should be set and are not) says of one word's pages. */
static int list_absent(const struct lookup *lookup, __u64 word_page, __u64 missing, __u64 *absent,
		       unsigned int limit)
{
	int found = 0;

	for (unsigned int i = 0; i < WORD_PAES && missing; i++, missing >>= 2) {
		if ((missing & 3) && (unsigned int)found < limit)
			absent[found++] = lookup->base + ((word_page + i) << PAGE_BITS);
	}
	return found;
}

static int bitmap_check(struct lookup *lookup, struct lookup_lane *lane, __u64 page, __u64 pages,
			bool write, __u64 *absent, unsigned int limit)
{
	const _Atomic __u64 *bitmap = lookup->mechanism;
	__u64 required = write ? ~0ull : ALL_PRESENT;
	bool read_only = false;
	int found = 0;
	__u64 count;

	for (__u64 end = page + pages; page < end; page += count) {
		__u64 mask = word_mask(page, end - page, &count);
		__u64 missing =
			mask & required &
			~atomic_load_explicit(&bitmap[page / WORD_PAES], memory_order_acquire);

		if (!missing)
			continue;
		read_only |= (missing & ALL_PRESENT) != ((missing >> 1) & ALL_PRESENT) && write;
		found += list_absent(lookup, page / WORD_PAES * WORD_PAES, missing, absent + found,
				     limit - found);
	}
	if (read_only)
		lane_count(&lane->read_only_faults);
	return found;
}

/*
 * Present and read-only to writable needs no invalidation; the reverse had one. Release, for the
 * acquire of who checks: an entry that grants is seen behind the IOPT entry that it goes by.
 */
static void bitmap_set(struct lookup *lookup, __u64 page, __u64 pages, __u64 permissions)
{
	_Atomic __u64 *bitmap = lookup->mechanism;
	__u64 bits = permissions & IOMMU_WRITE ? ~0ull : ALL_PRESENT;
	__u64 count;

	for (__u64 end = page + pages; page < end; page += count) {
		__u64 mask = word_mask(page, end - page, &count);

		atomic_fetch_or_explicit(&bitmap[page / WORD_PAES], mask & bits,
					 memory_order_release);
	}
}

/* lookup_withdraw(), which calls it, has the barrier before the look at DMAs under way. */
static void bitmap_clear(struct lookup *lookup, __u64 page, __u64 pages)
{
	_Atomic __u64 *bitmap = lookup->mechanism;
	__u64 count;

	for (__u64 end = page + pages; page < end; page += count) {
		__u64 mask = word_mask(page, end - page, &count);

		atomic_fetch_and(&bitmap[page / WORD_PAES], ~mask);
	}
}

const struct lookup_ops pa_bitmap_ops = {
	.create = bitmap_create,
	.destroy = bitmap_destroy,
	.check = bitmap_check,
	.set = bitmap_set,
	.clear = bitmap_clear,
};
