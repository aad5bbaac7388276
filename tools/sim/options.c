// SPDX-License-Identifier: GPL-2.0
/* The keys of a simulation: the parameters of HyperTRIO's tables II and IV, and of its traces. */
#include <errno.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "tools/sim/check.h"

#define FIELD(member) offsetof(struct sim_config, member), sizeof(((struct sim_config *)0)->member)
#define MODEL(member) FIELD(model.member)
#define TRACE(member) FIELD(trace.member)
#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define PS_PER_NS     1000
#define KIB	      1024.0
#define ADDRESSES     0x1p57

static const struct option_choice policies[] = {{"lru", REPLACE_LRU},	    {"lfu", REPLACE_LFU},
						{"random", REPLACE_RANDOM}, {"fifo", REPLACE_FIFO},
						{"belady", REPLACE_BELADY}, {NULL, 0}};
static const struct option_choice orders[] = {{"rr", ORDER_ROUND_ROBIN},
					      {"rand", ORDER_RANDOM},
					      {"bursty", ORDER_BURSTY},
					      {"zipf", ORDER_ZIPF},
					      {NULL, 0}};
static const struct option_choice workloads[] = {{"iperf3", TENANTS_IPERF3},
						 {"mediastream", TENANTS_MEDIASTREAM},
						 {"websearch", TENANTS_WEBSEARCH},
						 {NULL, 0}};
static const struct option_choice walks[] = {{"as-released", SIM_WALK_AS_RELEASED},
					     {"nested", SIM_WALK_NESTED},
					     {"24", SIM_WALK_24},
					     {"none", SIM_WALK_NONE},
					     {NULL, 0}};

static const struct option_choice triggers[] = {
	{"access", TRIGGER_ACCESS}, {"miss", TRIGGER_MISS}, {NULL, 0}};
static const struct option_choice pages[] = {{"4K", 12}, {"2M", 21}, {"1G", 30}, {NULL, 0}};
static const struct option_choice host_pages[] = {{"4K", 12}, {"2M", 21}, {NULL, 0}};
/* belady needs the next use of a page, which a context entry and a page to come do not have. */
static const struct option_choice blind_policies[] = {{"lru", REPLACE_LRU},
						      {"lfu", REPLACE_LFU},
						      {"random", REPLACE_RANDOM},
						      {"fifo", REPLACE_FIFO},
						      {NULL, 0}};

static const char entries_meaning[] = "entries in all";
static const char ways_meaning[] = "of a set; 0: fully associative";
static const char policy_meaning[] = "who makes way";
static const char partitions_meaning[] = "sets reserved by low bits of the domain";

static const struct option_choice designs[] = {{"base", 0}, {"hypertrio", 1}, {NULL, 0}};
static const struct option_choice literals[] = {
	{"as-released", 0}, {"table2-literal", 1}, {NULL, 0}};

