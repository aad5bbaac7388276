// SPDX-License-Identifier: GPL-2.0
/*
 * Random windows, mappings, cables and transactions, held against a slow model: lists of what was asked for, gone through byte by byte,
 * and flat copies of all memory.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/cluster/access.h"
#include "injectors/cluster/function.h"
#include "injectors/cluster/iommu.h"
#include "injectors/cluster/memory.h"
#include "injectors/cluster/ntb.h"
#include "lib/base/fail.h"
#include "lib/base/random.h"
#include "tests/unit/cluster_fixture.h"

#define HOSTS	   3
#define RAM	   (32u << 12)
#define WINDOW	   8192u /* of an adapter: smaller than RAM, so that mappings take several */
#define LIST	   64
#define ROUNDS	   3001
#define BYTES_MOST 9000

static struct cluster_fixture fixture;
static struct cluster *cluster;
static struct random draw;

/* What was asked for, and was granted. */
static struct {
	struct ntb_window windows[LIST];
	__u32 window_count;
	struct model_mapping {
		__u32 host, domain;
		__u64 address, physical;
		int access;
	} pages[LIST];
	__u32 page_count;
	/* By host and requester: domain; by adapter and device: entries. */
	__u32 functions[3], own_domain[HOSTS][2]; /* two domains of each host */
	__u32 attached[HOSTS][3]; /* of functions, local or behind an adapter: domain */
	__u32 granted[6][3];	  /* adapter x function: adds */
	bool down[3];
	__u32 statuses[4], crossed;
	__u32 nodes[6], links[6]; /* by adapter: its node, its cable */
	__u8 ram[HOSTS][RAM];
	__u8 registers[3][FUNCTION_REGISTERS];
} model;

/* In the order of adapters: whose they are, where they lead, by which cable. */
static const struct {
	const char *name;
	__u32 host, far;
	const char *cable;
} adapters[6] = {
	{"ab", 0, 1, "cable_ab"}, {"ac", 0, 2, "cable_ac"}, {"ba", 1, 0, "cable_ab"},
	{"bc", 1, 2, "cable_bc"}, {"ca", 2, 0, "cable_ac"}, {"cb", 2, 1, "cable_bc"},
};
static const char *const cables[3] = {"cable_ab", "cable_ac", "cable_bc"};
static const char *const devices[3] = {"disk", "gpu", "gpuc"};

static const char *const topology =
	"[host a]\niommu = yes\n[host b]\niommu = yes\n[host c]\niommu = no\n"
	"[adapter ab]\nunder = a\nbar = 1M\nwindows = 128\n"
	"[adapter ac]\nunder = a\nbar = 1M\nwindows = 128\n"
	"[adapter ba]\nunder = b\nbar = 1M\nwindows = 128\n"
	"[adapter bc]\nunder = b\nbar = 1M\nwindows = 128\n"
	"[adapter ca]\nunder = c\nbar = 1M\nwindows = 128\n"
	"[adapter cb]\nunder = c\nbar = 1M\nwindows = 128\n"
	"[device disk]\nunder = b\n[device gpu]\nunder = b\n[device gpuc]\nunder = c\n"
	"[link cable_ab]\nbetween = ab ba\n[link cable_ac]\nbetween = ac ca\n"
	"[link cable_bc]\nbetween = bc cb\n";

static void small(struct cluster_config *config)
{
	for (__u32 h = 0; h < config->host_count; h++)
		config->hosts[h].memory = RAM;
}

static __u32 below(__u32 bound)
{
	return (__u32)random_below(&draw, bound);
}

static __u32 adapter_index(__u32 node)
{
	__u32 i = 0;

	while (model.nodes[i] != node)
		i++;
	return i;
}

/* Who sends: a CPU of a host, or a function. */
struct sender {
	struct initiator initiator;
	__u32 function; /* index into model.functions; 3: a CPU */
};

