// SPDX-License-Identifier: GPL-2.0
/* The host's side of a guest: what is pinned, mapped and counted at each step, refused, and undone. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/hyv_world.h"

#define HYV_TEST(test, setup) cmocka_unit_test_setup_teardown(test, setup, hyv_world_teardown)

enum { MANY_RUNS = 70000, SCATTER = 7 };

static void pins_are_exact_at_each_step(void **state)
{
	__u64 list[SCATTER], key[3], queue, pair;
	struct hyv_stats stats;

	assert_nothing_left();
	assert_int_equal(hyv_register(hyv_page(3) + 5, PAGE_BYTES, &key[0]), 0);
	assert_registered(2 * PAGE_BYTES);
	assert_int_equal(hyv_register(hyv_page(3), PAGE_BYTES, &key[1]), 0);
	assert_registered(3 * PAGE_BYTES);
	for (int i = 0; i < SCATTER; i++)
		list[i] = hyv_page(100 - 2 * i);
	assert_int_equal(hyv_register_list(list, SCATTER, 0x7f0000000123, 6 * PAGE_BYTES, &key[2]),
			 0);
	assert_registered((3 + SCATTER) * PAGE_BYTES);
	stats = hyv_world_stats();
	/* One region lies in one page. */
	assert_int_equal(stats.remaps, 2);
	assert_int_equal(stats.remap_skipped, 1);
	assert_int_equal(stats.runs, 1 + SCATTER);
	queue = hyv_create_queue(200, 64);
	assert_registered((4 + SCATTER) * PAGE_BYTES);
	assert_int_equal(hyv_create_pair(210, queue, &pair), 0);
	assert_registered((5 + SCATTER) * PAGE_BYTES);
	assert_int_equal(half_do(&hyv.guest, VERBS_DESTROY_CQ, (__u64[5]){queue}, NULL), -EBUSY);
	assert_int_equal(half_do(&hyv.guest, VERBS_DESTROY_QP, (__u64[5]){pair}, NULL), 0);
	assert_int_equal(half_do(&hyv.guest, VERBS_DESTROY_CQ, (__u64[5]){queue}, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(hyv_deregister(key[i]), 0);
	assert_nothing_left();
	assert_true(hyv_world_stats().pinned_most[PIN_DRIVER] == (5 + SCATTER) * PAGE_BYTES);
}

static void contiguous_regions_may_skip_the_remap(void **state)
{
	__u64 key;

	hyv.settings.skip_contiguous = true;
	assert_int_equal(hyv_register(hyv_page(8), 31 * PAGE_BYTES, &key), 0);
	assert_registered(31 * PAGE_BYTES);
	assert_int_equal(hyv_world_stats().remaps, 0);
	assert_int_equal(hyv_world_stats().remap_skipped, 1);
	assert_int_equal(hyv_deregister(key), 0);
	hyv.settings.skip_contiguous = false;
	assert_int_equal(hyv_register(hyv_page(8), 31 * PAGE_BYTES, &key), 0);
	assert_int_equal(hyv_world_stats().remaps, 1);
	assert_int_equal(hyv_deregister(key), 0);
	assert_nothing_left();
}

/* Each step fails once; all before it is undone. */
static void a_step_that_fails_undoes_those_before(void **state)
{
	const __u64 list[4] = {hyv_page(9), hyv_page(5), hyv_page(7), hyv_page(6)};
	__u64 *many = malloc(MANY_RUNS * sizeof(*many)), key;

	/* The host's pin, then the driver's. */
	for (__u32 which = 1; which <= 2; which++) {
		hyv_arm(INJECT_PIN_ENOMEM, 0, which, 1);
		assert_int_equal(hyv_register(hyv_page(8), 3 * PAGE_BYTES, &key), -ENOMEM);
		assert_nothing_left();
		assert_int_equal(inject_disarm(rig->injections, 1), 1);
		hyv_arm(INJECT_PIN_ENOMEM, 0, which, 1);
		assert_int_equal(hyv_register_list(list, 4, 64, 4 * PAGE_BYTES - 64, &key),
				 -ENOMEM);
		assert_nothing_left();
		assert_int_equal(inject_disarm(rig->injections, 1), 1);
	}
	/* Each once, whoever counts them all. */
	assert_int_equal(hyv_world_stats().refused_pins, 4);
	assert_int_equal(hyv_world_stats().refused_injected, 0);
	/* More runs than mappings are left. */
	for (__u32 i = 0; i < MANY_RUNS; i++)
		many[i] = hyv_page(i % 16 * 2);
	assert_int_equal(hyv_register_list(many, MANY_RUNS, 0, MANY_RUNS * PAGE_BYTES, &key),
			 -ENOMEM);
	assert_int_equal(hyv_world_stats().refused_mappings, 1);
	assert_nothing_left();
	/* The device. */
	hyv.fake.refusals = 3;
	assert_int_equal(hyv_register(hyv_page(8), 3 * PAGE_BYTES, &key), -EIO);
	assert_nothing_left();
	assert_int_equal(hyv_register_list(list, 4, 0, 4 * PAGE_BYTES, &key), -EIO);
	assert_nothing_left();
	assert_int_equal(half_do(&hyv.guest, VERBS_CREATE_CQ, (__u64[5]){hyv_page(3), 64}, NULL),
			 -EIO);
	assert_nothing_left();
	/* And then it works. */
	assert_int_equal(hyv_register_list(list, 4, 0, 4 * PAGE_BYTES, &key), 0);
	assert_registered(4 * PAGE_BYTES);
	assert_int_equal(hyv_deregister(key), 0);
	assert_nothing_left();
	free(many);
}

static int small_memlock(void **state)
{
	hyv_world_build(RDMA_MODE_HYBRID, NULL, 3 * PAGE_BYTES);
	hyv_world_guest();
	return 0;
}

static void memlock_refuses_all_of_a_list(void **state)
{
	const __u64 list[4] = {hyv_page(9), hyv_page(5), hyv_page(7), hyv_page(6)};
	__u64 key;

	assert_int_equal(hyv_register_list(list, 4, 0, 4 * PAGE_BYTES, &key), -ENOMEM);
	assert_nothing_left();
	assert_int_equal(hyv_world_stats().refused_pins, 1);
	assert_int_equal(hyv_register_list(list, 3, 0, 3 * PAGE_BYTES, &key), 0);
	assert_int_equal(hyv_register(hyv_page(9), 1, &key), -ENOMEM);
	assert_registered(3 * PAGE_BYTES);
}

static int quotas(void **state)
{
	const struct tenant_quota quota = {
		.pinned_bytes = 8 * PAGE_BYTES,
		.regions = 2,
		.queue_pairs = 1,
		.completion_queues = 1,
		.rights = VERBS_LOCAL_WRITE | VERBS_REMOTE_READ,
	};

	hyv_world_build(RDMA_MODE_HYBRID, &quota, 0);
	hyv_world_guest();
	return 0;
}

static void quotas_refuse_before_anything_is_done(void **state)
{
	const __u64 rights = VERBS_LOCAL_WRITE | VERBS_REMOTE_READ;
	__u64 key[2], queue, pair;

	assert_int_equal(hyv_register(hyv_page(3), PAGE_BYTES, &key[0]), -EPERM);
	assert_int_equal(hyv_world_stats().refused_rights, 1);
	assert_int_equal(half_do(&hyv.guest, VERBS_REGISTER,
				 (__u64[5]){hyv_page(3), 9 * PAGE_BYTES, VERBS_PINNED, rights},
				 &key[0]),
			 -ENOMEM);
	assert_nothing_left();
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			half_do(&hyv.guest, VERBS_REGISTER,
				(__u64[5]){hyv_page(3), 2 * PAGE_BYTES, VERBS_PINNED, rights},
				&key[i]),
			0);
	assert_int_equal(half_do(&hyv.guest, VERBS_REGISTER,
				 (__u64[5]){hyv_page(3), 1, VERBS_PINNED, rights}, NULL),
			 -ENOSPC);
	queue = hyv_create_queue(100, 8);
	assert_int_equal(half_do(&hyv.guest, VERBS_CREATE_CQ, (__u64[5]){hyv_page(101), 8}, NULL),
			 -ENOSPC);
	assert_int_equal(hyv_create_pair(102, queue, &pair), 0);
	assert_int_equal(hyv_create_pair(103, queue, NULL), -ENOSPC);
	assert_registered(6 * PAGE_BYTES);
	assert_int_equal(hyv_world_stats().refused_quota, 4);
	/* What is given back may be taken again. */
	assert_int_equal(hyv_deregister(key[0]), 0);
	assert_int_equal(half_do(&hyv.guest, VERBS_REGISTER,
				 (__u64[5]){hyv_page(3), 5 * PAGE_BYTES, VERBS_PINNED, rights},
				 &key[0]),
			 -ENOMEM);
	assert_int_equal(half_do(&hyv.guest, VERBS_REGISTER,
				 (__u64[5]){hyv_page(3), 4 * PAGE_BYTES, VERBS_PINNED, rights},
				 &key[0]),
			 0);
	assert_registered(8 * PAGE_BYTES);
	hyv_world_leave();
	assert_nothing_left();
}

