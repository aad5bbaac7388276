// SPDX-License-Identifier: GPL-2.0
/*
 * A process that opens and closes one container of VFIO after the other, or address space of iommufd:
 *
 *	containers GROUP COUNT		/dev/vfio/GROUP; "iommufd" for address spaces; "elsewhere" for such
 *					that another process destroys
 *
 * In each it maps a page at an address of its own. Then it stops, until it is told to go on (SIGCONT).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injectors/real/iommufd_abi.h"

#define PAGE	      4096ul
#define IOMMU_DESTROY _IO(';', 0x80)

struct iommu_destroy {
	__u32 size, id;
};

static void *page;

static void must(int result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "containers: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_node(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	must(fd, path);
	return fd;
}

static void use_container(int group, unsigned long turn)
{
	struct vfio_iommu_type1_dma_map map = {
		.argsz = sizeof(map),
		.flags = VFIO_DMA_MAP_FLAG_READ,
		.vaddr = (__u64)page,
		.iova = turn * PAGE,
		.size = PAGE,
	};
	int container = open_node("/dev/vfio/vfio");

	must(ioctl(group, VFIO_GROUP_SET_CONTAINER, &container), "VFIO_GROUP_SET_CONTAINER");
	must(ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU), "VFIO_SET_IOMMU");
	must(ioctl(container, VFIO_IOMMU_MAP_DMA, &map), "VFIO_IOMMU_MAP_DMA");
	must(ioctl(group, VFIO_GROUP_UNSET_CONTAINER), "VFIO_GROUP_UNSET_CONTAINER");
	close(container);
}

static void destroy(int iommufd, __u32 space)
{
	struct iommu_destroy gone = {.size = sizeof(gone), .id = space};

	must(ioctl(iommufd, IOMMU_DESTROY, &gone), "IOMMU_DESTROY");
}

/* The other process: it is handed numbers of spaces, and hands them back. */
static void destroy_all(int iommufd, int peer)
{
	__u32 space;

	while (read(peer, &space, sizeof(space)) == sizeof(space)) {
		destroy(iommufd, space);
		must(write(peer, &space, sizeof(space)) == sizeof(space) ? 0 : -1, "an answer");
	}
	_exit(0);
}

static int start_destroyer(int iommufd)
{
	int ends[2];
	pid_t pid;

	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), "socketpair");
	pid = fork();
	must(pid, "fork");
	if (!pid) {
		close(ends[0]);
		destroy_all(iommufd, ends[1]);
	}
	close(ends[1]);
	return ends[0];
}

static void have_destroyed(int destroyer, __u32 space)
{
	must(write(destroyer, &space, sizeof(space)) == sizeof(space) ? 0 : -1, "a space");
	must(read(destroyer, &space, sizeof(space)) == sizeof(space) ? 0 : -1, "its end");
}

/* `destroyer`: the other process, or -1. */
static void use_space(int iommufd, int destroyer, unsigned long turn)
{
	struct iommufd_ioas_alloc space = {.size = sizeof(space)};
	struct iommufd_ioas_map map = {
		.size = sizeof(map),
		.flags = IOMMUFD_MAP_FIXED_IOVA | IOMMUFD_MAP_READABLE,
		.user_va = (__u64)page,
		.length = PAGE,
		.iova = turn * PAGE,
	};

	must(ioctl(iommufd, IOMMUFD_IOAS_ALLOC, &space), "IOMMU_IOAS_ALLOC");
	map.ioas_id = space.out_ioas_id;
	must(ioctl(iommufd, IOMMUFD_IOAS_MAP, &map), "IOMMU_IOAS_MAP");
	if (destroyer < 0)
		destroy(iommufd, space.out_ioas_id);
	else
		have_destroyed(destroyer, space.out_ioas_id);
}

int main(int argc, char **argv)
{
	unsigned long count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	bool elsewhere = argc == 3 && !strcmp(argv[1], "elsewhere");
	bool spaces = elsewhere || (argc == 3 && !strcmp(argv[1], "iommufd"));
	int node, destroyer = -1;
	char path[64];

	if (!count)
		return 2;
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		    -1, 0);
	if (page == MAP_FAILED)
		must(-1, "a page");
	snprintf(path, sizeof(path), "/dev/vfio/%s", argv[1]);
	node = open_node(spaces ? "/dev/iommu" : path);
	if (elsewhere)
		destroyer = start_destroyer(node);
	for (unsigned long turn = 1; turn <= count; turn++)
		if (spaces)
			use_space(node, destroyer, turn);
		else
			use_container(node, turn);
	raise(SIGSTOP);
	return 0;
}
