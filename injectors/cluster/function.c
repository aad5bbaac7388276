// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/function.h"

#include <errno.h>
#include <linux/pci_regs.h>
#include <string.h>

#include "injectors/cluster/futex.h"
#include "injectors/cluster/ntb.h"
#include "lib/base/fail.h"

#define VENDOR		0x1b36u /* whose emulated NVMe it is that guests know */
#define DEVICE_NVME	0x0010u
#define DEVICE_ACCEL	0x0f16u
#define CLASS_NVME	0x010802u
#define CLASS_ACCEL	0x120000u
#define COMMAND_BITS	(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE)
#define MSIX_BITS	(PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL)
#define BAR_REGISTER(b) (PCI_BASE_ADDRESS_0 + 4 * (b))

struct pcie_bar {
	__u64 address, bytes;
	__u8 *memory;
};

struct pcie_function {
	__u32 device, host, number;
	__u32 borrow; /* + 1; 0: none */
	__u32 resets;
	struct pcie_bar bars[FUNCTION_BARS];
	__u8 config[FUNCTION_CONFIG];
};

struct functions {
	__u32 count;
	__u32 *first;  /* by device */
	__u32 *writes; /* by device; futexes */
	__u32 host_first[CLUSTER_HOSTS_MAX +
			 1]; /* in by_host: those of a host, for who looks for an address */
	__u32 by_host[FUNCTIONS_MAX];
	__u32 (*interrupts)[FUNCTIONS_MAX][MSI_VECTORS]; /* by host; futexes */
	struct pcie_function functions[FUNCTIONS_MAX];
};

static const struct pcie_function *function_get(const struct cluster *cluster, __u32 function)
{
	const struct functions *all = cluster->functions;

	return &all->functions[function < all->count ? function : 0];
}

static void config_put(struct pcie_function *function, __u32 offset, __u32 bytes, __u32 value)
{
	memcpy(&function->config[offset], &value, bytes);
}

/* What a base address register says of its BAR beside the address; all of them are of 64 bits. */
static __u32 bar_bits(__u32 bar)
{
	return PCI_BASE_ADDRESS_MEM_TYPE_64 |
	       (bar == FUNCTION_MEMORY_BAR ? PCI_BASE_ADDRESS_MEM_PREFETCH : 0);
}

static void put_bars(struct pcie_function *function)
{
	for (__u32 b = 0; b < FUNCTION_BARS; b += 2) {
		const struct pcie_bar *bar = &function->bars[b];

		if (!bar->bytes)
			continue;
		config_put(function, BAR_REGISTER(b), 4, (__u32)bar->address | bar_bits(b));
		config_put(function, BAR_REGISTER(b + 1), 4, (__u32)(bar->address >> 32));
	}
}

static void put_capabilities(struct pcie_function *function, bool intx)
{
	config_put(function, PCI_STATUS, 2, PCI_STATUS_CAP_LIST);
	config_put(function, PCI_CAPABILITY_LIST, 1, intx ? FUNCTION_CAP_PCIE : FUNCTION_CAP_MSIX);
	if (!intx) {
		config_put(function, FUNCTION_CAP_MSIX, 1, PCI_CAP_ID_MSIX);
		config_put(function, FUNCTION_CAP_MSIX + 1, 1, FUNCTION_CAP_PCIE);
		config_put(function, FUNCTION_CAP_MSIX + PCI_MSIX_FLAGS, 2, MSI_VECTORS - 1);
		config_put(function, FUNCTION_CAP_MSIX + PCI_MSIX_TABLE, 4, FUNCTION_MSIX_TABLE);
		config_put(function, FUNCTION_CAP_MSIX + PCI_MSIX_PBA, 4, FUNCTION_MSIX_PENDING);
	}
	config_put(function, FUNCTION_CAP_PCIE, 1, PCI_CAP_ID_EXP);
	config_put(function, FUNCTION_CAP_PCIE + PCI_EXP_FLAGS, 2, 2);
	config_put(function, FUNCTION_CAP_PCIE + PCI_EXP_DEVCAP, 4, PCI_EXP_DEVCAP_FLR | 1);
	config_put(function, PCI_INTERRUPT_PIN, 1, intx ? 1 : 0);
}

static void power_on(const struct cluster *cluster, struct pcie_function *function)
{
	const struct cluster_device_config *device = &cluster->config->devices[function->device];
	bool nvme = device->model == MODEL_NVME;

	memset(function->config, 0, sizeof(function->config));
	config_put(function, PCI_VENDOR_ID, 2, VENDOR);
	config_put(function, PCI_DEVICE_ID, 2, nvme ? DEVICE_NVME : DEVICE_ACCEL);
	config_put(function, PCI_CLASS_REVISION, 4, (nvme ? CLASS_NVME : CLASS_ACCEL) << 8 | 1);
	config_put(function, PCI_SUBSYSTEM_VENDOR_ID, 2, VENDOR);
	config_put(function, PCI_SUBSYSTEM_ID, 2, (function->number + 1) & 0xffff);
	put_capabilities(function, device->intx);
	put_bars(function);
}

