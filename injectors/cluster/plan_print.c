// SPDX-License-Identifier: GPL-2.0
/* What --dry-run shows of a cluster. */
#include "injectors/cluster/agent.h"
#include "injectors/cluster/plan.h"
#include "lib/base/printable.h"
#include "lib/base/units.h"

static void print_users(const struct cluster_plan *plan, FILE *file)
{
	static const char *const kinds[] = {[USER_BORROW] = "borrow",
					    [USER_VM] = "vm",
					    [USER_CLIENT] = "client",
					    [USER_TARGET] = "target"};

	for (__u32 i = 0; i < plan->user_count; i++) {
		const struct plan_user *user = &plan->users[i];

		fprintf(file, "  %s %s: ", kinds[user->kind], printable_of(user->name).text);
		if (user->io->ios)
			fprintf(file, "%llu I/Os", user->io->ios);
		else
			fprintf(file, "I/Os until the end");
		fprintf(file, " of %llu bytes, %u%% writes, up to %u at a time\n", user->io->block,
			user->io->write_percent, user->io->depth);
	}
}

static void print_cluster_injection(const struct cluster_plan *plan,
				    const struct cluster_injection *injection, FILE *file)
{
	char at[UNITS_TEXT], length[UNITS_TEXT];

	(void)plan;
	fprintf(file, "  inject %s: ", printable_of(injection->name).text);
	if (injection->step != CLUSTER_NONE)
		fprintf(file, "at step %s", cluster_step_name((enum cluster_step)injection->step));
	else
		fprintf(file, "from %s", units_format_duration(injection->at_ns, at));
	if (injection->for_ns)
		fprintf(file, " for %s", units_format_duration(injection->for_ns, length));
	fputc('\n', file);
}

void cluster_plan_print(const struct cluster_plan *plan, FILE *file)
{
	const struct cluster_config *config = &plan->config;

	fprintf(file, "  %s: %u hosts, %u devices, %u links, %u managers, %u users\n",
		printable_of(config->name).text, config->host_count, config->device_count,
		config->fabric->link_count, config->manager_count, plan->user_count);
	for (__u32 i = 0; i < config->device_count; i++)
		fprintf(file, "  device %s in host %s\n",
			printable_of(config->devices[i].name).text,
			printable_of(config->hosts[config->devices[i].host].name).text);
	print_users(plan, file);
	for (__u32 i = 0; i < config->injection_count; i++)
		print_cluster_injection(plan, &config->injections[i], file);
}
