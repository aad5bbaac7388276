// SPDX-License-Identifier: GPL-2.0
/* A borrowed function, for a driver that knows nothing of it: windows for its BARs, the borrower's own IOMMU for DMA. */
#include <errno.h>
#include <stdlib.h>

#include "injectors/cluster/bus_dma.h"
#include "injectors/cluster/bus_shadow.h"
#include "injectors/cluster/lend_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* How often a driver that waits looks whether it still has a device. */
#define LENT_LOOK_NS (20 * NSEC_PER_MSEC)

struct lent {
	struct lend_borrow borrow;
	struct shadow shadow;
	struct dma_space space;
	struct initiator cpu;
};

static struct lent *lent_of(struct bus *bus)
{
	return bus->private;
}

static __u64 all_ones(__u32 bytes)
{
	return bytes >= 8 ? ~0ull : (1ull << 8 * bytes) - 1;
}

static __u32 lent_config_read(struct bus *bus, __u32 offset, __u32 bytes)
{
	if (!lend_lasts(bus->cluster, bus->borrow))
		return all_ones(bytes);
	return shadow_config_read(&lent_of(bus)->shadow, offset, bytes);
}

static void lent_config_write(struct bus *bus, __u32 offset, __u32 bytes, __u32 value)
{
	if (lend_lasts(bus->cluster, bus->borrow))
		shadow_config_write(&lent_of(bus)->shadow, offset, bytes, value);
}

/* False: no such register, or no device behind it any more. */
static bool lent_register(struct bus *bus, __u32 bar, __u64 offset, __u32 bytes)
{
	const struct lent *lent = lent_of(bus);

	return lend_lasts(bus->cluster, bus->borrow) && bar < FUNCTION_BARS &&
	       lent->borrow.bars[bar] && offset < lent->shadow.bar_bytes[bar] &&
	       bytes <= lent->shadow.bar_bytes[bar] - offset;
}

static __u64 lent_read(struct bus *bus, __u32 bar, __u64 offset, __u32 bytes)
{
	const struct lent *lent = lent_of(bus);

	if (!lent_register(bus, bar, offset, bytes))
		return all_ones(bytes);
	if (shadow_msix_at(&lent->shadow, bar, offset))
		return shadow_msix_read(&lent->shadow, offset, bytes);
	return access_read_register(bus->cluster, &lent->cpu, lent->borrow.bars[bar] + offset,
				    bytes);
}

static void lent_register_write(struct bus *bus, __u64 address, __u32 bytes, __u64 value)
{
	struct access_result result = {0};

	access_write(bus->cluster, &lent_of(bus)->cpu, PURPOSE_MMIO, address, &value, bytes,
		     &result);
	bus->register_ns = result.model_ns;
}

static void lent_write(struct bus *bus, __u32 bar, __u64 offset, __u32 bytes, __u64 value)
{
	struct lent *lent = lent_of(bus);
	__u64 entry;
	__u32 words[4];

	if (!lent_register(bus, bar, offset, bytes))
		return;
	if (!shadow_msix_at(&lent->shadow, bar, offset)) {
		lent_register_write(bus, lent->borrow.bars[bar] + offset, bytes, value);
		return;
	}
	if (!shadow_msix_write(&lent->shadow, offset, bytes, value, &entry, words))
		return;
	/* Masked while it is changed: the device sees no half of an address. */
	lent_register_write(bus, lent->borrow.bars[bar] + entry + 12, 4, words[3] | 1);
	for (__u32 i = 0; i < 4; i++)
		lent_register_write(bus, lent->borrow.bars[bar] + entry + 4ull * i, 4, words[i]);
}

static int lent_dma_map(struct bus *bus, void *memory, __u64 bytes, enum dma_direction direction,
			__u64 *address)
{
	return dma_space_map(&lent_of(bus)->space, memory, bytes, direction, address);
}

static void lent_dma_unmap(struct bus *bus, __u64 address, __u64 bytes,
			   enum dma_direction direction)
{
	(void)direction;
	dma_space_unmap(&lent_of(bus)->space, address, bytes);
}

static int lent_dma_alloc(struct bus *bus, __u64 bytes, void **memory, __u64 *address)
{
	return dma_space_alloc(&lent_of(bus)->space, bytes, memory, address);
}

