/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The shadow of a borrowed function beside the borrower's adapter: what its driver reads in config space and in the MSI-X table where
 * the lender's own would mislead it (PV 4.2).
 *
 * BARs are the windows onto them; interrupt addresses that the driver writes, this host's, become the lender's MSI window; the
 * interrupt pin is none, as a legacy interrupt is a message that no window carries. Everything else is a cycle that the lender answers.
 */
#ifndef FAULTLINE_CLUSTER_BUS_SHADOW_H
#define FAULTLINE_CLUSTER_BUS_SHADOW_H

#include "injectors/cluster/lend.h"

struct shadow {
	struct cluster *cluster;
	const struct lend_borrow *borrow;
	bool intx;			/* it has a legacy interrupt, which is masked */
	__u32 bars[FUNCTION_BARS];	/* registers, as its driver has them */
	__u64 bar_bytes[FUNCTION_BARS]; /* of the register's BAR, 0: none */
	__u32 msix[MSI_VECTORS * 4];	/* the table, as its driver has written it */
	__u32 msix_refused;		/* entries aimed elsewhere than at this host's interrupts */
};
int shadow_open(struct shadow *shadow, struct cluster *cluster, const struct lend_borrow *borrow);
__u32 shadow_config_read(struct shadow *shadow, __u32 offset, __u32 bytes);
void shadow_config_write(struct shadow *shadow, __u32 offset, __u32 bytes, __u32 value);

/* Is this the table? Then reads are answered from the shadow, and a write tells what the device is to get: address of the entry in
 * its BAR, four words. False: nothing is written. */
bool shadow_msix_at(const struct shadow *shadow, __u32 bar, __u64 offset);
__u64 shadow_msix_read(const struct shadow *shadow, __u64 offset, __u32 bytes);
bool shadow_msix_write(struct shadow *shadow, __u64 offset, __u32 bytes, __u64 value,
		       __u64 *entry_offset, __u32 words[4]);

#endif
