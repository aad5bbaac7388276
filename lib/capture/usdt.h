/* SPDX-License-Identifier: GPL-2.0 */
/*
 * USDT probes of a binary, as its ELF notes (.note.stapsdt, sys/sdt.h) describe them, and one link
 * that puts a BPF program on many of them at once.
 *
 * libbpf 1.1 makes a perf event per site; the kernel takes each away behind a grace period of its
 * own under one lock: 0.1 s a site. A uprobe_multi link (Linux 6.6) waits once for all.
 */
#ifndef FAULTLINE_USDT_H
#define FAULTLINE_USDT_H

#include <stdbool.h>
#include <stddef.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/state.h"

#define BUILD_ID_MAX 20

struct usdt_note {
	char name[48];
	char arguments[160];
	__u64 offset;	 /* of the instruction, in the file */
	__u64 semaphore; /* offset in the file, 0 if it has none */
};

struct usdt_binary {
	struct usdt_note *notes;
	size_t count, room;
	unsigned char build_id[BUILD_ID_MAX];
	size_t build_id_bytes; /* 0: it has none */
};

/* Reads the notes of `provider`. `path` is for sentences. -ENOEXEC: no ELF file. */
int usdt_read(int fd, const char *path, const char *provider, struct usdt_binary *binary);
void usdt_free(struct usdt_binary *binary);
bool usdt_has(const struct usdt_binary *binary, const char *name);

/* "8@%rax 8@$5 ...": fills up to USDT_ARGUMENTS places. -EINVAL names one of another form. */
int usdt_parse_arguments(const char *text, struct usdt_argument arguments[USDT_ARGUMENTS]);

/* Links made by one usdt_attach(): one in all, or one per site on older kernels. Zeroes are none. */
struct usdt_links {
	bool is_multi;
	int multi;		 /* descriptor, if it is */
	struct bpf_link **sites; /* the other method */
	size_t site_count;
};

struct usdt_place_at {
	__u64 offset, semaphore;
	__u64 cookie; /* number of its struct usdt_site */
};

/* Whether this kernel has uprobe_multi links; a program is loaded for them or for the other method. */
bool usdt_multi_supported(const struct btf *kernel);
void usdt_use_multi(struct bpf_program *program);
int usdt_attach(struct usdt_links *links, const struct bpf_program *program, const char *path,
		const struct usdt_place_at *places, size_t count);
void usdt_detach(struct usdt_links *links);

#endif
