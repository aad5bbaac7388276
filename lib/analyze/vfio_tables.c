// SPDX-License-Identifier: GPL-2.0
/* The tables and sentences of lib/analyze/vfio.c. */
#include "lib/analyze/analysis.h"
#include "lib/analyze/vfio.h"

#include <math.h>
#include <string.h>

#include "lib/analyze/unknown.h"
#include "lib/base/units.h"

#define SENTENCES	5
#define SENTENCE_TEXT	384
#define PAGE_BYTES	4096u
#define LIMIT_UNLIMITED UINT64_MAX

static const char *vfio_owner(const struct session *session, __u32 handle)
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
		 session_device_name(session, handle, name), vfio_owner(session, handle), f->count,
		 request_name(f->kind), f->count == 1 ? " was" : "s were", error_name(f->error),
		 use);
}

static void limit_text_of(const struct vfio_container *c, const struct session *session,
			  __u32 handle, unsigned int which, char *text, size_t size)
{
	char name[DEVICE_NAME_TEXT], limit[128];

	snprintf(text, size, "%s of %s is close to its limit: %s, %.0f%%",
		 session_device_name(session, handle, name), vfio_owner(session, handle),
		 use_text(&c->limits[which], which, limit, sizeof(limit)),
		 percent_used(&c->limits[which]));
}

static void tell_failures(const struct vfio_container *c, const struct session *session,
			  __u32 handle, struct writer *writer)
{
	char text[SENTENCE_TEXT];

	for (unsigned int i = 0; i < c->failure_count; i++) {
		if (c->failures[i].kind == EVENT_VFIO_PIN)
			continue;
		failure_text_of(c, session, handle, i, text, sizeof(text));
		writer_note(writer, "%s.", text);
	}
}

static void tell_limits(const struct vfio_container *c, const struct session *session, __u32 handle,
			struct writer *writer)
{
	char text[SENTENCE_TEXT];

	for (unsigned int i = 0; i < VFIO_LIMITS; i++) {
		if (!close_to(&c->limits[i]))
			continue;
		limit_text_of(c, session, handle, i, text, sizeof(text));
		writer_note(writer, "%s.", text);
	}
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

/* Sentences: what was refused, which limits are close. */
static void vfio_write_findings(const struct analysis *a, struct writer *writer)
{
	const struct session *session = a->session;
	unsigned int told = 0, more = 0;

	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(session, h)) {
		const struct vfio_container *c = vfio_container(a->vfio, h);

		if (!c || (!c->failed && !close_to(&c->limits[0]) && !close_to(&c->limits[1])))
			continue;
		if (told++ >= SENTENCES) {
			more++;
			continue;
		}
		if (c->failed)
			tell_failures(c, session, h, writer);
		else
			tell_limits(c, session, h, writer);
	}
	if (more)
		writer_note(writer, "... and %u more containers at their limits.", more);
}

static __u64 vfio_limit_of(const struct vfio_limit_use *use)
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
struct vfio_known {
	bool maps, unmaps, closed, pins, unpins;
};

static struct vfio_known vfio_known_of(const struct session *s, const struct device_info *info)
{
	if (info && !strcmp(info->model, "iommufd"))
		return (struct vfio_known){.maps = !unknown_probe(s, PROBE_IOMMUFD_MAP),
					   .unmaps = !unknown_probe(s, PROBE_IOMMUFD_UNMAP),
					   .closed = !unknown_probe(s, PROBE_IOMMUFD_UNMAP),
					   .pins = !unknown_probe(s, PROBE_IOMMUFD_PIN),
					   .unpins = true};
	return (struct vfio_known){.maps = !unknown_probe(s, PROBE_VFIO_MAP),
				   .unmaps = !unknown_probe(s, PROBE_VFIO_UNMAP),
				   .closed = !unknown_probe(s, PROBE_VFIO_REMOVE),
				   .pins = !unknown_probe(s, PROBE_VFIO_PIN),
				   .unpins = !unknown_probe(s, PROBE_VFIO_UNPIN)};
}

