// SPDX-License-Identifier: GPL-2.0
#include "tools/serve/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/serve/exposition.h"

/* Objectives times devices, ports of devices: all are multiples of few. */
#define LEDGER_ROWS_MOST 65536

static const struct {
	size_t size;
	const char *labels[2];
} ledger_kinds[LEDGER_KINDS] = {
	[LEDGER_HOST] = {sizeof(struct host_counts), {NULL, NULL}},
	[LEDGER_DEVICE] = {sizeof(struct device_counts), {"device", NULL}},
	[LEDGER_CONTAINER] = {sizeof(struct container_counts), {"container", NULL}},
	[LEDGER_PORT] = {sizeof(struct port_counts), {"device", "port"}},
	[LEDGER_OBJECTIVE] = {sizeof(struct objective_counts), {"objective", "device"}},
	[LEDGER_PROBE] = {sizeof(struct probe_counts), {"probe", NULL}},
};

size_t ledger_counters(enum ledger_kind kind)
{
	return ledger_kinds[kind].size / sizeof(__u64);
}

void ledger_init(struct ledger *ledger, size_t devices_most)
{
	*ledger = (struct ledger){.devices_most = devices_most};
}

void ledger_free(struct ledger *ledger)
{
	struct ledger_row *row, *next;

	HASH_ITER(hh, ledger->rows, row, next) {
		HASH_DEL(ledger->rows, row);
		free((void *)row->hh.key);
		free(row->now);
		free(row);
	}
	memset(ledger->first, 0, sizeof(ledger->first));
}

/* What a row is found by: its kind and both names, in one text without a gap. */
struct row_key {
	char text[2 * LEDGER_NAME + 4];
	unsigned int length;
};

static struct row_key row_key(enum ledger_kind kind, const char *name, const char *second)
{
	struct row_key key;
	int length =
		snprintf(key.text, sizeof(key.text), "%c%s\n%s", '0' + (char)kind, name, second);

	key.length = (unsigned int)length;
	return key;
}

static struct ledger_row *ledger_find(struct ledger *ledger, const struct row_key *key)
{
	struct ledger_row *row;

	HASH_FIND(hh, ledger->rows, key->text, key->length, row);
	return row;
}

static void label_row(struct ledger_row *row, enum ledger_kind kind)
{
	const char *const *labels = ledger_kinds[kind].labels;
	size_t used = 0;

	if (labels[0])
		used = exposition_label(row->labels, sizeof(row->labels), 0, labels[0], row->name);
	if (labels[1])
		exposition_label(row->labels, sizeof(row->labels), used, labels[1], row->second);
}

static struct ledger_row *ledger_make(struct ledger *ledger, enum ledger_kind kind,
				      const char *name, const char *second)
{
	size_t counters = ledger_counters(kind);
	struct ledger_row *row = calloc(1, sizeof(*row));
	struct row_key key = row_key(kind, name, second);
	char *text = row ? malloc(key.length) : NULL;

	if (row)
		row->now = calloc(3 * counters, sizeof(__u64));
	if (!text || !row->now) {
		if (row)
			free(row->now);
		free(text);
		free(row);
		return NULL;
	}
	row->told = row->now + counters;
	row->base = row->told + counters;
	snprintf(row->name, sizeof(row->name), "%s", name);
	snprintf(row->second, sizeof(row->second), "%s", second);
	label_row(row, kind);
	memcpy(text, key.text, key.length);
	HASH_ADD_KEYPTR(hh, ledger->rows, text, key.length, row);
	if (!row->hh.tbl) {
		free(text);
		free(row->now);
		free(row);
		return NULL;
	}
	if (ledger->last[kind])
		ledger->last[kind]->next = row;
	else
		ledger->first[kind] = row;
	ledger->last[kind] = row;
	ledger->named[kind] += strcmp(name, LEDGER_OTHER) != 0;
	return row;
}

static bool is_bounded_by_devices(enum ledger_kind kind)
{
	return kind == LEDGER_DEVICE || kind == LEDGER_CONTAINER;
}

struct ledger_row *ledger_row(struct ledger *ledger, enum ledger_kind kind, const char *name,
			      const char *second)
{
	size_t most = is_bounded_by_devices(kind) ? ledger->devices_most : LEDGER_ROWS_MOST;
	struct row_key key = row_key(kind, name, second);
	struct ledger_row *row = ledger_find(ledger, &key);

	if (row)
		return row;
	if (ledger->named[kind] < most || !strcmp(name, LEDGER_OTHER))
		return ledger_make(ledger, kind, name, second);
	key = row_key(kind, LEDGER_OTHER, second);
	return ledger_find(ledger, &key) ?: ledger_make(ledger, kind, LEDGER_OTHER, second);
}

const char *ledger_device(struct ledger *ledger, const char *name)
{
	const struct ledger_row *row = ledger_row(ledger, LEDGER_DEVICE, name, "");

	return row ? row->name : LEDGER_OTHER;
}

void ledger_begin(struct ledger *ledger)
{
	for (unsigned int kind = 0; kind < LEDGER_KINDS; kind++)
		for (struct ledger_row *row = ledger->first[kind]; row; row = row->next) {
			bool was_attached = row->is.probe.was_attached;

			memset(row->now, 0, ledger_kinds[kind].size);
			memset(&row->is, 0, sizeof(row->is));
			row->is.probe.was_attached = kind == LEDGER_PROBE && was_attached;
		}
}

void ledger_end(struct ledger *ledger)
{
	for (unsigned int kind = 0; kind < LEDGER_KINDS; kind++)
		for (struct ledger_row *row = ledger->first[kind]; row; row = row->next)
			for (size_t i = 0; i < ledger_counters(kind); i++) {
				__u64 told = row->base[i] + row->now[i];

				if (told > row->told[i])
					row->told[i] = told;
			}
}
