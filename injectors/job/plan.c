// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/job/plan_private.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"

static void member_name(char *out, size_t size, const char *name, __u32 count, __u32 index)
{
	if (count)
		snprintf(out, size, "%.48s%u", name, index);
	else
		snprintf(out, size, "%.48s", name);
}

/* A pattern names a whole section, or is matched against the member's own name. */
static bool plan_fits(const char *pattern, const char *section, const char *name)
{
	return !strcmp(pattern, section) || !fnmatch(pattern, name, 0);
}

bool plan_tenant_fits(const struct plan_builder *b, const char *pattern, __u32 tenant)
{
	return plan_fits(pattern, b->tenant_origins[tenant].section,
			 b->plan->machine.tenants[tenant].name);
}

const char *plan_device_name(const struct plan_builder *b, __u32 device, char *out, size_t size)
{
	const struct device_config *config = &b->plan->machine.devices[device];

	snprintf(out, size, "%s/%s", b->plan->machine.tenants[config->tenant].name, config->name);
	return out;
}

bool plan_device_fits(const struct plan_builder *b, const char *pattern, __u32 device)
{
	char full[JOB_NAME * 2 + 2];

	return plan_fits(pattern, b->device_origins[device].section,
			 plan_device_name(b, device, full, sizeof(full)));
}

int plan_no_device(const struct plan_builder *b, const char *where, const char *pattern)
{
	const char *names[256], *near;
	char first[JOB_NAME * 2 + 2];
	size_t count = 0;

	/* There was one in the whole machine. */
	if (b->part)
		return 0;
	for (__u32 i = 0; i < b->job->device_count && count < 256; i++)
		names[count++] = b->job->devices[i].name;
	near = nearest_word(pattern, names, count);
	return failed(-EBADMSG,
		      "%s: device=%s matches none of %u devices (the first is %s); accepted: "
		      "a name, or a pattern over TENANT/DEVICE%s%s%s",
		      job_where(b->job, where, "device"), pattern, b->plan->machine.device_count,
		      plan_device_name(b, 0, first, sizeof(first)), near ? "; did you mean " : "",
		      near ? near : "", near ? "?" : "");
}

int plan_model_refused(const struct plan_builder *b, __u32 device,
		       const struct plan_section *section, const char *lacks,
		       bool (*accepted)(const struct device_class *class))
{
	char models[256], full[PLAN_DEVICE_NAME];

	return failed(
		-EBADMSG,
		"%s: [%s %s] device=%s: %s has model=%s, which %s; accepted: devices with model=%s",
		section->where, section->type, section->name, section->device,
		plan_device_name(b, device, full, sizeof(full)),
		b->plan->machine.devices[device].class->name, lacks,
		device_classes_text(accepted, " or ", models, sizeof(models)));
}

static int no_tenant(const struct plan_builder *b, __u32 total)
{
	char first[JOB_NAME];

	member_name(first, sizeof(first), b->job->tenants[0].name, b->job->tenants[0].count, 0);
	return failed(-EBADMSG,
		      "%s: tenants=%s of [machine] matches none of %u tenants (the first is %s)",
		      b->job->machine.where, b->job->machine.tenants, total, first);
}

