// SPDX-License-Identifier: GPL-2.0
/* Processes of guests: what they have, what they have not, how they end, and a whole guest in one that is killed. */
#include "tests/unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/emu/hyv/guest_process.h"
#include "injectors/emu/hyv/kernel_pins.h"
#include "injectors/guest/guest_open.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"
#include "tests/unit/guest_host.h"

static const char *output_of(struct guest_process *process)
{
	size_t size;

	return guest_process_output(process, &size);
}

static int end_status(struct guest_process *process)
{
	int status;

	assert_int_equal(guest_process_wait(process, 10 * SECOND, &status), 0);
	return status;
}

static void some_sockets(int sockets[2], int others[2])
{
	for (int i = 0; i < 2; i++) {
		int ends[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
		sockets[i] = ends[0];
		others[i] = ends[1];
	}
}

/* What it has: printed. */
static int tell(void *argument, const int *sockets, __u32 count)
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;

	printf("%s %u uid=%d session=%d:", (char *)argument, count, (int)geteuid(),
	       getsid(0) == getpid());
	while ((entry = readdir(directory)))
		if (atoi(entry->d_name) > 2 && atoi(entry->d_name) != dirfd(directory))
			printf(" %s", entry->d_name);
	closedir(directory);
	fprintf(stderr, " and errors\n");
	return send(sockets[1], "x", 1, 0) == 1 ? 7 : 8;
}

static void a_function_has_its_sockets_and_nothing_else(void **state)
{
	int sockets[2], others[2];
	struct guest_process_config config = {.name = "told",
					      .sockets = sockets,
					      .socket_count = 2,
					      .run = tell,
					      .argument = (void *)"guest",
					      .network = -1};
	struct guest_process *process;
	char byte;

	some_sockets(sockets, others);
	assert_int_equal(guest_process_start(&process, &config), 0);
	assert_int_equal(recv(others[1], &byte, 1, 0), 1);
	assert_int_equal(WEXITSTATUS(end_status(process)), 7);
	assert_true(strstr(output_of(process), " and errors") != NULL);
	assert_true(strstr(output_of(process), "guest 2 uid=65534 session=1: 3 4") != NULL);
	/* Its ends are its own: with it they are gone. */
	assert_int_equal(recv(others[0], &byte, 1, 0), 0);
	guest_process_free(process);
	close(others[0]);
	close(others[1]);
}

static void a_program_is_told_of_them(void **state)
{
	int sockets[2], others[2];
	struct guest_process_config config = {
		.name = "program",
		.sockets = sockets,
		.socket_count = 2,
		.network = -1,
		.program = "sh -c 'echo got $FAULTLINE_VERBS; ls /proc/self/fd | wc -w; exit 3'"};
	struct guest_process *process;

	some_sockets(sockets, others);
	assert_int_equal(guest_process_start(&process, &config), 0);
	assert_int_equal(WEXITSTATUS(end_status(process)), 3);
	/* Standard ones, two sockets, and the directory's. */
	assert_string_equal(output_of(process), "got 3,4\n6\n");
	guest_process_free(process);
	close(others[0]);
	close(others[1]);
}

static void what_cannot_be_run_is_told(void **state)
{
	struct guest_process_config config = {
		.name = "none", .network = -1, .program = "no-such-program-here"};
	struct guest_process *process;

	assert_int_equal(guest_process_start(&process, &config), -ENOENT);
	assert_true(strstr(failure_text(), "guest none: no-such-program-here") != NULL);
	config.program = "true";
	config.library = "/no/such/library.so";
	assert_int_equal(guest_process_start(&process, &config), -ENOENT);
	assert_true(strstr(failure_text(), "/no/such/library.so") != NULL);
}

static int sleep_on(void *argument, const int *sockets, __u32 count)
{
	while (pause())
		;
	return 0;
}

static int kill_itself(void *argument, const int *sockets, __u32 count)
{
	return kill(getpid(), SIGKILL);
}

/* Before anybody has waited for it, and afterwards. */
static void its_status_is_told_whoever_waits_for_it(void **state)
{
	struct guest_process_config config = {.name = "ends", .network = -1};
	struct guest_process *process;
	int status, descriptor;

	for (int killed = 0; killed < 2; killed++) {
		int want = killed ? SIGKILL : 3 << 8;

		config.program = killed ? NULL : "sh -c 'exit 3'";
		config.run = killed ? kill_itself : NULL;
		assert_int_equal(guest_process_start(&process, &config), 0);
		descriptor = (int)syscall(SYS_pidfd_open, guest_process_pid(process), 0);
		assert_true(descriptor >= 0);
		for (int waited = 0; waited < 2; waited++) {
			status = -1;
			assert_int_equal(guest_process_status(guest_process_pid(process),
							      descriptor, 10 * SECOND, &status),
					 0);
			assert_int_equal(status, want);
			assert_int_equal(end_status(process), want);
		}
		close(descriptor);
		guest_process_free(process);
	}
}

static void one_that_goes_on_has_no_status(void **state)
{
	struct guest_process_config config = {.name = "sleeper", .network = -1, .run = sleep_on};
	struct guest_process *process;
	int status = -1, descriptor;

	assert_int_equal(guest_process_start(&process, &config), 0);
	descriptor = (int)syscall(SYS_pidfd_open, guest_process_pid(process), 0);
	assert_int_equal(guest_process_status(guest_process_pid(process), descriptor, 0, &status),
			 -ETIMEDOUT);
	assert_int_equal(status, -1);
	close(descriptor);
	guest_process_free(process);
}

