// SPDX-License-Identifier: GPL-2.0
/*
 * Each event has what a role then had in all, so that one which was lost spoils no later number. What is pinned is what is registered
 * at each instant at which the latter is told, which comes after the pins that belong to it.
 */
#include "lib/analyze/guest_pins.h"

#include <errno.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/hyv.h"
#include "lib/analyze/unknown.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"
#include "lib/base/verb_names.h"

struct pin_gauge {
	__u64 now, most;
	bool told;
};

struct guest_account {
	struct pin_gauge role[PIN_ROLES], registered;
	__u64 all, all_most; /* of all roles together */
	__u64 quota, refused, refused_bytes, faults;
	int refused_error;  /* the last one's */
	__u64 differed;	    /* instants */
	struct event first; /* of these: role in `code`, what it had in `length` */
	__u32 guest;	    /* process, 0: none is known */
	bool ended;
};

struct guest_pins {
	const struct session *session;
	struct slots devices; /* struct guest_account */
};

/* Whether this role has to have what is registered: of mode odp what is pinned at all, of mode passthrough its share of memory. */
static bool role_follows(enum hyv_mode mode, unsigned int role)
{
	return mode == HYV_HYBRID || mode == HYV_ODP || (mode != HYV_OTHER && role == PIN_DRIVER);
}

static void gauge_take(struct pin_gauge *gauge, __u64 now)
{
	gauge->now = now;
	gauge->told = true;
	if (gauge->most < now)
		gauge->most = now;
}

static void take_pinned(struct guest_account *g, const struct event *e)
{
	struct pin_gauge *gauge = e->code < PIN_ROLES ? &g->role[e->code] : NULL;

	if (!gauge)
		return;
	g->quota = e->address;
	if (e->flags & EVENT_MAJOR) {
		g->refused++;
		g->refused_bytes += e->length;
		g->refused_error = e->queue;
	}
	gauge_take(gauge, e->value);
	g->all = 0;
	for (unsigned int role = 0; role < PIN_ROLES; role++)
		g->all += g->role[role].now;
	if (g->all_most < g->all)
		g->all_most = g->all;
}

static void take_registered(const struct session *s, struct guest_account *g, const struct event *e)
{
	enum hyv_mode mode = hyv_mode(s, e->device);

	gauge_take(&g->registered, e->value);
	for (unsigned int role = 0; role < PIN_ROLES; role++) {
		const struct pin_gauge *gauge = &g->role[role];

		if (!gauge->told || !role_follows(mode, role) || gauge->now == e->value)
			continue;
		if (!g->differed++) {
			g->first = *e;
			g->first.code = (__u8)role;
			g->first.length = gauge->now;
		}
	}
}

static void take_guest(struct guest_account *g, const struct event *e)
{
	g->ended = !e->code;
	g->guest = (__u32)e->value;
}

/* Devices whose memory is pinned before they touch it. */
static bool never_faults(enum hyv_mode mode)
{
	return mode == HYV_HYBRID || mode == HYV_PASSTHROUGH;
}

static int guest_pins_on_events(void *self, const struct event *events, size_t count)
{
	struct guest_pins *p = self;

	for (size_t i = 0; i < count; i++) {
		const struct event *e = &events[i];
		bool fault = e->kind == EVENT_FAULT_DETECT &&
			     never_faults(hyv_mode(p->session, e->device));
		struct guest_account *g;

		if (!fault && e->kind != EVENT_PINNED && e->kind != EVENT_REGISTERED &&
		    e->kind != EVENT_GUEST_STATE)
			continue;
		g = slots_make(&p->devices, e->device);
		if (!g)
			continue;
		if (fault)
			g->faults++;
		else if (e->kind == EVENT_PINNED)
			take_pinned(g, e);
		else if (e->kind == EVENT_REGISTERED)
			take_registered(p->session, g, e);
		else
			take_guest(g, e);
	}
	return 0;
}

static struct stream guest_pins_stream(struct guest_pins *p)
{
	static const struct stream_ops ops = {.events = guest_pins_on_events};

	return (struct stream){&ops, p};
}

