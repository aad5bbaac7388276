// SPDX-License-Identifier: GPL-2.0
/* The tables and sentences of lib/analyze/vfio.c. */
#include "lib/analyze/vfio.h"

#include <math.h>
#include <string.h>

#include "lib/analyze/unknown.h"
#include "lib/base/units.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))
#define SENTENCES	5
#define SENTENCE_TEXT	384
#define PAGE_BYTES	4096u
#define LIMIT_UNLIMITED UINT64_MAX

static const char *owner(const struct session *session, __u32 handle)
{
	const struct device_info *info = session_device(session, handle);

	return info && info->comm[0] ? info->comm : "?";
}

/* Errors as errno(3) calls them; what does not fit into a code is told as 255. */
static const char *error_name(unsigned int error)
{
	const char *name = error < 255 ? strerrorname_np((int)error) : NULL;

	return name ? name : "another error";
}

static const char *request_name(unsigned int kind)
{
	switch (kind) {
	case EVENT_VFIO_MAP:
		return "map";
	case EVENT_VFIO_UNMAP:
		return "unmap";
	default:
		return "pin";
	}
}

static double percent_used(const struct vfio_limit_use *use)
{
	if (!use->seen || use->limit == LIMIT_UNLIMITED)
		return NAN;
	if (!use->limit)
		return use->peak ? 100 : 0;
	return 100.0 * (double)use->peak / (double)use->limit;
}

static bool close_to(const struct vfio_limit_use *use)
{
	return use->seen && !use->exempt && percent_used(use) >= VFIO_CLOSE;
}

static const char *use_text(const struct vfio_limit_use *use, unsigned int limit, char *text,
			    size_t size)
{
	char used[UNITS_TEXT], of[UNITS_TEXT];

	if (limit == LIMIT_DMA_ENTRIES)
		snprintf(text, size, "%llu of %llu mappings (dma_entry_limit)", use->peak,
			 use->limit);
	else
		snprintf(text, size, "%s of %s of locked memory (RLIMIT_MEMLOCK)",
			 units_format_size(use->peak, used), units_format_size(use->limit, of));
	return text;
}

/* What one of its failures means, with the limit that explains it. */
static void failure_text_of(const struct vfio_container *c, const struct session *session,
			    __u32 handle, unsigned int failure, char *text, size_t size)
{
	const struct vfio_failure *f = &c->failures[failure];
	char name[DEVICE_NAME_TEXT], use[160] = "", limit[128];

	for (unsigned int i = 0; i < VFIO_LIMITS; i++)
		if (c->limits[i].seen && !c->limits[i].exempt && percent_used(&c->limits[i]) >= 50)
			snprintf(use, sizeof(use), "; it had %s",
				 use_text(&c->limits[i], i, limit, sizeof(limit)));
	snprintf(text, size, "%s of %s: %llu %s request%s refused with %s%s",
		 session_device_name(session, handle, name), owner(session, handle), f->count,
		 request_name(f->kind), f->count == 1 ? " was" : "s were", error_name(f->error),
		 use);
}

static void limit_text_of(const struct vfio_container *c, const struct session *session,
			  __u32 handle, unsigned int which, char *text, size_t size)
{
	char name[DEVICE_NAME_TEXT], limit[128];

	snprintf(text, size, "%s of %s is close to its limit: %s, %.0f%%",
		 session_device_name(session, handle, name), owner(session, handle),
		 use_text(&c->limits[which], which, limit, sizeof(limit)),
		 percent_used(&c->limits[which]));
}

static int tell_failures(const struct vfio_container *c, const struct session *session,
			 __u32 handle, struct writer *writer)
{
	char text[SENTENCE_TEXT];
	int error = 0;

	for (unsigned int i = 0; !error && i < c->failure_count; i++) {
		if (c->failures[i].kind == EVENT_VFIO_PIN)
			continue;
		failure_text_of(c, session, handle, i, text, sizeof(text));
		error = writer_note(writer, "%s.", text);
	}
	return error;
}

static int tell_limits(const struct vfio_container *c, const struct session *session, __u32 handle,
		       struct writer *writer)
{
	char text[SENTENCE_TEXT];
	int error = 0;

	for (unsigned int i = 0; !error && i < VFIO_LIMITS; i++) {
		if (!close_to(&c->limits[i]))
			continue;
		limit_text_of(c, session, handle, i, text, sizeof(text));
		error = writer_note(writer, "%s.", text);
	}
	return error;
}

