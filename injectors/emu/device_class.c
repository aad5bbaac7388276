// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/device_class.h"

#include <stdio.h>

const struct device_class *const device_classes[DEVICE_CLASSES] = {
#define DEVICE_CLASS(name) &name##_class,
#include "injectors/emu/device_classes.def"
#undef DEVICE_CLASS
};

const char *device_classes_text(bool (*of)(const struct device_class *class), const char *between,
				char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < DEVICE_CLASSES && used < size; i++)
		if (of(device_classes[i]))
			used += (size_t)snprintf(text + used, size - used, "%s%s",
						 used ? between : "", device_classes[i]->name);
	return text;
}

bool device_class_takes_workload(const struct device_class *class)
{
	return class->io != DEVICE_IO_NONE;
}

bool device_class_is_disk(const struct device_class *class)
{
	return class->io == DEVICE_IO_DISK;
}

bool device_class_takes_pasid(const struct device_class *class)
{
	return class->user_addresses;
}

bool device_class_has_frames(const struct device_class *class)
{
	return class->has_frames;
}

bool device_class_has_packets(const struct device_class *class)
{
	return class->has_packets;
}

bool device_class_has_rings(const struct device_class *class)
{
	return !class->has_packets;
}

bool device_class_has_network(const struct device_class *class)
{
	return class->networked != NULL;
}
