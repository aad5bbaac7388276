// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/io_user.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/cluster/nvme_engine.h"
#include "injectors/cluster/seen.h"
#include "injectors/cluster/share_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"

#define IO_USERS_SPARE	64u /* of users that no section has: tests' */
#define IO_DRAWS	8   /* of an offset, until one is free */
#define IO_BUSY_WAIT_NS NSEC_PER_MSEC
#define IO_MARK_WORDS	(sizeof(struct io_mark) / 8)

/* Of a block that one user alone writes: what was acknowledged last, and the last that was tried. Between the two everything is right. */
struct io_expected {
	__u64 acknowledged, tried;
};
struct io_user_shared {
	struct io_counts counts;
	__u64 numbers; /* given out so far */
};
struct io_user_device {
	struct io_expected *blocks;
	__u32 divided; /* with all devices that have the same here */
};
struct io_users {
	struct io_user_shared *users;
	struct io_user_device *devices;
};
/* Of what several users divide among them: all shares are equal, whatever their blocks. */
struct io_share {
	__u32 number, of;
	__u64 bytes, unit;
};

static __u32 io_users_configured(const struct cluster_config *config)
{
	return config->borrow_count + config->vm_count + config->client_count +
	       config->target_count;
}

/* What is copied to a peer has the same place in both memories. */
static void io_join_peers(const struct cluster_config *config, struct io_user_device *devices)
{
	for (__u32 i = 0; i < config->device_count; i++)
		devices[i].divided = i;
	for (__u32 i = 0; i < config->borrow_count; i++) {
		const struct borrow_config *borrow = &config->borrows[i];
		__u32 joined;

		if (borrow->peer >= config->device_count)
			continue;
		joined = devices[borrow->peer].divided;
		for (__u32 n = 0; n < config->device_count; n++)
			if (devices[n].divided == joined)
				devices[n].divided = devices[borrow->device].divided;
	}
}

int io_users_create(struct cluster *cluster)
{
	const struct cluster_config *config = cluster->config;
	__u32 count = io_users_configured(config) + IO_USERS_SPARE;
	struct io_users *users = shared_alloc(cluster, sizeof(*users));

	if (!users)
		return -ENOMEM;
	users->users = shared_alloc(cluster, count * sizeof(*users->users));
	users->devices =
		shared_alloc(cluster, (config->device_count + 1) * sizeof(*users->devices));
	if (!users->users || !users->devices)
		return -ENOMEM;
	for (__u32 i = 0; i < config->device_count; i++) {
		__u64 blocks = config->devices[i].bytes / NVME_BLOCK + 1;

		users->devices[i].blocks =
			shared_alloc(cluster, blocks * sizeof(struct io_expected));
		if (!users->devices[i].blocks)
			return -ENOMEM;
	}
	io_join_peers(config, users->devices);
	cluster->nvmes->users = users;
	return 0;
}

/* Section n of all that ask for I/Os. False: there is none. */
static bool io_section(const struct cluster_config *config, __u32 n, const struct io_config **io,
		       __u32 *device)
{
	if (n < config->borrow_count) {
		*io = &config->borrows[n].io;
		*device = config->borrows[n].device;
		return true;
	}
	n -= config->borrow_count;
	if (n < config->vm_count) {
		*io = &config->vms[n].io;
		*device = config->vms[n].device;
		return true;
	}
	n -= config->vm_count;
	if (n < config->client_count) {
		*io = &config->clients[n].io;
		*device = config->clients[n].device;
		return true;
	}
	n -= config->client_count;
	if (n >= config->target_count)
		return false;
	*io = &config->targets[n].io;
	*device = config->targets[n].device;
	return true;
}

/* CLUSTER_NONE: of no section. */
static __u32 io_writer_of(const struct cluster_config *config, const struct io_config *wanted)
{
	const struct io_config *io;
	__u32 device;

	for (__u32 i = 0; io_section(config, i, &io, &device); i++)
		if (io == wanted)
			return i;
	return CLUSTER_NONE;
}

/* Segments lie at the end of a peer's memory, in its second half at most. */
static __u64 io_bytes_of(const struct cluster_config *config, __u32 device)
{
	__u64 bytes = config->devices[device].bytes,
	      segments = (__u64)SHARE_PEER_SLOTS * SEGMENT_PEER_BYTES;

	for (__u32 i = 0; i < config->client_count; i++)
		if (config->clients[i].queue_hint == HINT_PEER &&
		    config->clients[i].queue_peer == device)
			return bytes - (segments < bytes / 2 ? segments : bytes / 2);
	return bytes;
}

/* Its place among those of its device, and of devices divided with it. */
static void io_place(const struct cluster *cluster, __u32 writer, __u32 device,
		     struct io_share *share)
{
	const struct cluster_config *config = cluster->config;
	const struct io_user_device *devices = cluster->nvmes->users->devices;
	const struct io_config *io;
	__u32 other;

