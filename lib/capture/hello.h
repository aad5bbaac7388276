/* SPDX-License-Identifier: GPL-2.0 */
/* The hello of an emulated machine: untrusted JSON, checked field by field. */
#ifndef FAULTLINE_HELLO_H
#define FAULTLINE_HELLO_H

#include <stddef.h>

#include "lib/base/stream.h"

#define HELLO_DEVICES_MAX 4096

struct hello_device {
	char name[NAME_TEXT];
	char model[NAME_TEXT];
	char tenant[NAME_TEXT];
	__u32 index;
	__u32 queues;
	__u32 pasid;
	__u64 memory;
	__u64 mapped_at; /* 0: not told */
};

struct hello {
	__u32 pid;
	__u64 start_time; /* clock ticks since boot */
	__u64 id;	  /* in the accounts of observers, 0 if it has none */
	size_t device_count;
	struct hello_device *devices; /* by index, without gaps */
};

/* -EPROTO with what is wrong. On success the caller frees with hello_free(). */
int hello_parse(const char *text, size_t bytes, struct hello *hello);
void hello_free(struct hello *hello);

#endif
