// SPDX-License-Identifier: GPL-2.0
/* How memory comes, goes and moves, and CPU page faults, which are seen by the same object. */
#include "lib/capture/capture_private.h"
#include "lib/capture/paths/rows.h"
#include "bpf/mm.skel.h"
#include "bpf/mmfault.skel.h"

static DEFINE_OBJECT(mm);
static DEFINE_OBJECT(mmfault);

static const struct probe_row memory_rows[] = {
	/* What was met within it is told with the page: they are on and off with the faults. */
	{PROBE_MM_FAULT, "mm_fault", &mmfault_object, EVENT_FAULT_RESOLVED,
	 METHODS(FUNCTION(handle_mm_fault, "mm_fault", "mm_faulted")), .sieve = true,
	 .every = FROM_SVA_WORKER, .place = PLACE_RESOLVERS,
	 .without =
		 "what brought the pages of kernel page requests is not known, nor whether storage was read"},
	{PROBE_MM_ANONYMOUS, "mm_anonymous", &mmfault_object, EVENT_FAULT_RESOLVED,
	 METHODS(FUNCTION(do_anonymous_page, "mm_anonymous")), .sieve = true, .optional = true,
	 .place = PLACE_RESOLVERS},
	{PROBE_MM_COPY, "mm_copy", &mmfault_object, EVENT_FAULT_RESOLVED,
	 METHODS(FUNCTION(do_wp_page, "mm_copy")), .sieve = true, .place = PLACE_RESOLVERS,
	 .without =
		 "pages of kernel page requests that were copied on write are reported as present",
	 .unaccused = "no page need be copied"},
	{PROBE_MM_FILE, "mm_file", &mmfault_object, EVENT_FAULT_RESOLVED,
	 METHODS(FUNCTION(filemap_fault, "mm_file")), .sieve = true, .place = PLACE_RESOLVERS,
	 .without = "file pages of kernel page requests are reported as present",
	 .unaccused = "no page of a file need be asked for"},
	{PROBE_MM_HUGE, "mm_huge", &mmfault_object, EVENT_FAULT_RESOLVED,
	 METHODS(FUNCTION(do_huge_pmd_anonymous_page, NULL, "mm_huge")), .sieve = true,
	 .place = PLACE_RESOLVERS,
	 .without = "huge pages of kernel page requests are reported as present",
	 .unaccused = "no huge page need be asked for"},
	{PROBE_MM_HUGETLB, "mm_hugetlb", &mmfault_object, EVENT_FAULT_RESOLVED,
	 METHODS(FUNCTION(hugetlb_fault, "mm_hugetlb")), .sieve = true, .place = PLACE_RESOLVERS,
	 .without = "hugetlb pages of kernel page requests are reported as file pages",
	 .unaccused = "no hugetlb page need be asked for"},
	{PROBE_MM_SWAP, "mm_swap", &mmfault_object, EVENT_FAULT_RESOLVED,
	 METHODS(FUNCTION(do_swap_page, "mm_swap")), .sieve = true, .place = PLACE_RESOLVERS,
	 .without = "pages of kernel page requests that came from swap are reported as present",
	 .unaccused = "nothing need be swapped out"},
	{PROBE_MM_USERFAULT, "mm_userfault", &mmfault_object, EVENT_FAULT_RESOLVED,
	 METHODS(FUNCTION(handle_userfault, "mm_userfault", "mm_userfaulted")), .sieve = true,
	 .place = PLACE_RESOLVERS,
	 .without = "userfaultfd pages of kernel page requests are reported as errors",
	 .unaccused = "no process need serve its own faults"},
	{PROBE_MM_INVALIDATE, "mm_invalidate", &mm_object, EVENT_MM_INVALIDATE,
	 METHODS(FUNCTION(__mmu_notifier_invalidate_range_start, "mm_invalidate")),
	 .without = "invalidations of page tables are not counted",
	 .unaccused = "no page table need change"},
	{PROBE_MM_RECLAIM, "mm_reclaim", &mm_object, EVENT_MM_RECLAIM,
	 METHODS(TRACEPOINT_AS(mm_vmscan_direct_reclaim_begin, "mm_reclaim_begin", "mm_reclaim_end",
			       0, "mm_vmscan_direct_reclaim_end")),
	 .without = "direct reclaim is not counted", .unaccused = "memory need not run short"},
	{PROBE_MM_MIGRATE, "mm_migrate", &mm_object, EVENT_MM_MIGRATE,
	 METHODS(TRACEPOINT_AS(mm_migrate_pages, "mm_migrate", NULL, 8),
		 TRACEPOINT_AS(mm_migrate_pages, "mm_migrate_before", NULL, 7)),
	 .without = "migrations of pages are not counted", .unaccused = "no page need move"},
	{PROBE_MM_COLLAPSE, "mm_collapse", &mm_object, EVENT_MM_COLLAPSE,
	 METHODS(TRACEPOINT_AS(mm_collapse_huge_page, "mm_collapse")),
	 .without = "huge pages collapsed are not counted",
	 .unaccused = "no pages need become a huge one"},
	{PROBE_KVM_UNMAP, "kvm_unmap", &mm_object, EVENT_KVM_UNMAP,
	 METHODS(TRACEPOINT_AS(kvm_unmap_hva_range, "kvm_unmap")), .module = "kvm",
	 .without = "unmaps by KVM are not counted", .unaccused = "no guest need run"},
};

static const struct probe_row cpu_rows[] = {
	{PROBE_PAGE_FAULT_USER, "page_fault_user", &mm_object, EVENT_CPU_FAULT,
	 METHODS(TRACEPOINT(page_fault_user)), .required = true,
	 .without = "CPU page faults of processes are not counted",
	 .unaccused = "no process need fault"},
	{PROBE_PAGE_FAULT_KERNEL, "page_fault_kernel", &mm_object, EVENT_CPU_FAULT,
	 METHODS(TRACEPOINT(page_fault_kernel)),
	 .without = "CPU page faults of the kernel are not counted",
	 .unaccused = "the kernel need not fault"},
};

/* Without it a page that nothing else has brought may have been present, or anonymous. */
static int share_programs(struct capture *c, __u64 now_ns)
{
	(void)now_ns;
	c->maps.state->sees_anonymous =
		probe_set_info(c->probes, PROBE_MM_ANONYMOUS)->state == PROBE_ON;
	return 0;
}

const struct path mm_path = {
	.name = "memory",
	.needs = "a kernel with function tracing",
	ROWS(memory_rows),
	.steps[STEP_ATTACHED] = share_programs,
};

const struct path cpu_path = {
	.name = "CPU page faults",
	.needs = "a kernel with the tracepoints exceptions:page_fault_*",
	ROWS(cpu_rows),
};
