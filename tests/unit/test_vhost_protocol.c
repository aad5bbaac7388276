// SPDX-License-Identifier: GPL-2.0
/* Messages of a front-end: right ones in any order and at any time, and wrong ones. */
#include "tests/unit/vhost_rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injectors/emu/memory_views.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "tests/unit/scratch.h"

#define SECTOR 512u

static int open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

/* A front-end that comes now is served from beginning to end. */
static void next_one_is_served(struct vhost_rig *rig)
{
	struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, SECTOR);

	frontend_close(&rig->front);
	memset(&rig->front, 0, sizeof(rig->front));
	vhost_rig_run(rig, 1, 16);
	assert_int_equal(frontend_do(&rig->front, 0, &io), VIRTIO_BLK_S_OK);
}

static void what_was_not_offered_ends_the_connection(void **state)
{
	const __u64 strange[] = {34, 35, 26, 63, 0};
	struct vhost_rig rig;

	vhost_rig_plan();
	vhost_rig_open(&rig);
	for (size_t i = 0; i < COUNT(strange); i++) {
		__u64 features;

		vhost_rig_connect(&rig);
		frontend_negotiate(&rig.front, FRONTEND_FEATURES);
		features = rig.front.features | 1ull << strange[i];
		assert_int_not_equal(frontend_ask(&rig.front, VHOST_USER_SET_FEATURES, &features,
						  sizeof(features), NULL, 0),
				     0);
		assert_int_equal(frontend_ask(&rig.front, VHOST_USER_SET_OWNER, "", 0, NULL, 0),
				 -1);
		frontend_hang_up(&rig.front);
	}
	next_one_is_served(&rig);
	assert_int_equal(vhost_rig_stats(&rig).refused, COUNT(strange));
	vhost_rig_close(&rig);
}

static void memory_must_be_the_tenants(void **state)
{
	const struct vhost_user_region bad[] = {
		{0, RIG_MEMORY + 4096, FRONTEND_USER, 0}, /* longer than it */
		{0, 4096, FRONTEND_USER, RIG_MEMORY},	  /* behind it */
		{0, 4096, FRONTEND_USER, ~0ull - 4095},	  /* offset that wraps */
		{~0ull - 4095, 8192, FRONTEND_USER, 0},	  /* physical address that wraps */
		{0, 8192, ~0ull - 4095, 0},		  /* user address that wraps */
		{0, 0, FRONTEND_USER, 0},		  /* empty */
		{1, 4096, FRONTEND_USER, 0},		  /* no pages */
		{0, 100, FRONTEND_USER, 0},
	};
	int foreign = memfd_create("foreign", MFD_CLOEXEC), before;
	struct vhost_user_memory memory = {.count = 1};
	struct vhost_rig rig;

	assert_int_equal(ftruncate(foreign, RIG_MEMORY), 0);
	vhost_rig_plan();
	vhost_rig_open(&rig);
	next_one_is_served(&rig);
	before = open_descriptors();
	for (size_t i = 0; i <= COUNT(bad) + 1; i++) {
		int files[] = {i == COUNT(bad) ? foreign : rig.front.file, rig.front.file};

		memory.region[0] = i < COUNT(bad) ? bad[i]
						  : (struct vhost_user_region){0, RIG_MEMORY,
									       FRONTEND_USER, 0};
		/* With one file more than there are regions, last. */
		assert_int_not_equal(frontend_ask(&rig.front, VHOST_USER_SET_MEM_TABLE, &memory,
						  8 + sizeof(memory.region[0]), files,
						  i > COUNT(bad) ? 2 : 1),
				     0);
		next_one_is_served(&rig);
	}
	memory.count = 2; /* two that overlap */
	memory.region[1] = (struct vhost_user_region){4096, 4096, FRONTEND_USER + 4096, 8192};
	assert_int_not_equal(frontend_ask(&rig.front, VHOST_USER_SET_MEM_TABLE, &memory,
					  8 + 2 * sizeof(memory.region[0]),
					  (int[]){rig.front.file, rig.front.file}, 2),
			     0);
	next_one_is_served(&rig);
	assert_int_equal(open_descriptors(), before);
	close(foreign);
	vhost_rig_close(&rig);
}