/* One step of a byte: through an IOMMU. False: refused. */
static bool model_translate(__u32 host, __u32 function, __u64 *address, bool write)
{
	__u32 domain = function < 3 ? model.attached[host][function] : 0;

	if (!cluster->config->hosts[host].iommu || !domain)
		return true;
	for (__u32 p = 0; p < model.page_count; p++) {
		const struct model_mapping *page = &model.pages[p];

		if (page->host != host || page->domain != domain ||
		    *address / 4096 != page->address / 4096)
			continue;
		*address = page->physical + *address % 4096;
		return page->access & (write ? HOST_IOMMU_WRITE : HOST_IOMMU_READ);
	}
	return false;
}

static __u8 *model_own(__u32 host, __u64 address)
{
	if (address < RAM)
		return &model.ram[host][address];
	for (int f = 0; f < 3; f++) {
		__u64 bar = function_bar_address(cluster, model.functions[f], 0);

		if (function_host(cluster, model.functions[f]) == host && address >= bar &&
		    address < bar + FUNCTION_REGISTERS)
			return &model.registers[f][address - bar];
	}
	return NULL;
}

/* The byte behind a sender's address; NULL: none, and `refused` says if that is an IOMMU's doing. */
static __u8 *model_byte(const struct sender *sender, __u64 address, bool write, bool *refused)
{
	__u32 host = sender->initiator.host;
	__u8 *byte;

	*refused = !model_translate(host, sender->function, &address, write);
	if (*refused)
		return NULL;
	byte = model_own(host, address);
	for (__u32 w = 0; !byte && w < model.window_count; w++) {
		const struct ntb_window *window = &model.windows[w];
		__u32 a = adapter_index(window->adapter);
		__u64 begin = window->address - window->far % WINDOW;

		if (adapters[a].host != host || address < begin ||
		    address >= begin + (__u64)window->slots * WINDOW)
			continue;
		if ((sender->function < 3 && !model.granted[a][sender->function]) ||
		    model.down[model.links[a]])
			return NULL;
		address = address - begin + window->far / WINDOW * WINDOW;
		*refused = !model_translate(adapters[a].far, sender->function, &address, write);
		return *refused ? NULL : model_own(adapters[a].far, address);
	}
	return byte;
}

static void change_windows(void)
{
	__u32 a = below(6), w = below(LIST);

	if (w < model.window_count) {
		ntb_unmap(cluster, &model.windows[w]);
		model.windows[w] = model.windows[--model.window_count];
	} else {
		bool bar = !below(3);
		__u32 f = adapters[a].far == 2 ? 2 : below(2);
		const struct ntb_window wanted = {
			.adapter = model.nodes[a],
			.far_host = adapters[a].far,
			.far = bar && adapters[a].far
				       ? function_bar_address(cluster, model.functions[f], 0) +
						 below(5000)
				       : below(RAM + 5000),
			.bytes = 1 + below(3 * WINDOW),
		};
		int err = ntb_map(cluster, &wanted, ~0ull, &model.windows[model.window_count]);

		if (model.down[model.links[a]])
			assert_int_equal(err, -ENETUNREACH);
		else
			assert_true(!err || err == -ENOSPC);
		model.window_count += !err;
	}
}

/* Somewhere that may be of use to map at host: RAM or the inside of an adapter's BAR. */
static __u64 somewhere(__u32 host)
{
	__u32 w = below(model.window_count + 1);

	if (w < model.window_count &&
	    adapters[adapter_index(model.windows[w].adapter)].host == host)
		return model.windows[w].address + below(WINDOW) - 50;
	return below(RAM + 100);
}

