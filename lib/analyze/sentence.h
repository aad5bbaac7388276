/* SPDX-License-Identifier: GPL-2.0 */
/* A sentence that grows part by part, up to more than all kinds of events with their counts. */
#ifndef FAULTLINE_SENTENCE_H
#define FAULTLINE_SENTENCE_H

#include <stddef.h>

#define SENTENCE_TEXT 8192

struct sentence {
	size_t used;
	char text[SENTENCE_TEXT];
};

void sentence_add(struct sentence *sentence, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
