// SPDX-License-Identifier: GPL-2.0
/* RDMA on-demand paging: the account by region, counters beside faults, counter files, options. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injectors/real/odp.h"
#include "lib/analyze/faults.h"
#include "lib/analyze/odp.h"
#include "lib/base/clock.h"
#include "lib/capture/rdma_counters.h"
#include "tests/unit/scratch.h"

#define RXE 1

struct rig {
	struct session *session;
	struct faults *faults;
	struct odp *odp;
};

static void rig_open(struct rig *rig)
{
	const struct device_info device = {.handle = RXE, .kind = DEVICE_IB, .name = "rxe0"};
	struct stream session;

	assert_int_equal(session_create(&rig->session), 0);
	assert_int_equal(faults_create(&rig->faults, NULL), 0);
	assert_int_equal(odp_create(&rig->odp, rig->session, rig->faults, false), 0);
	session = session_stream(rig->session);
	session.ops->device(session.self, &device);
}

static void rig_close(struct rig *rig)
{
	odp_destroy(rig->odp);
	faults_destroy(rig->faults);
	session_destroy(rig->session);
}

static void push(struct rig *rig, struct event e)
{
	struct stream faults = faults_stream(rig->faults), odp = odp_stream(rig->odp);

	assert_int_equal(faults.ops->events(faults.self, &e, 1), 0);
	assert_int_equal(odp.ops->events(odp.self, &e, 1), 0);
}

static void end(struct rig *rig, __u64 now_ns)
{
	struct stream faults = faults_stream(rig->faults);

	assert_int_equal(faults.ops->end(faults.self, now_ns), 0);
}

static struct event stage(__u16 kind, __u64 time_ns, __u32 key, __u32 instance)
{
	return (struct event){
		.time_ns = time_ns,
		.kind = kind,
		.device = RXE,
		.pasid = PASID_NONE,
		.group = key,
		.instance = instance,
		.address = 0x7f0000000000,
		.length = 4096,
		.queue = QUEUE_NONE,
		.flags = kind == EVENT_FAULT_HANDLER ? EVENT_GROUP | EVENT_WRITE : EVENT_WRITE,
	};
}

static void one_fault(struct rig *rig, __u64 begin_ns, __u64 end_ns, __u32 key, __u32 instance)
{
	struct event mapped = stage(EVENT_FAULT_MAPPED, end_ns, key, instance);

	push(rig, stage(EVENT_FAULT_HANDLER, begin_ns, key, instance));
	push(rig, stage(EVENT_FAULT_RESOLVED, end_ns - 1, key, instance));
	mapped.flags |= EVENT_LAST;
	mapped.value = 3ull << 32 | key;
	push(rig, mapped);
}

static void counter(struct rig *rig, __u64 time_ns, __u64 window_ns, __u8 code, __u64 moved)
{
	push(rig, (struct event){.time_ns = time_ns,
				 .kind = EVENT_RDMA_COUNTER,
				 .device = RXE,
				 .length = window_ns,
				 .value = moved,
				 .code = code,
				 .queue = 1});
}

static void test_account(void **state)
{
	struct rig rig;
	struct event e = {.kind = EVENT_ODP_REGION, .device = RXE, .group = 7, .pid = 42};
	const struct odp_region *region;

	rig_open(&rig);
	assert_false(odp_seen(rig.odp));
	e.time_ns = 1 * MS;
	e.address = 0x7f0000000000;
	e.length = 8192;
	e.code = ODP_REGION_NEW;
	push(&rig, e);
	one_fault(&rig, 2 * MS, 5 * MS, 7, 1);
	one_fault(&rig, 6 * MS, 7 * MS, 8, 2);
	e.kind = EVENT_ODP_INVALIDATE;
	e.instance = 13;
	push(&rig, e);
	e.kind = EVENT_ODP_PREFETCH;
	e.instance = 5;
	push(&rig, e);
	end(&rig, 9 * MS);
	region = odp_region(rig.odp, RXE, 7);
	assert_non_null(region);
	assert_int_equal(region->pid, 42);
	assert_int_equal(region->length, 8192);
	assert_int_equal(region->totals.faults, 1);
	assert_int_equal(region->totals.pages, 3);
	assert_int_equal(region->totals.bytes, 4096);
	assert_int_equal(region->totals.invalidations, 1);
	assert_int_equal(region->totals.invalidated_pages, 13);
	assert_int_equal(region->totals.prefetched_pages, 5);
	assert_int_equal(region->totals.latency.max, 3 * MS);
	assert_int_equal(odp_of_device(rig.odp, RXE)->faults, 2);
	assert_int_equal(odp_of_device(rig.odp, RXE)->pages, 6);
	assert_int_equal(odp_region_count(rig.odp), 2);
	rig_close(&rig);
}

static void test_failed_fault(void **state)
{
	struct event response = stage(EVENT_FAULT_RESPONSE, 3 * MS, 7, 1);
	struct rig rig;

	rig_open(&rig);
	push(&rig, stage(EVENT_FAULT_HANDLER, 2 * MS, 7, 1));
	response.flags |= EVENT_LAST;
	response.code = RESPONSE_INVALID;
	push(&rig, response);
	end(&rig, 4 * MS);
	assert_int_equal(odp_of_device(rig.odp, RXE)->failed, 1);
	assert_int_equal(odp_of_device(rig.odp, RXE)->pages, 0);
	rig_close(&rig);
}

/* Others' faults are not RDMA's, and a hostile stream names any device and code. */
static void test_others(void **state)
{
	struct event e = stage(EVENT_FAULT_HANDLER, 2 * MS, 7, 1);
	struct rig rig;

	rig_open(&rig);
	e.device = 5;
	push(&rig, e);
	counter(&rig, 3 * MS, MS, 200, 9);
	assert_false(odp_seen(rig.odp));
	counter(&rig, 4 * MS, MS, RDMA_RETRY, 1);
	assert_true(odp_seen(rig.odp));
	end(&rig, 5 * MS);
	assert_null(odp_of_device(rig.odp, 5));
	rig_close(&rig);
}

