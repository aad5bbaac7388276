// SPDX-License-Identifier: GPL-2.0
/*
 * Views of guest memory in other processes. Their userfaultfds are theirs to spoil: who serves one may be stuck in its read for
 * good if the process makes the descriptor a blocking one, so that a signal ends his waiting, sent until he has seen it.
 */
#include "injectors/emu/memory_views.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "injectors/emu/memory_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define VIEW_STACK    (256u << 10)
#define VIEW_MESSAGES 16
#define VIEW_FEATURES                                                                             \
	(UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM | UFFD_FEATURE_PAGEFAULT_FLAG_WP | \
	 UFFD_FEATURE_WP_HUGETLBFS_SHMEM | UFFD_FEATURE_THREAD_ID | UFFD_FEATURE_EXACT_ADDRESS |  \
	 UFFD_FEATURE_MISSING_HUGETLBFS | UFFD_FEATURE_MINOR_HUGETLBFS)
#define VIEW_INITIALIZED (1u << 31) /* the kernel's own mark among the features */
#define IDLE_MESSAGES	 64	    /* in a row for pages that were there */
#define VIEW_SIGNAL	 SIGRTMIN
#define STOP_NS		 (5 * NSEC_PER_MSEC) /* between signals */
#define FDINFO_BYTES	 512

struct memory_view {
	struct guest_memory *memory;
	struct memory_view *next;
	int faults;
	struct memory_part part;
	bool gone; /* its process has ended; with the lock `evicting` */
	atomic_bool stop;
	pthread_t thread;
};

int guest_memory_file(const struct guest_memory *memory)
{
	return memory->memfd;
}

__u64 guest_memory_bytes(const struct guest_memory *memory)
{
	return memory->bytes;
}

int guest_memory_of_view(struct guest_memory *memory, __u64 address, __u64 bytes,
			 __u64 *guest_address)
{
	int error = -ENOENT;

	pthread_mutex_lock(&memory->evicting);
	for (const struct memory_view *view = memory->views; error && view; view = view->next) {
		__u64 at = address - view->part.base;

		if (at >= view->part.bytes || bytes > view->part.bytes - at)
			continue;
		*guest_address = view->part.start + at;
		error = 0;
	}
	pthread_mutex_unlock(&memory->evicting);
	return error;
}

/* Where the process has a page of its part. */
static __u64 view_address(const struct memory_view *view, __u64 page_address)
{
	return view->part.base + (page_address - view->part.start);
}

/* 0 or negative errno; what is no more, or never was, needs no protection. */
static int view_protect(struct memory_view *view, __u64 page_address,
			enum memory_protection protection)
{
	bool none = view->gone || page_address - view->part.start >= view->part.bytes;
	int error = none ? 0
			 : memory_write_protect(view->faults, view_address(view, page_address),
						PAGE_BYTES, protection);

	view->gone |= error == -ESRCH;
	return error == -ESRCH || error == -ENOENT ? 0 : error;
}

int memory_views_protect(struct guest_memory *memory, __u64 page_address,
			 enum memory_protection protection)
{
	int error = 0, result;

	for (struct memory_view *view = memory->views; view; view = view->next) {
		result = view_protect(view, page_address, protection);
		error = error ? error : result;
	}
	return error;
}

static void view_wake(const struct memory_view *view, __u64 page_address)
{
	struct uffdio_range range = {view_address(view, page_address), PAGE_BYTES};

	ioctl(view->faults, UFFDIO_WAKE, &range);
}

/* As with the CPUs' view, but for the last resort: a guest whose page cannot be had waits until it is killed, the machine goes on. */
static void view_failed(struct memory_view *view, __u64 page_address, int error)
{
	if (memory_poison(view->faults, view_address(view, page_address))) {
		fprintf(stderr,
			"faultline: page 0x%llx of tenant %u cannot be brought back, its guest "
			"waits: %s\n",
			page_address, view->memory->tenant, strerror(error));
		return;
	}
	view_wake(view, page_address);
}

