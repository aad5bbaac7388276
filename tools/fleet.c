// SPDX-License-Identifier: GPL-2.0
/* faultline fleet: which faults policies would save populations of virtual machines, by a model. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/job/expect.h"
#include "tools/fleet/command.h"
#include "tools/fleet/results.h"
#include "tools/fleet/write.h"
#include "tools/progress.h"
#include "tools/verbs.h"

static const char about[] =
	"Simulates populations of virtual machines that overcommit memory (VPRI): each has a NIC, a block device "
	"or both, whose accesses are made up, and a policy that pins some of their pages. Counts the faults that "
	"are left, by device and day. Results are a model's, labelled so, and the same to the byte for the same job.\v"
	"EXAMPLES:\n"
	"  faultline fleet fleet-adp --short\n"
	"  faultline fleet fleet-unprotected --csv=out\n"
	"  faultline fleet fleet.ini --set protector.policy=none,lru,adp \\\n"
	"      --sweep fleet.overcommit=10%,20%,30%\n"
	"  faultline fleet fleet.ini --short --write recordings\n\n"
	"JOB is the name of a shipped job or, with a slash or .ini, a file. A job file has the sections and keys that --keys lists, [sweep], [expect] and [short] as "
	"in docs/jobs.md. What is modelled: docs/fleet.md.";

/* Machines are handed out one by one; each is its own world, so that threads share nothing. */
struct fleet_pool {
	struct fleet_command *command;
	struct fleet_point *points;
	size_t machines; /* of all groups of points that are alike */
	atomic_size_t next, done;
	atomic_int error;
	pthread_mutex_t lock;
	char sentence[512]; /* of the first machine that failed */
};

static void fail_machine(struct fleet_pool *pool, size_t point, __u32 machine, int err)
{
	char name[256];

	pthread_mutex_lock(&pool->lock);
	if (!pool->error) {
		pool->error = err;
		sweep_point_name(&pool->command->sweep, point, name, sizeof(name));
		snprintf(pool->sentence, sizeof(pool->sentence), "%s%smachine %u: %s", name,
			 *name ? ": " : "", machine, failure_text());
	}
	pthread_mutex_unlock(&pool->lock);
}

static void fleet_run_machine(struct fleet_pool *pool, size_t point, __u32 machine)
{
	const struct fleet_config *configs[FLEET_POLICIES];
	struct fleet_outcome *outcomes[FLEET_POLICIES];
	size_t alike = fleet_command_alike(pool->command, point);
	int err;

	for (size_t i = 0; i < alike; i++) {
		configs[i] = &pool->command->configs[point + i];
		outcomes[i] = &pool->points[point + i].outcomes[machine];
	}
	err = fleet_simulate(configs, alike, machine, outcomes);
	if (err)
		fail_machine(pool, point, machine, err);
	pthread_mutex_lock(&pool->lock);
	for (size_t i = 0; !err && i < alike; i++)
		fleet_curve_add(&pool->points[point + i].curve, &outcomes[i]->curve);
	pthread_mutex_unlock(&pool->lock);
	for (size_t i = 0; !err && i < outcomes[0]->device_count; i++)
		progress_add(outcomes[0]->devices[i].accesses);
}

static void *fleet_work(void *argument)
{
	struct fleet_pool *pool = argument;
	size_t number;

	while (!pool->error && (number = pool->next++) < pool->machines) {
		size_t point = 0;

		while (number >= pool->points[point].machine_count) {
			number -= pool->points[point].machine_count;
			point += fleet_command_alike(pool->command, point);
		}
		fleet_run_machine(pool, point, (__u32)number);
		pool->done++;
	}
	return NULL;
}

