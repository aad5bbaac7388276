/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From the thread that captures to clients and files, by a thread of its own: a slow disk delays numbers, never
 * capture. What was not taken until the next came is left out. State is written before anybody sees its numbers.
 */
#ifndef FAULTLINE_SERVE_PUBLISH_H
#define FAULTLINE_SERVE_PUBLISH_H

#include <pthread.h>
#include <stdatomic.h>

#include "tools/serve/exposition.h"
#include "tools/serve/http.h"
#include "tools/serve/replace.h"
#include "tools/serve/state.h"

struct issue {
	char *text, *file, *state; /* `file` is the text again, NULL: there is no textfile */
	size_t length, state_length;
};

struct publisher {
	struct http *http;		 /* NULL: nobody is listened to */
	struct replaced textfile, state; /* may be closed */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t offered, published;
	struct issue pending;
	bool has_pending, busy, ending, started;
	atomic_ullong textfile_failures;
};

/* No file is open. */
void publisher_init(struct publisher *publisher);
int publisher_start(struct publisher *publisher);
/* Copies; `state` may be NULL. -ENOMEM. */
int publisher_offer(struct publisher *publisher, const struct exposition *text,
		    const struct state_bytes *state);
/* Waits until what was offered last is published. */
void publisher_settle(struct publisher *publisher);
/* After what was offered last. */
void publisher_close(struct publisher *publisher);

#endif
