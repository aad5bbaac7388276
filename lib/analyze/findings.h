/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The answer before the tables: which devices faulted, how often, where the time went, what it did
 * to the I/O; or that nothing of the kind was there, and what was looked at.
 */
#ifndef FAULTLINE_FINDINGS_H
#define FAULTLINE_FINDINGS_H

#include "lib/analyze/analysis.h"

/* Faults that want to be looked at one by one, kept while the stream passes. */
#define FINDINGS_KEPT 20

struct findings;

/* Before the stream: subscribes to the analysis's faults. */
int findings_create(struct findings **findings, const struct analysis *analysis);
void findings_destroy(struct findings *findings);

/* Sentences: host and window, the answer, bursts, I/O, loss, probes. */
int findings_write(const struct findings *findings, struct writer *writer);
/* Sentences on unrecoverable IOMMU faults and on DMA mappings; none if there were none. */
int findings_write_dma(const struct analysis *analysis, struct writer *writer);
/* Table "odd_faults": the first unfinished, inconsistent and overflowed ones. Nothing if none. */
int findings_write_odd(const struct findings *findings, struct writer *writer);
/* One sentence on loss, always. */
int findings_write_loss(const struct findings *findings, struct writer *writer);

#endif
