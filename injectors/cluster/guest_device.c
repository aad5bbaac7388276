// SPDX-License-Identifier: GPL-2.0
/* A guest's device from its registration to its return, and what firmware does with it. */
#include <errno.h>
#include <linux/pci_regs.h>
#include <stdlib.h>

#include "injectors/cluster/guest_private.h"
#include "lib/base/fail.h"
#include "lib/fabric/route.h"

/* What its host's kernel is told as the mediated device is made: nothing is borrowed by it. */
static int guest_register_device(struct bus_guest *guest)
{
	struct bus *bus = guest->bus;
	const struct cluster_config *config = bus->cluster->config;
	const struct host_config *lender =
		&config->hosts[function_host(bus->cluster, bus->function)];
	const struct host_config *borrower = &config->hosts[bus->host];
	int err = 0;

	if (!lender->iommu || !borrower->iommu)
		err = failed(
			-EPERM,
			"%s needs the IOMMUs of %s and of %s, and that of %s is off; accepted: "
			"iommu=yes for both",
			guest->config->name, lender->name, borrower->name,
			lender->iommu ? borrower->name : lender->name);
	guest_step(guest, STEP_GUEST_REGISTER, 0, 0, err);
	return err;
}

static int guest_device_open(struct bus_guest *guest)
{
	const struct vm_config *config = guest->config;
	int err;

	if (config->low % HOST_PAGE || config->high % HOST_PAGE || config->added % HOST_PAGE ||
	    config->low > GUEST_LOW_BARS || !config->low)
		return failed(-EINVAL,
			      "%s has %llu and %llu bytes of memory; accepted: multiples of %u, "
			      "1 page to 3.25 GiB in the low part",
			      config->name, config->low, config->high, HOST_PAGE);
	err = guest_register_device(guest);
	if (!err)
		err = guest_region_create(guest, GUEST_LOW_RAM, 0, config->low);
	if (!err)
		err = guest_region_create(guest, GUEST_HIGH_RAM, GUEST_HIGH, config->high);
	return err;
}

int bus_guest_open(struct bus *bus, struct cluster *cluster, __u32 vm)
{
	const struct vm_config *config = &cluster->config->vms[vm];
	__u32 bits = cluster->config->devices[config->device].address_bits;
	struct bus_guest *guest = calloc(1, sizeof(*guest));
	int err;

	if (!guest)
		return failed(-ENOMEM, "no memory for %s", config->name);
	*bus = (struct bus){
		.ops = &guest_bus_ops,
		.cluster = cluster,
		.function = function_of(cluster, config->device, config->function),
		.device = config->device,
		.host = config->host,
		.borrow = CLUSTER_NONE,
		.mask = bits && bits < 64 ? (1ull << bits) - 1 : ~0ull,
		.private = guest,
	};
	guest->bus = bus;
	guest->config = config;
	guest->vm = vm;
	guest->guest = guest_of(cluster, vm);
	err = guest_device_open(guest);
	if (err)
		bus_guest_close(bus);
	return err;
}

void bus_guest_close(struct bus *bus)
{
	struct bus_guest *guest = guest_private(bus);

	if (guest->borrowed)
		lend_return(bus->cluster, &guest->borrow);
	guest->borrowed = false;
	guest_unmap(guest);
	for (int kind = 0; kind < GUEST_REGIONS; kind++)
		guest_region_destroy(guest, kind);
	free(guest);
	bus->private = NULL;
	bus->borrow = CLUSTER_NONE;
}

/* What a guest's firmware does. */
static void guest_place_bars(struct bus *bus)
{
	__u64 low = GUEST_LOW_BARS, high = GUEST_HIGH_BARS;

	for (__u32 bar = 0; bar < FUNCTION_BARS; bar++) {
		__u64 bytes = function_bar_bytes(bus->cluster, bus->function, bar);
		bool wide = bar + 1 < FUNCTION_BARS &&
			    !function_bar_bytes(bus->cluster, bus->function, bar + 1);
		__u64 *next = wide && bar ? &high : &low;

		if (!bytes)
			continue;
		*next = (*next + bytes - 1) & ~(bytes - 1);
		if (wide && bar)
			bus->ops->config_write(bus, PCI_BASE_ADDRESS_0 + 4 * (bar + 1), 4,
					       (__u32)(*next >> 32));
		bus->ops->config_write(bus, PCI_BASE_ADDRESS_0 + 4 * bar, 4, (__u32)*next);
		*next += bytes;
	}
}

/* A relayed interrupt crosses as a message does, a posted write of 64 bytes; what handlers take is software, which is not priced. */
static __u64 guest_relay_ns(const struct bus_guest *guest)
{
	const struct cluster *cluster = guest->bus->cluster;
	const struct cluster_config *config = cluster->config;
	struct transaction transaction = {.posted = true, .bytes = 64};
	struct transaction_cost cost;
	struct route route;

	if (guest->borrow.lender == guest->borrow.borrower ||
	    route_find(config->fabric, config->hosts[guest->borrow.lender].root,
		       config->hosts[guest->borrow.borrower].root, false, NULL, &route))
		return 0;
	transaction.route = &route;
	fabric_cost(config->fabric, cluster->costs, &transaction, &cost);
	return cost.first_ns;
}

int guest_boot(struct bus *bus)
{
	struct bus_guest *guest = guest_private(bus);
	struct lend_wish wish = {
		.function = bus->function,
		.adapters = {CLUSTER_NONE, CLUSTER_NONE},
		.guest = true,
	};
	int err;

	guest_step(guest, STEP_GUEST_RESET, 0, 0, 0);
	err = lend_borrow(bus->cluster, &wish, &guest->borrow);
	if (err)
		return err;
	guest->borrowed = true;
	guest->guest->results.borrows++;
	bus->borrow = guest->borrow.number;
	bus->notice_ns = guest_relay_ns(guest);
	err = guest_domain(guest);
	if (!err)
		guest_place_bars(bus);
	return err;
}

int guest_memory_added(struct bus *bus)
{
	struct bus_guest *guest = guest_private(bus);
	const struct vm_config *config = guest->config;
	__u64 start = GUEST_HIGH + config->high;
	int err = guest_region_create(guest, GUEST_ADDED_RAM, start, config->added);

	if (err)
		return err;
	/* Nothing tells the borrower: its device cannot reach it, and who gives it to the device finds out. */
	if (guest->bus_master) {
		guest->guest->results.added = config->added;
		guest_step(guest, STEP_GUEST_UNMAPPED_MEMORY, start, 0, 0);
	}
	return 0;
}
