// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/rdma_counters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define PORTS_MAX     16
#define DEVICES_KNOWN 256
#define RESCAN_NS     NSEC_PER_SEC
#define CACHE_DEFAULT 12 /* ms */

/* Names differ by driver: rxe's, then mlx5's. */
static const char *const files[RDMA_COUNTERS][2] = {
	[RDMA_RNR_SENT] = {"send_rnr_err", "out_of_buffer"},
	[RDMA_RNR_RECEIVED] = {"rcvd_rnr_err", "rnr_nak_retry_err"},
	[RDMA_RETRY] = {"completer_retry_err", "local_ack_timeout_err"},
	[RDMA_DUPLICATE] = {"duplicate_request", NULL},
	[RDMA_OUT_OF_SEQUENCE] = {"out_of_seq_request", "out_of_sequence"},
	[RDMA_SEQUENCE_NAK] = {"rcvd_seq_err", "packet_seq_err"},
	[RDMA_RETRY_EXCEEDED] = {"retry_exceeded_err", "req_transport_retries_exceeded"},
	[RDMA_RNR_EXCEEDED] = {"retry_rnr_exceeded_err", "req_rnr_retries_exceeded"},
};

struct counter {
	int fd; /* -1: the device has none of the kind */
	__u64 last;
};

struct rdma_counters_port {
	unsigned int number;
	struct counter counters[RDMA_COUNTERS];
};

struct rdma_counters_device {
	char name[RDMA_NAME_TEXT];
	ino_t inode; /* of its directory, whatever its name */
	__u64 cache_ns;
	__u64 read_ns; /* when last read */
	size_t port_count;
	struct rdma_counters_port ports[PORTS_MAX];
	__u64 told[RDMA_COUNTERS];
	bool gone;
	struct rdma_counters_device *next;
};

struct rdma_counters {
	char directory[PATH_MAX];
	struct rdma_counters_device *devices;
	size_t count;
	__u64 next_read_ns, next_scan_ns;
	__u64 reads;
	bool begun; /* devices found from now on are new */
};

static int rdma_counters_open_file(const struct rdma_counters *c, const char *device,
				   unsigned int port, const char *file)
{
	char path[PATH_MAX + RDMA_NAME_TEXT + 128];

	snprintf(path, sizeof(path), "%s/%s/ports/%u/hw_counters/%s", c->directory, device, port,
		 file);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* -ENODEV and the like once the device has gone. */
static int rdma_counters_read_number(int fd, __u64 *value)
{
	char text[32], *end;
	ssize_t bytes = pread(fd, text, sizeof(text) - 1, 0);

	if (bytes < 0)
		return -errno;
	text[bytes] = '\0';
	*value = strtoull(text, &end, 10);
	return end == text ? -EINVAL : 0;
}

static void open_port(const struct rdma_counters *c, const char *device,
		      struct rdma_counters_port *port)
{
	for (unsigned int k = 0; k < RDMA_COUNTERS; k++) {
		struct counter *counter = &port->counters[k];

		counter->fd = -1;
		for (size_t i = 0; i < 2 && counter->fd < 0 && files[k][i]; i++)
			counter->fd = rdma_counters_open_file(c, device, port->number, files[k][i]);
		if (counter->fd >= 0 && !c->begun &&
		    rdma_counters_read_number(counter->fd, &counter->last))
			counter->last = 0;
	}
}

static void close_device(struct rdma_counters_device *device)
{
	for (size_t p = 0; p < device->port_count; p++)
		for (unsigned int k = 0; k < RDMA_COUNTERS; k++)
			if (device->ports[p].counters[k].fd >= 0)
				close(device->ports[p].counters[k].fd);
	device->port_count = 0;
	device->gone = true;
}

static __u64 cache_time(const struct rdma_counters *c, const char *name)
{
	__u64 ms;
	int fd = rdma_counters_open_file(c, name, 1, "lifespan");

	if (fd < 0 || rdma_counters_read_number(fd, &ms))
		ms = CACHE_DEFAULT;
	if (fd >= 0)
		close(fd);
	ms *= NSEC_PER_MSEC;
	return ms < RDMA_CACHE_NS ? ms : RDMA_CACHE_NS;
}

static void open_ports(struct rdma_counters *c, struct rdma_counters_device *device)
{
	char path[PATH_MAX + RDMA_NAME_TEXT + 16];
	struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "%s/%s/ports", c->directory, device->name);
	directory = opendir(path);
	while (directory && device->port_count < PORTS_MAX && (entry = readdir(directory))) {
		struct rdma_counters_port *port = &device->ports[device->port_count];
		char *end;

		port->number = (unsigned int)strtoul(entry->d_name, &end, 10);
		if (end == entry->d_name || *end)
			continue;
		open_port(c, device->name, port);
		device->port_count++;
	}
	if (directory)
		closedir(directory);
}

