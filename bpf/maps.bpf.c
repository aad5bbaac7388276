// SPDX-License-Identifier: GPL-2.0
/* No program: the object from which lib/capture creates the maps that all others share. */
#include "bpf/kernel.h"

#include "bpf/mappings.bpf.h"
#include "bpf/maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";
