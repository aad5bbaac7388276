// SPDX-License-Identifier: GPL-2.0
/* The devices' side of a page request: checked, given a group number, logged and queued. */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "device.h"

/* What one call of the ioctl has to keep between its requests. */
struct raising {
	struct accelerator *accelerator;
	bool flood, nonblock;
	u32 any; /* the number that FAULTLINE_GROUP_ANY stands for, or FAULTLINE_GROUP_ANY itself */
};

static int check_request(const struct faultline_request *request)
{
	u32 access = FAULTLINE_READ | FAULTLINE_WRITE | FAULTLINE_EXECUTE;

	if (request->flags & ~(FAULTLINE_LAST | FAULTLINE_NO_PASID) ||
	    request->permissions & ~(access | FAULTLINE_PRIVILEGED) ||
	    !(request->permissions & access) || request->pasid >= 1 << 20)
		return -EINVAL;
	if (request->group >= FAULTLINE_GROUP_NUMBERS && request->group != FAULTLINE_GROUP_ANY)
		return -EINVAL;
	return 0;
}

static bool same_group(const struct faultline_request *one, const struct faultline_request *other)
{
	u32 no_pasid = FAULTLINE_NO_PASID;

	return (one->flags & no_pasid) == (other->flags & no_pasid) && one->pasid == other->pasid;
}

static int check_requests(const struct faultline_request *requests, u32 count)
{
	bool open = false;

	for (u32 i = 0; i < count; i++) {
		int err = check_request(&requests[i]);

		if (err)
			return err;
		if (requests[i].group != FAULTLINE_GROUP_ANY) {
			if (open)
				return -EINVAL;
			continue;
		}
		if (open && !same_group(&requests[i - 1], &requests[i]))
			return -EINVAL;
		open = !(requests[i].flags & FAULTLINE_LAST);
	}
	return open ? -EINVAL : 0;
}

static bool same_address_space(const struct group *group, const struct faultline_request *request)
{
	bool no_pasid = request->flags & FAULTLINE_NO_PASID;

	return group->no_pasid == no_pasid && (no_pasid || group->pasid == request->pasid);
}

/* The next free number, so that all below the limit are used equally often. */
static u32 free_number(struct accelerator *accelerator)
{
	for (u32 i = 0; i < accelerator->group_limit; i++) {
		u32 number = (accelerator->next_group + i) % accelerator->group_limit;

		if (!accelerator->groups[number].instance) {
			accelerator->next_group = number + 1;
			return number;
		}
	}
	return FAULTLINE_GROUP_ANY;
}

/* The group that a request belongs to. -EAGAIN: no number is free now. */
static int find_group(struct raising *raising, const struct faultline_request *request, u32 *number)
{
	struct accelerator *accelerator = raising->accelerator;
	struct group *group;

	*number = request->group;
	if (request->group == FAULTLINE_GROUP_ANY) {
		if (raising->any == FAULTLINE_GROUP_ANY)
			raising->any = free_number(accelerator);
		if (raising->any == FAULTLINE_GROUP_ANY)
			return -EAGAIN;
		*number = raising->any;
	}
	group = &accelerator->groups[*number];
	if (!group->instance) {
		group->instance = ++faultline.next_instance;
		group->pasid = request->pasid;
		group->no_pasid = request->flags & FAULTLINE_NO_PASID;
	} else if (group->closed || !same_address_space(group, request)) {
		return -EBUSY;
	}
	return 0;
}

static void chain(struct group *group, struct record *record)
{
	u32 place = record - faultline.log + 1;

	if (group->last)
		log_at(group->last)->next = place;
	else
		group->first = place;
	group->last = place;
	group->pending++;
}

static struct record *log_request(struct accelerator *accelerator, u32 number,
				  const struct faultline_request *request)
{
	struct record *record = log_add(accelerator, FAULTLINE_LOG_REQUEST);
	struct group *group = &accelerator->groups[number];

	record->entry.pasid = request->pasid;
	record->entry.group = number;
	record->entry.instance = group->instance;
	record->entry.permissions = request->permissions;
	record->entry.address = request->address;
	record->entry.state = FAULTLINE_QUEUED;
	if (request->flags & FAULTLINE_LAST)
		record->entry.flags |= FAULTLINE_LOG_LAST;
	if (request->flags & FAULTLINE_NO_PASID)
		record->entry.flags |= FAULTLINE_LOG_NO_PASID;
	chain(group, record);
	return record;
}

