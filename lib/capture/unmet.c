// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/unmet.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct unmet_machine {
	char file[NAME_MAX + 1];
	unsigned int look; /* the last that found it */
	UT_hash_handle hh;
};

void unmet_look_begin(struct unmet *unmet)
{
	unmet->look++;
}

static struct unmet_machine *add(struct unmet *unmet, const char *file)
{
	struct unmet_machine *machine = calloc(1, sizeof(*machine));

	if (machine) {
		snprintf(machine->file, sizeof(machine->file), "%s", file);
		HASH_ADD_STR(unmet->machines, file, machine);
		if (machine->hh.tbl)
			return machine;
	}
	free(machine);
	return NULL;
}

void unmet_wait(struct unmet *unmet, const char *file, bool anew)
{
	struct unmet_machine *machine;

	HASH_FIND_STR(unmet->machines, file, machine);
	if (!machine && anew) {
		machine = add(unmet, file);
		unmet->ended += !machine; /* without memory: better told twice than not at all */
	}
	if (machine)
		machine->look = unmet->look;
}

static void forget(struct unmet *unmet, struct unmet_machine *machine)
{
	HASH_DEL(unmet->machines, machine);
	free(machine);
}

void unmet_look_end(struct unmet *unmet)
{
	struct unmet_machine *machine, *next;

	HASH_ITER(hh, unmet->machines, machine, next) {
		if (machine->look == unmet->look)
			continue;
		unmet->ended++;
		forget(unmet, machine);
	}
}

bool unmet_take(struct unmet *unmet, const char *file)
{
	struct unmet_machine *machine;

	HASH_FIND_STR(unmet->machines, file, machine);
	if (machine)
		forget(unmet, machine);
	return machine;
}

__u64 unmet_count(const struct unmet *unmet)
{
	return unmet->ended + HASH_COUNT(unmet->machines);
}

void unmet_clear(struct unmet *unmet)
{
	struct unmet_machine *machine, *next;

	HASH_ITER(hh, unmet->machines, machine, next)
		forget(unmet, machine);
}
