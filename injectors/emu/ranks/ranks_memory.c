// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/ranks/ranks_memory.h"

const struct memory_mode *const memory_modes[RANKS_MEMORIES] = {
#define RANK_MEMORY(name) &name##_memory,
#include "injectors/emu/ranks/memories.def"
#undef RANK_MEMORY
};