struct container_row {
	__u32 handle;
	const struct vfio_container *use;
	const struct device_info *info; /* NULL: not known */
	struct vfio_known known;
	enum latency_span span;
};

/* A percentile of a latency, or its maximum for 100. */
static __u64 latency(const struct container_row *row, enum vfio_latency which, double percent)
{
	const struct histogram *all =
		row->span == LATENCY_WINDOW ? row->use->newest : row->use->latency;

	return all && all[which].count ? histogram_percentile(&all[which], percent) : CELL_NONE;
}

static bool failures_known(const struct container_row *row)
{
	return row->known.maps && row->known.unmaps && row->known.pins;
}

static __u64 still_pinned(const struct container_row *row)
{
	return count_if(row->known.pins && row->known.unpins,
			difference(row->use->pinned, row->use->unpinned));
}

static const struct vfio_limit_use *vfio_memlock(const struct container_row *row)
{
	return &row->use->limits[LIMIT_MEMLOCK];
}

static const struct vfio_limit_use *vfio_entries_used(const struct container_row *row)
{
	return &row->use->limits[LIMIT_DMA_ENTRIES];
}

static const char *vfio_exempt(const struct vfio_limit_use *use)
{
	if (!use->seen)
		return "";
	return use->exempt ? "yes" : "no";
}

#define VFIO(COLUMN)                                                                              \
	COLUMN(container, none, TEXT, 14, SHOWN, session_device_name(context, row->handle, text)) \
	COLUMN(pid, none, COUNT, 8, WIDE, row->info ? count_or_none(row->info->pid) : CELL_NONE)  \
	COLUMN(comm, none, TEXT, 16, WIDE, row->info ? row->info->comm : "")                      \
	COLUMN(iommu, none, TEXT, 7, WIDE, row->info ? row->info->model : "")                     \
	COLUMN(maps, none, COUNT, 7, SHOWN, count_if(row->known.maps, row->use->maps))            \
	COLUMN(unmaps, none, COUNT, 7, SHOWN, count_if(row->known.unmaps, row->use->unmaps))      \
	COLUMN(closed, none, COUNT, 6, WIDE, count_if(row->known.closed, row->use->closed))       \
	COLUMN(failed, none, COUNT, 6, SHOWN, count_if(failures_known(row), row->use->failed))    \
	COLUMN(most_maps, per_s, COUNT, 9, WIDE, count_if(row->known.maps, row->use->most_maps))  \
	COLUMN(mapped, none, BYTES, 8, WIDE, count_if(row->known.maps, row->use->mapped))         \
	COLUMN(unmapped, none, BYTES, 8, WIDE, count_if(row->known.unmaps, row->use->unmapped))   \
	COLUMN(pins, none, COUNT, 7, WIDE, count_if(row->known.pins, row->use->pins))             \
	COLUMN(pinned, none, BYTES, 7, WIDE, count_if(row->known.pins, row->use->pinned))         \
	COLUMN(still_pinned, none, BYTES, 12, WIDE, still_pinned(row))                            \
	COLUMN(locked, none, BYTES, 7, SHOWN,                                                     \
	       count_if(vfio_memlock(row)->seen, vfio_memlock(row)->peak))                        \
	COLUMN(memlock, none, BYTES, 7, SHOWN, vfio_limit_of(vfio_memlock(row)))                  \
	COLUMN(memlock_used, percent, REAL, 12, WIDE, percent_used(vfio_memlock(row)))            \
	COLUMN(exempt, none, TEXT, 6, WIDE, vfio_exempt(vfio_memlock(row)))                       \
	COLUMN(entries, none, COUNT, 7, WIDE,                                                     \
	       count_if(vfio_entries_used(row)->seen, vfio_entries_used(row)->peak))              \
	COLUMN(entry_limit, none, COUNT, 11, WIDE, vfio_limit_of(vfio_entries_used(row)))         \
	COLUMN(entries_used, percent, REAL, 12, WIDE, percent_used(vfio_entries_used(row)))       \
	COLUMN(map_p50, none, DURATION, 7, SHOWN, latency(row, VFIO_MAP_NS, 50))                  \
	COLUMN(map_p99, none, DURATION, 7, SHOWN, latency(row, VFIO_MAP_NS, 99))                  \
	COLUMN(map_max, none, DURATION, 7, WIDE, latency(row, VFIO_MAP_NS, 100))                  \
	COLUMN(unmap_p50, none, DURATION, 9, WIDE, latency(row, VFIO_UNMAP_NS, 50))               \
	COLUMN(unmap_p99, none, DURATION, 9, WIDE, latency(row, VFIO_UNMAP_NS, 99))               \
	COLUMN(unmap_max, none, DURATION, 9, WIDE, latency(row, VFIO_UNMAP_NS, 100))              \
	COLUMN(pin_p50, none, DURATION, 7, WIDE, latency(row, VFIO_PIN_NS, 50))                   \
	COLUMN(pin_p99, none, DURATION, 7, WIDE, latency(row, VFIO_PIN_NS, 99))                   \
	COLUMN(run_mean, none, BYTES, 8, WIDE, run_mean(row->use))
