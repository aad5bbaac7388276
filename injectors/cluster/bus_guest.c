// SPDX-License-Identifier: GPL-2.0
/*
 * What a guest's driver sees: config space and the MSI-X table trapped, other registers mapped, guest-physical addresses for DMA,
 * which cost nothing but their arithmetic, and interrupts by eventfd.
 */
#include <errno.h>
#include <linux/pci_regs.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "injectors/cluster/agent.h"
#include "injectors/cluster/guest_private.h"
#include "injectors/cluster/lend_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* How often who waits for an interrupt looks whether its device is still there. */
#define GUEST_INTERRUPT_LOOK_NS (50 * NSEC_PER_MSEC)

static bool guest_is_bar(__u32 offset, __u32 bytes)
{
	return bytes == 4 && !(offset % 4) && offset >= PCI_BASE_ADDRESS_0 &&
	       offset <= PCI_BASE_ADDRESS_5;
}

static __u32 guest_bar_index(__u32 offset)
{
	return (offset - PCI_BASE_ADDRESS_0) / 4;
}

/* Config cycles are its lender's, as for any borrower. */
static int guest_config_cycle(struct bus_guest *guest, enum lend_config operation, __u32 offset,
			      __u32 bytes, __u32 *value)
{
	struct message message = {
		.type = MESSAGE_LEND_CONFIG,
		.words = {guest->borrow.number, operation, offset, bytes, *value},
	};
	int err =
		lend_ask(guest->bus->cluster, guest->borrow.number, guest->borrow.lender, &message);

	*value = err ? 0xffffffffu : (__u32)message.words[4];
	return err;
}

static __u32 guest_bus_config_read(struct bus *bus, __u32 offset, __u32 bytes)
{
	struct bus_guest *guest = guest_private(bus);
	__u32 value = 0;

	if (!guest->borrowed)
		return 0xffffffffu;
	if (guest_is_bar(offset, bytes))
		return guest->bar_registers[guest_bar_index(offset)];
	if (guest_config_cycle(guest, LEND_CONFIG_READ, offset, bytes, &value))
		return value;
	/* Its identity alone: a capability without one is skipped, what follows it is found. */
	if (guest->config->intx && offset == FUNCTION_CAP_MSIX && bytes <= 4)
		value &= 0xffffff00u;
	return value;
}

/* Guest-physical addresses of its BARs: what its lender's IOMMU would need for a peer of the same guest. */
static void guest_bar_write(struct bus_guest *guest, __u32 offset, __u32 value)
{
	struct bus *bus = guest->bus;
	__u32 index = guest_bar_index(offset), bar = index;
	__u64 bytes, address;

	if (index && !function_bar_bytes(bus->cluster, bus->function, index))
		bar = index - 1; /* upper half of a 64 bit BAR */
	bytes = function_bar_bytes(bus->cluster, bus->function, bar);
	if (!bytes)
		return;
	address = (__u64)value << (bar == index ? 0 : 32);
	if (value == 0xffffffffu)
		address = ~(bytes - 1) & (bar == index ? 0xffffffffull : ~0xffffffffull);
	guest->bar_registers[index] = (__u32)(address >> (bar == index ? 0 : 32));
	if (value == 0xffffffffu)
		return;
	guest->guest->bars[bar] = guest->bar_registers[bar] & ~0xfull;
	if (bar + 1 < FUNCTION_BARS && !function_bar_bytes(bus->cluster, bus->function, bar + 1))
		guest->guest->bars[bar] |= (__u64)guest->bar_registers[bar + 1] << 32;
	guest_step(guest, STEP_GUEST_BAR, guest->guest->bars[bar], 0, 0);
}

