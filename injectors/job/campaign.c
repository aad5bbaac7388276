// SPDX-License-Identifier: GPL-2.0
/* Loading a campaign and showing what it would do. */
#include "injectors/job/campaign.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/printable.h"
#include "lib/job/expect.h"
#include "lib/job/idle_keys.h"
#include "lib/analyze/slo.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"

const struct shelf campaign_shelf = {"injectors/jobs", "jobs"};

static int apply_options(struct job_text *text, const struct campaign_options *options)
{
	int err = options->overrides.shorten ? job_text_shorten(text) : 0;

	if (!err)
		err = job_overrides_assign(&options->overrides, text);
	if (!err && options->seed)
		err = job_text_set(text, "machine.seed", options->seed, "--seed");
	return err;
}

int campaign_point_load(struct campaign_point *point, const struct campaign *campaign, size_t index)
{
	int err;

	*point = (struct campaign_point){0};
	err = sweep_point_text(&point->text, &campaign->sweep, index, campaign->text);
	if (err == -EINVAL)
		err = -EBADMSG;
	if (!err)
		err = job_build(&point->job, point->text);
	if (!err)
		err = plan_build(&point->plan, &point->job);
	if (err)
		campaign_point_free(point);
	return err;
}

void campaign_point_free(struct campaign_point *point)
{
	plan_free(&point->plan);
	job_free(&point->job);
	job_text_free(point->text);
	*point = (struct campaign_point){0};
}

/* Objectives have one reader, that of `faultline slo`. */
static int check_objectives(const struct campaign *campaign)
{
	struct slo_set *set;
	int err;

	if (!job_text_section(campaign->text, "slo", NULL))
		return 0;
	set = malloc(sizeof(*set));
	if (!set)
		return failed(-ENOMEM, "no memory for the objectives");
	err = slo_read(campaign->text->path, set);
	free(set);
	return err;
}

static int check_expectations(const struct campaign *campaign)
{
	const struct expression_scope scope = {.sweep = &campaign->sweep, .columns = &job_columns};

	return expect_check(campaign->text, &scope);
}

static int check_points(const struct campaign *campaign)
{
	struct idle_keys idle = {0};
	int err = 0;

	for (size_t i = 0; !err && i < campaign->sweep.points; i++) {
		struct campaign_point point;

		err = campaign_point_load(&point, campaign, i);
		if (err)
			break;
		err = idle_keys_add(&idle, job_options(), point.text);
		campaign_point_free(&point);
	}
	if (!err)
		err = idle_keys_refuse(&idle);
	idle_keys_free(&idle);
	return err;
}

static int check_grid(struct campaign *campaign, const struct campaign_options *options)
{
	int err = apply_options(campaign->text, options);

	if (!err)
		err = job_check_values(campaign->text);
	if (!err)
		err = sweep_build(&campaign->sweep, campaign->text);
	if (!err)
		err = check_points(campaign);
	if (!err)
		err = check_objectives(campaign);
	if (!err)
		err = check_expectations(campaign);
	return err;
}

/* What --short would make of the job, of which `text` is as the file has it. */
static int check_short_grid(const struct job_text *text, const struct campaign_options *options)
{
	struct campaign campaign = {.text = job_text_copy(text)};
	struct campaign_options shortened = *options;
	int err;

	if (!campaign.text)
		return failed(-ENOMEM, "no memory for the job");
	shortened.overrides.shorten = true;
	err = check_grid(&campaign, &shortened);
	campaign_free(&campaign);
	return err;
}

int campaign_read(struct job_text **text, const struct campaign_options *options)
{
	char path[PATH_MAX];
	int err = shelf_find(&campaign_shelf, options->job, path, sizeof(path));

	*text = NULL;
	if (!err)
		err = job_text_read(text, path, "a job file");
	if (err == -ENOENT)
		failed(err, "%s%s", failure_text(),
		       destination_hint(&options->output.to, options->job));
	if (err) {
		job_text_free(*text);
		*text = NULL;
	}
	return failed_input(err);
}

