// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "injectors/emu/devices/block.h"
#include "injectors/emu/workload_driver.h"
#include "tests/unit/fake_port.h"

#define MEMORY (16ull << 20)
#define DISK   (4ull << 20)
#define BASE   0x100000000ull /* IOVA of guest address 0 */

struct bench {
	struct port port;
	struct channel *channel;
	void *device;
};

static void bench_open(struct bench *bench, __u16 queues, __u16 depth)
{
	struct channel_config config = {.queues = queues,
					.queue_depth = depth,
					.depth_max = 1024,
					.io = DEVICE_IO_DISK,
					.pasid = PASID_NONE,
					.guest_address = 1 << 20,
					.bytes = MEMORY - (1 << 20),
					.iova_offset = BASE};
	const struct block_settings settings = {.file_bytes = DISK};
	struct device_setup setup = {.settings = &settings};

	fake_port_init(&bench->port, MEMORY, BASE);
	assert_int_equal(channel_create(&bench->channel, &config), 0);
	setup.channel = bench->channel;
	assert_int_equal(block_class.start(&bench->device, &bench->port, &setup), 0);
}

static void bench_close(struct bench *bench)
{
	__atomic_store_n(&bench->port.stopping, true, __ATOMIC_RELEASE);
	block_class.stop(bench->device);
	channel_destroy(bench->channel);
	fake_port_free(&bench->port);
}

static struct workload_result drive(struct bench *bench, const struct workload_config *config)
{
	return fake_drive(&bench->port, bench->channel, config);
}

static struct workload_config mixed(__u64 count)
{
	return (struct workload_config){
		.name = "mixed",
		.read_percent = 50,
		.sizes = {4096, 65536, 2 << 20},
		.size_weights = {90, 9, 1},
		.size_count = 3,
		.pattern = PATTERN_RANDOM,
		.depth = 7,
		.count = count,
		.verify = true,
		.seed = 1,
	};
}

static void every_io_completes_with_its_data(void **state)
{
	struct workload_config config = mixed(10007);
	struct workload_result result;
	struct bench bench;

	bench_open(&bench, 3, 8);
	result = drive(&bench, &config);
	assert_int_equal(result.ios, 10007);
	assert_int_equal(result.latency.count, 10007);
	assert_int_equal(result.errors, 0);
	assert_int_equal(result.mismatches, 0);
	/* The device reports after it has completed: only once it has stopped is the count whole. */
	bench_close(&bench);
	assert_int_equal(bench.port.ios, 10007);
	assert_int_equal(bench.port.faulted, 0);
}

/* More I/Os than a 16-bit index counts, through rings of 2 and of 1024. */
static void ring_indices_wrap(void **state)
{
	static const __u16 depths[] = {2, 1024};
	struct workload_config config = mixed(150001);

	config.size_count = 1;
	for (int i = 0; i < 2; i++) {
		struct workload_result result;
		struct bench bench;

		bench_open(&bench, 1, depths[i]);
		config.depth = depths[i];
		result = drive(&bench, &config);
		assert_int_equal(result.ios, 150001);
		assert_int_equal(result.errors + result.mismatches, 0);
		bench_close(&bench);
	}
}

/* A descriptor written by hand; returns what the device answered. */
static int answer(struct bench *bench, struct driver_queue *queue,
		  const struct ring_descriptor *table, unsigned int count, __u16 id)
{
	unsigned int depth = bench->channel->config.queue_depth;
	clock_t deadline = clock() + 10 * CLOCKS_PER_SEC; /* of CPU time */
	const struct workload_io *io = NULL;
	int status = -1;

	for (unsigned int i = 0; i < count; i++)
		*(struct ring_descriptor *)(queue->ring + ring_descriptor_offset(i)) = table[i];
	if (id < depth) {
		queue->io[id].busy = true;
		queue->registers->submitted_ns[id] = monotonic_ns();
	}
	*(__u16 *)(queue->ring + ring_avail_offset(depth, queue->available++)) = id;
	queue->unpublished = 1;
	driver_kick(queue);
	while (!io && clock() < deadline)
		io = driver_reap(queue, &status);
	assert_non_null(io);
	return status;
}

static struct ring_descriptor read_of(__u64 guest_address, __u32 length, __u64 sector)
{
	return (struct ring_descriptor){.address = BASE + guest_address,
					.target = sector,
					.length = length,
					.pasid = PASID_NONE,
					.opcode = RING_READ};
}

