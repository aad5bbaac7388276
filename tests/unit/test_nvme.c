// SPDX-License-Identifier: GPL-2.0
/* NVMe commands as the base specification lays them out, bit by bit. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "injectors/real/nvme_command.h"

#define LIST_IOVA 0x77000ull

static __u32 dword(const struct vfio_nvme_command *command, unsigned int number)
{
	__u32 value;

	memcpy(&value, (const char *)command + 4 * number, sizeof(value));
	return value;
}

static void test_identify(void **state)
{
	struct vfio_nvme_command command;

	nvme_identify(&command, NVME_IDENTIFY_CONTROLLER, 0, 0x123456000ull);
	assert_int_equal(dword(&command, 0), 0x06);
	assert_int_equal(dword(&command, 1), 0);
	assert_int_equal(dword(&command, 6), 0x23456000);
	assert_int_equal(dword(&command, 7), 0x1);
	assert_int_equal(dword(&command, 10), 1);
	nvme_identify(&command, NVME_IDENTIFY_NAMESPACE, 1, 0x1000);
	assert_int_equal(dword(&command, 1), 1);
	assert_int_equal(dword(&command, 10), 0);
}

static void test_create_queues(void **state)
{
	struct vfio_nvme_command command;

	nvme_create_completion_queue(&command, 0x5000, -1);
	assert_int_equal(dword(&command, 0), 0x05);
	assert_int_equal(dword(&command, 6), 0x5000);
	assert_int_equal(dword(&command, 10), 63 << 16 | 1);
	assert_int_equal(dword(&command, 11), 1); /* contiguous, no interrupts */
	nvme_create_completion_queue(&command, 0x5000, 3);
	assert_int_equal(dword(&command, 11), 3 << 16 | 2 | 1);
	nvme_create_submission_queue(&command, 0x6000);
	assert_int_equal(dword(&command, 0), 0x01);
	assert_int_equal(dword(&command, 10), 63 << 16 | 1);
	assert_int_equal(dword(&command, 11), 1 << 16 | 1); /* its completion queue is 1 */
}

static void test_transfer(void **state)
{
	struct vfio_nvme_command command;

	nvme_transfer(&command, 0, 0x123456789aull, 8);
	assert_int_equal(dword(&command, 0), 0x02);
	assert_int_equal(dword(&command, 1), 1);
	assert_int_equal(dword(&command, 10), 0x3456789a);
	assert_int_equal(dword(&command, 11), 0x12);
	assert_int_equal(dword(&command, 12), 7); /* counted from 0 */
	nvme_transfer(&command, 1, 0, 1);
	assert_int_equal(dword(&command, 0), 0x01);
	assert_int_equal(dword(&command, 12), 0);
}

static void test_prps(void **state)
{
	__u64 list[NVME_LIST_PAGES];
	struct vfio_nvme_command command = {0};

	assert_int_equal(nvme_prps(&command, 0x10000, 4096, list, LIST_IOVA), 0);
	assert_int_equal(command.prp1, 0x10000);
	assert_int_equal(command.prp2, 0);
	/* Two pages need no list; neither does one page that begins in its middle. */
	assert_int_equal(nvme_prps(&command, 0x10000, 8192, list, LIST_IOVA), 0);
	assert_int_equal(command.prp2, 0x11000);
	assert_int_equal(nvme_prps(&command, 0x10800, 4096, list, LIST_IOVA), 0);
	assert_int_equal(command.prp1, 0x10800);
	assert_int_equal(command.prp2, 0x11000);
	/* With an offset, two pages' worth of data touch three. */
	assert_int_equal(nvme_prps(&command, 0x10800, 8192, list, LIST_IOVA), 2);
	assert_int_equal(command.prp2, LIST_IOVA);
	assert_int_equal(list[0], 0x11000);
	assert_int_equal(list[1], 0x12000);
	assert_int_equal(nvme_prps(&command, 0x10000, 3 * 4096 + 1, list, LIST_IOVA), 3);
	assert_int_equal(list[2], 0x13000);
}

static void test_prps_limits(void **state)
{
	__u64 list[NVME_LIST_PAGES + 1];
	struct vfio_nvme_command command = {0};

	list[NVME_LIST_PAGES] = 0x5a5a;
	assert_int_equal(nvme_prps(&command, 0x10000, 0, list, LIST_IOVA), -EINVAL);
	assert_int_equal(nvme_prps(&command, 0x10000, NVME_BYTES_MAX, list, LIST_IOVA),
			 NVME_LIST_PAGES);
	assert_int_equal(list[NVME_LIST_PAGES - 1], 0x10000 + NVME_LIST_PAGES * 4096);
	assert_int_equal(nvme_prps(&command, 0x10000, NVME_BYTES_MAX + 1, list, LIST_IOVA),
			 -EINVAL);
	assert_int_equal(list[NVME_LIST_PAGES], 0x5a5a);
}

static void test_status(void **state)
{
	struct vfio_nvme_completion completion = {.status = 1};

	assert_int_equal(nvme_status(&completion), 0); /* the phase is no part of it */
	completion.status = 0x0004 << 1;
	assert_int_equal(nvme_status(&completion), 4); /* data transfer error */
	completion.status = 0x8000 | 0x0281 << 1 | 1;
	assert_int_equal(nvme_status(&completion), 0x281); /* nor is "do not retry" */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identify),    cmocka_unit_test(test_create_queues),
		cmocka_unit_test(test_transfer),    cmocka_unit_test(test_prps),
		cmocka_unit_test(test_prps_limits), cmocka_unit_test(test_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
