// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/mapper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/kdev_t.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/fail.h"

#define CONTROL	     "/dev/mapper/control"
#define REMOVE_TRIES 20 /* somebody, such as udev, may look at it just now */
#define REMOVE_WAIT  50000

struct mapper_request {
	struct dm_ioctl head;
	struct dm_target_spec target;
	char parameters[512];
};

static void mapper_prepare(struct mapper_request *request, const char *name)
{
	*request = (struct mapper_request){
		.head.version = {DM_VERSION_MAJOR, 0, 0},
		.head.data_size = sizeof(*request),
		.head.data_start = offsetof(struct mapper_request, target),
	};
	snprintf(request->head.name, sizeof(request->head.name), "%s", name);
}

static int send_request(unsigned long command, struct mapper_request *request)
{
	int control = open(CONTROL, O_RDWR | O_CLOEXEC), err = 0;

	if (control < 0)
		return failed(-errno, CONTROL ": %s: is dm_mod loaded?", strerror(errno));
	if (ioctl(control, command, request))
		err = -errno;
	close(control);
	return err;
}

int mapper_exists(const char *name)
{
	struct mapper_request request;
	int err;

	mapper_prepare(&request, name);
	err = send_request(DM_DEV_STATUS, &request);
	return err == -ENXIO ? 0 : err ? err : 1;
}

static int mapper_load(const char *name, const char *target, unsigned long long sectors,
		       const char *parameters)
{
	struct mapper_request request;
	int err;

	mapper_prepare(&request, name);
	if (strlen(parameters) >= sizeof(request.parameters) ||
	    strlen(target) >= sizeof(request.target.target_type))
		return failed(-ENAMETOOLONG, "device mapper: %s %s: too long", target, parameters);
	request.head.target_count = 1;
	request.target.length = sectors;
	strcpy(request.target.target_type, target);
	strcpy(request.parameters, parameters);
	err = send_request(DM_TABLE_LOAD, &request);
	if (err)
		return failed(err,
			      "device mapper: target \"%s %s\" over %llu sectors: %s; is dm-%s "
			      "loaded?",
			      target, parameters, sectors, strerror(-err), target);
	mapper_prepare(&request, name);
	err = send_request(DM_DEV_SUSPEND, &request); /* without DM_SUSPEND_FLAG: resume */
	return err ? failed(err, "device mapper: %s cannot be resumed: %s", name, strerror(-err))
		   : 0;
}

int mapper_create(const char *name, const char *uuid, const char *target,
		  unsigned long long sectors, const char *parameters, char *node, size_t size)
{
	struct mapper_request request;
	int err;

	mapper_prepare(&request, name);
	snprintf(request.head.uuid, sizeof(request.head.uuid), "%s", uuid);
	err = send_request(DM_DEV_CREATE, &request);
	if (err)
		return failed(err == -EBUSY ? -EEXIST : err, "device mapper: %s: %s", name,
			      err == -EBUSY ? "the name is taken; choose another one"
					    : strerror(-err));
	snprintf(node, size, "/dev/dm-%u", MINOR((unsigned int)request.head.dev));
	err = mapper_load(name, target, sectors, parameters);
	if (err)
		mapper_remove(name, uuid);
	return err;
}

int mapper_remove(const char *name, const char *uuid)
{
	struct mapper_request request;
	int err = 0;

	for (int i = 0; i < REMOVE_TRIES; i++) {
		mapper_prepare(&request, name);
		err = send_request(DM_DEV_STATUS, &request);
		if (err == -ENXIO)
			return 0;
		if (err)
			return err;
		if (strcmp(request.head.uuid, uuid) != 0)
			return failed(-EEXIST, "device mapper: %s is another's by now (%s)", name,
				      request.head.uuid);
		mapper_prepare(&request, name);
		err = send_request(DM_DEV_REMOVE, &request);
		if (err != -EBUSY)
			break;
		usleep(REMOVE_WAIT);
	}
	return err && err != -ENXIO ? failed(err, "device mapper: %s cannot be removed: %s", name,
					     strerror(-err))
				    : 0;
}
