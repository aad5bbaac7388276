// SPDX-License-Identifier: GPL-2.0
/* Job file -> job -> plan, and sweeps over them. */
#include "tests/unit/test.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/job/idle_keys.h"
#include "injectors/emu/hyv/hyv_layout.h"
#include "injectors/emu/rdma/rdma_settings.h"
#include "injectors/emu/workload_device.h"
#include "injectors/job/plan.h"
#include "lib/job/sweep.h"
#include "lib/base/fail.h"
#include "tests/unit/job_files.h"

struct built {
	struct job_text *text;
	struct job job;
	struct plan plan;
};

static int build(struct built *built, const char *content)
{
	int err = read_job(&built->text, content);

	if (err)
		return err;
	err = job_build(&built->job, built->text);
	if (!err) {
		err = plan_build(&built->plan, &built->job);
		if (err)
			job_free(&built->job);
	}
	if (err)
		job_text_free(built->text);
	return err;
}

static void release(struct built *built)
{
	plan_free(&built->plan);
	job_free(&built->job);
	job_text_free(built->text);
}

static void assert_refused(const char *content, const char *sentence)
{
	struct built built;

	assert_int_equal(build(&built, content), -EBADMSG);
	if (!strstr(failure_text(), sentence))
		fail_msg("said \"%s\", not \"%s\"", failure_text(), sentence);
}

#define DISK "[device disk]\n"
#define LOAD "[workload w]\nduration = 1s\n"

#define PINNING	    "[device net]\nmodel = nic\nrx_policy = pin\nwire = generator\n" FRAMES("net")
#define PINNING_TOO "[device too]\nmodel = nic\nrx_policy = pin\nwire = generator\n" FRAMES("too")
#define FRAMES(of)  "[traffic " of "]\ndevice = " of "\ncount = 1\n"

static void a_memlock_that_is_enough_is_taken(void **state)
{
	struct built b;

	assert_int_equal(build(&b, "[tenant t]\nmemlock = 1M\n" PINNING PINNING_TOO), 0);
	assert_int_equal(b.plan.machine.tenants[0].memlock, 1 << 20);
	release(&b);
	/* Nobody pins. */
	assert_int_equal(build(&b, "[tenant t]\nmemlock = 4K\n" DISK LOAD), 0);
	release(&b);
}

static void defaults_are_those_of_the_table(void **state)
{
	struct built b;

	assert_int_equal(build(&b, DISK LOAD), 0);
	assert_int_equal(b.plan.machine.tenant_count, 1);
	assert_string_equal(b.plan.machine.tenants[0].name, "tenant");
	assert_int_equal(b.plan.machine.tenants[0].memory, 64 << 20);
	assert_int_equal(b.plan.machine.request_queue_entries, 1024);
	assert_true(b.plan.machine.premap);
	assert_int_equal(b.plan.machine.devices[0].queue_depth, 64);
	assert_int_equal(b.plan.machine.devices[0].response_timeout_ns, 1000000000);
	assert_int_equal(b.plan.machine.workloads[0].sizes[0], 4096);
	assert_int_equal(b.plan.machine.workloads[0].read_percent, 100);
	assert_int_equal(b.plan.injection_count, 0);
	release(&b);
}

static void one_section_stands_for_many_members(void **state)
{
	struct built b;

	assert_int_equal(build(&b,
			       "[tenant vm]\ncount = 3\n[tenant db]\n"
			       "[device disk]\ntenant = vm\ncount = 2\n"
			       "[device dsa]\ntenant = d*\nmodel = accel\n" LOAD
			       "[inject cold]\naction = evict\nduration = 1s\n"
			       "device = vm[02]/disk1\n"
			       "[inject slow]\naction = delay\ndelay = 5ms\nduration = 1s\n"
			       "[inject off]\naction = overflow\nduration = 1s\nenabled = no\n"),
			 0);
	assert_int_equal(b.plan.machine.tenant_count, 4);
	assert_string_equal(b.plan.machine.tenants[2].name, "vm2");
	assert_string_equal(b.plan.machine.tenants[3].name, "db");
	assert_int_equal(b.plan.machine.device_count, 7);
	assert_string_equal(b.plan.machine.devices[5].name, "disk1");
	assert_int_equal(b.plan.machine.devices[5].tenant, 2);
	assert_int_equal(b.plan.machine.devices[6].tenant, 3);
	assert_int_equal(b.plan.machine.workload_count, 7);
	assert_int_equal(b.plan.injection_count, 2);
	assert_int_equal(b.plan.injections[0].device_count, 2);
	assert_int_equal(b.plan.injections[0].devices[1], 5);
	assert_false(b.plan.injections[0].every_device);
	assert_true(b.plan.injections[1].every_device);
	assert_int_equal(b.plan.injections[1].id, 2);
	assert_int_equal(b.plan.injections[1].job->delay_ns, 5000000);
	assert_int_equal(b.plan.injections[1].job->times, -1);
	release(&b);
}

