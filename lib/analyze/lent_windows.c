// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/lent_windows.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/hash.h"
#include "lib/analyze/lent.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"

#define NEARLY_FULL 90 /* percent */

struct window_key {
	__u32 device, run, borrow;
};

struct window_account {
	struct window_key key;
	struct window_totals totals;
	struct lent_counters counters; /* bytes, lost writes, all ones */
	UT_hash_handle hh;
};

struct lent_windows {
	const struct session *session;
	struct window_account *accounts;
	struct slots devices; /* const struct window_account *, its newest borrow's */
	__u64 dropped;
};

static struct window_account *window_make(struct lent_windows *w, const struct event *e,
					  __u32 borrow)
{
	/* An adapter is one machine's, and so of one run. */
	const struct window_key key = {e->device, borrow == LENT_NONE ? 0 : e->tid, borrow};
	struct window_account *account;

	HASH_FIND(hh, w->accounts, &key, sizeof(key), account);
	if (account)
		return account;
	account = HASH_COUNT(w->accounts) < WINDOWS_MAX ? memory_calloc(1, sizeof(*account)) : NULL;
	if (account) {
		account->key = key;
		account->totals.device = key.device;
		account->totals.run = key.run;
		account->totals.borrow = key.borrow;
		HASH_ADD(hh, w->accounts, key, sizeof(account->key), account);
		if (account->hh.tbl)
			return account;
		memory_free(account);
	}
	w->dropped++;
	return NULL;
}

static void take_adapter(struct lent_windows *w, struct window_account *account,
			 const struct event *e)
{
	const __u64 now[LENT_COUNTERS] = {e->length, e->address >> 32, (__u32)e->address};
	struct window_totals *t = &account->totals;

	if (!lent_counters_take(&account->counters, w->session, e, now, 0))
		return;
	t->told_ns = e->time_ns;
	t->slots = e->pasid;
	t->slots_used = e->group >> 16;
	t->slots_most = e->group & 0xffff;
	t->requesters_used = e->instance >> 16;
	t->requesters = e->instance & 0xffff;
	t->mapped_bytes = e->value;
	t->bytes = account->counters.grown[0];
	t->lost_writes = account->counters.grown[1];
	t->all_ones = account->counters.grown[2];
}

static void take_borrow(struct lent_windows *w, const struct event *e)
{
	struct window_account *account = window_make(w, e, e->group);
	const struct window_account **newest = slots_make(&w->devices, e->device);

	if (!account || period_is_after(session_period(w->session), e->time_ns))
		return;
	if (newest)
		*newest = account;
	account->totals.told_ns = e->time_ns;
	account->totals.charged = e->value;
	if (account->totals.charged_most < e->length)
		account->totals.charged_most = e->length;
	account->totals.window_bytes = e->address;
}

static void count_change(struct window_totals *t, const struct event *e)
{
	switch (e->kind) {
	case EVENT_WINDOW_MAP:
		t->maps++;
		break;
	case EVENT_WINDOW_UNMAP:
		t->unmaps++;
		break;
	case EVENT_REQUESTER_ADD:
		t->adds++;
		break;
	case EVENT_REQUESTER_REMOVE:
		t->removes++;
		break;
	default:
		t->downs += !e->code;
		t->wipes += !!(e->flags & EVENT_MAJOR);
		break;
	}
}

static void lent_windows_take(struct lent_windows *w, const struct event *e)
{
	struct window_account *account;

	switch (e->kind) {
	case EVENT_WINDOW_STATE:
		take_borrow(w, e);
		return;
	case EVENT_WINDOW_MAP:
	case EVENT_WINDOW_UNMAP:
	case EVENT_REQUESTER_ADD:
	case EVENT_REQUESTER_REMOVE:
	case EVENT_LINK_STATE:
		account = window_make(w, e, LENT_NONE);
		if (account && period_has(session_period(w->session), e->time_ns))
			count_change(&account->totals, e);
		return;
	case EVENT_ADAPTER_STATE:
		account = window_make(w, e, LENT_NONE);
		if (account)
			take_adapter(w, account, e);
		return;
	default:
		return;
	}
}

static int lent_windows_on_events(void *self, const struct event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		lent_windows_take(self, &events[i]);
	return 0;
}

static struct stream lent_windows_stream(struct lent_windows *w)
{
	static const struct stream_ops ops = {.events = lent_windows_on_events};

