// SPDX-License-Identifier: GPL-2.0
#include "lib/trace/preamble.h"

#include <errno.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/trace/format.h"
#include "lib/trace/records.h"

static int append(struct trace_buffer *array, const void *record, size_t size)
{
	trace_buffer_put(array, record, size);
	return array->failed ? failed(-ENOMEM, "no memory for the recording's dictionary") : 0;
}

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
	return append(&preamble->probes, probe, sizeof(*probe));
}

int trace_preamble_device(struct trace_preamble *preamble, const struct device_info *device)
{
	struct device_info *known = (struct device_info *)preamble->devices.bytes;
	size_t count = preamble->devices.size / sizeof(*known);

	/* Handles are dense from 1, so a device's own is nearly always the next. */
	if (device->handle && device->handle <= count &&
	    known[device->handle - 1].handle == device->handle) {
		known[device->handle - 1] = *device;
		return 0;
	}
	return append(&preamble->devices, device, sizeof(*device));
}

int trace_preamble_record(struct trace_preamble *preamble, __u8 type,
			  const struct trace_buffer *payload)
{
	trace_buffer_put_u8(&preamble->records, type);
	trace_buffer_put_u32(&preamble->records, (__u32)payload->size);
	return append(&preamble->records, payload->bytes, payload->size);
}

static int each_record(const struct trace_preamble *preamble, struct trace_buffer *payload,
		       trace_preamble_put put, void *self)
{
	const struct trace_buffer *records = &preamble->records;
	int err = 0;

	for (size_t at = 0; !err && at < records->size;) {
		__u8 type = records->bytes[at];
		__u32 length;

		memcpy(&length, records->bytes + at + 1, sizeof(length));
		at += 1 + sizeof(length);
		payload->size = 0;
		trace_buffer_put(payload, records->bytes + at, length);
		err = put(self, type, payload);
		at += length;
	}
	return err;
}

void trace_preamble_free(struct trace_preamble *preamble)
{
	trace_buffer_free(&preamble->probes);
	trace_buffer_free(&preamble->devices);
	trace_buffer_free(&preamble->records);
}

int trace_preamble_each(const struct trace_preamble *preamble, struct trace_buffer *payload,
			trace_preamble_put put, void *self)
{
	const struct probe_info *probes = (const void *)preamble->probes.bytes;
	const struct device_info *devices = (const void *)preamble->devices.bytes;
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
	for (size_t i = 0; !err && i < preamble->probes.size / sizeof(*probes); i++) {
		payload->size = 0;
		trace_put_probe(payload, &probes[i]);
		err = put(self, TRACE_PROBE, payload);
	}
	for (size_t i = 0; !err && i < preamble->devices.size / sizeof(*devices); i++) {
		payload->size = 0;
		trace_put_device(payload, &devices[i]);
		err = put(self, TRACE_DEVICE, payload);
	}
	err = err ? err : each_record(preamble, payload, put, self);
	payload->size = 0;
	if (!err && preamble->has_loss) {
		trace_put_loss(payload, &preamble->loss);
		err = put(self, TRACE_LOSS, payload);
	}
	return err;
}
