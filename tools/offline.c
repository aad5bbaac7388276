// SPDX-License-Identifier: GPL-2.0
#include "tools/offline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/analyze/session.h"

const struct argp_child offline_children[] = {
	{&output_argp, 0, NULL, 0}, {&window_argp, 0, NULL, 0}, {0}};

error_t offline_argument(struct offline *offline, int key, char *argument, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &offline->output;
		state->child_inputs[1] = &offline->window;
		return 0;
	case ARGP_KEY_ARG:
		if (offline->path)
			argp_error(state, "'%s': one recording at a time", argument);
		offline->path = argument;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which recording? Give a .flt file, or - for standard input");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int offline_open(struct offline *o, const struct analysis_config *config)
{
	int err = common_open_recording(o->path, &o->window, &o->reading, &o->summary);

	if (!err)
		err = analysis_create(&o->analysis, config);
	if (err)
		return err;
	session_set_window(o->analysis->session, o->reading.since_ns, o->reading.until_ns);
	return common_open_writer(&o->writer, &o->output);
}

int offline_read(struct offline *o)
{
	char what[128];
	struct progress progress = {.what = what, .total = o->summary.events};
	struct stream_fan fan = {
		.sinks = {common_clock(o->writer), common_progress(&progress),
			  analysis_stream(o->analysis)},
		.count = 3,
	};
	int err;

	snprintf(what, sizeof(what), "reading %s", o->path);
	err = trace_read(&o->reading, stream_fan(&fan));
	common_progress_end(&progress);
	if (err != -EBADMSG)
		return err;
	o->damage = err;
	snprintf(o->sentence, sizeof(o->sentence), "%s", failure_text());
	return 0;
}

int offline_close(struct offline *o, int err)
{
	struct loss_info loss = {0};
	int closed;

	if (o->analysis)
		loss = *session_loss(o->analysis->session);
	if (err) {
		snprintf(o->sentence, sizeof(o->sentence), "%s", failure_text());
		o->damage = err;
	}
	closed = writer_close(o->writer);
	analysis_destroy(o->analysis);
	/* What failed first is what the user must hear; closing tells it again or something new. */
	if (closed && !err) {
		common_failed(closed);
		/* Only --table asks for a table that may not be there. */
		if (closed == -ENOENT && o->output.table)
			return EXIT_USAGE;
		return exit_code_of(closed);
	}
	if (err == -EINVAL) {
		failed(err, "%s", o->sentence);
		common_failed(err);
		return EXIT_USAGE;
	}
	if (o->damage)
		failed(o->damage, "%s", o->sentence);
	return common_exit(o->damage, &loss);
}
