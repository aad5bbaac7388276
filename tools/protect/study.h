/* SPDX-License-Identifier: GPL-2.0 */
/*
 * `faultline protect`: recordings, what a policy would have pinned, and what that would have been worth.
 *
 * A study reads the accesses of its recordings once and keeps them, tenant by tenant. Each point of its job is a run
 * over all tenants, each of which is a what-if of its own (lib/protect/what_if.h): threads share nothing.
 */
#ifndef FAULTLINE_TOOLS_PROTECT_STUDY_H
#define FAULTLINE_TOOLS_PROTECT_STUDY_H

#include <limits.h>

#include "lib/analyze/session.h"
#include "lib/base/printable.h"
#include "lib/cli/hosts.h"
#include "lib/job/idle_keys.h"
#include "lib/job/overrides.h"
#include "lib/job/protector_options.h"
#include "lib/job/sweep_table.h"
#include "lib/protect/oracle.h"
#include "lib/protect/what_if.h"
#include "tools/common.h"

/* Behind the numbers of policies.def. */
#define STUDY_ORACLE 0xffffu

/* One point. Its first member is what [protector] fills in every program. */
struct study_config {
	struct protector_options protector;
	double oracle;	    /* [protector] */
	__u64 memory_bytes; /* likewise; 0: what the recording says */
	__u32 rule;	    /* [rule], enum what_if_rule */
	__u64 idle_ns;
	double share_low, share_high;
	__u64 share_period_ns;
	__u64 sample_ns;
	double drop; /* [log] */
	__u64 seed;
};

enum study_column {
	STUDY_DOMAINS,
	STUDY_ACCESSES,
	STUDY_PAGES,
	STUDY_PAGES_TOLD,
	STUDY_FOOTPRINT,
	STUDY_FIRST_PINNED,
	STUDY_FAULTS_NONE,
	STUDY_FAULTS,
	STUDY_AVOIDED,
	STUDY_PINNED_MEAN,
	STUDY_PINNED_MAX,
	STUDY_PINS,
	STUDY_UNPINS,
	STUDY_USELESS,
	STUDY_BROUGHT,
	STUDY_RPR,
	STUDY_ORACLE_AVOIDED,
	STUDY_PAGES_BELOW_10,
	STUDY_FAULTS_BELOW_50,
	STUDY_COLUMNS,
};

extern const struct job_columns study_columns;

/* All keys and sections of a job. */
const struct option_table *study_options(void);
/* -EBADMSG or -EINVAL with a place. */
int study_check_values(const struct job_text *text);
int study_configure(struct study_config *config, const struct job_text *text,
		    struct idle_keys *idle);
/* Makes every section, so that values may be set in it. */
int study_complete(struct job_text *text);

/* Which accesses a recording's are. */
enum study_source {
	SOURCE_AUTO,
	SOURCE_PAGES,	 /* counted per second and page */
	SOURCE_SINGLE,	 /* I/Os, one by one */
	SOURCE_MAPPINGS, /* DMA mappings */
	SOURCES,
};
extern const char *const study_sources[SOURCES + 1];

/* As read: of a page of the smallest size that any point has. */
struct study_access {
	__u64 time_ns, page;
	__u32 unit; /* of its tenant's */
	__u32 count;
};

/* A device and PASID. */
struct study_unit {
	__u32 device, pasid;
	__u32 met;    /* so many were met before */
	__u64 memory; /* bytes, 0: unknown */
	char name[DEVICE_NAME_TEXT + 24];
};

struct study_tenant {
	const struct study_recording *recording;
	char name[DEVICE_NAME_TEXT]; /* of the VM, or of a device that belongs to none */
	__u32 device;		     /* of such a one; else 0 */
	__u64 memory;		     /* bytes that any of its devices reaches */
	struct study_unit *units;
	size_t unit_count, unit_room;
	struct study_access *accesses; /* in the order of times */
	size_t count, room;
};

struct study_recording {
	const char *path;
	__u32 host;	      /* of a merged one, from 1; 0: it is none */
	char name[HOST_TEXT]; /* of its host; in a merged one no other has it */
	struct session *session;
	enum study_source source; /* that was taken */
	__u32 shift;		  /* of pages in accesses */
	__u64 newest_ns; /* of its accesses: to policies no more time passes, as they live on these */
	__u64 end_ns;
	struct study_tenant **tenants;
	size_t tenant_count, tenant_room;
	unsigned int floor; /* FLOOR_ bits */
	__u64 counted_only; /* I/Os that were only counted */
	int damage;
	char sentence[1024]; /* of the damage */
};

