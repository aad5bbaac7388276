// SPDX-License-Identifier: GPL-2.0
/* What guests behind a host ask of an RDMA device: scattered regions and domains. */
#include "tests/unit/rdma_both.h"

#include <string.h>

#include "injectors/emu/machine_private.h"

#define PAGES	65 /* of a scattered region, which begins within a page */
#define PLACE	1234
#define ADDRESS (0x7fedcba98000ull + PLACE) /* that work requests give */

/* A region of scattered pages, each guarded by a page that nobody may touch. */
struct scattered {
	struct rdma_guest *guest;
	__u64 pages[PAGES];
	__u64 first; /* of 2 * PAGES pages of guest memory */
	__u32 key;
};

static __u64 at_of(const struct scattered *scattered, __u64 offset)
{
	__u64 place = PLACE + offset;

	return scattered->pages[place / PAGE_BYTES] + place % PAGE_BYTES;
}

/* Runs of three pages, in an order that is not that of addresses. */
static void scatter_pages(struct scattered *scattered)
{
	for (__u32 i = 0; i < PAGES; i++) {
		__u32 run = i / 3 * 37 % 22, at = run * 6 + i % 3;

		scattered->pages[i] = scattered->first + at % (2 * PAGES) * PAGE_BYTES;
	}
}

static void scattered_register(struct rdma_guest *guest, struct scattered *scattered, bool pinned)
{
	struct region region = {
		.address = ADDRESS,
		.bytes = BOTH_BYTES,
		.kind = pinned ? VERBS_PINNED : VERBS_DEMAND,
		.rights = BOTH_RIGHTS,
		.pages = scattered->pages,
		.page_count = PAGES,
	};

	scattered->guest = guest;
	scattered->first = guest_take(guest, 2 * PAGES * PAGE_BYTES);
	scatter_pages(scattered);
	for (__u32 i = 0; i < PAGES && pinned; i++)
		assert_int_equal(machine_pin(both.machine, guest->index, scattered->pages[i],
					     PAGE_BYTES, true),
				 0);
	assert_int_equal(region_register(rdma_regions(guest->device), &region, &scattered->key), 0);
	/* It has a copy. */
	memset(scattered->pages, 0xff, sizeof(scattered->pages));
	scatter_pages(scattered);
}

static void scattered_check(const struct scattered *scattered, __u64 offset, __u64 bytes,
			    __u64 seed)
{
	for (__u64 i = 0; i < bytes; i++)
		if (scattered->guest->memory[at_of(scattered, offset + i)] != both_byte(i, seed))
			fail_msg("byte %llu of %llu at %llu is wrong", i, bytes, offset);
}

static struct guest_region as_region(const struct scattered *scattered)
{
	return (struct guest_region){.guest = scattered->guest,
				     .at = ADDRESS,
				     .bytes = BOTH_BYTES,
				     .key = scattered->key};
}

/* Of each opcode one, from and to scattered pages. */
static void move_scattered(const struct scattered ends[2], __u64 offset, __u32 bytes, __u64 seed)
{
	const struct guest_region near = as_region(&ends[0]), far = as_region(&ends[1]);
	unsigned char *contiguous = both.guests[0].memory + both.regions[0].at;
	struct verbs_receive receive = guest_receive(&far, offset, bytes);
	struct verbs_send send;

	both_fill(contiguous, bytes, seed);
	send = guest_send(VERBS_SEND, &both.regions[0], 0, bytes, NULL, 0);
	guest_post_receive(&both.pairs[1], &receive);
	guest_post_send(&both.pairs[0], &send);
	both_expect(&both.queues[0], VERBS_SEND, VERBS_SUCCESS);
	both_expect(&both.queues[1], VERBS_RECEIVE, VERBS_SUCCESS);
	scattered_check(&ends[1], offset, bytes, seed);
	send = guest_send(VERBS_READ, &near, offset, bytes, &far, offset);
	guest_post_send(&both.pairs[0], &send);
	both_expect(&both.queues[0], VERBS_READ, VERBS_SUCCESS);
	scattered_check(&ends[0], offset, bytes, seed);
	for (__u64 i = 0; i < bytes; i++)
		both.guests[0].memory[at_of(&ends[0], offset + i)] = both_byte(i, seed + 1);
	send = guest_send(VERBS_WRITE, &near, offset, bytes, &far, offset);
	guest_post_send(&both.pairs[0], &send);
	both_expect(&both.queues[0], VERBS_WRITE, VERBS_SUCCESS);
	scattered_check(&ends[1], offset, bytes, seed + 1);
}

/* The pages between the region's are as they were. */
static void check_guards(const struct scattered *scattered)
{
	for (__u32 page = 0; page < 2 * PAGES; page++) {
		__u64 at = scattered->first + page * PAGE_BYTES;
		bool own = false;

		for (__u32 i = 0; i < PAGES; i++)
			own |= scattered->pages[i] == at;
		for (__u32 i = 0; i < PAGE_BYTES && !own; i++)
			assert_int_equal(scattered->guest->memory[at + i], 0);
	}
}

