// SPDX-License-Identifier: GPL-2.0
#include "injectors/cluster/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/fail.h"

struct shared_block {
	struct shared_block *next;
	void *memory;
	size_t bytes;
	int file; /* -1: none */
};

/* What other files see of it comes first. */
struct cluster_owner {
	struct cluster cluster;
	struct shared_block *blocks;
};

static void *shared_map(struct cluster *cluster, size_t bytes, int file)
{
	struct cluster_owner *owner = (struct cluster_owner *)cluster;
	struct shared_block *block = malloc(sizeof(*block));
	int flags = MAP_SHARED | MAP_NORESERVE | (file < 0 ? MAP_ANONYMOUS : 0);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);

	if (!block || memory == MAP_FAILED) {
		failed(-ENOMEM, "no memory for %zu bytes that processes share", bytes);
		if (memory != MAP_FAILED)
			munmap(memory, bytes);
		free(block);
		return NULL;
	}
	*block = (struct shared_block){owner->blocks, memory, bytes, file};
	owner->blocks = block;
	return memory;
}

void *shared_alloc(struct cluster *cluster, size_t bytes)
{
	return shared_map(cluster, bytes, -1);
}

void *shared_file(struct cluster *cluster, const char *name, size_t bytes, int *file)
{
	void *memory = NULL;

	*file = memfd_create(name, MFD_CLOEXEC);
	if (*file >= 0 && !ftruncate(*file, (off_t)bytes))
		memory = shared_map(cluster, bytes, *file);
	else
		failed(-ENOMEM, "no memory file of %zu bytes for %s: %m", bytes, name);
	if (!memory && *file >= 0)
		close(*file);
	return memory;
}

int cluster_create(struct cluster **cluster, const struct cluster_config *config,
		   const struct fabric_costs *costs)
{
	/* In this order: each may use those before it. */
	static int (*const creators[])(struct cluster * cluster) = {
		agents_create,	  sights_create, injections_create, memories_create,
		iommus_create,	  ntbs_create,	 functions_create,  access_counts_create,
		mailboxes_create, lends_create,	 nvmes_create,	    shares_create,
		guests_create,
	};
	struct cluster_owner *owner = calloc(1, sizeof(*owner));
	int err = 0;

	if (!owner)
		return failed(-ENOMEM, "no memory for a cluster");
	owner->cluster.config = config;
	owner->cluster.costs = costs;
	owner->cluster.self = CLUSTER_NONE;
	owner->cluster.host = CLUSTER_NONE;
	for (size_t i = 0; !err && i < sizeof(creators) / sizeof(*creators); i++)
		err = creators[i](&owner->cluster);
	if (err)
		cluster_destroy(&owner->cluster);
	else
		*cluster = &owner->cluster;
	return err;
}

void cluster_destroy(struct cluster *cluster)
{
	struct cluster_owner *owner = (struct cluster_owner *)cluster;

	while (owner && owner->blocks) {
		struct shared_block *block = owner->blocks;

		owner->blocks = block->next;
		munmap(block->memory, block->bytes);
		if (block->file >= 0)
			close(block->file);
		free(block);
	}
	free(owner);
}