/* With the lock, so that it is not lifted under another eviction. */
static void view_write(struct memory_view *view, __u64 page_address)
{
	struct guest_memory *memory = view->memory;

	pthread_mutex_lock(&memory->evicting);
	/* Of a virtual machine's page that is out protection stays: who waits finds it missing. */
	if (memory->vm && pager_is_out(memory, page_address) &&
	    !vm_page_bypassed(memory, page_address))
		view_wake(view, page_address);
	else
		(void)view_protect(view, page_address, PROTECT_LIFT);
	pthread_mutex_unlock(&memory->evicting);
}

static void view_serve(struct memory_view *view, void *page, const struct uffd_msg *message,
		       unsigned int *idle)
{
	__u64 at = (message->arg.pagefault.address & ~(PAGE_BYTES - 1)) - view->part.base;
	__u64 page_address = view->part.start + at;
	int result;

	if (message->event != UFFD_EVENT_PAGEFAULT || at >= view->part.bytes)
		return;
	if (message->arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP) {
		view_write(view, page_address);
		return;
	}
	result = pager_bring(view->memory, page, page_address, DEVICE_ALL);
	if (result < 0) {
		view_failed(view, page_address, -result);
		return;
	}
	/* Whose mapping is not of the memory file may ask for the same page for ever, but not take a CPU of ours. */
	/* A device's own access is woken by who tells of it. */
	if (!view->memory->watch.begins)
		pager_wake(view->memory, page_address);
	*idle = result == PAGER_WAS_THERE ? *idle + 1 : 0;
	if (result != PAGER_WAS_THERE)
		atomic_fetch_add(&view->memory->view_faults, 1);
	if (*idle > IDLE_MESSAGES)
		memory_sleep(NSEC_PER_MSEC);
	view_wake(view, page_address);
}

/* Messages' bytes, 0: none yet; less: the descriptor has become one that cannot be waited at. */
static ssize_t view_wait(const struct memory_view *view, struct uffd_msg *messages, size_t bytes)
{
	struct pollfd polled = {.fd = view->faults, .events = POLLIN};
	ssize_t got;

	if (poll(&polled, 1, -1) <= 0)
		return 0;
	if (!(polled.revents & POLLIN))
		return -1;
	got = read(view->faults, messages, bytes);
	return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : got;
}

static void *view_run(void *argument)
{
	struct memory_view *view = argument;
	_Alignas(PAGE_BYTES) unsigned char page[PAGE_BYTES];
	struct uffd_msg messages[VIEW_MESSAGES];
	unsigned int idle = 0;
	ssize_t got = 0;
	sigset_t mine;

	sigemptyset(&mine);
	sigaddset(&mine, VIEW_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &mine, NULL);
	while (!atomic_load(&view->stop) && got >= 0) {
		got = view_wait(view, messages, sizeof(messages));
		for (ssize_t i = 0; i < got / (ssize_t)sizeof(messages[0]); i++)
			view_serve(view, page, &messages[i], &idle);
	}
	return NULL;
}

static void on_view_signal(int number)
{
	(void)number; /* to have been interrupted is all */
}

static void signal_install(void)
{
	const struct sigaction action = {.sa_handler = on_view_signal};

	sigaction(VIEW_SIGNAL, &action, NULL);
}