static struct rdma_counters_device *rdma_counters_find(const struct rdma_counters *c,
						       const char *name)
{
	struct rdma_counters_device *device = c->devices;

	while (device && strcmp(device->name, name) != 0)
		device = device->next;
	return device;
}

/* 0: it has none. */
static ino_t inode_of(const struct rdma_counters *c, const char *name)
{
	char path[PATH_MAX + RDMA_NAME_TEXT + 16];
	struct stat status;

	snprintf(path, sizeof(path), "%s/%s", c->directory, name);
	return stat(path, &status) ? 0 : status.st_ino;
}

/* One that we know, under whatever name; it has this one now. */
static bool is_renamed(struct rdma_counters *c, const char *name, ino_t inode)
{
	struct rdma_counters_device *device = c->devices;

	while (device && (device->gone || device->inode != inode))
		device = device->next;
	if (device && strlen(name) < RDMA_NAME_TEXT)
		snprintf(device->name, sizeof(device->name), "%.*s", RDMA_NAME_TEXT - 1, name);
	return device;
}

static int rdma_counters_meet(struct rdma_counters *c, const char *name, __u64 now_ns)
{
	ino_t inode = inode_of(c, name);
	struct rdma_counters_device *device;

	if (is_renamed(c, name, inode))
		return 0;
	device = rdma_counters_find(c, name);
	if ((device && !device->gone) || strlen(name) >= RDMA_NAME_TEXT ||
	    (!device && c->count == DEVICES_KNOWN))
		return 0;
	if (!device) {
		device = calloc(1, sizeof(*device));
		if (!device)
			return failed(-ENOMEM, "no memory for another RDMA device");
		snprintf(device->name, sizeof(device->name), "%.*s", RDMA_NAME_TEXT - 1, name);
		device->next = c->devices;
		c->devices = device;
		c->count++;
	}
	device->gone = false;
	device->inode = inode;
	device->read_ns = now_ns;
	memset(device->ports, 0, sizeof(device->ports));
	device->cache_ns = cache_time(c, name);
	open_ports(c, device);
	return 0;
}