static void test_overlap(void **state)
{
	const struct odp_counter *c;
	struct rig rig;

	rig_open(&rig);
	one_fault(&rig, 10 * MS, 30 * MS, 7, 1);
	counter(&rig, 20 * MS + 5 * MS, 100, RDMA_RETRY, 0);
	counter(&rig, 29 * MS, 5 * MS, RDMA_RETRY, 2); /* ends after: merged order is by time */
	counter(&rig, 100 * MS, 60 * MS, RDMA_RETRY, 11);
	c = odp_counter(rig.odp, RXE, RDMA_RETRY);
	assert_int_equal(c->moved, 13);
	assert_int_equal(c->during, 2);
	assert_int_equal(c->longest_ns, 20 * MS);
	/* One that is still being served counts with its age. */
	push(&rig, stage(EVENT_FAULT_HANDLER, 110 * MS, 7, 2));
	counter(&rig, 150 * MS, 50 * MS, RDMA_RETRY, 3);
	assert_int_equal(c->during, 5);
	assert_int_equal(c->longest_ns, 40 * MS);
	assert_null(odp_counter(rig.odp, RXE, RDMA_DUPLICATE));
	end(&rig, 200 * MS);
	rig_close(&rig);
}

/* Counter files as a device has them. */

static void put(const char *device, const char *file, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/ports/1/hw_counters/%s", scratch, device, file);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void make_device(const char *device)
{
	static const char *const below[] = {"", "/ports", "/ports/1", "/ports/1/hw_counters"};
	char path[256];

	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s%s", scratch, device, below[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
}

struct told {
	__u64 sums[RDMA_COUNTERS];
	size_t calls;
	char name[64];
	struct event last;
};

static int take(void *self, const char *name, const struct event *event)
{
	struct told *told = self;

	assert_int_equal(event->kind, EVENT_RDMA_COUNTER);
	assert_int_equal(event->queue, 1);
	told->sums[event->code] += event->value;
	told->calls++;
	told->last = *event;
	snprintf(told->name, sizeof(told->name), "%s", name);
	return 0;
}

static void test_counter_files(void **state)
{
	struct rdma_counters *counters;
	struct told told = {0};
	__u64 now_ns = monotonic_ns();

	make_device("rxe0");
	put("rxe0", "completer_retry_err", "17\n");
	put("rxe0", "send_rnr_err", "0\n");
	put("rxe0", "lifespan", "12\n");
	assert_int_equal(rdma_counters_create(&counters, scratch, false, now_ns), 0);
	assert_int_equal(rdma_counters_devices(counters), 1);
	put("rxe0", "completer_retry_err", "40\n");
	/* Not before its time. */
	assert_int_equal(rdma_counters_poll(counters, now_ns + 1, take, &told), 0);
	assert_int_equal(told.calls, 0);
	assert_int_equal(rdma_counters_poll(counters, now_ns + RDMA_READ_NS, take, &told), 0);
	assert_int_equal(told.calls, 1);
	assert_int_equal(told.sums[RDMA_RETRY], 23);
	assert_string_equal(told.name, "rxe0");
	/* A reset: what it shows now has come since. */
	put("rxe0", "completer_retry_err", "5\n");
	/* A device that comes later has begun at 0; mlx5 has other names. */
	make_device("mlx5_0");
	put("mlx5_0", "local_ack_timeout_err", "3\n");
	put("mlx5_0", "out_of_sequence", "garbage\n");
	assert_int_equal(rdma_counters_poll(counters, now_ns + 20 * RDMA_READ_NS, take, &told), 0);
	assert_int_equal(told.sums[RDMA_RETRY], 23 + 5 + 3);
	assert_int_equal(rdma_counters_told(counters, "mlx5_0", RDMA_RETRY), 3);
	put("rxe0", "send_rnr_err", "2\n");
	assert_int_equal(rdma_counters_finish(counters, take, &told), 0);
	assert_int_equal(told.sums[RDMA_RNR_SENT], 2);
	assert_int_equal(rdma_counters_told(counters, "rxe0", RDMA_RETRY), 28);
	rdma_counters_destroy(counters);
}

/* Its files go on under the new name: nothing is told twice, and nothing of another one that gets the old name. */
static void test_a_renamed_device(void **state)
{
	struct rdma_counters *counters;
	struct told told = {0};
	__u64 now_ns = monotonic_ns();
	char from[128], to[128];

	snprintf(from, sizeof(from), "%s/rxe0", scratch);
	snprintf(to, sizeof(to), "%s/other", scratch);
	make_device("rxe0");
	put("rxe0", "completer_retry_err", "17\n");
	assert_int_equal(rdma_counters_create(&counters, scratch, false, now_ns), 0);
	put("rxe0", "completer_retry_err", "40\n");
	assert_int_equal(rename(from, to), 0);
	/* Long before directories are looked through again. */
	assert_int_equal(rdma_counters_poll(counters, now_ns + RDMA_READ_NS, take, &told), 0);
	assert_int_equal(told.sums[RDMA_RETRY], 23);
	assert_string_equal(told.name, "other");
	assert_int_equal(rdma_counters_devices(counters), 1);
	make_device("rxe0");
	put("rxe0", "completer_retry_err", "5\n");
	assert_int_equal(rdma_counters_poll(counters, now_ns + 20 * RDMA_READ_NS, take, &told), 0);
	assert_string_equal(told.name, "rxe0");
	assert_int_equal(rdma_counters_told(counters, "rxe0", RDMA_RETRY), 5);
	assert_int_equal(rdma_counters_told(counters, "other", RDMA_RETRY), 23);
	assert_int_equal(rdma_counters_devices(counters), 2);
	put("other", "completer_retry_err", "41\n");
	assert_int_equal(rdma_counters_finish(counters, take, &told), 0);
	assert_int_equal(told.sums[RDMA_RETRY], 23 + 5 + 1);
	rdma_counters_destroy(counters);
}

static void each_count_says_since_when(void **state)
{
	struct rdma_counters *counters;
	struct told told = {0};
	__u64 now_ns = monotonic_ns(), before_ns = now_ns - MS;

	make_device("since0");
	put("since0", "completer_retry_err", "17\n");
	assert_int_equal(rdma_counters_create(&counters, scratch, false, before_ns), 0);
	for (__u64 reads = 1; reads <= 3; reads++) {
		put("since0", "completer_retry_err", reads % 2 ? "40\n" : "90\n");
		assert_int_equal(
			rdma_counters_poll(counters, now_ns + reads * RDMA_READ_NS, take, &told),
			0);
		assert_int_equal(told.calls, reads);
		assert_int_equal(told.last.length, told.last.time_ns - before_ns);
		before_ns = told.last.time_ns;
	}
	rdma_counters_destroy(counters);
}

static void test_no_devices(void **state)
{
	struct rdma_counters *counters;
	struct told told = {0};

	assert_int_equal(rdma_counters_create(&counters, "/nonexistent", false, 1), 0);
	assert_int_equal(rdma_counters_poll(counters, 5 * NSEC_PER_SEC, take, &told), 0);
	assert_int_equal(rdma_counters_finish(counters, take, &told), 0);
	assert_int_equal(told.calls, 0);
	rdma_counters_destroy(counters);
}

static void test_operations(void **state)
{
	__u32 operations;

	assert_int_equal(odp_parse_operations("all", &operations), 0);
	assert_int_equal(operations, 63);
	assert_int_equal(odp_parse_operations("write,read-local", &operations), 0);
	assert_int_equal(operations, 1u << ODP_WRITE | 1u << ODP_READ_LOCAL);
	assert_int_equal(odp_parse_operations("", &operations), -EINVAL);
	assert_int_equal(odp_parse_operations("write,", &operations), -EINVAL);
	assert_int_equal(odp_parse_operations("fetch", &operations), -EINVAL);
	assert_non_null(strstr(failure_text(), "atomic"));
}

static void test_options(void **state)
{
	struct odp_options good = {.device = "rxe0", .message = 4096, .operations = 1, .mtu = 4096};
	struct odp_options o = good;

	assert_int_equal(odp_options_check(&o), 0);
	assert_true(odp_aligned(&o));
	o.device = NULL;
	assert_int_equal(odp_options_check(&o), -EINVAL);
	o = good;
	o.device = "../../etc";
	assert_int_equal(odp_options_check(&o), -EINVAL);
	o = good;
	o.late_ns = 1;
	assert_int_equal(odp_options_check(&o), -EINVAL);
	o.operations = 1u << ODP_SEND;
	assert_int_equal(odp_options_check(&o), 0);
	o = good;
	o.prefetch = o.pinned = true;
	assert_int_equal(odp_options_check(&o), -EINVAL);
	o = good;
	o.offset = 12;
	o.operations = 1u << ODP_ATOMIC;
	assert_int_equal(odp_options_check(&o), -EINVAL);
	o = good;
	o.offset = 512;
	assert_false(odp_aligned(&o));
	o.offset = 0;
	o.message = 8192;
	assert_true(odp_aligned(&o));
	o.mtu = 1024;
	assert_false(odp_aligned(&o));
	o.message = 1024;
	assert_true(odp_aligned(&o));
}

/* A length has 32 bits in advice, a region more: none of it is left out. */
static void test_pieces(void **state)
{
	static const size_t sizes[] = {PAGE_BYTES, (size_t)1 << 30, (size_t)4 << 30,
				       ((size_t)5 << 30) + PAGE_BYTES,
				       65536 * ((1u << 20) + (size_t)PAGE_BYTES)};
	struct ibv_mr region = {.lkey = 7};
	struct ibv_sge pieces[ODP_PIECES];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct odp_side side = {.region = &region,
					.memory = {.start = (char *)0x10000, .bytes = sizes[i]}};
		int count = odp_side_pieces(&side, pieces);
		__u64 next = 0x10000;

		for (int k = 0; k < count; k++) {
			assert_int_equal(pieces[k].addr, next);
			assert_int_equal(pieces[k].lkey, 7);
			next += pieces[k].length;
		}
		assert_int_equal(next, 0x10000 + sizes[i]);
	}
}

