// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/kinds.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "bpf/event.h"
#include "lib/base/fail.h"

static const char *const names[EVENT_KIND_MAX] = {
	[EVENT_FAULT_DETECT] = "fault_detect",
	[EVENT_FAULT_REQUEST] = "fault_request",
	[EVENT_FAULT_ISR] = "fault_isr",
	[EVENT_FAULT_HANDLER] = "fault_handler",
	[EVENT_FAULT_RESOLVED] = "fault_resolved",
	[EVENT_FAULT_MAPPED] = "fault_mapped",
	[EVENT_FAULT_RESPONSE] = "fault_response",
	[EVENT_FAULT_RESUME] = "fault_resume",
	[EVENT_FAULT_OVERFLOW] = "fault_overflow",
	[EVENT_FAULT_UNFINISHED] = "fault_unfinished",
	[EVENT_FAULT_QUEUED] = "fault_queued",
	[EVENT_FAULT_DELIVERED] = "fault_delivered",
	[EVENT_FAULT_DISCARD] = "fault_discard",
	[EVENT_FAULT_VOID] = "fault_void",
	[EVENT_FAULT_ABANDON] = "fault_abandon",
	[EVENT_INVALIDATE_START] = "invalidate_start",
	[EVENT_INVALIDATE_DEVICE] = "invalidate_device",
	[EVENT_INVALIDATE_ACK] = "invalidate_ack",
	[EVENT_INVALIDATE_FREED] = "invalidate_freed",
	[EVENT_CPU_FAULT] = "cpu_fault",
	[EVENT_MM_FAULT] = "mm_fault",
	[EVENT_IO_COMPLETE] = "io_complete",
	[EVENT_BLOCK_COMPLETE] = "block_complete",
	[EVENT_IOMMU_MAP] = "iommu_map",
	[EVENT_IOMMU_UNMAP] = "iommu_unmap",
	[EVENT_IOMMU_IO_PAGE_FAULT] = "iommu_io_page_fault",
	[EVENT_IOMMU_ATTACH] = "iommu_attach",
	[EVENT_PASID_ATTACH] = "pasid_attach",
	[EVENT_PASID_DETACH] = "pasid_detach",
	[EVENT_IOMMU_FAULT] = "iommu_fault",
	[EVENT_IOMMU_UNSEEN] = "iommu_unseen",
	[EVENT_DMA_MAP] = "dma_map",
	[EVENT_DMA_UNMAP] = "dma_unmap",
	[EVENT_DMA_ALLOC] = "dma_alloc",
	[EVENT_DMA_FREE] = "dma_free",
	[EVENT_DMA_SYNC] = "dma_sync",
	[EVENT_DMA_LIVE] = "dma_live",
	[EVENT_IOMMU_FLUSH] = "iommu_flush",
	[EVENT_FAULT_OWNER] = "fault_owner",
	[EVENT_VFIO_MAP] = "vfio_map",
	[EVENT_VFIO_UNMAP] = "vfio_unmap",
	[EVENT_VFIO_PIN] = "vfio_pin",
	[EVENT_VFIO_UNPIN] = "vfio_unpin",
	[EVENT_VFIO_LIMIT] = "vfio_limit",
	[EVENT_VFIO_RESET] = "vfio_reset",
	[EVENT_VFIO_VECTOR] = "vfio_vector",
	[EVENT_VFIO_IRQ] = "vfio_irq",
	[EVENT_SCHED_WAKEUP] = "sched_wakeup",
	[EVENT_SCHED_RUN] = "sched_run",
	[EVENT_INJECT_START] = "inject_start",
	[EVENT_INJECT_STOP] = "inject_stop",
	[EVENT_DEVICE_NEW] = "device_new",
	[EVENT_DEVICE_GONE] = "device_gone",
	[EVENT_MM_INVALIDATE] = "mm_invalidate",
	[EVENT_MM_RECLAIM] = "mm_reclaim",
	[EVENT_MM_MIGRATE] = "mm_migrate",
	[EVENT_MM_COLLAPSE] = "mm_collapse",
	[EVENT_KVM_UNMAP] = "kvm_unmap",
	[EVENT_UFFD_WAIT] = "uffd_wait",
	[EVENT_ODP_REGION] = "odp_region",
	[EVENT_ODP_INVALIDATE] = "odp_invalidate",
	[EVENT_ODP_PREFETCH] = "odp_prefetch",
	[EVENT_RDMA_COUNTER] = "rdma_counter",
};

