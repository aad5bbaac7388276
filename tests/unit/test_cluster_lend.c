// SPDX-License-Identifier: GPL-2.0
/* A function is lent: by whom, to whom, at what price, and what of it is left when it is over. */
#include "tests/unit/lend_rig.h"

#include <errno.h>
#include <linux/pci_regs.h>
#include <string.h>

#include "injectors/cluster/agent.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/memory.h"
#include "lib/base/fail.h"

static int forget(void **state)
{
	rig_close();
	return 0;
}

static void lend_and_return(bool iommu, void (*change)(struct cluster_config *config))
{
	struct lend_counts counts, after;
	struct host_iommu_stats lender, lender_after, borrower;
	struct ntb_stats windows, windows_after;
	struct rig_sight before;
	struct lend_borrow borrow;
	struct io_counts ios;
	struct bus bus;

	rig_open(iommu, change);
	rig_look(&before);
	rig_borrow(&borrow);
	assert_int_equal(lend_state(rig.a, rig.function), LEND_MAPPED);
	assert_int_equal(bus_lent_open(&bus, rig.a, &borrow), 0);
	assert_true(lend_counts_of(rig.a, borrow.number, &counts));
	assert_int_equal(counts.lender_windows, 2);
	ntb_stats(rig.a, rig.nb, &windows);
	host_iommu_stats(rig.a, RIG_B, &lender);
	if (rig_drive(&bus, 131, &ios))
		fail_msg("%s", failure_text());
	assert_int_equal(ios.ios, 131);
	assert_int_equal(ios.errors, 0);
	assert_int_equal(ios.wrong, 0);
	/* By the MSI window: completions are noticed by interrupts, which the lender itself sees none of. */
	assert_true(interrupt_count(rig.a, RIG_A, rig.function, 1) > 0);
	assert_int_equal(interrupt_count(rig.a, RIG_B, rig.function, 1), 0);
	lend_counts_of(rig.a, borrow.number, &after);
	/* Each I/O is a map of its own, and none asks the lender. */
	assert_true(after.maps >= 131);
	assert_int_equal(after.maps, after.unmaps);
	assert_int_equal(after.bytes, 0);
	assert_int_equal(after.lender_windows, 2);
	ntb_stats(rig.a, rig.nb, &windows_after);
	assert_int_equal(windows_after.windows_used, windows.windows_used);
	host_iommu_stats(rig.a, RIG_B, &lender_after);
	assert_int_equal(lender_after.maps, lender.maps);
	host_iommu_stats(rig.a, RIG_A, &borrower);
	assert_int_equal(borrower.maps, iommu ? after.maps : 0);
	assert_int_equal(borrower.faults, 0);
	assert_int_equal(lender_after.faults, 0);
	bus_lent_close(&bus);
	assert_int_equal(lend_return(rig.a, &borrow), 0);
	assert_int_equal(lend_end_of(rig.a, borrow.number), LEND_END_RETURNED);
	rig_await(LEND_AVAILABLE);
	assert_int_equal(function_resets(rig.a, rig.function), 1);
	rig_assert_same(&before);
}

static void lent_without_iommus(void **state)
{
	lend_and_return(false, NULL);
}

static void lent_with_iommus(void **state)
{
	lend_and_return(true, NULL);
}

static void lenders_iommu_off(struct cluster_config *config)
{
	config->hosts[RIG_B].iommu = false;
}

static void lent_with_borrowers_iommu(void **state)
{
	lend_and_return(true, lenders_iommu_off);
}

static void only_one_has_it(void **state)
{
	struct lend_wish wish;
	struct lend_borrow borrow, second;

	rig_open(true, NULL);
	wish = rig_wish();
	rig_borrow(&borrow);
	assert_int_equal(lend_borrow(rig.a, &wish, &second), -EBUSY);
	assert_non_null(strstr(failure_text(), "lent to a"));
	/* Its own host neither. */
	assert_int_equal(lend_borrow(&rig.b, &wish, &second), -EBUSY);
	assert_int_equal(lend_return(rig.a, &borrow), 0);
	rig_await(LEND_AVAILABLE);
	assert_int_equal(lend_borrow(&rig.b, &wish, &second), 0);
	assert_int_equal(second.lender, second.borrower);
	assert_int_equal(second.bars[0], function_bar_address(rig.a, rig.function, 0));
	assert_int_equal(lend_borrow(rig.a, &wish, &borrow), -EBUSY);
	assert_int_equal(lend_return(&rig.b, &second), 0);
	rig_await(LEND_AVAILABLE);
	assert_int_equal(second.number, borrow.number + 1);
}

