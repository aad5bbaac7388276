/* SPDX-License-Identifier: GPL-2.0 */
/* Rings of io_uring, made for nothing but their registered buffers, and how the kernel counts what these pin. Of kernel_pins.c. */
#ifndef FAULTLINE_PIN_RING_H
#define FAULTLINE_PIN_RING_H

#include <linux/types.h>

/* What VmPin says of this process's pins; tried once, by a page, as the first ring is opened. */
enum pin_counts {
	PINS_COUNTED,
	PINS_COUNTED_LATE, /* Linux before 6.4: what was unpinned, until a worker has been there, up to a second later */
	PINS_UNCOUNTED,
};

enum pin_counts pin_ring_counts(void);

/* With `slots` empty ones. -EPERM with a sentence: io_uring is off. */
int pin_ring_open(__u32 slots, int *ring);
/* All that it has pinned has ended. */
void pin_ring_close(int ring);
/* Address 0: empties the slot. 0 or negative errno, no sentence. */
int pin_ring_update(int ring, __u32 slot, __u64 address, __u64 bytes);
/* Where the kernel counts late: has its worker begin, once a grace period of RCU is over. */
void pin_ring_hasten(int ring);

#endif
