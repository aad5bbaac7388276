// SPDX-License-Identifier: GPL-2.0
#include "tools/serve/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define IDLE_SECONDS   10u		   /* without a byte either way */
#define REQUEST_NS     (30 * NSEC_PER_SEC) /* from its first byte to the last of its answer */
#define REQUEST_MEMORY (16u << 10)	   /* headers */
#define PAGE_FRESH_NS  (5 * NSEC_PER_SEC)
#define SENTENCE_TEXT  512

struct resource {
	struct MHD_Response *response; /* NULL: there is none */
	char sentence[SENTENCE_TEXT];  /* why not */
	__u64 published_ns;
};

/* A connection, from when its request began, or it did. */
struct client {
	struct MHD_Connection *connection; /* NULL: none */
	int fd;
	__u64 since_ns;
	bool waits, has_waited; /* suspended, until a page is published */
};

struct http {
	struct MHD_Daemon *daemon;
	int fd;
	bool loopback;
	http_wanted *wanted;
	void *wanted_self;
	pthread_mutex_t lock; /* of what follows; held for moments only */
	struct resource resources[HTTP_RESOURCES];
	struct client clients[HTTP_CONNECTIONS];
	bool page_wanted;
	atomic_ullong scrapes;
};

static void tell_listen(int error, const char *address)
{
	if (error == EADDRINUSE)
		failed(-error,
		       "%s: another program listens there; choose another address with --listen",
		       address);
	else if (error == EADDRNOTAVAIL)
		failed(-error, "%s: is no address of this host; choose another one with --listen",
		       address);
	else
		failed(-error, "%s: cannot listen there: %s", address, strerror(error));
}

static int http_bind(struct http *http, struct listen_address *address)
{
	char text[ADDRESS_TEXT];
	int on = 1, error;

	http->fd = socket(address->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (http->fd < 0)
		return failed(-errno, "no socket: %s", strerror(errno));
	setsockopt(http->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address->at.any.sa_family == AF_INET6)
		setsockopt(http->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(http->fd, &address->at.any, address->length) ||
	    listen(http->fd, HTTP_CONNECTIONS)) {
		error = errno;
		tell_listen(error, listen_text(address, text));
		return error == EACCES ? -error : failed_system(-error);
	}
	getsockname(http->fd, &address->at.any, &address->length);
	return 0;
}

int http_open(struct http **http, struct listen_address *address)
{
	struct http *made = calloc(1, sizeof(*made));
	int err;

	*http = NULL;
	if (!made)
		return failed(-ENOMEM, "no memory for the server");
	pthread_mutex_init(&made->lock, NULL);
	made->loopback = address->loopback;
	for (unsigned int r = 0; r < HTTP_RESOURCES; r++)
		snprintf(made->resources[r].sentence, SENTENCE_TEXT,
			 "nothing has been observed yet");
	err = http_bind(made, address);
	if (err) {
		http_close(made);
		return err;
	}
	*http = made;
	return 0;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned int status,
				   const char *text)
{
	char line[SENTENCE_TEXT + 2];
	int length = snprintf(line, sizeof(line), "%s\n", text);
	struct MHD_Response *response =
		MHD_create_response_from_buffer((size_t)length, line, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result queued;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				"text/plain; charset=utf-8");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	queued = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return queued;
}

/*
 * A page of another site may make a browser ask us under that site's name, once this name means our address. Whoever
 * listens for this host alone is asked under its own names only.
 */
static bool is_asked_here(const struct http *http, struct MHD_Connection *connection)
{
	static const char *const ours[] = {"127.0.0.1", "localhost", "[::1]"};
	const char *host =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);

	if (!http->loopback || !host)
		return true;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		size_t length = strlen(ours[i]);

		if (!strncasecmp(host, ours[i], length) && (!host[length] || host[length] == ':'))
			return true;
	}
	return !strncmp(host, "127.", 4) && strspn(host, "0123456789.:") == strlen(host);
}