static void what_the_mode_has_not_is_refused(void **state)
{
	const __u64 list[1] = {hyv_page(1)};
	__u64 key;

	assert_int_equal(half_do(&hyv.guest, VERBS_REGISTER,
				 (__u64[5]){hyv_page(3), PAGE_BYTES, VERBS_DEMAND, HYV_RIGHTS},
				 NULL),
			 -EOPNOTSUPP);
	hyv_arm(INJECT_VETO, 0, 1, 1);
	assert_int_equal(hyv_register(hyv_page(3), 1, &key), -EPERM);
	assert_int_equal(hyv_world_stats().refused_injected, 1);
	inject_disarm(rig->injections, 1);
	/* Control's own pages, another device's, none. */
	assert_int_equal(hyv_register(hyv.start - 1, 2, &key), -EFAULT);
	assert_int_equal(hyv_register(0, PAGE_BYTES, &key), -EFAULT);
	assert_int_equal(hyv_register(HYV_WORLD_SHARE + HYV_WORLD_BYTES - 1, 2, &key), -EFAULT);
	assert_int_equal(hyv_register_list((__u64[]){hyv.start - PAGE_BYTES}, 1, 0, 1, &key),
			 -EFAULT);
	assert_int_equal(hyv_register_list((__u64[]){hyv.start + 8}, 1, 0, 1, &key), -EINVAL);
	assert_int_equal(hyv_register_list(list, 1, 0, PAGE_BYTES + 1, &key), -EINVAL);
	assert_int_equal(hyv_register_list(list, 1, ~0ull - 5, 7, &key), -EINVAL);
	assert_int_equal(hyv_register_list(list, 1, 0, 0, &key), -EINVAL);
	assert_int_equal(half_do(&hyv.guest, VERBS_REGISTER_PAGES,
				 (__u64[5]){0, 8, HYV_KINDS(VERBS_PINNED, HYV_RIGHTS)}, NULL),
			 -EINVAL);
	assert_nothing_left();
}

