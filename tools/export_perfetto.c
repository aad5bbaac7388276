// SPDX-License-Identifier: GPL-2.0
/* A recording as a Perfetto trace, one of each host. */
#include <errno.h>

#include "lib/base/fail.h"
#include "tools/export_file.h"
#include "tools/perfetto/trace.h"

static int check_perfetto(const struct export_job *job, const struct export_part *part)
{
	struct export_file out = {0};
	int err = export_file_create(&out, job, part);

	export_file_discard(&out);
	return err;
}

struct perfetto_export {
	struct offline offline; /* first: what offline_run() hands to its verb */
	const struct export_job *job;
	const struct export_part *part;
	struct export_file out;
	struct perfetto *trace;
};

static int open_trace(struct offline *o)
{
	struct perfetto_export *export = (struct perfetto_export *)o;

	return export_file_create(&export->out, export->job, export->part);
}

static int begin_trace(struct offline *o)
{
	struct perfetto_export *export = (struct perfetto_export *)o;
	int err = perfetto_create(&export->trace, o->analysis, export->part->name,
				  export->part->summary, export->out.file, export->out.path);

	return err ? err : offline_read_devices(o);
}

static struct stream trace_stream(struct offline *o)
{
	return perfetto_stream(((struct perfetto_export *)o)->trace);
}

static int end_trace(struct offline *o)
{
	struct perfetto_export *export = (struct perfetto_export *)o;
	int err = perfetto_finish(export->trace);

	return err ? err : export_file_name(&export->out);
}

static int write_perfetto(const struct export_job *job, const struct export_part *part)
{
	static const struct offline_verb verb = {
		.open = open_trace,
		.begin = begin_trace,
		.stream = trace_stream,
		.write = end_trace,
		.damage_is_loss = true,
	};
	const struct analysis_config config = {
		.without_findings = true, .without_footprint = true, .slos = job->slos};
	struct perfetto_export export = {
		.offline = {.path = part->path,
			    .only = part->number,
			    .output.to.format = OUTPUT_PARQUET}, /* no text: notes are for stderr */
		.job = job,
		.part = part,
	};
	int code = offline_run(&export.offline, &config, &verb);

	perfetto_destroy(export.trace);
	export_file_discard(&export.out);
	return code;
}

const struct export_format export_perfetto = {check_perfetto, write_perfetto};