int campaign_load(struct campaign *campaign, struct job_text *text,
		  const struct campaign_options *options)
{
	int err = 0;

	*campaign = (struct campaign){.text = text};
	if (options->both_grids && !options->overrides.shorten &&
	    job_text_section(campaign->text, "short", NULL))
		err = check_short_grid(campaign->text, options);
	if (!err)
		err = check_grid(campaign, options);
	if (!err) {
		campaign->results = calloc(campaign->sweep.points, sizeof(*campaign->results));
		campaign->notes = calloc(campaign->sweep.points, sizeof(*campaign->notes));
		if (!campaign->results || !campaign->notes)
			err = failed(-ENOMEM, "no memory for %zu points", campaign->sweep.points);
	}
	for (size_t i = 0; !err && i < campaign->sweep.points; i++)
		result_clear(&campaign->results[i]);
	if (err)
		campaign_free(campaign);
	return err;
}

void campaign_free(struct campaign *campaign)
{
	free(campaign->results);
	free(campaign->notes);
	sweep_free(&campaign->sweep);
	job_text_free(campaign->text);
	*campaign = (struct campaign){0};
}

static void print_injection(FILE *file, const struct plan_injection *planned)
{
	const struct job_injection *job = planned->job;
	char start[UNITS_TEXT], length[UNITS_TEXT], delay[UNITS_TEXT];

	bool of_vms = injection_is_of_vms(job->kind);
	__u32 count = of_vms ? planned->tenant_count : planned->device_count;

	fprintf(file, "  %s: %s on %u %s%s from %s%s for %s", job->name, injection_name(job->kind),
		count, of_vms ? "virtual machine" : "device", count == 1 ? "" : "s",
		units_format_duration(job->start_ns, start),
		job->from_guests ? " after guests have begun" : "",
		units_format_duration(job->duration_ns, length));
	if (job->kind == INJECTION_BALLOON)
		fprintf(file, ", to %llu bytes", job->memory);
	if (job->period_ns)
		fprintf(file, ", every %s", units_format_duration(job->period_ns, delay));
	if (job->kind == INJECTION_EVICT && job->what == EVICT_RING)
		fprintf(file, ", %u x all that its rings%s have posted, %g/s", job->burst,
			job->sides == RING_SIDE(RING_RX)   ? " (rx)"
			: job->sides == RING_SIDE(RING_TX) ? " (tx)"
							   : "",
			job->rate);
	else if (job->kind == INJECTION_EVICT && job->what == EVICT_ALL)
		fprintf(file, ", %u x all pages, %g/s", job->burst, job->rate);
	else if (job->kind == INJECTION_EVICT)
		fprintf(file, ", %u x %u page%s, %g/s", job->burst, job->pages,
			job->pages == 1 ? "" : "s", job->rate);
	if (injection_delays(job->kind))
		fprintf(file, ", %s", units_format_duration(job->delay_ns, delay));
	fputc('\n', file);
}

static void print_traffic(FILE *file, const struct machine_config *machine,
			  const struct traffic_config *traffic)
{
	const struct device_config *device = &machine->devices[traffic->device];
	char length[UNITS_TEXT];

	fprintf(file, "  %s/%s: traffic %s, %u flow%s",
		printable_of(machine->tenants[device->tenant].name).text,
		printable_of(device->name).text, printable_of(traffic->name).text, traffic->flows,
		traffic->flows == 1 ? "" : "s");
	if (traffic->rate > 0)
		fprintf(file, ", %g frames/s", traffic->rate);
	if (traffic->count)
		fprintf(file, ", %llu frames", traffic->count);
	if (traffic->duration_ns)
		fprintf(file, ", for %s", units_format_duration(traffic->duration_ns, length));
	fputc('\n', file);
}

