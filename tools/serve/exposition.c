// SPDX-License-Identifier: GPL-2.0
#include "tools/serve/exposition.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/printable.h"

#define PREFIX "faultline_"
/* A sample is names of ours, two labels and a number. */
#define SAMPLE_MOST 2048

void exposition_begin(struct exposition *out)
{
	out->length = 0;
	out->failed = false;
}

void exposition_free(struct exposition *out)
{
	free(out->text);
	*out = (struct exposition){0};
}

size_t exposition_label(char *labels, size_t size, size_t used, const char *name, const char *value)
{
	struct printable text = printable_of(value);
	int more = snprintf(labels + used, size - used, "%s%s=\"", used ? "," : "", name);

	if (more < 0 || used + (size_t)more + 2 > size)
		return used;
	used += (size_t)more;
	for (const char *c = text.text; *c && used + 4 < size; c++) {
		if (*c == '"' || *c == '\\')
			labels[used++] = '\\';
		labels[used++] = *c;
	}
	labels[used++] = '"';
	labels[used] = '\0';
	return used;
}

static char *exposition_room(struct exposition *out, size_t more)
{
	if (out->failed ||
	    !array_grow(&out->text, &out->room, out->length + more, 1, ARRAY_PLAIN)) {
		out->failed = true;
		return NULL;
	}
	return out->text + out->length;
}

static char *append_text(char *to, const char *text)
{
	return text ? stpcpy(to, text) : to;
}

static char *append_number(char *to, __u64 value)
{
	char digits[24], *first = digits + sizeof(digits);

	do
		*--first = (char)('0' + value % 10);
	while (value /= 10);
	memcpy(to, first, (size_t)(digits + sizeof(digits) - first));
	return to + (digits + sizeof(digits) - first);
}

static char *append_seconds(char *to, __u64 ns)
{
	__u64 rest = ns % NSEC_PER_SEC;

	to = append_number(to, ns / NSEC_PER_SEC);
	if (!rest)
		return to;
	*to++ = '.';
	for (__u64 unit = NSEC_PER_SEC / 10; rest; unit /= 10) {
		*to++ = (char)('0' + rest / unit);
		rest %= unit;
	}
	return to;
}

static bool has(const char *text)
{
	return text && *text;
}

/* All but the value; NULL without memory. */
static char *begin_sample(struct exposition *out, struct sample_name name)
{
	char *to = exposition_room(out, SAMPLE_MOST);

	if (!to)
		return NULL;
	to = append_text(append_text(append_text(to, PREFIX), name.family), name.suffix);
	if (has(name.labels) || has(name.more)) {
		*to++ = '{';
		to = append_text(to, name.labels);
		if (has(name.labels) && has(name.more))
			*to++ = ',';
		to = append_text(to, name.more);
		*to++ = '}';
	}
	*to++ = ' ';
	return to;
}

static void end_sample(struct exposition *out, char *to)
{
	*to++ = '\n';
	out->length = (size_t)(to - out->text);
}

void exposition_family(struct exposition *out, const char *name, const char *type, const char *help)
{
	char *to = exposition_room(out, SAMPLE_MOST);

	if (!to)
		return;
	out->length += (size_t)snprintf(to, SAMPLE_MOST,
					"# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name,
					help, name, type);
}

void exposition_count(struct exposition *out, struct sample_name name, __u64 value)
{
	char *to = begin_sample(out, name);

	if (to)
		end_sample(out, append_number(to, value));
}

void exposition_seconds(struct exposition *out, struct sample_name name, __u64 ns)
{
	char *to = begin_sample(out, name);

	if (to)
		end_sample(out, append_seconds(to, ns));
}

void exposition_limit(struct exposition *out, struct sample_name name, __u64 value)
{
	char *to = begin_sample(out, name);

	if (to)
		end_sample(out, value == UINT64_MAX ? append_text(to, "+Inf")
						    : append_number(to, value));
}

static const char *bound_text(unsigned int bound)
{
	static char texts[BOUNDS + 1][32];
	char *to = texts[bound];

	if (*to)
		return to;
	to = bound == BOUNDS ? append_text(to, "+Inf") : append_seconds(to, bounds_ns(bound));
	*to = '\0';
	return texts[bound];
}

/* All that a bucket's sample has ahead of its bound; returns where it ends. */
static char *bucket_begin(char *to, struct sample_name name)
{
	to = append_text(append_text(append_text(to, PREFIX), name.family), "_bucket{");
	if (has(name.labels)) {
		to = append_text(to, name.labels);
		*to++ = ',';
	}
	if (has(name.more)) {
		to = append_text(to, name.more);
		*to++ = ',';
	}
	return append_text(to, "le=\"");
}

/* Most of what is served are these: what they have in common is put together once. Returns their sum. */
static __u64 put_buckets(struct exposition *out, struct sample_name name,
			 const struct bounded *histogram)
{
	char begin[SAMPLE_MOST];
	size_t length = (size_t)(bucket_begin(begin, name) - begin);
	char *to = exposition_room(out, (BOUNDS + 1) * (length + 64));
	__u64 below = 0;

	for (unsigned int b = 0; b <= BOUNDS; b++) {
		below += histogram->buckets[b];
		if (!to)
			continue;
		memcpy(to, begin, length);
		to = append_text(append_text(to + length, bound_text(b)), "\"} ");
		to = append_number(to, below);
		*to++ = '\n';
	}
	if (to)
		out->length = (size_t)(to - out->text);
	return below;
}

void exposition_histogram(struct exposition *out, struct sample_name name,
			  const struct bounded *histogram)
{
	__u64 below = put_buckets(out, name, histogram);
	struct sample_name sum = name, count = name;

	sum.suffix = "_sum";
	exposition_seconds(out, sum, histogram->sum_ns);
	count.suffix = "_count";
	exposition_count(out, count, below);
}