static void domains_and_shared_queues_are_kept_while_used(void **state)
{
	__u64 domain, shared, queue, pair, key;
	struct hyv_half *guest = &hyv.guest;

	assert_int_equal(half_do(guest, VERBS_ALLOC_PD, (__u64[5]){}, &domain), 0);
	assert_true(domain);
	assert_int_equal(half_do(guest, VERBS_REGISTER,
				 (__u64[5]){hyv_page(3), 1, VERBS_PINNED, HYV_RIGHTS, domain},
				 &key),
			 0);
	assert_int_equal(half_do(guest, VERBS_DEALLOC_PD, (__u64[5]){domain}, NULL), -EBUSY);
	assert_int_equal(
		half_do(guest, VERBS_CREATE_SRQ, (__u64[5]){hyv_page(5), 16, domain}, &shared), 0);
	queue = hyv_create_queue(7, 8);
	assert_int_equal(
		half_do(guest, VERBS_CREATE_QP_OF,
			(__u64[5]){hyv_page(8), 8, queue | queue << 32, domain | shared << 32},
			&pair),
		0);
	assert_registered(4 * PAGE_BYTES);
	assert_int_equal(half_do(guest, VERBS_DESTROY_SRQ, (__u64[5]){shared}, NULL), -EBUSY);
	assert_int_equal(half_do(guest, VERBS_POST, (__u64[5]){pair, 1}, NULL), 0);
	assert_int_equal(half_do(guest, VERBS_POST, (__u64[5]){pair + 1, 1}, NULL), -ENOENT);
	assert_int_equal(hyv.fake.posted, 1);
	assert_int_equal(half_do(guest, VERBS_DESTROY_QP, (__u64[5]){pair}, NULL), 0);
	assert_int_equal(half_do(guest, VERBS_DESTROY_SRQ, (__u64[5]){shared}, NULL), 0);
	assert_int_equal(half_do(guest, VERBS_DEALLOC_PD, (__u64[5]){domain}, NULL), -EBUSY);
	assert_int_equal(hyv_deregister(key), 0);
	assert_int_equal(half_do(guest, VERBS_DEALLOC_PD, (__u64[5]){domain}, NULL), 0);
	assert_int_equal(half_do(guest, VERBS_DEALLOC_PD, (__u64[5]){domain}, NULL), -ENOENT);
	assert_int_equal(half_do(guest, VERBS_DEALLOC_PD, (__u64[5]){0}, NULL), -ENOENT);
	assert_int_equal(half_do(guest, VERBS_DESTROY_CQ, (__u64[5]){queue}, NULL), 0);
	assert_nothing_left();
}

