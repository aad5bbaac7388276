/* SPDX-License-Identifier: GPL-2.0 */
/* Words for devices whose control goes through the hypervisor (docs/hyv.md): what codes of their events are called. */
#ifndef FAULTLINE_VERB_NAMES_H
#define FAULTLINE_VERB_NAMES_H

#include "bpf/event.h"

enum verb_kind {
#define VERB_KIND(name, number, text) VERB_KIND_##name = number,
#include "bpf/verb_kinds.def"
#undef VERB_KIND
	VERB_KINDS,
};

#define WORK_OPCODES 4 /* enum verbs_opcode */

/* "unknown" of any other. */
const char *verb_kind_name(unsigned int kind); /* "reg_mr", ... */
const char *verb_stage_name(unsigned int stage);
const char *pin_role_name(unsigned int role);
const char *exit_cause_name(unsigned int cause);
const char *work_opcode_name(unsigned int opcode);
const char *work_stage_name(unsigned int stage);

#endif
