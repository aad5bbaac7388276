// SPDX-License-Identifier: GPL-2.0
/* The flight recorder: bounds, self-describing segments, kills, snapshots. */
#include "tests/unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/trace/trace.h"
#include "tests/unit/child.h"
#include "tests/unit/scratch.h"
#include "tests/unit/stream_log.h"

#define MIB	 (1u << 20)
#define DEVICES	 7
#define INTERVAL 100000ull /* ns from one event to the next */

static char path[128];

static int make_directory(void **state)
{
	int err = scratch_make(state);

	snprintf(path, sizeof(path), "%s/always.flt", scratch);
	return err;
}

static void segment_path(size_t number, char *name, size_t size)
{
	snprintf(name, size, "%s.%06zu", path, number);
}

/* The nth of those that are there, which begin behind the ones they replaced. */
static void nth_segment(size_t n, char *name, size_t size)
{
	char pattern[160];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s.*", path);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= n);
	snprintf(name, size, "%s", found.gl_pathv[n - 1]);
	globfree(&found);
}

/* Bytes of all files of the recorder, and how many segments there are. */
static __u64 ring_size(size_t *segments)
{
	DIR *dir = opendir(scratch);
	struct dirent *entry;
	struct stat status;
	__u64 bytes = 0;

	*segments = 0;
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "always.flt", 10) ||
		    fstatat(dirfd(dir), entry->d_name, &status, 0))
			continue;
		bytes += (__u64)status.st_size;
		*segments += entry->d_name[10] == '.';
	}
	closedir(dir);
	return bytes;
}

static void push_start(struct stream stream)
{
	struct host_info host = {.hostname = "node1", .start_ns = SECOND};
	struct clock_anchor anchor = {SECOND, 1795269723 * SECOND};
	struct probe_info probe = {.name = "fault_detect", .state = PROBE_ON};
	struct device_info device = {.kind = DEVICE_EMULATED, .iommu_group = -1};
	struct stack_info stack = {.id = 77, .depth = 1, .text = "dma_map_page_attrs+0x1"};
	struct process_info process = {.pid = 78, .comm = "dd"};
	struct flow_info flow = {.id = 79, .device = 1, .family = 10, .source = {[15] = 1}};

	stream.ops->host(stream.self, &host);
	stream.ops->clock(stream.self, &anchor);
	stream.ops->probe(stream.self, &probe);
	for (device.handle = 1; device.handle <= DEVICES; device.handle++) {
		snprintf(device.name, sizeof(device.name), "tenant%u/disk0", device.handle);
		stream.ops->device(stream.self, &device);
	}
	stream.ops->stack(stream.self, &stack);
	stream.ops->process(stream.self, &process);
	stream.ops->flow(stream.self, &flow);
}

/*
 * Event n: its number is its instance, it names a stack and a process, or a flow and a process; the rest does
 * not compress.
 */
static struct event numbered(__u64 *seed, __u32 n)
{
	return (struct event){
		.time_ns = SECOND + n * INTERVAL,
		.address = stream_log_random(seed),
		.value = stream_log_random(seed),
		.device = 1 + n % DEVICES,
		.group = 77,
		.pid = 78,
		.tid = n % 2 ? 79 : 0,
		.kind = n % 2 ? EVENT_FRAMES_LOST : EVENT_DMA_LIVE,
		.instance = n,
	};
}

static int push_numbered(struct stream stream, __u64 *seed, __u32 from, __u32 count)
{
	struct event batch[97];
	int err = 0;

	for (__u32 done = 0; done < count && !err;) {
		__u32 n = count - done < 97 ? count - done : 97;

		for (__u32 i = 0; i < n; i++)
			batch[i] = numbered(seed, from + done + i);
		err = stream_events(stream, batch, n);
		done += n;
	}
	return err;
}

/* A sink that wants the dictionary first and instances without a gap. */
struct order {
	size_t hosts, clocks, probes, devices, stacks, processes, flows, events, gaps;
	bool told[DEVICES + 1];
	__u32 first, last;
	__u64 end_ns;
	struct loss_info loss;
};

static int order_host(void *self, const struct host_info *host)
{
	((struct order *)self)->hosts += !strcmp(host->hostname, "node1");
	return 0;
}

static int order_clock(void *self, const struct clock_anchor *anchor)
{
	((struct order *)self)->clocks += anchor->monotonic_ns == SECOND;
	return 0;
}

static int order_probe(void *self, const struct probe_info *probe)
{
	((struct order *)self)->probes += probe->state == PROBE_ON;
	return 0;
}

static int order_device(void *self, const struct device_info *device)
{
	struct order *order = self;

	if (order->told[device->handle])
		return -EINVAL;
	order->told[device->handle] = true;
	order->devices++;
	return 0;
}