/* Right ones, too, by chance. Whatever they are: the device lives, and keeps no descriptor. */
static void random_messages_do_no_harm(void **state)
{
	struct random random;
	struct vhost_rig rig;
	int before;

	random = (struct random){41};
	vhost_rig_plan();
	vhost_rig_open(&rig);
	next_one_is_served(&rig);
	before = open_descriptors();
	for (int i = 0; i < 701; i++) {
		int files[9], ours = eventfd(0, EFD_CLOEXEC);
		unsigned char payload[280];
		__u32 count = random_below(&random, 4) ? (__u32)random_below(&random, 3) : 9;
		static const __u32 sizes[] = {0, 4, 8, 8, 8, 20, 24, 40, 44, 264, 280, 7};
		__u32 bytes = sizes[random_below(&random, COUNT(sizes))];
		__u32 request = (__u32)random_below(&random, 44);

		for (__u32 f = 0; f < 9; f++)
			files[f] = random_below(&random, 2) ? ours : rig.front.file;
		for (size_t b = 0; b < sizeof(payload); b++)
			payload[b] = random_below(&random, 3)
					     ? 0
					     : (unsigned char)random_below(&random, 256);
		/* What comes back is nobody's concern: a new one looks after each. */
		if (bytes > sizeof(((struct vhost_user_message *)0)->payload))
			bytes = sizeof(((struct vhost_user_message *)0)->payload);
		(void)frontend_send(&rig.front, request, payload, bytes, files, count);
		(void)frontend_send(&rig.front, VHOST_USER_SET_OWNER, "", 0, NULL, 0);
		if (i % 3 == 0)
			next_one_is_served(&rig);
		close(ours);
	}
	next_one_is_served(&rig);
	assert_int_equal(open_descriptors(), before);
	vhost_rig_close(&rig);
}

/* A message that never ends keeps neither the next front-end out once it has hung up, nor the device from its end. */
static void half_messages_keep_nobody(void **state)
{
	const __u32 half[] = {VHOST_USER_SET_FEATURES, VHOST_USER_VERSION, 8, 1};
	const __u32 endless[] = {VHOST_USER_SET_FEATURES, VHOST_USER_VERSION, 0xffffffff};
	const __u32 version[] = {VHOST_USER_GET_FEATURES, 2, 0};
	struct vhost_rig rig;
	char byte;

	vhost_rig_plan();
	vhost_rig_open(&rig);
	for (size_t length = 1; length < sizeof(half); length += 5) {
		vhost_rig_connect(&rig);
		assert_int_equal(send(rig.front.socket, half, length, 0), length);
		next_one_is_served(&rig);
		frontend_hang_up(&rig.front);
	}
	vhost_rig_connect(&rig);
	assert_int_equal(send(rig.front.socket, endless, sizeof(endless), 0), sizeof(endless));
	assert_true(recv(rig.front.socket, &byte, 1, 0) <= 0);
	frontend_hang_up(&rig.front);
	vhost_rig_connect(&rig);
	assert_int_equal(send(rig.front.socket, version, sizeof(version), 0), sizeof(version));
	assert_true(recv(rig.front.socket, &byte, 1, 0) <= 0);
	frontend_hang_up(&rig.front);
	vhost_rig_connect(&rig);
	assert_int_equal(send(rig.front.socket, half, 13, 0), 13);
	vhost_rig_close(&rig);
}

static void events_must_be_eventfds(void **state)
{
	static const __u32 requests[] = {VHOST_USER_SET_VRING_KICK, VHOST_USER_SET_VRING_CALL,
					 VHOST_USER_SET_VRING_ERR};
	const __u64 queue = 0, none = VHOST_USER_VRING_NO_FD, beyond = 7;
	struct vhost_rig rig;
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	vhost_rig_plan();
	vhost_rig_open(&rig);
	for (size_t i = 0; i < COUNT(requests); i++) {
		next_one_is_served(&rig);
		assert_int_not_equal(frontend_ask(&rig.front, requests[i], &queue, 8, pipes, 1), 0);
		next_one_is_served(&rig);
		assert_int_not_equal(frontend_ask(&rig.front, requests[i], &queue, 8, NULL, 0), 0);
		next_one_is_served(&rig);
		assert_int_not_equal(frontend_ask(&rig.front, requests[i], &beyond, 8,
						  &rig.front.queue[0].call, 1),
				     0);
		next_one_is_served(&rig);
		assert_int_equal(frontend_ask(&rig.front, requests[i], &none, 8, NULL, 0), 0);
	}
	close(pipes[0]);
	close(pipes[1]);
	vhost_rig_close(&rig);
}

