// SPDX-License-Identifier: GPL-2.0
/*
 * Nanoseconds and instructions that each BPF program of a probe costs when it is hit.
 *
 * The very bytes that capture loads are loaded once more as raw tracepoint programs, which the
 * kernel runs on request with arguments of ours; its own statistics of run time, less those of a
 * program that does nothing, are the cost. Programs that need typed arguments are attached for real
 * instead and hit by switching between two threads and by reading a file.
 *
 * Prints "PROGRAM MODE NS JITED_BYTES INSTRUCTIONS EMITTED" a line. MODE: counted (as by default),
 * emitted (all kinds one by one), attached (for real), peer. EMITTED: events for each hit.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/peers.skel.h"
#include "bench/program_arguments.h"
#include "lib/base/fail.h"
#include "lib/capture/capture.h"
#include "lib/capture/objects.h"
#include "lib/capture/probes.h"
#include "lib/capture/ring.h"

#define ROUNDS	     9
#define RUNS	     4096 /* a round */
#define PROGRAMS_MAX 256
#define RING_BYTES   (1u << 20)

/* One program under measurement. */
struct programs_measured {
	char name[NAME_TEXT];
	int fd;
	enum probe_id probe;
	__u64 arguments[ARGUMENTS];
	__u64 hits, emitted; /* before it was measured */
	double ns[ROUNDS];
};

static struct programs_measured measured[PROGRAMS_MAX];
static size_t count;
static struct shared_maps maps;
static struct ring ring;
static __u64 memory;

static void statistics(int fd, __u64 *ns, __u64 *runs)
{
	struct bpf_prog_info info = {};
	__u32 bytes = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &bytes))
		info.run_cnt = 0;
	*ns = info.run_time_ns;
	*runs = info.run_cnt;
}

static void run_once(const struct programs_measured *program, __u64 turn)
{
	__u64 arguments[ARGUMENTS];
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = arguments,
		    .ctx_size_in = sizeof(arguments));

	for (size_t i = 0; i < ARGUMENTS; i++) {
		arguments[i] = program->arguments[i];
		if (arguments[i] == MEMORY)
			arguments[i] = memory;
		else if (arguments[i] == ADDRESS)
			arguments[i] = 0x10000000 + turn % PAGES_VISITED * 4096;
	}
	bpf_prog_test_run_opts(program->fd, &options);
}

static int ignore(void *self, const struct event *event)
{
	(void)self;
	(void)event;
	return 0;
}

static void empty_ring(void)
{
	bool blocked;

	ring_drain(&ring, ignore, NULL, &blocked);
}

/* All programs in turn, so that a beginning is followed by its end. */
static void run_round(size_t round)
{
	__u64 ns[PROGRAMS_MAX], runs[PROGRAMS_MAX];

	for (size_t i = 0; i < count; i++)
		statistics(measured[i].fd, &ns[i], &runs[i]);
	for (__u64 turn = 0; turn < RUNS; turn++) {
		for (size_t i = 0; i < count; i++)
			run_once(&measured[i], turn);
		if (turn % 64 == 0)
			empty_ring();
	}
	for (size_t i = 0; i < count; i++) {
		__u64 ns_after, runs_after;

		statistics(measured[i].fd, &ns_after, &runs_after);
		measured[i].ns[round] =
			runs_after > runs[i]
				? (double)(ns_after - ns[i]) / (double)(runs_after - runs[i])
				: 0;
	}
}

static int programs_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t values_count)
{
	qsort(values, values_count, sizeof(*values), programs_by_value);
	return values[values_count / 2];
}

static void programs_read_counters(enum probe_id probe, __u64 *hits, __u64 *emitted)
{
	struct probe_counter *counters = calloc(maps.cpus, sizeof(*counters));
	__u32 key = probe;

	*hits = *emitted = 0;
	if (counters && !bpf_map_lookup_elem(maps.counters, &key, counters))
		for (int cpu = 0; cpu < maps.cpus; cpu++) {
			*hits += counters[cpu].hits;
			*emitted += counters[cpu].emitted;
		}
	free(counters);
}

/* Events that a hit emitted, on average. */
static double emitted_per_hit(const struct programs_measured *program)
{
	__u64 hits, emitted;

	programs_read_counters(program->probe, &hits, &emitted);
	hits -= program->hits;
	return hits ? (double)(emitted - program->emitted) / (double)hits : 0;
}

static void print_program(const struct programs_measured *program, const char *mode, double ns,
			  double emitted)
{
	struct bpf_prog_info info = {};
	__u32 bytes = sizeof(info);

	if (bpf_obj_get_info_by_fd(program->fd, &info, &bytes))
		return;
	printf("%s %s %.1f %u %zu %.2f\n", program->name, mode, ns < 0 ? 0 : ns,
	       info.jited_prog_len, info.xlated_prog_len / sizeof(struct bpf_insn), emitted);
}

