// SPDX-License-Identifier: GPL-2.0
/*
 * A device that is killed and started anew while its driver waits: each request has one answer, and what was written is there. The device is a
 * process of its own on memory that is shared with its front-end; it ends by itself before its n-th access to memory, for each n, or is killed
 * at instants of chance.
 */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/emu/devices/block_private.h"
#include "injectors/emu/vhost/inflight.h"
#include "lib/base/random.h"
#include "tests/unit/fake_port.h"
#include "tests/unit/scratch.h"
#include "tests/unit/vhost_frontend.h"

#define MEMORY	 (8ull << 20)
#define DISK	 "disk"
#define SECTORS	 8192
#define DATA	 (MEMORY / 2)
#define REQUESTS 5 /* at once */
#define BATCHES	 3
#define SIZE	 16

static struct {
	struct frontend front;
	unsigned char *memory;
	int file;
	char socket[200], disk[200];
	__u32 generation[REQUESTS]; /* of the newest write of each that has been answered */
	__u64 answered;
} world;

static __u64 dies_at, steps;

static void step(struct port *port)
{
	if (dies_at && __atomic_add_fetch(&steps, 1, __ATOMIC_RELAXED) == dies_at)
		kill(getpid(), SIGKILL);
}

static void device_main(int ready)
{
	struct block_settings settings = {0};
	struct channel channel = {.config = {.queues = 1, .pasid = PASID_NONE}};
	struct device_setup setup = {
		.settings = &settings, .channel = &channel, .tenant = "vm", .name = "disk"};
	struct port port = {
		.memory = {.bytes = (char *)world.memory, .size = MEMORY, .file = world.file},
		.on_dma = step};
	void *device;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_mutex_init(&port.lock, NULL);
	snprintf(settings.file.path, sizeof(settings.file.path), "%s", world.disk);
	snprintf(settings.vhost.socket, sizeof(settings.vhost.socket), "%.107s", world.socket);
	settings.file.writable = true;
	setup.memory = &port.memory;
	/* These are overtaken: what has been answered is not what was taken first. */
	for (__u32 i = 0; i < REQUESTS; i += 2)
		port.absent[DATA / PAGE_BYTES + i] = true;
	if (block_class.start(&device, &port, &setup))
		_exit(1);
	if (write(ready, "", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

static pid_t device_start(__u64 at)
{
	int ready[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	dies_at = at;
	child = fork();
	if (!child)
		device_main(ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static int world_make(void **state)
{
	int disk;

	scratch_make(state);
	snprintf(world.socket, sizeof(world.socket), "%s/sock", scratch);
	snprintf(world.disk, sizeof(world.disk), "%s/" DISK, scratch);
	disk = open(world.disk, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(disk, SECTORS * 512), 0);
	close(disk);
	world.file = memfd_create("memory", MFD_CLOEXEC);
	assert_int_equal(ftruncate(world.file, MEMORY), 0);
	world.memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, world.file, 0);
	assert_ptr_not_equal(world.memory, MAP_FAILED);
	return 0;
}

/* Connects and starts the queue where the used ring is, as QEMU does after a device has gone. False: it went once more. */
static bool device_drive(void)
{
	struct frontend_queue *q = &world.front.queue[0];

	frontend_connect(&world.front, world.socket, world.memory, MEMORY, world.file);
	frontend_negotiate(&world.front, ~0ull);
	frontend_set_inflight(&world.front, 1, SIZE);
	if (!q->size)
		frontend_make_queue(&world.front, 0, SIZE);
	return !frontend_start_queue(&world.front, 0,
				     __atomic_load_n(&q->ring.used->idx, __ATOMIC_ACQUIRE));
}

static __u32 *data_of(__u32 request)
{
	return (__u32 *)(world.memory + DATA + request * PAGE_BYTES);
}

/* A write of each request's next generation. */
static void submit_all(int heads[REQUESTS])
{
	for (__u32 i = 0; i < REQUESTS; i++) {
		struct frontend_io io = {.type = VIRTIO_BLK_T_OUT,
					 .sector = i * 8,
					 .piece = {{DATA + i * PAGE_BYTES, PAGE_BYTES}},
					 .pieces = 1,
					 .indirect = true};

		world.generation[i]++;
		for (__u32 word = 0; word < PAGE_BYTES / 4; word++)
			data_of(i)[word] = world.generation[i] * REQUESTS + i;
		heads[i] = frontend_submit(&world.front, 0, &io);
		assert_true(heads[i] >= 0);
	}
	frontend_kick(&world.front, 0);
}

/* Answers until all are there (frontend_poll() fails for one that comes twice), or the device has gone. */
static __u32 reap_all(__u32 answered)
{
	while (answered < REQUESTS) {
		int head = frontend_reap(&world.front, 0, NULL);

		if (head < 0)
			break;
		assert_int_equal(*frontend_status(&world.front, 0, (__u16)head), VIRTIO_BLK_S_OK);
		answered++;
	}
	return answered;
}

static void disk_holds_newest(void)
{
	int disk = open(world.disk, O_RDONLY | O_CLOEXEC);
	__u32 words[PAGE_BYTES / 4];

	for (__u32 i = 0; i < REQUESTS; i++) {
		assert_int_equal(pread(disk, words, PAGE_BYTES, i * PAGE_BYTES), PAGE_BYTES);
		for (__u32 word = 0; word < PAGE_BYTES / 4; word++)
			assert_int_equal(words[word], world.generation[i] * REQUESTS + i);
	}
	close(disk);
}

static void device_gone(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	frontend_hang_up(&world.front);
}

/* By a process of its own, as the front-end waits meanwhile. */
static void kill_after(pid_t child, __u64 after_us)
{
	int process =
		(int)syscall(SYS_pidfd_open, child, 0); /* its number may be another's by then */

	assert_true(process >= 0);
	if (fork()) {
		close(process);
		return;
	}
	usleep((useconds_t)after_us);
	syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
	_exit(0);
}

/* All of a batch, by heads that the one before it had, too; false: the device has gone before it was answered. */
static bool batch(bool lives, __u32 *answered)
{
	int heads[REQUESTS];

	world.front.queue[0].next = 0;
	submit_all(heads);
	*answered = lives ? reap_all(0) : 0;
	return *answered == REQUESTS;
}

/* Returns whether it died before all was answered. */
static bool round_with(__u64 at, __u64 after_us)
{
	pid_t child = device_start(at);
	bool lives = device_drive(), died = false;
	__u32 answered;

	if (lives && after_us)
		kill_after(child, after_us);
	for (int i = 0; i < BATCHES && !died; i++)
		died = !batch(lives, &answered);
	kill(child, SIGKILL);
	device_gone(child);
	if (died) {
		child = device_start(0);
		assert_true(device_drive());
		assert_int_equal(reap_all(answered), REQUESTS);
		kill(child, SIGKILL);
		device_gone(child);
	}
	assert_int_equal(frontend_poll(&world.front, 0, NULL), -1);
	disk_holds_newest();
	return died;
}

static void a_death_before_any_access_loses_nothing(void **state)
{
	__u32 deaths = 0;

	for (__u64 at = 1; at <= 14 * REQUESTS * BATCHES; at += 1 + at / 40)
		deaths += round_with(at, 0);
	assert_true(deaths >= 7 * REQUESTS);
}

static void a_death_at_any_time_loses_nothing(void **state)
{
	struct random random = {7};

	for (int i = 0; i < 41; i++)
		round_with(0, 1 + random_below(&random, 1500));
	while (waitpid(-1, NULL, 0) > 0)
		;
}

/* Of each single store on the way to the used ring: what was answered is struck out, what was not is there. */
static void every_store_counts(void **state)
{
	struct inflight *inflight;
	struct inflight_queue *queue;
	__u64 bytes, counter;
	__u16 heads[SIZE];
	int file = inflight_make(1, SIZE, &bytes);

	assert_int_equal(inflight_map(&inflight, file, bytes, 0, 1, SIZE), 0);
	queue = inflight_queue(inflight, 0, SIZE);
	assert_null(inflight_queue(inflight, 1, SIZE));
	assert_null(inflight_queue(inflight, 0, SIZE * 2));
	assert_int_equal(inflight_recover(queue, SIZE, 100, heads, &counter), 0);
	inflight_take(queue, 5, 7);
	inflight_take(queue, 3, 8);
	inflight_take(queue, 9, 6);
	assert_int_equal(inflight_recover(queue, SIZE, 100, heads, &counter), 3);
	assert_int_equal(counter, 9);
	assert_int_equal(heads[0], 9);
	assert_int_equal(heads[1], 5);
	assert_int_equal(heads[2], 3);
	inflight_begin_used(queue, 5); /* and no further: it is not in the used ring */
	assert_int_equal(inflight_recover(queue, SIZE, 100, heads, &counter), 3);
	inflight_begin_used(queue, 5); /* in the used ring, not struck out */
	assert_int_equal(inflight_recover(queue, SIZE, 101, heads, &counter), 2);
	assert_int_equal(heads[0], 9);
	assert_int_equal(heads[1], 3);
	inflight_begin_used(queue, 3);
	inflight_end_used(queue, 3, 102);
	assert_int_equal(inflight_recover(queue, SIZE, 102, heads, &counter), 1);
	assert_int_equal(heads[0], 9);
	/* Nonsense: more answered than there are, a descriptor that is none, another version or size. */
	assert_int_equal(inflight_recover(queue, SIZE, 102 + SIZE + 1, heads, &counter), -EPROTO);
	queue->last_batch_head = SIZE;
	assert_int_equal(inflight_recover(queue, SIZE, 103, heads, &counter), -EPROTO);
	queue->last_batch_head = 0;
	assert_int_equal(inflight_recover(queue, SIZE / 2, 102, heads, &counter), -EPROTO);
	queue->version = 2;
	assert_int_equal(inflight_recover(queue, SIZE, 102, heads, &counter), -EPROTO);
	inflight_unmap(inflight);
	/* One that could shrink, or is too short, is not mapped. */
	assert_int_not_equal(inflight_map(&inflight, world.file, bytes, 0, 1, SIZE), 0);
	assert_int_not_equal(inflight_map(&inflight, file, bytes, PAGE_BYTES, 1, SIZE), 0);
	assert_int_not_equal(inflight_map(&inflight, file, bytes, 1, 1, SIZE), 0);
	assert_int_not_equal(inflight_map(&inflight, file, bytes, 0, 64, 1024), 0);
	assert_int_not_equal(inflight_map(&inflight, file, bytes, 0, 0, 0), 0);
	close(file);
}

static int world_end(void **state)
{
	frontend_close(&world.front);
	munmap(world.memory, MEMORY);
	close(world.file);
	return scratch_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_store_counts),
		cmocka_unit_test(a_death_before_any_access_loses_nothing),
		cmocka_unit_test(a_death_at_any_time_loses_nothing),
	};

	return cmocka_run_group_tests(tests, world_make, world_end);
}
