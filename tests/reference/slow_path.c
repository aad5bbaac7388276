// SPDX-License-Identifier: GPL-2.0
/* What a translation of the slow model meets on its way: device, IOMMU, page tables, and back. */
#include <stdlib.h>

#include "tests/reference/slow_model_private.h"

/* Keys of an access in the caches, and the units by which their sets go. */
static uint64_t page_key(const struct slow_access *a)
{
	return slow_key(a->domain, a->request.iova, a->request.page_shift);
}

static uint64_t key_2m(const struct slow_access *a)
{
	return slow_key(a->domain, a->request.iova, SHIFT_2M);
}

static uint64_t key_1g(const struct slow_access *a)
{
	return slow_key(a->domain, a->request.iova, SHIFT_1G);
}

static uint64_t unit_2m(const struct slow_access *a)
{
	return a->request.iova / ((uint64_t)1 << SHIFT_2M);
}

static uint64_t unit_1g(const struct slow_access *a)
{
	return a->request.iova / ((uint64_t)1 << SHIFT_1G);
}

/* Device: DevTLB, and beside it the buffer. `context_ps` is what the context cache still takes. */
void slow_ask_device(struct slow_model *m, struct slow_access *a, uint64_t context_ps)
{
	struct slow_device *device = &m->devices[a->device];
	bool hit;

	if (m->config->walk == SLOW_NONE) {
		slow_after(m, context_ps, SLOW_HIT, a);
		return;
	}
	hit = slow_level_lookup(&device->devtlb, a->domain, unit_2m(a), page_key(a),
				a->request.next_use);
	if (device->buffer.cache && m->config->prefetch_on_miss &&
	    !slow_level_holds(&device->buffer, 0, 0, page_key(a)))
		slow_ask_ahead(m, a->device, device->prefetch.successor[a->source], context_ps);
	if (!hit && device->buffer.cache) {
		hit = slow_level_lookup(&device->buffer, 0, 0, page_key(a), UINT64_MAX);
		if (hit && slow_prefetch_mark_hit(&device->prefetch, page_key(a)))
			m->stats.prefetch_useful++;
	}
	if (hit)
		slow_after(m, context_ps + m->config->devtlb_hit_ps, SLOW_HIT, a);
	else
		slow_after(m, context_ps + m->config->pcie_ps, SLOW_AT_IOMMU, a);
}

static unsigned int nested_reads(const struct slow_model *m, const struct slow_access *a,
				 unsigned int leaf)
{
	unsigned int begin = 4, result = 4;

	if (!a->missed2)
		begin = 1;
	else if (!a->missed3)
		begin = 2;
	if (m->config->host_shift == SHIFT_2M)
		result = 3;
	if (begin < leaf)
		return 0;
	return 5 * (begin - leaf + 1) + result;
}

static unsigned int reads_of(const struct slow_model *m, const struct slow_access *a)
{
	unsigned int leaf = a->request.page_shift == 12 ? 1 : a->request.page_shift == 21 ? 2 : 3;

	if (m->config->walk == SLOW_24)
		return 24;
	if (m->config->walk == SLOW_NESTED)
		return nested_reads(m, a, leaf);
	if (!a->missed2)
		return leaf == 1 ? 1 : 0;
	if (!a->missed3)
		return 3 - leaf;
	return leaf;
}

void slow_ask_iommu(struct slow_model *m, struct slow_access *a)
{
	unsigned int reads;

	a->walks = true;
	a->missed2 = false;
	a->missed3 = false;
	if (m->iotlb.cache &&
	    slow_level_lookup(&m->iotlb, a->domain, unit_2m(a), page_key(a), a->request.next_use)) {
		a->walks = false;
		slow_after(m, m->config->walk_hit_ps, SLOW_WALKED, a);
		return;
	}
	if (!slow_level_lookup(&m->level2, a->domain, unit_2m(a), key_2m(a), a->request.next_use)) {
		a->missed2 = true;
		if (!slow_level_lookup(&m->level3, a->domain, unit_1g(a), key_1g(a),
				       a->request.next_use))
			a->missed3 = true;
	}
	reads = reads_of(m, a);
	m->stats.walk_reads += reads;
	if (a->prefetch)
		m->stats.prefetch_walks++;
	else
		m->stats.walks++;
	if (reads > 0)
		slow_after(m, reads * m->config->dram_ps, SLOW_WALKED, a);
	else
		slow_after(m, m->config->walk_hit_ps, SLOW_WALKED, a);
}