	*share = (struct io_share){.bytes = ~0ull};
	for (__u32 i = 0; io_section(config, i, &io, &other); i++) {
		if (devices[other].divided != devices[device].divided)
			continue;
		if (i < writer)
			share->number++;
		share->of++;
		if (io->block > share->unit)
			share->unit = io->block;
	}
	for (__u32 i = 0; i < config->device_count; i++)
		if (devices[i].divided == devices[device].divided &&
		    io_bytes_of(config, i) < share->bytes)
			share->bytes = io_bytes_of(config, i);
}

/* Another was told to work there as well. */
static bool io_crossed(const struct io_user *user)
{
	const struct cluster *cluster = user->cluster;
	const struct io_user_device *devices = cluster->nvmes->users->devices;
	const struct io_config *io;
	__u32 other;

	for (__u32 i = 0; io_section(cluster->config, i, &io, &other); i++)
		if (devices[other].divided == devices[user->device].divided && io->region_bytes &&
		    io->region_start < user->region_start + user->region_bytes &&
		    user->region_start < io->region_start + io->region_bytes)
			return true;
	return false;
}

static int io_region(struct io_user *user, const struct io_share *share)
{
	const struct io_config *config = user->config;
	__u64 bytes = user->cluster->config->devices[user->device].bytes;

	if (config->region_bytes) {
		if (config->region_start >= bytes ||
		    config->region_bytes > bytes - config->region_start)
			return failed(-ERANGE,
				      "I/Os from byte %llu on, %llu bytes: the device has %llu",
				      config->region_start, config->region_bytes, bytes);
		user->region_start = config->region_start;
		user->region_bytes = config->region_bytes;
		user->alone = share->of <= 1;
	} else {
		user->region_bytes = share->bytes / share->of / share->unit * share->unit;
		user->region_start = share->number * user->region_bytes;
		user->alone = !io_crossed(user);
	}
	user->region_bytes -= user->region_bytes % config->block;
	if (!user->region_bytes || user->region_start % NVME_BLOCK)
		return failed(-ERANGE,
			      "I/Os of %llu bytes do not fit: user %u of %u has %llu bytes of the "
			      "device from byte %llu on, which must be a multiple of %u",
			      config->block, share->number + 1, share->of, user->region_bytes,
			      user->region_start, NVME_BLOCK);
	return 0;
}

int io_user_open(struct io_user *user, struct cluster *cluster, const struct io_config *config,
		 __u32 device, __u32 number, __u32 of)
{
	struct io_users *users = cluster->nvmes->users;
	__u32 writer = io_writer_of(cluster->config, config);
	struct io_share share = {number, of, cluster->config->devices[device].bytes, config->block};
	int err;

	if (number == CLUSTER_NONE)
		io_place(cluster, writer, device, &share);
	if (writer == CLUSTER_NONE)
		writer = io_users_configured(cluster->config) + share.number % IO_USERS_SPARE;
	*user = (struct io_user){
		.cluster = cluster,
		.config = config,
		.counts = &users->users[writer].counts,
		.seen_as = seen_device(cluster, cluster->host, device),
		.writer = writer,
		.device = device,
		.random = cluster->config->seed + ((__u64)writer << 32) +
			  users->users[writer].numbers,
		.opened_ns = monotonic_ns(),
	};
	if (!config->block || config->block % NVME_BLOCK || !share.of || share.number >= share.of)
		return failed(-EINVAL, "I/Os of %llu bytes by user %u of %u: a multiple of %u",
			      config->block, share.number, share.of, NVME_BLOCK);
	err = io_region(user, &share);
	if (err)
		return err;
	/* What an earlier life had under way is lost, and asked for again. */
	user->counts->outstanding = 0;
	user->next = user->done = user->counts->ios + user->counts->errors;
	if (!config->verify)
		return 0;
	user->expected = users->devices[device].blocks;
	user->in_flight = calloc(1, user->region_bytes / config->block);
	return user->in_flight
		       ? 0
		       : failed(-ENOMEM, "no memory to verify %llu bytes", user->region_bytes);
}

void io_user_close(struct io_user *user)
{
	free(user->in_flight);
	user->in_flight = NULL;
}

/* Two at a time on one block could not be told apart when one is read. */
static bool io_place_free(struct io_user *user, __u64 *place)
{
	__u64 places = user->region_bytes / user->config->block;
	struct random random = {user->random};
	bool found = false;

	if (user->config->sequential)
		*place = user->next % places;
	for (int i = 0; !found && i < IO_DRAWS; i++) {
		if (!user->config->sequential)
			*place = random_below(&random, places);
		found = !user->in_flight || !user->in_flight[*place];
	}
	user->random = random.state;
	return found;
}

static bool io_due(const struct io_user *user, __u64 *wait_ns)
{
	__u64 due, now;

	if (!user->config->rate)
		return true;
	due = user->opened_ns +
	      (__u64)((unsigned __int128)user->next * NSEC_PER_SEC / user->config->rate);
	now = monotonic_ns();
	*wait_ns = due > now ? due - now : 0;
	return due <= now;
}

