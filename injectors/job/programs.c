// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/programs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"

struct running_program {
	const struct plan_program *planned;
	struct network_program *program; /* NULL: it has not been started */
	__u64 begin_ns, end_ns;		 /* 0: not yet */
};

struct programs {
	struct program_host host;
	__u32 count;
	struct running_program list[];
};

int programs_open(struct programs **programs, const struct plan *plan)
{
	struct programs *opened =
		calloc(1, sizeof(*opened) + plan->program_count * sizeof(opened->list[0]));
	int err = 0;

	if (!opened)
		return failed(-ENOMEM, "no memory for %u programs", plan->program_count);
	opened->host.channel = -1;
	opened->count = plan->program_count;
	for (__u32 i = 0; i < opened->count; i++)
		opened->list[i].planned = &plan->programs[i];
	if (opened->count)
		err = program_host_open(&opened->host);
	if (err)
		free(opened);
	else
		*programs = opened;
	return err;
}

void programs_in_group(struct programs *programs, const char *directory)
{
	snprintf(programs->host.group, sizeof(programs->host.group), "%s", directory);
}

static int start_role(struct programs *programs, const struct machine *machine,
		      enum program_role role)
{
	int err = 0;

	for (__u32 i = 0; !err && i < programs->count; i++) {
		struct running_program *running = &programs->list[i];
		const struct plan_program *planned = running->planned;

		if (planned->config.role != role)
			continue;
		err = program_start(&running->program, &programs->host,
				    machine_network(machine, planned->device), &planned->config);
		running->begin_ns = monotonic_ns();
	}
	return err;
}

int programs_serve(struct programs *programs, const struct machine *machine,
		   const volatile sig_atomic_t *stop)
{
	int err = start_role(programs, machine, PROGRAM_SERVER);

	for (__u32 i = 0; !err && i < programs->count; i++)
		if (programs->list[i].program)
			err = program_await_ready(programs->list[i].program, stop);
	return err;
}

int programs_begin(struct programs *programs, const struct machine *machine)
{
	return start_role(programs, machine, PROGRAM_LOAD);
}

/* A load may end with its server, and be looked at first. */
static int look_for_failed_servers(struct programs *programs)
{
	for (__u32 i = 0; i < programs->count; i++)
		if (programs->list[i].planned->config.role == PROGRAM_SERVER &&
		    program_has_failed(programs->list[i].program))
			return program_wait(programs->list[i].program, 0);
	return 0;
}

int programs_look(struct programs *programs, __u64 wait_ns)
{
	bool running = false;

	/* Without its server a load fails, too: the cause comes first. */
	for (int role = PROGRAM_SERVER; role <= PROGRAM_LOAD; role++)
		for (__u32 i = 0; i < programs->count; i++) {
			struct running_program *one = &programs->list[i];
			int err;

			if ((int)one->planned->config.role != role || one->end_ns)
				continue;
			err = program_wait(one->program,
					   role == PROGRAM_SERVER || running ? 0 : wait_ns);
			if (err && err != -ETIMEDOUT)
				return err;
			running |= err && role == PROGRAM_LOAD;
			if (!err)
				one->end_ns = monotonic_ns();
		}
	return running ? -ETIMEDOUT : look_for_failed_servers(programs);
}

int programs_too_long(const struct programs *programs, __u64 timeout_ns)
{
	const struct plan_program *planned = NULL;
	char text[UNITS_TEXT];

	for (__u32 i = 0; i < programs->count && !planned; i++)
		if (programs->list[i].planned->config.role == PROGRAM_LOAD &&
		    !programs->list[i].end_ns)
			planned = programs->list[i].planned;
	return failed(-ETIMEDOUT,
		      "program %s (%s) is not done after %s; accepted: a shorter one, one with a "
		      "duration, or a longer machine.timeout",
		      planned->config.name, planned->config.run,
		      units_format_duration(timeout_ns, text));
}

static void each_of_role(struct programs *programs, enum program_role role,
			 void (*act)(struct network_program *program))
{
	for (__u32 i = 0; i < programs->count; i++)
		if (programs->list[i].planned->config.role == role && programs->list[i].program)
			act(programs->list[i].program);
}

/* Loads first: one that loses its server complains. All of a role have one grace. */
void programs_stop(struct programs *programs)
{
	for (int role = PROGRAM_LOAD; role >= PROGRAM_SERVER; role--) {
		each_of_role(programs, (enum program_role)role, program_end);
		each_of_role(programs, (enum program_role)role, program_stop);
	}
}

bool programs_outcome(const struct programs *programs, __u32 *index, struct load_outcome *outcome)
{
	while (*index < programs->count) {
		const struct running_program *one = &programs->list[(*index)++];

		if (one->planned->config.role != PROGRAM_LOAD)
			continue;
		*outcome = (struct load_outcome){one->planned, one->begin_ns, one->end_ns};
		return true;
	}
	return false;
}

char *programs_output(const struct programs *programs, __u32 index, size_t *size)
{
	__u64 discarded;

	return program_output(programs->list[index - 1].program, size, &discarded);
}

void programs_close(struct programs *programs)
{
	if (!programs)
		return;
	for (__u32 i = 0; i < programs->count; i++)
		program_free(programs->list[i].program);
	program_host_close(&programs->host);
	free(programs);
}
