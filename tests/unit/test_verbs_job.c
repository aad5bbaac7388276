// SPDX-License-Identifier: GPL-2.0
/* [verbs] sections: who they are for, and what of them cannot be, before anything starts. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/test.h"

#include "injectors/job/plan.h"
#include "lib/base/fail.h"
#include "tests/unit/job_files.h"

#define TENANTS "[tenant vm]\ncount = 2\nmemory = 8M\n"
#define HCAS                                                         \
	"[device hca]\nmodel = rdma\ntenant = vm0\npeer = vm1/hcb\n" \
	"[device hcb]\nmodel = rdma\ntenant = vm1\npeer = vm0/hca\n"
#define VERBS "[verbs load]\noperations = 3\n"

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

static void planned(const char *content, struct verbs_load_config *config)
{
	struct job_text *text;
	struct plan plan;
	struct job job;

	if (plan_of(content, &plan, &job, &text))
		fail_msg("%s", failure_text());
	assert_int_equal(plan.machine.verbs_count, 1);
	*config = plan.machine.verbs[0];
	plan_free(&plan);
	job_free(&job);
	job_text_free(text);
}

static void a_load_has_a_device_and_its_peer(void **state)
{
	struct verbs_load_config config;

	/* The pattern fits both: that is one load. */
	planned(TENANTS HCAS VERBS, &config);
	assert_int_equal(config.device, 0);
	assert_int_equal(config.peer, 1);
	assert_int_equal(config.test, LOAD_read_latency);
	assert_int_equal(config.size, 4096);
	assert_int_equal(config.slo_ns, 10000);
	assert_true(config.seed);
	planned(TENANTS HCAS VERBS "device = hcb\ntest = write_bandwidth\noutstanding = 18\n",
		&config);
	assert_int_equal(config.device, 1);
	assert_int_equal(config.peer, 0);
	assert_int_equal(config.outstanding, 18);
}

static void who_takes_no_verbs(void **state)
{
	refused(TENANTS "[device disk]\n[workload w]\nduration = 1s\n" VERBS,
		"which takes no verbs; accepted: devices with model=rdma");
	refused(TENANTS HCAS VERBS "device = other\n", "device=other matches none of 2 devices");
	refused(TENANTS HCAS VERBS "[verbs more]\ndevice = hcb\noperations = 1\n",
		"[verbs more] and [verbs load] both are for vm1/hcb; accepted: one for a device and "
		"its peer");
	refused(TENANTS HCAS VERBS "[ranks mpi]\noperations = 1\n",
		"[verbs load] and [ranks mpi] both are for vm0/hca; accepted: either of them for a "
		"device and its peer");
}

static void what_cannot_be(void **state)
{
	refused(TENANTS HCAS "[verbs load]\n", "[verbs load] never ends; accepted: duration= or");
	refused(TENANTS HCAS VERBS "no_syscalls = yes\nevents = yes\n",
		"no_syscalls=yes: accepted: events=no, and a test that moves data");
	refused(TENANTS HCAS VERBS "no_syscalls = yes\ntest = register\n",
		"no_syscalls=yes: accepted: events=no, and a test that moves data");
	refused(TENANTS HCAS VERBS "test = create_qp\nentries = 100\n",
		"entries=100: accepted: powers of two");
	/* In place of the line of its section. */
	refused("[tenant vm]\n[device a]\nmodel = rdma\ntenant = other\n",
		JOB_PATH ":4: tenant=other matches none of 1 tenants (the first is vm); accepted: "
			 "a tenant's name, or a pattern over them");
	refused("[tenant vm]\n[device a]\nmodel = rdma\nmtu = 1024\npeer = vm/b\n",
		JOB_PATH ":5: peer=vm/b of vm/a: there is no such device");
	refused("[tenant vm]\ncount = 2\nmemory = 8M\ncpus = 1000\n" HCAS VERBS,
		JOB_PATH ":4: [tenant vm] cpus: CPU 1000 is not there");
	refused(TENANTS
		"[device hca]\nmodel = rdma\ntenant = vm0\npeer = vm1/hcb\n"
		"mode = hybrid\n[device hcb]\nmodel = rdma\ntenant = vm1\npeer = vm0/hca\n" VERBS
		"device = hcb\nmemory = demand\n",
		"[verbs load] memory=demand, and vm0/hca has mode=hybrid, which pins all that is "
		"registered; accepted: memory=mode or pin, or a device with mode=odp");
	refused(TENANTS HCAS VERBS "test = pressure\nworking_set = 6M\npiece = 4M\n",
		"working_set=6291456 piece=4194304 size=4096: accepted: 1 to 1024 whole pieces");
	refused(TENANTS HCAS VERBS "size = 5M\n",
		"size=5242880: accepted: at most 4194304 but with test=register");
	refused(TENANTS HCAS VERBS "cpus = 1023\n", "[verbs load] cpus: CPU 1023 is not there");
	refused(TENANTS HCAS VERBS "test = atomic\n",
		"test=atomic: accepted: create_qp, register, read_latency");
}

static void what_does_not_fit(void **state)
{
	refused(TENANTS HCAS VERBS "test = register\nsize = 8M\n",
		"KiB of the memory of vm0/hca, whose share of its tenant's is 8192 KiB");
	refused(TENANTS HCAS VERBS "test = kv\nkeys = 2000\n",
		"KiB of the memory of vm1/hcb, whose share of its tenant's is 8192 KiB");
	refused("[tenant vm]\ncount = 2\nmemory = 8M\n[device hca]\nmodel = rdma\ntenant = vm0\n"
		"peer = vm1/hcb\nqueue_pairs = 1\n[device hcb]\nmodel = rdma\ntenant = vm1\n"
		"peer = vm0/hca\n" VERBS "test = kv\nkeys = 10\nclients = 2\n",
		"takes 2 queue pairs of vm0/hca, which has queue_pairs=1; accepted: as many");
}

/* The plan's bytes hold what the ends allocate: each test is planned to the byte in test_verbs_load.c's machine. */
static void a_region_may_be_more_than_memlock(void **state)
{
	struct verbs_load_config config;

	refused("[tenant vm]\ncount = 2\nmemory = 8M\nmemlock = 1M\n" HCAS VERBS
		"test = read_latency\nsize = 2M\n",
		"memlock=1M of tenant vm0: its devices pin");
	planned("[tenant vm]\ncount = 2\nmemory = 8M\nmemlock = 1M\n" HCAS VERBS
		"test = pressure\nworking_set = 4M\n",
		&config);
	assert_int_equal(config.working_set, 4 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_load_has_a_device_and_its_peer),
		cmocka_unit_test(who_takes_no_verbs),
		cmocka_unit_test(what_cannot_be),
		cmocka_unit_test(what_does_not_fit),
		cmocka_unit_test(a_region_may_be_more_than_memlock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
