// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/job/job_private.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/job/options.h"

/* Where each type of named section goes in struct job. */
struct section_array {
	const char *type;
	size_t list, count; /* offsets in struct job */
	size_t size;	    /* of one element */
	size_t where;	    /* offset in the element; the name is first in each */
	unsigned int limit;
};

#define ARRAY(type, list, count, element, limit)                                       \
	{                                                                              \
		type, offsetof(struct job, list), offsetof(struct job, count),         \
			sizeof(struct element), offsetof(struct element, where), limit \
	}

static const struct section_array arrays[] = {
	ARRAY("tenant", tenants, tenant_count, job_tenant, 1000),
	ARRAY("device", devices, device_count, job_device, 256),
	ARRAY("workload", workloads, workload_count, job_workload, 256),
	ARRAY("traffic", traffics, traffic_count, job_traffic, 256),
	ARRAY("ranks", ranks, ranks_count, job_ranks, 256),
	ARRAY("verbs", verbs, verbs_count, job_verbs, 256),
	ARRAY("kvstore", kvstores, kvstore_count, job_kvstore, 256),
	ARRAY("program", programs, program_count, job_program, 64),
	ARRAY("inject", injections, injection_count, job_injection, 64),
};

#define ARRAYS (sizeof(arrays) / sizeof(arrays[0]))

static const struct section_array *find_array(const char *type)
{
	for (size_t i = 0; i < ARRAYS; i++)
		if (!strcmp(arrays[i].type, type))
			return &arrays[i];
	return NULL;
}

static int check_headings(const struct job_text *text)
{
	int err = options_check_headings(job_options(), text);

	if (err)
		return err;
	if (!job_text_section(text, "device", NULL))
		return failed(-EBADMSG, "%s: has no [device NAME]; a machine needs one",
			      text->path);
	return 0;
}

/* Appends one element to the section's array and fills it. */
static int add_section(struct job *job, const struct section_array *array,
		       const struct job_section *section)
{
	char **list = (char **)((char *)job + array->list), *element, *grown;
	__u32 *count = (__u32 *)((char *)job + array->count);

	if (*count == array->limit)
		return failed(-EBADMSG, "%s: [%s %s]: accepted: at most %u [%s] sections",
			      section->where, section->type, section->name, array->limit,
			      section->type);
	grown = reallocarray(*list, *count + 1, array->size);
	if (!grown)
		return failed(-ENOMEM, "no memory for the job");
	*list = grown;
	element = grown + *count * array->size;
	memset(element, 0, array->size);
	strncpy(element, section->name, JOB_NAME - 1);
	*(const char **)(element + array->where) = section->where;
	(*count)++;
	return options_fill(job_options(), section, element);
}

static int fill_machine(struct job *job, const struct job_text *text)
{
	const struct job_section *section = job_text_section(text, "machine", NULL);
	const struct job_section defaults = {.type = (char *)"machine", .name = (char *)""};

	job->machine.where = section ? section->where : job->path;
	return options_fill(job_options(), section ? section : &defaults, &job->machine);
}

/* A job without [protector] has none: policy 0, which is `none`. */
static int fill_protector_options(struct job *job, const struct job_text *text)
{
	const struct job_section *section = job_text_section(text, "protector", NULL);
	struct protector_options *protector = &job->machine.config.protector;
	int err = section ? options_fill(job_options(), section, protector) : 0;

	if (!err && protector->page_bytes > PROTECTOR_PAGE_MAX)
		err = failed(
			-EBADMSG,
			"%s: [protector] page=%lluM: accepted: up to 2M, of a machine that runs",
			section->where, protector->page_bytes >> 20);
	return err;
}

/* A job without [tenant] has one, with everything by default. */
static int fill_tenant(struct job *job)
{
	const struct job_section defaults = {
		.type = (char *)"tenant", .name = (char *)"tenant", .where = (char *)job->path};

	return add_section(job, &arrays[0], &defaults);
}

static int check_workload(const struct job_workload *workload)
{
	const struct workload_config *config = &workload->config;

	if (!config->duration_ns && !config->count)
		return failed(-EBADMSG,
			      "%s: [workload %s] never ends; accepted: duration= or count=",
			      workload->where, workload->name);
	if (config->pattern == PATTERN_ZIPF && config->zipf_theta == 1)
		return failed(-EBADMSG,
			      "%s: [workload %s] zipf_theta=1: accepted: 0.01 to 1.99, "
			      "not 1",
			      workload->where, workload->name);
	return 0;
}

static int check_traffic(const struct job_traffic *traffic)
{
	if (!traffic->config.duration_ns && !traffic->config.count)
		return failed(-EBADMSG,
			      "%s: [traffic %s] never ends; accepted: duration= or count=",
			      traffic->where, traffic->name);
	return 0;
}

static int check_ranks(const struct job_ranks *ranks)
{
	const struct ranks_config *config = &ranks->config;

	if (!config->duration_ns && !config->operations)
		return failed(-EBADMSG,
			      "%s: [ranks %s] never ends; accepted: duration= or operations=",
			      ranks->where, ranks->name);
	if (config->pattern == RANKS_stream && config->count % 2)
		return failed(-EBADMSG,
			      "%s: [ranks %s] count=%u: accepted: an even one with pattern=stream, "
			      "in which of each two one sends",
			      ranks->where, ranks->name, config->count);
	return 0;
}

