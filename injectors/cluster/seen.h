/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What has happened, twice: to the truth log, by who did it, and to eBPF, by USDT probes in the process of the host concerned.
 *
 * truth_*() and seen_*() are called at different places, so that one can be held against the other. Both are kept in shared
 * memory first, so that a process that is killed loses nothing: `truth` is written by the one that has begun all (truth-log.md);
 * a seen_*() of a process that is no host's own goes through a ring to its host's, which fires the probe (seen_relay()). A full ring
 * is counted as lost.
 * A host's machine has as devices: its own, those that its [borrow], [vm] and [manager] sections may borrow, its adapters, and
 * its agents but for itself. They are named by their index there.
 */
#ifndef FAULTLINE_CLUSTER_SEEN_H
#define FAULTLINE_CLUSTER_SEEN_H

#include <stdio.h>

#include "injectors/cluster/access.h"
#include "injectors/cluster/agent.h"
#include "injectors/cluster/ntb.h"
#include "injectors/cluster/nvme.h"
#include "injectors/cluster/share.h"

/* Index in the machine of `host`: of a device that it has, of one that it may borrow (the shadow); of an adapter, of an agent in
 * that of its own host. CLUSTER_NONE: it has no such device. */
__u32 seen_device(const struct cluster *cluster, __u32 host, __u32 device);
__u32 seen_adapter(const struct cluster *cluster, __u32 adapter);
__u32 seen_agent(const struct cluster *cluster, __u32 agent);
/*
 * Of a host's process, around everything that it does: registers its machine with observers, makes its access log and begins
 * the thread that relays what others tell; the second comes when nobody of this host tells anything any more.
 */
int seen_open(struct cluster *cluster);
void seen_close(struct cluster *cluster);
/* What that thread does every 5 ms: fires what others have put into this host's rings and, every 100 ms, the gauges. */
void seen_relay(struct cluster *cluster);
/* Records that found no room in a ring, or whose device no machine has. */
__u64 seen_lost(const struct cluster *cluster);

void seen_step(struct cluster *cluster, const struct step *step);
void seen_window(struct cluster *cluster, const struct ntb_window *window, bool mapped, __u32 left);
void seen_requester(struct cluster *cluster, __u32 adapter, __u32 slot, __u32 requester, bool added,
		    __u32 left);
void seen_link(struct cluster *cluster, __u32 adapter, bool up, bool wiped);
/* A DMA map of a driver of a lent device: window bytes charged; and what the IOMMU did for it or for a window. */
void seen_lend_map(struct cluster *cluster, __u32 device, __u32 borrow, __u64 address, __u64 bytes,
		   __u64 took_ns, bool mapped);
void seen_iommu(struct cluster *cluster, __u32 host, __u32 device, __u64 address, __u64 bytes,
		__u64 physical, bool mapped);
void seen_iommu_fault(struct cluster *cluster, __u32 host, __u32 device, __u64 address, bool write);
/* DMA that nothing has stopped and that landed in memory which is not its user's. */
void seen_stray(struct cluster *cluster, __u32 device, __u32 borrow, __u32 host, __u64 address,
		__u64 bytes);
/* An I/O that is over: goes to the access log (I/Os a second, latency in real time), and its stages as model. */
struct seen_io {
	__u32 agent, device, queue, number;
	__u64 offset, bytes, begin_ns, end_ns;
	__u64 address; /* of its buffer, as the device has it */
	bool write;
	int error;
	__u64 model_ns[IO_STAGES];
};
void seen_io(struct cluster *cluster, const struct seen_io *io);
struct seen_failover {
	__u32 agent, device, from_pair, to_pair;
	enum failover_reason reason;
	__u64 took_ns;
	__u32 resubmitted, known_done;
};
void seen_failover(struct cluster *cluster, const struct seen_failover *failover);
void seen_interrupt_relayed(struct cluster *cluster, __u32 device, __u64 took_ns);
void seen_multicast(struct cluster *cluster, __u32 device, __u32 deliveries, __u64 bytes);
void seen_inject(struct cluster *cluster, const struct cluster_injection *injection, __u32 id,
		 bool begins);

/* The truth log, one record a call, JSON by docs/truth-log.md. Fills time. `what` is a constant. */
struct cluster_truth {
	__u64 time_ns;
	const char *what; /* "step", "window", "io", "applied", ... : of docs/truth-log.md */
	__u32 agent, device, borrow, queue;
	__u64 address, length, value, model_ns;
	__s32 code;
	__u32 number;
};
void truth_cluster(struct cluster *cluster, const struct cluster_truth *record);
/* Before the first fork: somebody wants it. Without that truth_cluster() is one branch. */
void cluster_truth_begin(struct cluster *cluster);
/* After everybody has ended: all records by time, appended to an open file. -ENOMEM: some found no room. */
int cluster_truth_write(const struct cluster *cluster, FILE *file);

#endif
