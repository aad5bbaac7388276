// SPDX-License-Identifier: GPL-2.0
/*
 * The pager backend: guest RAM is a memfd. Guest CPUs see it through a mapping whose absent pages a
 * pager thread brings back from the backing file. Devices see it through a second mapping in which
 * every page has to be shown explicitly (UFFDIO_CONTINUE) and all else is a SIGBUS: a DMA to a page
 * that is gone, minor or major, cannot succeed, and device threads cause no CPU faults.
 */
#include "injectors/emu/memory_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injectors/emu/dma_guard.h"
#include "injectors/emu/presence.h"
#include "injectors/emu/probes.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/limits.h"

#define PAGER_STACK	(256u << 10)
#define PAGER_MESSAGES	16
#define POPULATE_CHUNK	HUGE_BYTES
#define MEMORY_FEATURES (UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM)

static int pager_state(struct guest_memory *memory, __u64 page_address)
{
	int is = page_mapped(memory->cpu + page_address);

	if (is)
		return is < 0 ? is : PAGE_PRESENT;
	is = page_cached(memory->cpu + page_address);
	if (is)
		return is < 0 ? is : PAGE_GONE_MINOR;
	return pager_is_out(memory, page_address) ? PAGE_GONE_MAJOR : PAGE_NEVER;
}

/*
 * Faults that cannot be served. The content is lost to the guest as with a failed swap device: whoever
 * touches the page gets a SIGBUS where the kernel can do that (6.6 and later); where not, the
 * machine ends, for a guest that runs on with zeros or hangs is worse.
 */
static void page_in_failed(struct guest_memory *memory, __u64 page_address, int error)
{
	if (!memory_poison(memory->cpu_faults, (__u64)memory->cpu + page_address)) {
		pager_wake(memory, page_address);
		return;
	}
	fprintf(stderr, "faultline: page 0x%llx of tenant %u cannot be brought back: %s\n",
		page_address, memory->tenant, strerror(error));
	abort();
}

static bool page_is_missing(const struct uffd_msg *message)
{
	return message->event == UFFD_EVENT_PAGEFAULT &&
	       !(message->arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP);
}

static __u64 missing_page(const struct guest_memory *memory, const struct uffd_msg *message)
{
	return (message->arg.pagefault.address & ~(PAGE_BYTES - 1)) - (__u64)memory->cpu;
}

/* Whether it is one that is watched. */
static bool access_begins(struct guest_memory *memory, const struct uffd_msg *message,
			  struct memory_access *access)
{
	if (!memory->watch.begins || !page_is_missing(message))
		return false;
	*access = (struct memory_access){
		.guest_address = missing_page(memory, message),
		.begin_ns = monotonic_ns(),
		.tid = message->arg.pagefault.feat.ptid,
		.write = message->arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WRITE,
	};
	return memory->watch.begins(memory->watch.argument, access);
}

/* `access`: NULL: not watched. */
static void pager_serve(struct guest_memory *memory, void *page, const struct uffd_msg *message,
			const struct memory_access *access)
{
	__u64 page_address = missing_page(memory, message);
	int result;

	if (message->event != UFFD_EVENT_PAGEFAULT)
		return;
	if (!page_is_missing(message)) {
		pager_wait_eviction(memory);
		pager_wake(memory, page_address);
		return;
	}
	if (access)
		inject_sleep(memory->injections, access->delay_ns);
	result = pager_bring(memory, page, page_address, access ? access->index : DEVICE_ALL);
	if (access)
		memory->watch.ends(memory->watch.argument, access, result == PAGER_FROM_FILE);
	if (result < 0)
		page_in_failed(memory, page_address, -result);
	else
		pager_wake(memory, page_address);
}

/* All that wait begin before the first is served. */
static void pager_serve_all(struct guest_memory *memory, void *page,
			    const struct uffd_msg *messages, size_t count)
{
	struct memory_access accesses[PAGER_MESSAGES];
	bool watched[PAGER_MESSAGES];

	for (size_t i = 0; i < count; i++)
		watched[i] = access_begins(memory, &messages[i], &accesses[i]);
	for (size_t i = 0; i < count; i++)
		pager_serve(memory, page, &messages[i], watched[i] ? &accesses[i] : NULL);
}

static void *pager_run(void *argument)
{
	struct guest_memory *memory = argument;
	struct pollfd polled[2] = {{.fd = memory->cpu_faults, .events = POLLIN},
				   {.fd = memory->stop, .events = POLLIN}};
	_Alignas(PAGE_BYTES) unsigned char page[PAGE_BYTES];
	struct uffd_msg messages[PAGER_MESSAGES];
	ssize_t got;

	prctl(PR_SET_TIMERSLACK, 1);
	while (!polled[1].revents) {
		if (poll(polled, 2, -1) < 0)
			continue;
		got = read(memory->cpu_faults, messages, sizeof(messages));
		if (got > 0)
			pager_serve_all(memory, page, messages, (size_t)got / sizeof(messages[0]));
	}
	return NULL;
}