static int create_guest_pins(struct analysis *a, const struct analysis_config *config)
{
	struct guest_pins *p = a->guest_pins = memory_calloc(1, sizeof(*p));

	(void)config;
	if (!p)
		return failed(-ENOMEM, "no memory for the pins of guests");
	p->session = a->session;
	slots_init(&p->devices, sizeof(struct guest_account));
	return 0;
}

static void guest_pins_destroy(struct guest_pins *p)
{
	if (!p)
		return;
	slots_free(&p->devices);
	memory_free(p);
}

static bool guest_was_told(const struct guest_account *g)
{
	bool told = g && (g->registered.told || g->guest || g->faults || g->refused);

	for (unsigned int role = 0; g && role < PIN_ROLES; role++)
		told |= g->role[role].told;
	return told;
}

/* Still pinned though nothing is registered any more; CELL_NONE: something is. What mode passthrough pins outlives its guests. */
static __u64 pins_left(const struct session *s, __u32 device, const struct guest_account *g)
{
	bool ended = g->ended && hyv_mode(s, device) != HYV_PASSTHROUGH;

	return count_if(ended || (g->registered.told && !g->registered.now), g->all);
}

struct pin_row {
	__u32 device;
	const struct guest_account *g;
};

static __u64 pin_role_bytes(const struct pin_row *row, unsigned int role)
{
	return count_if(row->g->role[role].told, row->g->role[role].now);
}

static __u64 pin_role_most(const struct pin_row *row, unsigned int role)
{
	return count_if(row->g->role[role].told, row->g->role[role].most);
}

#define PINS(COLUMN)                                                                           \
	COLUMN(device, none, TEXT, 14, SHOWN, session_device_name(context, row->device, text)) \
	COLUMN(tenant, none, TEXT, 10, WIDE, hyv_tenant(context, row->device))                 \
	COLUMN(mode, none, TEXT, 11, WIDE, hyv_mode_name(hyv_mode(context, row->device)))      \
	COLUMN(registered, bytes, BYTES, 10, SHOWN,                                            \
	       count_if(row->g->registered.told, row->g->registered.now))                      \
	COLUMN(guest, bytes, BYTES, 7, SHOWN, pin_role_bytes(row, PIN_GUEST))                  \
	COLUMN(remap, bytes, BYTES, 7, SHOWN, pin_role_bytes(row, PIN_REMAP))                  \
	COLUMN(driver, bytes, BYTES, 7, SHOWN, pin_role_bytes(row, PIN_DRIVER))                \
	COLUMN(most, bytes, BYTES, 7, WIDE, row->g->all_most)                                  \
	COLUMN(quota, bytes, BYTES, 7, SHOWN, count_or_none(row->g->quota))                    \
	COLUMN(refused, none, COUNT, 7, SHOWN, row->g->refused)                                \
	COLUMN(left, bytes, BYTES, 7, SHOWN, pins_left(context, row->device, row->g))          \
	COLUMN(registered_most, bytes, BYTES, 15, WIDE,                                        \
	       count_if(row->g->registered.told, row->g->registered.most))                     \
	COLUMN(guest_most, bytes, BYTES, 10, WIDE, pin_role_most(row, PIN_GUEST))              \
	COLUMN(remap_most, bytes, BYTES, 10, WIDE, pin_role_most(row, PIN_REMAP))              \
	COLUMN(driver_most, bytes, BYTES, 11, WIDE, pin_role_most(row, PIN_DRIVER))            \
	COLUMN(refused_size, bytes, BYTES, 12, WIDE, row->g->refused_bytes)                    \
	COLUMN(differed, none, COUNT, 8, WIDE, row->g->differed)                               \
	COLUMN(faults, none, COUNT, 6, WIDE, row->g->faults)
TABLE(pins, "Pinned memory of guests", PINS, struct pin_row, struct session)

static bool pin_row_of(const struct analysis *a, __u32 device, struct pin_row *row)
{
	*row = (struct pin_row){device, slots_find(&a->guest_pins->devices, device)};
	return guest_was_told(row->g);
}

void guest_pins_write(const struct analysis *a, struct writer *writer,
		      const struct table_wish *wish)
{
	struct pin_row row;
	size_t rows = 0;

	writer_begin_with(writer, &pins_table, a->session);
	for (__u32 h = 0; h < SLOTS_MAX; h = slots_next(&a->guest_pins->devices, h))
		if (pin_row_of(a, h, &row) && (!wish->limit || rows++ < wish->limit))
			writer_row(writer, &row);
	writer_end(writer);
	if (wish->limit && rows > wish->limit)
		writer_note(writer, "... and %zu more devices of guests.", rows - wish->limit);
}

