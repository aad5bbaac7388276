// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/point.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "injectors/emu/truth.h"
#include "injectors/job/guardian.h"
#include "injectors/job/loads.h"
#include "injectors/job/memory_group.h"
#include "injectors/job/schedule.h"
#include "lib/base/clock.h"
#include "lib/base/dead_socket.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"

/* Written by the machine's process, read by the guardian once that has ended. */
struct answer {
	const struct point_run *run;
	struct memory_group group; /* of memory_limit */
	bool complete;
	int error;
	char sentence[1024];
	struct result result;
	struct result_notes notes;
};

static int wait_for_workloads(struct machine *machine, const struct plan *plan, __u64 begin_ns)
{
	__u64 passed = monotonic_ns() - begin_ns;
	char text[UNITS_TEXT];
	int err = machine_wait(machine, passed < plan->timeout_ns ? plan->timeout_ns - passed : 0,
			       &guardian_stop);

	if (err == -ETIMEDOUT)
		return failed(err,
			      "the workloads are not done after %s; accepted: a shorter one, "
			      "or a longer machine.timeout",
			      units_format_duration(plan->timeout_ns, text));
	return err;
}

static int wait_for_loads(struct machine *machine, const struct plan *plan,
			  const struct loads *loads, struct schedule *schedule)
{
	__u64 begin_ns = monotonic_ns();
	int err = loads_wait(loads, schedule, plan->timeout_ns, &guardian_stop);

	if (!err)
		err = wait_for_workloads(machine, plan, begin_ns);
	return guardian_stop ? guardian_stopped() : err;
}

/* Undoing something may fail, too: the first error counts. */
struct first_error {
	int error;
	char sentence[1024];
};

static void keep_error(struct first_error *first, int error)
{
	if (first->error || !error)
		return;
	first->error = error;
	snprintf(first->sentence, sizeof(first->sentence), "%s", failure_text());
}

static int tell_error(const struct first_error *first)
{
	return first->error ? failed(first->error, "%s", first->sentence) : 0;
}

/* Injections and loads begin at one instant, as far as starting a program allows. */
static int run_injected(const struct plan *plan, struct machine *machine, struct schedule *schedule,
			const struct loads *loads, struct result_input *input)
{
	__u64 begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct first_error first = {0};
	int err = schedule_start(schedule);

	if (!err)
		err = machine_begin(machine) ?: programs_begin(loads->networks, machine);
	if (!err)
		err = guest_programs_begin(loads->guests, machine, &guardian_stop);
	if (!err)
		err = vms_begin(loads->vms);
	keep_error(&first, err ? err : wait_for_loads(machine, plan, loads, schedule));
	if (first.error) {
		programs_stop(loads->networks);
		guest_programs_stop(loads->guests);
		vms_stop(loads->vms);
	}
	keep_error(&first, schedule_stop(schedule, &input->injected));
	input->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns;
	return tell_error(&first);
}

/* Virtual machines find their devices before observers are told who they are. */
static int prepare(const struct plan *plan, struct machine *machine, const struct loads *loads,
		   struct schedule **schedule)
{
	int err = machine_listen(machine)
			  ?: vms_meet(loads->vms, machine, plan->timeout_ns, &guardian_stop);

	if (err == -EINTR)
		return guardian_stopped();
	return err ?: machine_prepare(machine) ?: schedule_create(schedule, plan, machine, loads->vms);
}

/* What has to be undone is undone in any case. */
static int run_machine(const struct plan *plan, struct machine *machine, const struct loads *loads,
		       struct result *result, struct result_notes *notes)
{
	struct result_input input = {
		.machine = machine,
		.config = &plan->machine,
		.programs = loads->networks,
		.guests = loads->guests,
		.vms = loads->vms,
		.notes = notes,
	};
	struct first_error first = {0};
	struct schedule *schedule;
	int err = prepare(plan, machine, loads, &schedule);

