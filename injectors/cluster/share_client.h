/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client of a shared controller, within its own process: share_path.c its pairs, share_client.c what it does with them,
 * share_failover.c how it goes from one to the other.
 */
#ifndef FAULTLINE_CLUSTER_SHARE_CLIENT_H
#define FAULTLINE_CLUSTER_SHARE_CLIENT_H

#include "injectors/cluster/share_private.h"

struct client_command {
	bool taken;  /* an I/O that has begun and not ended */
	bool queued; /* in the active path's queue; else it waits to be sent (again) */
	__u16 id; /* of its command: not another's for 65536 commands, so that its fate is its own */
	__u32 entry; /* of the submission queue */
	struct io_next io;
	__u64 begin_ns, sent_ns;
	__u64 turn,
		own; /* I/Os that had ended of the controller, and of this client, when it began */
};

enum path_state { PATH_NONE, PATH_MAPPED, PATH_READY };
struct client_path {
	enum path_state state;
	__u32 index;
	__u32 adapter,
		far_adapter; /* of this host, of the lender; CLUSTER_NONE: the device is this host's own */
	__u32 queue;	     /* 0: never had one */
	__u32 epoch;
	__u32 mapped_epoch; /* of the manager whose domains have its segments */
	bool remapped;	    /* its windows are not those of its last pair */
	struct ntb_window bar;
	__u64 registers; /* BAR 0 on this host's bus */
	struct segment commands, completions;
	__u64 commands_bus, commands_device, completions_device, data_device;
	volatile struct nvme_completion *entries;
	__u32 tail, head, phase;
};

struct share_client {
	struct cluster *cluster;
	const struct client_config *config;
	struct share_controller
		*controller; /* counts turns only: what it knows of it is told by messages */
	struct share_counts *counts;
	struct io_user user;
	__u32 device, function, lender, manager; /* hosts */
	__u32 queue_entries, depth, room;
	__u32 epoch;
	__u64 stride; /* of a command's buffer: a page for its list, then its data */
	struct segment data;
	void *memory;
	struct client_path paths[SHARE_PATHS];
	__u32 path_count, active;
	struct client_command commands[SHARE_COMMANDS];
	__u32 taken, queued;
	__u16 id;
	__u64 ended;
	__u32 link_events;
	bool drained;	 /* no I/O is left to begin */
	bool returns;	 /* none is begun until it is back on its first path */
	__u64 return_ns; /* not tried again before this */
};

/* share_path.c */
/* What it may do with the controller, by its manager: -EAGAIN, -EHOSTDOWN, -ENETUNREACH: none takes it now. */
int client_open_controller(struct share_client *client);
int client_data(struct share_client *client);
/* Doorbells, segments and windows; again after their tables went. */
int path_map(struct share_client *client, struct client_path *path);
int path_create(struct share_client *client, struct client_path *path);
void path_delete(struct share_client *client, struct client_path *path);
void path_unmap(struct share_client *client, struct client_path *path);
bool path_reaches(const struct share_client *client, const struct client_path *path);
bool path_mapped(const struct share_client *client, const struct client_path *path);
/* False: the link has changed since the queue was made, so that it must not be told of the command. */
bool path_send(struct share_client *client, struct client_path *path,
	       struct client_command *command);
bool path_poll(struct share_client *client, struct client_path *path,
	       struct nvme_completion *completion);
__u8 *client_buffer(const struct share_client *client, const struct client_command *command);

/* share_failover.c: 1 if it did something; an error: it is over. */
int client_watch(struct share_client *client);
/* A call that some manager must take, again and again until dead_ns have passed. */
int client_call(struct share_client *client, struct message *message);
/* An error that may be none a little later. */
bool client_call_again(int err);
void client_done(struct share_client *client, struct client_command *command, int status,
		 const __u64 *model_ns);

/* share_multicast.c */
int client_identify_all(struct share_client *client);

#endif
