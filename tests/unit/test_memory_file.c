// SPDX-License-Identifier: GPL-2.0
/* What a verb is given to map and write: with consent, exclusively, and big enough. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injectors/real/memory_file.h"
#include "injectors/real/odp.h"

#define SIZE (64u << 10)

static char file[] = "/var/tmp/faultline-medium.XXXXXX", link_to_it[64];
static char disk[32]; /* a loop device of its own, "": this kernel gives none */
static int disk_descriptor = -1;

/* Detaches itself with its last descriptor. */
static void make_disk(void)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), backing;
	struct loop_config config = {.info.lo_flags = LO_FLAGS_AUTOCLEAR};
	int number;

	for (int tries = 0; control >= 0 && disk_descriptor < 0 && tries < 100; tries++) {
		number = ioctl(control, LOOP_CTL_GET_FREE);
		snprintf(disk, sizeof(disk), "/dev/loop%d", number);
		disk_descriptor = open(disk, O_RDWR | O_CLOEXEC);
		backing = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		config.fd = (__u32)backing;
		if (disk_descriptor >= 0 &&
		    (ftruncate(backing, SIZE) || ioctl(disk_descriptor, LOOP_CONFIGURE, &config))) {
			close(disk_descriptor);
			disk_descriptor = -1; /* somebody else was faster */
		}
		close(backing);
	}
	close(control);
	if (disk_descriptor < 0)
		disk[0] = '\0';
}

static int setup(void **state)
{
	int descriptor = mkstemp(file);

	snprintf(link_to_it, sizeof(link_to_it), "%s.link", file);
	make_disk();
	return descriptor < 0 || close(descriptor);
}

static int teardown(void **state)
{
	unlink(link_to_it);
	close(disk_descriptor);
	return unlink(file);
}

static int open_it(const struct verb_options *options, const char *path, __u64 bytes, bool grow)
{
	int descriptor = memory_file_open(options, "--file", path, bytes, grow);

	if (descriptor >= 0)
		close(descriptor);
	return descriptor < 0 ? descriptor : 0;
}

static void a_file_is_big_enough(void **state)
{
	const struct verb_options options = {0};
	struct stat status;

	assert_int_equal(memory_file_consent(&options, file), 0);
	assert_int_equal(open_it(&options, file, SIZE, false), -EINVAL);
	assert_non_null(strstr(failure_text(), "holds 0 bytes, this needs 65536"));
	assert_int_equal(open_it(&options, file, SIZE, true), 0);
	assert_int_equal(stat(file, &status), 0);
	assert_int_equal(status.st_size, SIZE);
	/* With room for all of it, not only its size. */
	assert_true(status.st_blocks * 512 >= SIZE);
	assert_int_equal(open_it(&options, file, SIZE, false), 0);
	assert_int_equal(open_it(&options, file, SIZE + 1, false), -EINVAL);
}

static void what_is_no_medium_is_refused(void **state)
{
	const struct verb_options options = {0};

	assert_int_equal(open_it(&options, "/dev/zero", 1, true), -EINVAL);
	assert_int_equal(open_it(&options, "/var/tmp", 1, true), -EINVAL);
	assert_int_equal(memory_file_consent(&options, "/nowhere"), -ENOENT);
}

static void a_disk_needs_consent_and_to_be_free(void **state)
{
	struct verb_options options = {0};
	int holder;

	if (!disk[0])
		skip();
	assert_int_equal(symlink(disk, link_to_it), 0);
	assert_int_equal(memory_file_consent(&options, disk), -EPERM);
	assert_int_equal(open_it(&options, disk, SIZE, true), -EPERM);
	assert_int_equal(memory_file_consent(&options, link_to_it), -EPERM);
	assert_non_null(strstr(failure_text(), disk));
	options.consents = (struct consents){{link_to_it}, 1};
	assert_int_equal(open_it(&options, link_to_it, SIZE, true), -EPERM);
	options.consents.names[0] = disk;
	assert_int_equal(memory_file_consent(&options, disk), 0);
	assert_int_equal(open_it(&options, disk, SIZE, true), 0);
	assert_int_equal(open_it(&options, link_to_it, SIZE, true), 0);
	assert_int_equal(open_it(&options, disk, SIZE + 1, true), -EINVAL);
	holder = open(disk, O_RDONLY | O_EXCL | O_CLOEXEC);
	assert_true(holder >= 0);
	assert_int_equal(open_it(&options, disk, SIZE, true), -EBUSY);
	close(holder);
}

/* Both sides of a connection are on the one descriptor that there is. */
static void two_sides_share_a_disk(void **state)
{
	const struct verb_options options = {.consents = {{disk}, 1}};
	struct odp_options odp = {.file = disk, .eviction = ODP_EVICT_DONTNEED};
	struct odp_memory memory[2] = {{.bytes = SIZE}, {.bytes = SIZE}};
	__u64 calls;

	if (!disk[0])
		skip();
	odp.descriptor = memory_file_open(&options, "--file", disk, SIZE, true);
	assert_true(odp.descriptor >= 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(odp_memory_open(&memory[i], &odp), 0);
		memset(memory[i].start, 7, SIZE);
		assert_int_equal(odp_memory_evict(&memory[i], ODP_EVICT_DONTNEED, &calls), 0);
		assert_int_equal(odp_memory_present(&memory[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		odp_memory_close(&memory[i]);
	close(odp.descriptor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_big_enough),
		cmocka_unit_test(what_is_no_medium_is_refused),
		cmocka_unit_test(a_disk_needs_consent_and_to_be_free),
		cmocka_unit_test(two_sides_share_a_disk),
	};

	return cmocka_run_group_tests_name("memory_file", tests, setup, teardown);
}
