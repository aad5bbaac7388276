/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Analyzers are pure consumers: a stream in, tables out; the same code live and offline.
 *
 * One is a file NAME.c and a line in analyzers.def. The file has create_NAME(), NAME_stream() and
 * NAME_destroy(), and says in NAME_analyzer, by DEFINE_ANALYZER(), what it adds to which output: tables to
 * report, JSON, CSV and the names of --table, sentences to the text of a report, numbers to a live view.
 * Other files ask it by the accessors of NAME.h. Nothing in events() allocates per event once its tables
 * are warm; memory is bounded by devices, open faults and footprint pages.
 */
#ifndef FAULTLINE_ANALYZER_H
#define FAULTLINE_ANALYZER_H

#include "lib/base/stream.h"
#include "lib/output/table.h"

#define WAITED_TO_END UINT64_MAX

struct analysis;
struct analysis_config;
struct live_device;
struct live_summary;

enum latency_span { LATENCY_SINCE_START, LATENCY_WINDOW, LATENCY_SPANS };

/* What is to be in a table; all zero: everything. */
struct table_wish {
	size_t limit;		/* rows at most, 0: all */
	bool brief;		/* of all devices together only */
	enum latency_span span; /* of latencies; all else is since the start */
};

/* Writes a table; errors stay with the writer. */
typedef void analyzer_write(const struct analysis *analysis, struct writer *writer,
			    const struct table_wish *wish);

struct analyzer_table {
	const struct table *table; /* NULL: only text has it */
	analyzer_write *write;	   /* NULL: the end of the list */
	/* Whether the text of a report has it: where it has rows; NULL: never. */
	bool (*in_text)(const struct analysis *analysis);
	size_t rows; /* of text at most, 0: all */
};

#define REPORT_ROWS 20 /* of a table in text */

/*
 * The text of a report: the sentences of all chapters, then their tables. Within a chapter they are in the
 * order of analyzers.def.
 */
enum report_chapter {
	REPORT_RECORDING, /* what it is a report of */
	REPORT_FAULTS,
	REPORT_IO,
	REPORT_VFIO,
	REPORT_RDMA,
	REPORT_DMA,
	REPORT_LIMITS, /* what was not seen, or not to its end */
	REPORT_CHAPTERS,
};

/* What is not there is NULL; one of others' numbers has no instance, so only the second half. */
struct analyzer {
	int (*create)(struct analysis *analysis, const struct analysis_config *config);
	struct stream (*stream)(struct analysis *analysis); /* NULL: others feed it */
	void (*destroy)(struct analysis *analysis);
	bool of_period; /* it is fed with what is in the period only */
	bool of_a_verb; /* a report has none of its tables */
	const struct analyzer_table *tables;
	enum report_chapter chapter;
	void (*findings)(const struct analysis *analysis, struct writer *writer); /* sentences */
	/* For live.h: live_look(), and its part of a device's row and of the summary. */
	void (*look)(const struct analysis *analysis, __u64 now_ns, __u64 length_ns);
	void (*device)(const struct analysis *analysis, struct live_device *row);
	void (*summary)(const struct analysis *analysis, struct live_summary *summary);
};

/* PART_analyzer, of member `part` of struct analysis, made by create_PART(); then what else it has. */
#define DEFINE_ANALYZER(part, ...)                                       \
	static struct stream stream_of_##part(struct analysis *analysis) \
	{                                                                \
		return part##_stream(analysis->part);                    \
	}                                                                \
	DEFINE_ANALYZER_OF_FAULTS(part, .stream = stream_of_##part, ##__VA_ARGS__)

/* One that lives on the faults that have been reconstructed, not on the stream. */
#define DEFINE_ANALYZER_OF_FAULTS(part, ...)                  \
	static void destroy_##part(struct analysis *analysis) \
	{                                                     \
		part##_destroy(analysis->part);               \
	}                                                     \
	const struct analyzer part##_analyzer = {             \
		.create = create_##part, .destroy = destroy_##part, ##__VA_ARGS__};

/*
 * The life of one page request. at[k - EVENT_FAULT_DETECT] is the time of stage k, 0 if that stage
 * was not seen; a missing stage is merged into its neighbour and marked, never guessed.
 */
struct fault {
	__u64 at[FAULT_STAGES];
	__u64 address;
	__u64 length;
	__u64 cpu_fault_ns; /* first CPU fault its handler took for it, 0 if none was seen */
	__u64 queued_ns;    /* when it was handed to its consumer, 0 if that was not seen */
	__u64 mm_ns;	    /* in handle_mm_fault() for its page */
	__u64 interrupt_ns; /* from the IOMMU's interrupt to isr, 0 if that was not seen */
	__u64 held_ns;	    /* how long its device held the request back after detect */
	__u64 abandoned_ns; /* when its device gave it up, 0 if it did not */
	__u64 waited_ns; /* open until the recorder gave it up, WAITED_TO_END: until the end; else 0 */
	__u64 given_up_ns;  /* when it was given up though its end may still come; else 0 */
	__u64 delivered_ns; /* from the response until the IOMMU had consumed it, likewise */
	__u32 cpu_faults;   /* how many CPU faults its handler took for this page */
	__u32 device;
	__u32 pasid;
	__u32 group;
	__u32 instance;
	__u32 pid;     /* of the device's owner, or of the process that its PASID means */
	char comm[16]; /* of that process */
	__u32 handler_tid;
	__u16 handler_cpu;
	__u16 queue;
	__u8 flags;	/* access; MAJOR; LAST */
	__u8 code;	/* enum response_code */
	__u8 state;	/* enum fault_state */
	__u8 seen;	/* bit per stage */
	__u8 overflows; /* times its request was dropped by a full queue before one got through */
	__u8 repeats;	/* timestamps reported again; the first of each is kept */
	__u8 kernel;	/* from a kernel path, which shows neither detect nor resume */
	__u8 ended;	/* the last stage that its source shows was seen */
	__u8 cause;	/* enum mm_cause */
	__u8 consumer;	/* enum fault_consumer */
	__u8 told_over; /* FAULT_TOLD_: what of it subscribers were told before it is handed over */
};

#define FAULT_TOLD_OVER	     1u /* nobody waits for it any more */
#define FAULT_TOLD_GIVEN_UP  2u /* as its device gave it up */
#define FAULT_TOLD_ABANDONED 4u /* and so it would have been judged then */

enum fault_state {
	FAULT_OPEN,
	FAULT_COMPLETE,	    /* detect and resume seen, from a kernel path the first and last stage
			       that it shows; all seen stages in order */
	FAULT_UNFINISHED,   /* the recording or the wait ended first; without its detect: it had
			       begun before the recording */
	FAULT_INCONSISTENT, /* stages out of order, or a stage without its request */
	FAULT_OVERFLOWED,   /* its request was dropped by a full queue */
	FAULT_DISCARDED,    /* its request was in the queue, but the host threw it away with its
			       group, which an overflow left without its end */
	FAULT_ABANDONED,    /* its device gave it up, as no response came in time */
};

#endif