	if (err)
		return err;
	err = machine_start(machine) ?: programs_serve(loads->networks, machine, &guardian_stop);
	if (err == -EINTR)
		err = guardian_stopped();
	keep_error(&first, err);
	if (err)
		keep_error(&first, schedule_stop(schedule, NULL));
	else
		keep_error(&first, run_injected(plan, machine, schedule, loads, &input));
	programs_stop(loads->networks);
	guest_programs_stop(loads->guests);
	vms_stop(loads->vms);
	guest_programs_printed(loads->guests, notes->printed, sizeof(notes->printed));
	vms_told(loads->vms, notes->printed, sizeof(notes->printed));
	if (!first.error)
		keep_error(&first, result_count_networks(&input));
	machine_stop(machine);
	return first.error ? tell_error(&first) : result_fill(result, &input);
}

static int create_and_run(const struct point_run *run, const struct loads *loads,
			  struct memory_group *group, struct result *result,
			  struct result_notes *notes)
{
	struct machine_config config = run->plan->machine;
	struct machine *machine;
	int err = memory_group_enter(group);

	if (err)
		return err;
	snprintf(config.memory_group, sizeof(config.memory_group), "%s", group->directory);
	programs_in_group(loads->networks, group->directory);
	err = machine_create(&machine, &config);

	if (!err) {
		err = run_machine(run->plan, machine, loads, result, notes);
		machine_destroy(machine);
	}
	return err;
}

static int point_run_machine(const struct point_run *run, struct memory_group *group,
			     struct result *result, struct result_notes *notes)
{
	struct first_error first = {0};
	struct loads loads = {0};
	int err = programs_open(&loads.networks, run->plan);

	if (!err)
		err = guest_programs_open(&loads.guests, run->plan);
	if (!err)
		err = vms_open(&loads.vms, run->plan, run->console);
	if (!err && run->truth)
		err = truth_open(run->truth, false);
	if (!err) {
		keep_error(&first, create_and_run(run, &loads, group, result, notes));
		if (run->truth)
			keep_error(&first, truth_close());
		err = tell_error(&first);
	}
	vms_close(loads.vms);
	guest_programs_close(loads.guests);
	programs_close(loads.networks);
	memory_group_leave(group);
	return err;
}

static void point_body(void *argument)
{
	struct answer *answer = argument;

	answer->error =
		point_run_machine(answer->run, &answer->group, &answer->result, &answer->notes);
	snprintf(answer->sentence, sizeof(answer->sentence), "%s", failure_text());
	answer->complete = true;
}

/* Told once in a campaign: it is the same for each of its points. */
static void say_group(const struct memory_group *group)
{
	static bool said;

	if (!said && *group->directory)
		fprintf(stderr, "memory_limit: held by a memory cgroup of its own, %s\n",
			group->directory);
	else if (!said)
		fprintf(stderr,
			"memory_limit: held by the machine's reclaimer, as there can be no memory "
			"cgroup: %s\n",
			group->reason);
	said = true;
}

/* Those at paths of the job's own, of a machine that was killed: others are found by their names (registry.h). */
static void remove_left_sockets(const struct machine_config *machine)
{
	for (__u32 t = 0; t < machine->tenant_count; t++)
		(void)dead_socket_remove(machine->tenants[t].vm.socket);
	for (__u32 d = 0; d < machine->device_count; d++) {
		struct device_config device = machine->devices[d];

		if (device.class->vhost)
			(void)dead_socket_remove(device.class->vhost(&device.settings)->socket);
	}
}

int point_run(const struct point_run *run, struct result *result)
{
	struct guardian_task task = {.body = point_body,
				     .progress = run->progress,
				     .argument = NULL,
				     .progress_argument = run->progress_argument};
	struct answer *answer;
	pid_t pid;
	int err;

	result_clear(result);
	answer = mmap(NULL, sizeof(*answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (answer == MAP_FAILED)
		return failed(-errno, "no memory for the answer of the machine's process");
	*answer = (struct answer){.run = run};
	result_clear(&answer->result);
	if (run->plan->machine.memory_limit) {
		memory_group_make(&answer->group);
		say_group(&answer->group);
	}
	task.argument = answer;
	err = guardian_run(&task, &pid);
	memory_group_remove(&answer->group);
	if (!answer->complete)
		remove_left_sockets(&run->plan->machine);
	if (!err && !answer->complete)
		err = failed(-EIO, "the machine's process %d ended without a result", pid);
	if (!err && answer->error)
		err = failed(answer->error, "%s", answer->sentence);
	if (!err)
		*result = answer->result;
	if (!err && run->notes)
		*run->notes = answer->notes;
	munmap(answer, sizeof(*answer));
	return err;
}
