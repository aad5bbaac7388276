// SPDX-License-Identifier: GPL-2.0
/* Machines that are not met, wholly or in part, and in the end or for now: that is said, not passed over. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/emu/registry.h"
#include "injectors/emu/registry_observers.h"
#include "injectors/emu/registry_socket.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/run_directory.h"
#include "lib/capture/machines.h"
#include "lib/capture/observer.h"
#include "tests/unit/scratch.h"

#define WATCHED 512
#define BEYOND	3

#define KILLED 5

#define DELIVERIES 16

static unsigned int refusals, devices, deliveries;
static __u64 delivered[DELIVERIES];
static char reason[REASON_TEXT];
static int directory;

static int setup(void **state)
{
	struct rlimit files = {2048, 4096};

	assert_int_equal(run_scratch_make(state), 0);
	directory = open(run_scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return directory < 0 || setrlimit(RLIMIT_NOFILE, &files);
}

static int teardown(void **state)
{
	close(directory);
	return run_scratch_remove(state);
}

static int trust(void *self, __u32 pid, int executable)
{
	(void)self;
	(void)pid;
	(void)executable;
	return 0;
}

static void leave(void *self, int binary)
{
	(void)self;
	(void)binary;
}

static void refused(void *self)
{
	(void)self;
	refusals++;
	snprintf(reason, sizeof(reason), "%s", failure_text());
}

static __u32 device(void *self, const struct hello *hello, const struct hello_device *entered)
{
	(void)self, (void)hello, (void)entered;
	return ++devices;
}

static int take_access(void *self, __u32 pid, const struct capture_machine_device *of,
		       const struct access_record *record)
{
	(void)self, (void)pid, (void)of;
	delivered[deliveries++ % DELIVERIES] = record->time_ns;
	return 0;
}

static __u64 watched_since_ns;

static int gone(void *self, __u32 pid, __u64 start_time)
{
	(void)self, (void)pid, (void)start_time;
	return 0;
}

static __u64 watched_since(void *self, int binary)
{
	(void)self, (void)binary;
	return watched_since_ns;
}

static const struct machines_ops ops = {.trust = trust,
					.leave = leave,
					.watched_since = watched_since,
					.refused = refused,
					.device = device,
					.access = take_access,
					.gone = gone};

static void more_machines_than_can_be_watched_are_told(void **state)
{
	static int listening[WATCHED + BEYOND];
	struct machines *machines;
	struct loss_info loss;
	char name[32];

	for (int i = 0; i < WATCHED + BEYOND; i++) {
		snprintf(name, sizeof(name), "%d%s", i + 1, RUN_MACHINE_SUFFIX);
		listening[i] = registry_socket_listen(directory, name);
		assert_true(listening[i] >= 0);
	}
	assert_int_equal(machines_create(&machines, &ops, NULL), 0);
	assert_int_equal(machines_poll(machines, monotonic_ns()), 0);
	machines_loss(machines, &loss);
	assert_int_equal(machines_count(machines), WATCHED);
	assert_int_equal(loss.machines_unknown, BEYOND);
	/* None of them has said a word to us, connected or not. */
	for (int i = 0; i < WATCHED + BEYOND; i++)
		close(listening[i]);
	assert_int_equal(machines_poll(machines, monotonic_ns()), 0);
	assert_int_equal(machines_count(machines), 0);
	assert_int_equal(machines_poll(machines, monotonic_ns() + NSEC_PER_SEC), 0);
	machines_loss(machines, &loss);
	assert_int_equal(loss.machines_unknown, WATCHED + BEYOND);
	machines_destroy(machines);
}

/* More wait for it than it has room for: it is asked again, and one that is met is missed no more. */
static void one_that_has_no_room_for_us_at_once_is_met_later(void **state)
{
	int listening = registry_socket_listen(directory, "7" RUN_MACHINE_SUFFIX), others[2];
	__u64 now = monotonic_ns();
	struct machines *machines;
	struct loss_info loss;

	assert_return_code(listen(listening, 0), errno);
	others[0] = hello_connect(directory, "7" RUN_MACHINE_SUFFIX);
	assert_true(others[0] >= 0);
	assert_int_equal(hello_connect(directory, "7" RUN_MACHINE_SUFFIX), -EAGAIN);
	assert_int_equal(machines_create(&machines, &ops, NULL), 0);
	assert_int_equal(machines_poll(machines, now), 0);
	assert_int_equal(machines_count(machines), 0);
	machines_loss(machines, &loss);
	assert_int_equal(loss.machines_unknown, 1);
	others[1] = accept(listening, NULL, NULL);
	assert_true(others[1] >= 0);
	assert_int_equal(machines_poll(machines, now + NSEC_PER_SEC), 0);
	assert_int_equal(machines_count(machines), 1);
	machines_loss(machines, &loss);
	assert_int_equal(loss.machines_unknown, 0);
	machines_destroy(machines);
	for (int i = 0; i < 2; i++)
		close(others[i]);
	close(listening);
	unlinkat(directory, "7" RUN_MACHINE_SUFFIX, 0);
}

