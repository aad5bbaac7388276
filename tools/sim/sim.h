/* SPDX-License-Identifier: GPL-2.0 */
/* Inside `faultline sim`: its job, one point of its sweep, and what comes out. */
#ifndef FAULTLINE_TOOLS_SIM_H
#define FAULTLINE_TOOLS_SIM_H

#include "lib/job/idle_keys.h"
#include "lib/job/options.h"
#include "lib/job/sweep.h"
#include "lib/translate/import.h"
#include "lib/translate/model.h"
#include "lib/translate/pages.h"
#include "lib/translate/tenants.h"
#include "lib/translate/watch.h"
#include "tools/common.h"

/* What a point's text comes to. Times are in ns as people write them. */
struct sim_config {
	__u32 hypertrio, literal; /* presets */
	struct model_config model;
	struct tenants_config trace;
	__u32 packet_bytes, link_mbit_per_s;
	__u64 pcie_ns, dram_ns, devtlb_hit_ns, context_hit_ns, walk_hit_ns, fault_ns;
	__u32 walk; /* enum sim_walk */
	bool walk_tables;
	__u32 workload; /* enum tenants_preset */
	__u32 requests; /* of a packet of a recording */
	bool as_recorded;
	bool alone, analyze;
	__u32 tenants;		/* 0: SIM_TENANTS_MADE made up, all that are recorded */
	__u64 packets;		/* SIM_UNSAID: SIM_PACKETS_MADE made up, all that are recorded */
	__u64 recorded_packets; /* 0: all */
	__u64 ring_at, data_at, mailbox_at, first_touch_at; /* SIM_UNSAID: the workload's */
};

#define SIM_UNSAID	 UINT64_MAX
#define SIM_PACKETS_MADE 200000
#define SIM_TENANTS_MADE 1024

enum sim_walk { SIM_WALK_AS_RELEASED, SIM_WALK_NESTED, SIM_WALK_24, SIM_WALK_NONE };

extern const struct option_table sim_options;

/* Gives a job every section, so that --set finds them. */
int sim_complete(struct job_text *text);
/* Chooses a preset by its name. -EINVAL with the accepted ones. */
int sim_preset(struct job_text *text, const char *name);
/* Each value by itself, also one that a sweep replaces in every point. -EBADMSG. */
int sim_check_values(const struct job_text *text);
/*
 * From text to numbers; job_wrong() with the place and what is accepted. `recorded`: translations are
 * not made up, so that addresses of [trace] do not matter.
 */
int sim_configure(struct sim_config *config, const struct job_text *text, bool recorded,
		  struct idle_keys *idle);

/* Kinds of values that only a trace has: a list of shares, an address. */
extern const struct option_own sim_shares, sim_address;
/* What follows from the text of [trace]: how long it is, and where pages lie. */
void sim_complete_trace(struct sim_config *config);

/* The columns of table "results", the names in [expect]. Whole numbers but for the ratios. */
enum sim_column {
	SIM_TENANTS,
	SIM_PACKETS,
	SIM_TRANSLATIONS,
	SIM_DROPS,
	SIM_TIME,
	SIM_OFFERED,
	SIM_BANDWIDTH,
	SIM_GBIT,
	SIM_DEVTLB_HIT,
	SIM_BUFFER_HIT,
	SIM_LATENCY_MEAN,
	SIM_LATENCY_P50,
	SIM_LATENCY_P99,
	SIM_LATENCY_P999,
	SIM_LATENCY_MAX,
	SIM_WALKS,
	SIM_WALK_READS,
	SIM_READS_PER_WALK,
	SIM_PTB_MEAN,
	SIM_PTB_MAX,
	SIM_PREFETCHES,
	SIM_PREFETCH_USEFUL,
	SIM_PREFETCH_LATE,
	SIM_PREFETCH_UNUSED,
	SIM_PREFETCH_DUPLICATES,
	SIM_CONFLICTS,
	SIM_CROSS,
	SIM_FAIRNESS,
	SIM_JAIN,
	SIM_SLOWDOWN_MEAN,
	SIM_SLOWDOWN_MAX,
	SIM_FAULTS,
	SIM_INVALIDATIONS,
	SIM_COLUMNS,
};

extern const struct job_columns sim_columns;

#define SIM_DEVICES    64
#define SIM_PARTS      6
#define SIM_PARTITIONS 4096
#define SIM_SETS       4096 /* of a cache; "sets" leaves out those with more */

struct sim_tenant {
	struct watch_tenant watch;
	__u64 bits_per_s;
	__u64 lost;	     /* DevTLB entries that made way for another tenant's */
	__u64 alone_mean_ps; /* latency of a translation without the others; CELL_NONE: not asked for */
	double slowdown;     /* latency with them over that; NAN: not asked for */
	struct tenant_use use; /* accesses 0: not asked for */
};

struct sim_outcome {
	double values[SIM_COLUMNS];
	struct model_stats stats;
	struct sim_tenant *tenants; /* by source */
	__u32 tenant_count;
	struct watch_point *points;
	__u32 point_count;
	__u64 point_ps;
	__u32 *occupancy[SIM_PARTS]; /* entries in use in each partition, by enum model_part */
	__u32 partitions[SIM_PARTS];
	struct model_cache_stats *sets[SIM_PARTS]; /* partition by partition */
	__u32 set_count[SIM_PARTS];
};

/* Runs one point to its end. `store` NULL: the trace is made up. */
int sim_run(struct sim_outcome *outcome, const struct sim_config *config,
	    const struct store *store);
/* [more] alone: what is said of each tenant's slowdown, after the run. */
int sim_alone(struct sim_outcome *outcome, const struct sim_config *config,
	      const struct store *store);
/*
 * What a trace needs, of the first device if there are several; the caller destroys `pages`.
 * `meanwhile` is called now and then, if it is not NULL.
 */
int sim_pages(struct pages **pages, const struct sim_config *config, const struct store *store,
	      void (*meanwhile)(void));
/* [trace] analyze: joins that to each tenant, after the run. */
int sim_analyze(struct sim_outcome *outcome, const struct sim_config *config,
		const struct store *store);
void sim_outcome_free(struct sim_outcome *outcome);

/* `faultline accesses`: what the trace of one configuration needs. */
int sim_accesses(struct writer *writer, const struct sim_config *config, const struct store *store,
		 bool whole);

/* Names of the tables of each verb, for writer_announce(). */
extern const char *const sim_tables[], *const sim_accesses_tables[];

/* Writes all tables of all points; `wide`: every column of "results". */
int sim_write(struct writer *writer, const struct sweep *sweep, const struct sim_outcome *outcomes,
	      bool whole);

#endif