/* The next place for a BAR of `bytes` on a host's bus, which are those of `next` and what is behind it. */
static int bar_place(struct cluster *cluster, __u32 host, __u64 next[2], struct pcie_bar *bar,
		     bool high, const char *name)
{
	__u64 address = (next[high] + bar->bytes - 1) / bar->bytes * bar->bytes;

	if (!high && address + bar->bytes > MSI_ADDRESS)
		return failed(
			-ENOSPC,
			"%s: no room for a BAR of %llu bytes below 4 GiB of %s: accepted: smaller "
			"or higher BARs of its adapters",
			name, bar->bytes, cluster->config->hosts[host].name);
	bar->address = address;
	next[high] = address + bar->bytes;
	bar->memory = shared_alloc(cluster, bar->bytes);
	return bar->memory ? 0 : -ENOMEM;
}

static __u64 bar_size_for(__u64 bytes)
{
	return bytes <= 4096 ? 4096 : 1ull << (64 - __builtin_clzll(bytes - 1));
}

static int function_create(struct cluster *cluster, __u32 device, __u32 number, __u64 next[2])
{
	const struct cluster_device_config *config = &cluster->config->devices[device];
	struct functions *all = cluster->functions;
	struct pcie_function *function = &all->functions[all->count];
	int err;

	if (all->count == FUNCTIONS_MAX)
		return failed(-ENOSPC, "%s: accepted: up to %d functions of all devices",
			      config->name, FUNCTIONS_MAX);
	function->device = device;
	function->host = config->host;
	function->number = number;
	function->bars[0].bytes = FUNCTION_REGISTERS;
	err = bar_place(cluster, config->host, next, &function->bars[0], false, config->name);
	if (!err && config->model == MODEL_ACCEL) {
		function->bars[FUNCTION_MEMORY_BAR].bytes = bar_size_for(config->bytes);
		err = bar_place(cluster, config->host, next, &function->bars[FUNCTION_MEMORY_BAR],
				true, config->name);
	}
	power_on(cluster, function);
	all->count++;
	return err;
}

static void functions_sort(struct functions *all)
{
	__u32 n = 0;

	for (__u32 h = 0; h < CLUSTER_HOSTS_MAX; h++) {
		all->host_first[h] = n;
		for (__u32 f = 0; f < all->count; f++)
			if (all->functions[f].host == h)
				all->by_host[n++] = f;
	}
	all->host_first[CLUSTER_HOSTS_MAX] = n;
}

int functions_create(struct cluster *cluster)
{
	const struct cluster_config *config = cluster->config;
	struct functions *all = shared_alloc(cluster, sizeof(*all));
	__u64 next[CLUSTER_HOSTS_MAX][2];
	int err = 0;

	if (!all)
		return -ENOMEM;
	cluster->functions = all;
	all->first = shared_alloc(cluster, (config->device_count + 1) * sizeof(*all->first));
	all->writes = shared_alloc(cluster, (config->device_count + 1) * sizeof(*all->writes));
	all->interrupts = shared_alloc(cluster, config->host_count * sizeof(*all->interrupts));
	if (!all->first || !all->writes || !all->interrupts)
		return -ENOMEM;
	for (__u32 h = 0; h < config->host_count; h++)
		for (int high = 0; high < 2; high++)
			next[h][high] = ntb_bars_end(cluster, h, high);
	for (__u32 d = 0; !err && d < config->device_count; d++) {
		all->first[d] = all->count;
		for (__u32 n = 0; !err && n < config->devices[d].functions; n++)
			err = function_create(cluster, d, n, next[config->devices[d].host]);
	}
	functions_sort(all);
	return err;
}

__u32 function_of(const struct cluster *cluster, __u32 device, __u32 number)
{
	return cluster->functions->first[device] + number;
}

__u32 function_device(const struct cluster *cluster, __u32 function)
{
	return function_get(cluster, function)->device;
}

__u32 function_host(const struct cluster *cluster, __u32 function)
{
	return function_get(cluster, function)->host;
}

__u32 function_number(const struct cluster *cluster, __u32 function)
{
	return function_get(cluster, function)->number;
}

__u32 function_config_read(const struct cluster *cluster, __u32 function, __u32 offset, __u32 bytes)
{
	__u32 value = 0xffffffffu;

	if (bytes && bytes <= 4 && offset <= FUNCTION_CONFIG - bytes) {
		value = 0;
		memcpy(&value, &function_get(cluster, function)->config[offset], bytes);
	}
	return value;
}

/* Only all ones are taken: what a BAR's size is asked with. Anything else gives its address back, which is fixed. */
static void bar_write(struct pcie_function *function, __u32 offset, __u32 value)
{
	__u32 b = (offset - PCI_BASE_ADDRESS_0) / 4;
	const struct pcie_bar *bar = &function->bars[b & ~1u];
	__u64 mask = ~(bar->bytes - 1);

	if (!bar->bytes)
		return;
	if (value != 0xffffffffu)
		config_put(function, offset, 4,
			   b & 1 ? (__u32)(bar->address >> 32) : (__u32)bar->address | bar_bits(b));
	else
		config_put(function, offset, 4,
			   b & 1 ? (__u32)(mask >> 32) : (__u32)mask | bar_bits(b));
}

