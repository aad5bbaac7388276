// SPDX-License-Identifier: GPL-2.0
/* What processes have on the kernel side goes back when they have ended. */
#include <bpf/bpf.h>

#include "lib/capture/inside.h"
#include "lib/capture/pid_namespace.h"
#include "lib/capture/process.h"

/* One of another pid namespace cannot be asked for: its slots stay taken, and are no more than its share. */
static bool runs(const struct owner_key *owner)
{
	__u32 local = pid_to_local(owner->pid);

	return local ? process_runs(local, owner->start) : !pid_namespace_is_initial();
}

/* The end of an address space of iommufd is not seen by itself. */
static void forget_spaces(const struct capture *c, __u32 pid)
{
	int map = probe_set_map(c->probes, OBJECT_IOMMUFD, "containers");
	struct container_key key, next;
	int end = map < 0 || bpf_map_get_next_key(map, NULL, &next);

	while (!end) {
		key = next;
		end = bpf_map_get_next_key(map, &key, &next);
		if (key.owner == pid)
			bpf_map_delete_elem(map, &key);
	}
}

int capture_return_slots(struct capture *c)
{
	struct owner_key owner, next;
	int error = 0, end = bpf_map_get_next_key(c->maps.owners, NULL, &next);

	while (!end && !error) {
		owner = next;
		/* The successor is fetched first: after a delete there is no way to it. */
		end = bpf_map_get_next_key(c->maps.owners, &owner, &next);
		/* Whom we are connected to tells us. */
		if (machines_knows(c->machines, owner.pid, owner.start) || runs(&owner))
			continue;
		forget_spaces(c, owner.pid);
		error = capture_machines_ops.gone(c, owner.pid, owner.start);
	}
	return error;
}
