// SPDX-License-Identifier: GPL-2.0
/* A guest that writes anything into its virtqueue, requests and page lists, also while the host reads: nothing but its own is reached. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "injectors/emu/thread.h"
#include "lib/base/random.h"
#include "tests/unit/hyv_world.h"

enum { REQUESTS = 200003, CHAINS = 16, LIST_PAGES = 64 };

#define CHAIN_PARTS 3
/* Of a chain, in the control area. */
#define REQUEST_AT(chain) (4096 + (chain)*256)
#define ANSWER_AT(chain)  (REQUEST_AT(chain) + 128)
#define LIST_AT(chain)	  (65536 + (chain)*LIST_PAGES * 8)

static struct random rolls = {17};

static __u64 below(__u64 limit)
{
	return random_below(&rolls, limit);
}

static bool rarely(void)
{
	return !below(24);
}

static __u64 anything(void)
{
	return random_next(&rolls) >> below(64);
}

static __u64 some_page(void)
{
	__u64 pages = (HYV_WORLD_BYTES - HYV_CONTROL_BYTES) >> PAGE_BITS;

	if (!rarely())
		return hyv.start + below(pages - 8) * PAGE_BYTES;
	switch (below(4)) {
	case 0:
		return hyv.start - below(3) * PAGE_BYTES;
	case 1:
		return HYV_WORLD_SHARE + HYV_WORLD_BYTES - below(3) * PAGE_BYTES;
	case 2:
		return below(HYV_WORLD_MEMORY);
	default:
		return anything();
	}
}

static __u64 some_depth(void)
{
	return rarely() ? anything() : 1ull << below(7);
}

static __u64 some_number(__u64 base, __u64 limit)
{
	return rarely() ? anything() : base + below(limit);
}

static __u64 some_key(void)
{
	__u64 index = below(FAKE_REGIONS);

	return rarely() ? anything() : index << 8 | hyv.fake.generations[index];
}

/* As its guest knows it. */
static __u64 address_of(__u64 key)
{
	const struct verbs_region_setup *region = &hyv.fake.regions[(key >> 8) % FAKE_REGIONS];

	return region->pages ? region->iova : region->iova - HYV_WORLD_MEMORY;
}

static void some_creation(struct verbs_command *command)
{
	__u64 *argument = command->argument, queues = below(FAKE_QUEUES);

	argument[0] = some_page();
	argument[1] = some_depth();
	if (command->kind == VERBS_CREATE_QP) {
		argument[2] = some_depth();
		argument[3] = argument[4] = some_number(0, FAKE_QUEUES);
	} else if (command->kind == VERBS_CREATE_QP_OF) {
		argument[1] |= some_depth() << 32;
		argument[2] = queues | queues << 32;
		argument[3] = some_number(0, 3) | (below(2) ? (__u64)VERBS_NO_SRQ : below(9)) << 32;
	} else if (command->kind == VERBS_CREATE_SRQ) {
		argument[2] = some_number(0, 3);
	}
}

static void some_region(struct verbs_command *command, __u32 *pages)
{
	__u64 *argument = command->argument;

	argument[2] = rarely() ? below(VERBS_REGIONS + 1) : VERBS_PINNED;
	if (command->kind == VERBS_REGISTER) {
		argument[0] = some_page() + below(64);
		argument[1] = rarely() ? anything() : 1 + below(9 * PAGE_BYTES);
		argument[3] = below(9);
		argument[4] = some_number(0, 3);
		return;
	}
	*pages = 1 + (__u32)below(LIST_PAGES);
	argument[0] = rarely() ? anything() : below(PAGE_BYTES);
	argument[1] = rarely() ? anything() : *pages * PAGE_BYTES - argument[0] % PAGE_BYTES;
	argument[2] |= below(9) << 8;
	argument[3] = some_number(0, 3);
}

static void some_mapping(struct verbs_command *command)
{
	__u64 *argument = command->argument;

	argument[1] = rarely() ? anything() : (1 + below(16)) * PAGE_BYTES;
	if (command->kind == VERBS_UNMAP_RESOURCE) {
		argument[0] = hyv.host->overlays[below(HYV_OVERLAYS)].address;
		return;
	}
	argument[0] = some_page();
	argument[2] = below(VERBS_RESOURCES + (__u64)rarely());
	argument[3] = rarely() ? anything() : below(8) * PAGE_BYTES;
}

static struct verbs_command some_command(__u32 *pages)
{
	struct verbs_command command = {.kind = (__u16)below(VERBS_COMMAND_KINDS + 1)};
	__u64 *argument = command.argument;

