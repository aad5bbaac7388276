// SPDX-License-Identifier: GPL-2.0
#include "injectors/exec.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injectors/machine_networks.h"
#include "lib/base/command.h"
#include "lib/base/fail.h"
#include "lib/base/files.h"
#include "lib/base/limits.h"
#include "lib/base/signals.h"
#include "lib/base/units.h"
#include "lib/cli/cli.h"

struct exec_arguments {
	const char *side;
	char **command;
	pid_t pid;
};

static int take_exec_argument(void *input, unsigned int number, const char *text)
{
	struct exec_arguments *arguments = input;
	__u64 pid;

	if (number > 1)
		return failed(-EINVAL, "unexpected argument '%s'; accepted: -- COMMAND", text);
	if (number) {
		arguments->side = text;
		return 0;
	}
	if (units_parse_count(text, 1, INT_MAX, &pid))
		return failed(-EINVAL, "'%s' is no PID; accepted: the PID of a machine", text);
	arguments->pid = (pid_t)pid;
	return 0;
}

static int check_exec(void *input)
{
	const struct exec_arguments *arguments = input;

	if (arguments->command && arguments->side)
		return 0;
	return failed(-EINVAL, "accepted: a machine's PID, guest or wire, and -- COMMAND");
}

/* Returns only if that fails. */
static int become_command(const struct exec_arguments *arguments)
{
	char path[PATH_MAX];
	struct stat status;

	if (!command_search(arguments->command[0], path, &status))
		return failed(-ENOENT, "%s: no such command", arguments->command[0]);
	signals_restore();
	limits_restore();
	files_restore_umask();
	execv(path, arguments->command);
	return failed(-errno, "%s: cannot be run: %s", arguments->command[0], strerror(errno));
}

static int exec_in_machine(const struct exec_arguments *arguments)
{
	const struct machine_side *side;
	struct machine_sides sides;
	int err, netns;

	err = machine_is_running(arguments->pid) ?: machine_list_sides(arguments->pid, &sides);
	if (err)
		return err;
	side = machine_choose_side(arguments->pid, &sides, arguments->side);
	if (!side)
		return -EINVAL;
	netns = machine_open_netns(arguments->pid, side->inode);
	if (netns < 0)
		return netns;
	if (setns(netns, CLONE_NEWNET))
		err = failed(-errno, "entering the network of machine %d: %s; it needs root",
			     arguments->pid, strerror(errno));
	close(netns);
	return err ?: become_command(arguments);
}

int verb_exec(int argc, char **argv)
{
	static const struct cli_table tables[] = {{0}};
	static const struct cli cli = {
		.tables = tables,
		.arguments = "PID [DEVICE:]guest|wire -- COMMAND [ARGUMENT...]",
		.take = take_exec_argument,
		.command = offsetof(struct exec_arguments, command),
		.check = check_exec,
		.about =
			"Runs a command inside a network of a running machine: where its guest's "
			"programs are, or at the other end of the wire. PID is the machine's; DEVICE "
			"tells several nics apart.\v"
			"EXAMPLES:\n"
			"  sudo faultline-inject exec 4711 wire -- ping -c 3 10.77.0.1\n"
			"  sudo faultline-inject exec 4711 guest -- nstat -as\n"
			"  sudo faultline-inject exec 4711 vm/net:guest -- ss -tin\n",
	};
	struct exec_arguments arguments = {0};

	cli_parse(&cli, argc, argv, &arguments);
	return failure_report(exec_in_machine(&arguments));
}
