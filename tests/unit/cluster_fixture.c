// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include "tests/unit/cluster_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/job/text.h"
#include "tests/unit/job_files.h"

static void fixture_hosts(struct cluster_config *config)
{
	const struct fabric *fabric = config->fabric;

	config->host_count = fabric->host_count;
	config->hosts = calloc(fabric->host_count + 1, sizeof(*config->hosts));
	assert_non_null(config->hosts);
	for (__u32 h = 0; h < fabric->host_count; h++) {
		struct host_config *host = &config->hosts[h];

		memcpy(host->name, fabric->hosts[h].name, sizeof(host->name));
		host->memory = FIXTURE_MEMORY;
		host->iommu = fabric->hosts[h].iommu;
		host->root = fabric->hosts[h].root;
	}
}

static void fixture_devices(struct cluster_config *config)
{
	const struct fabric *fabric = config->fabric;

	config->devices = calloc(fabric->node_count + 1, sizeof(*config->devices));
	assert_non_null(config->devices);
	for (__u32 n = 0; n < fabric->node_count; n++) {
		struct cluster_device_config *device = &config->devices[config->device_count];

		if (fabric->nodes[n].kind != FABRIC_DEVICE)
			continue;
		memcpy(device->name, fabric->nodes[n].name, sizeof(device->name));
		device->model = strncmp(device->name, "gpu", 3) ? MODEL_NVME : MODEL_ACCEL;
		device->host = fabric->nodes[n].host;
		device->node = n;
		device->bytes = device->model == MODEL_NVME ? 8 << 20 : 2 << 20;
		device->queue_pairs = 7;
		device->functions = 1;
		device->address_bits = 64;
		config->device_count++;
	}
}

void fixture_open(struct cluster_fixture *fixture, const char *text,
		  void (*change)(struct cluster_config *config))
{
	struct job_text *job;

	memset(fixture, 0, sizeof(*fixture));
	assert_int_equal(read_job(&job, text), 0);
	if (fabric_build(&fixture->config.fabric, job) || fabric_costs_read(&fixture->costs, job))
		fail_msg("%s", failure_text());
	job_text_free(job);
	snprintf(fixture->config.name, sizeof(fixture->config.name), "fixture");
	fixture->config.dead_ns = SECOND;
	fixture->config.timeout_ns = 60 * SECOND;
	fixture->config.seed = 7;
	fixture_hosts(&fixture->config);
	fixture_devices(&fixture->config);
	if (change)
		change(&fixture->config);
	if (cluster_create(&fixture->cluster, &fixture->config, &fixture->costs))
		fail_msg("%s", failure_text());
	fixture->cluster->self = 0;
	fixture->cluster->host = 0;
}

void fixture_close(struct cluster_fixture *fixture)
{
	cluster_destroy(fixture->cluster);
	fabric_free(fixture->config.fabric);
	free(fixture->config.hosts);
	free(fixture->config.devices);
	memset(fixture, 0, sizeof(*fixture));
}

__u32 fixture_node(const struct cluster_fixture *fixture, const char *name)
{
	__u32 node = fabric_find(fixture->config.fabric, name);

	if (node == FABRIC_NONE)
		fail_msg("no node %s", name);
	return node;
}

__u32 fixture_device(const struct cluster_fixture *fixture, const char *name)
{
	__u32 d = 0;

	while (d < fixture->config.device_count && strcmp(fixture->config.devices[d].name, name))
		d++;
	if (d == fixture->config.device_count)
		fail_msg("no device %s", name);
	return d;
}

__u32 fixture_host(const struct cluster_fixture *fixture, const char *name)
{
	return fixture->config.fabric->nodes[fixture_node(fixture, name)].host;
}

__u32 fixture_link(const struct cluster_fixture *fixture, const char *name)
{
	const struct fabric *fabric = fixture->config.fabric;
	__u32 l = 0;

	while (l < fabric->link_count && strcmp(fabric->links[l].name, name))
		l++;
	if (l == fabric->link_count)
		fail_msg("no link %s", name);
	return l;
}

#define ADAPTER_KEYS "bar = 16M\nwindows = 32\n"

const char *fixture_two(bool iommu)
{
	static char text[2048];
	const char *state = iommu ? "yes" : "no";

	snprintf(text, sizeof(text),
		 "[host a]\niommu = %s\n[host b]\niommu = %s\n[switch sa]\nunder = a\n"
		 "[switch sb]\nunder = b\n[adapter na]\nunder = sa\n" ADAPTER_KEYS
		 "[adapter nb]\nunder = sb\n" ADAPTER_KEYS
		 "[device disk]\nunder = sb\n[device gpu]\nunder = sb\n[device gpua]\nunder = sa\n"
		 "[link cable]\nbetween = na nb\n",
		 state, state);
	return text;
}

const char *fixture_three(bool iommu)
{
	static char text[4096];
	const char *state = iommu ? "yes" : "no";

	snprintf(text, sizeof(text),
		 "[host a]\niommu = %s\n[host b]\niommu = %s\n[host c]\niommu = %s\n"
		 "[switch sa]\nunder = a\n[switch sb]\nunder = b\n[switch sc]\nunder = c\n"
		 "[adapter ab]\nunder = sa\n" ADAPTER_KEYS "[adapter ac]\nunder = sa\n" ADAPTER_KEYS
		 "[adapter ba]\nunder = sb\n" ADAPTER_KEYS "[adapter bc]\nunder = sb\n" ADAPTER_KEYS
		 "[adapter ca]\nunder = sc\n" ADAPTER_KEYS "[adapter cb]\nunder = sc\n" ADAPTER_KEYS
		 "[device disk]\nunder = sb\n[device gpu]\nunder = sb\n[device gpuc]\nunder = sc\n"
		 "[link cable_ab]\nbetween = ab ba\n[link cable_ac]\nbetween = ac ca\n"
		 "[link cable_bc]\nbetween = bc cb\n",
		 state, state, state);
	return text;
}

const char *fixture_star(unsigned int hosts)
{
	static char text[16384];
	int at = snprintf(text, sizeof(text), "[switch middle]\n");

	for (unsigned int h = 0; h < hosts; h++)
		at += snprintf(text + at, sizeof(text) - (size_t)at,
			       "[host h%u]\n[adapter n%u]\nunder = h%u\n" ADAPTER_KEYS
			       "[link l%u]\nbetween = n%u middle\n",
			       h, h, h, h, h);
	snprintf(text + at, sizeof(text) - (size_t)at, "[device disk]\nunder = h0\n");
	return text;
}
