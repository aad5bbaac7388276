// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/verbs_fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "bpf/page.h"
#include "injectors/emu/thread.h"

#define PAIR_GENERATION 1024

void verbs_fake_init(struct verbs_fake *fake, struct port *port, const struct channel *channel)
{
	memset(fake, 0, sizeof(*fake));
	fake->port = port;
	fake->iova = channel->data_address + PAGE_BYTES + channel->config.iova_offset;
	fake->bytes = channel->config.guest_address + channel->config.bytes - PAGE_BYTES -
		      channel->data_address;
	sem_init(&fake->blocked, 0, 0);
	sem_init(&fake->go, 0, 0);
}

__u32 verbs_fake_objects(const struct verbs_fake *fake)
{
	__u32 objects = 0;

	for (__u32 i = 0; i < FAKE_REGIONS; i++)
		objects += fake->regions[i].bytes != 0;
	for (__u32 i = 0; i < FAKE_QUEUES; i++)
		objects += fake->queues[i].depth != 0;
	for (__u32 i = 0; i < FAKE_PAIRS; i++)
		objects += fake->pairs[i].send_depth != 0;
	for (__u32 i = 0; i < FAKE_SHARED; i++)
		objects += fake->shared[i].depth != 0;
	return objects;
}

static void check(struct verbs_fake *fake, bool right)
{
	fake->wrong += !right;
}

static bool within(const struct verbs_fake *fake, __u64 iova, __u64 bytes)
{
	return iova >= fake->iova && iova - fake->iova <= fake->bytes &&
	       bytes <= fake->bytes - (iova - fake->iova);
}

static bool power_of_two(__u32 depth)
{
	return depth && depth <= VERBS_DEPTH_MAX && !(depth & (depth - 1));
}

static bool refuses(struct verbs_fake *fake)
{
	if (!fake->refusals)
		return false;
	fake->refusals--;
	return true;
}

/* What is pinned is there, each page of it, and may be written. */
static void write_rings(struct verbs_fake *fake, __u64 iova, __u64 bytes, unsigned char *host)
{
	static const __u64 nothing;
	__u64 absent;

	if (host) {
		memset(host, 0, bytes);
		return;
	}
	check(fake, iova % PAGE_BYTES == 0 && within(fake, iova, bytes));
	for (__u64 at = iova + 8; at < iova + bytes; at += PAGE_BYTES) {
		struct dma dma;
		int result = port_dma_try(fake->port, 1, PASID_NONE, at, sizeof(nothing), true,
					  &dma, &absent, 1);

		check(fake, !result);
		if (result)
			continue;
		port_dma_end(fake->port, &dma);
		(void)port_dma_write(fake->port, 1, PASID_NONE, at + 8, &nothing, sizeof(nothing));
	}
}

static void fake_limits(void *device, struct verbs_limits *limits)
{
	struct verbs_fake *fake = device;

	limits->queue_pairs = FAKE_PAIRS;
	limits->mtu = 4096;
	if (!atomic_load(&fake->block))
		return;
	sem_post(&fake->blocked);
	sem_wait(&fake->go);
}

/* As many as the region's bytes lie in. */
static bool pages_within(const struct verbs_fake *fake, const struct verbs_region_setup *setup)
{
	bool right = setup->page_count ==
		     (setup->iova % PAGE_BYTES + setup->bytes + PAGE_BYTES - 1) >> PAGE_BITS;

	for (__u32 i = 0; i < setup->page_count; i++)
		right &= setup->pages[i] % PAGE_BYTES == 0 &&
			 within(fake, setup->pages[i], PAGE_BYTES);
	return right;
}

static int fake_create_region(void *device, const struct verbs_region_setup *setup, __u32 *key)
{
	struct verbs_fake *fake = device;

	check(fake, setup->bytes && setup->domain < 65536);
	check(fake,
	      setup->pages ? pages_within(fake, setup) : within(fake, setup->iova, setup->bytes));
	check(fake, setup->kind < VERBS_REGIONS && setup->rights < 8);
	if (refuses(fake))
		return -EIO;
	for (__u32 i = 0; i < FAKE_REGIONS; i++) {
		if (fake->regions[i].bytes)
			continue;
		fake->regions[i] = *setup;
		if (!++fake->generations[i])
			fake->generations[i] = 1;
		*key = i << 8 | fake->generations[i];
		return 0;
	}
	return -ENOSPC;
}

static int fake_destroy_region(void *device, __u32 key)
{
	struct verbs_fake *fake = device;
	struct verbs_region_setup *region = &fake->regions[(key >> 8) % FAKE_REGIONS];

	check(fake, region->bytes && fake->generations[key >> 8] == (__u8)key);
	region->bytes = 0;
	return 0;
}

static int fake_create_queue(void *device, const struct verbs_queue_setup *setup, __u32 *number)
{
	struct verbs_fake *fake = device;

	check(fake, power_of_two(setup->depth) && (setup->eventfd >= 0 || setup->notify));
	if (refuses(fake))
		return -EIO;
	write_rings(fake, setup->iova, verbs_completion_bytes(setup->depth), setup->host);
	for (__u32 i = 0; i < FAKE_QUEUES; i++) {
		if (fake->queues[i].depth)
			continue;
		fake->queues[i] = *setup;
		fake->written[i] = 0;
		fake->told[i] = VERBS_UNARMED;
		*number = i;
		return 0;
	}
	return -ENOSPC;
}