static int order_stack(void *self, const struct stack_info *stack)
{
	((struct order *)self)->stacks += stack->id == 77 && !strchr(stack->text, '\n');
	return 0;
}

static int order_process(void *self, const struct process_info *process)
{
	((struct order *)self)->processes += process->pid == 78 && !strcmp(process->comm, "dd");
	return 0;
}

static int order_flow(void *self, const struct flow_info *flow)
{
	((struct order *)self)->flows +=
		flow->id == 79 && flow->family == 10 && flow->source[15] == 1;
	return 0;
}

static int order_events(void *self, const struct event *events, size_t count)
{
	struct order *order = self;

	for (size_t i = 0; i < count; i++) {
		if (!order->told[events[i].device] || !order->stacks || !order->processes ||
		    !order->flows)
			return -ENODEV;
		if (!order->events++)
			order->first = events[i].instance;
		else
			order->gaps += events[i].instance != order->last + 1;
		order->last = events[i].instance;
	}
	return 0;
}

static int order_loss(void *self, const struct loss_info *loss)
{
	((struct order *)self)->loss = *loss;
	return 0;
}

static int order_end(void *self, __u64 end_ns)
{
	((struct order *)self)->end_ns = end_ns;
	return 0;
}

static int read_order(const char *name, struct order *order)
{
	static const struct stream_ops ops = {
		.host = order_host,
		.clock = order_clock,
		.probe = order_probe,
		.device = order_device,
		.stack = order_stack,
		.process = order_process,
		.flow = order_flow,
		.events = order_events,
		.loss = order_loss,
		.end = order_end,
	};
	struct trace_read_config reading = {.path = name};

	memset(order, 0, sizeof(*order));
	return trace_read(&reading, (struct stream){&ops, order});
}

static void assert_dictionary_once(const struct order *order)
{
	assert_int_equal(order->hosts, 1);
	assert_int_equal(order->clocks, 1);
	assert_int_equal(order->probes, 1);
	assert_int_equal(order->devices, DEVICES);
	assert_int_equal(order->stacks, 1);
	assert_int_equal(order->processes, 1);
	assert_int_equal(order->flows, 1);
}

static void write_numbered(const struct trace_writer_config *config, __u64 *seed, __u32 count)
{
	struct trace_writer *writer;

	assert_int_equal(trace_writer_open(&writer, config), 0);
	push_start(trace_writer_stream(writer));
	assert_int_equal(push_numbered(trace_writer_stream(writer), seed, 0, count), 0);
	assert_int_equal(trace_writer_close(writer), 0);
}

static void size_is_never_exceeded(void **state)
{
	struct trace_writer_config config = {.path = path, .overwrite = true, .max_bytes = MIB};
	struct trace_writer_stats stats;
	struct trace_writer *writer;
	struct order order;
	size_t segments;
	__u64 seed = 1;

	assert_int_equal(trace_writer_open(&writer, &config), 0);
	push_start(trace_writer_stream(writer));
	for (__u32 n = 0; n < 401; n++) {
		assert_int_equal(push_numbered(trace_writer_stream(writer), &seed, n * 499, 499),
				 0);
		assert_true(ring_size(&segments) <= MIB);
	}
	trace_writer_stats(writer, &stats);
	assert_int_equal(stats.events, 401 * 499);
	assert_true(stats.dropped_segments > 10);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_in_range(ring_size(&segments), MIB * 3 / 4, MIB);
	assert_in_range(segments, 6, 9);

	assert_int_equal(read_order(path, &order), 0);
	assert_dictionary_once(&order);
	assert_int_equal(order.gaps, 0);
	assert_int_equal(order.last, 401 * 499 - 1);
	assert_true(order.events > 20000);
}

static void age_is_bounded_from_both_sides(void **state)
{
	struct trace_writer_config config = {
		.path = path, .overwrite = true, .keep_ns = 2 * SECOND};
	struct order order;
	__u64 seed = 2, kept;

	write_numbered(&config, &seed, 150001);
	assert_int_equal(read_order(path, &order), 0);
	assert_dictionary_once(&order);
	assert_int_equal(order.gaps, 0);
	assert_int_equal(order.last, 150000);
	kept = (order.last - order.first) * INTERVAL;
	/* A frame here holds 16384 events, 1.6 s: what is kept ends at frames. */
	assert_in_range(kept, 2 * SECOND, 2 * SECOND * 9 / 8 + 2 * 16384 * INTERVAL);
}

static void an_endless_age_keeps_all(void **state)
{
	struct trace_writer_config config = {
		.path = path, .overwrite = true, .keep_ns = UINT64_MAX, .max_bytes = 64 * MIB};
	struct order order;
	__u64 seed = 9;

	write_numbered(&config, &seed, 40009);
	assert_int_equal(read_order(path, &order), 0);
	assert_int_equal(order.events, 40009);
}

