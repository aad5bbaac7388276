// SPDX-License-Identifier: GPL-2.0
/* The handover of a virtual machine's memory: whoever ends, the other says so, and no guest goes on alone; strangers at the socket. */
#include "tests/unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/vm/handover.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"
#include "tests/unit/amount.h"
#include "tests/unit/child.h"
#include "tests/unit/scratch.h"
#include "tests/unit/vm_world.h"

#define FUZZED amount(20011, 1009)

enum { FDS_MOST = 3 };

static void a_machine_runs_and_ends(void **state)
{
	struct vm_status status;
	struct stat socket;

	assert_int_equal(vm_handover_wait(vm.handover, 1), -ETIMEDOUT);
	assert_int_equal(stat(vm.socket, &socket), 0);
	assert_int_equal(socket.st_mode & 0777, 0600);
	vm_world_boot();
	vm_handover_status(vm.handover, &status);
	assert_int_equal(status.regions, 1);
	assert_false(status.kvm);
	vm_world_power_down();
	vm_handover_status(vm.handover, &status);
	assert_non_null(strstr(status.sentence, "tenant guest: QEMU fake (process "));
	assert_non_null(strstr(status.sentence, "has ended"));
	assert_int_equal(vm_handover_wait(vm.handover, 0), -EPIPE);
}

static void a_killed_machine_is_told(void **state)
{
	vm_world_boot();
	fake_qemu_ask(&vm.qemu, "write 0 1 1");
	kill(vm.qemu.pid, SIGKILL);
	assert_int_equal(vm_world_turned(VM_RUNS).state, VM_ENDED);
	assert_true(WIFSIGNALED(fake_qemu_end(&vm.qemu)));
	/* Its memory can still be evicted and read. */
	assert_int_equal(guest_memory_evict(vm.memory, VM_PAGE(1), EVICT_MAJOR), 0);
	assert_int_equal(*(__u64 *)guest_memory_cpu(vm.memory, VM_PAGE(1)), 1);
}

static void assert_killed_with_the_sentence(void)
{
	int status;

	/* Asked for nothing, told nothing: it ends by itself. */
	assert_string_equal(fake_qemu_reply(&vm.qemu), "");
	status = fake_qemu_end(&vm.qemu);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_non_null(strstr(vm.qemu.said, "the host of this machine's memory has gone"));
}

/* Also one whose threads wait for pages just then. */
static void a_machine_does_not_outlive_its_handover(void **state)
{
	vm_world_boot();
	fake_qemu_tell(&vm.qemu, "churn 3 1000003 67");
	for (__u64 i = 0; vm_world_stats().page_in_file < 101; i++)
		(void)guest_memory_evict(vm.memory, VM_PAGE(i % 67), EVICT_MAJOR);
	vm_handover_destroy(vm.handover);
	vm.handover = NULL;
	assert_killed_with_the_sentence();
}

/* A process that hosts the memory and evicts it until it is killed. */
static void host_run(int ready)
{
	const __u64 all = 67;

	if (vm_world_setup(NULL) || write(ready, "", 1) != 1)
		_exit(1);
	for (__u64 i = 0;; i++)
		(void)guest_memory_evict(vm.memory, VM_PAGE(i % all), EVICT_MAJOR);
}

static void a_killed_host_is_its_machines_end(void **state)
{
	struct random random = {29};

	for (unsigned int i = 0; i < amount(101, 7); i++) {
		int ready[2];
		pid_t host;
		char byte;

		assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
		host = child_fork();
		if (!host)
			host_run(ready[1]);
		close(ready[1]);
		assert_int_equal(read(ready[0], &byte, 1), 1);
		close(ready[0]);
		fake_qemu_start(&vm.qemu, vm.socket, NULL);
		assert_string_equal(fake_qemu_ask(&vm.qemu, "map %lu", VM_BYTES), "mapped");
		fake_qemu_tell(&vm.qemu, "churn 3 1000003 67");
		usleep((useconds_t)random_below(&random, 20000));
		kill(host, SIGKILL);
		assert_killed_with_the_sentence();
		assert_int_equal(waitpid(host, NULL, 0), host);
	}
	/* The socket that the last of them has left is nobody's. */
	assert_int_equal(vm_world_setup(NULL), 0);
	assert_int_equal(vm_world_teardown(NULL), 0);
}

static void a_second_machine_is_refused(void **state)
{
	struct fake_qemu second;

	vm_world_boot();
	for (int ended = 0; ended < 2; ended++) {
		if (ended)
			vm_world_power_down();
		fake_qemu_start(&second, vm.socket, NULL);
		assert_string_equal(fake_qemu_ask(&second, "map %lu", VM_BYTES), "refused 16");
		assert_int_equal(fake_qemu_end(&second), 0);
		assert_non_null(strstr(second.said, "is or was that of QEMU fake"));
	}
}

