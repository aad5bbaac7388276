// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/clients.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/analysis.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"

#define SHORT_WAIT NSEC_PER_MSEC /* nobody starves of less */

enum client_counter { CLIENT_IOS, CLIENT_BYTES, CLIENT_ERRORS };

struct client_account {
	struct lent_counters counters; /* by enum client_counter */
	__u32 run;
	bool over;
	__u64 longest_ns, idle_ns;
};

struct clients {
	const struct session *session;
	struct slots devices; /* struct client_account */
};

static void take_client(struct clients *c, const struct event *e)
{
	const __u64 now[LENT_COUNTERS] = {
		[CLIENT_IOS] = e->value, [CLIENT_BYTES] = e->length, [CLIENT_ERRORS] = e->instance};
	struct client_account *client = slots_make(&c->devices, e->device);

	if (!client || !lent_counters_take(&client->counters, c->session, e, now, 0))
		return;
	client->run = e->tid;
	client->over = e->code;
	client->longest_ns = e->address;
	client->idle_ns = e->pasid * NSEC_PER_MSEC;
}

static int clients_on_events(void *self, const struct event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (events[i].kind == EVENT_CLIENT_STATE)
			take_client(self, &events[i]);
	return 0;
}

static struct stream clients_stream(struct clients *c)
{
	static const struct stream_ops ops = {.events = clients_on_events};

	return (struct stream){&ops, c};
}

static int create_clients(struct analysis *a, const struct analysis_config *config)
{
	struct clients *c = a->clients = memory_calloc(1, sizeof(*c));

	(void)config;
	if (!c)
		return failed(-ENOMEM, "no memory for the clients of lent devices");
	c->session = a->session;
	slots_init(&c->devices, sizeof(struct client_account));
	return 0;
}

static void clients_destroy(struct clients *c)
{
	if (!c)
		return;
	slots_free(&c->devices);
	memory_free(c);
}

bool client_totals_of(const struct clients *c, __u32 device, struct client_totals *t)
{
	const struct client_account *client = slots_find(&c->devices, device);

	if (!client || !client->counters.last_ns)
		return false;
	*t = (struct client_totals){
		.device = device,
		.run = client->run,
		.over = client->over,
		.ios = client->counters.grown[CLIENT_IOS],
		.bytes = client->counters.grown[CLIENT_BYTES],
		.errors = client->counters.grown[CLIENT_ERRORS],
		.longest_ns = client->longest_ns,
		.idle_ns = client->idle_ns,
		.watched_ns = client->counters.watched_ns,
		.rate = NAN,
	};
	/* What it did not do after its last I/O is no part of its rate. */
	if (t->watched_ns > t->idle_ns)
		t->rate = (double)t->ios * 1e9 / (double)(t->watched_ns - t->idle_ns);
	return true;
}

struct client_row {
	struct client_totals totals;
	char name[NAME_TEXT]; /* of the device */
	enum client_lack lack;
	__u64 median_ns; /* of the longest waits of all of its device */
	double mean;	 /* of their I/Os */
};

static int by_device_and_run(const void *a, const void *b)
{
	const struct client_row *x = a, *y = b;
	int names = strcmp(x->name, y->name);

	if (x->totals.run != y->totals.run)
		return x->totals.run < y->totals.run ? -1 : 1;
	if (names)
		return names;
	return (x->totals.device > y->totals.device) - (x->totals.device < y->totals.device);
}