static void a_segment_can_be_read_alone(void **state)
{
	struct trace_writer_config config = {.path = path, .overwrite = true, .max_bytes = MIB};
	struct order order, all;
	char name[160];
	__u64 seed = 3;

	write_numbered(&config, &seed, 20011);
	assert_int_equal(read_order(path, &all), 0);
	nth_segment(2, name, sizeof(name));
	assert_int_equal(read_order(name, &order), 0);
	assert_dictionary_once(&order);
	assert_true(order.loss.cut);
	assert_int_equal(order.gaps, 0);
	assert_true(order.first > all.first && order.last < all.last);
}

static void a_cut_segment_is_counted_once(void **state)
{
	struct trace_writer_config config = {.path = path, .overwrite = true, .max_bytes = MIB};
	struct order order;
	struct stat status;
	char name[160];
	__u64 seed = 4;

	write_numbered(&config, &seed, 20011);
	nth_segment(2, name, sizeof(name));
	assert_int_equal(stat(name, &status), 0);
	assert_int_equal(truncate(name, status.st_size - 1), 0);
	read_order(path, &order);
	assert_int_equal(order.gaps, 1);
	assert_int_equal(order.loss.damaged_frames, 1);
}

static void a_missing_segment_is_counted(void **state)
{
	struct trace_writer_config config = {.path = path, .overwrite = true, .max_bytes = MIB};
	struct trace_writer *writer;
	struct order order;
	char name[160];
	__u64 seed = 4;

	write_numbered(&config, &seed, 20011);
	nth_segment(2, name, sizeof(name));
	assert_int_equal(unlink(name), 0);
	assert_int_equal(read_order(path, &order), -EBADMSG);
	assert_int_equal(order.gaps, 1);
	assert_int_equal(order.devices, DEVICES);
	assert_true(order.loss.damaged_frames > 0);
	/* A segment of another recording, moved here by hand, is not mixed in. */
	assert_int_equal(trace_writer_open(&writer, &config), 0);
	push_start(trace_writer_stream(writer));
	assert_int_equal(push_numbered(trace_writer_stream(writer), &seed, 0, 1009), 0);
	nth_segment(1, name, sizeof(name));
	char foreign[160];

	snprintf(foreign, sizeof(foreign), "%s/foreign", scratch);
	assert_int_equal(link(name, foreign), 0);
	assert_int_equal(trace_writer_close(writer), 0);
	write_numbered(&config, &seed, 503);
	segment_path(999999, name, sizeof(name));
	assert_int_equal(rename(foreign, name), 0);
	assert_int_equal(read_order(path, &order), 0);
	assert_int_equal(order.events, 503);
	unlink(name);
}

static void stale_segments_are_not_taken_over(void **state)
{
	struct trace_writer_config config = {.path = path, .max_bytes = MIB};
	struct trace_writer *writer;
	char name[160];
	size_t segments;
	FILE *file;

	unlink(path);
	segment_path(1, name, sizeof(name));
	unlink(name);
	/* What somebody else has put there is neither in the way nor removed. */
	file = fopen(name, "w");
	fputs("no segment of ours", file);
	fclose(file);
	assert_int_equal(trace_writer_open(&writer, &config), 0);
	trace_writer_stream(writer).ops->end(writer, SECOND);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(access(name, F_OK), 0);
	unlink(name);
	assert_int_equal(trace_writer_open(&writer, &config), -EEXIST);
	config.overwrite = true;
	assert_int_equal(trace_writer_open(&writer, &config), 0);
	assert_int_equal(trace_writer_close(writer), 0);
	ring_size(&segments);
	assert_int_equal(segments, 1);
}

static void impossible_bounds_are_refused(void **state)
{
	struct trace_writer_config config = {.path = path, .overwrite = true, .max_bytes = 4096};
	struct trace_writer *writer;

	assert_int_equal(trace_writer_open(&writer, &config), -EINVAL);
	assert_non_null(strstr(failure_text(), "accepted: from 1048576"));
	config.max_bytes = 0;
	config.keep_ns = SECOND;
	config.path = "-";
	assert_int_equal(trace_writer_open(&writer, &config), -EINVAL);
}

/* Records without a pause until it is killed. */
static void record_until_killed(void)
{
	struct trace_writer_config config = {
		.path = path, .overwrite = true, .max_bytes = MIB, .flush_ns = 1000000};
	struct trace_writer *writer;
	__u64 seed = 5;

	if (trace_writer_open(&writer, &config))
		_exit(1);
	push_start(trace_writer_stream(writer));
	for (__u32 n = 0;; n += 97)
		if (push_numbered(trace_writer_stream(writer), &seed, n, 97))
			_exit(1);
}