	*pages = 0;
	switch (command.kind) {
	case VERBS_REGISTER:
	case VERBS_REGISTER_PAGES:
		some_region(&command, pages);
		break;
	case VERBS_CREATE_CQ:
	case VERBS_CREATE_QP:
	case VERBS_CREATE_QP_OF:
	case VERBS_CREATE_SRQ:
		some_creation(&command);
		break;
	case VERBS_DEREGISTER:
		argument[0] = some_key();
		break;
	case VERBS_ADVISE:
		argument[0] = some_key();
		argument[1] = rarely() ? some_page() : address_of(argument[0]);
		argument[2] = rarely() ? anything() : 1 + below(64);
		break;
	case VERBS_MAP_RESOURCE:
	case VERBS_UNMAP_RESOURCE:
		some_mapping(&command);
		break;
	case VERBS_MODIFY_QP:
	case VERBS_QUERY_QP:
	case VERBS_DESTROY_QP:
	case VERBS_POST:
		argument[0] = some_number(7168, FAKE_PAIRS + 1);
		argument[1] = command.kind == VERBS_MODIFY_QP ? below(8) : 0;
		break;
	case VERBS_OPEN:
	case VERBS_QUERY_DEVICE:
	case VERBS_ALLOC_PD:
	case VERBS_CREATE_CHANNEL:
		break;
	default:
		argument[0] = below(FAKE_QUEUES + 1);
	}
	if (rarely())
		argument[below(5)] = anything();
	return command;
}

static void write_chain(__u16 chain)
{
	struct hyv_half *guest = &hyv.guest;
	struct vring_desc *part = &guest->ring.desc[chain * CHAIN_PARTS];
	struct verbs_request request = {.token = ++guest->token};
	__u64 base = guest->hello.control_address, *list;
	__u16 first = (__u16)(chain * CHAIN_PARTS);
	__u32 pages;

	request.command = some_command(&pages);
	request.pages = rarely() ? (__u32)anything() : pages;
	request.called_ns = rarely() ? anything() : monotonic_ns();
	request.queued_ns = request.kicked_ns = rarely() ? anything() : request.called_ns;
	request.last_token = rarely() ? anything() : guest->token - below(CHAINS);
	request.last_woken_ns = request.called_ns;
	memcpy(guest->control + REQUEST_AT(chain), &request, sizeof(request));
	list = (__u64 *)(guest->control + LIST_AT(chain));
	for (__u32 i = 0; i < pages; i++)
		list[i] = some_page() & (rarely() ? ~0ull : ~0xfffull);
	part[0] = (struct vring_desc){base + REQUEST_AT(chain), sizeof(request), VRING_DESC_F_NEXT,
				      (__u16)(first + (pages ? 1 : 2))};
	part[1] = (struct vring_desc){base + LIST_AT(chain), pages * 8, VRING_DESC_F_NEXT,
				      (__u16)(first + 2)};
	part[2] = (struct vring_desc){base + ANSWER_AT(chain), sizeof(struct verbs_answer),
				      VRING_DESC_F_WRITE, (__u16)anything()};
}

/* A field of a descriptor, or the index itself, becomes anything. */
static void spoil_ring(void)
{
	struct vring *ring = &hyv.guest.ring;
	struct vring_desc *part = &ring->desc[below(CHAINS * CHAIN_PARTS)];

	switch (below(6)) {
	case 0:
		part->addr = anything();
		break;
	case 1:
		part->len = (__u32)anything();
		break;
	case 2:
		part->flags = (__u16)below(8);
		break;
	case 3:
		part->next = (__u16)below(HYV_QUEUE_ENTRIES + 2);
		break;
	case 4:
		ring->avail->ring[below(HYV_QUEUE_ENTRIES)] = (__u16)anything();
		break;
	default:
		ring->avail->idx = (__u16)anything();
	}
}

static atomic_bool scribbling, ends;
/* Of the guest's memory: its end waits for who scribbles. */
static pthread_mutex_t scribbler = PTHREAD_MUTEX_INITIALIZER;

/* Words of requests and lists, and now and then of descriptors, while the host reads them. */
static void *scribble(void *argument)
{
	struct random random = {3};

	while (!atomic_load(&ends)) {
		__u64 word = random_below(&random, 64) ? (4096 + random_below(&random, 69632)) / 8
						       : random_below(&random, 128);

		if (!atomic_load(&scribbling)) {
			sched_yield();
			continue;
		}
		pthread_mutex_lock(&scribbler);
		__atomic_store_n((__u64 *)hyv.guest.control + word,
				 random_next(&random) >> random_below(&random, 64),
				 __ATOMIC_RELAXED);
		pthread_mutex_unlock(&scribbler);
	}
	return NULL;
}

