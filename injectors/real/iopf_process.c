// SPDX-License-Identifier: GPL-2.0
/* The processes whose addresses the devices use: each binds itself, maps memory and raises. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/page.h"
#include "injectors/real/iopf.h"
#include "injectors/real/memory_file.h"
#include "lib/base/child.h"

#define NOBODYS_PASID  0xf0000u /* beyond those that are given out */
#define WATCH_EVERY_MS 200

/* A process's memory: one area for each kind of page. */
struct areas {
	unsigned char *start[IOPF_PAGE_KINDS];
	size_t bytes[IOPF_PAGE_KINDS];
};

struct holder {
	const struct iopf_device *device;
	__u64 microseconds;
	volatile bool stop;
};

static int map_file(const struct iopf_run *run, unsigned char *at, size_t bytes)
{
	if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, run->memory, 0) ==
	    MAP_FAILED)
		return failed(-errno, "--memory %s: cannot map it: %s", run->options->memory,
			      strerror(errno));
	madvise(at, bytes, MADV_RANDOM);
	return 0;
}

/* Once, for all processes: as big as the one needs that asks for most. */
static int open_memory(struct iopf_run *run)
{
	size_t bytes = 0;

	run->memory = -1;
	if (!run->options->memory)
		return 0;
	for (__u32 i = 0; i < run->options->processes; i++) {
		size_t wanted = run->plan.shares[i].pages[IOPF_PAGE_GOOD] * PAGE_BYTES;

		bytes = wanted > bytes ? wanted : bytes;
	}
	run->memory = memory_file_open(&run->options->verb, "--memory", run->options->memory, bytes,
				       false);
	return run->memory < 0 ? run->memory : 0;
}

static int map_areas(const struct iopf_run *run, const struct iopf_share *share,
		     struct areas *areas)
{
	unsigned char *base;
	size_t bytes = 0;

	for (int kind = 0; kind < IOPF_PAGE_KINDS; kind++) {
		areas->bytes[kind] = share->pages[kind] * PAGE_BYTES;
		bytes += areas->bytes[kind] + PAGE_BYTES;
	}
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return failed(-errno, "cannot map %zu bytes: %s", bytes, strerror(errno));
	/* One request is to bring in one page. */
	madvise(base, bytes, MADV_NOHUGEPAGE);
	for (int kind = 0; kind < IOPF_PAGE_KINDS; kind++) {
		areas->start[kind] = base;
		base += areas->bytes[kind] + PAGE_BYTES;
	}
	if (areas->bytes[IOPF_PAGE_READ_ONLY])
		mprotect(areas->start[IOPF_PAGE_READ_ONLY], areas->bytes[IOPF_PAGE_READ_ONLY],
			 PROT_READ);
	if (areas->bytes[IOPF_PAGE_UNMAPPED])
		munmap(areas->start[IOPF_PAGE_UNMAPPED], areas->bytes[IOPF_PAGE_UNMAPPED]);
	if (run->memory >= 0 && areas->bytes[IOPF_PAGE_GOOD])
		return map_file(run, areas->start[IOPF_PAGE_GOOD], areas->bytes[IOPF_PAGE_GOOD]);
	return 0;
}

static int bind_devices(const struct iopf_options *options, const struct iopf_device *device,
			struct iopf_process *process)
{
	for (__u32 i = 0; i < options->device_count; i++) {
		struct faultline_bind bind = {.device = options->devices[i]};
		int err = iopf_call(device, FAULTLINE_IOC_BIND, &bind, "cannot bind to the device");

		if (err)
			return err;
		process->pasid[bind.device] = bind.pasid;
	}
	return 0;
}

static struct faultline_request request_of(const struct iopf_options *options,
					   const struct iopf_planned *planned,
					   const struct areas *areas,
					   const struct iopf_process *process)
{
	struct faultline_request request = {
		.address = (uintptr_t)areas->start[planned->kind] + planned->page * PAGE_BYTES,
		.pasid = process->pasid[planned->device],
		.group = FAULTLINE_GROUP_ANY,
		.permissions = options->permissions,
		.flags = planned->last ? FAULTLINE_LAST : 0,
	};

	if (planned->kind == IOPF_PAGE_BAD_PASID)
		request.pasid = NOBODYS_PASID;
	if (planned->kind == IOPF_PAGE_READ_ONLY)
		request.permissions |= FAULTLINE_WRITE;
	return request;
}

