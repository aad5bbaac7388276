// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/rig/verbs_loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/device_driver.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/verbs/verbs_data.h"
#include "lib/base/fail.h"

#define LOOP_REGIONS 4096
#define LOOP_PAIRS   1024
#define LOOP_IOVA    0x10000000ull /* IOVA = guest address + this: who confuses the two is told */

struct verbs_device {
	struct guest_memory *memory;
	__u64 address, bytes;
	bool failed; /* a completion queue of it, and that was not yet told */
	bool shut;   /* commands are of no avail, though what they take away goes with the device */
};

struct loop_region {
	struct verbs_device *device; /* NULL: none */
	struct verbs_mr mr;
	unsigned int rights;
};

struct verbs_queue {
	struct verbs_device *device;
	struct verbs_completion *entries;
	__u32 depth;
	__u64 written, taken, armed;
	pthread_cond_t more;
};

struct verbs_channel {
	struct verbs_queue *queue; /* one is enough here */
};

struct verbs_pair {
	struct verbs_device *device;
	struct verbs_pair_attributes attributes;
	__u32 number;
	struct verbs_pair *peer;
	struct verbs_receive receive[VERBS_DEPTH_MAX];
	__u64 posted, used;
	struct verbs_send waiting[VERBS_DEPTH_MAX]; /* for a receive */
	__u64 wait_head, wait_tail;
};

static pthread_mutex_t loop_lock = PTHREAD_MUTEX_INITIALIZER;
static struct loop_region regions[LOOP_REGIONS];
static struct verbs_pair *pairs[LOOP_PAIRS];
static struct verbs_loop_counts counts;
static __u64 damage_above, pin_limit;
static char refusal[64];
static __u8 fail_status;
static __u32 refuse;
static bool sticking, stuck, overrun;
static pthread_cond_t loosened = PTHREAD_COND_INITIALIZER;

void verbs_loop_counts(struct verbs_loop_counts *out)
{
	pthread_mutex_lock(&loop_lock);
	*out = counts;
	pthread_mutex_unlock(&loop_lock);
}

void verbs_loop_reset(void)
{
	counts = (struct verbs_loop_counts){0};
	damage_above = pin_limit = 0;
	*refusal = '\0';
	fail_status = 0;
	refuse = 0;
	sticking = stuck = overrun = false;
}

void verbs_loop_damage(__u64 bytes)
{
	damage_above = bytes;
}

void verbs_loop_limit(__u64 bytes)
{
	pin_limit = bytes;
}

void verbs_loop_refuse(__u32 which)
{
	refuse = which;
}

void verbs_loop_stick(void)
{
	pthread_mutex_lock(&loop_lock);
	sticking = true;
	pthread_mutex_unlock(&loop_lock);
}

bool verbs_loop_stuck(void)
{
	bool is;

	pthread_mutex_lock(&loop_lock);
	is = stuck;
	pthread_mutex_unlock(&loop_lock);
	return is;
}

void verbs_loop_overrun(void)
{
	overrun = true;
}

int verbs_get_failure(struct verbs_device *device, struct verbs_failure *failure)
{
	int error = -EAGAIN;

	pthread_mutex_lock(&loop_lock);
	if (device->failed) {
		*failure = (struct verbs_failure){.what = VERBS_QUEUE_FAILED, .number = 77};
		device->failed = false;
		error = 0;
	}
	pthread_mutex_unlock(&loop_lock);
	return error;
}

void verbs_loop_fail(__u8 status)
{
	fail_status = status;
}

void verbs_refusal(const struct driver_setup *setup, char *text, size_t size)
{
	snprintf(text, size, "%s", refusal);
}

int verbs_open(struct verbs_device **device, const struct driver_setup *setup)
{
	*device = calloc(1, sizeof(**device));
	if (!*device)
		return -ENOMEM;
	(*device)->memory = setup->memory;
	(*device)->address = setup->channel->data_address + PAGE_BYTES;
	(*device)->bytes = setup->channel->data_bytes - PAGE_BYTES;
	return 0;
}

void verbs_close(struct verbs_device *device)
{
	free(device);
}

void verbs_shutdown(struct verbs_device *device)
{
	pthread_mutex_lock(&loop_lock);
	device->shut = true;
	pthread_cond_broadcast(&loosened);
	for (__u32 i = 0; i < LOOP_PAIRS; i++)
		if (pairs[i] && pairs[i]->device == device)
			pthread_cond_broadcast(&pairs[i]->attributes.send_queue->more);
	pthread_mutex_unlock(&loop_lock);
}

