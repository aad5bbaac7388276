/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A real program within one side of a network: not root, in a session and a PID namespace of its own, with a /tmp
 * of its own that is its home, without descriptors of ours. What it prints is kept, and all that it starts ends with it, by program_stop(), and with
 * this process, also if that is killed.
 */
#ifndef FAULTLINE_NET_PROGRAM_H
#define FAULTLINE_NET_PROGRAM_H

#include <linux/types.h>
#include <signal.h>
#include <stdbool.h>

#include "injectors/net/listening.h"
#include "injectors/net/network.h"
#include "injectors/net/program_host.h"

#define PROGRAM_OUTPUT (4u << 20)    /* bytes of its stdout that are kept */
#define PROGRAM_GRACE  2000000000ull /* ns between SIGTERM and SIGKILL */
#define PROGRAM_NAME   64

enum program_role {
	PROGRAM_SERVER, /* runs until it is stopped */
	PROGRAM_LOAD,	/* ends by itself, or after its duration */
};

struct program_config {
	char name[PROGRAM_NAME]; /* of its section, for sentences */
	char run[PROGRAM_TEXT];
	enum network_side side;
	enum program_role role;
	char ready[16];		/* listening_parse(); "": as soon as it runs */
	__u64 ready_timeout_ns; /* for that */
	__u64 duration_ns;	/* then it is stopped; 0: never */
};

struct network_program;

/*
 * Whether it can be run: its words, `ready`, and the program itself, looked for in $PATH. -EINVAL, -ENOENT or
 * -EACCES with a sentence; starts nothing and needs no right.
 */
int program_check(const struct program_config *config);

/* Runs it. Returns 0, or a negative errno with a sentence. */
int program_start(struct network_program **program, struct program_host *host,
		  const struct network *network, const struct program_config *config);

/*
 * Waits until somebody listens at the port that `ready` names. -ETIMEDOUT or -EIO with a sentence: nobody does
 * in time, or it has ended before. -EINTR without one once `*stop` is nonzero; it may be NULL.
 */
int program_await_ready(struct network_program *program, const volatile sig_atomic_t *stop);

/*
 * Waits for its end for so long at most, ending it when its duration is over. 0: it has ended as it should; -ETIMEDOUT without a
 * sentence: it runs; -EIO with a sentence: it ended by a signal or with another status than 0, or a server ended
 * that nobody has stopped.
 */
int program_wait(struct network_program *program, __u64 timeout_ns);

/* Whether it has ended by now, by a signal or with another status than 0. */
bool program_has_failed(struct network_program *program);

/* SIGTERM to its process group; program_wait() and program_stop() kill all that is there after PROGRAM_GRACE. */
void program_end(struct network_program *program);

/* SIGTERM to its process group, SIGKILL to all that is there after PROGRAM_GRACE, and waits for the end. */
void program_stop(struct network_program *program);

/*
 * What it has printed on stdout, with a NUL behind it, to be freed by the caller; NULL with a sentence without memory.
 * `discarded` bytes more were printed.
 */
char *program_output(const struct network_program *program, size_t *size, __u64 *discarded);

/* Stops it if it runs. */
void program_free(struct network_program *program);

#endif
