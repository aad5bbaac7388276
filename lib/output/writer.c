// SPDX-License-Identifier: GPL-2.0
#include "lib/output/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/files.h"

static int in_directory(const struct writer *writer, int err)
{
	return err && writer->directory ? failed_in(err, "%s", writer->directory) : err;
}

int writer_check_inputs(const struct writer *writer, int directory, const char *name)
{
	const char *const *input = writer->config.inputs;
	struct stat status, output;

	for (; input && *input; input++) {
		int err =
			strcmp(*input, "-") ? stat(*input, &status) : fstat(STDIN_FILENO, &status);

		if (!err && !fstatat(directory, name, &output, 0) && same_file(&output, &status))
			return in_directory(
				writer,
				failed(-EINVAL,
				       "%s: is the input %s; choose another name for the output",
				       name, *input));
	}
	return 0;
}

int writer_create_file(struct writer *writer, int directory, const char *name)
{
	bool overwrite = writer->config.overwrite;
	int err = writer_check_inputs(writer, directory, name), fd;

	if (err)
		return err;
	fd = writer->config.growing ? files_create(directory, name, 0666)
				    : files_create_unnamed(directory, name, 0666, overwrite);
	if (fd < 0)
		return in_directory(writer, fd);
	writer->file = fdopen(fd, "w");
	if (writer->file)
		return 0;
	files_discard(fd, directory, name, overwrite);
	close(fd);
	return failed(-ENOMEM, "%s: no memory to write it", writer->path);
}

int writer_end_file(struct writer *writer, int directory, const char *name, bool complete)
{
	bool overwrite = writer->config.overwrite, growing = writer->config.growing;
	FILE *file = writer->file;
	int err = 0;

	if (complete && (fflush(file) || ferror(file)))
		err = failed(errno ? -errno : -EIO, "%s: cannot be written: %s", writer->path,
			     strerror(errno ? errno : EIO));
	else if (complete && !growing)
		err = in_directory(writer, files_name(fileno(file), directory, name, overwrite));
	if ((err || !complete) && !growing)
		files_discard(fileno(file), directory, name, overwrite);
	if (fclose(file) && complete && !err)
		err = failed(-errno, "%s: cannot be written: %s", writer->path, strerror(errno));
	writer->file = NULL;
	return err;
}

static bool is_table_file(const char *path)
{
	size_t length = strlen(path);

	return length > 4 && !strcmp(path + length - 4, ".csv");
}

static int choose_place(struct writer *writer)
{
	const struct writer_config *config = &writer->config;
	const char *path = config->path;

	if (!path || !strcmp(path, "-")) {
		writer->file = config->file;
		writer->path = config->file == stdout ? "standard output" : "output file";
		return 0;
	}
	writer->path = path;
	if (config->format == OUTPUT_PARQUET ||
	    (config->format == OUTPUT_CSV && !is_table_file(path))) {
		writer->directory = path;
		return 0;
	}
	writer->single = true;
	return writer_create_file(writer, AT_FDCWD, path);
}

int writer_open(struct writer **writer, const struct writer_config *config)
{
	static const struct writer_ops *const formats[] = {
		[OUTPUT_TEXT] = &text_writer_ops,	[OUTPUT_CSV] = &csv_writer_ops,
		[OUTPUT_JSON] = &json_writer_ops,	[OUTPUT_ROWS] = &rows_writer_ops,
		[OUTPUT_PARQUET] = &parquet_writer_ops, [OUTPUT_HTML] = &html_writer_ops,
	};
	struct writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return failed(-ENOMEM, "no memory for a writer");
	w->config = *config;
	w->hosts = &w->lone;
	w->host_count = 1;
	w->ops = formats[config->format];
	err = choose_place(w);
	if (!err && w->ops->open)
		err = w->ops->open(w);
	if (err) {
		if (w->single && w->file)
			writer_end_file(w, AT_FDCWD, w->path, false);
		free(w);
		return err;
	}
	*writer = w;
	return 0;
}

static int no_table(const char *only, const char *const *names)
{
	char list[1024] = "";
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
	wall_clock_add(&writer->hosts[writer->host].clock, anchor);
}

int writer_hosts(struct writer *writer, const char *const *names, size_t count, bool column)
{
	struct writer_host *hosts = calloc(count + 1, sizeof(*hosts));

	if (!hosts)
		return failed(-ENOMEM, "no memory for a writer of %zu hosts", count);
	for (size_t i = 0; i < count; i++)
		hosts[i].name = names[i];
	writer->hosts = hosts;
	writer->host_count = count;
	writer->host_column = column;
	return 0;
}

void writer_host(struct writer *writer, size_t index)
{
	writer->host = index;
}

/* Keeps the first error with its sentence: producers may go on and look only at writer_close(). */
static int writer_keep(struct writer *writer, int err)
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

void writer_fail(struct writer *writer, int err)
{
	writer_keep(writer, err);
}

int writer_error(const struct writer *writer)
{
	return writer->error;
}

bool writer_is_text(const struct writer *writer)
{
	return writer->config.format == OUTPUT_TEXT;
}

void writer_heading(struct writer *writer, const char *heading)
{
	writer->heading = heading;
}

/* It is set off from what is ahead of it. */
static int put_heading(struct writer *writer)
{
	const char *heading = writer->heading;
	char text[HOST_TEXT + 8];
	int err = 0;

	writer->heading = NULL;
	if (!heading || !writer_is_text(writer))
		return 0;
	snprintf(text, sizeof(text), "== %s ==", heading);
	if (writer->told)
		err = writer->ops->note(writer, "");
	return err ? err : writer->ops->note(writer, text);
}

