// SPDX-License-Identifier: GPL-2.0
#include "bpf/page.h"
#include "injectors/real/slow.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <unistd.h>

#include "injectors/real/journal_replay.h"
#include "lib/base/clock.h"
#include "lib/base/files.h"

#define NULL_BLK      "/sys/kernel/config/nullb"
#define PAGE_CLUSTER  "/proc/sys/vm/page-cluster"
#define NODE_TRIES    100 /* for devtmpfs to make the node */
#define NODE_WAIT     10000
#define SECTOR	      512u
#define TIMER_IRQMODE "2" /* complete from a timer, completion_nsec after the request */

static int set_attribute(struct journal *journal, const char *directory, const char *name,
			 const char *value)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	/* Goes with its directory: nothing to undo. */
	return journal_act(journal, path, value, NULL, NULL);
}

static int wait_for_node(const char *node)
{
	struct stat status;

	for (int i = 0; i < NODE_TRIES; i++) {
		if (!stat(node, &status) && S_ISBLK(status.st_mode))
			return 0;
		usleep(NODE_WAIT);
	}
	return failed(-ENOENT, "%s: did not appear: is devtmpfs mounted?", node);
}

static bool block_exists(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/block/%s", name);
	return !access(path, F_OK);
}

/* Newer kernels give the disk the directory's name, older ones a number of their own. */
static int find_null_node(const char *directory, const char *name, struct slow_device *device)
{
	char path[256], index[32];
	int err;

	snprintf(device->node, sizeof(device->node), "/dev/%s", name);
	if (block_exists(name))
		return wait_for_node(device->node);
	snprintf(path, sizeof(path), "%s/index", directory);
	err = attribute_read(path, index, sizeof(index));
	if (err)
		return err;
	snprintf(device->node, sizeof(device->node), "/dev/nullb%s", index);
	return wait_for_node(device->node);
}

static int configure_null(struct journal *journal, const struct slow_options *options,
			  const char *directory)
{
	char size[32], delay[32];
	const char *const settings[][2] = {
		{"memory_backed", "1"},	    {"size", size},
		{"blocksize", "4096"},	    {"irqmode", TIMER_IRQMODE},
		{"completion_nsec", delay},
	};
	int err = 0;

	snprintf(size, sizeof(size), "%llu", options->bytes >> 20);
	snprintf(delay, sizeof(delay), "%llu", options->delay_ns);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]) && !err; i++)
		err = set_attribute(journal, directory, settings[i][0], settings[i][1]);
	return err;
}

static int build_null(struct journal *journal, const struct slow_options *options,
		      struct slow_device *device)
{
	char directory[160], power[192];
	int err;

	if (access(NULL_BLK, F_OK))
		return failed(-ENOENT, NULL_BLK ": not there: modprobe null_blk nr_devices=0, and "
						"mount -t configfs none /sys/kernel/config");
	if (block_exists(options->name))
		return failed(-EEXIST,
			      "--name %s: a block device of this name exists; choose "
			      "another one",
			      options->name);
	snprintf(directory, sizeof(directory), NULL_BLK "/%s", options->name);
	snprintf(power, sizeof(power), "%s/power", directory);
	device->bytes = options->bytes;
	err = journal_make_directory(journal, directory);
	if (!err)
		err = configure_null(journal, options, directory);
	if (!err)
		err = journal_act(journal, power, "1", power, "0");
	if (err || options->verb.dry_run) {
		snprintf(device->node, sizeof(device->node), "/dev/%s", options->name);
		return err;
	}
	return find_null_node(directory, options->name, device);
}

/* Exclusively: not mounted, no swap, not part of anything. */
static int look_at_disk(const char *path, __u64 *bytes)
{
	int disk = open(path, O_RDONLY | O_EXCL | O_CLOEXEC), err = 0;
	struct stat status;

	if (disk < 0)
		return failed(-errno, "--over %s: %s%s", path, strerror(errno),
			      errno == EBUSY ? ": it is mounted or otherwise in use" : "");
	if (fstat(disk, &status) || !S_ISBLK(status.st_mode))
		err = failed(-ENOTBLK, "--over %s: accepted: a block device", path);
	else if (ioctl(disk, BLKGETSIZE64, bytes))
		err = failed(-errno, "--over %s: its size: %s", path, strerror(errno));
	close(disk);
	return err;
}

static int build_mapper(struct journal *journal, const struct slow_options *options,
			struct slow_device *device)
{
	char parameters[256], what[192];
	int err;

	snprintf(what, sizeof(what), "disk %s%s", options->over,
		 options->swap ? ", whose content will be overwritten," : "");
	err = verb_require_consent(&options->verb, options->over, what);
	if (!err)
		err = look_at_disk(options->over, &device->bytes);
	if (err)
		return err;
	/* Reads late, writes at once. */
	snprintf(parameters, sizeof(parameters), "%s 0 %llu %s 0 0", options->over,
		 options->delay_ns / NSEC_PER_MSEC, options->over);
	err = journal_make_mapper(journal, options->name, "delay", device->bytes / SECTOR,
				  parameters, device->node, sizeof(device->node));
	if (err || options->verb.dry_run)
		return err;
	return wait_for_node(device->node);
}

/* The first page of a swap area, as mkswap(8) writes it. */
static int write_swap_header(const struct slow_device *device)
{
	static const char signature[] = "SWAPSPACE2";
	struct {
		char boot[1024];
		__u32 version, last_page, bad_pages;
	} head = {.version = 1, .last_page = (__u32)(device->bytes / PAGE_BYTES - 1)};
	_Alignas(PAGE_BYTES) char page[PAGE_BYTES] = {0};
	int disk = open(device->node, O_WRONLY | O_EXCL | O_CLOEXEC), err;

	if (disk < 0)
		return failed(-errno, "%s: %s", device->node, strerror(errno));
	memcpy(page, &head, sizeof(head));
	memcpy(page + PAGE_BYTES - (sizeof(signature) - 1), signature, sizeof(signature) - 1);
	err = files_write(disk, device->node, page, PAGE_BYTES, NULL);
	if (!err && fsync(disk))
		err = failed(-errno, "%s: %s", device->node, strerror(errno));
	close(disk);
	return err;
}

static int make_swap(struct journal *journal, const struct slow_options *options,
		     const struct slow_device *device)
{
	int flags = 0, err = 0;

	if (options->priority >= 0)
		flags = SWAP_FLAG_PREFER | (options->priority & SWAP_FLAG_PRIO_MASK);
	if (!options->verb.dry_run)
		err = write_swap_header(device);
	if (!err)
		err = journal_swap_on(journal, device->node, flags);
	return err;
}

int slow_build(struct journal *journal, const struct slow_options *options,
	       struct slow_device *device)
{
	int err = options->bytes ? build_null(journal, options, device)
				 : build_mapper(journal, options, device);

	if (!err && options->swap)
		err = make_swap(journal, options, device);
	if (!err && options->no_readahead)
		err = journal_set(journal, PAGE_CLUSTER, "0");
	return err;
}
