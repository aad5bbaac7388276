// SPDX-License-Identifier: GPL-2.0
/* One tenant at one point: its accesses through a policy, and what a rule says of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/analyze/page_table.h"
#include "lib/base/array.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"
#include "lib/base/random.h"
#include "tools/protect/study.h"
#include "tools/progress.h"

#define PROGRESS 65536 /* accesses between two signs of life */

const __u64 study_classes[STUDY_CLASSES] = {10, 50, 100, 500, 1000, UINT64_MAX};

struct tenant_run {
	struct study_outcome *outcome;
	const struct study_config *config;
	struct study_keep keep;
	struct what_if *what_if;
	/* By domain and page: accesses and, in `last`, faults if nothing is pinned; then the faults that are left. */
	struct page_table pages, left;
	int error;
};

static __u64 in_pages(const struct study_config *config, __u64 bytes)
{
	return bytes / config->protector.page_bytes ?: 1;
}

size_t study_domains(const struct study_config *config, const struct study_tenant *tenant)
{
	return config->protector.scope == PROTECTOR_TENANT ? 1 : tenant->unit_count;
}

void study_domain_describe(const struct study_config *config, const struct study_tenant *tenant,
			   size_t number, struct study_domain *domain)
{
	const bool whole = config->protector.scope == PROTECTOR_TENANT;
	const struct study_unit *unit = &tenant->units[number];
	const __u64 bytes = config->memory_bytes ?: whole ? tenant->memory : unit->memory;

	snprintf(domain->name, sizeof(domain->name), "%s", whole ? tenant->name : unit->name);
	domain->memory_pages = in_pages(config, bytes);
}

/* Whether each one of `count` accesses was lost: drawn by what it is, so that every point and thread draws the same. */
static bool is_unlogged(const struct study_config *config, const struct study_access *access,
			__u64 page)
{
	struct random random = {config->seed};

	if (config->drop <= 0 || config->drop >= 1)
		return config->drop >= 1;
	random.state ^= random_next(&random) ^ access->time_ns;
	random.state ^= random_next(&random) ^ page;
	random.state ^= random_next(&random) ^ access->unit;
	for (__u32 i = 0; i < access->count; i++)
		if (random_unit(&random) >= config->drop)
			return false;
	return true;
}

bool study_next(struct study_reader *reader, struct what_if_access *access)
{
	const struct study_tenant *tenant = reader->tenant;
	const __u32 shift = (__u32)__builtin_ctzll(reader->config->protector.page_bytes) -
			    tenant->recording->shift;
	const bool merge = tenant->recording->source == SOURCE_PAGES;
	struct study_access now;
	__u64 page, count;

	if (reader->at == tenant->count)
		return false;
	now = tenant->accesses[reader->at++];
	page = now.page >> shift;
	count = now.count;
	/* Pages of one second were read in smaller ones. */
	while (merge && reader->at < tenant->count) {
		const struct study_access *next = &tenant->accesses[reader->at];

		if (next->time_ns != now.time_ns || next->unit != now.unit ||
		    next->page >> shift != page)
			break;
		count += next->count;
		reader->at++;
	}
	now.count = count > UINT32_MAX ? UINT32_MAX : (__u32)count;
	*access = (struct what_if_access){
		.time_ns = now.time_ns,
		.page = page,
		.domain = reader->config->protector.scope == PROTECTOR_TENANT ? 0 : now.unit,
		.count = now.count,
		.lost = is_unlogged(reader->config, &now, page),
	};
	return true;
}

static void run_on_fault(void *argument, const struct what_if_access *access, __u64 gap_ns,
			 bool avoided)
{
	struct tenant_run *run = argument;
	struct study_domain *domain = &run->outcome->domains[access->domain];
	struct page_entry *entry;

	if (run->config->rule == WHAT_IF_INTERVAL &&
	    pin_oracle_add(&domain->oracle, gap_ns, run->config->idle_ns))
		run->error = -ENOMEM;
	/* It was counted before it went into the model. */
	if (run->config->rule == WHAT_IF_INTERVAL) {
		entry = page_table_make(&run->pages, access->domain, 0, access->page);
		if (entry)
			entry->last++;
	}
	if (avoided)
		return;
	entry = page_table_make(&run->left, access->domain, 0, access->page);
	if (entry)
		entry->accesses++;
	else
		run->error = -ENOMEM;
}