/* Its own or, where it names none, those that this process may use: of all tenants together. */
static void handlers_run_on_the_cpus_of_every_tenant(void **state)
{
	int last = (int)sysconf(_SC_NPROCESSORS_CONF) - 1;
	cpu_set_t before, first;
	char text[256];
	struct built b;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	assert_int_equal(sched_setaffinity(0, sizeof(first), &first), 0);
	snprintf(text, sizeof(text),
		 "[tenant one]\ncpus = %d\n[tenant two]\n"
		 "[device disk]\ntenant = one\n[workload w]\ncount = 1\n",
		 last);
	assert_int_equal(build(&b, text), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_true(CPU_ISSET(last, &b.plan.handler_cpus));
	assert_true(CPU_ISSET(0, &b.plan.handler_cpus));
	assert_int_equal(CPU_COUNT(&b.plan.handler_cpus), last ? 2 : 1);
	release(&b);
	snprintf(text, sizeof(text),
		 "[tenant one]\ncpus = %d\n[tenant two]\ncpus = 0\n"
		 "[device disk]\ntenant = one\n[workload w]\ncount = 1\n",
		 last);
	assert_int_equal(build(&b, text), 0);
	assert_int_equal(CPU_COUNT(&b.plan.handler_cpus), last ? 2 : 1);
	release(&b);
}

static void values_of_every_type_arrive(void **state)
{
	struct built b;

	assert_int_equal(build(&b, "[machine]\nscheduler = affined\npremap = no\nseed = 41\n"
				   "[tenant vm]\nmemory = 256M\ncpus = 0\n" DISK
				   "[workload w]\nsizes = 4K:70, 64K:30 2M\ncount = 11\n"
				   "rate = 600/m\npattern = zipf\nzipf_theta = 1.2\n"
				   "[inject x]\naction = evict\nduration = 2s\ntimes = 13\n"),
			 0);
	assert_int_equal(b.plan.machine.scheduler, SCHEDULER_AFFINED);
	assert_false(b.plan.machine.premap);
	assert_true(CPU_ISSET(0, &b.plan.machine.tenants[0].cpus));
	assert_int_equal(CPU_COUNT(&b.plan.handler_cpus), 1);
	assert_int_equal(b.plan.machine.workloads[0].size_count, 3);
	assert_int_equal(b.plan.machine.workloads[0].sizes[2], 2 << 20);
	assert_int_equal(b.plan.machine.workloads[0].size_weights[0], 70);
	assert_int_equal(b.plan.machine.workloads[0].size_weights[2], 1);
	assert_true(b.plan.machine.workloads[0].rate == 10);
	assert_true(b.plan.machine.workloads[0].zipf_theta == 1.2);
	assert_int_equal(b.plan.injections[0].job->times, 13);
	release(&b);
}

static void mistakes_name_place_and_what_is_accepted(void **state)
{
	assert_refused("[machine]\nshceduler = serial\n" DISK LOAD,
		       JOB_PATH ":2: shceduler: no such key in [machine]; did you mean scheduler?");
	assert_refused("[machine]\nscheduler = serail\n" DISK LOAD,
		       "scheduler=serail: accepted: serial, affined; did you mean serial?");
	assert_refused("[device disk]\nqueue_depth = 2000\n" LOAD,
		       "queue_depth=2000: accepted: 2 to 4096, a power of two");
	assert_refused("[device disk]\nqueue_depth = 48\n" LOAD, "a power of two");
	assert_refused("[tenant vm]\nmemory = 3M\n" DISK LOAD, "a multiple of 2M");
	assert_refused("[devcie disk]\n" LOAD, "did you mean device?");
	assert_refused(DISK DISK LOAD, JOB_PATH ":2: [device disk] is already at " JOB_PATH ":1");
	assert_refused(DISK "queues = 2\nqueues = 3\n" LOAD, "is already set at " JOB_PATH ":2");
	assert_refused(DISK LOAD "[inject x]\naction = delay\ndelay = 1ms\n", "needs duration=");
	assert_refused(DISK LOAD "[inject x]\naction = delay\nduration = 1s\n", "needs delay=");
	assert_refused(
		DISK "[workload w]\ndevice = dsik\nduration = 1s\n",
		"matches none of 1 devices (the first is tenant/disk); accepted: a name, or a pattern "
		"over TENANT/DEVICE; did you mean disk?");
	assert_refused(DISK LOAD "[workload v]\nduration = 1s\n", "both drive");
	assert_refused(DISK "[workload w]\ncount = 1\ndepth = 65\n", "at most 64, the queue_depth");
	assert_refused("[tenant t]\nmemory=2M\n" DISK "[workload w]\ncount=1\nsizes=2M\n",
		       "accepted: smaller sizes");
	assert_refused("[tenant t]\nmemory=64G\ncount=1000\n" DISK LOAD, "of this host's");
	/* 2 rings of 64 descriptors, 64 buffers of 2K each way. */
	assert_refused("[tenant t]\nmemlock = 128K\n" PINNING, JOB_PATH
		       ":2: memlock=128K of tenant t: its devices pin 268 KiB as they start, "
		       "t/net among them");
	assert_refused("[tenant t]\nmemlock = 512K\ncount = 3\n" PINNING PINNING_TOO,
		       "memlock=512K of tenant t0: its devices pin 536 KiB");
	assert_refused("[tenant t]\ncpus = 1000\n" DISK LOAD, "CPU 1000 is not there");
	assert_refused(LOAD, "has no [device NAME]");
	assert_refused(DISK, "has no [workload NAME]");
	assert_refused(DISK "[workload w]\n", "never ends");
}

#define RUN "[program p]\nside = guest\nrole = server\nrun = "

/* What is made up for a network, or runs in one, has no place on a disk. */
static void frames_are_refused_where_there_are_none(void **state)
{
	assert_refused(DISK LOAD "[traffic t]\n",
		       JOB_PATH ":4: [traffic t] never ends; accepted: duration= or count=");
	assert_refused(DISK LOAD "[traffic t]\ncount = 1\n", JOB_PATH
		       ":4: [traffic t] device=*: tenant/disk has model=block, which has no "
		       "frames; accepted: devices with model=");
	assert_refused(DISK LOAD "[traffic t]\ncount = 1\ndevice = dsik\n", "did you mean disk?");
	assert_refused(DISK LOAD "[traffic t]\ncount = 1\nsizes = 64, 63\n",
		       ":6: sizes=64, 63: accepted: up to 8 sizes SIZE[:WEIGHT], each 64 to 9000");
	assert_refused(DISK LOAD "[traffic t]\ncount = 1\nsizes = 9001\n", "each 64 to 9000");
	assert_refused(DISK LOAD "[traffic t]\ncount = 1\nflows = 0\n", "accepted: 1 to 4096");
	assert_refused(DISK LOAD "[traffic t]\ncount = 1\nflows = 4097\n", "accepted: 1 to 4096");
	assert_refused(DISK LOAD RUN "/bin/true\n", JOB_PATH
		       ":4: [program p] device=*: tenant/disk has model=block, which has no "
		       "network; accepted: devices with model=");
	assert_refused(DISK LOAD RUN "/bin/true\ndevice = dsik\n", "did you mean disk?");
}

#define NIC	"[device net]\nmodel = nic\n"
#define MADE_UP NIC "wire = generator\n"
#define SERVER	RUN "/bin/true\n"
#define CLIENT	"[program c]\nside = wire\nrole = load\nrun = /bin/true\n"

static void traffic_goes_to_devices_that_make_their_frames_up(void **state)
{
	const struct traffic_config *traffic;
	struct built b;

	assert_int_equal(build(&b, "[machine]\nseed = 5\n[tenant vm]\ncount = 2\n" MADE_UP DISK LOAD
				   "device = disk\n"
				   "[traffic few]\ndevice = vm1/net\ncount = 7\nflows = 3\n"
				   "sizes = 64:3, 1514\nrate = 10/s\nverify = no\nseed = 9\n"
				   "[traffic many]\ndevice = vm0/*t\nduration = 2s\n"),
			 0);
	assert_int_equal(b.plan.machine.traffic_count, 2);
	traffic = &b.plan.machine.traffics[0];
	assert_string_equal(traffic->name, "few");
	assert_string_equal(b.plan.machine.devices[traffic->device].name, "net");
	assert_int_equal(b.plan.machine.devices[traffic->device].tenant, 1);
	assert_int_equal(traffic->count, 7);
	assert_int_equal(traffic->flows, 3);
	assert_int_equal(traffic->size_count, 2);
	assert_int_equal(traffic->sizes[1], 1514);
	assert_int_equal(traffic->size_weights[0], 3);
	assert_true(traffic->rate == 10);
	assert_false(traffic->verify);
	assert_int_equal(traffic->seed, 9);
	traffic = &b.plan.machine.traffics[1];
	assert_int_equal(b.plan.machine.devices[traffic->device].tenant, 0);
	assert_int_equal(traffic->duration_ns, 2000000000);
	assert_int_equal(traffic->flows, 16);
	assert_int_equal(traffic->sizes[0], 64);
	assert_true(traffic->verify);
	assert_int_equal(traffic->seed, 5 * 3000017 + 2);
	assert_int_equal(b.plan.program_count, 0);
	release(&b);
}

/* One of each device that has a network; the others are no matter of a pattern that fits all. */
static void programs_run_in_every_network(void **state)
{
	struct built b;

	assert_int_equal(build(&b, "[tenant vm]\ncount = 2\n" NIC DISK LOAD "device = disk\n" SERVER
				   "ready = tcp:80\n" CLIENT "duration = 3s\n"),
			 0);
	assert_int_equal(b.plan.program_count, 4);
	assert_int_equal(b.plan.programs[0].config.role, PROGRAM_SERVER);
	assert_int_equal(b.plan.programs[0].config.side, NETWORK_GUEST);
	assert_int_equal(b.plan.programs[0].config.ready_timeout_ns, 10000000000ull);
	assert_string_equal(b.plan.programs[0].config.ready, "tcp:80");
	assert_string_equal(b.plan.programs[3].config.name, "c of vm1/net");
	assert_string_equal(b.plan.programs[3].config.run, "/bin/true");
	assert_int_equal(b.plan.programs[3].config.side, NETWORK_WIRE);
	assert_int_equal(b.plan.programs[3].config.duration_ns, 3000000000ull);
	assert_string_equal(b.plan.machine.devices[b.plan.programs[3].device].name, "net");
	assert_int_equal(b.plan.machine.devices[b.plan.programs[3].device].tenant, 1);
	release(&b);
	assert_int_equal(build(&b, NIC CLIENT), 0);
	assert_string_equal(b.plan.programs[0].config.name, "c");
	release(&b);
}

static void a_nic_has_one_source_of_frames(void **state)
{
	assert_refused(NIC,
		       JOB_PATH ":1: tenant/net has a network in which nothing runs; accepted: "
				"a [program NAME] with role=load for it, a [kvstore NAME], or "
				"wire=generator or loop");
	assert_refused(NIC SERVER, "in which nothing runs");
	assert_refused(MADE_UP,
		       JOB_PATH ":1: tenant/net has no [traffic NAME]; accepted: one for it, "
				"or wire=tap and programs");
	assert_refused(NIC "wire = loop\n", "has no [traffic NAME]");
	assert_refused(NIC CLIENT "[traffic t]\ncount = 1\n", JOB_PATH
		       ":7: [traffic t] device=*: tenant/net carries the frames of programs; "
		       "accepted: devices with wire=generator or loop");
	assert_refused(MADE_UP "[traffic t]\ncount = 1\n" CLIENT, JOB_PATH
		       ":6: [program c] device=*: tenant/net carries frames that are made up; "
		       "accepted: devices with wire=tap");
	assert_refused(MADE_UP "[traffic t]\ncount = 1\n[traffic u]\ncount = 1\n", JOB_PATH
		       ":6: [traffic u] and [traffic t] both are for net; accepted: one traffic a "
		       "device");
	assert_refused(NIC CLIENT LOAD, "which takes no workload; accepted: devices with model=");
}

#define HCA(name, peer) "[device " name "]\nmodel = rdma\npeer = " peer "\n"

#define APART                                                                      \
	"[tenant vm]\ncount = 2\n[tenant plain]\n[device first]\ntenant = vm0\n"   \
	"[device net]\nmodel = nic\ntenant = vm1\n[device last]\ntenant = plain\n" \
	"[workload w]\ndevice = *st\nduration = 1s\n" SERVER CLIENT                \
	"[inject cold]\naction = evict\nwhat = random\nduration = 1s\n"            \
	"[inject lossy]\naction = frame_loss\ndevice = net\nduration = 1s\n"

/* What is theirs goes with them, and so do sections that are about nobody who is there; all of it is checked first. */
static void tenants_that_take_no_part_are_left_out(void **state)
{
	struct built b;

	assert_int_equal(build(&b, "[machine]\ntenants = plain\n" APART), 0);
	assert_int_equal(b.plan.machine.tenant_count, 1);
	assert_string_equal(b.plan.machine.tenants[0].name, "plain");
	assert_int_equal(b.plan.machine.device_count, 1);
	assert_string_equal(b.plan.machine.devices[0].name, "last");
	assert_int_equal(b.plan.machine.workload_count, 1);
	assert_int_equal(b.plan.program_count, 0);
	assert_int_equal(b.plan.injection_count, 1);
	assert_int_equal(b.plan.injections[0].device_count, 1);
	release(&b);
	/* By the name of a section, or of its members. */
	assert_int_equal(build(&b, "[machine]\ntenants = vm\n" APART), 0);
	assert_int_equal(b.plan.machine.tenant_count, 2);
	assert_int_equal(b.plan.machine.device_count, 2);
	assert_int_equal(b.plan.program_count, 2);
	assert_int_equal(b.plan.programs[1].device, 1);
	assert_int_equal(b.plan.injection_count, 2);
	release(&b);
	assert_int_equal(build(&b, "[machine]\ntenants = *1\n" APART), 0);
	assert_string_equal(b.plan.machine.tenants[0].name, "vm1");
	assert_int_equal(b.plan.machine.workload_count, 0);
	release(&b);
	assert_refused("[machine]\ntenants = vn\n" APART,
		       JOB_PATH ":1: tenants=vn of [machine] matches none of 3 tenants (the first "
				"is vm0)");
	assert_refused("[machine]\ntenants = plain\n" APART "[device x]\ntenant = vn*\n",
		       "tenant=vn* matches none of 3 tenants");
	assert_refused("[machine]\ntenants = plain\n" APART
		       "[inject x]\naction = overflow\nduration = 1s\ndevice = nte\n",
		       "device=nte matches none of 3 devices");
	/* A device whose peer is not there. */
	assert_refused("[machine]\ntenants = vm0\n[tenant vm]\ncount = 2\n"
		       "[device a]\nmodel = rdma\ntenant = vm0\npeer = vm1/b\n"
		       "[device b]\nmodel = rdma\ntenant = vm1\npeer = vm0/a\n"
		       "[ranks r]\nduration = 1s\n",
		       "there is no such device");
}

static void a_link_has_two_ends(void **state)
{
	assert_refused("[device a]\nmodel = rdma\n" HCA("b", "tenant/a"),
		       JOB_PATH ":1: tenant/a has no peer; accepted: peer=TENANT/DEVICE, such as "
				"tenant/b");
	assert_refused("[device a]\nmodel = rdma\n", "has no peer; accepted: peer=TENANT/DEVICE");
	assert_refused(HCA("a", "tenant/c") HCA("b", "tenant/a"),
		       JOB_PATH ":3: peer=tenant/c of tenant/a: there is no such device; accepted: "
				"tenant/b");
	assert_refused(HCA("a", "tenant/a"),
		       JOB_PATH ":3: peer=tenant/a of tenant/a is the device itself; accepted: "
				"another");
	assert_refused(HCA("a", "tenant/disk") DISK,
		       "has model=block; accepted: a device of model=rdma");
	assert_refused(HCA("a", "tenant/b") HCA("b", "tenant/a") HCA("c", "tenant/a"),
		       JOB_PATH ":9: peer=tenant/a of tenant/c is that of tenant/b at " JOB_PATH
				":4, too; accepted: one device for each peer");
	assert_refused(HCA("a", "tenant/b") HCA("b", "tenant/c") HCA("c", "tenant/a"),
		       JOB_PATH ":3: peer=tenant/b of tenant/a has peer=tenant/c itself; accepted: "
				"peer=tenant/a there");
	assert_refused(HCA("a", "tenant/b") "mtu = 1024\n" HCA("b", "tenant/a"),
		       JOB_PATH ":4: mtu=1024 of tenant/a, and mtu=4096 of its peer tenant/b; "
				"accepted: the same");
	assert_refused(HCA("a", "tenant/b") "mtu = 2048\n" HCA("b", "tenant/a") "mtu = 2048\n",
		       "mtu=2048: accepted: 1024, 4096");
	assert_refused(HCA("a", "tenant/b") "read_only_percent = 1\n" HCA("b", "tenant/a"),
		       JOB_PATH ":1: [device a] read_only_percent=1: accepted: 0 with model=rdma");
	assert_refused(HCA("a", "tenant/b") "rnr_timer = 32\n", "0 to 31");
	assert_refused(HCA("a", "tenant/b") "fault_limit = 65\n", "1 to 64");
	assert_refused(DISK LOAD "[inject x]\naction = nack_lost\nduration = 1s\n",
		       "[inject x] action=nack_lost on tenant/disk, which has model=block; "
		       "accepted: devices with model=rdma");
	assert_refused(DISK LOAD "[inject x]\naction = packet_loss\nduration = 1s\n",
		       "accepted: devices with model=rdma");
}

static void peers_find_each_other(void **state)
{
	const struct rdma_settings *a, *b;
	struct built built;

	assert_int_equal(
		build(&built,
		      HCA("a", "tenant/b")
			      HCA("b", "tenant/a") "[ranks r]\noperations = 1\n"
						   "[inject x]\n"
						   "action = packet_duplicate\nduration = 1s\n"),
		0);
	a = (const void *)built.plan.machine.devices[0].settings.bytes;
	b = (const void *)built.plan.machine.devices[1].settings.bytes;
	assert_int_equal(a->peer_device, 1);
	assert_int_equal(b->peer_device, 0);
	assert_int_equal(a->link, 10000000000ull);
	assert_int_equal(a->fault_limit, 4);
	release(&built);
}

static void a_mode_has_its_own_keys_and_injections(void **state)
{
	static const char ranks[] = "[ranks r]\noperations = 1\n";
	const struct rdma_settings *a;
	struct built built;
	char text[1024];

	snprintf(text, sizeof(text), "%s[inject x]\naction = veto\nduration = 1s\n%s",
		 HCA("a", "tenant/b") HCA("b", "tenant/a") "mode = hybrid\n", ranks);
	assert_refused(text, "[inject x] action=veto on tenant/a, which has no mode=; accepted: "
			     "devices with mode=native, hybrid, passthrough or odp");
	/* What a device meets by itself is for any. */
	snprintf(text, sizeof(text), "%s[inject x]\naction = cq_overrun\nduration = 1s\n%s",
		 HCA("a", "tenant/b") "mode = odp\nskip_contiguous = yes\ninstall_time = 3us\n" HCA(
			 "b", "tenant/a"),
		 ranks);
	assert_int_equal(build(&built, text), 0);
	a = (const void *)built.plan.machine.devices[0].settings.bytes;
	assert_int_equal(a->mode, RDMA_MODE_ODP);
	assert_true(a->skip_contiguous);
	assert_int_equal(a->install_ns, 3000);
	a = (const void *)built.plan.machine.devices[1].settings.bytes;
	assert_int_equal(a->mode, RDMA_MODE_NONE);
	release(&built);
	assert_refused(DISK LOAD "[inject x]\naction = guest_kill\nduration = 1s\n",
		       "accepted: devices with model=rdma");
	assert_refused(
		DISK LOAD "[inject x]\naction = device_restart\nduration = 1s\n",
		"which no virtual machine drives; accepted: devices of tenants with backend=vm");
	assert_refused(DISK LOAD "[inject x]\naction = event_late\nduration = 1s\n",
		       "[inject x] action=event_late needs delay=: a time above 0");
}

#define EVICT "[inject x]\naction = evict\nduration = 1s\n"

static void evictions_take_what_a_driver_can_name(void **state)
{
	struct built b;

	assert_refused(DISK LOAD EVICT "what = ring\n", JOB_PATH
		       ":4: [inject x] what=ring on tenant/disk, which has model=block; accepted: "
		       "what=next, random, all, or devices with model=nic");
	assert_refused(NIC CLIENT EVICT, JOB_PATH
		       ":7: [inject x] what=next on tenant/net, which has model=nic; accepted: "
		       "what=random, ring, all, or devices with model=block or accel");
	assert_refused(NIC CLIENT EVICT "what = ring\nside = bth\n",
		       "side=bth: accepted: rx, tx, both; did you mean both?");
	assert_refused(DISK LOAD "[inject x]\naction = frame_loss\nduration = 1s\n",
		       "[inject x] action=frame_loss on tenant/disk, which has model=block; "
		       "accepted: devices with model=nic");
	assert_int_equal(build(&b, NIC CLIENT EVICT "what = ring\n"), 0);
	assert_int_equal(b.plan.injections[0].job->what, EVICT_RING);
	assert_int_equal(b.plan.injections[0].job->sides, RING_SIDE(RING_RX));
	release(&b);
	assert_int_equal(build(&b, NIC CLIENT EVICT "what = ring\nside = both\n"), 0);
	assert_int_equal(b.plan.injections[0].job->sides, RING_SIDES);
	release(&b);
	assert_int_equal(build(&b, NIC CLIENT EVICT "what = ring\nside = tx\n"), 0);
	assert_int_equal(b.plan.injections[0].job->sides, RING_SIDE(RING_TX));
	release(&b);
}

static void programs_are_looked_at_before_anything_starts(void **state)
{
	char *path = strdup(getenv("PATH"));

	assert_refused(DISK LOAD "[program p]\nrole = load\nrun = /bin/true\n", "needs side=");
	assert_refused(DISK LOAD "[program p]\nside = wire\nrun = /bin/true\n", "needs role=");
	assert_refused(DISK LOAD "[program p]\nside = wire\nrole = load\n", "needs run=");
	assert_refused(DISK LOAD RUN "/bin/true\nside = host\n", "already set");
	assert_refused(DISK LOAD "[program p]\nside = host\nrole = load\nrun = x\n",
		       "side=host: accepted: guest, wire");
	assert_refused(DISK LOAD "[program p]\nside = wire\nrole = client\nrun = x\n",
		       "role=client: accepted: server, load");
	assert_refused(DISK LOAD RUN "\n", ":7: run=: accepted: ");
	assert_refused(DISK LOAD RUN "no-such-program -c {wire}\n", JOB_PATH
		       ":4: program p: no-such-program: no such program; install it, or give its "
		       "path");
	assert_null(strstr(failure_text(), "package"));
	assert_refused(DISK LOAD RUN "/etc/passwd\n", "cannot be run");
	assert_refused(DISK LOAD RUN "/bin/true 'x\n", JOB_PATH ":4: program p: ");
	assert_refused(DISK LOAD RUN "/bin/true\nready = 5201\n", JOB_PATH ":4: program p: ");
	setenv("PATH", "/nonexistent", 1);
	assert_refused(DISK LOAD RUN "memcaslap -s {guest}\n",
		       "; Debian's package libmemcached-tools has it");
	setenv("PATH", path, 1);
	free(path);
}

static void a_sweep_is_a_cross_product_after_its_baseline(void **state)
{
	struct job_text *text, *point;
	struct sweep sweep;
	char name[128];

	assert_int_equal(read_job(&text, DISK LOAD
				  "[inject x]\naction = evict\nduration = 1s\n[sweep]\n"
				  "baseline = x.enabled=no, w.depth=2\n"
				  "rate = x.rate: 1/s, 10/s\nsize = w.sizes: 4K, 64K, 2M\n"),
			 0);
	assert_int_equal(sweep_build(&sweep, text), 0);
	assert_int_equal(sweep.points, 7);
	assert_true(sweep_is_baseline(&sweep, 0));
	assert_string_equal(sweep_point_name(&sweep, 0, name, sizeof(name)), "baseline");
	assert_string_equal(sweep_point_name(&sweep, 1, name, sizeof(name)), "rate=1/s, size=4K");
	assert_string_equal(sweep_point_name(&sweep, 6, name, sizeof(name)), "rate=10/s, size=2M");
	point = job_text_copy(text);
	assert_int_equal(sweep_apply(&sweep, 0, point), 0);
	assert_string_equal(point->sections[2].entries[2].value, "no");
	assert_string_equal(point->sections[1].entries[1].value, "2");
	job_text_free(point);
	point = job_text_copy(text);
	assert_int_equal(sweep_apply(&sweep, 6, point), 0);
	assert_string_equal(point->sections[1].entries[1].value, "2M");
	job_text_free(point);
	sweep_free(&sweep);
	job_text_free(text);
}

static void bad_sweeps_are_refused(void **state)
{
	static const char *const bad[] = {
		"x = w.rate 1, 2",
		"x = w.rate: 1,, 2",
		"x = w.rate: 1, 1",
		"x-y = w.rate: 1",
		"x = w.rate: 1\nx = w.depth: 1",
		"baseline = w.rate=1\nbaseline = w.rate=2",
		"x = w.rate: 1\ny = w.rate: 2",
		"x = w.rate: 1\ny = workload w.rate: 2",
		"baseline = w.rate=1, w.depth=2, workload w.rate=1",
		"x = expect.y: 1, 2",
		"point = w.rate: 1, 2",
	};
	struct job_text *text;
	struct sweep sweep;
	char content[256];
	int err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(content, sizeof(content), "[workload w]\n[sweep]\n%s\n", bad[i]);
		assert_int_equal(read_job(&text, content), 0);
		err = sweep_build(&sweep, text);
		if (!err) {
			err = sweep_apply(&sweep, 0, text);
			sweep_free(&sweep);
		}
		assert_int_equal(err, -EBADMSG);
		assert_non_null(strstr(failure_text(), "accepted"));
		job_text_free(text);
	}
}

