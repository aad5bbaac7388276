// SPDX-License-Identifier: GPL-2.0
/*
 * What a guest's Bus Master sets off: its memory is probed and pinned, made contiguous by the borrower's IOMMU, and put at its own
 * addresses by two windows of the lender and the lender's IOMMU (PV section 5.2).
 *
 * Until then its device has no translation at all, so that early DMA of it goes nowhere.
 */
#include <errno.h>
#include <string.h>

#include "injectors/cluster/agent.h"
#include "injectors/cluster/guest_private.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/lend_private.h"
#include "injectors/cluster/message.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

void guest_step(const struct bus_guest *guest, enum cluster_step step, __u64 address,
		__u64 begin_ns, int error)
{
	const struct bus *bus = guest->bus;
	struct step told = {
		.step = step,
		.device = bus->device,
		.borrow = guest->borrowed ? guest->borrow.number : CLUSTER_NONE,
		.other_host = function_host(bus->cluster, bus->function),
		.address = address,
		.took_ns = begin_ns ? monotonic_ns() - begin_ns : 0,
		.error = error < 0 ? -error : error,
	};

	cluster_step(bus->cluster, &told);
}

/* Pins from `start` on until there is nothing to pin: the layout is not told to who has no hook in the guest, but where x86 memory
 * begins is well known. */
static int guest_probe(struct bus_guest *guest, enum guest_region_kind kind, __u64 start)
{
	struct bus *bus = guest->bus;
	struct guest_region *region = &guest->regions[kind];
	__u64 begin = monotonic_ns(), host;

	while (!guest_resolve(guest, start + region->pinned, &host)) {
		int err = host_memory_pin(bus->cluster, bus->host, host, HOST_PAGE);

		if (err)
			return err;
		region->pinned += HOST_PAGE;
	}
	guest_step(guest, STEP_GUEST_PROBED, start + region->pinned, begin, 0);
	return 0;
}

static void guest_unpin(struct bus_guest *guest, enum guest_region_kind kind, __u64 start)
{
	struct bus *bus = guest->bus;
	struct guest_region *region = &guest->regions[kind];

	while (region->pinned) {
		__u64 host;

		region->pinned -= HOST_PAGE;
		if (!guest_resolve(guest, start + region->pinned, &host))
			host_memory_unpin(bus->cluster, bus->host, host, HOST_PAGE);
	}
}

/* Bytes of host RAM that follow each other from a guest-physical address on, up to `most`. */
static __u64 guest_run_of_pages(const struct bus_guest *guest, __u64 address, __u64 most,
				__u64 *host)
{
	__u64 bytes = HOST_PAGE, next;

	if (guest_resolve(guest, address, host))
		return 0;
	while (bytes < most && !guest_resolve(guest, address + bytes, &next) &&
	       next == *host + bytes)
		bytes += HOST_PAGE;
	return bytes;
}

/* A device of its own host: there is one IOMMU, which has the guest's addresses, and no window. */
static bool guest_is_local(const struct bus_guest *guest)
{
	return guest->borrow.lender == guest->borrow.borrower;
}

static int guest_map_borrower(struct bus_guest *guest, enum guest_region_kind kind, __u64 start)
{
	struct bus *bus = guest->bus;
	__u64 pinned = guest->regions[kind].pinned, host, bytes;
	__u64 base = guest_is_local(guest) ? start : GUEST_IO_ADDRESS(kind);

	for (__u64 at = 0; at < pinned; at += bytes) {
		int err;

		bytes = guest_run_of_pages(guest, start + at, pinned - at, &host);
		if (!bytes)
			return failed(-EFAULT, "%s has lost memory that is pinned",
				      guest->config->name);
		err = host_iommu_map(bus->cluster, bus->host, guest->domain, base + at, host, bytes,
				     HOST_IOMMU_READ | HOST_IOMMU_WRITE, bus->device);
		if (err)
			return err;
	}
	return 0;
}

/* The lender's window, and its IOMMU: the guest's address for it. */
static int guest_map_lender(struct bus_guest *guest, enum guest_region_kind kind, __u64 start)
{
	struct cluster *cluster = guest->bus->cluster;
	struct guest_region *region = &guest->regions[kind];
	struct message message = {.type = MESSAGE_GUEST_MIRROR};
	int err = 0;

	if (!guest_is_local(guest))
		err = lend_window(cluster, &guest->borrow,
				  kind == GUEST_LOW_RAM ? WINDOW_LOW : WINDOW_HIGH,
				  guest->borrow.borrower, GUEST_IO_ADDRESS(kind), region->pinned,
				  &region->window);
	if (err)
		return err;
	message.words[0] = guest->borrow.number;
	message.words[1] = start;
	message.words[2] = region->window;
	message.words[3] = region->window ? region->pinned : 0;
	message.words[4] = guest->vm;
	return message_call(cluster, guest->borrow.lender, &message, 0);
}