static const struct option_row rows[] = {
	{"preset", "design", OPTION_CHOICE, FIELD(hypertrio), .otherwise = "base",
	 .choices = designs, .meaning = "table IV's columns: PTB, partitions and prefetch unit"},
	{"preset", "walk", OPTION_CHOICE, FIELD(literal), .otherwise = "as-released",
	 .choices = literals,
	 .meaning = "walks of one dimension, or of 24 reads from real page tables (table II)"},

	{"trace", "workload", OPTION_CHOICE, FIELD(workload), .otherwise = "mediastream",
	 .choices = workloads,
	 .meaning = "page pattern of each tenant, unless recordings are given; the keys below "
		    "replace single figures of it"},
	{"trace", "tenants", OPTION_COUNT, FIELD(tenants), 1, MODEL_TENANTS, "",
	 .meaning = "on each device. Unless said, 1024 are made up, and of recordings there are as "
		    "many as were recorded"},
	{"trace", "order", OPTION_CHOICE, TRACE(turns.order), .otherwise = "rr", .choices = orders,
	 .meaning = "whose packet comes next: in turn, drawn, drawn in bursts, drawn by rank"},
	{"trace", "turn", OPTION_COUNT, TRACE(turns.turn), 1, 1 << 20, "1",
	 .meaning = "packets of a tenant in a row"},
	{"trace", "zipf", OPTION_COUNT, TRACE(turns.zipf_exponent), 0, 400, "100",
	 .meaning = "exponent in hundredths", .needs = {{"order", "zipf"}}},
	{"trace", "shares", OPTION_OWN, TRACE(turns.shares), 1, TURNS_SHARE_MAX, "",
	 .own = &sim_shares,
	 .meaning = "of the turns that tenants take, given to them over and over; none: all alike"},
	{"trace", "packets", OPTION_COUNT, FIELD(packets), 0, 1e15, "",
	 .meaning = "of each device at most; 0: until the first tenant has none left. Unless said, "
		    "200000 are made up, and recordings go to their end"},
	{"trace", "tenant_min", OPTION_COUNT, TRACE(tenant_packets_min), 0, 1e15, "",
	 .meaning = "packets of each tenant at least (table III); one has just so many"},
	{"trace", "tenant_max", OPTION_COUNT, TRACE(tenant_packets_max), 0, 1e15, "",
	 .meaning = "and at most, which another has; 0: without end"},
	{"trace", "run", OPTION_COUNT, TRACE(run), 1, 1e9, "",
	 .meaning = "packets that a stream stays on a data page"},
	{"trace", "streams", OPTION_COUNT, TRACE(streams), 1, 4096, "",
	 .meaning = "data pages of a tenant in use at a time"},
	{"trace", "data_pages", OPTION_COUNT, TRACE(data.count), 1, 1 << 24, "",
	 .meaning = "of each tenant"},
	{"trace", "phase", OPTION_COUNT, TRACE(phase), 0, 1e9, "0",
	 .meaning =
		 "packets after which a tenant moves on to its next set of data pages; 0: never"},
	{"trace", "sets", OPTION_COUNT, TRACE(sets), 1, 1 << 24, "2",
	 .meaning = "sets of data pages, used around and around", .needs = {{"phase", NULL}}},
	{"trace", "first_touches", OPTION_COUNT, TRACE(first_touches), 0, 1000, "0",
	 .meaning = "accesses to each page that is used at the start only (figure 8: below 100); "
		    "0: there are none"},
	{"trace", "first_touch_pages", OPTION_COUNT, TRACE(first_touch.count), 1, 1 << 24, "",
	 .meaning = "used at the start only", .needs = {{"first_touches", NULL}}},
	{"trace", "ring_page", OPTION_CHOICE, TRACE(ring.shift), .otherwise = "4K",
	 .choices = pages, .meaning = "size of the page that holds the ring"},
	{"trace", "data_page", OPTION_CHOICE, TRACE(data.shift), .otherwise = "2M",
	 .choices = pages, .meaning = "size of data pages"},
	{"trace", "mailbox_page", OPTION_CHOICE, TRACE(mailbox.shift), .otherwise = "4K",
	 .choices = pages, .meaning = "size of the page that holds the mailbox"},
	{"trace", "first_touch_page", OPTION_CHOICE, TRACE(first_touch.shift), .otherwise = "4K",
	 .choices = pages, .meaning = "size of pages that are used at the start only",
	 .needs = {{"first_touches", NULL}}},
	{"trace", "ring_at", OPTION_OWN, FIELD(ring_at), 0, ADDRESSES, "", .own = &sim_address,
	 .meaning = "where the ring is"},
	{"trace", "data_at", OPTION_OWN, FIELD(data_at), 0, ADDRESSES, "", .own = &sim_address,
	 .meaning = "where data pages begin; unless said, at 4 GiB where they would reach the "
		    "mailbox"},
	{"trace", "mailbox_at", OPTION_OWN, FIELD(mailbox_at), 0, ADDRESSES, "",
	 .own = &sim_address, .meaning = "where the mailbox is"},
	{"trace", "first_touch_at", OPTION_OWN, FIELD(first_touch_at), 0, ADDRESSES, "",
	 .own = &sim_address,
	 .meaning = "where pages used at the start begin; unless said, behind the mailbox",
	 .needs = {{"first_touches", NULL}}},
	{"trace", "apart", OPTION_BYTES, TRACE(apart), 0, 0x1p52, "0",
	 .meaning =
		 "from a tenant's pages to the next one's, a multiple of every page size, made up "
		 "or recorded; 0: all have the same addresses, as in the paper"},
	{"trace", "analyze", OPTION_BOOL, FIELD(analyze), .otherwise = "no",
	 .meaning =
		 "afterwards look through the trace: runs, reuse distances and active set of each "
		 "tenant"},
	{"trace", "requests", OPTION_COUNT, FIELD(requests), 1, MODEL_REQUESTS, "3",
	 .meaning = "recordings: translations of one packet"},
	{"trace", "as_recorded", OPTION_BOOL, FIELD(as_recorded), .otherwise = "no",
	 .meaning = "recordings: in their own order instead of merged, one packet after another"},
	{"trace", "seed", OPTION_COUNT, TRACE(seed), 0, 1e15, "1", .meaning = "of all draws"},

	{"link", "packet", OPTION_BYTES, FIELD(packet_bytes), 1, 1 << 20, "1542",
	 .meaning = "on the wire, with preamble and gap"},
	{"link", "mbit_per_s", OPTION_COUNT, FIELD(link_mbit_per_s), 1, 1e8, "200000",
	 .meaning = "of each device"},

	{"ptb", "entries", OPTION_COUNT, MODEL(ptb_entries), 1, 65536, "1",
	 .meaning = "translations in flight; a packet enters while fewer are"},

	{"latency", "pcie", OPTION_TIME, FIELD(pcie_ns), 0, NSEC_PER_SEC, "450ns",
	 .meaning = "one way between device and IOMMU"},
	{"latency", "dram", OPTION_TIME, FIELD(dram_ns), 0, NSEC_PER_SEC, "50ns",
	 .meaning = "one page-table read"},
	{"latency", "devtlb_hit", OPTION_TIME, FIELD(devtlb_hit_ns), 0, NSEC_PER_SEC, "2ns",
	 .meaning = "DevTLB or prefetch buffer answers"},
	{"latency", "context_hit", OPTION_TIME, FIELD(context_hit_ns), 0, NSEC_PER_SEC, "1ns",
	 .meaning = "context cache answers"},
	{"latency", "walk_hit", OPTION_TIME, FIELD(walk_hit_ns), 0, NSEC_PER_SEC, "5ns",
	 .meaning = "IOTLB or walk caches answer without a read"},
	{"latency", "fault", OPTION_TIME, FIELD(fault_ns), 0, NSEC_PER_SEC, "10us",
	 .meaning = "from a page request to its response",
	 .needs = {{"more.faults_per_million", NULL}}},

	{"walk", "mode", OPTION_CHOICE, FIELD(walk), .otherwise = "as-released", .choices = walks,
	 .meaning = "reads of a walk: as the authors' simulator counts them, in two dimensions, 24 "
		    "always, or none: the device is passed through and translates nothing"},
	{"walk", "tables", OPTION_BOOL, FIELD(walk_tables), .otherwise = "no",
	 .meaning = "read real page tables instead of counting", .needs = {{"mode", "nested"}}},
	{"walk", "host_page", OPTION_CHOICE, MODEL(host_shift), .otherwise = "4K",
	 .choices = host_pages, .meaning = "pages of the second dimension",
	 .needs = {{"mode", "nested"}}},

	{"context", "entries", OPTION_COUNT, MODEL(context.cache.entries), 1, CACHE_ENTRIES_MAX,
	 "1536", .meaning = "fully associative"},
	{"context", "policy", OPTION_CHOICE, MODEL(context.cache.policy), .otherwise = "lfu",
	 .choices = blind_policies, .meaning = "who makes way"},

	{"devtlb", "entries", OPTION_COUNT, MODEL(devtlb.cache.entries), 1, CACHE_ENTRIES_MAX, "64",
	 .meaning = entries_meaning},
	{"devtlb", "ways", OPTION_COUNT, MODEL(devtlb.cache.ways), 0, CACHE_ENTRIES_MAX, "8",
	 .meaning = ways_meaning},
	{"devtlb", "policy", OPTION_CHOICE, MODEL(devtlb.cache.policy), .otherwise = "lfu",
	 .choices = policies, .meaning = policy_meaning},
	{"devtlb", "partitions", OPTION_COUNT, MODEL(devtlb.partitions), 1, 65536, "1",
	 .meaning = partitions_meaning, .power_of_two = true},
	{"iotlb", "entries", OPTION_COUNT, MODEL(iotlb.cache.entries), 0, CACHE_ENTRIES_MAX, "0",
	 .meaning = entries_meaning},
	{"iotlb", "ways", OPTION_COUNT, MODEL(iotlb.cache.ways), 0, CACHE_ENTRIES_MAX, "8",
	 .meaning = ways_meaning, .needs = {{"entries", NULL}}},
	{"iotlb", "policy", OPTION_CHOICE, MODEL(iotlb.cache.policy), .otherwise = "lfu",
	 .choices = policies, .meaning = policy_meaning, .needs = {{"entries", NULL}}},
	{"iotlb", "partitions", OPTION_COUNT, MODEL(iotlb.partitions), 1, 65536, "1",
	 .meaning = partitions_meaning, .power_of_two = true, .needs = {{"entries", NULL}}},
	{"level2", "entries", OPTION_COUNT, MODEL(level2.cache.entries), 1, CACHE_ENTRIES_MAX,
	 "512", .meaning = entries_meaning},
	{"level2", "ways", OPTION_COUNT, MODEL(level2.cache.ways), 0, CACHE_ENTRIES_MAX, "16",
	 .meaning = ways_meaning},
	{"level2", "policy", OPTION_CHOICE, MODEL(level2.cache.policy), .otherwise = "lfu",
	 .choices = policies, .meaning = policy_meaning},
	{"level2", "partitions", OPTION_COUNT, MODEL(level2.partitions), 1, 65536, "1",
	 .meaning = partitions_meaning, .power_of_two = true},
	{"level3", "entries", OPTION_COUNT, MODEL(level3.cache.entries), 1, CACHE_ENTRIES_MAX,
	 "1024", .meaning = entries_meaning},
	{"level3", "ways", OPTION_COUNT, MODEL(level3.cache.ways), 0, CACHE_ENTRIES_MAX, "16",
	 .meaning = ways_meaning},
	{"level3", "policy", OPTION_CHOICE, MODEL(level3.cache.policy), .otherwise = "lfu",
	 .choices = policies, .meaning = policy_meaning},
	{"level3", "partitions", OPTION_COUNT, MODEL(level3.partitions), 1, 65536, "1",
	 .meaning = partitions_meaning, .power_of_two = true},

	{"prefetch", "entries", OPTION_COUNT, MODEL(prefetch.cache.entries), 0, 4096, "0",
	 .meaning = "of the buffer; 0: nothing is prefetched"},
	{"prefetch", "policy", OPTION_CHOICE, MODEL(prefetch.cache.policy), .otherwise = "lru",
	 .choices = blind_policies, .meaning = "of the buffer", .needs = {{"entries", NULL}}},
	{"prefetch", "distance", OPTION_COUNT, MODEL(prefetch_distance), 1, 1 << 20, "48",
	 .meaning = "translations from a source to the one it predicts",
	 .needs = {{"entries", NULL}}},
	{"prefetch", "pages", OPTION_COUNT, MODEL(prefetch_pages), 1, 8, "2",
	 .meaning = "newest requests of a source that are fetched", .needs = {{"entries", NULL}}},
	{"prefetch", "trigger", OPTION_CHOICE, MODEL(prefetch_trigger), .otherwise = "access",
	 .choices = triggers,
	 .meaning =
		 "which translations ask: each, as in the authors' simulator, or those whose page "
		 "the buffer does not have, as in the paper",
	 .needs = {{"entries", NULL}}},

	{"more", "devices", OPTION_COUNT, MODEL(devices), 1, SIM_DEVICES, "1",
	 .meaning = "that share the IOMMU, each with link, PTB, DevTLB and tenants of its own"},
	{"more", "invalidate_packets", OPTION_COUNT, MODEL(invalidate_packets), 0, 1e9, "0",
	 .meaning = "packets after which a page is taken back; 0: never"},
	{"more", "faults_per_million", OPTION_COUNT, MODEL(fault_per_million), 0, 1e6, "0",
	 .meaning = "walks that find the page absent"},
	{"more", "alone", OPTION_BOOL, FIELD(alone), .otherwise = "no",
	 .meaning =
		 "afterwards run each tenant's packets without the others', to tell its slowdown"},
};

