// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/preamble.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/trace/dictionary.h"
#include "lib/trace/format.h"
#include "lib/trace/records.h"

int trace_preamble_probe(struct trace_preamble *preamble, const struct probe_info *probe)
{
	struct probe_info *known = (struct probe_info *)preamble->probes.bytes;

	/* A probe is pushed again whenever its counters moved; there are a few dozen. */
	for (size_t i = 0; i < preamble->probes.size / sizeof(*known); i++) {
		if (strncmp(known[i].name, probe->name, sizeof(probe->name)) != 0)
			continue;
		known[i] = *probe;
		return 0;
	}
	trace_buffer_put(&preamble->probes, probe, sizeof(*probe));
	return preamble->probes.failed ? failed(-ENOMEM, "no memory for the recording's probes")
				       : 0;
}

void trace_preamble_free(struct trace_preamble *preamble)
{
	trace_buffer_free(&preamble->probes);
}

/* There are many and they are alike: one frame compresses them to a tenth. */
static void put_probes(const struct trace_preamble *preamble, struct trace_buffer *payload)
{
	const struct probe_info *probes = (const void *)preamble->probes.bytes;
	struct trace_buffer probe = {0};

	for (size_t i = 0; i < preamble->probes.size / sizeof(*probes); i++) {
		probe.size = 0;
		trace_put_probe(&probe, &probes[i]);
		trace_put_record(payload, TRACE_PROBE, probe.bytes, probe.size);
		payload->failed |= probe.failed;
	}
	trace_buffer_free(&probe);
}

int trace_preamble_each(const struct trace_preamble *preamble, struct trace_buffer *payload,
			trace_preamble_put put, void *self)
{
	int err = 0;

	payload->size = 0;
	if (preamble->has_host) {
		trace_put_host(payload, &preamble->host);
		err = put(self, TRACE_HOST, payload);
	}
	payload->size = 0;
	if (!err && preamble->has_anchor) {
		trace_put_clock(payload, &preamble->anchor);
		err = put(self, TRACE_CLOCK, payload);
	}
	payload->size = 0;
	if (!err && preamble->probes.size) {
		put_probes(preamble, payload);
		err = put(self, TRACE_RECORDS, payload);
	}
	payload->size = 0;
	if (!err && preamble->has_loss) {
		trace_put_loss(payload, &preamble->loss);
		err = put(self, TRACE_LOSS, payload);
	}
	return err;
}
