// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injectors/vm/library/library.h"

#define FEATURES                                                       \
	(UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_PAGEFAULT_FLAG_WP | \
	 UFFD_FEATURE_WP_HUGETLBFS_SHMEM)

/* Faults within system calls have to be told, too, which takes a right, or the device file. */
static int faults_new(void)
{
	int device, faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (faults >= 0 || errno != EPERM)
		return faults;
	device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
	if (device >= 0) {
		faults = ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
		close(device);
	}
	if (faults < 0)
		errno = EPERM;
	return faults;
}

int vm_faults_register(void *base, size_t bytes, int *faults)
{
	struct uffdio_api api = {.api = UFFD_API, .features = FEATURES};
	struct uffdio_register range = {
		.range = {(__u64)base, bytes},
		.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP,
	};
	int error, created = faults_new();

	if (created < 0 && errno == EPERM)
		return vm_say(-EPERM, "QEMU may not use userfaultfd: run it as root, give its user "
				      "/dev/userfaultfd, or set vm.unprivileged_userfaultfd=1");
	if (created < 0)
		return vm_say(-errno, "userfaultfd of QEMU's: %s", strerror(errno));
	if (ioctl(created, UFFDIO_API, &api))
		error = vm_say(-ENOTSUP,
			       "this kernel cannot write-protect shared memory by userfaultfd "
			       "(features 0x%llx): 5.19 and later can",
			       (unsigned long long)FEATURES);
	else if (ioctl(created, UFFDIO_REGISTER, &range))
		error = vm_say(-errno, "%zu bytes of guest memory: userfaultfd: %s", bytes,
			       strerror(errno));
	else
		error = 0;
	if (error)
		close(created);
	else
		*faults = created;
	return error;
}