static void malformed_descriptors_are_answered(void **state)
{
	struct ring_descriptor loop[8], d;
	struct driver_queue *queue = malloc(sizeof(*queue));
	struct bench bench;
	__u64 data;

	bench_open(&bench, 1, 8);
	driver_init(queue, bench.channel, 0, &bench.port.memory);
	data = bench.channel->data_address;
#define ANSWERED(expected, descriptor)                                       \
	do {                                                                 \
		d = descriptor;                                              \
		assert_int_equal(answer(&bench, queue, &d, 1, 0), expected); \
	} while (0)
	ANSWERED(RING_OK, read_of(data, 4096, 0));
	/* lengths */
	ANSWERED(RING_INVALID, read_of(data, 0, 0));
	ANSWERED(RING_INVALID, read_of(data, 511, 0));
	ANSWERED(RING_INVALID, read_of(data, 64, 0));
	ANSWERED(RING_INVALID, read_of(data, RING_BYTES_MAX + 512, 0));
	ANSWERED(RING_INVALID, read_of(data, 0xfffffe00, 0));
	/* memory */
	ANSWERED(RING_INVALID, read_of(data + 1, 4096, 0));
	ANSWERED(RING_INVALID, read_of(MEMORY, 4096, 0));
	ANSWERED(RING_INVALID, read_of(MEMORY - 512, 4096, 0));
	ANSWERED(RING_INVALID, read_of(-BASE, 4096, 0));
	ANSWERED(RING_INVALID, read_of(-BASE - 512, 4096, 0));
	/* disk: the last sector, then past it */
	ANSWERED(RING_OK, read_of(data, 512, DISK / 512 - 1));
	ANSWERED(RING_INVALID, read_of(data, 1024, DISK / 512 - 1));
	ANSWERED(RING_INVALID, read_of(data, 512, DISK / 512));
	ANSWERED(RING_INVALID, read_of(data, 512, UINT64_MAX));
	ANSWERED(RING_INVALID, read_of(data, 4096, UINT64_MAX / 512 - 3));
	/* opcodes: none, copy, unknown; flush takes no data */
	for (unsigned int opcode = 0; opcode < 6; opcode++) {
		struct ring_descriptor other = read_of(data, 4096, 0);

		other.opcode = opcode == 5 ? 0xffff : opcode;
		ANSWERED(opcode >= RING_READ && opcode <= RING_FLUSH ? RING_OK : RING_INVALID,
			 other);
	}
	/* chains: one that never ends, one that leaves the table */
	for (unsigned int i = 0; i < 8; i++) {
		loop[i] = read_of(data, 512, 0);
		loop[i].flags = RING_NEXT;
		loop[i].next = (i + 1) % 8;
	}
	assert_int_equal(answer(&bench, queue, loop, 8, 3), RING_INVALID);
	loop[3].next = 3;
	assert_int_equal(answer(&bench, queue, loop, 8, 3), RING_INVALID);
	loop[4].next = 8;
	assert_int_equal(answer(&bench, queue, loop, 8, 4), RING_INVALID);
	/* an id outside the table is answered with that id */
	assert_int_equal(answer(&bench, queue, loop, 0, 8), -EPROTO);
	assert_int_equal(answer(&bench, queue, loop, 0, 0xffff), -EPROTO);
	/* and the device is as well as ever */
	ANSWERED(RING_OK, read_of(data, 4096, 0));
#undef ANSWERED
	bench_close(&bench);
	free(queue);
}

static atomic_uint looks;

static void count_look(struct port *port)
{
	(void)port;
	atomic_fetch_add(&looks, 1);
}

static void an_index_that_jumps_is_survived(void **state)
{
	struct driver_queue *queue = malloc(sizeof(*queue));
	struct ring_descriptor d;
	struct bench bench;
	unsigned int before;

	bench_open(&bench, 1, 8);
	driver_init(queue, bench.channel, 0, &bench.port.memory);
	d = read_of(bench.channel->data_address, 4096, 0);
	assert_int_equal(answer(&bench, queue, &d, 1, 0), RING_OK);
	queue->available += 9; /* more than the ring holds */
	bench.port.on_dma = count_look;
	queue->unpublished = 1;
	driver_kick(queue);
	/* The first of two looks that begin from here on has seen it when the second begins. */
	before = atomic_load(&looks);
	while (atomic_load(&looks) < before + 2) {
		usleep(100);
		queue->unpublished = 1;
		driver_kick(queue);
	}
	assert_int_equal(answer(&bench, queue, &d, 1, 0), RING_OK);
	bench_close(&bench);
	free(queue);
}