static void lent_dma_free(struct bus *bus, __u64 bytes, void *memory, __u64 address)
{
	dma_space_free(&lent_of(bus)->space, bytes, memory, address);
}

static void *lent_memory(struct bus *bus, __u64 bytes)
{
	return dma_memory(&lent_of(bus)->space, bytes);
}

static void lent_memory_free(struct bus *bus, void *memory, __u64 bytes)
{
	dma_memory_free(&lent_of(bus)->space, memory, bytes);
}

static int lent_state(struct bus *bus)
{
	return lend_check(bus->cluster, &lent_of(bus)->borrow) ? -ENODEV : 0;
}

static int lent_interrupt_wait(struct bus *bus, __u32 vector, __u32 *seen, __u64 timeout_ns)
{
	__u64 passed = 0;
	int err = -ETIMEDOUT;

	while (err == -ETIMEDOUT) {
		__u64 slice =
			timeout_ns - passed < LENT_LOOK_NS ? timeout_ns - passed : LENT_LOOK_NS;

		err = interrupt_wait(bus->cluster, bus->host, bus->function, vector, *seen, slice);
		if (err == -ETIMEDOUT && lent_state(bus))
			return -ENODEV;
		passed += slice;
		if (passed >= timeout_ns)
			break;
	}
	if (!err)
		*seen = interrupt_count(bus->cluster, bus->host, bus->function, vector);
	return err;
}

static const struct bus_ops lent_ops = {
	.config_read = lent_config_read,
	.config_write = lent_config_write,
	.read = lent_read,
	.write = lent_write,
	.dma_alloc = lent_dma_alloc,
	.dma_free = lent_dma_free,
	.dma_map = lent_dma_map,
	.dma_unmap = lent_dma_unmap,
	.memory = lent_memory,
	.memory_free = lent_memory_free,
	.interrupt_wait = lent_interrupt_wait,
	.state = lent_state,
};

static int lent_make(struct lent *lent, struct cluster *cluster, const struct lend_borrow *borrow)
{
	struct lend_record *record = lend_record(cluster, borrow->number);

	lent->borrow = *borrow;
	lent->cpu = cpu_of(cluster, cluster->host);
	lent->cpu.borrow = borrow->number;
	lent->space = (struct dma_space){
		.cluster = cluster,
		.host = cluster->host,
		.device = function_device(cluster, borrow->function),
		.borrow = borrow->number,
		.domain = borrow->borrower_domain,
		.base = borrow->dma_far,
		.bytes = borrow->dma_bytes,
		.device_base = borrow->dma_device,
		.counts = record ? &record->counts : NULL,
	};
	return shadow_open(&lent->shadow, cluster, &lent->borrow);
}

int bus_lent_open(struct bus *bus, struct cluster *cluster, struct lend_borrow *borrow)
{
	struct lend_record *record = lend_record(cluster, borrow->number);
	__u32 device = function_device(cluster, borrow->function),
	      bits = cluster->config->devices[device].address_bits;
	struct lent *lent = calloc(1, sizeof(*lent));
	__u64 begin = monotonic_ns();
	int err;

	if (!lent || !record) {
		free(lent);
		return failed(record ? -ENOMEM : -ENODEV, "no memory for a bus, or no borrow %u",
			      borrow->number);
	}
	err = lent_make(lent, cluster, borrow);
	err = err ?: dma_space_open(&lent->space);
	if (err) {
		free(lent);
		return err;
	}
	*bus = (struct bus){.ops = &lent_ops,
			    .cluster = cluster,
			    .function = borrow->function,
			    .device = device,
			    .host = cluster->host,
			    .borrow = borrow->number,
			    .mask = bits && bits < 64 ? (1ull << bits) - 1 : ~0ull,
			    .private = lent};
	if (lent->shadow.intx) {
		shadow_config_write(&lent->shadow, 4, 2, 0);
		lend_step(cluster, STEP_INTX_MASKED, record, 0, 0, 0);
	}
	lend_step(cluster, STEP_SHADOW, record, borrow->bars[0], begin, 0);
	return 0;
}

void bus_lent_close(struct bus *bus)
{
	struct lent *lent = lent_of(bus);

	if (!lent)
		return;
	dma_space_close(&lent->space);
	free(lent);
	bus->private = NULL;
}