static const struct option_section sections[] = {
	{"preset", "Where all else begins.", false},
	{"trace", "Whose packets need which pages.", false},
	{"link", "How fast packets arrive.", false},
	{"ptb", "The pending translation buffer.", false},
	{"latency", "What each step takes.", false},
	{"walk", "How page tables are read.", false},
	{"context", "The context cache.", false},
	{"devtlb", "The device's translation cache.", false},
	{"iotlb", "The IOMMU's translation cache; 0 entries: none, as in the paper's model.",
	 false},
	{"level2", "The page-walk cache of 2 MiB entries.", false},
	{"level3", "The page-walk cache of 1 GiB entries.", false},
	{"prefetch", "The prefetch unit.", false},
	{"more", "Beyond the paper; off.", false},
	{"sweep", "NAME = SECTION.KEY: V1, V2 ... runs every combination.", false},
	{"expect", "NAME = EXPRESSION over results; the run fails if one is false.", false},
	{"short", "SECTION.KEY = VALUE: what --short replaces.", false},
};

const struct option_table sim_options = {
	.rows = rows,
	.row_count = COUNT(rows),
	.sections = sections,
	.section_count = COUNT(sections),
	.columns = &sim_columns,
	.help = "`faultline sim --keys`",
};

/* What the two keys of [preset] stand for; the job's own values come before them. */
static int apply_presets(struct job_text *text, const struct sim_config *config)
{
	static const char *const hypertrio[][2] = {
		{"ptb.entries", "32"},	     {"devtlb.partitions", "8"},
		{"level2.partitions", "32"}, {"level3.partitions", "64"},
		{"prefetch.entries", "8"},
	};
	static const char *const literal[][2] = {{"walk.mode", "nested"}, {"walk.tables", "yes"}};
	int err = 0;

	for (size_t i = 0; !err && config->hypertrio && i < COUNT(hypertrio); i++)
		err = job_text_suggest(text, hypertrio[i][0], hypertrio[i][1], "[preset] design");
	for (size_t i = 0; !err && config->literal && i < COUNT(literal); i++)
		err = job_text_suggest(text, literal[i][0], literal[i][1], "[preset] walk");
	return err;
}

