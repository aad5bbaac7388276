// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/bus_shadow.h"

#include <errno.h>
#include <linux/pci_regs.h>
#include <string.h>

#include "injectors/cluster/lend_private.h"
#include "lib/base/fail.h"

#define SHADOW_BARS_END (PCI_BASE_ADDRESS_5 + 4u)
#define MSIX_TABLE_END	(FUNCTION_MSIX_TABLE + 16ull * MSI_VECTORS)

static int config_cycle(struct shadow *shadow, enum lend_config kind, __u32 offset, __u32 bytes,
			__u32 *value)
{
	struct message message = {
		.type = MESSAGE_LEND_CONFIG,
		.words = {shadow->borrow->number, kind, offset, bytes, *value},
	};
	int err =
		lend_ask(shadow->cluster, shadow->borrow->number, shadow->borrow->lender, &message);

	if (!err)
		*value = message.words[4];
	return err;
}

/* Its window's address, in one register or two, with what the BAR is said to be. */
static void shadow_bar(struct shadow *shadow, __u32 bar, __u32 was)
{
	__u64 address = shadow->borrow->bars[bar],
	      bytes = function_bar_bytes(shadow->cluster, shadow->borrow->function, bar);
	bool wide = (was & PCI_BASE_ADDRESS_MEM_TYPE_MASK) == PCI_BASE_ADDRESS_MEM_TYPE_64;

	shadow->bars[bar] = (__u32)address | (was & (__u32)~PCI_BASE_ADDRESS_MEM_MASK);
	shadow->bar_bytes[bar] = bytes;
	if (wide && bar + 1 < FUNCTION_BARS) {
		shadow->bars[bar + 1] = address >> 32;
		shadow->bar_bytes[bar + 1] = bytes;
	}
}

int shadow_open(struct shadow *shadow, struct cluster *cluster, const struct lend_borrow *borrow)
{
	__u32 pin = 0;
	int err;

	memset(shadow, 0, sizeof(*shadow));
	shadow->cluster = cluster;
	shadow->borrow = borrow;
	err = config_cycle(shadow, LEND_CONFIG_READ, PCI_INTERRUPT_PIN, 1, &pin);
	shadow->intx = pin;
	for (__u32 bar = 0; !err && bar < FUNCTION_BARS; bar++) {
		__u32 was = 0;

		if (!borrow->bars[bar])
			continue;
		err = config_cycle(shadow, LEND_CONFIG_READ, PCI_BASE_ADDRESS_0 + 4 * bar, 4, &was);
		if (!err)
			shadow_bar(shadow, bar, was);
	}
	return err;
}

/* Of one byte; false: it is the device's own. */
static bool shadow_byte(const struct shadow *shadow, __u32 offset, __u8 *byte)
{
	if (offset >= PCI_BASE_ADDRESS_0 && offset < SHADOW_BARS_END)
		*byte = ((const __u8 *)shadow->bars)[offset - PCI_BASE_ADDRESS_0];
	else if (offset == PCI_INTERRUPT_PIN)
		*byte = 0;
	else
		return false;
	return true;
}

__u32 shadow_config_read(struct shadow *shadow, __u32 offset, __u32 bytes)
{
	__u32 value = 0, own = 0;
	__u8 byte;

	if (!bytes || bytes > 4 || offset > FUNCTION_CONFIG - bytes)
		return ~0u;
	for (__u32 i = 0; i < bytes; i++)
		own += !shadow_byte(shadow, offset + i, &byte);
	/* All ones: what a config cycle gives that nobody answers. */
	if (own && config_cycle(shadow, LEND_CONFIG_READ, offset, bytes, &value))
		return bytes == 4 ? ~0u : (1u << 8 * bytes) - 1;
	for (__u32 i = 0; i < bytes; i++)
		if (shadow_byte(shadow, offset + i, &byte))
			value = (value & ~(0xffu << 8 * i)) | (__u32)byte << 8 * i;
	return value;
}

