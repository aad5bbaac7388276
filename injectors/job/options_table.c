// SPDX-License-Identifier: GPL-2.0
/* The table of all keys of a job file, joined from those of the sections and of the models. Order within a
 * section is the order of the help. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/job/options_private.h"
#include "injectors/job/result.h"
#include "lib/job/protector_options.h"

#define ROWS_MAX 256

const struct option_choice evictions[] = {
	{"minor", EVICT_MINOR}, {"major", EVICT_MAJOR}, {NULL, 0}};
/* Not the oracle: a machine does not know its future. */
const struct option_choice policies[] = {{"lru", REPLACE_LRU},
					 {"lfu", REPLACE_LFU},
					 {"random", REPLACE_RANDOM},
					 {"fifo", REPLACE_FIFO},
					 {NULL, 0}};

struct option_choice models[DEVICE_CLASSES + 1];
char models_default[64], models_meaning[1024], models_of_disks[256], models_with_rings[256];

static const struct option_section sections[] = {
	{"machine", "The host: its fault service and reclaimer.", false},
	{"protector",
	 "Which pages stay pinned, so that their devices do not fault on them: a policy of docs/protect.md, "
	 "told of what devices access.",
	 false},
	{"tenant", "A virtual machine: memory and CPUs.", true},
	{"device", "A device in every tenant that its pattern names.", true},
	{"workload", "I/O on every device that its pattern names.", true},
	{"traffic", "Frames that are made up for every device that its pattern names.", true},
	{"ranks",
	 "Processes that exchange messages over every RDMA device that its pattern names, and its peer.",
	 true},
	{"verbs",
	 "A program of verbs on every RDMA device that its pattern names, and what it needs at that device's "
	 "peer.",
	 true},
	{"kvstore",
	 "A key-value store in the memory of the guest behind every NIC that its pattern names, and its "
	 "clients.",
	 true},
	{"program", "A real program in the network of every device that its pattern names.", true},
	{"inject", "One thing that goes wrong, for a while.", true},
	{"slo",
	 "An objective for `faultline slo -c JOB.ini` over a recording of the run; its keys are in "
	 "docs/analysis.md.",
	 true},
	{"sweep",
	 "NAME = SECTION.KEY: V1, V2 ... runs every combination; baseline = SECTION.KEY=VALUE, ... "
	 "runs first.",
	 false},
	{"expect", "NAME = EXPRESSION over results; the run fails if one is false.", false},
	{"short", "SECTION.KEY = VALUE: what `run --short` replaces.", false},
};

static struct option_row rows[ROWS_MAX];
static struct option_table table = {
	.rows = rows,
	.sections = sections,
	.section_count = sizeof(sections) / sizeof(sections[0]),
	.columns = &job_columns,
	.help = "`faultline-inject help`",
};

static struct option_row *add_rows(const struct option_row *from, size_t count)
{
	struct option_row *first = &rows[table.row_count];

	if (count > ROWS_MAX - table.row_count)
		abort(); /* ROWS_MAX is too small for what was added to the program */
	if (count)
		memcpy(first, from, count * sizeof(*from));
	table.row_count += count;
	return first;
}

/* A model's keys fill its own struct, and have an effect with that model only. */
static void add_class(int index)
{
	const struct device_class *class = device_classes[index];
	struct option_row *row = add_rows(class->rows, class->row_count);

	for (size_t i = 0; i < class->row_count; i++, row++) {
		row->offset += offsetof(struct job_device, settings[index]);
		memmove(&row->needs[1], &row->needs[0], (OPTION_NEEDS - 1) * sizeof(row->needs[0]));
		row->needs[0] = (struct option_need){"model", class->name};
	}
}

static void describe_models(void)
{
	size_t used = 0;

	for (int i = 0; i < DEVICE_CLASSES; i++) {
		const struct device_class *class = device_classes[i];

		models[i] = (struct option_choice){class->name, i};
		used += (size_t)snprintf(models_meaning + used, sizeof(models_meaning) - used,
					 "%s%s: %s", i ? "; " : "", class->name, class->meaning);
		if (used >= sizeof(models_meaning))
			abort();
	}
	snprintf(models_default, sizeof(models_default), "%s", device_classes[0]->name);
	device_classes_text(device_class_is_disk, ",", models_of_disks, sizeof(models_of_disks));
	device_classes_text(device_class_has_rings, ",", models_with_rings,
			    sizeof(models_with_rings));
}

/* What is accepted is what some model takes. */
static void limit_depth(struct option_row *row)
{
	row->max = 0;
	for (int i = 0; i < DEVICE_CLASSES; i++)
		if (device_classes[i]->depth_max > row->max)
			row->max = device_classes[i]->depth_max;
}

static void join(void)
{
	describe_models();
	add_rows(machine_rows.rows, machine_rows.count);
	add_rows(protector_rows, PROTECTOR_ROWS);
	add_rows(tenant_rows.rows, tenant_rows.count);
	add_rows(device_rows.rows, device_rows.count);
	for (int i = 0; i < DEVICE_CLASSES; i++)
		add_class(i);
	add_rows(workload_rows.rows, workload_rows.count);
	add_rows(traffic_rows.rows, traffic_rows.count);
	add_rows(ranks_rows.rows, ranks_rows.count);
	add_rows(verbs_rows.rows, verbs_rows.count);
	add_rows(kvstore_rows.rows, kvstore_rows.count);
	add_rows(program_rows.rows, program_rows.count);
	add_rows(inject_rows.rows, inject_rows.count);
	for (size_t i = 0; i < table.row_count; i++)
		if (!strcmp(rows[i].key, "queue_depth"))
			limit_depth(&rows[i]);
}

const struct option_table *job_options(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, join);
	return &table;
}
