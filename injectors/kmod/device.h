/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's own state. Locks, outermost first:
 *   faultline.mutex  plugging, bonds, DMA mappings and the size of the queue; held while they wait
 *                    for the queue and the kernel's workers, so neither may take it.
 *   faultline.lock   the log, the counters, the groups and the page request queue; nothing sleeps
 *                    under it. All its users are in process context.
 *   a domain's xa_lock
 */
#ifndef FAULTLINE_KMOD_DEVICE_H
#define FAULTLINE_KMOD_DEVICE_H

#include <linux/iommu.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "compat.h"
#include "faultline_device.h"

/* An entry of the log; those of one group are chained, by their place in the log plus one. */
struct record {
	struct faultline_log_entry entry;
	u32 next;
};

/* A group number of a device, and the group that has it. */
struct group {
	u64 instance; /* 0: the number is free */
	u64 give_up_ns, deliver_ns;
	u32 pasid;
	u32 first, last; /* of the chain of records */
	u32 pending;	 /* requests of it without an end */
	u32 code;
	bool no_pasid;
	bool closed;	    /* its last request was raised */
	bool last_reported; /* and given to the kernel */
	bool answered, delivered, withheld, timed_out;
	bool through; /* nobody waits for it any more */
};

/* An emulated accelerator. */
struct accelerator {
	u32 number;
	struct platform_device *pdev; /* NULL when unplugged, under the mutex */
	bool plugged;		      /* requests may be raised, under the lock */
	struct list_head bonds;	      /* under the mutex */
	struct xarray mappings;	      /* of the DMA API, by handle; under the mutex */

	/* With iommufd, under the mutex. */
	struct iommufd_device *iommufd;
	struct client *iommufd_client; /* whose closing gives it back */
	bool attached;

	/* Under the lock. */
	struct faultline_counters counters;
	struct group groups[FAULTLINE_GROUP_NUMBERS];
	u32 group_limit, next_group;
	u32 timeout_ms, delay_ms, withhold;
	u32 waiting; /* groups that are closed and not through */
	struct delayed_work deadlines;
	u64 next_deadline; /* what the work is armed for; U64_MAX: it is not */
};

/* An address space bound to a device, by a file. */
struct bond {
	struct list_head in_file, in_device;
	struct accelerator *accelerator;
	struct mm_struct *mm; /* only compared */
	u32 pasid;
	void *handle; /* the consumer's */
};

/* What an open file of /dev/faultline_device owns. */
struct client {
	struct list_head bonds; /* under the mutex */
	u32 configured;		/* bit N: it has changed the settings of device N; under the lock */
};

/* The page request queue that the devices share: positions only grow. */
struct request_queue_state {
	u32 *ring; /* places in the log */
	u32 size, default_size;
	u64 head, tail;
	bool paused, overflow;
	u32 draining; /* waiters who need it read although it is paused */
	struct task_struct *thread;
	wait_queue_head_t wake;
	/* Requests for this PASID at or behind `stop_from` are refused: it is being unbound. */
	struct accelerator *stop_device;
	u32 stop_pasid;
	u64 stop_from;
};

struct emulation {
	struct mutex mutex;
	spinlock_t lock;
	struct record *log;
	u32 log_size, log_used;
	u64 log_first; /* id of log[0] */
	u64 next_instance;
	struct request_queue_state prq;
	u64 progress; /* counts what a waiter may wait for */
	wait_queue_head_t progressed;
	struct accelerator *accelerators;
	u32 devices;
	u32 consumer; /* enum faultline_consumer */
	struct iommu_device iommu;
	struct iopf_queue *iopf_queue;
	struct workqueue_struct *workqueue;
};

extern struct emulation faultline;

/* truth.c: the log and the counters; the lock is held. */
struct record *log_add(struct accelerator *accelerator, enum faultline_log_kind kind);
static inline struct record *log_at(u32 place_plus_one)
{
	return place_plus_one ? &faultline.log[place_plus_one - 1] : NULL;
}
void request_ends(struct accelerator *accelerator, struct record *record,
		  enum faultline_request_state state);
void made_progress(void);
int log_read(struct faultline_log *log);
int log_clear(void);
void counters_read(struct accelerator *accelerator, struct faultline_counters *counters);

/* raise.c */
int raise_requests(struct accelerator *accelerator, struct faultline_raise *raise);

