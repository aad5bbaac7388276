// SPDX-License-Identifier: GPL-2.0
/*
 * iommufd (6.2 and later, where it is built): an I/O address space takes the place of VFIO's
 * container. Its requests of today and those through its emulation of VFIO meet in io_pagetable.c.
 */
#include "bpf/kernel.h"

#include "bpf/vfio.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Its end is not seen: the owner's pid tells whether memory was used again. */
static __always_inline struct container_key space_key(const void *space)
{
	return (struct container_key){
		.address = (__u64)space,
		.owner = bpf_get_current_pid_tgid() >> 32,
	};
}

static __always_inline struct vfio_call *space_begin(const void *space, __u32 probe)
{
	struct container_key key = space_key(space);
	struct probe_counter *counter = bpf_map_lookup_elem(&counters, &probe);
	struct vfio_call *call = vfio_call_begin();
	struct container *container;

	if (!call || !counter)
		return NULL;
	container = container_get(counter, &key, true);
	call->container = container ? container->id : DEVICE_NONE;
	return call;
}

SEC("fentry/iopt_map_user_pages")
int BPF_PROG(space_map_begin, void *context, void *space)
{
	struct vfio_call *call = space_begin(space, PROBE_IOMMUFD_MAP);

	if (call)
		call->map_ns = bpf_ktime_get_ns();
	return 0;
}

/* Seven arguments: more than 6.1 can hand over, which has no iommufd. */
SEC("fexit/iopt_map_user_pages")
int BPF_PROG(space_map_end, void *context, void *space, unsigned long *iova, void *address,
	     unsigned long length, int protection, unsigned int flags, int result)
{
	struct container_key key = space_key(space);
	struct vfio_operation o = {.kind = EVENT_VFIO_MAP, .queue = QUEUE_NONE};
	struct vfio_call *call = vfio_call();
	struct probe_counter *counter;
	struct container *container;

	if (!call || !call->map_ns)
		return 0;
	o.ns = bpf_ktime_get_ns() - call->map_ns;
	o.device = call->container;
	call->map_ns = 0;
	counter = probe_hit(PROBE_IOMMUFD_MAP);
	if (!counter)
		return 0;
	bpf_probe_read_kernel(&o.address, sizeof(o.address), iova);
	o.bytes = length;
	o.code = errno_of(result);
	o.flags = protection & (EVENT_READ | EVENT_WRITE);
	tell(counter, &o);
	container = bpf_map_lookup_elem(&containers, &key);
	if (container)
		tell_user_memlock(counter, container, result < 0);
	return 0;
}

SEC("fentry/iopt_unmap_iova")
int BPF_PROG(space_unmap_begin, void *space)
{
	struct vfio_call *call = space_begin(space, PROBE_IOMMUFD_UNMAP);

	if (call)
		call->unmap_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("fexit/iopt_unmap_iova")
int BPF_PROG(space_unmap_end, void *space, unsigned long iova, unsigned long length,
	     unsigned long *unmapped, int result)
{
	struct container_key key = space_key(space);
	struct vfio_operation o = {.kind = EVENT_VFIO_UNMAP, .queue = QUEUE_NONE};
	struct vfio_call *call = vfio_call();
	struct probe_counter *counter;
	struct container *container;

	if (!call || !call->unmap_ns)
		return 0;
	o.ns = bpf_ktime_get_ns() - call->unmap_ns;
	o.device = call->container;
	call->unmap_ns = 0;
	counter = probe_hit(PROBE_IOMMUFD_UNMAP);
	if (!counter)
		return 0;
	o.address = iova;
	o.code = errno_of(result);
	if (unmapped)
		bpf_probe_read_kernel(&o.bytes, sizeof(o.bytes), unmapped);
	else
		o.bytes = length;
	tell(counter, &o);
	container = bpf_map_lookup_elem(&containers, &key);
	if (container)
		tell_user_memlock(counter, container, false);
	return 0;
}

SEC("fentry/pfn_reader_user_pin")
int BPF_PROG(space_pin_begin)
{
	struct vfio_call *call = vfio_call_begin();

	if (call)
		call->pin_ns = bpf_ktime_get_ns();
	return 0;
}

/* A batch of pages that need not be contiguous: no run, no order. */
SEC("fexit/pfn_reader_user_pin")
int BPF_PROG(space_pin_end, struct pfn_reader_user *user, void *pages, unsigned long first,
	     unsigned long last, int result)
{
	struct vfio_operation o = {.kind = EVENT_VFIO_PIN, .queue = QUEUE_NONE};
	struct vfio_call *call = vfio_call();
	struct probe_counter *counter;

	if (!call || !call->pin_ns)
		return 0;
	o.ns = bpf_ktime_get_ns() - call->pin_ns;
	o.device = call->container;
	call->pin_ns = 0;
	counter = probe_hit(PROBE_IOMMUFD_PIN);
	if (!counter)
		return 0;
	o.code = errno_of(result);
	if (!result)
		o.bytes = (BPF_CORE_READ(user, upages_end) - BPF_CORE_READ(user, upages_start))
			  << PAGE_BITS;
	tell(counter, &o);
	return 0;
}