void verbs_memory(const struct verbs_device *device, __u64 *guest_address, __u64 *bytes,
		  __u64 *iova_offset)
{
	*guest_address = device->address;
	*bytes = device->bytes;
	*iova_offset = LOOP_IOVA;
}

int verbs_reg_mr(struct verbs_device *device, struct verbs_mr *mr, __u64 guest_address, __u64 bytes,
		 enum verbs_region kind, unsigned int rights)
{
	int err = -ENOSPC;

	pthread_mutex_lock(&loop_lock);
	while (sticking && !device->shut) {
		stuck = true;
		pthread_cond_wait(&loosened, &loop_lock);
	}
	if (device->shut) {
		pthread_mutex_unlock(&loop_lock);
		return -EPIPE;
	}
	if (refuse && !--refuse) {
		pthread_mutex_unlock(&loop_lock);
		return failed(-EPERM, "a right that is not its");
	}
	if (kind == VERBS_PINNED && pin_limit && counts.pinned + bytes > pin_limit) {
		snprintf(refusal, sizeof(refusal), "no more than %llu bytes may be pinned",
			 pin_limit);
		pthread_mutex_unlock(&loop_lock);
		return failed(-ENOMEM, "%s", refusal);
	}
	for (__u32 i = 1; err && i < LOOP_REGIONS; i++) {
		if (regions[i].device)
			continue;
		*mr = (struct verbs_mr){.key = i << 8 | 1,
					.address = guest_address + LOOP_IOVA,
					.bytes = bytes,
					.kind = kind};
		regions[i] = (struct loop_region){device, *mr, rights};
		counts.registered++;
		counts.regions++;
		counts.pinned += kind == VERBS_PINNED ? bytes : 0;
		if (counts.pinned > counts.pinned_most)
			counts.pinned_most = counts.pinned;
		err = 0;
	}
	pthread_mutex_unlock(&loop_lock);
	return err;
}

int verbs_dereg_mr(struct verbs_device *device, const struct verbs_mr *mr)
{
	struct loop_region *region = &regions[mr->key >> 8];

	pthread_mutex_lock(&loop_lock);
	if (region->device != device)
		abort();
	region->device = NULL;
	counts.deregistered++;
	counts.regions--;
	counts.pinned -= mr->kind == VERBS_PINNED ? mr->bytes : 0;
	pthread_mutex_unlock(&loop_lock);
	return device->shut ? -EPIPE : 0;
}

int verbs_advise_mr(struct verbs_device *device, const struct verbs_mr *mr, __u64 guest_address,
		    __u64 bytes, bool write)
{
	(void)device;
	(void)mr;
	(void)guest_address;
	(void)bytes;
	(void)write;
	counts.advised++;
	return 0;
}

int verbs_create_cq(struct verbs_device *device, struct verbs_queue **queue, __u64 guest_address,
		    __u32 depth)
{
	if (guest_address % PAGE_BYTES || depth & (depth - 1) || depth > VERBS_DEPTH_MAX)
		return failed(-EINVAL, "a completion queue of %u", depth);
	*queue = calloc(1, sizeof(**queue));
	(*queue)->entries = calloc(depth, sizeof(struct verbs_completion));
	(*queue)->device = device;
	(*queue)->depth = depth;
	(*queue)->armed = VERBS_UNARMED;
	monotonic_cond_init(&(*queue)->more);
	pthread_mutex_lock(&loop_lock);
	counts.queues++;
	pthread_mutex_unlock(&loop_lock);
	return 0;
}

int verbs_destroy_cq(struct verbs_queue *queue)
{
	pthread_mutex_lock(&loop_lock);
	counts.queues--;
	pthread_mutex_unlock(&loop_lock);
	free(queue->entries);
	free(queue);
	return 0;
}

int verbs_create_qp(struct verbs_device *device, struct verbs_pair **pair,
		    const struct verbs_pair_attributes *attributes)
{
	__u32 number = 1;

	*pair = calloc(1, sizeof(**pair));
	pthread_mutex_lock(&loop_lock);
	while (pairs[number])
		number++;
	(*pair)->device = device;
	(*pair)->attributes = *attributes;
	(*pair)->number = number;
	pairs[number] = *pair;
	counts.pairs++;
	pthread_mutex_unlock(&loop_lock);
	return 0;
}

