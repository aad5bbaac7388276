// SPDX-License-Identifier: GPL-2.0
/*
 * Answers to page requests: taken from the kernel, carried to the device at once, later or never,
 * and a device that does not wait for ever.
 */
#include <linux/ktime.h>

#include "device.h"

static void arm(struct accelerator *accelerator, u64 deadline, u64 now)
{
	if (deadline >= accelerator->next_deadline)
		return;
	accelerator->next_deadline = deadline;
	mod_delayed_work(faultline.workqueue, &accelerator->deadlines,
			 deadline > now ? nsecs_to_jiffies(deadline - now) + 1 : 0);
}

/* Tells waiters when a group is through, and frees its number when nothing of it is left. */
void group_settle(struct accelerator *accelerator, struct group *group)
{
	lockdep_assert_held(&faultline.lock);
	if (!group->instance || !group->answered)
		return;
	if (!group->through && (group->delivered || group->withheld)) {
		group->through = true;
		accelerator->waiting--;
		made_progress();
	}
	if (group->delivered && !group->pending) {
		memset(group, 0, sizeof(*group));
		made_progress();
	}
}

static void deliver(struct accelerator *accelerator, struct group *group, u64 now)
{
	struct record *record;

	for (record = log_at(group->first); record; record = log_at(record->next)) {
		if (record->entry.state != FAULTLINE_ANSWERED || record->entry.delivered_ns)
			continue;
		record->entry.delivered_ns = now;
		if (group->timed_out)
			record->entry.flags |= FAULTLINE_LOG_LATE;
	}
	accelerator->counters.late += group->timed_out;
	accelerator->counters.delivered++;
	group->delivered = true;
	group_settle(accelerator, group);
}

static void withhold(struct accelerator *accelerator, struct group *group)
{
	struct record *record;

	if (accelerator->withhold != FAULTLINE_WITHHOLD_ALL)
		accelerator->withhold--;
	for (record = log_at(group->first); record; record = log_at(record->next))
		if (record->entry.state == FAULTLINE_ANSWERED)
			record->entry.flags |= FAULTLINE_LOG_WITHHELD;
	accelerator->counters.withheld++;
	group->withheld = true;
	group_settle(accelerator, group);
}

/* The group's last request has its answer; what the IOMMU says itself is never held up. */
void group_answered(struct accelerator *accelerator, struct group *group, u32 code, u64 now,
		    bool by_kernel)
{
	lockdep_assert_held(&faultline.lock);
	group->answered = true;
	group->code = code;
	if (!by_kernel) {
		group->delivered = true;
		group_settle(accelerator, group);
	} else if (accelerator->withhold) {
		withhold(accelerator, group);
	} else if (accelerator->delay_ms) {
		group->deliver_ns = now + accelerator->delay_ms * (u64)NSEC_PER_MSEC;
		arm(accelerator, group->deliver_ns, now);
	} else {
		deliver(accelerator, group, now);
	}
}

static void take_response(struct accelerator *accelerator, struct group *group, u32 code, u64 now)
{
	bool any = false, last = false;
	struct record *record;

	for (record = log_at(group->first); record; record = log_at(record->next)) {
		if (record->entry.state != FAULTLINE_REPORTED)
			continue;
		any = true;
		record->entry.code = code;
		record->entry.responded_ns = now;
		request_ends(accelerator, record, FAULTLINE_ANSWERED);
		if (record->entry.flags & FAULTLINE_LOG_LAST)
			last = true;
		else if (!group->last_reported)
			record->entry.delivered_ns = now; /* refused before its group was whole */
	}
	if (!any)
		accelerator->counters.stray_responses++;
	if (last)
		group_answered(accelerator, group, code, now, true);
}

/* The IOMMU driver's operation by which the kernel answers a group. */
RESPONSE_RETURN device_page_response(struct device *dev, response_event *event,
				     struct iommu_page_response *message)
{
	struct accelerator *accelerator = accelerator_of(dev);
	u64 now = ktime_get_ns();

	spin_lock(&faultline.lock);
	if (message->code < ARRAY_SIZE(accelerator->counters.responses) &&
	    message->grpid < FAULTLINE_GROUP_NUMBERS) {
		accelerator->counters.responses[message->code]++;
		take_response(accelerator, &accelerator->groups[message->grpid], message->code,
			      now);
	} else {
		accelerator->counters.stray_responses++;
	}
	spin_unlock(&faultline.lock);
	RESPONSE_DONE;
}

