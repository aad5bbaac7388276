// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/verifier_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stream.h"
#include "lib/capture/objects.h"

#define LOG_BEGIN "-- BEGIN PROG LOAD LOG --"
#define LOG_END	  "-- END PROG LOAD LOG --"
/* Linux 7.3 explains its verdict afterwards, over many lines; the verdict itself is before. */
#define LOG_EXPLAINED "\nVerification failed: "

static char reason[REASON_TEXT];
static char program[NAME_TEXT];
static bool verifier_spoke;
static bool verbose;

static void keep_line(const char *line, size_t length)
{
	if (length >= sizeof(reason))
		length = sizeof(reason) - 1;
	memcpy(reason, line, length);
	reason[length] = '\0';
}

/* Counts of the verifier's work and source lines come with every log and explain nothing. */
static bool says_something(const char *line, size_t length)
{
	static const char *const noise[] = {
		"processed ", "verification time ", "stack depth ", ";", LOG_END, LOG_BEGIN};

	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++)
		if (!strncmp(line, noise[i], strlen(noise[i])))
			return false;
	return length;
}

static void keep_last_word(const char *log)
{
	const char *end = strstr(log, LOG_EXPLAINED), *line = log;

	if (!end)
		end = strstr(log, LOG_END);
	end = end ? end : log + strlen(log);
	while (line < end) {
		size_t length = strcspn(line, "\n");

		if (says_something(line, length)) {
			keep_line(line, length);
			verifier_spoke = true;
		}
		line += length + 1;
	}
}

/* "libbpf: prog 'NAME': TEXT": the program, and how long all of it but TEXT is. */
static size_t keep_program(const char *text)
{
	static const char begin[] = "libbpf: prog '";
	const char *name, *end;

	if (strncmp(text, begin, sizeof(begin) - 1) != 0)
		return strncmp(text, "libbpf: ", 8) ? 0 : 8;
	name = text + sizeof(begin) - 1;
	end = strstr(name, "': ");
	if (!end)
		return 0;
	snprintf(program, sizeof(program), "%.*s", (int)(end - name), name);
	return end + 3 - text;
}

static int on_libbpf_text(enum libbpf_print_level level, const char *format, va_list arguments)
{
	const char *log;
	char *text;
	size_t skip;

	if (level != LIBBPF_WARN || vasprintf(&text, format, arguments) < 0)
		return 0;
	if (verbose)
		fputs(text, stderr);
	skip = keep_program(text);
	log = strstr(text, LOG_BEGIN);
	if (log)
		keep_last_word(log + strlen(LOG_BEGIN));
	else if (!verifier_spoke && !reason[0])
		keep_line(text + skip, strcspn(text + skip, "\n"));
	free(text);
	return 0;
}

void objects_quiet(void)
{
	libbpf_set_print(on_libbpf_text);
}

void objects_verbose(bool whole)
{
	verbose = whole;
}

void verifier_log_begin(void)
{
	objects_quiet();
	reason[0] = '\0';
	program[0] = '\0';
	verifier_spoke = false;
}

/* "cannot use helper bpf_probe_read#4", before 6.11 "unknown func bpf_probe_read#4". */
static bool locked_down(void)
{
	return verifier_spoke && strstr(reason, " bpf_probe_read") &&
	       (strstr(reason, "cannot use helper") || strstr(reason, "unknown func"));
}

const char *verifier_log_text(void)
{
	return locked_down() ? VERIFIER_LOCKED_DOWN : reason;
}

const char *verifier_log_program(void)
{
	return program;
}