static void the_socket_is_one_machines(void **state)
{
	struct vm_handover_config config = {
		.memory = vm.memory, .socket = vm.socket, .tenant = "other"};
	struct vm_handover *other;
	char path[200];

	assert_int_equal(vm_handover_create(&other, &config), -EADDRINUSE);
	assert_int_equal(access(vm.socket, F_OK), 0);
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	config.socket = path;
	assert_int_equal(vm_handover_create(&other, &config), -ENAMETOOLONG);
	config.socket = "/proc/nowhere";
	assert_true(vm_handover_create(&other, &config) < 0);
	config.socket = "unused";
	config.plug_bytes = VM_BYTES;
	assert_int_equal(vm_handover_create(&other, &config), -EINVAL);
	assert_non_null(strstr(failure_text(), "tenant other"));
}

static int stranger(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int connected = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", vm.socket);
	assert_int_equal(connect(connected, (struct sockaddr *)&address, sizeof(address)), 0);
	return connected;
}

static void say_with(int connected, const void *bytes, size_t count, const int *fds,
		     size_t fd_count)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(FDS_MOST * sizeof(int))] = {0};
	struct iovec data = {(void *)bytes, count};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
	struct cmsghdr *header;

	if (fd_count) {
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
	}
	/* It may have been hung up already. */
	(void)!sendmsg(connected, &message, MSG_NOSIGNAL);
}

/* What it is answered, and a descriptor with it; 0: it was hung up. */
static ssize_t answer_of(int connected, struct vm_answer *answer, int *descriptor)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct iovec data = {answer, sizeof(*answer)};
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t got = recvmsg(connected, &message, MSG_CMSG_CLOEXEC);

	*descriptor = -1;
	if (CMSG_FIRSTHDR(&message))
		memcpy(descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	return got;
}

static struct vm_ask good_ask(void)
{
	return (struct vm_ask){{VM_MAGIC, VM_VERSION, VM_ASK, sizeof(struct vm_ask)}, VM_BYTES};
}

static void assert_hung_up(int connected)
{
	struct vm_answer answer;
	int descriptor;

	assert_true(answer_of(connected, &answer, &descriptor) <= 0);
	close(connected);
}

static unsigned int open_files(void)
{
	DIR *listing = opendir("/proc/self/fd");
	unsigned int count = 0;

	while (readdir(listing))
		count++;
	closedir(listing);
	return count;
}

static void what_is_no_message_is_hung_up(void **state)
{
	const int three[FDS_MOST] = {0, 1, 2};
	unsigned int before = open_files();
	struct {
		struct vm_ask ask;
		size_t bytes, fds;
		const char *words;
	} cases[] = {
		/* Of strangers: they are no reason to give up a QEMU that is awaited. */
		{good_ask(), 1, 0, NULL},
		{good_ask(), sizeof(struct vm_ask), 0, NULL},
		{good_ask(), sizeof(struct vm_message_header), 0, "accepted: 24"},
		{good_ask(), sizeof(struct vm_ask), 1, "with 1 descriptors"},
		{good_ask(), sizeof(struct vm_ask), 3, "with 3 descriptors"},
		{good_ask(), sizeof(struct vm_ask), 0, "of version 2"},
		{good_ask(), sizeof(struct vm_ask), 0, "of kind 2"},
		{good_ask(), sizeof(struct vm_ask), 0, "that says 23"},
	};

	cases[1].ask.header.magic ^= 1;
	cases[5].ask.header.version = 2;
	cases[6].ask.header.kind = VM_OFFER;
	cases[7].ask.header.bytes = 23;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int connected = stranger();

		say_with(connected, &cases[i].ask, cases[i].bytes, three, cases[i].fds);
		assert_hung_up(connected);
		if (cases[i].words)
			assert_non_null(
				strstr(vm_world_turned(VM_AWAITED).sentence, cases[i].words));
		else
			assert_int_equal(vm_handover_wait(vm.handover, 0), -ETIMEDOUT);
	}
	assert_int_equal(open_files(), before);
	/* It waits for a good one as before. */
	fake_qemu_start(&vm.qemu, vm.socket, NULL);
	assert_string_equal(fake_qemu_ask(&vm.qemu, "map %lu", VM_BYTES), "mapped");
	assert_int_equal(vm_world_turned(VM_REFUSED).state, VM_RUNS);
	vm_world_power_down();
}

static void a_region_that_was_not_offered_is_refused(void **state)
{
	const struct vm_region region = {
		{VM_MAGIC, VM_VERSION, VM_REGION, sizeof(region)}, 1ull << 40, VM_BYTES, 0};
	int connected = stranger(), nothing;
	struct vm_answer answer;

	say_with(connected, &region, sizeof(region), &connected, 1);
	assert_int_equal(answer_of(connected, &answer, &nothing), sizeof(answer));
	assert_int_equal(answer.error, -EPROTO);
	assert_non_null(strstr(answer.sentence, "offered: 0x0 at 0x0"));
	close(connected);
}