static const char *model_of(const struct option_row *row)
{
	for (size_t i = 0; i < OPTION_NEEDS; i++)
		if (row->needs[i].key && !strcmp(row->needs[i].key, "model"))
			return row->needs[i].values;
	return "";
}

/* Two models may have a key of one name, each its own row. */
static bool same_model(const struct option_row *a, const struct option_row *b)
{
	return !*model_of(a) || !*model_of(b) || !strcmp(model_of(a), model_of(b));
}

/* Whoever adds a row cannot forget its default, meaning or range. */
static void every_row_of_the_table_is_whole(void **state)
{
	for (size_t i = 0; i < job_options()->row_count; i++) {
		const struct option_row *row = &job_options()->rows[i];
		char accepted[256];

		assert_non_null(option_section(job_options(), row->section));
		assert_true(strlen(row->meaning) > 10);
		assert_true(strlen(option_accepted(row, accepted, sizeof(accepted))) > 1);
		assert_int_equal(row->type == OPTION_CHOICE, row->choices != NULL);
		for (size_t j = 0; j < i; j++)
			assert_false(!strcmp(row->section, job_options()->rows[j].section) &&
				     !strcmp(row->key, job_options()->rows[j].key) &&
				     same_model(row, &job_options()->rows[j]));
	}
}