static int expand_tenants(struct plan_builder *b)
{
	struct machine_config *machine = &b->plan->machine;
	__u32 total = 0;

	for (__u32 i = 0; i < b->job->tenant_count; i++)
		total += b->job->tenants[i].count ? b->job->tenants[i].count : 1;
	if (total > MACHINE_TENANTS_MAX)
		return failed(-EBADMSG, "%s: %u tenants in all; accepted: at most %d",
			      b->job->tenants[b->job->tenant_count - 1].where, total,
			      MACHINE_TENANTS_MAX);
	machine->tenants = calloc(total, sizeof(*machine->tenants));
	b->tenant_origins = calloc(total, sizeof(*b->tenant_origins));
	b->tenant_devices = calloc(total, sizeof(*b->tenant_devices));
	if (!machine->tenants || !b->tenant_origins || !b->tenant_devices)
		return failed(-ENOMEM, "no memory for %u tenants", total);
	for (__u32 i = 0; i < b->job->tenant_count; i++) {
		const struct job_tenant *tenant = &b->job->tenants[i];

		for (__u32 k = 0; k < (tenant->count ? tenant->count : 1); k++) {
			struct tenant_config *config = &machine->tenants[machine->tenant_count];

			*config = tenant->config;
			config->own_process = tenant->own_process;
			config->memory += config->vm.plug_bytes;
			member_name(config->name, sizeof(config->name), tenant->name, tenant->count,
				    k);
			if (b->part &&
			    !plan_fits(b->job->machine.tenants, tenant->name, config->name))
				continue;
			b->tenant_origins[machine->tenant_count++] =
				(struct plan_origin){tenant->name, tenant->where};
		}
	}
	return machine->tenant_count ? 0 : no_tenant(b, total);
}

/* What is consented to and written is a file, not a link that may point elsewhere a moment later. */
static void resolve_file(struct device_config *config)
{
	struct device_file *file = device_given_file(config);
	char resolved[PATH_MAX];

	if (file && file->writable && realpath(file->path, resolved) &&
	    strlen(resolved) < sizeof(file->path))
		strcpy(file->path, resolved);
}

static int add_devices(struct plan_builder *b, const struct job_device *device, __u32 tenant)
{
	struct machine_config *machine = &b->plan->machine;
	__u32 count = device->count ? device->count : 1, total = machine->device_count + count;

	if (total > MACHINE_DEVICES_MAX)
		return failed(-EBADMSG,
			      "%s: [device %s] makes %u devices in all; accepted: at most "
			      "%d",
			      device->where, device->name, total, MACHINE_DEVICES_MAX);
	if (!array_grow(&machine->devices, &b->device_room, total, sizeof(*machine->devices),
			ARRAY_PLAIN) ||
	    !array_grow(&b->device_origins, &b->origin_room, total, sizeof(*b->device_origins),
			ARRAY_PLAIN))
		return failed(-ENOMEM, "no memory for %u devices", total);
	for (__u32 k = 0; k < count; k++) {
		struct device_config *config = &machine->devices[machine->device_count];

		*config = device->config;
		config->tenant = tenant;
		resolve_file(config);
		b->tenant_devices[tenant]++;
		member_name(config->name, sizeof(config->name), device->name, device->count, k);
		b->device_origins[machine->device_count++] =
			(struct plan_origin){device->name, device->where};
	}
	return 0;
}

static int expand_device(struct plan_builder *b, const struct job_device *device)
{
	struct machine_config *machine = &b->plan->machine;
	__u32 before = machine->device_count;
	int err = 0;

	for (__u32 t = 0; !err && t < machine->tenant_count; t++)
		if (plan_fits(device->tenant, b->tenant_origins[t].section,
			      machine->tenants[t].name))
			err = add_devices(b, device, t);
	if (!err && machine->device_count == before && !b->part)
		err = failed(-EBADMSG,
			     "%s: tenant=%s matches none of %u tenants (the first is %s); "
			     "accepted: a tenant's name, or a pattern over them",
			     job_where(b->job, device->where, "tenant"), device->tenant,
			     machine->tenant_count, machine->tenants[0].name);
	return err;
}

static int same_name(const struct plan_origin *a, const struct plan_origin *b, const char *name)
{
	return failed(-EBADMSG,
		      "%s: [%s] makes %s, and so does [%s] at %s; accepted: different names",
		      b->where, b->section, name, a->section, a->where);
}

