// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes every verb that reads a recording. The first byte chooses the command line, the rest describes a
 * recording (tests/fuzz/made/recording.h). A verb must end with a code that is one, and say only what is
 * printable, as JSON what is JSON, as CSV what has as many cells in each row. `verbs --seeds DIR` writes
 * first inputs; `verbs --print FILE` what an input's recording is, to standard output.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "tests/fuzz/made/recording.h"
#include "tests/fuzz/made/seeds.h"
#include "tools/verbs.h"

#define WORDS_MOST 12

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum form { FORM_TEXT, FORM_JSON, FORM_CSV };

static char recording[64], objectives[64], job[64];

static const struct {
	int (*run)(int argc, char **argv);
	enum form form;
	const char *words[WORDS_MOST];
} lines[] = {
	{verb_report, FORM_TEXT, {"report", recording}},
	{verb_report, FORM_TEXT, {"report", "--wide", recording}},
	{verb_report, FORM_TEXT, {"report", "--since", "+1s", "--until", "-1s", recording}},
	{verb_report, FORM_JSON, {"report", "--json", recording}},
	{verb_report, FORM_JSON, {"report", "--json", "--raw-time", "--since", "+1ms", recording}},
	{verb_report, FORM_CSV, {"report", "--csv", "--table", "faults", recording}},
	{verb_report, FORM_CSV, {"report", "--csv", "--table", "stages", recording}},
	{verb_report, FORM_CSV, {"report", "--csv", "--table", "devices", recording}},
	{verb_timeline, FORM_TEXT, {"timeline", "--slowest", "5", recording}},
	{verb_timeline, FORM_TEXT, {"timeline", "--all", "--fault", "1.1", recording}},
	{verb_timeline, FORM_JSON, {"timeline", "--all", "--json", recording}},
	{verb_explain, FORM_TEXT, {"explain", "--all", "-c", objectives, recording}},
	{verb_explain, FORM_JSON, {"explain", "--slowest", "--json", recording}},
	{verb_explain, FORM_CSV, {"explain", "--all", "--csv", recording}},
	{verb_explain, FORM_TEXT, {"explain", recording, "*@+1ms"}},
	{verb_footprint, FORM_TEXT, {"footprint", recording}},
	{verb_footprint, FORM_JSON, {"footprint", "--json", recording}},
	{verb_slo, FORM_TEXT, {"slo", "-c", objectives, recording}},
	{verb_slo, FORM_JSON, {"slo", "-c", objectives, "--json", recording}},
	{verb_diff, FORM_TEXT, {"diff", recording, recording, "--fail", "*.p50 > 1.1x"}},
	{verb_diff, FORM_JSON, {"diff", "--json", "--until", "-1s", recording, recording}},
	{verb_top, FORM_TEXT, {"top", "-b", "-i", recording}},
	{verb_top, FORM_JSON, {"top", "-b", "--json", "-c", objectives, "-i", recording}},
	{verb_top, FORM_CSV, {"top", "-b", "--csv", "--view", "iommu", "-i", recording}},
	{verb_top, FORM_TEXT, {"top", "-b", "--view", "dma", "-i", recording}},
	{verb_top, FORM_TEXT, {"top", "-b", "--view", "vfio", "-i", recording}},
	{verb_top, FORM_TEXT, {"top", "-b", "--view", "rdma", "-i", recording}},
	{verb_accesses, FORM_JSON, {"accesses", "--json", "--trace", recording}},
	{verb_sim, FORM_JSON, {"sim", "--json", "--set", "trace.packets=53", "--trace", recording}},
	{verb_sim, FORM_TEXT, {"sim", job, "--trace", recording}},
	{verb_doctor, FORM_TEXT, {"doctor", recording}},
	{verb_doctor, FORM_JSON, {"doctor", "--json", recording}},
};

#define LINES (sizeof(lines) / sizeof(lines[0]))

static int memory;

static void require(bool condition)
{
	if (!condition)
		abort();
}

static int named_memory(char name[64], const char *content)
{
	int file = memfd_create("fuzz", MFD_CLOEXEC);

	require(file >= 0 && write(file, content, strlen(content)) == (ssize_t)strlen(content));
	snprintf(name, 64, "/proc/self/fd/%d", file);
	return file;
}

