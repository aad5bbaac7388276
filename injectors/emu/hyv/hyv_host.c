// SPDX-License-Identifier: GPL-2.0
/* The host's side of a device with a mode: its life, and the thread that serves its guest. */
#include "injectors/emu/hyv/hyv_host.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "injectors/emu/hyv/hyv_host_private.h"
#include "injectors/emu/hyv/kernel_pins.h"
#include "injectors/emu/memory_views.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

#define EVENTS_AT_ONCE	8
#define HOST_PINS_EVERY 10 /* of the times that exits are told: about a second */

void host_stage(struct hyv_host *host, enum verb_stage stage)
{
	__u64 now_ns = monotonic_ns();

	host->current.stage_ns[stage] += now_ns - host->current.mark_ns;
	host->current.mark_ns = now_ns;
}

void host_count(struct hyv_host *host, __u64 *counter, __u64 more)
{
	pthread_mutex_lock(&host->lock);
	*counter += more;
	pthread_mutex_unlock(&host->lock);
}

int host_watch(struct hyv_host *host, int descriptor)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};

	if (epoll_ctl(host->epoll, EPOLL_CTL_ADD, descriptor, &event))
		return failed(-errno, "cannot watch a guest's descriptor: %s", strerror(errno));
	return 0;
}

static __u64 eventfd_drain(int descriptor)
{
	eventfd_t count = 0;

	return read(descriptor, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

static void kicked(struct hyv_host *host)
{
	__u64 kicks = eventfd_drain(host->guest.kick);

	host_count(host, &host->stats.exits[EXIT_KICK], kicks);
	if (inject_fire(host->injections, INJECT_KICK_LOST, host->config.backend.index))
		return;
	if (requests_serve(host))
		host_cut_off(host);
}

static enum guest_state state_of(struct hyv_host *host)
{
	enum guest_state state;

	pthread_mutex_lock(&host->lock);
	state = host->guest.state;
	pthread_mutex_unlock(&host->lock);
	return state;
}

static void happened(struct hyv_host *host, int descriptor)
{
	enum guest_state state;

	if (descriptor == host->wake) {
		(void)eventfd_drain(host->wake);
	} else if (descriptor == host->timer) {
		(void)eventfd_drain(host->timer);
		event_ring_run(&host->events);
	} else if (descriptor == host->exits_timer) {
		if (eventfd_drain(host->exits_timer)) {
			host_tell_exits(host);
			if (host->exits_told++ % HOST_PINS_EVERY == 0)
				host_tell_pins(host);
			host_may_kill(host);
		}
	} else {
		/* It may have ended since this was told. */
		state = state_of(host);
		if (state != GUEST_NONE && descriptor == host->guest.socket)
			host_hear(host);
		else if (state == GUEST_READY && descriptor == host->guest.kick)
			kicked(host);
	}
}

static void *hyv_host_main(void *argument)
{
	struct hyv_host *host = argument;
	struct epoll_event events[EVENTS_AT_ONCE];

	thread_short_slices();
	while (!atomic_load(&host->stopping)) {
		int count = epoll_wait(host->epoll, events, EVENTS_AT_ONCE, -1);

		for (int i = 0; i < count; i++)
			happened(host, events[i].data.fd);
		if (atomic_load(&host->evict))
			host_end_guest(host);
	}
	host_end_guest(host);
	return NULL;
}

static int descriptors_open(struct hyv_host *host)
{
	int error;

	host->epoll = epoll_create1(EPOLL_CLOEXEC);
	host->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	host->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	host->exits_timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (host->epoll < 0 || host->wake < 0 || host->timer < 0 || host->exits_timer < 0)
		return failed(-errno, "no descriptors for a host of guests: %s", strerror(errno));
	event_ring_init(&host->events, host->timer, host->injections, host->config.backend.index);
	error = host_watch(host, host->wake);
	if (!error)
		error = host_watch(host, host->timer);
	return error ? error : host_watch(host, host->exits_timer);
}

static int mode_check(const struct hyv_host *host)
{
	const struct channel *channel = host->config.backend.channel;
	const struct channel_config *config = &channel->config;
	__u64 behind = config->guest_address + config->bytes - channel->data_address;

	if (!host_has_guests(host))
		return 0;
	if (guest_memory_file(host->memory) < 0)
		return failed(-EINVAL, "its guest's memory is no file: say backend=pager in "
				       "[tenant]");
	if (behind <= HYV_CONTROL_BYTES)
		return failed(-EINVAL,
			      "%llu KiB of its tenant's memory are its, and control takes %u KiB: "
			      "give the tenant more",
			      behind >> 10, HYV_CONTROL_BYTES >> 10);
	return 0;
}

/* Once: it is of the kernel and the machine, not of a device. */
static void say_uncounted(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!pins_are_counted() && !atomic_flag_test_and_set(&said))
		fprintf(stderr,
			"faultline: this kernel's VmPin does not count pins of who has "
			"CAP_IPC_LOCK, so guest_pinned and machine_pinned are 0: run it with "
			"RLIMIT_MEMLOCK unlimited (ulimit -l unlimited) to have them counted\n");
}

static int pinners_create(struct hyv_host *host)
{
	int error = pinner_create(&host->driver);

	if (!error && host_has_queue(host))
		error = pinner_create(&host->remap);
	if (!error)
		say_uncounted();
	return error;
}

static int host_tables_create(struct hyv_host *host)
{
	const struct channel_config *channel = &host->config.backend.channel->config;

	host->holds = calloc(channel->bytes >> PAGE_BITS, sizeof(*host->holds));
	host->list = malloc(HYV_CONTROL_BYTES);
	return host->holds && host->list ? 0 : failed(-ENOMEM, "no memory for a guest's lists");
}

static const struct verbs_host_ops *ops_of(enum rdma_mode mode)
{
	if (mode == RDMA_MODE_NATIVE)
		return &hyv_native_ops;
	return mode == RDMA_MODE_PASSTHROUGH ? &hyv_passthrough_ops : &hyv_host_ops;
}

static int backend_create(struct hyv_host *host)
{
	struct verbs_backend_config config = host->config.backend;

	config.host_ops = ops_of(host->config.mode);
	config.host = host;
	if (!host_has_guests(host))
		return verbs_backend_create(&host->backend, &config);
	config.control_bytes = HYV_CONTROL_BYTES;
	return backend_make(&host->backend, &config);
}

static int host_begin(struct hyv_host *host)
{
	int error = mode_check(host);

	if (!error)
		error = pinners_create(host);
	if (!error)
		error = host_tables_create(host);
	if (!error)
		error = backend_create(host);
	if (!error && host->config.mode == RDMA_MODE_PASSTHROUGH)
		error = host_pin_all(host);
	if (error || !host_has_guests(host))
		return error;
	error = descriptors_open(host);
	if (!error)
		error = thread_start(&host->thread, NULL, hyv_host_main, host, "hyv-%s",
				     host->config.backend.name);
	host->running = !error;
	return error;
}

int hyv_host_create(struct hyv_host **host, const struct hyv_host_config *config)
{
	struct hyv_host *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return failed(-ENOMEM, "no memory for the host of a device with a mode");
	new->config = *config;
	new->tenant = &config->backend.machine->tenants[config->tenant];
	new->memory = new->tenant->memory;
	new->injections = config->backend.machine->injections;
	new->epoll = new->wake = new->timer = new->exits_timer = -1;
	new->guest = host_no_guest();
	pthread_mutex_init(&new->lock, NULL);
	pthread_cond_init(&new->changed, NULL);
	error = host_begin(new);
	if (error) {
		hyv_host_destroy(new);
		return error;
	}
	*host = new;
	return 0;
}

int hyv_host_invite(struct hyv_host *host, int *socket)
{
	int error;

	if (!host_has_guests(host))
		return failed(-EOPNOTSUPP, "device %s has mode=native: it has no guest",
			      host->config.backend.name);
	pthread_mutex_lock(&host->lock);
	if (host->guest.state != GUEST_NONE || atomic_load(&host->stopping))
		error = failed(-EBUSY, "device %s has a guest", host->config.backend.name);
	else
		error = host_make_guest(host, socket);
	host->invited += !error;
	pthread_mutex_unlock(&host->lock);
	return error;
}

void hyv_host_evict_guest(struct hyv_host *host)
{
	__u64 guest;

	pthread_mutex_lock(&host->lock);
	guest = host->invited;
	if (host->guest.state != GUEST_NONE) {
		atomic_store(&host->evict, true);
		(void)eventfd_write(host->wake, 1);
	}
	while (host->guest.state != GUEST_NONE && host->invited == guest)
		pthread_cond_wait(&host->changed, &host->lock);
	pthread_mutex_unlock(&host->lock);
}

static void host_descriptors_close(struct hyv_host *host)
{
	const int descriptors[] = {host->epoll, host->wake, host->timer, host->exits_timer};

	for (size_t i = 0; i < sizeof(descriptors) / sizeof(descriptors[0]); i++)
		if (descriptors[i] >= 0)
			close(descriptors[i]);
}

void hyv_host_destroy(struct hyv_host *host)
{
	if (!host)
		return;
	pthread_mutex_lock(&host->lock);
	atomic_store(&host->stopping, true);
	pthread_mutex_unlock(&host->lock);
	/* Whoever brings pages in for a guest's advice looks at it. */
	if (host->backend)
		verbs_registers_stop(&host->backend->own_registers);
	if (host->running) {
		(void)eventfd_write(host->wake, 1);
		pthread_join(host->thread, NULL);
	}
	verbs_backend_destroy(host->backend);
	host_unpin_all(host);
	pinner_destroy(host->driver);
	pinner_destroy(host->remap);
	if (host->timer >= 0)
		event_ring_destroy(&host->events);
	host_descriptors_close(host);
	pthread_cond_destroy(&host->changed);
	pthread_mutex_destroy(&host->lock);
	free(host->holds);
	free(host->list);
	free(host);
}

struct verbs_backend *hyv_host_backend(struct hyv_host *host)
{
	return host->backend;
}

void hyv_host_stats(struct hyv_host *host, struct hyv_stats *stats)
{
	struct event_ring_stats events = {};

	if (host_has_guests(host))
		event_ring_stats(&host->events, &events);
	pthread_mutex_lock(&host->lock);
	*stats = host->stats;
	pthread_mutex_unlock(&host->lock);
	stats->events_raised = events.raised;
	stats->events_merged = events.merged;
	stats->events_kept = events.kept;
	stats->exits[EXIT_INJECT_EVENT] = events.injections;
}
