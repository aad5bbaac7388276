// SPDX-License-Identifier: GPL-2.0
/*
 * The IOMMU's page request queue: a ring that the devices write and one thread reads, as an IOMMU
 * driver's threaded interrupt does. Overflow is as in VT-d: what does not fit is lost, and nothing
 * more is taken until the driver has read all and thrown partial groups away.
 */
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/vmalloc.h>

#include "device.h"

static struct request_queue_state *const prq = &faultline.prq;

static bool must_read(void)
{
	bool must;

	spin_lock(&faultline.lock);
	must = (prq->head != prq->tail || prq->overflow) && (!prq->paused || prq->draining);
	spin_unlock(&faultline.lock);
	return must;
}

static void lose(struct accelerator *accelerator, struct record *record)
{
	struct group *group = &accelerator->groups[record->entry.group];

	if (!prq->overflow) {
		prq->overflow = true;
		accelerator->counters.overflows++;
	}
	if (!(record->entry.flags & FAULTLINE_LOG_LAST)) {
		request_ends(accelerator, record, FAULTLINE_DROPPED);
		return;
	}
	request_ends(accelerator, record, FAULTLINE_AUTOMATIC);
	record->entry.delivered_ns = ktime_get_ns();
	group_answered(accelerator, group, IOMMU_PAGE_RESP_SUCCESS, record->entry.delivered_ns,
		       false);
}

/* False: no room, and the caller does not want to overflow the queue. The lock is held. */
bool prq_push(struct accelerator *accelerator, struct record *record, bool flood)
{
	lockdep_assert_held(&faultline.lock);
	if (prq->overflow || prq->tail - prq->head == prq->size) {
		if (!flood)
			return false;
		lose(accelerator, record);
	} else {
		prq->ring[prq->tail++ % prq->size] = record - faultline.log;
	}
	return true;
}

void prq_wake(void)
{
	wake_up(&prq->wake);
}

static fault_event event_of(const struct faultline_log_entry *entry)
{
	fault_event event = {
		.fault =
			{
				.type = IOMMU_FAULT_PAGE_REQ,
				.prm =
					{
						.pasid = entry->pasid,
						.grpid = entry->group,
						.addr = entry->address,
					},
			},
	};
	struct iommu_fault_page_request *prm = &event.fault.prm;

	if (!(entry->flags & FAULTLINE_LOG_NO_PASID))
		prm->flags |= IOMMU_FAULT_PAGE_REQUEST_PASID_VALID |
			      IOMMU_FAULT_PAGE_RESPONSE_NEEDS_PASID;
	if (entry->flags & FAULTLINE_LOG_LAST)
		prm->flags |= IOMMU_FAULT_PAGE_REQUEST_LAST_PAGE;
	if (entry->permissions & FAULTLINE_READ)
		prm->perm |= IOMMU_FAULT_PERM_READ;
	if (entry->permissions & FAULTLINE_WRITE)
		prm->perm |= IOMMU_FAULT_PERM_WRITE;
	if (entry->permissions & FAULTLINE_EXECUTE)
		prm->perm |= IOMMU_FAULT_PERM_EXEC;
	if (entry->permissions & FAULTLINE_PRIVILEGED)
		prm->perm |= IOMMU_FAULT_PERM_PRIV;
	return event;
}

/* The IOMMU answers for itself: the kernel gets to know nothing of this request. */
static void refuse(struct accelerator *accelerator, struct record *record)
{
	struct group *group = &accelerator->groups[record->entry.group];
	u64 now = ktime_get_ns();

	record->entry.code = IOMMU_PAGE_RESP_INVALID;
	record->entry.delivered_ns = now;
	request_ends(accelerator, record, FAULTLINE_REFUSED);
	if (record->entry.flags & FAULTLINE_LOG_LAST)
		group_answered(accelerator, group, IOMMU_PAGE_RESP_INVALID, now, false);
}

static bool is_refused(struct accelerator *accelerator, const struct record *record)
{
	u32 pasid = record->entry.flags & FAULTLINE_LOG_NO_PASID ? NO_PASID : record->entry.pasid;

	return prq->stop_device == accelerator && prq->head >= prq->stop_from &&
	       pasid == prq->stop_pasid;
}

/* True: the request at the head is to be reported. The lock is held. */
static bool begin_report(struct accelerator *accelerator, struct record *record)
{
	if (record->entry.state != FAULTLINE_QUEUED)
		return false;
	if (is_refused(accelerator, record)) {
		refuse(accelerator, record);
		return false;
	}
	record->entry.state = FAULTLINE_REPORTED;
	accelerator->counters.reported++;
	if (record->entry.flags & FAULTLINE_LOG_LAST)
		accelerator->groups[record->entry.group].last_reported = true;
	record->entry.reported_ns = ktime_get_ns();
	return true;
}

/* A report that failed and was not answered: only 6.1 leaves the answer to the IOMMU's driver. */
static void end_report(struct accelerator *accelerator, struct record *record, int result)
{
	record->entry.returned_ns = ktime_get_ns();
	record->entry.result = result;
	if (!result)
		return;
	accelerator->counters.report_failed++;
	if (record->entry.state != FAULTLINE_REPORTED)
		return;
	if (record->entry.flags & FAULTLINE_LOG_LAST)
		refuse(accelerator, record);
	else
		request_ends(accelerator, record, FAULTLINE_DISCARDED);
}

