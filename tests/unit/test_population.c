// SPDX-License-Identifier: GPL-2.0
/* Made-up devices: the same every time, in order, within their memory, and of the shape that VPRI reports. */
#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/protect/population.h"

#define MEMORY 8192
#define HOUR   (3600 * SECOND)

struct counted {
	__u64 accesses, uses, hash, pages, repeated,
		late; /* late: came back after more than 300 s */
	__u64 few, twice, faults, faults_few;
	__u64 burst; /* most accesses within a second after a gap of more than 300 s */
};

static struct population_device device_of(enum population_model model, __u32 number)
{
	return (struct population_device){
		.model = model,
		.number = number,
		.count = 101,
		.domain = 7,
		.memory_pages = MEMORY,
		.seed = 5,
		.resolution_ns = 10 * SECOND,
	};
}

struct use {
	__u64 last_ns, uses, faults;
};

static void count_burst(struct counted *c, __u64 *recent, __u64 time_ns)
{
	__u64 within = 0;

	for (int i = 0; i < 64; i++)
		within += recent[i] && time_ns - recent[i] < SECOND;
	recent[c->late % 64] = time_ns;
	if (within + 1 > c->burst)
		c->burst = within + 1;
}

static void count_pages(struct counted *c, const struct use *uses)
{
	for (size_t i = 0; i < MEMORY; i++) {
		c->pages += uses[i].uses > 0;
		c->twice += uses[i].uses > 2;
		c->few += uses[i].uses && uses[i].uses < 10;
		c->faults += uses[i].faults;
		c->faults_few += uses[i].uses < 50 ? uses[i].faults : 0;
	}
}

static struct counted watch(const struct population_keys *keys,
			    const struct population_device *device, __u64 length_ns)
{
	struct use *uses = calloc(MEMORY, sizeof(uses[0]));
	struct counted c = {0};
	struct what_if_access access;
	struct population *p;
	__u64 recent[64] = {0}, before = 0;

	assert_int_equal(population_create(&p, keys, device), 0);
	while (population_next(p, &access) && access.time_ns < length_ns) {
		struct use *use = &uses[access.page];

		assert_true(access.time_ns >= before && access.page < MEMORY && access.count);
		assert_int_equal(access.domain, device->domain);
		before = access.time_ns;
		if (use->uses &&
		    access.time_ns / device->resolution_ns == use->last_ns / device->resolution_ns)
			c.repeated++;
		if (use->uses && access.time_ns - use->last_ns > 300 * SECOND) {
			use->faults++;
			count_burst(&c, recent, access.time_ns);
			c.late++;
		}
		use->last_ns = access.time_ns;
		use->uses += access.count;
		c.accesses++;
		c.uses += access.count;
		c.hash = (c.hash ^ access.time_ns ^ access.page << 48) * 0x100000001b3ull;
	}
	population_destroy(p);
	count_pages(&c, uses);
	free(uses);
	return c;
}

static struct counted watch_model(enum population_model model, __u32 number, __u64 length_ns)
{
	const struct population_device device = device_of(model, number);
	struct population_keys keys;

	population_default(&keys);
	return watch(&keys, &device, length_ns);
}

static void the_same_arguments_give_the_same_accesses(void **state)
{
	for (int model = 0; model < POPULATION_MODELS; model++) {
		struct population_device device = device_of(model, 3);
		struct counted one = watch_model(model, 3, HOUR), other;
		struct population_keys keys;

		population_default(&keys);
		assert_true(one.hash == watch(&keys, &device, HOUR).hash);
		assert_true(one.hash != watch_model(model, 4, HOUR).hash);
		device.seed++;
		other = watch(&keys, &device, HOUR);
		assert_true(one.hash != other.hash);
		/* Of what is asked for, no more is remembered than is asked for. */
		assert_true(watch_model(model, 3, HOUR / 2).accesses < one.accesses);
	}
}

