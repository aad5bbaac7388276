/* SPDX-License-Identifier: GPL-2.0 */
/* Inside lib/capture/paths: words for BPF objects, rows of the probe table and their methods. */
#ifndef FAULTLINE_ROWS_H
#define FAULTLINE_ROWS_H

#include "lib/capture/paths.h"
#include "lib/capture/probes.h"

/* NAME_object of bpf/NAME.bpf.c, then what else there is to say of it. */
#define DEFINE_OBJECT(name, ...) \
	const struct object_source name##_object = {#name, name##_bpf__elf_bytes, ##__VA_ARGS__}

#define METHODS(...)        \
	{                   \
		__VA_ARGS__ \
	}
/* What follows are programs at the entry and at the return, then as in struct attach_method. */
#define USDT(name)                             \
	{                                      \
		ATTACH_USDT, #name, "emulator" \
	}
#define TRACEPOINT(name) TRACEPOINT_AS(name, #name)
#define TRACEPOINT_AS(name, ...)                  \
	{                                         \
		ATTACH_TP_BTF, #name, __VA_ARGS__ \
	}
#define FUNCTION(name, ...)                         \
	{                                           \
		ATTACH_FUNCTION, #name, __VA_ARGS__ \
	}

#define ROWS(rows_) .rows = (rows_), .row_count = sizeof(rows_) / sizeof((rows_)[0])

/* Of rows for hardware: why nothing is known of what goes with them. */
#define UNRAISED "no emulation raises it"

/* They have programs for who takes part in two paths. */
extern const struct object_source iopf_object, emu_object;

#endif