static void host_pages_are_under_the_guests(void **state)
{
	struct guest_memory *memory = rig->tenants[0].memory;
	unsigned char *lines = (unsigned char *)hyv.guest.shared + HYV_DOORBELL_START;
	__u64 queue, pair, key;

	memset(hyv.guest.memory + hyv_page(50), 0x5a, PAGE_BYTES);
	assert_int_equal(hyv_map(50, HYV_DOORBELL_BYTES, VERBS_DOORBELLS, 0), 0);
	lines[77] = 42;
	assert_int_equal(((unsigned char *)guest_memory_cpu(memory, hyv_page(50)))[77], 42);
	lines[77] = 0;
	/* Neither twice, nor over an object, nor an object over it. */
	assert_int_equal(hyv_map(51, PAGE_BYTES, VERBS_OWNED, 0), -EBUSY);
	assert_int_equal(hyv_register(hyv_page(49), 2 * PAGE_BYTES, &key), -EFAULT);
	assert_int_equal(hyv_register_list((__u64[]){hyv_page(51)}, 1, 0, 1, &key), -EFAULT);
	assert_int_equal(half_do(&hyv.guest, VERBS_CREATE_CQ, (__u64[5]){hyv_page(50), 8}, NULL),
			 -EFAULT);
	assert_int_equal(hyv_register(hyv_page(90), 1, &key), 0);
	assert_int_equal(hyv_map(89, 2 * PAGE_BYTES, VERBS_OWNED, 0), -EBUSY);
	/* Outside of what there is. */
	assert_int_equal(hyv_map(100, PAGE_BYTES, VERBS_OWNED, HYV_OWNED_BYTES), -EINVAL);
	assert_int_equal(hyv_map(100, PAGE_BYTES, VERBS_DOORBELLS, ~0xfffull), -EINVAL);
	assert_int_equal(hyv_map(100, PAGE_BYTES, VERBS_RESOURCES, 0), -EINVAL);
	assert_int_equal(hyv_map(-1ull, PAGE_BYTES, VERBS_OWNED, 0), -EFAULT);
	/* Queues in the host's memory are not pinned. */
	assert_int_equal(hyv_map(100, 4 * PAGE_BYTES, VERBS_OWNED, 8 * PAGE_BYTES), 0);
	queue = hyv_create_queue(101, 64);
	assert_ptr_equal(hyv.fake.queues[queue].host, (unsigned char *)hyv.host->guest.shared +
							      HYV_OWNED_START + 9 * PAGE_BYTES);
	assert_int_equal(hyv_create_pair(103, queue, &pair), 0);
	assert_ptr_equal(hyv.fake.pairs[pair % 1024].doorbells,
			 (char *)hyv.host->guest.shared + HYV_DOORBELL_START);
	assert_registered(PAGE_BYTES);
	assert_int_equal(hyv_unmap(100, 4 * PAGE_BYTES), -EBUSY);
	assert_int_equal(hyv_unmap(50, HYV_DOORBELL_BYTES), -EBUSY);
	assert_int_equal(hyv_unmap(50, PAGE_BYTES), -ENOENT);
	lines[pair % VERBS_QUEUE_PAIRS_MAX * 64] = 9;
	assert_int_equal(half_do(&hyv.guest, VERBS_DESTROY_QP, (__u64[5]){pair}, NULL), 0);
	assert_int_equal(lines[pair % VERBS_QUEUE_PAIRS_MAX * 64], 0);
	assert_int_equal(hyv_unmap(50, HYV_DOORBELL_BYTES), 0);
	assert_int_equal(((unsigned char *)guest_memory_cpu(memory, hyv_page(50)))[77], 0x5a);
	assert_int_equal(hyv_deregister(key), 0);
	/* The rest goes with the guest. */
	hyv_world_leave();
	assert_nothing_left();
}

