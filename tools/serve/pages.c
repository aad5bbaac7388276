// SPDX-License-Identifier: GPL-2.0
#include "tools/serve/pages.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/child.h"
#include "lib/base/fail.h"
#include "lib/base/signals.h"
#include "tools/serve/builder.h"

struct page_maker {
	struct builder builder;
	int socket;
	pid_t process;
	struct http *http;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t asked;
	bool wanted, ending, started;
};

static int page_maker_find_place(struct page_maker *pages, const struct serve_options *options)
{
	const char *temporary = getenv("TMPDIR");
	struct builder *b = &pages->builder;
	int length = snprintf(b->folder, sizeof(b->folder), "%s/faultline-serve.XXXXXX",
			      temporary && *temporary ? temporary : "/var/tmp");

	if (length < 0 || (size_t)length + 16 > sizeof(b->folder))
		return failed(-ENAMETOOLONG, "$TMPDIR is too long");
	if (options->input && strlen(options->input) >= sizeof(b->recording))
		return failed(-ENAMETOOLONG, "%s: is too long a name", options->input);
	if (!mkdtemp(b->folder))
		return failed(-errno, "%s: cannot be made: %s; --no-page does without", b->folder,
			      strerror(errno));
	snprintf(b->page, sizeof(b->page), "%.*s/page.html", PATH_MAX - 16, b->folder);
	if (options->input)
		snprintf(b->recording, sizeof(b->recording), "%s", options->input);
	else
		snprintf(b->recording, sizeof(b->recording), "%.*s/last.flt", PATH_MAX - 16,
			 b->folder);
	b->live = !options->input;
	b->slos = options->slos;
	return 0;
}

int page_maker_create(struct page_maker **pages, const struct serve_options *options)
{
	struct page_maker *made = calloc(1, sizeof(*made));
	int err = 0;

	*pages = NULL;
	if (!made)
		return failed(-ENOMEM, "no memory for the page");
	if (options->input)
		err = hosts_choose_one(&options->hosts, options->input, &made->builder.host);
	err = err ?: page_maker_find_place(made, options);
	if (!err) {
		err = builder_start(&made->builder, &made->socket, &made->process);
		if (err)
			rmdir(made->builder.folder);
	}
	if (err) {
		free(made);
		return err;
	}
	pthread_mutex_init(&made->lock, NULL);
	pthread_cond_init(&made->asked, NULL);
	*pages = made;
	return 0;
}

const char *page_maker_recording(const struct page_maker *pages)
{
	return pages->builder.recording;
}

static char *page_load(const char *path, size_t *length)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	long size = -1;

	if (file && !fseek(file, 0, SEEK_END))
		size = ftell(file);
	if (size > 0) {
		rewind(file);
		text = malloc((size_t)size);
	}
	if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
		free(text);
		text = NULL;
	}
	if (file)
		fclose(file);
	*length = text ? (size_t)size : 0;
	return text;
}

static void page_maker_make(struct page_maker *pages)
{
	struct builder_answer answer = {-EIO, "the process that makes pages is gone"};
	size_t length = 0;
	char *text = NULL;

	if (send(pages->socket, "p", 1, MSG_NOSIGNAL) == 1 &&
	    recv(pages->socket, &answer, sizeof(answer), 0) != sizeof(answer))
		answer = (struct builder_answer){-EIO, "the process that makes pages is gone"};
	answer.sentence[sizeof(answer.sentence) - 1] = '\0';
	if (!answer.error)
		text = page_load(pages->builder.page, &length);
	if (!answer.error && !text)
		snprintf(answer.sentence, sizeof(answer.sentence), "the page cannot be read");
	if (http_publish(pages->http, HTTP_PAGE, text, length, answer.sentence))
		http_publish(pages->http, HTTP_PAGE, NULL, 0, failure_text());
}

static void *page_maker_run(void *argument)
{
	struct page_maker *pages = argument;

	for (;;) {
		bool ending;

		pthread_mutex_lock(&pages->lock);
		while (!pages->wanted && !pages->ending)
			pthread_cond_wait(&pages->asked, &pages->lock);
		pages->wanted = false;
		ending = pages->ending;
		pthread_mutex_unlock(&pages->lock);
		if (ending)
			return NULL;
		page_maker_make(pages);
	}
}

int page_maker_start(struct page_maker *pages, struct http *http)
{
	int error;

	pages->http = http;
	error = signals_start_thread(&pages->thread, NULL, page_maker_run, pages);
	if (error)
		return failed(-error, "no thread for the page: %s", strerror(error));
	pages->started = true;
	return 0;
}

void page_maker_wanted(void *self)
{
	struct page_maker *pages = self;

	pthread_mutex_lock(&pages->lock);
	pages->wanted = true;
	pthread_cond_signal(&pages->asked);
	pthread_mutex_unlock(&pages->lock);
}

void page_maker_stop(struct page_maker *pages)
{
	if (!pages)
		return;
	pthread_mutex_lock(&pages->lock);
	pages->ending = true;
	pthread_cond_signal(&pages->asked);
	pthread_mutex_unlock(&pages->lock);
	shutdown(pages->socket, SHUT_RDWR);
	if (pages->started)
		pthread_join(pages->thread, NULL);
	close(pages->socket);
	child_await(pages->process);
}

void page_maker_free(struct page_maker *pages)
{
	if (!pages)
		return;
	pthread_cond_destroy(&pages->asked);
	pthread_mutex_destroy(&pages->lock);
	free(pages);
}
