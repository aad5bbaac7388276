// SPDX-License-Identifier: GPL-2.0
#include "tools/serve/publish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/signals.h"

void publisher_init(struct publisher *publisher)
{
	*publisher = (struct publisher){.textfile = {.folder = -1, .lock = -1},
					.state = {.folder = -1, .lock = -1}};
	pthread_mutex_init(&publisher->lock, NULL);
	pthread_cond_init(&publisher->offered, NULL);
	pthread_cond_init(&publisher->published, NULL);
}

static void issue_free(struct issue *issue)
{
	free(issue->text);
	free(issue->file);
	free(issue->state);
	*issue = (struct issue){0};
}

static void issue_publish(struct publisher *publisher, struct issue *issue)
{
	if (issue->state)
		replaced_write(&publisher->state, issue->state, issue->state_length);
	if (publisher->http) {
		http_publish(publisher->http, HTTP_METRICS, issue->text, issue->length, NULL);
		issue->text = NULL;
	}
	if (issue->file)
		replaced_write(&publisher->textfile, issue->file, issue->length);
	atomic_store(&publisher->textfile_failures, publisher->textfile.failures);
	issue_free(issue);
}

static void *publisher_run(void *argument)
{
	struct publisher *publisher = argument;
	struct issue issue;
	bool has;

	do {
		pthread_mutex_lock(&publisher->lock);
		publisher->busy = false;
		pthread_cond_broadcast(&publisher->published);
		while (!publisher->has_pending && !publisher->ending)
			pthread_cond_wait(&publisher->offered, &publisher->lock);
		has = publisher->has_pending;
		issue = publisher->pending;
		publisher->pending = (struct issue){0};
		publisher->has_pending = false;
		publisher->busy = has;
		pthread_mutex_unlock(&publisher->lock);
		if (has)
			issue_publish(publisher, &issue);
	} while (has);
	return NULL;
}

int publisher_start(struct publisher *publisher)
{
	int error = signals_start_thread(&publisher->thread, NULL, publisher_run, publisher);

	if (error)
		return failed(-error, "no thread to publish with: %s", strerror(error));
	publisher->started = true;
	return 0;
}

static char *copy_of(const char *bytes, size_t length)
{
	char *copy = malloc(length ?: 1);

	return copy ? memcpy(copy, bytes, length) : NULL;
}

static bool issue_make(const struct publisher *publisher, const struct exposition *text,
		       const struct state_bytes *state, struct issue *issue)
{
	*issue = (struct issue){.length = text->length};
	issue->text = copy_of(text->text, text->length);
	if (publisher->textfile.folder >= 0)
		issue->file = copy_of(text->text, text->length);
	if (state && publisher->state.folder >= 0) {
		issue->state = copy_of(state->bytes, state->length);
		issue->state_length = state->length;
	}
	return issue->text && (issue->file || publisher->textfile.folder < 0) &&
	       (issue->state || !state || publisher->state.folder < 0);
}

int publisher_offer(struct publisher *publisher, const struct exposition *text,
		    const struct state_bytes *state)
{
	struct issue issue, passed;

	if (text->failed || !issue_make(publisher, text, state, &issue)) {
		if (!text->failed)
			issue_free(&issue);
		return failed(-ENOMEM, "no memory for the metrics");
	}
	pthread_mutex_lock(&publisher->lock);
	passed = publisher->pending;
	publisher->pending = issue;
	publisher->has_pending = true;
	pthread_cond_signal(&publisher->offered);
	pthread_mutex_unlock(&publisher->lock);
	issue_free(&passed);
	return 0;
}

void publisher_settle(struct publisher *publisher)
{
	pthread_mutex_lock(&publisher->lock);
	while (publisher->started && (publisher->has_pending || publisher->busy))
		pthread_cond_wait(&publisher->published, &publisher->lock);
	pthread_mutex_unlock(&publisher->lock);
}

void publisher_close(struct publisher *publisher)
{
	pthread_mutex_lock(&publisher->lock);
	publisher->ending = true;
	pthread_cond_signal(&publisher->offered);
	pthread_mutex_unlock(&publisher->lock);
	if (publisher->started)
		pthread_join(publisher->thread, NULL);
	issue_free(&publisher->pending);
	replaced_close(&publisher->textfile);
	replaced_close(&publisher->state);
}
