/* SPDX-License-Identifier: GPL-2.0 */
/* The thread that carries out what the protector's policies decide, in their order. */
#ifndef FAULTLINE_PROTECTOR_PINS_H
#define FAULTLINE_PROTECTOR_PINS_H

#include "injectors/emu/protector.h"

/* What a policy is of. */
struct protector_domain {
	struct protector *protector;
	struct protect *policy;
	__u64 newest_ns;      /* of its records */
	__u32 tenant, device; /* DEVICE_ALL: all of the tenant's */
	__u64 *held;	      /* a bit a page of the tenant's memory: pinned for this domain */
};

struct protector_pins;

int protector_pins_create(struct protector_pins **pins, struct machine *machine,
			  unsigned int page_bits);
void protector_pins_destroy(struct protector_pins *pins);

/* The first access was seen: means begin. */
void protector_pins_begin(struct protector_pins *pins);
/* One thread at a time. A pin is refused if too much waits, an unpin waits for room. */
void protector_pins_add(struct protector_pins *pins, struct protector_domain *domain,
			const struct protect_action *action, bool last);
/* Pins that have not been carried out are left out from now on. */
void protector_pins_halt(struct protector_pins *pins);
/* Carries out the rest, then ends the thread. */
void protector_pins_stop(struct protector_pins *pins);
void protector_pins_stats(struct protector_pins *pins, struct protector_stats *stats);

#endif
