// SPDX-License-Identifier: GPL-2.0
/* The faults of both recordings, by the names of their devices. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/analyze/hash.h"
#include "lib/analyze/session.h"
#include "tools/diff/diff.h"

/* Of one host of one recording: who has its faults, by the handle of their device. */
struct diff_follower {
	struct diff *diff;
	enum diff_run run;
	const struct offline_host *host;
	struct slots devices; /* of struct diff_device * */
	struct diff_follower *next;
};

struct offline *diff_offline(struct diff *diff, enum diff_run run)
{
	return run == DIFF_A ? &diff->a : &diff->b;
}

static struct diff_device *diff_make_device(const char *host, const char *name)
{
	size_t host_size = strlen(host) + 1, size = host_size + strlen(name) + 1;
	struct diff_device *device = memory_calloc(1, sizeof(*device));

	if (device)
		device->key = memory_calloc(1, size);
	if (!device || !device->key) {
		memory_free(device);
		return NULL;
	}
	memcpy(device->key, host, host_size);
	memcpy(device->key + host_size, name, size - host_size);
	device->host = device->key;
	device->name = device->key + host_size;
	device->key_size = size;
	return device;
}

static struct diff_device *diff_device_of(struct diff *diff, const char *host, const char *name)
{
	struct diff_device *device = diff_make_device(host, name), *known;

	if (!device)
		return NULL;
	HASH_FIND(hh, diff->devices, device->key, device->key_size, known);
	if (!known) {
		HASH_ADD_KEYPTR(hh, diff->devices, device->key, device->key_size, device);
		known = device->hh.tbl ? device : NULL;
	}
	if (known != device) {
		memory_free(device->key);
		memory_free(device);
	}
	return known;
}

/* NULL: it is not asked for, or memory ran out, which ends the reading. */
static struct diff_device *find_device(struct diff_follower *follower, __u32 handle)
{
	const struct session *session = follower->host->analysis->session;
	const struct device_info *info = session_device(session, handle);
	struct diff *diff = follower->diff;
	struct diff_device **slot = slots_make(&follower->devices, handle), *device;
	char text[DEVICE_NAME_TEXT];
	const char *name;

	if (!slot || *slot)
		return slot ? *slot : NULL;
	if (diff->device && !session_device_fits(session, handle, diff->device))
		return NULL;
	name = info && info->name[0] ? info->name : session_device_name(session, handle, text);
	device = diff_device_of(diff, diff->by_host ? follower->host->name : "", name);
	*slot = device;
	if (device)
		device->sides[follower->run].devices++;
	return device;
}

static void diff_on_finished(void *self, const struct fault *fault)
{
	struct diff_follower *follower = self;
	struct diff_device *device = find_device(follower, fault->device);
	struct diff_side *side = device ? &device->sides[follower->run] : NULL;
	struct stage_times times;

	if (!side || fault_samples_add(&side->samples, fault) || fault->state != FAULT_COMPLETE)
		return;
	if (!side->group) {
		side->group = memory_calloc(1, sizeof(*side->group));
		if (!side->group)
			return;
		stage_group_init(side->group);
	}
	stage_times(fault, &times);
	stage_group_add(side->group, fault->seen, &times, fault_total_ns(fault));
}

int diff_follow(struct diff *diff, enum diff_run run)
{
	struct offline *offline = diff_offline(diff, run);
	struct diff_follower *follower = calloc(1, sizeof(*follower));

	if (!follower)
		return failed(-ENOMEM, "no memory for %zu hosts", offline->count);
	follower->diff = diff;
	follower->run = run;
	follower->host = &offline->hosts[offline->host];
	slots_init(&follower->devices, sizeof(struct diff_device *));
	follower->next = diff->followers;
	diff->followers = follower;
	return faults_subscribe(offline->analysis->faults,
				(struct fault_sink){NULL, diff_on_finished, follower});
}

static int diff_by_name(const struct diff_device *a, const struct diff_device *b)
{
	int order = strcmp(a->host, b->host);

	return order ? order : strcmp(a->name, b->name);
}

void diff_collect(struct diff *diff)
{
	for (struct diff_follower *f = diff->followers; f; f = f->next) {
		const struct session *session = f->host->analysis->session;
		__u32 h = 0;

		/* Also those that did not fault. */
		while ((h = session_device_next(session, h)) < SESSION_DEVICES) {
			struct diff_device *device = find_device(f, h);
			struct diff_side *side = device ? &device->sides[f->run] : NULL;

			if (!side)
				continue;
			side->from_ns = session_first_ns(session);
			side->to_ns = session_last_ns(session);
		}
	}
	HASH_SORT(diff->devices, diff_by_name);
}

void diff_free(struct diff *diff)
{
	struct diff_device *device, *next;

	while (diff->followers) {
		struct diff_follower *follower = diff->followers;

		diff->followers = follower->next;
		slots_free(&follower->devices);
		free(follower);
	}
	HASH_ITER(hh, diff->devices, device, next) {
		HASH_DEL(diff->devices, device);
		for (unsigned int run = 0; run < DIFF_RUNS; run++) {
			fault_samples_free(&device->sides[run].samples);
			memory_free(device->sides[run].group);
		}
		memory_free(device->key);
		memory_free(device);
	}
}
