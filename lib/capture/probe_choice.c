// SPDX-License-Identifier: GPL-2.0
/* Which way each row of the probe table takes on this kernel, with this configuration. */
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/capture/probe_set.h"

static const char *const attach_names[] = {"", "usdt faultline:", "tp_btf ", "function ",
					   "kprobe "};

void probe_turn_off(struct probe *probe, const char *reason)
{
	probe->info.state = PROBE_OFF;
	probe->way = NULL;
	snprintf(probe->info.reason, sizeof(probe->info.reason), "%s", reason);
}

void probe_turn_on(struct probe *probe)
{
	probe->info.state = PROBE_ON;
	probe->info.reason[0] = '\0';
}

static bool named(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

bool capture_kind_asked(const struct capture_config *config, __u16 kind)
{
	if (!config->kinds[0] && !config->kinds[1])
		return true;
	return config->kinds[kind / 64] >> (kind % 64) & 1;
}

/* Fault stages stay attached whatever is recorded: they keep the account of open groups. */
static bool feeds_others(const struct probe_row *row)
{
	return row->kind >= EVENT_FAULT_DETECT && row->kind <= EVENT_FAULT_OVERFLOW;
}

/* In the kernel's types or in those of a loaded module of the row. */
static bool function_exists(const struct btf *kernel, const struct probe_row *row,
			    const char *symbol)
{
	char names[NAME_TEXT], *rest = names, *name;

	if (btf__find_by_name_kind(kernel, symbol, BTF_KIND_FUNC) > 0)
		return true;
	snprintf(names, sizeof(names), "%s", row->module ? row->module : "");
	while ((name = strsep(&rest, " "))) {
		struct btf *module =
			*name ? btf__load_module_btf(name, (struct btf *)kernel) : NULL;
		bool found = module && btf__find_by_name_kind(module, symbol, BTF_KIND_FUNC) > 0;

		btf__free(module);
		if (found)
			return true;
	}
	return false;
}

static bool way_exists(const struct btf *kernel, const struct probe_row *row,
		       const struct probe_way *way)
{
	char name[NAME_TEXT];

	switch (way->kind) {
	case ATTACH_USDT:
		return true; /* asked of the binary when there is one */
	case ATTACH_TP_BTF:
		snprintf(name, sizeof(name), "btf_trace_%s", way->symbol);
		return btf__find_by_name_kind(kernel, name, BTF_KIND_TYPEDEF) > 0;
	case ATTACH_FUNCTION:
	case ATTACH_KPROBE:
		return function_exists(kernel, row, way->symbol);
	default:
		return false;
	}
}

static void choose_way(struct probe *probe, const struct probe_row *row, const struct btf *kernel)
{
	char missing[REASON_TEXT] = "this kernel has no ";
	size_t used = strlen(missing);

	for (size_t i = 0; kernel && i < PROBE_WAYS && row->ways[i].kind; i++) {
		if (way_exists(kernel, row, &row->ways[i])) {
			probe->way = &row->ways[i];
			break;
		}
		used += snprintf(missing + used, sizeof(missing) - used, "%s%s", i ? " or " : "",
				 row->ways[i].symbol);
	}
	snprintf(probe->info.attach, sizeof(probe->info.attach), "%s%s",
		 attach_names[probe->way ? probe->way->kind : row->ways[0].kind],
		 probe->way ? probe->way->symbol : row->ways[0].symbol);
	if (!probe->way)
		probe_turn_off(probe,
			       kernel ? missing : "this kernel has no type information (BTF)");
}

static void choose(struct probe *probe, const struct capture_config *config,
		   const struct btf *kernel)
{
	const struct probe_row *row = probe->row;

	snprintf(probe->info.name, sizeof(probe->info.name), "%s", row->name);
	choose_way(probe, row, kernel);
	if (named(config->disabled, config->disabled_count, row->name)) {
		probe_turn_off(probe, "left out by --disable-probe");
		probe->info.state = PROBE_DISABLED;
	} else if (!feeds_others(row) && !capture_kind_asked(config, row->kind)) {
		probe_turn_off(probe, "its kind of event was not asked for");
		probe->info.state = PROBE_DISABLED;
	}
}

static void make_filter(struct capture_filter *filter, const struct capture_config *config)
{
	bool all = !config->kinds[0] && !config->kinds[1];

	for (size_t i = 0; i < 2; i++) {
		filter->kinds[i] = all ? ~0ull : config->kinds[i];
		filter->singles[i] = config->kinds[i];
	}
	/* CPU faults are chosen by process: one by one for a whole host is never meant. */
	filter->singles[EVENT_CPU_FAULT / 64] &= ~(1ull << (EVENT_CPU_FAULT % 64));
	filter->slow_block_ns = config->slow_io_ns;
}

static const struct probe_row *find_row(const char *name)
{
	for (int i = 0; i < PROBE_COUNT; i++)
		if (!strcmp(probe_row(i)->name, name))
			return probe_row(i);
	return NULL;
}

bool probe_required(const char *name)
{
	const struct probe_row *row = find_row(name);

	return row && row->required;
}

int probe_set_create(struct probe_set **set, const struct capture_config *config)
{
	struct probe_set *s = calloc(1, sizeof(*s));
	struct btf *kernel;

	if (!s)
		return failed(-ENOMEM, "no memory for the probe table");
	for (size_t i = 0; i < config->disabled_count; i++)
		if (!find_row(config->disabled[i])) {
			free(s);
			return failed(-EINVAL,
				      "there is no probe '%s'; `faultline doctor` lists them",
				      config->disabled[i]);
		}
	objects_quiet();
	kernel = btf__load_vmlinux_btf();
	make_filter(&s->filter, config);
	for (int i = 0; i < PROBE_COUNT; i++) {
		s->probes[i].row = probe_row(i);
		choose(&s->probes[i], config, kernel);
	}
	if (kernel) {
		s->kernel_types = true;
		s->multi = usdt_multi_supported(kernel);
		btf__free(kernel);
	}
	*set = s;
	return 0;
}
