/* SPDX-License-Identifier: GPL-2.0 */
/* The model of lib/translate and the slow one of tests/reference on the same packets, side by side. */
#ifndef FAULTLINE_MODEL_PAIR_H
#define FAULTLINE_MODEL_PAIR_H

#include <stddef.h>

#include "lib/translate/model.h"

struct model_pair {
	const char *name; /* of the configuration, for whoever has to look for the difference */
	struct model_config config;
	struct {
		const struct model_packet *packets;
		size_t count;
	} devices[64];
};

/*
 * Fails the test at the first packet that enters and the first translation that completes at another
 * time, of another source or with other drops or latency in one than in the other, and if any sum or
 * any partition's occupancy differs in the end. Returns the translations compared.
 */
__u64 model_pair_compare(const struct model_pair *pair, struct model_stats *stats);

#endif
