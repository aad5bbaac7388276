// SPDX-License-Identifier: GPL-2.0
/* Tables as long as the recording itself: what went into a point, and what its policy did. */
#include <stdlib.h>

#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "tools/protect/study.h"

static const char *const reasons[PROTECT_REASONS] = {
	[PROTECT_TOUCHED] = "touched",	 [PROTECT_IDLE] = "idle",
	[PROTECT_OVERFLOW] = "overflow", [PROTECT_EXPECTED] = "expected",
	[PROTECT_RETURNED] = "returned", [PROTECT_DROPPED] = "dropped",
	[PROTECT_UNUSED] = "unused",	 [PROTECT_SHRUNK] = "shrunk",
};

struct access_row {
	const struct study_domain *domain;
	const struct study_tenant *tenant;
	const struct what_if_access *access;
};

#define ACCESSES(COLUMN)                                                 \
	COLUMN(time, none, TIME, 15, SHOWN, row->access->time_ns)        \
	COLUMN(domain, none, TEXT, 16, SHOWN, row->domain->name)         \
	COLUMN(host, none, TEXT, 12, WIDE, row->tenant->recording->name) \
	COLUMN(tenant, none, TEXT, 12, WIDE, row->tenant->name)          \
	COLUMN(page, none, COUNT, 12, SHOWN, row->access->page)          \
	COLUMN(count, none, COUNT, 9, SHOWN, row->access->count)         \
	COLUMN(told, none, TEXT, 4, SHOWN, row->access->lost ? "no" : "yes")
TABLE(protect_accesses, "Accesses", ACCESSES, struct access_row, void)

static int write_tenant(const struct study *study, struct writer *writer,
			const struct point_table *table, size_t point, size_t t)
{
	const struct study_outcome *o = &study->outcomes[point * study->tenant_count + t];
	struct study_reader reader = {&study->configs[point], o->tenant, 0};
	struct what_if_access access;
	int err = 0;

	while (!err && study_next(&reader, &access))
		err = point_table_put(
			table, writer, point,
			&(struct access_row){&o->domains[access.domain], o->tenant, &access});
	return err;
}

int study_write_accesses(const struct study *study, struct writer *writer)
{
	struct point_table table;
	int err = point_table_begin(&table, writer, &study->sweep, &protect_accesses_table);

	for (size_t point = 0; !err && point < study->sweep.points; point++)
		for (size_t t = 0; !err && t < study->tenant_count; t++)
			err = write_tenant(study, writer, &table, point, t);
	return err ? err : writer_end(writer);
}

struct action_row {
	const struct study_domain *domain;
	const struct study_tenant *tenant;
	const struct protect_action *action;
};

#define ACTIONS(COLUMN)                                                          \
	COLUMN(time, none, TIME, 15, SHOWN, row->action->time_ns)                \
	COLUMN(domain, none, TEXT, 16, SHOWN, row->domain->name)                 \
	COLUMN(host, none, TEXT, 12, WIDE, row->tenant->recording->name)         \
	COLUMN(tenant, none, TEXT, 12, WIDE, row->tenant->name)                  \
	COLUMN(page, none, COUNT, 12, SHOWN, row->action->page)                  \
	COLUMN(action, none, TEXT, 6, SHOWN, row->action->pin ? "pin" : "unpin") \
	COLUMN(reason, none, TEXT, 8, SHOWN, reasons[row->action->reason])
TABLE(protect_actions, "Pins and unpins (model)", ACTIONS, struct action_row, void)

int study_write_actions(const struct study *study, struct writer *writer)
{
	struct point_table table;
	int err = point_table_begin(&table, writer, &study->sweep, &protect_actions_table);

	for (size_t i = 0; !err && i < study->sweep.points * study->tenant_count; i++) {
		const struct study_outcome *o = &study->outcomes[i];

		for (size_t a = 0; !err && a < o->action_count; a++)
			err = point_table_put(
				&table, writer, i / study->tenant_count,
				&(struct action_row){&o->domains[o->actions[a].domain], o->tenant,
						     &o->actions[a].action});
	}
	return err ? err : writer_end(writer);
}
