// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/records.h"

#include <errno.h>
#include <string.h>

#include "bpf/histogram.h"
#include "lib/base/fail.h"
#include "lib/trace/columns.h"

#define FIELD(type, name)                                          \
	{                                                          \
		offsetof(type, name), sizeof(((type *)NULL)->name) \
	}
#define LAYOUT(fields, type)                                               \
	{                                                                  \
		fields, sizeof(fields) / sizeof((fields)[0]), sizeof(type) \
	}

static const struct trace_field row_fields[] = {
	FIELD(struct aggregate_row, key.window),
	FIELD(struct aggregate_row, key.device),
	FIELD(struct aggregate_row, key.pid),
	FIELD(struct aggregate_row, key.kind),
	FIELD(struct aggregate_row, key.queue),
	FIELD(struct aggregate_row, key.code),
	FIELD(struct aggregate_row, key.flags),
	FIELD(struct aggregate_row, counts.count),
	FIELD(struct aggregate_row, counts.bytes),
	FIELD(struct aggregate_row, counts.latency_sum_ns),
	FIELD(struct aggregate_row, counts.latency_max_ns),
	FIELD(struct aggregate_row, histogram),
	FIELD(struct aggregate_row, bins),
};

static const struct trace_field bin_fields[] = {
	FIELD(struct aggregate_bin, bucket),
	FIELD(struct aggregate_bin, count),
};

static const struct trace_field page_fields[] = {
	FIELD(struct aggregate_page, page),  FIELD(struct aggregate_page, device),
	FIELD(struct aggregate_page, reads), FIELD(struct aggregate_page, writes),
	FIELD(struct aggregate_page, pasid),
};

static const struct trace_layout row_layout = LAYOUT(row_fields, struct aggregate_row);
static const struct trace_layout bin_layout = LAYOUT(bin_fields, struct aggregate_bin);
static const struct trace_layout page_layout = LAYOUT(page_fields, struct aggregate_page);

#define PUT_TEXT(out, text) trace_buffer_put_text(out, text, sizeof(text))
#define GET_TEXT(in, text)  trace_cursor_text(in, text, sizeof(text))

void trace_put_host(struct trace_buffer *out, const struct host_info *host)
{
	PUT_TEXT(out, host->hostname);
	PUT_TEXT(out, host->kernel);
	PUT_TEXT(out, host->boot_id);
	PUT_TEXT(out, host->version);
	PUT_TEXT(out, host->command);
	trace_buffer_put_u32(out, host->cpus);
	trace_buffer_put_u32(out, host->page_size);
	trace_buffer_put_u64(out, host->start_ns);
	PUT_TEXT(out, host->devices);
	PUT_TEXT(out, host->kinds);
}

void trace_get_host(struct trace_cursor *in, struct host_info *host)
{
	memset(host, 0, sizeof(*host));
	GET_TEXT(in, host->hostname);
	GET_TEXT(in, host->kernel);
	GET_TEXT(in, host->boot_id);
	GET_TEXT(in, host->version);
	GET_TEXT(in, host->command);
	host->cpus = trace_cursor_u32(in);
	host->page_size = trace_cursor_u32(in);
	host->start_ns = trace_cursor_u64(in);
	GET_TEXT(in, host->devices);
	GET_TEXT(in, host->kinds);
}

void trace_put_clock(struct trace_buffer *out, const struct clock_anchor *anchor)
{
	trace_buffer_put_u64(out, anchor->monotonic_ns);
	trace_buffer_put_u64(out, anchor->realtime_ns);
}

void trace_get_clock(struct trace_cursor *in, struct clock_anchor *anchor)
{
	anchor->monotonic_ns = trace_cursor_u64(in);
	anchor->realtime_ns = trace_cursor_u64(in);
}

