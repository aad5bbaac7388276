/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets of a Perfetto trace, written as they come: nothing of them is kept but which strings were told.
 *
 * Times are those of CLOCK_MONOTONIC. Strings are interned; they come from strangers and are printable()
 * (lib/base/printable.h) before they are written.
 */
#ifndef FAULTLINE_PERFETTO_PACKETS_H
#define FAULTLINE_PERFETTO_PACKETS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/wall_clock.h"

#define PACKET_ARGUMENTS_MAX 40

enum packet_argument_type {
	ARGUMENT_COUNT,
	ARGUMENT_ADDRESS,
	ARGUMENT_REAL,
	ARGUMENT_TRUTH,
	ARGUMENT_TEXT
};

struct packet_argument {
	const char *name;
	enum packet_argument_type type;
	union {
		__u64 count; /* or an address, or whether */
		double real;
		const char *text;
	};
};

/* What is told of an event beside its name. Texts are borrowed until it is written. */
struct packet_arguments {
	size_t count;
	struct packet_argument all[PACKET_ARGUMENTS_MAX];
};

/* Beyond PACKET_ARGUMENTS_MAX they are left out. */
void packet_count(struct packet_arguments *arguments, const char *name, __u64 count);
/* The same unless it is 0, which means that it is not known. */
void packet_count_known(struct packet_arguments *arguments, const char *name, __u64 count);
void packet_address(struct packet_arguments *arguments, const char *name, __u64 address);
void packet_real(struct packet_arguments *arguments, const char *name, double real);
void packet_truth(struct packet_arguments *arguments, const char *name, bool truth);
/* Unless it is "-", "" or NULL, as which tables have what is not known. */
void packet_text(struct packet_arguments *arguments, const char *name, const char *text);

/* The numbers of Perfetto's TrackEvent.Type. */
enum packet_type { PACKET_BEGIN = 1, PACKET_END, PACKET_INSTANT, PACKET_COUNTER };

struct packet {
	enum packet_type type;
	__u64 time_ns;
	__u64 track;
	const char *category, *name; /* NULL at the end of a slice, and of counters */
	const uint64_t *flows;	     /* those of one number are joined, in the order of time */
	size_t flow_count;
	const struct packet_arguments *arguments; /* NULL: none */
	double value;				  /* of a counter */
};

struct packets;

/* Begins a trace. -ENOMEM. The file stays the caller's; `path` is for sentences. */
int packets_open(struct packets **packets, FILE *file, const char *path,
		 const struct wall_clock *clock, __u64 first_ns);
void packets_close(struct packets *packets);
/*
 * A new track below that one (0: below none), in the order in which its sisters are made. `unit`: of a counter,
 * NULL: it is for slices. Slices of one track must nest, and come in the order of time.
 */
__u64 packets_track(struct packets *packets, __u64 parent, const char *name, const char *unit);
void packets_put(struct packets *packets, const struct packet *packet);
/* 0, or a negative errno with a sentence: the first thing that could not be written, or no memory. */
int packets_error(const struct packets *packets);

#endif
