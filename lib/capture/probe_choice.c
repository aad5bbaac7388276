// SPDX-License-Identifier: GPL-2.0
/* Which way each row of the probe table takes on this kernel, with this configuration. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/capture/probe_set.h"

#define STACKS_PER_SECOND 10000 /* per CPU; a microsecond each: a hundredth of its time at most */

static const char *const attach_names[] = {"",		"usdt faultline:", "tp_btf ",
					   "function ", "kprobe ",	   "files "};

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

/* Where a way leads on this kernel: fills in probe->symbol. Else says what is missing. */
static bool function_exists(struct probe_set *set, struct probe *probe, const struct probe_way *way,
			    char missing[REASON_TEXT])
{
	const struct kernel_function *found =
		kernel_names_find(set->names, way->symbol, probe->row->module);
	bool tracepoint = way->kind == ATTACH_TP_BTF;
	char unloaded[NAME_TEXT];
	__u32 arguments = 0;

	if (found)
		arguments = tracepoint ? found->tracepoint_arguments : found->arguments;
	if (!found || (tracepoint ? !found->tracepoint_id : !found->functions))
		snprintf(missing, REASON_TEXT, "this kernel has no %s", way->symbol);
	else if (tracepoint && probe->row->module &&
		 !kernel_names_loaded(probe->row->module, unloaded))
		snprintf(missing, REASON_TEXT, "module %s is not loaded", unloaded);
	else if (way->arguments && way->arguments != arguments)
		snprintf(missing, REASON_TEXT, "%s has %u arguments here, not %u", way->symbol,
			 arguments, way->arguments);
	else if (!tracepoint && found->functions > 1)
		snprintf(missing, REASON_TEXT, "this kernel has %u functions named %s",
			 found->functions, way->symbol);
	else if (!tracepoint && !set->functions)
		snprintf(missing, REASON_TEXT, "this kernel lets no program onto its functions");
	else
		return true;
	return false;
}

static bool kprobe_exists(struct probe_set *set, struct probe *probe, const struct probe_way *way,
			  char missing[REASON_TEXT])
{
	size_t count;

	if (access("/sys/bus/event_source/devices/kprobe", F_OK)) {
		snprintf(missing, REASON_TEXT, "this kernel has no kprobes");
		return false;
	}
	count = kernel_names_symbol(set->names, way->symbol, probe->symbol);
	if (count != 1)
		snprintf(missing, REASON_TEXT,
			 count ? "this kernel has several of %s" : "this kernel has no %s",
			 way->symbol);
	return count == 1;
}

static bool way_exists(struct probe_set *set, struct probe *probe, const struct probe_way *way,
		       char missing[REASON_TEXT])
{
	snprintf(probe->symbol, sizeof(probe->symbol), "%s", way->symbol);
	switch (way->kind) {
	case ATTACH_USDT:
		return true; /* asked of the binary when there is one */
	case ATTACH_TP_BTF:
	case ATTACH_FUNCTION:
		return function_exists(set, probe, way, missing);
	case ATTACH_KPROBE:
		return kprobe_exists(set, probe, way, missing);
	case ATTACH_FILES:
		snprintf(missing, REASON_TEXT, "there is no %s", way->symbol);
		return !access(way->symbol, F_OK);
	default:
		return false;
	}
}

static void describe_way(struct probe *probe, const struct probe_way *way)
{
	snprintf(probe->info.attach, sizeof(probe->info.attach), "%s%s", attach_names[way->kind],
		 probe->symbol);
}

/* "this kernel has no A or B": what the kernel lacks of all ways, or what else is the matter. */
static void collect(char *reasons, const char *missing)
{
	static const char lacks[] = "this kernel has no ";
	size_t used = strlen(reasons);

	if (used && !strncmp(reasons, lacks, sizeof(lacks) - 1) &&
	    !strncmp(missing, lacks, sizeof(lacks) - 1))
		snprintf(reasons + used, REASON_TEXT - used, " or %s", missing + sizeof(lacks) - 1);
	else if (used)
		snprintf(reasons + used, REASON_TEXT - used, "; %s", missing);
	else
		snprintf(reasons, REASON_TEXT, "%s", missing);
}

bool probe_take_next_way(struct probe_set *set, struct probe *probe, const char *reason)
{
	const struct probe_way *ways = probe->row->ways;
	size_t next = probe->way ? probe->way - ways + 1 : 0;
	char reasons[REASON_TEXT] = "", unloaded[NAME_TEXT];

	if (reason)
		collect(reasons, reason);
	probe->program = probe->returns = NULL;
	for (; set->names && next < PROBE_WAYS && ways[next].kind; next++) {
		char missing[REASON_TEXT] = "";

		if (way_exists(set, probe, &ways[next], missing)) {
			probe->way = &ways[next];
			probe->waits = false;
			describe_way(probe, probe->way);
			return true;
		}
		collect(reasons, missing);
	}
	if (!set->names)
		snprintf(reasons, sizeof(reasons), "this kernel has no type information (BTF)");
	if (!reason) {
		snprintf(probe->symbol, sizeof(probe->symbol), "%s", ways[0].symbol);
		describe_way(probe, &ways[0]);
		probe->modules = kernel_names_loaded(probe->row->module, unloaded);
		probe->waits = unloaded[0];
		if (probe->waits && !probe->modules)
			snprintf(reasons, sizeof(reasons), "module %s is not loaded", unloaded);
	}
	probe_turn_off(probe, reasons);
	return false;
}

static void choose(struct probe_set *set, struct probe *probe, const struct capture_config *config)
{
	const struct probe_row *row = probe->row;

	snprintf(probe->info.name, sizeof(probe->info.name), "%s", row->name);
	probe_take_next_way(set, probe, NULL);
	probe->wanted = false;
	if (named(config->disabled, config->disabled_count, row->name))
		probe_turn_off(probe, "left out by --disable-probe");
	else if (!feeds_others(row) && !capture_kind_asked(config, row->kind))
		probe_turn_off(probe, "its kind of event was not asked for");
	else
		probe->wanted = true;
	if (!probe->wanted)
		probe->info.state = PROBE_DISABLED;
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
	filter->stacks_per_second = STACKS_PER_SECOND;
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

/*
 * Only trying tells: types list functions of kernels that let no program onto any. Loads, attaches
 * nothing. Who may not try believes the types.
 */
static bool functions_possible(const struct btf *kernel)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id =
			    btf__find_by_name_kind(kernel, "handle_mm_fault", BTF_KIND_FUNC));
	int fd;

	if (geteuid())
		return true;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "faultline_try", "GPL", nothing,
			   sizeof(nothing) / sizeof(nothing[0]), &options);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int probe_set_create(struct probe_set **set, const struct capture_config *config)
{
	struct probe_set *s = calloc(1, sizeof(*s));

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
	if (!kernel_names_create(&s->names)) {
		s->multi = usdt_multi_supported(kernel_names_types(s->names));
		s->functions = functions_possible(kernel_names_types(s->names));
	}
	make_filter(&s->filter, config);
	for (int i = 0; i < PROBE_COUNT; i++) {
		s->probes[i].row = probe_row(i);
		choose(s, &s->probes[i], config);
	}
	*set = s;
	return 0;
}