/* The accesses of one host. */
struct study_wish {
	const char *path;
	__u32 host;	       /* of a merged recording which one, from 1; 0: it is none */
	const char *host_name; /* of that one */
	const struct trace_summary *summary; /* likewise */
	const char *device;		     /* pattern; NULL: all */
	struct window_options window;
	enum study_source source;
	__u32 shift;
};

/* What is damaged is no error. `recording` is all 0 before; to be freed in any case. */
int study_read(struct study_recording *recording, const struct study_wish *wish);
/* Once all of it is read: tenants and units get names, and the order of devices and PASIDs. -ENOMEM. */
int study_order(struct study_recording *recording);
void study_recording_free(struct study_recording *recording);
/* What sentences call it: its file, and its host where the file has several. */
#define STUDY_NAME (sizeof(struct printable) + HOST_TEXT + 2)
const char *study_recording_name(const struct study_recording *recording, char text[STUDY_NAME]);

#define STUDY_CLASSES 6
extern const __u64 study_classes[STUDY_CLASSES]; /* below so many accesses */

struct study_class {
	__u64 pages, faults_none, faults; /* `faults` are those that are left */
};

struct study_action {
	struct protect_action action;
	__u32 domain;
};

struct study_domain {
	char name[DEVICE_NAME_TEXT + 24];
	__u64 memory_pages;
	struct what_if_counts counts;
	__u64 faults_none;
	struct pin_oracle oracle;
	__u64 oracle_avoided; /* CELL_NONE: not known under this rule */
	struct study_class classes[STUDY_CLASSES];
	struct what_if_sample *samples;
	size_t sample_count;
};

/* Of a tenant at a point. */
struct study_outcome {
	const struct study_tenant *tenant;
	struct study_domain *domains;
	size_t domain_count;
	__u64 memory_pages, length_ns; /* from its first access to the end */
	struct study_action *actions;  /* of each domain in order; where they are wanted */
	size_t action_count, action_room;
	int error;
};

struct study_keep {
	bool curve, actions;
};

/* Fills an outcome that is all 0. */
int study_run(struct study_outcome *outcome, const struct study_config *config,
	      const struct study_tenant *tenant, struct study_keep keep);
void study_outcome_free(struct study_outcome *outcome);
/* One access as a point sees it: false behind the last. `at` begins with 0. */
struct study_reader {
	const struct study_config *config;
	const struct study_tenant *tenant;
	size_t at;
};
bool study_next(struct study_reader *reader, struct what_if_access *access);
/* Its domain's name and memory in pages. */
size_t study_domains(const struct study_config *config, const struct study_tenant *tenant);
void study_domain_describe(const struct study_config *config, const struct study_tenant *tenant,
			   size_t number, struct study_domain *domain);

struct study {
	/* From the command line, whose texts are borrowed. */
	struct output_options output;
	struct job_overrides overrides;
	const char *arguments[512];
	size_t argument_count;
	const char *job, *policies, *rule, *drop, *device;
	const char *sweeps[64];
	size_t sweep_count;
	struct window_options window;
	struct host_options hosts;
	enum study_source source;
	__u64 threads;
	bool keys;

	struct job_text *text;
	struct sweep sweep;
	struct study_config *configs;	     /* one a point */
	struct study_recording **recordings; /* one a host */
	size_t recording_count;
	const struct study_tenant **tenants; /* of all recordings, those with accesses */
	size_t tenant_count;
	struct study_outcome *outcomes; /* point by point, one a tenant */
	double *values;			/* STUDY_COLUMNS a point */
};

int study_parse(struct study *study, int argc, char **argv);
/* The job and all points; then the recordings. */
int study_prepare(struct study *study);
void study_free(struct study *study);
/* Whether a table goes to programs, or all of it was asked for. */
bool study_whole(const struct study *study);
bool study_wants(const struct study *study, const char *table);

/* Sums of all domains of a point, in the place of its values; and the row of totals. */
struct study_total {
	struct study_domain
		sum; /* name "total"; pinned_max of the worst domain is in `pinned_max` */
	double pinned_mean, pinned_max, rpr; /* percent; NAN */
	double footprint, avoided, oracle;   /* percent; NAN */
	size_t domains;
};
int study_total(struct study_total *total, const struct study *study, size_t point);
void study_values(double *values, const struct study_total *total);
/* The percentages of one domain. */
void study_rates(struct study_total *rates, const struct study_domain *domain);

extern const char *const study_tables[];
int study_write(const struct study *study, struct writer *writer);
/* As long as the recording itself: written only where they are asked for by name. */
int study_write_accesses(const struct study *study, struct writer *writer);
int study_write_actions(const struct study *study, struct writer *writer);

#endif
