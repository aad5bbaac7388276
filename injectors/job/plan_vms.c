// SPDX-License-Identifier: GPL-2.0
/* Tenants that are virtual machines: whether QEMU can be started so, and whether all that is said of them is for them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "injectors/emu/vm/arguments.h"
#include "injectors/job/plan_private.h"
#include "injectors/job/qemu_command.h"
#include "lib/base/command.h"
#include "lib/base/fail.h"

static bool has_vms(const struct plan_builder *b)
{
	for (__u32 t = 0; t < b->plan->machine.tenant_count; t++)
		if (plan_is_vm(b, t))
			return true;
	return false;
}

static const char *device_socket(const struct device_config *device)
{
	/* The settings are only looked at. */
	struct device_config *of = (struct device_config *)device;

	return of->class->vhost ? of->class->vhost(&of->settings)->socket : "";
}

static int check_vm_device(const struct plan_builder *b, __u32 index)
{
	const struct device_config *device = &b->plan->machine.devices[index];
	const struct plan_origin *origin = &b->device_origins[index];
	const char *key = device->huge			  ? "page_size"
			  : device->read_only_percent > 0 ? "read_only_percent"
			  : device->pasid		  ? "pasid"
							  : NULL;
	char full[PLAN_DEVICE_NAME], models[256];

	plan_device_name(b, index, full, sizeof(full));
	if (!vm_has_model(device->class))
		return failed(
			-EBADMSG,
			"%s: [device %s] model=%s: %s is a virtual machine's; accepted: model=%s",
			job_where(b->job, origin->where, "model"), origin->section,
			device->class->name, full,
			device_classes_text(vm_has_model, " or ", models, sizeof(models)));
	if (key)
		return failed(
			-EBADMSG,
			"%s: [device %s] %s: %s is a virtual machine's, whose guest decides that; "
			"accepted: the default",
			job_where(b->job, origin->where, key), origin->section, key, full);
	return 0;
}

/* A socket is one machine's, or one device's. */
static int check_vm_sockets(const struct plan_builder *b)
{
	const struct machine_config *machine = &b->plan->machine;
	__u32 count = machine->tenant_count + machine->device_count;

	for (__u32 i = 0; i < count; i++) {
		bool memory = i < machine->tenant_count;
		const char *socket =
			memory ? machine->tenants[i].vm.socket
			       : device_socket(&machine->devices[i - machine->tenant_count]);
		const struct plan_origin *origin =
			memory ? &b->tenant_origins[i]
			       : &b->device_origins[i - machine->tenant_count];

		for (__u32 k = 0; *socket && k < i; k++) {
			const char *other =
				k < machine->tenant_count
					? machine->tenants[k].vm.socket
					: device_socket(
						  &machine->devices[k - machine->tenant_count]);

			if (!strcmp(socket, other))
				return failed(
					-EBADMSG,
					"%s: [%s %s] socket=%s is another's, too; accepted: one "
					"for each tenant and each device, or none",
					job_where(b->job, origin->where, "socket"),
					memory ? "tenant" : "device", origin->section, socket);
		}
	}
	return 0;
}

/* What is added must not be there already. */
static int check_added(const char *const *given, unsigned int count)
{
	static const struct {
		const char *option, *word, *why;
	} added[] = {
		{"m", "", "the size of the guest's memory is memory= of its tenant"},
		{"object", "memory-backend-", "the guest's memory is added"},
		{"machine", "memory-backend=", "the guest's memory is added"},
		{"daemonize", "", "nobody would see it end"},
		{"numa", "memdev=", "the guest's memory is added, as a whole"},
		{"chardev", "id=" VM_CHARDEV_PREFIX, "the chardevs of the job's devices are added"},
	};

	const size_t options = sizeof(added) / sizeof(added[0]);

	/* Each word with the one behind it: an option may be there more than once. */
	for (size_t at = 0; at < count * options; at++) {
		const unsigned int word = (unsigned int)(at / options);
		const size_t i = at % options;
		const char *value =
			qemu_words_value(given + word, count - word > 1 ? 2 : 1, added[i].option);

		if (value && strstr(value, added[i].word))
			return failed(-EINVAL, "-%s%s%s: %s; accepted: without it", added[i].option,
				      *added[i].word ? " " : "", *added[i].word ? value : "",
				      added[i].why);
	}
	return 0;
}

static int check_qemu_arguments(const struct plan_builder *b, __u32 tenant)
{
	const struct tenant_config *config = &b->plan->machine.tenants[tenant];
	const struct plan_origin *origin = &b->tenant_origins[tenant];
	const char *where = job_where(b->job, origin->where, "qemu"), *program, *machine;
	const char *const *given;
	struct program_words words;
	char *argv[PROGRAM_WORDS + 1], path[PATH_MAX];
	struct vm_arguments said;
	struct stat status;
	unsigned int first, count;
	int err;

	if (qemu_words_split(config, &words, argv, &program, &first)) {
		failed_in(-EBADMSG, "%s: [tenant %s] qemu", where, origin->section);
		return -EBADMSG;
	}
	given = (const char *const *)argv + first;
	count = words.count - first;
	err = check_added(given, count) ?: vm_arguments_check(given, count, &said);
	if (err) {
		failed_in(-EBADMSG, "%s: [tenant %s] qemu", where, origin->section);
		return -EBADMSG;
	}
	machine = qemu_words_value(given, count, "machine");
	if (config->vm.iommu && machine && !strstr(machine, "q35"))
		return failed(-EBADMSG,
			      "%s: [tenant %s] qemu: -machine %s: viommu=yes needs a PCIe root; "
			      "accepted: -machine q35",
			      where, origin->section, machine);
	if (command_search(program, path, &status) && S_ISREG(status.st_mode))
		return 0;
	return failed(-EBADMSG,
		      "%s: [tenant %s] qemu: %s: no such program; Debian's package "
		      "qemu-system-x86 has " QEMU_PROGRAM ", or give another's path",
		      where, origin->section, program);
}