static void pages_may_lie_anywhere(void **state)
{
	static const struct {
		__u64 offset;
		__u32 bytes;
	} moves[] = {{0, 1},	    {PAGE_BYTES - PLACE, 4096},
		     {100, 4096},   {2861, 2},
		     {5000, 70001}, {0, BOTH_BYTES}};
	struct scattered ends[2];

	for (int pinned = 0; pinned < 2; pinned++) {
		rdma_plan_begin();
		for (int i = 0; i < 2; i++)
			rdma_plan.settings[i]->prefault =
				pinned ? RDMA_PREFAULT_PAGE : RDMA_PREFAULT_REQUEST;
		both_begin();
		for (int i = 0; i < 2; i++)
			scattered_register(&both.guests[i], &ends[i], pinned);
		for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
			move_scattered(ends, moves[i].offset, moves[i].bytes, i);
		for (int i = 0; i < 2; i++)
			check_guards(&ends[i]);
		both_end();
		for (int i = 0; i < 2; i++) {
			assert_int_equal(both.totals[i].faults == 0, pinned);
			assert_int_equal(both.totals[i].protection, 0);
		}
	}
}

static void what_is_evicted_of_scattered_pages_is_faulted_in(void **state)
{
	struct scattered ends[2];

	rdma_plan_begin();
	both_begin();
	for (int i = 0; i < 2; i++)
		scattered_register(&both.guests[i], &ends[i], false);
	for (__u64 round = 0; round < 20; round++) {
		move_scattered(ends, 100 * round, 60001, round);
		for (int i = 0; i < 2; i++)
			assert_true(guest_evict(both.machine, &both.guests[i], ends[i].pages[round],
						3 * PAGE_BYTES,
						round % 2 ? EVICT_MAJOR : EVICT_MINOR) >= 0);
	}
	both_end();
	assert_true(both.totals[0].faults > 0 && both.totals[1].faults > 0);
}

/* Pairs of domain 3 and regions of others. */
static __u32 register_of(__u32 guest, __u64 at, __u32 domain)
{
	struct region region = {.address = at,
				.bytes = PAGE_BYTES,
				.kind = VERBS_DEMAND,
				.rights = BOTH_RIGHTS,
				.domain = domain};
	__u32 key;

	assert_int_equal(region_register(rdma_regions(both.guests[guest].device), &region, &key),
			 0);
	return key;
}

static void pair_of_domain(int i, __u32 domain)
{
	struct verbs_pair_setup setup = {
		.iova = both.pairs[i].at,
		.send_depth = 16,
		.receive_depth = 16,
		.send_queue = both.queues[i].number,
		.receive_queue = both.queues[i].number,
		.domain = domain,
		.shared = VERBS_NO_SRQ,
	};

	assert_int_equal(rdma_pair_destroy(both.guests[i].device, both.pairs[i].number), 0);
	memset(both.guests[i].memory + both.pairs[i].at, 0, 64);
	both.pairs[i].sent = both.pairs[i].received = 0;
	assert_int_equal(rdma_pair_create(both.guests[i].device, &setup, &both.pairs[i].number), 0);
}

static void a_key_of_another_domain_is_no_key(void **state)
{
	static const struct {
		__u32 near, far;
		enum verbs_status status;
	} domains[] = {{3, 3, VERBS_SUCCESS},	     {0, 0, VERBS_SUCCESS},
		       {3, 4, VERBS_REM_ACCESS_ERR}, {4, 3, VERBS_LOC_PROT_ERR},
		       {0, 5, VERBS_REM_ACCESS_ERR}, {5, 0, VERBS_LOC_PROT_ERR}};

	for (size_t d = 0; d < sizeof(domains) / sizeof(domains[0]); d++) {
		bool good = domains[d].status == VERBS_SUCCESS;
		struct guest_region near, far;
		struct verbs_send send;

		rdma_plan_begin();
		both_begin();
		for (int i = 0; i < 2; i++)
			pair_of_domain(i, 3);
		guest_connect(&both.pairs[0], &both.pairs[1]);
		near = both.regions[0];
		far = both.regions[1];
		near.key = register_of(0, near.at, domains[d].near);
		far.key = register_of(1, far.at, domains[d].far);
		both_fill(both.guests[0].memory + near.at, 4096, d + 1);
		send = guest_send(VERBS_WRITE, &near, 0, 4096, &far, 0);
		guest_post_send(&both.pairs[0], &send);
		both_expect(&both.queues[0], VERBS_WRITE, domains[d].status);
		for (__u64 i = 0; i < 4096; i++)
			assert_int_equal(both.guests[1].memory[far.at + i],
					 good ? both_byte(i, d + 1) : 0);
		both_end();
		assert_int_equal(both.totals[0].protection + both.totals[1].protection, !good);
	}
}

static void a_key_that_is_gone_touches_nothing(void **state)
{
	struct guest_region gone;
	struct verbs_send send;

	for (int side = 0; side < 2; side++) {
		rdma_plan_begin();
		both_begin();
		guest_register(&both.guests[side], &gone, PAGE_BYTES, true, BOTH_RIGHTS);
		guest_deregister(&gone);
		both_fill(both.guests[0].memory + both.regions[0].at, 64, 1);
		send = side ? guest_send(VERBS_WRITE, &both.regions[0], 0, 64, &gone, 0)
			    : guest_send(VERBS_READ, &gone, 0, 64, &both.regions[1], 0);
		guest_post_send(&both.pairs[0], &send);
		both_expect(&both.queues[0], side ? VERBS_WRITE : VERBS_READ,
			    side ? VERBS_REM_ACCESS_ERR : VERBS_LOC_PROT_ERR);
		for (int i = 0; i < 64; i++)
			assert_int_equal(both.guests[side].memory[gone.at + i], 0);
		both_end();
		assert_int_equal(both.totals[side].protection, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_may_lie_anywhere),
		cmocka_unit_test(what_is_evicted_of_scattered_pages_is_faulted_in),
		cmocka_unit_test(a_key_of_another_domain_is_no_key),
		cmocka_unit_test(a_key_that_is_gone_touches_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
