// SPDX-License-Identifier: GPL-2.0
/* lookup=uffd: the disk of a virtual machine reads and writes its guest's memory as it is mapped, and the kernel finds what is absent. */
#include "tests/unit/vhost_rig.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "injectors/emu/machine_private.h"
#include "injectors/emu/truth.h"
#include "lib/base/clock.h"
#include "tests/unit/scratch.h"
#include "tests/unit/vhost_iommu.h"

struct direct_rig {
	struct vhost_rig rig;
	struct frontend_iommu iommu;
	bool translates;
	char truth[128];
};

static void direct_rig_plan(void)
{
	vhost_rig_plan();
	vhost_plan.tenant.backend = MEMORY_VM;
	snprintf(vhost_plan.tenant.vm.socket, sizeof(vhost_plan.tenant.vm.socket), "%s/memory.sock",
		 scratch);
	vhost_plan.device.lookup = LOOKUP_UFFD;
}

static void direct_rig_open(struct direct_rig *r, __u16 queues)
{
	struct frontend *front = &r->rig.front;

	snprintf(r->truth, sizeof(r->truth), "%s/truth", scratch);
	assert_int_equal(truth_open(r->truth, true), 0);
	r->translates = vhost_plan.tenant.vm.iommu;
	vhost_plan.device.queues = queues;
	vhost_rig_open(&r->rig);
	vhost_rig_connect(&r->rig);
	if (r->translates)
		frontend_iommu_open(&r->iommu, front);
	frontend_negotiate(front, ~0ull);
	if (r->translates)
		frontend_iommu_start(&r->iommu);
	frontend_set_inflight(front, queues, 32);
	for (__u16 q = 0; q < queues; q++) {
		frontend_make_queue(front, q, 32);
		if (r->translates)
			pthread_mutex_lock(&r->iommu.lock);
		assert_int_equal(frontend_start_queue(front, q, 0), 0);
		if (r->translates)
			pthread_mutex_unlock(&r->iommu.lock);
	}
}

/* Lines of the truth log that have all of these words. */
static __u64 told(const struct direct_rig *r, const char *what, const char *of)
{
	FILE *file = fopen(r->truth, "r");
	char line[512];
	__u64 count = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		count += strstr(line, what) && strstr(line, of);
	fclose(file);
	return count;
}

/* Each fault is found, resolved and over, once; and nothing is told of page requests. */
static void direct_rig_close(struct direct_rig *r, __u64 faults_least)
{
	struct machine_totals totals;

	if (r->translates)
		frontend_iommu_close(&r->iommu);
	machine_totals(r->rig.machine, &totals);
	vhost_rig_close(&r->rig);
	assert_int_equal(truth_close(), 0);
	assert_true(totals.faults >= faults_least);
	assert_int_equal(told(r, "\"detect\"", "\"device\""), totals.faults);
	assert_int_equal(told(r, "\"resolved\"", ""), totals.faults);
	assert_int_equal(told(r, "\"resume\"", "\"device\""), totals.faults);
	assert_int_equal(told(r, "\"request\"", ""), 0);
	assert_int_equal(totals.memory.bypassed, 0);
	unlink(r->truth);
}

/* A fault is its queue's, which waits for it, whatever the policy; the test's own are nobody's. */
static void a_fault_is_the_queues(void **state)
{
	struct frontend_io out = vhost_rig_io(VIRTIO_BLK_T_OUT, 0, RIG_DATA, 0x4000);
	struct frontend_io in = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA + 0x10000, 0x4000);
	struct machine_device *device;
	struct direct_rig r;

	direct_rig_plan();
	vhost_rig_inject(INJECT_RESOLVE, 100, 20 * MS);
	direct_rig_open(&r, 2);
	device = &r.rig.machine->devices[0];
	vhost_rig_fill(&r.rig, RIG_DATA, 0x4000, 3);
	memset(guest_memory_cpu(r.rig.memory, RIG_DATA + 0x10000), 1, 0x4000);
	vhost_rig_evict(&r.rig, RIG_DATA, 0x4000);
	assert_int_equal(frontend_do(&r.rig.front, 1, &out), VIRTIO_BLK_S_OK);
	assert_true(port_blocked_ns(device->port, 1) >= 4ull * 20 * MS);
	assert_true(port_blocked_ns(device->port, 0) < port_blocked_ns(device->port, 1));
	vhost_rig_evict(&r.rig, RIG_DATA + 0x10000, 0x4000);
	assert_int_equal(frontend_do(&r.rig.front, 0, &in), VIRTIO_BLK_S_OK);
	assert_true(port_blocked_ns(device->port, 0) >= 4ull * 20 * MS);
	assert_true(vhost_rig_holds(&r.rig, RIG_DATA + 0x10000, 0x4000, 3));
	assert_int_equal(vhost_rig_stats(&r.rig).parked, 0);
	direct_rig_close(&r, 8);
}

