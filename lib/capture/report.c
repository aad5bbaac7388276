// SPDX-License-Identifier: GPL-2.0
/* What `doctor` shows of the probe table: how far each row would get, without attaching any. */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/capture/capture.h"
#include "lib/capture/emulator.h"
#include "lib/capture/host.h"
#include "lib/capture/permission.h"
#include "lib/capture/probes.h"
#include "lib/capture/usdt.h"

#define SMALL_RING 4096

/*
 * Loading asks the verifier; what it lets pass would be attached. NULL, or why nothing would be: who may
 * not attach learns what there is, and that it is not for them.
 */
static const char *try_loading(struct probe_set *set, struct shared_maps *maps)
{
	if (permission_lacking())
		return permission_lacking();
	if (shared_maps_create(maps, SMALL_RING) || probe_set_load(set, maps))
		return failure_text();
	probe_set_pretend(set);
	return NULL;
}

static void look_at_emulator(struct probe_set *set, const char *asked)
{
	struct usdt_binary binary;
	char path[PATH_MAX];
	int fd = -1, error = emulator_find(asked, path, sizeof(path));

	if (!error) {
		fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		error = usdt_read(fd, path, "faultline", &binary);
	}
	if (fd >= 0)
		close(fd);
	if (error) {
		probe_set_no_emulator(set, failure_text());
		return;
	}
	probe_set_look_at(set, &binary, path);
	usdt_free(&binary);
}

int capture_probe_report(const struct capture_config *config, struct stream sink)
{
	struct capture_config all = *config;
	struct shared_maps maps = {};
	struct host_info host;
	struct probe_set *set;
	char reason[REASON_TEXT];
	const char *refusal;
	int error;

	objects_verbose(config->verbose);
	/* What could be asked for is there. */
	all.tcp = true;
	error = probe_set_create(&set, &all);
	if (error)
		return error;
	probe_set_check_traceable(set);
	refusal = try_loading(set, &maps);
	snprintf(reason, sizeof(reason), "%s", refusal ?: "");
	look_at_emulator(set, config->emulator);
	if (refusal)
		probe_set_refuse(set, reason);
	host_describe(&host);
	error = sink.ops->host ? sink.ops->host(sink.self, &host) : 0;
	for (int i = 0; !error && i < PROBE_COUNT; i++)
		if (sink.ops->probe)
			error = sink.ops->probe(sink.self, probe_set_info(set, i));
	probe_set_destroy(set);
	if (maps.object)
		shared_maps_destroy(&maps);
	return error;
}
