// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/cluster/host.h"
#include "injectors/cluster/io_user.h"
#include "injectors/cluster/lend.h"
#include "injectors/cluster/run_private.h"
#include "injectors/cluster/seen.h"
#include "injectors/job/guardian.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"

#define RUN_LOOK_NS (10 * NSEC_PER_MSEC)
/* Beside several times config.dead_ns: for threads of a busy machine to come to their ends. */
#define RUN_END_NS (10 * NSEC_PER_SEC)

/* died() of agents_reap() gets no argument. */
static struct cluster_runner *run_runner;

void run_keep_error(struct cluster_runner *runner, int error)
{
	if (runner->first.error || !error)
		return;
	runner->first.error = error;
	snprintf(runner->first.sentence, sizeof(runner->first.sentence), "%s", failure_text());
}

static void run_tell(struct cluster *cluster, const char *what, __u32 agent)
{
	truth_cluster(cluster, &(struct cluster_truth){.what = what,
						       .agent = agent,
						       .device = CLUSTER_NONE,
						       .borrow = CLUSTER_NONE,
						       .queue = CLUSTER_NONE});
}

static void run_died(struct cluster *cluster, __u32 agent)
{
	struct cluster_runner *runner = run_runner;

	run_tell(cluster, "killed", agent);
	runner->outcome.killed++;
	runner->processes[agent].bury_ns = monotonic_ns() + cluster->config->dead_ns;
	run_injection_killed(runner, agent);
}

static bool run_host_lives(const struct cluster *cluster, __u32 host)
{
	return agent_pid(cluster, host) > 0;
}

/* Those that nobody of their host looks after, as it is dead as well. */
static void run_bury(struct cluster_runner *runner, bool now)
{
	struct cluster *cluster = runner->cluster;

	for (__u32 i = 0; i < agent_count(cluster); i++) {
		struct cluster_process *process = &runner->processes[i];

		if (!process->bury_ns || (!now && monotonic_ns() < process->bury_ns))
			continue;
		/* A host buries its own while it lives; what is left, when it is gone. */
		if (!now && run_host_lives(cluster, agent_info(cluster, i)->host))
			continue;
		agent_bury(cluster, i);
		process->bury_ns = 0;
	}
}

/* Its target still writes to the memory of its former life. */
static bool run_is_served(const struct cluster *cluster, __u32 initiator)
{
	const struct agent_info *info = agent_info(cluster, initiator);

	for (__u32 i = 0; info->kind == AGENT_INITIATOR && i < agent_count(cluster); i++)
		if (agent_info(cluster, i)->kind == AGENT_TARGET &&
		    agent_info(cluster, i)->config == info->config)
			/* One that is begun anew with it is another's. */
			return agent_pid(cluster, i) > 0 &&
			       agent_life(cluster, i) <= agent_life(cluster, initiator);
	return false;
}

/* A user's host is there, or is itself; without one that comes back he does not, either. */
static bool run_may_restart(struct cluster_runner *runner, __u32 agent)
{
	__u32 host = agent_info(runner->cluster, agent)->host;

	if (agent == host ||
	    (run_host_lives(runner->cluster, host) && !runner->processes[host].killer))
		return !run_is_served(runner->cluster, agent);
	if (!runner->processes[host].restart_ns && !runner->processes[host].killer)
		runner->processes[agent].restart_ns = 0;
	return false;
}

static void run_restart(struct cluster_runner *runner)
{
	for (__u32 i = 0; i < agent_count(runner->cluster); i++) {
		struct cluster_process *process = &runner->processes[i];

		if (!process->restart_ns || monotonic_ns() < process->restart_ns ||
		    !run_may_restart(runner, i))
			continue;
		process->restart_ns = 0;
		if (process->bury_ns)
			agent_bury(runner->cluster, i);
		process->bury_ns = 0;
		run_tell(runner->cluster, "restarted", i);
		run_keep_error(runner, agent_start(runner->cluster, i));
	}
}

/* One turn: who has ended, what is due, what the dead have left; then waits for something to happen. */
static void run_turn(struct cluster_runner *runner)
{
	struct cluster *cluster = runner->cluster;
	__u32 events = agent_events(cluster);

	if (!agents_reap(cluster, run_died))
		agent_wait(cluster, events, RUN_LOOK_NS);
	if (cluster_phase(cluster) == CLUSTER_RUNNING && cluster_run_ns(cluster)) {
		run_injections(runner);
		run_restart(runner);
	}
	if (runner->outcome.killed)
		lend_look(cluster);
	run_bury(runner, false);
}

static bool run_stopped(struct cluster_runner *runner)
{
	if (guardian_stop)
		run_keep_error(runner, guardian_stopped());
	return guardian_stop;
}