static struct programs_measured *add_program(const char *name, int fd, enum probe_id probe)
{
	const struct program_arguments *known = program_arguments;
	struct programs_measured *program = &measured[count];

	if (count == PROGRAMS_MAX)
		return NULL;
	while (known->program && strcmp(known->program, name) != 0)
		known++;
	snprintf(program->name, sizeof(program->name), "%s", name);
	program->fd = fd;
	program->probe = probe;
	programs_read_counters(probe, &program->hits, &program->emitted);
	memcpy(program->arguments, known->program ? known->at : program_arguments_default,
	       sizeof(program->arguments));
	count++;
	return program;
}

static struct bpf_program *programs_enable(struct bpf_object *object, const char *name)
{
	struct bpf_program *program = name ? bpf_object__find_program_by_name(object, name) : NULL;

	if (!program)
		return NULL;
	bpf_program__set_type(program, BPF_PROG_TYPE_RAW_TRACEPOINT);
	bpf_program__set_expected_attach_type(program, 0);
	bpf_program__set_autoload(program, true);
	return program;
}

static bool fits(const struct attach_method *method)
{
	return method->kind == ATTACH_TP_BTF || method->kind == ATTACH_FUNCTION;
}

/* Loads the programs of an object as raw tracepoints but for those named in `without`. */
static struct bpf_object *load_without(const struct object_source *source,
				       const struct capture_filter *filter,
				       char (*without)[NAME_TEXT], size_t without_count)
{
	struct bpf_object *object;
	struct bpf_program *program;

	if (object_open(&object, source, NULL))
		return NULL;
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct probe_row *row = probe_row(i);

		for (size_t w = 0; w < ATTACH_METHODS && row->object == source; w++) {
			if (!fits(&row->methods[w]))
				continue;
			programs_enable(object, row->methods[w].program);
			programs_enable(object, row->methods[w].returns);
		}
	}
	for (size_t i = 0; i < without_count; i++) {
		program = bpf_object__find_program_by_name(object, without[i]);
		if (program)
			bpf_program__set_autoload(program, false);
	}
	if (!object_load(object, &maps, filter, NULL, NULL, NULL))
		return object;
	bpf_object__close(object);
	return NULL;
}

/* Programs that cannot be raw tracepoints are left out one after the other and named. */
static struct bpf_object *programs_load(const struct object_source *source,
					const struct capture_filter *filter, const char *mode)
{
	static char without[PROGRAMS_MAX][NAME_TEXT];
	size_t without_count = 0;

	for (;;) {
		struct bpf_object *object = load_without(source, filter, without, without_count);

		if (object)
			return object;
		if (!object_culprit()[0] || without_count == PROGRAMS_MAX) {
			fprintf(stderr, "programs_bench: %s\n", failure_text());
			return NULL;
		}
		fprintf(stderr, "%s %s: not as a raw tracepoint: %s\n", object_culprit(), mode,
			failure_text());
		snprintf(without[without_count++], NAME_TEXT, "%s", object_culprit());
	}
}

static void add_if_loaded(struct bpf_object *object, const char *name, enum probe_id probe)
{
	const struct bpf_program *program =
		name ? bpf_object__find_program_by_name(object, name) : NULL;

	if (program && bpf_program__fd(program) >= 0)
		add_program(name, bpf_program__fd(program), probe);
}

/* The methods of the same place in their rows belong together: what one maps, another unmaps. */
static void measure_methods(struct bpf_object *object, const struct object_source *source,
			    size_t place, const char *mode, double nothing)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct probe_row *row = probe_row(i);

		if (row->object != source || !fits(&row->methods[place]))
			continue;
		add_if_loaded(object, row->methods[place].program, i);
		add_if_loaded(object, row->methods[place].returns, i);
	}
	for (size_t round = 0; round < ROUNDS; round++)
		run_round(round);
	for (size_t i = 0; i < count; i++)
		print_program(&measured[i], mode, median(measured[i].ns, ROUNDS) - nothing,
			      emitted_per_hit(&measured[i]));
	count = 0;
}

static void measure_object(const struct object_source *source, const struct capture_filter *filter,
			   const char *mode, double nothing)
{
	struct bpf_object *object = programs_load(source, filter, mode);

	for (size_t place = 0; object && place < ATTACH_METHODS; place++)
		measure_methods(object, source, place, mode, nothing);
	bpf_object__close(object);
}

/* Peers; returns what the statistics say of a program that does nothing. */
static double measure_peers(struct peers_bpf *peers)
{
	double nothing;

	add_program("nothing", bpf_program__fd(peers->progs.nothing), 0);
	add_program("count", bpf_program__fd(peers->progs.count), 0);
	for (size_t round = 0; round < ROUNDS; round++)
		run_round(round);
	nothing = median(measured[0].ns, ROUNDS);
	print_program(&measured[0], "peer", nothing, 0);
	for (size_t i = 1; i < count; i++)
		print_program(&measured[i], "peer", median(measured[i].ns, ROUNDS) - nothing, 0);
	count = 0;
	return nothing;
}