	return (struct stream){&ops, w};
}

static int create_lent_windows(struct analysis *a, const struct analysis_config *config)
{
	struct lent_windows *w = a->lent_windows = memory_calloc(1, sizeof(*w));

	(void)config;
	if (!w)
		return failed(-ENOMEM, "no memory for the windows of adapters");
	w->session = a->session;
	slots_init(&w->devices, sizeof(const struct window_account *));
	return 0;
}

static void lent_windows_destroy(struct lent_windows *w)
{
	struct window_account *account, *next;

	if (!w)
		return;
	HASH_ITER(hh, w->accounts, account, next) {
		HASH_DEL(w->accounts, account);
		memory_free(account);
	}
	slots_free(&w->devices);
	memory_free(w);
}

__u64 lent_windows_dropped(const struct lent_windows *w)
{
	return w->dropped;
}

const struct window_totals *window_of_device(const struct lent_windows *w, __u32 device)
{
	struct window_account *const *newest = slots_find(&w->devices, device);

	return newest && *newest ? &(*newest)->totals : NULL;
}

static bool is_adapter(const struct window_totals *t)
{
	return t->borrow == LENT_NONE;
}

static __u64 of_adapter(const struct window_totals *t, __u64 number)
{
	return count_if(is_adapter(t) && t->told_ns, number);
}

static __u64 of_borrow(const struct window_totals *t, __u64 number)
{
	return count_if(!is_adapter(t), number);
}

static __u64 of_events(const struct window_totals *t, __u16 kind, __u64 number)
{
	return is_adapter(t) ? lent_told(t->known, kind, number) : CELL_NONE;
}

static __u64 left_of(__u64 all, __u64 used)
{
	return all > used ? all - used : 0;
}

#define WINDOWS(COLUMN)                                                                            \
	COLUMN(device, none, TEXT, 12, SHOWN, session_device_name(context, row->device, text))     \
	COLUMN(borrow, none, COUNT, 6, SHOWN, of_borrow(row, row->borrow))                         \
	COLUMN(used, none, COUNT, 4, SHOWN, of_adapter(row, row->slots_used))                      \
	COLUMN(peak, none, COUNT, 4, SHOWN, of_adapter(row, row->slots_most))                      \
	COLUMN(left, none, COUNT, 4, SHOWN, of_adapter(row, left_of(row->slots, row->slots_used))) \
	COLUMN(requesters, none, COUNT, 10, WIDE, of_adapter(row, row->requesters_used))           \
	COLUMN(requesters_left, none, COUNT, 15, SHOWN,                                            \
	       of_adapter(row, left_of(row->requesters, row->requesters_used)))                    \
	COLUMN(mapped, bytes, BYTES, 7, WIDE, of_adapter(row, row->mapped_bytes))                  \
	COLUMN(charged, bytes, BYTES, 8, WIDE, of_borrow(row, row->charged))                       \
	COLUMN(charged_peak, bytes, BYTES, 12, SHOWN, of_borrow(row, row->charged_most))           \
	COLUMN(window, bytes, BYTES, 6, SHOWN, of_borrow(row, row->window_bytes))                  \
	COLUMN(passed, bytes, BYTES, 7, WIDE, of_adapter(row, row->bytes))                         \
	COLUMN(lost_writes, none, COUNT, 11, WIDE, of_adapter(row, row->lost_writes))              \
	COLUMN(all_ones, none, COUNT, 8, WIDE, of_adapter(row, row->all_ones))                     \
	COLUMN(maps, none, COUNT, 6, WIDE, of_events(row, EVENT_WINDOW_MAP, row->maps))            \
	COLUMN(unmaps, none, COUNT, 6, WIDE, of_events(row, EVENT_WINDOW_UNMAP, row->unmaps))      \
	COLUMN(adds, none, COUNT, 6, WIDE, of_events(row, EVENT_REQUESTER_ADD, row->adds))         \
	COLUMN(removes, none, COUNT, 7, WIDE,                                                      \
	       of_events(row, EVENT_REQUESTER_REMOVE, row->removes))                               \
	COLUMN(downs, none, COUNT, 5, WIDE, of_events(row, EVENT_LINK_STATE, row->downs))          \
	COLUMN(wipes, none, COUNT, 5, WIDE, of_events(row, EVENT_LINK_STATE, row->wipes))
TABLE(windows, "Windows of adapters and borrows", WINDOWS, struct window_totals, struct session)