static bool cut_off(void)
{
	bool gone;

	pthread_mutex_lock(&hyv.host->lock);
	gone = hyv.host->guest.state == GUEST_NONE;
	pthread_mutex_unlock(&hyv.host->lock);
	return gone;
}

static void again(void)
{
	atomic_store(&scribbling, false);
	pthread_mutex_lock(&scribbler);
	half_close(&hyv.guest);
	hyv_world_guest();
	pthread_mutex_unlock(&scribbler);
}

/* A round of requests: all answered, or the guest is cut off. */
static void write_round(void)
{
	struct hyv_half *guest = &hyv.guest;
	__u16 count = (__u16)(1 + below(CHAINS)), *index = &guest->ring.avail->idx;
	__u64 start_ns = monotonic_ns();

	for (__u16 i = 0; i < count; i++) {
		write_chain(i);
		guest->ring.avail->ring[(guest->published + i) % HYV_QUEUE_ENTRIES] =
			(__u16)(i * CHAIN_PARTS);
	}
	guest->published += count;
	__atomic_store_n(index, guest->published, __ATOMIC_SEQ_CST);
	if (!below(100))
		spoil_ring();
	atomic_store(&scribbling, !below(16));
	(void)eventfd_write(guest->descriptors[HYV_KICK], 1);
	while (__atomic_load_n(&guest->ring.used->idx, __ATOMIC_SEQ_CST) != guest->published) {
		if (cut_off() || monotonic_ns() - start_ns > NSEC_PER_SEC) {
			again();
			return;
		}
		sched_yield();
	}
	atomic_store(&scribbling, false);
	if (*index != guest->published)
		again();
}

/* Pages of the tenant that are not the device's, with what is theirs. */
static void fill_others(bool look)
{
	for (__u64 at = 0; at < HYV_WORLD_MEMORY; at += 8) {
		__u64 *word;

		if (at == HYV_WORLD_SHARE)
			at += HYV_WORLD_BYTES;
		word = guest_memory_cpu(rig->tenants[0].memory, at);
		if (!look)
			*word = ~at;
		else if (*word != ~at)
			fail_msg("0x%llx of another device was written", at);
	}
}

static __u64 answered(struct hyv_stats *stats)
{
	__u64 sum = 0;

	*stats = hyv_world_stats();
	for (int kind = 0; kind < VERBS_COMMAND_KINDS; kind++)
		sum += stats->verbs[kind];
	return sum;
}

static void nothing_is_reached_that_is_not_the_guests(void **state)
{
	const struct tenant_quota quota = {.pinned_bytes = 200 * PAGE_BYTES};
	struct hyv_stats stats;
	pthread_t thread;

	hyv_world_build(RDMA_MODE_HYBRID, &quota, 0);
	hyv_world_guest();
	fill_others(false);
	assert_int_equal(thread_start(&thread, NULL, scribble, NULL, "scribble"), 0);
	while (answered(&stats) < REQUESTS)
		write_round();
	atomic_store(&ends, true);
	pthread_join(thread, NULL);
	for (int kind = 0; kind < VERBS_COMMAND_KINDS; kind++) {
		print_message("kind %2d: %6llu verbs, %6llu refused\n", kind, stats.verbs[kind],
			      stats.refused[kind]);
		assert_int_equal(stats.refused[kind] < stats.verbs[kind], kind != 0);
	}
	print_message("%u guests, %u cut off, %llu remaps, %llu skipped, quota refused %llu\n",
		      stats.guests, stats.cut_off, stats.remaps, stats.remap_skipped,
		      stats.refused_quota);
	assert_true(stats.cut_off > 10);
	assert_true(stats.remaps > 100 && stats.refused_quota > 100);
	assert_true(stats.registered_most <= 200 * PAGE_BYTES);
	assert_registered(stats.registered);
	fill_others(true);
	hyv_world_leave();
	assert_registered(0);
	assert_int_equal(hyv.fake.wrong, 0);
	assert_int_equal(hyv.fake.pinned, 0);
	assert_int_equal(verbs_fake_objects(&hyv.fake), 0);
	assert_int_equal(hyv_world_stats().overlays, 0);
	assert_int_equal(rig_violations(rig), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_reached_that_is_not_the_guests, NULL,
						hyv_world_teardown),
	};

	return cmocka_run_group_tests_name("hyv host hostile", tests, NULL, NULL);
}
