// SPDX-License-Identifier: GPL-2.0
/*
 * iommufd (6.2 and later, where it is built): an I/O address space takes the place of VFIO's
 * container. Its requests of today and those through its emulation of VFIO meet in io_pagetable.c.
 */
#include "bpf/kernel.h"

#include "bpf/vfio.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* A change of how much is pinned. */
static __always_inline int space_limit_emit(struct probe_counter *counter, const void *space,
					    bool refused)
{
	__u64 address = (__u64)space;
	struct container *container = bpf_map_lookup_elem(&containers, &address);

	if (container)
		memlock_emit(counter, container, true, refused);
	return 0;
}

SEC("fentry/iopt_map_user_pages")
int BPF_PROG(space_map_begin, void *context, void *space)
{
	return request_begin((__u64)space, true, STEP_MAP, PROBE_IOMMUFD_MAP);
}

/* Seven arguments: more than 6.1 can hand over, which has no iommufd. */
SEC("fexit/iopt_map_user_pages")
int BPF_PROG(space_map_end, void *context, void *space, unsigned long *iova, void *address,
	     unsigned long length, int protection, unsigned int flags, int result)
{
	struct vfio_operation o = {.kind = EVENT_VFIO_MAP, .queue = QUEUE_NONE};
	struct probe_counter *counter = step_end(vfio_call(), STEP_MAP, PROBE_IOMMUFD_MAP, &o);

	if (!counter)
		return 0;
	bpf_probe_read_kernel(&o.address, sizeof(o.address), iova);
	o.bytes = length;
	o.code = errno_of(result);
	o.flags = protection & (EVENT_READ | EVENT_WRITE);
	vfio_report(counter, &o);
	return space_limit_emit(counter, space, result < 0);
}

SEC("fentry/iopt_unmap_iova")
int BPF_PROG(space_unmap_begin, void *space)
{
	return request_begin((__u64)space, true, STEP_UNMAP, PROBE_IOMMUFD_UNMAP);
}

SEC("fexit/iopt_unmap_iova")
int BPF_PROG(space_unmap_end, void *space, unsigned long iova, unsigned long length,
	     unsigned long *unmapped, int result)
{
	struct vfio_operation o = {.kind = EVENT_VFIO_UNMAP, .queue = QUEUE_NONE};
	struct probe_counter *counter = step_end(vfio_call(), STEP_UNMAP, PROBE_IOMMUFD_UNMAP, &o);

	if (!counter)
		return 0;
	o.address = iova;
	o.code = errno_of(result);
	if (unmapped)
		bpf_probe_read_kernel(&o.bytes, sizeof(o.bytes), unmapped);
	else
		o.bytes = length;
	vfio_report(counter, &o);
	return space_limit_emit(counter, space, false);
}

SEC("fentry/pfn_reader_user_pin")
int BPF_PROG(space_pin_begin)
{
	step_begin(vfio_call_begin(), STEP_PIN);
	return 0;
}

/* A batch of pages that need not be contiguous: no run, no order. */
SEC("fexit/pfn_reader_user_pin")
int BPF_PROG(space_pin_end, struct pfn_reader_user *user, void *pages, unsigned long first,
	     unsigned long last, int result)
{
	struct vfio_operation o = {.kind = EVENT_VFIO_PIN, .queue = QUEUE_NONE};
	struct probe_counter *counter = step_end(vfio_call(), STEP_PIN, PROBE_IOMMUFD_PIN, &o);

	if (!counter)
		return 0;
	o.code = errno_of(result);
	if (!result)
		o.bytes = (BPF_CORE_READ(user, upages_end) - BPF_CORE_READ(user, upages_start))
			  << PAGE_BITS;
	vfio_report(counter, &o);
	return 0;
}

/* After its mappings, whoever brings it about: nothing of it is left. */
SEC("fentry/iopt_destroy_table")
int BPF_PROG(space_release, void *space)
{
	if (probe_hit(PROBE_IOMMUFD_RELEASE))
		container_leave((__u64)space);
	return 0;
}
