// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/probes.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/capture/usdt.h"

#define EMULATORS_MAX 8 /* different binaries at once */

struct probe {
	const struct probe_way *way;
	struct bpf_program *program;
	struct bpf_link *link; /* USDT rows share those of the emulators */
	struct probe_info info;
};

struct probe_set {
	struct bpf_object *objects[OBJECT_COUNT];
	struct probe probes[PROBE_COUNT];
	struct usdt_links emulators[EMULATORS_MAX];
	size_t emulator_count;
	bool multi;			/* uprobe_multi links are used */
	__u32 sites;			/* of all emulators, numbers given out */
	struct probe_counter *counters; /* one per CPU, to read one row */
	int cpus;
	int counters_fd;
};

static const char *const attach_names[] = {"", "usdt faultline:", "tp_btf ", "fentry ", "kprobe "};

static bool named(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static void turn_off(struct probe *probe, const char *reason)
{
	probe->info.state = PROBE_OFF;
	probe->way = NULL;
	snprintf(probe->info.reason, sizeof(probe->info.reason), "%s", reason);
}

bool capture_kind_asked(const struct capture_config *config, __u16 kind)
{
	if (!config->kinds[0] && !config->kinds[1])
		return true;
	return config->kinds[kind / 64] >> (kind % 64) & 1;
}

/* Fault stages stay attached whatever is recorded: they keep the account of open groups. */
static bool feeds_others(const struct probe_row *row)
{
	return row->kind == EVENT_NONE ||
	       (row->kind >= EVENT_FAULT_DETECT && row->kind <= EVENT_FAULT_OVERFLOW);
}

static bool way_exists(const struct btf *kernel, const struct probe_way *way)
{
	char name[NAME_TEXT];

	switch (way->kind) {
	case ATTACH_USDT:
		return true; /* asked of the binary when there is one */
	case ATTACH_TP_BTF:
		snprintf(name, sizeof(name), "btf_trace_%s", way->symbol);
		return btf__find_by_name_kind(kernel, name, BTF_KIND_TYPEDEF) > 0;
	case ATTACH_FENTRY:
	case ATTACH_KPROBE:
		return btf__find_by_name_kind(kernel, way->symbol, BTF_KIND_FUNC) > 0;
	default:
		return false;
	}
}

static void choose_way(struct probe *probe, const struct probe_row *row, const struct btf *kernel)
{
	char missing[REASON_TEXT] = "this kernel has no ";
	size_t used = strlen(missing);

	for (size_t i = 0; i < PROBE_WAYS && row->ways[i].kind; i++) {
		if (way_exists(kernel, &row->ways[i])) {
			probe->way = &row->ways[i];
			break;
		}
		used += snprintf(missing + used, sizeof(missing) - used, "%s%s", i ? " or " : "",
				 row->ways[i].symbol);
	}
	snprintf(probe->info.attach, sizeof(probe->info.attach), "%s%s",
		 attach_names[probe->way ? probe->way->kind : row->ways[0].kind],
		 probe->way ? probe->way->symbol : row->ways[0].symbol);
	if (!probe->way)
		turn_off(probe, missing);
}

static void choose(struct probe *probe, const struct probe_row *row,
		   const struct capture_config *config, const struct btf *kernel)
{
	snprintf(probe->info.name, sizeof(probe->info.name), "%s", row->name);
	choose_way(probe, row, kernel);
	if (named(config->disabled, config->disabled_count, row->name)) {
		turn_off(probe, "left out by --disable-probe");
		probe->info.state = PROBE_DISABLED;
	} else if (!feeds_others(row) && !capture_kind_asked(config, row->kind)) {
		turn_off(probe, "its kind of event was not asked for");
		probe->info.state = PROBE_DISABLED;
	}
}

static void make_filter(struct capture_filter *filter, const struct capture_config *config)
{
	bool all = !config->kinds[0] && !config->kinds[1];

	for (size_t i = 0; i < 2; i++) {
		filter->kinds[i] = all ? ~0ull : config->kinds[i];
		filter->singles[i] = config->kinds[i];
	}
	/* CPU faults are chosen by process: one by one for a whole host is never meant. */
	filter->singles[EVENT_CPU_FAULT / 64] &= ~(1ull << (EVENT_CPU_FAULT % 64));
	filter->slow_block_ns = config->slow_io_ns;
}

static void enable(const struct probe_set *set, const struct probe *probe)
{
	bpf_program__set_autoload(probe->program, true);
	if (probe->way->kind == ATTACH_USDT && set->multi)
		usdt_use_multi(probe->program);
}

/* Loads one object with the programs of the rows that want it; on failure those are off. */
static void load_object(struct probe_set *set, enum object_id id, const struct shared_maps *maps,
			const struct capture_filter *filter)
{
	struct bpf_object *object;
	size_t wanted = 0;
	int error = object_open(&object, id);

	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];

		if (probe_rows[i].object != id || !probe->way)
			continue;
		wanted++;
		if (error)
			continue;
		probe->program = bpf_object__find_program_by_name(object, probe->way->program);
		if (probe->program)
			enable(set, probe);
		else
			turn_off(probe, "no BPF program of that name was built in");
	}
	if (!error && wanted)
		error = object_load(object, maps, filter);
	if (!error && wanted) {
		set->objects[id] = object;
		return;
	}
	for (int i = 0; i < PROBE_COUNT; i++)
		if (probe_rows[i].object == id && set->probes[i].way) {
			turn_off(&set->probes[i], failure_text());
			set->probes[i].program = NULL;
		}
	bpf_object__close(object);
}

