/* SPDX-License-Identifier: GPL-2.0 */
/* The kinds of wire, a file each. */
#ifndef FAULTLINE_NIC_WIRES_H
#define FAULTLINE_NIC_WIRES_H

#include "injectors/emu/nic/wire.h"

struct network_end;
struct traffic_config;

/* The TAP of a network's end, which stays the caller's. */
int wire_tap_create(struct wire **wire, const struct network_end *end);
/* What is sent comes back, frames of up to `frame_bytes`. */
int wire_loop_create(struct wire **wire, __u32 frame_bytes);
/* Frames that are made up, at their times, each behind a header of so many bytes of 0; what is sent is lost. */
int wire_generator_create(struct wire **wire, const struct traffic_config *traffic, size_t header);

#endif