/* A driver that does not kick is looked after all the same. */
static void a_queue_without_a_kick_is_polled(void **state)
{
	struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, SECTOR);
	const __u64 none = VHOST_USER_VRING_NO_FD;
	struct vhost_rig rig;
	int head;

	vhost_rig_plan();
	vhost_rig_open(&rig);
	next_one_is_served(&rig);
	assert_int_equal(frontend_ask(&rig.front, VHOST_USER_SET_VRING_KICK, &none, 8, NULL, 0), 0);
	head = frontend_submit(&rig.front, 0, &io);
	assert_int_equal(frontend_reap(&rig.front, 0, NULL), head);
	vhost_rig_close(&rig);
}

static void queues_stop_and_start_alone(void **state)
{
	const struct vhost_user_vring_state off = {2, 0}, on = {2, 1};
	struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, SECTOR);
	struct vhost_rig rig;
	int head;

	vhost_rig_plan();
	vhost_plan.device.queues = 4;
	vhost_rig_open(&rig);
	vhost_rig_run(&rig, 4, 32);
	for (__u16 q = 0; q < 4; q++)
		assert_int_equal(frontend_do(&rig.front, q, &io), VIRTIO_BLK_S_OK);
	assert_int_equal(frontend_stop_queue(&rig.front, 1), 1);
	assert_int_equal(
		frontend_ask(&rig.front, VHOST_USER_SET_VRING_ENABLE, &off, sizeof(off), NULL, 0),
		0);
	head = frontend_submit(&rig.front, 2, &io);
	frontend_kick(&rig.front, 2);
	assert_int_equal(frontend_do(&rig.front, 0, &io), VIRTIO_BLK_S_OK);
	assert_int_equal(frontend_do(&rig.front, 3, &io), VIRTIO_BLK_S_OK);
	assert_int_equal(frontend_poll(&rig.front, 2, NULL), -1);
	assert_int_equal(
		frontend_ask(&rig.front, VHOST_USER_SET_VRING_ENABLE, &on, sizeof(on), NULL, 0), 0);
	assert_int_equal(frontend_reap(&rig.front, 2, NULL), head);
	assert_int_equal(frontend_start_queue(&rig.front, 1, 1), 0);
	assert_int_equal(frontend_do(&rig.front, 1, &io), VIRTIO_BLK_S_OK);
	vhost_rig_close(&rig);
}

/* GET_VRING_BASE while requests wait for pages: they are done first. */
static void what_has_begun_is_done_before_a_stop(void **state)
{
	struct vhost_rig rig;
	int base;

	vhost_rig_plan();
	vhost_rig_inject(INJECT_RESOLVE, 100, 20 * MS);
	vhost_rig_open(&rig);
	vhost_rig_run(&rig, 1, 64);
	vhost_rig_evict(&rig, RIG_DATA, 0x8000);
	for (__u32 i = 0; i < 7; i++) {
		struct frontend_io io =
			vhost_rig_io(VIRTIO_BLK_T_IN, i, RIG_DATA + i * 0x1000, 0x1000);

		assert_true(frontend_submit(&rig.front, 0, &io) >= 0);
	}
	frontend_kick(&rig.front, 0);
	while (!vhost_rig_stats(&rig).parked)
		usleep(100);
	base = frontend_stop_queue(&rig.front, 0);
	assert_true(base >= 1 && base <= 7);
	for (int i = 0; i < base; i++)
		assert_true(frontend_poll(&rig.front, 0, NULL) >= 0);
	assert_int_equal(frontend_poll(&rig.front, 0, NULL), -1);
	assert_int_equal(frontend_start_queue(&rig.front, 0, (__u16)base), 0);
	for (int i = base; i < 7; i++)
		assert_true(frontend_reap(&rig.front, 0, NULL) >= 0);
	vhost_rig_close(&rig);
}

