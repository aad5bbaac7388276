// SPDX-License-Identifier: GPL-2.0
/* A machine of the fleet and its accesses. */
#include <errno.h>

#include "lib/base/fail.h"
#include "tools/fleet/fleet.h"

#define PAGE_BYTES (1ull << 21)

struct fleet_machine fleet_machine(const struct fleet_config *config, __u32 number)
{
	struct fleet_machine machine = {.number = number, .own = number};
	const struct fleet_population *p = config->populations;

	for (; machine.own >= p->count; p++)
		machine.own -= p->count;
	machine.population = p;
	machine.population_number = (__u8)(p - config->populations);
	machine.memory_pages = p->memory.bytes[machine.own % p->memory.count] / PAGE_BYTES;
	for (__u32 model = 0; model < FLEET_DEVICES; model++)
		machine.has[model] = p->device == model || p->device == POPULATION_MODELS;
	return machine;
}

static bool fetch(struct fleet_accesses *a, __u32 model)
{
	if (population_next(a->devices[model], &a->next[model]))
		return true;
	a->error = failed(-ENOMEM, "no memory for a made-up device");
	return false;
}

int fleet_accesses_open(struct fleet_accesses *a, const struct fleet_config *config,
			const struct fleet_machine *machine)
{
	*a = (struct fleet_accesses){.length_ns = config->length_ns};
	for (__u32 model = 0; !a->error && model < FLEET_DEVICES; model++) {
		const struct population_device device = {
			.model = model,
			.number = machine->own,
			.count = machine->population->count,
			.domain = model,
			.memory_pages = machine->memory_pages,
			/* Populations of one size are not copies of each other. */
			.seed = config->seed ^ (__u64)machine->population_number << 56,
			.resolution_ns = config->resolution_ns,
		};

		if (!machine->has[model])
			continue;
		a->error =
			population_create(&a->devices[model], &machine->population->keys, &device);
		if (!a->error)
			fetch(a, model);
	}
	return a->error;
}

bool fleet_accesses_next(struct fleet_accesses *a, struct what_if_access *access)
{
	__u32 first = FLEET_DEVICES;

	for (__u32 model = 0; model < FLEET_DEVICES; model++)
		if (a->devices[model] &&
		    (first == FLEET_DEVICES || a->next[model].time_ns < a->next[first].time_ns))
			first = model;
	if (a->error || first == FLEET_DEVICES || a->next[first].time_ns >= a->length_ns)
		return false;
	*access = a->next[first];
	return fetch(a, first);
}

int fleet_accesses_close(struct fleet_accesses *a)
{
	for (__u32 model = 0; model < FLEET_DEVICES; model++)
		population_destroy(a->devices[model]);
	return a->error;
}