void trace_put_probe(struct trace_buffer *out, const struct probe_info *probe)
{
	PUT_TEXT(out, probe->name);
	PUT_TEXT(out, probe->attach);
	PUT_TEXT(out, probe->reason);
	trace_buffer_put_u32(out, probe->state);
	trace_buffer_put_u64(out, probe->hits);
	trace_buffer_put_u64(out, probe->emitted);
	trace_buffer_put_u64(out, probe->lost);
	trace_buffer_put_u64(out, probe->missed);
}

void trace_get_probe(struct trace_cursor *in, struct probe_info *probe)
{
	memset(probe, 0, sizeof(*probe));
	GET_TEXT(in, probe->name);
	GET_TEXT(in, probe->attach);
	GET_TEXT(in, probe->reason);
	probe->state = trace_cursor_u32(in);
	probe->hits = trace_cursor_u64(in);
	probe->emitted = trace_cursor_u64(in);
	probe->lost = trace_cursor_u64(in);
	probe->missed = trace_cursor_u64(in);
}

void trace_put_device(struct trace_buffer *out, const struct device_info *device)
{
	trace_buffer_put_u32(out, device->handle);
	trace_buffer_put_u32(out, device->kind);
	PUT_TEXT(out, device->name);
	PUT_TEXT(out, device->model);
	PUT_TEXT(out, device->vm);
	PUT_TEXT(out, device->comm);
	trace_buffer_put_u32(out, (__u32)device->iommu_group);
	trace_buffer_put_u32(out, device->pid);
	trace_buffer_put_u64(out, device->pid_start_ns);
	trace_buffer_put_u64(out, device->cgroup);
	trace_buffer_put_u64(out, device->source_id);
	trace_buffer_put_u32(out, device->queues);
	trace_buffer_put_u64(out, device->memory);
	trace_buffer_put_u64(out, device->first_ns);
	trace_buffer_put_u64(out, device->mapped_at);
}

void trace_get_device(struct trace_cursor *in, struct device_info *device)
{
	memset(device, 0, sizeof(*device));
	device->handle = trace_cursor_u32(in);
	device->kind = trace_cursor_u32(in);
	GET_TEXT(in, device->name);
	GET_TEXT(in, device->model);
	GET_TEXT(in, device->vm);
	GET_TEXT(in, device->comm);
	device->iommu_group = (__s32)trace_cursor_u32(in);
	device->pid = trace_cursor_u32(in);
	device->pid_start_ns = trace_cursor_u64(in);
	device->cgroup = trace_cursor_u64(in);
	device->source_id = trace_cursor_u64(in);
	device->queues = trace_cursor_u32(in);
	device->memory = trace_cursor_u64(in);
	device->first_ns = trace_cursor_u64(in);
	device->mapped_at = trace_cursor_u64(in);
}

void trace_put_stack(struct trace_buffer *out, const struct stack_info *stack)
{
	trace_buffer_put_u32(out, stack->id);
	trace_buffer_put_u32(out, stack->depth);
	PUT_TEXT(out, stack->text);
}

void trace_get_stack(struct trace_cursor *in, struct stack_info *stack)
{
	memset(stack, 0, sizeof(*stack));
	stack->id = trace_cursor_u32(in);
	stack->depth = trace_cursor_u32(in);
	GET_TEXT(in, stack->text);
}

void trace_put_process(struct trace_buffer *out, const struct process_info *process)
{
	trace_buffer_put_u32(out, process->pid);
	trace_buffer_put_u64(out, process->first_ns);
	PUT_TEXT(out, process->comm);
}

void trace_get_process(struct trace_cursor *in, struct process_info *process)
{
	memset(process, 0, sizeof(*process));
	process->pid = trace_cursor_u32(in);
	process->first_ns = trace_cursor_u64(in);
	GET_TEXT(in, process->comm);
}

void trace_put_flow(struct trace_buffer *out, const struct flow_info *flow)
{
	trace_buffer_put_u32(out, flow->id);
	trace_buffer_put_u32(out, flow->device);
	trace_buffer_put_u8(out, flow->family);
	trace_buffer_put_u8(out, flow->protocol);
	trace_buffer_put_u16(out, flow->ethertype);
	trace_buffer_put_u16(out, flow->source_port);
	trace_buffer_put_u16(out, flow->destination_port);
	trace_buffer_put(out, flow->source, sizeof(flow->source));
	trace_buffer_put(out, flow->destination, sizeof(flow->destination));
}

