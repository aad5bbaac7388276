// SPDX-License-Identifier: GPL-2.0
/* What doctor finds of the kernel's own paths: each may be missing for a reason of its own. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/mount.h"
#include "lib/capture/permission.h"
#include "tools/doctor_checks.h"

static bool kernel_has(const struct btf *types, const char *name, __u32 kind)
{
	return types && btf__find_by_name_kind(types, name, kind) > 0;
}

static bool has_function(const struct btf *types, const char *name)
{
	return kernel_has(types, name, BTF_KIND_FUNC);
}

static bool module_has(const struct btf *kernel, const char *module, const char *function)
{
	struct btf *types = btf__load_module_btf(module, (struct btf *)kernel);
	bool found = has_function(types, function);

	btf__free(types);
	return found;
}

static bool functions_work(const struct btf *kernel)
{
	__s32 any = kernel ? btf__find_by_name_kind(kernel, "handle_mm_fault", BTF_KIND_FUNC) : -1;

	return !permission_lacking() && any > 0 && !function_try(any, 0, false);
}

static void functions(struct host_check *check, const struct btf *kernel)
{
	bool kprobes = !access("/sys/bus/event_source/devices/kprobe", F_OK);
	bool fentry = functions_work(kernel);

	check->name = "kernel functions";
	if (fentry)
		check_good(check, kprobes ? "fentry, kprobes" : "fentry; no kprobes");
	else if (permission_lacking())
		check_bad(check, "who may not attach to them cannot try", permission_remedy());
	else if (kprobes)
		check_bad(check, "no fentry, only kprobes: most kernel stages are unseen",
			  "a kernel with CONFIG_FUNCTION_TRACER and "
			  "DYNAMIC_FTRACE_WITH_DIRECT_CALLS (Debian's on amd64), not locked down");
	else
		check_bad(check, "neither fentry nor kprobes: kernel stages are unseen",
			  "a kernel with CONFIG_KPROBES and CONFIG_FUNCTION_TRACER (every Debian "
			  "kernel), not locked down");
}

/*
 * Names of the IOMMUs in use: dmar0 (Intel), ivhd0 (AMD), smmu3.0x... (Arm). Returns their number, or a
 * negative errno: -ENOENT of a kernel that can drive none.
 */
static int iommu_names(char *names, size_t bytes)
{
	DIR *directory = opendir("/sys/class/iommu");
	struct dirent *entry;
	size_t used = 0;
	int count = 0;

	names[0] = '\0';
	if (!directory)
		return -errno;
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		if (used < bytes)
			used += snprintf(names + used, bytes - used, "%s%s", count ? " " : "",
					 entry->d_name);
		count++;
	}
	closedir(directory);
	return count;
}

static void iommu(struct host_check *check)
{
	char names[sizeof(check->finding)];
	int count = iommu_names(names, sizeof(names));

	check->name = "IOMMU";
	check->path = PATH_IOMMU;
	if (count == -ENOENT)
		check_bad(check, "this kernel has no support for IOMMUs",
			  "a kernel with CONFIG_IOMMU_API");
	else if (count < 0)
		check_bad(check, strerror(-count), "let this process open /sys/class/iommu");
	else if (!count)
		check_bad(
			check, "no driver is active: iommu:* probes never fire",
			"intel_iommu=on or amd_iommu=on on hardware, or in a guest with a vIOMMU");
	else if ((check->partial = strstr(names, "ivhd") || strstr(names, "smmu")))
		check_bad(
			check,
			"not Intel's: fault registers are not read, faults come from the "
			"io_page_fault tracepoint alone",
			"nothing yet; page requests are seen where the kernel's own core takes them");
	else
		check_good(check, names);
}

static void page_requests(struct host_check *check, const struct btf *kernel)
{
	check->name = "page requests";
	check->path = PATH_CORE;
	if (has_function(kernel, "iommu_report_device_fault") ||
	    has_function(kernel, "iommu_queue_iopf"))
		check_good(check, "the kernel handles I/O page faults (IOMMU_IOPF)");
	else
		check_bad(check, "not in this kernel: only emulated devices can fault",
			  "a kernel with CONFIG_IOMMU_IOPF and a device with PRI");
}

#define REFUSAL_BYTES 128 /* a function that does more than check and return an error is longer */

/*
 * Length of a function, judged by where the next one begins; 0: unknown. A look through all symbols,
 * whose addresses take CAP_SYSLOG.
 */
static unsigned long function_length(const char *function)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long begin = 0, next = ~0ul, *addresses = NULL;
	size_t count = 0, room = 0;
	char line[512], name[256];
	unsigned long address;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx %*c %255s", &address, name) != 2 || strchr(line, '['))
			continue;
		if (!array_grow(&addresses, &room, count + 1, sizeof(*addresses), ARRAY_PLAIN))
			break;
		addresses[count++] = address;
		if (!strcmp(name, function))
			begin = address;
	}
	if (file)
		fclose(file);
	for (size_t i = 0; i < count; i++)
		if (addresses[i] > begin && addresses[i] < next)
			next = addresses[i];
	free(addresses);
	return begin && next != ~0ul ? next - begin : 0;
}

