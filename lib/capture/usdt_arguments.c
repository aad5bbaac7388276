// SPDX-License-Identifier: GPL-2.0
/* The little language in which a USDT note says where its arguments are (x86-64). */
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "lib/base/fail.h"
#include "lib/capture/usdt.h"

#define REGISTER(field, ...)                              \
	{                                                 \
		offsetof(struct user_regs_struct, field), \
		{                                         \
			__VA_ARGS__                       \
		}                                         \
	}

/* struct pt_regs of the kernel begins as user_regs_struct does, up to ss. */
static const struct {
	__u16 offset;
	const char *names[5];
} registers[] = {
	REGISTER(rax, "rax", "eax", "ax", "al"),
	REGISTER(rbx, "rbx", "ebx", "bx", "bl"),
	REGISTER(rcx, "rcx", "ecx", "cx", "cl"),
	REGISTER(rdx, "rdx", "edx", "dx", "dl"),
	REGISTER(rsi, "rsi", "esi", "si", "sil"),
	REGISTER(rdi, "rdi", "edi", "di", "dil"),
	REGISTER(rbp, "rbp", "ebp", "bp", "bpl"),
	REGISTER(rsp, "rsp", "esp", "sp", "spl"),
	REGISTER(r8, "r8", "r8d", "r8w", "r8b"),
	REGISTER(r9, "r9", "r9d", "r9w", "r9b"),
	REGISTER(r10, "r10", "r10d", "r10w", "r10b"),
	REGISTER(r11, "r11", "r11d", "r11w", "r11b"),
	REGISTER(r12, "r12", "r12d", "r12w", "r12b"),
	REGISTER(r13, "r13", "r13d", "r13w", "r13b"),
	REGISTER(r14, "r14", "r14d", "r14w", "r14b"),
	REGISTER(r15, "r15", "r15d", "r15w", "r15b"),
	REGISTER(rip, "rip"),
};

/* "%rax" at *at, which moves behind it. */
static bool parse_register(const char **at, __u16 *offset)
{
	size_t length = 0;

	if (**at != '%')
		return false;
	while (isalnum((unsigned char)(*at)[1 + length]))
		length++;
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		for (size_t n = 0; n < 5 && registers[i].names[n]; n++)
			if (strlen(registers[i].names[n]) == length &&
			    !strncmp(registers[i].names[n], *at + 1, length)) {
				*offset = registers[i].offset;
				*at += 1 + length;
				return true;
			}
	return false;
}

static bool parse_number(const char **at, __s64 *number)
{
	char *end;

	*number = (__s64)strtoull(*at, &end, 0);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

/* ",%rcx" or ",%rcx,8" within brackets */
static bool parse_index(const char **at, struct usdt_argument *argument)
{
	__s64 scale = 1;

	(*at)++;
	if (!parse_register(at, &argument->index))
		return false;
	if (**at == ',') {
		(*at)++;
		if (!parse_number(at, &scale))
			return false;
	}
	for (argument->indexed = 1; argument->indexed <= 4; argument->indexed++)
		if (scale == 1 << (argument->indexed - 1))
			return true;
	return false;
}

/* "$5", "%rax", "(%rax)", "-16(%rbp)" or "8(%rax,%rcx,8)" */
static bool parse_place(const char **at, struct usdt_argument *argument)
{
	if (**at == '$') {
		(*at)++;
		argument->place = USDT_CONSTANT;
		return parse_number(at, &argument->value);
	}
	if (**at == '%') {
		argument->place = USDT_REGISTER;
		return parse_register(at, &argument->reg);
	}
	argument->place = USDT_MEMORY;
	if (**at != '(' && !parse_number(at, &argument->value))
		return false;
	if (*(*at)++ != '(' || !parse_register(at, &argument->reg))
		return false;
	if (**at == ',' && !parse_index(at, argument))
		return false;
	return *(*at)++ == ')';
}

int usdt_parse_arguments(const char *text, struct usdt_argument arguments[USDT_ARGUMENTS])
{
	const char *at = text;
	size_t count = 0;

	memset(arguments, 0, USDT_ARGUMENTS * sizeof(arguments[0]));
	for (;;) {
		struct usdt_argument *argument = &arguments[count];
		__s64 bytes;

		while (*at == ' ')
			at++;
		if (!*at || count == USDT_ARGUMENTS)
			return 0;
		if (!parse_number(&at, &bytes) || *at++ != '@')
			break;
		argument->is_signed = bytes < 0;
		bytes = bytes < 0 ? -bytes : bytes;
		if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
			break;
		argument->shift = 64 - 8 * bytes;
		if (!parse_place(&at, argument) || (*at && *at != ' '))
			break;
		count++;
	}
	return failed(-EINVAL, "USDT argument '%s' is of a form that is not understood", text);
}
