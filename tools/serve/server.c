// SPDX-License-Identifier: GPL-2.0
#include "tools/serve/server.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/base/run_directory.h"
#include "lib/base/signals.h"

#define TEXTFILE_NAME	"faultline.prom"
#define KEPT_MEMORY	(32 << 20)
#define LAST_FAULTS	1u  /* nobody shows single ones */
#define HISTORY_WINDOWS 16u /* likewise */

volatile sig_atomic_t server_signals;

static void server_on_signal(int number)
{
	(void)number;
	server_signals++;
}

static int open_textfile(struct server *server)
{
	char path[PATH_MAX];

	if (!server->options->textfile)
		return 0;
	if (snprintf(path, sizeof(path), "%s/" TEXTFILE_NAME, server->options->textfile) >=
	    (int)sizeof(path))
		return failed(-EINVAL, "--textfile: is too long a name");
	return replaced_open(&server->publisher.textfile, path, 0644);
}

/* Of this address, or of the textfile: what Prometheus takes for the same as before. */
static bool default_state(const struct serve_options *options, char path[PATH_MAX])
{
	char text[ADDRESS_TEXT], folder[PATH_MAX] = "";
	int directory, length;

	if (options->listen.length && !ntohs(options->listen.at.v4.sin_port))
		return false;
	if (options->listen.length)
		listen_text(&options->listen, text);
	else
		snprintf(text, sizeof(text), "%016llx",
			 (unsigned long long)(realpath(options->textfile, folder)
						      ? XXH3_64bits(folder, strlen(folder))
						      : 0));
	directory = run_directory_open(true);
	if (directory < 0) {
		fprintf(stderr,
			"faultline: counters begin at 0 whenever this is started: %s; --state FILE keeps "
			"them elsewhere\n",
			failure_text());
		return false;
	}
	close(directory);
	length = snprintf(path, PATH_MAX, "%s/serve-%s.counters", run_directory(), text);
	return length > 0 && length < PATH_MAX;
}

static int open_state(struct server *server)
{
	const struct serve_options *o = server->options;
	char path[PATH_MAX], note[STATE_NOTE];
	int err;

	if (o->input || o->no_state)
		return 0;
	if (o->state && snprintf(path, sizeof(path), "%s", o->state) >= (int)sizeof(path))
		return failed(-EINVAL, "--state: is too long a name");
	if (!o->state && !default_state(o, path))
		return 0;
	err = replaced_open(&server->publisher.state, path, 0600);
	err = err ?: state_load(&server->ledger, path, note);
	if (!err && note[0])
		fprintf(stderr, "faultline: %s\n", printable_of(note).text);
	return err;
}

static int open_analysis(struct server *server)
{
	const struct serve_options *o = server->options;
	const struct analysis_config config = {.history_windows = HISTORY_WINDOWS,
					       .last_faults = LAST_FAULTS,
					       .burst_faults = o->burst,
					       .without_findings = true,
					       .slos = o->slos};
	int err = analysis_create(&server->analysis, &config);

	err = err ?: tally_create(&server->tally, server->analysis);
	err = err ?: stream_fan_add(&server->fan, analysis_stream(server->analysis));
	return err ?: stream_fan_add(&server->fan, tally_stream(&server->tally));
}

static void catch_end(void)
{
	const struct sigaction action = {.sa_handler = server_on_signal};

	signals_catch_end(&action);
	signals_ignore(SIGPIPE);
}

int server_open(struct server *server, struct serve_options *options)
{
	int err = 0;

	*server = (struct server){.options = options, .fan.stops = true};
	publisher_init(&server->publisher);
	ledger_init(&server->ledger, options->max_devices);
	catch_end();
	/* Megabytes that come and go every second are not given back to the kernel in between. */
	mallopt(M_MMAP_THRESHOLD, KEPT_MEMORY);
	mallopt(M_TRIM_THRESHOLD, 2 * KEPT_MEMORY);
	if (options->listen.length && !options->no_page)
		err = page_maker_create(&server->pages, options);
	if (!err && options->listen.length)
		err = http_open(&server->http, &options->listen);
	err = err ?: open_textfile(server);
	err = err ?: open_state(server);
	err = err ?: open_analysis(server);
	if (!err && server->pages && !options->input) {
		err = keeper_open(&server->keeper, page_maker_recording(server->pages), options);
		err = err ?: stream_fan_add(&server->fan, keeper_stream(&server->keeper));
	}
	server->publisher.http = server->http;
	return err ?: publisher_start(&server->publisher);
}

struct stream server_stream(struct server *server)
{
	return stream_fan(&server->fan);
}

int server_take(struct server *server, __u64 realtime_ns)
{
	const struct metrics metrics = {server->analysis, &server->ledger, realtime_ns};
	const struct gather_self self = {.scrapes = server->http ? http_scrapes(server->http) : 0,
					 .textfile_failures =
						 atomic_load(&server->publisher.textfile_failures)};
	bool keeps = server->publisher.state.folder >= 0;
	int err = 0;

	gather_counts(&server->ledger, server->analysis, &server->tally, &self);
	metrics_write(&metrics, &server->text);
	if (keeps)
		err = state_pack(&server->ledger, &server->state);
	return err
		       ?: publisher_offer(&server->publisher, &server->text,
					  keeps ? &server->state : NULL);
}

int server_start(struct server *server)
{
	char text[ADDRESS_TEXT];
	int err = 0;

	if (!server->http)
		return 0;
	publisher_settle(&server->publisher);
	if (server->pages)
		err = page_maker_start(server->pages, server->http);
	err = err
		      ?: http_start(server->http, server->pages ? page_maker_wanted : NULL,
				    server->pages);
	if (!err && !server->pages)
		http_publish(server->http, HTTP_PAGE, NULL, 0, "there is no page: --no-page");
	if (!err)
		fprintf(stderr, "serving http://%s/metrics%s; Ctrl-C ends it\n",
			listen_text(&server->options->listen, text),
			server->pages ? " and a page at /" : "");
	return err;
}

void server_tend(struct server *server)
{
	if (server->http)
		http_end_slow(server->http);
}

void server_close(struct server *server)
{
	publisher_close(&server->publisher);
	page_maker_stop(server->pages);
	http_close(server->http);
	page_maker_free(server->pages);
	keeper_close(&server->keeper);
	if (server->analysis)
		analysis_destroy(server->analysis);
	tally_destroy(&server->tally);
	ledger_free(&server->ledger);
	exposition_free(&server->text);
	free(server->state.bytes);
}
