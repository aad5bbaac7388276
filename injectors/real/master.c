// SPDX-License-Identifier: GPL-2.0
#include "injectors/real/master.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define EDU_ID	   0x11e81234u /* device and vendor */
#define CLASS_NVME 0x010802u
#define SPIN_NS	   200000u
#define NAP_NS	   50000u

static int master_read_number(const char *address, const char *name, unsigned long *value)
{
	char path[128], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", address, name);
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file)) {
		if (file)
			fclose(file);
		return failed(-ENODEV,
			      "%s: there is no such PCI device; `ls "
			      "/sys/bus/pci/devices` names them",
			      address);
	}
	fclose(file);
	*value = strtoul(text, NULL, 16);
	return 0;
}

int master_identify(const char *address, enum master_kind *kind)
{
	unsigned long vendor, device, class;
	int error = master_read_number(address, "vendor", &vendor);

	error = error ? error : master_read_number(address, "device", &device);
	error = error ? error : master_read_number(address, "class", &class);
	if (error)
		return error;
	if ((device << 16 | vendor) == EDU_ID)
		*kind = MASTER_EDU;
	else if (class == CLASS_NVME)
		*kind = MASTER_NVME;
	else
		return failed(-EOPNOTSUPP,
			      "%s (%04lx:%04lx, class %06lx) cannot be driven; accepted: QEMU's "
			      "edu (1234:11e8) and NVMe controllers (class 010802)",
			      address, vendor, device, class);
	return 0;
}

const char *master_kind_name(enum master_kind kind)
{
	return kind == MASTER_NVME ? "nvme" : "edu";
}

int master_start(struct master *master)
{
	return master->kind == MASTER_NVME ? nvme_start(master) : edu_start(master);
}

void master_stop(struct master *master)
{
	if (master->kind == MASTER_NVME && master->device.registers)
		nvme_stop(master);
}

int master_begin(struct master *master, const struct master_dma *dma)
{
	int error = master->kind == MASTER_NVME ? nvme_begin(master, dma) : edu_begin(master, dma);

	master->dmas += !error;
	return error;
}

int master_wait(struct master *master, bool *refused)
{
	int error = master->kind == MASTER_NVME ? nvme_wait(master, refused)
						: edu_wait(master, refused);

	master->refused += !error && *refused;
	return error;
}

int master_dma(struct master *master, const struct master_dma *dma, bool *refused)
{
	int error = master_begin(master, dma);

	return error ? error : master_wait(master, refused);
}

bool master_patience(__u64 since_ns, __u64 limit_ns)
{
	static const struct timespec nap = {.tv_nsec = NAP_NS};
	__u64 waited = monotonic_ns() - since_ns;

	if (waited > SPIN_NS)
		nanosleep(&nap, NULL);
	return waited < limit_ns;
}