bool io_user_next(struct io_user *user, struct io_next *next, __u64 *wait_ns)
{
	const struct io_config *config = user->config;
	struct random random;
	__u64 place = 0;

	*wait_ns = 0;
	if ((config->ios && user->next >= config->ios) || !io_due(user, wait_ns))
		return false;
	if (!io_place_free(user, &place)) {
		*wait_ns = IO_BUSY_WAIT_NS;
		return false;
	}
	random.state = user->random;
	*next = (struct io_next){
		.number = ++user->cluster->nvmes->users->users[user->writer].numbers,
		.offset = user->region_start + place * config->block,
		.bytes = config->block,
		.write = random_below(&random, 100) < config->write_percent,
	};
	user->random = random.state;
	user->next++;
	user->counts->outstanding++;
	if (user->in_flight)
		user->in_flight[place] = 1;
	if (user->expected && next->write && user->alone)
		for (__u64 i = 0; i < next->bytes / NVME_BLOCK; i++)
			user->expected[next->offset / NVME_BLOCK + i].tried = next->number;
	return true;
}

static void io_block_fill(__u64 *words, const struct io_mark *mark)
{
	struct random random = {mark->sequence << 20 ^ mark->block << 4 ^
				(__u64)mark->writer << 48};

	memcpy(words, mark, sizeof(*mark));
	for (__u32 i = IO_MARK_WORDS; i < NVME_BLOCK / 8; i++)
		words[i] = random_next(&random);
}

void io_user_fill(struct io_user *user, const struct io_next *io, void *data)
{
	__u64 words[NVME_BLOCK / 8];

	for (__u64 i = 0; i < io->bytes / NVME_BLOCK; i++) {
		struct io_mark mark = {.magic = IO_MARK_MAGIC,
				       .writer = user->writer,
				       .block = io->offset / NVME_BLOCK + i,
				       .sequence = io->number};

		io_block_fill(words, &mark);
		memcpy((__u8 *)data + i * NVME_BLOCK, words, NVME_BLOCK);
	}
}

static bool io_block_right(const struct io_user *user, __u64 block, const __u8 *data)
{
	static const __u8 nothing[NVME_BLOCK];
	const struct io_expected *expected = &user->expected[block];
	struct io_mark mark;
	__u64 words[NVME_BLOCK / 8];

	if (!memcmp(data, nothing, NVME_BLOCK))
		return !user->alone || !expected->acknowledged;
	memcpy(&mark, data, sizeof(mark));
	if (mark.magic != IO_MARK_MAGIC || mark.block != block)
		return false;
	if (user->alone && (mark.writer != user->writer || mark.sequence < expected->acknowledged ||
			    mark.sequence > expected->tried))
		return false;
	io_block_fill(words, &mark);
	return !memcmp(data, words, NVME_BLOCK);
}

static void io_verify(struct io_user *user, const struct io_next *io, const __u8 *data)
{
	__u64 first = io->offset / NVME_BLOCK;
	bool right = true;

	for (__u64 i = 0; i < io->bytes / NVME_BLOCK; i++) {
		if (!io->write)
			right &= io_block_right(user, first + i, data + i * NVME_BLOCK);
		else if (user->alone)
			user->expected[first + i].acknowledged = io->number;
	}
	if (!right)
		user->counts->wrong++;
}

void io_user_done(struct io_user *user, const struct io_next *io, const void *data, int status,
		  __u64 begin_ns, __u64 model_ns)
{
	struct io_counts *counts = user->counts;
	__u64 took = monotonic_ns() - begin_ns;

	user->done++;
	counts->outstanding--;
	if (took > counts->longest_ns)
		counts->longest_ns = took;
	counts->total_ns += took;
	if (user->in_flight)
		user->in_flight[(io->offset - user->region_start) / user->config->block] = 0;
	if (status) {
		counts->errors++;
	} else {
		counts->ios++;
		counts->bytes += io->bytes;
		counts->model_ns += model_ns;
		if (model_ns > counts->model_longest_ns)
			counts->model_longest_ns = model_ns;
		if (io->write)
			counts->writes_acknowledged++;
		if (user->expected)
			io_verify(user, io, data);
	}
	truth_cluster(user->cluster, &(struct cluster_truth){
					     .what = io->write ? "io_write" : "io_read",
					     .agent = user->cluster->self,
					     .device = user->device,
					     .borrow = CLUSTER_NONE,
					     .address = io->offset,
					     .length = io->bytes,
					     .value = io->number,
					     .model_ns = status ? 0 : model_ns,
					     .number = user->writer,
					     .code = status,
				     });
}

const struct io_counts *io_counts_of(const struct cluster *cluster, const struct io_config *config)
{
	__u32 writer = io_writer_of(cluster->config, config);

	return writer == CLUSTER_NONE ? NULL : &cluster->nvmes->users->users[writer].counts;
}
