// SPDX-License-Identifier: GPL-2.0
/*
 * The fault queue's handler in user space: reads page requests from iommufd, maps what they ask for,
 * answers; then has the device write to what was mapped, to see that it works.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/page.h"
#include "injectors/real/iommufd_abi.h"
#include "injectors/real/iopf.h"

#define FIRST_IOVA  0x100000000ull
#define NOWHERE	    0x700000000ull /* IOVAs that the handler has nothing for */
#define BATCH	    32
#define POLL_MS	    50
#define STAMP(page) (0xfa00000000000000ull | (page))

struct iommufd_handler {
	struct iopf_run *run;
	const struct iopf_device *device;
	int iommu, faults; /* descriptors */
	__u32 ioas;
	unsigned char *buffer;
	__u32 pages;
	pthread_t thread;
	volatile bool stop;
	int error;
	char sentence[160];
	bool refuse; /* the group that is being read has a page that cannot be mapped */
};

static int iommufd_call(const struct iommufd_handler *handler, unsigned long command,
			void *argument, const char *what)
{
	if (!ioctl(handler->iommu, command, argument))
		return 0;
	return failed(-errno, "iommufd: %s: %s", what, strerror(errno));
}

/* Page requests go to user space of any page table since 6.13; before, only of nested ones. */
static int alloc_page_table(const struct iommufd_handler *handler, __u32 device, __u32 fault,
			    __u32 *table)
{
	__u64 data = 0;
	struct iommufd_hwpt_alloc parent = {.size = sizeof(parent),
					    .flags = IOMMUFD_HWPT_NEST_PARENT,
					    .dev_id = device,
					    .pt_id = handler->ioas};
	struct iommufd_hwpt_alloc alloc = {.size = sizeof(alloc),
					   .flags = IOMMUFD_HWPT_FAULT_ID_VALID,
					   .dev_id = device,
					   .pt_id = handler->ioas,
					   .fault_id = fault};
	int err = iommufd_call(handler, IOMMUFD_HWPT_ALLOC, &alloc, "cannot make a page table");

	if (err == -EOPNOTSUPP) {
		err = iommufd_call(handler, IOMMUFD_HWPT_ALLOC, &parent,
				   "cannot make a parent page table");
		alloc.pt_id = parent.out_hwpt_id;
		alloc.data_type = 1;
		alloc.data_len = sizeof(data);
		alloc.data_uptr = (uintptr_t)&data;
		if (!err)
			err = iommufd_call(handler, IOMMUFD_HWPT_ALLOC, &alloc,
					   "cannot make a nested page table");
	}
	*table = alloc.out_hwpt_id;
	return err;
}

static int iommufd_attach_device(struct iommufd_handler *handler, __u32 number)
{
	struct faultline_iommufd_bind bind = {.device = number, .iommufd = handler->iommu};
	struct faultline_iommufd_attach attach = {.device = number};
	struct iommufd_ioas_alloc space = {.size = sizeof(space)};
	struct iommufd_fault_alloc fault = {.size = sizeof(fault)};
	int err = iopf_call(handler->device, FAULTLINE_IOC_IOMMUFD_BIND, &bind,
			    "cannot hand the device to iommufd");

	if (err == -EPERM)
		return failed(err, "iommufd does not take the device, whose interrupts are not "
				   "isolated: load it with allow_unsafe_interrupts=1");
	if (!err)
		err = iommufd_call(handler, IOMMUFD_IOAS_ALLOC, &space,
				   "cannot make an address space");
	handler->ioas = space.out_ioas_id;
	if (!err)
		err = iommufd_call(handler, IOMMUFD_FAULT_ALLOC, &fault,
				   "cannot make a fault queue");
	if (err)
		return err;
	handler->faults = (int)fault.out_fault_fd;
	err = alloc_page_table(handler, bind.id, fault.out_fault_id, &attach.page_table);
	return err ? err
		   : iopf_call(handler->device, FAULTLINE_IOC_IOMMUFD_ATTACH, &attach,
			       "cannot attach the device");
}

static int map_page(struct iommufd_handler *handler, __u64 iova)
{
	__u64 offset = (iova - FIRST_IOVA) & ~(PAGE_BYTES - 1);
	struct iommufd_ioas_map map = {
		.size = sizeof(map),
		.flags = IOMMUFD_MAP_FIXED_IOVA | IOMMUFD_MAP_WRITEABLE | IOMMUFD_MAP_READABLE,
		.ioas_id = handler->ioas,
		.user_va = (uintptr_t)(handler->buffer + offset),
		.length = PAGE_BYTES,
		.iova = FIRST_IOVA + offset,
	};
	int err;

	if (iova < FIRST_IOVA || offset >= handler->pages * PAGE_BYTES) {
		handler->refuse = true;
		return 0;
	}
	err = iommufd_call(handler, IOMMUFD_IOAS_MAP, &map, "cannot map a page");
	if (!err)
		handler->run->handled_pages++;
	return err;
}

static int iommufd_handle(struct iommufd_handler *handler, const struct iommufd_pgfault *fault)
{
	struct iommufd_response response = {.cookie = fault->cookie};
	int err = map_page(handler, fault->addr);

	if (err || !(fault->flags & IOMMUFD_FAULT_LAST_PAGE))
		return err;
	response.code = handler->refuse ? IOMMUFD_RESPONSE_INVALID : IOMMUFD_RESPONSE_SUCCESS;
	if (handler->refuse)
		handler->run->refused_groups++;
	else
		handler->run->handled_groups++;
	handler->refuse = false;
	if (write(handler->faults, &response, sizeof(response)) != (ssize_t)sizeof(response))
		return failed(-errno, "iommufd: cannot answer: %s", strerror(errno));
	return 0;
}