/* Of one container, if that is worse than `before`. */
static enum vfio_trouble trouble_of(const struct vfio_container *c, const struct session *session,
				    __u32 handle, enum vfio_trouble before, char *text, size_t size)
{
	for (unsigned int i = 0; before < VFIO_REFUSED && i < c->failure_count; i++) {
		if (c->failures[i].kind == EVENT_VFIO_PIN)
			continue;
		failure_text_of(c, session, handle, i, text, size);
		return VFIO_REFUSED;
	}
	for (unsigned int i = 0; before < VFIO_NEAR_LIMIT && i < VFIO_LIMITS; i++) {
		if (!close_to(&c->limits[i]))
			continue;
		limit_text_of(c, session, handle, i, text, size);
		return VFIO_NEAR_LIMIT;
	}
	return before;
}

enum vfio_trouble vfio_worst(const struct vfio *vfio, const struct session *session, char *text,
			     size_t size)
{
	enum vfio_trouble worst = VFIO_FINE;

	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(session, h)) {
		const struct vfio_container *c = vfio_container(vfio, h);

		if (c)
			worst = trouble_of(c, session, h, worst, text, size);
	}
	return worst;
}

int vfio_write_findings(const struct vfio *vfio, const struct session *session,
			struct writer *writer)
{
	unsigned int told = 0, more = 0;
	int error = 0;

	for (__u32 h = 0; !error && h < SESSION_DEVICES; h = session_device_next(session, h)) {
		const struct vfio_container *c = vfio_container(vfio, h);

		if (!c || (!c->failed && !close_to(&c->limits[0]) && !close_to(&c->limits[1])))
			continue;
		if (told++ >= SENTENCES) {
			more++;
			continue;
		}
		error = c->failed ? tell_failures(c, session, h, writer)
				  : tell_limits(c, session, h, writer);
	}
	if (!error && more)
		error = writer_note(writer, "... and %u more containers at their limits.", more);
	return error;
}

static __u64 limit_cell(const struct vfio_limit_use *use)
{
	return use->seen && use->limit != LIMIT_UNLIMITED ? use->limit : CELL_NONE;
}

static __u64 run_mean(const struct vfio_container *c)
{
	__u64 runs = 0, bytes = 0;

	for (unsigned int i = 0; i < VFIO_ORDERS; i++) {
		runs += c->runs[i];
		bytes += c->run_bytes[i];
	}
	return runs ? bytes / runs : CELL_NONE;
}

static __u64 difference(__u64 more, __u64 less)
{
	return more > less ? more - less : 0;
}

/* What of a container is known, by the probes of its kind. */
struct known {
	bool maps, unmaps, closed, pins, unpins;
};

static struct known known_of(const struct session *s, const struct device_info *info)
{
	if (info && !strcmp(info->model, "iommufd"))
		return (struct known){.maps = !unknown_probe(s, PROBE_IOMMUFD_MAP),
				      .unmaps = !unknown_probe(s, PROBE_IOMMUFD_UNMAP),
				      .closed = !unknown_probe(s, PROBE_IOMMUFD_UNMAP),
				      .pins = !unknown_probe(s, PROBE_IOMMUFD_PIN),
				      .unpins = true};
	return (struct known){.maps = !unknown_probe(s, PROBE_VFIO_MAP),
			      .unmaps = !unknown_probe(s, PROBE_VFIO_UNMAP),
			      .closed = !unknown_probe(s, PROBE_VFIO_REMOVE),
			      .pins = !unknown_probe(s, PROBE_VFIO_PIN),
			      .unpins = !unknown_probe(s, PROBE_VFIO_UNPIN)};
}

/* A percentile of a latency, or its maximum for 100. */
static __u64 latency_cell(const struct vfio_container *c, enum vfio_latency which,
			  enum latency_span span, double percent)
{
	const struct histogram *all = span == LATENCY_WINDOW ? c->newest : c->latency;

	return all && all[which].count ? histogram_percentile(&all[which], percent) : CELL_NONE;
}

static int write_container(const struct vfio_container *c, const struct session *session,
			   enum latency_span span, __u32 handle, struct writer *writer)
{
	const struct vfio_limit_use *memlock = &c->limits[LIMIT_MEMLOCK];
	const struct vfio_limit_use *entries = &c->limits[LIMIT_DMA_ENTRIES];
	const struct device_info *info = session_device(session, handle);
	char name[DEVICE_NAME_TEXT];
	double memlock_percent = percent_used(memlock), entries_percent = percent_used(entries);
	struct known known = known_of(session, info);