static bool is_power_of_two(__u32 value)
{
	return value && !(value & (value - 1));
}

/* Whoever adds a model cannot forget what the machine relies on. */
static void every_model_is_whole(void **state)
{
	for (int i = 0; i < DEVICE_CLASSES; i++) {
		const struct device_class *class = device_classes[i];
		bool workload = device_class_takes_workload(class);

		assert_true(strlen(class->name) > 0 && strlen(class->meaning) > 5);
		assert_true(class->start && class->stop);
		assert_true(is_power_of_two(class->data_align));
		assert_true(is_power_of_two(class->depth_max));
		assert_in_range(class->depth_max, 2,
				workload ? WORKLOAD_DEPTH_MAX : RING_DEPTH_MAX);
		assert_int_equal(workload, class->driver == &workload_driver);
		assert_true(class->driver->create && class->driver->start && class->driver->stop &&
			    class->driver->destroy);
		assert_int_equal(!class->driver->next_pages, !class->driver->send_next);
		for (size_t r = 0; r < class->row_count; r++) {
			const struct option_row *row = &class->rows[r];

			assert_string_equal(row->section, "device");
			assert_true(row->offset + row->size <= class->settings_bytes);
			/* Its model takes one of the places. */
			assert_null(row->needs[OPTION_NEEDS - 1].key);
		}
	}
}