static void run_on_act(void *argument, __u32 domain, const struct protect_action *action)
{
	struct tenant_run *run = argument;
	struct study_outcome *o = run->outcome;

	if (!array_grow(&o->actions, &o->action_room, o->action_count + 1, sizeof(*o->actions),
			ARRAY_LIMITED)) {
		run->error = -ENOMEM;
		return;
	}
	o->actions[o->action_count++] = (struct study_action){*action, domain};
}

static struct what_if_config what_if_config_of(struct tenant_run *run, bool none)
{
	const struct study_config *config = run->config;
	struct what_if_config made = {
		.keys = config->protector.keys,
		.rule = config->rule,
		.memory_pages = run->outcome->memory_pages,
		.idle_ns = config->idle_ns,
		.share_low = config->share_low,
		.share_high = config->share_high,
		.share_period_ns = config->share_period_ns,
		.argument = run,
	};

	if (none || made.keys.policy == STUDY_ORACLE)
		made.keys.policy = 0;
	if (none)
		return made;
	made.sample_ns = run->keep.curve ? config->sample_ns : 0;
	made.fault = run_on_fault;
	made.act = run->keep.actions ? run_on_act : NULL;
	return made;
}

static int run_begin(struct tenant_run *run, bool none)
{
	const struct what_if_config config = what_if_config_of(run, none);
	int err = what_if_create(&run->what_if, &config);

	for (size_t i = 0; !err && i < run->outcome->domain_count; i++) {
		int number =
			what_if_add_domain(run->what_if, run->outcome->domains[i].memory_pages);

		err = number < 0 ? number : 0;
	}
	return err == -EINVAL ? -EBADMSG : err;
}

static void run_note(struct tenant_run *run, const struct what_if_access *access)
{
	struct page_entry *entry = page_table_make(&run->pages, access->domain, 0, access->page);

	if (!entry) {
		run->error = -ENOMEM;
		return;
	}
	entry->accesses = access->count > UINT32_MAX - entry->accesses
				  ? UINT32_MAX
				  : entry->accesses + access->count;
}

static int run_accesses(struct tenant_run *run, bool none)
{
	const struct study_tenant *tenant = run->outcome->tenant;
	struct study_reader reader = {run->config, tenant, 0};
	struct what_if_access access;
	int err = run_begin(run, none);
	__u64 done = 0;

	while (!err && study_next(&reader, &access)) {
		if (!none)
			run_note(run, &access);
		what_if_access(run->what_if, &access);
		err = run->error;
		if (++done % PROGRESS == 0)
			progress_add(PROGRESS);
	}
	progress_add(done % PROGRESS);
	if (!err) {
		what_if_end(run->what_if, tenant->recording->newest_ns);
		what_if_rest(run->what_if, tenant->recording->end_ns);
	}
	return err ?: run->error;
}

/* Faults without a policy, where they do not follow from those with one. */
static int run_none(struct tenant_run *run)
{
	struct what_if_counts counts;
	int err = run_accesses(run, true);

	for (__u32 i = 0; !err && i < run->outcome->domain_count; i++) {
		what_if_counts(run->what_if, i, &counts);
		run->outcome->domains[i].faults_none = counts.faults;
	}
	what_if_destroy(run->what_if);
	run->what_if = NULL;
	return err;
}

static size_t page_class(__u64 accesses)
{
	size_t class = 0;

	while (class < STUDY_CLASSES - 1 && accesses >= study_classes[class])
		class ++;
	return class;
}

static void run_classify(struct tenant_run *run)
{
	for (size_t i = 0; i < run->pages.capacity; i++) {
		const struct page_entry *page = &run->pages.entries[i], *left;
		struct study_class *class;

		if (!page->accesses)
			continue;
		class = &run->outcome->domains[page->device].classes[page_class(page->accesses)];
		left = page_table_find(&run->left, page->device, 0, page->page);
		class->pages++;
		class->faults_none += page->last;
		class->faults += left ? left->accesses : 0;
	}
}