/* Who has number 0 knows of no channel at the host, and would never end it. */
static void channels_are_all_ended(void **state)
{
	__u64 number[BACKEND_CHANNELS];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < BACKEND_CHANNELS; i++) {
			assert_int_equal(half_do(&hyv.guest, VERBS_CREATE_CHANNEL, (__u64[5]){0},
						 &number[i]),
					 0);
			assert_int_equal(number[i], i + 1);
		}
		assert_int_equal(half_do(&hyv.guest, VERBS_CREATE_CHANNEL, (__u64[5]){0}, NULL),
				 -ENOSPC);
		for (int i = 0; i < BACKEND_CHANNELS; i++)
			assert_int_equal(half_do(&hyv.guest, VERBS_DESTROY_CHANNEL,
						 (__u64[5]){number[i]}, NULL),
					 0);
	}
	assert_int_equal(half_do(&hyv.guest, VERBS_DESTROY_CHANNEL, (__u64[5]){0}, NULL), -ENOENT);
	assert_int_equal(
		half_do(&hyv.guest, VERBS_DESTROY_CHANNEL, (__u64[5]){BACKEND_CHANNELS + 1}, NULL),
		-ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HYV_TEST(pins_are_exact_at_each_step, hyv_hybrid),
		HYV_TEST(contiguous_regions_may_skip_the_remap, hyv_hybrid),
		HYV_TEST(a_step_that_fails_undoes_those_before, hyv_hybrid),
		HYV_TEST(memlock_refuses_all_of_a_list, small_memlock),
		HYV_TEST(quotas_refuse_before_anything_is_done, quotas),
		HYV_TEST(what_the_mode_has_not_is_refused, hyv_hybrid),
		HYV_TEST(domains_and_shared_queues_are_kept_while_used, hyv_hybrid),
		HYV_TEST(host_pages_are_under_the_guests, hyv_hybrid),
		HYV_TEST(channels_are_all_ended, hyv_hybrid),
	};

	return cmocka_run_group_tests_name("hyv host", tests, NULL, NULL);
}
