/* SPDX-License-Identifier: GPL-2.0 */
/* The kinds of wire, a file each. */
#ifndef FAULTLINE_NIC_WIRES_H
#define FAULTLINE_NIC_WIRES_H

#include "injectors/emu/nic/wire.h"

struct generator;

/* A TAP that does not block; the descriptor stays the caller's. */
int wire_tap_create(struct wire **wire, int descriptor);
/* What is sent comes back, frames of up to `frame_bytes`. */
int wire_loop_create(struct wire **wire, __u32 frame_bytes);
/* Frames that are made up, at their rate; what is sent is lost. The generator stays the caller's. */
int wire_generator_create(struct wire **wire, struct generator *generator);

#endif
