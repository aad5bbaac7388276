// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/borrows.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/analyze/analysis.h"
#include "lib/analyze/hash.h"
#include "lib/analyze/lent.h"
#include "lib/base/cluster_step.h"
#include "lib/base/fail.h"

struct borrow_key {
	__u32 run, number;
};

struct borrow_account {
	struct borrow_key key;
	struct borrow_totals totals;
	UT_hash_handle hh;
};

/* What a device's driver has mapped; joined to its borrow when that is told. */
struct borrow_charge_key {
	__u32 device, number; /* modulo 65536 */
};
struct borrow_charge {
	struct borrow_charge_key key;
	struct aggregate_counts maps, unmaps;
	UT_hash_handle hh;
};

/* A device of a borrower: when it was asked for last, and which borrow of it came last. */
struct borrow_device {
	__u64 asked_ns;
	const struct borrow_account *last;
};

struct borrows {
	const struct session *session;
	struct borrow_account *accounts; /* in the order of their first steps */
	struct borrow_charge *charges;
	struct slots devices;	/* struct borrow_device */
	__u64 dropped, refused; /* found no room; denied, without a number */
};

static struct borrow_account *borrow_make(struct borrows *b, __u32 run, __u32 number)
{
	const struct borrow_key key = {run, number};
	struct borrow_account *account;

	HASH_FIND(hh, b->accounts, &key, sizeof(key), account);
	if (account)
		return account;
	account = HASH_COUNT(b->accounts) < BORROWS_MAX ? memory_calloc(1, sizeof(*account)) : NULL;
	if (account) {
		account->key = key;
		account->totals.run = run;
		account->totals.number = number;
		HASH_ADD(hh, b->accounts, key, sizeof(account->key), account);
		if (account->hh.tbl)
			return account;
		memory_free(account);
	}
	b->dropped++;
	return NULL;
}

static struct borrow_charge *borrow_charge_make(struct borrows *b, __u32 device, __u32 number)
{
	const struct borrow_charge_key key = {device, number & 0xffff};
	struct borrow_charge *charge;

	HASH_FIND(hh, b->charges, &key, sizeof(key), charge);
	if (charge)
		return charge;
	charge = HASH_COUNT(b->charges) < BORROWS_MAX ? memory_calloc(1, sizeof(*charge)) : NULL;
	if (charge) {
		charge->key = key;
		HASH_ADD(hh, b->charges, key, sizeof(charge->key), charge);
		if (charge->hh.tbl)
			return charge;
		memory_free(charge);
	}
	b->dropped++;
	return NULL;
}

static enum borrow_end ends_as(const struct event *e)
{
	switch (e->code) {
	case STEP_REVOKED:
		return BORROW_REVOKED;
	case STEP_BORROWER_DEAD:
		return BORROW_BORROWER_DEAD;
	case STEP_LENDER_DEAD:
		return BORROW_LENDER_DEAD;
	case STEP_DENY:
		return BORROW_DENIED;
	case STEP_REMOVE:
	case STEP_RELEASE:
		return BORROW_RETURNED;
	default:
		return BORROW_LASTS;
	}
}

/* The driver, the guest or the manager may use it from here on. */
static bool is_ready(unsigned int step)
{
	return step == STEP_SHADOW || step == STEP_GUEST_MAPPED || step == STEP_MANAGER_RESET;
}

/* Whoever ends it, and how: what is told later of the clean-up changes nothing, but that somebody was dead or took it back. */
static void borrow_end(struct borrow_totals *t, const struct event *e, enum borrow_end end)
{
	if (t->end != BORROW_LASTS && end == BORROW_RETURNED)
		return;
	if (!t->end_ns)
		t->end_ns = e->time_ns;
	if (t->end == BORROW_LASTS || t->end == BORROW_RETURNED)
		t->end = end;
}