/* One call a group, so that processes take turns. */
static int raise_group(const struct iopf_run *run, const struct iopf_device *device,
		       struct iopf_process *process, __u32 first, const struct areas *areas,
		       struct faultline_request *requests)
{
	const struct iopf_planned *planned = &run->plan.requests[first];
	bool flood = run->options->what == IOPF_FLOOD;
	bool waits = flood || !iopf_is_paused_first(run->options);
	struct faultline_raise raise = {
		.device = planned->device,
		.flags = (flood ? FAULTLINE_FLOOD : 0) | (waits ? 0 : FAULTLINE_NONBLOCK),
		.requests = (uintptr_t)requests,
	};
	int err;

	do
		requests[raise.count++] = request_of(run->options, planned, areas, process);
	while (!planned++->last);
	err = iopf_call(device, FAULTLINE_IOC_RAISE, &raise, "cannot raise page requests");
	process->raised += raise.raised;
	return err ? err : (int)raise.count;
}

static int raise_share(const struct iopf_run *run, const struct iopf_device *device, __u32 index,
		       const struct areas *areas)
{
	const struct iopf_share *share = &run->plan.shares[index];
	struct faultline_request *requests = calloc(run->options->group_most, sizeof(*requests));
	int raised = 0;

	if (!requests)
		return failed(-ENOMEM, "out of memory for a group of requests");
	for (__u32 at = 0; at < share->count && raised >= 0; at += (__u32)raised)
		raised = raise_group(run, device, &run->processes[index], share->first + at, areas,
				     requests);
	free(requests);
	return raised < 0 ? raised : 0;
}

/* /proc/self/pagemap tells which pages are there, whatever the devices were told. */
static int count_resident(const struct areas *areas, struct iopf_process *process)
{
	size_t pages = areas->bytes[IOPF_PAGE_GOOD] / PAGE_BYTES;
	off_t at = (off_t)((uintptr_t)areas->start[IOPF_PAGE_GOOD] / PAGE_BYTES * sizeof(__u64));
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), err = 0;
	__u64 entry;

	if (fd < 0)
		return failed(-errno, "/proc/self/pagemap: %s", strerror(errno));
	process->good = (__u32)pages;
	for (size_t i = 0; i < pages && !err; i++, at += (off_t)sizeof(entry)) {
		if (pread(fd, &entry, sizeof(entry), at) != (ssize_t)sizeof(entry))
			err = failed(-EIO, "/proc/self/pagemap: cannot be read");
		else if (entry >> 63)
			process->resident++;
	}
	close(fd);
	return err;
}

static void *iopf_process_hold(void *argument)
{
	struct holder *holder = argument;
	struct faultline_hold request = {.microseconds = holder->microseconds};

	while (!holder->stop) {
		if (iopf_call(holder->device, FAULTLINE_IOC_HOLD, &request, "cannot hold the lock"))
			break;
		usleep(1000);
	}
	return NULL;
}

static void tell_ready(const struct iopf_run *run)
{
	char byte = 'r';

	while (write(run->ready[1], &byte, 1) < 0 && errno == EINTR)
		;
}

/* A gate opens for all at once, by the end of its pipe. False: told to stop instead. */
static bool await_gate(const struct iopf_run *run, int gate)
{
	char byte;

	while (!verb_stop)
		if (!read(run->gates[gate][0], &byte, 1))
			return true;
	return false;
}

static int raise_with_holder(struct iopf_run *run, const struct iopf_device *device, __u32 index,
			     const struct areas *areas)
{
	struct holder holder = {.device = device, .microseconds = run->options->hold_ns / 1000};
	bool holds = holder.microseconds && index % 2 == 0;
	pthread_t thread;
	int err;

	if (holds && pthread_create(&thread, NULL, iopf_process_hold, &holder))
		return failed(-EAGAIN, "cannot start a thread");
	err = raise_share(run, device, index, areas);
	if (holds) {
		holder.stop = true;
		pthread_join(thread, NULL);
	}
	return err;
}

static int iopf_process_live(struct iopf_run *run, const struct iopf_device *device, __u32 index)
{
	struct iopf_process *process = &run->processes[index];
	struct areas areas;
	int err = bind_devices(run->options, device, process);

	if (!err)
		err = map_areas(run, &run->plan.shares[index], &areas);
	if (err)
		return err;
	tell_ready(run);
	if (!await_gate(run, IOPF_GATE_RAISE))
		return failed(-EINTR, "interrupted");
	err = raise_with_holder(run, device, index, &areas);
	if (err || run->options->what == IOPF_EXIT)
		return err;
	if (areas.bytes[IOPF_PAGE_TO_UNMAP])
		munmap(areas.start[IOPF_PAGE_TO_UNMAP], areas.bytes[IOPF_PAGE_TO_UNMAP]);
	tell_ready(run);
	return await_gate(run, IOPF_GATE_END) ? count_resident(&areas, process) : 0;
}

