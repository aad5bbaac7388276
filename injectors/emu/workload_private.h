/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of a workload share: workload.c (its life), workload_next.c (which I/O comes next),
 * workload_plan.c (what it may work on). */
#ifndef FAULTLINE_WORKLOAD_PRIVATE_H
#define FAULTLINE_WORKLOAD_PRIVATE_H

#include <pthread.h>

#include "injectors/emu/workload_driver.h"
#include "injectors/emu/workload_pattern.h"

#define AHEAD_IOS 1024 /* composed before their time, at most */

/*
 * The I/Os that come next, composed before their time so that their pages can be taken away first.
 * Whose turn it is says the state: an injector asks, the guest lists, the injector takes the pages,
 * the guest sends the I/Os. The guest goes on with others while the pages are being taken.
 */
enum ahead_state {
	AHEAD_NONE,
	AHEAD_ASKED,  /* the guest is to list */
	AHEAD_LISTED, /* the injector has the list, the I/Os are not sent */
	AHEAD_READY,  /* the guest may send them, before any other */
};

struct ahead {
	enum ahead_state state; /* atomic; changes with the lock held */
	__u64 *pages;		/* the injector's */
	__u32 limit, count;	/* pages wanted, pages listed */
	struct workload_io *io; /* AHEAD_IOS, allocated by the first to ask */
	__u64 *listed;		/* a bit for each page of the data that is being taken away */
	__u32 first, end;	/* of io */
};

struct workload {
	struct workload_config config;
	struct guest_memory *memory;
	struct channel *channel;
	__u64 data_bytes;
	struct verify *verify; /* NULL unless asked for */
	struct pattern memory_pattern, target_pattern;
	__u64 target_base; /* copy: guest address of the destinations */
	struct random random;
	__u32 weight_sum;
	__u64 issued;
	struct ahead ahead;
	/* window_min_ios */
	__u64 window, window_ios, windows_closed;
	struct workload_result result;
	pthread_t thread;
	bool started, joined;
	bool stopping;
	bool done; /* under lock */
	pthread_mutex_t lock;
	pthread_cond_t ended;
	pthread_cond_t ahead_changed;
	struct {
		struct driver_queue driver;
		__u64 scheduled; /* I/Os of the absolute schedule taken so far */
	} queue[];
};

static inline enum ahead_state ahead_state(const struct workload *w)
{
	return __atomic_load_n(&w->ahead.state, __ATOMIC_ACQUIRE);
}

/* workload_next.c, the guest's thread */
/* What the next I/O does and where, its time aside. false: nothing can be sent just now. */
bool workload_next_io(struct workload *w, struct workload_io *io);
/* Composes and lists what an injector asked for. */
void workload_list_ahead(struct workload *w);

/* workload_plan.c: -EINVAL with a sentence */
/* The rules that need no device. */
int workload_check(const struct workload_config *config);
/* The spans that the patterns run over, from what the device and its memory have. */
int workload_plan(struct workload *w);

#endif
