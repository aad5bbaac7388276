// SPDX-License-Identifier: GPL-2.0
#include "tools/serve/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/files.h"

#define STATE_MAGIC "FLSERVE\n"
#define STATE_MOST  (256u << 20)

struct state_header {
	char magic[8];
	__u64 layout; /* of the counters, and their bounds */
	__u64 length; /* of what follows */
	__u64 checksum;
};

/* A row: this, both names, its counters. */
struct state_row {
	__u16 kind, counters, name, second;
};

/* Whatever makes a counter another one. */
static __u64 state_layout(void)
{
	__u64 words[LEDGER_KINDS + BOUNDS + 6] = {LOST_WHERES,	EFFORTS,       ANSWERS,
						  LOSS_REASONS, RDMA_COUNTERS, STAGES};
	size_t count = 6;

	for (unsigned int kind = 0; kind < LEDGER_KINDS; kind++)
		words[count++] = ledger_counters((enum ledger_kind)kind);
	for (unsigned int b = 0; b < BOUNDS; b++)
		words[count++] = bounds_ns(b);
	return XXH3_64bits(words, sizeof(words));
}

static char *state_append(struct state_bytes *state, char *to, const void *bytes, size_t size)
{
	memcpy(to, bytes, size);
	state->length += size;
	return to + size;
}

static bool has_counted(const struct ledger_row *row, size_t counters)
{
	for (size_t i = 0; i < counters; i++)
		if (row->told[i])
			return true;
	return false;
}

static bool pack_row(const struct ledger_row *row, enum ledger_kind kind, struct state_bytes *state)
{
	const struct state_row head = {(__u16)kind, (__u16)ledger_counters(kind),
				       (__u16)strlen(row->name), (__u16)strlen(row->second)};
	size_t size = sizeof(head) + head.name + head.second + head.counters * sizeof(__u64);
	char *to;

	if (!array_grow(&state->bytes, &state->room, state->length + size, 1, ARRAY_PLAIN))
		return false;
	to = state_append(state, state->bytes + state->length, &head, sizeof(head));
	to = state_append(state, to, row->name, head.name);
	to = state_append(state, to, row->second, head.second);
	state_append(state, to, row->told, head.counters * sizeof(__u64));
	return true;
}

int state_pack(const struct ledger *ledger, struct state_bytes *state)
{
	struct state_header header = {.layout = state_layout()};
	bool fits = array_grow(&state->bytes, &state->room, sizeof(header), 1, ARRAY_PLAIN);

	state->length = sizeof(header);
	for (unsigned int kind = 0; fits && kind < LEDGER_KINDS; kind++)
		for (const struct ledger_row *row = ledger->first[kind]; fits && row;
		     row = row->next)
			if (has_counted(row, ledger_counters((enum ledger_kind)kind)))
				fits = pack_row(row, (enum ledger_kind)kind, state);
	if (!fits)
		return failed(-ENOMEM, "no memory for the state of the counters");
	memcpy(header.magic, STATE_MAGIC, sizeof(header.magic));
	header.length = state->length - sizeof(header);
	header.checksum = XXH3_64bits(state->bytes + sizeof(header), header.length);
	memcpy(state->bytes, &header, sizeof(header));
	return 0;
}

/* One row from `from`; where the next begins, NULL if there is no such row. */
static const char *unpack_row(struct ledger *ledger, const char *from, const char *end)
{
	char name[LEDGER_NAME], second[LEDGER_NAME];
	struct ledger_row *row;
	struct state_row head;
	size_t size;

	if ((size_t)(end - from) < sizeof(head))
		return NULL;
	memcpy(&head, from, sizeof(head));
	from += sizeof(head);
	size = (size_t)head.name + head.second + head.counters * sizeof(__u64);
	if (head.kind >= LEDGER_KINDS || head.counters != ledger_counters(head.kind) ||
	    head.name >= sizeof(name) || head.second >= sizeof(second) ||
	    (size_t)(end - from) < size)
		return NULL;
	snprintf(name, sizeof(name), "%.*s", head.name, from);
	snprintf(second, sizeof(second), "%.*s", head.second, from + head.name);
	row = ledger_row(ledger, head.kind, name, second);
	if (!row)
		return NULL;
	from += head.name + head.second;
	/* With fewer devices than before several rows are "other". */
	for (size_t i = 0; i < head.counters; i++, from += sizeof(__u64)) {
		__u64 counted;

		memcpy(&counted, from, sizeof(counted));
		row->base[i] += counted;
		row->told[i] = row->base[i];
	}
	return from;
}

static int state_read(const char *path, char **bytes, size_t *size)
{
	FILE *file = fopen(path, "re");
	int err = 0;

	*bytes = NULL;
	*size = 0;
	if (!file)
		return -errno;
	while (!err && !feof(file) && *size < STATE_MOST) {
		char *more = realloc(*bytes, *size + 65536);

		if (!more) {
			err = -ENOMEM;
			break;
		}
		*bytes = more;
		*size += fread(*bytes + *size, 1, 65536, file);
		err = ferror(file) ? -EIO : 0;
	}
	fclose(file);
	return err;
}

static const char *state_unpack(struct ledger *ledger, const char *bytes, size_t size)
{
	const struct state_header *header = (const void *)bytes;
	const char *from = bytes + sizeof(*header), *end = bytes + size;

	if (header->layout != state_layout())
		return "is of another version";
	if (header->length != size - sizeof(*header) ||
	    header->checksum != XXH3_64bits(from, header->length))
		return "is damaged";
	while (from && from < end)
		from = unpack_row(ledger, from, end);
	return from ? NULL : "is damaged";
}

int state_load(struct ledger *ledger, const char *path, char note[STATE_NOTE])
{
	const char *wrong;
	char *bytes;
	size_t size;
	int err = state_read(path, &bytes, &size);

	note[0] = '\0';
	if (!err && size &&
	    (size < sizeof(struct state_header) || memcmp(bytes, STATE_MAGIC, 8) != 0))
		err = failed(
			-EBADMSG,
			"%s: is no state of counters, and is not replaced; accepted: another name",
			path);
	else if (err && err != -ENOENT)
		err = failed(err, "%s: cannot be read: %s", path, strerror(-err));
	if (err || !size) {
		free(bytes);
		return err == -ENOENT ? 0 : err;
	}
	wrong = state_unpack(ledger, bytes, size);
	free(bytes);
	if (wrong)
		snprintf(note, STATE_NOTE, "%.180s: %s; counters begin at 0", path, wrong);
	return 0;
}