/* A host that could not begin. */
static bool run_host_failed(struct cluster_runner *runner)
{
	const struct cluster *cluster = runner->cluster;

	for (__u32 h = 0; h < cluster->config->host_count; h++)
		if (agent_state(cluster, h) == AGENT_FAILED) {
			run_keep_error(runner,
				       failed(-EIO, "host %s: %s", cluster->config->hosts[h].name,
					      agent_text(cluster, h)));
			return true;
		}
	return false;
}

static int run_too_long(const struct cluster_runner *runner, const char *what)
{
	char text[UNITS_TEXT];

	return failed(-ETIMEDOUT,
		      "%s after %s; accepted: a shorter run, or a longer cluster.timeout", what,
		      units_format_duration(runner->plan->config.timeout_ns, text));
}

/* Unless its host is dead already: then as it is. */
static int run_start_user(struct cluster_runner *runner, __u32 agent)
{
	struct cluster *cluster = runner->cluster;
	__u32 host = agent_info(cluster, agent)->host;

	if (agent_state(cluster, host) != AGENT_DEAD)
		return agent_start(cluster, agent);
	runner->processes[agent].restart_ns = runner->processes[host].restart_ns;
	if (!runner->processes[agent].restart_ns)
		agent_state_set(cluster, agent, AGENT_DEAD);
	return 0;
}

static void run_start(struct cluster_runner *runner)
{
	struct cluster *cluster = runner->cluster;
	const __u64 begin = monotonic_ns();
	int err = 0;

	for (__u32 h = 0; !err && h < cluster->config->host_count; h++)
		err = agent_start(cluster, h);
	run_keep_error(runner, err);
	while (!err && !agents_all(cluster, true, AGENT_RUNS) && !run_stopped(runner)) {
		run_turn(runner);
		if (monotonic_ns() - begin > runner->plan->config.timeout_ns) {
			run_keep_error(runner, run_too_long(runner, "hosts have not begun"));
			return;
		}
	}
	if (runner->first.error || run_host_failed(runner))
		return;
	run_tell(cluster, "run_begin", CLUSTER_NONE);
	/* Those from the run's begin on act before anybody can have borrowed. */
	run_injections(runner);
	cluster_begin(cluster);
	for (__u32 i = cluster->config->host_count; !err && i < agent_count(cluster); i++)
		err = run_start_user(runner, i);
	run_keep_error(runner, err);
}

static bool run_user_done(const struct cluster_runner *runner, const struct plan_user *user)
{
	const struct cluster *cluster = runner->cluster;
	const struct cluster_config *config = cluster->config;
	static const enum agent_kind kinds[] = {[USER_VM] = AGENT_VM,
						[USER_CLIENT] = AGENT_CLIENT,
						[USER_TARGET] = AGENT_INITIATOR};

	if (user->kind == USER_BORROW) {
		__u32 host = config->borrows[user->index].host;

		return borrow_results_of(cluster, user->index)->over ||
		       (agent_state(cluster, host) > AGENT_RUNS &&
			!runner->processes[host].restart_ns);
	}
	for (__u32 i = config->host_count; i < agent_count(cluster); i++) {
		const struct agent_info *info = agent_info(cluster, i);

		if (info->kind == kinds[user->kind] && info->config == user->index)
			return agent_state(cluster, i) > AGENT_RUNS &&
			       !runner->processes[i].restart_ns;
	}
	return true;
}

/* Everybody who has a number of I/Os has had them. */
static bool run_done(const struct cluster_runner *runner)
{
	bool any = false;

	if (agents_work_left(runner->cluster))
		return false;
	for (__u32 i = 0; i < runner->plan->user_count; i++) {
		if (!runner->plan->users[i].io->ios)
			continue;
		any = true;
		if (!run_user_done(runner, &runner->plan->users[i]))
			return false;
	}
	return any;
}

static void run_users(struct cluster_runner *runner)
{
	const struct cluster_plan *plan = runner->plan;
	struct cluster *cluster = runner->cluster;

	while (!run_stopped(runner) && !run_host_failed(runner) && !run_done(runner)) {
		__u64 passed = cluster_run_ns(cluster);

		if (plan->duration_ns && passed >= plan->duration_ns)
			break;
		if (passed >= plan->config.timeout_ns) {
			run_keep_error(runner, run_too_long(runner, "users are not done"));
			break;
		}
		run_turn(runner);
	}
	runner->outcome.run_ns = cluster_run_ns(cluster);
	run_tell(cluster, "run_end", CLUSTER_NONE);
}

static bool run_users_ended(const struct cluster *cluster)
{
	return agents_all(cluster, false, AGENT_DONE) &&
	       agents_hosts_quiet(cluster, CLUSTER_USERS_END);
}

static bool run_hosts_quiet(const struct cluster *cluster)
{
	return agents_hosts_quiet(cluster, CLUSTER_HOSTS_END);
}

static bool run_hosts_ended(const struct cluster *cluster)
{
	for (__u32 i = 0; i < agent_count(cluster); i++)
		if (agent_pid(cluster, i) > 0)
			return false;
	return true;
}