static struct client *client_of(struct http *http, const struct MHD_Connection *connection)
{
	for (size_t i = 0; i < HTTP_CONNECTIONS; i++)
		if (http->clients[i].connection == connection)
			return &http->clients[i];
	return NULL;
}

/* Under the lock. The response lives until the answer is over, whatever is published meanwhile. */
static enum MHD_Result answer_resource(const struct resource *resource,
				       struct MHD_Connection *connection)
{
	if (resource->response)
		return MHD_queue_response(connection, MHD_HTTP_OK, resource->response);
	return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, resource->sentence);
}

static bool is_fresh(const struct resource *resource)
{
	return resource->published_ns && monotonic_ns() - resource->published_ns < PAGE_FRESH_NS;
}

/* Under the lock: whether this connection is to wait until a page is made. */
static bool page_wait(struct http *http, struct MHD_Connection *connection, bool *ask)
{
	struct client *client = client_of(http, connection);

	*ask = false;
	if (!http->wanted || !client || client->has_waited || is_fresh(&http->resources[HTTP_PAGE]))
		return false;
	client->waits = client->has_waited = true;
	MHD_suspend_connection(connection);
	*ask = !http->page_wanted;
	http->page_wanted = true;
	return true;
}

static enum MHD_Result answer_page(struct http *http, struct MHD_Connection *connection)
{
	enum MHD_Result result = MHD_YES;
	bool ask;

	pthread_mutex_lock(&http->lock);
	if (!page_wait(http, connection, &ask))
		result = answer_resource(&http->resources[HTTP_PAGE], connection);
	pthread_mutex_unlock(&http->lock);
	if (ask)
		http->wanted(http->wanted_self);
	return result;
}

static enum MHD_Result answer_metrics(struct http *http, struct MHD_Connection *connection)
{
	enum MHD_Result result;

	atomic_fetch_add(&http->scrapes, 1);
	pthread_mutex_lock(&http->lock);
	result = answer_resource(&http->resources[HTTP_METRICS], connection);
	pthread_mutex_unlock(&http->lock);
	return result;
}

/* Nothing of ours has use for more than headers. */
static bool has_body(struct MHD_Connection *connection)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
					   MHD_HTTP_HEADER_CONTENT_LENGTH) ||
	       MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
					   MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

/*
 * Called when the headers are there, and again when all of the request is: what is answered the first time ends the
 * connection.
 */
static enum MHD_Result http_answer(void *self, struct MHD_Connection *connection, const char *url,
				   const char *method, const char *version, const char *upload,
				   size_t *upload_size, void **request)
{
	static char known;
	struct http *http = self;

	(void)version, (void)upload, (void)upload_size;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				   "accepted: GET and HEAD");
	if (!is_asked_here(http, connection))
		return answer_text(connection, MHD_HTTP_FORBIDDEN,
				   "this address is asked as localhost, 127.0.0.1 or [::1] only");
	if (has_body(connection))
		return answer_text(connection, MHD_HTTP_CONTENT_TOO_LARGE,
				   "accepted: requests without a body");
	if (!*request) {
		*request = &known;
		return MHD_YES;
	}
	if (!strcmp(url, "/metrics"))
		return answer_metrics(http, connection);
	if (!strcmp(url, "/"))
		return answer_page(http, connection);
	return answer_text(connection, MHD_HTTP_NOT_FOUND, "there are /metrics and /");
}

static void http_on_end(void *self, struct MHD_Connection *connection, void **request,
			enum MHD_RequestTerminationCode code)
{
	struct http *http = self;
	struct client *client;

	(void)request, (void)code;
	pthread_mutex_lock(&http->lock);
	client = client_of(http, connection);
	if (client) {
		client->since_ns = monotonic_ns();
		client->has_waited = false;
	}
	pthread_mutex_unlock(&http->lock);
}

