// SPDX-License-Identifier: GPL-2.0
/* faultline sim: how a translation hierarchy behaves for many tenants, by HyperTRIO's model. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/job/expect.h"
#include "tools/sim/sim.h"
#include "tools/verbs.h"

#define VALUES_MAX  64 /* options of one kind on a command line */
#define THREADS_MAX 256

struct values {
	const char *at[VALUES_MAX];
	size_t count;
};

struct sim {
	struct output_options output;
	const char *job;
	struct values presets, sets, sweeps, recordings;
	enum import_format format;
	const char *tenants;
	__u64 threads;
	bool keys, shorten;
	bool accesses; /* the other verb: look at the trace, simulate nothing */
	bool lossy;    /* a recording is not whole */

	struct job_text *text;
	struct sweep sweep;
	struct sim_config *configs; /* one a point */
	struct sim_outcome *outcomes;
	double *values; /* of all points, for [expect] */
	struct store *store;
	struct writer *writer;
};

enum {
	KEY_PRESET = 0x200,
	KEY_SET,
	KEY_SWEEP,
	KEY_TENANTS,
	KEY_TRACE,
	KEY_FORMAT,
	KEY_KEYS,
	KEY_SHORT
};

static const struct argp_option options[] = {
	{"preset", KEY_PRESET, "NAME", 0,
	 "base, hypertrio, as-released, table2-literal; repeatable", 0},
	{"set", KEY_SET, "SECTION.KEY=VALUE", 0, "Replace a value of the job; repeatable", 0},
	{"sweep", KEY_SWEEP, "SECTION.KEY=V1,V2", 0,
	 "Run every value, with those of other --sweep every combination", 0},
	{"tenants", KEY_TENANTS, "N", 0, "The same as --set trace.tenants=N", 0},
	{"trace", KEY_TRACE, "FILE", 0,
	 "Recording to take translations from instead of making them up; repeatable", 0},
	{"format", KEY_FORMAT, "NAME", 0, "Of the recordings: auto, flt, hypersio, qemu", 0},
	{"short", KEY_SHORT, NULL, 0, "Use the smaller grid of the job's [short] section", 0},
	{"threads", 'j', "N", 0, "Points at a time (all CPUs)", 0},
	{"keys", KEY_KEYS, NULL, 0, "List every key of a job with its meaning and default", 0},
	{0},
};

static void add_value(struct values *values, const char *value, struct argp_state *state)
{
	if (values->count == VALUES_MAX)
		argp_error(state, "more than %d options of one kind", VALUES_MAX);
	else
		values->at[values->count++] = value;
}

