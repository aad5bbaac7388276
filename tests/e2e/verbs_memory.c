// SPDX-License-Identifier: GPL-2.0
/* A program of libibverbs' that forks with its stack registered, frees what is registered, and registers static memory. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

static struct ibv_pd *domain;
static unsigned char initialized[9000] = {1, 2, 3};

static struct ibv_mr *registered(void *memory, size_t bytes)
{
	struct ibv_mr *region = ibv_reg_mr(domain, memory, bytes, RIGHTS);

	if (!region) {
		printf("%zu bytes cannot be registered: %s\n", bytes, strerror(errno));
		exit(1);
	}
	return region;
}

/* The child's stack and heap are its own, and so are its parent's. */
static int forks(void)
{
	unsigned char stack[9000], *heap = malloc(3000);
	struct ibv_mr *of_stack, *of_heap;
	int status = -1;
	pid_t child;

	memset(stack, 4, sizeof(stack));
	memset(heap, 5, 3000);
	of_stack = registered(stack, sizeof(stack));
	of_heap = registered(heap, 3000);
	child = fork();
	if (!child) {
		memset(stack, 7, sizeof(stack));
		for (int i = 0; i < 50; i++)
			memset(malloc(500), 0xff, 500);
		_exit(heap[2999] + ibv_dereg_mr(of_stack));
	}
	if (waitpid(child, &status, 0) != child || status != 5 << 8)
		return 0;
	for (int i = 0; i < 50; i++)
		memset(malloc(300), 0, 300);
	return !ibv_dereg_mr(of_stack) && !ibv_dereg_mr(of_heap) && stack[8999] == 4 &&
	       heap[2999] == 5;
}

static int frees(void)
{
	struct ibv_mr *region;
	unsigned char *heap = malloc(1 << 20);

	region = registered(heap, 1 << 20);
	heap = realloc(heap, 3 << 20);
	memset(heap, 8, 3 << 20);
	if (ibv_dereg_mr(region) || heap[5] != 8 || heap[(1 << 20) - 1] != 8)
		return 0;
	region = registered(heap, 3 << 20);
	free(heap);
	return !ibv_dereg_mr(region) && ibv_dereg_mr(region) == EINVAL;
}

static int is_static(void)
{
	return !ibv_dereg_mr(registered(initialized, sizeof(initialized))) && initialized[2] == 3;
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	domain = ibv_alloc_pd(ibv_open_device(list[0]));
	printf("forks %d frees %d static %d\n", forks(), frees(), is_static());
	return 0;
}