static void report_one(void)
{
	struct record *record;
	struct accelerator *accelerator;
	fault_event event;
	bool report;

	spin_lock(&faultline.lock);
	record = &faultline.log[prq->ring[prq->head % prq->size]];
	accelerator = &faultline.accelerators[record->entry.device];
	report = begin_report(accelerator, record);
	event = event_of(&record->entry);
	spin_unlock(&faultline.lock);

	/* The device stays: unplugging waits until its requests are behind the head. */
	if (report) {
		int result = iommu_report_device_fault(&accelerator->pdev->dev, &event);

		spin_lock(&faultline.lock);
		end_report(accelerator, record, result);
		spin_unlock(&faultline.lock);
	}
	spin_lock(&faultline.lock);
	prq->head++;
	group_settle(accelerator, &accelerator->groups[record->entry.group]);
	made_progress();
	spin_unlock(&faultline.lock);
}

/* Of every group whose last request the kernel has not got, it has thrown the others away. */
static void mark_discarded(struct accelerator *accelerator)
{
	for (u32 n = 0; n < FAULTLINE_GROUP_NUMBERS; n++) {
		struct group *group = &accelerator->groups[n];
		struct record *record;

		if (!group->instance || group->last_reported)
			continue;
		for (record = log_at(group->first); record; record = log_at(record->next))
			if (record->entry.state == FAULTLINE_REPORTED)
				request_ends(accelerator, record, FAULTLINE_DISCARDED);
		group_settle(accelerator, group);
	}
}

static void recover_from_overflow(void)
{
	pr_info_ratelimited("page request queue overflow\n");
	iopf_queue_discard_partial(faultline.iopf_queue);
	spin_lock(&faultline.lock);
	for (u32 i = 0; i < faultline.devices; i++)
		mark_discarded(&faultline.accelerators[i]);
	prq->overflow = false;
	made_progress();
	spin_unlock(&faultline.lock);
}

static void read_queue(void)
{
	bool empty, overflow;

	for (;;) {
		spin_lock(&faultline.lock);
		empty = prq->head == prq->tail;
		overflow = prq->overflow;
		spin_unlock(&faultline.lock);
		if (empty)
			break;
		report_one();
		cond_resched();
	}
	if (overflow)
		recover_from_overflow();
}

static int prq_thread(void *unused)
{
	while (!kthread_should_stop()) {
		wait_event_interruptible(prq->wake, must_read() || kthread_should_stop());
		if (must_read())
			read_queue();
	}
	return 0;
}

/* Waits until what is in the queue now was reported, and the kernel's workers are done with it. */
void prq_drain(void)
{
	u64 until;

	lockdep_assert_held(&faultline.mutex);
	spin_lock(&faultline.lock);
	until = prq->tail;
	prq->draining++;
	spin_unlock(&faultline.lock);
	prq_wake();
	wait_event(faultline.progressed, READ_ONCE(prq->head) >= until);
	spin_lock(&faultline.lock);
	prq->draining--;
	spin_unlock(&faultline.lock);
}

void prq_refuse_from_now(struct accelerator *accelerator, u32 pasid)
{
	spin_lock(&faultline.lock);
	prq->stop_device = accelerator;
	prq->stop_pasid = pasid;
	prq->stop_from = prq->tail;
	spin_unlock(&faultline.lock);
}

void prq_refuse_no_more(void)
{
	spin_lock(&faultline.lock);
	prq->stop_device = NULL;
	spin_unlock(&faultline.lock);
}

int prq_resize(u32 size)
{
	int err = -EBUSY;

	if (size < FAULTLINE_PRQ_MIN || size > FAULTLINE_PRQ_MAX)
		return -EINVAL;
	spin_lock(&faultline.lock);
	if (prq->head == prq->tail && !prq->overflow) {
		prq->size = size;
		err = 0;
	}
	spin_unlock(&faultline.lock);
	return err;
}

/* Back to how it was at load: read, and of that size. */
void prq_restore(void)
{
	lockdep_assert_held(&faultline.mutex);
	spin_lock(&faultline.lock);
	prq->paused = false;
	spin_unlock(&faultline.lock);
	/* Others may go on raising: then it is a matter of finding the queue empty. */
	do {
		prq_drain();
		wait_event(faultline.progressed, !READ_ONCE(prq->overflow));
	} while (prq_resize(prq->default_size) == -EBUSY);
}

int prq_start(u32 size)
{
	struct task_struct *thread;

	if (size < FAULTLINE_PRQ_MIN || size > FAULTLINE_PRQ_MAX) {
		pr_err("prq_size=%u: accepted: %d to %d\n", size, FAULTLINE_PRQ_MIN,
		       FAULTLINE_PRQ_MAX);
		return -EINVAL;
	}
	init_waitqueue_head(&prq->wake);
	prq->size = prq->default_size = size;
	prq->ring = vzalloc(array_size(FAULTLINE_PRQ_MAX, sizeof(*prq->ring)));
	if (!prq->ring)
		return -ENOMEM;
	thread = kthread_run(prq_thread, NULL, "faultline-prq");
	if (IS_ERR(thread)) {
		vfree(prq->ring);
		return PTR_ERR(thread);
	}
	prq->thread = thread;
	return 0;
}

void prq_stop(void)
{
	kthread_stop(prq->thread);
	vfree(prq->ring);
}
