// SPDX-License-Identifier: GPL-2.0
/* How devices and the queue behave, changed by a file and back to the default when it is closed. */
#include "device.h"

void settings_default(struct accelerator *accelerator)
{
	accelerator->group_limit = FAULTLINE_GROUP_NUMBERS;
	accelerator->timeout_ms = 0;
	accelerator->delay_ms = 0;
	accelerator->withhold = 0;
}

static int check(const struct faultline_configure *change)
{
	const u32 known = FAULTLINE_SET_GROUP_LIMIT | FAULTLINE_SET_TIMEOUT | FAULTLINE_SET_DELAY |
			  FAULTLINE_SET_WITHHOLD | FAULTLINE_SET_PRQ_SIZE |
			  FAULTLINE_SET_PRQ_PAUSED;

	if (change->set & ~known)
		return -EINVAL;
	if (change->set & FAULTLINE_SET_GROUP_LIMIT &&
	    (!change->group_limit || change->group_limit > FAULTLINE_GROUP_NUMBERS))
		return -EINVAL;
	if (change->set & FAULTLINE_SET_PRQ_PAUSED && change->prq_paused > 1)
		return -EINVAL;
	return 0;
}

int settings_change(struct client *client, struct accelerator *accelerator,
		    const struct faultline_configure *change)
{
	int err = check(change);

	if (!err && change->set & FAULTLINE_SET_PRQ_SIZE)
		err = prq_resize(change->prq_size);
	if (err)
		return err;
	spin_lock(&faultline.lock);
	client->configured |= 1u << accelerator->number;
	if (change->set & FAULTLINE_SET_GROUP_LIMIT)
		accelerator->group_limit = change->group_limit;
	if (change->set & FAULTLINE_SET_TIMEOUT)
		accelerator->timeout_ms = change->timeout_ms;
	if (change->set & FAULTLINE_SET_DELAY)
		accelerator->delay_ms = change->delay_ms;
	if (change->set & FAULTLINE_SET_WITHHOLD)
		accelerator->withhold = change->withhold;
	if (change->set & FAULTLINE_SET_PRQ_PAUSED)
		faultline.prq.paused = change->prq_paused;
	made_progress();
	spin_unlock(&faultline.lock);
	prq_wake();
	return 0;
}

/* What is withheld then reaches the device at last. */
void settings_undo(struct client *client)
{
	lockdep_assert_held(&faultline.mutex);
	if (!client->configured)
		return;
	for (u32 i = 0; i < faultline.devices; i++) {
		if (!(client->configured & 1u << i))
			continue;
		spin_lock(&faultline.lock);
		settings_default(&faultline.accelerators[i]);
		spin_unlock(&faultline.lock);
		release_withheld(&faultline.accelerators[i]);
	}
	prq_restore();
}
