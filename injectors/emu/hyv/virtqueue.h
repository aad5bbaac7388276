/* SPDX-License-Identifier: GPL-2.0 */
/* Where the parts of the split virtqueue lie in its page, and the structures of <linux/virtio_ring.h> at them. */
#ifndef FAULTLINE_HYV_VIRTQUEUE_H
#define FAULTLINE_HYV_VIRTQUEUE_H

#include <linux/virtio_ring.h>
#include <stddef.h>

#include "injectors/emu/hyv/hyv_layout.h"

#define VIRTQUEUE_DESCRIPTORS 0
#define VIRTQUEUE_AVAILABLE   (HYV_QUEUE_ENTRIES * sizeof(struct vring_desc))
/* Flags, index, entries and the word that an event index would take, rounded to 4 bytes. */
#define VIRTQUEUE_USED ((VIRTQUEUE_AVAILABLE + (3 + HYV_QUEUE_ENTRIES) * sizeof(__u16) + 3) & ~3ul)
#define VIRTQUEUE_END \
	(VIRTQUEUE_USED + 3 * sizeof(__u16) + HYV_QUEUE_ENTRIES * sizeof(struct vring_used_elem))

_Static_assert(VIRTQUEUE_END <= HYV_QUEUE_BYTES, "in one page");

static inline struct vring virtqueue_at(void *page)
{
	char *at = page;

	return (struct vring){
		.num = HYV_QUEUE_ENTRIES,
		.desc = (void *)(at + VIRTQUEUE_DESCRIPTORS),
		.avail = (void *)(at + VIRTQUEUE_AVAILABLE),
		.used = (void *)(at + VIRTQUEUE_USED),
	};
}

#endif
