// SPDX-License-Identifier: GPL-2.0
/* Traces that are made up: what they were asked to be, and the figures their presets are named for. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/translate/pages.h"
#include "lib/translate/tenants.h"

#define BATCH 64
#define MIB   (1ull << 20)

/* One tenant without end, in runs of 3 over 4 pages. */
static struct tenants_config simple(void)
{
	struct tenants_config config;

	tenants_preset(&config, TENANTS_MEDIASTREAM);
	config.turns.tenants = 1;
	config.tenant_packets_min = config.tenant_packets_max = 0;
	config.packets = 1009;
	config.data.count = 4;
	config.run = 3;
	return config;
}

typedef void (*packet_fn)(void *self, const struct model_packet *packet, __u64 number);

static __u64 for_each(const struct tenants_config *config, packet_fn function, void *self)
{
	struct model_packet packets[BATCH];
	struct tenants *trace;
	__u64 number = 0;
	int got;

	assert_int_equal(tenants_create(&trace, config), 0);
	while ((got = tenants_next(trace, packets, BATCH)) > 0)
		for (int i = 0; i < got; i++, number++)
			function(self, &packets[i], number);
	assert_int_equal(got, 0);
	tenants_destroy(trace);
	return number;
}

struct follow {
	const struct tenants_config *config;
	__u64 page, on_it; /* packets since it came */
	__u64 changes;
};

/* Every stay but the first is exactly a run long, and leads to the next page. */
static void follow_runs(void *self, const struct model_packet *packet, __u64 number)
{
	struct follow *f = self;
	const struct tenants_config *c = f->config;
	__u64 page = (packet->requests[1].iova - c->data.first) >> c->data.shift;

	assert_int_equal(packet->count, 3);
	assert_int_equal(packet->requests[0].iova, c->ring.first);
	assert_int_equal(packet->requests[2].iova, c->mailbox.first);
	if (number && page != f->page) {
		assert_int_equal(page, (f->page + 1) % c->data.count);
		assert_in_range(f->on_it, f->changes++ ? c->run : 1, c->run);
		f->on_it = 0;
	}
	f->page = page;
	f->on_it++;
}

static void runs_go_around_the_pages(void **state)
{
	struct tenants_config config = simple();
	struct follow follow = {.config = &config};

	assert_int_equal(for_each(&config, follow_runs, &follow), config.packets);
	assert_in_range(follow.changes, 1009 / 3, 1009 / 3 + 1);
}

#define SETS  3
#define PHASE 101

struct phases {
	__u64 packets[SETS];
	__u64 last, since, changes;
};

static void follow_phases(void *self, const struct model_packet *packet, __u64 number)
{
	struct phases *p = self;
	__u64 set = (packet->requests[1].iova - 0xbbe00000) / (2 * MIB) / 4;

	(void)number;
	assert_true(set < SETS);
	if (set != p->last) {
		assert_int_equal(set, (p->last + 1) % SETS);
		if (p->changes++)
			assert_int_equal(p->since, PHASE);
		else
			assert_in_range(p->since, 1, PHASE);
		p->since = 0;
		p->last = set;
	}
	p->since++;
	p->packets[set]++;
}

/* Exact: after the first change, which is drawn, every PHASE packets. */
static void phases_move_to_other_pages(void **state)
{
	struct tenants_config config = simple();
	struct phases phases = {0}, others = {0};

	config.phase = PHASE;
	config.sets = SETS;
	for_each(&config, follow_phases, &phases);
	assert_in_range(phases.changes, 1009 / PHASE, 1009 / PHASE + 1);
	config.seed = 2;
	for_each(&config, follow_phases, &others);
	assert_true(others.packets[0] != phases.packets[0]);
	/* One set: nothing to move to. */
	config.sets = 1;
	others = (struct phases){0};
	for_each(&config, follow_phases, &others);
	assert_int_equal(others.changes, 0);
}

struct both {
	struct model_packet packets[2][1009];
	int which;
};

static void keep(void *self, const struct model_packet *packet, __u64 number)
{
	struct both *both = self;

	both->packets[both->which][number] = *packet;
}

/* The same trace, tenant n moved by n times as much: nothing else changes. */
static void tenants_lie_apart(void **state)
{
	static struct both both;
	struct tenants_config config = simple();

	config.turns.tenants = 7;
	config.first_touches = 2;
	for_each(&config, keep, &both);
	both.which = 1;
	config.apart = 6 * MIB;
	for_each(&config, keep, &both);
	for (int i = 0; i < 1009; i++) {
		const struct model_packet *same = &both.packets[0][i], *moved = &both.packets[1][i];

		assert_int_equal(moved->source, same->source);
		assert_int_equal(moved->count, same->count);
		for (__u32 r = 0; r < same->count; r++) {
			assert_int_equal(moved->requests[r].iova,
					 same->requests[r].iova + same->source * 6 * MIB);
			assert_int_equal(moved->requests[r].page_shift,
					 same->requests[r].page_shift);
		}
	}
}

