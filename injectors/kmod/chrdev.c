// SPDX-License-Identifier: GPL-2.0
/* /dev/faultline_device: the ioctls that faultline_device.h describes. */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "device.h"

/* The ioctls' structures, all of which begin with the number of a device or have none. */
union argument {
	u32 device;
	struct faultline_info info;
	struct faultline_bind bind;
	struct faultline_raise raise;
	struct faultline_wait wait;
	struct faultline_configure configure;
	struct faultline_counters counters;
	struct faultline_log log;
	struct faultline_dma_map dma_map;
	struct faultline_dma_unmap dma_unmap;
	struct faultline_dma_sync dma_sync;
	struct faultline_access access;
	struct faultline_hold hold;
	struct faultline_unplug unplug;
	struct faultline_release release;
	struct faultline_iommufd_bind iommufd_bind;
	struct faultline_iommufd_attach iommufd_attach;
};

static int get_info(struct client *client, struct accelerator *unused, union argument *argument)
{
	struct faultline_info *info = &argument->info;

	memset(info, 0, sizeof(*info));
	info->abi = FAULTLINE_DEVICE_ABI;
	info->devices = faultline.devices;
	info->consumer = faultline.consumer;
	info->log_size = faultline.log_size;
	if (IS_ENABLED(FAULTLINE_IOMMUFD))
		info->features |= FAULTLINE_FEATURE_IOMMUFD;
	mutex_lock(&faultline.mutex);
	for (u32 i = 0; i < faultline.devices; i++) {
		struct accelerator *accelerator = &faultline.accelerators[i];

		snprintf(info->names[i], sizeof(info->names[i]), "faultline-device.%u", i);
		if (!accelerator->pdev)
			continue;
		info->plugged |= 1u << i;
		if (device_has_translation(accelerator))
			info->features |= FAULTLINE_FEATURE_DMA;
	}
	mutex_unlock(&faultline.mutex);
	spin_lock(&faultline.lock);
	info->prq_size = faultline.prq.size;
	info->log_used = faultline.log_used;
	info->log_first = faultline.log_first;
	spin_unlock(&faultline.lock);
	return 0;
}

static int bind(struct client *client, struct accelerator *accelerator, union argument *argument)
{
	int err;

	if (argument->bind.pasid)
		return -EINVAL;
	mutex_lock(&faultline.mutex);
	err = bond_add(client, accelerator, &argument->bind.pasid);
	mutex_unlock(&faultline.mutex);
	return err;
}

static int unbind(struct client *client, struct accelerator *accelerator, union argument *argument)
{
	int err;

	mutex_lock(&faultline.mutex);
	err = bond_remove(client, accelerator);
	mutex_unlock(&faultline.mutex);
	return err;
}

static int do_raise(struct client *client, struct accelerator *accelerator,
		    union argument *argument)
{
	return raise_requests(accelerator, &argument->raise);
}

static int do_wait(struct client *client, struct accelerator *accelerator, union argument *argument)
{
	return wait_for_answers(accelerator, &argument->wait);
}

static int configure(struct client *client, struct accelerator *accelerator,
		     union argument *argument)
{
	return settings_change(client, accelerator, &argument->configure);
}

static int get_counters(struct client *client, struct accelerator *accelerator,
			union argument *argument)
{
	counters_read(accelerator, &argument->counters);
	return 0;
}

static int get_log(struct client *client, struct accelerator *unused, union argument *argument)
{
	return log_read(&argument->log);
}

static int clear(struct client *client, struct accelerator *unused, union argument *argument)
{
	return log_clear();
}

static int do_dma_map(struct client *client, struct accelerator *accelerator,
		      union argument *argument)
{
	return dma_map(client, accelerator, &argument->dma_map);
}

static int do_dma_unmap(struct client *client, struct accelerator *accelerator,
			union argument *argument)
{
	return dma_unmap(accelerator, &argument->dma_unmap);
}

static int do_dma_sync(struct client *client, struct accelerator *accelerator,
		       union argument *argument)
{
	return dma_sync(accelerator, &argument->dma_sync);
}

static int do_access(struct client *client, struct accelerator *accelerator,
		     union argument *argument)
{
	return device_access(accelerator, &argument->access);
}

static int hold(struct client *client, struct accelerator *unused, union argument *argument)
{
	u64 microseconds = argument->hold.microseconds;
	ktime_t until;
	int err = 0;

	if (!microseconds || microseconds > FAULTLINE_HOLD_MAX_US)
		return -EINVAL;
	if (mmap_write_lock_killable(current->mm))
		return -EINTR;
	until = ktime_add_us(ktime_get(), microseconds);
	while (!err && ktime_before(ktime_get(), until)) {
		set_current_state(TASK_KILLABLE);
		schedule_hrtimeout(&until, HRTIMER_MODE_ABS);
		if (fatal_signal_pending(current))
			err = -EINTR;
	}
	mmap_write_unlock(current->mm);
	return err;
}

static int do_unplug(struct client *client, struct accelerator *accelerator,
		     union argument *argument)
{
	int err;

	if (argument->unplug.flags & ~FAULTLINE_UNPLUG_SURPRISE)
		return -EINVAL;
	mutex_lock(&faultline.mutex);
	err = unplug(accelerator, argument->unplug.flags & FAULTLINE_UNPLUG_SURPRISE);
	mutex_unlock(&faultline.mutex);
	return err;
}