/* As of hardware: address bits below its size stay 0, what it is said to be stays. */
static void shadow_bar_write(struct shadow *shadow, __u32 offset, __u32 value)
{
	__u32 i = (offset - PCI_BASE_ADDRESS_0) / 4;
	bool high = i && shadow->borrow->bars[i - 1] &&
		    (shadow->bars[i - 1] & PCI_BASE_ADDRESS_MEM_TYPE_MASK) ==
			    PCI_BASE_ADDRESS_MEM_TYPE_64;
	__u64 mask = ~(shadow->bar_bytes[i] - 1);

	if (!shadow->bar_bytes[i])
		return;
	/* The window stays where it is: anything but a question for its size gives its address back. */
	if (value == ~0u)
		shadow->bars[i] =
			high ? mask >> 32
			     : ((__u32)mask & (__u32)PCI_BASE_ADDRESS_MEM_MASK) |
					(shadow->bars[i] & (__u32)~PCI_BASE_ADDRESS_MEM_MASK);
	else
		shadow->bars[i] =
			high ? shadow->borrow->bars[i - 1] >> 32
			     : (__u32)shadow->borrow->bars[i] |
					(shadow->bars[i] & (__u32)~PCI_BASE_ADDRESS_MEM_MASK);
}

void shadow_config_write(struct shadow *shadow, __u32 offset, __u32 bytes, __u32 value)
{
	if (!bytes || bytes > 4 || offset > FUNCTION_CONFIG - bytes)
		return;
	if (offset + bytes > PCI_BASE_ADDRESS_0 && offset < SHADOW_BARS_END) {
		if (bytes == 4 && offset % 4 == 0)
			shadow_bar_write(shadow, offset, value);
		return;
	}
	if (offset == PCI_COMMAND && bytes >= 2)
		value |= PCI_COMMAND_INTX_DISABLE;
	config_cycle(shadow, LEND_CONFIG_WRITE, offset, bytes, &value);
}

bool shadow_msix_at(const struct shadow *shadow, __u32 bar, __u64 offset)
{
	return !shadow->intx && !bar && offset >= FUNCTION_MSIX_TABLE && offset < MSIX_TABLE_END;
}

__u64 shadow_msix_read(const struct shadow *shadow, __u64 offset, __u32 bytes)
{
	__u64 value = 0;

	if (bytes <= 8 && offset + bytes <= MSIX_TABLE_END)
		memcpy(&value, (const char *)shadow->msix + (offset - FUNCTION_MSIX_TABLE), bytes);
	return value;
}

bool shadow_msix_write(struct shadow *shadow, __u64 offset, __u32 bytes, __u64 value,
		       __u64 *entry_offset, __u32 words[4])
{
	const struct lend_borrow *borrow = shadow->borrow;
	__u64 own = MSI_ADDRESS + (__u64)HOST_PAGE * borrow->function, address;
	__u32 entry = (offset - FUNCTION_MSIX_TABLE) / 16;

	/* An entry's words, one or two at a time. */
	if ((bytes != 4 && bytes != 8) || offset % bytes)
		return false;
	memcpy((char *)shadow->msix + (offset - FUNCTION_MSIX_TABLE), &value, bytes);
	memcpy(words, &shadow->msix[4ul * entry], 16);
	*entry_offset = FUNCTION_MSIX_TABLE + 16ull * entry;
	address = words[0] | (__u64)words[1] << 32;
	if (address < own || address > own + HOST_PAGE - sizeof(__u32)) {
		/* Half written it is no address yet; masked, the device writes to none. */
		shadow->msix_refused += address && words[3] == 0;
		words[3] |= PCI_MSIX_ENTRY_CTRL_MASKBIT;
		address = own;
	}
	address = address - own + borrow->msi_device;
	words[0] = (__u32)address;
	words[1] = address >> 32;
	return true;
}
