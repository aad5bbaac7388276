// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/registry_hello.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/proc.h"
#include "lib/capture/access_log.h"

static json_t *device_object(const struct registry_device *device, __u32 index)
{
	json_t *networks = NULL;

	if (device->network_guest)
		networks = json_pack("[I, I]", (json_int_t)device->network_guest,
				     (json_int_t)device->network_wire);
	return json_pack("{s:I, s:s, s:s, s:s, s:i, s:I, s:I, s:I, s:o*}", "index",
			 (json_int_t)index, "name", device->name, "model", device->model, "tenant",
			 device->tenant, "queues", device->queues, "memory",
			 (json_int_t)device->memory, "pasid", (json_int_t)device->pasid,
			 "mapped_at", (json_int_t)device->mapped_at, "networks", networks);
}

int registry_hello(const struct registry_device *devices, __u32 count, __u64 id, char **text,
		   size_t *bytes)
{
	json_t *list = json_array(), *hello;
	struct proc_stat self;
	int err;

	err = proc_stat_own(&self);
	if (err) {
		json_decref(list);
		return failed(err, "/proc/self/stat: %s", strerror(-err));
	}
	for (__u32 i = 0; i < count; i++)
		json_array_append_new(list, device_object(&devices[i], i));
	hello = json_pack("{s:i, s:I, s:i, s:I, s:o}", "faultline", 1, "id", (json_int_t)id, "pid",
			  getpid(), "start_time", (json_int_t)self.start, "devices", list);
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