static void open_memory(void)
{
	memory = named_memory(recording, "");
	named_memory(objectives,
		     "[slo fast]\nlatency_target = 1us\nlatency_percentile = 99\nmin_iops = 10\n"
		     "min_bandwidth = 1M\nfault_rate = 3\nburst = 2\nlatency_window = 2s\n"
		     "loss = 1\nmax_stall = 1ms\nmin_throughput = 1M\n"
		     "[slo one]\ndevice = a*\nfault_rate = 0\n");
	named_memory(job,
		     "[trace]\npackets = 31\n[sweep]\ndesign = preset.design: base, hypertrio\n");
}

static void check_text(const char *text)
{
	for (; *text; text++)
		require((*text >= ' ' && *text <= '~') || *text == '\n');
}

/* RFC 4180, as this program writes it: as many cells in each line as in the first. */
static void check_csv(const char *text)
{
	size_t cells = 1, first = 0;
	bool quoted = false;

	for (; *text; text++) {
		if (*text == '"')
			quoted = !quoted;
		else if (*text == ',' && !quoted)
			cells++;
		if (*text != '\n' || quoted)
			continue;
		first = first ? first : cells;
		require(cells == first);
		cells = 1;
	}
	require(!quoted && cells == 1);
}

static void check_output(enum form form, int code, const char *text, size_t size)
{
	json_t *document;

	if (form == FORM_TEXT) {
		check_text(text);
	} else if (form == FORM_CSV) {
		check_csv(text);
	} else if (code != EXIT_USAGE && code != EXIT_FAIL && size) {
		document = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
		require(document != NULL);
		json_decref(document);
	}
}

static void run_line(size_t line)
{
	FILE *standard_output = stdout, *standard_error = stderr;
	char *words[WORDS_MOST + 1] = {NULL}, *output, *messages;
	size_t size, message_size;
	int count = 0, code;

	for (; lines[line].words[count]; count++)
		words[count] = strdup(lines[line].words[count]); /* argp sorts, verbs cut */
	stdout = open_memstream(&output, &size);
	stderr = open_memstream(&messages, &message_size);
	require(stdout && stderr);
	code = lines[line].run(count, words);
	fclose(stdout);
	fclose(stderr);
	stdout = standard_output;
	stderr = standard_error;
	require(code >= EXIT_OK && code <= EXIT_EXPECT && code != EXIT_PRIVILEGE);
	require(code != EXIT_FAIL || strstr(messages, "memory"));
	check_text(messages);
	check_output(lines[line].form, code, output, size);
	free(output);
	free(messages);
	while (count)
		free(words[--count]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct trace_buffer file;

	if (!size)
		return 0;
	if (!memory)
		open_memory();
	make_recording(&file, data + 1, size - 1);
	require(!ftruncate(memory, 0));
	require(pwrite(memory, file.bytes, file.size, 0) == (ssize_t)file.size);
	run_line(data[0] % LINES);
	return 0;
}

static void print_recording(const char *path)
{
	struct trace_buffer out = {0};
	static uint8_t bytes[1 << 20];
	FILE *file = fopen(path, "r");
	size_t size;

	require(file != NULL);
	size = fread(bytes, 1, sizeof(bytes), file);
	require(size > 0);
	make_recording(&out, bytes + 1, size - 1);
	fwrite(out.bytes, 1, out.size, stdout);
	trace_buffer_free(&out);
	for (size_t i = 0; lines[bytes[0] % LINES].words[i]; i++)
		fprintf(stderr, "%s ", lines[bytes[0] % LINES].words[i]);
	fputc('\n', stderr);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *directory = seeds_directory(*argc, *argv);

	/* One of each command line: they differ enough to begin with. */
	for (uint8_t line = 0; directory && line < LINES; line++)
		seeds_write_random(directory, line, 1);
	if (*argc == 3 && !strcmp((*argv)[1], "--print"))
		print_recording((*argv)[2]);
	else if (!directory)
		return 0;
	exit(0);
}
