// SPDX-License-Identifier: GPL-2.0
#include "lib/fabric/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/fabric/options.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A fabric with its arrays, of which pages that nobody has touched take no memory. */
struct fabric_room {
	struct fabric fabric; /* first: fabric_free() has no other pointer */
	struct fabric_node nodes[FABRIC_NODES_MAX];
	struct fabric_link links[FABRIC_LINKS_MAX];
	struct fabric_host hosts[FABRIC_NODES_MAX];
	__u32 first[FABRIC_NODES_MAX + 1];
	struct fabric_edge edges[2 * (FABRIC_NODES_MAX + FABRIC_LINKS_MAX)];
};

struct fabric_builder {
	struct fabric *fabric;
	const struct job_text *text;
	const struct job_section *of[FABRIC_NODES_MAX]; /* where a node was described */
};

static const char *const node_types[] = {
	[FABRIC_ROOT] = "host",
	[FABRIC_SWITCH] = "switch",
	[FABRIC_ADAPTER] = "adapter",
	[FABRIC_DEVICE] = "device",
};

__u32 fabric_find(const struct fabric *fabric, const char *name)
{
	for (__u32 i = 0; i < fabric->node_count; i++)
		if (!strcmp(fabric->nodes[i].name, name))
			return i;
	return FABRIC_NONE;
}

/* The kind of node that a section describes; false: none. */
static bool node_kind(const struct job_section *section, enum fabric_kind *kind)
{
	for (size_t i = 0; i < COUNT(node_types); i++) {
		*kind = (enum fabric_kind)i;
		if (!strcmp(section->type, node_types[i]))
			return true;
	}
	return false;
}

static int check_name(const struct fabric_builder *builder, const struct job_section *section)
{
	__u32 before = fabric_find(builder->fabric, section->name);

	if (before != FABRIC_NONE)
		return failed(job_wrong(section->where),
			      "%s: [%s %s]: there is [%s %s] at %s; accepted: names that no other "
			      "host, switch, adapter or device has",
			      section->where, section->type, section->name,
			      builder->of[before]->type, section->name, builder->of[before]->where);
	if (builder->fabric->node_count == FABRIC_NODES_MAX)
		return failed(job_wrong(section->where),
			      "%s: [%s %s]: accepted: up to %d hosts, switches, adapters and "
			      "devices",
			      section->where, section->type, section->name, FABRIC_NODES_MAX);
	return 0;
}

static int add_host(struct fabric *fabric, struct fabric_node *node,
		    const struct job_section *section)
{
	struct fabric_host *host = &fabric->hosts[fabric->host_count];
	struct fabric_host_keys keys;
	int err = fabric_fill(section, &keys);

	memcpy(host->name, node->name, sizeof(host->name));
	host->root = fabric->node_count;
	host->iommu = keys.iommu;
	node->host = fabric->host_count++;
	node->delay_ns = keys.delay_ns;
	return err;
}

static int add_node(struct fabric_builder *builder, const struct job_section *section,
		    enum fabric_kind kind)
{
	struct fabric *fabric = builder->fabric;
	struct fabric_node *node = &fabric->nodes[fabric->node_count];
	struct fabric_node_keys keys = {0};
	int err = check_name(builder, section);

	if (err)
		return err;
	*node = (struct fabric_node){.kind = kind, .host = FABRIC_NONE, .upstream = FABRIC_NONE};
	snprintf(node->name, sizeof(node->name), "%s", section->name);
	if (kind == FABRIC_ROOT)
		err = add_host(fabric, node, section);
	else
		err = fabric_fill(section, &keys);
	if (kind != FABRIC_ROOT) {
		node->delay_ns = keys.delay_ns ?: keys.chip;
		node->bar_bytes = keys.bar_bytes;
		node->windows = keys.windows;
		node->requesters = keys.requesters;
		node->bar_high = keys.bar_high;
	}
	builder->of[fabric->node_count++] = section;
	return err;
}

/* The entry that everybody has to have where it is mandatory, so that a sentence can name its line. */
static int wrong_under(const struct job_section *section, const char *why, const char *accepted)
{
	const struct job_entry *entry = job_section_entry(section, "under");

	return failed(job_wrong(entry->where), "%s: %s=%s%s: accepted: %s", entry->where,
		      job_key(section, entry).text, job_shown(entry->value).text, why, accepted);
}

