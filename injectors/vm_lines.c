// SPDX-License-Identifier: GPL-2.0
#include "injectors/vm_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "injectors/cluster/campaign.h"
#include "injectors/job/campaign.h"
#include "injectors/job/preload_library.h"
#include "injectors/job/qemu_command.h"
#include "injectors/vm/handover.h"
#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/cli/cli.h"

struct vm_lines {
	struct campaign_options options;
	bool print_arguments;
};

static int check_vm_lines(void *input)
{
	const struct vm_lines *lines = input;

	if (!lines->options.job)
		return failed(-EINVAL,
			      "no job file; accepted: --print-arguments and a job with backend=vm");
	if (!lines->print_arguments)
		return failed(-EINVAL, "nothing to do; accepted: --print-arguments");
	return 0;
}

/* Sockets of the machine's own have paths that are known only once it runs. */
static int find_sockets(const struct machine_config *machine, __u32 tenant, const char **sockets)
{
	const char *name = machine->tenants[tenant].name;

	if (!*machine->tenants[tenant].vm.socket)
		return failed(
			-EBADMSG,
			"[tenant %s] has a socket that nobody else knows; accepted: with socket=",
			name);
	for (__u32 d = 0; d < machine->device_count; d++) {
		struct device_config *device = &machine->devices[d];

		if (device->tenant != tenant)
			continue;
		sockets[d] = device->class->vhost(&device->settings)->socket;
		if (!*sockets[d])
			return failed(
				-EBADMSG,
				"[device %s] of tenant %s has a socket that nobody else knows; "
				"accepted: with socket=",
				device->name, name);
	}
	return 0;
}

static int print_tenant(const struct machine_config *machine, __u32 tenant, const char **sockets)
{
	const struct qemu_command_config config = {
		.machine = machine, .tenant = tenant, .sockets = sockets, .reconnect = true};
	struct qemu_command *command;
	char library[PATH_MAX], *resolved;
	int err = find_sockets(machine, tenant, sockets)
			  ?: preload_library_find(VM_LIBRARY_NAME, "virtual machines", library)
			  ?: qemu_command_build(&command, &config);

	if (err)
		return err;
	resolved = realpath(library, NULL);
	qemu_command_print(command, resolved ?: library, machine->tenants[tenant].vm.socket,
			   stdout);
	free(resolved);
	qemu_command_free(command);
	return 0;
}

static int print_point(const struct campaign *campaign, size_t index, __u32 *count)
{
	struct campaign_point point;
	const struct machine_config *machine;
	const char **sockets;
	char name[512];
	int err = campaign_point_load(&point, campaign, index);

	if (err)
		return err;
	machine = &point.plan.machine;
	sockets = calloc(machine->device_count, sizeof(*sockets));
	if (!sockets)
		err = failed(-ENOMEM, "no memory for sockets");
	sweep_point_name(&campaign->sweep, index, name, sizeof(name));
	for (__u32 t = 0; !err && t < machine->tenant_count; t++) {
		if (machine->tenants[t].backend != MEMORY_VM)
			continue;
		/* A single line goes into a command as it is. */
		if (machine->tenant_count > 1 || *name)
			printf("# tenant %s%s%s\n", printable_of(machine->tenants[t].name).text,
			       *name ? " at " : "", printable_of(name).text);
		err = print_tenant(machine, t, sockets);
		(*count)++;
	}
	free(sockets);
	campaign_point_free(&point);
	return err;
}

static int print_lines(const struct vm_lines *lines)
{
	struct campaign campaign;
	struct job_text *text;
	__u32 count = 0;
	int err = campaign_read(&text, &lines->options);

	if (!err && cluster_campaign_is(text)) {
		job_text_free(text);
		return failed(-EBADMSG, "%s: has [host] sections; accepted: a job with backend=vm",
			      lines->options.job);
	}
	if (!err)
		err = campaign_load(&campaign, text, &lines->options);
	if (err)
		return err;
	for (size_t i = 0; !err && i < campaign.sweep.points; i++)
		err = print_point(&campaign, i, &count);
	if (err == -EBADMSG)
		failed_in(err, "%s", campaign.text->path);
	if (!err && !count)
		err = failed(-EBADMSG,
			     "%s: has no virtual machine; accepted: a tenant with backend=vm",
			     campaign.text->path);
	campaign_free(&campaign);
	return err;
}

int verb_vm(int argc, char **argv)
{
	static const struct cli_option options[] = {
		{"print-arguments", 0, NULL,
		 "Print, for each virtual machine of the job, the line of a shell that starts it",
		 CLI_FLAG, CLI_FIELD(struct vm_lines, print_arguments)},
		{0},
	};
	static const struct cli_table tables[] = {
		{options},
		{job_override_options, offsetof(struct vm_lines, options.overrides)},
		{0}};
	static const struct cli cli = {
		.tables = tables,
		.arguments = "JOB",
		.argument = offsetof(struct vm_lines, options.job),
		.check = check_vm_lines,
		.about =
			"Tells how somebody else starts the virtual machines of a job (backend = vm), such "
			"as a management layer: environment, QEMU's arguments for the guest's memory and "
			"its devices. `run` waits for them at the "
			"sockets that the job names. More arguments are added behind the line's.\v"
			"EXAMPLES:\n"
			"  faultline-inject vm --print-arguments job.ini\n"
			"  sudo faultline-inject run job.ini &\n"
			"  sudo sh -c \"$(faultline-inject vm --print-arguments job.ini) -nographic "
			"-kernel linux -initrd root -append console=ttyS0\"\n",
	};
	struct vm_lines lines = {0};
	int err;

	cli_parse(&cli, argc, argv, &lines);
	err = print_lines(&lines);
	return err ? failure_report(err) : EXIT_OK;
}
