// SPDX-License-Identifier: GPL-2.0
/* Which methods of a row of the probe table exist on this kernel, one after the other. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/mount.h"
#include "lib/capture/permission.h"
#include "lib/capture/probes_private.h"

/* RDMA devices fault on demand through this function of the probe table. */
#define RDMA_FAULT	   "ib_umem_odp_map_dma_and_lock"
#define RDMA_FAULT_MODULES "ib_core ib_uverbs"
/* Since there is this, dma_map_resource() calls what dma_map is attached to (Linux 6.18 and later). */
#define RESOURCES_LIKE_PAGES "dma_iova_try_alloc"
#define ARGUMENTS_SURE	     6 /* what every kernel manages */

static const char *const attach_names[] = {"",		"usdt faultline:", "tp_btf ",
					   "function ", "kprobe ",	   "files "};

/* Older kernels let no program see a function of more arguments: tried once. */
static bool many_arguments(struct probe_set *set, const struct kernel_function *function)
{
	if (permission_lacking())
		return true;
	if (set->many_arguments == UNTRIED)
		set->many_arguments = function_try(function->function_id, function->types, true);
	return !set->many_arguments;
}

/* One name that a method leads to; a method may have two. Else says what is missing. */
static bool symbol_exists(struct probe_set *set, const struct probe_row *row,
			  const struct attach_method *method, const char *symbol,
			  char missing[REASON_TEXT])
{
	const struct kernel_function *found = kernel_names_find(set->names, symbol, row->module);
	bool tracepoint = method->kind == ATTACH_TP_BTF;
	char unloaded[NAME_TEXT];
	__u32 arguments = 0;

	if (found)
		arguments = tracepoint ? found->tracepoint_arguments : found->arguments;
	if (!found || (tracepoint ? !found->tracepoint_id : !found->functions))
		snprintf(missing, REASON_TEXT, "this kernel has no %s%s",
			 tracepoint ? "tracepoint " : "", symbol);
	else if (tracepoint && row->module && !kernel_names_loaded(row->module, unloaded))
		snprintf(missing, REASON_TEXT, "module %s is not loaded", unloaded);
	else if (found->of_module && !found->types && permission_lacks_modules())
		snprintf(missing, REASON_TEXT, "%s", PERMISSION_MODULES);
	else if (method->arguments && method->arguments != arguments)
		snprintf(missing, REASON_TEXT, "%s has %u arguments here, not %u", symbol,
			 arguments, method->arguments);
	else if (!tracepoint && found->functions > 1)
		snprintf(missing, REASON_TEXT, "this kernel has %u functions named %s",
			 found->functions, symbol);
	else if (!tracepoint && set->functions)
		snprintf(missing, REASON_TEXT, "no program is let onto kernel functions here: %s",
			 strerror(-set->functions));
	else if (!tracepoint && found->arguments > ARGUMENTS_SURE && !many_arguments(set, found))
		snprintf(missing, REASON_TEXT, "%s has %u arguments, too many for this kernel",
			 symbol, found->arguments);
	else
		return true;
	return false;
}

static bool function_exists(struct probe_set *set, struct probe *probe,
			    const struct attach_method *method, char missing[REASON_TEXT])
{
	const char *needs = probe->row->needs;

	if (needs && !kernel_names_find(set->names, needs, probe->row->module)) {
		snprintf(missing, REASON_TEXT, "this kernel has no %s", needs);
		return false;
	}
	return symbol_exists(set, probe->row, method, method->symbol, missing) &&
	       (!method->end || symbol_exists(set, probe->row, method, method->end, missing));
}

static bool kprobe_exists(struct probe_set *set, struct probe *probe,
			  const struct attach_method *method, char missing[REASON_TEXT])
{
	size_t count;

	if (access("/sys/bus/event_source/devices/kprobe", F_OK)) {
		snprintf(missing, REASON_TEXT, "this kernel has no kprobes");
		return false;
	}
	if (access("/proc/kallsyms", R_OK)) {
		snprintf(missing, REASON_TEXT, "kprobes need /proc/kallsyms, which cannot be read");
		return false;
	}
	count = kernel_names_symbol(set->names, method->symbol, probe->symbol);
	if (count != 1)
		snprintf(missing, REASON_TEXT,
			 count ? "this kernel has several of %s" : "this kernel has no %s",
			 method->symbol);
	return count == 1;
}

static bool method_exists(struct probe_set *set, struct probe *probe,
			  const struct attach_method *method, char missing[REASON_TEXT])
{
	snprintf(probe->symbol, sizeof(probe->symbol), "%s", method->symbol);
	switch (method->kind) {
	case ATTACH_USDT:
		return true; /* asked of the binary when there is one */
	case ATTACH_TP_BTF:
	case ATTACH_FUNCTION:
		return function_exists(set, probe, method, missing);
	case ATTACH_KPROBE:
		return kprobe_exists(set, probe, method, missing);
	case ATTACH_FILES:
		snprintf(missing, REASON_TEXT, "there is no %s", method->symbol);
		return !access(method->symbol, F_OK);
	default:
		return false;
	}
}

/* Whether what exists can fire here. */
static bool method_in_place(const struct probe_set *set, const struct probe *probe,
			    const struct attach_method *method, char missing[REASON_TEXT])
{
	enum place place = probe->row->place;

	if (set->places.there[place])
		place = method->place;
	if (set->places.there[place])
		return true;
	snprintf(missing, REASON_TEXT, "%s", place_lacking(place));
	return false;
}