void trace_get_flow(struct trace_cursor *in, struct flow_info *flow)
{
	memset(flow, 0, sizeof(*flow));
	flow->id = trace_cursor_u32(in);
	flow->device = trace_cursor_u32(in);
	flow->family = trace_cursor_u8(in);
	flow->protocol = trace_cursor_u8(in);
	flow->ethertype = trace_cursor_u16(in);
	flow->source_port = trace_cursor_u16(in);
	flow->destination_port = trace_cursor_u16(in);
	trace_cursor_into(in, flow->source, sizeof(flow->source));
	trace_cursor_into(in, flow->destination, sizeof(flow->destination));
}

void trace_put_loss(struct trace_buffer *out, const struct loss_info *loss)
{
	trace_buffer_put_u64(out, loss->produced);
	trace_buffer_put_u64(out, loss->received);
	trace_buffer_put_u64(out, loss->lost);
	trace_buffer_put_u64(out, loss->missed);
	trace_buffer_put_u64(out, loss->late);
	trace_buffer_put_u64(out, loss->state_failed);
	trace_buffer_put_u64(out, loss->access_lost);
	trace_buffer_put_u64(out, loss->access_received);
	trace_buffer_put_u64(out, loss->damaged_bytes);
	trace_buffer_put_u64(out, loss->damaged_frames);
	trace_buffer_put_u64(out, loss->access_missed);
	trace_buffer_put_u64(out, loss->machines_missed);
	trace_buffer_put_u64(out, loss->machines_unknown);
	trace_buffer_put_u64(out, loss->filtered);
	trace_buffer_put_u64(out, loss->turned_away);
	trace_buffer_put_u64(out, loss->unwritten_events);
	trace_buffer_put_u64(out, loss->unwritten_windows);
}

void trace_get_loss(struct trace_cursor *in, struct loss_info *loss)
{
	memset(loss, 0, sizeof(*loss));
	loss->produced = trace_cursor_u64(in);
	loss->received = trace_cursor_u64(in);
	loss->lost = trace_cursor_u64(in);
	loss->missed = trace_cursor_u64(in);
	loss->late = trace_cursor_u64(in);
	loss->state_failed = trace_cursor_u64(in);
	loss->access_lost = trace_cursor_u64(in);
	loss->access_received = trace_cursor_u64(in);
	loss->damaged_bytes = trace_cursor_u64(in);
	loss->damaged_frames = trace_cursor_u64(in);
	loss->access_missed = trace_cursor_u64(in);
	loss->machines_missed = trace_cursor_u64(in);
	loss->machines_unknown = trace_cursor_u64(in);
	loss->filtered = trace_cursor_u64(in);
	loss->turned_away = trace_cursor_u64(in);
	loss->unwritten_events = trace_cursor_u64(in);
	loss->unwritten_windows = trace_cursor_u64(in);
}

void trace_put_kept(struct trace_buffer *out, const struct kept_info *kept)
{
	trace_buffer_put_u64(out, kept->from_ns);
	trace_buffer_put_u64(out, kept->segments);
	trace_buffer_put_u64(out, kept->events);
}

void trace_get_kept(struct trace_cursor *in, struct kept_info *kept)
{
	kept->from_ns = trace_cursor_u64(in);
	kept->segments = trace_cursor_u64(in);
	kept->events = trace_cursor_u64(in);
}

static bool counts_fit(size_t rows, size_t bins, size_t pages)
{
	return rows <= AGGREGATE_ROWS_MAX && pages <= AGGREGATE_PAGES_MAX &&
	       bins <= TRACE_RAW_MAX / sizeof(struct aggregate_bin);
}