static int fleet_run_machines(struct fleet_pool *pool)
{
	size_t threads = pool->command->threads ?: (size_t)sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t ids[FLEET_THREADS_MAX];
	size_t started = 0;

	if (threads > pool->machines)
		threads = pool->machines;
	if (threads > FLEET_THREADS_MAX)
		threads = FLEET_THREADS_MAX;
	progress_parts("machines");
	while (started < threads && !pthread_create(&ids[started], NULL, fleet_work, pool))
		started++;
	if (!started)
		fleet_work(pool);
	while (started && !pool->error && pool->done < pool->machines) {
		usleep(pool->done ? 100000 : 10000);
		progress_show(pool->done, pool->machines, "accesses");
	}
	while (started)
		pthread_join(ids[--started], NULL);
	progress_end();
	return pool->error ? failed(pool->error, "%s", pool->sentence) : 0;
}

static int fleet_simulate_all(struct fleet_command *command, struct fleet_point *points)
{
	struct fleet_pool pool = {
		.command = command, .points = points, .lock = PTHREAD_MUTEX_INITIALIZER};
	int err;

	for (size_t i = 0; i < command->sweep.points; i++) {
		points[i].config = &command->configs[i];
		points[i].machine_count = command->configs[i].machine_count;
		points[i].outcomes = calloc(points[i].machine_count, sizeof(points[i].outcomes[0]));
		points[i].curve.count =
			(size_t)(command->configs[i].length_ns / command->configs[i].moment_ns) + 1;
		points[i].curve.moments = calloc(FLEET_DEVICES * points[i].curve.count,
						 sizeof(points[i].curve.moments[0]));
		if (!points[i].outcomes || !points[i].curve.moments)
			return failed(-ENOMEM, "no memory for %u machines",
				      points[i].machine_count);
	}
	for (size_t i = 0; i < command->sweep.points; i += fleet_command_alike(command, i))
		pool.machines += points[i].machine_count;
	err = fleet_run_machines(&pool);
	for (size_t i = 0; !err && i < command->sweep.points; i++)
		err = fleet_judge(&points[i]);
	return err;
}

static int fleet_execute(struct fleet_command *command, struct fleet_point **points)
{
	struct writer *writer;
	int err = fleet_command_read(command);

	if (!err)
		err = common_open_writer(&writer, &command->output, command->inputs, fleet_tables);
	if (err)
		return err;
	*points = calloc(command->sweep.points, sizeof(**points));
	if (!*points)
		err = failed(-ENOMEM, "no memory for %zu points", command->sweep.points);
	if (!err && command->write)
		err = fleet_record(&command->configs[0], command->write);
	if (!err)
		err = fleet_simulate_all(command, *points);
	if (!err)
		err = fleet_write(writer, &command->sweep, *points, fleet_command_whole(command));
	if (!err)
		return writer_close(writer);
	writer_abandon(writer);
	return err;
}

static int fleet_expect(const struct fleet_command *command, const struct fleet_point *points)
{
	double *values = calloc(command->sweep.points, sizeof(points[0].values));
	const struct expression_scope scope = {&command->sweep, &fleet_columns, values};
	int code;

	if (!values)
		return common_failed(failed(-ENOMEM, "no memory for the results"));
	for (size_t i = 0; i < command->sweep.points; i++)
		memcpy(&values[i * FLEET_COLUMNS], points[i].values, sizeof(points[i].values));
	code = expect_judge(command->text, &scope,
			    command->output.to.format == OUTPUT_TEXT ? stdout : stderr);
	free(values);
	return code;
}

static void close_points(const struct fleet_command *command, struct fleet_point *points)
{
	for (size_t i = 0; points && i < command->sweep.points; i++) {
		for (__u32 m = 0; points[i].outcomes && m < points[i].machine_count; m++)
			fleet_outcome_free(&points[i].outcomes[m]);
		free(points[i].outcomes);
		free(points[i].curve.moments);
	}
	free(points);
}

int verb_fleet(int argc, char **argv)
{
	struct fleet_command command = {0};
	struct fleet_point *points = NULL;
	int err = fleet_command_parse(&command, about, argc, argv), code;

	if (err)
		return EXIT_USAGE;
	if (command.keys)
		return fleet_command_keys();
	progress_end_on_signals();
	err = fleet_execute(&command, &points);
	code = err ? common_failed(err) : fleet_expect(&command, points);
	close_points(&command, points);
	fleet_command_free(&command);
	return code;
}