/* A region of what was offered, or of something else, with a descriptor that is none of userfaultfd. */
static void regions_that_are_none_are_refused(void **state)
{
	const struct vm_region good = {
		{VM_MAGIC, VM_VERSION, VM_REGION, sizeof(good)}, 1ull << 40, VM_BYTES, 0};
	struct vm_region regions[] = {good, good, good, good};
	unsigned int before = open_files();

	regions[1].bytes -= PAGE_BYTES;
	regions[2].offset = PAGE_BYTES;
	regions[3].base = ~0ull;
	for (size_t i = 0; i < COUNT(regions); i++) {
		int connected = stranger(), memory, nothing;
		struct vm_ask ask = good_ask();
		struct vm_answer answer;

		say_with(connected, &ask, sizeof(ask), NULL, 0);
		assert_int_equal(answer_of(connected, &answer, &memory), sizeof(answer));
		assert_int_equal(answer.error, 0);
		assert_true(memory >= 0);
		close(memory);
		say_with(connected, &regions[i], sizeof(regions[i]), &connected, 1);
		assert_int_equal(answer_of(connected, &answer, &nothing), sizeof(answer));
		assert_int_equal(nothing, -1);
		assert_true(answer.error == -EINVAL || answer.error == -EPROTO);
		close(connected);
	}
	fake_qemu_start(&vm.qemu, vm.socket, NULL);
	assert_string_equal(fake_qemu_ask(&vm.qemu, "map %lu", VM_BYTES), "mapped");
	vm_world_power_down();
	assert_true(open_files() <= before + 1); /* the view's userfaultfd */
}

static void fuzz_one(struct random *random)
{
	union {
		struct vm_ask ask;
		struct vm_region region;
		unsigned char bytes[64];
	} message = {.ask = good_ask()};
	size_t bytes = random_below(random, 2) ? sizeof(message.region) : sizeof(message.ask);
	int connected = stranger(), fds[FDS_MOST] = {connected, connected, connected};
	unsigned int messages = 1 + (unsigned int)random_below(random, 3);

	while (messages--) {
		message.region.header.kind = 1 + (__u32)random_below(random, 4);
		message.region.header.bytes = (__u32)bytes;
		for (unsigned int n = (unsigned int)random_below(random, 3); n; n--)
			message.bytes[random_below(random, bytes)] =
				(unsigned char)random_next(random);
		say_with(connected, message.bytes,
			 random_below(random, 8) ? bytes : random_below(random, sizeof(message)),
			 fds, random_below(random, FDS_MOST + 1));
	}
	close(connected);
}

/* Who came before is heard or gone by then. */
static void hear_that_it_is_taken(void)
{
	int connected = stranger(), nothing;
	struct vm_ask ask = good_ask();
	struct vm_answer answer;

	say_with(connected, &ask, sizeof(ask), NULL, 0);
	assert_int_equal(answer_of(connected, &answer, &nothing), sizeof(answer));
	assert_int_equal(answer.error, -EBUSY);
	close(connected);
}

static void a_thousand_strangers_do_no_harm(void **state)
{
	struct random random = {31};
	unsigned int before;

	vm_world_boot();
	before = open_files();
	for (unsigned int i = 0; i < FUZZED; i++)
		fuzz_one(&random);
	hear_that_it_is_taken();
	/* Who runs is served all the while. */
	fake_qemu_ask(&vm.qemu, "write 0 1 71");
	assert_int_equal(guest_memory_evict(vm.memory, VM_PAGE(1), EVICT_MAJOR), 0);
	assert_string_equal(fake_qemu_ask(&vm.qemu, "read 0 1"), "71");
	vm_world_power_down();
	assert_true(open_files() <= before);
}

static void strangers_before_it_do_no_harm(void **state)
{
	struct random random = {37};

	for (unsigned int i = 0; i < FUZZED; i++)
		fuzz_one(&random);
	fake_qemu_start(&vm.qemu, vm.socket, NULL);
	assert_string_equal(fake_qemu_ask(&vm.qemu, "map %lu", VM_BYTES), "mapped");
	vm_world_power_down();
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, vm_world_setup, vm_world_teardown)

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(a_machine_runs_and_ends),
		IN_WORLD(a_killed_machine_is_told),
		IN_WORLD(a_machine_does_not_outlive_its_handover),
		cmocka_unit_test(a_killed_host_is_its_machines_end),
		IN_WORLD(a_second_machine_is_refused),
		IN_WORLD(the_socket_is_one_machines),
		IN_WORLD(what_is_no_message_is_hung_up),
		IN_WORLD(a_region_that_was_not_offered_is_refused),
		IN_WORLD(regions_that_are_none_are_refused),
		IN_WORLD(a_thousand_strangers_do_no_harm),
		IN_WORLD(strangers_before_it_do_no_harm),
	};

	fake_qemu_main(count, arguments);
	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
