/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recordings of translations, read into a store.
 *
 *   flt       a recording of Faultline: every I/O of an emulated device (record --kind io_complete),
 *             else every DMA mapping (--kind dma_map), else every fault, in 4 KiB pages; a tenant is a
 *             device with a PASID
 *   hypersio  48-byte records, little endian: u32 type, u16 source, u16 domain, u64 IOVA, mask,
 *             level, second-level entry, next access (HyperSIO, section IV-B)
 *   qemu      trace lines of QEMU's VT-d: vtd_iotlb_page_update and vtd_iotlb_page_hit; other lines are
 *             passed over. A page's size comes from level or (p)mask where QEMU was made to print it,
 *             else a large page of an entry (slpte) counts as 2 MiB
 */
#ifndef FAULTLINE_TRANSLATE_IMPORT_H
#define FAULTLINE_TRANSLATE_IMPORT_H

#include "lib/base/stream.h"
#include "lib/trace/trace.h"
#include "lib/translate/store.h"

#define IMPORT_FILES 256 /* that can be told apart, and hosts of merged ones */

enum import_format { IMPORT_AUTO, IMPORT_FLT, IMPORT_HYPERSIO, IMPORT_QEMU, IMPORT_FORMATS };

/* What a .flt recording lacks; zero for other formats. */
struct import_missing {
	struct loss_info loss;
	__u64 taken;	    /* I/Os that it has one by one */
	__u64 counted_only; /* I/Os that its devices did besides: how many, not where */
};

/*
 * Adds a file's translations under keys of its own (`number`, 0 to 255, tells files apart), and says in
 * `missing` what is not in it. -EINVAL with file and line (or record) and what is accepted there;
 * what came before has been added. -EPROTO: no regular file, or one that AUTO does not know.
 * -EBADMSG: a damaged .flt; else what opening and reading it gave.
 */
int import_file(struct store *store, const char *path, enum import_format format, __u32 number,
		struct import_missing *missing);
/* Who is in a merged .flt: none in what is no such recording. */
int import_hosts(const char *path, enum import_format format, struct trace_hosts *hosts);
/* import_file() of one of them. */
int import_host(struct store *store, const char *path, __u32 host, __u32 number,
		struct import_missing *missing);
/* "auto", "flt", ... */
const char *import_format_name(enum import_format format);

#endif
