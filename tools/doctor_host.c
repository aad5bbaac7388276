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
#include "lib/capture/access_log.h"
#include "lib/capture/emulator.h"
#include "lib/capture/functions.h"
#include "lib/capture/objects.h"

static void good(struct host_check *check, const char *finding)
{
	check->good = true;
	snprintf(check->finding, sizeof(check->finding), "%s", finding);
}

static void bad(struct host_check *check, const char *finding, const char *remedy)
{
	snprintf(check->finding, sizeof(check->finding), "%s", finding);
	snprintf(check->remedy, sizeof(check->remedy), "%s", remedy);
}

/* Entries of a directory that are not hidden and end in `suffix`; 0 if there is no directory. */
static size_t entries(const char *path, const char *suffix)
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

static void read_line(const char *path, char *text, size_t bytes)
{
	FILE *file = fopen(path, "re");

	text[0] = '\0';
	if (!file)
		return;
	if (!fgets(text, bytes, file))
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	fclose(file);
}

static void privileges(struct host_check *check)
{
	check->name = "root";
	if (geteuid())
		bad(check, "not root: nothing can be watched", "sudo faultline doctor");
	else
		good(check, "root");
}

static void kernel_types(struct host_check *check, const struct btf *kernel)
{
	check->name = "BTF";
	if (kernel)
		good(check, "/sys/kernel/btf/vmlinux");
	else
		bad(check,
		    "no /sys/kernel/btf/vmlinux: no BPF program can be fitted to this kernel",
		    "a kernel with CONFIG_DEBUG_INFO_BTF=y (every Debian kernel)");
}

static void lockdown(struct host_check *check)
{
	char text[64];

	check->name = "lockdown";
	read_line("/sys/kernel/security/lockdown", text, sizeof(text));
	if (strstr(text, "[confidentiality]"))
		bad(check, "confidentiality: BPF may not read kernel memory",
		    "boot with lockdown=integrity or none");
	else if (text[0])
		good(check, strstr(text, "[integrity]") ? "integrity: BPF may read" : "none");
	else
		good(check, "not told (securityfs is not mounted)");
}

static bool has_function(const struct btf *kernel, const char *name)
{
	return kernel && btf__find_by_name_kind(kernel, name, BTF_KIND_FUNC) > 0;
}

static void functions(struct host_check *check, const struct btf *kernel)
{
	bool kprobes = !access("/sys/bus/event_source/devices/kprobe", F_OK);
	__s32 any = kernel ? btf__find_by_name_kind(kernel, "handle_mm_fault", BTF_KIND_FUNC) : -1;
	bool fentry = !geteuid() && any > 0 && !function_try(any, 0, false);

	check->name = "kernel functions";
	if (kprobes || fentry)
		good(check, fentry ? "fentry" : "kprobes");
	else if (geteuid())
		bad(check, "no kprobes; only root can try fentry", "sudo faultline doctor");
	else
		bad(check, "neither kprobes nor fentry: kernel stages are unseen",
		    "a kernel with CONFIG_KPROBES and CONFIG_FUNCTION_TRACER (every Debian kernel)");
}

static void iommu(struct host_check *check)
{
	size_t count = entries("/sys/class/iommu", "");

	check->name = "IOMMU";
	if (count) {
		snprintf(check->finding, sizeof(check->finding), "%zu", count);
		check->good = true;
	} else {
		bad(check, "no driver is active: iommu:* probes never fire",
		    "intel_iommu=on or amd_iommu=on on hardware, or in a guest with a vIOMMU");
	}
}

static void page_requests(struct host_check *check, const struct btf *kernel)
{
	check->name = "page requests";
	if (has_function(kernel, "iommu_report_device_fault") ||
	    has_function(kernel, "iommu_queue_iopf"))
		good(check, "the kernel handles I/O page faults (IOMMU_IOPF)");
	else
		bad(check, "not in this kernel: only emulated devices can fault",
		    "a kernel with CONFIG_IOMMU_IOPF and a device with PRI");
}

static void dma_api(struct host_check *check, const struct btf *kernel)
{
	check->name = "DMA API";
	if (kernel &&
	    (btf__find_by_name_kind(kernel, "btf_trace_dma_map_phys", BTF_KIND_TYPEDEF) > 0 ||
	     btf__find_by_name_kind(kernel, "btf_trace_dma_map_page", BTF_KIND_TYPEDEF) > 0))
		good(check, "dma:* tracepoints");
	else
		bad(check, "no dma:* tracepoints: mappings are not counted", "Linux 6.12 or later");
}

static void vfio(struct host_check *check)
{
	size_t groups = entries("/dev/vfio", "");

	check->name = "VFIO";
	if (groups)
		good(check, "present");
	else
		bad(check, "no VFIO: no device is handed to a guest",
		    "modprobe vfio-pci, with an IOMMU");
}

static void rdma(struct host_check *check)
{
	check->name = "RDMA";
	if (entries("/sys/class/infiniband", ""))
		good(check, "present");
	else
		bad(check, "no RDMA device: no on-demand paging to watch",
		    "an HCA, or `rdma link add rxe0 type rxe netdev DEVICE`");
}

static void emulator(struct host_check *check, const char *asked)
{
	char path[PATH_MAX];

	check->name = "emulator";
	if (!emulator_find(asked, path, sizeof(path)))
		snprintf(check->finding, sizeof(check->finding), "%.150s", path);
	else
		bad(check, failure_text(), "install " EMULATOR_NAME ", or --emulator PATH");
	check->good = !check->remedy[0];
}

static void machines(struct host_check *check)
{
	check->name = "machines";
	check->good = true; /* there need not be any */
	snprintf(check->finding, sizeof(check->finding), "%zu emulated machines in %.100s",
		 entries(run_directory(), RUN_MACHINE_SUFFIX), run_directory());
}

static void swap(struct host_check *check)
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
		good(check, "present");
	else
		bad(check, "no swap: anonymous memory never leaves",
		    "swapon; emulated machines have a pager of their own");
}

size_t host_checks(struct host_check checks[HOST_CHECKS], const char *asked)
{
	struct btf *kernel;
	size_t count = 0;

	objects_quiet();
	kernel = btf__load_vmlinux_btf();
	memset(checks, 0, HOST_CHECKS * sizeof(checks[0]));
	privileges(&checks[count++]);
	kernel_types(&checks[count++], kernel);
	lockdown(&checks[count++]);
	functions(&checks[count++], kernel);
	iommu(&checks[count++]);
	page_requests(&checks[count++], kernel);
	dma_api(&checks[count++], kernel);
	vfio(&checks[count++]);
	rdma(&checks[count++]);
	swap(&checks[count++]);
	emulator(&checks[count++], asked);
	machines(&checks[count++]);
	btf__free(kernel);
	return count;
}