static void shared_addresses(struct host_check *check, const struct btf *kernel)
{
	unsigned long length;

	check->name = "SVA";
	check->path = PATH_CORE;
	check->partial = true;
	if (!has_function(kernel, "iommu_sva_bind_device")) {
		check_bad(check, "not in this kernel: no device shares a process's addresses",
			  "a kernel with CONFIG_IOMMU_SVA");
		return;
	}
	if (has_function(kernel, "iommu_sva_iopf_handler")) {
		check_good(check, "devices can share a process's addresses");
		return;
	}
	length = permission_lacks_symbols() ? 0 : function_length("iommu_sva_bind_device");
	if (!mount_has_proc())
		check_unmounted(check, "/proc");
	else if (!length)
		check_bad(check, "cannot be told: the symbols' addresses are hidden",
			  "CAP_SYSLOG (sudo faultline doctor)");
	else if (length < REFUSAL_BYTES)
		check_bad(check,
			  "compiled out: iommu_sva_bind_device() refuses every device (x86, since "
			  "CVE-2025-71089)",
			  "Linux 7 or later");
	else
		check_good(check, "devices can share a process's addresses");
}

/* No emulation raises VT-d's own page request interrupt: what is proven is said with it. */
static void vtd_page_requests(struct host_check *check, const struct btf *kernel)
{
	check->name = "VT-d requests";
	check->path = PATH_QUEUES;
	check->caveat = has_function(kernel, "prq_event_thread");
	if (check->caveat)
		check_good(check, "the interrupt's probes are tested to attach, not to fire: no "
				  "emulation raises it");
	else
		check_bad(check, "this kernel has no VT-d page request interrupt",
			  "a kernel with CONFIG_INTEL_IOMMU_SVM on Intel hardware with PRI");
}

static void dma_api(struct host_check *check, const struct btf *kernel)
{
	check->name = "DMA API";
	check->path = PATH_DMA;
	check->partial = true;
	if (kernel_has(kernel, "btf_trace_dma_map_phys", BTF_KIND_TYPEDEF) ||
	    kernel_has(kernel, "btf_trace_dma_map_page", BTF_KIND_TYPEDEF))
		check_good(check, "dma:* tracepoints");
	else if (functions_work(kernel))
		check_good(check, "functions; no dma:* tracepoints before Linux 6.12");
	else
		check_bad(check, "no dma:* tracepoints: mappings are not counted",
			  "Linux 6.12 or later, or a kernel that lets programs onto its functions");
}

/* Whether a module file of this kernel is installed, loaded or not. */
static bool installed(const char *path)
{
	static const char *const endings[] = {"", ".xz", ".zst", ".gz"};
	struct utsname name;
	char file[512];

	uname(&name);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		snprintf(file, sizeof(file), "/lib/modules/%s/kernel/%s.ko%s", name.release, path,
			 endings[i]);
		if (!access(file, F_OK))
			return true;
	}
	return false;
}

static void vfio(struct host_check *check)
{
	check->name = "VFIO";
	check->path = PATH_VFIO;
	if (!access("/sys/module/vfio_iommu_type1", F_OK))
		check_good(check, "type1");
	else if (!access("/sys/module/vfio", F_OK))
		check_bad(check, "no container: module vfio_iommu_type1 is not loaded",
			  "modprobe vfio_iommu_type1");
	else
		check_bad(check, "not loaded: no device is handed to a guest",
			  path_needs(PATH_VFIO));
}

static void iommufd(struct host_check *check)
{
	check->name = "iommufd";
	check->path = PATH_IOMMUFD;
	if (!access("/sys/module/iommufd", F_OK))
		check_good(check, "present");
	else if (installed("drivers/iommu/iommufd/iommufd"))
		check_bad(check, "module iommufd is not loaded", "modprobe iommufd");
	else
		check_bad(check, "not built for this kernel: no fault queues for user space",
			  path_needs(PATH_IOMMUFD));
}

static void rdma(struct host_check *check, const struct btf *kernel)
{
	check->name = "RDMA";
	check->path = PATH_RDMA;
	if (!check_entries("/sys/class/infiniband", ""))
		check_bad(check, "no RDMA device: no on-demand paging to watch",
			  "an HCA, or `rdma link add rxe0 type rxe netdev DEVICE`");
	else if (module_has(kernel, "mlx5_ib", "pagefault_real_mr") ||
		 module_has(kernel, "rdma_rxe", "rxe_odp_map_range_and_lock"))
		check_good(check, "a device's driver can page on demand");
	else
		check_bad(check, "no device's driver can page on demand",
			  "mlx5, or rdma_rxe of Linux 7");
}

size_t kernel_checks(struct host_check checks[KERNEL_CHECKS], const struct btf *kernel)
{
	size_t count = 0;

	functions(&checks[count++], kernel);
	iommu(&checks[count++]);
	page_requests(&checks[count++], kernel);
	shared_addresses(&checks[count++], kernel);
	vtd_page_requests(&checks[count++], kernel);
	dma_api(&checks[count++], kernel);
	vfio(&checks[count++]);
	iommufd(&checks[count++]);
	rdma(&checks[count++], kernel);
	return count;
}