static void count_packets(void *self, const struct model_packet *packet, __u64 number)
{
	(void)number;
	((__u64 *)self)[packet->source]++;
}

/* 11 tenants, shares 1:1:4 over and over, and one who has only so much to send. */
static void shares_are_kept_to_the_packet(void **state)
{
	struct tenants_config config = simple();
	__u64 counts[11] = {0};

	config.turns = (struct turns_config){.order = ORDER_ROUND_ROBIN,
					     .tenants = 11,
					     .turn = 5,
					     .share_count = 3,
					     .shares = {1, 1, 4}};
	config.packets = 13 * 5 * (8 * 1 + 3 * 4);
	assert_int_equal(for_each(&config, count_packets, counts), config.packets);
	for (int i = 0; i < 11; i++)
		assert_int_equal(counts[i], 13 * 5 * (i % 3 == 2 ? 4 : 1));
}

/*
 * Table III: the most and the least of a tenant, and the total at 1024 tenants, in translations. The
 * published totals are 1024 times the least, to a few; the last turn may be shared by some.
 */
static void totals_are_those_of_table_3(void **state)
{
	static const __u64 most[] = {108510, 73657, 108513}, least[] = {68079, 5520, 43362};
	static const __u64 total[] = {69712894, 5652477, 44402679};
	struct tenants_config config;

	for (int preset = 0; preset < TENANTS_PRESETS; preset++) {
		__u64 counts[1024] = {0}, packets;

		tenants_preset(&config, preset);
		packets = for_each(&config, count_packets, counts);
		assert_in_range(3 * packets, total[preset], total[preset] + 10 + 3 * 1024);
		for (int i = 0; i < 1024; i++) {
			assert_in_range(3 * counts[i], least[preset], least[preset] + 3);
			assert_true(3 * counts[i] <= most[preset]);
		}
	}
	/* Nobody is stopped by the others: one sends the least, another the most, all between. */
	tenants_preset(&config, TENANTS_MEDIASTREAM);
	assert_int_equal(config.tenant_packets_max, most[TENANTS_MEDIASTREAM] / 3);
	config.turns.tenants = 1;
	for (config.seed = 1; config.seed < 30; config.seed++) {
		__u64 count = 0;

		for_each(&config, count_packets, &count);
		assert_in_range(count, config.tenant_packets_min, config.tenant_packets_max);
	}
}

static void take(void *self, const struct model_packet *packet, __u64 number)
{
	(void)number;
	assert_int_equal(pages_take(self, packet), 0);
}

/* Figure 8 of one tenant with its 4.6 million requests, and the sets of figure 11c. */
static void presets_have_the_papers_pages(void **state)
{
	/* Ring and mailbox among them; the paper reads 32 off the figure for mediastream. */
	static const __u32 active[] = {8, 34, 36};

	for (int preset = 0; preset < TENANTS_PRESETS; preset++) {
		size_t count, tenant_count, classes[PAGE_CLASSES] = {0};
		const struct tenant_use *tenants;
		const struct page_use *uses;
		struct tenants_config config;
		struct pages *pages;
		__u64 packets;

		tenants_preset(&config, preset);
		config.turns.tenants = 1;
		config.packets = 1533333;
		config.tenant_packets_min = config.tenant_packets_max = 0;
		config.first_touches = 97;
		assert_int_equal(pages_create(&pages), 0);
		packets = for_each(&config, take, pages) - 70 * 97;
		assert_int_equal(pages_finish(pages), 0);
		uses = pages_uses(pages, &count);
		for (size_t i = 0; i < count; i++) {
			const struct page_use *use = &uses[i];
			__u64 share = packets / config.data.count;

			classes[use->page_class]++;
			if (use->page_class == PAGE_HOT) {
				assert_int_equal(use->accesses, packets);
			} else if (use->page_class == PAGE_DATA) {
				/* Near-equal: whole runs, of which one page may have one more. */
				assert_in_range(use->accesses, share - config.run,
						share + config.run);
				assert_int_equal(use->shift, 21);
				if (preset == TENANTS_MEDIASTREAM)
					assert_in_range(packets / use->accesses, 29, 33);
			} else {
				assert_int_equal(use->accesses, 97);
				assert_int_equal(use->shift, 12);
				assert_true(use->last < 70ull * 97);
			}
		}
		assert_int_equal(classes[PAGE_HOT], 2);
		assert_int_equal(classes[PAGE_DATA], config.data.count);
		assert_int_equal(classes[PAGE_STARTUP], 70);
		tenants = pages_tenants(pages, &tenant_count);
		assert_int_equal(tenant_count, 1);
		assert_int_equal(tenants[0].active99, 3);
		assert_int_equal(tenants[0].active_all, active[preset]);
		pages_destroy(pages);
	}
}

