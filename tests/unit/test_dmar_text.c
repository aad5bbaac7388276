// SPDX-License-Identifier: GPL-2.0
/* Lines of the kernel's about VT-d faults: the very code that runs in BPF. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/dmar_text.h"
#include "bpf/event.h"

static bool parse(const char *line, struct dmar_fault *fault)
{
	struct dmar_scan scan = {.at = 0};
	size_t length = strlen(line);

	memset(fault, 0, sizeof(*fault));
	memcpy(scan.text, line, length < sizeof(scan.text) ? length : sizeof(scan.text) - 1);
	return dmar_parse(&scan, fault);
}

static void a_write_without_pasid(void **state)
{
	struct dmar_fault fault;

	assert_true(parse("DMAR: [DMA Write NO_PASID] Request device [00:02.0] fault addr 0x800000 "
			  "[fault reason 0x05] PTE Write access is not set",
			  &fault));
	assert_int_equal(fault.address, 0x800000);
	assert_int_equal(fault.pasid, PASID_NONE);
	assert_int_equal(fault.rid, 0x0010);
	assert_int_equal(fault.reason, 5);
	assert_true(fault.is_write);
	assert_false(fault.is_interrupt);
}

static void a_read_with_pasid_and_segment(void **state)
{
	struct dmar_fault fault;

	assert_true(parse("DMAR: [DMA Read PASID 0xabcde] Request device [0001:3f:1f.7] fault addr "
			  "0xffffffffff000 [fault reason 0x71] SM: Present bit in first-level",
			  &fault));
	assert_int_equal(fault.address, 0xffffffffff000);
	assert_int_equal(fault.pasid, 0xabcde);
	assert_int_equal(fault.rid, 1 << 16 | 0x3f << 8 | 0x1f << 3 | 7);
	assert_int_equal(fault.reason, 0x71);
	assert_false(fault.is_write);
	assert_true(parse("DMAR: [DMA Write PASID 0x0] Request device [0000:00:02.0] fault addr "
			  "0x0 [fault reason 0x05] PTE Write access is not set",
			  &fault));
	assert_int_equal(fault.pasid, 0);
	assert_int_equal(fault.address, 0);
	assert_int_equal(fault.rid, 0x0010);
}

static void an_interrupt(void **state)
{
	struct dmar_fault fault;

	assert_true(parse("DMAR: [INTR-REMAP] Request device [f0:1f.7] fault index 0x8000 [fault "
			  "reason 0x25] Blocked a compatibility format interrupt request",
			  &fault));
	assert_true(fault.is_interrupt);
	assert_int_equal(fault.address, 0x8000);
	assert_int_equal(fault.rid, 0xf0ff);
	assert_int_equal(fault.reason, 0x25);
	assert_true(parse("DMAR: [INTR-REMAP] Request device [0000:f0:1f.7] fault index 0x0 [fault "
			  "reason 0x22] The index exceeded",
			  &fault));
	assert_int_equal(fault.rid, 0xf0ff);
}

static void other_lines_are_none(void **state)
{
	static const char *const lines[] = {
		"",
		"DMAR",
		"DMAR: DRHD: handling fault status reg 3",
		"DMAR: [DMA Write NO_PASID] Request device [00:02.0]",
		"DMAR: [DMA Write NO_PASID] Request device [00:02.0] fault addr 0x",
		"DMAR: [DMA Write NO_PASID] Request device [00:02.0] fault addr 0x12 [fault reason",
		"DMAR: [DMA Write NO_PASID] Request device [00:02] fault addr 0x1 [fault reason "
		"0x05]",
		"DMAR: [DMA Write NO_PASID] Request device [00:20.0] fault addr 0x1 [fault reason "
		"0x05]",
		"DMAR: [DMA Read PASID 0x] Request device [00:02.0] fault addr 0x1 [fault reason "
		"0x05]",
		"DMAR: [DMA Read PASID 0x100000] Request device [00:02.0] fault addr 0x1 [fault "
		"reason 0x05]",
		"DMAR: [DMA Write NO_PASID] Request device [00:02.0] fault addr 0x1 [fault reason "
		"0x105]",
		"nvme nvme0: DMAR: [DMA Write NO_PASID] Request device [00:02.0] fault addr 0x1 "
		"[fault reason 0x05]",
	};
	struct dmar_fault fault;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(parse(lines[i], &fault));
}

/* Any numbers come back as they were printed, by either of the kernel's formats. */
static void what_is_printed_is_read(void **state)
{
	srand(4711);
	for (int i = 0; i < 20000; i++) {
		__u64 address = ((__u64)rand() << 31 ^ (__u64)rand()) >> rand() % 62;
		__u32 bus = rand() & 0xff, slot = rand() & 31, function = rand() & 7;
		__u32 segment = i & 1 ? (__u32)rand() & 0xffff : 0, reason = rand() & 0xff;
		char line[256], place[32], who[32] = "NO_PASID";
		__u32 pasid = i & 2 ? (__u32)rand() & 0xfffff : PASID_NONE;
		struct dmar_fault fault;

		if (pasid != PASID_NONE)
			snprintf(who, sizeof(who), "PASID 0x%x", pasid);
		if (segment)
			snprintf(place, sizeof(place), "%04x:%02x:%02x.%d", segment, bus, slot,
				 function);
		else
			snprintf(place, sizeof(place), "%02x:%02x.%d", bus, slot, function);
		snprintf(line, sizeof(line),
			 "DMAR: [DMA %s %s] Request device [%s] fault addr 0x%llx [fault reason "
			 "0x%02x] words",
			 i & 4 ? "Write" : "Read", who, place, (unsigned long long)address, reason);
		assert_true(parse(line, &fault));
		assert_true(fault.address == address);
		assert_int_equal(fault.pasid, pasid);
		assert_int_equal(fault.rid, segment << 16 | bus << 8 | slot << 3 | function);
		assert_int_equal(fault.reason, reason);
		assert_int_equal(fault.is_write, !!(i & 4));
	}
}

/* No text makes it read or write beyond its line, or go on for ever. */
static void any_text_is_survived(void **state)
{
	static const char line[] = "DMAR: [DMA Write PASID 0x12] Request device [0000:00:02.0] "
				   "fault addr 0x800000 [fault reason 0x05] PTE";

	srand(815);
	for (int i = 0; i < 200000; i++) {
		struct dmar_scan scan = {.at = 0};
		struct dmar_fault fault;

		memcpy(scan.text, line, sizeof(line));
		for (int n = rand() % 8; n >= 0; n--)
			scan.text[rand() % DMAR_TEXT] = "[]:.x0 Pfg\0D"[rand() % 12];
		dmar_parse(&scan, &fault);
		assert_true(scan.at <= 2 * DMAR_TEXT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_write_without_pasid),
		cmocka_unit_test(a_read_with_pasid_and_segment),
		cmocka_unit_test(an_interrupt),
		cmocka_unit_test(other_lines_are_none),
		cmocka_unit_test(what_is_printed_is_read),
		cmocka_unit_test(any_text_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
