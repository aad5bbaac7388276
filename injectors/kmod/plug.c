// SPDX-License-Identifier: GPL-2.0
/* Devices come and go: platform devices behind the emulated IOMMU, with a driver to own them. */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/property.h>

#include "device.h"

static int driver_probe(struct platform_device *pdev)
{
	return dma_coerce_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(48));
}

static struct platform_driver driver = {
	.probe = driver_probe,
	.driver =
		{
			.name = "faultline-device",
		},
#ifdef FAULTLINE_IOMMUFD
	/* Its owner is who binds it through iommufd, as with VFIO. */
	.driver_managed_dma = true,
#endif
};

static const struct property_entry properties[] = {
	PROPERTY_ENTRY_U32("pasid-num-bits", 16),
	{},
};

#ifdef FAULTLINE_FAULT_EVENT
/* The core of 6.1 finds the IOMMU by the bus. */
static int put_behind_iommu(struct device *dev)
{
	return 0;
}
#else
static int put_behind_iommu(struct device *dev)
{
	int err = device_create_managed_software_node(dev, properties, NULL);

	return err ?: iommu_fwspec_init(dev, faultline.iommu.fwnode);
}
#endif

static int add_device(struct accelerator *accelerator)
{
	struct platform_device *pdev =
		platform_device_alloc("faultline-device", accelerator->number);
	int err;

	if (!pdev)
		return -ENOMEM;
	accelerator->pdev = pdev;
	err = put_behind_iommu(&pdev->dev);
	if (!err)
		err = platform_device_add(pdev);
	if (!err && !device_iommu_mapped(&pdev->dev)) {
		platform_device_del(pdev);
		err = -ENODEV;
	}
	if (err) {
		accelerator->pdev = NULL;
		platform_device_put(pdev);
	}
	return err;
}

static void remove_device(struct accelerator *accelerator)
{
	struct platform_device *pdev = accelerator->pdev;

	platform_device_del(pdev);
	accelerator->pdev = NULL;
	platform_device_put(pdev);
}

int plug(struct accelerator *accelerator)
{
	int err;

	lockdep_assert_held(&faultline.mutex);
	if (accelerator->pdev)
		return -EEXIST;
	err = add_device(accelerator);
	if (err)
		return err;
	err = consumer_add_device(accelerator);
	if (err) {
		remove_device(accelerator);
		return err;
	}
	spin_lock(&faultline.lock);
	accelerator->plugged = true;
	spin_unlock(&faultline.lock);
	return 0;
}

/*
 * What a driver does before its device goes: no new requests, those in the queue reported (or, when
 * the device vanished, thrown away), the kernel's workers through with them, then the rest.
 */
int unplug(struct accelerator *accelerator, bool surprise)
{
	lockdep_assert_held(&faultline.mutex);
	if (!accelerator->pdev)
		return -ENODEV;
	spin_lock(&faultline.lock);
	accelerator->plugged = false;
	if (surprise)
		groups_abort(accelerator, true);
	made_progress();
	spin_unlock(&faultline.lock);

	bonds_of_device_remove(accelerator);
	iommufd_give_back(accelerator);
	prq_drain();
	iopf_queue_flush_dev(&accelerator->pdev->dev);
	dma_unmap_all(accelerator);
	consumer_remove_device(accelerator);
	cancel_delayed_work_sync(&accelerator->deadlines);

	spin_lock(&faultline.lock);
	accelerator->next_deadline = U64_MAX;
	groups_abort(accelerator, false);
	spin_unlock(&faultline.lock);
	remove_device(accelerator);
	return 0;
}

int plug_start(void)
{
	int err = platform_driver_register(&driver);

	if (err)
		return err;
	mutex_lock(&faultline.mutex);
	for (u32 i = 0; !err && i < faultline.devices; i++)
		err = plug(&faultline.accelerators[i]);
	mutex_unlock(&faultline.mutex);
	if (err)
		plug_stop();
	return err;
}

void plug_stop(void)
{
	mutex_lock(&faultline.mutex);
	for (u32 i = 0; i < faultline.devices; i++)
		unplug(&faultline.accelerators[i], false);
	mutex_unlock(&faultline.mutex);
	platform_driver_unregister(&driver);
}