	return writer_row(
		writer,
		(union cell[]){
			{.text = session_device_name(session, handle, name)},
			{.count = info && info->pid ? info->pid : CELL_NONE},
			{.text = info ? info->comm : ""},
			{.text = info ? info->model : ""},
			cell_if(known.maps, c->maps),
			cell_if(known.unmaps, c->unmaps),
			cell_if(known.closed, c->closed),
			cell_if(known.maps && known.unmaps && known.pins, c->failed),
			cell_if(known.maps, c->most_maps),
			cell_if(known.maps, c->mapped),
			cell_if(known.unmaps, c->unmapped),
			cell_if(known.pins, c->pins),
			cell_if(known.pins, c->pinned),
			cell_if(known.pins && known.unpins, difference(c->pinned, c->unpinned)),
			{.count = memlock->seen ? memlock->peak : CELL_NONE},
			{.count = limit_cell(memlock)},
			{.real = memlock_percent},
			{.text = !memlock->seen	   ? ""
				 : memlock->exempt ? "yes"
						   : "no"},
			{.count = entries->seen ? entries->peak : CELL_NONE},
			{.count = limit_cell(entries)},
			{.real = entries_percent},
			{.count = latency_cell(c, VFIO_MAP_NS, span, 50)},
			{.count = latency_cell(c, VFIO_MAP_NS, span, 99)},
			{.count = latency_cell(c, VFIO_MAP_NS, span, 100)},
			{.count = latency_cell(c, VFIO_UNMAP_NS, span, 50)},
			{.count = latency_cell(c, VFIO_UNMAP_NS, span, 99)},
			{.count = latency_cell(c, VFIO_UNMAP_NS, span, 100)},
			{.count = latency_cell(c, VFIO_PIN_NS, span, 50)},
			{.count = latency_cell(c, VFIO_PIN_NS, span, 99)},
			{.count = run_mean(c)},
		});
}

int vfio_write(const struct vfio *vfio, const struct session *session, enum latency_span span,
	       struct writer *writer)
{
	static const struct column columns[] = {
		{"container", NULL, COLUMN_TEXT, 14, false},
		{"pid", NULL, COLUMN_COUNT, 8, true},
		{"comm", NULL, COLUMN_TEXT, 16, true},
		{"iommu", NULL, COLUMN_TEXT, 7, true},
		{"maps", NULL, COLUMN_COUNT, 7, false},
		{"unmaps", NULL, COLUMN_COUNT, 7, false},
		{"closed", NULL, COLUMN_COUNT, 6, true},
		{"failed", NULL, COLUMN_COUNT, 6, false},
		{"most_maps", "per_s", COLUMN_COUNT, 9, true},
		{"mapped", NULL, COLUMN_BYTES, 8, true},
		{"unmapped", NULL, COLUMN_BYTES, 8, true},
		{"pins", NULL, COLUMN_COUNT, 7, true},
		{"pinned", NULL, COLUMN_BYTES, 7, true},
		{"still_pinned", NULL, COLUMN_BYTES, 12, true},
		{"locked", NULL, COLUMN_BYTES, 7, false},
		{"memlock", NULL, COLUMN_BYTES, 7, false},
		{"memlock_used", "percent", COLUMN_REAL, 12, true},
		{"exempt", NULL, COLUMN_TEXT, 6, true},
		{"entries", NULL, COLUMN_COUNT, 7, true},
		{"entry_limit", NULL, COLUMN_COUNT, 11, true},
		{"entries_used", "percent", COLUMN_REAL, 12, true},
		{"map_p50", NULL, COLUMN_DURATION, 7, false},
		{"map_p99", NULL, COLUMN_DURATION, 7, false},
		{"map_max", NULL, COLUMN_DURATION, 7, true},
		{"unmap_p50", NULL, COLUMN_DURATION, 9, true},
		{"unmap_p99", NULL, COLUMN_DURATION, 9, true},
		{"unmap_max", NULL, COLUMN_DURATION, 9, true},
		{"pin_p50", NULL, COLUMN_DURATION, 7, true},
		{"pin_p99", NULL, COLUMN_DURATION, 7, true},
		{"run_mean", NULL, COLUMN_BYTES, 8, true},
	};
	static const struct table table = {"vfio", "VFIO containers", columns, COUNT(columns)};
	int error = writer_begin(writer, &table);

	for (__u32 h = 0; !error && h < SESSION_DEVICES; h = session_device_next(session, h)) {
		const struct vfio_container *c = vfio_container(vfio, h);

		if (c)
			error = write_container(c, session, span, h, writer);
	}
	return error ? error : writer_end(writer);
}

