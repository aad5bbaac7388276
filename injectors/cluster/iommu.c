// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/iommu.h"

#include <errno.h>
#include <string.h>

#include "injectors/cluster/memory.h"
#include "injectors/cluster/seen.h"
#include "lib/base/fail.h"

/*
 * Tables are x86's of the second level: four levels of 512 entries for 48 bits of address, an entry being a physical address (or the
 * number of the next table) above two bits that allow to read and to write.
 *
 * Who walks takes no lock. A table that is given back may be somebody else's a moment later: `destroyed` counts what was, and who sees it
 * change walks once more.
 */
#define TABLES	      16384u /* of a host: 32 GiB of mappings, less if they are spread */
#define TABLE_ENTRIES 512u
#define LEVELS	      4
#define DOMAINS	      128u
#define ATTACHED      2048u /* requesters of a host that were ever attached */
#define ADDRESS_END   (1ull << 48)
#define FRAME	      0x0000fffffffff000ull

struct io_domain {
	__u32 owner; /* agent + 2, 1: the one that has begun all; 0: free */
	__u32 root;  /* table + 1; 0: none yet */
	__u64 maps, unmaps, mapped_pages;
};

struct host_iommu {
	__u64 (*tables)[TABLE_ENTRIES];
	__u32 owners[TABLES]; /* of tables: domain + 1; 0: free */
	__u32 next_table;     /* a hint */
	__u32 destroyed;
	__u64 attached[ATTACHED]; /* requester + 1 << 32 | domain: a hash table whose keys stay */
	struct io_domain domains[DOMAINS + 1];
	__u64 maps, unmaps, faults;
};

struct iommus {
	struct host_iommu *hosts[CLUSTER_HOSTS_MAX];
};

int iommus_create(struct cluster *cluster)
{
	struct iommus *iommus = shared_alloc(cluster, sizeof(*iommus));

	if (!iommus)
		return -ENOMEM;
	cluster->iommus = iommus;
	for (__u32 h = 0; h < cluster->config->host_count; h++) {
		struct host_iommu *iommu = shared_alloc(cluster, sizeof(*iommu));

		if (!iommu)
			return -ENOMEM;
		iommus->hosts[h] = iommu;
		iommu->tables = shared_alloc(cluster, (size_t)TABLES * sizeof(*iommu->tables));
		if (!iommu->tables)
			return -ENOMEM;
	}
	return 0;
}

static struct host_iommu *iommu_of(const struct cluster *cluster, __u32 host)
{
	return cluster->iommus->hosts[host < cluster->config->host_count ? host : 0];
}

static __u32 domain_owner_word(__u32 agent)
{
	return agent == CLUSTER_NONE ? 1 : agent + 2;
}

static struct io_domain *domain_get(struct host_iommu *iommu, __u32 domain)
{
	return domain && domain <= DOMAINS &&
			       __atomic_load_n(&iommu->domains[domain].owner, __ATOMIC_ACQUIRE)
		       ? &iommu->domains[domain]
		       : NULL;
}

