// SPDX-License-Identifier: GPL-2.0
/* Which virtual machines an [inject NAME] is for that QEMU carries out, and whether it can be done to them. */
#include <errno.h>
#include <stdlib.h>

#include "injectors/job/plan_private.h"
#include "lib/base/fail.h"

/* Whose QEMU is ours, or the job says nothing of how to tell it anything. */
static int check_machine_of(const struct plan_builder *b, const struct job_injection *injection,
			    __u32 tenant)
{
	const struct tenant_config *config = &b->plan->machine.tenants[tenant];
	const char *why = config->backend != MEMORY_VM ? "is no virtual machine"
			  : !*config->vm.arguments     ? "has a QEMU that somebody else starts"
						       : NULL;

	if (!why)
		return 0;
	return failed(-EBADMSG,
		      "%s: [inject %s] action=%s on tenant %s, which %s; accepted: tenant=, a "
		      "pattern over tenants with backend=vm and qemu=",
		      job_where(b->job, injection->where, "tenant"), injection->name,
		      injection_name(injection->kind), config->name, why);
}

static int check_left(const struct plan_builder *b, const struct job_injection *injection,
		      __u32 tenant)
{
	const struct tenant_config *config = &b->plan->machine.tenants[tenant];

	if (injection->kind != INJECTION_BALLOON || injection->memory < config->memory)
		return 0;
	return failed(-EBADMSG,
		      "%s: [inject %s] memory=%llu: tenant %s has %llu bytes; accepted: less than "
		      "that",
		      job_where(b->job, injection->where, "memory"), injection->name,
		      injection->memory, config->name, config->memory);
}

/* What a balloon leaves its guest would be of another memory before and after. */
static int check_unplugged(const struct plan_builder *b, const struct job_injection *injection,
			   __u32 tenant)
{
	if (injection->kind != INJECTION_BALLOON || !b->plan->machine.tenants[tenant].vm.plug_bytes)
		return 0;
	return failed(-EBADMSG,
		      "%s: [inject %s] action=balloon on tenant %s, which has plug=; accepted: one "
		      "of the two",
		      injection->where, injection->name, b->plan->machine.tenants[tenant].name);
}

/* Counted from different instants they may be at the same time. */
static bool same_time(const struct job_injection *one, const struct job_injection *other)
{
	if (one->from_guests != other->from_guests)
		return true;
	return one->start_ns < other->start_ns + other->duration_ns &&
	       other->start_ns < one->start_ns + one->duration_ns;
}

/* The end of one would undo the other. */
static int check_one_at_a_time(const struct plan_builder *b, const struct job_injection *injection,
			       __u32 tenant)
{
	for (__u32 i = 0; injection->enabled && i < b->plan->injection_count; i++) {
		const struct plan_injection *other = &b->plan->injections[i];

		if (other->job->kind != injection->kind || !same_time(other->job, injection))
			continue;
		for (__u32 t = 0; t < other->tenant_count; t++)
			if (other->tenants[t] == tenant)
				return failed(
					-EBADMSG,
					"%s: [inject %s] action=%s on tenant %s while [inject %s] does "
					"the same to it; accepted: one after the other",
					injection->where, injection->name,
					injection_name(injection->kind),
					b->plan->machine.tenants[tenant].name, other->job->name);
	}
	return 0;
}

/* QEMU (7.2) loses a device that goes as it is set up again, or ends. */
static int check_restarts(const struct plan_builder *b, const struct job_injection *injection,
			  __u32 tenant)
{
	const struct machine_config *machine = &b->plan->machine;

	if (injection->kind != INJECTION_SUSPEND || !injection->enabled)
		return 0;
	for (__u32 i = 0; i < b->job->injection_count; i++) {
		const struct job_injection *other = &b->job->injections[i];

		if (other->kind != INJECTION_DEVICE_RESTART || !other->enabled ||
		    !same_time(other, injection))
			continue;
		for (__u32 d = 0; d < machine->device_count; d++)
			if (machine->devices[d].tenant == tenant &&
			    plan_device_fits(b, other->device, d))
				return failed(
					-EBADMSG,
					"%s: [inject %s] action=suspend on tenant %s while [inject %s] "
					"restarts its devices: QEMU loses one that goes as it is set up "
					"again; accepted: one after the other",
					injection->where, injection->name,
					machine->tenants[tenant].name, other->name);
	}
	return 0;
}

static int no_such_machine(const struct plan_builder *b, const struct job_injection *injection)
{
	/* There was one in the whole machine. */
	if (b->part)
		return 0;
	return failed(-EBADMSG,
		      "%s: [inject %s] tenant=%s matches none of %u tenants (the first is %s); "
		      "accepted: a name, or a pattern over tenants",
		      job_where(b->job, injection->where, "tenant"), injection->name,
		      injection->tenant, b->plan->machine.tenant_count,
		      b->plan->machine.tenants[0].name);
}

int plan_vm_injection(struct plan_builder *b, const struct job_injection *injection, __u32 id)
{
	const struct machine_config *machine = &b->plan->machine;
	struct plan_injection *planned;
	__u32 matched = 0;
	int err = 0;

	for (__u32 t = 0; !err && t < machine->tenant_count; t++) {
		if (!plan_tenant_fits(b, injection->tenant, t))
			continue;
		matched++;
		err = check_machine_of(b, injection, t) ?: check_left(b, injection, t) ?: check_unplugged(b, injection, t) ?: check_one_at_a_time(b, injection, t) ?: check_restarts(b, injection, t);
	}
	if (err)
		return err;
	if (!matched)
		return no_such_machine(b, injection);
	if (!injection->enabled)
		return 0;
	err = plan_injection_add(b, injection, id, &planned);
	if (err)
		return err;
	planned->tenants = calloc(matched, sizeof(*planned->tenants));
	if (!planned->tenants)
		return failed(-ENOMEM, "no memory for %u virtual machines", matched);
	for (__u32 t = 0; t < machine->tenant_count; t++)
		if (plan_tenant_fits(b, injection->tenant, t))
			planned->tenants[planned->tenant_count++] = t;
	for (__u32 d = 0; d < machine->device_count; d++)
		if (plan_tenant_fits(b, injection->tenant, machine->devices[d].tenant))
			plan_injection_choose(b, planned, d);
	return 0;
}