static void borrow_step(struct borrows *b, struct borrow_account *account, const struct event *e)
{
	struct borrow_totals *t = &account->totals;
	struct borrow_device *device = slots_make(&b->devices, e->device);
	enum borrow_end end = ends_as(e);
	bool lender = lent_kind(b->session, e->device) == LENT_OWN;

	if (lender)
		t->lender = e->device;
	else
		t->borrower = e->device;
	if (!lender && device) {
		if (device->asked_ns && (!t->begin_ns || device->asked_ns < t->begin_ns))
			t->begin_ns = device->asked_ns;
		device->asked_ns = 0;
		device->last = account;
	}
	if (!t->begin_ns || e->time_ns < t->begin_ns)
		t->begin_ns = e->time_ns;
	if (e->length && !t->error)
		t->error = e->length;
	if (end != BORROW_LASTS)
		borrow_end(t, e, end);
	else if (e->length && !t->ready_ns)
		borrow_end(t, e, BORROW_FAILED);
	else if (t->end == BORROW_LASTS && !e->length && e->code != STEP_UNBIND)
		t->reached = e->code;
	if (is_ready(e->code) && !e->length && !t->ready_ns)
		t->ready_ns = e->time_ns;
}

/* Clients of a shared controller name its manager's borrow; the manager of one that is its own host's has borrowed nothing. */
static bool is_of_borrow(unsigned int step)
{
	return step <= STEP_GUEST_UNMAPPED_MEMORY;
}

static struct borrow_account *borrow_of_step(struct borrows *b, const struct event *e)
{
	const struct borrow_key key = {e->tid, e->group};
	struct borrow_account *account;

	if (is_of_borrow(e->code))
		return borrow_make(b, key.run, key.number);
	if (e->code != STEP_MANAGER_RESET)
		return NULL;
	HASH_FIND(hh, b->accounts, &key, sizeof(key), account);
	return account;
}

static void take_step(struct borrows *b, const struct event *e)
{
	struct borrow_device *device;
	struct borrow_account *account;

	if (e->group != LENT_NONE) {
		account = borrow_of_step(b, e);
		if (account)
			borrow_step(b, account, e);
		return;
	}
	device = slots_make(&b->devices, e->device);
	if (device && e->code == STEP_REQUEST)
		device->asked_ns = e->time_ns;
	if (e->code == STEP_DENY)
		b->refused += period_has(session_period(b->session), e->time_ns);
}

static void charge_one(struct borrows *b, const struct event *e)
{
	struct borrow_charge *charge = borrow_charge_make(b, e->device, e->queue);
	struct aggregate_counts *counts;

	if (!charge)
		return;
	counts = e->kind == EVENT_LEND_MAP ? &charge->maps : &charge->unmaps;
	counts->count++;
	counts->bytes += e->length;
}

static int borrows_on_events(void *self, const struct event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (events[i].kind == EVENT_LEND_STEP)
			take_step(self, &events[i]);
		else if (events[i].kind == EVENT_LEND_MAP || events[i].kind == EVENT_LEND_UNMAP)
			charge_one(self, &events[i]);
	return 0;
}

static int borrows_on_aggregate(void *self, const struct aggregate_frame *frame)
{
	for (size_t i = 0; i < frame->row_count; i++) {
		const struct aggregate_row *row = &frame->rows[i];
		struct borrow_charge *charge;
		struct aggregate_counts *counts;

		if (row->key.kind != EVENT_LEND_MAP && row->key.kind != EVENT_LEND_UNMAP)
			continue;
		charge = borrow_charge_make(self, row->key.device, row->key.queue);
		if (!charge)
			continue;
		counts = row->key.kind == EVENT_LEND_MAP ? &charge->maps : &charge->unmaps;
		counts->count += row->counts.count;
		counts->bytes += row->counts.bytes;
	}
	return 0;
}

static struct stream borrows_stream(struct borrows *b)
{
	static const struct stream_ops ops = {.events = borrows_on_events,
					      .aggregate = borrows_on_aggregate};

	return (struct stream){&ops, b};
}