int verbs_destroy_qp(struct verbs_pair *pair)
{
	pthread_mutex_lock(&loop_lock);
	if (pair->peer)
		pair->peer->peer = NULL;
	pairs[pair->number] = NULL;
	counts.pairs--;
	pthread_mutex_unlock(&loop_lock);
	free(pair);
	return 0;
}

__u32 verbs_pair_number(const struct verbs_pair *pair)
{
	return pair->number;
}

int verbs_modify_qp(struct verbs_pair *pair, enum verbs_pair_state state, __u32 peer, bool loopback)
{
	bool other;

	if (state != VERBS_RTR)
		return 0;
	pthread_mutex_lock(&loop_lock);
	other = !pairs[peer] || (pairs[peer]->device == pair->device) != loopback;
	if (!other)
		pair->peer = pairs[peer];
	pthread_mutex_unlock(&loop_lock);
	return other ? failed(-EINVAL, "queue pair %u of another device", peer) : 0;
}

int verbs_query_qp(struct verbs_pair *pair, enum verbs_pair_state *state)
{
	*state = pair->peer ? VERBS_RTS : VERBS_INIT;
	return 0;
}

/* Where it is, NULL: the key, its right or its bounds do not allow it. */
static void *loop_cpu(struct verbs_device *device, const struct verbs_sge *piece,
		      unsigned int right)
{
	const struct loop_region *region = &regions[piece->key >> 8];

	if (region->device != device || region->mr.key != piece->key ||
	    (region->rights & right) != right || piece->address < region->mr.address ||
	    piece->address + piece->length > region->mr.address + region->mr.bytes)
		return NULL;
	return guest_memory_cpu(device->memory, piece->address - LOOP_IOVA);
}

static void loop_complete(struct verbs_queue *queue, const struct verbs_completion *completion)
{
	if (overrun) {
		overrun = false;
		queue->device->failed = true;
		return;
	}
	if (queue->written - queue->taken >= queue->depth)
		abort(); /* who makes queues has to know how much can complete */
	queue->entries[queue->written++ % queue->depth] = *completion;
	pthread_cond_broadcast(&queue->more);
}

static void loop_copy(void *to, const void *from, __u64 bytes)
{
	memcpy(to, from, bytes);
	if (damage_above && bytes > damage_above)
		((char *)to)[bytes / 2] ^= 1;
}

static __u8 loop_send(struct verbs_pair *pair, const struct verbs_send *send, __u32 *bytes)
{
	struct verbs_pair *peer = pair->peer;
	const struct verbs_receive *receive =
		&peer->receive[peer->used++ % peer->attributes.receive_depth];
	struct verbs_completion came = {
		.id = receive->id, .queue_pair = peer->number, .opcode = VERBS_RECEIVE};
	void *from, *to;

	if (send->pieces) {
		from = loop_cpu(pair->device, &send->piece[0], 0);
		to = loop_cpu(peer->device, &receive->piece[0], VERBS_LOCAL_WRITE);
		*bytes = came.bytes = send->piece[0].length;
		if (!from || !to || !receive->pieces || came.bytes > receive->piece[0].length)
			return VERBS_REM_INV_REQ_ERR;
		loop_copy(to, from, came.bytes);
	}
	*(send->pieces ? &counts.sends : &counts.empty_sends) += 1;
	loop_complete(peer->attributes.receive_queue, &came);
	return VERBS_SUCCESS;
}

static __u8 loop_remote(struct verbs_pair *pair, const struct verbs_send *send)
{
	bool write = send->opcode == VERBS_WRITE;
	struct verbs_sge remote = {send->remote_address, send->piece[0].length, send->remote_key};
	void *local = loop_cpu(pair->device, &send->piece[0], write ? 0 : VERBS_LOCAL_WRITE);
	void *there = loop_cpu(pair->peer->device, &remote,
			       write ? VERBS_REMOTE_WRITE : VERBS_REMOTE_READ);

	if (!local || !there)
		return VERBS_REM_ACCESS_ERR;
	loop_copy(write ? there : local, write ? local : there, remote.length);
	*(write ? &counts.writes : &counts.reads) += 1;
	return VERBS_SUCCESS;
}

