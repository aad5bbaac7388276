// SPDX-License-Identifier: GPL-2.0
#include "lib/base/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/printable.h"

#define FAIL_TEXT 4096

static _Thread_local char sentence[FAIL_TEXT];

int failed(int error, const char *format, ...)
{
	char text[FAIL_TEXT];
	va_list arguments;

	/* Formatted aside first: failure_text() may be one of the arguments. */
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	/* What came from a file or a command line may hold anything: a sentence is one line of text. */
	printable(text, sentence, sizeof(sentence));
	return error;
}

int failed_in(int error, const char *format, ...)
{
	char context[FAIL_TEXT / 2], plain[FAIL_TEXT / 2], text[FAIL_TEXT + FAIL_TEXT / 2 + 4];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(context, sizeof(context), format, arguments);
	va_end(arguments);
	printable(context, plain, sizeof(plain));
	snprintf(text, sizeof(text), "%s: %s", plain, sentence);
	text[FAIL_TEXT - 1] = '\0';
	memcpy(sentence, text, sizeof(sentence));
	return error;
}

const char *failure_text(void)
{
	return sentence;
}

int failed_input(int error)
{
	switch (error) {
	case 0:
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
	case -ENOSPC:
	case -EINTR:
	case -EPROTO:
		return error;
	default:
		return -EBADMSG;
	}
}

int failed_system(int error)
{
	switch (error) {
	case -EINVAL:
	case -EBADMSG:
	case -EPROTO:
		return -EIO;
	default:
		return error;
	}
}

enum exit_code exit_code_of(int error)
{
	switch (error) {
	case 0:
		return EXIT_OK;
	case -EPERM:
	case -EACCES:
		return EXIT_PRIVILEGE;
	case -EBADMSG:
	case -EPROTO:
		return EXIT_INPUT;
	case -EINTR:
		return EXIT_INTERRUPTED;
	default:
		return EXIT_FAIL;
	}
}

int failure_report(int error)
{
	fprintf(stderr, "faultline: %s\n", sentence);
	return error == -EINVAL ? EXIT_USAGE : (int)exit_code_of(error);
}