static void tenants_share_their_pages_unless_apart(void **state)
{
	for (__u32 tenants = 1; tenants <= 5; tenants += 2) {
		struct tenants_config config = simple();

		config.turns.tenants = tenants;
		for (config.apart = 0; config.apart <= 256 * MIB; config.apart += 256 * MIB) {
			const struct page_use *uses;
			struct pages *pages;
			size_t count;

			assert_int_equal(pages_create(&pages), 0);
			for_each(&config, take, pages);
			assert_int_equal(pages_finish(pages), 0);
			uses = pages_uses(pages, &count);
			assert_int_equal(count, tenants * (1 + 4 + 1));
			for (size_t i = 0; i < count; i++)
				assert_int_equal(uses[i].sharers, config.apart ? 1 : tenants);
			pages_destroy(pages);
		}
	}
}

static void traces_that_cannot_be_are_refused(void **state)
{
	struct tenants_config good, config;
	struct tenants *trace;

	tenants_preset(&good, TENANTS_IPERF3);
#define REFUSED(change)                                                     \
	do {                                                                \
		config = good;                                              \
		change;                                                     \
		assert_int_equal(tenants_create(&trace, &config), -EINVAL); \
		assert_non_null(strstr(failure_text(), "accepted: "));      \
	} while (0)
	REFUSED(config.turns.tenants = 0);
	REFUSED(config.turns.share_count = 1);
	REFUSED(config.data.shift = 13);
	REFUSED(config.data.first += 4096);
	REFUSED(config.data.count = 0);
	REFUSED(config.data.count = 500); /* into the mailbox */
	REFUSED(config.ring = config.mailbox);
	REFUSED(config.ring.count = 2);
	REFUSED(config.mailbox.first = 1ull << 57);
	REFUSED(config.streams = config.data.count + 1);
	REFUSED(config.streams = 0);
	REFUSED(config.run = 0);
	REFUSED(config.sets = 0);
	REFUSED(config.sets = 1u << 24);
	REFUSED(config.apart = 4096);
	REFUSED(config.apart = 1ull << 48);
	REFUSED((config.first_touches = 1, config.first_touch.first = 0xf0000000));
	REFUSED((config.first_touches = 1000, config.first_touch.count = 1 << 23));
	REFUSED(config.tenant_packets_min = config.tenant_packets_max + 1);
	REFUSED(config.tenant_packets_min = config.tenant_packets_max = 0);
	good.first_touch.count = 0; /* not looked at without first touches */
	assert_int_equal(tenants_check(&good), 0);
}

/* What each tenant has among the others, it has alone, however turns were drawn. */
static void one_tenant_alone_has_the_same_packets(void **state)
{
	static struct model_packet all[1009];
	struct tenants_config config = simple();
	struct model_packet packet;
	struct tenants *trace;

	config.turns.tenants = 5;
	config.turns.order = ORDER_BURSTY;
	config.turns.turn = 2;
	config.streams = 2;
	config.phase = 17;
	config.sets = 3;
	config.apart = 1ull << 40;
	config.first_touches = 2;
	assert_int_equal(tenants_create(&trace, &config), 0);
	assert_int_equal(tenants_next(trace, all, 1009), 1009);
	tenants_destroy(trace);
	assert_int_equal(tenants_create(&trace, &config), 0);
	for (__u16 tenant = 5; tenant-- > 0;) {
		__u64 count = 0;

		for (int i = 0; i < 1009; i++)
			count += all[i].source == tenant;
		assert_true(count > 100);
		tenants_only(trace, tenant, count);
		for (int i = 0; i < 1009; i++) {
			if (all[i].source != tenant)
				continue;
			memset(&packet, 0, sizeof(packet));
			assert_int_equal(tenants_next(trace, &packet, 1), 1);
			assert_memory_equal(&packet, &all[i], sizeof(packet));
		}
		assert_int_equal(tenants_next(trace, &packet, 1), 0);
	}
	tenants_destroy(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_go_around_the_pages),
		cmocka_unit_test(phases_move_to_other_pages),
		cmocka_unit_test(tenants_lie_apart),
		cmocka_unit_test(shares_are_kept_to_the_packet),
		cmocka_unit_test(totals_are_those_of_table_3),
		cmocka_unit_test(presets_have_the_papers_pages),
		cmocka_unit_test(tenants_share_their_pages_unless_apart),
		cmocka_unit_test(traces_that_cannot_be_are_refused),
		cmocka_unit_test(one_tenant_alone_has_the_same_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
