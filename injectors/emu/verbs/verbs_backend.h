/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host's side of control: one thread a device, which takes commands from the ring in guest memory, checks all that they
 * say, carries them out on the device by a table of functions, and answers. It alone pins and unpins what rings and pinned
 * regions need (pins.h), and it alone knows which objects there are: a device behind it is told only of what is right.
 *
 * A command is copied by DMA once and then checked: what its guest writes meanwhile is of no effect. A guest that
 * moves `written` back or further than its ring is long loses the commands in between, which are not answered.
 */
#ifndef FAULTLINE_VERBS_BACKEND_H
#define FAULTLINE_VERBS_BACKEND_H

#include "injectors/emu/memory.h"
#include "injectors/emu/verbs/verbs_control.h"
#include "injectors/emu/verbs/verbs_registers.h"

struct machine;
struct port;
struct rdma;
struct verbs_backend;

struct verbs_region_setup {
	__u64 iova; /* of its first byte; with pages any number, whose low 12 bits are its place in the first of them */
	__u64 bytes;
	enum verbs_region kind;
	unsigned int rights;
	__u32 domain; /* protection domain; 0: any queue pair may use it */
	/* Devices with a mode: IOVAs of its pages, in order, which the device copies; NULL: contiguous from `iova` on. `iova` then is
	 * but the address that work requests give. */
	const __u64 *pages;
	__u32 page_count;
};

/* An object has gone into error by itself. */
typedef void verbs_failed(void *argument, enum verbs_failing what, __u32 number);

struct verbs_queue_setup {
	__u64 iova; /* pinned, page aligned */
	__u32 depth;
	int eventfd;	     /* written 1 to as struct verbs_completion_words says; the backend's */
	unsigned char *host; /* host-owned memory instead of `iova`; NULL: guest memory */
	/* Told instead of the eventfd, in the engine's thread; must not wait. NULL: the eventfd. */
	void (*notify)(void *argument, __u32 number);
	void *argument;
	verbs_failed *failed; /* in the engine's thread; must not wait. NULL: nobody is told */
	void *failed_of;
};

struct verbs_shared_setup { /* a shared receive queue */
	__u64 iova;	    /* of verbs_shared_bytes(depth), pinned, page aligned */
	unsigned char *host;
	__u32 depth, domain;
};

struct verbs_pair_setup {
	__u64 iova;			 /* pinned, page aligned */
	__u32 send_depth, receive_depth; /* receive_depth may be 0 if `shared` is one */
	__u32 send_queue, receive_queue; /* completion queues, which outlive it; may be the same */
	__u32 domain;
	__u32 shared;	     /* shared receive queue; VERBS_NO_SRQ: none, it has its own */
	unsigned char *host; /* host-owned queue memory instead of `iova` */
	struct verbs_pair_words *
		doorbells; /* HYV_DOORBELL_BYTES: it has line number % VERBS_QUEUE_PAIRS_MAX; NULL: in its memory */
	verbs_failed *failed; /* as of a queue */
	void *failed_of;
};

#define VERBS_NO_PIN (~0u)

/* Guest memory that an object keeps, and what was done so that it may. */
struct verbs_memory {
	__u64 address, bytes; /* guest address of its first byte; bytes 0: there is none */
	__u64 *pages; /* not in one piece: guest addresses of its pages, in order; the object's own. NULL: it is */
	__u32 page_count;
	__u32 remap_pin,
		driver_pin; /* kernel pins (kernel_pins.h) by their numbers; VERBS_NO_PIN */
	bool held;	    /* pin() has succeeded, unpin() has not been called */
	unsigned char *
		owned; /* the host's pages are under these addresses (bottom-up): where; NULL: the guest's */
};
/* Of the whole pages that it lies in. */
__u64 verbs_memory_bytes(const struct verbs_memory *memory);

enum verbs_object { VERBS_A_REGION, VERBS_A_QUEUE, VERBS_A_PAIR, VERBS_A_SHARED, VERBS_OBJECTS };

/* Of a command of the ring's. */
enum verbs_ring_step { VERBS_RING_TAKEN, VERBS_RING_CARRIED_OUT, VERBS_RING_ANSWERED };

/*
 * What the host does for the memory of objects, of a device with a mode (injectors/emu/hyv); the backend's thread alone calls.
 * Of each object: admit(), pin(), the device's own function, installed() whatever that returned; and when it goes, or any of these
 * failed, those that had succeeded are undone in reverse. All errors are for the guest.
 */
