// SPDX-License-Identifier: GPL-2.0
/* The slow model's time: packets arrive, start their translations, and one event follows another. */
#include <stdlib.h>

#include "tests/reference/slow_model_private.h"

/* splitmix64 (Steele 2014). */
uint64_t slow_draw(struct slow_model *m, uint64_t bound)
{
	uint64_t z;

	m->generator = m->generator + UINT64_C(0x9e3779b97f4a7c15);
	z = m->generator;
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z = z ^ (z >> 31);
	return (uint64_t)(((unsigned __int128)z * bound) >> 64);
}

void slow_after(struct slow_model *m, uint64_t delay_ps, enum slow_kind kind,
		struct slow_access *access)
{
	slow_events_add(&m->events, m->now_ps + delay_ps, kind, access->device, access);
}

void slow_ask_ahead(struct slow_model *m, unsigned int number, int successor, uint64_t delay_ps)
{
	struct slow_prefetch *p = &m->devices[number].prefetch;
	unsigned int source = (unsigned int)successor;

	if (successor == -1)
		return;
	for (unsigned int i = 0; i < p->newest_count[source]; i++) {
		struct slow_access *a;

		if (p->under_way == SLOW_PREFETCHES) {
			m->stats.prefetch_refused++;
			continue;
		}
		a = slow_begin_access(m, number, source, p->domain[source], &p->newest[source][i]);
		a->prefetch = true;
		a->request.next_use = UINT64_MAX;
		p->under_way++;
		m->stats.prefetches++;
		slow_after(m, delay_ps + m->config->pcie_ps + m->config->dram_ps, SLOW_PREFETCHED,
			   a);
	}
}

static uint64_t source_key(unsigned int source)
{
	return slow_key(source, 0, 12);
}

static void begin_translation(struct slow_model *m, unsigned int number,
			      const struct slow_packet *packet, const struct slow_request *request)
{
	struct slow_device *device = &m->devices[number];
	struct slow_access *a =
		slow_begin_access(m, number, packet->source, packet->domain, request);

	if (device->buffer.cache && m->config->walk != SLOW_NONE) {
		int successor = slow_prefetch_learn(&device->prefetch, packet->source,
						    packet->domain, m->config->prefetch_distance);

		if (!m->config->prefetch_on_miss)
			slow_ask_ahead(m, number, successor, 0);
		slow_prefetch_remember(&device->prefetch, packet->source, request,
				       m->config->prefetch_pages);
	}
	if (slow_level_lookup(&m->context, 0, 0, source_key(packet->source), UINT64_MAX))
		slow_ask_device(m, a, m->config->context_hit_ps);
	else
		slow_after(m,
			   m->config->context_hit_ps +
				   2 * (m->config->pcie_ps + m->config->dram_ps),
			   SLOW_CONTEXT, a);
}

static void context_comes(struct slow_model *m, struct slow_access *a)
{
	uint64_t evicted;

	slow_level_fill(&m->context, 0, 0, source_key(a->source), UINT64_MAX, &evicted);
	slow_ask_device(m, a, 0);
}

static void take_page_back(struct slow_model *m, struct slow_device *device)
{
	const struct slow_packet *packet = &device->packet;

	slow_forget_page(m, device, packet->domain, &packet->requests[slow_draw(m, packet->count)]);
	m->stats.invalidations++;
}

static void expect_packet(struct slow_model *m, unsigned int number, uint64_t time_ps)
{
	if (m->run->next(m->run->self, number, &m->devices[number].packet))
		slow_events_add(&m->events, time_ps, SLOW_ARRIVAL, number, NULL);
}

static void enter(struct slow_model *m, unsigned int number)
{
	struct slow_device *device = &m->devices[number];
	const struct slow_packet *packet = &device->packet;

	m->run->entered(m->run->self, m->now_ps, packet, device->dropped);
	device->dropped = 0;
	device->in_flight += packet->count;
	if (device->in_flight > m->stats.in_flight_max)
		m->stats.in_flight_max = device->in_flight;
	for (unsigned int i = 0; i < packet->count; i++)
		begin_translation(m, number, packet, &packet->requests[i]);
	m->stats.packets++;
	device->packets++;
	if (m->config->invalidate_packets > 0 &&
	    device->packets % m->config->invalidate_packets == 0)
		take_page_back(m, device);
	device->slot_end_ps = m->now_ps + m->slot_ps;
	expect_packet(m, number, device->slot_end_ps);
}

