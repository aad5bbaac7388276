/* SPDX-License-Identifier: GPL-2.0 */
/* What libibverbs' values are in the emulated device's, and what it takes of them. No state; 0 or a negative errno. */
#ifndef FAULTLINE_ATTRIBUTES_H
#define FAULTLINE_ATTRIBUTES_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "injectors/emu/verbs/verbs_layout.h"

#define INLINE_BYTES_MAX 1024

/* enum ibv_access_flags of a region. -EINVAL: no such combination; -EOPNOTSUPP: the device has no such. */
int rights_of_access(unsigned int access, unsigned int *rights, bool *on_demand);
/* Whether a reliable connection may go from a state to another with these attributes; as the kernel's ib_modify_qp_is_ok(). */
int modify_check(enum ibv_qp_state from, enum ibv_qp_state to, int mask);
/* Takes over those that the mask names. */
void modify_remember(struct ibv_qp_attr *remembered, const struct ibv_qp_attr *attributes,
		     int mask);
int pair_state_of(enum ibv_qp_state state, enum verbs_pair_state *out);
enum ibv_qp_state state_of_pair(enum verbs_pair_state state);
/* The largest that is not above so many bytes. */
enum ibv_mtu mtu_of_bytes(__u32 bytes);
/* Entries for `wanted`: a power of two up to `most`; 0: more than there can be. */
__u32 depth_of(__u32 wanted, __u32 most);
/* A program's work request but for its pieces, and the pieces, of which inline data are not. */
int send_of_request(struct verbs_send *send, const struct ibv_send_wr *request, bool signal_all);
int sges_of_list(struct verbs_sge *pieces, const struct ibv_sge *list, int count);
void wc_of_completion(struct ibv_wc *wc, const struct verbs_completion *completion);

#endif
