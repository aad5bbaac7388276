// SPDX-License-Identifier: GPL-2.0
/* The USDT rows of the probe table and the emulators that they are attached to. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/capture/permission.h"
#include "lib/capture/probe_set.h"

static bool usdt_wanted(const struct probe *probe)
{
	return probe->program && probe->way->kind == ATTACH_USDT;
}

/* Tells the kernel side where the arguments of one site are. */
static int enter_site(struct probe_set *set, enum probe_id id, const struct usdt_note *note,
		      struct usdt_place_at *place)
{
	struct usdt_site site = {.probe = id, .kind = set->probes[id].row->kind};
	int map = bpf_object__find_map_fd_by_name(set->objects[OBJECT_EMU], "usdt_sites");
	int error = usdt_parse_arguments(note->arguments, site.arguments);

	if (error)
		return error;
	if (set->sites == USDT_SITES_MAX)
		return failed(-ENOSPC, "more than %d probe sites", USDT_SITES_MAX);
	if (bpf_map_update_elem(map, &set->sites, &site, BPF_ANY))
		return failed(-errno, "handing a probe site to the kernel: %s", strerror(errno));
	place->offset = note->offset;
	place->semaphore = note->semaphore;
	place->cookie = set->sites++;
	return 0;
}

/*
 * All sites of all wanted probes in the binary, and which rows have any; a row without is off. The last
 * stage comes first: sites go live one by one, and a fault without its beginning is easier to tell from
 * a broken one than a fault without its end.
 */
static size_t enter_sites(struct probe_set *set, const struct usdt_binary *binary, const char *path,
			  struct usdt_place_at *places, bool rows[PROBE_COUNT])
{
	size_t count = 0;

	for (int i = PROBE_COUNT - 1; i >= 0; i--) {
		struct probe *probe = &set->probes[i];
		size_t before = count;
		int error = 0;

		if (!usdt_wanted(probe))
			continue;
		for (size_t n = 0; n < binary->count && !error; n++) {
			if (strcmp(binary->notes[n].name, probe->way->symbol) != 0)
				continue;
			error = enter_site(set, i, &binary->notes[n], &places[count]);
			count += !error;
		}
		rows[i] = count > before && !error;
		if (!rows[i] && probe->info.state != PROBE_ON)
			snprintf(probe->info.reason, sizeof(probe->info.reason),
				 error ? "%.500s" : "%.450s has no such probe",
				 error ? failure_text() : path);
	}
	return count;
}

/* All USDT rows share one program; any of them may have been left out. */
static const struct bpf_program *emulator_program(const struct probe_set *set)
{
	for (int i = 0; i < PROBE_COUNT; i++)
		if (usdt_wanted(&set->probes[i]))
			return set->probes[i].program;
	return NULL;
}

int probe_set_attach_emulator(struct probe_set *set, int fd, const char *path)
{
	struct usdt_place_at *places;
	struct usdt_binary binary;
	bool rows[PROBE_COUNT] = {};
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
	count = enter_sites(set, &binary, path, places, rows);
	/* The very file that was read, whatever its name leads to by now. */
	snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	if (count)
		error = usdt_attach(&set->emulators[set->emulator_count], emulator_program(set),
				    file, places, count);
	if (!error && count)
		set->emulator_count++;
	for (int i = 0; !error && i < PROBE_COUNT; i++)
		if (rows[i])
			probe_turn_on(&set->probes[i]);
	free(places);
	usdt_free(&binary);
	return error ? error : (int)count;
}

void probe_set_no_emulator(struct probe_set *set, const char *reason)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];

		if (probe->way && probe->way->kind == ATTACH_USDT && probe->info.state != PROBE_ON)
			snprintf(probe->info.reason, sizeof(probe->info.reason), "%s", reason);
	}
}

void probe_set_look_at(struct probe_set *set, const struct usdt_binary *binary, const char *path)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];

		if (!probe->way || probe->way->kind != ATTACH_USDT)
			continue;
		if (!set->multi && permission_lacks_perf_events())
			snprintf(probe->info.reason, sizeof(probe->info.reason),
				 "uprobes are perf events in this kernel; " PERMISSION_PERF_EVENTS);
		else if (usdt_has(binary, probe->way->symbol))
			probe_turn_on(probe);
		else
			snprintf(probe->info.reason, sizeof(probe->info.reason),
				 "%.450s has no such probe", path);
	}
}
