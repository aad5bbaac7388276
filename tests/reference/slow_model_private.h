/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the slow model: its state, and what its two halves ask of each other. */
#ifndef FAULTLINE_SLOW_MODEL_PRIVATE_H
#define FAULTLINE_SLOW_MODEL_PRIVATE_H

#include "tests/reference/slow_events.h"
#include "tests/reference/slow_level.h"
#include "tests/reference/slow_prefetch.h"

#define SHIFT_2M 21
#define SHIFT_1G 30

struct slow_device {
	struct slow_level devtlb, buffer;
	struct slow_prefetch prefetch;
	unsigned int in_flight;
	struct slow_packet packet; /* that arrives next */
	uint64_t dropped;	   /* arrivals of it */
	uint64_t packets;
	uint64_t slot_end_ps; /* of the last packet that entered */
};

struct slow_model {
	struct slow_run *run;
	const struct slow_config *config;
	struct slow_stats stats;
	struct slow_level context, iotlb, level2, level3;
	struct slow_device devices[SLOW_DEVICES];
	struct slow_events events;
	uint64_t now_ps, slot_ps;
	uint64_t generator;
};

/* slow_model.c: 0 to bound - 1; and what happens `delay_ps` from now. */
uint64_t slow_draw(struct slow_model *m, uint64_t bound);
void slow_after(struct slow_model *m, uint64_t delay_ps, enum slow_kind kind,
		struct slow_access *access);

/* What the successor of a source will need is asked for, `delay_ps` from now. */
void slow_ask_ahead(struct slow_model *m, unsigned int device, int successor, uint64_t delay_ps);

/* slow_path.c: the stations of a translation. `context_ps` is what the context cache still takes. */
struct slow_access *slow_begin_access(struct slow_model *m, unsigned int device,
				      unsigned int source, unsigned int domain,
				      const struct slow_request *request);
void slow_ask_device(struct slow_model *m, struct slow_access *a, uint64_t context_ps);
void slow_ask_iommu(struct slow_model *m, struct slow_access *a);
void slow_end_walk(struct slow_model *m, struct slow_access *a);
void slow_answer(struct slow_model *m, struct slow_access *a);
void slow_complete(struct slow_model *m, struct slow_access *a);
/* A page that is no more leaves the caches that know it. */
void slow_forget_page(struct slow_model *m, struct slow_device *device, unsigned int domain,
		      const struct slow_request *request);

#endif
