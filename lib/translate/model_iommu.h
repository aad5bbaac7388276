/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside the model: the IOMMU's side, its caches, the walk, page requests. Inlined into the loop of
 * steps, of which these are most.
 */
#ifndef FAULTLINE_TRANSLATE_MODEL_IOMMU_H
#define FAULTLINE_TRANSLATE_MODEL_IOMMU_H

#include "lib/translate/model_private.h"

#define MILLION 1000000

/* Level of the table where a walk begins: below what the walk caches knew. */
static inline __u32 first_level(const struct access *a)
{
	return !a->fill2 ? 1 : !a->fill3 ? 2 : TABLES_LEVELS;
}

static inline __u32 nested_reads(const struct model *m, const struct access *a)
{
	__u32 leaf = key_leaf(a->key), first = first_level(a);
	__u32 host = m->config.host_shift == 21 ? TABLES_LEVELS - 1 : TABLES_LEVELS;
	struct tables_walk walk;

	if (first < leaf) /* the walk cache holds the leaf itself */
		return 0;
	if (m->config.walk == WALK_NESTED)
		return (first - leaf + 1) * (TABLES_LEVELS + 1) + host;
	tables_walk(m->tables, (__u16)key_domain(a->key), key_iova(a->key), first, &walk);
	return walk.reads;
}

static inline __u32 reads_left(const struct model *m, const struct access *a)
{
	__u32 leaf = key_leaf(a->key);

	if (m->config.walk == WALK_24)
		return 24;
	if (m->config.walk != WALK_AS_RELEASED)
		return nested_reads(m, a);
	if (!a->fill2)
		return leaf == 1 ? 1 : 0;
	if (!a->fill3)
		return leaf < 3 ? 3 - leaf : 0;
	return leaf;
}

/* A request has reached the IOMMU. */
static INLINE void iommu_lookup(struct model *m, struct access *a)
{
	__u64 delay = m->config.walk_hit_ps;
	__u32 reads;

	a->walks = true;
	a->fill2 = a->fill3 = false;
	if (m->iotlb.cache && level_look_up(&m->iotlb, a->key, a->next_use, &a->iotlb)) {
		a->walks = false;
		a->iotlb = level_any_miss(&m->iotlb, a->key);
		model_schedule(m, MODEL_STEP_WALKED, m->now_ps + delay, a);
		return;
	}
	a->fill2 = !level_look_up(&m->level2, key_2m(a->key), a->next_use, &a->level2);
	if (a->fill2)
		a->fill3 = !level_look_up(&m->level3, key_1g(a->key), a->next_use, &a->level3);
	reads = reads_left(m, a);
	if (reads)
		delay = reads * m->config.dram_ps;
	m->stats.walk_reads += reads;
	if (a->prefetch)
		m->stats.prefetch_walks++;
	else
		m->stats.walks++;
	model_schedule(m, MODEL_STEP_WALKED, m->now_ps + delay, a);
}

/* The page is absent: the answer says so, the device requests it, and asks again after the response. */
static inline bool iommu_faults(struct model *m, struct access *a)
{
	if (!m->config.fault_per_million || !a->walks || a->prefetch || a->faulted ||
	    random_below(&m->random, MILLION) >= m->config.fault_per_million)
		return false;
	a->faulted = true;
	m->stats.faults++;
	model_schedule(m, MODEL_STEP_IOMMU, m->now_ps + 4 * m->config.pcie_ps + m->config.fault_ps,
		       a);
	return true;
}

/* Its walk, if there was one, is over. */
static INLINE void iommu_walked(struct model *m, struct access *a)
{
	if (a->fill3)
		level_fill(&m->level3, &a->level3, key_1g(a->key), a->next_use);
	if (a->fill2)
		level_fill(&m->level2, &a->level2, key_2m(a->key), a->next_use);
	if (iommu_faults(m, a))
		return;
	if (m->iotlb.cache)
		level_fill(&m->iotlb, &a->iotlb, a->key, a->next_use);
	model_schedule(m, MODEL_STEP_DONE, m->now_ps + m->config.pcie_ps, a);
}

#endif