/* It begins, tells so, and is killed before it can be met. */
static pid_t killed_machine(void)
{
	struct registry_observers observers = {0};
	pid_t child = fork();

	if (!child) {
		registry_observers_tell_begin(&observers, directory);
		raise(SIGKILL);
	}
	return child;
}

static void killed_machines_are_counted_once_and_forgotten(void **state)
{
	struct registry_observers lives = {0};
	struct machines *machines;
	struct loss_info loss;
	assert_int_equal(machines_create(&machines, &ops, NULL), 0);
	assert_int_equal(registry_observers_tell_begin(&lives, directory), 0);
	for (int i = 0; i < KILLED; i++)
		assert_int_equal(waitpid(killed_machine(), NULL, 0) > 0, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(machines_poll(machines, monotonic_ns()), 0);
	machines_loss(machines, &loss);
	assert_int_equal(loss.machines_unknown, KILLED);
	registry_observers_tell_end(&lives, 31);
	assert_int_equal(machines_poll(machines, monotonic_ns()), 0);
	assert_int_equal(machines_finish(machines), 0);
	machines_loss(machines, &loss);
	assert_int_equal(loss.machines_unknown, KILLED);
	assert_int_equal(loss.machines_missed, 1);
	assert_int_equal(loss.access_missed, 31);
	machines_destroy(machines);
}

/* Room that ends in the middle of what a machine tells: what comes when there is some again is understood. */
static void a_full_run_directory_garbles_no_account(void **state)
{
	const struct rlimit page = {4096, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
	struct registry_observers told = {0}, untold = {0};
	struct machines *machines;
	struct loss_info loss;
	int begun = 0;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(machines_create(&machines, &ops, NULL), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &page), 0);
	while (!registry_observers_tell_begin(&told, directory)) {
		registry_observers_tell_end(&told, 0);
		begun++;
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	assert_true(begun > 0);
	close(told.fds[0]);
	assert_int_equal(registry_observers_tell_begin(&untold, directory), 0);
	registry_observers_tell_end(&untold, 43);
	for (int i = 0; i < 3; i++)
		assert_int_equal(machines_poll(machines, monotonic_ns()), 0);
	machines_loss(machines, &loss);
	assert_int_equal(loss.access_missed, 43);
	assert_int_equal(loss.machines_missed + loss.machines_unknown, begun + 1);
	machines_destroy(machines);
}

/* Recorders that were killed have left more than a machine tells, whichever it finds first. */
static void dead_observers_keep_nobody_from_being_told(void **state)
{
	const struct registry_device device = {
		.tenant = "vm", .name = "disk", .model = "block", .queues = 1};
	int ring = memfd_create("ring", MFD_CLOEXEC);
	struct registry *registry;
	struct machines *machines;
	struct loss_info loss;
	char name[32];

	for (int i = 0; i < 2 * OBSERVERS_MAX; i++) {
		if (i == OBSERVERS_MAX)
			assert_int_equal(machines_create(&machines, &ops, NULL), 0);
		snprintf(name, sizeof(name), "%d%s", i, RUN_OBSERVER_SUFFIX);
		close(openat(directory, name, O_RDWR | O_CREAT, 0600));
	}
	assert_int_equal(registry_open(&registry, &device, 1, ring), 0);
	registry_close(registry, 1013);
	assert_int_equal(machines_poll(machines, monotonic_ns()), 0);
	machines_loss(machines, &loss);
	assert_int_equal(loss.machines_missed, 1);
	assert_int_equal(loss.access_missed, 1013);
	machines_destroy(machines);
	close(ring);
}

/* A machine tells OBSERVERS_MAX: one more says that it has no account, and takes nobody's place. */
static void one_recorder_too_many_has_no_account(void **state)
{
	struct observer *observers[OBSERVERS_MAX], *late;
	struct machines *machines;

	for (int i = 0; i < OBSERVERS_MAX; i++)
		assert_int_equal(observer_open(&observers[i]), 0);
	assert_int_equal(observer_open(&late), -EUSERS);
	assert_null(late);
	assert_int_equal(machines_create(&machines, &ops, NULL), 0);
	assert_non_null(strstr(machines_no_account(machines), "64 recorders watch"));
	machines_destroy(machines);
	observer_close(observers[17]);
	assert_int_equal(observer_open(&observers[17]), 0);
	for (int i = 0; i < OBSERVERS_MAX; i++)
		observer_close(observers[i]);
}

/* A machine of this very process whose ring is no ring. */
static void meet_machine_without_log(struct machines **machines, bool before,
				     struct loss_info *loss)
{
	const struct registry_device device = {
		.tenant = "vm", .name = "disk", .model = "block", .queues = 1};
	int ring = memfd_create("ring", MFD_CLOEXEC);
	struct registry *registry;
	__u64 now = monotonic_ns();

	refusals = devices = 0;
	if (!before)
		assert_int_equal(machines_create(machines, &ops, NULL), 0);
	assert_int_equal(registry_open(&registry, &device, 1, ring), 0);
	if (before)
		assert_int_equal(machines_create(machines, &ops, NULL), 0);
	while (!refusals)
		assert_int_equal(machines_poll(*machines, now += NSEC_PER_SEC), 0);
	assert_int_equal(devices, 1);
	assert_non_null(strstr(reason, "access log: is not sealed"));
	registry_close(registry, 1009);
	while (machines_count(*machines))
		assert_int_equal(machines_poll(*machines, now += NSEC_PER_SEC), 0);
	machines_loss(*machines, loss);
	assert_int_equal(refusals, 1);
	close(ring);
}

static void without_its_log_a_machine_is_not_met(void **state)
{
	struct machines *machines;
	struct loss_info loss;

	meet_machine_without_log(&machines, false, &loss);
	assert_int_equal(loss.machines_missed, 1);
	assert_int_equal(loss.access_missed, 1009);
	assert_int_equal(loss.machines_unknown, 0);
	machines_destroy(machines);
	/* One that told nobody that it began. */
	meet_machine_without_log(&machines, true, &loss);
	assert_int_equal(loss.machines_missed, 0);
	assert_int_equal(loss.machines_unknown, 1);
	machines_destroy(machines);
}

/* Nobody polls while it waits for us: it works, and its probes are attached afterwards. */
static void one_that_works_before_it_is_watched_is_a_floor(void **state)
{
	const struct registry_device device = {
		.tenant = "vm", .name = "disk", .model = "block", .queues = 1};
	int ring = memfd_create("ring", MFD_CLOEXEC);
	struct machines *machines;
	struct registry *registry;
	struct loss_info loss;

	for (int late = 0; late <= 1; late++) {
		refusals = 0;
		assert_int_equal(machines_create(&machines, &ops, NULL), 0);
		watched_since_ns = monotonic_ns();
		assert_int_equal(registry_open(&registry, &device, 1, ring), 0);
		if (late)
			watched_since_ns = monotonic_ns();
		while (!refusals)
			assert_int_equal(machines_poll(machines, monotonic_ns()), 0);
		machines_loss(machines, &loss);
		assert_int_equal(loss.machines_unknown, late);
		assert_int_equal(refusals, 1 + late);
		registry_close(registry, 0);
		machines_destroy(machines);
	}
	assert_non_null(strstr(reason, "before its probes were attached"));
	close(ring);
}

/* The account alone: machines that are never met, in any order, with and without a total. */
static void machines_that_are_not_met_are_counted(void **state)
{
	struct registry_observers observers[7] = {0};
	struct machines *machines;
	struct loss_info loss;

	assert_int_equal(machines_create(&machines, &ops, NULL), 0);
	for (int i = 0; i < 7; i++) {
		assert_int_equal(registry_observers_tell_begin(&observers[i], directory), 0);
		assert_int_equal(observers[i].count, 1);
		assert_int_equal(registry_observers_alive(&observers[i]), 1);
	}
	for (int i = 6; i >= 2; i--)
		registry_observers_tell_end(&observers[i], 1000 + (unsigned int)i);
	assert_int_equal(machines_poll(machines, monotonic_ns()), 0);
	machines_loss(machines, &loss);
	assert_int_equal(loss.machines_missed, 5);
	assert_int_equal(loss.access_missed, 5000 + 2 + 3 + 4 + 5 + 6);
	assert_int_equal(loss.machines_unknown, 0);
	assert_int_equal(machines_finish(machines), 0);
	machines_loss(machines, &loss);
	assert_int_equal(loss.machines_missed, 5);
	assert_int_equal(loss.machines_unknown, 2);
	machines_destroy(machines);
	/* Nobody waits for an observer that has gone, and telling it harms nobody. */
	assert_int_equal(registry_observers_alive(&observers[0]), 0);
	registry_observers_tell_end(&observers[0], 1);
	registry_observers_tell_end(&observers[1], 1);
}

#define RING_RECORDS 16

static void publish(struct access_ring *ring, __u64 time_ns)
{
	ring->reserved++;
	ring->records[ring->head & (RING_RECORDS - 1)] = (struct access_record){
		.time_ns = time_ns, .address = 4096, .length = 512, .flags = EVENT_READ};
	ring->head++;
}

static struct access_ring *make_ring(int *fd)
{
	size_t bytes = sizeof(struct access_ring) + RING_RECORDS * sizeof(struct access_record);
	struct access_ring *ring;

	*fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(*fd, (off_t)bytes), 0);
	ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	assert_ptr_not_equal(ring, MAP_FAILED);
	ring->magic = ACCESS_LOG_MAGIC;
	ring->capacity = RING_RECORDS;
	ring->record_size = sizeof(struct access_record);
	assert_int_equal(fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	return ring;
}

/* A recorder younger than the machine; what it was given as bits, one a time in tens. */
static int recorder_of(struct access_ring *ring, bool greets)
{
	struct machines *machines;
	int bits = 0;

	alarm(60); /* who never gets a hello fails */
	if (machines_create(&machines, &ops, NULL))
		return 255;
	if (greets)
		while (!devices)
			machines_greet(machines);
	publish(ring, 20); /* before all programs were let go, and since */
	publish(ring, 30);
	publish(ring, 40);
	do
		if (machines_poll(machines, 25))
			return 255;
	while (!devices);
	publish(ring, 50);
	if (machines_poll(machines, 60))
		return 255;
	for (unsigned int i = 0; i < deliveries && i < DELIVERIES; i++)
		bits |= 1 << delivered[i] / 10;
	machines_destroy(machines);
	return bits;
}

/* From the moment when all programs were let go (25) nothing is passed over, whenever the hello comes. */
static void a_machine_of_old_is_read_from_the_beginning(void **state)
{
	const struct registry_device device = {
		.tenant = "vm", .name = "disk", .model = "block", .queues = 1};

	for (int greets = 0; greets < 2; greets++) {
		struct registry *registry;
		int fd, status;
		struct access_ring *ring = make_ring(&fd);
		pid_t child;

		publish(ring, 10);
		devices = deliveries = 0;
		assert_int_equal(registry_open(&registry, &device, 1, fd), 0);
		usleep(30000); /* of a process a tick younger */
		child = fork();
		if (!child)
			_exit(recorder_of(ring, greets));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		/* Greeted, all that comes is its own; who takes it knows what was before. */
		assert_int_equal(WEXITSTATUS(status),
				 1 << 3 | 1 << 4 | 1 << 5 | (greets ? 1 << 2 : 0));
		registry_close(registry, 5);
		munmap(ring, sizeof(*ring) + RING_RECORDS * sizeof(ring->records[0]));
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine_of_old_is_read_from_the_beginning),
		cmocka_unit_test(one_that_works_before_it_is_watched_is_a_floor),
		cmocka_unit_test(machines_that_are_not_met_are_counted),
		cmocka_unit_test(more_machines_than_can_be_watched_are_told),
		cmocka_unit_test(one_that_has_no_room_for_us_at_once_is_met_later),
		cmocka_unit_test(a_full_run_directory_garbles_no_account),
		cmocka_unit_test(dead_observers_keep_nobody_from_being_told),
		cmocka_unit_test(one_recorder_too_many_has_no_account),
		cmocka_unit_test(killed_machines_are_counted_once_and_forgotten),
		cmocka_unit_test(without_its_log_a_machine_is_not_met),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