static bool finds_page_absent(struct slow_model *m, struct slow_access *a)
{
	if (m->config->fault_per_million == 0 || !a->walks || a->prefetch || a->met_fault)
		return false;
	return slow_draw(m, 1000000) < m->config->fault_per_million;
}

void slow_end_walk(struct slow_model *m, struct slow_access *a)
{
	uint64_t evicted;

	if (a->missed3)
		slow_level_fill(&m->level3, a->domain, unit_1g(a), key_1g(a), a->request.next_use,
				&evicted);
	if (a->missed2)
		slow_level_fill(&m->level2, a->domain, unit_2m(a), key_2m(a), a->request.next_use,
				&evicted);
	if (finds_page_absent(m, a)) {
		a->met_fault = true;
		m->stats.faults++;
		slow_after(m, 4 * m->config->pcie_ps + m->config->fault_ps, SLOW_AT_IOMMU, a);
		return;
	}
	if (m->iotlb.cache)
		slow_level_fill(&m->iotlb, a->domain, unit_2m(a), page_key(a), a->request.next_use,
				&evicted);
	slow_after(m, m->config->pcie_ps, SLOW_ANSWER, a);
}

void slow_complete(struct slow_model *m, struct slow_access *a)
{
	uint64_t latency = m->now_ps - a->begun_ps;

	m->devices[a->device].in_flight--;
	m->stats.translations++;
	m->stats.latency_sum_ps += latency;
	if (latency > m->stats.latency_max_ps)
		m->stats.latency_max_ps = latency;
	m->run->completed(m->run->self, m->now_ps, a->source, latency);
	free(a);
}

static void enter_buffer(struct slow_model *m, struct slow_access *a)
{
	struct slow_device *device = &m->devices[a->device];
	uint64_t evicted;

	device->prefetch.under_way--;
	if (slow_level_holds(&device->devtlb, a->domain, unit_2m(a), page_key(a)))
		m->stats.prefetch_late++;
	if (!slow_level_fill(&device->buffer, 0, 0, page_key(a), UINT64_MAX, &evicted))
		m->stats.prefetch_duplicates++;
	else if (evicted != 0 && !slow_prefetch_unmark(&device->prefetch, evicted))
		m->stats.prefetch_unused++;
	free(a);
}

void slow_answer(struct slow_model *m, struct slow_access *a)
{
	uint64_t evicted;

	if (a->prefetch) {
		enter_buffer(m, a);
		return;
	}
	slow_level_fill(&m->devices[a->device].devtlb, a->domain, unit_2m(a), page_key(a),
			a->request.next_use, &evicted);
	if (evicted != 0 && slow_key_domain(evicted) != a->domain)
		m->run->lost[slow_key_domain(evicted)]++;
	slow_complete(m, a);
}

struct slow_access *slow_begin_access(struct slow_model *m, unsigned int device,
				      unsigned int source, unsigned int domain,
				      const struct slow_request *request)
{
	struct slow_access *a = malloc(sizeof(*a));

	if (!a)
		abort();
	*a = (struct slow_access){
		.request = *request,
		.source = source,
		.domain = domain,
		.device = device,
		.begun_ps = m->now_ps,
	};
	a->request.iova -= request->iova % ((uint64_t)1 << request->page_shift);
	return a;
}

void slow_forget_page(struct slow_model *m, struct slow_device *device, unsigned int domain,
		      const struct slow_request *request)
{
	struct slow_access page = {.request = *request, .domain = domain};

	page.request.iova -= request->iova % ((uint64_t)1 << request->page_shift);
	slow_level_forget(&device->devtlb, domain, unit_2m(&page), page_key(&page));
	slow_level_forget(&device->buffer, 0, 0, page_key(&page));
	if (device->buffer.cache)
		slow_prefetch_unmark(&device->prefetch, page_key(&page));
	slow_level_forget(&m->iotlb, domain, unit_2m(&page), page_key(&page));
	if (request->page_shift >= SHIFT_2M)
		slow_level_forget(&m->level2, domain, unit_2m(&page), key_2m(&page));
	if (request->page_shift >= SHIFT_1G)
		slow_level_forget(&m->level3, domain, unit_1g(&page), key_1g(&page));
}