static int keep_samples(struct tenant_run *run, __u32 number)
{
	struct study_domain *domain = &run->outcome->domains[number];
	size_t count = 0;

	while (what_if_sample(run->what_if, number, count))
		count++;
	if (!count)
		return 0;
	domain->samples = memory_calloc(count, sizeof(*domain->samples));
	if (!domain->samples)
		return -ENOMEM;
	while (domain->sample_count < count) {
		domain->samples[domain->sample_count] =
			*what_if_sample(run->what_if, number, domain->sample_count);
		domain->sample_count++;
	}
	return 0;
}

/* The oracle pins as much as it may on average, and what it avoids takes nothing more. */
static void run_oracle(struct tenant_run *run, struct study_domain *domain)
{
	const double share = run->config->oracle * (double)domain->memory_pages;
	const double budget = share * (double)run->outcome->length_ns;
	unsigned __int128 taken;

	domain->counts.avoided =
		pin_oracle_avoided(&domain->oracle, (unsigned __int128)budget, &taken);
	domain->counts.faults = domain->faults_none - domain->counts.avoided;
	domain->counts.pinned_time = taken;
	domain->counts.pinned_mean =
		run->outcome->length_ns ? (double)taken / (double)run->outcome->length_ns : 0;
	domain->counts.policy.pins = domain->counts.policy.unpins = domain->counts.avoided;
}

static int run_take(struct tenant_run *run)
{
	const bool interval = run->config->rule == WHAT_IF_INTERVAL;
	unsigned __int128 taken;
	int err = 0;

	for (__u32 i = 0; !err && i < run->outcome->domain_count; i++) {
		struct study_domain *domain = &run->outcome->domains[i];

		what_if_counts(run->what_if, i, &domain->counts);
		if (interval)
			domain->faults_none = domain->counts.faults + domain->counts.avoided;
		if (run->config->protector.keys.policy == STUDY_ORACLE)
			run_oracle(run, domain);
		domain->oracle_avoided =
			interval ? pin_oracle_avoided(&domain->oracle, domain->counts.pinned_time,
						      &taken)
				 : CELL_NONE;
		err = keep_samples(run, i);
	}
	return err;
}

static int outcome_begin(struct study_outcome *o, const struct study_config *config,
			 const struct study_tenant *tenant)
{
	const __u64 first_ns = tenant->accesses[0].time_ns, end_ns = tenant->recording->end_ns;
	const __u64 bytes = config->memory_bytes ?: tenant->memory;

	o->tenant = tenant;
	o->memory_pages = in_pages(config, bytes);
	o->length_ns = end_ns > first_ns ? end_ns - first_ns : 0;
	if (tenant->accesses[tenant->count - 1].time_ns > end_ns)
		o->length_ns = tenant->accesses[tenant->count - 1].time_ns - first_ns;
	o->domains = memory_calloc(study_domains(config, tenant), sizeof(*o->domains));
	if (!o->domains)
		return -ENOMEM;
	o->domain_count = study_domains(config, tenant);
	for (size_t i = 0; i < o->domain_count; i++)
		study_domain_describe(config, tenant, i, &o->domains[i]);
	return 0;
}

int study_run(struct study_outcome *outcome, const struct study_config *config,
	      const struct study_tenant *tenant, struct study_keep keep)
{
	struct tenant_run run = {.outcome = outcome, .config = config, .keep = keep};
	int err = outcome_begin(outcome, config, tenant);

	if (!err && config->rule == WHAT_IF_RECLAIM)
		err = run_none(&run);
	if (!err)
		err = run_accesses(&run, false);
	if (!err)
		err = run_take(&run);
	if (!err)
		run_classify(&run);
	what_if_destroy(run.what_if);
	page_table_free(&run.pages);
	page_table_free(&run.left);
	return err == -ENOMEM
		       ? failed(err, "no memory for what would have become of %s", tenant->name)
		       : err;
}

void study_outcome_free(struct study_outcome *o)
{
	for (size_t i = 0; i < o->domain_count; i++) {
		pin_oracle_free(&o->domains[i].oracle);
		memory_free(o->domains[i].samples);
	}
	memory_free(o->domains);
	memory_free(o->actions);
}