static int faults_open(int *faults, __u64 features)
{
	struct uffdio_api api = {.api = UFFD_API, .features = features};

	*faults = (int)syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (*faults < 0 && errno == EPERM)
		return failed(-EPERM, "userfaultfd is refused: run as root, or set "
				      "vm.unprivileged_userfaultfd=1");
	if (*faults < 0)
		return failed(-errno, "userfaultfd failed: %s", strerror(errno));
	if (ioctl(*faults, UFFDIO_API, &api))
		return failed(-ENOTSUP,
			      "this kernel's userfaultfd lacks features 0x%llx; 6.1 and "
			      "later have them",
			      features);
	return 0;
}

static int backing_open(struct guest_memory *memory, const char *directory)
{
	if (!directory)
		directory = getenv("TMPDIR");
	if (!directory || !*directory)
		directory = "/var/tmp";
	memory->backing = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (memory->backing < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/faultline-XXXXXX", directory);
		memory->backing = mkostemp(path, O_CLOEXEC);
		if (memory->backing >= 0)
			unlink(path);
	}
	if (memory->backing < 0 || ftruncate(memory->backing, (off_t)memory->bytes))
		return failed(-errno, "cannot create a backing file of %llu bytes in %s: %s",
			      memory->bytes, directory, strerror(errno));
	/* Single pages come back; to read ahead of them would only fill the page cache. */
	posix_fadvise(memory->backing, 0, 0, POSIX_FADV_RANDOM);
	return 0;
}

