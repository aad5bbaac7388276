// SPDX-License-Identifier: GPL-2.0
/* What `faultline-inject vfio` accepts, and what it makes of the kernel's log. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injectors/real/kernel_log.h"
#include "injectors/real/vfio_run.h"

static struct vfio_job job_of(enum vfio_action action)
{
	return (struct vfio_job){.action = action,
				 .action_name = vfio_action_name(action),
				 .devices = {"0000:00:02.0"},
				 .device_count = 1};
}

static void test_addresses(void **state)
{
	static const char *const good[] = {"0000:00:02.0", "0001:af:1f.7"};
	static const char *const bad[] = {"",
					  "00:02.0",
					  "0000:00:02.8",
					  "0000:00:20.0",
					  "0000:00:02.0x",
					  "0000:00:02,0",
					  "0000:0G:02.0",
					  "../../etc/x.0"};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(vfio_check_address(good[i], NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(vfio_check_address(bad[i], NULL), -EINVAL);
	assert_non_null(strstr(failure_text(), "accepted: "));
}

static void test_actions(void **state)
{
	enum vfio_action action;

	for (unsigned int i = 0; i < VFIO_ACTIONS; i++) {
		assert_int_equal(vfio_parse_action(vfio_action_name(i), &action), 0);
		assert_int_equal(action, i);
	}
	assert_int_equal(vfio_parse_action("explode", &action), -EINVAL);
	assert_non_null(
		strstr(failure_text(), "transfer, fault, retry, stale, churn, limit, reset"));
}

static void test_defaults(void **state)
{
	struct vfio_job job = job_of(VFIO_CHURN);

	assert_int_equal(vfio_job_check(&job), 0);
	assert_int_equal(job.count, 1000);
	assert_int_equal(job.size, 65536);
	assert_int_equal(job.depth, 1);
	job.count = 7;
	assert_int_equal(vfio_job_check(&job), 0);
	assert_int_equal(job.count, 7);
}

static void refused(struct vfio_job job, const char *word)
{
	assert_int_equal(vfio_job_check(&job), -EINVAL);
	assert_non_null(strstr(failure_text(), word));
}

static void test_what_does_not_go_together(void **state)
{
	struct vfio_job job = {0};

	refused(job, "no action; accepted: transfer, fault, retry, stale, churn, limit, reset");
	job = job_of(VFIO_FAULT);
	job.device_count = 0;
	refused(job, "no device");
	job = job_of(VFIO_FAULT);
	job.devices[1] = "0000:00:02.0";
	job.device_count = 2;
	refused(job, "named twice");
	job = job_of(VFIO_CHURN);
	job.size = 5000;
	refused(job, "--size 5000");
	job.size = 128ull << 20;
	refused(job, "--size");
	job = job_of(VFIO_CHURN);
	job.depth = 2;
	refused(job, "--depth");
	job = job_of(VFIO_CHURN);
	job.memlock = 4096;
	refused(job, "--memlock");
	job = job_of(VFIO_FAULT);
	job.overwrite = true;
	refused(job, "--overwrite");
	job = job_of(VFIO_RETRY);
	job.read_direction = true;
	refused(job, "--read");
}

static void test_kernel_log(void **state)
{
	struct kernel_log log = {.fd = -1};

	assert_true(kernel_log_line(
		&log, "3,412,24163858,-;DMAR: [DMA Write PASID 0x0] Request device [00:02.0] fault "
		      "addr 0x800000 [fault reason 0x05] PTE Write access is not set\n"));
	assert_int_equal(log.newest, 0x800000);
	assert_true(kernel_log_line(
		&log,
		"3,413,1,-;DMAR: [DMA Read NO_PASID] Request device [0000:00:02.0] fault addr "
		"0xa001000 [fault reason 0x06] PTE Read access is not set"));
	assert_int_equal(log.newest, 0xa001000);
	assert_false(kernel_log_line(&log, "3,1,1,-;DMAR: DRHD: handling fault status reg 2"));
	assert_false(kernel_log_line(
		&log, "3,1,1,-;DMAR: [INTR-REMAP] Request device [00:02.0] fault index 0x5"));
	assert_false(kernel_log_line(&log, "4,1,1,-;dmar_fault: 181 callbacks suppressed\n"));
	assert_int_equal(log.faults, 2);
	assert_int_equal(log.suppressed, 181);
}

#define SCRIPTED 9999 /* a descriptor of a log that read() below plays */

static int script;

/* For the whole program, as what reads the log is in an archive. */
ssize_t read(int fd, void *bytes, size_t size)
{
	static const char line[] =
		"3,9,1,-;DMAR: [DMA Read NO_PASID] Request device [00:02.0] fault "
		"addr 0xa001000 [fault reason 0x06] x";

	if (fd != SCRIPTED)
		return syscall(SYS_read, fd, bytes, size);
	switch (script++) {
	case 0:
	case 2:
		errno = EPIPE;
		return -1;
	case 1:
	case 3:
		memcpy(bytes, line, sizeof(line) - 1);
		return sizeof(line) - 1;
	default:
		errno = EAGAIN;
		return -1;
	}
}

static void test_an_overwritten_log_is_told(void **state)
{
	struct kernel_log log = {.fd = SCRIPTED};

	assert_int_equal(kernel_log_read(&log), 0);
	assert_int_equal(log.faults, 2);
	assert_int_equal(log.overwritten, 2);
}

static void test_a_log_that_cannot_be_read_is_told(void **state)
{
	const struct vfio_job job = {.action = VFIO_CHURN};
	struct vfio_run run = {.job = &job, .log.fd = -1};

	assert_int_equal(vfio_run_act(&run), -EBADF);
	assert_non_null(strstr(failure_text(), "/dev/kmsg"));
}

/* A stop does not hide that something could not be undone. */
static void test_the_end(void **state)
{
	failed(0, "this is a test");
	assert_int_equal(verb_end(0, 0), EXIT_OK);
	assert_int_equal(verb_end(0, -EINTR), EXIT_INTERRUPTED);
	assert_int_equal(verb_end(-EBUSY, -EINTR), EXIT_FAIL);
	assert_int_equal(verb_end(0, -EIO), EXIT_FAIL);
	assert_int_equal(verb_end(-EPERM, -EIO), EXIT_PRIVILEGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_actions),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_what_does_not_go_together),
		cmocka_unit_test(test_kernel_log),
		cmocka_unit_test(test_an_overwritten_log_is_told),
		cmocka_unit_test(test_a_log_that_cannot_be_read_is_told),
		cmocka_unit_test(test_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
