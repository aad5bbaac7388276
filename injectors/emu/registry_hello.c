// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/registry_hello.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/capture/access_log.h"

/* Field 22 of /proc/self/stat: with the pid it names this process for ever. */
static int own_start_time(__u64 *ticks)
{
	unsigned long long value;
	char text[1024];
	const char *rest;
	size_t bytes;
	FILE *file;

	file = fopen("/proc/self/stat", "re");
	if (!file)
		return failed(-errno, "/proc/self/stat: %s", strerror(errno));
	bytes = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[bytes] = '\0';
	/* The name, field 2, may hold anything: what follows is counted from its last bracket. */
	rest = strrchr(text, ')');
	if (!rest || sscanf(rest + 1,
			    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
			    "%*d %*d %*d %*d %*d %llu",
			    &value) != 1)
		return failed(-EINVAL, "/proc/self/stat: cannot find the start time in it");
	*ticks = value;
	return 0;
}

static json_t *device_object(const struct registry_device *device, __u32 index)
{
	return json_pack("{s:I, s:s, s:s, s:s, s:i, s:I, s:I, s:I}", "index", (json_int_t)index,
			 "name", device->name, "model", device->model, "tenant", device->tenant,
			 "queues", device->queues, "memory", (json_int_t)device->memory, "pasid",
			 (json_int_t)device->pasid, "mapped_at", (json_int_t)device->mapped_at);
}

int registry_hello(const struct registry_device *devices, __u32 count, __u64 id, char **text,
		   size_t *bytes)
{
	json_t *list = json_array(), *hello;
	__u64 start_time;
	int err;

	err = own_start_time(&start_time);
	if (err) {
		json_decref(list);
		return err;
	}
	for (__u32 i = 0; i < count; i++)
		json_array_append_new(list, device_object(&devices[i], i));
	hello = json_pack("{s:i, s:I, s:i, s:I, s:o}", "faultline", 1, "id", (json_int_t)id, "pid",
			  getpid(), "start_time", (json_int_t)start_time, "devices", list);
	*text = hello && json_array_size(list) == count ? json_dumps(hello, JSON_COMPACT) : NULL;
	json_decref(hello);
	if (!*text)
		return failed(-ENOMEM, "no memory to describe %u devices, or a name is not UTF-8",
			      count);
	*bytes = strlen(*text);
	if (*bytes > HELLO_MAX) {
		free(*text);
		*text = NULL;
		return failed(-E2BIG,
			      "the description of %u devices takes %zu bytes, at most %d: "
			      "use shorter names",
			      count, *bytes, HELLO_MAX);
	}
	return 0;
}