static int by_wait(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Of those of one device and run. */
static void judge_clients(struct client_row *rows, size_t count, __u64 *waits)
{
	double mean = 0;
	__u64 median;

	for (size_t i = 0; i < count; i++) {
		waits[i] = rows[i].totals.longest_ns;
		mean += (double)rows[i].totals.ios / (double)count;
	}
	qsort(waits, count, sizeof(*waits), by_wait);
	median = waits[(count - 1) / 2];
	for (size_t i = 0; i < count; i++) {
		const struct client_totals *t = &rows[i].totals;

		rows[i].median_ns = median;
		rows[i].mean = mean;
		if (count > 1 && t->longest_ns > SHORT_WAIT &&
		    t->longest_ns / CLIENTS_WAITS > median)
			rows[i].lack = LACK_WAIT;
		else if (count > 1 && (double)t->ios * CLIENTS_SHARE < mean)
			rows[i].lack = LACK_SHARE;
	}
}

/* To be freed; NULL: no memory. */
static struct client_row *clients_collect(const struct analysis *a, size_t *count)
{
	char text[NAME_TEXT];
	size_t most = 0, end;
	struct client_row *rows;
	__u64 *waits;

	for (__u32 h = 0; h < SLOTS_MAX; h = slots_next(&a->clients->devices, h))
		most++;
	rows = calloc(most + 1, sizeof(*rows));
	waits = calloc(most + 1, sizeof(*waits));
	*count = 0;
	for (__u32 h = 0; rows && waits && h < SLOTS_MAX; h = slots_next(&a->clients->devices, h)) {
		struct client_row *row = &rows[*count];

		if (!client_totals_of(a->clients, h, &row->totals))
			continue;
		snprintf(row->name, sizeof(row->name), "%s", lent_device(a->session, h, text));
		++*count;
	}
	if (rows)
		qsort(rows, *count, sizeof(*rows), by_device_and_run);
	for (size_t i = 0; rows && waits && i < *count; i = end) {
		for (end = i + 1; end < *count && rows[end].totals.run == rows[i].totals.run &&
				  !strcmp(rows[end].name, rows[i].name);)
			end++;
		judge_clients(rows + i, end - i, waits);
	}
	free(waits);
	return rows;
}

static const char *lack_name(enum client_lack lack)
{
	static const char *const names[LACKS] = {
		[LACK_NONE] = "-", [LACK_WAIT] = "wait", [LACK_SHARE] = "share"};

	return names[lack];
}

#define CLIENTS(COLUMN)                                                         \
	COLUMN(client, none, TEXT, 13, SHOWN,                                   \
	       session_device_name(context, row->totals.device, text))          \
	COLUMN(device, none, TEXT, 8, SHOWN, row->name)                         \
	COLUMN(ios, none, COUNT, 7, SHOWN, row->totals.ios)                     \
	COLUMN(moved, bytes, BYTES, 6, SHOWN, row->totals.bytes)                \
	COLUMN(rate, per_s, REAL, 7, SHOWN, row->totals.rate)                   \
	COLUMN(longest_wait, none, DURATION, 12, SHOWN, row->totals.longest_ns) \
	COLUMN(median_wait, none, DURATION, 11, WIDE, row->median_ns)           \
	COLUMN(mean_ios, none, REAL, 9, WIDE, row->mean)                        \
	COLUMN(starved, none, TEXT, 7, SHOWN, lack_name(row->lack))             \
	COLUMN(errors, none, COUNT, 6, SHOWN, row->totals.errors)               \
	COLUMN(idle, none, DURATION, 8, WIDE, row->totals.idle_ns)              \
	COLUMN(over, none, TEXT, 4, WIDE, row->totals.over ? "yes" : "no")
TABLE(clients, "Users of lent devices", CLIENTS, struct client_row, struct session)

static void clients_write(const struct analysis *a, struct writer *writer,
			  const struct table_wish *wish)
{
	size_t count;
	struct client_row *rows = clients_collect(a, &count);

	if (!rows) {
		writer_fail(writer, failed(-ENOMEM, "no memory for the clients of lent devices"));
		return;
	}
	writer_begin_with(writer, &clients_table, a->session);
	for (size_t i = 0; i < count && (!wish->limit || i < wish->limit); i++)
		writer_row(writer, &rows[i]);
	free(rows);
	writer_end(writer);
	if (wish->limit && count > wish->limit)
		writer_note(writer, "... and %zu more clients.", count - wish->limit);
}

static void write_client_finding(const struct analysis *a, struct writer *writer,
				 const struct client_row *row)
{
	const struct client_totals *t = &row->totals;
	char name[DEVICE_NAME_TEXT], wait[UNITS_TEXT], median[UNITS_TEXT];

	if (row->lack == LACK_WAIT)
		writer_note(writer,
			    "%s starved: it waited %s for one I/O, others of %s at most %s in the "
			    "median.",
			    session_device_name(a->session, t->device, name),
			    units_format_duration(t->longest_ns, wait), row->name,
			    units_format_duration(row->median_ns, median));
	else if (row->lack == LACK_SHARE)
		writer_note(writer,
			    "%s starved: it got %llu I/Os where users of %s got %.0f in the mean, "
			    "and waited up to %s.",
			    session_device_name(a->session, t->device, name), t->ios, row->name,
			    row->mean, units_format_duration(t->longest_ns, wait));
	if (t->errors)
		writer_note(writer, "%s: %llu of its I/Os on %s ended in error.",
			    session_device_name(a->session, t->device, name), t->errors, row->name);
}

static void clients_write_findings(const struct analysis *a, struct writer *writer)
{
	size_t count;
	struct client_row *rows = clients_collect(a, &count);

	for (size_t i = 0; rows && i < count; i++)
		write_client_finding(a, writer, &rows[i]);
	free(rows);
}

static bool clients_have_rows(const struct analysis *a)
{
	return a->clients->devices.end;
}

static const struct analyzer_table tables[] = {
	{&clients_table, clients_write, clients_have_rows, REPORT_ROWS * 2ull}, {0}};

DEFINE_ANALYZER(clients, .tables = tables, .chapter = REPORT_IO, .findings = clients_write_findings)
