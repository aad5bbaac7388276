// SPDX-License-Identifier: GPL-2.0
#include "lib/base/verb_names.h"

#include <stddef.h>

static const char *name_at(const char *const *names, size_t count, unsigned int index)
{
	return index < count && names[index] ? names[index] : "unknown";
}

const char *verb_kind_name(unsigned int kind)
{
	static const char *const names[VERB_KINDS] = {
#define VERB_KIND(name, number, text) [number] = (text),
#include "bpf/verb_kinds.def"
#undef VERB_KIND
	};

	return name_at(names, VERB_KINDS, kind);
}

const char *verb_stage_name(unsigned int stage)
{
	static const char *const names[VERB_STAGES] = {
		[VERB_SYSCALL] = "syscall", [VERB_QUEUE] = "queue",	[VERB_KICK] = "kick",
		[VERB_FILTER] = "filter",   [VERB_PIN] = "pin",		[VERB_REMAP] = "remap",
		[VERB_DRIVER] = "driver",   [VERB_INSTALL] = "install", [VERB_REPLY] = "reply",
		[VERB_WAKE] = "wake",
	};

	return name_at(names, VERB_STAGES, stage);
}

const char *pin_role_name(unsigned int role)
{
	static const char *const names[PIN_ROLES] = {
		[PIN_GUEST] = "guest", [PIN_REMAP] = "remap", [PIN_DRIVER] = "driver"};

	return name_at(names, PIN_ROLES, role);
}

const char *exit_cause_name(unsigned int cause)
{
	static const char *const names[EXIT_CAUSES] = {
		[EXIT_KICK] = "kick",
		[EXIT_INJECT_CONTROL] = "inject",
		[EXIT_INJECT_EVENT] = "inject event",
		[EXIT_FORWARDED_POST] = "forwarded post",
	};

	return name_at(names, EXIT_CAUSES, cause);
}

const char *work_opcode_name(unsigned int opcode)
{
	static const char *const names[WORK_OPCODES] = {"send", "write", "read", "receive"};

	return name_at(names, WORK_OPCODES, opcode);
}

const char *work_stage_name(unsigned int stage)
{
	static const char *const names[WORK_STAGES] = {
		[WORK_POST] = "post",	  [WORK_DOORBELL] = "doorbell",
		[WORK_DMA] = "dma",	  [WORK_COMPLETION] = "completion",
		[WORK_REAPED] = "reaped", [WORK_TOTAL] = "total",
	};

	return name_at(names, WORK_STAGES, stage);
}