TABLE(vfio, "VFIO containers", VFIO, struct container_row, struct session)

void vfio_write(const struct analysis *analysis, struct writer *writer,
		const struct table_wish *wish)
{
	const struct vfio *vfio = analysis->vfio;
	const struct session *session = analysis->session;

	writer_begin_with(writer, &vfio_table, session);
	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(session, h)) {
		const struct vfio_container *use = vfio_container(vfio, h);
		const struct device_info *info = session_device(session, h);

		if (use)
			writer_row(writer, &(struct container_row){h, use, info,
								   vfio_known_of(session, info),
								   wish->span});
	}
	writer_end(writer);
}

struct vfio_run_row {
	__u32 handle;
	const struct vfio_container *use;
	unsigned int order;
};

#define RUNS(COLUMN)                                                                              \
	COLUMN(container, none, TEXT, 14, SHOWN, session_device_name(context, row->handle, text)) \
	COLUMN(from, none, BYTES, 8, SHOWN, (__u64)PAGE_BYTES << row->order)                      \
	COLUMN(below, none, BYTES, 8, SHOWN, (__u64)PAGE_BYTES << (row->order + 1))               \
	COLUMN(runs, none, COUNT, 10, SHOWN, row->use->runs[row->order])                          \
	COLUMN(pinned, none, BYTES, 10, SHOWN, row->use->run_bytes[row->order])
TABLE(vfio_runs, "Contiguous memory pinned at once", RUNS, struct vfio_run_row, struct session)

void vfio_write_runs(const struct analysis *analysis, struct writer *writer,
		     const struct table_wish *wish)
{
	const struct vfio *vfio = analysis->vfio;
	const struct session *session = analysis->session;

	(void)wish;
	writer_begin_with(writer, &vfio_runs_table, session);
	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(session, h)) {
		const struct vfio_container *c = vfio_container(vfio, h);

		for (unsigned int i = 0; c && i < VFIO_ORDERS; i++)
			if (c->runs[i])
				writer_row(writer, &(struct vfio_run_row){h, c, i});
	}
	writer_end(writer);
}

struct failure_row {
	__u32 handle;
	const struct vfio_failure *failure;
};

#define FAILURES(COLUMN)                                                                          \
	COLUMN(container, none, TEXT, 14, SHOWN, session_device_name(context, row->handle, text)) \
	COLUMN(request, none, TEXT, 7, SHOWN, request_name(row->failure->kind))                   \
	COLUMN(errno, none, COUNT, 5, SHOWN, row->failure->error)                                 \
	COLUMN(error, none, TEXT, 13, SHOWN, error_name(row->failure->error))                     \
	COLUMN(count, none, COUNT, 10, SHOWN, row->failure->count)