int sim_complete(struct job_text *text)
{
	int err = 0;

	for (size_t i = 0; !err && i < COUNT(sections); i++)
		err = job_text_need(text, sections[i].type, "the command line");
	return err;
}

int sim_preset(struct job_text *text, const char *name)
{
	if (!strcmp(name, "base") || !strcmp(name, "hypertrio"))
		return job_text_set(text, "preset.design", name, "--preset");
	if (!strcmp(name, "as-released") || !strcmp(name, "table2-literal"))
		return job_text_set(text, "preset.walk", name, "--preset");
	return failed(-EINVAL,
		      "unknown preset '%s'; accepted: base, hypertrio, as-released, table2-literal",
		      name);
}

static void fully_associative(struct cache_config *cache)
{
	if (!cache->ways)
		cache->ways = cache->entries;
}

static void set_numbers(struct sim_config *c)
{
	struct model_config *m = &c->model;

	m->packet_bits = 8ull * c->packet_bytes;
	m->link_bits_per_s = 1000000ull * c->link_mbit_per_s;
	m->pcie_ps = c->pcie_ns * PS_PER_NS;
	m->dram_ps = c->dram_ns * PS_PER_NS;
	m->devtlb_hit_ps = c->devtlb_hit_ns * PS_PER_NS;
	m->context_hit_ps = c->context_hit_ns * PS_PER_NS;
	m->walk_hit_ps = c->walk_hit_ns * PS_PER_NS;
	m->fault_ps = c->fault_ns * PS_PER_NS;
	m->walk = c->walk == SIM_WALK_NESTED ? (c->walk_tables ? WALK_TABLES : WALK_NESTED)
		  : c->walk == SIM_WALK_24   ? WALK_24
		  : c->walk == SIM_WALK_NONE ? WALK_NONE
					     : WALK_AS_RELEASED;
	fully_associative(&m->devtlb.cache);
	fully_associative(&m->iotlb.cache);
	fully_associative(&m->level2.cache);
	fully_associative(&m->level3.cache);
	m->context.cache.ways = m->context.cache.entries;
	m->context.partitions = 1;
	m->prefetch.cache.ways = m->prefetch.cache.entries;
	m->prefetch.partitions = 1;
	m->seed = c->trace.seed;
}