/* Whether all keys of all points of a job do something. */
static int find_idle(const struct job_text *text)
{
	struct idle_keys idle = {0};
	struct sweep sweep;
	int err;

	assert_int_equal(sweep_build(&sweep, text), 0);
	for (size_t i = 0; i < sweep.points; i++) {
		struct job_text *point = job_text_copy(text);

		assert_int_equal(sweep_apply(&sweep, i, point), 0);
		assert_int_equal(idle_keys_add(&idle, job_options(), point), 0);
		job_text_free(point);
	}
	err = idle_keys_refuse(&idle);
	idle_keys_free(&idle);
	sweep_free(&sweep);
	return err;
}

static int idle_in(const char *content, const char *set)
{
	struct job_text *text;
	int err;

	assert_int_equal(read_job(&text, content), 0);
	if (set)
		assert_int_equal(job_text_assign(text, set), 0);
	err = find_idle(text);
	job_text_free(text);
	return err;
}

/* Every key of every action: the list of those that do something is in the documentation, and here. */
static void an_action_takes_its_own_keys_only(void **state)
{
	static const char every[] = " action enabled start start_from duration ";
	static const struct {
		const char *action, *keys;
	} actions[] = {
		{"evict",
		 " device probability interval times seed what kind pages rate burst arrival "},
		{"delay", " device probability interval times seed stage delay distribution "},
		{"cpu_hog", " threads load cpus "},
		{"response_lost", " device probability interval times seed "},
		{"response_failure", " device probability interval times seed "},
		{"overflow", " device probability interval times seed "},
		{"duplicate", " device probability interval times seed "},
		{"frame_loss", " device probability interval times seed "},
		{"packet_loss", " device probability interval times seed "},
		{"packet_duplicate", " device probability interval times seed "},
		{"nack_lost", " device probability interval times seed "},
		{"pin_enomem", " device probability interval times seed "},
		{"slow_remap", " device probability interval times seed delay distribution "},
		{"veto", " device probability interval times seed "},
		{"kick_lost", " device probability interval times seed "},
		{"event_lost", " device probability interval times seed "},
		{"event_late", " device probability interval times seed delay distribution "},
		{"install_stall", " device probability interval times seed delay distribution "},
		{"guest_kill", " device probability interval times seed "},
		{"cq_overrun", " device probability interval times seed "},
		{"dead_key", " device probability interval times seed "},
		{"balloon", " tenant period memory "},
		{"suspend", " tenant period "},
		{"device_restart", " device probability interval times seed "},
	};
	size_t keys = 0;

	for (size_t a = 0; a < sizeof(actions) / sizeof(actions[0]); a++) {
		for (size_t i = 0; i < job_options()->row_count; i++) {
			const struct option_row *row = &job_options()->rows[i];
			char text[256], key[64];
			bool taken;

			if (strcmp(row->section, "inject") != 0 || !strcmp(row->key, "action"))
				continue;
			snprintf(text, sizeof(text), "[inject x]\naction = %s\n%s = %s\n",
				 actions[a].action, row->key, row->otherwise ?: "1s");
			snprintf(key, sizeof(key), " %s ", row->key);
			taken = strstr(every, key) || strstr(actions[a].keys, key);
			if (idle_in(text, NULL) != (taken ? 0 : -EBADMSG))
				fail_msg("%s is %s: %s", text, taken ? "refused" : "taken",
					 failure_text());
			keys++;
		}
	}
	assert_int_equal(keys, COUNT(actions) * 26);
}

