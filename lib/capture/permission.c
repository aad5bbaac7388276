// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/permission.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/*
 * A tracing program that does nothing is loaded, and attached to nothing: a user namespace has every
 * capability in /proc and none that the kernel would take for this.
 */
static bool refused_to_root(void)
{
	static const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	static int answer = -1;
	int fd;

	if (answer >= 0)
		return answer;
	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "nothing", "GPL", nothing,
			   sizeof(nothing) / sizeof(nothing[0]), NULL);
	answer = fd == -EPERM;
	if (fd >= 0)
		close(fd);
	return answer;
}

const char *permission_lacking(void)
{
	if (geteuid())
		return "there, but only root may try to attach to it";
	return refused_to_root() ? "there, but this root may not load BPF programs" : NULL;
}

const char *permission_remedy(void)
{
	return geteuid()
		       ? "run it as root: sudo faultline"
		       : "CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN of the host (docker: --privileged)";
}
