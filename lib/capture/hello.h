/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hello of an emulated machine, which its socket in the run directory gives to whoever connects: untrusted
 * JSON, checked field by field.
 */
#ifndef FAULTLINE_HELLO_H
#define FAULTLINE_HELLO_H

#include <stddef.h>

#include "lib/base/stream.h"

#define HELLO_DEVICES_MAX 4096
#define HELLO_NETWORKS	  2 /* of a NIC: its guest's and the wire's */

struct hello_device {
	char name[NAME_TEXT];
	char model[NAME_TEXT];
	char tenant[NAME_TEXT];
	__u32 index;
	__u32 queues;
	__u32 pasid;
	__u64 memory;
	__u64 mapped_at;		/* 0: not told */
	__u64 networks[HELLO_NETWORKS]; /* inodes of their namespaces, 0: it has none */
};

struct hello {
	__u32 pid;
	__u64 start_time; /* clock ticks since boot */
	__u64 id;	  /* in the accounts of observers, 0 if it has none */
	size_t device_count;
	struct hello_device *devices; /* by index, without gaps */
};

/* A connection, or a negative errno: -ECONNREFUSED if nobody listens any more, and the socket is removed;
 * -EAGAIN if more wait for the machine than it has room for. */
int hello_connect(int directory, const char *file);
/* The hello into HELLO_MAX bytes, with the ring's descriptor, or -1. Bytes, 0 if it is not there yet, or a
 * negative errno with its sentence. */
long hello_receive(int fd, char *text, int *ring);

/* -EPROTO with what is wrong. On success the caller frees with hello_free(). */
int hello_parse(const char *text, size_t bytes, struct hello *hello);
void hello_free(struct hello *hello);

#endif