/* Whether the row may get another method once a place is there. */
static bool lacks_place(const struct probe_set *set, const struct probe_row *row)
{
	bool lacks = !set->places.there[row->place];

	for (size_t i = 0; i < ATTACH_METHODS && row->methods[i].kind; i++)
		lacks |= !set->places.there[row->methods[i].place];
	return lacks;
}

static void describe_method(struct probe *probe, const struct attach_method *method)
{
	snprintf(probe->info.attach, sizeof(probe->info.attach), "%s%s", attach_names[method->kind],
		 probe->symbol);
	if (method->kind == ATTACH_FUNCTION && method->end)
		snprintf(probe->info.attach, sizeof(probe->info.attach), "%s%s and %s",
			 attach_names[method->kind], method->symbol, method->end);
}

/* "this kernel has no A or B": what the kernel lacks of all methods, or what else is the matter. */
static void collect(char *reasons, const char *missing)
{
	static const char lacks[] = "this kernel has no ";
	size_t used = strlen(reasons);

	if (used && !strncmp(reasons, lacks, sizeof(lacks) - 1) &&
	    !strncmp(missing, lacks, sizeof(lacks) - 1))
		snprintf(reasons + used, REASON_TEXT - used, " or %s", missing + sizeof(lacks) - 1);
	else if (!used)
		snprintf(reasons, REASON_TEXT, "%s", missing);
	else if (!strstr(reasons, missing))
		snprintf(reasons + used, REASON_TEXT - used, "; %s", missing);
}

bool probe_take_next_method(struct probe_set *set, struct probe *probe, const char *reason)
{
	const struct attach_method *methods = probe->methods;
	size_t next = probe->method ? probe->method - methods + 1 : 0;
	char reasons[REASON_TEXT] = "", unloaded[NAME_TEXT];
	bool fits = false;
	size_t kept;

	if (reason)
		collect(reasons, reason);
	kept = strlen(reasons);
	probe->program = probe->returns = NULL;
	for (; set->names && next < ATTACH_METHODS && methods[next].kind; next++) {
		char missing[REASON_TEXT] = "";

		bool exists = method_exists(set, probe, &methods[next], missing);

		if (exists && method_in_place(set, probe, &methods[next], missing)) {
			probe->method = &methods[next];
			probe->waits = false;
			describe_method(probe, probe->method);
			return true;
		}
		/* Where one is for this kernel, what is the matter with the others is not why. */
		if (exists && !fits)
			reasons[kept] = '\0';
		if (exists || !fits)
			collect(reasons, missing);
		fits |= exists;
	}
	if (!set->names)
		snprintf(reasons, sizeof(reasons), "%s",
			 mount_lacking() ?: "this kernel has no type information (BTF)");
	if (!reason) {
		snprintf(probe->symbol, sizeof(probe->symbol), "%s", methods[0].symbol);
		describe_method(probe, &methods[0]);
		probe->modules = kernel_names_loaded(probe->row->module, unloaded);
		probe->waits = unloaded[0] || lacks_place(set, probe->row);
		if (set->names && unloaded[0] && !probe->modules)
			snprintf(reasons, sizeof(reasons), "module %s is not loaded", unloaded);
	}
	probe_turn_off(probe, reasons);
	return false;
}

/*
 * What places_look() cannot know: who else resolves device page faults, who is asked for, what this kernel's
 * DMA API ends in, and what networks there are.
 */
static void look_at_places(struct probe_set *set, struct places *places)
{
	places_look(places, NULL);
	if (set->processes ||
	    (set->names && kernel_names_find(set->names, RDMA_FAULT, RDMA_FAULT_MODULES)))
		places->there[PLACE_RESOLVERS] = true;
	places->there[PLACE_NETWORKS] = set->networks;
	places->there[PLACE_DMA_RESOURCES] =
		!set->names || !kernel_names_find(set->names, RESOURCES_LIKE_PAGES, NULL);
}

size_t probe_set_choose_again(struct probe_set *set)
{
	struct places places;
	size_t came = 0;
	bool moved;

	look_at_places(set, &places);
	moved = memcmp(&places, &set->places, sizeof(places)) != 0;
	set->places = places;
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];
		char missing[NAME_TEXT];

		if (!probe->waits || !probe->wanted)
			continue;
		if (moved || kernel_names_loaded(probe->row->module, missing) != probe->modules)
			came += probe_take_next_method(set, probe, NULL);
	}
	return came;
}

/* The function of a row's method that has types and yet no place for a probe; NULL: none. */
static const char *untraceable(struct probe_set *set, const struct probe *probe)
{
	const struct attach_method *method = probe->method;

	if (!method || method->kind != ATTACH_FUNCTION)
		return NULL;
	if (!kernel_names_traceable(set->names, probe->symbol))
		return probe->symbol;
	return method->end && !kernel_names_traceable(set->names, method->end) ? method->end : NULL;
}

void probe_set_check_traceable(struct probe_set *set)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];
		const char *symbol;
		char reason[REASON_TEXT];

		while ((symbol = untraceable(set, probe))) {
			snprintf(reason, sizeof(reason), "%s cannot be traced", symbol);
			probe_take_next_method(set, probe, reason);
		}
	}
}
