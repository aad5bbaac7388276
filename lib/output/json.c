// SPDX-License-Identifier: GPL-2.0
/*
 * JSON, streamed row by row: {"tables":{"NAME":[{"name_unit":value}, ...]}, "fact":"value"}.
 * jansson forms every key and value; only the brackets between rows are ours.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/base/units.h"
#include "lib/output/writer.h"

/* In ASCII, so that it can be looked at in any terminal. */
#define DUMP (JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(10))

struct json {
	json_t *facts;
	json_t *names; /* of the tables so far: a key must not come twice */
	bool open;     /* the outer brackets are written */
	bool rows;     /* the current table has some */
};

static int json_open(struct writer *writer)
{
	struct json *json = calloc(1, sizeof(*json));

	if (!json)
		return failed(-ENOMEM, "no memory for a JSON writer");
	json->facts = json_object();
	json->names = json_object();
	writer->state = json;
	return 0;
}

/* Names of tasks and devices are bytes of strangers; JSON must be UTF-8: bytes that are none become \xNN. */
static json_t *json_text(const char *text)
{
	json_t *value = json_string(text);
	char *copy, *end;
	__u32 character;

	if (value)
		return value;
	end = copy = malloc(PRINTABLE_MOST * strlen(text) + 1);
	if (!copy)
		return NULL;
	while (*text) {
		size_t length = utf8_character(text, &character);

		if (length)
			end = mempcpy(end, text, length);
		else
			end += sprintf(end, "\\x%02x", (unsigned char)*text);
		text += length ? length : 1;
	}
	value = json_stringn(copy, (size_t)(end - copy));
	free(copy);
	return value;
}

static json_t *json_count(__u64 count)
{
	/* jansson's integers are signed; the few counts beyond are exact to 53 bits. */
	return count <= INT64_MAX ? json_integer((json_int_t)count) : json_real((double)count);
}

static json_t *json_cell(const struct writer *writer, enum column_type type, union cell cell)
{
	char text[UNITS_TEXT];

	if (type == COLUMN_TEXT)
		return json_text(cell.text ? cell.text : "");
	if (type == COLUMN_REAL)
		return isfinite(cell.real) ? json_real(cell.real) : json_null();
	if (cell.count == CELL_NONE)
		return json_null();
	if (type == COLUMN_TIME && writer_wall_clock(writer))
		return json_string(units_format_time(writer_realtime(writer, cell.count), text));
	if (type != COLUMN_ADDRESS)
		return json_count(cell.count);
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)cell.count);
	return json_string(text);
}

/* jansson takes DEL, which is only in strings, for a character that can be looked at. */
static int put_visible(const char *bytes, size_t size, void *file)
{
	const char *end = bytes + size, *delete;

	while ((delete = memchr(bytes, '\x7f', (size_t)(end - bytes)))) {
		fwrite(bytes, 1, (size_t)(delete - bytes), file);
		fputs("\\u007f", file);
		bytes = delete + 1;
	}
	fwrite(bytes, 1, (size_t)(end - bytes), file);
	return ferror(file) ? -1 : 0;
}

static int json_put(struct writer *writer, const json_t *value, size_t extra)
{
	errno = 0;
	if (!value)
		return failed(-ENOMEM, "no memory for a JSON value");
	if (json_dump_callback(value, put_visible, writer->file, DUMP | extra))
		return failed(errno ? -errno : -EIO, "%s: cannot be written: %s", writer->path,
			      strerror(errno ? errno : EIO));
	return 0;
}

static int dump_key(struct writer *writer, const char *name)
{
	json_t *key = json_text(name);
	int err = json_put(writer, key, 0);

	json_decref(key);
	fputs(":", writer->file);
	return err;
}

static void open_document(struct writer *writer)
{
	struct json *json = writer->state;

	if (!json->open)
		fputs("{\"tables\":{", writer->file);
	json->open = true;
}

static int json_fact(struct writer *writer, const char *name, const char *value)
{
	struct json *json = writer->state;

	if (json_object_set_new(json->facts, name, json_text(value)))
		return failed(-ENOMEM, "no memory for the JSON member '%s'", name);
	return 0;
}

static int json_begin(struct writer *writer)
{
	struct json *json = writer->state;
	const char *name = writer->table->name;

	if (json_object_get(json->names, name))
		return failed(-EINVAL, "table %s comes twice in one JSON document", name);
	if (json_object_set_new(json->names, name, json_true()))
		return failed(-ENOMEM, "no memory for the JSON table '%s'", name);
	open_document(writer);
	fputs(writer->tables > 1 ? ",\n" : "\n", writer->file);
	json->rows = false;
	if (dump_key(writer, name))
		return -EIO;
	fputs("[", writer->file);
	return 0;
}

static int json_row(struct writer *writer, const void *row)
{
	const struct table *table = writer->table;
	struct json *json = writer->state;
	json_t *object = json_object();
	char field[2 * NAME_TEXT], text[CELL_ROOM];
	int err;

	for (size_t i = 0; i < table->column_count; i++) {
		const struct column *column = &table->columns[i];

		writer_field(writer, column, field, sizeof(field));
		if (json_object_set_new(
			    object, field,
			    json_cell(writer, column->type, writer_cell(writer, row, i, text)))) {
			json_decref(object);
			return failed(-ENOMEM, "no memory for the JSON member '%s'", field);
		}
	}
	fputs(json->rows ? ",\n" : "\n", writer->file);
	json->rows = true;
	err = json_put(writer, object, 0);
	json_decref(object);
	return err;
}

static int json_end(struct writer *writer)
{
	fputs("]", writer->file);
	return 0;
}

static int json_close(struct writer *writer)
{
	struct json *json = writer->state;
	const char *name;
	json_t *value;
	int err = 0;

	if (!writer->error) {
		open_document(writer);
		fputs("}", writer->file);
		json_object_foreach(json->facts, name, value) {
			if (!strcmp(name, "tables"))
				continue;
			fputs(",\n", writer->file);
			err = err ? err : dump_key(writer, name);
			err = err ? err : json_put(writer, value, 0);
		}
		fputs("}\n", writer->file);
	}
	json_decref(json->facts);
	json_decref(json->names);
	free(json);
	return err;
}

const struct writer_ops json_writer_ops = {
	.open = json_open,
	.fact = json_fact,
	.begin = json_begin,
	.row = json_row,
	.end = json_end,
	.close = json_close,
};