struct verbs_host_ops {
	/* All is checked that the command says; nothing has been done. `bytes`: whole pages that will be pinned, or 0. */
	int (*admit)(void *host, enum verbs_object object, __u64 bytes);
	void (*leave)(void *host, enum verbs_object object, __u64 bytes);
	/* Fills the rest of *memory in. `write`: the device will. */
	int (*pin)(void *host, struct verbs_memory *memory, bool write);
	void (*unpin)(void *host, struct verbs_memory *memory);
	void (*installed)(void *host);
	/* Whether these guest pages may become an object's; *owned: the host's pages that are there. NULL: any may. */
	int (*find)(void *host, const struct verbs_memory *memory, unsigned char **owned);
	/* Doorbell lines that the guest has mapped; NULL: it has not. NULL: there are none. */
	struct verbs_pair_words *(*doorbells)(void *host);
	/* Bottom-up: the host's pages under the guest's, and back. NULL: -EOPNOTSUPP. */
	int (*map)(void *host, __u64 address, __u64 bytes, enum verbs_resource resource,
		   __u64 offset);
	int (*unmap)(void *host, __u64 address, __u64 bytes);
	/* As of struct verbs_queue_setup; NULL: eventfds. */
	void (*notify)(void *host, __u32 number);
	/* In the engine's thread. NULL: the backend's registers say so. */
	verbs_failed *failed;
	/* No event of it comes any more. With notify. */
	void (*forget)(void *host, __u32 number);
	/* So many bytes more, or less, are registered, and all that belongs to that has been done. */
	void (*registered)(void *host, __s64 bytes);
	/* A command of the ring's has come so far; its answer is in it. `token`: which. NULL: is not told. */
	void (*stepped)(void *host, enum verbs_ring_step step, const struct verbs_command *command,
			__u32 token);
};

/*
 * What a command may do to a device. The backend's thread alone calls, one at a time; addresses and values have been
 * checked, keys and numbers are those of objects that are there. 0, or a negative errno for the guest.
 */
struct verbs_backend_ops {
	void (*limits)(void *device, struct verbs_limits *limits);
	/* *key: index << 8 | generation. */
	int (*create_region)(void *device, const struct verbs_region_setup *setup, __u32 *key);
	/* Returns once no DMA uses it, or ever will. */
	int (*destroy_region)(void *device, __u32 key);
	/* Numbers are unlike modulo VERBS_QUEUES_MAX and VERBS_QUEUE_PAIRS_MAX. */
	int (*create_queue)(void *device, const struct verbs_queue_setup *setup, __u32 *number);
	int (*destroy_queue)(void *device, __u32 number);
	int (*create_pair)(void *device, const struct verbs_pair_setup *setup, __u32 *number);
	int (*modify_pair)(void *device, __u32 number, enum verbs_pair_state state, __u32 peer,
			   bool loopback);
	int (*query_pair)(void *device, __u32 number, enum verbs_pair_state *state, __u32 *peer);
	int (*destroy_pair)(void *device, __u32 number);
	/* Of devices with a mode. */
	int (*create_shared)(void *device, const struct verbs_shared_setup *setup, __u32 *number);
	int (*destroy_shared)(void *device, __u32 number);
	/* Looks at a queue pair's rings once: a forwarded post. */
	int (*posted)(void *device, __u32 pair);
	/* To be told; NULL: is not. Advice that was followed, and its pages that are there now; bytes pinned (+) or unpinned (-); a command carried out. */
	void (*advised)(void *device, __u32 key, __u64 iova, __u64 bytes, __u32 pages,
			__u64 took_ns, int error);
	void (*pinned)(void *device, __s64 bytes);
	void (*commanded)(void *device, enum verbs_command_kind kind, int error, __u64 took_ns);
};

struct verbs_backend_config {
	struct machine *machine;
	struct port *port; /* the device's; commands are read by DMA of its queue 0 */
	const struct channel *channel;
	__u32 index;	  /* of the device in the machine */
	const char *name; /* for the thread's, and sentences */
	const struct verbs_backend_ops *ops;
	void *device;
	/* Of devices with a mode; NULL: regions and queues are pinned by machine_pin() and nothing else. */
	const struct verbs_host_ops *host_ops;
	void *host;
	__u64 control_bytes; /* behind the rings, of control, not the guest's to register; 0: a page, the command ring */
	/* Its own if NULL. Another's is shared with a process that may write anything to it, and no descriptor is told by it. */
	struct verbs_registers *registers;
};

/* Pins the command ring and starts the thread. -ENOMEM: the tenant's memlock has no room for it. */
int verbs_backend_create(struct verbs_backend **backend, const struct verbs_backend_config *config);
/* Of the device `rdma` (verbs_rdma.c). */
int verbs_backend_start(struct verbs_backend **backend, struct rdma *device);
/* Likewise, of one with a mode. */
struct hyv_host;
int verbs_host_start(struct hyv_host **host, struct rdma *device);
/* Every wait of the guest ends with -EPIPE; destroys what it has left, unpins all. The device's engine runs on until it
 * returns. May be called twice. */
void verbs_backend_stop(struct verbs_backend *backend);
/* Stops it, if nobody has. The guest has closed its handle (verbs_close()), as its driver was stopped at the latest. */
void verbs_backend_destroy(struct verbs_backend *backend);

struct verbs_registers *verbs_backend_registers(struct verbs_backend *backend);

struct verbs_command_stats {
	__u64 commands, refused;
	__u64 time_ns, longest_ns; /* from taken to answered */
};
struct verbs_backend_stats {
	struct verbs_command_stats kind[VERBS_COMMAND_KINDS]; /* 0: those of no kind */
	__u64 broken;		      /* times that `written` made no sense */
	__u64 pinned;		      /* bytes now: regions, queues, the command ring */
	__u32 regions, queues, pairs; /* now */
};
/* Any thread. */
void verbs_backend_stats(struct verbs_backend *backend, struct verbs_backend_stats *stats);
/* The sentence of the last pin that failed, "": none has. Any thread. */
void verbs_backend_refusal(struct verbs_backend *backend, char *text, size_t size);

#endif