static void guest_bus_config_write(struct bus *bus, __u32 offset, __u32 bytes, __u32 value)
{
	struct bus_guest *guest = guest_private(bus);

	if (!guest->borrowed)
		return;
	if (guest_is_bar(offset, bytes)) {
		guest_bar_write(guest, offset, value);
		return;
	}
	if (offset == PCI_COMMAND && value & PCI_COMMAND_MASTER && !guest->bus_master) {
		guest->error = guest_map(guest);
		if (guest->error)
			return;
		guest->bus_master = true;
	}
	guest_config_cycle(guest, LEND_CONFIG_WRITE, offset, bytes, &value);
}

static bool guest_is_msix(__u32 bar, __u64 offset)
{
	return bar == 0 && offset >= FUNCTION_MSIX_TABLE &&
	       offset < FUNCTION_MSIX_TABLE + 16 * MSI_VECTORS;
}

static __u64 guest_register(const struct bus_guest *guest, __u32 bar, __u64 offset)
{
	return bar < FUNCTION_BARS && guest->borrow.bars[bar] ? guest->borrow.bars[bar] + offset
							      : 0;
}

static struct initiator guest_cpu(const struct bus *bus)
{
	struct initiator cpu = cpu_of(bus->cluster, bus->host);

	cpu.borrow = guest_private(bus)->borrow.number;
	return cpu;
}

static __u64 guest_bus_read(struct bus *bus, __u32 bar, __u64 offset, __u32 bytes)
{
	struct bus_guest *guest = guest_private(bus);
	struct initiator cpu = guest_cpu(bus);
	__u64 address = guest_register(guest, bar, offset), value = ~0ull;
	__u32 vector = (__u32)(offset - FUNCTION_MSIX_TABLE) / 16;

	if (!guest->borrowed || !address)
		return ~0ull;
	if (!guest_is_msix(bar, offset) || vector >= GUEST_VECTORS)
		return access_read_register(bus->cluster, &cpu, address, bytes);
	value = guest->msix[vector][offset % 16 / 8] >> offset % 8 * 8;
	return bytes < 8 ? value & ((1ull << bytes * 8) - 1) : value;
}

/* The entry has the guest's own interrupt address; its device is given that of its lender, whose handler relays it. */
static __u64 guest_msix_write(struct bus_guest *guest, __u64 offset, __u32 bytes, __u64 value)
{
	__u32 vector = (__u32)(offset - FUNCTION_MSIX_TABLE) / 16, shift = offset % 8 * 8;
	__u64 *half = &guest->msix[vector][offset % 16 / 8];
	__u64 mask = bytes < 8 ? ((1ull << bytes * 8) - 1) << shift : ~0ull;
	__u64 address = MSI_ADDRESS + 4096ull * guest->bus->function;

	*half = (*half & ~mask) | (value << shift & mask);
	if (offset % 16 < 8)
		return address >> shift;
	/* Data is the vector; the control word behind it is the guest's. */
	return ((*half & ~0xffffffffull) | vector) >> shift;
}

static void guest_bus_write(struct bus *bus, __u32 bar, __u64 offset, __u32 bytes, __u64 value)
{
	struct bus_guest *guest = guest_private(bus);
	struct initiator cpu = guest_cpu(bus);
	__u64 address = guest_register(guest, bar, offset);
	struct access_result result = {0};

	if (!guest->borrowed || !address)
		return;
	if (guest_is_msix(bar, offset)) {
		if ((offset - FUNCTION_MSIX_TABLE) / 16 >= GUEST_VECTORS)
			return; /* stays masked */
		value = guest_msix_write(guest, offset, bytes, value);
	}
	access_write(bus->cluster, &cpu, PURPOSE_MMIO, address, &value, bytes <= 8 ? bytes : 8,
		     &result);
	bus->register_ns = result.model_ns;
}

static int guest_bus_dma_map(struct bus *bus, void *memory, __u64 bytes,
			     enum dma_direction direction, __u64 *address)
{
	struct bus_guest *guest = guest_private(bus);
	int err = guest_physical(guest, memory, bytes, address);

