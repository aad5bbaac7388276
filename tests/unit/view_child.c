// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/view_child.h"

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/page.h"
#include "tests/unit/child.h"

#define NEEDED                                                         \
	(UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_PAGEFAULT_FLAG_WP | \
	 UFFD_FEATURE_WP_HUGETLBFS_SHMEM)
#define FRAME_BITS ((1ull << 55) - 1)

static unsigned char *map_and_register(int memory, __u64 bytes, int faults, __u64 features,
				       __u64 mode)
{
	struct uffdio_api api = {.api = UFFD_API, .features = features};
	struct uffdio_register range = {.mode = mode};
	void *view =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);

	if (view == MAP_FAILED || madvise(view, bytes, MADV_DONTFORK) ||
	    ioctl(faults, UFFDIO_API, &api))
		return NULL;
	range.range = (struct uffdio_range){(__u64)view, bytes};
	return mode && ioctl(faults, UFFDIO_REGISTER, &range) ? NULL : view;
}

unsigned char *view_open(int memory, __u64 bytes, int *faults, __u64 features, __u64 mode)
{
	unsigned char *view;

	*faults = (int)syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	assert_true(*faults >= 0);
	view = map_and_register(memory, bytes, *faults, features ? features : NEEDED, mode);
	assert_non_null(view);
	return view;
}

static int send_view(int socket, int faults, const void *view)
{
	char control[CMSG_SPACE(sizeof(int))] = {0};
	__u64 base = (__u64)view;
	struct iovec data = {&base, sizeof(base)};
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &faults, sizeof(int));
	return sendmsg(socket, &message, 0) == sizeof(base) ? 0 : -errno;
}

static void receive_view(int socket, struct view_child *child)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec data = {&child->base, sizeof(child->base)};
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};

	assert_int_equal(recvmsg(socket, &message, MSG_CMSG_CLOEXEC), sizeof(child->base));
	assert_non_null(CMSG_FIRSTHDR(&message));
	memcpy(&child->faults, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
}

static int faults_of(const struct view_child_config *config, int device)
{
	if (!config->nobody)
		return (int)syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (setgroups(0, NULL) || setuid(65534))
		return -1;
	return ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
}

static int child_run(const struct view_child_config *config, int socket, int device)
{
	int faults = faults_of(config, device);
	unsigned char *view;
	char byte;

	if (faults < 0)
		return 101;
	view = map_and_register(config->memory, config->bytes, faults, NEEDED,
				UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP);
	if (!view)
		return 102;
	if (send_view(socket, faults, view))
		return 103;
	close(faults);
	if (read(socket, &byte, 1) != 1)
		return 104;
	config->run(view, config->argument);
	return 0;
}

void view_child_start(struct view_child *child, const struct view_child_config *config)
{
	int device = config->nobody ? open("/dev/userfaultfd", O_RDWR | O_CLOEXEC) : -1, sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	child->pid = child_fork();
	if (!child->pid) {
		close(sockets[0]);
		_exit(child_run(config, sockets[1], device));
	}
	close(sockets[1]);
	if (device >= 0)
		close(device);
	receive_view(sockets[0], child);
	child->go = sockets[0];
}

void view_child_run(const struct view_child *child)
{
	assert_int_equal(write(child->go, "", 1), 1);
}

int view_child_end(struct view_child *child, bool killed)
{
	int status = -1;

	if (killed)
		kill(child->pid, SIGKILL);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	close(child->go);
	return status;
}

__u64 frame_of(pid_t pid, const void *address)
{
	char path[48] = "/proc/self/pagemap";
	__u64 entry = 0;
	int pagemap;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(pagemap >= 0);
	assert_int_equal(
		pread(pagemap, &entry, sizeof(entry), (off_t)((uintptr_t)address >> PAGE_BITS) * 8),
		sizeof(entry));
	close(pagemap);
	return entry >> 63 ? entry & FRAME_BITS : 0;
}