/* Guests in processes of their own have it, too: none of them may make it shorter under our feet. */
static int memory_file_create(struct guest_memory *memory)
{
	memory->memfd = memfd_create("faultline-guest", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (memory->memfd < 0 || ftruncate(memory->memfd, (off_t)memory->bytes) ||
	    fcntl(memory->memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return failed(-errno, "cannot create a memfd of %llu bytes: %s", memory->bytes,
			      strerror(errno));
	return 0;
}

static int views_create(struct guest_memory *memory)
{
	int error;

	/* First what takes rights, for the clearer sentence. */
	error = faults_open(&memory->cpu_faults, MEMORY_FEATURES | UFFD_FEATURE_PAGEFAULT_FLAG_WP |
							 UFFD_FEATURE_WP_HUGETLBFS_SHMEM |
							 UFFD_FEATURE_THREAD_ID);
	if (error)
		return error;
	error = faults_open(&memory->dma_faults, MEMORY_FEATURES | UFFD_FEATURE_SIGBUS);
	if (error)
		return error;
	error = memory_file_create(memory);
	if (error)
		return error;
	error = memory_map(memory, MAP_SHARED | MAP_NORESERVE, memory->memfd, &memory->cpu);
	if (error)
		return error;
	error = memory_map(memory, MAP_SHARED | MAP_NORESERVE, memory->memfd, &memory->dma);
	if (error)
		return error;
	/* What a device may reach is pinned in a real machine: else the kernel's own reclaim could
	 * take a frame's mapping behind the IOMMU's back. Only pages shown later are locked. */
	if (mlock2(memory->dma, memory->bytes, MLOCK_ONFAULT))
		return failed(-errno,
			      "cannot lock the devices' view of memory: %s; raise ulimit -l",
			      strerror(errno));
	error = memory_faults_register(memory->cpu_faults, memory->cpu, memory->bytes,
				       UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP);
	if (error)
		return error;
	return memory_faults_register(memory->dma_faults, memory->dma, memory->bytes,
				      UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR);
}

static int pager_start(struct guest_memory *memory)
{
	pthread_attr_t attributes;
	int error;

	memory->stop = eventfd(0, EFD_CLOEXEC);
	if (memory->stop < 0)
		return failed(-errno, "cannot create an eventfd: %s", strerror(errno));
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, PAGER_STACK);
	error = pthread_create(&memory->pager, &attributes, pager_run, memory);
	pthread_attr_destroy(&attributes);
	if (error)
		return failed(-error, "cannot start a pager thread: %s", strerror(error));
	pthread_setname_np(memory->pager, "pager");
	memory->running = true;
	return 0;
}

static int pager_create(struct guest_memory *memory, const struct guest_memory_config *config)
{
	__u64 words = ((memory->bytes >> PAGE_BITS) + 63) / 64;
	int error;

	memory->out = calloc(words, sizeof(*memory->out));
	memory->known = calloc(words, sizeof(*memory->known));
	memory->overlaid = calloc(words, sizeof(*memory->overlaid));
	if (!memory->out || !memory->known || !memory->overlaid)
		return failed(-ENOMEM, "no memory for %llu words", words);
	/* Hundreds of tenants need more than the usual soft limit of 1024. */
	error = limits_need_files("a tenant", PAGER_DESCRIPTORS);
	if (!error)
		error = backing_open(memory, config->directory);
	if (error)
		return error;
	error = views_create(memory);
	return error ? error : pager_start(memory);
}

static void pager_destroy(struct guest_memory *memory)
{
	const int descriptors[PAGER_DESCRIPTORS] = {memory->cpu_faults, memory->dma_faults,
						    memory->memfd, memory->backing, memory->stop};
	const __u64 one = 1;

	if (memory->running && write(memory->stop, &one, sizeof(one)) == sizeof(one))
		pthread_join(memory->pager, NULL);
	if (memory->cpu)
		munmap(memory->cpu, memory->bytes);
	if (memory->dma)
		munmap(memory->dma, memory->bytes);
	if (memory->unserved)
		munmap(memory->unserved, memory->bytes);
	for (unsigned int i = 0; i < PAGER_DESCRIPTORS; i++) {
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	}
	free(memory->out);
	free(memory->known);
	free(memory->overlaid);
}

int pager_show_device(struct guest_memory *memory, __u64 page_address)
{
	struct uffdio_continue show = {
		.range = {(__u64)memory->dma + page_address, PAGE_BYTES},
	};

	for (;;) {
		if (!ioctl(memory->dma_faults, UFFDIO_CONTINUE, &show) || errno == EEXIST)
			return 0;
		if (errno == EFAULT)
			return -EAGAIN;
		if (errno != EAGAIN)
			return failed(-errno, "cannot show page 0x%llx to devices: %s",
				      page_address, strerror(errno));
	}
}

/* A page that is there already gets its content through the CPU's view, as a guest would do it. */
static int populate_page(struct guest_memory *memory, void *content, __u64 page_address)
{
	int error = dma_guard_copy(memory->cpu + page_address, content, PAGE_BYTES);

	if (error)
		return failed(error, "cannot fill page 0x%llx", page_address);
	return pager_show_device(memory, page_address);
}

static int populate_chunk(struct guest_memory *memory, unsigned char *content, __u64 start,
			  __u64 bytes)
{
	struct uffdio_copy copy = {
		.dst = (__u64)memory->cpu + start, .src = (__u64)content, .len = bytes};
	struct uffdio_continue show = {.range = {(__u64)memory->dma + start, bytes}};
	int error;

	memory_fill(content, start, bytes);
	if (!ioctl(memory->cpu_faults, UFFDIO_COPY, &copy) &&
	    !ioctl(memory->dma_faults, UFFDIO_CONTINUE, &show))
		return 0;
	for (__u64 done = 0; done < bytes; done += PAGE_BYTES) {
		error = populate_page(memory, content + done, start + done);
		if (error)
			return error;
	}
	return 0;
}

static int pager_populate(struct guest_memory *memory, __u64 guest_address, __u64 bytes)
{
	unsigned char *content = malloc(POPULATE_CHUNK);
	int error = content ? 0 : failed(-ENOMEM, "no memory to fill memory with");

	for (__u64 done = 0; !error && done < bytes; done += POPULATE_CHUNK)
		error = populate_chunk(memory, content, guest_address + done,
				       bytes - done < POPULATE_CHUNK ? bytes - done
								     : POPULATE_CHUNK);
	free(content);
	return error;
}

static int pager_dma_copy(struct guest_memory *memory, __u64 guest_address, void *buffer,
			  size_t bytes, bool write)
{
	unsigned char *frame = memory->dma + guest_address;

	return write ? dma_guard_copy(frame, buffer, bytes) : dma_guard_copy(buffer, frame, bytes);
}

/* The file has a block for each page that has a frame. */
static __u64 pager_held(const struct guest_memory *memory)
{
	struct stat status;

	return fstat(memory->memfd, &status) ? 0 : (__u64)status.st_blocks * 512;
}

static int pager_look(struct guest_memory *memory, __u64 guest_address, __u32 pages,
		      unsigned char *looks)
{
	unsigned char cached[PAGES_LOOK_MOST];
	int error = pages_look_cached(memory->cpu + guest_address, pages, cached);

	if (!error)
		error = pages_look_mapped(memory->cpu + guest_address, pages, looks);
	for (__u32 i = 0; !error && i < pages; i++)
		looks[i] = (cached[i] & 1 ? PAGE_LOOK_HELD : 0) | (looks[i] ? PAGE_LOOK_MAPPED : 0);
	return error;
}

const struct memory_ops pager_ops = {
	.create = pager_create,
	.destroy = pager_destroy,
	.populate = pager_populate,
	.evict = pager_evict,
	.show_device = pager_show_device,
	.dma_copy = pager_dma_copy,
	.state = pager_state,
	.held = pager_held,
	.look = pager_look,
	.unmap = pager_unmap,
};
