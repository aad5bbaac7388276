/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Next uses: what Belady's policy must know. The only part that keeps a whole trace in memory (32
 * bytes a translation): it reads its source to the end, goes backwards once, and then plays it.
 */
#ifndef FAULTLINE_TRANSLATE_ORACLE_H
#define FAULTLINE_TRANSLATE_ORACLE_H

#include "lib/translate/model.h"

struct oracle;

/* Reads the source to its end. -ENOMEM, or what the source returned. */
int oracle_create(struct oracle **oracle, model_source_fn source, void *self);
/* A model_source_fn: `self` is the struct oracle. */
int oracle_next(void *self, struct model_packet *packets, int room);
void oracle_destroy(struct oracle *oracle);

#endif