/* Counts and plain names may meet: [device disk0] beside [device disk] with count=2. */
static int plan_check_names(const struct plan_builder *b)
{
	const struct machine_config *machine = &b->plan->machine;

	for (__u32 i = 0; i < machine->tenant_count; i++)
		for (__u32 j = 0; j < i; j++)
			if (!strcmp(machine->tenants[i].name, machine->tenants[j].name))
				return same_name(&b->tenant_origins[j], &b->tenant_origins[i],
						 machine->tenants[i].name);
	for (__u32 i = 0; i < machine->device_count; i++)
		for (__u32 j = 0; j < i; j++)
			if (machine->devices[i].tenant == machine->devices[j].tenant &&
			    !strcmp(machine->devices[i].name, machine->devices[j].name))
				return same_name(&b->device_origins[j], &b->device_origins[i],
						 machine->devices[i].name);
	return 0;
}

/* What a device asks of its tenant and its machine. */
static int plan_check_device(const struct plan_builder *b, __u32 index)
{
	const struct machine_config *machine = &b->plan->machine;
	const struct device_config *device = &machine->devices[index];
	const cpu_set_t *cpus = &machine->tenants[device->tenant].cpus;
	char full[JOB_NAME * 2 + 2];

	plan_device_name(b, index, full, sizeof(full));
	if (device->huge && !machine->premap)
		return failed(
			-EBADMSG,
			"%s: page_size=2M of %s is that of entries made at the start; accepted: "
			"with premap=yes, or 4K",
			b->device_origins[index].where, full);
	if (device->lookup == LOOKUP_UFFD && machine->tenants[device->tenant].backend != MEMORY_VM)
		return failed(-EBADMSG,
			      "%s: lookup=uffd of %s is a virtual machine's device's; accepted: "
			      "pa-bitmap, ats, or backend=vm of its tenant",
			      job_where(b->job, b->device_origins[index].where, "lookup"), full);
	if (device->msi_cpu >= 0 &&
	    (device->msi_cpu >= CPU_SETSIZE || !CPU_ISSET((size_t)device->msi_cpu, cpus)))
		return failed(-EBADMSG,
			      "%s: msi_cpu=%lld is none of the CPUs of the tenant of %s; accepted: "
			      "one of its `cpus`, or -1",
			      b->device_origins[index].where, device->msi_cpu, full);
	return plan_check_class(b, b->device_origins[index].where, device, NULL, NULL);
}

static int check_cpus(const struct plan_builder *b, const char *where, const char *type,
		      const char *name, const cpu_set_t *cpus)
{
	long there = sysconf(_SC_NPROCESSORS_CONF);

	for (int c = (int)there; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, cpus))
			return failed(-EBADMSG,
				      "%s: [%s %s] cpus: CPU %d is not there; accepted: 0 to %ld",
				      job_where(b->job, where, "cpus"), type, name, c, there - 1);
	return 0;
}

/* Guest memory is real memory: more of it than there is would end in the OOM killer. */
static int check_host(const struct plan_builder *b)
{
	const struct machine_config *machine = &b->plan->machine;
	__u64 host = (__u64)sysconf(_SC_PHYS_PAGES) * PAGE_BYTES, need = 0;
	int err = 0;

	for (__u32 t = 0; !err && t < machine->tenant_count; t++) {
		need += machine->tenants[t].memory;
		err = check_cpus(b, b->tenant_origins[t].where, "tenant",
				 b->tenant_origins[t].section, &machine->tenants[t].cpus);
	}
	for (__u32 i = 0; !err && i < b->job->injection_count; i++)
		err = check_cpus(b, b->job->injections[i].where, "inject",
				 b->job->injections[i].name, &b->job->injections[i].cpus);
	for (__u32 i = 0; !err && i < b->job->verbs_count; i++)
		err = check_cpus(b, b->job->verbs[i].where, "verbs", b->job->verbs[i].name,
				 &b->job->verbs[i].config.cpus);
	if (!err && need > host / 10 * 9)
		return failed(-EBADMSG,
			      "%s: %u tenants need %llu MiB of memory; accepted: at most "
			      "90%% of this host's %llu MiB",
			      b->tenant_origins[0].where, machine->tenant_count, need >> 20,
			      host >> 20);
	return err;
}