static void a_chain_scatters_one_request(void **state)
{
	struct driver_queue *queue = malloc(sizeof(*queue));
	struct ring_descriptor chain[3];
	struct bench bench;
	__u64 data;

	bench_open(&bench, 1, 8);
	driver_init(queue, bench.channel, 0, &bench.port.memory);
	data = bench.channel->data_address;
	memset(bench.port.memory.bytes + data, 'a', 512);
	memset(bench.port.memory.bytes + data + 8192, 'b', 1024);
	memset(bench.port.memory.bytes + data + 4096, 'c', 512);
	chain[0] = read_of(data, 512, 5);
	chain[1] = read_of(data + 8192, 1024, 999);
	chain[2] = read_of(data + 4096, 512, 999);
	chain[0].opcode = RING_WRITE;
	for (int i = 0; i < 2; i++) {
		chain[i].flags = RING_NEXT;
		chain[i].next = i + 1;
	}
	assert_int_equal(answer(&bench, queue, chain, 3, 0), RING_OK);
	chain[0] = read_of(data + 65536, 2048, 5);
	assert_int_equal(answer(&bench, queue, chain, 1, 0), RING_OK);
	assert_int_equal(bench.port.memory.bytes[data + 65536 + 511], 'a');
	assert_int_equal(bench.port.memory.bytes[data + 65536 + 512], 'b');
	assert_int_equal(bench.port.memory.bytes[data + 65536 + 1536], 'c');
	bench_close(&bench);
	/* Four ranges, two I/Os; an I/O is answered before it is logged, so that the device has stopped. */
	assert_int_equal(bench.port.accesses, 4);
	assert_int_equal(bench.port.ios, 2);
	free(queue);
}

/* Every page of rings and data absent again and again, while the device works. */
static void absent_rings_and_data_only_cost_time(void **state)
{
	struct workload_config config = mixed(2003);
	struct workload_result result;
	struct workload *workload;
	struct bench bench;
	__u64 page = 0;

	bench_open(&bench, 2, 16);
	bench.port.fault_ns = 20000;
	memset(bench.port.absent, true, sizeof(bench.port.absent));
	assert_int_equal(workload_create(&workload, &config, &bench.port.memory, bench.channel), 0);
	assert_int_equal(workload_start(workload), 0);
	while (workload_wait(workload, 100000) == -ETIMEDOUT)
		for (int i = 0; i < 64; i++)
			__atomic_store_n(&bench.port.absent[page++ % (MEMORY / PAGE_BYTES)], true,
					 __ATOMIC_RELEASE);
	workload_stop(workload);
	result = *workload_result(workload);
	assert_int_equal(result.ios, 2003);
	assert_int_equal(result.errors + result.mismatches, 0);
	assert_true(bench.port.faults > 0);
	assert_true(bench.port.faulted > 0);
	assert_true(result.blocked_ns > 0);
	assert_true(result.blocked_ns <= bench.port.blocked_ns[0] + bench.port.blocked_ns[1]);
	workload_destroy(workload);
	bench_close(&bench);
}

static void a_paused_queue_holds_up_no_other(void **state)
{
	struct driver_queue *queues = calloc(2, sizeof(*queues));
	struct ring_descriptor d;
	struct bench bench;
	int status;

	bench_open(&bench, 2, 8);
	for (__u16 q = 0; q < 2; q++)
		driver_init(&queues[q], bench.channel, q, &bench.port.memory);
	d = read_of(bench.channel->data_address, 4096, 0);
	bench.port.fault_ns = 60 * NSEC_PER_SEC;
	bench.port.absent[bench.channel->data_address / PAGE_BYTES] = true;
	/* queue 0 pauses on the first of three I/Os */
	for (int i = 0; i < 3; i++) {
		struct workload_io io = {.memory = bench.channel->data_address + i * 4096,
					 .length = 4096,
					 .opcode = RING_READ};

		driver_submit(&queues[0], &io, monotonic_ns());
	}
	driver_kick(&queues[0]);
	while (!__atomic_load_n(&bench.port.faults, __ATOMIC_ACQUIRE))
		usleep(100);
	d.address += 4096;
	for (int i = 0; i < 101; i++)
		assert_int_equal(answer(&bench, &queues[1], &d, 1, 0), RING_OK);
	assert_null(driver_reap(&queues[0], &status));
	assert_int_equal(bench.port.faulted, 0);
	/* The page comes: the one that faulted and those behind it are marked, the next is not. */
	__atomic_store_n(&bench.port.fault_ns, 0, __ATOMIC_RELEASE);
	for (int i = 0; i < 3;)
		i += driver_reap(&queues[0], &status) != NULL;
	queues[0].in_flight = 0;
	assert_int_equal(answer(&bench, &queues[0], &d, 1, 0), RING_OK);
	bench_close(&bench);
	assert_int_equal(bench.port.faulted, 3);
	assert_int_equal(bench.port.ios, 101 + 3 + 1);
	free(queues);
}

