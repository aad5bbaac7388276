// SPDX-License-Identifier: GPL-2.0
/* How a capture ends: at once, or by the kernel's timer (bpf/deadline.bpf.c) when it has lasted so long. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "bpf/deadline.skel.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/capture/inside.h"

void capture_stop(struct capture *capture)
{
	struct capture_state *state = capture->maps.state;
	__u64 not_yet = 0, stopped_ns;

	__atomic_store_n(&state->running, 0, __ATOMIC_RELEASE);
	stopped_ns = __atomic_load_n(&state->stopped_ns, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&capture->stopped_ns, &not_yet, stopped_ns ?: monotonic_ns(),
				    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

int capture_stop_after(struct capture *capture, __u64 duration_ns)
{
	__u64 passed_ns = capture_recorded_ns(capture);
	__u64 left_ns = passed_ns < duration_ns ? duration_ns - passed_ns : 1;
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &left_ns, .ctx_size_in = sizeof(left_ns));
	int state = bpf_object__find_map_fd_by_name(capture->maps.object, "state"), error;
	struct deadline_bpf *deadline = deadline_bpf__open();

	if (!deadline)
		return failed(-errno, "a timer for the end: %s", strerror(errno));
	capture->deadline = deadline;
	error = bpf_map__reuse_fd(deadline->maps.state, state);
	if (!error)
		error = deadline_bpf__load(deadline);
	if (!error)
		error = bpf_prog_test_run_opts(bpf_program__fd(deadline->progs.arm), &options);
	if (!error)
		error = (int)options.retval;
	return error ? failed(error, "a timer for the end: %s", strerror(-error)) : 0;
}

void capture_forget_deadline(struct capture *capture)
{
	deadline_bpf__destroy(capture->deadline);
}

__u64 capture_recorded_ns(const struct capture *capture)
{
	__u64 stopped_ns = __atomic_load_n(&capture->stopped_ns, __ATOMIC_RELAXED);

	if (!capture->start_ns)
		return 0;
	return (stopped_ns ? stopped_ns : monotonic_ns()) - capture->start_ns;
}
