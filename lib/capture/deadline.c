// SPDX-License-Identifier: GPL-2.0
/*
 * How a capture begins and ends: at once, or where it was told how long to last by a program and a timer
 * of the kernel (bpf/deadline.bpf.c).
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "bpf/deadline.skel.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/capture/capture_private.h"

void capture_stop(struct capture *capture)
{
	struct capture_state *state = capture->maps.state;
	__u64 not_yet = 0, stopped_ns;

	__atomic_store_n(&state->running, 0, __ATOMIC_RELEASE);
	stopped_ns = capture_stopped_ns(capture) ?: monotonic_ns();
	__atomic_compare_exchange_n(&capture->stopped_ns, &not_yet, stopped_ns, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

bool capture_is_over(const struct capture *capture)
{
	return capture->start_ns &&
	       !__atomic_load_n(&capture->maps.state->running, __ATOMIC_ACQUIRE);
}

int capture_prepare_deadline(struct capture *capture)
{
	int state = bpf_object__find_map_fd_by_name(capture->maps.object, "state"), error;
	struct deadline_bpf *deadline;

	if (!capture->config.duration_ns)
		return 0;
	deadline = deadline_bpf__open();
	if (!deadline)
		return failed(failed_system(-errno), "a timer for the end: %s", strerror(errno));
	capture->deadline = deadline;
	error = bpf_map__reuse_fd(deadline->maps.state, state);
	if (!error)
		error = deadline_bpf__load(deadline);
	return error ? failed(failed_system(error), "a timer for the end: %s", strerror(-error))
		     : 0;
}

int capture_let_go(struct capture *capture)
{
	struct capture_state *state = capture->maps.state;
	__u64 duration_ns = capture->config.duration_ns;
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &duration_ns,
		    .ctx_size_in = sizeof(duration_ns));
	int error = 0;

	if (!capture->deadline) {
		capture->start_ns = monotonic_ns();
		__atomic_store_n(&state->running, 1, __ATOMIC_RELEASE);
		return 0;
	}
	error = bpf_prog_test_run_opts(bpf_program__fd(capture->deadline->progs.begin), &options);
	if (!error)
		error = (int)options.retval;
	if (error)
		return failed(failed_system(error), "a timer for the end: %s", strerror(-error));
	capture->start_ns = __atomic_load_n(&state->started_ns, __ATOMIC_ACQUIRE);
	return 0;
}

void capture_forget_deadline(struct capture *capture)
{
	deadline_bpf__destroy(capture->deadline);
}

__u64 capture_recorded_ns(const struct capture *capture)
{
	__u64 stopped_ns = capture_stopped_ns(capture);

	if (!capture->start_ns)
		return 0;
	return (stopped_ns ? stopped_ns : monotonic_ns()) - capture->start_ns;
}
