/* SPDX-License-Identifier: GPL-2.0
 *
 * What a guest does to its memory and its disk, and what it finds wrong with them. One static program, which is the
 * guest's first process; it needs nothing of the host but virtio's devices.
 *
 * Threads are started for each kind of work; each owns what it writes, so that whatever it reads must be what it wrote
 * there last. All that is found wrong is counted in `struct load_result`, and the first of it said on the console.
 */
#ifndef TESTS_VM_GUEST_LOAD_H
#define TESTS_VM_GUEST_LOAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOAD_PAGE	4096u
#define LOAD_PAGE_WORDS (LOAD_PAGE / sizeof(uint64_t))

/* Durations in ns, in classes of which 16 make twice the time: a percentile is at most 1/16 above the true one. */
#define LATENCY_CLASSES 1024
struct latency {
	uint64_t count;
	uint64_t max_ns;
	uint64_t classes[LATENCY_CLASSES];
};

/* What is asked for, by `key=value` words of the kernel's command line behind `--` (options.c has their meanings). */
struct load_options {
	uint64_t seed;
	uint64_t seconds;
	uint64_t rounds;
	uint64_t rest_seconds;
	uint64_t rest_balloon;
	uint64_t await_memory;

	uint64_t churn_bytes;
	uint64_t churn_threads;
	uint64_t churn_operations;

	uint64_t counter_bytes;
	uint64_t counter_threads;
	uint64_t counter_operations;

	uint64_t flags_operations;

	uint64_t tmpfs_files;
	uint64_t tmpfs_bytes;
	uint64_t tmpfs_rounds;

	char disk[32];
	uint64_t disk_bytes;
	uint64_t disk_threads;
	uint64_t disk_buffered;
	uint64_t disk_operations;
	uint64_t disk_block;
	uint64_t disk_buffer;
	uint64_t disk_write_percent;
	uint64_t disk_zero_percent;
	uint64_t disk_discard_percent;

	char net_address[16];

	uint64_t reboots;
	char end[16];
	char run[1024];
	char wrong[16];
};

/* What came of it; threads add to it under its lock. */
struct load_result {
	pthread_mutex_t lock;
	uint64_t wrong_bytes;
	uint64_t errors;
	uint64_t churned;
	uint64_t counted;
	uint64_t flags_tried;
	uint64_t flags_spoiled;
	uint64_t files;
	uint64_t reads;
	uint64_t writes;
	uint64_t zeroed;
	uint64_t discarded;
	uint64_t flushes;
	struct latency page;
	struct latency read;
	struct latency write;
};

/* One run of all threads. */
struct load {
	const struct load_options *options;
	struct load_result result;
	uint64_t end_ns; /* of CLOCK_MONOTONIC; 0: operations alone end it */
	uint64_t boots;	 /* how often this disk has seen a guest end */
};

/* Takes one word; false if it is none of ours or has no such value. */
bool load_option(struct load_options *options, const char *word);
/* Defaults: nothing is done. */
void load_options_init(struct load_options *options);

uint64_t clock_ns(void);
/* A line for whoever reads the console. */
void say(const char *key, uint64_t value);
bool load_is_over(const struct load *load);
/* A number below `limit`, from a state that is its owner's. */
uint64_t random_below(uint64_t *state, uint64_t limit);

void latency_add(struct latency *latency, uint64_t ns);
void latency_merge(struct latency *into, const struct latency *from);
/* Of `per_mille` of all, an upper bound; 0 if there are fewer than 20 beyond it. */
uint64_t latency_percentile(const struct latency *latency, unsigned int per_mille);

/* A page's content: its owner's number, which generation of it, and words that follow from both. */
void page_fill(void *page, uint64_t owner, uint64_t generation);
/* How many bytes are not as page_fill() makes them. */
uint64_t page_wrong_bytes(const void *page, uint64_t owner, uint64_t generation);
/* The generation a page says it has, if it says it is that owner's. */
bool page_generation(const void *page, uint64_t owner, uint64_t *generation);

/* Says once a kind of work what was wrong, and counts it. */
void load_wrong(struct load *load, const char *what, uint64_t where, uint64_t bytes);
void load_error(struct load *load, const char *what, int error);

/* Each starts its threads, and waits for those that were started; what it did is in load->result. */
struct work {
	const char *name;
	uint64_t (*threads)(const struct load_options *options);
	void (*thread)(struct load *load, uint64_t number);
};
extern const struct work churn_work, counters_work, flags_work, tmpfs_work, disk_work,
	buffered_work;

/* Before any thread: the disk is that of the boot before, if there was one; load->boots says which boot this is. */
bool disk_begin(struct load *load);
/* After all threads: all of it is read and compared; then it is marked for the boot that follows. */
void disk_end(struct load *load);

/* Before any thread: the network card has the address that was asked for, if one was, and is up. */
bool network_begin(struct load *load);
/* After all traffic, which began then: waits until no connection is left and nothing comes any more, and tells what was counted. */
void network_end(struct load *load, uint64_t begin_ns);

/* First process: file systems, modules, /dev. False with a sentence on the console. */
bool machine_begin(void);
/* Ends the guest as asked for (`poweroff`, `reboot`, `shell`, `stay`), after what was written is on the disk. */
void machine_end(const char *how);

#endif
