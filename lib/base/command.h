/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A command that a program of ours wraps, with all that it starts, in whatever session or group. It is
 * forked early and held until command_go(), so that everything is in place before its first instruction.
 *
 *	us - keeper - command - what it starts
 *
 * All of it ends with us, also if we are killed: the keeper sees that and kills what is below it. Killed
 * itself it leaves them to us. Nothing that was not started by the command is ever signalled. What a
 * command leaves behind that ended by itself is not ours to end.
 */
#ifndef FAULTLINE_COMMAND_H
#define FAULTLINE_COMMAND_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct command {
	const char *name;
	pid_t pid; /* 0: none or ended */
	pid_t keeper;
	int channel; /* to the keeper */
	int go;	     /* write end of the pipe that holds it */
	int told;    /* read end of the pipe that says why it could not be run */
	int status;  /* as of waitpid(), once it has ended */
	bool ended;
	bool alive; /* it, or anything that it has started */
	bool told_to_end;
};

/* Whom a command runs as. */
struct command_user {
	uid_t uid;
	gid_t gid;
};

/* What is wrong with the command line if no command stands behind its `--`, else NULL. */
const char *command_missing(char *const *argv, bool quoted);

/* The file that a command is, found in $PATH if its name has no slash. */
bool command_find(const char *name, struct stat *status);
/* The same, with its path. */
bool command_search(const char *name, char path[PATH_MAX], struct stat *status);

/*
 * Forks and holds the command, as `user` or, if that is NULL, as we are; what it prints goes
 * to our descriptor `output`. From now on orphans among our
 * descendants become our children. Returns 0, also to be undone by command_end(), or a negative errno.
 */
int command_prepare(struct command *command, char **argv, const struct command_user *user,
		    int output);
/* Lets it go and waits until it runs; why it cannot is an error. */
int command_go(struct command *command);
/* Notes whether it has ended; false once nothing that it has started is left, either. */
bool command_is_alive(struct command *command);
/* Asks it and all that it has started to end; 0 only notes that somebody else has asked. */
void command_signal(struct command *command, int signal);
/* Kills what is still there if it was asked to end or is still running itself, waits. */
void command_end(struct command *command);
/* Its status as a shell would give it: 0 to 255. */
int command_exit_code(const struct command *command);

#endif
