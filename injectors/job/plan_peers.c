// SPDX-License-Identifier: GPL-2.0
/* Devices that are connected in pairs: who is whose peer. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "injectors/job/plan_private.h"
#include "lib/base/fail.h"

static bool has_peer(const struct plan_builder *b, __u32 device, struct device_peer *peer)
{
	struct device_config *config = &b->plan->machine.devices[device];

	if (!config->class->peer)
		return false;
	*peer = config->class->peer(&config->settings);
	return true;
}

/* The first device, beside `device`, that could be a peer: for the sentence alone. */
static const char *some_other(const struct plan_builder *b, __u32 device, char *name, size_t size)
{
	struct device_peer peer;

	for (__u32 d = 0; d < b->plan->machine.device_count; d++)
		if (d != device && has_peer(b, d, &peer))
			return plan_device_name(b, d, name, size);
	return "one more of this model, which there is not";
}

static int find_peer(const struct plan_builder *b, __u32 device, const struct device_peer *peer)
{
	const char *where = job_where(b->job, b->device_origins[device].where, "peer");
	char name[PLAN_DEVICE_NAME], other[PLAN_DEVICE_NAME];
	struct device_peer theirs;

	plan_device_name(b, device, name, sizeof(name));
	if (!*peer->name)
		return failed(-EBADMSG,
			      "%s: %s has no peer; accepted: peer=TENANT/DEVICE, such as %s", where,
			      name, some_other(b, device, other, sizeof(other)));
	for (__u32 d = 0; d < b->plan->machine.device_count; d++) {
		if (strcmp(plan_device_name(b, d, other, sizeof(other)), peer->name) != 0)
			continue;
		if (d == device)
			return failed(-EBADMSG,
				      "%s: peer=%s of %s is the device itself; accepted: another, "
				      "such as %s",
				      where, peer->name, name,
				      some_other(b, device, other, sizeof(other)));
		if (!has_peer(b, d, &theirs))
			return failed(-EBADMSG,
				      "%s: peer=%s of %s has model=%s; accepted: a device of "
				      "model=%s",
				      where, peer->name, name,
				      b->plan->machine.devices[d].class->name,
				      b->plan->machine.devices[device].class->name);
		*peer->index = d;
		return 0;
	}
	return failed(-EBADMSG, "%s: peer=%s of %s: there is no such device; accepted: %s", where,
		      peer->name, name, some_other(b, device, other, sizeof(other)));
}

/* Another device that has the same peer. */
static int check_only_one(const struct plan_builder *b, __u32 device,
			  const struct device_peer *peer)
{
	char name[PLAN_DEVICE_NAME], other[PLAN_DEVICE_NAME];
	struct device_peer theirs;

	for (__u32 d = 0; d < device; d++)
		if (has_peer(b, d, &theirs) && *theirs.index == *peer->index)
			return failed(-EBADMSG,
				      "%s: peer=%s of %s is that of %s at %s, too; accepted: one "
				      "device for each peer",
				      job_where(b->job, b->device_origins[device].where, "peer"),
				      peer->name, plan_device_name(b, device, name, sizeof(name)),
				      plan_device_name(b, d, other, sizeof(other)),
				      b->device_origins[d].where);
	return 0;
}

static int check_pair(const struct plan_builder *b, __u32 device, const struct device_peer *peer)
{
	const char *where = job_where(b->job, b->device_origins[device].where, "peer");
	char name[PLAN_DEVICE_NAME];
	struct device_peer theirs;

	plan_device_name(b, device, name, sizeof(name));
	has_peer(b, *peer->index, &theirs);
	if (*theirs.index != device)
		return failed(-EBADMSG,
			      "%s: peer=%s of %s has peer=%s itself; accepted: peer=%s there",
			      where, peer->name, name, theirs.name, name);
	if (theirs.mtu != peer->mtu)
		return failed(-EBADMSG,
			      "%s: mtu=%u of %s, and mtu=%u of its peer %s; accepted: the same",
			      job_where(b->job, b->device_origins[device].where, "mtu"), peer->mtu,
			      name, theirs.mtu, peer->name);
	return 0;
}

int plan_peers(struct plan_builder *b)
{
	struct device_peer peer;
	int err = 0;

	for (__u32 d = 0; !err && d < b->plan->machine.device_count; d++)
		if (has_peer(b, d, &peer))
			err = find_peer(b, d, &peer);
	for (__u32 d = 0; !err && d < b->plan->machine.device_count; d++)
		if (has_peer(b, d, &peer))
			err = check_only_one(b, d, &peer);
	for (__u32 d = 0; !err && d < b->plan->machine.device_count; d++)
		if (has_peer(b, d, &peer))
			err = check_pair(b, d, &peer);
	return err;
}