const char *job_where(const struct job *job, const char *where, const char *key)
{
	for (size_t i = 0; i < job->text->section_count; i++) {
		const struct job_section *section = &job->text->sections[i];

		for (size_t j = 0; section->where == where && j < section->entry_count; j++) {
			const struct job_entry *entry = &section->entries[j];

			if (!strcmp(entry->key, key) && strncmp(entry->where, "--", 2) != 0)
				return entry->where;
		}
	}
	return where;
}

static int check_verbs(const struct job *job, const struct job_verbs *verbs)
{
	const struct verbs_load_config *config = &verbs->config;

	if (!config->duration_ns && !config->operations)
		return failed(-EBADMSG,
			      "%s: [verbs %s] never ends; accepted: duration= or operations=",
			      verbs->where, verbs->name);
	if (config->no_syscalls && (config->events || !verbs_load_moves(config->test)))
		return failed(
			-EBADMSG,
			"%s: [verbs %s] no_syscalls=yes: accepted: events=no, and a test that "
			"moves data; events and control verbs are system calls",
			verbs->where, verbs->name);
	if (config->entries & (config->entries - 1))
		return failed(-EBADMSG, "%s: [verbs %s] entries=%u: accepted: powers of two",
			      job_where(job, verbs->where, "entries"), verbs->name,
			      config->entries);
	if (config->test != LOAD_register && config->size > VERBS_LOAD_SIZE_MAX)
		return failed(
			-EBADMSG,
			"%s: [verbs %s] size=%llu: accepted: at most %u but with test=register",
			verbs->where, verbs->name, config->size, VERBS_LOAD_SIZE_MAX);
	if (config->test != LOAD_pressure)
		return 0;
	if (config->working_set % config->piece || config->piece % config->size ||
	    config->working_set / config->piece > LOAD_PIECES_MAX)
		return failed(
			-EBADMSG,
			"%s: [verbs %s] working_set=%llu piece=%llu size=%llu: accepted: 1 to "
			"%d whole pieces of whole sizes",
			verbs->where, verbs->name, config->working_set, config->piece, config->size,
			LOAD_PIECES_MAX);
	return 0;
}

static int check_kvstore(const struct job_kvstore *store)
{
	const struct kvstore_config *config = &store->config;

	if (config->shift_at_ns >= config->duration_ns)
		return failed(-EBADMSG, "%s: [kvstore %s] shift_at=: accepted: less than duration=",
			      store->where, store->name);
	if (config->item_bytes % 8)
		return failed(-EBADMSG, "%s: [kvstore %s] item_size=%u: accepted: multiples of 8",
			      store->where, store->name, config->item_bytes);
	return 0;
}

#define PERIOD_LEAST_NS (10 * NSEC_PER_MSEC) /* a monitor takes its time */

static int check_injection(const struct job_injection *injection, const struct job_machine *machine)
{
	bool uniform = injection->distribution == INJECT_UNIFORM;

	if (injection->kind == INJECTION_EVICT && injection->what == EVICT_IDLE &&
	    machine->config.reclaim_order != RECLAIM_IDLE)
		return failed(
			-EBADMSG,
			"%s: [inject %s] what=idle: accepted: with machine.reclaim_order=idle",
			injection->where, injection->name);
	if (injection->kind == INJECTION_BALLOON && !injection->memory)
		return failed(-EBADMSG,
			      "%s: [inject %s] action=balloon needs memory=: bytes above 0",
			      injection->where, injection->name);
	if (injection->period_ns && injection->period_ns < PERIOD_LEAST_NS)
		return failed(-EBADMSG,
			      "%s: [inject %s] period=%lluns: accepted: 0, or at least 10ms",
			      injection->where, injection->name, injection->period_ns);
	if (!injection_delays(injection->kind))
		return 0;
	if (!injection->delay_ns && !uniform)
		return failed(-EBADMSG, "%s: [inject %s] action=%s needs delay=: a time above 0",
			      injection->where, injection->name, injection_name(injection->kind));
	if (uniform && injection->delay_max_ns <= injection->delay_ns)
		return failed(-EBADMSG,
			      "%s: [inject %s] delay_max=%lluns: accepted: above "
			      "delay=%lluns",
			      injection->where, injection->name, injection->delay_max_ns,
			      injection->delay_ns);
	return 0;
}

static int job_check_device(const struct job_device *device)
{
	const struct device_config *config = &device->config;
	char models[256];

	if (config->pasid && !config->class->user_addresses)
		return failed(-EBADMSG, "%s: [device %s] pasid=yes: accepted: with model=%s",
			      device->where, device->name,
			      device_classes_text(device_class_takes_pasid, " or ", models,
						  sizeof(models)));
	if (config->queue_depth > config->class->depth_max)
		return failed(-EBADMSG,
			      "%s: [device %s] queue_depth=%u: accepted: at most %u with model=%s",
			      device->where, device->name, config->queue_depth,
			      config->class->depth_max, config->class->name);
	if (config->devtlb.ways > config->devtlb.entries)
		return failed(-EBADMSG,
			      "%s: [device %s] devtlb_ways=%u: accepted: at most devtlb_entries=%u",
			      device->where, device->name, config->devtlb.ways,
			      config->devtlb.entries);
	return 0;
}

