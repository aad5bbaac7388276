// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/point.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "injectors/emu/truth.h"
#include "injectors/job/guardian.h"
#include "injectors/job/schedule.h"
#include "lib/base/fail.h"

/* Written by the machine's process, read by the guardian once that has ended. */
struct answer {
	const struct point_run *run;
	bool complete;
	int error;
	char sentence[1024];
	struct result result;
	char failing[RESULT_FAILING];
};

static int wait_for_workloads(struct machine *machine, const struct plan *plan)
{
	int err = machine_wait(machine, plan->timeout_ns, &guardian_stop);

	if (guardian_stop)
		return guardian_stopped();
	if (err == -ETIMEDOUT)
		return failed(err,
			      "the workloads are not done after %.0f s; accepted: a shorter one, "
			      "or a longer machine.timeout",
			      (double)plan->timeout_ns / 1e9);
	return err;
}

/* The first error counts; what has to be undone is undone in any case. */
static int run_machine(const struct plan *plan, struct machine *machine, struct result *result,
		       char *failing)
{
	struct result_input input = {
		.machine = machine, .config = &plan->machine, .failing = failing};
	struct schedule *schedule;
	int err, undone;

	err = machine_start(machine);
	if (err)
		return err;
	err = schedule_start(&schedule, plan, machine);
	if (!err) {
		char sentence[1024];

		err = wait_for_workloads(machine, plan);
		snprintf(sentence, sizeof(sentence), "%s", failure_text());
		undone = schedule_stop(schedule, &input.injected);
		if (err)
			failed(err, "%s", sentence);
		else
			err = undone;
	}
	machine_stop(machine);
	return err ? err : result_fill(result, &input);
}

static int point_run_machine(const struct point_run *run, struct result *result, char *failing)
{
	struct machine *machine;
	int err, closed;

	err = run->truth ? truth_open(run->truth, false) : 0;
	if (err)
		return err;
	err = machine_create(&machine, &run->plan->machine);
	if (!err) {
		err = run_machine(run->plan, machine, result, failing);
		machine_destroy(machine);
	}
	if (run->truth) {
		char sentence[1024];

		snprintf(sentence, sizeof(sentence), "%s", failure_text());
		closed = truth_close();
		if (err)
			failed(err, "%s", sentence);
		else
			err = closed;
	}
	return err;
}

static void point_body(void *argument)
{
	struct answer *answer = argument;

	answer->error = point_run_machine(answer->run, &answer->result, answer->failing);
	snprintf(answer->sentence, sizeof(answer->sentence), "%s", failure_text());
	answer->complete = true;
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
	task.argument = answer;
	err = guardian_run(&task, &pid);
	if (!err && !answer->complete)
		err = failed(-EIO, "the machine's process %d ended without a result", pid);
	if (!err && answer->error)
		err = failed(answer->error, "%s", answer->sentence);
	if (!err)
		*result = answer->result;
	if (!err && run->failing)
		memcpy(run->failing, answer->failing, RESULT_FAILING);
	munmap(answer, sizeof(*answer));
	return err;
}