static void refused_whole(const struct lend_wish *wish, int error, const char *word)
{
	struct rig_sight before;
	struct lend_borrow borrow;

	rig_look(&before);
	assert_int_equal(lend_borrow(rig.a, wish, &borrow), error);
	if (!strstr(failure_text(), word))
		fail_msg("\"%s\" says nothing of %s", failure_text(), word);
	rig_await(LEND_AVAILABLE);
	rig_assert_same(&before);
}

static void refusals_leave_nothing(void **state)
{
	struct lend_wish wish;

	rig_open(false, NULL);
	wish = rig_wish();
	wish.window = FIXTURE_MEMORY - HOST_PAGE;
	refused_whole(&wish, -EINVAL, "no IOMMU");
	wish.window = 100;
	refused_whole(&wish, -EINVAL, "multiple of 4096");
	wish.window = FIXTURE_MEMORY;
	ntb_pretend_full(rig.a, rig.nb, false, true);
	refused_whole(&wish, -ENOSPC, "entr");
	ntb_pretend_full(rig.a, rig.nb, true, false);
	refused_whole(&wish, -ENOSPC, "window");
	ntb_pretend_full(rig.a, rig.nb, false, false);
	ntb_pretend_full(rig.a, rig.na, true, false);
	refused_whole(&wish, -ENOSPC, "window");
	ntb_pretend_full(rig.a, rig.na, false, false);
	wish.adapters[0] = rig.nb;
	refused_whole(&wish, -ENETUNREACH, "adapter");
	wish.adapters[0] = CLUSTER_NONE;
	lend_unregister(&rig.b, rig.function);
	assert_int_equal(lend_borrow(rig.a, &wish, &(struct lend_borrow){0}), -ENODEV);
}

static void few_bits(struct cluster_config *config)
{
	config->devices[0].address_bits = 24;
	config->devices[1].address_bits = 24;
}

/* An address that the device cannot make is told before anything is lent. */
static void window_above_the_mask(void **state)
{
	struct lend_wish wish;

	rig_open(true, few_bits);
	wish = rig_wish();
	refused_whole(&wish, -ERANGE, "");
}

