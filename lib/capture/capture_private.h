/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/capture: the state of a live capture, shared by capture.c and the paths. */
#ifndef FAULTLINE_CAPTURE_PRIVATE_H
#define FAULTLINE_CAPTURE_PRIVATE_H

#include <limits.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "lib/capture/capture.h"
#include "lib/capture/devices.h"
#include "lib/capture/flows.h"
#include "lib/capture/groups.h"
#include "lib/capture/hello.h"
#include "lib/capture/machines.h"
#include "lib/capture/merge.h"
#include "lib/capture/objects.h"
#include "lib/capture/owners.h"
#include "lib/capture/paths.h"
#include "lib/capture/probes.h"
#include "lib/capture/ring.h"
#include "lib/capture/windows.h"

/* A binary that carries our probes, by what cannot be renamed; a machine is a process that runs it. */
struct emulator {
	dev_t device;
	ino_t inode; /* 0: the place is free */
	off_t bytes;
	struct timespec written;
	size_t machines; /* that run it */
	__u64 used_ns;	 /* by the last of them */
	__u64 since_ns;	 /* its probes are attached */
};

struct capture {
	struct capture_config config;
	struct shared_maps maps;
	struct probe_set *probes;
	struct device_table *devices;
	struct machines *machines;
	struct windows *windows;
	struct owners *owners;
	struct flows *flows;
	struct networks *networks; /* of emulated machines */
	struct owner_set ended;	   /* processes since they were last forgotten */
	struct merge *merge;
	struct rdma_counters *rdma; /* NULL while not read */
	__u64 rdma_events;
	struct ring *rings;
	struct event *batch;
	struct probe_info told[PROBE_COUNT]; /* what the sink knows of the probes */
	struct loss_info loss;
	__u64 dropped[EVENT_FAULT_HANDLER - EVENT_FAULT_DETECT +
		      1];					   /* by the device filter, here */
	__u64 taken[EVENT_FAULT_HANDLER - EVENT_FAULT_DETECT + 1]; /* from rings, those included */
	struct emulator emulators[EMULATORS_MAX];
	int emulator; /* the place of the one that is configured; negative: none was found */
	bool emulator_missed; /* that was said */
	struct capture_refusals refusals;
	__u64 start_ns;	  /* when programs were let go, 0: not yet */
	__u64 stopped_ns; /* see capture_stopped_ns(); a signal handler may set it */
	__u64 last_ns;	  /* of all events given to the sink */
	__u64 next_second_ns;
	__u64 next_anchor_ns;
	struct clock_anchor anchor; /* the newest told */
	bool attached;
	struct deadline_bpf *deadline; /* NULL: nobody asked for an end */
};

/* Sources of the merge: one per ring, then these. */
#define SOURCES_BESIDE_RINGS 2

static inline size_t source_local(const struct capture *c)
{
	return c->maps.cpus;
}

static inline size_t source_access(const struct capture *c)
{
	return c->maps.cpus + 1;
}

/* When programs stopped: told so, or by the kernel because their time was over. 0: not yet. */
static inline __u64 capture_stopped_ns(const struct capture *c)
{
	__u64 stopped_ns = __atomic_load_n(&c->stopped_ns, __ATOMIC_RELAXED);

	return stopped_ns ?: __atomic_load_n(&c->maps.state->stopped_ns, __ATOMIC_RELAXED);
}

/* Whether this happened after programs had stopped: those of the kernel saw nothing then. */
static inline bool capture_was_over(const struct capture *c, __u64 time_ns)
{
	__u64 stopped_ns = capture_stopped_ns(c);

	return stopped_ns && time_ns > stopped_ns;
}

/* Whether they saw it: access logs tell of the time before they were let go, too. */
static inline bool capture_was_on(const struct capture *c, __u64 time_ns)
{
	return time_ns >= c->start_ns && !capture_was_over(c, time_ns);
}

/* group_given_up_fn of a struct capture. */
int capture_take_unfinished(void *self, const struct event *event);
/* Devices that are gone, of which faults were given up. */
int capture_report_gone(struct capture *capture, __u64 now_ns);

/*
 * deadline.c: loads what ends a capture of a given length, if it has one; lets all programs go, the end
 * being set in the same moment; forgets the kernel's timer.
 */
int capture_prepare_deadline(struct capture *c);
int capture_let_go(struct capture *c);
void capture_forget_deadline(struct capture *c);

/* paths/emulated.c: what comes from emulated machines; device_ask_fn of a struct capture. */
extern const struct machines_ops capture_machines_ops;
void capture_ask_machine(void *self, __u32 pid);
/* paths/tcp.c: TCP in the namespaces of these inodes is that of this device's network. */
void capture_enter_networks(struct capture *c, const struct device_key *key, __u32 handle,
			    const __u64 inodes[HELLO_NETWORKS]);
/*
 * emulator.c: those that probes are attached to. The configured one always, at first and whenever another file
 * has taken its place, which this looks at; those that machines run as long as one does.
 */
void emulators_look(struct capture *c);
/* One more machine runs the open file `fd`: the place of its emulator. -ENOENT: no probe is on it. */
int emulator_enter(struct capture *c, const struct stat *file);
/* Likewise, having attached to it. */
int emulator_adopt(struct capture *c, int fd, const struct stat *file, const char *path);
/* Since when its probes are attached. */
__u64 emulator_watched_since(void *capture, int place);
void emulator_leave(void *capture, int place);
/* slots.c: a process has ended; what it had goes back with that of all others, by capture_forget_ended(). */
int capture_process_ended(struct capture *c, __u32 pid, __u64 start_time);
int capture_forget_ended(struct capture *c);
/* Once a second: devices that have gone, and processes that have ended and were no machine that we knew. */
int capture_return_slots(struct capture *c);
/* account.c: probes whose state or counters have changed since. */
int capture_report_probes(struct capture *c, struct stream sink);
/* What the merge may expect of the access logs. */
void capture_promise_access(struct capture *c, __u64 now_ns);

#endif