/* Somebody else can find only what has a path that he knows. */
static int check_foreign(const struct plan_builder *b, __u32 tenant)
{
	const struct machine_config *machine = &b->plan->machine;
	const struct plan_origin *origin = &b->tenant_origins[tenant];

	if (!*machine->tenants[tenant].vm.socket)
		return failed(
			-EBADMSG,
			"%s: [tenant %s] backend=vm; accepted: with qemu=, or with socket= for a "
			"virtual machine that somebody else starts",
			origin->where, origin->section);
	for (__u32 d = 0; d < machine->device_count; d++)
		if (machine->devices[d].tenant == tenant && !*device_socket(&machine->devices[d]))
			return failed(
				-EBADMSG,
				"%s: [device %s] of a virtual machine that somebody else starts; "
				"accepted: with socket=, or qemu= of [tenant %s]",
				b->device_origins[d].where, b->device_origins[d].section,
				origin->section);
	return 0;
}

static int check_vm_tenant(const struct plan_builder *b, __u32 tenant)
{
	const struct machine_config *machine = &b->plan->machine;
	const struct tenant_config *config = &machine->tenants[tenant];
	const struct plan_origin *origin = &b->tenant_origins[tenant];
	int err = 0;

	if (config->own_process)
		return failed(
			-EBADMSG,
			"%s: [tenant %s] process=own: accepted: with backend=pager; a virtual "
			"machine is a process of its own already",
			job_where(b->job, origin->where, "process"), origin->section);
	for (__u32 d = 0; !err && d < machine->device_count; d++)
		if (machine->devices[d].tenant == tenant)
			err = check_vm_device(b, d);
	if (!err)
		err = *config->vm.arguments ? check_qemu_arguments(b, tenant)
					    : check_foreign(b, tenant);
	return err;
}

/* Its guest drives a virtual machine's devices. */
static int driven(const struct plan_builder *b, __u32 device, const char *section)
{
	const struct device_config *config = &b->plan->machine.devices[device];
	char full[PLAN_DEVICE_NAME];

	if (!plan_is_vm(b, config->tenant))
		return 0;
	return failed(
		-EBADMSG,
		"%s: a [%s] is for %s, which the guest of a virtual machine drives; accepted: "
		"device=, a pattern over the other devices, or none",
		b->device_origins[device].where, section,
		plan_device_name(b, device, full, sizeof(full)));
}

static int check_undriven(const struct plan_builder *b)
{
	const struct machine_config *machine = &b->plan->machine;
	int err = 0;

	for (__u32 i = 0; !err && i < machine->workload_count; i++)
		err = driven(b, machine->workloads[i].device, "workload");
	for (__u32 i = 0; !err && i < machine->kvstore_count; i++)
		err = driven(b, machine->kvstores[i].device, "kvstore");
	/* What is at the other end of its wire is ours. */
	for (__u32 i = 0; !err && i < b->plan->program_count; i++)
		if (b->plan->programs[i].config.side == NETWORK_GUEST)
			err = driven(b, b->plan->programs[i].device, "program with side=guest");
	return err;
}

/* The page of a virtual machine that the reclaimer takes so is gone from its devices only. */
static int check_reclaim_kind(const struct plan_builder *b)
{
	const struct machine_config *machine = &b->plan->machine;

	if (!machine->reclaim_percent || machine->reclaim_kind == EVICT_MAJOR)
		return 0;
	for (__u32 d = 0; d < machine->device_count; d++)
		if (machine->devices[d].lookup != LOOKUP_UFFD)
			return 0;
	return failed(
		-EBADMSG,
		"%s: [machine] reclaim_kind=minor takes pages from devices that look, and all "
		"have lookup=uffd; accepted: major",
		job_where(b->job, b->job->machine.where, "reclaim_kind"));
}

/* Nobody sees which pages a virtual machine's CPUs have used: what its devices have, or came back, is all that is known. */
static int check_unseen(const struct plan_builder *b)
{
	const struct machine_config *machine = &b->plan->machine;

	if (machine->memory_limit)
		return failed(
			-EBADMSG,
			"%s: [machine] memory_limit goes by what was used last, which of a virtual "
			"machine nobody sees; accepted: 0, and reclaim_percent=",
			job_where(b->job, b->job->machine.where, "memory_limit"));
	for (__u32 d = 0; machine->reclaim_order == RECLAIM_IDLE && d < machine->device_count; d++)
		if (machine->devices[d].lookup == LOOKUP_UFFD)
			return failed(
				-EBADMSG,
				"%s: [machine] reclaim_order=idle goes by what devices look up, and "
				"%s has lookup=uffd; accepted: random, or another lookup",
				job_where(b->job, b->job->machine.where, "reclaim_order"),
				machine->devices[d].name);
	return 0;
}

int plan_check_vms(const struct plan_builder *b)
{
	int err = has_vms(b) ? check_unseen(b) ?: check_reclaim_kind(b) ?: check_vm_sockets(b) ?: check_undriven(b) : 0;

	for (__u32 t = 0; !err && t < b->plan->machine.tenant_count; t++)
		if (plan_is_vm(b, t))
			err = check_vm_tenant(b, t);
	return err;
}