static void change_pages(void)
{
	__u32 p = below(LIST);

	if (p < model.page_count) {
		struct model_mapping *page = &model.pages[p];

		assert_int_equal(
			host_iommu_unmap(cluster, page->host, page->domain, page->address, 4096, 0),
			4096);
		*page = model.pages[--model.page_count];
	} else {
		struct model_mapping *page = &model.pages[model.page_count];
		bool there = false;
		int err;

		page->host = below(2);
		page->domain = model.own_domain[page->host][below(2)];
		page->address = (1ull << (13 + below(34))) + ((__u64)below(24) << 12);
		page->physical = somewhere(page->host) & ~4095ull;
		page->access = 1 + (int)below(3);
		for (__u32 i = 0; i < model.page_count; i++)
			there |= model.pages[i].host == page->host &&
				 model.pages[i].domain == page->domain &&
				 model.pages[i].address == page->address;
		err = host_iommu_map(cluster, page->host, page->domain, page->address,
				     page->physical, 4096, page->access, 0);
		assert_int_equal(err, there ? -EEXIST : 0);
		model.page_count += !err;
	}
}

/* A function's domain at its own host, or at another that it reaches by an adapter. */
static void change_attached(void)
{
	__u32 f = below(3), host = below(2), which = below(3);
	__u32 home = function_host(cluster, model.functions[f]), requester = model.functions[f];

	for (__u32 a = 0; a < 6 && home != host; a++)
		if (adapters[a].host == home && adapters[a].far == host)
			requester = ntb_requester_seen(cluster, model.nodes[a], host,
						       model.functions[f]);
	if (requester == CLUSTER_NONE)
		return;
	if (which == 2) {
		host_iommu_detach(cluster, host, requester);
		model.attached[host][f] = 0;
	} else {
		model.attached[host][f] = model.own_domain[host][which];
		assert_int_equal(
			host_iommu_attach(cluster, host, requester, model.own_domain[host][which]),
			0);
	}
}

/* An entry's slot may be another one when it is back, so what was attached to it is not. */
static void change_requesters(void)
{
	__u32 a = below(6), f = below(3), node = model.nodes[a];
	__u32 seen = ntb_requester_seen(cluster, node, adapters[a].far, model.functions[f]);

	if (function_host(cluster, model.functions[f]) != adapters[a].host)
		return;
	if (below(3)) {
		assert_int_equal(
			ntb_requester_add(cluster, node, adapters[a].far, model.functions[f], 0),
			0);
		model.granted[a][f]++;
	} else if (model.granted[a][f]) {
		ntb_requester_remove(cluster, node, adapters[a].far, model.functions[f]);
		if (--model.granted[a][f])
			return;
		host_iommu_detach(cluster, adapters[a].far, seen);
		model.attached[adapters[a].far][f] = 0;
	}
}

static void forget_adapter(__u32 a)
{
	__u32 node = model.nodes[a];

	for (__u32 w = 0; w < model.window_count;)
		if (model.windows[w].adapter == node)
			model.windows[w] = model.windows[--model.window_count];
		else
			w++;
	for (__u32 f = 0; f < 3; f++)
		model.granted[a][f] = 0;
}

static void change_cable(void)
{
	__u32 c = below(3), link = fixture_link(&fixture, cables[c]);
	bool wipe = !below(6);

	for (__u32 a = 0; wipe && a < 6; a++) {
		if (strcmp(adapters[a].cable, cables[c]) != 0)
			continue;
		for (__u32 f = 0; f < 3; f++) {
			__u32 seen = ntb_requester_seen(cluster, model.nodes[a], adapters[a].far,
							model.functions[f]);

			if (seen == CLUSTER_NONE)
				continue;
			host_iommu_detach(cluster, adapters[a].far, seen);
			model.attached[adapters[a].far][f] = 0;
		}
		forget_adapter(a);
	}
	model.down[link] = !model.down[link] && !below(2);
	ntb_link_set(cluster, link, !model.down[link], wipe);
}

static struct sender draw_sender(void)
{
	__u32 f = below(5);

	if (f < 3)
		return (struct sender){function_initiator(cluster, model.functions[f]), f};
	return (struct sender){cpu_of(cluster, below(HOSTS)), 3};
}

