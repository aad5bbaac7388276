// SPDX-License-Identifier: GPL-2.0
/* Guests in processes of their own: the sockets by which devices say hello to them. */
#include <errno.h>
#include <unistd.h>

#include "injectors/emu/hyv/hyv_host.h"
#include "injectors/emu/machine_private.h"
#include "injectors/emu/rdma/rdma.h"
#include "lib/base/fail.h"

/* Of a device with a mode whose guest is a process; NULL. */
static struct hyv_host *host_of_process(const struct machine_device *device)
{
	const struct rdma_settings *settings = (const void *)device->config.settings.bytes;

	if (!device_class_has_packets(device->config.class) || settings->mode <= RDMA_MODE_NATIVE)
		return NULL;
	return rdma_host(device->model);
}

int machine_invite_guest(struct machine *machine, __u32 tenant, int *sockets, __u32 most)
{
	__u32 count = 0;
	int error = 0;

	for (__u32 d = 0; !error && d < machine->config.device_count; d++) {
		const struct machine_device *device = &machine->devices[d];
		struct hyv_host *host =
			device->config.tenant == tenant ? host_of_process(device) : NULL;

		if (!host)
			continue;
		if (count == most)
			error = failed(-E2BIG, "a guest has more than %u devices", most);
		else
			error = hyv_host_invite(host, &sockets[count]);
		count += !error;
	}
	while (error && count)
		close(sockets[--count]);
	return error ? error : (int)count;
}
