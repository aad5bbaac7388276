// SPDX-License-Identifier: GPL-2.0
/* Tenants that are virtual machines: the sockets at which they find their memory and their devices, and what has become of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "injectors/emu/machine_private.h"
#include "lib/base/fail.h"
#include "lib/base/run_directory.h"

/* One of our own, by which what a killed machine leaves is found again (registry_socket.h). */
static int own_socket(char socket[VM_SOCKET_PATH], char kind, __u32 index)
{
	int directory = run_directory_open(true);
	int length = snprintf(socket, VM_SOCKET_PATH, "%s/%d" RUN_SOCKET_INFIX "%c%u",
			      run_directory(), getpid(), kind, index);

	if (directory < 0)
		return directory;
	close(directory);
	return length < VM_SOCKET_PATH
		       ? 0
		       : failed(-ENAMETOOLONG,
				"%s: sockets of virtual machines have paths of up to %d bytes; accepted: "
				"a shorter " RUN_DIRECTORY_VAR ", or socket= of tenant and device",
				run_directory(), VM_SOCKET_PATH - 1);
}

int machine_build_vm(struct machine *machine, __u32 index)
{
	struct tenant *tenant = &machine->tenants[index];
	char *socket = tenant->config.vm.socket;
	struct vm_handover_config config = {.memory = tenant->memory,
					    .socket = socket,
					    .tenant = tenant->config.name,
					    .plug_bytes = tenant->config.vm.plug_bytes};
	int error = 0;

	if (tenant->config.backend != MEMORY_VM)
		return 0;
	if (!*socket)
		error = own_socket(socket, 'm', index);
	if (error)
		return failed_in(error, "tenant %s", tenant->config.name);
	return vm_handover_create(&tenant->handover, &config);
}

int machine_build_vm_socket(struct machine *machine, __u32 index)
{
	struct machine_device *device = &machine->devices[index];
	struct vhost_settings *vhost;

	if (machine->tenants[device->config.tenant].config.backend != MEMORY_VM)
		return 0;
	if (!device->config.class->vhost)
		return failed(-EINVAL, "a virtual machine has no device of model %s",
			      device->config.class->name);
	vhost = device->config.class->vhost(&device->config.settings);
	return *vhost->socket ? 0 : own_socket(vhost->socket, 'd', index);
}

const char *machine_vm_socket(const struct machine *machine, __u32 tenant)
{
	return machine->tenants[tenant].config.vm.socket;
}

const char *machine_device_socket(struct machine *machine, __u32 device)
{
	struct device_config *config = &machine->devices[device].config;

	return config->class->vhost ? config->class->vhost(&config->settings)->socket : "";
}

void machine_vm_status(const struct machine *machine, __u32 tenant, struct vm_status *status)
{
	vm_handover_status(machine->tenants[tenant].handover, status);
}

void machine_vm_process(struct machine *machine, __u32 tenant, const char *name, pid_t pid)
{
	struct tenant *of = &machine->tenants[tenant];

	snprintf(of->vm_name, sizeof(of->vm_name), "%s", name);
	of->vm_pid = pid;
}

void machine_keep_vhost(struct machine_device *device)
{
	const struct device_class *class = device->config.class;
	struct vhost *vhost =
		device->model && class->vhost_device ? class->vhost_device(device->model) : NULL;

	if (vhost)
		vhost_stats(vhost, &device->vhost);
}

void machine_add_vm_device(struct machine_totals *totals, const struct machine_device *device,
			   const struct port_stats *port)
{
	const struct device_class *class = device->config.class;

	if (!class->vhost ||
	    !*class->vhost((struct device_settings *)&device->config.settings)->socket)
		return;
	totals->vm_queues += port->queues;
	totals->vm_open_ns += port->open_ns;
	totals->vhost.parked += device->vhost.parked;
	totals->vhost.resubmitted += device->vhost.resubmitted;
	totals->vhost.connections += device->vhost.connections;
	totals->vhost.refused += device->vhost.refused;
	totals->vhost.broken += device->vhost.broken;
	totals->vhost.untranslated += device->vhost.untranslated;
	totals->vhost.unmapped += device->vhost.unmapped;
	totals->vhost.taken_back += device->vhost.taken_back;
	totals->vhost.dropped += device->vhost.dropped;
}

void machine_tenant_text(const struct tenant *tenant, char *text, size_t size)
{
	if (tenant->vm_pid)
		snprintf(text, size, "%.44s[%d]", tenant->vm_name, tenant->vm_pid);
	else
		snprintf(text, size, "%s", tenant->config.name);
}

/* It goes on after the machine only until its library sees that nobody serves it. */
void machine_close_vms(struct machine *machine)
{
	for (__u32 i = 0; machine->tenants && i < machine->config.tenant_count; i++) {
		vm_handover_destroy(machine->tenants[i].handover);
		machine->tenants[i].handover = NULL;
	}
}
