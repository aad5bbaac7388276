// SPDX-License-Identifier: GPL-2.0
/* [ranks] sections: who they are for, and what of them cannot be, before anything starts. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/test.h"

#include "injectors/emu/rdma/rdma_settings.h"
#include "injectors/job/plan.h"
#include "lib/base/fail.h"
#include "tests/unit/job_files.h"

#define TENANTS "[tenant vm]\ncount = 2\nmemory = 8M\n"
#define HCAS                                                         \
	"[device hca]\nmodel = rdma\ntenant = vm0\npeer = vm1/hcb\n" \
	"[device hcb]\nmodel = rdma\ntenant = vm1\npeer = vm0/hca\n"
#define RANKS "[ranks mpi]\noperations = 3\n"

static int plan_of(const char *content, struct plan *plan, struct job *job, struct job_text **text)
{
	int err = read_job(text, content);

	if (err)
		return err;
	err = job_build(job, *text);
	if (!err) {
		err = plan_build(plan, job);
		if (err)
			job_free(job);
	}
	if (err)
		job_text_free(*text);
	return err;
}

static void refused(const char *content, const char *sentence)
{
	struct job_text *text;
	struct plan plan;
	struct job job;

	assert_int_equal(plan_of(content, &plan, &job, &text), -EBADMSG);
	assert_non_null(strstr(failure_text(), JOB_PATH ":"));
	if (!strstr(failure_text(), sentence))
		fail_msg("said \"%s\", not \"%s\"", failure_text(), sentence);
}

static void planned(const char *content, struct ranks_config *config, __u32 *count)
{
	struct job_text *text;
	struct plan plan;
	struct job job;

	if (plan_of(content, &plan, &job, &text))
		fail_msg("%s", failure_text());
	*count = plan.machine.ranks_count;
	*config = plan.machine.ranks[0];
	plan_free(&plan);
	job_free(&job);
	job_text_free(text);
}

static void a_group_has_a_device_and_its_peer(void **state)
{
	struct ranks_config config;
	__u32 count;

	/* The pattern fits both: that is one group. */
	planned(TENANTS HCAS RANKS, &config, &count);
	assert_int_equal(count, 1);
	assert_int_equal(config.device, 0);
	assert_int_equal(config.peer, 1);
	assert_int_equal(config.count, 2);
	assert_int_equal(config.pattern, RANKS_sendrecv);
	assert_int_equal(config.memory, RANKS_MEMORY_demand);
	assert_true(config.seed);
	planned(TENANTS HCAS RANKS "device = hcb\nsizes = 4K:3, 1M\n", &config, &count);
	assert_int_equal(config.device, 1);
	assert_int_equal(config.peer, 0);
	assert_int_equal(config.size_count, 2);
	assert_int_equal(config.size_weights[0], 3);
}

static void who_takes_no_ranks(void **state)
{
	refused(TENANTS "[device disk]\n[workload w]\nduration = 1s\n" RANKS,
		"which takes no ranks; accepted: devices with model=rdma");
	refused(TENANTS HCAS,
		"vm0/hca has no [ranks NAME] and no [verbs NAME]; accepted: one for it or for its peer");
	refused(TENANTS HCAS RANKS "device = other\n", "device=other matches none of 2 devices");
	refused(TENANTS HCAS RANKS "[ranks other]\ndevice = hcb\noperations = 1\n",
		"[ranks other] and [ranks mpi] both are for vm1/hcb; accepted: one ranks for a "
		"device and its peer");
}

static void what_cannot_be(void **state)
{
	refused(TENANTS HCAS "[ranks mpi]\n", "[ranks mpi] never ends; accepted: duration= or");
	refused(TENANTS HCAS RANKS "pattern = stream\ncount = 3\n",
		"count=3: accepted: an even one with pattern=stream");
	refused(TENANTS HCAS RANKS "pattern = gossip\n",
		"pattern=gossip: accepted: sendrecv, bcast, alltoall, allreduce, beff, stream");
	refused(TENANTS HCAS RANKS "memory = pinned\n",
		"memory=pinned: accepted: pin, cache, copy, demand; did you mean pin?");
	refused(TENANTS HCAS RANKS "op = atomic\n", "op=atomic: accepted: send, write, read");
	refused(TENANTS HCAS RANKS "sizes = 8M\n",
		"accepted: up to 8 sizes SIZE[:WEIGHT], each 1 to");
	refused(TENANTS HCAS RANKS "count = 65\n", "accepted: 2 to 64");
}

