// SPDX-License-Identifier: GPL-2.0
#include "tools/doctor_host.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/mount.h"
#include "lib/base/proc.h"
#include "lib/base/run_directory.h"
#include "lib/capture/access_log.h"
#include "lib/capture/emulator.h"
#include "lib/capture/permission.h"
#include "lib/capture/pid_namespace.h"
#include "lib/capture/objects.h"
#include "tools/doctor_checks.h"

void check_good(struct host_check *check, const char *finding)
{
	check->good = true;
	snprintf(check->finding, sizeof(check->finding), "%s", finding);
}

void check_bad(struct host_check *check, const char *finding, const char *remedy)
{
	snprintf(check->finding, sizeof(check->finding), "%s", finding);
	snprintf(check->remedy, sizeof(check->remedy), "%s", remedy);
}

/* Entries of a directory that are not hidden and end in `suffix`; 0 if there is no directory. */
size_t check_entries(const char *path, const char *suffix)
{
	DIR *directory = opendir(path);
	size_t count = 0, length = strlen(suffix);
	struct dirent *entry;

	if (!directory)
		return 0;
	while ((entry = readdir(directory))) {
		size_t name = strlen(entry->d_name);

		if (entry->d_name[0] != '.' && name >= length &&
		    !strcmp(entry->d_name + name - length, suffix))
			count++;
	}
	closedir(directory);
	return count;
}

static void host_mounts(struct host_check *check)
{
	check->name = CHECK_MOUNTS;
	if (mount_lacking())
		check_bad(check, mount_lacking(), mount_remedy());
	else
		check_good(check, "/sys and /proc");
}

void check_unmounted(struct host_check *check, const char *directory)
{
	snprintf(check->finding, sizeof(check->finding), "cannot be told: %s is not mounted",
		 directory);
	snprintf(check->remedy, sizeof(check->remedy), "%s", mount_remedy());
	check->untold = true;
}

/* What was not found where nothing is mounted may be there all the same. */
static void host_doubt(struct host_check *checks, size_t count, const char *directory)
{
	for (size_t i = 0; i < count; i++)
		if (!checks[i].good)
			check_unmounted(&checks[i], directory);
}

static void host_privileges(struct host_check *check)
{
	char lacking[sizeof(check->finding)];

	check->name = "rights";
	if (permission_lacking())
		check_bad(check, permission_lacking(), permission_remedy());
	else if (permission_describe(lacking, sizeof(lacking)))
		check_good(check, "all that are of use");
	else
		check_bad(check, lacking,
			  permission_lacks_machines()
				  ? "these, and root for the machines (sudo faultline)"
				  : "these (sudo faultline)");
}

static void host_kernel_types(struct host_check *check, const struct btf *kernel)
{
	check->name = "BTF";
	if (kernel)
		check_good(check, "/sys/kernel/btf/vmlinux");
	else
		check_bad(check,
			  "no /sys/kernel/btf/vmlinux: no BPF program can be fitted to this kernel",
			  "a kernel with CONFIG_DEBUG_INFO_BTF=y (every Debian kernel)");
}

static void host_emulator(struct host_check *check, const char *asked)
{
	char path[PATH_MAX];

	check->name = "emulator";
	check->path = PATH_EMULATED;
	if (!emulator_find(asked, path, sizeof(path)))
		snprintf(check->finding, sizeof(check->finding), "%.150s", path);
	else
		check_bad(check, failure_text(), path_needs(PATH_EMULATED));
	check->good = !check->remedy[0];
}

static void host_machines(struct host_check *check)
{
	char finding[sizeof(check->finding)];

	check->name = "machines";
	check->path = PATH_EMULATED;
	check->partial = true;
	snprintf(finding, sizeof(finding), "%zu emulated machines in %.100s",
		 check_entries(run_directory(), RUN_MACHINE_SUFFIX), run_directory());
	if (run_directory_is_foreign())
		check_bad(check, failure_text(), "remove it");
	else if (run_directory_is_homeless())
		check_bad(check, failure_text(),
			  "make that, or set " RUN_DIRECTORY_VAR " to another place");
	else if (permission_lacks_machines())
		check_bad(check, PERMISSION_MACHINES, "root (sudo faultline)");
	else
		check_good(check, finding); /* there need not be any */
}

/* Events carry the kernel's own numbers of processes; -p, a command and machines are named by ours. */
static void host_pids(struct host_check *check)
{
	check->name = "pids";
	if (!proc_is_ours())
		check_bad(
			check,
			"/proc is of another pid namespace: processes are neither named nor found",
			"mount that of this one on /proc (unshare --mount-proc)");
	else if (proc_is_foreign())
		check_good(check, "of a namespace of its own; /proc is of another, and not what is "
				  "read: one of our own is");
	else if (pid_namespace_is_initial())
		check_good(check, "those of the host");
	else if (pid_to_kernel((__u32)getpid()))
		check_good(
			check,
			"of a namespace of its own; the kernel translates, reports show the host's");
	else
		check_bad(check,
			  "of a namespace of its own, and the kernel does not translate them",
			  "run it in the host's pid namespace (docker: --pid=host)");
}

static void host_swap(struct host_check *check)
{
	char text[256] = "";
	FILE *file = fopen("/proc/swaps", "re");
	size_t lines = 0;

	while (file && fgets(text, sizeof(text), file))
		lines++;
	if (file)
		fclose(file);
	check->name = "swap";
	if (lines > 1)
		check_good(check, "present");
	else
		check_bad(check, "no swap: anonymous memory never leaves",
			  "swapon; emulated machines have a pager of their own");
}

size_t host_checks(struct host_check checks[HOST_CHECKS], const char *asked)
{
	struct btf *kernel;
	size_t count = 0, first;

	objects_quiet();
	kernel = btf__load_vmlinux_btf();
	memset(checks, 0, HOST_CHECKS * sizeof(checks[0]));
	host_mounts(&checks[count++]);
	host_privileges(&checks[count++]);
	check_lockdown(&checks[count++]);
	first = count;
	host_kernel_types(&checks[count++], kernel);
	count += kernel_checks(&checks[count], kernel);
	if (!mount_has_sys())
		host_doubt(&checks[first], count - first, "/sys");
	first = count;
	host_pids(&checks[count++]);
	host_swap(&checks[count++]);
	host_emulator(&checks[count++], asked);
	if (!mount_has_proc())
		host_doubt(&checks[first], count - first, "/proc");
	host_machines(&checks[count++]);
	btf__free(kernel);
	return count;
}