static void a_key_is_idle_if_it_is_at_every_point(void **state)
{
	static const char uniform[] = "[inject x]\naction = delay\ndelay_max = 5ms\n"
				      "distribution = uniform\n";
	char text[512];

	assert_int_equal(idle_in(uniform, NULL), 0);
	/* An option may switch off what the file has, but not say what then does nothing. */
	assert_int_equal(idle_in(uniform, "x.distribution=fixed"), 0);
	assert_int_equal(idle_in(uniform, "x.rate=5/s"), -EINVAL);
	assert_string_equal(failure_text(), "--set: inject x.rate=5/s: has no effect with "
					    "action=delay; accepted: with action=evict");
	snprintf(text, sizeof(text), "%s[sweep]\nd = x.distribution: fixed, uniform\n", uniform);
	assert_int_equal(idle_in(text, NULL), 0);
	snprintf(text, sizeof(text), "%s[sweep]\nd = x.distribution: fixed, exponential\n",
		 uniform);
	assert_int_equal(idle_in(text, NULL), -EBADMSG);
	assert_string_equal(failure_text(), JOB_PATH
			    ":3: delay_max=5ms: has no effect with distribution=fixed; accepted: "
			    "with distribution=uniform");
	/* Of another section: one of them is enough. */
	assert_int_equal(idle_in("[machine]\niotlb_entries = 8\n[device a]\n[device b]\n"
				 "lookup = ats\n",
				 NULL),
			 0);
	assert_int_equal(idle_in("[machine]\niotlb_entries = 8\n[device a]\n", NULL), -EBADMSG);
}