static void print_kvstore(FILE *file, const struct machine_config *machine,
			  const struct kvstore_config *store)
{
	const struct device_config *device = &machine->devices[store->device];

	fprintf(file, "  %s/%s: store %s, %llu items of %u bytes, %s, %u clients\n",
		printable_of(machine->tenants[device->tenant].name).text,
		printable_of(device->name).text, printable_of(store->name).text, store->items,
		store->item_bytes, store->pin ? "pinned" : "on demand", store->clients);
}

static void print_planned_program(FILE *file, const struct machine_config *machine,
				  const struct plan_program *program)
{
	const struct device_config *device = &machine->devices[program->device];
	const struct program_config *config = &program->config;

	fprintf(file, "  %s/%s: runs %s on its %s side as %s: %s\n",
		printable_of(machine->tenants[device->tenant].name).text,
		printable_of(device->name).text, printable_of(config->name).text,
		config->side == NETWORK_GUEST ? "guest" : "wire",
		config->role == PROGRAM_SERVER ? "server" : "load", printable_of(config->run).text);
}

/* Files that are not the machine's own. */
static void print_given_files(FILE *file, const struct machine_config *machine,
			      const struct consents *consents)
{
	for (__u32 d = 0; d < machine->device_count; d++) {
		struct device_config *device = &machine->devices[d];
		const struct device_file *given = device_given_file(device);
		struct printable shown;
		struct stat status;
		bool block, lacks;

		if (!given)
			continue;
		shown = printable_of(given->path);
		block = given->writable && !stat(given->path, &status) && S_ISBLK(status.st_mode);
		lacks = block && !consent_given(consents, given->path);
		fprintf(file, "  %s/%s: %s %s%s%s%s\n", machine->tenants[device->tenant].name,
			device->name, given->writable ? "WRITES" : "reads", shown.text,
			block ? ", a block device" : "", lacks ? ": needs --yes-i-mean-it " : "",
			lacks ? shown.text : "");
	}
}

int campaign_print(const struct campaign *campaign, const struct campaign_options *options,
		   FILE *file)
{
	char name[512];

	for (size_t i = 0; i < campaign->sweep.points; i++) {
		struct campaign_point point;
		const struct machine_config *machine;
		int err = campaign_point_load(&point, campaign, i);

		if (err)
			return err;
		machine = &point.plan.machine;
		sweep_point_name(&campaign->sweep, i, name, sizeof(name));
		fprintf(file, "point %zu of %zu%s%s\n", i + 1, campaign->sweep.points,
			*name ? ": " : "", printable_of(name).text);
		fprintf(file, "  machine %s: %u tenants, %u devices, %u workloads, ",
			printable_of(machine->name).text, machine->tenant_count,
			machine->device_count, machine->workload_count);
		if (machine->ranks_count)
			fprintf(file, "%u groups of ranks, ", machine->ranks_count);
		if (machine->verbs_count)
			fprintf(file, "%u loads of verbs, ", machine->verbs_count);
		if (machine->kvstore_count)
			fprintf(file, "%u key-value stores, ", machine->kvstore_count);
		fprintf(file, "scheduler %s\n",
			machine->scheduler == SCHEDULER_SERIAL ? "serial" : "affined");
		if (*machine->directory)
			fprintf(file, "  files of its memory and disks in %s\n",
				printable_of(machine->directory).text);
		print_given_files(file, machine, &options->consents);
		for (__u32 k = 0; k < machine->traffic_count; k++)
			print_traffic(file, machine, &machine->traffics[k]);
		if (machine->memory_limit)
			fprintf(file, "  memory_limit %llu MiB for all tenants\n",
				machine->memory_limit >> 20);
		for (__u32 k = 0; k < machine->kvstore_count; k++)
			print_kvstore(file, machine, &machine->kvstores[k]);
		for (__u32 k = 0; k < point.plan.program_count; k++)
			print_planned_program(file, machine, &point.plan.programs[k]);
		for (__u32 k = 0; k < point.plan.injection_count; k++)
			print_injection(file, &point.plan.injections[k]);
		campaign_point_free(&point);
	}
	return 0;
}