static void arrive(struct slow_model *m, unsigned int number)
{
	struct slow_device *device = &m->devices[number];

	if (device->in_flight < m->config->ptb_entries) {
		enter(m, number);
		return;
	}
	device->dropped++;
	m->stats.drops++;
	slow_events_add(&m->events, m->now_ps + m->slot_ps, SLOW_ARRIVAL, number, NULL);
}

static void happen(struct slow_model *m, const struct slow_event *event)
{
	switch (event->kind) {
	case SLOW_HIT:
		slow_complete(m, event->access);
		break;
	case SLOW_ANSWER:
		slow_answer(m, event->access);
		break;
	case SLOW_WALKED:
		slow_end_walk(m, event->access);
		break;
	case SLOW_CONTEXT:
		context_comes(m, event->access);
		break;
	case SLOW_AT_IOMMU:
	case SLOW_PREFETCHED:
		slow_ask_iommu(m, event->access);
		break;
	case SLOW_ARRIVAL:
		arrive(m, event->device);
		break;
	}
}

static void begin(struct slow_model *m)
{
	const struct slow_config *c = m->config;

	m->slot_ps = (uint64_t)((unsigned __int128)c->packet_bits * UINT64_C(1000000000000) /
				c->link_bits_per_s);
	m->generator = c->seed;
	slow_level_begin(&m->context, &c->context);
	slow_level_begin(&m->iotlb, &c->iotlb);
	slow_level_begin(&m->level2, &c->level2);
	slow_level_begin(&m->level3, &c->level3);
	for (unsigned int i = 0; i < c->devices; i++) {
		slow_level_begin(&m->devices[i].devtlb, &c->devtlb);
		slow_level_begin(&m->devices[i].buffer, &c->prefetch);
		if (c->prefetch.entries > 0)
			slow_prefetch_begin(&m->devices[i].prefetch, c->prefetch.entries);
		expect_packet(m, i, 0);
	}
}

static void end_level(struct slow_run *run, enum slow_part part, struct slow_level *level,
		      struct slow_level_stats *stats)
{
	slow_level_end(level, stats);
	run->sets[part] = level->sets;
	run->set_count[part] = level->partitions * level->partition_sets;
}

static void end(struct slow_model *m)
{
	struct slow_stats *stats = &m->stats;
	struct slow_run *run = m->run;

	stats->time_ps = m->now_ps;
	end_level(run, SLOW_PART_CONTEXT, &m->context, &stats->context);
	end_level(run, SLOW_PART_IOTLB, &m->iotlb, &stats->iotlb);
	end_level(run, SLOW_PART_LEVEL2, &m->level2, &stats->level2);
	end_level(run, SLOW_PART_LEVEL3, &m->level3, &stats->level3);
	end_level(run, SLOW_PART_DEVTLB, &m->devices[0].devtlb, &stats->devtlb);
	end_level(run, SLOW_PART_PREFETCH, &m->devices[0].buffer, &stats->prefetch);
	for (unsigned int i = 0; i < m->config->devices; i++) {
		struct slow_device *device = &m->devices[i];

		if (device->slot_end_ps > stats->time_ps)
			stats->time_ps = device->slot_end_ps;
		slow_prefetch_end(&device->prefetch);
		if (i == 0)
			continue;
		slow_level_end(&device->devtlb, &stats->devtlb);
		slow_level_end(&device->buffer, &stats->prefetch);
		free(device->devtlb.sets);
		free(device->buffer.sets);
	}
	run->stats = *stats;
}

void slow_model_free(struct slow_run *run)
{
	for (int part = 0; part < SLOW_PARTS; part++)
		free(run->sets[part]);
	free(run->lost);
}

void slow_model_run(struct slow_run *run)
{
	struct slow_model *m = calloc(1, sizeof(*m));
	struct slow_event event;

	run->lost = calloc(SLOW_SOURCES, sizeof(run->lost[0]));
	if (!m || !run->lost)
		abort();
	m->run = run;
	m->config = &run->config;
	begin(m);
	while (slow_events_take(&m->events, &event)) {
		for (unsigned int i = 0; i < m->config->devices; i++)
			m->stats.in_flight_ps +=
				m->devices[i].in_flight * (event.time_ps - m->now_ps);
		m->now_ps = event.time_ps;
		happen(m, &event);
	}
	end(m);
	free(m);
}