int vfio_write_runs(const struct vfio *vfio, const struct session *session, struct writer *writer)
{
	static const struct column columns[] = {
		{"container", NULL, COLUMN_TEXT, 14, false},
		{"from", NULL, COLUMN_BYTES, 8, false},
		{"below", NULL, COLUMN_BYTES, 8, false},
		{"runs", NULL, COLUMN_COUNT, 10, false},
		{"pinned", NULL, COLUMN_BYTES, 10, false},
	};
	static const struct table table = {"vfio_runs", "Contiguous memory pinned at once", columns,
					   COUNT(columns)};
	int error = writer_begin(writer, &table);
	char name[DEVICE_NAME_TEXT];

	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(session, h)) {
		const struct vfio_container *c = vfio_container(vfio, h);

		for (unsigned int i = 0; c && !error && i < VFIO_ORDERS; i++)
			if (c->runs[i])
				error = writer_row(
					writer,
					(union cell[]){
						{.text = session_device_name(session, h, name)},
						{.count = (__u64)PAGE_BYTES << i},
						{.count = (__u64)PAGE_BYTES << (i + 1)},
						{.count = c->runs[i]},
						{.count = c->run_bytes[i]},
					});
	}
	return error ? error : writer_end(writer);
}

int vfio_write_failures(const struct vfio *vfio, const struct session *session,
			struct writer *writer)
{
	static const struct column columns[] = {
		{"container", NULL, COLUMN_TEXT, 14, false},
		{"request", NULL, COLUMN_TEXT, 7, false},
		{"errno", NULL, COLUMN_COUNT, 5, false},
		{"error", NULL, COLUMN_TEXT, 13, false},
		{"count", NULL, COLUMN_COUNT, 10, false},
	};
	static const struct table table = {"vfio_failures", "VFIO requests refused", columns,
					   COUNT(columns)};
	int error = writer_begin(writer, &table);
	char name[DEVICE_NAME_TEXT];

	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(session, h)) {
		const struct vfio_container *c = vfio_container(vfio, h);

		for (unsigned int i = 0; c && !error && i < c->failure_count; i++)
			error = writer_row(writer,
					   (union cell[]){
						   {.text = session_device_name(session, h, name)},
						   {.text = request_name(c->failures[i].kind)},
						   {.count = c->failures[i].error},
						   {.text = error_name(c->failures[i].error)},
						   {.count = c->failures[i].count},
					   });
	}
	return error ? error : writer_end(writer);
}

int vfio_write_devices(const struct vfio *vfio, const struct session *session,
		       struct writer *writer)
{
	static const struct column columns[] = {
		{"device", NULL, COLUMN_TEXT, 16, false},
		{"resets", NULL, COLUMN_COUNT, 6, false},
		{"reset_failed", NULL, COLUMN_COUNT, 12, true},
		{"reset_mean", NULL, COLUMN_DURATION, 10, false},
		{"reset_max", NULL, COLUMN_DURATION, 9, false},
		{"vectors", NULL, COLUMN_COUNT, 7, false},
		{"vectors_failed", NULL, COLUMN_COUNT, 14, true},
		{"interrupts", NULL, COLUMN_COUNT, 10, false},
	};
	static const struct table table = {"vfio_devices", "Devices behind VFIO", columns,
					   COUNT(columns)};
	bool resets = !unknown_probe(session, PROBE_VFIO_RESET);
	bool vectors = !unknown_probe(session, PROBE_VFIO_VECTORS);
	bool interrupts =
		!unknown_probe(session, PROBE_VFIO_MSI) && !unknown_probe(session, PROBE_VFIO_INTX);
	int error = writer_begin(writer, &table);
	char name[DEVICE_NAME_TEXT];

	for (__u32 h = 0; !error && h < SESSION_DEVICES; h = session_device_next(session, h)) {
		const struct vfio_device_use *use = vfio_device(vfio, h);

		if (use)
			error = writer_row(
				writer,
				(union cell[]){
					{.text = session_device_name(session, h, name)},
					cell_if(resets, use->resets),
					cell_if(resets, use->reset_failed),
					{.count = use->resets ? use->reset_ns / use->resets
							      : CELL_NONE},
					{.count = use->resets ? use->reset_max_ns : CELL_NONE},
					cell_if(vectors, use->vectors),
					cell_if(vectors, use->vectors_failed),
					cell_if(interrupts, use->interrupts),
				});
	}
	return error ? error : writer_end(writer);
}
