// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
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

#include "injectors/emu/registry.h"
#include "lib/base/fail.h"
#include "lib/capture/access_log.h"
#include "tests/unit/child.h"
#include "tests/unit/scratch.h"

#define RING_TEXT "the ring"

static int ring;

static int setup(void **state)
{
	assert_int_equal(run_scratch_make(state), 0);
	ring = memfd_create("ring", MFD_CLOEXEC);
	assert_int_equal(write(ring, RING_TEXT, sizeof(RING_TEXT)), sizeof(RING_TEXT));
	return 0;
}

static int teardown(void **state)
{
	close(ring);
	return run_scratch_remove(state);
}

static void machine_path(char *path, size_t bytes, pid_t pid)
{
	snprintf(path, bytes, "%s/%d.machine", run_scratch, pid);
}

static int try_connect(pid_t pid)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	machine_path(address.sun_path, sizeof(address.sun_path), pid);
	if (!connect(client, (struct sockaddr *)&address, sizeof(address)))
		return client;
	close(client);
	return -errno;
}

/* Receives the hello and, beside it, the ring. */
static json_t *receive_hello(int client, int *descriptor)
{
	static char text[HELLO_MAX];
	union {
		char buffer[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {text, sizeof(text)};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.buffer,
				 .msg_controllen = sizeof(control.buffer)};
	ssize_t bytes = recvmsg(client, &message, MSG_CMSG_CLOEXEC);

	assert_true(bytes > 0);
	assert_int_equal(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC), 0);
	assert_int_equal(CMSG_FIRSTHDR(&message)->cmsg_type, SCM_RIGHTS);
	memcpy(descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	return json_loadb(text, (size_t)bytes, 0, NULL);
}

static void fill_devices(struct registry_device *devices, __u32 count)
{
	for (__u32 i = 0; i < count; i++) {
		devices[i] = (struct registry_device){
			.model = "block", .queues = 3, .pasid = 1u << 31, .memory = 64ull << 30};
		/* The first has none. */
		devices[i].network_guest = i ? UINT32_MAX - 2 * i : 0;
		devices[i].network_wire = i ? UINT32_MAX - 2 * i - 1 : 0;
		snprintf(devices[i].tenant, sizeof(devices[i].tenant), "tenant%u", i);
		snprintf(devices[i].name, sizeof(devices[i].name), "tenant%u/disk0", i);
	}
}

/* A hello for `count` devices, end to end. */
static void check_hello(__u32 count)
{
	struct registry_device *devices = calloc(count, sizeof(*devices));
	struct registry *registry;
	json_t *hello, *last, *networks;
	char text[32] = "";
	int client, received;

	fill_devices(devices, count);
	assert_int_equal(registry_open(&registry, devices, count, ring), 0);
	free(devices);
	client = try_connect(getpid());
	assert_true(client >= 0);
	hello = receive_hello(client, &received);
	assert_non_null(hello);
	assert_int_equal(json_integer_value(json_object_get(hello, "pid")), getpid());
	assert_true(json_integer_value(json_object_get(hello, "start_time")) > 0);
	assert_int_equal(json_array_size(json_object_get(hello, "devices")), count);
	last = json_array_get(json_object_get(hello, "devices"), count - 1);
	assert_int_equal(json_integer_value(json_object_get(last, "index")), count - 1);
	assert_int_equal(json_integer_value(json_object_get(last, "queues")), 3);
	assert_true(json_integer_value(json_object_get(last, "pasid")) == 1u << 31);
	assert_true(json_integer_value(json_object_get(last, "memory")) == 64ll << 30);
	networks = json_object_get(last, "networks");
	assert_int_equal(json_array_size(networks), count > 1 ? 2 : 0);
	for (size_t i = 0; i < json_array_size(networks); i++)
		assert_int_equal(json_integer_value(json_array_get(networks, i)),
				 UINT32_MAX - 2 * (count - 1) - i);
	assert_null(
		json_object_get(json_array_get(json_object_get(hello, "devices"), 0), "networks"));
	json_decref(hello);
	assert_int_equal(pread(received, text, sizeof(text), 0), sizeof(RING_TEXT));
	assert_string_equal(text, RING_TEXT);
	close(received);

	/* Silent until the machine ends, and then at its end. */
	assert_int_equal(recv(client, text, sizeof(text), MSG_DONTWAIT), -1);
	registry_close(registry, 0);
	assert_int_equal(recv(client, text, sizeof(text), 0), 0);
	close(client);
	assert_int_equal(try_connect(getpid()), -ENOENT);
}

static void client_gets_hello_and_ring(void **state)
{
	check_hello(1);
}

static void hello_of_the_largest_machine_fits(void **state)
{
	check_hello(4096);
}

static void second_machine_of_a_process_is_refused(void **state)
{
	struct registry *first, *second;
	struct registry_device device;
	int client;

	fill_devices(&device, 1);
	assert_int_equal(registry_open(&first, &device, 1, ring), 0);
	assert_int_equal(registry_open(&second, &device, 1, ring), -EEXIST);
	/* The first one is still there. */
	client = try_connect(getpid());
	assert_true(client >= 0);
	close(client);
	registry_close(first, 0);
}

/* Runs a machine in a child until it is killed. */
static pid_t machine_process(void)
{
	struct registry_device device;
	struct registry *registry;
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = child_fork();
	if (!child) {
		fill_devices(&device, 1);
		if (registry_open(&registry, &device, 1, ring))
			_exit(1);
		if (write(ready[1], "r", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void killed_machines_are_reaped_and_live_ones_kept(void **state)
{
	pid_t dead = machine_process(), live = machine_process();
	char path[128];
	int client;

	assert_int_equal(registry_remove_stale(), 0);
	kill(dead, SIGKILL);
	waitpid(dead, NULL, 0);
	machine_path(path, sizeof(path), dead);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(registry_remove_stale(), 1);
	assert_int_equal(access(path, F_OK), -1);
	client = try_connect(live);
	assert_true(client >= 0);
	close(client);
	kill(live, SIGKILL);
	waitpid(live, NULL, 0);
	assert_int_equal(registry_remove_stale(), 1);
}

static void starting_reaps_too(void **state)
{
	pid_t dead = machine_process();
	struct registry_device device;
	struct registry *registry;
	char path[128];

	kill(dead, SIGKILL);
	waitpid(dead, NULL, 0);
	fill_devices(&device, 1);
	assert_int_equal(registry_open(&registry, &device, 1, ring), 0);
	machine_path(path, sizeof(path), dead);
	assert_int_equal(access(path, F_OK), -1);
	registry_close(registry, 0);
}

static void clients_that_come_and_go_do_no_harm(void **state)
{
	struct registry_device device;
	struct registry *registry;
	int clients[200], received;

	fill_devices(&device, 1);
	assert_int_equal(registry_open(&registry, &device, 1, ring), 0);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 200; i++)
			clients[i] = try_connect(getpid());
		for (int i = 0; i < 200; i++) {
			/* One that talks out of turn loses its connection only. */
			if (i % 3 == 0)
				(void)send(clients[i], "x", 1, MSG_NOSIGNAL);
			close(clients[i]);
		}
	}
	/* Once they are gone there is room again. */
	for (;;) {
		char byte;

		clients[0] = try_connect(getpid());
		assert_true(clients[0] >= 0);
		if (recv(clients[0], &byte, 1, MSG_PEEK) == 1)
			break;
		close(clients[0]);
		usleep(1000);
	}
	json_decref(receive_hello(clients[0], &received));
	close(received);
	close(clients[0]);
	registry_close(registry, 0);
}

static void directory_of_others_is_refused(void **state)
{
	struct registry_device device;
	struct registry *registry;

	fill_devices(&device, 1);
	assert_int_equal(chmod(run_scratch, 0755), 0);
	assert_int_equal(registry_open(&registry, &device, 1, ring), -EPERM);
	assert_non_null(strstr(failure_text(), run_scratch));
	assert_int_equal(chmod(run_scratch, 0700), 0);
	assert_int_equal(chown(run_scratch, 65534, 65534), 0);
	assert_int_equal(registry_open(&registry, &device, 1, ring), -EPERM);
	assert_int_equal(registry_remove_stale(), -EPERM);
	assert_int_equal(chown(run_scratch, 0, 0), 0);
	setenv(RUN_DIRECTORY_VAR, "relative", 1);
	assert_int_equal(registry_open(&registry, &device, 1, ring), -EBADMSG);
	setenv(RUN_DIRECTORY_VAR, run_scratch, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(client_gets_hello_and_ring),
		cmocka_unit_test(hello_of_the_largest_machine_fits),
		cmocka_unit_test(second_machine_of_a_process_is_refused),
		cmocka_unit_test(killed_machines_are_reaped_and_live_ones_kept),
		cmocka_unit_test(starting_reaps_too),
		cmocka_unit_test(clients_that_come_and_go_do_no_harm),
		cmocka_unit_test(directory_of_others_is_refused),
	};

	return cmocka_run_group_tests_name("registry", tests, setup, teardown);
}
