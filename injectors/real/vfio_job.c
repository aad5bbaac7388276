// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/vfio_job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fail.h"

#define SIZE_DEFAULT 65536u
#define SIZE_MAX_    (64ull << 20)

static const struct {
	const char *name;
	__u64 count;
} actions[VFIO_ACTIONS] = {
	[VFIO_TRANSFER] = {"transfer", 10}, [VFIO_FAULT] = {"fault", 10},
	[VFIO_RETRY] = {"retry", 3},	    [VFIO_STALE] = {"stale", 3},
	[VFIO_CHURN] = {"churn", 1000},	    [VFIO_LIMIT] = {"limit", 100000},
	[VFIO_RESET] = {"reset", 1},
};

const char *vfio_action_name(enum vfio_action action)
{
	return actions[action].name;
}

static int vfio_refuse_action(const char *given)
{
	char names[128] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < VFIO_ACTIONS && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 actions[i].name);
	return given ? failed(-EINVAL, "unknown action '%s'; accepted: %s", given, names)
		     : failed(-EINVAL, "no action; accepted: %s", names);
}

int vfio_parse_action(const char *text, enum vfio_action *action)
{
	for (unsigned int i = 0; i < VFIO_ACTIONS; i++) {
		if (strcmp(text, actions[i].name) != 0)
			continue;
		*action = i;
		return 0;
	}
	return vfio_refuse_action(text);
}

int vfio_check_address(const char *text, void *field)
{
	static const char shape[] = "xxxx:xx:xx.x", hexadecimal[] = "0123456789abcdef";
	bool good = strlen(text) == strlen(shape);

	(void)field;
	for (size_t i = 0; good && shape[i]; i++)
		good = shape[i] == 'x' ? strchr(hexadecimal, text[i]) != NULL : shape[i] == text[i];
	if (!good || text[8] > '1' || text[11] > '7')
		return failed(
			-EINVAL,
			"invalid address '%s'; accepted: a PCI address as in /sys/bus/pci/devices, such as "
			"0000:00:02.0",
			text);
	return 0;
}

static int vfio_check_devices(const struct vfio_job *job)
{
	if (!job->device_count)
		return failed(-EINVAL, "no device: name each with --device 0000:00:02.0");
	for (size_t i = 0; i < job->device_count; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(job->devices[i], job->devices[k]))
				return failed(-EINVAL, "--device %s: named twice", job->devices[i]);
	return 0;
}

int vfio_job_check(void *vfio_job)
{
	struct vfio_job *job = vfio_job;
	int error = job->action_name ? vfio_parse_action(job->action_name, &job->action)
				     : vfio_refuse_action(NULL);

	if (error)
		return error;
	error = vfio_check_devices(job);
	if (error)
		return error;
	if (job->size && job->action != VFIO_CHURN && job->action != VFIO_LIMIT)
		return failed(-EINVAL, "--size: accepted: with the actions churn and limit");
	if (!job->count)
		job->count = actions[job->action].count;
	if (!job->size)
		job->size = SIZE_DEFAULT;
	if (!job->depth)
		job->depth = 1;
	if (job->size % NVME_PAGE || job->size > SIZE_MAX_)
		return failed(-EINVAL, "--size %llu: accepted: multiples of 4096 up to 64 MiB",
			      job->size);
	if (job->depth > 1 && job->action != VFIO_FAULT)
		return failed(-EINVAL, "--depth: accepted: with the action fault");
	if (job->memlock && job->action != VFIO_LIMIT)
		return failed(-EINVAL, "--memlock: accepted: with the action limit");
	if (job->overwrite && job->action != VFIO_TRANSFER)
		return failed(-EINVAL, "--overwrite: accepted: with the action transfer");
	if (job->read_direction && job->action != VFIO_FAULT)
		return failed(-EINVAL, "--read: accepted: with the action fault");
	return verb_check(&job->verb);
}
