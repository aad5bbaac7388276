/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The command line of a virtual machine's QEMU: what the job says, and before it the guest's memory and its devices.
 *
 *	-object memory-backend-memfd,id=faultline,size=...,share=on -machine memory-backend=faultline
 *	-chardev socket,id=faultline-DEVICE,path=... -device vhost-user-blk-pci,chardev=faultline-DEVICE,...
 *	-chardev ... -netdev vhost-user,id=faultline-DEVICE-net,chardev=faultline-DEVICE -device virtio-net-pci,...
 *
 * With plug a slot for it: -m size=...,slots=1,maxmem=...
 *
 * Where an injection, or plug, needs them, a monitor at an inherited descriptor, and a balloon:
 *
 *	-chardev socket,id=faultline-monitor,fd=5 -mon chardev=faultline-monitor,mode=control
 *	-device virtio-balloon-pci,deflate-on-oom=on
 *
 * With viommu an intel-iommu in a q35, and a root port above each device, as ATS needs one.
 */
#ifndef FAULTLINE_JOB_QEMU_COMMAND_H
#define FAULTLINE_JOB_QEMU_COMMAND_H

#include <limits.h>
#include <stdio.h>

#include "injectors/emu/machine.h"
#include "lib/base/program_words.h"

#define QEMU_WORDS_MAX 512
#define QEMU_PROGRAM   "qemu-system-x86_64"

struct qemu_command {
	char *argv[QEMU_WORDS_MAX + 1]; /* argv[0]: the program, as written */
	unsigned int count;
	unsigned int given;	     /* words of the job's, the last ones */
	bool kvm;		     /* they ask for it */
	struct program_words words;  /* of the job */
	char *added[QEMU_WORDS_MAX]; /* ours, each to be freed */
	unsigned int added_count;
};

struct qemu_command_config {
	const struct machine_config *machine;
	__u32 tenant;
	/* Where each of the tenant's devices speaks; of all devices of the machine, by index. */
	const char *const *sockets;
	bool console; /* standard output becomes the guest's console, where the job says nothing of one */
	bool reconnect; /* devices are connected again when they have gone and come back */
	bool monitor;	/* that speaks QMP at descriptor VM_PROCESS_MONITOR (vm_process.h) */
	bool balloon;	/* the guest has one, unless the job has it already */
};

/* -EINVAL with a sentence: the job's words, or too many of them; -ENOMEM. */
int qemu_command_build(struct qemu_command **command, const struct qemu_command_config *config);
/* For a shell: variables, program, arguments, quoted where needed, and the line's end. */
void qemu_command_print(const struct qemu_command *command, const char *library, const char *socket,
			FILE *file);
void qemu_command_free(struct qemu_command *command);

/* Of a tenant's words, the first argument's place in `argv`, whose program is *program. -EINVAL with a sentence. */
int qemu_words_split(const struct tenant_config *tenant, struct program_words *words,
		     char *argv[PROGRAM_WORDS + 1], const char **program, unsigned int *first);

/* What stands behind the last of this option ("name": -name and --name; "machine": -M, too), "": nothing; NULL: it is not there. */
const char *qemu_words_value(const char *const *words, unsigned int count, const char *option);

/* Whether QEMU has a device for this model. */
bool vm_has_model(const struct device_class *class);

#endif