void function_config_write(struct cluster *cluster, __u32 function, __u32 offset, __u32 bytes,
			   __u32 value)
{
	struct pcie_function *f = (struct pcie_function *)function_get(cluster, function);
	const __u32 msix = FUNCTION_CAP_MSIX + PCI_MSIX_FLAGS;
	__u16 flags;

	if (offset == PCI_COMMAND && bytes >= 2) {
		config_put(f, offset, 2, value & COMMAND_BITS);
	} else if (offset == PCI_INTERRUPT_LINE) {
		config_put(f, offset, 1, value);
	} else if (offset == msix && bytes >= 2 && !f->config[PCI_INTERRUPT_PIN]) {
		memcpy(&flags, &f->config[msix], 2);
		config_put(f, msix, 2, (flags & ~MSIX_BITS) | (value & MSIX_BITS));
	} else if (offset >= PCI_BASE_ADDRESS_0 && offset <= PCI_BASE_ADDRESS_5 && bytes == 4 &&
		   !(offset % 4)) {
		bar_write(f, offset, value);
	}
}

__u64 function_bar_bytes(const struct cluster *cluster, __u32 function, __u32 bar)
{
	return bar < FUNCTION_BARS ? function_get(cluster, function)->bars[bar].bytes : 0;
}

__u64 function_bar_address(const struct cluster *cluster, __u32 function, __u32 bar)
{
	return bar < FUNCTION_BARS ? function_get(cluster, function)->bars[bar].address : 0;
}

void *function_bar(const struct cluster *cluster, __u32 function, __u32 bar)
{
	return bar < FUNCTION_BARS ? function_get(cluster, function)->bars[bar].memory : NULL;
}

bool function_at(const struct cluster *cluster, __u32 host, __u64 address, __u32 *function,
		 __u32 *bar, __u64 *offset)
{
	const struct functions *all = cluster->functions;

	for (__u32 n = all->host_first[host]; n < all->host_first[host + 1]; n++) {
		const struct pcie_function *at = &all->functions[all->by_host[n]];

		for (__u32 b = 0; b < FUNCTION_BARS; b += 2) {
			if (address - at->bars[b].address >= at->bars[b].bytes)
				continue;
			*function = all->by_host[n];
			*bar = b;
			*offset = address - at->bars[b].address;
			return true;
		}
	}
	return false;
}

__u32 function_writes(const struct cluster *cluster, __u32 device)
{
	return shared_counter(&cluster->functions->writes[device]);
}

int function_wait(const struct cluster *cluster, __u32 device, __u32 seen, __u64 timeout_ns)
{
	return shared_counter_wait(&cluster->functions->writes[device], seen, timeout_ns);
}

void function_written(struct cluster *cluster, __u32 function)
{
	shared_counter_add(&cluster->functions->writes[function_device(cluster, function)]);
}

void function_borrow_set(struct cluster *cluster, __u32 function, __u32 borrow)
{
	struct pcie_function *f = (struct pcie_function *)function_get(cluster, function);

	__atomic_store_n(&f->borrow, borrow == CLUSTER_NONE ? 0 : borrow + 1, __ATOMIC_RELEASE);
}

__u32 function_borrow(const struct cluster *cluster, __u32 function)
{
	return __atomic_load_n(&function_get(cluster, function)->borrow, __ATOMIC_ACQUIRE) - 1;
}

void function_reset(struct cluster *cluster, __u32 function)
{
	struct pcie_function *f = (struct pcie_function *)function_get(cluster, function);

	power_on(cluster, f);
	memset(f->bars[0].memory, 0, f->bars[0].bytes);
	__atomic_add_fetch(&f->resets, 1, __ATOMIC_SEQ_CST);
	function_written(cluster, function);
}

__u32 function_resets(const struct cluster *cluster, __u32 function)
{
	return __atomic_load_n(&function_get(cluster, function)->resets, __ATOMIC_SEQ_CST);
}

static __u32 *interrupt_at(const struct cluster *cluster, __u32 host, __u32 function, __u32 vector)
{
	return &cluster->functions
			->interrupts[host][function % FUNCTIONS_MAX][vector % MSI_VECTORS];
}

void interrupt_post(struct cluster *cluster, __u32 host, __u32 function, __u32 vector)
{
	shared_counter_add(interrupt_at(cluster, host, function, vector));
}

__u32 interrupt_count(const struct cluster *cluster, __u32 host, __u32 function, __u32 vector)
{
	return shared_counter(interrupt_at(cluster, host, function, vector));
}

int interrupt_wait(const struct cluster *cluster, __u32 host, __u32 function, __u32 vector,
		   __u32 seen, __u64 timeout_ns)
{
	return shared_counter_wait(interrupt_at(cluster, host, function, vector), seen, timeout_ns);
}
