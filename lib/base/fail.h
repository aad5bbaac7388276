/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How an error travels: functions return a negative errno and leave one sentence for the user.
 *
 *	return failed(-EINVAL, "%s:%d: queue_depth=%llu: accepted: 1 to 1024", file, line, depth);
 *
 * The sentence names the values and what to do; main() prints it once as "faultline: SENTENCE" and
 * turns the errno or a typed status into the exit code. The text is per thread, one line, and printable()
 * whatever the values hold.
 */
#ifndef FAULTLINE_FAIL_H
#define FAULTLINE_FAIL_H

/* Exit codes of both programs; documented in docs/exit-codes.md and the man pages. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_FAIL = 1,	/* the system refused something while running */
	EXIT_USAGE = 2, /* an option or argument is wrong */
	EXIT_INPUT = 3, /* a job file, SLO file or recording cannot be read, is wrong or damaged */
	EXIT_PRIVILEGE = 4,   /* root, a capability, BTF, userfaultfd or a mount is missing */
	EXIT_LOSS = 5,	      /* finished, but events were lost: numbers are floors */
	EXIT_EXPECT = 6,      /* a campaign's [expect] or an SLO did not hold */
	EXIT_INTERRUPTED = 7, /* stopped by a signal before the work was complete */
};

/* Records the sentence and returns `error` (negative errno). Never allocates. */
int failed(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts context before the recorded sentence ("CONTEXT: SENTENCE") and returns `error`. */
int failed_in(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The sentence of this thread's last failure, "" if none. Valid until the next failed(). */
const char *failure_text(void);

/*
 * What became of an input file that cannot be opened or read, as an error that ends with EXIT_INPUT:
 * one code wherever a file is missing. Memory, descriptors, room on a disk and signals are nothing of the file's.
 */
int failed_input(int error);

/*
 * What the kernel has refused, as an error that is neither an option's nor an input's whatever number it
 * came with: it ends with EXIT_FAIL, or with EXIT_PRIVILEGE for want of a right.
 */
int failed_system(int error);

/* The exit code that fits a negative errno where the caller knows nothing better. */
enum exit_code exit_code_of(int error);

/* Prints the recorded sentence on stderr; returns its exit code, which is EXIT_USAGE for -EINVAL. */
int failure_report(int error);

#endif