static void view_stop(struct memory_view *view)
{
	struct timespec until;

	atomic_store(&view->stop, true);
	do {
		pthread_kill(view->thread, VIEW_SIGNAL);
		until = timespec_of_ns(monotonic_ns() + STOP_NS);
	} while (pthread_clockjoin_np(view->thread, NULL, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
}

/* What the kernel tells of a userfaultfd, and of nothing else. */
static int faults_features(int faults, unsigned int *features)
{
	char path[48], text[FDINFO_BYTES];
	const char *line;
	ssize_t got = -1;
	int file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", faults);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file >= 0) {
		got = read(file, text, sizeof(text) - 1);
		close(file);
	}
	text[got > 0 ? got : 0] = 0;
	line = strstr(text, "\nAPI:\t");
	if (!line || sscanf(line, "\nAPI:\t%*x:%x:", features) != 1)
		return failed(-EINVAL, "a guest's descriptor %d is not a userfaultfd", faults);
	return 0;
}

static int faults_check(int faults)
{
	unsigned int features;
	int error = faults_features(faults, &features);

	if (error)
		return error;
	if (!(features & VIEW_INITIALIZED) || features & ~(VIEW_INITIALIZED | VIEW_FEATURES))
		return failed(-EINVAL,
			      "a guest's userfaultfd has features 0x%x%s: accepted: of 0x%llx",
			      features & ~VIEW_INITIALIZED,
			      features & VIEW_INITIALIZED ? "" : " and no UFFDIO_API",
			      (unsigned long long)VIEW_FEATURES);
	if (fcntl(faults, F_SETFL, O_NONBLOCK))
		return failed(-EINVAL, "a guest's userfaultfd cannot be made non-blocking: %s",
			      strerror(errno));
	return 0;
}

/* Nothing is protected yet, and no eviction is under way: what this lifts is nothing, but it tells who is not registered. */
static int view_registered(const struct memory_view *view)
{
	__u64 base = view->part.base, bytes = view->part.bytes, end;
	int error = -EINVAL;

	if (!(base & (PAGE_BYTES - 1)) && !__builtin_add_overflow(base, bytes, &end))
		error = memory_write_protect(view->faults, base, bytes, PROTECT_LIFT);
	for (__u64 last = bytes - PAGE_BYTES; !error && last; last = 0)
		error = memory_write_protect(view->faults, base + last, PAGE_BYTES, PROTECT_LIFT);
	return error ? failed(-EINVAL,
			      "a guest's userfaultfd has not 0x%llx bytes at 0x%llx registered for "
			      "missing pages and write-protect: %s",
			      bytes, base, strerror(-error))
		     : 0;
}

static int view_start(struct memory_view *view)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_attr_t attributes;
	int error;

	pthread_once(&once, signal_install);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, VIEW_STACK);
	error = pthread_create(&view->thread, &attributes, view_run, view);
	pthread_attr_destroy(&attributes);
	if (error)
		return failed(-error, "cannot start a pager thread: %s", strerror(error));
	pthread_setname_np(view->thread, "pager-view");
	return 0;
}

static int view_join(struct memory_view *view)
{
	struct guest_memory *memory = view->memory;
	int error;

	pthread_mutex_lock(&memory->evicting);
	error = view_registered(view);
	if (!error)
		error = view_start(view);
	if (!error) {
		view->next = memory->views;
		memory->views = view;
	}
	pthread_mutex_unlock(&memory->evicting);
	return error;
}

static int part_check(const struct guest_memory *memory, const struct memory_part *part)
{
	if (((part->start | part->bytes) & (PAGE_BYTES - 1)) || !part->bytes ||
	    !memory_range_valid(memory, part->start, part->bytes))
		return failed(-EINVAL,
			      "0x%llx bytes at 0x%llx of it: accepted: whole pages below 0x%llx",
			      part->bytes, part->start, memory->bytes);
	return 0;
}

int memory_view_add_part(struct memory_view **view, struct guest_memory *memory, int faults,
			 const struct memory_part *part)
{
	struct memory_view *created = calloc(1, sizeof(*created));
	int error = created ? 0 : failed(-ENOMEM, "no memory for a guest's view");

	if (!error && memory->ops != &pager_ops)
		error = failed(-EINVAL, "only memory of backend pager has views");
	if (!error)
		error = part_check(memory, part);
	if (!error)
		error = faults_check(faults);
	if (!error) {
		*created = (struct memory_view){.memory = memory, .faults = faults, .part = *part};
		error = view_join(created);
	}
	if (error) {
		close(faults);
		free(created);
		return failed_in(error, "a view of tenant %u's memory", memory->tenant);
	}
	*view = created;
	return 0;
}

int memory_view_add(struct memory_view **view, struct guest_memory *memory, int faults, __u64 base)
{
	const struct memory_part all = {.base = base, .bytes = memory->bytes};

	return memory_view_add_part(view, memory, faults, &all);
}

void memory_view_remove(struct memory_view *view)
{
	struct memory_view **link;
	struct uffdio_range range;

	if (!view)
		return;
	pthread_mutex_lock(&view->memory->evicting);
	for (link = &view->memory->views; *link != view; link = &(*link)->next)
		;
	*link = view->next;
	pthread_mutex_unlock(&view->memory->evicting);
	view_stop(view);
	range = (struct uffdio_range){view->part.base, view->part.bytes};
	ioctl(view->faults, UFFDIO_UNREGISTER, &range);
	close(view->faults);
	free(view);
}
