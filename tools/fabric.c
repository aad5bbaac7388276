// SPDX-License-Identifier: GPL-2.0
/* faultline fabric: which way PCIe transactions between hosts take, and what that costs, by a model. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/job/expect.h"
#include "tools/fabric/command.h"
#include "tools/verbs.h"

static const char about[] =
	"Finds the ways of PCIe transactions between devices, memory and CPUs of hosts that are joined by "
	"non-transparent bridges (SmartIO), counts hops, roots and split requests, and computes latency and bandwidth. "
	"Results are a model's, labelled so, and the same to the byte for the same job.\v"
	"EXAMPLES:\n"
	"  faultline fabric fabric-piv-table-1\n"
	"  faultline fabric fabric-root-split --csv=out\n"
	"  faultline fabric fabric.ini --set run.scenario=far \\\n"
	"      --sweep lender.iommu=no,yes\n\n"
	"JOB is the name of a shipped job or, with a slash or .ini, a file. A job file has the sections and keys that --keys "
	"lists, [sweep], [expect] and [short] as in docs/jobs.md. What is modelled: docs/fabric.md.";

static int fabric_execute(struct fabric_command *command)
{
	struct writer *writer;
	int err = fabric_command_run(command);

	if (!err)
		err = common_open_writer(&writer, &command->output, command->inputs, fabric_tables);
	if (err)
		return err;
	err = fabric_write(writer, command);
	if (!err)
		return writer_close(writer);
	writer_abandon(writer);
	return err;
}

static int fabric_expect(const struct fabric_command *command)
{
	double *values = calloc(command->sweep.points, sizeof(command->points[0].values));
	const struct expression_scope scope = {&command->sweep, &fabric_job_columns, values};
	int code;

	if (!values)
		return common_failed(failed(-ENOMEM, "no memory for the results"));
	for (size_t i = 0; i < command->sweep.points; i++)
		memcpy(&values[i * FABRIC_COLUMNS], command->points[i].values,
		       sizeof(command->points[i].values));
	code = expect_judge(command->text, &scope,
			    command->output.to.format == OUTPUT_TEXT ? stdout : stderr);
	free(values);
	return code;
}

int verb_fabric(int argc, char **argv)
{
	struct fabric_command command = {0};
	int err = fabric_command_parse(&command, about, argc, argv), code;

	if (err)
		return EXIT_USAGE;
	if (command.keys)
		return fabric_command_keys();
	err = fabric_execute(&command);
	code = err ? common_failed(err) : fabric_expect(&command);
	fabric_command_free(&command);
	return code;
}