/* prq.c */
int prq_start(u32 size);
void prq_stop(void);
bool prq_push(struct accelerator *accelerator, struct record *record, bool flood);
void prq_wake(void);
void prq_drain(void);
int prq_resize(u32 size);
void prq_restore(void);
#define NO_PASID U32_MAX /* instead of one: requests without */
void prq_refuse_from_now(struct accelerator *accelerator, u32 pasid);
void prq_refuse_no_more(void);

/* response.c; the lock is held where a group is named. */
RESPONSE_RETURN device_page_response(struct device *dev, response_event *event,
				     struct iommu_page_response *message);
void group_answered(struct accelerator *accelerator, struct group *group, u32 code, u64 now,
		    bool by_kernel);
void group_settle(struct accelerator *accelerator, struct group *group);
void groups_abort(struct accelerator *accelerator, bool queued_only);
void group_closed(struct accelerator *accelerator, struct group *group, u64 now);
void deadlines_work(struct work_struct *work);
u32 release_withheld(struct accelerator *accelerator);
int wait_for_answers(struct accelerator *accelerator, struct faultline_wait *wait);

/* iommu.c */
extern const struct iommu_ops device_iommu_ops;
int iommu_start(void);
void iommu_stop(void);
struct accelerator *accelerator_of(struct device *dev);

/* paging.c */
struct iommu_domain *paging_alloc(void);
void paging_used_by(struct iommu_domain *domain, struct accelerator *accelerator);
extern const struct iommu_domain_ops paging_ops;
int paging_access(struct iommu_domain *domain, unsigned long iova, bool write, u64 *value);

/* plug.c; the mutex is held. */
int plug_start(void);
void plug_stop(void);
int plug(struct accelerator *accelerator);
int unplug(struct accelerator *accelerator, bool surprise);

/* consumer.c: how an address space is bound on this kernel; the mutex is held. */
int consumer_add_device(struct accelerator *accelerator);
void consumer_remove_device(struct accelerator *accelerator);
int consumer_bind(struct bond *bond);
void consumer_unbind(struct bond *bond);
#ifdef FAULTLINE_ALLOC_SVA
struct iommu_domain *consumer_alloc_sva(struct device *dev, struct mm_struct *mm);
#endif

/* bond.c */
int bond_add(struct client *client, struct accelerator *accelerator, u32 *pasid);
int bond_remove(struct client *client, struct accelerator *accelerator);
void bonds_of_client_remove(struct client *client);
void bonds_of_device_remove(struct accelerator *accelerator);

/* dma.c */
int dma_map(struct client *client, struct accelerator *accelerator, struct faultline_dma_map *map);
int dma_unmap(struct accelerator *accelerator, struct faultline_dma_unmap *unmap);
int dma_sync(struct accelerator *accelerator, const struct faultline_dma_sync *sync);
void dma_unmap_all(struct accelerator *accelerator);
void dma_unmap_of_client(struct client *client);

/* access.c */
int device_access(struct accelerator *accelerator, struct faultline_access *access);
bool device_has_translation(struct accelerator *accelerator);

/* iommufd.c; the mutex is held. */
#ifdef FAULTLINE_IOMMUFD
int iommufd_bind_device(struct client *client, struct accelerator *accelerator,
			struct faultline_iommufd_bind *bind);
int iommufd_attach_device(struct accelerator *accelerator, u32 *page_table);
int iommufd_detach_device(struct accelerator *accelerator);
void iommufd_give_back(struct accelerator *accelerator);
struct iommu_domain *iommufd_alloc_domain(struct device *dev, u32 flags,
					  struct iommu_domain *parent);
/* The domain whose page table is walked for a domain that is nested in it. */
struct iommu_domain *iommufd_parent_of(struct iommu_domain *domain);
#else
static inline void iommufd_give_back(struct accelerator *accelerator)
{
}

static inline struct iommu_domain *iommufd_parent_of(struct iommu_domain *domain)
{
	return domain;
}
#endif

/* settings.c */
void settings_default(struct accelerator *accelerator);
int settings_change(struct client *client, struct accelerator *accelerator,
		    const struct faultline_configure *change);
void settings_undo(struct client *client);

/* chrdev.c */
int chrdev_start(void);
void chrdev_stop(void);

#endif