static bool queue_there(const struct verbs_fake *fake, __u32 number)
{
	return number < FAKE_QUEUES && fake->queues[number].depth;
}

static int fake_destroy_queue(void *device, __u32 number)
{
	struct verbs_fake *fake = device;

	check(fake, queue_there(fake, number));
	for (__u32 i = 0; i < FAKE_PAIRS; i++)
		check(fake, !fake->pairs[i].send_depth || (fake->pairs[i].send_queue != number &&
							   fake->pairs[i].receive_queue != number));
	fake->queues[number % FAKE_QUEUES].depth = 0;
	return 0;
}

static int fake_create_pair(void *device, const struct verbs_pair_setup *setup, __u32 *number)
{
	struct verbs_fake *fake = device;

	bool shared = setup->shared != VERBS_NO_SRQ;

	check(fake, power_of_two(setup->send_depth) && (power_of_two(setup->receive_depth) ||
							(shared && !setup->receive_depth)));
	check(fake, !shared || (setup->shared < FAKE_SHARED && fake->shared[setup->shared].depth));
	check(fake,
	      queue_there(fake, setup->send_queue) && queue_there(fake, setup->receive_queue));
	write_rings(fake, setup->iova, verbs_pair_bytes(setup->send_depth, setup->receive_depth),
		    setup->host);
	if (refuses(fake))
		return -EIO;
	for (__u32 i = 0; i < FAKE_PAIRS; i++) {
		if (fake->pairs[i].send_depth)
			continue;
		fake->pairs[i] = *setup;
		fake->sent[i] = fake->received[i] = 0;
		fake->states[i] = VERBS_RESET;
		*number = PAIR_GENERATION * 7 + i;
		return 0;
	}
	return -ENOSPC;
}

static __u32 pair_there(struct verbs_fake *fake, __u32 number)
{
	__u32 index = number % PAIR_GENERATION % FAKE_PAIRS;

	check(fake, number == PAIR_GENERATION * 7 + index && fake->pairs[index].send_depth);
	return index;
}

static int fake_modify_pair(void *device, __u32 number, enum verbs_pair_state state, __u32 peer,
			    bool loopback)
{
	struct verbs_fake *fake = device;
	__u32 index = pair_there(fake, number);

	check(fake, state <= VERBS_ERROR && state != VERBS_SQE_UNUSED && peer < 1u << 24);
	fake->states[index] = state;
	fake->peers[index] = peer + loopback;
	return 0;
}

static int fake_query_pair(void *device, __u32 number, enum verbs_pair_state *state, __u32 *peer)
{
	struct verbs_fake *fake = device;
	__u32 index = pair_there(fake, number);

	*state = fake->states[index];
	*peer = fake->peers[index];
	return 0;
}

static int fake_destroy_pair(void *device, __u32 number)
{
	struct verbs_fake *fake = device;

	fake->pairs[pair_there(fake, number)].send_depth = 0;
	return 0;
}

static int fake_create_shared(void *device, const struct verbs_shared_setup *setup, __u32 *number)
{
	struct verbs_fake *fake = device;

	check(fake, power_of_two(setup->depth) && setup->domain < 65536);
	write_rings(fake, setup->iova, verbs_shared_bytes(setup->depth), setup->host);
	if (refuses(fake))
		return -EIO;
	for (__u32 i = 0; i < FAKE_SHARED; i++) {
		if (fake->shared[i].depth)
			continue;
		fake->shared[i] = *setup;
		*number = i;
		return 0;
	}
	return -ENOSPC;
}

static int fake_destroy_shared(void *device, __u32 number)
{
	struct verbs_fake *fake = device;

	check(fake, number < FAKE_SHARED && fake->shared[number].depth);
	for (__u32 i = 0; i < FAKE_PAIRS; i++)
		check(fake, !fake->pairs[i].send_depth || fake->pairs[i].shared != number);
	fake->shared[number % FAKE_SHARED].depth = 0;
	return 0;
}

static int fake_posted(void *device, __u32 pair)
{
	struct verbs_fake *fake = device;

	(void)pair_there(fake, pair);
	fake->posted++;
	return 0;
}

static void fake_advised(void *device, __u32 key, __u64 iova, __u64 bytes, __u32 pages,
			 __u64 took_ns, int error)
{
	struct verbs_fake *fake = device;

	check(fake, fake->regions[(key >> 8) % FAKE_REGIONS].bytes && within(fake, iova, bytes));
	check(fake, took_ns && (error || pages));
	fake->advised += pages;
}

static void fake_pinned(void *device, __s64 bytes)
{
	struct verbs_fake *fake = device;

	fake->pinned += bytes;
	check(fake, fake->pinned >= 0 && bytes % (__s64)PAGE_BYTES == 0);
}

