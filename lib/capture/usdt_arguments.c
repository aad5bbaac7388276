// SPDX-License-Identifier: GPL-2.0
/*
 * Where a USDT note says that its arguments are (x86-64): what injectors/emu/probes.h makes of 64-bit
 * numbers that are bound to stay in registers or to be constants. Of any other form one is refused.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "lib/base/fail.h"
#include "lib/capture/usdt.h"

#define REGISTER(name) offsetof(struct user_regs_struct, name)

/* struct pt_regs of the kernel begins as user_regs_struct does, up to ss. */
static const struct {
	const char *name;
	__u16 offset;
} registers[] = {
	{"rax", REGISTER(rax)}, {"rbx", REGISTER(rbx)}, {"rcx", REGISTER(rcx)},
	{"rdx", REGISTER(rdx)}, {"rsi", REGISTER(rsi)}, {"rdi", REGISTER(rdi)},
	{"rbp", REGISTER(rbp)}, {"rsp", REGISTER(rsp)}, {"r8", REGISTER(r8)},
	{"r9", REGISTER(r9)},	{"r10", REGISTER(r10)}, {"r11", REGISTER(r11)},
	{"r12", REGISTER(r12)}, {"r13", REGISTER(r13)}, {"r14", REGISTER(r14)},
	{"r15", REGISTER(r15)},
};

static bool parse_register(const char *text, size_t length, struct usdt_argument *argument)
{
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		if (strlen(registers[i].name) == length &&
		    !strncmp(registers[i].name, text, length)) {
			argument->place = USDT_REGISTER;
			argument->reg = registers[i].offset;
			return true;
		}
	return false;
}

/* "8@%rax" or "8@$-5" */
static bool parse_argument(const char *text, size_t length, struct usdt_argument *argument)
{
	char *end;

	if (length < 4 || strncmp(text, "8@", 2) != 0)
		return false;
	if (text[2] == '%')
		return parse_register(text + 3, length - 3, argument);
	argument->place = USDT_CONSTANT;
	argument->value = strtoull(text + 3, &end, 0);
	return text[2] == '$' && end == text + length;
}

int usdt_parse_arguments(const char *text, struct usdt_argument arguments[USDT_ARGUMENTS])
{
	size_t length;

	memset(arguments, 0, USDT_ARGUMENTS * sizeof(arguments[0]));
	for (int i = 0; i < USDT_ARGUMENTS; i++, text += length) {
		text += strspn(text, " ");
		length = strcspn(text, " ");
		if (length && !parse_argument(text, length, &arguments[i]))
			return failed(-EINVAL,
				      "USDT argument '%.*s' is not a 64-bit register or constant",
				      (int)length, text);
	}
	return 0;
}