struct sender {
	struct driver_queue queue;
	struct workload_io io;
	int left;
};

static void send_another(void *argument)
{
	struct sender *sender = argument;

	if (!sender->left)
		return;
	sender->left--;
	driver_submit(&sender->queue, &sender->io, monotonic_ns());
	driver_kick(&sender->queue);
}

/* A guest whose next I/O is there before the device looks again: it met no fault and waited for none. */
static void an_answer_to_a_faulted_io_has_met_no_fault(void **state)
{
	struct sender *sender = calloc(1, sizeof(*sender));
	struct bench bench;

	bench_open(&bench, 1, 8);
	driver_init(&sender->queue, bench.channel, 0, &bench.port.memory);
	sender->io = (struct workload_io){
		.memory = bench.channel->data_address, .length = 4096, .opcode = RING_READ};
	sender->left = 6;
	bench.port.argument = sender;
	bench.port.on_io = send_another;
	bench.port.absent[bench.channel->data_address / PAGE_BYTES] = true;
	send_another(sender);
	while (fake_port_ios(&bench.port) < 6)
		usleep(100);
	bench_close(&bench);
	assert_int_equal(bench.port.ios, 6);
	assert_int_equal(bench.port.faults, 1);
	assert_int_equal(bench.port.faulted, 1);
	free(sender);
}

static void a_failed_dma_fails_its_io_only(void **state)
{
	struct driver_queue *queue = malloc(sizeof(*queue));
	struct ring_descriptor d;
	struct bench bench;

	bench_open(&bench, 1, 8);
	driver_init(queue, bench.channel, 0, &bench.port.memory);
	d = read_of(bench.channel->data_address, 4096, 0);
	bench.port.fail_data = -EIO;
	bench.port.fail_count = 1;
	assert_int_equal(answer(&bench, queue, &d, 1, 0), RING_IO_ERROR);
	bench.port.fail_data = -EFAULT;
	bench.port.fail_count = 1;
	assert_int_equal(answer(&bench, queue, &d, 1, 0), RING_IO_ERROR);
	assert_int_equal(answer(&bench, queue, &d, 1, 0), RING_OK);
	bench_close(&bench);
	assert_int_equal(bench.port.errors, 2);
	assert_int_equal(bench.port.violations, 0);
	free(queue);
}

static void stop_interrupts_a_pause(void **state)
{
	struct workload_config config = mixed(1000003);
	struct workload *workload;
	struct bench bench;
	__u64 start;

	bench_open(&bench, 2, 8);
	bench.port.fault_ns = 3600 * NSEC_PER_SEC;
	memset(bench.port.absent, true, sizeof(bench.port.absent));
	assert_int_equal(workload_create(&workload, &config, &bench.port.memory, bench.channel), 0);
	assert_int_equal(workload_start(workload), 0);
	assert_int_equal(workload_wait(workload, 50 * NSEC_PER_MSEC), -ETIMEDOUT);
	start = monotonic_ns();
	workload_stop(workload);
	assert_int_equal(workload_result(workload)->ios, 0);
	workload_destroy(workload);
	bench_close(&bench);
	assert_true(monotonic_ns() - start < bench.port.fault_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_io_completes_with_its_data),
		cmocka_unit_test(ring_indices_wrap),
		cmocka_unit_test(malformed_descriptors_are_answered),
		cmocka_unit_test(an_index_that_jumps_is_survived),
		cmocka_unit_test(a_chain_scatters_one_request),
		cmocka_unit_test(absent_rings_and_data_only_cost_time),
		cmocka_unit_test(a_paused_queue_holds_up_no_other),
		cmocka_unit_test(an_answer_to_a_faulted_io_has_met_no_fault),
		cmocka_unit_test(a_failed_dma_fails_its_io_only),
		cmocka_unit_test(stop_interrupts_a_pause),
	};

	return cmocka_run_group_tests_name("block", tests, NULL, NULL);
}
