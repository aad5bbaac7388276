// SPDX-License-Identifier: GPL-2.0
/* The passes: evict, prove, operate, look at the data. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "injectors/real/memory_file.h"
#include "injectors/real/odp.h"
#include "lib/base/clock.h"

#define ATOMIC_BYTES 8
#define ADDEND	     7

/* The side whose region pages on demand. */
static bool near_pages(enum odp_operation operation)
{
	return operation == ODP_READ_LOCAL || operation == ODP_WRITE_LOCAL;
}

bool odp_aligned(const struct odp_options *options)
{
	return !options->offset && (options->message <= PAGE_BYTES || options->mtu == PAGE_BYTES);
}

static int odp_ask(struct odp_run *run, enum odp_request request, __u64 value)
{
	struct odp_message message = {.value = value};

	return odp_far_ask(&run->far, request, &message);
}

static int odp_post(struct odp_run *run, enum odp_operation operation, __u64 number,
		    const struct odp_address *far)
{
	static const enum ibv_wr_opcode codes[ODP_OPERATIONS] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,  IBV_WR_SEND,
		IBV_WR_RDMA_READ,  IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct odp_side *near = &run->near;
	struct ibv_sge where = {
		.addr = (__u64)odp_side_at(near, number),
		.length = operation == ODP_ATOMIC ? ATOMIC_BYTES : (__u32)run->options.message,
		.lkey = near->region->lkey,
	};
	struct ibv_send_wr request = {
		.wr_id = number,
		.sg_list = &where,
		.num_sge = 1,
		.opcode = codes[operation],
		.send_flags = IBV_SEND_SIGNALED,
	};
	__u64 remote = far->memory + (__u64)(odp_side_at(near, number) - near->memory.start);
	struct ibv_send_wr *bad;
	int err;

	if (operation == ODP_ATOMIC) {
		request.wr.atomic.remote_addr = remote;
		request.wr.atomic.rkey = far->key;
		request.wr.atomic.compare_add = ADDEND;
	} else if (operation != ODP_SEND) {
		request.wr.rdma.remote_addr = remote;
		request.wr.rdma.rkey = far->key;
	}
	err = ibv_post_send(near->queue_pair, &request, &bad);
	return err ? failed(-err, "posting a %s: %s", odp_operation_names[operation], strerror(err))
		   : 0;
}

static void receive_late(const struct odp_run *run, __u64 posted_ns)
{
	verb_sleep_until(posted_ns + run->options.late_ns);
}

/* One operation from its post to its completion. Negative errno, or 0 whatever became of it. */
static int odp_operate(struct odp_run *run, struct odp_pass *pass, __u64 number,
		       const struct odp_address *far)
{
	bool send = pass->operation == ODP_SEND;
	__u64 posted_ns;
	int err = 0;

	if (send && !run->options.late_ns)
		err = odp_ask(run, ODP_FAR_RECEIVE, number);
	posted_ns = monotonic_ns();
	err = err ? err : odp_post(run, pass->operation, number, far);
	if (err)
		return err;
	pass->posted++;
	if (send && run->options.late_ns) {
		receive_late(run, posted_ns);
		err = odp_ask(run, ODP_FAR_RECEIVE, number);
	}
	err = err ? err : odp_side_wait(&run->near);
	if (err < 0)
		return err;
	if (err) {
		pass->failed++;
		pass->status = err;
		return 0;
	}
	pass->completed++;
	histogram_add(&pass->latency, monotonic_ns() - posted_ns);
	err = send ? odp_ask(run, ODP_FAR_WAIT, 0) : 0;
	return err < 0 ? err : 0;
}

static int odp_evict(struct odp_run *run, struct odp_pass *pass)
{
	enum odp_eviction how = run->options.eviction;
	struct odp_message message = {.value = how};
	int err;

	if (near_pages(pass->operation))
		return odp_memory_evict(&run->near.memory, how, &pass->evictions);
	err = odp_far_ask(&run->far, ODP_FAR_EVICT, &message);
	pass->evictions = message.value;
	return err;
}

/* Of the region that pages on demand, or would if it were not pinned for comparison. */
static long odp_present(struct odp_run *run, const struct odp_pass *pass)
{
	struct odp_message message = {0};
	int err;

	if (near_pages(pass->operation))
		return odp_memory_present(&run->near.memory);
	err = odp_far_ask(&run->far, ODP_FAR_PRESENT, &message);
	return err ? err : (long)message.value;
}

static int odp_prefetch(struct odp_run *run, struct odp_pass *pass)
{
	bool write = pass->operation != ODP_READ && pass->operation != ODP_WRITE_LOCAL;
	long before = odp_present(run, pass), after;
	int err;

	if (before < 0)
		return (int)before;
	err = near_pages(pass->operation) ? odp_side_prefetch(&run->near, write)
					  : odp_ask(run, ODP_FAR_PREFETCH, write);
	after = err ? err : odp_present(run, pass);
	if (after < 0)
		return (int)after;
	pass->prefetches++;
	pass->prefetched += (__u64)(after - before);
	return 0;
}