/* The same with a column ahead of all others. */
static int add_host_column(struct writer *writer, const struct table *table)
{
	static const struct column host = {.name = "host", .type = COLUMN_TEXT, .width = 16};
	size_t count = table->column_count;
	struct column *columns = malloc((count + 1) * sizeof(*columns));

	if (!columns)
		return failed(-ENOMEM, "no memory for the columns of table %s", table->name);
	columns[0] = host;
	memcpy(columns + 1, table->columns, count * sizeof(*columns));
	free(writer->columns);
	writer->columns = columns;
	writer->shown.columns = columns;
	writer->shown.column_count = count + 1;
	return 0;
}

/* The current table, which no host goes on with. */
static int table_over(struct writer *writer)
{
	int err = writer->error;

	if (!err && writer->table && !writer->skipped)
		err = writer_keep(writer, writer->ops->end(writer));
	writer->table = NULL;
	writer->skipped = false;
	writer->ended = false;
	return err;
}

int writer_note(struct writer *writer, const char *format, ...)
{
	char *sentence;
	va_list arguments;
	int length, err;

	if (writer->error || !writer->ops->note)
		return writer->error;
	if (writer->ended)
		table_over(writer);
	va_start(arguments, format);
	length = vasprintf(&sentence, format, arguments);
	va_end(arguments);
	if (length < 0)
		return writer_keep(writer, failed(-ENOMEM, "no memory for a sentence"));
	err = writer_keep(writer, put_heading(writer) ?: writer->ops->note(writer, sentence));
	writer->told = true;
	free(sentence);
	return err;
}

bool writer_wants(const struct writer *writer, const char *table)
{
	return !writer->config.only || !strcmp(writer->config.only, table);
}

int writer_fact(struct writer *writer, const char *name, const char *value)
{
	if (writer->error || !writer->ops->fact)
		return writer->error;
	return writer_keep(writer, writer->ops->fact(writer, name, value));
}

int writer_begin_with(struct writer *writer, const struct table *table, const void *context)
{
	const char *only = writer->config.only;
	bool goes_on = writer->host_count > 1 && writer->table &&
		       !strcmp(writer->table->name, table->name);

	if (writer->error)
		return writer->error;
	if (writer->ended && !goes_on)
		table_over(writer);
	if (writer->table && !goes_on)
		return writer_keep(writer, failed(-EINVAL, "table %s begins before %s has ended",
						  table->name, writer->table->name));
	writer->hosts[writer->host].context = context;
	writer->ended = false;
	/* Its columns may be the producer's local variables: of each host's they are the same. */
	writer->given = table;
	if (!goes_on || !writer->host_column)
		writer->shown = *table;
	writer->table = &writer->shown;
	if (goes_on)
		return 0;
	writer->skipped = only && strcmp(only, table->name) != 0;
	if (writer->skipped)
		return 0;
	if (writer->host_column && add_host_column(writer, table))
		return writer_keep(writer, -ENOMEM);
	if (put_heading(writer))
		return writer_keep(writer, -EIO);
	writer->told = writer->found = true;
	writer->tables++;
	return writer_keep(writer, writer->ops->begin(writer));
}

int writer_begin(struct writer *writer, const struct table *table)
{
	return writer_begin_with(writer, table, NULL);
}

int writer_row(struct writer *writer, const void *row)
{
	if (writer->error || writer->skipped)
		return writer->error;
	return writer_keep(writer, writer->ops->row(writer, row));
}

int writer_end(struct writer *writer)
{
	writer->ended = writer->host_count > 1;
	return writer->ended ? writer->error : table_over(writer);
}

int writer_flush(struct writer *writer)
{
	if (!writer->error && writer->file && fflush(writer->file))
		writer_keep(writer, 0);
	return writer->error;
}

static void writer_release(struct writer *writer)
{
	for (size_t i = 0; i < writer->host_count; i++)
		wall_clock_free(&writer->hosts[i].clock);
	if (writer->hosts != &writer->lone)
		free(writer->hosts);
	free(writer->columns);
	free(writer);
}

int writer_close(struct writer *writer)
{
	const char *only;
	int err;

	if (!writer)
		return 0;
	if (writer->ended)
		table_over(writer);
	only = writer->config.only;
	if (only && !writer->found)
		writer_keep(writer, failed(-ENOENT, "there is no table '%s' in this output", only));
	writer_keep(writer, writer->ops->close ? writer->ops->close(writer) : 0);
	if (writer->single && writer->file)
		writer_keep(writer,
			    writer_end_file(writer, AT_FDCWD, writer->config.path, !writer->error));
	else
		writer_flush(writer);
	err = writer->error;
	if (err)
		failed(err, "%s", writer->sentence);
	writer_release(writer);
	return err;
}

void writer_abandon(struct writer *writer)
{
	if (!writer)
		return;
	writer->error = writer->error ?: -ECANCELED;
	if (writer->ops->close)
		writer->ops->close(writer);
	if (writer->single && writer->file)
		writer_end_file(writer, AT_FDCWD, writer->config.path, false);
	writer_release(writer);
}

bool writer_wall_clock(const struct writer *writer)
{
	return writer->hosts[writer->host].clock.count && !writer->config.raw_time;
}

__u64 writer_realtime(const struct writer *writer, __u64 monotonic_ns)
{
	return wall_clock_at(&writer->hosts[writer->host].clock, monotonic_ns);
}

/* The unit that belongs to a column's name in CSV and JSON, NULL if none. */
static const char *writer_unit(const struct writer *writer, const struct column *column)
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
