/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The keys of a job that emulates hosts, section by section. What names something else is text here; plan.c finds it.
 */
#ifndef FAULTLINE_CLUSTER_OPTIONS_H
#define FAULTLINE_CLUSTER_OPTIONS_H

#include "injectors/cluster/config.h"
#include "lib/fabric/options.h"

#define CLUSTER_NAME 64

struct user_io_keys { /* of who asks for I/Os */
	struct io_config config;
	double rate;
	char group[CLUSTER_NAME];
};
struct cluster_keys {
	char name[CLUSTER_NAME];
	char directory[256];
	__u64 timeout_ns, dead_ns, duration_ns, seed;
};
struct host_keys {
	struct fabric_host_keys fabric; /* first, as its rows want it */
	__u32 count;
	__u64 memory;
	cpu_set_t cpus;
};
struct node_keys { /* [device]; [switch] and [adapter] have `count` of it */
	struct fabric_node_keys fabric;
	__u32 count;
	enum cluster_model model;
	__u64 bytes;
	__u32 queue_pairs, functions, address_bits;
	bool intx;
};
struct link_keys {
	struct fabric_link_keys fabric;
	__u32 count;
};
struct borrow_keys {
	__u32 count;
	struct borrow_config config;
	char host[CLUSTER_NAME], device[CLUSTER_NAME], peer[CLUSTER_NAME];
	char adapters[2 * CLUSTER_NAME];
	struct user_io_keys io;
};
struct vm_keys {
	__u32 count;
	struct vm_config config;
	char host[CLUSTER_NAME], device[CLUSTER_NAME];
	struct user_io_keys io;
};
struct client_keys {
	__u32 count;
	struct client_config config;
	char host[CLUSTER_NAME], device[CLUSTER_NAME], queue_peer[CLUSTER_NAME];
	char adapters[2 * CLUSTER_NAME];
	struct user_io_keys io;
};
struct manager_keys {
	char host[CLUSTER_NAME], device[CLUSTER_NAME];
};
struct target_keys {
	char host[CLUSTER_NAME], device[CLUSTER_NAME], initiator[CLUSTER_NAME];
	__u64 stage_ns;
	struct user_io_keys io;
};
struct cluster_inject_keys {
	struct cluster_injection config;
	bool enabled;
	char host[CLUSTER_NAME], adapter[CLUSTER_NAME], device[CLUSTER_NAME], user[CLUSTER_NAME];
	char step[CLUSTER_NAME];
};

const struct option_table *cluster_options(void);
/* Room for the struct of a section of that type; 0: it has none ([sweep], [expect], [short], [slo]). */
size_t cluster_section_size(const char *type);

#endif