static int rdma_counters_scan(struct rdma_counters *c, __u64 now_ns)
{
	DIR *directory = opendir(c->directory);
	struct dirent *entry;
	int error = 0;

	c->next_scan_ns = now_ns + RESCAN_NS;
	while (!error && directory && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			error = rdma_counters_meet(c, entry->d_name, now_ns);
	if (directory)
		closedir(directory);
	c->begun = true;
	return error;
}

/* Its files stay open when a device is renamed: what they say is told of the name that it has. */
static int follow_names(struct rdma_counters *c, __u64 now_ns)
{
	for (const struct rdma_counters_device *device = c->devices; device; device = device->next)
		if (!device->gone && inode_of(c, device->name) != device->inode)
			return rdma_counters_scan(c, now_ns);
	return 0;
}

int rdma_counters_create(struct rdma_counters **counters, const char *directory, bool fresh,
			 __u64 now_ns)
{
	struct rdma_counters *c = calloc(1, sizeof(*c));

	*counters = c;
	if (!c)
		return failed(-ENOMEM, "no memory for the counters of RDMA devices");
	snprintf(c->directory, sizeof(c->directory), "%s", directory ? directory : RDMA_CLASS);
	c->begun = fresh;
	c->next_read_ns = now_ns + RDMA_READ_NS;
	return rdma_counters_scan(c, now_ns);
}

void rdma_counters_destroy(struct rdma_counters *counters)
{
	if (!counters)
		return;
	while (counters->devices) {
		struct rdma_counters_device *next = counters->devices->next;

		close_device(counters->devices);
		free(counters->devices);
		counters->devices = next;
	}
	free(counters);
}

static int tell(struct rdma_counters_device *device, const struct rdma_counters_port *port,
		unsigned int kind, __u64 moved, __u64 now_ns, rdma_counter_fn give, void *self)
{
	const struct event event = {
		.time_ns = now_ns,
		.value = moved,
		.length = now_ns - device->read_ns,
		.pasid = PASID_NONE,
		.kind = EVENT_RDMA_COUNTER,
		.queue = (__u16)port->number,
		.code = (__u8)kind,
	};

	device->told[kind] += moved;
	return give(self, device->name, &event);
}

static int read_port(struct rdma_counters_device *device, struct rdma_counters_port *port,
		     __u64 now_ns, rdma_counter_fn give, void *self)
{
	for (unsigned int k = 0; k < RDMA_COUNTERS; k++) {
		struct counter *counter = &port->counters[k];
		__u64 value, moved;
		int error;

		if (counter->fd < 0)
			continue;
		if (rdma_counters_read_number(counter->fd, &value)) {
			device->gone = true;
			return 0;
		}
		/* A total that falls was set to 0 by the device's reset. */
		moved = value < counter->last ? value : value - counter->last;
		counter->last = value;
		error = moved ? tell(device, port, k, moved, now_ns, give, self) : 0;
		if (error)
			return error;
	}
	return 0;
}

static int read_all(struct rdma_counters *c, rdma_counter_fn give, void *self)
{
	for (struct rdma_counters_device *device = c->devices; device; device = device->next) {
		__u64 now_ns = monotonic_ns();
		int error = 0;

		for (size_t p = 0; !error && !device->gone && p < device->port_count; p++)
			error = read_port(device, &device->ports[p], now_ns, give, self);
		if (error)
			return error;
		device->read_ns = now_ns;
		if (device->gone && device->port_count)
			close_device(device);
	}
	c->reads++;
	return 0;
}

int rdma_counters_poll(struct rdma_counters *counters, __u64 now_ns, rdma_counter_fn give,
		       void *self)
{
	int error = 0;

	if (now_ns >= counters->next_scan_ns)
		error = rdma_counters_scan(counters, now_ns);
	if (error || now_ns < counters->next_read_ns)
		return error;
	counters->next_read_ns = now_ns + RDMA_READ_NS;
	if (!counters->count)
		return 0;
	return follow_names(counters, now_ns) ?: read_all(counters, give, self);
}

int rdma_counters_finish(struct rdma_counters *counters, rdma_counter_fn give, void *self)
{
	__u64 longest_ns = 0;
	struct timespec pause;

	for (const struct rdma_counters_device *device = counters->devices; device;
	     device = device->next)
		if (!device->gone && device->cache_ns > longest_ns)
			longest_ns = device->cache_ns;
	if (!counters->count)
		return 0;
	pause = timespec_of_ns(longest_ns + NSEC_PER_MSEC);
	nanosleep(&pause, NULL);
	return follow_names(counters, monotonic_ns()) ?: read_all(counters, give, self);
}

size_t rdma_counters_devices(const struct rdma_counters *counters)
{
	size_t count = 0;

	for (const struct rdma_counters_device *device = counters->devices; device;
	     device = device->next)
		count += !device->gone;
	return count;
}

__u64 rdma_counters_reads(const struct rdma_counters *counters)
{
	return counters->reads;
}

__u64 rdma_counters_told(const struct rdma_counters *counters, const char *name,
			 enum rdma_counter counter)
{
	const struct rdma_counters_device *device = rdma_counters_find(counters, name);

	return device && counter < RDMA_COUNTERS ? device->told[counter] : 0;
}

void rdma_device_model(const char *name, char model[NAME_TEXT])
{
	char path[PATH_MAX], text[PATH_MAX] = "";
	ssize_t bytes;
	FILE *file;

	snprintf(path, sizeof(path), RDMA_CLASS "/%.63s/parent", name);
	file = fopen(path, "re");
	if (file && fgets(text, sizeof(text), file)) {
		text[strcspn(text, "\n")] = '\0';
		snprintf(model, NAME_TEXT, "rxe on %.40s", text);
	} else {
		snprintf(path, sizeof(path), RDMA_CLASS "/%.63s/device/driver", name);
		bytes = readlink(path, text, sizeof(text) - 1);
		text[bytes > 0 ? bytes : 0] = '\0';
		snprintf(model, NAME_TEXT, "%.63s",
			 strrchr(text, '/') ? strrchr(text, '/') + 1 : "");
	}
	if (file)
		fclose(file);
}
