// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/kvstore/kv_load.h"

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
#include "lib/base/random.h"

#define READY_LOOK_NS NSEC_PER_MSEC
#define WAIT_LOOK_NS  (2 * NSEC_PER_MSEC)
#define VALUE_FACTOR  0x9e3779b97f4a7c15ull /* odd: no two keys share a value */

struct kv_client {
	struct kv_load *load;
	struct kv_stream stream;
	pthread_t thread;
	bool running;
	__u32 index;
	struct random random;
	__u64 *value, *wanted; /* words of a received and of a made value */
	__u64 gets, hits, sets, damaged, gets_shifted, hits_shifted;
	bool broken;
	__u32 *windows;
	struct histogram latency;
};

struct kv_load {
	struct kvstore_config config;
	struct kv_start *start;
	struct kvstore_result *result;
	__u32 value_bytes, window_count;
	_Atomic __u32 ended;
	struct kv_client clients[];
};

static __u64 choose_below(struct random *random, __u64 below)
{
	return ((random_next(random) >> 32) * below) >> 32;
}

static void make_value(const struct kv_load *load, __u64 key, __u64 *words)
{
	for (__u32 i = 0; i < load->value_bytes / sizeof(*words); i++)
		words[i] = (key * 65536 + i + 1) * VALUE_FACTOR;
}

/* "VALUE KEY FLAGS BYTES", the value, "END"; or "END" alone. 1: it hit, 0: it missed, or the connection is no good. */
static int client_get(struct kv_client *client, __u64 key)
{
	struct kv_load *load = client->load;
	char line[KV_LINE];
	struct iovec piece = {line, 0};
	unsigned long long told;
	__u32 flags, bytes;
	int err;

	piece.iov_len = (size_t)snprintf(line, sizeof(line), "get k%llu\r\n", key);
	err = kv_stream_write(&client->stream, &piece, 1) ?: kv_stream_line(&client->stream, line);
	if (err)
		return err;
	if (!strcmp(line, "END"))
		return 0;
	if (sscanf(line, "VALUE k%llu %u %u", &told, &flags, &bytes) != 3 || told != key ||
	    bytes != load->value_bytes)
		return -EPROTO;
	err = kv_stream_read(&client->stream, client->value, bytes) ?:
	      kv_stream_line(&client->stream, line) ?: kv_stream_line(&client->stream, line);
	if (err || strcmp(line, "END") != 0)
		return err ? err : -EPROTO;
	make_value(load, key, client->wanted);
	client->damaged += memcmp(client->value, client->wanted, bytes) != 0;
	return 1;
}

static int client_set(struct kv_client *client, __u64 key)
{
	struct kv_load *load = client->load;
	char line[KV_LINE];
	struct iovec pieces[3] = {
		{line, 0}, {client->wanted, load->value_bytes}, {(void *)"\r\n", 2}};
	int err;

	make_value(load, key, client->wanted);
	pieces[0].iov_len = (size_t)snprintf(line, sizeof(line), "set k%llu 0 0 %u\r\n", key,
					     load->value_bytes);
	err = kv_stream_write(&client->stream, pieces, 3) ?: kv_stream_line(&client->stream, line);
	if (!err && strcmp(line, "STORED") != 0)
		err = -EPROTO;
	return err;
}

static bool load_stopping(const struct kv_load *load)
{
	return atomic_load_explicit(&load->start->stop, memory_order_relaxed);
}

/* Its share of the working set, so that what comes later is not the first touch. */
static int client_fill(struct kv_client *client)
{
	const struct kvstore_config *config = &client->load->config;
	int err = 0;

	for (__u64 key = client->index;
	     !err && key < config->working_set && !load_stopping(client->load);
	     key += config->clients)
		err = client_set(client, key);
	return err;
}

/* The last one says when. Returns 0: the load is to stop. */
static __u64 await_begin(struct kv_start *start)
{
	__u64 begin, none = 0;

	if (atomic_fetch_add(&start->ready, 1) + 1 == atomic_load(&start->clients))
		atomic_compare_exchange_strong(&start->begin_ns, &none, monotonic_ns());
	while (!(begin = atomic_load(&start->begin_ns)) && !atomic_load(&start->stop))
		sleep_until(monotonic_ns() + READY_LOOK_NS);
	return begin;
}

static void client_hit(struct kv_client *client, __u64 passed, bool shifted)
{
	__u64 window = passed / KVSTORE_WINDOW_NS;

	client->hits++;
	client->hits_shifted += shifted;
	if (window < client->load->window_count)
		client->windows[window]++;
}

/* 1: a get that hit, 0: one that missed, 2: a set; or the connection is no good. */
static int client_choose(struct kv_client *client, __u64 key)
{
	int err;

	if (choose_below(&client->random, 100) >= client->load->config.set_percent)
		return client_get(client, key);
	err = client_set(client, key);
	return err ? err : 2;
}

