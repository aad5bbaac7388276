/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/trace: the segment files of a flight recorder as found in their directory. */
#ifndef FAULTLINE_TRACE_SEGMENTS_H
#define FAULTLINE_TRACE_SEGMENTS_H

#include <stdbool.h>

#include "lib/base/numbered_files.h"
#include "lib/trace/format.h"

/* "PATH.000007". Returns 0 or -ENAMETOOLONG. */
int trace_segment_path(const char *path, __u32 number, char name[PATH_MAX]);
/* Lists PATH.NNNNNN. No match is no error. */
int trace_segments_list(const char *path, struct numbers *numbers);

/* A file with a flight recorder's name, and nobody's who is writing it now. */
struct trace_segment_file {
	struct trace_file_header header; /* all 0: it was cut inside its header */
	__u64 bytes;
	__u64 modified_ns; /* CLOCK_REALTIME */
};

/* False for whatever else has that name: it is left alone. */
bool trace_segment_look(const char *name, struct trace_segment_file *file);

/*
 * Whether the file is a segment of that number, or what a flight recorder has as its name, and no stranger's:
 * of others' files nothing follows for what is ours.
 */
bool trace_is_own_segment(const char *name, __u32 number);
bool trace_is_own_ring(const char *name, __u32 number);

/* Whether that is the name of a segment, there or not, of a flight recorder that is recording now. */
bool trace_segment_is_of_living(const char *path);

/* Deletes the segments of all recordings but this one; anything but segments stays. */
int trace_segments_remove(const char *path, __u32 recording);

#endif