struct direct_evictor {
	struct vhost_rig *rig;
	atomic_bool stop;
};

static void *evict_meanwhile(void *argument)
{
	struct direct_evictor *evictor = argument;

	for (__u64 i = 0; !atomic_load(&evictor->stop); i++)
		(void)evict_page(evictor->rig->machine, 0,
				 i * 7919 % (RIG_MEMORY / PAGE_BYTES) * PAGE_BYTES, EVICT_MAJOR);
	return NULL;
}

static void nothing_is_wrong_under_evictions(bool iommu)
{
	struct direct_rig r;
	struct direct_evictor evictor = {.rig = &r.rig};
	pthread_t thread;

	direct_rig_plan();
	vhost_plan.tenant.vm.iommu = iommu;
	direct_rig_open(&r, 2);
	pthread_create(&thread, NULL, evict_meanwhile, &evictor);
	for (__u32 i = 0; i < 299; i++) {
		__u64 from = RIG_DATA + (i % 13) * 0x8000, to = from + 0x200000;
		struct frontend_io out =
			vhost_rig_io(VIRTIO_BLK_T_OUT, (i % 100) * 64ull, from, 0x8000);
		struct frontend_io in =
			vhost_rig_io(VIRTIO_BLK_T_IN, (i % 100) * 64ull, to, 0x8000);

		out.indirect = in.indirect = i % 2;
		vhost_rig_fill(&r.rig, from, 0x8000, i);
		assert_int_equal(frontend_do(&r.rig.front, i % 2, &out), VIRTIO_BLK_S_OK);
		if (iommu)
			frontend_iommu_map(&r.iommu, to, to, 3);
		assert_int_equal(frontend_do(&r.rig.front, !(i % 2), &in), VIRTIO_BLK_S_OK);
		assert_true(vhost_rig_holds(&r.rig, to, 0x8000, i));
	}
	atomic_store(&evictor.stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(vhost_rig_stats(&r.rig).requests, 598);
	direct_rig_close(&r, 10);
}

static void nothing_is_wrong_as_it_is(void **state)
{
	nothing_is_wrong_under_evictions(false);
}

static void nothing_is_wrong_behind_an_iommu(void **state)
{
	nothing_is_wrong_under_evictions(true);
}

/* A control: data that goes past the pager meets no fault, and each page that was out is counted, read or written. */
static void a_bypass_is_counted(void **state)
{
	struct frontend_io out = vhost_rig_io(VIRTIO_BLK_T_OUT, 0, RIG_DATA, 0x4000);
	struct frontend_io in = vhost_rig_io(VIRTIO_BLK_T_IN, 0, RIG_DATA + 0x10000, 0x3000);
	struct machine_totals totals;
	struct vhost_rig rig;

	direct_rig_plan();
	vhost_plan.block->vhost.bypass = true;
	vhost_rig_open(&rig);
	vhost_rig_run(&rig, 1, 32);
	vhost_rig_fill(&rig, RIG_DATA, 0x4000, 3);
	vhost_rig_fill(&rig, RIG_DATA + 0x10000, 0x3000, 5);
	assert_int_equal(frontend_do(&rig.front, 0, &out), VIRTIO_BLK_S_OK);
	assert_int_equal(guest_memory_find_bypassed(rig.memory), 0);
	vhost_rig_evict(&rig, RIG_DATA + 0x10000, 0x3000);
	assert_int_equal(frontend_do(&rig.front, 0, &in), VIRTIO_BLK_S_OK);
	assert_int_equal(guest_memory_find_bypassed(rig.memory), 3);
	assert_true(vhost_rig_holds(&rig, RIG_DATA + 0x10000, 0x3000, 3));
	/* What a device reads of such a page is not what the guest had there. */
	vhost_rig_evict(&rig, RIG_DATA, 0x4000);
	assert_int_equal(frontend_do(&rig.front, 0, &out), VIRTIO_BLK_S_OK);
	assert_int_equal(guest_memory_find_bypassed(rig.memory), 7);
	assert_int_equal(frontend_do(&rig.front, 0, &in), VIRTIO_BLK_S_OK);
	assert_false(vhost_rig_holds(&rig, RIG_DATA + 0x10000, 0x3000, 3));
	machine_totals(rig.machine, &totals);
	assert_int_equal(totals.faults, 0);
	assert_int_equal(totals.memory.bypassed, 7);
	vhost_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_is_the_queues),
		cmocka_unit_test(nothing_is_wrong_as_it_is),
		cmocka_unit_test(nothing_is_wrong_behind_an_iommu),
		cmocka_unit_test(a_bypass_is_counted),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