static void what_does_not_fit(void **state)
{
	refused(TENANTS HCAS RANKS "sizes = 4M\n",
		"KiB of the memory of vm0/hca, whose share of its tenant's is 8192 KiB");
	refused(TENANTS HCAS RANKS "memory = copy\nsizes = 1M\npattern = stream\ndepth = 4\n",
		"bounce buffers 4096 KiB; accepted: smaller sizes");
	refused(TENANTS HCAS RANKS "buffer_bytes = 64K\n",
		"buffer_bytes=64K: accepted: at least 128K, 2 messages of 64 KiB at once");
	refused(TENANTS HCAS RANKS "off_cache = yes\nbuffer_bytes = 1M\nworking_set = 2M\n",
		"working_set=2048K: accepted: 128K to 1024K, the buffers of a rank");
	refused(TENANTS HCAS RANKS "memory = cache\ncache_bytes = 64K\n",
		"cache_bytes=64K: accepted: at least 128K, what messages of 1 ranks use at once");
	refused(TENANTS "[device hca]\nmodel = rdma\ntenant = vm0\npeer = vm1/hcb\n"
			"queue_pairs = 3\n[device hcb]\nmodel = rdma\ntenant = vm1\n"
			"peer = vm0/hca\n" RANKS "count = 4\n",
		"takes 8 queue pairs of vm0/hca, which has queue_pairs=3");
}

/* Both numbers, and only where something is pinned that does not fit. */
static void memlock_for_what_is_pinned(void **state)
{
	static const char tenants[] =
		"[tenant vm]\ncount = 2\nmemory = 8M\nmemlock = 1M\n" HCAS RANKS;
	char content[1024];
	struct ranks_config config;
	__u32 count;

	snprintf(content, sizeof(content), "%smemory = pin\n", tenants);
	/* 8 MiB but what the channel takes: its rings are pinned, too. */
	refused(content, "memlock=1M of tenant vm0: its devices pin 8132 KiB as they start");
	snprintf(content, sizeof(content), "%smemory = cache\n", tenants);
	refused(content, "memlock=1M of tenant vm0: its devices pin ");
	snprintf(content, sizeof(content), "%smemory = pin\nbuffer_bytes = 512K\n", tenants);
	planned(content, &config, &count);
	snprintf(content, sizeof(content), "%smemory = copy\n", tenants);
	planned(content, &config, &count);
	snprintf(content, sizeof(content), "%smemory = demand\n", tenants);
	planned(content, &config, &count);
	assert_int_equal(count, 1);
}

/* link, mtu, prefault and fault_limit are keys of nic, too. */
static void keys_that_two_models_have(void **state)
{
	static const char content[] = TENANTS
		"[device hca]\nmodel = rdma\ntenant = vm0\npeer = vm1/hcb\nmtu = 1024\n"
		"link = 1G\nprefault = page\nfault_limit = 8\n"
		"[device hcb]\nmodel = rdma\ntenant = vm1\npeer = vm0/hca\nmtu = 1024\n" RANKS;
	const struct rdma_settings *settings;
	struct job_text *text;
	struct plan plan;
	struct job job;

	if (plan_of(content, &plan, &job, &text))
		fail_msg("%s", failure_text());
	settings = (const void *)plan.machine.devices[0].settings.bytes;
	assert_int_equal(settings->mtu, 1024);
	assert_int_equal(settings->link, 1000000000);
	assert_int_equal(settings->prefault, RDMA_PREFAULT_PAGE);
	assert_int_equal(settings->fault_limit, 8);
	plan_free(&plan);
	job_free(&job);
	job_text_free(text);
	refused(TENANTS "[device hca]\nmodel = rdma\ntenant = vm0\npeer = vm1/hcb\nprefault = 3\n",
		"prefault=3: accepted: page, request");
	refused(TENANTS "[device net]\nmodel = nic\nprefault = page\n",
		"prefault=page: accepted: 0 to 63");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_has_a_device_and_its_peer),
		cmocka_unit_test(who_takes_no_ranks),
		cmocka_unit_test(what_cannot_be),
		cmocka_unit_test(what_does_not_fit),
		cmocka_unit_test(memlock_for_what_is_pinned),
		cmocka_unit_test(keys_that_two_models_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