/* A read never waits: without a request it returns nothing. */
static int handle_some(struct iommufd_handler *handler)
{
	struct pollfd poll_for = {.fd = handler->faults, .events = POLLIN};
	struct iommufd_pgfault faults[BATCH];
	ssize_t got;
	int err = 0;

	if (poll(&poll_for, 1, POLL_MS) <= 0)
		return 0;
	got = read(handler->faults, faults, sizeof(faults));
	if (got < 0)
		return failed(-errno, "iommufd: cannot read requests: %s", strerror(errno));
	for (size_t i = 0; i < (size_t)got / sizeof(faults[0]) && !err; i++)
		err = iommufd_handle(handler, &faults[i]);
	return err;
}

static void *handle_all(void *argument)
{
	struct iommufd_handler *handler = argument;

	while (!handler->stop && !handler->error) {
		handler->error = handle_some(handler);
		if (handler->error)
			strncpy(handler->sentence, failure_text(), sizeof(handler->sentence) - 1);
	}
	return NULL;
}

static int raise_all(const struct iopf_run *run)
{
	const struct iopf_plan *plan = &run->plan;
	struct faultline_request *requests = calloc(plan->count, sizeof(*requests));
	struct faultline_raise raise = {.device = run->options->devices[0],
					.requests = (uintptr_t)requests};
	int err = requests ? 0 : failed(-ENOMEM, "out of memory for %u requests", plan->count);

	for (__u32 i = 0; i < plan->count && !err; i++) {
		const struct iopf_planned *planned = &plan->requests[i];
		__u64 base = planned->kind == IOPF_PAGE_GOOD ? FIRST_IOVA : NOWHERE;

		requests[raise.count++] = (struct faultline_request){
			.address = base + planned->page * PAGE_BYTES,
			.group = FAULTLINE_GROUP_ANY,
			.permissions = run->options->permissions,
			.flags = FAULTLINE_NO_PASID | (planned->last ? FAULTLINE_LAST : 0),
		};
		if (!planned->last)
			continue;
		err = iopf_call(&run->device, FAULTLINE_IOC_RAISE, &raise,
				"cannot raise page requests");
		raise.count = 0;
	}
	free(requests);
	return err;
}

/* The device's retry after the answer: what it writes is seen in the buffer. */
static int write_all(struct iopf_run *run, const struct iommufd_handler *handler)
{
	int err = 0;

	for (__u64 page = 0; page < handler->pages && !err; page++) {
		struct faultline_access access = {.device = run->options->devices[0],
						  .write = 1,
						  .iova = FIRST_IOVA + page * PAGE_BYTES,
						  .count = 1,
						  .value = STAMP(page)};
		__u64 seen;

		err = iopf_call(&run->device, FAULTLINE_IOC_ACCESS, &access, "cannot access");
		memcpy(&seen, handler->buffer + page * PAGE_BYTES, sizeof(seen));
		run->written_pages += !err && !access.faults && seen == STAMP(page);
	}
	return err;
}

static int iommufd_serve(struct iopf_run *run, struct iommufd_handler *handler)
{
	struct faultline_wait wait = {.device = run->options->devices[0],
				      .timeout_ns = run->options->wait_ns};
	int err = raise_all(run);

	if (!err)
		err = iopf_call(&run->device, FAULTLINE_IOC_WAIT, &wait, "cannot wait");
	handler->stop = true;
	pthread_join(handler->thread, NULL);
	if (handler->error)
		return failed(handler->error, "%s", handler->sentence);
	return err ? err : write_all(run, handler);
}

static int iopf_open_iommufd(struct iommufd_handler *handler)
{
	handler->iommu = open("/dev/iommu", O_RDWR | O_CLOEXEC);
	if (handler->iommu >= 0)
		return 0;
	return failed(-errno,
		      "/dev/iommu: %s: iommufd is needed, Linux 6.11 or later and a module "
		      "faultline_device that was built for it (docs/kmod.md)",
		      strerror(errno));
}

int iopf_run_iommufd(struct iopf_run *run)
{
	struct iommufd_handler handler = {
		.run = run, .device = &run->device, .iommu = -1, .faults = -1};
	int err;

	if (!(run->device.info.features & FAULTLINE_FEATURE_IOMMUFD))
		return failed(-EOPNOTSUPP, "the loaded module was not built for iommufd: load "
					   "faultline_device_iommufd (docs/kmod.md)");
	err = iopf_open_iommufd(&handler);
	if (!err)
		err = iopf_plan_make(&run->plan, run->options);
	if (err)
		return err;
	handler.pages = run->plan.shares[0].pages[IOPF_PAGE_GOOD];
	handler.buffer = mmap(NULL, (handler.pages + 1) * PAGE_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	err = handler.buffer == MAP_FAILED
		      ? failed(-errno, "cannot map a buffer")
		      : iommufd_attach_device(&handler, run->options->devices[0]);
	if (!err)
		err = iopf_configure(run);
	if (!err)
		err = iopf_remember(run);
	if (!err && pthread_create(&handler.thread, NULL, handle_all, &handler))
		err = failed(-EAGAIN, "cannot start a thread");
	return err ? err : iommufd_serve(run, &handler);
}
