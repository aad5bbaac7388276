// SPDX-License-Identifier: GPL-2.0
#include "tools/serve/tally.h"

#include <string.h>

#include "lib/analyze/faults.h"
#include "lib/base/memory.h"

/* ANSWERS: it had none. */
static enum reply answer_of(const struct fault *fault)
{
	const char *name = fault_response_name(fault);

	if (*name == '-')
		return ANSWERS;
	switch (fault->code) {
	case RESPONSE_SUCCESS:
		return ANSWER_SUCCESS;
	case RESPONSE_INVALID:
		return ANSWER_INVALID;
	case RESPONSE_FAILURE:
		return ANSWER_FAILURE;
	case RESPONSE_AUTOMATIC:
		return ANSWER_AUTOMATIC;
	default:
		return ANSWER_OTHER;
	}
}

static void tally_on_finished(void *self, const struct fault *fault)
{
	struct tally *tally = self;
	struct tally_device *device = slots_make(&tally->devices, fault->device);
	enum reply answer = answer_of(fault);

	if (!device)
		return;
	device->over[fault_effort(fault)]++;
	if (answer < ANSWERS)
		device->answers[answer]++;
}

static void take_port(struct tally *tally, const struct event *e)
{
	struct tally_device *device = slots_make(&tally->devices, e->device);
	unsigned int port = e->queue < TALLY_PORTS ? e->queue : TALLY_PORTS - 1;

	if (!device || e->code >= RDMA_COUNTERS)
		return;
	if (!device->ports)
		device->ports = memory_calloc(TALLY_PORTS, sizeof(*device->ports));
	if (device->ports)
		device->ports[port].counters[e->code] += e->value;
}

static int tally_on_events(void *self, const struct event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (events[i].kind == EVENT_RDMA_COUNTER)
			take_port(self, &events[i]);
	return 0;
}

int tally_create(struct tally *tally, struct analysis *analysis)
{
	slots_init(&tally->devices, sizeof(struct tally_device));
	return faults_subscribe(analysis->faults,
				(struct fault_sink){.finished = tally_on_finished, .self = tally});
}

struct stream tally_stream(struct tally *tally)
{
	static const struct stream_ops ops = {.events = tally_on_events};

	return (struct stream){&ops, tally};
}

void tally_destroy(struct tally *tally)
{
	for (__u32 h = 0; h < tally->devices.end; h = slots_next(&tally->devices, h)) {
		struct tally_device *device = slots_find(&tally->devices, h);

		if (device)
			memory_free(device->ports);
	}
	slots_free(&tally->devices);
}

const struct tally_device *tally_device(const struct tally *tally, __u32 device)
{
	return slots_find(&tally->devices, device);
}