static void a_kill_leaves_a_readable_ring(void **state)
{
	__u64 seed = 6;

	for (size_t turn = 0; turn < 43; turn++) {
		struct order order;
		size_t segments;
		pid_t child = child_fork();
		int status, err;

		if (!child)
			record_until_killed();
		usleep(2000 + stream_log_random(&seed) % 40000);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, SIGKILL);
		assert_true(ring_size(&segments) <= MIB);
		err = read_order(path, &order);
		if (err == -ENOENT || err == -EPROTO)
			continue; /* killed before it began */
		assert_int_equal(err, 0);
		assert_int_equal(order.gaps, 0);
		assert_true(order.loss.cut);
	}
}

static void a_snapshot_is_an_ordinary_recording(void **state)
{
	struct trace_writer_config config = {.path = path, .overwrite = true, .max_bytes = MIB};
	struct trace_read_config strict = {.strict = true};
	struct trace_summary summary;
	struct trace_writer *writer;
	struct order all, order;
	struct stream_log log;
	char name[160];
	__u64 seed = 7, since, until;

	snprintf(name, sizeof(name), "%s/snapshot.flt", scratch);
	assert_int_equal(trace_writer_open(&writer, &config), 0);
	push_start(trace_writer_stream(writer));
	assert_int_equal(push_numbered(trace_writer_stream(writer), &seed, 0, 70001), 0);
	assert_int_equal(trace_writer_flush(writer), 0);
	assert_int_equal(read_order(path, &all), 0);
	assert_int_equal(all.last, 70000);
	/* While the recorder goes on. */
	since = SECOND + (all.last - 9973) * INTERVAL;
	until = SECOND + (all.last - 4999) * INTERVAL;
	assert_int_equal(trace_snapshot(path, name, false, since, until), 0);
	assert_int_equal(trace_snapshot(path, name, false, since, until), -EEXIST);
	assert_int_equal(push_numbered(trace_writer_stream(writer), &seed, 70001, 9973), 0);
	assert_int_equal(trace_writer_close(writer), 0);

	assert_int_equal(read_order(name, &order), 0);
	assert_dictionary_once(&order);
	assert_int_equal(order.gaps, 0);
	assert_int_equal(order.first, all.last - 9973);
	assert_int_equal(order.last, all.last - 5000);
	assert_int_equal(order.events, 9973 - 4999);
	assert_false(order.loss.cut);
	assert_int_equal(order.end_ns, until);
	assert_int_equal(trace_summarize(name, &summary), 0);
	assert_int_equal(summary.events, order.events);
	trace_summary_free(&summary);
	strict.path = name;
	assert_int_equal(trace_read(&strict, stream_log(&log)), 0);
	stream_log_free(&log);
	/* Its recorder has ended later: it ends where it did nevertheless; or, if that is asked for, where the recorder did. */
	assert_int_equal(trace_snapshot(path, name, true, since, until), 0);
	assert_int_equal(read_order(name, &order), 0);
	assert_int_equal(order.events, 9973 - 4999);
	assert_int_equal(order.end_ns, until);
	assert_int_equal(read_order(path, &all), 0);
	assert_int_equal(trace_snapshot(path, name, true, since, 0), 0);
	assert_int_equal(read_order(name, &order), 0);
	assert_int_equal(order.events, 9973 + 1 + 9973);
	assert_int_equal(order.end_ns, all.end_ns);
}

static void devices_told_again_change_their_entry(void **state)
{
	struct trace_writer_config config = {.path = path, .overwrite = true, .max_bytes = MIB};
	struct device_info device = {.handle = 3, .name = "renamed"};
	struct trace_writer *writer;
	struct order order;
	__u64 seed = 8;

	assert_int_equal(trace_writer_open(&writer, &config), 0);
	push_start(trace_writer_stream(writer));
	trace_writer_stream(writer).ops->device(writer, &device);
	assert_int_equal(push_numbered(trace_writer_stream(writer), &seed, 0, 90001), 0);
	assert_int_equal(trace_writer_close(writer), 0);
	assert_int_equal(read_order(path, &order), 0);
	assert_int_equal(order.devices, DEVICES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(size_is_never_exceeded),
		cmocka_unit_test(age_is_bounded_from_both_sides),
		cmocka_unit_test(an_endless_age_keeps_all),
		cmocka_unit_test(a_segment_can_be_read_alone),
		cmocka_unit_test(a_cut_segment_is_counted_once),
		cmocka_unit_test(a_missing_segment_is_counted),
		cmocka_unit_test(stale_segments_are_not_taken_over),
		cmocka_unit_test(impossible_bounds_are_refused),
		cmocka_unit_test(a_kill_leaves_a_readable_ring),
		cmocka_unit_test(a_snapshot_is_an_ordinary_recording),
		cmocka_unit_test(devices_told_again_change_their_entry),
	};

	return cmocka_run_group_tests_name("trace ring", tests, make_directory, scratch_remove);
}