int probe_set_load(struct probe_set **set, const struct capture_config *config,
		   const struct shared_maps *maps)
{
	struct probe_set *s = calloc(1, sizeof(*s));
	struct capture_filter filter;
	struct btf *kernel;

	if (s)
		s->counters = calloc(maps->cpus, sizeof(s->counters[0]));
	if (!s || !s->counters) {
		free(s);
		return failed(-ENOMEM, "no memory for the probe table");
	}
	kernel = btf__load_vmlinux_btf();
	if (!kernel) {
		int error = -errno;

		probe_set_destroy(s);
		return failed(
			error == -ENOENT ? -EPERM : error,
			"the kernel's type information (/sys/kernel/btf/vmlinux): %s; a kernel "
			"built with CONFIG_DEBUG_INFO_BTF is needed",
			strerror(-error));
	}
	s->cpus = maps->cpus;
	s->counters_fd = maps->counters;
	make_filter(&filter, config);
	for (int i = 0; i < PROBE_COUNT; i++)
		choose(&s->probes[i], &probe_rows[i], config, kernel);
	s->multi = usdt_multi_supported(kernel);
	btf__free(kernel);
	for (int id = 0; id < OBJECT_COUNT; id++)
		load_object(s, id, maps, &filter);
	*set = s;
	return 0;
}

static void turn_on(struct probe *probe)
{
	probe->info.state = PROBE_ON;
	probe->info.reason[0] = '\0';
}

void probe_set_attach(struct probe_set *set)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];
		char reason[REASON_TEXT];

		if (!probe->program || probe->way->kind == ATTACH_USDT)
			continue;
		probe->link = bpf_program__attach(probe->program);
		if (probe->link) {
			turn_on(probe);
			continue;
		}
		snprintf(reason, sizeof(reason), "attaching failed: %s", strerror(errno));
		turn_off(probe, reason);
	}
}

static bool usdt_wanted(const struct probe *probe)
{
	return probe->program && probe->way->kind == ATTACH_USDT;
}

/* Tells the kernel side where the arguments of one site are. */
static int enter_site(struct probe_set *set, enum probe_id id, const struct usdt_note *note,
		      struct usdt_place_at *place)
{
	struct usdt_site site = {.probe = id, .kind = probe_rows[id].kind};
	int map = bpf_object__find_map_fd_by_name(set->objects[OBJECT_EMU], "usdt_sites");
	int error = usdt_parse_arguments(note->arguments, site.arguments);

	if (error)
		return error;
	if (set->sites == USDT_SITES_MAX || bpf_map_update_elem(map, &set->sites, &site, BPF_ANY))
		return failed(-ENOSPC, "more than %d probe sites", USDT_SITES_MAX);
	place->offset = note->offset;
	place->semaphore = note->semaphore;
	place->cookie = set->sites++;
	return 0;
}