static void http_on_connection(void *self, struct MHD_Connection *connection, void **context,
			       enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct http *http = self;
	struct client *client;

	(void)context;
	pthread_mutex_lock(&http->lock);
	client = client_of(http, code == MHD_CONNECTION_NOTIFY_STARTED ? NULL : connection);
	if (client)
		*client = (struct client){0};
	if (client && code == MHD_CONNECTION_NOTIFY_STARTED)
		*client = (struct client){connection, info ? info->connect_fd : -1, monotonic_ns(),
					  false, false};
	pthread_mutex_unlock(&http->lock);
}

/* Complaints about what clients send are no news. */
static void http_log(void *self, const char *format, va_list arguments)
{
	(void)self, (void)format, (void)arguments;
}

int http_start(struct http *http, http_wanted *wanted, void *self)
{
	sigset_t all, before;

	http->wanted = wanted;
	http->wanted_self = self;
	/* Its thread leaves signals to the others. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	http->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_ALLOW_SUSPEND_RESUME |
			MHD_USE_ERROR_LOG,
		0, NULL, NULL, http_answer, http, MHD_OPTION_EXTERNAL_LOGGER, http_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, http->fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)HTTP_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_MEMORY,
		MHD_OPTION_NOTIFY_CONNECTION, http_on_connection, http, MHD_OPTION_NOTIFY_COMPLETED,
		http_on_end, http, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!http->daemon)
		return failed(-EIO, "the server cannot be started: no thread or descriptor");
	http->fd = -1; /* is the daemon's */
	return 0;
}

/* Under the lock. */
static void resume_waiting(struct http *http)
{
	http->page_wanted = false;
	for (size_t i = 0; i < HTTP_CONNECTIONS; i++) {
		struct client *client = &http->clients[i];

		if (!client->waits)
			continue;
		client->waits = false;
		client->since_ns = monotonic_ns();
		MHD_resume_connection(client->connection);
	}
}

static struct MHD_Response *make_response(enum http_resource resource, char *text, size_t length)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE);

	if (!response) {
		free(text);
		return NULL;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				resource == HTTP_METRICS
					? "text/plain; version=0.0.4; charset=utf-8"
					: "text/html; charset=utf-8");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (resource == HTTP_PAGE)
		MHD_add_response_header(response, "X-Frame-Options", "DENY");
	return response;
}

int http_publish(struct http *http, enum http_resource resource, char *text, size_t length,
		 const char *sentence)
{
	struct resource *published = &http->resources[resource];
	struct MHD_Response *response = text ? make_response(resource, text, length) : NULL,
			    *before;

	if (text && !response)
		return failed(-ENOMEM, "no memory for what is served");
	pthread_mutex_lock(&http->lock);
	before = published->response;
	published->response = response;
	published->published_ns = monotonic_ns();
	if (!text)
		snprintf(published->sentence, sizeof(published->sentence), "%s", sentence);
	if (resource == HTTP_PAGE)
		resume_waiting(http);
	pthread_mutex_unlock(&http->lock);
	if (before)
		MHD_destroy_response(before);
	return 0;
}

__u64 http_scrapes(const struct http *http)
{
	return atomic_load(&http->scrapes);
}

void http_end_slow(struct http *http)
{
	__u64 now = monotonic_ns();

	pthread_mutex_lock(&http->lock);
	for (size_t i = 0; i < HTTP_CONNECTIONS; i++) {
		const struct client *client = &http->clients[i];

		if (client->connection && client->fd >= 0 && !client->waits &&
		    now - client->since_ns > REQUEST_NS)
			shutdown(client->fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&http->lock);
}

void http_close(struct http *http)
{
	if (!http)
		return;
	pthread_mutex_lock(&http->lock);
	http->wanted = NULL;
	resume_waiting(http);
	pthread_mutex_unlock(&http->lock);
	if (http->daemon)
		MHD_stop_daemon(http->daemon);
	if (http->fd >= 0)
		close(http->fd);
	for (unsigned int r = 0; r < HTTP_RESOURCES; r++)
		if (http->resources[r].response)
			MHD_destroy_response(http->resources[r].response);
	pthread_mutex_destroy(&http->lock);
	free(http);
}