int trace_put_aggregate(struct trace_buffer *out, const struct aggregate_frame *frame,
			struct trace_buffer *scratch)
{
	size_t most = frame->row_count;
	__u64 *values;

	if (!counts_fit(frame->row_count, frame->bin_count, frame->page_count))
		return failed(-E2BIG,
			      "an aggregate window of %zu rows, %zu bins and %zu pages is "
			      "too large to record",
			      frame->row_count, frame->bin_count, frame->page_count);
	most = frame->bin_count > most ? frame->bin_count : most;
	most = frame->page_count > most ? frame->page_count : most;
	scratch->size = 0;
	values = trace_buffer_reserve(scratch, (2 * most + 1) * sizeof(*values));
	if (!values)
		return failed(-ENOMEM, "no memory to record an aggregate window");
	trace_buffer_put_u64(out, frame->window);
	trace_buffer_put_u8(out, frame->incomplete);
	trace_buffer_put_u32(out, (__u32)frame->row_count);
	trace_buffer_put_u32(out, (__u32)frame->bin_count);
	trace_buffer_put_u32(out, (__u32)frame->page_count);
	trace_columns_encode(&row_layout, frame->rows, frame->row_count, values, out, NULL);
	trace_columns_encode(&bin_layout, frame->bins, frame->bin_count, values, out, NULL);
	trace_columns_encode(&page_layout, frame->pages, frame->page_count, values, out, NULL);
	return 0;
}

/* Decodes `count` records behind what `memory` holds; its room is reserved. */
static int get_records(struct trace_cursor *in, const struct trace_layout *layout, size_t count,
		       struct trace_buffer *memory)
{
	__u8 *next = memory->bytes + memory->size;
	struct trace_columns columns;
	int err = trace_columns_open(&columns, layout, count, in);
	size_t n;

	if (err)
		return err;
	memset(next, 0, count * layout->record_size);
	while ((n = trace_columns_next(&columns, next)))
		next += n * layout->record_size;
	memory->size += count * layout->record_size;
	return 0;
}

static bool aggregate_is_sound(const struct aggregate_frame *frame)
{
	for (size_t i = 0; i < frame->row_count; i++)
		if (frame->rows[i].histogram > frame->bin_count ||
		    frame->rows[i].bins > frame->bin_count - frame->rows[i].histogram)
			return false;
	for (size_t i = 0; i < frame->bin_count; i++)
		if (frame->bins[i].bucket >= HISTOGRAM_BUCKETS)
			return false;
	return true;
}

int trace_get_aggregate(struct trace_cursor *in, struct aggregate_frame *frame,
			struct trace_buffer *memory)
{
	size_t rows_size, bins_size, pages_size;
	int err;

	frame->window = trace_cursor_u64(in);
	frame->incomplete = trace_cursor_u8(in);
	frame->row_count = trace_cursor_u32(in);
	frame->bin_count = trace_cursor_u32(in);
	frame->page_count = trace_cursor_u32(in);
	if (in->short_of || !counts_fit(frame->row_count, frame->bin_count, frame->page_count))
		return -EBADMSG;
	rows_size = frame->row_count * sizeof(*frame->rows);
	bins_size = frame->bin_count * sizeof(*frame->bins);
	pages_size = frame->page_count * sizeof(*frame->pages);
	memory->size = 0;
	if (!trace_buffer_reserve(memory, rows_size + bins_size + pages_size + 1))
		return failed(-ENOMEM, "no memory for an aggregate window");
	frame->rows = (const void *)memory->bytes;
	frame->bins = (const void *)(memory->bytes + rows_size);
	frame->pages = (const void *)(memory->bytes + rows_size + bins_size);
	err = get_records(in, &row_layout, frame->row_count, memory);
	err = err ? err : get_records(in, &bin_layout, frame->bin_count, memory);
	err = err ? err : get_records(in, &page_layout, frame->page_count, memory);
	if (err)
		return err;
	return aggregate_is_sound(frame) ? 0 : -EBADMSG;
}