/* All sites of all wanted probes in the binary; a row without any is off. */
static size_t enter_sites(struct probe_set *set, const struct usdt_binary *binary, const char *path,
			  struct usdt_place_at *places)
{
	size_t count = 0;

	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];
		size_t before = count;
		int error = 0;

		if (!usdt_wanted(probe))
			continue;
		for (size_t n = 0; n < binary->count && !error; n++) {
			if (strcmp(binary->notes[n].name, probe->way->symbol))
				continue;
			error = enter_site(set, i, &binary->notes[n], &places[count]);
			count += !error;
		}
		if (count > before && !error)
			turn_on(probe);
		else if (probe->info.state != PROBE_ON)
			snprintf(probe->info.reason, sizeof(probe->info.reason),
				 error ? "%.150s" : "%.120s has no such probe",
				 error ? failure_text() : path);
	}
	return count;
}

int probe_set_attach_emulator(struct probe_set *set, int fd, const char *path)
{
	struct usdt_place_at *places;
	struct usdt_binary binary;
	char file[64];
	size_t count;
	int error;

	if (!set->objects[OBJECT_EMU])
		return 0;
	if (set->emulator_count == EMULATORS_MAX)
		return failed(-ENOSPC, "%s: at most %d different emulators are watched", path,
			      EMULATORS_MAX);
	error = usdt_read(fd, path, "faultline", &binary);
	if (error)
		return error;
	places = calloc(binary.count + 1, sizeof(*places));
	if (!places) {
		usdt_free(&binary);
		return failed(-ENOMEM, "no memory for %zu probe sites", binary.count);
	}
	count = enter_sites(set, &binary, path, places);
	/* The very file that was read, whatever its name leads to by now. */
	snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	if (count)
		error = usdt_attach(&set->emulators[set->emulator_count],
				    set->probes[PROBE_FAULT_DETECT].program, file, places, count);
	if (!error && count)
		set->emulator_count++;
	free(places);
	usdt_free(&binary);
	return error ? error : (int)count;
}

void probe_set_no_emulator(struct probe_set *set, const char *reason)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];

		if (usdt_wanted(probe) && probe->info.state != PROBE_ON)
			snprintf(probe->info.reason, sizeof(probe->info.reason), "%s", reason);
	}
}

void probe_set_detach(struct probe_set *set)
{
	while (set->emulator_count)
		usdt_detach(&set->emulators[--set->emulator_count]);
	for (int i = 0; i < PROBE_COUNT; i++) {
		bpf_link__destroy(set->probes[i].link);
		set->probes[i].link = NULL;
	}
}

void probe_set_destroy(struct probe_set *set)
{
	if (!set)
		return;
	probe_set_detach(set);
	for (int id = 0; id < OBJECT_COUNT; id++)
		bpf_object__close(set->objects[id]);
	free(set->counters);
	free(set);
}

static __u64 missed_runs(const struct bpf_program *program)
{
	struct bpf_prog_info info = {};
	__u32 bytes = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes))
		return 0;
	return info.recursion_misses;
}

int probe_set_count(struct probe_set *set, struct probe_totals *totals)
{
	struct probe_totals sum = {};

	for (__u32 i = 0; i < PROBE_COUNT; i++) {
		struct probe_info *info = &set->probes[i].info;

		if (!set->probes[i].program)
			continue;
		if (bpf_map_lookup_elem(set->counters_fd, &i, set->counters))
			return failed(-errno, "reading the counters of probe %s: %s", info->name,
				      strerror(errno));
		info->hits = info->emitted = info->lost = 0;
		for (int cpu = 0; cpu < set->cpus; cpu++) {
			info->hits += set->counters[cpu].hits;
			info->emitted += set->counters[cpu].emitted;
			info->lost += set->counters[cpu].lost;
		}
		/* Programs on uprobes are shared by rows and never skipped. */
		if (set->probes[i].link)
			info->missed = missed_runs(set->probes[i].program);
		sum.emitted += info->emitted;
		sum.lost += info->lost;
		sum.missed += info->missed;
	}
	if (totals)
		*totals = sum;
	return 0;
}

const struct probe_info *probe_set_info(const struct probe_set *set, enum probe_id id)
{
	return &set->probes[id].info;
}