TABLE(vfio_failures, "VFIO requests refused", FAILURES, struct failure_row, struct session)

void vfio_write_failures(const struct analysis *analysis, struct writer *writer,
			 const struct table_wish *wish)
{
	const struct vfio *vfio = analysis->vfio;
	const struct session *session = analysis->session;

	(void)wish;
	writer_begin_with(writer, &vfio_failures_table, session);
	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(session, h)) {
		const struct vfio_container *c = vfio_container(vfio, h);

		for (unsigned int i = 0; c && i < c->failure_count; i++)
			writer_row(writer, &(struct failure_row){h, &c->failures[i]});
	}
	writer_end(writer);
}

struct vfio_device_row {
	__u32 handle;
	const struct vfio_device_use *use;
	bool resets, vectors, interrupts; /* known */
};

#define DEVICES(COLUMN)                                                                            \
	COLUMN(device, none, TEXT, 16, SHOWN, session_device_name(context, row->handle, text))     \
	COLUMN(resets, none, COUNT, 6, SHOWN, count_if(row->resets, row->use->resets))             \
	COLUMN(reset_failed, none, COUNT, 12, WIDE, count_if(row->resets, row->use->reset_failed)) \
	COLUMN(reset_mean, none, DURATION, 10, SHOWN,                                              \
	       row->use->resets ? row->use->reset_ns / row->use->resets : CELL_NONE)               \
	COLUMN(reset_max, none, DURATION, 9, SHOWN,                                                \
	       count_if(row->use->resets, row->use->reset_max_ns))                                 \
	COLUMN(vectors, none, COUNT, 7, SHOWN, count_if(row->vectors, row->use->vectors))          \
	COLUMN(vectors_failed, none, COUNT, 14, WIDE,                                              \
	       count_if(row->vectors, row->use->vectors_failed))                                   \
	COLUMN(interrupts, none, COUNT, 10, SHOWN, count_if(row->interrupts, row->use->interrupts))
TABLE(vfio_devices, "Devices behind VFIO", DEVICES, struct vfio_device_row, struct session)

void vfio_write_devices(const struct analysis *analysis, struct writer *writer,
			const struct table_wish *wish)
{
	const struct vfio *vfio = analysis->vfio;
	const struct session *session = analysis->session;
	struct vfio_device_row row = {
		.resets = !unknown_probe(session, PROBE_VFIO_RESET),
		.vectors = !unknown_probe(session, PROBE_VFIO_VECTORS),
		.interrupts = !unknown_probe(session, PROBE_VFIO_MSI) &&
			      !unknown_probe(session, PROBE_VFIO_INTX),
	};

	(void)wish;
	writer_begin_with(writer, &vfio_devices_table, session);
	for (__u32 h = 0; h < SESSION_DEVICES; h = session_device_next(session, h)) {
		row.handle = h;
		row.use = vfio_device(vfio, h);
		if (row.use)
			writer_row(writer, &row);
	}
	writer_end(writer);
}

static bool vfio_has_rows(const struct analysis *a)
{
	return vfio_containers(a->vfio);
}

static int create_vfio(struct analysis *a, const struct analysis_config *config)
{
	return vfio_create(&a->vfio, config->windowed, &config->period);
}

static const struct analyzer_table tables[] = {
	{&vfio_table, vfio_write, vfio_has_rows},
	{&vfio_runs_table, vfio_write_runs},
	{&vfio_failures_table, vfio_write_failures},
	{&vfio_devices_table, vfio_write_devices},
	{0},
};

DEFINE_ANALYZER(vfio, .tables = tables, .chapter = REPORT_VFIO, .findings = vfio_write_findings,
		.look = vfio_look)
