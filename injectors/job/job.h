/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A campaign: what a job file says, typed and checked (docs/jobs.md).
 *
 * job_text (what was written) -> struct job (this; by the option table) -> struct plan (the machine
 * and its injections, patterns resolved). Each sweep point goes through all three on its own.
 */
#ifndef FAULTLINE_JOB_H
#define FAULTLINE_JOB_H

#include "injectors/emu/machine.h"
#include "injectors/net/program.h"
#include "injectors/net/program_result.h"
#include "lib/job/options.h"

#define JOB_NAME 64

struct job_machine {
	struct machine_config config;
	__u64 timeout_ns;	/* a point that takes longer has failed */
	char tenants[JOB_NAME]; /* pattern over those that take part */
	const char *where;
};

struct job_tenant {
	char name[JOB_NAME];
	__u32 count; /* 0: one, called NAME; else NAME0 ... */
	struct tenant_config config;
	__u32 own_process;
	const char *where;
};

struct job_device {
	char name[JOB_NAME];
	char tenant[JOB_NAME]; /* pattern over tenants */
	__u32 count;	       /* in each tenant; as above */
	struct device_config config;
	__u32 model;					 /* of device_classes */
	struct device_settings settings[DEVICE_CLASSES]; /* as the keys of each would have them */
	const char *where;
};

struct job_workload {
	char name[JOB_NAME];
	char device[JOB_NAME * 2]; /* pattern over devices */
	struct workload_config config;
	const char *where;
};

struct job_traffic {
	char name[JOB_NAME];
	char device[JOB_NAME * 2]; /* pattern over devices */
	struct traffic_config config;
	const char *where;
};

struct job_ranks {
	char name[JOB_NAME];
	char device[JOB_NAME * 2]; /* pattern over devices */
	struct ranks_config config;
	const char *where;
};

struct job_verbs {
	char name[JOB_NAME];
	char device[JOB_NAME * 2]; /* pattern over devices */
	struct verbs_load_config config;
	const char *where;
};

struct job_kvstore {
	char name[JOB_NAME];
	char device[JOB_NAME * 2]; /* pattern over devices */
	struct kvstore_config config;
	const char *where;
};

struct job_program {
	char name[JOB_NAME];
	char device[JOB_NAME * 2]; /* pattern over devices */
	struct program_config config;
	enum result_format format; /* of what a load prints */
	const char *where;
};

enum injection_kind {
#define INJECTION(id, action, point, run, workers) INJECTION_##id,
#include "injectors/job/injections.def"
#undef INJECTION
	INJECTIONS,
};

/* Of `action`. */
const char *injection_name(enum injection_kind kind);
/* Done to virtual machines as a whole, not to devices: `tenant` says to which. */
static inline bool injection_is_of_vms(enum injection_kind kind)
{
	return kind == INJECTION_BALLOON || kind == INJECTION_SUSPEND;
}
/* Those that last as long as `delay` and `distribution` say. */
static inline bool injection_delays(enum injection_kind kind)
{
	return kind == INJECTION_DELAY || kind == INJECTION_SLOW_REMAP ||
	       kind == INJECTION_EVENT_LATE || kind == INJECTION_INSTALL_STALL;
}

enum hog_load { HOG_SPIN, HOG_SCAN };
enum arrival { ARRIVAL_EVEN, ARRIVAL_RANDOM };

/* An [inject NAME] section. Times in ns from the machine's start. */
struct job_injection {
	char name[JOB_NAME];
	char device[JOB_NAME * 2]; /* pattern over devices */
	enum injection_kind kind;
	bool enabled;
	bool from_guests; /* start_ns counts from when the guests of virtual machines have begun */
	__u64 start_ns, duration_ns;
	__u32 probability, interval;
	__s64 times;
	__u64 seed;
	/* delay */
	enum inject_point stage;
	enum inject_distribution distribution;
	__u64 delay_ns, delay_max_ns;
	/* evict */
	enum evict_choice what;
	enum evict_kind evict;
	__u32 sides; /* ring: a RING_SIDE() for each */
	__u32 pages; /* each time */
	double rate; /* events per second and device; 0: none */
	__u32 burst; /* evictions an event */
	enum arrival arrival;
	/* cpu_hog */
	__u32 threads;
	enum hog_load load;
	cpu_set_t cpus; /* empty: the tenants' */
	/* of virtual machines */
	char tenant[JOB_NAME]; /* pattern over tenants */
	__u64 period_ns;       /* 0: once */
	__u64 memory;	       /* balloon: bytes that a guest is left */
	const char *where;
};

struct job {
	const struct job_text *text; /* that it is built of */
	const char *path;
	struct job_machine machine;
	struct job_tenant *tenants;
	struct job_device *devices;
	struct job_workload *workloads;
	struct job_traffic *traffics;
	struct job_ranks *ranks;
	struct job_verbs *verbs;
	struct job_kvstore *kvstores;
	struct job_program *programs;
	struct job_injection *injections;
	__u32 tenant_count, device_count, workload_count, traffic_count, program_count;
	__u32 injection_count, ranks_count, kvstore_count, verbs_count;
};

/* Each value by itself, also one that a sweep replaces in every point. -EBADMSG as job_build(). */
int job_check_values(const struct job_text *text);
/*
 * Interprets every section but [slo], [sweep], [expect] and [short]. -EBADMSG with "file:line: key=value:
 * accepted: ..." for the first thing wrong. The job borrows strings of `text`.
 */
int job_build(struct job *job, const struct job_text *text);
/* The line of the file at which the section that is at `where` has this key; where it has none, or an option set it: `where`. */
const char *job_where(const struct job *job, const char *where, const char *key);
void job_free(struct job *job);

/* The one table of all keys, with those of every model (options_table.c). */
const struct option_table *job_options(void);

#endif