static int check_machine(const struct job_machine *machine)
{
	const struct cache_config *iotlb = &machine->config.iotlb;

	if (machine->config.memory_limit && machine->config.memory_limit < MEMORY_LIMIT_LEAST)
		return failed(-EBADMSG,
			      "%s: [machine] memory_limit=%llu: accepted: 0 or at least %llu",
			      machine->where, machine->config.memory_limit, MEMORY_LIMIT_LEAST);
	if (iotlb->entries && iotlb->ways > iotlb->entries)
		return failed(-EBADMSG,
			      "%s: [machine] iotlb_ways=%u: accepted: at most iotlb_entries=%u",
			      machine->where, iotlb->ways, iotlb->entries);
	if (machine->config.access_log_records == 1)
		return failed(-EBADMSG,
			      "%s: [machine] access_log_records=1: accepted: 0, or 2 and more",
			      machine->where);
	return 0;
}

/* A run is that of its workloads, unless a device comes with a driver of its own, or a virtual machine's guest has them. */
static int check_driven(const struct job *job)
{
	for (__u32 i = 0; i < job->tenant_count; i++)
		if (job->tenants[i].config.backend == MEMORY_VM)
			return 0;
	for (__u32 i = 0; i < job->device_count; i++)
		if (!device_class_takes_workload(job->devices[i].config.class))
			return 0;
	return job->workload_count
		       ? 0
		       : failed(-EBADMSG, "%s: has no [workload NAME]; a run needs one", job->path);
}

/* Of what the keys of all models have filled, that of the one that was chosen. */
static void choose_class(struct job_device *device)
{
	device->config.class = device_classes[device->model];
	device->config.settings = device->settings[device->model];
}

/* Sentences call it by its section. */
static void name_program(struct job_program *program)
{
	snprintf(program->config.name, sizeof(program->config.name), "%s", program->name);
}

static int check_values(const struct job *job)
{
	int err = check_driven(job);

	if (!err)
		err = check_machine(&job->machine);
	for (__u32 i = 0; !err && i < job->workload_count; i++)
		err = check_workload(&job->workloads[i]);
	for (__u32 i = 0; !err && i < job->traffic_count; i++)
		err = check_traffic(&job->traffics[i]);
	for (__u32 i = 0; !err && i < job->ranks_count; i++)
		err = check_ranks(&job->ranks[i]);
	for (__u32 i = 0; !err && i < job->verbs_count; i++)
		err = check_verbs(job, &job->verbs[i]);
	for (__u32 i = 0; !err && i < job->program_count; i++)
		err = job_check_program(&job->programs[i]);
	for (__u32 i = 0; !err && i < job->kvstore_count; i++)
		err = check_kvstore(&job->kvstores[i]);
	for (__u32 i = 0; !err && i < job->injection_count; i++)
		err = check_injection(&job->injections[i], &job->machine);
	for (__u32 i = 0; !err && i < job->device_count; i++)
		err = job_check_device(&job->devices[i]);
	return err;
}

int job_check_values(const struct job_text *text)
{
	int err = 0;

	for (size_t i = 0; !err && i < text->section_count; i++) {
		const struct job_section *section = &text->sections[i];
		const struct section_array *array = find_array(section->type);
		void *fields;

		if (!array && strcmp(section->type, "machine") != 0 &&
		    strcmp(section->type, "protector") != 0)
			continue;
		/* A [protector] is a part of the machine. */
		fields = calloc(1, array ? array->size : sizeof(struct job_machine));
		if (!fields)
			return failed(-ENOMEM, "no memory for the job");
		err = options_check_values(job_options(), section, fields);
		free(fields);
	}
	return err;
}

int job_build(struct job *job, const struct job_text *text)
{
	int err;

	*job = (struct job){.path = text->path, .text = text};
	err = check_headings(text);
	if (!err)
		err = fill_machine(job, text) ?: fill_protector_options(job, text);
	for (size_t i = 0; !err && i < text->section_count; i++) {
		const struct section_array *array = find_array(text->sections[i].type);

		if (array)
			err = add_section(job, array, &text->sections[i]);
	}
	if (!err && !job->tenant_count)
		err = fill_tenant(job);
	for (__u32 i = 0; !err && i < job->device_count; i++)
		choose_class(&job->devices[i]);
	for (__u32 i = 0; !err && i < job->program_count; i++)
		name_program(&job->programs[i]);
	if (!err)
		err = check_values(job);
	if (err)
		job_free(job);
	return err;
}

void job_free(struct job *job)
{
	free(job->tenants);
	free(job->devices);
	free(job->workloads);
	free(job->traffics);
	free(job->ranks);
	free(job->verbs);
	free(job->kvstores);
	free(job->programs);
	free(job->injections);
	*job = (struct job){0};
}