/* A group that the device numbers begins only when all of it fits in the log. */
static u32 room_needed(const struct raising *raising, const struct faultline_request *request)
{
	u32 needed = 1;

	if (request->group != FAULTLINE_GROUP_ANY || raising->any != FAULTLINE_GROUP_ANY)
		return 1;
	while (!(request++->flags & FAULTLINE_LAST))
		needed++;
	return needed;
}

static bool has_room(const struct raising *raising)
{
	const struct request_queue_state *prq = &faultline.prq;

	return raising->flood || (!prq->overflow && prq->tail - prq->head < prq->size);
}

/* The lock is held. -EAGAIN: not now. */
static int raise_one(struct raising *raising, struct faultline_request *request)
{
	struct accelerator *accelerator = raising->accelerator;
	struct record *record;
	u32 number;
	int err;

	if (!accelerator->plugged)
		return -ENODEV;
	if (faultline.log_size - faultline.log_used < room_needed(raising, request))
		return -ENOSPC;
	if (!has_room(raising))
		return -EAGAIN;
	err = find_group(raising, request, &number);
	if (err)
		return err;
	record = log_request(accelerator, number, request);
	request->id = record->entry.id;
	accelerator->counters.requests++;
	accelerator->counters.pending++;
	if (request->flags & FAULTLINE_LAST) {
		accelerator->counters.last++;
		group_closed(accelerator, &accelerator->groups[number], record->entry.raised_ns);
		if (request->group == FAULTLINE_GROUP_ANY)
			raising->any = FAULTLINE_GROUP_ANY;
	}
	prq_push(accelerator, record, raising->flood);
	return 0;
}

/* Within a group that the device numbered, only a fatal signal ends the wait: it is to be closed. */
static int raise_or_wait(struct raising *raising, struct faultline_request *request)
{
	bool within = raising->any != FAULTLINE_GROUP_ANY;
	u64 seen;
	int err;

	for (;;) {
		spin_lock(&faultline.lock);
		seen = faultline.progress;
		err = raise_one(raising, request);
		spin_unlock(&faultline.lock);
		prq_wake();
		if (err != -EAGAIN || (raising->nonblock && !within))
			return err;
		if (within)
			err = wait_event_killable(faultline.progressed,
						  READ_ONCE(faultline.progress) != seen);
		else
			err = wait_event_interruptible(faultline.progressed,
						       READ_ONCE(faultline.progress) != seen);
		if (err)
			return -EINTR;
	}
}

/* A caller that is killed within a group: its device closes the group, or it would stay for ever. */
static void close_cut_group(struct raising *raising, struct faultline_request last)
{
	if (raising->any == FAULTLINE_GROUP_ANY)
		return;
	last.flags |= FAULTLINE_LAST;
	raising->flood = true;
	spin_lock(&faultline.lock);
	raise_one(raising, &last);
	spin_unlock(&faultline.lock);
	prq_wake();
}

int raise_requests(struct accelerator *accelerator, struct faultline_raise *raise)
{
	struct faultline_request __user *user = u64_to_user_ptr(raise->requests);
	struct raising raising = {
		.accelerator = accelerator,
		.flood = raise->flags & FAULTLINE_FLOOD,
		.nonblock = raise->flags & FAULTLINE_NONBLOCK,
		.any = FAULTLINE_GROUP_ANY,
	};
	struct faultline_request *requests;
	u32 count = raise->count;
	int err;

	raise->raised = 0;
	if (raise->flags & ~(FAULTLINE_FLOOD | FAULTLINE_NONBLOCK) || !count ||
	    count > FAULTLINE_BATCH_MAX)
		return -EINVAL;
	requests = vmemdup_user(user, array_size(count, sizeof(*requests)));
	if (IS_ERR(requests))
		return PTR_ERR(requests);
	err = check_requests(requests, count);
	while (!err && raise->raised < count) {
		err = raise_or_wait(&raising, &requests[raise->raised]);
		if (!err)
			raise->raised++;
		cond_resched();
	}
	if (err)
		close_cut_group(&raising, requests[raise->raised ? raise->raised - 1 : 0]);
	if (copy_to_user(user, requests, array_size(raise->raised, sizeof(*requests))))
		err = -EFAULT;
	kvfree(requests);
	return err;
}