static const struct {
	const char *name;
	unsigned int first, last;
} groups[] = {
	{"fault", EVENT_FAULT_DETECT, EVENT_FAULT_ABANDON},
	{"invalidate", EVENT_INVALIDATE_START, EVENT_INVALIDATE_FREED},
	{"io", EVENT_IO_COMPLETE, EVENT_BLOCK_COMPLETE},
	{"iommu", EVENT_IOMMU_MAP, EVENT_IOMMU_UNSEEN},
	{"dma", EVENT_DMA_MAP, EVENT_DMA_LIVE},
	{"vfio", EVENT_VFIO_MAP, EVENT_VFIO_IRQ},
	{"sched", EVENT_SCHED_WAKEUP, EVENT_SCHED_RUN},
	{"inject", EVENT_INJECT_START, EVENT_INJECT_STOP},
	{"mm", EVENT_MM_INVALIDATE, EVENT_UFFD_WAIT},
	{"rdma", EVENT_ODP_REGION, EVENT_RDMA_COUNTER},
};

static void add(__u64 set[2], unsigned int kind)
{
	if (names[kind])
		set[kind / 64] |= 1ull << (kind % 64);
}

static int refuse(const char *word, size_t length)
{
	char accepted[1280];
	size_t used = 0;

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		used += snprintf(accepted + used, sizeof(accepted) - used, "%s, ", groups[i].name);
	for (size_t i = 0; i < EVENT_KIND_MAX; i++)
		if (names[i])
			used += snprintf(accepted + used, sizeof(accepted) - used, "%s%s", names[i],
					 i + 1 < EVENT_KIND_MAX ? ", " : "");
	return failed(-EINVAL, "'%.*s' is no kind of event; accepted: %s",
		      length < 64 ? (int)length : 64, word, accepted);
}

static bool same(const char *name, const char *word, size_t length)
{
	return name && strlen(name) == length && !strncmp(name, word, length);
}

static bool add_word(const char *word, size_t length, __u64 set[2])
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (!same(groups[i].name, word, length))
			continue;
		for (unsigned int kind = groups[i].first; kind <= groups[i].last; kind++)
			add(set, kind);
		return true;
	}
	for (unsigned int kind = 0; kind < EVENT_KIND_MAX; kind++) {
		if (!same(names[kind], word, length))
			continue;
		add(set, kind);
		return true;
	}
	return false;
}

int kinds_parse(const char *text, __u64 set[2])
{
	do {
		size_t length = strcspn(text, ",");

		if (!add_word(text, length, set))
			return refuse(text, length);
		text += length;
	} while (*text++);
	return 0;
}

static bool has(const __u64 set[2], unsigned int kind)
{
	return set[kind / 64] >> (kind % 64) & 1;
}

/* The group that begins with this kind and is in the set as a whole; -1 if there is none. */
static int whole_group(const __u64 set[2], unsigned int kind)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		unsigned int k = groups[i].first;

		while (k <= groups[i].last && (!names[k] || has(set, k)))
			k++;
		if (groups[i].first == kind && k > groups[i].last)
			return (int)i;
	}
	return -1;
}

void kinds_format(const __u64 set[2], char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned int kind = 0; kind < EVENT_KIND_MAX && used < size; kind++) {
		int group = whole_group(set, kind);

		if (!names[kind] || !has(set, kind))
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
					 group < 0 ? names[kind] : groups[group].name);
		if (group >= 0)
			kind = groups[group].last;
	}
}

bool kinds_name(const char *text, unsigned int kind)
{
	__u64 set[2] = {0};

	if (!*text)
		return true;
	for (size_t length; *text; text += length) {
		text += strspn(text, ", ");
		length = strcspn(text, ",");
		add_word(text, length, set);
	}
	return has(set, kind);
}

const char *kind_option_name(unsigned int kind)
{
	return kind < EVENT_KIND_MAX ? names[kind] : NULL;
}