static int find_upstream(struct fabric_builder *builder, __u32 index)
{
	struct fabric *fabric = builder->fabric;
	struct fabric_node *node = &fabric->nodes[index];
	const struct job_section *section = builder->of[index];
	const struct job_entry *under = job_section_entry(section, "under");

	if (node->kind == FABRIC_ROOT || !under || !*under->value)
		return 0;
	node->upstream = fabric_find(fabric, under->value);
	if (node->upstream == FABRIC_NONE)
		return wrong_under(section, ", which there is not", "a host, or a switch of one");
	if (fabric->nodes[node->upstream].kind != FABRIC_ROOT &&
	    fabric->nodes[node->upstream].kind != FABRIC_SWITCH)
		return wrong_under(section, "", "a host, or a switch of one");
	return 0;
}

/* The host at the top of what it is under. */
static int find_host(struct fabric_builder *builder, __u32 index)
{
	struct fabric *fabric = builder->fabric;
	struct fabric_node *node = &fabric->nodes[index];
	__u32 at = index;

	if (node->kind == FABRIC_ROOT || node->upstream == FABRIC_NONE)
		return 0;
	for (__u32 steps = 0; fabric->nodes[at].upstream != FABRIC_NONE; steps++) {
		if (steps > fabric->node_count)
			return wrong_under(builder->of[index], ", which is under itself",
					   "a host, or a switch of one");
		at = fabric->nodes[at].upstream;
	}
	if (fabric->nodes[at].kind != FABRIC_ROOT)
		return wrong_under(builder->of[index], ", which is a switch between hosts",
				   "a host, or a switch of one; what joins others is a [link]");
	node->host = fabric->nodes[at].host;
	return 0;
}

static int wrong_link(const struct job_section *section, const char *format, const char *name,
		      const char *accepted)
{
	const struct job_entry *entry = job_section_entry(section, "between");
	char why[2 * FABRIC_NAME + 64];

	snprintf(why, sizeof(why), format, name);
	return failed(job_wrong(entry->where), "%s: %s=%s: %s; accepted: %s", entry->where,
		      job_key(section, entry).text, job_shown(entry->value).text, why, accepted);
}

#define LINK_ACCEPTED "two names, of adapters or of switches between hosts"

static int find_ends(const struct fabric_builder *builder, const struct job_section *section,
		     const struct fabric_link_keys *keys, struct fabric_link *link)
{
	const struct fabric *fabric = builder->fabric;
	char names[2][FABRIC_NAME], more[2];

	_Static_assert(FABRIC_NAME == 64, "63 below");
	if (sscanf(keys->between, "%63s %63s %1s", names[0], names[1], more) != 2)
		return wrong_link(section, "not two names%s", "", LINK_ACCEPTED);
	for (int i = 0; i < 2; i++) {
		__u32 end = fabric_find(fabric, names[i]);

		if (end == FABRIC_NONE)
			return wrong_link(section, "no %s", names[i], LINK_ACCEPTED);
		if (fabric->nodes[end].kind != FABRIC_ADAPTER &&
		    (fabric->nodes[end].kind != FABRIC_SWITCH ||
		     fabric->nodes[end].host != FABRIC_NONE))
			return wrong_link(section, "%s is neither", names[i], LINK_ACCEPTED);
		link->ends[i] = end;
		for (__u32 l = 0; l < fabric->link_count; l++)
			if (fabric->nodes[end].kind == FABRIC_ADAPTER &&
			    (fabric->links[l].ends[0] == end || fabric->links[l].ends[1] == end))
				return wrong_link(section, "%s has another cable", names[i],
						  "one of an adapter");
	}
	if (link->ends[0] == link->ends[1])
		return wrong_link(section, "%s twice", names[0], LINK_ACCEPTED);
	return 0;
}

static int add_link(struct fabric_builder *builder, const struct job_section *section)
{
	struct fabric *fabric = builder->fabric;
	struct fabric_link *link = &fabric->links[fabric->link_count];
	struct fabric_link_keys keys;
	int err;

	if (fabric->link_count == FABRIC_LINKS_MAX)
		return failed(job_wrong(section->where), "%s: [link %s]: accepted: up to %d links",
			      section->where, job_shown(section->name).text, FABRIC_LINKS_MAX);
	err = fabric_fill(section, &keys);
	if (err)
		return err;
	snprintf(link->name, sizeof(link->name), "%s", section->name);
	link->delay_ns = keys.delay_ns;
	link->bytes_per_s = (__u64)keys.bytes_per_s;
	err = find_ends(builder, section, &keys, link);
	fabric->link_count += !err;
	return err;
}