static void a_page_is_told_once_a_step(void **state)
{
	struct population_device device = device_of(POPULATION_BLOCK, 0);
	struct population_keys keys;
	struct counted fine, coarse;

	population_default(&keys);
	coarse = watch(&keys, &device, HOUR);
	/* A page may get a run's access in a step in which it was used: one in hundreds. */
	assert_true(coarse.repeated * 100 < coarse.accesses);
	device.resolution_ns = SECOND / 10;
	fine = watch(&keys, &device, HOUR);
	assert_true(fine.accesses > coarse.accesses);
	assert_true(fine.uses == fine.accesses || fine.uses < 1.01 * (double)fine.accesses);
}

static void a_block_device_grows_without_bound(void **state)
{
	struct counted half = {0}, quarter = {0}, c;

	for (__u32 i = 0; i < 7; i++) {
		c = watch_model(POPULATION_BLOCK, i, HOUR / 4);
		quarter.pages += c.pages;
		c = watch_model(POPULATION_BLOCK, i, HOUR / 2);
		half.pages += c.pages;
		half.twice += c.twice;
		half.few += c.few;
		half.faults += c.faults;
		half.faults_few += c.faults_few;
	}
	/* VPRI figure 10: 28% of memory, 87.3% of pages under 10 accesses, 70.3% over 2, faults under 50. */
	assert_true(half.pages > 0.25 * 7 * MEMORY && half.pages < 0.31 * 7 * MEMORY);
	assert_true(half.pages > 1.7 * (double)quarter.pages);
	assert_true(half.few > 0.8 * (double)half.pages);
	assert_true(half.twice > 0.65 * (double)half.pages &&
		    half.twice < 0.8 * (double)half.pages);
	assert_true(half.faults_few > 0.99 * (double)half.faults);
}

static void runs_of_a_block_device_return_as_bursts(void **state)
{
	__u64 most = 0;

	for (__u32 i = 0; i < 7; i++) {
		struct counted c = watch_model(POPULATION_BLOCK, i, HOUR);

		most = c.burst > most ? c.burst : most;
	}
	assert_in_range(most, 12, 45);
}

/* Each page is read once, and then twice on average, each time 300 to 400 s later. */
static void a_run_returns_as_often_as_asked_for(void **state)
{
	const struct population_device device = device_of(POPULATION_BLOCK, 1);
	struct population_keys keys;
	struct counted c;

	population_default(&keys);
	keys.block_growth = 0.04;
	keys.block_once = 1;
	keys.block_hot = 0;
	keys.block_returning = 1;
	keys.block_returns = 2;
	keys.block_return_least_ns = 301 * SECOND;
	keys.block_return_most_ns = 400 * SECOND;
	c = watch(&keys, &device, 10 * HOUR);
	assert_true(fabs((double)c.uses / (double)c.pages - 2.95) < 0.2);
	assert_int_equal(c.late, c.accesses - c.pages);
	keys.block_return_least_ns = 290 * SECOND;
	keys.block_return_most_ns = 300 * SECOND;
	assert_int_equal(watch(&keys, &device, 10 * HOUR).late, 0);
}

static void a_nic_is_bounded(void **state)
{
	for (__u32 i = 0; i < 101; i += 10) {
		struct counted half = watch_model(POPULATION_NIC, i, HOUR / 2);
		struct counted full = watch_model(POPULATION_NIC, i, HOUR);

		assert_true(half.pages > 0.01 * MEMORY);
		assert_true(full.pages < 1.05 * (double)half.pages);
		/* O4: few come back late. */
		assert_true(half.late * 1000 < half.accesses);
	}
}

/* O1: 95 of 100 below 4%, and a few far above. */
static void few_nics_are_large(void **state)
{
	unsigned int small = 0, large = 0;

	for (__u32 i = 0; i < 101; i++) {
		struct counted c = watch_model(POPULATION_NIC, i, 200 * SECOND);

		small += c.pages < 0.04 * MEMORY;
		large += c.pages > 0.08 * MEMORY;
	}
	assert_in_range(small, 95, 98);
	assert_in_range(large, 2, 5);
}