/* As its driver sees it: BARs of its own host's bus, no legacy interrupt, interrupts of its own host. */
static void shadow_misleads_nobody(void **state)
{
	struct lend_borrow borrow;
	const __u32 *table;
	struct bus bus;
	__u64 own = MSI_ADDRESS + 4096ull, bar, size;

	rig_open(true, NULL);
	own = MSI_ADDRESS + (__u64)HOST_PAGE * rig.function;
	rig_borrow(&borrow);
	assert_int_equal(bus_lent_open(&bus, rig.a, &borrow), 0);
	bar = bus.ops->config_read(&bus, PCI_BASE_ADDRESS_0, 4) & ~0xfull;
	bar |= (__u64)bus.ops->config_read(&bus, PCI_BASE_ADDRESS_1, 4) << 32;
	assert_int_equal(bar, borrow.bars[0]);
	assert_true(bar != function_bar_address(rig.a, rig.function, 0));
	bus.ops->config_write(&bus, PCI_BASE_ADDRESS_0, 4, ~0u);
	size = bus.ops->config_read(&bus, PCI_BASE_ADDRESS_0, 4) & ~0xfull;
	assert_int_equal((__u32)~size + 1, function_bar_bytes(rig.a, rig.function, 0));
	bus.ops->config_write(&bus, PCI_BASE_ADDRESS_0, 4, (__u32)bar);
	assert_int_equal(bus.ops->config_read(&bus, PCI_BASE_ADDRESS_0, 4) & ~0xfu, (__u32)bar);
	assert_int_equal(bus.ops->config_read(&bus, PCI_INTERRUPT_PIN, 1), 0);
	/* Forwarded: the lender's own says so. */
	bus.ops->config_write(&bus, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	assert_int_equal(function_config_read(rig.a, rig.function, PCI_COMMAND, 2),
			 PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE);
	assert_int_equal(bus.ops->config_read(&bus, PCI_VENDOR_ID, 4),
			 function_config_read(rig.a, rig.function, PCI_VENDOR_ID, 4));
	bus.ops->write(&bus, 0, FUNCTION_MSIX_TABLE + 16, 4, own + 8);
	bus.ops->write(&bus, 0, FUNCTION_MSIX_TABLE + 20, 4, 0);
	bus.ops->write(&bus, 0, FUNCTION_MSIX_TABLE + 24, 4, 1);
	bus.ops->write(&bus, 0, FUNCTION_MSIX_TABLE + 28, 4, 0);
	assert_int_equal(bus.ops->read(&bus, 0, FUNCTION_MSIX_TABLE + 16, 4), own + 8);
	table = (const __u32 *)((char *)function_bar(rig.a, rig.function, 0) + FUNCTION_MSIX_TABLE);
	assert_int_equal(table[4] | (__u64)table[5] << 32, borrow.msi_device + 8);
	assert_int_equal(table[6], 1);
	assert_int_equal(table[7], 0);
	/* Aimed at anything else it stays masked. */
	bus.ops->write(&bus, 0, FUNCTION_MSIX_TABLE + 16, 4, 0x1000);
	assert_int_equal(table[7] & 1, 1);
	bus_lent_close(&bus);
	assert_int_equal(lend_return(rig.a, &borrow), 0);
}

static void more_windows(void **state)
{
	struct lend_borrow borrow;
	struct lend_counts counts;
	struct rig_sight before, mapped, now;
	struct initiator from;
	__u64 far, device, word = 0x1234;

	rig_open(true, lenders_iommu_off);
	rig_look(&before);
	rig_borrow(&borrow);
	assert_int_equal(host_memory_alloc(rig.a, RIG_A, HOST_PAGE, &far), 0);
	rig_look(&mapped);
	assert_int_equal(host_iommu_map(rig.a, RIG_A, borrow.borrower_domain, far, far, HOST_PAGE,
					HOST_IOMMU_WRITE, rig.device),
			 0);
	assert_int_equal(
		lend_window(rig.a, &borrow, WINDOW_SEGMENT, RIG_A, far, HOST_PAGE, &device), 0);
	from = function_initiator(rig.a, rig.function);
	assert_int_equal(from.borrow, borrow.number);
	access_write(rig.a, &from, PURPOSE_DATA, device, &word, 8, NULL);
	assert_int_equal(*(__u64 *)host_memory(rig.a, RIG_A, far, 8), word);
	lend_counts_of(rig.a, borrow.number, &counts);
	assert_int_equal(counts.lender_windows, 3);
	assert_int_equal(lend_window_drop(rig.a, &borrow, device), 0);
	assert_int_equal(lend_window_drop(rig.a, &borrow, device), -ENOENT);
	/* The borrow's own are not to be dropped. */
	assert_int_equal(lend_window_drop(rig.a, &borrow, borrow.dma_device), -ENOENT);
	rig_look(&now);
	assert_int_equal(now.windows, mapped.windows);
	assert_int_equal(lend_window(rig.a, &borrow, WINDOW_SEGMENT, 77, far, 8, &device), -EINVAL);
	/* Of the lender's own memory none is needed. */
	assert_int_equal(
		lend_window(rig.a, &borrow, WINDOW_SEGMENT, RIG_B, 0x5000, HOST_PAGE, &device), 0);
	assert_int_equal(device, 0x5000);
	assert_int_equal(lend_return(rig.a, &borrow), 0);
	host_memory_free(rig.a, RIG_A, far, HOST_PAGE);
	rig_await(LEND_AVAILABLE);
	rig_assert_same(&before);
	assert_int_equal(lend_window(rig.a, &borrow, WINDOW_SEGMENT, RIG_A, far, 8, &device),
			 -ENODEV);
}

static void own_device(bool iommu)
{
	struct io_counts ios;
	struct rig_sight before;
	struct bus bus;

	rig_open(iommu, NULL);
	rig_look(&before);
	assert_int_equal(bus_local_open(&bus, &rig.b, rig.function), 0);
	if (rig_drive(&bus, 131, &ios))
		fail_msg("%s", failure_text());
	assert_int_equal(ios.ios, 131);
	assert_int_equal(ios.errors + ios.wrong, 0);
	bus_local_close(&bus);
	rig_assert_same(&before);
}

static void own_device_by_the_same_driver(void **state)
{
	own_device(false);
	rig_close();
	own_device(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(lent_without_iommus, forget),
		cmocka_unit_test_teardown(lent_with_iommus, forget),
		cmocka_unit_test_teardown(lent_with_borrowers_iommu, forget),
		cmocka_unit_test_teardown(only_one_has_it, forget),
		cmocka_unit_test_teardown(refusals_leave_nothing, forget),
		cmocka_unit_test_teardown(window_above_the_mask, forget),
		cmocka_unit_test_teardown(shadow_misleads_nobody, forget),
		cmocka_unit_test_teardown(more_windows, forget),
		cmocka_unit_test_teardown(own_device_by_the_same_driver, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