	(void)direction;
	if (err)
		return err;
	if (*address + bytes - 1 > bus->mask)
		return failed(-ERANGE,
			      "%s's device cannot make address 0x%llx; accepted: to 0x%llx",
			      guest->config->name, *address, bus->mask);
	if (*address >= guest->regions[GUEST_ADDED_RAM].start &&
	    *address - guest->regions[GUEST_ADDED_RAM].start <
		    guest->regions[GUEST_ADDED_RAM].bytes)
		guest->guest->results.unmapped++;
	return 0;
}

static void guest_bus_dma_unmap(struct bus *bus, __u64 address, __u64 bytes,
				enum dma_direction direction)
{
	(void)bus;
	(void)address;
	(void)bytes;
	(void)direction;
}

static int guest_bus_dma_alloc(struct bus *bus, __u64 bytes, void **memory, __u64 *address)
{
	struct bus_guest *guest = guest_private(bus);

	*memory = guest_pages(guest, bytes, bus->mask, true);
	if (!*memory)
		return failed(-ENOMEM,
			      "%s has no %llu contiguous bytes left that its device can "
			      "reach",
			      guest->config->name, bytes);
	return guest_physical(guest, *memory, bytes, address);
}

static void guest_bus_memory_free(struct bus *bus, void *memory, __u64 bytes)
{
	guest_pages_free(guest_private(bus), memory, bytes);
}

static void guest_bus_dma_free(struct bus *bus, __u64 bytes, void *memory, __u64 address)
{
	(void)address;
	guest_bus_memory_free(bus, memory, bytes);
}

static void *guest_bus_memory(struct bus *bus, __u64 bytes)
{
	return guest_pages(guest_private(bus), bytes, bus->mask, false);
}

static int guest_bus_state(struct bus *bus)
{
	struct bus_guest *guest = guest_private(bus);

	if (guest->error)
		return guest->error;
	if (!guest->borrowed)
		return failed(-ENODEV, "%s has no device", guest->config->name);
	return lend_check(bus->cluster, &guest->borrow);
}

static int guest_bus_interrupt_wait(struct bus *bus, __u32 vector, __u32 *seen, __u64 timeout_ns)
{
	struct guest_shared *guest = guest_private(bus)->guest;
	__u64 begin = monotonic_ns(), passed = 0, count;

	if (vector >= GUEST_VECTORS)
		return failed(-EINVAL, "vector %u; accepted: below %u", vector, GUEST_VECTORS);
	while (__atomic_load_n(&guest->interrupts[vector], __ATOMIC_ACQUIRE) == *seen) {
		struct pollfd waits = {guest->eventfds[vector], POLLIN, 0};
		__u64 rest = timeout_ns - passed;
		struct timespec most = timespec_of_ns(
			rest < GUEST_INTERRUPT_LOOK_NS ? rest : GUEST_INTERRUPT_LOOK_NS);

		if (passed >= timeout_ns)
			return -ETIMEDOUT;
		if (ppoll(&waits, 1, &most, NULL) > 0 &&
		    read(guest->eventfds[vector], &count, sizeof(count)) < 0 && errno != EAGAIN)
			return -errno;
		if (!guest_private(bus)->borrowed ||
		    !lend_lasts(bus->cluster, guest_private(bus)->borrow.number))
			return -ENODEV;
		passed = monotonic_ns() - begin;
	}
	*seen = __atomic_load_n(&guest->interrupts[vector], __ATOMIC_ACQUIRE);
	return 0;
}

const struct bus_ops guest_bus_ops = {
	.config_read = guest_bus_config_read,
	.config_write = guest_bus_config_write,
	.read = guest_bus_read,
	.write = guest_bus_write,
	.dma_alloc = guest_bus_dma_alloc,
	.dma_free = guest_bus_dma_free,
	.dma_map = guest_bus_dma_map,
	.dma_unmap = guest_bus_dma_unmap,
	.memory = guest_bus_memory,
	.memory_free = guest_bus_memory_free,
	.interrupt_wait = guest_bus_interrupt_wait,
	.state = guest_bus_state,
};