__u64 guest_pins_count(const struct analysis *a)
{
	struct pin_row row;
	__u64 rows = 0;

	for (__u32 h = 0; h < SLOTS_MAX; h = slots_next(&a->guest_pins->devices, h))
		rows += pin_row_of(a, h, &row);
	return rows;
}

__u64 guest_pins_bytes(const struct analysis *a)
{
	struct pin_row row;
	__u64 bytes = 0;

	for (__u32 h = 0; h < SLOTS_MAX; h = slots_next(&a->guest_pins->devices, h))
		bytes += pin_row_of(a, h, &row) ? row.g->all : 0;
	return bytes;
}

static bool guest_pins_have_rows(const struct analysis *a)
{
	return guest_pins_count(a);
}

/* Pins that went untold, or were not watched, make no difference. */
static bool pins_are_whole(const struct session *s)
{
	const struct loss_info *loss = session_loss(s);

	return !unknown_kind(s, EVENT_PINNED) && !unknown_kind(s, EVENT_REGISTERED) &&
	       (!loss || !loss_of_events(loss));
}

static const char *times(__u64 count)
{
	return count == 1 ? "time" : "times";
}

static void write_pin_differences(const struct analysis *a, struct writer *writer,
				  const struct pin_row *row)
{
	const struct guest_account *g = row->g;
	char name[DEVICE_NAME_TEXT], has[UNITS_TEXT], due[UNITS_TEXT];
	__u64 left = pins_left(a->session, row->device, g);

	if (!pins_are_whole(a->session))
		return;
	if (g->differed)
		writer_note(writer,
			    "%s: what is pinned was not what is registered, %llu %s; first role %s "
			    "had %s of %s.",
			    session_device_name(a->session, row->device, name), g->differed,
			    times(g->differed), pin_role_name(g->first.code),
			    units_format_size(g->first.length, has),
			    units_format_size(g->first.value, due));
	if (left && left != CELL_NONE)
		writer_note(writer, "%s: %s stayed pinned, though nothing is registered any more.",
			    session_device_name(a->session, row->device, name),
			    units_format_size(left, has));
}

static void write_pin_finding(const struct analysis *a, struct writer *writer,
			      const struct pin_row *row)
{
	const struct guest_account *g = row->g;
	char name[DEVICE_NAME_TEXT], bytes[UNITS_TEXT], quota[UNITS_TEXT] = "none";
	char of[UNITS_TEXT + 8] = "";

	write_pin_differences(a, writer, row);
	if (g->faults)
		writer_note(writer,
			    "Violation: %s faulted %llu %s, though mode %s has all memory pinned "
			    "that its device touches.",
			    session_device_name(a->session, row->device, name), g->faults,
			    times(g->faults), hyv_mode_name(hyv_mode(a->session, row->device)));
	if (!g->refused)
		return;
	if (g->quota)
		units_format_size(g->quota, quota);
	if (g->refused_bytes)
		snprintf(of, sizeof(of), ", of %s", units_format_size(g->refused_bytes, bytes));
	writer_note(writer, "%s: %llu %s refused%s, the last one: %s; quota: %s.",
		    session_device_name(a->session, row->device, name), g->refused,
		    g->refused == 1 ? "pin was" : "pins were", of, strerror(g->refused_error),
		    quota);
}

static void guest_pins_write_findings(const struct analysis *a, struct writer *writer)
{
	struct pin_row row;

	for (__u32 h = 0; h < SLOTS_MAX; h = slots_next(&a->guest_pins->devices, h))
		if (pin_row_of(a, h, &row))
			write_pin_finding(a, writer, &row);
}

static const struct analyzer_table tables[] = {
	{&pins_table, guest_pins_write, guest_pins_have_rows, REPORT_ROWS * 2ull}, {0}};

DEFINE_ANALYZER(guest_pins, .of_period = true, .tables = tables, .chapter = REPORT_RDMA,
		.findings = guest_pins_write_findings)