/* Memory of our own: evicted is what pagemap says. */
static void test_memory(void **state)
{
	const struct odp_options options = {.eviction = ODP_EVICT_DONTNEED};
	struct odp_memory memory = {.bytes = 13 * (size_t)PAGE_BYTES};
	__u64 calls;

	assert_int_equal(odp_memory_open(&memory, &options), 0);
	assert_int_equal(odp_memory_present(&memory), 0);
	memset(memory.start, 7, memory.bytes);
	assert_int_equal(odp_memory_present(&memory), 13);
	assert_int_equal(odp_memory_evict(&memory, ODP_EVICT_NONE, &calls), 0);
	assert_int_equal(calls, 0);
	assert_int_equal(odp_memory_present(&memory), 13);
	assert_int_equal(odp_memory_evict(&memory, ODP_EVICT_DONTNEED, &calls), 0);
	assert_int_equal(calls, 1);
	assert_int_equal(odp_memory_present(&memory), 0);
	odp_memory_close(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_account),
		cmocka_unit_test(test_failed_fault),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test_setup_teardown(test_counter_files, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(test_a_renamed_device, scratch_make,
						scratch_remove),
		cmocka_unit_test_setup_teardown(each_count_says_since_when, scratch_make,
						scratch_remove),
		cmocka_unit_test(test_no_devices),
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
