/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The page request queue (VT-d: PRQ, VPRI: PFQ): bounded, devices write, the ISR drains.
 *
 * A slot is taken from the moment a device reserves it until the ISR takes the request, so that a
 * slow interrupt fills the queue as it would in hardware.
 */
#ifndef FAULTLINE_REQUEST_QUEUE_H
#define FAULTLINE_REQUEST_QUEUE_H

#include "injectors/emu/service.h"

struct request_queue;

struct queue_entry {
	struct page_request request;
	bool answered; /* no request: the IOMMU has answered this group itself, forget it */
};

int request_queue_create(struct request_queue **queue, __u32 entries);
void request_queue_destroy(struct request_queue *queue);

/* Takes a slot if one is free; *depth: slots now taken. */
bool request_queue_reserve(struct request_queue *queue, __u32 *depth);
/* Fills a reserved slot. -ENOMEM: the slot is free again, the request gone. */
int request_queue_post(struct request_queue *queue, const struct page_request *request);
/* Takes effect behind what was posted of this group before, ahead of what is posted later. */
int request_queue_answered(struct request_queue *queue, const struct page_request *last);

/* Waits for entries and takes up to `limit`; 0 once stopped and empty. One taker. */
size_t request_queue_take(struct request_queue *queue, struct queue_entry *entries, size_t limit);
void request_queue_stop(struct request_queue *queue);
__u32 request_queue_depth_max(const struct request_queue *queue);

#endif