/* The memory table again while requests wait: the same, then one without what they want. */
static void the_memory_table_changes_in_mid_flight(void **state)
{
	const struct vhost_user_memory low = {.count = 1,
					      .region = {{0, RIG_MEMORY / 2, FRONTEND_USER, 0}}};
	struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, 0x1000);
	struct vhost_rig rig;
	int head;

	vhost_rig_plan();
	vhost_rig_inject(INJECT_RESOLVE, 100, 200 * MS);
	vhost_rig_open(&rig);
	vhost_rig_run(&rig, 1, 16);
	for (int without = 0; without < 2; without++) {
		vhost_rig_fill(&rig, RIG_DATA, 0x1000, 5);
		vhost_rig_evict(&rig, RIG_DATA, 0x1000);
		head = frontend_submit(&rig.front, 0, &io);
		frontend_kick(&rig.front, 0);
		while (vhost_rig_stats(&rig).parked < 1u + (__u32)without)
			usleep(100);
		if (without)
			assert_int_equal(frontend_ask(&rig.front, VHOST_USER_SET_MEM_TABLE, &low,
						      8 + sizeof(low.region[0]), &rig.front.file,
						      1),
					 0);
		else
			assert_int_equal(frontend_set_memory(&rig.front), 0);
		assert_int_equal(frontend_reap(&rig.front, 0, NULL), head);
		assert_int_equal(*frontend_status(&rig.front, 0, (__u16)head),
				 without ? VIRTIO_BLK_S_IOERR : VIRTIO_BLK_S_OK);
		assert_int_equal(vhost_rig_holds(&rig, RIG_DATA, 0x1000, 5), without);
	}
	vhost_rig_close(&rig);
}

/* The driver hangs up while requests wait, and the machine stops while they do. */
static void nobody_waits_for_parked_requests(void **state)
{
	struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, 0x4000);
	struct vhost_rig rig;

	vhost_rig_plan();
	vhost_rig_inject(INJECT_RESOLVE, 100, 100 * MS);
	vhost_rig_open(&rig);
	for (int round = 0; round < 3; round++) {
		vhost_rig_run(&rig, 1, 16);
		vhost_rig_evict(&rig, RIG_DATA, 0x4000);
		assert_true(frontend_submit(&rig.front, 0, &io) >= 0);
		frontend_kick(&rig.front, 0);
		while (vhost_rig_stats(&rig).parked < 1u + (__u32)round)
			usleep(100);
		if (round < 2) {
			frontend_close(&rig.front);
			memset(&rig.front, 0, sizeof(rig.front));
		}
	}
	vhost_rig_close(&rig);
}

/* The device is told to restart while a request waits for its pages: whoever is connected finds it gone, and who comes next is served. */
static void an_injected_restart_hangs_up(void **state)
{
	struct frontend_io io = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA, 0x4000);
	struct vhost_rig rig;
	char byte;

	vhost_rig_plan();
	vhost_rig_inject(INJECT_RESOLVE, 100, 400 * MS);
	vhost_rig_inject(INJECT_DEVICE_RESTART, 100, 0);
	vhost_plan.injections[1].times = 1;
	vhost_rig_open(&rig);
	vhost_rig_run(&rig, 1, 16);
	vhost_rig_evict(&rig, RIG_DATA, 0x4000);
	assert_true(frontend_submit(&rig.front, 0, &io) >= 0);
	frontend_kick(&rig.front, 0);
	assert_int_equal(recv(rig.front.socket, &byte, 1, 0), 0);
	assert_int_equal(vhost_rig_stats(&rig).requests, 0);
	next_one_is_served(&rig);
	assert_int_equal(vhost_rig_stats(&rig).connections, 2);
	assert_int_equal(vhost_rig_stats(&rig).refused, 0);
	vhost_rig_close(&rig);
}

static void the_socket_is_ours_alone(void **state)
{
	struct vhost_rig rig, second;
	struct stat status;

	vhost_rig_plan();
	vhost_rig_open(&rig);
	assert_int_equal(stat(vhost_plan.block->vhost.socket, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	memset(&second, 0, sizeof(second));
	assert_int_equal(machine_create(&second.machine, &vhost_plan.machine), 0);
	assert_int_not_equal(machine_prepare(second.machine), 0);
	machine_destroy(second.machine);
	next_one_is_served(&rig);
	vhost_rig_close(&rig);
	assert_int_not_equal(stat(vhost_plan.block->vhost.socket, &status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_not_offered_ends_the_connection),
		cmocka_unit_test(memory_must_be_the_tenants),
		cmocka_unit_test(random_messages_do_no_harm),
		cmocka_unit_test(half_messages_keep_nobody),
		cmocka_unit_test(events_must_be_eventfds),
		cmocka_unit_test(a_queue_without_a_kick_is_polled),
		cmocka_unit_test(queues_stop_and_start_alone),
		cmocka_unit_test(what_has_begun_is_done_before_a_stop),
		cmocka_unit_test(the_memory_table_changes_in_mid_flight),
		cmocka_unit_test(nobody_waits_for_parked_requests),
		cmocka_unit_test(an_injected_restart_hangs_up),
		cmocka_unit_test(the_socket_is_ours_alone),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
