// SPDX-License-Identifier: GPL-2.0
/* faultline serve: metrics for Prometheus, and a page of the last minutes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/analyze/floor.h"
#include "lib/analyze/session.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "tools/common.h"
#include "tools/serve/server.h"
#include "tools/verbs.h"

#define TEND_NS (NSEC_PER_SEC / 2)

static void serve_wait(struct server *server)
{
	const struct timespec pause = timespec_of_ns(TEND_NS);

	while (!server_signals) {
		server_tend(server);
		nanosleep(&pause, NULL);
	}
}

/* What was read past damage is served; the sentence was kept for the end. */
static int serve_recording(struct server *server, char *damage, size_t size)
{
	struct trace_read_config reading = {.path = server->options->input};
	const struct session *session = server->analysis->session;
	__u64 last;
	int err = hosts_choose_one(&server->options->hosts, reading.path, &reading.host);

	if (err)
		return err;
	err = trace_read(&reading, server_stream(server));
	if (err == -EBADMSG) {
		snprintf(damage, size, "%s", failure_text());
		err = 0;
	}
	if (err)
		return failed_input(err);
	last = session_last_ns(session);
	err = server_take(server, wall_clock_at(session_clock(session), last));
	err = err ?: server_start(server);
	if (!err && server->http)
		serve_wait(server);
	return err;
}

/* Of a recording numbers that are floors are told as by every verb; of a live one the metrics have said so. */
static int serve_end(struct server *server, int err, const char *damage)
{
	char sentence[1024], why[FLOOR_TEXT], memory[MEMORY_TEXT];
	unsigned int floor = 0;
	bool of_file = server->options->input != NULL;

	snprintf(sentence, sizeof(sentence), "%s", failure_text());
	if (!err && server->analysis && of_file)
		floor = floor_of(server->analysis);
	server_close(server);
	if (err) {
		failed(err, "%s", sentence);
		return common_failed(err);
	}
	if (damage[0]) {
		failed(-EBADMSG, "%s", damage);
		return common_failed(-EBADMSG);
	}
	if (memory_ran_out())
		fprintf(stderr, "faultline: nothing more is counted: %s\n",
			memory_ran_out_text(memory));
	if (floor)
		fprintf(stderr, "faultline: counts are floors: %s\n", floor_text(floor, why));
	return floor || memory_ran_out() ? EXIT_LOSS : EXIT_OK;
}

int verb_serve(int argc, char **argv)
{
	static struct server server;
	struct serve_options options;
	char damage[1024] = "";
	int err = serve_options_parse(&options, argc, argv);

	if (err)
		return common_failed(err);
	err = server_open(&server, &options);
	if (!err)
		err = options.input ? serve_recording(&server, damage, sizeof(damage))
				    : serve_live(&server);
	return serve_end(&server, err, damage);
}
