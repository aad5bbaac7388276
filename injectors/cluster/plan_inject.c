// SPDX-License-Identifier: GPL-2.0
/* [inject], and what sections say together. */
#include <errno.h>
#include <string.h>

#include "injectors/cluster/agent.h"
#include "injectors/cluster/plan_private.h"
#include "lib/base/fail.h"

/* As agents_create() numbers them. */
static int plan_find_agent(const struct cluster_plan *plan, const struct job_section *section,
			   const char *name, __u32 *agent)
{
	const struct cluster_config *config = &plan->config;

	*agent = config->host_count;
	for (__u32 i = 0; i < config->target_count; i++, ++*agent)
		if (!strcmp(config->targets[i].name, name))
			return 0;
	for (__u32 i = 0; i < config->vm_count; i++, ++*agent)
		if (!strcmp(config->vms[i].name, name))
			return 0;
	for (__u32 i = 0; i < config->client_count; i++, ++*agent)
		if (!strcmp(config->clients[i].name, name))
			return 0;
	return plan_wrong(section, "user", "the name of a [client], [vm] or [target]");
}

static int plan_find_step(const struct job_section *section, const char *name, __u32 *step)
{
	if (!*name)
		return 0;
	for (*step = 0; *step < CLUSTER_STEPS; ++*step)
		if (!strcmp(cluster_step_name((enum cluster_step) * step), name))
			return 0;
	return plan_wrong(section, "step", "a step of docs/smartio.md, as grant or dma_window");
}

static int plan_find_aims(struct cluster_plan *plan, const struct job_section *section,
			  const struct cluster_inject_keys *keys,
			  struct cluster_injection *injection)
{
	int err = plan_find_step(section, keys->step, &injection->step);

	if (!err)
		err = plan_find_adapter(plan, section, "adapter", keys->adapter,
					&injection->adapter);
	if (!err && *keys->host)
		err = plan_find_host(plan, section, "host", keys->host, &injection->host);
	if (!err && *keys->device)
		err = plan_find_device(plan, section, "device", keys->device, &injection->device);
	if (!err && *keys->user)
		err = plan_find_agent(plan, section, keys->user, &injection->agent);
	return err;
}

int plan_add_injection(struct cluster_plan *plan, const struct job_section *section)
{
	struct cluster_injection *injection =
		&plan->config.injections[plan->config.injection_count];
	struct cluster_inject_keys keys = {0};
	int err = options_fill(cluster_options(), section, &keys);

	if (err)
		return err;
	*injection = keys.config;
	snprintf(injection->name, sizeof(injection->name), "%s", section->name);
	injection->host = injection->adapter = injection->device = CLUSTER_NONE;
	injection->agent = injection->step = CLUSTER_NONE;
	err = plan_find_aims(plan, section, &keys, injection);
	if (err)
		return err;
	if (injection->kind == CLUSTER_HOST_KILL && injection->host == CLUSTER_NONE &&
	    injection->agent == CLUSTER_NONE)
		return plan_wrong(section, "host", "host= or user=, of whom is killed");
	if (injection->host != CLUSTER_NONE && injection->agent != CLUSTER_NONE)
		return plan_wrong(section, "user", "host= or user=, of whom is killed, not both");
	if (injection->kind == CLUSTER_LINK_FLAP && !injection->for_ns)
		return plan_wrong(section, "for", "above 0, with action=link_flap");
	if (!injection->seed)
		injection->seed = plan->config.seed + plan->config.injection_count + 1;
	plan->config.injection_count += keys.enabled;
	return 0;
}

static int plan_check_managed(const struct cluster_plan *plan)
{
	const struct cluster_config *config = &plan->config;

	for (__u32 i = 0; i < config->client_count; i++) {
		const struct job_section *section =
			job_text_section(plan->text, "client", config->clients[i].name);
		__u32 m = 0;

		while (m < config->manager_count &&
		       config->managers[m].device != config->clients[i].device)
			m++;
		if (m == config->manager_count)
			return plan_wrong(section, "device", "one that a [manager] shares out");
	}
	return 0;
}

static int plan_check_ends(const struct cluster_plan *plan)
{
	for (__u32 i = 0; i < plan->user_count; i++)
		if (plan->users[i].io->ios)
			return 0;
	if (plan->duration_ns)
		return 0;
	return failed(-EBADMSG,
		      "%s: the run never ends: accepted: cluster.duration=, or ios= of somebody",
		      plan->text->path);
}

int plan_check(const struct cluster_plan *plan)
{
	return plan_check_managed(plan)
		       ?: plan_check_hardware(plan)
		       ?: plan_check_users(plan)
		       ?: plan_check_ends(plan);
}
