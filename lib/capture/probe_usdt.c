// SPDX-License-Identifier: GPL-2.0
/* The USDT rows of the probe table, on the emulators that they are attached to. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/capture/permission.h"
#include "lib/capture/probes_private.h"

static bool usdt_wanted(const struct probe *probe)
{
	return probe->program && probe->method->kind == ATTACH_USDT;
}

/* Tells the kernel side where the arguments of one site are. */
static int enter_site(struct probe_set *set, __u32 number, enum probe_id id,
		      const struct usdt_note *note, struct usdt_place_at *place)
{
	struct usdt_site site = {.probe = id, .kind = set->probes[id].row->kind};
	int map = probe_set_map(set, id, "usdt_sites");
	int error = usdt_parse_arguments(note->arguments, site.arguments);

	if (error)
		return error;
	if (bpf_map_update_elem(map, &number, &site, BPF_ANY))
		return failed(-errno, "handing a probe site to the kernel: %s", strerror(errno));
	place->offset = note->offset;
	place->semaphore = note->semaphore;
	place->cookie = number;
	return 0;
}

/*
 * All sites of all wanted probes in the binary, and which rows have any; a row without is off. The last
 * stage comes first: sites go live one by one, and a fault without its beginning is easier to tell from
 * a broken one than a fault without its end.
 */
static size_t enter_sites(struct probe_set *set, __u32 first, const struct usdt_binary *binary,
			  const char *path, struct usdt_place_at places[EMULATOR_SITES],
			  bool rows[PROBE_COUNT])
{
	size_t count = 0;

	for (int i = PROBE_COUNT - 1; i >= 0; i--) {
		struct probe *probe = &set->probes[i];
		size_t before = count;
		int error = 0;

		if (!usdt_wanted(probe))
			continue;
		for (size_t n = 0; n < binary->count && !error; n++) {
			if (strcmp(binary->notes[n].name, probe->method->symbol) != 0)
				continue;
			if (count == EMULATOR_SITES)
				error = failed(-ENOSPC, "more than %d probe sites", EMULATOR_SITES);
			else
				error = enter_site(set, first + count, i, &binary->notes[n],
						   &places[count]);
			count += !error;
		}
		if (error)
			count = before; /* none of its sites goes live */
		rows[i] = count > before;
		if (!rows[i] && probe->info.state != PROBE_ON)
			snprintf(probe->info.reason, sizeof(probe->info.reason),
				 error ? "%.500s" : "%.450s " PROBE_NOT_IN_EMULATOR,
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

static void *probe_emulator_detach(void *emulator)
{
	usdt_detach(&((struct probe_emulator *)emulator)->links);
	return NULL;
}

static void await(struct probe_emulator *emulator)
{
	if (emulator->is_detaching)
		pthread_join(emulator->detaching, NULL);
	emulator->is_detaching = false;
}

/* Linux 6.1 takes each site away behind a grace period of its own: seconds in which rings would not be read. */
void probe_set_detach_emulator(struct probe_set *set, int place)
{
	struct probe_emulator *emulator = &set->emulators[place];

	await(emulator);
	if (!emulator->links.is_multi && !emulator->links.sites)
		return;
	emulator->is_detaching =
		!pthread_create(&emulator->detaching, NULL, probe_emulator_detach, emulator);
	if (!emulator->is_detaching)
		probe_emulator_detach(emulator);
}

void probe_emulators_await(struct probe_set *set)
{
	for (int place = 0; place < EMULATORS_MAX; place++)
		await(&set->emulators[place]);
}

int probe_set_attach_emulator(struct probe_set *set, int place, int fd, const char *path)
{
	struct probe_emulator *emulator = &set->emulators[place];
	struct usdt_place_at places[EMULATOR_SITES];
	struct usdt_binary binary;
	bool rows[PROBE_COUNT] = {};
	char file[64];
	size_t count;
	int error;

	if (!emulator_program(set))
		return 0;
	await(emulator); /* its sites are in use until then */
	error = usdt_read(fd, path, "faultline", &binary);
	if (error)
		return error;
	count = enter_sites(set, place * EMULATOR_SITES, &binary, path, places, rows);
	usdt_free(&binary);
	/* The very file that was read, whatever its name leads to by now. */
	snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	if (count)
		error = usdt_attach(&emulator->links, emulator_program(set), file, places, count);
	for (int i = 0; !error && i < PROBE_COUNT; i++)
		if (rows[i])
			probe_turn_on(&set->probes[i]);
	return error ? error : (int)count;
}

void probe_set_no_emulator(struct probe_set *set, const char *reason)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];

		if (probe->method && probe->method->kind == ATTACH_USDT &&
		    probe->info.state != PROBE_ON)
			snprintf(probe->info.reason, sizeof(probe->info.reason), "%s", reason);
	}
}

void probe_set_look_at(struct probe_set *set, const struct usdt_binary *binary, const char *path)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe *probe = &set->probes[i];

		if (!probe->method || probe->method->kind != ATTACH_USDT)
			continue;
		if (!set->multi && permission_lacks_perf_events())
			snprintf(probe->info.reason, sizeof(probe->info.reason),
				 "uprobes are perf events in this kernel; " PERMISSION_PERF_EVENTS);
		else if (usdt_has(binary, probe->method->symbol))
			probe_turn_on(probe);
		else
			snprintf(probe->info.reason, sizeof(probe->info.reason),
				 "%.450s " PROBE_NOT_IN_EMULATOR, path);
	}
}
