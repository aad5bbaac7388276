/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why a fault took as long as it did, who waited for it, and what would have helped: in sentences, each with its
 * evidence, of what was recorded and of nothing else.
 *
 * A fault is explained once it is over and what may belong to it has come: other faults that its handler was busy
 * with, the I/O of its queue that met it. What is known later (stalls of flows, waits of queue pairs, objectives) is
 * told at the end. What is not known is a sentence, too.
 */
#ifndef FAULTLINE_EXPLAIN_H
#define FAULTLINE_EXPLAIN_H

#include "lib/analyze/analyzer.h"
#include "lib/analyze/stage.h"

/* In the order of the sentences. */
enum explain_part {
	EXPLAIN_WHO,
	EXPLAIN_MEMORY,	 /* whose, and why the page was absent */
	EXPLAIN_OUTCOME, /* how long it took, what became of it */
	EXPLAIN_CAUSE,	 /* in one sentence */
	EXPLAIN_STAGE,	 /* each that took time */
	EXPLAIN_WAITED,	 /* I/Os, flows, queue pairs */
	EXPLAIN_OBJECTIVE,
	EXPLAIN_HELP,
	EXPLAIN_UNKNOWN,
	EXPLAIN_PARTS,
};

/* Why a stage, or the fault, took its time. */
enum explain_cause {
	CAUSE_UNKNOWN,	 /* nothing that was recorded says why */
	CAUSE_INJECTION, /* one that acts on this stage was under way */
	CAUSE_HELD_BACK, /* the device had no page request left */
	CAUSE_ORDER,	 /* behind other requests in the page request queue */
	CAUSE_GROUP,	 /* other pages of its group */
	CAUSE_BUSY,	 /* its handler was busy with other faults */
	CAUSE_CPU,	 /* its handler waited for a CPU */
	CAUSE_STORAGE,	 /* the page was read from storage */
	CAUSE_MEMORY,	 /* the page was made present without reading storage */
	CAUSE_PEERS,	 /* other groups that its device waits for together with it */
	CAUSE_INTERRUPT, /* the IOMMU's interrupt */
	CAUSE_IOMMU,	 /* took its time to consume the response */
	CAUSE_LOST,	 /* the response was sent and never came */
	CAUSE_SILENT,	 /* no response was sent */
	CAUSE_OVERFLOW,	 /* the page request queue was full */
	CAUSE_DISCARDED, /* thrown away after an overflow */
	EXPLAIN_CAUSES,
};

/*
 * A sentence with its first piece of evidence, or (text "") a further piece of the sentence before. The evidence is an
 * event, a fault, an I/O ...: what identifies it, from when to when it was, and a number that goes with it.
 */
struct explained {
	enum explain_part part;
	unsigned int stage; /* STAGES: none */
	enum explain_cause cause;
	__u64 ns; /* the time that this explains */
	size_t text;
	const char *evidence; /* "fault", "io", "injection", ...; NULL: none */
	__u64 from_ns, to_ns, address, count;
	__u32 device, pasid, group, instance;
	__u16 queue;
};

struct explanation {
	const struct analysis *analysis;
	struct fault fault;
	__u64 row; /* of the table "faults" with the same period, from 1 */
	enum explain_cause cause;
	struct explained *items;
	size_t count, room;
	char *texts;
	size_t used, texts_room;
};

/* Who wants explanations. */
struct explain_wish {
	/* A fault of the period is over: its row in the table "faults", 0: it is not to be explained. */
	__u64 (*finished)(void *self, const struct fault *fault);
	/* The explanation is borrowed. */
	void (*explained)(void *self, const struct explanation *explanation);
	void *self;
	/* Whether events are known to lack, though no loss was told yet: the recording's end was read before. May be NULL. */
	bool (*lossy)(void *self);
};

struct explain;

/* Where events lack, ahead of reading: hears the whole recording, so that an injection's end is known before it comes. */
struct stream explain_foresight(struct explain *explain);

/* At the end, of a fault that was explained: what is known by then, appended. */
void explain_later(struct explain *explain, struct explanation *explanation);
/* The same of each fault of which there is anything, as an explanation of its own without what was told. */
void explain_each_later(struct explain *explain, const struct explain_wish *wish);
/* What is unknown of every fault as not all was recorded, as an explanation of no row; nothing where all was. */
void explain_loss_later(struct explain *explain, const struct explain_wish *wish);

const char *explanation_text(const struct explanation *explanation, const struct explained *item);
/* False without memory. */
bool explanation_copy(struct explanation *to, const struct explanation *from);
void explanation_free(struct explanation *explanation);

/* "busy_handler", "storage", ... */
const char *explain_cause_name(enum explain_cause cause);
const char *explain_part_name(enum explain_part part);
/* As notes for people. */
void explanation_write_text(const struct explanation *explanation, struct writer *writer);
/* As rows of the table "explanation", of which the first begins it. analysis_write() ends it. */
void explanation_write_rows(const struct explanation *explanation, struct writer *writer);

#endif
