// SPDX-License-Identifier: GPL-2.0
/* faultline accesses: which pages a trace needs, without a model. */
#include "tools/sim/command.h"
#include "tools/verbs.h"

static const char about[] =
	"Tells which pages a trace needs, recorded or made up as for `faultline sim`: classes of pages "
	"by how often and when they are used, pages that tenants share, how soon a page is used again, "
	"and how many entries a tenant's accesses need at a time (HyperTRIO section IV-D).\v"
	"EXAMPLES:\n"
	"  sudo faultline record --kind io_complete -o run.flt -- ./workload\n"
	"  faultline accesses --trace run.flt --set trace.as_recorded=yes \\\n"
	"      --set trace.requests=1\n"
	"  faultline accesses --set trace.workload=websearch --tenants 1 --csv=out";

static int accesses_run(struct sim_command *command)
{
	struct writer *writer;
	int err = sim_command_read(command);

	if (!err)
		err = sim_command_open(command, &writer, sim_accesses_tables);
	if (err)
		return err;
	err = sim_accesses(writer, &command->configs[0], command->store,
			   sim_command_whole(command));
	if (!err)
		err = sim_command_left_out(command, 1, writer);
	return sim_command_close(writer, err);
}

int verb_accesses(int argc, char **argv)
{
	struct sim_command command = {.one_trace = true};
	int err = sim_command_parse(&command, about, argc, argv);

	if (err)
		return EXIT_USAGE;
	if (command.keys)
		return sim_command_keys();
	err = accesses_run(&command);
	sim_command_free(&command);
	return err ? common_failed(err) : command.lossy ? EXIT_LOSS : EXIT_OK;
}