static int fill_section(struct sim_config *config, const struct job_text *text, const char *type)
{
	const struct job_section defaults = {
		.type = (char *)type, .name = (char *)"", .where = (char *)""};
	const struct job_section *section = job_text_section(text, type, NULL);

	return options_fill(&sim_options, section ? section : &defaults, config);
}

static bool is_option_section(const char *type)
{
	return strcmp(type, "sweep") != 0 && strcmp(type, "expect") != 0 &&
	       strcmp(type, "short") != 0;
}

int sim_check_values(const struct job_text *text)
{
	struct sim_config config = {.packets = SIM_UNSAID};
	int err = 0;

	for (size_t i = 0; !err && i < text->section_count; i++)
		if (is_option_section(text->sections[i].type))
			err = options_check_values(&sim_options, &text->sections[i], &config);
	return err;
}

static int sim_fill(struct sim_config *config, const struct job_text *text)
{
	int err = 0;

	for (size_t i = 0; !err && i < COUNT(sections); i++)
		if (is_option_section(sections[i].type))
			err = fill_section(config, text, sections[i].type);
	return err;
}

/* The workload's figures first, which what the job says of the trace then replaces. */
static void sim_begin(struct sim_config *config, const struct sim_config *chosen)
{
	*config = (struct sim_config){
		.packets = SIM_UNSAID,
		.ring_at = SIM_UNSAID,
		.data_at = SIM_UNSAID,
		.mailbox_at = SIM_UNSAID,
		.first_touch_at = SIM_UNSAID,
	};
	model_preset(&config->model, MODEL_BASE);
	tenants_preset(&config->trace, chosen->workload);
	/* So many packets end the trace, else the first tenant who has no more. */
	if (chosen->packets)
		config->trace.tenant_packets_min = config->trace.tenant_packets_max = 0;
}

int sim_configure(struct sim_config *config, const struct job_text *text, bool recorded,
		  struct idle_keys *idle)
{
	struct job_text *own = job_text_copy(text);
	struct sim_config chosen = {.packets = SIM_UNSAID};
	int err = own ? options_check_headings(&sim_options, own)
		      : failed(-ENOMEM, "no memory for the job");

	if (!err)
		err = sim_complete(own);
	if (!err)
		err = sim_fill(&chosen, own);
	if (!err)
		err = apply_presets(own, &chosen);
	sim_begin(config, &chosen);
	if (!err)
		err = sim_fill(config, own);
	if (!err) {
		sim_complete_trace(config);
		err = sim_check(config, own, recorded);
	}
	if (!err)
		err = idle_keys_add(idle, &sim_options, own);
	if (!err)
		set_numbers(config);
	job_text_free(own);
	return err;
}