static void fake_commanded(void *device, enum verbs_command_kind kind, int error, __u64 took_ns)
{
	struct verbs_fake *fake = device;

	check(fake, kind && kind < VERBS_COMMAND_KINDS && error <= 0 && took_ns);
	fake->commands++;
}

const struct verbs_backend_ops verbs_fake_ops = {
	.limits = fake_limits,
	.create_region = fake_create_region,
	.destroy_region = fake_destroy_region,
	.create_queue = fake_create_queue,
	.destroy_queue = fake_destroy_queue,
	.create_pair = fake_create_pair,
	.modify_pair = fake_modify_pair,
	.query_pair = fake_query_pair,
	.destroy_pair = fake_destroy_pair,
	.create_shared = fake_create_shared,
	.destroy_shared = fake_destroy_shared,
	.posted = fake_posted,
	.advised = fake_advised,
	.pinned = fake_pinned,
	.commanded = fake_commanded,
};

static void fetch(struct verbs_fake *fake, __u64 iova, void *to, size_t bytes)
{
	if (port_dma_read(fake->port, 1, PASID_NONE, iova, to, bytes))
		abort();
}

/* The entry, then its turn, then whoever waits. False: the queue is full. */
static bool complete(struct verbs_fake *fake, __u32 number, struct verbs_completion completion)
{
	const struct verbs_queue_setup *queue = &fake->queues[number];
	__u64 at = queue->iova + sizeof(struct verbs_completion_words) +
		   (fake->written[number] & (queue->depth - 1)) * sizeof(completion);
	struct verbs_completion_words words;

	fetch(fake, queue->iova, &words.taken, 8);
	if (fake->written[number] - words.taken >= queue->depth)
		return false;
	completion.turn = ++fake->written[number];
	if (port_dma_write(fake->port, 1, PASID_NONE, at, &completion,
			   offsetof(struct verbs_completion, turn)) ||
	    port_dma_write(fake->port, 1, PASID_NONE, at + offsetof(struct verbs_completion, turn),
			   &completion.turn, 8))
		abort();
	atomic_thread_fence(memory_order_seq_cst);
	fetch(fake, queue->iova + offsetof(struct verbs_completion_words, armed), &words.armed, 8);
	if (words.armed != VERBS_UNARMED && words.armed != fake->told[number] &&
	    fake->written[number] > words.armed) {
		fake->told[number] = words.armed;
		(void)eventfd_write(queue->eventfd, 1);
	}
	return true;
}

static bool complete_receive(struct verbs_fake *fake, __u32 index, __u64 received)
{
	const struct verbs_pair_setup *pair = &fake->pairs[index];
	__u64 at = pair->iova + sizeof(struct verbs_pair_words) +
		   pair->send_depth * sizeof(struct verbs_send);
	struct verbs_receive receive;

	if (received == fake->received[index])
		return false;
	fetch(fake, at + (fake->received[index] & (pair->receive_depth - 1)) * sizeof(receive),
	      &receive, sizeof(receive));
	if (!complete(fake, pair->receive_queue,
		      (struct verbs_completion){
			      .id = receive.id,
			      .queue_pair = PAIR_GENERATION * 7 + index,
			      .opcode = VERBS_RECEIVE,
			      .entry = (__u16)fake->received[index],
		      }))
		return false;
	fake->received[index]++;
	return true;
}

static bool engine_pair(struct verbs_fake *fake, __u32 index)
{
	const struct verbs_pair_setup *pair = &fake->pairs[index];
	struct verbs_pair_words words;
	struct verbs_send send;

	fetch(fake, pair->iova, &words.sent, 8);
	fetch(fake, pair->iova + 8, &words.received, 8);
	if (complete_receive(fake, index, words.received))
		return true;
	if (words.sent == fake->sent[index])
		return false;
	fetch(fake,
	      pair->iova + sizeof(words) +
		      (fake->sent[index] & (pair->send_depth - 1)) * sizeof(send),
	      &send, sizeof(send));
	if (send.flags & VERBS_SEND_SIGNALED &&
	    !complete(fake, pair->send_queue,
		      (struct verbs_completion){
			      .id = send.id,
			      .queue_pair = PAIR_GENERATION * 7 + index,
			      .opcode = send.opcode,
			      .entry = (__u16)fake->sent[index],
		      }))
		return false;
	fake->sent[index]++;
	return true;
}

static void *engine_main(void *argument)
{
	struct verbs_fake *fake = argument;

	while (!atomic_load(&fake->stopping)) {
		bool busy = false;

		for (__u32 i = 0; i < FAKE_PAIRS; i++)
			if (fake->pairs[i].send_depth)
				busy |= engine_pair(fake, i);
		if (!busy)
			sleep_until(monotonic_ns() + 20 * NSEC_PER_USEC);
	}
	return NULL;
}

void verbs_fake_engine_start(struct verbs_fake *fake)
{
	atomic_store(&fake->stopping, false);
	if (thread_start(&fake->engine, NULL, engine_main, fake, "fake"))
		abort();
}

void verbs_fake_engine_stop(struct verbs_fake *fake)
{
	atomic_store(&fake->stopping, true);
	pthread_join(fake->engine, NULL);
}
