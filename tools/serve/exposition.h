/* SPDX-License-Identifier: GPL-2.0 */
/* Text in Prometheus' exposition format, version 0.0.4, written into memory. */
#ifndef FAULTLINE_SERVE_EXPOSITION_H
#define FAULTLINE_SERVE_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#include "tools/serve/bounds.h"

struct exposition {
	char *text;
	size_t length, room;
	bool failed; /* no memory: what is there is not all */
};

/* Forgets the text and keeps its room. */
void exposition_begin(struct exposition *out);
void exposition_free(struct exposition *out);

/*
 * Appends NAME="VALUE" to the labels that end at `used`, behind a comma if there are any; returns where they end
 * now. Names come from strangers: what steers a terminal or is no UTF-8 is told as printable() has it.
 */
size_t exposition_label(char *labels, size_t size, size_t used, const char *name,
			const char *value);

/* "# HELP" and "# TYPE" of a family, ahead of its samples. */
void exposition_family(struct exposition *out, const char *name, const char *type,
		       const char *help);
/* A sample: `suffix` of the name, labels of the row and more of them, each "" or NULL if there are none. */
struct sample_name {
	const char *family, *suffix, *labels, *more;
};
void exposition_count(struct exposition *out, struct sample_name name, __u64 value);
/* Nanoseconds as seconds, all digits. */
void exposition_seconds(struct exposition *out, struct sample_name name, __u64 ns);
/* UINT64_MAX: +Inf. */
void exposition_limit(struct exposition *out, struct sample_name name, __u64 value);
/* The series of a histogram: its buckets, _sum and _count. */
void exposition_histogram(struct exposition *out, struct sample_name name,
			  const struct bounded *histogram);

#endif
