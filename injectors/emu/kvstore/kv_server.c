// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/kvstore/kv_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injectors/emu/kvstore/kv_stream.h"
#include "injectors/emu/thread.h"
#include "injectors/net/network.h"
#include "lib/base/fail.h"

struct kv_session {
	struct kv_server *server;
	struct kv_stream stream;
	pthread_t thread;
	unsigned char *value; /* on its way between a socket and an item */
};

struct kv_server {
	int listener;
	__u32 item_bytes, count;
	pthread_t acceptor;
	pthread_mutex_t lock; /* of the items, and of the sessions */
	bool accepting, stopping;
	struct kv_items *items;
	struct kv_session *sessions[KVSTORE_CLIENTS];
};

static int say(struct kv_session *session, const char *text)
{
	struct iovec piece = {(void *)(uintptr_t)text, strlen(text)};

	return kv_stream_write(&session->stream, &piece, 1);
}

/* The value is copied under the lock: its item may be another's a moment later. */
static int answer_get(struct kv_session *session, const char *key)
{
	struct kv_server *server = session->server;
	char head[KV_LINE];
	struct iovec pieces[3] = {{head, 0}, {session->value, 0}, {(void *)"\r\nEND\r\n", 7}};
	const struct kv_item *item;

	pthread_mutex_lock(&server->lock);
	item = kv_items_find(server->items, key, strlen(key));
	if (item) {
		pieces[0].iov_len = (size_t)snprintf(head, sizeof(head), "VALUE %s %u %u\r\n", key,
						     item->flags, item->bytes);
		pieces[1].iov_len = item->bytes;
		memcpy(session->value, item->value, item->bytes);
	}
	pthread_mutex_unlock(&server->lock);
	return item ? kv_stream_write(&session->stream, pieces, 3) : say(session, "END\r\n");
}

static void store(struct kv_session *session, const char *key, __u32 flags, __u32 bytes)
{
	struct kv_server *server = session->server;
	struct kv_item *item;

	pthread_mutex_lock(&server->lock);
	item = kv_items_take(server->items, key, strlen(key));
	item->flags = flags;
	item->bytes = bytes;
	memcpy(item->value, session->value, bytes);
	pthread_mutex_unlock(&server->lock);
}

static int answer_set(struct kv_session *session, const char *key, const char *rest)
{
	__u32 most = session->server->item_bytes - KVSTORE_HEADER, flags, bytes;
	const char *answer = "STORED\r\n";
	char quiet[16] = "", end[2];
	long long expiry;
	int err, words = sscanf(rest, "%u %lld %u %15s", &flags, &expiry, &bytes, quiet);

	if (words < 3 || (words == 4 && strcmp(quiet, "noreply") != 0))
		return say(session, "CLIENT_ERROR bad command line format\r\n");
	err = kv_stream_read(&session->stream, bytes <= most ? session->value : NULL, bytes);
	if (!err)
		err = kv_stream_read(&session->stream, end, sizeof(end));
	if (err)
		return err;
	if (bytes > most)
		answer = "SERVER_ERROR object too large for cache\r\n";
	else if (memcmp(end, "\r\n", 2) != 0)
		answer = "CLIENT_ERROR bad data chunk\r\n";
	else
		store(session, key, flags, bytes);
	return words == 4 ? 0 : say(session, answer);
}

/* 0, or the session is over. */
static int answer_line(struct kv_session *session, char *line)
{
	char *rest = line, *command = strsep(&rest, " "), *key = strsep(&rest, " ");

	if (!strcmp(command, "quit"))
		return -ECONNRESET;
	if (!strcmp(command, "version"))
		return say(session, "VERSION faultline\r\n");
	if (!key || !*key || strlen(key) > KV_KEY_MOST)
		return say(session, "ERROR\r\n");
	if (!strcmp(command, "get") && (!rest || !*rest))
		return answer_get(session, key);
	if (!strcmp(command, "set") && rest)
		return answer_set(session, key, rest);
	return say(session, "ERROR\r\n");
}

static void *session_main(void *argument)
{
	struct kv_session *session = argument;
	char line[KV_LINE];

	while (!kv_stream_line(&session->stream, line) && !answer_line(session, line))
		;
	shutdown(session->stream.socket, SHUT_RDWR);
	return NULL;
}

static void session_free(struct kv_session *session)
{
	close(session->stream.socket);
	free(session->value);
	free(session);
}

/* With the lock. Sessions that are over keep their place until the end. */
static bool session_add(struct kv_server *server, int socket)
{
	struct kv_session *session = calloc(1, sizeof(*session));
	const int one = 1;

	if (!session || server->stopping || server->count == KVSTORE_CLIENTS)
		goto refuse;
	session->server = server;
	session->stream.socket = socket;
	session->value = malloc(server->item_bytes);
	setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (!session->value ||
	    thread_start(&session->thread, NULL, session_main, session, "kv-%u", server->count))
		goto refuse;
	server->sessions[server->count++] = session;
	return true;
refuse:
	if (session)
		free(session->value);
	free(session);
	return false;
}

static void *accept_main(void *argument)
{
	struct kv_server *server = argument;
	int socket;

	while ((socket = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0 ||
	       errno == EINTR || errno == ECONNABORTED) {
		if (socket < 0)
			continue;
		pthread_mutex_lock(&server->lock);
		if (!session_add(server, socket))
			close(socket);
		pthread_mutex_unlock(&server->lock);
	}
	return NULL;
}

/* In the guest's namespace. */
static int listen_there(void *argument)
{
	struct kv_server *server = argument;
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(KVSTORE_PORT)};
	const int one = 1;

	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server->listener < 0)
		return failed(-errno, "no socket for a store: %s", strerror(errno));
	setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(server->listener, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(server->listener, KVSTORE_CLIENTS))
		return failed(-errno, "cannot listen at port %d of the guest: %s", KVSTORE_PORT,
			      strerror(errno));
	return 0;
}

int kv_server_start(struct kv_server **server, const struct network *network,
		    struct kv_items *items, __u32 item_bytes)
{
	struct kv_server *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return failed(-ENOMEM, "no memory for a store");
	new->listener = -1;
	new->items = items;
	new->item_bytes = item_bytes;
	pthread_mutex_init(&new->lock, NULL);
	err = network_run(network, NETWORK_GUEST, listen_there, new);
	if (!err)
		err = thread_start(&new->acceptor, NULL, accept_main, new, "kv-accept");
	new->accepting = !err;
	if (err)
		kv_server_stop(new);
	else
		*server = new;
	return err;
}

void kv_server_stop(struct kv_server *server)
{
	if (!server)
		return;
	pthread_mutex_lock(&server->lock);
	server->stopping = true;
	pthread_mutex_unlock(&server->lock);
	if (server->listener >= 0)
		shutdown(server->listener, SHUT_RDWR);
	if (server->accepting)
		pthread_join(server->acceptor, NULL);
	for (__u32 i = 0; i < server->count; i++) {
		shutdown(server->sessions[i]->stream.socket, SHUT_RDWR);
		pthread_join(server->sessions[i]->thread, NULL);
		session_free(server->sessions[i]);
	}
	if (server->listener >= 0)
		close(server->listener);
	pthread_mutex_destroy(&server->lock);
	free(server);
}
