// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/pins.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "injectors/emu/machine_private.h"
#include "lib/base/fail.h"

struct pins {
	atomic_ullong pinned, most, skipped;
	__u64 limit; /* bytes, 0: none */
	atomic_ullong locked, locked_most, refused, refused_locked;
	__u16 counts[]; /* each under its page's eviction lock */
};

int pins_create(struct pins **pins, __u64 pages, __u64 limit)
{
	struct pins *new = calloc(1, sizeof(*new) + pages * sizeof(new->counts[0]));

	if (!new)
		return failed(-ENOMEM, "no memory for the pins of %llu pages", pages);
	new->limit = limit;
	*pins = new;
	return 0;
}

void pins_destroy(struct pins *pins)
{
	free(pins);
}

bool pins_skip(struct pins *pins, __u64 page)
{
	if (!pins->counts[page])
		return false;
	atomic_fetch_add(&pins->skipped, 1);
	return true;
}

bool pins_hold(struct pins *pins, __u64 page)
{
	return __atomic_load_n(&pins->counts[page], __ATOMIC_RELAXED);
}

void pins_stats(const struct pins *pins, struct pins_stats *stats)
{
	*stats = (struct pins_stats){
		.pinned = atomic_load(&pins->pinned),
		.most = atomic_load(&pins->most),
		.skipped = atomic_load(&pins->skipped),
		.limit = pins->limit,
		.locked = atomic_load(&pins->locked),
		.locked_most = atomic_load(&pins->locked_most),
		.refused = atomic_load(&pins->refused),
		.refused_locked = atomic_load(&pins->refused_locked),
	};
}

static void pins_raise(atomic_ullong *highest, unsigned long long now)
{
	unsigned long long most = atomic_load(highest);

	while (now > most && !atomic_compare_exchange_weak(highest, &most, now))
		;
}

static void pins_add(struct pins *pins, __u64 page)
{
	if (!pins->counts[page]++)
		pins_raise(&pins->most, atomic_fetch_add(&pins->pinned, 1) + 1);
}

/* Takes its bytes from the limit beforehand: what is too much is not even brought in. */
static int pins_lock(struct pins *pins, const struct tenant *tenant, __u64 bytes)
{
	unsigned long long locked = atomic_load(&pins->locked);

	do {
		if (pins->limit && bytes > pins->limit - locked) {
			atomic_fetch_add(&pins->refused, 1);
			atomic_store(&pins->refused_locked, locked + bytes);
			return failed(-ENOMEM,
				      "%llu KiB to be pinned make %llu KiB of tenant %s; its "
				      "memlock allows %llu KiB",
				      bytes >> 10, (locked + bytes) >> 10, tenant->config.name,
				      pins->limit >> 10);
		}
	} while (!atomic_compare_exchange_weak(&pins->locked, &locked, locked + bytes));
	pins_raise(&pins->locked_most, locked + bytes);
	return 0;
}

static int pin_page(struct machine *machine, __u32 device, __u64 page, bool write)
{
	const struct tenant *tenant = &machine->tenants[machine->devices[device].config.tenant];
	int error = 0;
	bool first;

	page_lock(tenant->evictions, page);
	first = !tenant->pins->counts[page];
	if (tenant->pins->counts[page] == UINT16_MAX)
		error = failed(-EOVERFLOW, "page 0x%llx of tenant %s is pinned too often",
			       page << PAGE_BITS, tenant->config.name);
	else if (first && !memory_limit_pin(machine->limit))
		error = -ENOSPC; /* machine_pin() makes a sentence of it */
	else {
		error = machine_grant(machine, device, page << PAGE_BITS, write);
		if (!error && first)
			error = guest_memory_lock(tenant->memory, page << PAGE_BITS, true);
		if (error && first)
			memory_limit_unpin(machine->limit);
	}
	if (!error)
		pins_add(tenant->pins, page);
	page_unlock(tenant->evictions, page);
	return error;
}

static int unpin_page(struct machine *machine, const struct tenant *tenant, __u64 page)
{
	bool pinned;

	page_lock(tenant->evictions, page);
	pinned = tenant->pins->counts[page];
	if (pinned && !--tenant->pins->counts[page]) {
		atomic_fetch_sub(&tenant->pins->pinned, 1);
		memory_limit_unpin(machine->limit);
		(void)guest_memory_lock(tenant->memory, page << PAGE_BITS, false);
	}
	page_unlock(tenant->evictions, page);
	return pinned ? 0
		      : failed(-EINVAL, "page 0x%llx of tenant %s is not pinned", page << PAGE_BITS,
			       tenant->config.name);
}

