/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two processes, so that whichever is killed, the other cleans up: the guardian waits, forwards
 * signals and removes what a dead machine left; its child is the machine and gets SIGTERM when the
 * guardian dies (PR_SET_PDEATHSIG).
 */
#ifndef FAULTLINE_JOB_GUARDIAN_H
#define FAULTLINE_JOB_GUARDIAN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Set by SIGINT, SIGTERM and SIGHUP: in the child, and after guardian_catch_stops() in the guardian. */
extern volatile sig_atomic_t guardian_stop;

/*
 * Once, ahead of several guardian_run(): a stop that comes between two of them is neither lost nor the
 * end of us. Not blocked, as what is written between them may wait for its reader.
 */
void guardian_catch_stops(void);
/* -EINTR with its sentence. */
int guardian_stopped(void);

/* In the child: whether the guardian has died. Nobody waits for what takes its time, then. */
bool guardian_gone(void);

struct guardian_task {
	/* Runs in the child; its return value is seen only through memory that both share. */
	void (*body)(void *argument);
	/* Called in the guardian every 250 ms with the time since the start; may be NULL. */
	void (*progress)(void *argument, double seconds);
	void *argument, *progress_argument;
};

/*
 * Runs the task to its end. 0 if the child ended by itself, -EINTR if we were told to stop (the
 * child has ended then, too, or was not even started), -EIO with a sentence if it died of a signal. *pid: the child's.
 */
int guardian_run(const struct guardian_task *task, pid_t *pid);

#endif
