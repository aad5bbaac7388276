// SPDX-License-Identifier: GPL-2.0
/* Tenants whose guest is a process of its own: whether it has devices that are for such ones, and a program that is there. */
#include <errno.h>
#include <string.h>

#include "injectors/emu/hyv/guest_process.h"
#include "injectors/emu/hyv/hyv_layout.h"
#include "injectors/emu/rdma/rdma_settings.h"
#include "injectors/job/plan_private.h"
#include "injectors/net/listening.h"
#include "lib/base/program_words.h"
#include "lib/base/command.h"
#include "lib/base/fail.h"

static bool is_for_processes(const struct device_config *device)
{
	const struct rdma_settings *settings = (const void *)device->settings.bytes;

	return device_class_has_packets(device->class) && settings->mode > RDMA_MODE_NATIVE;
}

static bool has_ranks_or_verbs(const struct plan_builder *b, __u32 device)
{
	const struct machine_config *machine = &b->plan->machine;

	for (__u32 i = 0; i < machine->ranks_count; i++)
		if (machine->ranks[i].device == device || machine->ranks[i].peer == device)
			return true;
	return plan_has_verbs(b, device);
}

static int check_devices(const struct plan_builder *b, __u32 tenant)
{
	const struct machine_config *machine = &b->plan->machine;
	const struct tenant_config *config = &machine->tenants[tenant];
	const struct plan_origin *origin = &b->tenant_origins[tenant];
	char full[PLAN_DEVICE_NAME];
	__u32 count = 0;

	for (__u32 d = 0; d < machine->device_count; d++) {
		if (machine->devices[d].tenant != tenant || !is_for_processes(&machine->devices[d]))
			continue;
		count++;
		if (*config->program && has_ranks_or_verbs(b, d))
			return failed(
				-EBADMSG,
				"%s: [tenant %s] runs a program, and %s has [verbs] or [ranks]; "
				"accepted: either of them for a device",
				origin->where, origin->section,
				plan_device_name(b, d, full, sizeof(full)));
	}
	if (count && count <= GUEST_SOCKETS_MAX)
		return 0;
	return failed(-EBADMSG,
		      "%s: [tenant %s] process=own: %s has %u devices that a process can have; "
		      "accepted: 1 to %d with model=rdma and mode=hybrid, passthrough or odp",
		      origin->where, origin->section, config->name, count, GUEST_SOCKETS_MAX);
}

static int check_program(const struct plan_builder *b, const struct tenant_config *tenant,
			 const struct plan_origin *origin)
{
	struct program_words words;
	struct listening listening;
	char path[PATH_MAX];
	struct stat status;
	const char *key = "program";
	int err = program_words_split(tenant->program, NULL, &words);

	if (!err && *tenant->program_ready) {
		key = "program_ready";
		err = listening_parse(tenant->program_ready, &listening);
	}
	if (err) {
		failed_in(-EBADMSG, "%s: [tenant %s] %s", job_where(b->job, origin->where, key),
			  origin->section, key);
		return -EBADMSG;
	}
	if (command_search(words.text, path, &status) && S_ISREG(status.st_mode))
		return 0;
	return failed(-EBADMSG,
		      "%s: [tenant %s] program=%s: no such program; install it (Debian's packages "
		      "ibverbs-utils and perftest have those for verbs), or give its path",
		      job_where(b->job, origin->where, "program"), origin->section, words.text);
}

int plan_check_guests(const struct plan_builder *b)
{
	const struct machine_config *machine = &b->plan->machine;
	int err = 0;

	for (__u32 t = 0; !err && t < machine->tenant_count; t++) {
		const struct tenant_config *tenant = &machine->tenants[t];
		const struct plan_origin *origin = &b->tenant_origins[t];

		if (!tenant->own_process)
			continue;
		if (tenant->backend != MEMORY_PAGER)
			err = failed(
				-EBADMSG,
				"%s: [tenant %s] process=own: accepted: with backend=pager, whose "
				"memory is a file that another process can map",
				origin->where, origin->section);
		if (!err)
			err = check_devices(b, t);
		if (!err && *tenant->program)
			err = check_program(b, tenant, origin);
	}
	return err;
}
