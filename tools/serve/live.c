// SPDX-License-Identifier: GPL-2.0
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/base/run_directory.h"
#include "lib/capture/capture.h"
#include "tools/common.h"
#include "tools/serve/server.h"

#define SERVE_POLL_NS (20 * NSEC_PER_MSEC)
/* Rings for one SERVE_POLL_NS and what a second's numbers take: they count as our memory. */
#define SERVE_RINGS   (16u << 20)
#define RING_SMALLEST (256u << 10)

static size_t serve_ring_bytes(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t bytes = SERVE_RINGS;

	while (cpus > 1 && bytes > RING_SMALLEST && bytes * (size_t)cpus > SERVE_RINGS)
		bytes /= 2;
	return bytes;
}

static int take_now(struct server *server)
{
	return server_take(server, clock_ns(CLOCK_REALTIME));
}

static int serve_follow(struct server *server, struct capture *capture)
{
	const struct timespec pause = timespec_of_ns(SERVE_POLL_NS);
	__u64 interval = server->options->interval_ns, next = monotonic_ns() + interval;
	struct stream sink = server_stream(server);
	int err = 0;

	while (err >= 0 && !server_signals && !memory_ran_out()) {
		__u64 now;

		err = capture_poll(capture, sink);
		now = monotonic_ns();
		if (err >= 0 && now >= next) {
			err = take_now(server);
			server_tend(server);
			next = next + interval > now ? next + interval : now + interval;
		}
		if (err >= 0)
			nanosleep(&pause, NULL);
	}
	return err < 0 ? err : 0;
}

/* The numbers of what was in flight are in the last ones. */
static int serve_finish(struct server *server, struct capture *capture)
{
	int err = capture_finish(capture, server_stream(server));

	return err ?: take_now(server);
}

static void serve_configure(const struct serve_options *options, struct capture_config *config)
{
	*config = (struct capture_config){.device_count = options->device_count,
					  .ring_bytes = serve_ring_bytes(),
					  .tcp = options->tcp,
					  .verbose = options->verbose};
	_Static_assert(SERVE_FILTERS <= CAPTURE_FILTERS, "all filters fit");
	for (size_t i = 0; i < options->device_count; i++)
		config->devices[i] = options->devices[i];
}

int serve_live(struct server *server)
{
	struct capture_config config;
	struct capture *capture;
	int err;

	serve_configure(server->options, &config);
	err = run_directory_check() ?: capture_open(&capture, &config);
	if (err)
		return err;
	common_tell_run_directory(capture);
	err = capture_attach(capture, server_stream(server));
	err = err ?: take_now(server);
	err = err ?: server_start(server);
	err = err ?: serve_follow(server, capture);
	if (!err)
		err = serve_finish(server, capture);
	capture_close(capture);
	return err;
}