static int find_memory(struct peers_bpf *peers)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	__u32 zero = 0;

	bpf_prog_test_run_opts(bpf_program__fd(peers->progs.address), &options);
	bpf_map_lookup_elem(bpf_map__fd(peers->maps.where), &zero, &memory);
	return memory ? 0 : -ENOENT;
}

/* Counted as by default, and with every kind emitted one by one. */
static void measure_all(double nothing)
{
	struct capture_filter counted = {.slow_block_ns = ~0ull}, emitted;

	memset(&counted.kinds, 0xff, sizeof(counted.kinds));
	emitted = counted;
	emitted.singles = counted.kinds;
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct object_source *source = probe_row(i)->object;
		int first = 0;

		while (probe_row(first)->object != source)
			first++;
		if (i != first || probe_row(i)->methods[0].kind == ATTACH_USDT)
			continue;
		measure_object(source, &counted, "counted", nothing);
		measure_object(source, &emitted, "emitted", nothing);
	}
}

#define LIVE_SWITCHES 20000
#define LIVE_PAGES    20000
#define LIVE_READS    1000

static int there[2], back[2];

static void *answer(void *unused)
{
	char byte;

	while (read(there[0], &byte, 1) == 1 && byte)
		if (write(back[1], &byte, 1) != 1)
			break;
	return unused;
}

static void switch_threads(void)
{
	char byte = 1;
	pthread_t other;

	if (pipe(there) || pipe(back) || pthread_create(&other, NULL, answer, NULL))
		return;
	for (int i = 0; i < LIVE_SWITCHES; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			break;
	byte = 0;
	if (write(there[1], &byte, 1) == 1)
		pthread_join(other, NULL);
}

static void touch_pages(void)
{
	char *pages = mmap(NULL, LIVE_PAGES * 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return;
	madvise(pages, LIVE_PAGES * 4096, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < LIVE_PAGES; i++)
		pages[i * 4096] = 1;
	munmap(pages, LIVE_PAGES * 4096);
}

static void read_disk(void)
{
	char path[] = "/var/tmp/faultline-bench.XXXXXX";
	int fd = mkostemp(path, O_DIRECT);
	void *page = NULL;

	if (fd < 0)
		return;
	unlink(path);
	if (!posix_memalign(&page, 4096, 4096) && write(fd, page, 4096) == 4096)
		for (int i = 0; i < LIVE_READS; i++)
			if (pread(fd, page, 4096, 0) != 4096)
				break;
	free(page);
	close(fd);
}

/* Programs that were hit, with what the kernel took for them; the name is all that they share. */
static void print_live(double nothing)
{
	__u32 id = 0;

	while (!bpf_prog_get_next_id(id, &id)) {
		struct programs_measured program = {.fd = bpf_prog_get_fd_by_id(id)};
		struct bpf_prog_info info = {};
		__u32 bytes = sizeof(info);

		if (program.fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(program.fd, &info, &bytes) &&
		    info.type == BPF_PROG_TYPE_TRACING && info.run_cnt > LIVE_READS / 2) {
			snprintf(program.name, sizeof(program.name), "%s", info.name);
			print_program(&program, "attached",
				      (double)info.run_time_ns / (double)info.run_cnt - nothing, 0);
		}
		close(program.fd);
	}
}

static void measure_live(double nothing)
{
	static const struct stream_ops ops;
	const struct stream sink = {&ops, NULL};
	struct capture_config config = {};
	struct capture *capture;

	if (capture_open(&capture, &config))
		return;
	if (!capture_attach(capture, sink)) {
		switch_threads();
		touch_pages();
		read_disk();
		print_live(nothing);
	}
	capture_close(capture);
}

int main(void)
{
	struct peers_bpf *peers;
	double nothing;
	cpu_set_t cpu;
	int statistics_fd;

	/* On the CPU whose ring is emptied. */
	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	objects_quiet();
	peers = peers_bpf__open_and_load();
	statistics_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (!peers || statistics_fd < 0 || find_memory(peers) ||
	    shared_maps_create(&maps, RING_BYTES) ||
	    ring_open(&ring, maps.ring_fds[0], maps.ring_bytes)) {
		fprintf(stderr, "programs_bench: %s\n", failure_text());
		return 1;
	}
	maps.state->running = 1;
	nothing = measure_peers(peers);
	measure_all(nothing);
	measure_live(nothing);
	ring_close(&ring);
	shared_maps_destroy(&maps);
	peers_bpf__destroy(peers);
	close(statistics_fd);
	return 0;
}
