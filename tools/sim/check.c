// SPDX-License-Identifier: GPL-2.0
#include "tools/sim/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"

#define KEYS	   11
#define TABLE_BITS 48

/* Where a key of a section was written by somebody; NULL for a default and what a preset stands for. */
static const char *written_at(const struct job_text *text, const char *type, const char *key)
{
	const struct job_section *section = job_text_section(text, type, NULL);

	for (size_t i = 0; section && i < section->entry_count; i++)
		if (!strcmp(section->entries[i].key, key) && section->entries[i].where[0] != '[')
			return section->entries[i].where;
	return NULL;
}

/* The first of the keys that was written is the place; if none was, a preset made them. */
__attribute__((format(printf, 4, 5))) static int refuse(const struct job_text *text,
							const char *type,
							const char *const keys[KEYS],
							const char *format, ...)
{
	const char *where = NULL;
	char sentence[512];
	va_list arguments;

	for (int i = 0; !where && i < KEYS && keys[i]; i++)
		where = written_at(text, type, keys[i]);
	if (!where)
		where = written_at(text, "preset", "design") ?: text->path;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	return failed(job_wrong(where), "%s: %s", where, sentence);
}

static int check_cache(const struct job_text *text, const char *type, const struct model_cache *c)
{
	static const char *const shape[KEYS] = {"ways", "entries"};
	static const char *const parts[KEYS] = {"partitions", "entries", "ways"};
	__u32 entries = c->cache.entries, ways = c->cache.ways ?: entries, sets;

	if (!entries)
		return 0;
	sets = entries / ways;
	if (entries % ways || sets & (sets - 1))
		return refuse(text, type, shape,
			      "[%s] entries=%u, ways=%u: accepted: entries that are ways times a "
			      "power of two, or ways=0",
			      type, entries, ways);
	if (c->partitions > sets)
		return refuse(text, type, parts,
			      "[%s] partitions=%u of the %u sets that entries=%u, ways=%u make: "
			      "accepted: 1 to %u",
			      type, c->partitions, sets, entries, ways, sets);
	return 0;
}

static int check_link(const struct job_text *text, const struct sim_config *c)
{
	static const char *const keys[KEYS] = {"packet", "mbit_per_s"};

	if (8 * PSEC_PER_SEC * c->packet_bytes >= c->link_mbit_per_s * 1000000ull)
		return 0;
	return refuse(text, "link", keys,
		      "packet=%u, mbit_per_s=%u: accepted: a picosecond a packet and more",
		      c->packet_bytes, c->link_mbit_per_s);
}

static int check_trace(const struct job_text *text, const struct sim_config *c)
{
	static const char *const limits[KEYS] = {"tenant_min", "tenant_max", "packets"};
	static const char *const ends[KEYS] = {"tenant_max", "packets"};
	static const char *const pages[KEYS] = {"streams", "data_pages", "workload"};
	const struct tenants_config *t = &c->trace;

	if (t->tenant_packets_min > t->tenant_packets_max)
		return refuse(text, "trace", limits,
			      "tenant_min=%llu, tenant_max=%llu: accepted: tenant_max of at least "
			      "tenant_min",
			      t->tenant_packets_min, t->tenant_packets_max);
	if (!c->packets && !t->tenant_packets_max)
		return refuse(text, "trace", ends,
			      "packets=0, tenant_max=0: a trace without end; accepted: one of them "
			      "above 0");
	if (t->streams > t->data.count)
		return refuse(text, "trace", pages,
			      "streams=%u, data_pages=%u: accepted: at most a stream a page",
			      t->streams, t->data.count);
	return 0;
}

/* What else is wrong are pages: too many, or not where they can be. */
static int check_addresses(const struct job_text *text, const struct sim_config *c)
{
	static const char *const keys[KEYS] = {
		"apart",       "sets",	     "data_at",	       "mailbox_at",	    "ring_at",
		"data_page",   "data_pages", "first_touch_at", "first_touch_pages", "first_touches",
		"mailbox_page"};
	char sentence[512];

	if (!tenants_check(&c->trace))
		return 0;
	snprintf(sentence, sizeof(sentence), "%s", failure_text());
	return refuse(text, "trace", keys, "%s", sentence);
}

/* Page tables have four levels. */
static int check_tables(const struct job_text *text, const struct sim_config *c)
{
	static const char *const keys[KEYS] = {"data_pages", "data_page",     "sets",
					       "apart",	     "data_at",	      "mailbox_at",
					       "ring_at",    "first_touch_at"};
	__u64 end = tenants_end(&c->trace);

	if (c->walk != SIM_WALK_NESTED || !c->walk_tables || end <= 1ull << TABLE_BITS)
		return 0;
	return refuse(
		text, "trace", keys,
		"pages up to 0x%llx (data_pages=%u of %llu bytes), walk.tables=yes: accepted: "
		"addresses of %d bits",
		end, c->trace.data.count, 1ull << c->trace.data.shift, TABLE_BITS);
}

int sim_check(const struct sim_config *c, const struct job_text *text, bool recorded)
{
	int err = check_trace(text, c);

	if (!err && !recorded)
		err = check_addresses(text, c);
	if (!err && !recorded)
		err = check_tables(text, c);
	if (!err)
		err = check_link(text, c);
	if (!err)
		err = check_cache(text, "devtlb", &c->model.devtlb);
	if (!err)
		err = check_cache(text, "iotlb", &c->model.iotlb);
	if (!err)
		err = check_cache(text, "level2", &c->model.level2);
	if (!err)
		err = check_cache(text, "level3", &c->model.level3);
	return err;
}