static int do_plug(struct client *client, struct accelerator *accelerator, union argument *argument)
{
	int err;

	if (argument->unplug.flags)
		return -EINVAL;
	mutex_lock(&faultline.mutex);
	err = plug(accelerator);
	mutex_unlock(&faultline.mutex);
	return err;
}

static int release_responses(struct client *client, struct accelerator *accelerator,
			     union argument *argument)
{
	argument->release.released = release_withheld(accelerator);
	return 0;
}

#ifdef FAULTLINE_IOMMUFD
static int iommufd_bind(struct client *client, struct accelerator *accelerator,
			union argument *argument)
{
	int err;

	mutex_lock(&faultline.mutex);
	err = iommufd_bind_device(client, accelerator, &argument->iommufd_bind);
	mutex_unlock(&faultline.mutex);
	return err;
}

static int iommufd_attach(struct client *client, struct accelerator *accelerator,
			  union argument *argument)
{
	int err;

	mutex_lock(&faultline.mutex);
	err = iommufd_attach_device(accelerator, &argument->iommufd_attach.page_table);
	mutex_unlock(&faultline.mutex);
	return err;
}

static int iommufd_detach(struct client *client, struct accelerator *accelerator,
			  union argument *argument)
{
	int err;

	mutex_lock(&faultline.mutex);
	err = iommufd_detach_device(accelerator);
	mutex_unlock(&faultline.mutex);
	return err;
}
#else
static int iommufd_bind(struct client *client, struct accelerator *accelerator,
			union argument *argument)
{
	return -EOPNOTSUPP;
}
#define iommufd_attach iommufd_bind
#define iommufd_detach iommufd_bind
#endif

static const struct {
	u32 command;
	bool names_device;
	int (*run)(struct client *client, struct accelerator *accelerator,
		   union argument *argument);
} commands[] = {
	{FAULTLINE_IOC_INFO, false, get_info},
	{FAULTLINE_IOC_BIND, true, bind},
	{FAULTLINE_IOC_UNBIND, true, unbind},
	{FAULTLINE_IOC_RAISE, true, do_raise},
	{FAULTLINE_IOC_WAIT, true, do_wait},
	{FAULTLINE_IOC_CONFIGURE, true, configure},
	{FAULTLINE_IOC_COUNTERS, true, get_counters},
	{FAULTLINE_IOC_LOG, false, get_log},
	{FAULTLINE_IOC_CLEAR, false, clear},
	{FAULTLINE_IOC_DMA_MAP, true, do_dma_map},
	{FAULTLINE_IOC_DMA_UNMAP, true, do_dma_unmap},
	{FAULTLINE_IOC_DMA_SYNC, true, do_dma_sync},
	{FAULTLINE_IOC_ACCESS, true, do_access},
	{FAULTLINE_IOC_HOLD, false, hold},
	{FAULTLINE_IOC_UNPLUG, true, do_unplug},
	{FAULTLINE_IOC_PLUG, true, do_plug},
	{FAULTLINE_IOC_RELEASE, true, release_responses},
	{FAULTLINE_IOC_IOMMUFD_BIND, true, iommufd_bind},
	{FAULTLINE_IOC_IOMMUFD_ATTACH, true, iommufd_attach},
	{FAULTLINE_IOC_IOMMUFD_DETACH, true, iommufd_detach},
};

static int run_command(struct client *client, u32 which, union argument *argument)
{
	struct accelerator *accelerator = NULL;

	if (commands[which].names_device) {
		if (argument->device >= faultline.devices)
			return -ENODEV;
		accelerator = &faultline.accelerators[argument->device];
	}
	return commands[which].run(client, accelerator, argument);
}

static long device_ioctl(struct file *file, unsigned int command, unsigned long address)
{
	void __user *user = (void __user *)address;
	union argument argument;
	u32 which;
	int err;

	for (which = 0; which < ARRAY_SIZE(commands); which++)
		if (commands[which].command == command)
			break;
	if (which == ARRAY_SIZE(commands))
		return -ENOTTY;
	memset(&argument, 0, sizeof(argument));
	if (_IOC_DIR(command) & _IOC_WRITE && copy_from_user(&argument, user, _IOC_SIZE(command)))
		return -EFAULT;
	err = run_command(file->private_data, which, &argument);
	/* Also of a failed call: it says how far it came. */
	if (_IOC_DIR(command) & _IOC_READ && copy_to_user(user, &argument, _IOC_SIZE(command)))
		return -EFAULT;
	return err;
}

static int device_open(struct inode *inode, struct file *file)
{
	struct client *client = kzalloc(sizeof(*client), GFP_KERNEL);

	if (!client)
		return -ENOMEM;
	INIT_LIST_HEAD(&client->bonds);
	file->private_data = client;
	return 0;
}

static int device_release(struct inode *inode, struct file *file)
{
	struct client *client = file->private_data;

	mutex_lock(&faultline.mutex);
	settings_undo(client);
	bonds_of_client_remove(client);
	dma_unmap_of_client(client);
	for (u32 i = 0; i < faultline.devices; i++)
		if (faultline.accelerators[i].iommufd_client == client)
			iommufd_give_back(&faultline.accelerators[i]);
	mutex_unlock(&faultline.mutex);
	kfree(client);
	return 0;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "faultline_device",
	.fops = &operations,
	.mode = 0600,
};

int chrdev_start(void)
{
	return misc_register(&misc);
}

void chrdev_stop(void)
{
	misc_deregister(&misc);
}