/* The range's first page and the one after its last. */
static int page_range(const struct tenant *tenant, __u64 guest_address, __u64 bytes, __u64 *first,
		      __u64 *end)
{
	if (!bytes || guest_address >= tenant->config.memory ||
	    bytes > tenant->config.memory - guest_address)
		return failed(-EFAULT, "pins: %llu bytes at 0x%llx are not in tenant %s's memory",
			      bytes, guest_address, tenant->config.name);
	*first = guest_address >> PAGE_BITS;
	*end = (guest_address + bytes + PAGE_BYTES - 1) >> PAGE_BITS;
	return 0;
}

static __u64 unpinned(const struct tenant *tenant, __u64 first, __u64 end)
{
	__u64 count = 0;

	for (__u64 page = first; page < end; page++)
		count += !pins_hold(tenant->pins, page);
	return count;
}

/* With all of it given back, so that the numbers are those that it was refused for. */
static int beyond_limit(const struct machine *machine, const struct tenant *tenant, __u64 pages)
{
	return failed(
		-ENOMEM,
		"tenant %s would pin %llu KiB, and %llu KiB are left of what memory_limit=%llu "
		"KiB lets all pin",
		tenant->config.name, pages << PAGE_BITS >> 10,
		memory_limit_left(machine->limit) >> 10, machine->config.memory_limit >> 10);
}

int machine_pin(struct machine *machine, __u32 device, __u64 guest_address, __u64 bytes, bool write)
{
	const struct machine_device *pinning = &machine->devices[device];
	const struct tenant *tenant = &machine->tenants[pinning->config.tenant];
	__u64 first = 0, end = 0, page;
	int error = page_range(tenant, guest_address, bytes, &first, &end);

	if (!error)
		error = pins_lock(tenant->pins, tenant, (end - first) << PAGE_BITS);
	if (error)
		return error;
	/* What cannot fit is not even brought in; what others pin meanwhile is seen page by page. */
	if (machine->limit &&
	    unpinned(tenant, first, end) << PAGE_BITS > memory_limit_left(machine->limit)) {
		atomic_fetch_sub(&tenant->pins->locked, (end - first) << PAGE_BITS);
		return beyond_limit(machine, tenant, end - first);
	}
	for (page = first; !error && page < end; page++)
		error = pin_page(machine, device, page, write);
	if (error) {
		for (page--; page > first; page--)
			(void)unpin_page(machine, tenant, page - 1);
		atomic_fetch_sub(&tenant->pins->locked, (end - first) << PAGE_BITS);
		return error == -ENOSPC ? beyond_limit(machine, tenant, end - first) : error;
	}
	/* Nobody takes them back now. */
	lookup_map_ahead(pinning->lookup, (first << PAGE_BITS) + pinning->iova_offset,
			 (end - first) << PAGE_BITS);
	return 0;
}

int machine_unpin(struct machine *machine, __u32 device, __u64 guest_address, __u64 bytes)
{
	const struct tenant *tenant = &machine->tenants[machine->devices[device].config.tenant];
	__u64 first = 0, end = 0;
	int error = page_range(tenant, guest_address, bytes, &first, &end);

	for (__u64 page = first; !error && page < end; page++) {
		error = unpin_page(machine, tenant, page);
		if (!error)
			atomic_fetch_sub(&tenant->pins->locked, PAGE_BYTES);
	}
	return error;
}

static int advise_page(struct machine *machine, __u32 device, __u64 page, bool write)
{
	const struct tenant *tenant = &machine->tenants[machine->devices[device].config.tenant];
	int error;

	page_lock(tenant->evictions, page);
	error = machine_grant(machine, device, page << PAGE_BITS, write);
	page_unlock(tenant->evictions, page);
	return error;
}

int machine_advise(struct machine *machine, __u32 device, __u64 guest_address, __u64 bytes,
		   bool write)
{
	const struct machine_device *advised = &machine->devices[device];
	const struct tenant *tenant = &machine->tenants[advised->config.tenant];
	__u64 first = 0, end = 0, page;
	int error = page_range(tenant, guest_address, bytes, &first, &end);

	if (error)
		return error;
	for (page = first; !error && page < end; page++)
		error = advise_page(machine, device, page, write);
	page -= error != 0;
	/* What has been taken back in the meantime stays absent. */
	if (page > first)
		lookup_map_ahead(advised->lookup, (first << PAGE_BITS) + advised->iova_offset,
				 (page - first) << PAGE_BITS);
	return error;
}