/* One request, and the set that a miss asks for. */
static int client_request(struct kv_client *client, __u64 begin_ns, __u64 now_ns)
{
	const struct kvstore_config *config = &client->load->config;
	bool shifted = config->shift_at_ns && now_ns - begin_ns >= config->shift_at_ns;
	__u64 key, end;
	int result;

	key = choose_below(&client->random, shifted ? config->shift_to : config->working_set);
	result = client_choose(client, key);
	if (result < 0)
		return result;
	end = monotonic_ns();
	histogram_add(&client->latency, end - now_ns);
	client->sets += result == 2;
	client->gets += result < 2;
	client->gets_shifted += result < 2 && shifted;
	if (result == 1)
		client_hit(client, end - begin_ns, shifted);
	return result ? 0 : client_set(client, key);
}

static void *client_main(void *argument)
{
	struct kv_client *client = argument;
	struct kv_load *load = client->load;
	int err = client_fill(client);
	__u64 begin = await_begin(load->start), now;

	while (!err && begin && !load_stopping(load) &&
	       (now = monotonic_ns()) - begin < load->config.duration_ns)
		err = client_request(client, begin, now);
	client->broken = err && !load_stopping(load);
	atomic_fetch_add(&load->ended, 1);
	return NULL;
}

/* In the wire's namespace. */
static int connect_there(void *argument)
{
	struct kv_load *load = argument;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(KVSTORE_PORT)};
	const int one = 1;

	inet_pton(AF_INET, NETWORK_GUEST_ADDRESS, &to.sin_addr);
	for (__u32 i = 0; i < load->config.clients; i++) {
		int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (connection < 0)
			return failed(-errno, "no socket for a client: %s", strerror(errno));
		load->clients[i].stream.socket = connection;
		setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (connect(connection, (struct sockaddr *)&to, sizeof(to)))
			return failed(-errno, "a client cannot connect to its store: %s",
				      strerror(errno));
	}
	return 0;
}

static int client_prepare(struct kv_load *load, __u32 index)
{
	struct kv_client *client = &load->clients[index];

	client->load = load;
	client->index = index;
	client->stream.socket = -1;
	client->random = (struct random){load->config.seed * 0xd1342543de82ef95ull + index};
	client->value = malloc(load->value_bytes);
	client->wanted = malloc(load->value_bytes);
	client->windows = calloc(load->window_count, sizeof(*client->windows));
	histogram_init(&client->latency);
	return client->value && client->wanted && client->windows
		       ? 0
		       : failed(-ENOMEM, "no memory for the clients of a store");
}

int kv_load_start(struct kv_load **load, const struct network *network,
		  const struct kvstore_config *config, struct kv_start *start,
		  struct kvstore_result *result)
{
	struct kv_load *new = calloc(1, sizeof(*new) + config->clients * sizeof(new->clients[0]));
	int err = 0;

	if (!new)
		return failed(-ENOMEM, "no memory for the clients of a store");
	new->config = *config;
	new->start = start;
	new->result = result;
	/* Whole words, so that a value is made of them. */
	new->value_bytes = (config->item_bytes - KVSTORE_HEADER) & ~7u;
	new->window_count = (__u32)(config->duration_ns / KVSTORE_WINDOW_NS) + 1;
	for (__u32 i = 0; i < config->clients; i++)
		err = client_prepare(new, i) ?: err;
	if (!err)
		err = network_run(network, NETWORK_WIRE, connect_there, new);
	for (__u32 i = 0; !err && i < config->clients; i++) {
		err = thread_start(&new->clients[i].thread, NULL, client_main, &new->clients[i],
				   "kv-client%u", i);
		new->clients[i].running = !err;
	}
	*load = new; /* to be stopped in any case */
	return err;
}

int kv_load_wait(struct kv_load *load, __u64 timeout_ns)
{
	__u64 until = monotonic_ns() + timeout_ns;

	while (atomic_load(&load->ended) < load->config.clients) {
		if (monotonic_ns() >= until)
			return -ETIMEDOUT;
		sleep_until(monotonic_ns() + WAIT_LOOK_NS);
	}
	return 0;
}

static void client_sum(struct kvstore_result *result, const struct kv_client *client)
{
	result->gets += client->gets;
	result->hits += client->hits;
	result->sets += client->sets;
	result->damaged += client->damaged;
	result->errors += client->broken;
	result->gets_shifted += client->gets_shifted;
	result->hits_shifted += client->hits_shifted;
	histogram_merge(&result->latency, &client->latency);
	for (__u32 i = 0; i < result->window_count; i++)
		result->windows[i] += client->windows[i];
}

void kv_load_stop(struct kv_load *load)
{
	struct kvstore_result *result;
	__u64 now = monotonic_ns();

	if (!load)
		return;
	result = load->result;
	result->begin_ns = atomic_load(&load->start->begin_ns);
	result->end_ns = result->begin_ns + load->config.duration_ns;
	if (result->begin_ns && result->end_ns > now)
		result->end_ns = now;
	result->windows = calloc(load->window_count, sizeof(*result->windows));
	result->window_count = result->windows ? load->window_count : 0;
	for (__u32 i = 0; i < load->config.clients; i++) {
		struct kv_client *client = &load->clients[i];

		if (client->stream.socket >= 0)
			shutdown(client->stream.socket, SHUT_RDWR);
		if (client->running) {
			pthread_join(client->thread, NULL);
			client_sum(result, client);
		}
		if (client->stream.socket >= 0)
			close(client->stream.socket);
		free(client->value);
		free(client->wanted);
		free(client->windows);
	}
	free(load);
}
