// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/permission.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct right {
	int capability;
	const char *name;
	const char *gives; /* NULL: nothing can be watched without */
};

static const struct right rights[] = {
	{CAP_BPF, "CAP_BPF", NULL},
	{CAP_PERFMON, "CAP_PERFMON", NULL},
	{CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "functions of modules"},
	{CAP_SYSLOG, "CAP_SYSLOG", "names of functions that mapped"},
};

/* CAP_SYS_ADMIN of old includes what has a name of its own since Linux 5.8. */
static bool permission_has(int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
	__u64 effective;

	if (syscall(SYS_capget, &header, data))
		return !geteuid();
	effective = data[0].effective | (__u64)data[1].effective << 32;
	if (capability == CAP_BPF || capability == CAP_PERFMON)
		effective |= effective >> CAP_SYS_ADMIN & 1 ? 1ull << capability : 0;
	return effective >> capability & 1;
}

/*
 * A tracing program that does nothing is loaded, and attached to nothing: a user namespace has every
 * capability in /proc and none that the kernel would take for this.
 */
static bool is_refused(void)
{
	static const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	static int answer = -1;
	int fd;

	if (answer >= 0)
		return answer;
	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "nothing", "GPL", nothing, COUNT(nothing),
			   NULL);
	answer = fd == -EPERM;
	if (fd >= 0)
		close(fd);
	return answer;
}

const char *permission_lacking(void)
{
	static char text[160];
	const char *between = "";
	size_t used;

	if (!is_refused())
		return NULL;
	used = (size_t)snprintf(text, sizeof(text), "this process may not load BPF programs: ");
	for (size_t i = 0; i < COUNT(rights) && !rights[i].gives; i++) {
		if (permission_has(rights[i].capability))
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
					 *between ? between : "it lacks ", rights[i].name);
		between = " and ";
	}
	if (!*between)
		snprintf(text + used, sizeof(text) - used,
			 "its capabilities are those of another user namespace, or kept from it");
	return text;
}

bool permission_lacks_modules(void)
{
	return !is_refused() && !permission_has(CAP_SYS_ADMIN);
}

/* A matter of who it is and of no capability: a machine asks its peer's user. */
bool permission_lacks_machines(void)
{
	return !is_refused() && geteuid();
}

/* Tried with an event that counts nothing: what a paranoid of 3 forbids, only Debian's kernels know. */
bool permission_lacks_perf_events(void)
{
	struct perf_event_attr nothing = {.type = PERF_TYPE_SOFTWARE,
					  .size = sizeof(nothing),
					  .config = PERF_COUNT_SW_DUMMY,
					  .disabled = 1};
	static int answer = -1;
	int fd;

	if (answer >= 0)
		return answer;
	answer = false;
	if (is_refused() || permission_has(CAP_SYS_ADMIN))
		return answer;
	fd = (int)syscall(SYS_perf_event_open, &nothing, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	answer = fd < 0 && (errno == EACCES || errno == EPERM);
	if (fd >= 0)
		close(fd);
	return answer;
}

/* Tried: kernel.kptr_restrict and kernel.perf_event_paranoid may give them to everybody, a sandbox to nobody. */
bool permission_lacks_symbols(void)
{
	static int answer = -1;
	unsigned long address = 0;
	FILE *file;

	if (answer >= 0)
		return answer;
	file = fopen("/proc/kallsyms", "re");
	/* The first may be at 0 (of a CPU's own data); 64 are enough to meet another. */
	for (int i = 0; file && !address && i < 64; i++)
		if (fscanf(file, "%lx %*[^\n]", &address) != 1)
			break;
	if (file)
		fclose(file);
	answer = !is_refused() && !address;
	return answer;
}

bool permission_needed(const char *sentence, char *text, size_t bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < COUNT(rights) && used < bytes; i++)
		if (strstr(sentence, rights[i].name))
			used += (size_t)snprintf(text + used, bytes - used, "%s%s",
						 used ? " and " : "", rights[i].name);
	if (used && used < bytes)
		snprintf(text + used, bytes - used, " (sudo faultline)");
	return used;
}

const char *permission_of_perf_events(int error)
{
	if ((error != EACCES && error != EPERM) || permission_lacking() ||
	    permission_has(CAP_SYS_ADMIN))
		return "";
	return "; " PERMISSION_PERF_EVENTS;
}

const char *permission_remedy(void)
{
	return "sudo faultline; or CAP_BPF and CAP_PERFMON of the host (docker: --privileged)";
}

bool permission_describe(char *text, size_t bytes)
{
	size_t used = 0;
	bool all = true;

	text[0] = '\0';
	for (size_t i = 0; i < COUNT(rights) && used < bytes; i++) {
		if (!rights[i].gives || permission_has(rights[i].capability) ||
		    (rights[i].capability == CAP_SYSLOG && !permission_lacks_symbols()))
			continue;
		used += (size_t)snprintf(text + used, bytes - used, "%s%s (%s%s)",
					 all ? "may watch the kernel, but lacks " : ", ",
					 rights[i].name, rights[i].gives,
					 rights[i].capability == CAP_SYS_ADMIN &&
							 permission_lacks_perf_events()
						 ? "; perf events"
						 : "");
		all = false;
	}
	if (permission_lacks_machines() && used < bytes)
		snprintf(text + used, bytes - used, "%sis not root (%s)",
			 all ? "may watch the kernel, but " : ", and ",
			 "names and I/Os of emulated machines");
	return all && !permission_lacks_machines();
}

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