static int check_cables(const struct fabric_builder *builder)
{
	const struct fabric *fabric = builder->fabric;

	for (__u32 i = 0; i < fabric->node_count; i++) {
		bool joined = fabric->nodes[i].kind != FABRIC_ADAPTER;

		for (__u32 l = 0; l < fabric->link_count && !joined; l++)
			joined = fabric->links[l].ends[0] == i || fabric->links[l].ends[1] == i;
		if (!joined)
			return failed(job_wrong(builder->of[i]->where),
				      "%s: [adapter %s] has no cable; accepted: one [link NAME] "
				      "with between= it and another",
				      builder->of[i]->where, fabric->nodes[i].name);
	}
	return 0;
}

static void put_edge(struct fabric *fabric, __u32 *used, __u32 node, struct fabric_edge edge)
{
	fabric->edges[fabric->first[node] + used[node]++] = edge;
}

/* Neighbours in one array, those of a node one after the other. */
static void join_edges(struct fabric *fabric)
{
	__u32 used[FABRIC_NODES_MAX] = {0};

	for (__u32 i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].upstream != FABRIC_NONE) {
			used[i]++;
			used[fabric->nodes[i].upstream]++;
		}
	for (__u32 l = 0; l < fabric->link_count; l++)
		for (int end = 0; end < 2; end++)
			used[fabric->links[l].ends[end]]++;
	for (__u32 i = 0; i < fabric->node_count; i++) {
		fabric->first[i + 1] = fabric->first[i] + used[i];
		used[i] = 0;
	}
	for (__u32 i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].upstream != FABRIC_NONE)
			put_edge(fabric, used, i,
				 (struct fabric_edge){fabric->nodes[i].upstream, FABRIC_NONE});
	for (__u32 i = 0; i < fabric->node_count; i++)
		if (fabric->nodes[i].upstream != FABRIC_NONE)
			put_edge(fabric, used, fabric->nodes[i].upstream,
				 (struct fabric_edge){i, FABRIC_NONE});
	for (__u32 l = 0; l < fabric->link_count; l++)
		for (int end = 0; end < 2; end++)
			put_edge(fabric, used, fabric->links[l].ends[end],
				 (struct fabric_edge){fabric->links[l].ends[!end], l});
}

static int fabric_build_nodes(struct fabric_builder *builder)
{
	const struct job_text *text = builder->text;
	struct fabric *fabric = builder->fabric;
	enum fabric_kind kind;
	int err = 0;

	for (size_t i = 0; !err && i < text->section_count; i++)
		if (node_kind(&text->sections[i], &kind))
			err = add_node(builder, &text->sections[i], kind);
	for (__u32 i = 0; !err && i < fabric->node_count; i++)
		err = find_upstream(builder, i);
	for (__u32 i = 0; !err && i < fabric->node_count; i++)
		err = find_host(builder, i);
	if (!err && !fabric->host_count)
		err = failed(-EBADMSG, "%s: no [host NAME]; accepted: one and more", text->path);
	return err;
}

int fabric_build(struct fabric **fabric, const struct job_text *text)
{
	struct fabric_room *room = calloc(1, sizeof(*room));
	struct fabric_builder builder = {.text = text};
	int err;

	if (!room)
		return failed(-ENOMEM, "no memory for a fabric");
	room->fabric = (struct fabric){.nodes = room->nodes,
				       .links = room->links,
				       .hosts = room->hosts,
				       .first = room->first,
				       .edges = room->edges};
	builder.fabric = &room->fabric;
	err = fabric_build_nodes(&builder);
	for (size_t i = 0; !err && i < text->section_count; i++)
		if (!strcmp(text->sections[i].type, "link"))
			err = add_link(&builder, &text->sections[i]);
	if (!err)
		err = check_cables(&builder);
	if (err) {
		free(room);
		return err;
	}
	join_edges(&room->fabric);
	*fabric = &room->fabric;
	return 0;
}

void fabric_free(struct fabric *fabric)
{
	free(fabric);
}
