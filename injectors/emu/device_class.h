/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of device: all that is asked of it outside of its own files.
 *
 * A model is a file or a folder of devices/ that defines NAME_class, and its line in device_classes.def. What a
 * [device] can be told of it alone are option rows in its file, which fill a struct of its own: the settings.
 */
#ifndef FAULTLINE_DEVICE_CLASS_H
#define FAULTLINE_DEVICE_CLASS_H

#include "injectors/emu/device.h"
#include "injectors/emu/device_driver.h"
#include "injectors/emu/vhost/vhost_settings.h"
#include "lib/job/options.h"

struct device_config;
struct network;
struct vhost;

/* What the settings of any model fit in. */
#define DEVICE_SETTINGS_BYTES 1024
#define DEVICE_SETTINGS_ALIGN 16
struct device_settings {
	unsigned char bytes[DEVICE_SETTINGS_BYTES];
} __attribute__((aligned(DEVICE_SETTINGS_ALIGN)));

/* Bytes of a model's settings, and the proof that they fit. */
#define DEVICE_SETTINGS(type)                                                        \
	(sizeof(type) +                                                              \
	 0 * sizeof(struct {                                                         \
		 _Static_assert(sizeof(type) <= DEVICE_SETTINGS_BYTES, "too large"); \
		 _Static_assert(_Alignof(type) <= DEVICE_SETTINGS_ALIGN, "aligned"); \
		 int proof;                                                          \
	 }))
/* Offset and size of a member of them, for an option row of section "device". */
#define DEVICE_SETTING(type, member) offsetof(type, member), sizeof(((type *)0)->member)

/* A file or block device of the user's that a device works on. */
struct device_file {
	char path[256]; /* empty: none, the device has one of its own */
	bool writable;	/* it may be written; else it is opened for reading alone */
	bool consented; /* also if it is a block device; by whoever runs the job */
};

/* Of a model whose devices are connected in pairs. */
struct device_peer {
	const char *name; /* TENANT/DEVICE; empty: it was not said */
	__u32 *index;
	__u32 mtu; /* the same at both ends */
};

/* What a model is asked to agree to. */
struct device_check {
	const char *where; /* "FILE:LINE" of what is checked */
	const struct device_config *device;
	__u64 bytes; /* the device's share of its tenant's memory */
	bool vm;     /* the guest of a virtual machine drives it */
	/* What drives it, as far as that is asked for here; both NULL: the device alone */
	const struct workload_config *workload;
	const struct traffic_config *traffic;
};

struct device_class {
	const char *name;
	const char *meaning; /* of model=NAME: "a copy engine" */
	/* Settings. What a row needs beside model=NAME is in its first places. */
	const struct option_row *rows;
	size_t row_count, settings_bytes;
	__u32 depth_max;     /* descriptors of a queue, a power of two up to RING_DEPTH_MAX */
	__u32 data_align;    /* of data addresses and lengths that its engine takes, bytes */
	enum device_io io;   /* what a [workload] asks of it; none: there can be no workload */
	bool user_addresses; /* takes pasid=yes */
	bool has_frames; /* fills device_setup.frames; a [traffic] and an injected loss are for it */
	/* Its packets cross a link to a peer; fills device_setup.rdma; what is injected into packets is for it. */
	bool has_packets;
	/* The settings of a model that has a peer: as written, and where the plan puts its index in the machine. */
	struct device_peer (*peer)(struct device_settings *settings);
	/* The file that it is given; NULL: none of this model is. */
	struct device_file *(*file)(struct device_settings *settings);
	/* How a virtual machine drives it over vhost-user; NULL: none drives this model. */
	struct vhost_settings *(*vhost)(struct device_settings *settings);
	/* With it: what start() has made of it. */
	struct vhost *(*vhost_device)(void *device);
	__u16 virtqueues;		       /* of each of its queues then; 0: 1 */
	const struct device_driver *vm_driver; /* then; NULL: that of vhost_driver.h */
	/* -EBADMSG with a sentence that begins with `where`; NULL: it agrees to everything. */
	int (*check)(const struct device_check *check);
	/* Bytes that it pins of its share of `bytes` before anything runs, for its tenant's memlock; NULL: none. */
	__u64 (*pins)(const struct device_config *device, __u64 bytes);
	/* Starts its threads. They touch guest memory only after a doorbell has rung. */
	int (*start)(void **device, struct port *port, const struct device_setup *setup);
	/* Stops and joins; DMA waits end with -ESHUTDOWN before this is called. */
	void (*stop)(void *device);
	/* Whether its frames are those of a network between programs, not made up; NULL: never. */
	bool (*networked)(const struct device_settings *settings);
	/* Whether its guest controls it by one of the ways of docs/hyv.md; NULL: never. */
	bool (*has_mode)(const struct device_settings *settings);
	/* What the hello says of it behind its model's name and '/': a policy; NULL: nothing. */
	const char *(*variant)(const struct device_settings *settings);
	/* The network that it has made for itself; NULL: none of this model has one. */
	const struct network *(*network)(void *device);
	/* The inodes of that network's namespaces, which the hello tells. With it. */
	void (*namespaces)(void *device, __u64 *guest, __u64 *wire);
	/* How a [device] of this model says the one or the other: "wire=tap", "wire=generator or loop". */
	const char *with_network, *with_traffic;
	const struct device_driver *driver; /* in the guest */
	/* Instead of it, by what the job has for the device; NULL: there is but the one. */
	const struct device_driver *(*choose_driver)(const struct driver_setup *setup);
};

#define DEVICE_CLASS(name) extern const struct device_class name##_class;
#include "injectors/emu/device_classes.def"
#undef DEVICE_CLASS

enum {
#define DEVICE_CLASS(name) DEVICE_CLASS_##name,
#include "injectors/emu/device_classes.def"
#undef DEVICE_CLASS
	DEVICE_CLASSES,
};

/* In the order of the .def. */
extern const struct device_class *const device_classes[DEVICE_CLASSES];

/* "block, accel": those that `of` says yes to, with `between` them. */
const char *device_classes_text(bool (*of)(const struct device_class *class), const char *between,
				char *text, size_t size);
/* For that. */
bool device_class_takes_workload(const struct device_class *class);
bool device_class_is_disk(const struct device_class *class);
bool device_class_takes_pasid(const struct device_class *class);
bool device_class_has_frames(const struct device_class *class);
bool device_class_has_packets(const struct device_class *class);
/* Its guest's I/O goes through the channel's rings, not through queues that the guest makes itself. */
bool device_class_has_rings(const struct device_class *class);
bool device_class_has_network(const struct device_class *class);

#endif
