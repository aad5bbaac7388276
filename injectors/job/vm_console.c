// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/vm_console.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/printable.h"

#define LINE_BYTES 1024
#define TOLD_BYTES 2048
#define MARK	   "faultline-guest: "
#define BEGINS	   "faultline-guest-begins"
#define PANIC	   "Kernel panic - not syncing"

enum guest_how { GUEST_SUM, GUEST_MOST };

static const struct {
	const char *key;
	enum guest_how how;
	double factor;
} keys[GUEST_KEYS] = {
#define GUEST_KEY(id, key, name, unit, type, how, factor, meaning) \
	[GUEST_##id] = {key, GUEST_##how, factor},
#include "injectors/job/guest_keys.def"
#undef GUEST_KEY
};

struct console_line {
	char text[LINE_BYTES];
	size_t length;
};

struct vm_console {
	char name[64];
	FILE *log;
	struct console_line line[VM_STREAMS]; /* being read */
	char last[VM_STREAMS][LINE_BYTES];    /* printable */
	double values[GUEST_KEYS];
	bool panicked, begun;
	char told[TOLD_BYTES];
	size_t told_bytes;
};

struct vm_console *vm_console_create(const char *name, FILE *log)
{
	struct vm_console *console = calloc(1, sizeof(*console));

	if (!console)
		return NULL;
	snprintf(console->name, sizeof(console->name), "%s", name);
	console->log = log;
	for (int i = 0; i < GUEST_KEYS; i++)
		console->values[i] = NAN;
	return console;
}

void vm_console_destroy(struct vm_console *console)
{
	free(console);
}

static void guest_value_add(enum guest_key key, double *sum, double value)
{
	if (isnan(*sum))
		*sum = value;
	else
		*sum = keys[key].how == GUEST_SUM ? *sum + value : fmax(*sum, value);
}

/* "KEY VALUE" of one of ours. */
static bool take_value(struct vm_console *console, const char *text)
{
	size_t length = strcspn(text, " ");
	const char *number = text + length + (text[length] == ' ');
	double value;
	char *end;

	/* Nothing of what else strtod() takes. */
	if (!isdigit((unsigned char)*number) || strspn(number, "0123456789.") != strlen(number))
		return false;
	value = strtod(number, &end);
	if (*end || !isfinite(value))
		return false;
	for (int i = 0; i < GUEST_KEYS; i++) {
		if (strlen(keys[i].key) != length || strncmp(keys[i].key, text, length) != 0)
			continue;
		guest_value_add((enum guest_key)i, &console->values[i], value * keys[i].factor);
		return true;
	}
	return false;
}

static void keep_told(struct vm_console *console, const char *text)
{
	size_t room = sizeof(console->told) - console->told_bytes, length = strlen(text) + 1;

	if (length >= room)
		return;
	memcpy(console->told + console->told_bytes, text, length - 1);
	console->told_bytes += length;
	console->told[console->told_bytes - 1] = '\n';
	console->told[console->told_bytes] = '\0';
}

static void take_line(struct vm_console *console, enum vm_stream stream)
{
	struct console_line *line = &console->line[stream];
	char *last = console->last[stream];
	const char *told;

	while (line->length && strchr("\r \t", line->text[line->length - 1]))
		line->length--;
	line->text[line->length] = '\0';
	/* A guest may print zeroes, too. */
	for (size_t i = 0; i < line->length; i++)
		if (!line->text[i])
			line->text[i] = ' ';
	line->length = 0;
	if (!*line->text)
		return;
	printable(line->text, last, LINE_BYTES);
	if (console->log)
		fprintf(console->log, "%s: %s\n", console->name, last);
	if (stream != VM_STREAM_CONSOLE)
		return;
	told = strstr(last, MARK);
	if (told && !take_value(console, told + strlen(MARK)))
		keep_told(console, told + strlen(MARK));
	console->panicked |= strstr(last, PANIC) != NULL;
	console->begun |= strstr(last, BEGINS) != NULL;
}

void vm_console_take(struct vm_console *console, enum vm_stream stream, const char *bytes,
		     size_t count)
{
	struct console_line *line = &console->line[stream];

	if (!count)
		take_line(console, stream);
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] == '\n')
			take_line(console, stream);
		else if (line->length < LINE_BYTES - 1)
			line->text[line->length++] = bytes[i];
	}
}

void vm_console_value(const struct vm_console *console, enum guest_key key, double *value)
{
	if (!isnan(console->values[key]))
		guest_value_add(key, value, console->values[key]);
}

bool vm_console_panicked(const struct vm_console *console)
{
	return console->panicked;
}

bool vm_console_begun(const struct vm_console *console)
{
	return console->begun;
}

bool vm_console_sound(const struct vm_console *console)
{
	/* What was not told is NAN, which is not 0. */
	return !console->panicked && console->values[GUEST_WRONG_BYTES] == 0 &&
	       console->values[GUEST_ERRORS] == 0;
}

const char *vm_console_error(const struct vm_console *console)
{
	return console->last[VM_STREAM_ERRORS];
}

const char *vm_console_last(const struct vm_console *console)
{
	return console->last[VM_STREAM_CONSOLE];
}

const char *vm_console_told(const struct vm_console *console)
{
	return console->told;
}