/* The last request of a group was raised: from now on the device waits for the answer. */
void group_closed(struct accelerator *accelerator, struct group *group, u64 now)
{
	lockdep_assert_held(&faultline.lock);
	group->closed = true;
	accelerator->waiting++;
	if (!accelerator->timeout_ms)
		return;
	group->give_up_ns = now + accelerator->timeout_ms * (u64)NSEC_PER_MSEC;
	arm(accelerator, group->give_up_ns, now);
}

static void give_up(struct accelerator *accelerator, struct group *group, u64 now)
{
	struct record *record;

	group->timed_out = true;
	accelerator->counters.timeouts++;
	for (record = log_at(group->first); record; record = log_at(record->next)) {
		record->entry.flags |= FAULTLINE_LOG_TIMED_OUT;
		record->entry.timed_out_ns = now;
	}
	made_progress();
}

/* Does what is due for a group; returns when the next thing is. */
static u64 meet_deadlines(struct accelerator *accelerator, struct group *group, u64 now)
{
	u64 next = U64_MAX;

	if (group->give_up_ns && !group->timed_out && !group->delivered) {
		if (group->give_up_ns <= now)
			give_up(accelerator, group, now);
		else
			next = group->give_up_ns;
	}
	if (group->deliver_ns && !group->delivered) {
		if (group->deliver_ns <= now)
			deliver(accelerator, group, now);
		else
			next = min(next, group->deliver_ns);
	}
	return next;
}

void deadlines_work(struct work_struct *work)
{
	struct accelerator *accelerator =
		container_of(to_delayed_work(work), struct accelerator, deadlines);
	u64 now = ktime_get_ns(), next = U64_MAX;

	spin_lock(&faultline.lock);
	accelerator->next_deadline = U64_MAX;
	for (u32 n = 0; n < FAULTLINE_GROUP_NUMBERS; n++)
		if (accelerator->groups[n].instance)
			next = min(next, meet_deadlines(accelerator, &accelerator->groups[n], now));
	if (next != U64_MAX)
		arm(accelerator, next, now);
	spin_unlock(&faultline.lock);
}

u32 release_withheld(struct accelerator *accelerator)
{
	u64 now = ktime_get_ns();
	u32 released = 0;

	spin_lock(&faultline.lock);
	for (u32 n = 0; n < FAULTLINE_GROUP_NUMBERS; n++) {
		struct group *group = &accelerator->groups[n];

		if (!group->instance || !group->withheld || group->delivered)
			continue;
		deliver(accelerator, group, now);
		released++;
	}
	spin_unlock(&faultline.lock);
	return released;
}

/* The device is being removed: ends its requests, those still in the queue only or all. */
void groups_abort(struct accelerator *accelerator, bool queued_only)
{
	struct record *record;

	lockdep_assert_held(&faultline.lock);
	for (u32 n = 0; n < FAULTLINE_GROUP_NUMBERS; n++) {
		struct group *group = &accelerator->groups[n];

		for (record = log_at(group->first); record; record = log_at(record->next))
			if (record->entry.state == FAULTLINE_QUEUED ||
			    (!queued_only && record->entry.state == FAULTLINE_REPORTED))
				request_ends(accelerator, record, FAULTLINE_ABORTED);
		if (!queued_only)
			memset(group, 0, sizeof(*group));
	}
	if (!queued_only)
		accelerator->waiting = 0;
	made_progress();
}

/* What an overflow cut is thrown away only once the queue is empty, maybe after all have their answer. */
static bool all_through(struct accelerator *accelerator)
{
	return (!READ_ONCE(accelerator->waiting) && !READ_ONCE(faultline.prq.overflow)) ||
	       !READ_ONCE(accelerator->plugged);
}

int wait_for_answers(struct accelerator *accelerator, struct faultline_wait *wait)
{
	long left = 1;

	if (wait->reserved || wait->reserved2)
		return -EINVAL;
	if (wait->timeout_ns)
		left = wait_event_interruptible_timeout(
			faultline.progressed, all_through(accelerator),
			(long)min_t(u64, nsecs_to_jiffies64(wait->timeout_ns) + 1, LONG_MAX / 2));
	else if (wait_event_interruptible(faultline.progressed, all_through(accelerator)))
		left = -EINTR;
	spin_lock(&faultline.lock);
	wait->waiting = accelerator->waiting;
	spin_unlock(&faultline.lock);
	if (left < 0)
		return -EINTR;
	if (!READ_ONCE(accelerator->plugged))
		return -ENODEV;
	return left ? 0 : -ETIME;
}