static __u64 draw_address(const struct sender *sender)
{
	switch (below(5)) {
	case 0:
		return 0 - (__u64)below(3000);
	case 1:
		return below(RAM + 3000);
	case 2:
		return function_bar_address(cluster, model.functions[below(3)], 0) +
		       below(FUNCTION_REGISTERS + 100) - 50;
	case 3:
		if (model.page_count)
			return model.pages[below(model.page_count)].address + below(4200) - 50;
		return 0;
	default:
		return somewhere(sender->initiator.host);
	}
}

static void transact(void)
{
	static __u8 data[BYTES_MOST], expected[BYTES_MOST];
	struct sender sender = draw_sender();
	__u64 address = draw_address(&sender), bytes = 1 + below(below(8) ? 100 : BYTES_MOST);
	enum access_status status = ACCESS_DONE;
	bool write = below(2);
	struct access_result result;

	for (__u64 i = 0; i < bytes; i++)
		data[i] = (__u8)random_next(&draw);
	for (__u64 i = 0; i < bytes; i++) {
		bool refused = false;
		__u8 *byte = address + i < address
				     ? NULL
				     : model_byte(&sender, address + i, write, &refused);
		enum access_status here = byte	    ? ACCESS_DONE
					  : refused ? ACCESS_REFUSED
					  : write   ? ACCESS_LOST
						    : ACCESS_ALL_ONES;

		status = here > status ? here : status;
		expected[i] = byte ? *byte : 0xff;
		if (byte && write)
			*byte = data[i];
	}
	if (write)
		access_write(cluster, &sender.initiator, PURPOSE_DATA, address, data, bytes,
			     &result);
	else
		access_read(cluster, &sender.initiator, PURPOSE_DATA, address, data, bytes,
			    &result);
	assert_int_equal(result.status, status);
	model.statuses[status]++;
	model.crossed += status == ACCESS_DONE && result.crossings;
	if (!write)
		assert_memory_equal(data, expected, bytes);
}

static void compare_memory(void)
{
	for (__u32 h = 0; h < HOSTS; h++)
		assert_memory_equal(host_memory(cluster, h, 0, RAM), model.ram[h], RAM);
	for (__u32 f = 0; f < 3; f++)
		assert_memory_equal(function_bar(cluster, model.functions[f], 0),
				    model.registers[f], FUNCTION_REGISTERS);
}

static void begin(__u64 seed)
{
	memset(&model, 0, sizeof(model));
	draw.state = seed;
	fixture_open(&fixture, topology, small);
	cluster = fixture.cluster;
	for (__u32 a = 0; a < 6; a++) {
		model.nodes[a] = fixture_node(&fixture, adapters[a].name);
		model.links[a] = fixture_link(&fixture, adapters[a].cable);
	}
	for (int f = 0; f < 3; f++)
		model.functions[f] = function_of(cluster, fixture_device(&fixture, devices[f]), 0);
	for (__u32 h = 0; h < HOSTS; h++)
		for (int d = 0; d < 2; d++)
			assert_int_equal(
				host_iommu_domain_create(cluster, h, &model.own_domain[h][d]), 0);
}

/* Each status has to come up, or the model says nothing of it. */
static void as_the_model(void **state)
{
	(void)state;
	for (__u64 seed = 1; seed <= 2; seed++) {
		begin(seed);
		for (int round = 0; round < ROUNDS; round++) {
			static void (*const changes[])(void) = {
				change_windows,	 change_windows,    change_pages, change_pages,
				change_attached, change_requesters, change_cable,
			};

			changes[below(COUNT(changes))]();
			for (int t = 0; t < 2; t++)
				transact();
			if (round % 97 == 0)
				compare_memory();
		}
		compare_memory();
		for (int status = 0; status < 4; status++)
			assert_in_range(model.statuses[status], 200, 2 * ROUNDS);
		assert_in_range(model.crossed, 50, 2 * ROUNDS);
		fixture_close(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_model)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
