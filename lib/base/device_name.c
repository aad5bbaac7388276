// SPDX-License-Identifier: GPL-2.0
#include "lib/base/device_name.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

const char *device_name_of_owner(const struct device_info *info, char text[DEVICE_NAME_TEXT])
{
	snprintf(text, DEVICE_NAME_TEXT, "%s#%u", info->name, info->pid ? info->pid : info->handle);
	return text;
}

const char *device_name_of_handle(const struct device_info *info, char text[DEVICE_NAME_TEXT])
{
	snprintf(text, DEVICE_NAME_TEXT, "%s#%u.%u", info->name,
		 info->pid ? info->pid : info->handle, info->handle);
	return text;
}

bool device_name_fits(const struct device_info *info, const char *pattern)
{
	char text[DEVICE_NAME_TEXT];

	return !fnmatch(pattern, info->name, 0) ||
	       (strchr(pattern, '#') && (!fnmatch(pattern, device_name_of_owner(info, text), 0) ||
					 !fnmatch(pattern, device_name_of_handle(info, text), 0)));
}

size_t device_name_tail(const char *shown)
{
	const char *mark = strrchr(shown, '#');

	if (!mark || !mark[1] || mark[1 + strspn(mark + 1, "0123456789.")])
		return 0;
	return strlen(mark);
}

size_t device_text_tail(const char *shown)
{
	const char *mark = strrchr(shown, '[');
	size_t digits = mark ? strspn(mark + 1, "0123456789") : 0;

	return digits && !strcmp(mark + 1 + digits, "]") ? strlen(mark) : device_name_tail(shown);
}

bool device_name_shown_fits(const char *shown, const char *pattern)
{
	size_t tail = device_name_tail(shown);
	char name[DEVICE_NAME_TEXT];

	if (!fnmatch(pattern, shown, 0))
		return true;
	if (!tail)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(strlen(shown) - tail), shown);
	return !fnmatch(pattern, name, 0);
}
