/* SPDX-License-Identifier: GPL-2.0 */
/* Clusters for tests, from a job's text: hosts, adapters, links and devices of the fabric, with memory and models by rule. */
#ifndef FAULTLINE_TEST_CLUSTER_FIXTURE_H
#define FAULTLINE_TEST_CLUSTER_FIXTURE_H

#include "injectors/cluster/cluster.h"

#define FIXTURE_MEMORY (16ull << 20) /* of each host, unless changed */

struct cluster_fixture {
	struct cluster *cluster;
	struct cluster_config config;
	struct fabric_costs costs;
};

/*
 * Each [device] is a device of its host: an accelerator with 2 MiB of memory if its name begins with "gpu", else NVMe with 8 MiB and 7
 * queue pairs. `change`, if any, is called before anything shared is made. Fails the test on errors.
 */
void fixture_open(struct cluster_fixture *fixture, const char *text,
		  void (*change)(struct cluster_config *config));
void fixture_close(struct cluster_fixture *fixture);
/* By name; the test fails if there is none. */
__u32 fixture_node(const struct cluster_fixture *fixture, const char *name);
__u32 fixture_device(const struct cluster_fixture *fixture, const char *name);
__u32 fixture_host(const struct cluster_fixture *fixture, const char *name);
__u32 fixture_link(const struct cluster_fixture *fixture, const char *name);

/* Hosts a and b, each an adapter (na, nb) and a switch (sa, sb) that it is under; disk and gpu under b's switch, gpua under a's;
 * link cable. `iommu`: of both. */
const char *fixture_two(bool iommu);
/* Hosts a, b, c, each pair joined by a cable of its own: adapters ab, ba, ac, ca, bc, cb, links cable_ab, cable_ac, cable_bc; disk and
 * gpu with b, gpuc with c. */
const char *fixture_three(bool iommu);
/* `hosts` hosts h0 ..., an adapter each (n0 ...), all at one switch between them by links l0 ...; disk with h0. */
const char *fixture_star(unsigned int hosts);

#endif
