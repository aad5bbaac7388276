// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/sentence.h"

#include <stdarg.h>
#include <stdio.h>

void sentence_add(struct sentence *sentence, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(sentence->text + sentence->used, sizeof(sentence->text) - sentence->used,
		      format, arguments);
	va_end(arguments);
	if (n > 0)
		sentence->used += (size_t)n;
	if (sentence->used >= sizeof(sentence->text))
		sentence->used = sizeof(sentence->text) - 1;
}