static int by_window(const void *a, const void *b)
{
	const struct window_totals *x = &(*(const struct window_account *const *)a)->totals;
	const struct window_totals *y = &(*(const struct window_account *const *)b)->totals;

	if (is_adapter(x) != is_adapter(y))
		return is_adapter(x) ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->borrow > y->borrow) - (x->borrow < y->borrow);
}

static void lent_windows_write(const struct analysis *a, struct writer *writer,
			       const struct table_wish *wish)
{
	size_t count = HASH_COUNT(a->lent_windows->accounts), at = 0;
	const struct window_account **rows = calloc(count + 1, sizeof(struct window_account *));
	const __u32 known = lent_known(a->session);

	if (!rows) {
		writer_fail(writer, failed(-ENOMEM, "no memory for the windows of adapters"));
		return;
	}
	for (const struct window_account *w = a->lent_windows->accounts; w; w = w->hh.next)
		rows[at++] = w;
	qsort(rows, count, sizeof(struct window_account *), by_window);
	writer_begin_with(writer, &windows_table, a->session);
	for (size_t i = 0; i < count && (!wish->limit || i < wish->limit); i++) {
		struct window_totals row = rows[i]->totals;

		row.known = known;
		writer_row(writer, &row);
	}
	free(rows);
	writer_end(writer);
	if (wish->limit && count > wish->limit)
		writer_note(writer, "... and %zu more windows.", count - wish->limit);
}

static bool nearly_full(__u64 most, __u64 all)
{
	return all && most && most * 100 >= all * NEARLY_FULL;
}

static void write_adapter_finding(const struct analysis *a, struct writer *writer,
				  const struct window_totals *t)
{
	char name[DEVICE_NAME_TEXT];

	if (t->downs)
		writer_note(writer,
			    "Adapter %s: its link went down %llu time%s%s; %llu write%s vanished, "
			    "%llu read%s gave all ones.",
			    session_device_name(a->session, t->device, name), t->downs,
			    t->downs == 1 ? "" : "s",
			    t->wipes ? " and its tables were emptied" : "", t->lost_writes,
			    t->lost_writes == 1 ? "" : "s", t->all_ones,
			    t->all_ones == 1 ? "" : "s");
	else if (t->lost_writes || t->all_ones)
		writer_note(writer,
			    "Adapter %s: %llu write%s vanished, %llu read%s gave all ones, though "
			    "its link was up: nothing was mapped there, or no entry was left.",
			    session_device_name(a->session, t->device, name), t->lost_writes,
			    t->lost_writes == 1 ? "" : "s", t->all_ones,
			    t->all_ones == 1 ? "" : "s");
	if (nearly_full(t->slots_most, t->slots))
		writer_note(writer, "Adapter %s: nearly full, %u of %u windows at most.",
			    session_device_name(a->session, t->device, name), t->slots_most,
			    t->slots);
	if (nearly_full(t->requesters_used, t->requesters))
		writer_note(writer, "Adapter %s: %u of %u requester entries are taken.",
			    session_device_name(a->session, t->device, name), t->requesters_used,
			    t->requesters);
}

static void lent_windows_write_findings(const struct analysis *a, struct writer *writer)
{
	char name[DEVICE_NAME_TEXT], most[UNITS_TEXT], all[UNITS_TEXT];

	for (const struct window_account *w = a->lent_windows->accounts; w; w = w->hh.next) {
		const struct window_totals *t = &w->totals;

		if (is_adapter(t))
			write_adapter_finding(a, writer, t);
		else if (nearly_full(t->charged_most, t->window_bytes))
			writer_note(writer,
				    "%s: the DMA window of borrow %u was nearly full, %s of %s.",
				    session_device_name(a->session, t->device, name), t->borrow,
				    units_format_size(t->charged_most, most),
				    units_format_size(t->window_bytes, all));
	}
	if (a->lent_windows->dropped)
		writer_note(writer, "%llu events of windows found no room.",
			    a->lent_windows->dropped);
}

static bool lent_windows_have_rows(const struct analysis *a)
{
	return a->lent_windows->accounts;
}

static const struct analyzer_table tables[] = {
	{&windows_table, lent_windows_write, lent_windows_have_rows, REPORT_ROWS}, {0}};

DEFINE_ANALYZER(lent_windows, .tables = tables, .chapter = REPORT_IO,
		.findings = lent_windows_write_findings)