static void loop_carry_out(struct verbs_pair *pair, const struct verbs_send *send)
{
	struct verbs_completion gone = {
		.id = send->id, .queue_pair = pair->number, .opcode = send->opcode};

	gone.status = send->opcode == VERBS_SEND ? loop_send(pair, send, &gone.bytes)
						 : loop_remote(pair, send);
	if (fail_status && send->opcode == VERBS_SEND)
		gone.status = fail_status;
	loop_complete(pair->attributes.send_queue, &gone);
}

int verbs_post_send(struct verbs_pair *pair, const struct verbs_send *send)
{
	int err = 0;

	pthread_mutex_lock(&loop_lock);
	if (!pair->peer)
		err = -EINVAL;
	else if (pair->wait_head != pair->wait_tail ||
		 (send->opcode == VERBS_SEND && pair->peer->used == pair->peer->posted)) {
		counts.unready++;
		pair->waiting[pair->wait_tail++ % VERBS_DEPTH_MAX] = *send;
	} else {
		loop_carry_out(pair, send);
	}
	pthread_mutex_unlock(&loop_lock);
	return err;
}

int verbs_post_recv(struct verbs_pair *pair, const struct verbs_receive *receive)
{
	struct verbs_pair *peer;
	int err = 0;

	pthread_mutex_lock(&loop_lock);
	if (pair->posted - pair->used >= pair->attributes.receive_depth) {
		err = -ENOMEM;
	} else {
		pair->receive[pair->posted++ % pair->attributes.receive_depth] = *receive;
		peer = pair->peer;
		while (peer && peer->wait_head != peer->wait_tail && pair->used != pair->posted)
			loop_carry_out(peer, &peer->waiting[peer->wait_head++ % VERBS_DEPTH_MAX]);
	}
	pthread_mutex_unlock(&loop_lock);
	return err;
}

int verbs_poll_cq(struct verbs_queue *queue, int count, struct verbs_completion *completions)
{
	int taken = 0;

	pthread_mutex_lock(&loop_lock);
	while (taken < count && queue->taken != queue->written)
		completions[taken++] = queue->entries[queue->taken++ % queue->depth];
	pthread_mutex_unlock(&loop_lock);
	return taken;
}

int verbs_wait_cq(struct verbs_queue *queue, __u64 deadline_ns)
{
	bool in_time = true;
	int err;

	pthread_mutex_lock(&loop_lock);
	while (in_time && queue->taken == queue->written && !queue->device->shut)
		in_time = monotonic_cond_wait_until(&queue->more, &loop_lock, deadline_ns);
	err = in_time ? 0 : -ETIMEDOUT;
	if (queue->taken == queue->written && queue->device->shut)
		err = -EPIPE;
	pthread_mutex_unlock(&loop_lock);
	return err;
}

int verbs_create_channel(struct verbs_device *device, struct verbs_channel **channel)
{
	(void)device;
	*channel = calloc(1, sizeof(**channel));
	pthread_mutex_lock(&loop_lock);
	counts.channels++;
	counts.channels_made++;
	pthread_mutex_unlock(&loop_lock);
	return 0;
}

int verbs_destroy_channel(struct verbs_channel *channel)
{
	pthread_mutex_lock(&loop_lock);
	counts.channels--;
	pthread_mutex_unlock(&loop_lock);
	free(channel);
	return 0;
}

void verbs_set_channel(struct verbs_queue *queue, struct verbs_channel *channel)
{
	channel->queue = queue;
}

void verbs_arm_cq(struct verbs_queue *queue)
{
	pthread_mutex_lock(&loop_lock);
	queue->armed = queue->written;
	pthread_mutex_unlock(&loop_lock);
}

/* Of a queue that nobody has armed since there is none. */
int verbs_get_cq_event(struct verbs_channel *channel, struct verbs_queue **queue, __u64 deadline_ns)
{
	struct verbs_queue *of = channel->queue;
	bool in_time = true, told;

	pthread_mutex_lock(&loop_lock);
	while (!(told = of->written > of->armed) && in_time && !of->device->shut)
		in_time = monotonic_cond_wait_until(&of->more, &loop_lock, deadline_ns);
	if (told) {
		of->armed = VERBS_UNARMED;
		counts.events++;
	}
	pthread_mutex_unlock(&loop_lock);
	*queue = of;
	if (told)
		return 0;
	return in_time ? -EPIPE : -ETIMEDOUT;
}