static void iopf_process_child(struct iopf_run *run, __u32 index)
{
	struct iopf_process *process = &run->processes[index];
	struct iopf_device device;
	int err;

	/* Of its own, so that its end is that of its bonds. */
	close(run->device.fd);
	for (int gate = 0; gate < IOPF_GATES; gate++)
		close(run->gates[gate][1]);
	err = iopf_open(&device);
	if (!err)
		err = iopf_process_live(run, &device, index);
	if (err) {
		strncpy(process->sentence, failure_text(), sizeof(process->sentence) - 1);
		process->error = err;
	}
	_exit(err ? EXIT_FAIL : EXIT_OK);
}

int iopf_processes_start(struct iopf_run *run)
{
	size_t bytes = IOPF_PROCESSES_MAX * sizeof(*run->processes);

	void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int err = open_memory(run);

	if (err)
		return err;
	if (shared == MAP_FAILED || pipe2(run->ready, O_CLOEXEC) ||
	    pipe2(run->gates[IOPF_GATE_RAISE], O_CLOEXEC) ||
	    pipe2(run->gates[IOPF_GATE_END], O_CLOEXEC))
		return failed(-errno, "cannot start processes: %s", strerror(errno));
	run->processes = shared;
	for (__u32 i = 0; i < run->options->processes; i++) {
		pid_t pid = child_start(SIGKILL);

		if (!pid)
			iopf_process_child(run, i);
		if (pid < 0)
			return failed(-errno, "cannot start a process: %s", strerror(errno));
		run->processes[i].pid = pid;
	}
	close(run->ready[1]);
	return iopf_await_ready(run);
}

void iopf_open_gate(struct iopf_run *run, enum iopf_gate gate)
{
	if (run->gates[gate][1] >= 0)
		close(run->gates[gate][1]);
	run->gates[gate][1] = -1;
}

static bool one_has_failed(const struct iopf_run *run)
{
	siginfo_t info = {0};

	for (__u32 i = 0; i < run->options->processes; i++)
		if (!waitid(P_PID, (id_t)run->processes[i].pid, &info,
			    WEXITED | WNOHANG | WNOWAIT) &&
		    info.si_pid)
			return true;
	return false;
}

/* Every process has come so far; -ECHILD: one has ended instead, iopf_processes_end() tells why. */
int iopf_await_ready(struct iopf_run *run)
{
	__u32 left = run->options->processes;
	char bytes[IOPF_PROCESSES_MAX];

	while (left) {
		struct pollfd poll_for = {.fd = run->ready[0], .events = POLLIN};
		int ready = poll(&poll_for, 1, WATCH_EVERY_MS);
		ssize_t got = ready > 0 ? read(run->ready[0], bytes, left) : 0;

		if (verb_stop)
			return failed(-EINTR, "interrupted");
		if (got > 0)
			left -= (__u32)got;
		else if (one_has_failed(run))
			return failed(-ECHILD, "a process has ended early");
	}
	return 0;
}

static int iopf_process_end_of(const struct iopf_process *process)
{
	int status = child_await(process->pid);

	if (process->error)
		return failed(process->error, "process %d: %s", process->pid, process->sentence);
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGTERM)
		return failed(-ECHILD, "process %d was killed by signal %d", process->pid,
			      WTERMSIG(status));
	return 0;
}

int iopf_processes_end(struct iopf_run *run, bool at_once)
{
	int err = 0;

	if (!run->processes || run->ended)
		return 0;
	run->ended = true;
	for (__u32 i = 0; i < run->options->processes; i++)
		if (run->processes[i].pid && at_once)
			kill(run->processes[i].pid, SIGTERM);
	for (int gate = 0; gate < IOPF_GATES; gate++)
		iopf_open_gate(run, (enum iopf_gate)gate);
	for (__u32 i = 0; i < run->options->processes; i++) {
		int ended = run->processes[i].pid ? iopf_process_end_of(&run->processes[i]) : 0;

		run->processes[i].pid = 0;
		if (!err)
			err = ended;
	}
	if (run->memory >= 0)
		close(run->memory);
	close(run->ready[0]);
	for (int gate = 0; gate < IOPF_GATES; gate++)
		close(run->gates[gate][0]);
	return err;
}
