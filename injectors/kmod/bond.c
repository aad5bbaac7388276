// SPDX-License-Identifier: GPL-2.0
/* Address spaces bound to devices, by the files that asked for it. */
#include <linux/sched.h>
#include <linux/slab.h>

#include "device.h"

static struct bond *find(struct client *client, struct accelerator *accelerator)
{
	struct bond *bond;

	list_for_each_entry(bond, &client->bonds, in_file)
		if (bond->accelerator == accelerator && bond->mm == current->mm)
			return bond;
	return NULL;
}

int bond_add(struct client *client, struct accelerator *accelerator, u32 *pasid)
{
	struct bond *bond;
	int err;

	lockdep_assert_held(&faultline.mutex);
	if (!accelerator->pdev)
		return -ENODEV;
	if (!current->mm)
		return -ESRCH;
	if (find(client, accelerator))
		return -EEXIST;
	bond = kzalloc(sizeof(*bond), GFP_KERNEL);
	if (!bond)
		return -ENOMEM;
	bond->accelerator = accelerator;
	bond->mm = current->mm;
	err = consumer_bind(bond);
	if (err) {
		kfree(bond);
		return err;
	}
	list_add(&bond->in_file, &client->bonds);
	list_add(&bond->in_device, &accelerator->bonds);
	*pasid = bond->pasid;
	spin_lock(&faultline.lock);
	accelerator->counters.binds++;
	spin_unlock(&faultline.lock);
	return 0;
}

static bool is_last_of_pasid(const struct bond *bond)
{
	const struct bond *other;

	list_for_each_entry(other, &bond->accelerator->bonds, in_device)
		if (other != bond && other->pasid == bond->pasid)
			return false;
	return true;
}

/*
 * The core frees what a PASID was attached to without waiting for reports that look at it. So the
 * IOMMU refuses what comes from now on, and what it has is reported and resolved before.
 */
static void remove(struct bond *bond)
{
	struct accelerator *accelerator = bond->accelerator;
	bool last = is_last_of_pasid(bond);

	if (last) {
		prq_refuse_from_now(accelerator, bond->pasid);
		prq_drain();
		iopf_queue_flush_dev(&accelerator->pdev->dev);
	}
	consumer_unbind(bond);
	if (last)
		prq_refuse_no_more();
	list_del(&bond->in_file);
	list_del(&bond->in_device);
	kfree(bond);
	spin_lock(&faultline.lock);
	accelerator->counters.unbinds++;
	spin_unlock(&faultline.lock);
}

int bond_remove(struct client *client, struct accelerator *accelerator)
{
	struct bond *bond;

	lockdep_assert_held(&faultline.mutex);
	if (!accelerator->pdev)
		return -ENODEV;
	bond = find(client, accelerator);
	if (!bond)
		return -ENOENT;
	remove(bond);
	return 0;
}

void bonds_of_client_remove(struct client *client)
{
	struct bond *bond, *next;

	lockdep_assert_held(&faultline.mutex);
	list_for_each_entry_safe(bond, next, &client->bonds, in_file)
		remove(bond);
}

void bonds_of_device_remove(struct accelerator *accelerator)
{
	struct bond *bond, *next;

	lockdep_assert_held(&faultline.mutex);
	list_for_each_entry_safe(bond, next, &accelerator->bonds, in_device)
		remove(bond);
}
