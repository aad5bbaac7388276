// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/paths.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/capture/probes.h"

#define PATH(NAME, name, probes) extern const struct path name##_path;
#include "bpf/paths.def"
#undef PATH

static const struct path other_path = {.name = "other probes", .needs = ""};

static const struct path *const paths[PATH_COUNT] = {
	[PATH_NONE] = &other_path,
#define PATH(NAME, name, probes) [PATH_##NAME] = &name##_path,
#include "bpf/paths.def"
#undef PATH
};

/* Every row, by its id and in the order of names: who reads a recording asks for each probe many times. */
static struct {
	const struct probe_row *row;
	enum path_id path;
} by_id[PROBE_COUNT];
static enum probe_id by_name[PROBE_COUNT];
static size_t row_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int compare_rows(const void *a, const void *b)
{
	return strcmp(by_id[*(const enum probe_id *)a].row->name,
		      by_id[*(const enum probe_id *)b].row->name);
}

static int compare_name(const void *name, const void *id)
{
	return strcmp(name, by_id[*(const enum probe_id *)id].row->name);
}

static void list_rows(void)
{
	for (int path = 0; path < PATH_COUNT; path++) {
		for (size_t i = 0; i < paths[path]->row_count; i++) {
			const struct probe_row *row = &paths[path]->rows[i];

			if (by_id[row->id].row)
				abort(); /* two rows of an id; test_probe_table looks at every one */
			by_id[row->id].row = row;
			by_id[row->id].path = path;
			by_name[row_count++] = row->id;
		}
	}
	qsort(by_name, row_count, sizeof(by_name[0]), compare_rows);
}

const struct probe_row *probe_row(enum probe_id id)
{
	pthread_once(&once, list_rows);
	if (!by_id[id].row)
		abort(); /* an id without a row: test_probe_table looks at every one */
	return by_id[id].row;
}

const struct probe_row *probe_row_named(const char *name)
{
	const enum probe_id *found;

	pthread_once(&once, list_rows);
	found = bsearch(name, by_name, row_count, sizeof(by_name[0]), compare_name);
	return found ? by_id[*found].row : NULL;
}

const char *path_name(enum path_id path)
{
	return paths[path]->name;
}

const char *path_needs(enum path_id path)
{
	return paths[path]->needs;
}

/* Who has a row has asked for it: rows are listed by then. */
enum path_id path_of(const struct probe_row *row)
{
	return row ? by_id[row->id].path : PATH_NONE;
}

int paths_take(struct capture *capture, enum path_step step, __u64 now_ns)
{
	int error = 0;

	for (int path = 0; !error && path < PATH_COUNT; path++)
		if (paths[path]->steps[step])
			error = paths[path]->steps[step](capture, now_ns);
	return error;
}

void paths_describe(const struct device_key *key, const struct device_state *state,
		    struct device_info *info)
{
	for (int path = 0; path < PATH_COUNT; path++)
		if (paths[path]->describe && paths[path]->device_kind == key->kind)
			paths[path]->describe(key, state, info);
}
