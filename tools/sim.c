// SPDX-License-Identifier: GPL-2.0
/* faultline sim: how a translation hierarchy behaves for many tenants, by HyperTRIO's model. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/job/expect.h"
#include "tools/sim/command.h"
#include "tools/progress.h"
#include "tools/verbs.h"

struct sim {
	struct sim_command command;
	struct sim_outcome *outcomes; /* one a point */
	double *values;		      /* of all points, for [expect] */
};

static const char about[] =
	"Simulates how an I/O translation hierarchy behaves for 1 to 65536 tenants (HyperTRIO): "
	"packets in virtual time through PTB, DevTLB, prefetcher, IOTLB, walk caches and page "
	"tables. Results are a model's, labelled so, and the same to the byte for the same job.\v"
	"EXAMPLES:\n"
	"  faultline sim --preset hypertrio --tenants 1024\n"
	"  faultline sim --sweep preset.design=base,hypertrio \\\n"
	"      --sweep trace.tenants=4,64,1024\n"
	"  faultline sim --set devtlb.policy=belady --sweep devtlb.entries=8,16,32,64 \\\n"
	"      --set devtlb.ways=8 --tenants 1\n"
	"  faultline sim --trace guest1.flt --trace guest2.flt --tenants 64 --csv=out\n"
	"  faultline sim scalability --short\n\n"
	"JOB is the name of a shipped job or, with a slash or .ini, a file. A job file has the sections and keys that --keys lists, [sweep], [expect] and [short] as "
	"in docs/jobs.md. What is modelled: docs/translation.md.";

/* Points are handed out one by one; each is its own world, so that threads share nothing. */
struct sim_pool {
	struct sim *sim;
	atomic_size_t next, done;
	atomic_int error;
	pthread_mutex_t lock;
	char sentence[512]; /* of the first point that failed */
};

static void fail_point(struct sim_pool *pool, size_t point, int err)
{
	char name[256];

	pthread_mutex_lock(&pool->lock);
	if (!pool->error) {
		pool->error = err;
		sweep_point_name(&pool->sim->command.sweep, point, name, sizeof(name));
		snprintf(pool->sentence, sizeof(pool->sentence), "%s%s%s", name, *name ? ": " : "",
			 failure_text());
	}
	pthread_mutex_unlock(&pool->lock);
}

static void *sim_work(void *argument)
{
	struct sim_pool *pool = argument;
	struct sim *sim = pool->sim;
	size_t point;

	while (!pool->error && (point = pool->next++) < sim->command.sweep.points) {
		int err = sim_run(&sim->outcomes[point], &sim->command.configs[point],
				  sim->command.store);

		if (err)
			fail_point(pool, point, err);
		else
			memcpy(&sim->values[point * SIM_COLUMNS], sim->outcomes[point].values,
			       sizeof(sim->outcomes[point].values));
		pool->done++;
	}
	return NULL;
}

static int sim_run_points(struct sim *sim)
{
	struct sim_pool pool = {.sim = sim, .lock = PTHREAD_MUTEX_INITIALIZER};
	size_t threads = sim->command.threads ?: (size_t)sysconf(_SC_NPROCESSORS_ONLN), started = 0;
	pthread_t ids[SIM_THREADS_MAX];

	if (threads > sim->command.sweep.points)
		threads = sim->command.sweep.points;
	if (threads > SIM_THREADS_MAX)
		threads = SIM_THREADS_MAX;
	while (started < threads && !pthread_create(&ids[started], NULL, sim_work, &pool))
		started++;
	if (!started)
		sim_work(&pool);
	while (started && !pool.error && pool.done < sim->command.sweep.points) {
		usleep(pool.done ? 100000 : 10000);
		progress_show(pool.done, sim->command.sweep.points, "packets");
	}
	while (started)
		pthread_join(ids[--started], NULL);
	progress_end();
	return pool.error ? failed(pool.error, "%s", pool.sentence) : 0;
}

static int sim_simulate(struct sim *sim)
{
	size_t points = sim->command.sweep.points;

	sim->outcomes = calloc(points, sizeof(sim->outcomes[0]));
	sim->values = calloc(points, sizeof(sim->outcomes[0].values));
	if (!sim->outcomes || !sim->values)
		return failed(-ENOMEM, "no memory for %zu points", points);
	return sim_run_points(sim);
}

static int sim_execute(struct sim *sim)
{
	const struct sim_command *command = &sim->command;
	struct writer *writer;
	int err = sim_command_read(&sim->command);

	if (!err)
		err = sim_command_open(command, &writer, sim_tables);
	if (err)
		return err;
	err = sim_simulate(sim);
	if (!err)
		err = sim_write(writer, &command->sweep, sim->outcomes, sim_command_whole(command));
	if (!err)
		err = sim_command_left_out(command, command->sweep.points, writer);
	return sim_command_close(writer, err);
}

static int sim_judge(const struct sim *sim)
{
	const struct sim_command *command = &sim->command;
	const struct expression_scope scope = {&command->sweep, &sim_columns, sim->values};
	int code = expect_judge(command->text, &scope,
				command->output.to.format == OUTPUT_TEXT ? stdout : stderr);

	return code == EXIT_OK && command->lossy ? EXIT_LOSS : code;
}

static void close_sim(struct sim *sim)
{
	for (size_t i = 0; sim->outcomes && i < sim->command.sweep.points; i++)
		sim_outcome_free(&sim->outcomes[i]);
	free(sim->outcomes);
	free(sim->values);
	sim_command_free(&sim->command);
}

int verb_sim(int argc, char **argv)
{
	struct sim sim = {0};
	int err = sim_command_parse(&sim.command, about, argc, argv), code;

	if (err)
		return EXIT_USAGE;
	if (sim.command.keys)
		return sim_command_keys();
	err = sim_execute(&sim);
	code = err ? common_failed(err) : sim_judge(&sim);
	close_sim(&sim);
	return code;
}
