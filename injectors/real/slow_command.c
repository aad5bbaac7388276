// SPDX-License-Identifier: GPL-2.0
/* faultline-inject slow -- COMMAND */
#include <unistd.h>

#include "injectors/real/slow.h"
#include "lib/base/clock.h"

#define WAIT_NS	     (20 * NSEC_PER_MSEC)
#define TERMINATE_NS (2 * NSEC_PER_SEC) /* for what a command leaves that was asked to end */

/* The command may take its time to end, unless a second signal comes; what it leaves may not. */
static void wait_for_end(struct command *command)
{
	__u64 kill_ns = 0;

	while (command_is_alive(command) && (verb_stop || !command->ended)) {
		if (verb_stop && !kill_ns) {
			command_signal(command, SIGTERM);
			kill_ns = monotonic_ns() + TERMINATE_NS;
		}
		if (verb_stop > 1 || (kill_ns && command->ended && monotonic_ns() > kill_ns))
			break;
		usleep(WAIT_NS / NSEC_PER_USEC);
	}
}

int slow_run_command(struct command *command)
{
	int err = verb_stop ? 0 : command_go(command);

	if (err)
		return failure_report(err);
	wait_for_end(command);
	command_end(command);
	return verb_stop ? EXIT_INTERRUPTED : command_exit_code(command);
}
