// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/plan_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/cluster/expand.h"
#include "lib/base/fail.h"

/* How a section becomes a part of the plan; `list` and `size`: the array of the configuration that it counts in. */
struct section_plan {
	const char *type;
	int (*add)(struct cluster_plan *plan, const struct job_section *section);
	size_t list, size;
	unsigned int most;
};

int plan_wrong(const struct job_section *section, const char *key, const char *accepted)
{
	const struct job_entry *entry = job_section_entry(section, key);

	if (!entry)
		return failed(job_wrong(section->where), "%s: [%s %s] %s=: accepted: %s",
			      section->where, section->type, section->name, key, accepted);
	return failed(job_wrong(entry->where), "%s: %s=%s: accepted: %s", entry->where,
		      job_key(section, entry).text, job_shown(entry->value).text, accepted);
}

/* "a [host]: one, two, three" of those that there are. */
static int plan_wrong_name(const struct cluster_plan *plan, const struct job_section *section,
			   const char *key, const char *type)
{
	char accepted[512];
	size_t used = (size_t)snprintf(accepted, sizeof(accepted), "a [%s]", type);
	const char *separator = ": ";

	for (size_t i = 0; i < plan->text->section_count && used < 300; i++) {
		if (strcmp(plan->text->sections[i].type, type) != 0)
			continue;
		used += (size_t)snprintf(accepted + used, sizeof(accepted) - used, "%s%s",
					 separator, plan->text->sections[i].name);
		separator = ", ";
	}
	if (used >= 300)
		snprintf(accepted + used, sizeof(accepted) - used, " ...");
	if (*separator == ':')
		snprintf(accepted, sizeof(accepted), "a [%s], of which there is none", type);
	return plan_wrong(section, key, accepted);
}

int plan_find_host(const struct cluster_plan *plan, const struct job_section *section,
		   const char *key, const char *text, __u32 *host)
{
	for (*host = 0; *host < plan->config.host_count; ++*host)
		if (!strcmp(plan->config.hosts[*host].name, text))
			return 0;
	return plan_wrong_name(plan, section, key, "host");
}

int plan_find_device(const struct cluster_plan *plan, const struct job_section *section,
		     const char *key, const char *text, __u32 *device)
{
	for (*device = 0; *device < plan->config.device_count; ++*device)
		if (!strcmp(plan->config.devices[*device].name, text))
			return 0;
	return plan_wrong_name(plan, section, key, "device");
}

int plan_find_adapter(const struct cluster_plan *plan, const struct job_section *section,
		      const char *key, const char *text, __u32 *adapter)
{
	const struct fabric *fabric = plan->config.fabric;

	*adapter = *text ? fabric_find(fabric, text) : CLUSTER_NONE;
	if (*text && (*adapter == FABRIC_NONE || fabric->nodes[*adapter].kind != FABRIC_ADAPTER))
		return plan_wrong_name(plan, section, key, "adapter");
	return 0;
}

static int plan_add_host(struct cluster_plan *plan, const struct job_section *section)
{
	struct host_config *host = &plan->config.hosts[plan->config.host_count];
	const struct fabric_host *node = &plan->config.fabric->hosts[plan->config.host_count];
	struct host_keys keys = {0};
	int err = options_fill(cluster_options(), section, &keys);

	snprintf(host->name, sizeof(host->name), "%s", section->name);
	host->memory = keys.memory;
	host->cpus = keys.cpus;
	host->iommu = keys.fabric.iommu;
	host->root = node->root;
	plan->config.host_count++;
	return err;
}

static int plan_add_device(struct cluster_plan *plan, const struct job_section *section)
{
	struct cluster_device_config *device = &plan->config.devices[plan->config.device_count++];
	struct node_keys keys = {0};
	int err = options_fill(cluster_options(), section, &keys);
	__u32 beside = 0;

	snprintf(device->name, sizeof(device->name), "%s", section->name);
	device->node = fabric_find(plan->config.fabric, section->name);
	device->host = plan->config.fabric->nodes[device->node].host;
	device->model = keys.model;
	device->bytes = keys.bytes;
	device->queue_pairs = keys.queue_pairs;
	device->functions = keys.functions;
	device->address_bits = keys.address_bits;
	device->intx = keys.intx;
	for (__u32 i = 0; i < plan->config.device_count; i++)
		beside += plan->config.devices[i].host == device->host;
	return err || beside <= CLUSTER_LENT_MAX
		       ? err
		       : plan_wrong(section, "under", "a host with up to 64 devices");
}

/* Of these only the fabric knows anything: what is left to check are the keys. */
static int plan_add_node(struct cluster_plan *plan, const struct job_section *section)
{
	void *fields = calloc(1, cluster_section_size(section->type));
	int err = fields ? options_fill(cluster_options(), section, fields)
			 : failed(-ENOMEM, "no memory for the job");

	(void)plan;
	free(fields);
	return err;
}

#define LISTED(type, add, list, most)                                     \
	{                                                                 \
		type, add, offsetof(struct cluster_config, list),         \
			sizeof(*((struct cluster_config *)0)->list), most \
	}