/* What is accepted is said to its last word, and what a key needs. */
static void nothing_is_cut_short(void **state)
{
	const struct option_table *table = job_options();

	for (size_t i = 0; i < table->row_count; i++) {
		const struct option_row *row = &table->rows[i];
		const struct option_choice *last = row->choices;
		char text[OPTION_ACCEPTED_TEXT];

		for (int need = 0; need < OPTION_NEEDS && row->needs[need].key; need++) {
			char needs[OPTION_NEED_TEXT];

			option_need_text(&row->needs[need], needs);
			assert_true(strlen(needs) + 1 < sizeof(needs));
		}
		if (row->type != OPTION_CHOICE)
			continue;
		while (last[1].name)
			last++;
		assert_string_equal(option_accepted(row, text, sizeof(text)) + strlen(text) -
					    strlen(last->name),
				    last->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_table),
		cmocka_unit_test(a_memlock_that_is_enough_is_taken),
		cmocka_unit_test(one_section_stands_for_many_members),
		cmocka_unit_test(handlers_run_on_the_cpus_of_every_tenant),
		cmocka_unit_test(values_of_every_type_arrive),
		cmocka_unit_test(mistakes_name_place_and_what_is_accepted),
		cmocka_unit_test(frames_are_refused_where_there_are_none),
		cmocka_unit_test(traffic_goes_to_devices_that_make_their_frames_up),
		cmocka_unit_test(programs_run_in_every_network),
		cmocka_unit_test(a_nic_has_one_source_of_frames),
		cmocka_unit_test(tenants_that_take_no_part_are_left_out),
		cmocka_unit_test(evictions_take_what_a_driver_can_name),
		cmocka_unit_test(programs_are_looked_at_before_anything_starts),
		cmocka_unit_test(a_sweep_is_a_cross_product_after_its_baseline),
		cmocka_unit_test(bad_sweeps_are_refused),
		cmocka_unit_test(a_link_has_two_ends),
		cmocka_unit_test(peers_find_each_other),
		cmocka_unit_test(a_mode_has_its_own_keys_and_injections),
		cmocka_unit_test(every_row_of_the_table_is_whole),
		cmocka_unit_test(every_model_is_whole),
		cmocka_unit_test(an_action_takes_its_own_keys_only),
		cmocka_unit_test(nothing_is_cut_short),
		cmocka_unit_test(a_key_is_idle_if_it_is_at_every_point),
	};

	return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
