// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/lend_rig.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "injectors/cluster/agent.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/message.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

struct lend_rig rig;

static const char *rig_text(bool iommu)
{
	static char text[2048];
	const char *on = iommu ? "yes" : "no";

	snprintf(text, sizeof(text),
		 "[host a]\niommu = %s\n[host b]\niommu = %s\n"
		 "[adapter na]\nunder = a\nbar = 64M\nwindows = 128\n"
		 "[adapter nb]\nunder = b\nbar = 64M\nwindows = 128\n"
		 "[device disk]\nunder = b\n[device own]\nunder = a\n"
		 "[link cable]\nbetween = na nb\n",
		 on, on);
	return text;
}

static void *rig_lender(void *argument)
{
	struct cluster *b = argument;

	while (__atomic_load_n(&rig.lender_runs, __ATOMIC_ACQUIRE)) {
		messages_serve(b, 2 * MS);
		lend_look(b);
	}
	return NULL;
}

void rig_lender_start(void)
{
	pthread_t thread;

	assert_int_equal(nvmes_start(&rig.b), 0);
	rig.lender_runs = 1;
	assert_int_equal(pthread_create(&thread, NULL, rig_lender, &rig.b), 0);
	rig.lender = thread;
}

void rig_lender_stop(void)
{
	if (!rig.lender_runs)
		return;
	__atomic_store_n(&rig.lender_runs, 0, __ATOMIC_RELEASE);
	pthread_join(rig.lender, NULL);
	nvmes_stop(&rig.b);
}

static void (*rig_change)(struct cluster_config *config);

static void rig_config(struct cluster_config *config)
{
	config->dead_ns = 3 * SECOND;
	config->injections = &rig.injection;
	if (rig_change)
		rig_change(config);
}

void rig_open(bool iommu, void (*change)(struct cluster_config *config))
{
	memset(&rig, 0, sizeof(rig));
	rig_change = change;
	fixture_open(&rig.fixture, rig_text(iommu), rig_config);
	rig.a = rig.fixture.cluster;
	rig.b = rig.c = *rig.a;
	rig.b.self = rig.b.host = RIG_B;
	rig.c.self = rig.c.host = CLUSTER_NONE;
	rig.device = fixture_device(&rig.fixture, "disk");
	rig.function = function_of(rig.a, rig.device, 0);
	rig.na = fixture_node(&rig.fixture, "na");
	rig.nb = fixture_node(&rig.fixture, "nb");
	agent_state_set(rig.a, RIG_A, AGENT_RUNS);
	agent_state_set(rig.a, RIG_B, AGENT_RUNS);
	if (lend_register(&rig.b, rig.function))
		fail_msg("%s", failure_text());
	rig_lender_start();
}

void rig_close(void)
{
	if (!rig.a)
		return;
	rig_lender_stop();
	fixture_close(&rig.fixture);
	rig.a = NULL;
}

void rig_look(struct rig_sight *sight)
{
	memset(sight, 0, sizeof(*sight));
	for (__u32 side = 0; side < 2; side++) {
		struct ntb_stats stats;
		struct host_iommu_stats iommu;

		ntb_stats(rig.a, side ? rig.nb : rig.na, &stats);
		host_iommu_stats(rig.a, side, &iommu);
		sight->windows += stats.windows_used;
		sight->requesters += stats.requesters_used;
		sight->mapped += iommu.mapped_bytes;
		sight->pinned += host_memory_pinned(rig.a, side);
	}
}

void rig_assert_same(const struct rig_sight *before)
{
	struct rig_sight now;

	rig_look(&now);
	assert_int_equal(now.windows, before->windows);
	assert_int_equal(now.requesters, before->requesters);
	assert_int_equal(now.mapped, before->mapped);
	assert_int_equal(now.pinned, before->pinned);
	assert_int_equal(lends_left(rig.a), 0);
}

struct lend_wish rig_wish(void)
{
	return (struct lend_wish){.function = rig.function,
				  .adapters = {CLUSTER_NONE, CLUSTER_NONE},
				  .window = FIXTURE_MEMORY};
}

void rig_borrow(struct lend_borrow *borrow)
{
	struct lend_wish wish = rig_wish();

	if (lend_borrow(rig.a, &wish, borrow))
		fail_msg("%s", failure_text());
}

void rig_await(enum lend_state state)
{
	struct timespec nap = timespec_of_ns(MS);

	for (int i = 0; i < 20000 && lend_state(rig.a, rig.function) != state; i++)
		nanosleep(&nap, NULL);
	assert_int_equal(lend_state(rig.a, rig.function), state);
}

int rig_drive(struct bus *bus, __u64 ios, struct io_counts *counts)
{
	struct io_config io = {
		.ios = ios, .depth = 3, .block = 4096, .write_percent = 50, .verify = true};
	struct io_user user;
	int stop = 0, err;

	if (io_user_open(&user, bus->cluster, &io, bus->device, 0, 1))
		fail_msg("%s", failure_text());
	err = nvme_driver_run(bus, &io, &user, &stop);
	*counts = *user.counts;
	io_user_close(&user);
	return err;
}

void rig_bury(__u32 agent)
{
	ntb_release(rig.a, agent);
	host_iommu_release(rig.a, agent);
	host_memory_release(rig.a, agent);
}