static int create_borrows(struct analysis *a, const struct analysis_config *config)
{
	struct borrows *b = a->borrows = memory_calloc(1, sizeof(*b));

	(void)config;
	if (!b)
		return failed(-ENOMEM, "no memory for the borrows");
	b->session = a->session;
	slots_init(&b->devices, sizeof(struct borrow_device));
	return 0;
}

static void borrows_destroy(struct borrows *b)
{
	struct borrow_account *account, *next;
	struct borrow_charge *charge, *after;

	if (!b)
		return;
	HASH_ITER(hh, b->accounts, account, next) {
		HASH_DEL(b->accounts, account);
		memory_free(account);
	}
	HASH_ITER(hh, b->charges, charge, after) {
		HASH_DEL(b->charges, charge);
		memory_free(charge);
	}
	slots_free(&b->devices);
	memory_free(b);
}

size_t borrows_count(const struct borrows *b)
{
	return HASH_COUNT(b->accounts);
}

__u64 borrows_dropped(const struct borrows *b)
{
	return b->dropped;
}

const struct borrow_totals *borrow_of_device(const struct borrows *b, __u32 handle)
{
	const struct borrow_device *device = slots_find(&b->devices, handle);

	return device && device->last && device->last->totals.end == BORROW_LASTS
		       ? &device->last->totals
		       : NULL;
}

static const char *borrow_end_name(unsigned int end)
{
	static const char *const names[BORROW_ENDS] = {
		[BORROW_LASTS] = "lasts",
		[BORROW_RETURNED] = "returned",
		[BORROW_REVOKED] = "revoked",
		[BORROW_BORROWER_DEAD] = "borrower dead",
		[BORROW_LENDER_DEAD] = "lender dead",
		[BORROW_DENIED] = "denied",
		[BORROW_FAILED] = "failed",
	};

	return names[end < BORROW_ENDS ? end : BORROW_FAILED];
}

static const char *device_of(const struct session *s, const struct borrow_totals *t, char *text)
{
	return lent_device(s, t->borrower ? t->borrower : t->lender, text);
}

static const char *lender_of(const struct session *s, const struct borrow_totals *t, char *text)
{
	return t->lender ? lent_host(s, t->lender, text) : lent_lender(s, t->borrower, text);
}

/* A user is called by his whole name. */
static const char *borrower_of(const struct session *s, const struct borrow_totals *t, char *text)
{
	if (lent_kind(s, t->borrower) == LENT_USER)
		return session_device_name(s, t->borrower, text);
	return lent_host(s, t->borrower, text);
}

/* The step that ended it may be among those that were lost. */
static const char *end_text(const struct session *s, const struct borrow_totals *t)
{
	return t->end == BORROW_LASTS && session_loss(s)->lost ? "unknown"
							       : borrow_end_name(t->end);
}

/* So may its request, and then it took longer. */
static __u64 to_borrow(const struct session *s, const struct borrow_totals *t)
{
	return count_if(t->ready_ns && t->begin_ns && !session_loss(s)->lost,
			t->ready_ns - t->begin_ns);
}

#define BORROWS(COLUMN)                                                                            \
	COLUMN(device, none, TEXT, 8, SHOWN, device_of(context, row, text))                        \
	COLUMN(lender, none, TEXT, 8, SHOWN, lender_of(context, row, text))                        \
	COLUMN(borrower, none, TEXT, 10, SHOWN, borrower_of(context, row, text))                   \
	COLUMN(borrow, none, COUNT, 6, SHOWN, row->number)                                         \
	COLUMN(begin, none, TIME, 12, WIDE, count_or_none(row->begin_ns))                          \
	COLUMN(end, none, TIME, 12, WIDE, count_or_none(row->end_ns))                              \
	COLUMN(reached, none, TEXT, 10, SHOWN, lend_step_name(row->reached))                       \
	COLUMN(ended, none, TEXT, 9, SHOWN, end_text(context, row))                                \
	COLUMN(error, none, COUNT, 5, WIDE, row->error)                                            \
	COLUMN(to_borrow, none, DURATION, 9, SHOWN, to_borrow(context, row))                       \
	COLUMN(maps, none, COUNT, 6, SHOWN, lent_told(row->known, EVENT_LEND_MAP, row->maps))      \
	COLUMN(charged, bytes, BYTES, 8, WIDE,                                                     \
	       lent_told(row->known, EVENT_LEND_MAP, row->mapped_bytes))                           \
	COLUMN(unmaps, none, COUNT, 7, WIDE, lent_told(row->known, EVENT_LEND_UNMAP, row->unmaps)) \
	COLUMN(uncharged, bytes, BYTES, 9, WIDE,                                                   \
	       lent_told(row->known, EVENT_LEND_UNMAP, row->unmapped_bytes))