/* Who has not ended in time: named, and killed. */
static void run_force(struct cluster_runner *runner, enum cluster_phase phase)
{
	struct cluster *cluster = runner->cluster;

	for (__u32 i = 0; i < agent_count(cluster); i++) {
		bool host = agent_info(cluster, i)->kind == AGENT_HOST;

		if (agent_pid(cluster, i) <= 0 ||
		    (host && phase < CLUSTER_CLOSING && agent_is_quiet(cluster, i, phase)))
			continue;
		run_keep_error(runner,
			       failed(-ETIMEDOUT, "%s has not ended %.0f s after it was told to",
				      agent_info(cluster, i)->name,
				      (double)(4 * cluster->config->dead_ns + RUN_END_NS) / 1e9));
		agent_kill(cluster, i);
	}
}

static void run_phase(struct cluster_runner *runner, enum cluster_phase phase,
		      bool (*ended)(const struct cluster *cluster))
{
	struct cluster *cluster = runner->cluster;
	const __u64 most = monotonic_ns() + 4 * cluster->config->dead_ns + RUN_END_NS;

	cluster_phase_set(cluster, phase);
	while (!ended(cluster)) {
		run_turn(runner);
		if (monotonic_ns() > most) {
			run_force(runner, phase);
			break;
		}
	}
	agents_reap(cluster, run_died);
}

/* In any case: nobody outlives the run. */
static void cluster_run_end(struct cluster_runner *runner)
{
	struct cluster *cluster = runner->cluster;

	run_injections_end(runner);
	/* A user that was never started has nothing to end. */
	for (__u32 i = cluster->config->host_count; i < agent_count(cluster); i++)
		if (agent_state(cluster, i) == AGENT_NEW && agent_pid(cluster, i) <= 0)
			agent_state_set(cluster, i, AGENT_DONE);
	run_phase(runner, CLUSTER_USERS_END, run_users_ended);
	run_phase(runner, CLUSTER_HOSTS_END, run_hosts_quiet);
	run_phase(runner, CLUSTER_CLOSING, run_hosts_ended);
	while (!run_hosts_ended(cluster)) /* those that were killed */
		run_turn(runner);
	run_host_failed(runner);
	runner->outcome.failed = run_failed(cluster, runner->plan->duration_ns);
	if (runner->outcome.killed) {
		lend_look(cluster);
		run_bury(runner, true);
		lend_look(cluster);
	}
}

/* Of those that wait for a step: nobody has come to it. */
static void run_note_idle(const struct cluster_runner *runner, struct cluster_result *result)
{
	const struct cluster_config *config = runner->cluster->config;
	size_t used = 0;

	for (__u32 i = 0; i < config->injection_count && used < sizeof(result->idle) - 1; i++)
		if (!runner->injections[i].fired)
			used += (size_t)snprintf(result->idle + used, sizeof(result->idle) - used,
						 "%s%s", used ? ", " : "",
						 config->injections[i].name);
}

static void run_all(struct cluster_runner *runner, struct cluster_result *result)
{
	run_left_before(runner);
	run_start(runner);
	if (!runner->first.error)
		run_users(runner);
	cluster_run_end(runner);
	run_left_after(runner);
	cluster_result_fill(result, runner->cluster, runner->plan, &runner->outcome);
	run_note_failed(runner->cluster, runner->plan->duration_ns, result);
	run_note_idle(runner, result);
}

static int run_write_truth(const struct cluster *cluster, const char *path)
{
	FILE *file = fopen(path, "wxe");
	int err;

	if (!file)
		return failed(-errno, "cannot write %s: %s", path, strerror(errno));
	err = cluster_truth_write(cluster, file);
	if (fclose(file) && !err)
		err = failed(-EIO, "cannot write %s: is the disk full?", path);
	return err;
}

int cluster_run(const struct cluster_plan *plan, const char *truth, struct cluster_result *result)
{
	struct cluster_runner *runner = calloc(1, sizeof(*runner));
	struct run_error first;
	int err;

	cluster_result_clear(result);
	if (!runner)
		return failed(-ENOMEM, "no memory for a run");
	runner->injections = calloc(plan->config.injection_count + 1, sizeof(*runner->injections));
	if (!runner->injections) {
		free(runner);
		return failed(-ENOMEM, "no memory for a run");
	}
	runner->plan = plan;
	run_runner = runner;
	err = cluster_create(&runner->cluster, &plan->config, &plan->costs);
	if (!err) {
		if (truth)
			cluster_truth_begin(runner->cluster);
		run_all(runner, result);
		if (truth)
			run_keep_error(runner, run_write_truth(runner->cluster, truth));
		cluster_destroy(runner->cluster);
	}
	first = runner->first;
	free(runner->injections);
	free(runner);
	return err ? err : first.error ? failed(first.error, "%s", first.sentence) : 0;
}