static int look_at_data(struct odp_run *run, struct odp_pass *pass)
{
	for (__u64 i = 0; pass->operation != ODP_ATOMIC && i < run->options.count; i++) {
		struct odp_message message = {.value = i};
		int err = odp_far_ask(&run->far, ODP_FAR_SUM, &message);

		if (err)
			return err;
		pass->wrong += message.value != odp_side_sum(&run->near, i);
	}
	return 0;
}

/* The near side holds what an atomic found; the far side had the pattern, or nothing after it. */
static __u64 wrong_atomics(const struct odp_run *run, const struct odp_pass *pass)
{
	const struct odp_options *o = &run->options;
	bool lost = o->eviction == ODP_EVICT_DONTNEED && !o->file && o->evictions;
	__u64 last_lost = pass->pass < o->evictions ? pass->pass : o->evictions;
	__u64 before = pass->pass - (lost ? last_lost : 1);
	__u64 wrong = 0;

	for (__u64 i = 0; i < run->options.count; i++) {
		__u64 found, first = 0, word;

		memcpy(&found, odp_side_at(&run->near, i), sizeof(found));
		word = (__u64)(odp_side_at(&run->near, i) - run->near.memory.start) / sizeof(word);
		if (!lost)
			first = (word + 1) * 0x9e3779b97f4a7c15ull ^ 2ull << 48;
		wrong += found != first + before * ADDEND;
	}
	return wrong;
}

static int odp_prepare(struct odp_run *run, struct odp_pass *pass)
{
	long there;
	int err = 0;

	if (pass->pass <= run->options.evictions)
		err = odp_evict(run, pass);
	there = err ? err : odp_present(run, pass);
	if (there < 0)
		return (int)there;
	pass->forced = run->near.memory.bytes / PAGE_BYTES - (__u64)there;
	return run->options.prefetch && pass->pass <= run->options.evictions
		       ? odp_prefetch(run, pass)
		       : 0;
}

static int one_pass(struct odp_run *run, struct odp_pass *pass, const struct odp_address *far)
{
	int err = odp_prepare(run, pass);

	for (__u64 i = 0; !err && !pass->failed && i < run->options.count; i++)
		err = verb_stop ? failed(-EINTR, "interrupted") : odp_operate(run, pass, i, far);
	if (err || pass->failed)
		return err;
	if (pass->operation == ODP_ATOMIC) {
		pass->wrong = wrong_atomics(run, pass);
		return 0;
	}
	return look_at_data(run, pass);
}

static int odp_judge(const struct odp_run *run, const struct odp_pass *pass)
{
	if (pass->failed)
		return failed(-EIO, "%s: an operation failed: %s",
			      odp_operation_names[pass->operation],
			      ibv_wc_status_str((enum ibv_wc_status)pass->status));
	if (pass->wrong && odp_aligned(&run->options) && !run->options.pinned)
		return failed(-EIO, "%s, pass %llu: the data of %llu operations is wrong",
			      odp_operation_names[pass->operation], pass->pass, pass->wrong);
	return 0;
}

static int all_passes(struct odp_run *run, enum odp_operation operation,
		      const struct odp_address *far)
{
	int err = 0;

	for (__u64 i = 1; !err && i <= run->options.passes; i++) {
		struct odp_pass *pass = &run->passes[run->pass_count++];

		*pass = (struct odp_pass){.operation = operation, .pass = i};
		histogram_init(&pass->latency);
		err = one_pass(run, pass, far);
		err = err ? err : odp_judge(run, pass);
	}
	return err;
}

/* Each operation has a connection and regions of its own: what one leaves does not help the next. */
static int one_operation(struct odp_run *run, enum odp_operation operation)
{
	bool on_demand = !run->options.pinned;
	struct odp_message message = {.value = on_demand && !near_pages(operation)};
	struct odp_address far;
	int err = odp_side_open(&run->near, &run->options, on_demand && near_pages(operation), 1);

	err = err ? err : odp_far_ask(&run->far, ODP_FAR_OPEN, &message);
	far = message.address;
	message.address = run->near.own;
	err = err ? err : odp_far_ask(&run->far, ODP_FAR_CONNECT, &message);
	err = err ? err : odp_side_connect(&run->near, &far);
	err = err ? err : all_passes(run, operation, &far);
	if (run->options.hold_ns && !err)
		err = verb_sleep_until(monotonic_ns() + run->options.hold_ns);
	odp_side_close(&run->near);
	odp_ask(run, ODP_FAR_CLOSE, 0);
	return err;
}

static int all_operations(struct odp_run *run)
{
	int err = odp_far_begin(&run->far, &run->options);

	for (unsigned int i = 0; !err && i < ODP_OPERATIONS; i++)
		if (run->options.operations & 1u << i)
			err = one_operation(run, (enum odp_operation)i);
	odp_far_end(&run->far);
	return err;
}

int odp_run(void *self)
{
	struct odp_run *run = self;
	struct odp_options *options = &run->options;
	int err;

	if (!options->file)
		return all_operations(run);
	options->descriptor =
		memory_file_open(&options->verb, "--file", options->file, odp_bytes(options), true);
	if (options->descriptor < 0)
		return options->descriptor;
	err = all_operations(run);
	close(options->descriptor);
	return err;
}
