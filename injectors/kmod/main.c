// SPDX-License-Identifier: GPL-2.0
/* faultline_device: an emulated IOMMU with accelerators behind it, for tests of Faultline. */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/vmalloc.h>

#include "device.h"

struct emulation faultline;

static unsigned int devices = 2;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "Emulated devices, 1 to 8 (default 2)");

static unsigned int prq_size = 1024;
module_param(prq_size, uint, 0444);
MODULE_PARM_DESC(prq_size, "Requests that the page request queue holds, 2 to 65536 (default 1024)");

static unsigned int log_entries = 65536;
module_param(log_entries, uint, 0444);
MODULE_PARM_DESC(log_entries, "Entries of the log, 1024 to 4194304 (default 65536)");

static bool beside_real_iommu;
module_param(beside_real_iommu, bool, 0444);
MODULE_PARM_DESC(beside_real_iommu, "Load although a real IOMMU is active: for test machines only");

static int is_mapped(struct device *dev, void *unused)
{
	return device_iommu_mapped(dev);
}

/* A machine whose devices are behind an IOMMU may be one that is in use for something. */
static bool has_real_iommu(void)
{
	bool found = bus_for_each_dev(&platform_bus_type, NULL, NULL, is_mapped);

#ifdef CONFIG_PCI
	found |= bus_for_each_dev(&pci_bus_type, NULL, NULL, is_mapped);
#endif
	return found;
}

static int check_parameters(void)
{
	if (!devices || devices > FAULTLINE_DEVICES_MAX) {
		pr_err("devices=%u: accepted: 1 to %d\n", devices, FAULTLINE_DEVICES_MAX);
		return -EINVAL;
	}
	if (log_entries < 1024 || log_entries > 4194304) {
		pr_err("log_entries=%u: accepted: 1024 to 4194304\n", log_entries);
		return -EINVAL;
	}
	if (!beside_real_iommu && has_real_iommu()) {
		pr_err("a real IOMMU is active here; beside_real_iommu=1 loads this test module all the same\n");
		return -EPERM;
	}
	return 0;
}

static int alloc_state(void)
{
	mutex_init(&faultline.mutex);
	spin_lock_init(&faultline.lock);
	init_waitqueue_head(&faultline.progressed);
	faultline.log_first = 1;
	faultline.log_size = log_entries;
	faultline.log = vzalloc(array_size(log_entries, sizeof(*faultline.log)));
	faultline.accelerators = vzalloc(array_size(devices, sizeof(*faultline.accelerators)));
	faultline.workqueue = alloc_ordered_workqueue("faultline-device", 0);
	if (!faultline.log || !faultline.accelerators || !faultline.workqueue)
		return -ENOMEM;
	faultline.devices = devices;
	for (u32 i = 0; i < devices; i++) {
		struct accelerator *accelerator = &faultline.accelerators[i];

		accelerator->number = i;
		INIT_LIST_HEAD(&accelerator->bonds);
		xa_init_flags(&accelerator->mappings, XA_FLAGS_ALLOC1);
		settings_default(accelerator);
		accelerator->next_deadline = U64_MAX;
		INIT_DELAYED_WORK(&accelerator->deadlines, deadlines_work);
	}
	return 0;
}

static void free_state(void)
{
	if (faultline.workqueue)
		destroy_workqueue(faultline.workqueue);
	vfree(faultline.accelerators);
	vfree(faultline.log);
}

static int start(void)
{
	int err = prq_start(prq_size);

	if (err)
		return err;
	faultline.iopf_queue = iopf_queue_alloc("faultline");
	err = faultline.iopf_queue ? iommu_start() : -ENOMEM;
	if (err)
		goto no_iommu;
	err = plug_start();
	if (err)
		goto no_devices;
	err = chrdev_start();
	if (err)
		goto no_chrdev;
	return 0;
no_chrdev:
	plug_stop();
no_devices:
	iommu_stop();
no_iommu:
	iopf_queue_free(faultline.iopf_queue);
	prq_stop();
	return err;
}

static int __init device_init(void)
{
	int err = check_parameters();

	if (err)
		return err;
	err = alloc_state();
	if (!err)
		err = start();
	if (err)
		free_state();
	return err;
}

static void __exit device_exit(void)
{
	chrdev_stop();
	plug_stop();
	iommu_stop();
	iopf_queue_free(faultline.iopf_queue);
	prq_stop();
	free_state();
}

module_init(device_init);
module_exit(device_exit);

MODULE_DESCRIPTION("Emulated IOMMU and accelerators that raise page requests, for tests");
MODULE_AUTHOR("Faultline");
MODULE_LICENSE("GPL");