static void parse_format(struct sim *sim, const char *argument, struct argp_state *state)
{
	for (int format = 0; format < IMPORT_FORMATS; format++)
		if (!strcmp(argument, import_format_name(format))) {
			sim->format = format;
			return;
		}
	argp_error(state, "--format %s: accepted: auto, flt, hypersio, qemu", argument);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct sim *sim = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &sim->output;
		return 0;
	case KEY_PRESET:
		add_value(&sim->presets, argument, state);
		return 0;
	case KEY_SET:
		add_value(&sim->sets, argument, state);
		return 0;
	case KEY_SWEEP:
		add_value(&sim->sweeps, argument, state);
		return 0;
	case KEY_TRACE:
		add_value(&sim->recordings, argument, state);
		return 0;
	case KEY_FORMAT:
		parse_format(sim, argument, state);
		return 0;
	case KEY_TENANTS:
		sim->tenants = argument;
		return 0;
	case KEY_SHORT:
		sim->shorten = true;
		return 0;
	case KEY_KEYS:
		sim->keys = true;
		return 0;
	case 'j':
		if (units_parse_count(argument, 1, THREADS_MAX, &sim->threads))
			common_option_failed(state, "--threads");
		return 0;
	case ARGP_KEY_ARG:
		if (sim->job)
			argp_error(state, "accepted: one job file");
		sim->job = argument;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {{&output_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
	options,
	parse,
	"[JOB.ini]",
	"Simulates how an I/O translation hierarchy behaves for 1 to 65536 tenants (HyperTRIO): "
	"packets in virtual time through PTB, DevTLB, prefetcher, IOTLB, walk caches and page "
	"tables. Results are a model's, labelled so, and the same to the byte for the same job.\v"
	"EXAMPLES:\n"
	"  faultline sim --preset hypertrio --tenants 1024\n"
	"  faultline sim --sweep preset.design=base,hypertrio --sweep trace.tenants=4,64,1024\n"
	"  faultline sim --set devtlb.policy=belady --sweep devtlb.entries=8,16,32,64 \\\n"
	"      --set devtlb.ways=8 --tenants 1\n"
	"  faultline sim --trace guest1.flt --trace guest2.flt --tenants 64 --csv out\n"
	"  faultline sim scalability.ini\n\n"
	"A job file has the sections and keys that --keys lists, [sweep], [expect] and [short] as "
	"in docs/jobs.md. What is modelled: docs/translation.md.",
	children,
	NULL,
	NULL,
};

/* "SECTION.KEY=V1,V2": a dimension named by its key, or by both if the key is taken. */
static int add_sweep(struct sim *sim, const char *option)
{
	const char *equals = strchr(option, '='), *dot = strchr(option, '.');
	char target[128], value[JOB_LINE_MAX];

	if (!equals || !dot || dot > equals || dot == option || dot + 1 == equals || !equals[1])
		return failed(-EINVAL, "--sweep %s: accepted: SECTION.KEY=V1,V2", option);
	snprintf(target, sizeof(target), "sweep.%.*s", (int)(equals - dot - 1), dot + 1);
	if (job_text_section(sim->text, "sweep", NULL)->entry_count) {
		const struct job_section *section = job_text_section(sim->text, "sweep", NULL);

		for (size_t i = 0; i < section->entry_count; i++)
			if (!strcmp(section->entries[i].key, target + strlen("sweep.")))
				snprintf(target, sizeof(target), "sweep.%.*s_%.*s",
					 (int)(dot - option), option, (int)(equals - dot - 1),
					 dot + 1);
	}
	snprintf(value, sizeof(value), "%.*s: %s", (int)(equals - option), option, equals + 1);
	return job_text_set(sim->text, target, value, "--sweep");
}

static int read_job(struct sim *sim)
{
	int err = 0;

	if (sim->job)
		err = job_text_read(&sim->text, sim->job);
	else if (!(sim->text = job_text_new("the command line")))
		err = failed(-ENOMEM, "no memory for the job");
	if (!err && sim->shorten && !job_text_section(sim->text, "short", NULL))
		return job_text_shorten(sim->text); /* says that there is none */
	if (!err)
		err = sim_complete(sim->text);
	if (!err && sim->shorten)
		err = job_text_shorten(sim->text);
	for (size_t i = 0; !err && i < sim->presets.count; i++)
		err = sim_preset(sim->text, sim->presets.at[i]);
	for (size_t i = 0; !err && i < sim->sets.count; i++)
		err = job_text_assign(sim->text, sim->sets.at[i]);
	if (!err && sim->tenants)
		err = job_text_set(sim->text, "trace.tenants", sim->tenants, "--tenants");
	for (size_t i = 0; !err && i < sim->sweeps.count; i++)
		err = add_sweep(sim, sim->sweeps.at[i]);
	if (!err)
		err = sweep_build(&sim->sweep, sim->text);
	return err;
}

/* Every point is understood before the first one runs. */
static int configure(struct sim *sim)
{
	const struct expression_scope scope = {.sweep = &sim->sweep, .columns = &sim_columns};
	int err = expect_check(sim->text, &scope);

	sim->configs = calloc(sim->sweep.points, sizeof(sim->configs[0]));
	sim->outcomes = calloc(sim->sweep.points, sizeof(sim->outcomes[0]));
	sim->values = calloc(sim->sweep.points, sizeof(sim->outcomes[0].values));
	if (!sim->configs || !sim->outcomes || !sim->values)
		return failed(-ENOMEM, "no memory for %zu points", sim->sweep.points);
	for (size_t i = 0; !err && i < sim->sweep.points; i++) {
		struct job_text *text = job_text_copy(sim->text);

		if (!text)
			return failed(-ENOMEM, "no memory for the job");
		err = sweep_apply(&sim->sweep, i, text);
		if (!err)
			err = sim_configure(&sim->configs[i], text);
		job_text_free(text);
		if (!err && (err = model_check(&sim->configs[i].model)) == -EINVAL)
			err = -EBADMSG;
	}
	return err;
}

/* What a recording lost is missing from the trace: the run ends with EXIT_LOSS, and here is why. */
static void note_loss(struct sim *sim, const char *path, const struct loss_info *loss)
{
	__u64 lost = loss->lost + loss->missed + loss->access_lost;

	if (!lost && !loss->cut)
		return;
	sim->lossy = true;
	fprintf(stderr, "faultline: %s: %s; %llu events were lost: counts are floors\n", path,
		loss->cut ? "the recording has no end" : "it is incomplete", lost);
}

static int read_recordings(struct sim *sim)
{
	int err = sim->recordings.count ? store_create(&sim->store) : 0;

	for (size_t i = 0; !err && i < sim->recordings.count; i++) {
		struct loss_info loss;

		err = import_file(sim->store, sim->recordings.at[i], sim->format, (__u32)i, &loss);
		if (!err)
			note_loss(sim, sim->recordings.at[i], &loss);
	}
	return err == -EINVAL ? -EBADMSG : err;
}

/* Points are handed out one by one; each is its own world, so that threads share nothing. */
struct pool {
	struct sim *sim;
	atomic_size_t next, done;
	atomic_int error;
	pthread_mutex_t lock;
	char sentence[512]; /* of the first point that failed */
};

static void fail_point(struct pool *pool, size_t point, int err)
{
	char name[256];

	pthread_mutex_lock(&pool->lock);
	if (!pool->error) {
		pool->error = err;
		sweep_point_name(&pool->sim->sweep, point, name, sizeof(name));
		snprintf(pool->sentence, sizeof(pool->sentence), "%s%s%s", name, *name ? ": " : "",
			 failure_text());
	}
	pthread_mutex_unlock(&pool->lock);
}

static void *work(void *argument)
{
	struct pool *pool = argument;
	struct sim *sim = pool->sim;
	size_t point;

	while (!pool->error && (point = pool->next++) < sim->sweep.points) {
		int err = sim_run(&sim->outcomes[point], &sim->configs[point], sim->store);

		if (err)
			fail_point(pool, point, err);
		else
			memcpy(&sim->values[point * SIM_COLUMNS], sim->outcomes[point].values,
			       sizeof(sim->outcomes[point].values));
		pool->done++;
	}
	return NULL;
}

static void show_progress(const struct pool *pool, __u64 since_ns)
{
	__u64 seconds = (monotonic_ns() - since_ns) / NSEC_PER_SEC;

	if (seconds >= 2 && isatty(STDERR_FILENO))
		fprintf(stderr, "\r%zu of %zu points, %llu s ", (size_t)pool->done,
			pool->sim->sweep.points, seconds);
}

static int run_points(struct sim *sim)
{
	struct pool pool = {.sim = sim, .lock = PTHREAD_MUTEX_INITIALIZER};
	size_t threads = sim->threads ?: (size_t)sysconf(_SC_NPROCESSORS_ONLN), started = 0;
	__u64 since_ns = monotonic_ns();
	pthread_t ids[THREADS_MAX];

	if (threads > sim->sweep.points)
		threads = sim->sweep.points;
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	while (started < threads && !pthread_create(&ids[started], NULL, work, &pool))
		started++;
	if (!started)
		work(&pool);
	while (started && !pool.error && pool.done < sim->sweep.points) {
		usleep(pool.done ? 100000 : 10000);
		show_progress(&pool, since_ns);
	}
	while (started)
		pthread_join(ids[--started], NULL);
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%60s\r", "");
	return pool.error ? failed(pool.error, "%s", pool.sentence) : 0;
}

static bool whole(const struct sim *sim)
{
	return sim->output.format != OUTPUT_TEXT || sim->output.table;
}

static void close_sim(struct sim *sim)
{
	for (size_t i = 0; sim->outcomes && i < sim->sweep.points; i++)
		sim_outcome_free(&sim->outcomes[i]);
	free(sim->outcomes);
	free(sim->configs);
	free(sim->values);
	store_destroy(sim->store);
	sweep_free(&sim->sweep);
	job_text_free(sim->text);
}

static int prepare(struct sim *sim)
{
	int err = read_job(sim);

	if (!err)
		err = configure(sim);
	return err ? err : read_recordings(sim);
}

static int run(struct sim *sim)
{
	int err = prepare(sim), closed;

	if (!err && !sim->accesses)
		err = run_points(sim);
	if (!err)
		err = common_open_writer(&sim->writer, &sim->output);
	if (err)
		return err;
	err = sim->accesses ? sim_accesses(sim->writer, &sim->configs[0], sim->store, whole(sim))
			    : sim_write(sim->writer, &sim->sweep, sim->outcomes, whole(sim));
	closed = writer_close(sim->writer);
	return err ? err : closed;
}

/* What is wrong in a job is -EBADMSG: -EINVAL is left to the options. */
static int failed_code(int err)
{
	int code = common_failed(err);

	return err == -EINVAL ? EXIT_USAGE : code;
}

static const struct argp accesses_argp = {
	options,
	parse,
	"[JOB.ini]",
	"Tells which pages a trace needs, recorded or made up as for `faultline sim`: classes of pages "
	"by how often and when they are used, pages that tenants share, how soon a page is used again, "
	"and how many entries a tenant's accesses need at a time (HyperTRIO section IV-D).\v"
	"EXAMPLES:\n"
	"  sudo faultline record --kind io_complete -o run.flt -- ./workload\n"
	"  faultline accesses --trace run.flt --set trace.as_recorded=yes --set trace.requests=1\n"
	"  faultline accesses --set trace.workload=websearch --tenants 1 --csv out",
	children,
	NULL,
	NULL,
};

int verb_accesses(int argc, char **argv)
{
	struct sim sim = {.accesses = true};
	int err = common_parse(&accesses_argp, 0, argc, argv, &sim);

	if (err)
		return EXIT_USAGE;
	err = run(&sim);
	close_sim(&sim);
	return err ? failed_code(err) : sim.lossy ? EXIT_LOSS : EXIT_OK;
}

int verb_sim(int argc, char **argv)
{
	struct sim sim = {0};
	int err = common_parse(&argp, 0, argc, argv, &sim), code;

	if (err)
		return EXIT_USAGE;
	if (sim.keys) {
		options_help(&sim_options, stdout, NULL);
		return EXIT_OK;
	}
	err = run(&sim);
	if (err) {
		code = failed_code(err);
	} else {
		const struct expression_scope scope = {&sim.sweep, &sim_columns, sim.values};

		code = expect_judge(sim.text, &scope,
				    sim.output.format == OUTPUT_TEXT ? stdout : stderr);
		if (code == EXIT_OK && sim.lossy)
			code = EXIT_LOSS;
	}
	close_sim(&sim);
	return code;
}
