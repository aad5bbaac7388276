// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/device_names.h"

#include <errno.h>
#include <string.h>

#include "lib/analyze/hash.h"
#include "lib/base/fail.h"

struct device_name {
	UT_hash_handle hh;
	__u32 devices;
	char text[];
};

static struct device_name *device_names_find(const struct device_name *names, const char *text)
{
	struct device_name *name;

	HASH_FIND(hh, names, text, strlen(text), name);
	return name;
}

static int count_one(struct device_name **names, const char *text)
{
	struct device_name *name = device_names_find(*names, text);
	size_t length = strlen(text);

	if (!name) {
		name = memory_calloc(1, sizeof(*name) + length + 1);
		if (!name)
			return failed(-ENOMEM, "no memory for the name of a device");
		memcpy(name->text, text, length);
		HASH_ADD(hh, *names, text, length, name);
		if (!name->hh.tbl) {
			memory_free(name);
			return failed(-ENOMEM, "no memory for the name of a device");
		}
	}
	name->devices++;
	return 0;
}

static void count_off(struct device_name **names, const char *text)
{
	struct device_name *name = device_names_find(*names, text);

	if (!name || --name->devices)
		return;
	HASH_DEL(*names, name);
	memory_free(name);
}

int device_names_add(struct device_name **names, const struct device_info *info)
{
	char text[DEVICE_NAME_TEXT];
	int error;

	if (!info->name[0])
		return 0;
	error = count_one(names, info->name);
	return error ? error : count_one(names, device_name_of_owner(info, text));
}

void device_names_remove(struct device_name **names, const struct device_info *info)
{
	char text[DEVICE_NAME_TEXT];

	if (!info->name[0])
		return;
	count_off(names, info->name);
	count_off(names, device_name_of_owner(info, text));
}

void device_names_free(struct device_name **names)
{
	struct device_name *name, *next;

	HASH_ITER(hh, *names, name, next) {
		HASH_DEL(*names, name);
		memory_free(name);
	}
}

static bool is_shared(const struct device_name *names, const char *text)
{
	const struct device_name *name = device_names_find(names, text);

	return name && name->devices > 1;
}

const char *device_names_shown(const struct device_name *names, const struct device_info *info,
			       char text[DEVICE_NAME_TEXT])
{
	if (!is_shared(names, info->name))
		return info->name;
	if (!is_shared(names, device_name_of_owner(info, text)))
		return text;
	return device_name_of_handle(info, text);
}
