// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/flows.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/base/flow.h"

#define SWEEP_BATCH 256
#define UNTOLD_NS   (10 * FLOWS_QUIET_NS)

/* More than there are at once: what its place has been taken from is told again. */
#define TOLD (4 * FLOWS_MAX)

struct flows {
	struct flows_config config;
	__u32 told[TOLD]; /* numbers, by their lowest bits */
	struct flow_key keys[SWEEP_BATCH];
	struct flow_state states[SWEEP_BATCH];
};

int flows_create(struct flows **flows, const struct flows_config *config)
{
	struct flows *f = calloc(1, sizeof(*f));

	*flows = f;
	if (!f)
		return failed(-ENOMEM, "no memory for the dictionary of flows");
	f->config = *config;
	return 0;
}

void flows_destroy(struct flows *flows)
{
	free(flows);
}

static void flow_describe(const struct flows *flows, __u32 id, const struct flow_key *key,
			  struct flow_info *info)
{
	*info = (struct flow_info){
		.id = id,
		.device = flows->config.devices
				  ? device_table_handle(flows->config.devices, key->device)
				  : key->device,
		.family = key->family,
		.protocol = key->protocol,
		.ethertype = key->ethertype,
		.source_port = key->source_port,
		.destination_port = key->destination_port,
	};
	memcpy(info->source, key->source, sizeof(info->source));
	memcpy(info->destination, key->destination, sizeof(info->destination));
}

static bool flow_was_told(const struct flows *flows, __u32 id)
{
	return flows->told[id % TOLD] == id;
}

static int flows_tell(struct flows *flows, __u32 id, struct stream sink)
{
	struct flow_info info;
	struct flow_key key;

	if (flow_was_told(flows, id))
		return 0;
	if (bpf_map_lookup_elem(flows->config.names, &id, &key)) {
		__atomic_fetch_add(&flows->config.state->state_failed, 1, __ATOMIC_RELAXED);
		return 0;
	}
	flows->told[id % TOLD] = id;
	flow_describe(flows, id, &key, &info);
	return sink.ops->flow ? sink.ops->flow(sink.self, &info) : 0;
}

int flows_report(struct flows *flows, struct event *events, size_t count, struct stream sink)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		__u32 id = event_flow(&events[i]);

		if (!id)
			continue;
		error = flows_tell(flows, id, sink);
		if (!flow_was_told(flows, id))
			events[i].tid = 0;
	}
	return error;
}

static bool flow_is_old(const struct flows *flows, const struct flow_state *state, __u64 now_ns)
{
	return state->last_ns + (flow_was_told(flows, state->id) ? FLOWS_QUIET_NS : UNTOLD_NS) <
	       now_ns;
}

void flows_sweep(struct flows *flows, __u64 now_ns)
{
	int end = 0;
	__u32 at, count;

	for (bool first = true; !end; first = false) {
		count = SWEEP_BATCH;
		end = bpf_map_lookup_batch(flows->config.flows, first ? NULL : &at, &at,
					   flows->keys, flows->states, &count, NULL);
		if (end && errno != ENOENT)
			return;
		for (__u32 i = 0; i < count; i++) {
			if (!flow_is_old(flows, &flows->states[i], now_ns))
				continue;
			bpf_map_delete_elem(flows->config.flows, &flows->keys[i]);
			bpf_map_delete_elem(flows->config.names, &flows->states[i].id);
		}
	}
}
