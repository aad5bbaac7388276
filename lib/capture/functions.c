// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/functions.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

int function_try(__u32 type, int types, bool attach)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = type, .attach_btf_obj_fd = types);
	int program = bpf_prog_load(BPF_PROG_TYPE_TRACING, "faultline_try", "GPL", nothing,
				    sizeof(nothing) / sizeof(nothing[0]), &options);
	int link = -1, error = program < 0 ? -errno : 0;

	if (!error && attach)
		link = bpf_raw_tracepoint_open(NULL, program);
	if (!error && attach && link < 0)
		error = -errno;
	if (link >= 0)
		close(link);
	if (program >= 0)
		close(program);
	return error;
}
