// SPDX-License-Identifier: GPL-2.0
/* faultline doctor: what this host can show, probe by probe, and why not. */
#include <bpf/libbpf.h>
#include <string.h>

#include "lib/capture/capture.h"
#include "tools/common.h"
#include "tools/doctor_host.h"
#include "tools/verbs.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct doctor {
	struct output_options output;
	struct capture_config capture;
	struct writer *writer;
	size_t on, rows;
};

enum { KEY_EMULATOR = 0x200 };

static const struct argp_option options[] = {
	{"emulator", KEY_EMULATOR, "PATH", 0, "Binary of the emulated machines", 0},
	{"verbose", 'v', NULL, 0, "Print what the kernel's verifier says of refused programs", 0},
	{0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct doctor *doctor = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &doctor->output;
		return 0;
	case KEY_EMULATOR:
		doctor->capture.emulator = argument;
		return 0;
	case 'v':
		doctor->capture.verbose = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'%s", argument,
			   destination_hint(&doctor->output.to, argument));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {{&output_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
	options,
	parse,
	"",
	"Tells what this host can show: every probe with the way it would be attached, and what is "
	"missing. Programs are loaded for a moment, nothing is attached or changed.\v"
	"EXAMPLES:\n"
	"  sudo faultline doctor\n"
	"  sudo faultline doctor --json --table probes",
	children,
	NULL,
	NULL,
};

static int write_probe(void *self, const struct probe_info *probe)
{
	struct doctor *doctor = self;

	doctor->rows++;
	doctor->on += probe->state == PROBE_ON;
	return writer_row(doctor->writer, (union cell[]){
						  {.text = probe->name},
						  {.text = probe->state == PROBE_ON ? "ok" : "off"},
						  {.text = probe->attach},
						  {.text = probe->reason},
					  });
}

static int write_probes(struct doctor *doctor)
{
	static const struct column columns[] = {
		{"probe", NULL, COLUMN_TEXT, 18, false},
		{"state", NULL, COLUMN_TEXT, 5, false},
		{"attach", NULL, COLUMN_TEXT, 33, false},
		{"reason", NULL, COLUMN_TEXT, 0, false},
	};
	static const struct table table = {"probes", "Probes", columns, COUNT(columns)};
	static const struct stream_ops ops = {.probe = write_probe};
	int error = writer_begin(doctor->writer, &table);

	if (!error)
		error = capture_probe_report(&doctor->capture, (struct stream){&ops, doctor});
	return error ? error : writer_end(doctor->writer);
}

static int write_host(struct doctor *doctor)
{
	static const struct column columns[] = {
		{"what", NULL, COLUMN_TEXT, 16, false},
		{"state", NULL, COLUMN_TEXT, 7, false},
		{"finding", NULL, COLUMN_TEXT, 0, false},
	};
	static const struct column wide[] = {
		{"what", NULL, COLUMN_TEXT, 16, false},
		{"state", NULL, COLUMN_TEXT, 7, false},
		{"finding", NULL, COLUMN_TEXT, 0, false},
		{"remedy", NULL, COLUMN_TEXT, 0, false},
	};
	bool text = doctor->output.to.format == OUTPUT_TEXT;
	struct table table = {"host", "Host", text ? columns : wide, text ? 3 : 4};
	struct host_check checks[HOST_CHECKS];
	size_t count = host_checks(checks, doctor->capture.emulator);
	int error = writer_begin(doctor->writer, &table);

	for (size_t i = 0; !error && i < count; i++)
		error = writer_row(doctor->writer,
				   (union cell[]){
					   {.text = checks[i].name},
					   {.text = checks[i].good ? "ok" : "missing"},
					   {.text = checks[i].finding},
					   {.text = checks[i].remedy},
				   });
	if (!error)
		error = writer_end(doctor->writer);
	for (size_t i = 0; !error && i < count; i++)
		if (!checks[i].good)
			error = writer_note(doctor->writer, "%s, to change that: %s.",
					    checks[i].name, checks[i].remedy);
	return error;
}

int verb_doctor(int argc, char **argv)
{
	struct doctor doctor = {};
	int error, closed;

	error = common_parse(&argp, 0, argc, argv, &doctor);
	if (error)
		return EXIT_USAGE;
	error = common_open_writer(&doctor.writer, &doctor.output);
	if (error)
		return common_failed(error);
	error = write_probes(&doctor);
	if (!error)
		error = writer_note(doctor.writer, "%zu of %zu probes can be attached.", doctor.on,
				    doctor.rows);
	if (!error)
		error = write_host(&doctor);
	closed = writer_close(doctor.writer);
	if (error || closed)
		return common_failed(error ? error : closed);
	return EXIT_OK;
}