/* Of the lender's control thread. */
int guest_serve_mirror(struct cluster *cluster, struct message *message)
{
	struct lend_record *record = lend_record(cluster, (__u32)message->words[0]);
	__u64 start = message->words[1], window = message->words[2], bytes = message->words[3];
	struct guest_shared *guest = guest_of(cluster, (__u32)message->words[4]);
	const struct lend_borrow *borrow;
	int err = 0;

	if (!record || !guest || record->borrow.agent != message->from || !record->borrow.guest ||
	    record->borrow.lender != cluster->host || (bytes && !record->borrow.lender_domain))
		return failed(-EPERM, "borrow %llu is no guest's of this lender's",
			      message->words[0]);
	borrow = &record->borrow;
	if (bytes)
		err = host_iommu_map(cluster, cluster->host, borrow->lender_domain, start, window,
				     bytes, HOST_IOMMU_READ | HOST_IOMMU_WRITE,
				     function_device(cluster, borrow->function));
	if (!err)
		__atomic_store_n(&guest->relayed, borrow->number, __ATOMIC_RELEASE);
	return err;
}

/* That of the borrow; where it is lent to its own host there is none yet, and its device must not be free to roam meanwhile. */
int guest_domain(struct bus_guest *guest)
{
	struct bus *bus = guest->bus;
	int err;

	guest->domain = guest->borrow.borrower_domain;
	if (!guest_is_local(guest))
		return 0;
	err = host_iommu_domain_create(bus->cluster, bus->host, &guest->domain);
	if (err)
		return err;
	guest->own_domain = true;
	return host_iommu_attach(bus->cluster, bus->host, REQUESTER_FUNCTION(bus->function),
				 guest->domain);
}

static __u64 guest_start(enum guest_region_kind kind)
{
	return kind == GUEST_LOW_RAM ? 0 : GUEST_HIGH;
}

/* The lender's two windows have to cover all of the guest's memory. */
static int guest_fits(const struct bus_guest *guest)
{
	const struct fabric_node *adapter;
	__u64 bytes = guest->config->low + guest->config->high;

	if (guest_is_local(guest))
		return 0;
	adapter = &guest->bus->cluster->config->fabric->nodes[guest->borrow.lender_adapter];
	if (bytes < adapter->bar_bytes)
		return 0;
	return failed(-ENOSPC,
		      "%s has %llu bytes of memory, and the BAR of the lender's adapter %s %llu; "
		      "accepted: less than it",
		      guest->config->name, bytes, adapter->name, adapter->bar_bytes);
}

static int guest_map_region(struct bus_guest *guest, enum guest_region_kind kind)
{
	__u64 start = guest_start(kind);
	int err;

	if (!guest->regions[kind].pinned)
		return 0;
	err = guest_map_borrower(guest, kind, start);
	return err ? err : guest_map_lender(guest, kind, start);
}

static void guest_results_pinned(struct bus_guest *guest)
{
	struct guest_results *results = &guest->guest->results;

	results->pinned_low = guest->regions[GUEST_LOW_RAM].pinned;
	results->pinned_high = guest->regions[GUEST_HIGH_RAM].pinned;
	results->windows = 0;
	for (int kind = GUEST_LOW_RAM; kind <= GUEST_HIGH_RAM; kind++)
		if (guest->regions[kind].window)
			results->windows += guest->regions[kind].pinned;
	if (results->most_pinned < results->pinned_low + results->pinned_high)
		results->most_pinned = results->pinned_low + results->pinned_high;
}

int guest_map(struct bus_guest *guest)
{
	__u64 begin = monotonic_ns();
	int err = guest_fits(guest);

	guest_step(guest, STEP_GUEST_BUS_MASTER, 0, 0, err);
	for (int kind = GUEST_LOW_RAM; !err && kind <= GUEST_HIGH_RAM; kind++) {
		err = guest_probe(guest, kind, guest_start(kind));
		guest_step(guest, STEP_GUEST_PINNED, guest->regions[kind].pinned, begin, err);
	}
	begin = monotonic_ns();
	for (int kind = GUEST_LOW_RAM; !err && kind <= GUEST_HIGH_RAM; kind++) {
		err = guest_map_region(guest, kind);
		guest_step(guest, STEP_GUEST_MAPPED, guest_start(kind), begin, err);
	}
	guest_results_pinned(guest);
	return err;
}

void guest_unmap(struct bus_guest *guest)
{
	struct bus *bus = guest->bus;

	if (guest->domain && guest->own_domain) {
		host_iommu_detach(bus->cluster, bus->host, REQUESTER_FUNCTION(bus->function));
		host_iommu_domain_destroy(bus->cluster, bus->host, guest->domain);
	}
	guest->domain = 0;
	guest->own_domain = false;
	for (int kind = GUEST_LOW_RAM; kind <= GUEST_HIGH_RAM; kind++) {
		guest->regions[kind].window = 0;
		guest_unpin(guest, kind, guest_start(kind));
	}
	guest_results_pinned(guest);
}