TABLE(borrows, "Borrows", BORROWS, struct borrow_totals, struct session)

static struct borrow_totals with_charges(const struct borrows *b, const struct borrow_totals *t)
{
	const struct borrow_charge_key key = {t->borrower, t->number & 0xffff};
	struct borrow_totals sum = *t;
	const struct borrow_charge *charge;

	HASH_FIND(hh, b->charges, &key, sizeof(key), charge);
	if (charge) {
		sum.maps = charge->maps.count;
		sum.mapped_bytes = charge->maps.bytes;
		sum.unmaps = charge->unmaps.count;
		sum.unmapped_bytes = charge->unmaps.bytes;
	}
	return sum;
}

static bool borrow_is_asked(const struct borrows *b, const struct borrow_account *account)
{
	return period_has(session_period(b->session), account->totals.begin_ns);
}

static void borrows_write(const struct analysis *a, struct writer *writer,
			  const struct table_wish *wish)
{
	const struct borrows *b = a->borrows;
	const __u32 known = lent_known(a->session);
	size_t rows = 0, more = 0;

	writer_begin_with(writer, &borrows_table, a->session);
	for (const struct borrow_account *x = b->accounts; x; x = x->hh.next) {
		struct borrow_totals sum;

		if (!borrow_is_asked(b, x))
			continue;
		if (wish->limit && rows++ >= wish->limit) {
			more++;
			continue;
		}
		sum = with_charges(b, &x->totals);
		sum.known = known;
		writer_row(writer, &sum);
	}
	writer_end(writer);
	if (more)
		writer_note(writer, "... and %zu more borrows.", more);
}

static void borrows_write_findings(const struct analysis *a, struct writer *writer)
{
	const struct borrows *b = a->borrows;
	char device[NAME_TEXT], borrower[DEVICE_NAME_TEXT], lender[NAME_TEXT];

	for (const struct borrow_account *x = b->accounts; x; x = x->hh.next) {
		const struct borrow_totals *t = &x->totals;

		if (!borrow_is_asked(b, x) || t->end == BORROW_LASTS || t->end == BORROW_RETURNED)
			continue;
		writer_note(writer, "Borrow %u: %s of %s, borrowed by %s: %s%s.", t->number,
			    device_of(a->session, t, device), lender_of(a->session, t, lender),
			    borrower_of(a->session, t, borrower), borrow_end_name(t->end),
			    t->end == BORROW_REVOKED ? ", whether or not the borrower agreed" : "");
	}
	if (b->refused)
		writer_note(writer, "%llu request%s for lent devices %s denied.", b->refused,
			    b->refused == 1 ? "" : "s", b->refused == 1 ? "was" : "were");
	if (b->dropped)
		writer_note(writer, "%llu steps or maps of borrows found no room.", b->dropped);
}

static bool borrows_have_rows(const struct analysis *a)
{
	return borrows_count(a->borrows);
}

static const struct analyzer_table tables[] = {
	{&borrows_table, borrows_write, borrows_have_rows, REPORT_ROWS}, {0}};

DEFINE_ANALYZER(borrows, .tables = tables, .chapter = REPORT_IO, .findings = borrows_write_findings)
