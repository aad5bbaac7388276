/* SPDX-License-Identifier: GPL-2.0 */
/*
 * faultline-inject iopf: makes the emulated devices of the module faultline_device raise page
 * requests, map DMA and fault, and reports from the module's own log what became of it.
 */
#ifndef FAULTLINE_REAL_IOPF_H
#define FAULTLINE_REAL_IOPF_H

#include "injectors/kmod/faultline_device.h"
#include "injectors/real/verb.h"

#define IOPF_PROCESSES_MAX 64
#define IOPF_REQUESTS_MAX  (1u << 20)

/* What a device is made to do. */
enum iopf_what {
	IOPF_BURST,
	IOPF_MIXED,
	IOPF_BAD_PASID,
	IOPF_READ_ONLY,
	IOPF_UNMAPPED,
	IOPF_UNMAP,
	IOPF_EXIT,
	IOPF_WITHHOLD,
	IOPF_FLOOD,
	IOPF_IOMMUFD,
	IOPF_DMA,
	IOPF_IO_PAGE_FAULT,
	IOPF_STATUS,
	IOPF_CLEAR,
	IOPF_PLUG,
	IOPF_UNPLUG,
	IOPF_WHATS
};

struct iopf_what_info {
	const char *name, *does;
	bool raises; /* page requests, by processes */
};

extern const struct iopf_what_info iopf_whats[IOPF_WHATS];

struct iopf_options {
	struct verb_options verb;
	const char *what_name; /* as it was given */
	enum iopf_what what;
	__u32 devices[FAULTLINE_DEVICES_MAX], device_count;
	__u32 requests, processes, group_least, group_most, group_numbers;
	__u32 permissions; /* of requests whose page has them all */
	__u64 seed;
	__u64 hold_ns, timeout_ns, delay_ns, pause_ns, wait_ns;
	__u32 withhold, prq_size;
	__u32 count, live, segments, dma_kind; /* of DMA mappings or accesses */
	__u64 size, stride;
	bool keep, forbidden, surprise;
	__u64 given; /* a bit for each of iopf_option_list */
	const char *truth, *memory;
};

/* The device file, opened and checked. Calls fail with a sentence. */
struct iopf_device {
	int fd;
	struct faultline_info info;
};

int iopf_open(struct iopf_device *device);
void iopf_close(struct iopf_device *device);
/* An ioctl; `what` begins the sentence of its failure. */
int iopf_call(const struct iopf_device *device, unsigned long command, void *argument,
	      const char *what);
const char *iopf_device_name(const struct iopf_device *device, __u32 number);
const char *iopf_consumer_name(__u32 consumer);

/* A page request as planned, before addresses and PASIDs are known. */
struct iopf_planned {
	__u32 page; /* of the process's area of its kind */
	__u32 device;
	__u8 kind; /* enum iopf_page */
	bool last;
};

/* What a request asks for, and thereby how the kernel must answer it. */
enum iopf_page {
	IOPF_PAGE_GOOD,
	IOPF_PAGE_BAD_PASID,
	IOPF_PAGE_READ_ONLY,
	IOPF_PAGE_UNMAPPED,
	IOPF_PAGE_TO_UNMAP, /* mapped when it is raised, not any more when it is reported */
	IOPF_PAGE_KINDS
};

/* One process's part: `count` requests from `first` on, whole groups. */
struct iopf_share {
	__u32 first, count;
	__u32 pages[IOPF_PAGE_KINDS]; /* how many its requests name of each kind */
};

struct iopf_plan {
	struct iopf_planned *requests;
	__u32 count, groups;
	struct iopf_share shares[IOPF_PROCESSES_MAX];
};

/* The same options and seed make the same plan. -ENOMEM with a sentence. */
int iopf_plan_make(struct iopf_plan *plan, const struct iopf_options *options);
void iopf_plan_free(struct iopf_plan *plan);

/* What a process of the run says of itself; in memory that parent and children share. */
struct iopf_process {
	int pid;
	int error; /* negative errno, with its sentence */
	char sentence[160];
	__u32 pasid[FAULTLINE_DEVICES_MAX];
	__u32 raised, resident; /* resident: good pages that are present afterwards */
	__u32 good;		/* of so many */
};

/* What processes wait for. */
enum iopf_gate { IOPF_GATE_RAISE, IOPF_GATE_END, IOPF_GATES };

/* Everything of a run that raises page requests. */
struct iopf_run {
	const struct iopf_options *options;
	struct iopf_device device;
	struct iopf_plan plan;
	struct iopf_process *processes;
	int memory;			    /* descriptor of --memory, -1: none */
	__u64 log_first;		    /* id of the run's first entry */
	int ready[2], gates[IOPF_GATES][2]; /* pipes */
	bool ended;
	struct faultline_counters before[FAULTLINE_DEVICES_MAX];
	/* With iommufd. */
	__u32 handled_groups, handled_pages, refused_groups, written_pages;
};

/* Forks the processes; they bind and map, and wait at the first gate. */
int iopf_processes_start(struct iopf_run *run);
void iopf_open_gate(struct iopf_run *run, enum iopf_gate gate);
/* Until every process has come to the next gate. */
int iopf_await_ready(struct iopf_run *run);
/* 0, or the first failure of a process with its sentence. `at_once`: do not wait for them. */
int iopf_processes_end(struct iopf_run *run, bool at_once);

/* Sets the devices up as the options say. */
int iopf_configure(const struct iopf_run *run);
/* Notes where the log and the counters are, so that what is reported is this run's alone. */
int iopf_remember(struct iopf_run *run);

/* Raised into a queue that nobody reads, so that what happens next happens to all of them. */
bool iopf_is_paused_first(const struct iopf_options *options);
int iopf_run_requests(struct iopf_run *run);
int iopf_run_dma(struct iopf_run *run);
/* Page requests that this program itself resolves, by way of iommufd. */
int iopf_run_iommufd(struct iopf_run *run);

/* The module's log from an id on, sorted by id. Freed by the caller; -ENOMEM and so on. */
int iopf_log_read(const struct iopf_device *device, __u64 first,
		  struct faultline_log_entry **entries, size_t *count);
int iopf_truth_write(const char *path, const struct iopf_device *device,
		     const struct faultline_log_entry *entries, size_t count);

/* Tables. */
int iopf_report(const void *self, struct writer *writer);
int iopf_report_status(const void *self, struct writer *writer);

#endif
