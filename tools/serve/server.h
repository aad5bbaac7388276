/* SPDX-License-Identifier: GPL-2.0 */
/* All that serves, whatever is observed: live.c and tools/serve.c feed it. */
#ifndef FAULTLINE_SERVE_SERVER_H
#define FAULTLINE_SERVE_SERVER_H

#include <signal.h>

#include "tools/serve/gather.h"
#include "tools/serve/keeper.h"
#include "tools/serve/metrics.h"
#include "tools/serve/pages.h"
#include "tools/serve/publish.h"

struct server {
	struct serve_options *options;
	struct analysis *analysis;
	struct tally tally;
	struct ledger ledger;
	struct exposition text;
	struct state_bytes state;
	struct publisher publisher;
	struct http *http;	  /* NULL: nobody is listened to */
	struct page_maker *pages; /* NULL: there are none */
	struct page_keeper keeper;
	struct stream_fan fan;
};

/* How often somebody has asked for the end. */
extern volatile sig_atomic_t server_signals;

int server_open(struct server *server, struct serve_options *options);
/* What is observed goes there. */
struct stream server_stream(struct server *server);
/* Takes the numbers, as of this time, and publishes them. */
int server_take(struct server *server, __u64 realtime_ns);
/* Once there is something to serve: answers, and says where. */
int server_start(struct server *server);
/* About once a second. */
void server_tend(struct server *server);
void server_close(struct server *server);

/* From this host, now; until somebody asks for the end. */
int serve_live(struct server *server);

#endif
