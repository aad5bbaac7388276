/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's driver of a NIC: for each queue pair a thread that takes what was received (driver_receive.c) and one that
 * sends (driver_transmit.c). They touch guest memory through the CPU mapping only, where an absent page is an
 * ordinary page fault.
 */
#ifndef FAULTLINE_NIC_DRIVER_PRIVATE_H
#define FAULTLINE_NIC_DRIVER_PRIVATE_H

#include <pthread.h>

#include "injectors/emu/device_driver.h"
#include "injectors/emu/nic/generator.h"
#include "injectors/emu/nic/nic_private.h"

struct nic_driver_queue {
	struct nic_driver *driver;
	__u32 index;
	struct nic_registers *registers;
	pthread_t receiver, sender;
	bool receiving, sending;
	/* receive */
	__u64 consumed;		     /* completions */
	__u64 posted;		     /* descriptors */
	__u64 taken;		     /* frames, atomic */
	__u64 refused;		     /* of them, that its network did not take */
	bool *rx_posted, *tx_posted; /* by id, atomic */
	unsigned char *made_up;	     /* a frame to be sent */
	unsigned char *scratch;	     /* a frame in one piece */
	/* transmit */
	__u16 *free; /* descriptor ids */
	__u32 free_count;
	__u16 available, used; /* ring indices */
};

struct nic_driver {
	struct nic *nic;
	struct channel *channel;
	struct guest_memory *memory;
	struct verifier *verifier;   /* NULL: frames go to the guest's TAP, or nowhere */
	struct generator *generator; /* of what the guest sends; NULL: what its TAP gives */
	__u64 start_ns;
	bool sent_all;	 /* atomic: all that was to be made up */
	__u64 submitted; /* atomic: frames of it */
	__u32 queues;
	pthread_mutex_t verifying;
	__u64 mismatches;
	int stop;      /* eventfd, readable once the driver is to end */
	bool stopping; /* atomic */
	bool stopped;
	struct nic_driver_queue queue[];
};

static inline bool driver_stopping(const struct nic_driver *driver)
{
	return __atomic_load_n(&driver->stopping, __ATOMIC_ACQUIRE);
}

/* driver_receive.c */
/* Posts every buffer. */
void driver_receive_prepare(struct nic_driver_queue *queue);
void *driver_receive(void *queue);
/* driver_transmit.c */
void driver_transmit_prepare(struct nic_driver_queue *queue);
void *driver_transmit(void *queue);
/* driver_pages.c: as of struct device_driver */
long driver_ring_pages(void *driver, unsigned int sides, __u64 *pages, __u32 limit);
__u64 driver_buffer_bytes(void *driver);

#endif
