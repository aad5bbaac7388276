// SPDX-License-Identifier: GPL-2.0
#include "lib/analyze/fault_probes.h"

#include <string.h>

#include "lib/base/kinds.h"
#include "lib/capture/paths.h"
#include "lib/capture/probes.h"

enum fault_path fault_path_of(__u32 device_kind)
{
	switch (device_kind) {
	case DEVICE_EMULATED:
		return FAULT_PATH_EMULATED;
	case DEVICE_IB:
		return FAULT_PATH_RDMA;
	default:
		return FAULT_PATH_CORE;
	}
}

void fault_probes_host(struct fault_probes *probes, const struct host_info *host)
{
	memcpy(probes->kinds, host->kinds, sizeof(probes->kinds));
}

static void fault_probes_watch(struct fault_watch *watch, const struct probe_info *probe,
			       const struct probe_row *row, bool asked)
{
	watch->left_out |= probe->state == PROBE_DISABLED || !asked;
	if (probe->state == PROBE_ON && asked)
		watch->on = true;
	else if (!watch->off)
		watch->off = row->name;
}

static void add_to_groups(struct fault_probes *probes, const struct probe_row *row, bool off)
{
	switch (row->id) {
	case PROBE_FAULT_DETECT:
		probes->detect_off = off;
		break;
	case PROBE_FAULT_REQUEST:
		probes->request_off = off;
		break;
	case PROBE_FAULT_RESUME:
		probes->resume_off = off;
		break;
	case PROBE_FAULT_ABANDON:
		probes->abandon_off = off;
		break;
	default:
		break;
	}
}

/* Responses are of groups: only who sees requests counts them. Of the core that is its report alone. */
void fault_probes_add(struct fault_probes *probes, const struct probe_info *probe)
{
	const struct probe_row *row = probe_row_named(probe->name);
	struct fault_watch *request = NULL;
	bool any = false, begin = false, end = false;
	enum fault_path path;

	if (row)
		add_to_groups(probes, row, probe->state != PROBE_ON);
	if (!row || row->kind < EVENT_FAULT_DETECT || row->kind > EVENT_FAULT_OVERFLOW)
		return;
	switch (path_of(row)) {
	case PATH_EMULATED:
		path = FAULT_PATH_EMULATED;
		begin = row->kind == EVENT_FAULT_DETECT;
		any = begin || row->kind == EVENT_FAULT_REQUEST;
		end = row->kind == EVENT_FAULT_RESUME;
		if (row->kind == EVENT_FAULT_REQUEST)
			request = &probes->queued;
		if (row->kind == EVENT_FAULT_OVERFLOW)
			request = &probes->dropped;
		break;
	case PATH_CORE:
		path = FAULT_PATH_CORE;
		any = begin = row->kind == EVENT_FAULT_ISR;
		end = row->kind == EVENT_FAULT_RESPONSE;
		break;
	case PATH_RDMA:
		path = FAULT_PATH_RDMA;
		any = begin = row->kind == EVENT_FAULT_ISR || row->kind == EVENT_FAULT_HANDLER;
		break;
	default:
		return;
	}
	if (request)
		fault_probes_watch(request, probe, row, kinds_name(probes->kinds, row->kind));
	if (any)
		fault_probes_watch(&probes->any[path], probe, row,
				   kinds_name(probes->kinds, row->kind));
	if (begin)
		fault_probes_watch(&probes->begin[path], probe, row,
				   kinds_name(probes->kinds, row->kind));
	if (end)
		fault_probes_watch(&probes->end[path], probe, row,
				   kinds_name(probes->kinds, row->kind));
}

const char *fault_watch_lacks(const struct fault_watch *watch)
{
	return watch->on ? NULL : watch->off;
}

bool fault_probes_begin(const struct fault_probes *probes, unsigned int kind)
{
	if ((probes->request_off || probes->resume_off) && probes->begin[FAULT_PATH_EMULATED].on)
		return kind == EVENT_FAULT_DETECT;
	if (probes->detect_off && probes->queued.on && probes->dropped.on)
		return kind == EVENT_FAULT_REQUEST || kind == EVENT_FAULT_OVERFLOW;
	return true;
}

const char *fault_probes_lack(const struct fault_probes *probes, enum fault_path path)
{
	if (path != FAULT_PATH_EMULATED)
		return fault_watch_lacks(&probes->any[path]);
	return probes->queued.on && probes->dropped.on && !probes->detect_off
		       ? NULL
		       : fault_watch_lacks(&probes->begin[path]);
}
