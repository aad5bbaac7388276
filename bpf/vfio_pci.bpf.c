// SPDX-License-Identifier: GPL-2.0
/*
 * vfio-pci: a device is reset, its interrupt vectors are wired to eventfds, it interrupts. The
 * interrupt handlers know nothing but what they were registered with: registrations during the
 * wiring identify the device. Vectors wired before the capture began have no device.
 */
#include "bpf/kernel.h"

#include <linux/vfio.h>

#include "bpf/device.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define TRIGGERS_MAX 8192

/* What a task is in the middle of. */
struct pci_call {
	__u64 reset_ns; /* 0: not in it */
	__u32 wiring;	/* device whose vectors are being wired */
	__u32 reserved;
};

TASK_STORAGE(pci_calls, struct pci_call);

struct vector_key {
	__u32 irq;
	__u32 reserved;
	__u64 token; /* dev_id of the handler */
};

HASH_ON_DEMAND(vectors, TRIGGERS_MAX, struct vector_key, __u32);

static __always_inline struct pci_call *pci_call(__u64 flags)
{
	if (!capture_running())
		return NULL;
	return flags ? task_entry_make(&pci_calls) : task_entry(&pci_calls, 0);
}

static __always_inline bool is_reset(unsigned int command)
{
	return command == VFIO_DEVICE_RESET || command == VFIO_DEVICE_PCI_HOT_RESET;
}

SEC("fentry/vfio_pci_core_ioctl")
int BPF_PROG(reset_begin, struct vfio_device *vfio, unsigned int command)
{
	struct pci_call *call;

	if (!is_reset(command))
		return 0;
	call = pci_call(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (call)
		call->reset_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("fexit/vfio_pci_core_ioctl")
int BPF_PROG(reset_end, struct vfio_device *vfio, unsigned int command, unsigned long argument,
	     long result)
{
	struct pci_call *call = is_reset(command) ? pci_call(0) : NULL;
	struct probe_counter *counter;
	struct event *event;
	__u32 device;
	__u64 ns;

	if (!call || !call->reset_ns)
		return 0;
	ns = bpf_ktime_get_ns() - call->reset_ns;
	call->reset_ns = 0;
	counter = probe_hit(PROBE_VFIO_RESET);
	if (!counter || !device_wanted(counter, BPF_CORE_READ(vfio, dev), &device))
		return 0;
	event = event_reserve(counter, EVENT_VFIO_RESET);
	if (!event)
		return 0;
	event->device = device;
	event->value = ns;
	event->code = errno_of(result);
	event->flags = command == VFIO_DEVICE_PCI_HOT_RESET ? EVENT_MAJOR : 0;
	event_submit(counter, event);
	return 0;
}

SEC("fentry/vfio_pci_set_irqs_ioctl")
int BPF_PROG(vectors_begin, struct vfio_pci_core_device *vfio)
{
	struct pci_call *call = pci_call(BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct probe_counter *counter;
	struct device_state *device;
	__u32 probe = PROBE_VFIO_VECTORS;

	counter = bpf_map_lookup_elem(&counters, &probe);
	if (!call || !counter)
		return 0;
	device = device_by_address(counter, BPF_CORE_READ(vfio, vdev.dev));
	call->wiring = device ? device->id : DEVICE_NONE;
	return 0;
}

/*
 * Masking is part of a guest's daily work and no change of the wiring; neither is turning off what
 * is not on, which the kernel tries for every kind of interrupt as a device is closed.
 */
SEC("fexit/vfio_pci_set_irqs_ioctl")
int BPF_PROG(vectors_end, struct vfio_pci_core_device *vfio, __u32 flags, unsigned int index,
	     unsigned int start, unsigned int count, void *data, int result)
{
	struct pci_call *call = pci_call(0);
	struct probe_counter *counter;
	struct event *event;
	__u32 device;

	if (!call)
		return 0;
	device = call->wiring;
	call->wiring = DEVICE_NONE;
	counter = probe_hit(PROBE_VFIO_VECTORS);
	if (!counter || !(flags & VFIO_IRQ_SET_ACTION_TRIGGER) || (!count && result))
		return 0;
	event = event_reserve(counter, EVENT_VFIO_VECTOR);
	if (!event)
		return 0;
	event->device = device;
	event->address = start;
	event->value = count;
	event->length = result < 0 ? -result : 0;
	event->code = index;
	event_submit(counter, event);
	return 0;
}

SEC("fentry/request_threaded_irq")
int BPF_PROG(vector_register, unsigned int irq, void *handler, void *thread, unsigned long flags,
	     const char *name, void *token)
{
	struct vector_key key = {.irq = irq, .token = (__u64)token};
	struct pci_call *call = pci_call(0);
	__u32 device;

	if (!call || !call->wiring || !probe_hit(PROBE_VFIO_REGISTER))
		return 0;
	device = call->wiring;
	if (bpf_map_update_elem(&vectors, &key, &device, BPF_ANY))
		state_failed();
	return 0;
}

/* What was refused is never freed. */
SEC("fexit/request_threaded_irq")
int BPF_PROG(vector_registered, unsigned int irq, void *handler, void *thread, unsigned long flags,
	     const char *name, void *token, int error)
{
	struct vector_key key = {.irq = irq, .token = (__u64)token};
	struct pci_call *call = error ? pci_call(0) : NULL;

	if (call && call->wiring)
		bpf_map_delete_elem(&vectors, &key);
	return 0;
}

SEC("fentry/free_irq")
int BPF_PROG(vector_free, unsigned int irq, void *token)
{
	struct vector_key key = {.irq = irq, .token = (__u64)token};
	struct pci_call *call = pci_call(0);

	if (call && call->wiring && probe_hit(PROBE_VFIO_FREE))
		bpf_map_delete_elem(&vectors, &key);
	return 0;
}

/* In interrupt context: no process is meant. */
static __always_inline int interrupt(__u32 probe, int irq, void *token)
{
	struct vector_key key = {.irq = irq, .token = (__u64)token};
	struct aggregate_key sum = {.kind = EVENT_VFIO_IRQ, .queue = QUEUE_NONE};
	struct probe_counter *counter = probe_hit(probe);
	struct event *event;
	__u32 *device;

	if (!counter)
		return 0;
	device = bpf_map_lookup_elem(&vectors, &key);
	sum.device = device ? *device : DEVICE_NONE;
	event = event_or_count(counter, &sum, 0, 0);
	if (!event)
		return 0;
	event->value = irq;
	event_submit(counter, event);
	return 0;
}

SEC("fentry/vfio_msihandler")
int BPF_PROG(interrupt_msi, int irq, void *token)
{
	return interrupt(PROBE_VFIO_MSI, irq, token);
}

SEC("fentry/vfio_intx_handler")
int BPF_PROG(interrupt_line, int irq, void *token)
{
	return interrupt(PROBE_VFIO_INTX, irq, token);
}
