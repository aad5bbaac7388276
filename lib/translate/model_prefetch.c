// SPDX-License-Identifier: GPL-2.0
/* The prefetch unit's source predictor and history reader (HyperTRIO section III). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/translate/model_private.h"

/* The newest requests, not the newest pages: a page asked for twice stands there twice. */
static void prefetch_remember(struct prefetcher *p, const struct access *a, __u32 kept)
{
	struct request_history *h = &p->histories[a->source];

	for (__u32 i = kept - 1; i; i--)
		h->keys[i] = h->keys[i - 1];
	h->keys[0] = a->key;
	if (h->count < kept)
		h->count++;
}

/* Who comes `distance` translations after a source is learned when it first happens. */
static void prefetch_learn(struct prefetcher *p, __u16 source, __u32 distance)
{
	if (p->recent_count == distance) {
		__u32 *predicted = &p->predicted[p->recent[p->recent_at]];

		if (*predicted == NONE)
			*predicted = source;
	} else {
		p->recent_count++;
	}
	p->recent[p->recent_at] = source;
	if (++p->recent_at == distance)
		p->recent_at = 0;
}

void model_prefetch_ahead(struct model *m, struct model_device *device, __u16 source, __u64 time_ps)
{
	struct prefetcher *p = &device->prefetcher;
	__u32 predicted = p->predicted[source];
	const struct request_history *h;

	if (predicted == NONE)
		return;
	h = &p->histories[predicted];
	for (__u32 i = 0; i < h->count; i++) {
		struct access *a;

		if (p->under_way == MODEL_PREFETCHES) {
			m->stats.prefetch_refused++;
			continue;
		}
		a = access_new(m);
		a->key = h->keys[i];
		a->next_use = CACHE_NEVER;
		a->source = (__u16)predicted;
		a->device = device->number;
		a->prefetch = true;
		p->under_way++;
		m->stats.prefetches++;
		model_schedule(m, MODEL_STEP_HISTORY,
			       time_ps + m->config.pcie_ps + m->config.dram_ps, a);
	}
}

void model_prefetch(struct model *m, struct model_device *device, const struct access *a)
{
	struct prefetcher *p = &device->prefetcher;

	prefetch_learn(p, a->source, m->config.prefetch_distance);
	if (m->config.prefetch_trigger == TRIGGER_ACCESS)
		model_prefetch_ahead(m, device, a->source, m->now_ps);
	prefetch_remember(p, a, m->config.prefetch_pages);
}

int model_prefetcher_create(struct prefetcher *p, const struct model_config *config)
{
	p->predicted = malloc(MODEL_TENANTS * sizeof(p->predicted[0]));
	p->histories = calloc(MODEL_TENANTS, sizeof(p->histories[0]));
	p->recent = calloc(config->prefetch_distance, sizeof(p->recent[0]));
	p->used = calloc(config->prefetch.cache.entries, sizeof(p->used[0]));
	if (!p->predicted || !p->histories || !p->recent || !p->used)
		return -ENOMEM;
	memset(p->predicted, 0xff, MODEL_TENANTS * sizeof(p->predicted[0]));
	return 0;
}

void model_prefetcher_destroy(struct prefetcher *p)
{
	free(p->predicted);
	free(p->histories);
	free(p->recent);
	free(p->used);
}
