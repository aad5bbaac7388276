// SPDX-License-Identifier: GPL-2.0
/* What really happened: a log and counters that no tracing takes part in. */
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "device.h"

/* NULL when the log is full. */
struct record *log_add(struct accelerator *accelerator, enum faultline_log_kind kind)
{
	struct record *record;

	lockdep_assert_held(&faultline.lock);
	if (faultline.log_used == faultline.log_size)
		return NULL;
	record = &faultline.log[faultline.log_used];
	memset(record, 0, sizeof(*record));
	record->entry.id = faultline.log_first + faultline.log_used++;
	record->entry.kind = kind;
	record->entry.device = accelerator->number;
	record->entry.pid = task_tgid_nr(current);
	record->entry.tid = task_pid_nr(current);
	record->entry.raised_ns = ktime_get_ns();
	return record;
}

static u64 *counter_of_end(struct faultline_counters *counters, enum faultline_request_state state)
{
	switch (state) {
	case FAULTLINE_ANSWERED:
		return &counters->answered;
	case FAULTLINE_DROPPED:
		return &counters->dropped;
	case FAULTLINE_AUTOMATIC:
		return &counters->automatic;
	case FAULTLINE_DISCARDED:
		return &counters->discarded;
	case FAULTLINE_REFUSED:
		return &counters->refused;
	default:
		return &counters->aborted;
	}
}

/* Every request ends once, in one of the counters. */
void request_ends(struct accelerator *accelerator, struct record *record,
		  enum faultline_request_state state)
{
	lockdep_assert_held(&faultline.lock);
	record->entry.state = state;
	accelerator->groups[record->entry.group].pending--;
	accelerator->counters.pending--;
	(*counter_of_end(&accelerator->counters, state))++;
}

void made_progress(void)
{
	lockdep_assert_held(&faultline.lock);
	faultline.progress++;
	wake_up_all(&faultline.progressed);
}

void counters_read(struct accelerator *accelerator, struct faultline_counters *counters)
{
	spin_lock(&faultline.lock);
	*counters = accelerator->counters;
	counters->device = accelerator->number;
	spin_unlock(&faultline.lock);
}

/* Copies in pieces that fit on the stack, as user memory must not be touched under the lock. */
int log_read(struct faultline_log *log)
{
	struct faultline_log_entry piece[4];
	struct faultline_log_entry __user *to = u64_to_user_ptr(log->entries);
	u32 room = log->count, taken;

	if (log->reserved)
		return -EINVAL;
	log->count = 0;
	while (log->count < room) {
		u64 id = log->first + log->count;

		spin_lock(&faultline.lock);
		for (taken = 0; taken < ARRAY_SIZE(piece) && log->count + taken < room; taken++) {
			if (id < faultline.log_first ||
			    id + taken >= faultline.log_first + faultline.log_used)
				break;
			piece[taken] = faultline.log[id + taken - faultline.log_first].entry;
		}
		spin_unlock(&faultline.lock);
		if (!taken)
			break;
		if (copy_to_user(to + log->count, piece, taken * sizeof(*piece)))
			return -EFAULT;
		log->count += taken;
		cond_resched();
	}
	return 0;
}

int log_clear(void)
{
	int err = 0;

	mutex_lock(&faultline.mutex);
	spin_lock(&faultline.lock);
	if (faultline.prq.head != faultline.prq.tail)
		err = -EBUSY;
	for (u32 i = 0; i < faultline.devices; i++)
		if (faultline.accelerators[i].counters.pending || faultline.accelerators[i].waiting)
			err = -EBUSY;
	if (!err) {
		faultline.log_first += faultline.log_used;
		faultline.log_used = 0;
		for (u32 i = 0; i < faultline.devices; i++) {
			struct accelerator *accelerator = &faultline.accelerators[i];

			memset(&accelerator->counters, 0, sizeof(accelerator->counters));
			/* What is left are groups with a withheld answer, or none at all. */
			for (u32 n = 0; n < FAULTLINE_GROUP_NUMBERS; n++)
				accelerator->groups[n].first = accelerator->groups[n].last = 0;
		}
	}
	spin_unlock(&faultline.lock);
	mutex_unlock(&faultline.mutex);
	return err;
}