static const struct section_plan plan_sections[] = {
	{"switch", plan_add_node, 0, 0, FABRIC_NODES_MAX},
	{"adapter", plan_add_node, 0, 0, FABRIC_NODES_MAX},
	{"link", plan_add_node, 0, 0, FABRIC_LINKS_MAX},
	LISTED("host", plan_add_host, hosts, CLUSTER_HOSTS_MAX),
	LISTED("device", plan_add_device, devices, 128),
	LISTED("borrow", plan_add_borrow, borrows, 128),
	LISTED("vm", plan_add_vm, vms, 64),
	LISTED("client", plan_add_client, clients, 128),
	LISTED("manager", plan_add_manager, managers, 64),
	LISTED("target", plan_add_target, targets, 32),
	LISTED("inject", plan_add_injection, injections, 64),
};
#define PLAN_SECTIONS (sizeof(plan_sections) / sizeof(plan_sections[0]))

static unsigned int plan_count(const struct job_text *text, const char *type)
{
	unsigned int count = 0;

	for (size_t i = 0; i < text->section_count; i++)
		count += !strcmp(text->sections[i].type, type);
	return count;
}

static int plan_allocate(struct cluster_plan *plan, const struct section_plan *of)
{
	unsigned int count = plan_count(plan->text, of->type);
	const struct job_section *first = job_text_section(plan->text, of->type, NULL);

	if (count > of->most)
		return failed(job_wrong(first->where), "%s: %u [%s] sections: accepted: up to %u",
			      first->where, count, of->type, of->most);
	if (!of->list)
		return 0;
	*(void **)((char *)&plan->config + of->list) = calloc(count + 1, of->size);
	return *(void **)((char *)&plan->config + of->list)
		       ? 0
		       : failed(-ENOMEM, "no memory for the job");
}

static int plan_add_all(struct cluster_plan *plan, const struct section_plan *of)
{
	int err = 0;

	for (size_t i = 0; !err && i < plan->text->section_count; i++)
		if (!strcmp(plan->text->sections[i].type, of->type))
			err = of->add(plan, &plan->text->sections[i]);
	return err;
}

static int plan_fill_cluster(struct cluster_plan *plan)
{
	const struct job_section defaults = {.type = (char *)"cluster", .name = (char *)""};
	const struct job_section *section = job_text_section(plan->text, "cluster", NULL);
	struct cluster_keys keys = {0};
	int err = options_fill(cluster_options(), section ? section : &defaults, &keys);

	memcpy(plan->config.name, keys.name, sizeof(plan->config.name));
	memcpy(plan->config.directory, keys.directory, sizeof(plan->config.directory));
	plan->config.timeout_ns = keys.timeout_ns;
	plan->config.dead_ns = keys.dead_ns;
	plan->config.seed = keys.seed;
	plan->duration_ns = keys.duration_ns;
	return err;
}

static int plan_fill(struct cluster_plan *plan)
{
	int err = options_check_headings(cluster_options(), plan->text);

	if (!err)
		err = plan_fill_cluster(plan);
	if (!err)
		err = fabric_build(&plan->config.fabric, plan->text);
	if (!err)
		err = fabric_costs_read(&plan->costs, plan->text);
	for (size_t i = 0; !err && i < PLAN_SECTIONS; i++)
		err = plan_allocate(plan, &plan_sections[i]);
	plan->users = calloc(plan_count(plan->text, "borrow") + plan_count(plan->text, "vm") +
				     plan_count(plan->text, "client") +
				     plan_count(plan->text, "target") + 1,
			     sizeof(*plan->users));
	if (!err && !plan->users)
		err = failed(-ENOMEM, "no memory for the job");
	for (size_t i = 0; !err && i < PLAN_SECTIONS; i++)
		err = plan_add_all(plan, &plan_sections[i]);
	return err ? err : plan_check(plan);
}

int cluster_plan_build(struct cluster_plan *plan, const struct job_text *text)
{
	int err;

	*plan = (struct cluster_plan){0};
	err = cluster_expand(text, &plan->text);
	if (!err)
		err = plan_fill(plan);
	if (err)
		cluster_plan_free(plan);
	return err;
}

void cluster_plan_free(struct cluster_plan *plan)
{
	struct cluster_config *config = &plan->config;

	free(config->hosts);
	free(config->devices);
	free(config->borrows);
	free(config->vms);
	free(config->clients);
	free(config->managers);
	free(config->targets);
	free(config->injections);
	free(plan->users);
	if (config->fabric)
		fabric_free(config->fabric);
	job_text_free(plan->text);
	*plan = (struct cluster_plan){0};
}

static int plan_check_section(const struct job_section *section)
{
	size_t size = cluster_section_size(section->type);
	void *fields = size ? calloc(1, size) : NULL;
	int err;

	if (!size)
		return 0;
	err = fields ? options_check_values(cluster_options(), section, fields)
		     : failed(-ENOMEM, "no memory for the job");
	free(fields);
	return err;
}

int cluster_plan_check_values(const struct job_text *text)
{
	struct job_text *expanded = NULL;
	int err = cluster_expand(text, &expanded);

	for (size_t i = 0; !err && i < expanded->section_count; i++)
		err = plan_check_section(&expanded->sections[i]);
	job_text_free(expanded);
	return err;
}
