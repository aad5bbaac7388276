// SPDX-License-Identifier: GPL-2.0
#include "lib/output/writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"

int writer_open(struct writer **writer, const struct writer_config *config)
{
	static const struct writer_ops *const formats[] = {
		[OUTPUT_TEXT] = &text_writer_ops,
		[OUTPUT_CSV] = &csv_writer_ops,
		[OUTPUT_JSON] = &json_writer_ops,
		[OUTPUT_ROWS] = &rows_writer_ops,
	};
	struct writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return failed(-ENOMEM, "no memory for a writer");
	w->config = *config;
	w->ops = formats[config->format];
	w->file = config->file;
	w->path = config->file == stdout ? "standard output" : "output file";
	err = w->ops->open ? w->ops->open(w) : 0;
	if (err) {
		free(w);
		return err;
	}
	*writer = w;
	return 0;
}

static int no_table(const char *only, const char *const *names)
{
	char list[256] = "";
	size_t used = 0;

	for (size_t i = 0; names[i] && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
					 names[i]);
	return failed(-EINVAL, "--table %s: accepted: %s", only, list);
}

int writer_announce(struct writer *writer, const char *const *names)
{
	const char *only = writer->config.only;
	bool found = false;
	int err = 0;

	for (size_t i = 0; !err && names[i]; i++) {
		bool wanted = !only || !strcmp(only, names[i]);

		found |= wanted;
		if (wanted && writer->ops->announce)
			err = writer->ops->announce(writer, names[i]);
	}
	return err || found ? err : no_table(only, names);
}

void writer_clock(struct writer *writer, const struct clock_anchor *anchor)
{
	wall_clock_add(&writer->clock, anchor);
}

/* Keeps the first error with its sentence: producers may go on and look only at writer_close(). */
static int keep(struct writer *writer, int err)
{
	if (!err && writer->file && ferror(writer->file)) {
		err = errno ? -errno : -EIO;
		failed(err, "%s: cannot be written: %s", writer->path, strerror(-err));
	}
	if (err && !writer->error) {
		writer->error = err;
		snprintf(writer->sentence, sizeof(writer->sentence), "%s", failure_text());
	}
	return writer->error;
}

int writer_note(struct writer *writer, const char *format, ...)
{
	char *sentence;
	va_list arguments;
	int length, err;

	if (writer->error || !writer->ops->note)
		return writer->error;
	va_start(arguments, format);
	length = vasprintf(&sentence, format, arguments);
	va_end(arguments);
	if (length < 0)
		return keep(writer, failed(-ENOMEM, "no memory for a sentence"));
	err = keep(writer, writer->ops->note(writer, sentence));
	free(sentence);
	return err;
}

bool writer_is_text(const struct writer *writer)
{
	return writer->config.format == OUTPUT_TEXT;
}

bool writer_wants(const struct writer *writer, const char *table)
{
	return !writer->config.only || !strcmp(writer->config.only, table);
}

int writer_fact(struct writer *writer, const char *name, const char *value)
{
	if (writer->error || !writer->ops->fact)
		return writer->error;
	return keep(writer, writer->ops->fact(writer, name, value));
}

int writer_begin(struct writer *writer, const struct table *table)
{
	const char *only = writer->config.only;

	if (writer->error)
		return writer->error;
	if (writer->table)
		return keep(writer, failed(-EINVAL, "table %s begins before %s has ended",
					   table->name, writer->table->name));
	writer->table = table;
	writer->skipped = only && strcmp(only, table->name) != 0;
	if (writer->skipped)
		return 0;
	writer->found = true;
	writer->tables++;
	return keep(writer, writer->ops->begin(writer));
}

int writer_row(struct writer *writer, const union cell *cells)
{
	if (writer->error || writer->skipped)
		return writer->error;
	return keep(writer, writer->ops->row(writer, cells));
}

int writer_end(struct writer *writer)
{
	int err = writer->error;

	if (!err && !writer->skipped)
		err = keep(writer, writer->ops->end(writer));
	writer->table = NULL;
	writer->skipped = false;
	return err;
}

static void release(struct writer *writer)
{
	wall_clock_free(&writer->clock);
	free(writer);
}

int writer_close(struct writer *writer)
{
	const char *only;
	int err;

	if (!writer)
		return 0;
	only = writer->config.only;
	if (only && !writer->found)
		keep(writer, failed(-ENOENT, "there is no table '%s' in this output", only));
	keep(writer, writer->ops->close ? writer->ops->close(writer) : 0);
	if (!writer->error && writer->file && fflush(writer->file))
		keep(writer, 0);
	err = writer->error;
	if (err)
		failed(err, "%s", writer->sentence);
	release(writer);
	return err;
}

void writer_abandon(struct writer *writer)
{
	writer->error = writer->error ?: -ECANCELED;
	if (writer->ops->close)
		writer->ops->close(writer);
	release(writer);
}

bool writer_wall_clock(const struct writer *writer)
{
	return writer->clock.count && !writer->config.raw_time;
}

__u64 writer_realtime(const struct writer *writer, __u64 monotonic_ns)
{
	return wall_clock_at(&writer->clock, monotonic_ns);
}

const char *writer_unit(const struct writer *writer, const struct column *column)
{
	if (column->unit)
		return column->unit;
	switch (column->type) {
	case COLUMN_BYTES:
		return "bytes";
	case COLUMN_DURATION:
		return "ns";
	case COLUMN_TIME:
		return writer_wall_clock(writer) ? NULL : "ns";
	default:
		return NULL;
	}
}

const char *writer_field(const struct writer *writer, const struct column *column, char *text,
			 size_t size)
{
	const char *unit = writer_unit(writer, column);

	snprintf(text, size, "%s%s%s", column->name, unit ? "_" : "", unit ? unit : "");
	return text;
}

const char *writer_real(double value, char text[40])
{
	char *comma;

	snprintf(text, 40, "%.10g", value);
	comma = strchr(text, ',');
	if (comma)
		*comma = '.';
	return text;
}