static void one_is_stopped_with_all_that_it_has_started(void **state)
{
	struct guest_process_config config = {
		.name = "sleeper", .network = -1, .program = "sh -c 'sleep 1000 & echo $!; wait'"};
	struct guest_process *process;
	__u64 deadline_ns = monotonic_ns() + 10 * SECOND;
	pid_t child;

	assert_int_equal(guest_process_start(&process, &config), 0);
	assert_int_equal(guest_process_wait(process, 0, NULL), -ETIMEDOUT);
	while (!strchr(output_of(process), '\n'))
		assert_true(monotonic_ns() < deadline_ns);
	child = atoi(output_of(process));
	assert_true(child > 0);
	guest_process_stop(process);
	guest_process_stop(process);
	while (!kill(child, 0))
		assert_true(monotonic_ns() < deadline_ns);
	assert_int_equal(WTERMSIG(end_status(process)), SIGKILL);
	guest_process_free(process);
}

/* In a process of its own, which is killed. */
static void a_guest_ends_with_its_machine(void **state)
{
	__u64 deadline_ns = monotonic_ns() + 10 * SECOND;
	pid_t *guest = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t machine = fork();

	if (!machine) {
		struct guest_process_config config = {
			.name = "guest", .run = sleep_on, .network = -1};
		struct guest_process *process;

		if (!guest_process_start(&process, &config))
			__atomic_store_n(guest, guest_process_pid(process), __ATOMIC_RELEASE);
		for (;;)
			pause();
	}
	while (!__atomic_load_n(guest, __ATOMIC_ACQUIRE))
		assert_true(monotonic_ns() < deadline_ns);
	assert_int_equal(kill(*guest, 0), 0);
	kill(machine, SIGKILL);
	waitpid(machine, NULL, 0);
	while (!kill(*guest, 0))
		assert_true(monotonic_ns() < deadline_ns);
	munmap(guest, 4096);
}

static void what_is_printed_has_a_bound(void **state)
{
	struct guest_process_config config = {.name = "printer", .network = -1, .program = "yes"};
	struct guest_process *process;
	size_t size;

	assert_int_equal(guest_process_start(&process, &config), 0);
	assert_true(WIFEXITED(end_status(process)));
	(void)guest_process_output(process, &size);
	assert_int_equal(size, 4u << 20);
	guest_process_free(process);
}

struct working {
	_Atomic __u64 registered; /* regions that it has ever made */
};

/* Registers memory of every kind until it is killed. */
static int register_on(void *argument, const int *sockets, __u32 count)
{
	struct working *working = argument;
	struct verbs_device *device;
	struct guest_mr regions[4];
	unsigned char *memory;
	__u64 address;

	if (guest_open(&device, sockets[0]))
		return 1;
	memory = malloc(20 * 4096);
	for (int i = 0;; i++) {
		void *at =
			i % 2 ? memory + 4096 * (i % 16) : guest_allocate(device, 4096, &address);

		if (i >= 4 && guest_dereg_mr(device, &regions[i % 4]))
			return 2;
		if (!at || guest_reg_mr(device, &regions[i % 4], 0, at, 4096, (__u64)at,
					VERBS_PINNED, VERBS_LOCAL_WRITE))
			return 3;
		if (i % 2 == 0)
			guest_free(device, at, 4096);
		atomic_fetch_add(&working->registered, 1);
	}
}

static void a_guest_can_be_killed_at_any_instant(void **state)
{
	struct working *working =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct random random = {3};
	__u64 worked = 0;

	for (int round = 0; round < 40; round++) {
		static struct guest_host host;
		struct guest_process_config config = {.name = "worker",
						      .socket_count = 1,
						      .run = register_on,
						      .argument = working,
						      .network = -1};
		struct guest_process *process;
		int status;

		atomic_store(&working->registered, 0);
		guest_host_init(&host, RDMA_MODE_HYBRID);
		config.sockets = &host.guest_socket;
		guest_host_start(&host);
		assert_int_equal(guest_process_start(&process, &config), 0);
		while (round % 4 && !atomic_load(&working->registered) &&
		       guest_process_wait(process, MS, &status))
			;
		usleep((unsigned int)(random_next(&random) % 3000));
		guest_process_stop(process);
		status = end_status(process);
		if (!WIFSIGNALED(status))
			print_error("%s (status 0x%x)\n", output_of(process), status);
		assert_true(WIFSIGNALED(status));
		worked += atomic_load(&working->registered);
		guest_process_free(process);
		guest_host_destroy(&host);
	}
	/* In three of four rounds there was one before the kill. */
	assert_true(worked >= 30);
	munmap(working, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_has_its_sockets_and_nothing_else),
		cmocka_unit_test(a_program_is_told_of_them),
		cmocka_unit_test(what_cannot_be_run_is_told),
		cmocka_unit_test(its_status_is_told_whoever_waits_for_it),
		cmocka_unit_test(one_that_goes_on_has_no_status),
		cmocka_unit_test(one_is_stopped_with_all_that_it_has_started),
		cmocka_unit_test(a_guest_ends_with_its_machine),
		cmocka_unit_test(what_is_printed_has_a_bound),
		cmocka_unit_test(a_guest_can_be_killed_at_any_instant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