static void collect_cpus(struct plan *plan)
{
	const struct machine_config *machine = &plan->machine;
	cpu_set_t all;

	CPU_ZERO(&plan->handler_cpus);
	if (sched_getaffinity(0, sizeof(all), &all))
		CPU_ZERO(&all);
	for (__u32 t = 0; t < machine->tenant_count; t++) {
		const cpu_set_t *cpus = &machine->tenants[t].cpus;

		CPU_OR(&plan->handler_cpus, &plan->handler_cpus, CPU_COUNT(cpus) ? cpus : &all);
	}
}

static int build(struct plan *plan, const struct job *job, bool part)
{
	struct plan_builder b = {.plan = plan, .job = job, .part = part};
	int err;

	*plan = (struct plan){.machine = job->machine.config,
			      .timeout_ns = job->machine.timeout_ns};
	plan->injections = calloc(job->injection_count + 1, sizeof(*plan->injections));
	err = plan->injections ? expand_tenants(&b) : failed(-ENOMEM, "no memory for the plan");
	for (__u32 i = 0; !err && i < job->device_count; i++)
		err = expand_device(&b, &job->devices[i]);
	if (!err)
		err = plan_check_names(&b);
	if (!err)
		err = plan_peers(&b);
	for (__u32 i = 0; !err && i < job->workload_count; i++)
		err = plan_workload(&b, &job->workloads[i]);
	for (__u32 i = 0; !err && i < job->traffic_count; i++)
		err = plan_traffic(&b, &job->traffics[i]);
	for (__u32 i = 0; !err && i < job->ranks_count; i++)
		err = plan_ranks(&b, &job->ranks[i]);
	for (__u32 i = 0; !err && i < job->verbs_count; i++)
		err = plan_verbs(&b, &job->verbs[i]);
	for (__u32 i = 0; !err && i < job->kvstore_count; i++)
		err = plan_kvstore(&b, &job->kvstores[i]);
	for (__u32 i = 0; !err && i < job->program_count; i++)
		err = plan_program(&b, &job->programs[i]);
	for (__u32 i = 0; !err && i < job->injection_count; i++)
		err = plan_injection(&b, &job->injections[i], i + 1);
	if (!err)
		err = check_host(&b) ?: plan_check_limit(&b);
	for (__u32 d = 0; !err && d < b.plan->machine.device_count; d++)
		err = plan_check_device(&b, d);
	for (__u32 d = 0; !err && d < b.plan->machine.device_count; d++)
		err = plan_check_frames(&b, d) ?: plan_check_ranks(&b, d);
	if (!err)
		err = plan_check_guests(&b) ?: plan_check_vms(&b) ?: plan_check_memlock(&b);
	if (!err)
		collect_cpus(plan);
	free(b.tenant_origins);
	free(b.device_origins);
	free(b.tenant_devices);
	if (err)
		plan_free(plan);
	return err;
}

/* The whole machine is checked in any case. */
int plan_build(struct plan *plan, const struct job *job)
{
	int err = build(plan, job, false);

	if (err || !strcmp(job->machine.tenants, "*"))
		return err;
	plan_free(plan);
	return build(plan, job, true);
}

void plan_free(struct plan *plan)
{
	for (__u32 i = 0; i < plan->injection_count; i++) {
		free(plan->injections[i].devices);
		free(plan->injections[i].chosen);
		free(plan->injections[i].tenants);
	}
	free(plan->injections);
	free(plan->programs);
	free(plan->machine.tenants);
	free(plan->machine.devices);
	free(plan->machine.workloads);
	free(plan->machine.traffics);
	free(plan->machine.ranks);
	free(plan->machine.verbs);
	free(plan->machine.kvstores);
	*plan = (struct plan){0};
}