int host_iommu_domain_create(struct cluster *cluster, __u32 host, __u32 *domain)
{
	struct host_iommu *iommu = iommu_of(cluster, host);

	for (__u32 d = 1; d <= DOMAINS; d++) {
		__u32 nobody = 0;

		if (!__atomic_compare_exchange_n(&iommu->domains[d].owner, &nobody,
						 domain_owner_word(cluster->self), false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		*domain = d;
		return 0;
	}
	return failed(-ENOSPC, "the IOMMU of %s has all of its %u domains in use",
		      cluster->config->hosts[host].name, DOMAINS);
}

/* Where a requester is kept: its own place, or, with `add`, a free one; NULL: none. */
static __u64 *attached_at(struct host_iommu *iommu, __u32 requester, bool add)
{
	__u64 key = (__u64)requester + 1;

	for (__u32 i = 0, at = requester * 2654435761u; i < ATTACHED; i++, at++) {
		__u64 *place = &iommu->attached[at % ATTACHED];
		__u64 word = __atomic_load_n(place, __ATOMIC_ACQUIRE);

		if (!word && !add)
			return NULL;
		if (!word && __atomic_compare_exchange_n(place, &word, key << 32, false,
							 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return place;
		if (word >> 32 == key)
			return place;
	}
	return NULL;
}

static void attached_set(__u64 *place, __u32 domain)
{
	__u64 word = __atomic_load_n(place, __ATOMIC_RELAXED);

	__atomic_store_n(place, (word >> 32) << 32 | domain, __ATOMIC_RELEASE);
}

int host_iommu_attach(struct cluster *cluster, __u32 host, __u32 requester, __u32 domain)
{
	struct host_iommu *iommu = iommu_of(cluster, host);
	__u64 *place;

	if (!domain_get(iommu, domain))
		return failed(-EINVAL, "the IOMMU of %s has no domain %u",
			      cluster->config->hosts[host].name, domain);
	place = attached_at(iommu, requester, true);
	if (!place)
		return failed(-ENOSPC, "the IOMMU of %s has %u requesters already",
			      cluster->config->hosts[host].name, ATTACHED);
	attached_set(place, domain);
	return 0;
}

void host_iommu_detach(struct cluster *cluster, __u32 host, __u32 requester)
{
	__u64 *place = attached_at(iommu_of(cluster, host), requester, false);

	if (place)
		attached_set(place, 0);
}

void host_iommu_forget_entry(struct cluster *cluster, __u32 entry)
{
	for (__u32 h = 0; h < cluster->config->host_count; h++) {
		struct host_iommu *iommu = iommu_of(cluster, h);

		for (__u32 i = 0; i < ATTACHED; i++) {
			__u64 word = __atomic_load_n(&iommu->attached[i], __ATOMIC_ACQUIRE);

			if ((__u32)word && REQUESTER_OF_ENTRY((__u32)(word >> 32) - 1) == entry)
				attached_set(&iommu->attached[i], 0);
		}
	}
}

__u32 host_iommu_domain_of(const struct cluster *cluster, __u32 host, __u32 requester)
{
	const __u64 *place = attached_at(iommu_of(cluster, host), requester, false);

	return place ? (__u32)__atomic_load_n(place, __ATOMIC_ACQUIRE) : 0;
}

static __u32 table_alloc(struct host_iommu *iommu, __u32 domain)
{
	__u32 next = __atomic_load_n(&iommu->next_table, __ATOMIC_RELAXED);

	for (__u32 i = 0; i < TABLES; i++) {
		__u32 table = (next + i) % TABLES, nobody = 0;

		if (__atomic_load_n(&iommu->owners[table], __ATOMIC_RELAXED) ||
		    !__atomic_compare_exchange_n(&iommu->owners[table], &nobody, domain + 1, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		memset(iommu->tables[table], 0, sizeof(iommu->tables[table]));
		__atomic_store_n(&iommu->next_table, table + 1, __ATOMIC_RELAXED);
		return table + 1;
	}
	return 0;
}

/* A table behind an entry, by its number + 1; with `domain` it is made where there is none. 0: there is none. */
static __u32 table_behind(struct host_iommu *iommu, __u64 *entry, __u32 domain)
{
	__u64 word = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
	__u32 table;

	if (!word && domain) {
		table = table_alloc(iommu, domain);
		if (!table ||
		    __atomic_compare_exchange_n(entry, &word, (__u64)table << 12 | 3, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return table;
		__atomic_store_n(&iommu->owners[table - 1], 0, __ATOMIC_RELEASE);
	}
	table = (__u32)((word & FRAME) >> 12);
	return table <= TABLES ? table : 0;
}

/* The entry of the last level; NULL: there is none, or no table for it is left. */
static __u64 *io_entry_at(struct host_iommu *iommu, struct io_domain *domain, __u32 number,
			  __u64 address, bool make)
{
	__u32 table = __atomic_load_n(&domain->root, __ATOMIC_ACQUIRE);

	if (!table && make) {
		__u32 mine = table_alloc(iommu, number);

		if (mine && !__atomic_compare_exchange_n(&domain->root, &table, mine, false,
							 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			__atomic_store_n(&iommu->owners[mine - 1], 0, __ATOMIC_RELEASE);
		else
			table = mine;
	}
	for (int level = LEVELS - 1; table && table <= TABLES; level--) {
		__u64 *entry = &iommu->tables[table - 1]
					     [address >> (12 + 9 * level) & (TABLE_ENTRIES - 1)];

		if (!level)
			return entry;
		table = table_behind(iommu, entry, make ? number : 0);
	}
	return NULL;
}

static __u64 unmap_pages(struct host_iommu *iommu, struct io_domain *domain, __u32 number,
			 __u64 first, __u64 end)
{
	__u64 pages = 0;

	for (__u64 at = first; at < end; at += HOST_PAGE) {
		__u64 *entry = io_entry_at(iommu, domain, number, at, false);

		pages += entry && __atomic_exchange_n(entry, 0, __ATOMIC_ACQ_REL);
	}
	__atomic_sub_fetch(&domain->mapped_pages, pages, __ATOMIC_RELAXED);
	return pages;
}

/* Fills the entries; what was done before an error is undone. */
static int map_pages(struct host_iommu *iommu, struct io_domain *domain, __u32 number, __u64 first,
		     __u64 end, __u64 word)
{
	for (__u64 at = first; at < end; at += HOST_PAGE, word += HOST_PAGE) {
		__u64 *entry = io_entry_at(iommu, domain, number, at, true), nothing = 0;

		if (entry && __atomic_compare_exchange_n(entry, &nothing, word, false,
							 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			__atomic_add_fetch(&domain->mapped_pages, 1, __ATOMIC_RELAXED);
			continue;
		}
		unmap_pages(iommu, domain, number, first, at);
		return entry ? -EEXIST : -ENOMEM;
	}
	return 0;
}

static bool range_wrong(__u64 address, __u64 bytes)
{
	return !bytes || bytes > ADDRESS_END || address > ADDRESS_END - bytes;
}

static __u64 page_up(__u64 address)
{
	return (address + HOST_PAGE - 1) / HOST_PAGE * HOST_PAGE;
}

int host_iommu_map(struct cluster *cluster, __u32 host, __u32 domain, __u64 address, __u64 physical,
		   __u64 bytes, int access, __u32 device)
{
	struct host_iommu *iommu = iommu_of(cluster, host);
	struct io_domain *in = domain_get(iommu, domain);
	const char *name = cluster->config->hosts[host].name;
	__u64 first = address / HOST_PAGE * HOST_PAGE, end = page_up(address + bytes);
	int err;

	if (!in)
		return failed(-ENODEV, "the IOMMU of %s has no domain %u (any more)", name, domain);
	if (range_wrong(address, bytes) || range_wrong(physical, bytes) ||
	    address % HOST_PAGE != physical % HOST_PAGE ||
	    !(access & (HOST_IOMMU_READ | HOST_IOMMU_WRITE)))
		return failed(
			-EINVAL,
			"the IOMMU of %s cannot map 0x%llx to 0x%llx, %llu bytes, in domain "
			"%u: accepted: 48 bits, equal offsets in a page, readable or writable",
			name, address, physical, bytes, domain);
	for (__u64 at = first; at < end; at += HOST_PAGE) {
		const __u64 *entry = io_entry_at(iommu, in, domain, at, false);

		if (entry && __atomic_load_n(entry, __ATOMIC_RELAXED))
			return failed(-EEXIST, "the IOMMU of %s has 0x%llx mapped in domain %u",
				      name, at, domain);
	}
	err = map_pages(iommu, in, domain, first, end, (physical & FRAME) | (access & 3));
	if (err)
		return failed(err, "the IOMMU of %s: %s at 0x%llx of domain %u", name,
			      err == -ENOMEM ? "no table is left" : "somebody else has mapped",
			      address, domain);
	__atomic_add_fetch(&in->maps, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&iommu->maps, 1, __ATOMIC_RELAXED);
	seen_iommu(cluster, host, device, first, end - first, physical & FRAME, true);
	return 0;
}

__u64 host_iommu_unmap(struct cluster *cluster, __u32 host, __u32 domain, __u64 address,
		       __u64 bytes, __u32 device)
{
	struct host_iommu *iommu = iommu_of(cluster, host);
	struct io_domain *in = domain_get(iommu, domain);
	__u64 first = address / HOST_PAGE * HOST_PAGE, end = page_up(address + bytes), pages;

	if (!in || range_wrong(address, bytes))
		return 0;
	pages = unmap_pages(iommu, in, domain, first, end);
	if (!pages)
		return 0;
	__atomic_add_fetch(&in->unmaps, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&iommu->unmaps, 1, __ATOMIC_RELAXED);
	seen_iommu(cluster, host, device, first, pages * HOST_PAGE, 0, false);
	return pages * HOST_PAGE;
}

/* Who began to walk before it is told by `destroyed`, before a table can be another's. */
void host_iommu_domain_destroy(struct cluster *cluster, __u32 host, __u32 domain)
{
	struct host_iommu *iommu = iommu_of(cluster, host);
	struct io_domain *in = domain_get(iommu, domain);

	if (!in)
		return;
	for (__u32 i = 0; i < ATTACHED; i++) {
		__u64 word = __atomic_load_n(&iommu->attached[i], __ATOMIC_ACQUIRE);

		if (word && (__u32)word == domain)
			attached_set(&iommu->attached[i], HOST_IOMMU_BLOCKED);
	}
	__atomic_store_n(&in->root, 0, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&iommu->destroyed, 1, __ATOMIC_SEQ_CST);
	for (__u32 t = 0; t < TABLES; t++)
		if (__atomic_load_n(&iommu->owners[t], __ATOMIC_RELAXED) == domain + 1)
			__atomic_store_n(&iommu->owners[t], 0, __ATOMIC_RELEASE);
	in->maps = in->unmaps = in->mapped_pages = 0;
	__atomic_store_n(&in->owner, 0, __ATOMIC_RELEASE);
}

__u32 host_iommu_release(struct cluster *cluster, __u32 agent)
{
	__u32 released = 0;

	for (__u32 h = 0; h < cluster->config->host_count; h++)
		for (__u32 d = 1; d <= DOMAINS; d++) {
			const struct io_domain *domain = &iommu_of(cluster, h)->domains[d];

			if (__atomic_load_n(&domain->owner, __ATOMIC_ACQUIRE) !=
			    domain_owner_word(agent))
				continue;
			host_iommu_domain_destroy(cluster, h, d);
			released++;
		}
	return released;
}

/* The entry's word as it was while no table was given back. */
static __u64 walk(struct host_iommu *iommu, __u32 domain, __u64 address)
{
	for (;;) {
		__u32 before = __atomic_load_n(&iommu->destroyed, __ATOMIC_SEQ_CST);
		struct io_domain *in = domain_get(iommu, domain);
		const __u64 *entry = in ? io_entry_at(iommu, in, domain, address, false) : NULL;
		__u64 word = entry ? __atomic_load_n(entry, __ATOMIC_ACQUIRE) : 0;

		if (!word || __atomic_load_n(&iommu->destroyed, __ATOMIC_SEQ_CST) == before)
			return word;
	}
}

int host_iommu_translate(const struct cluster *cluster, __u32 host, __u32 requester, __u64 address,
			 bool write, __u64 *physical, __u64 *run)
{
	struct host_iommu *iommu = iommu_of(cluster, host);
	__u32 domain = 0;
	__u64 word;

	*run = HOST_PAGE - address % HOST_PAGE;
	*physical = address;
	if (cluster->config->hosts[host].iommu)
		domain = host_iommu_domain_of(cluster, host, requester);
	if (!domain)
		return 0;
	word = address < ADDRESS_END ? walk(iommu, domain, address) : 0;
	if (word & (write ? HOST_IOMMU_WRITE : HOST_IOMMU_READ)) {
		*physical = (word & FRAME) + address % HOST_PAGE;
		return 0;
	}
	__atomic_add_fetch(&iommu->faults, 1, __ATOMIC_RELAXED);
	return word ? -EACCES : -EFAULT;
}

void host_iommu_stats(const struct cluster *cluster, __u32 host, struct host_iommu_stats *stats)
{
	const struct host_iommu *iommu = iommu_of(cluster, host);

	stats->maps = __atomic_load_n(&iommu->maps, __ATOMIC_RELAXED);
	stats->unmaps = __atomic_load_n(&iommu->unmaps, __ATOMIC_RELAXED);
	stats->mapped_bytes = 0;
	for (__u32 d = 1; d <= DOMAINS; d++)
		stats->mapped_bytes +=
			__atomic_load_n(&iommu->domains[d].mapped_pages, __ATOMIC_RELAXED) *
			HOST_PAGE;
	stats->faults = __atomic_load_n(&iommu->faults, __ATOMIC_RELAXED);
}

void host_iommu_domain_stats(const struct cluster *cluster, __u32 host, __u32 domain,
			     struct host_iommu_stats *stats)
{
	const struct io_domain *in = domain_get(iommu_of(cluster, host), domain);

	memset(stats, 0, sizeof(*stats));
	if (!in)
		return;
	stats->maps = __atomic_load_n(&in->maps, __ATOMIC_RELAXED);
	stats->unmaps = __atomic_load_n(&in->unmaps, __ATOMIC_RELAXED);
	stats->mapped_bytes = __atomic_load_n(&in->mapped_pages, __ATOMIC_RELAXED) * HOST_PAGE;
}