static void traffic_that_comes_back_comes_as_a_burst(void **state)
{
	const struct population_device device = device_of(POPULATION_NIC, 50);
	struct population_keys keys;
	struct counted c;

	population_default(&keys);
	assert_true(watch(&keys, &device, 6 * HOUR).burst < 6);
	keys.nic_pauses = 24;
	keys.nic_pause_ns = HOUR / 4;
	c = watch(&keys, &device, 6 * HOUR);
	assert_in_range(c.burst, 20, 40);
}

/* Sessions are as many and as long as asked for: the time at work is seen by the pages that it brings. */
static void a_device_works_when_it_has_a_session(void **state)
{
	struct population_keys keys;
	double pages = 0;

	population_default(&keys);
	keys.block_sessions = 12;
	keys.block_session_ns = HOUR / 30;
	keys.block_hot = 0;
	keys.block_returning = 0;
	for (__u32 i = 0; i < 31; i++) {
		const struct population_device device = device_of(POPULATION_BLOCK, i);

		pages += (double)watch(&keys, &device, 24 * HOUR).pages;
	}
	/* 12 sessions of 2 minutes at 49% of memory an hour. */
	assert_true(fabs(pages / 31 / MEMORY - 0.196) < 0.02);
}

static void a_lognormal_share_has_its_mean(void **state)
{
	struct population_keys keys;
	unsigned int silent = 0;

	population_default(&keys);
	keys.block_sessions = 0.5;
	keys.block_sessions_spread = 2;
	keys.block_session_ns = HOUR / 10;
	for (__u32 i = 0; i < 101; i++) {
		const struct population_device device = device_of(POPULATION_BLOCK, i);

		silent += !watch(&keys, &device, 24 * HOUR).pages;
	}
	/* With no spread 61 in 100 had no session; few have nearly all of them. */
	assert_in_range(silent, 75, 95);
}

static void models_do_not_share_pages(void **state)
{
	struct population_keys keys;
	__u32 first, end, other_first, other_end;

	population_default(&keys);
	population_range(&keys, POPULATION_NIC, 64, &first, &end);
	population_range(&keys, POPULATION_BLOCK, 64, &other_first, &other_end);
	assert_int_equal(first, 0);
	assert_int_equal(other_first, end);
	assert_true(other_end <= 64);
}

static void what_contradicts_itself_is_refused(void **state)
{
	struct population_keys keys;

	population_default(&keys);
	assert_int_equal(population_check(&keys), 0);
	keys.nic_least = 0.05;
	assert_int_equal(population_check(&keys), -EINVAL);
	assert_non_null(strstr(failure_text(), "nic_least=0.05"));
	population_default(&keys);
	keys.block_bound = 0.8;
	assert_int_equal(population_check(&keys), -EINVAL);
	assert_non_null(strstr(failure_text(), "block_bound=0.8"));
	population_default(&keys);
	keys.block_return_least_ns = HOUR;
	assert_int_equal(population_check(&keys), -EINVAL);
	assert_non_null(strstr(failure_text(), "block_return_least=3600s"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_arguments_give_the_same_accesses),
		cmocka_unit_test(a_page_is_told_once_a_step),
		cmocka_unit_test(a_block_device_grows_without_bound),
		cmocka_unit_test(runs_of_a_block_device_return_as_bursts),
		cmocka_unit_test(a_run_returns_as_often_as_asked_for),
		cmocka_unit_test(a_nic_is_bounded),
		cmocka_unit_test(few_nics_are_large),
		cmocka_unit_test(traffic_that_comes_back_comes_as_a_burst),
		cmocka_unit_test(a_device_works_when_it_has_a_session),
		cmocka_unit_test(a_lognormal_share_has_its_mean),
		cmocka_unit_test(models_do_not_share_pages),
		cmocka_unit_test(what_contradicts_itself_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
