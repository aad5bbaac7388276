// SPDX-License-Identifier: GPL-2.0
/* Absent pages back into the memory file of the pager backend. */
#include "injectors/emu/memory_private.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/clock.h"

void pager_wake(struct guest_memory *memory, __u64 page_address)
{
	struct uffdio_range range = {(__u64)memory->cpu + page_address, PAGE_BYTES};

	ioctl(memory->cpu_faults, UFFDIO_WAKE, &range);
}

void pager_set_out(struct guest_memory *memory, __u64 page_address, bool out)
{
	__u64 page = page_address >> PAGE_BITS, bit = 1ull << page % 64;
	__u64 before = out ? atomic_fetch_or(&memory->out[page / 64], bit)
			   : atomic_fetch_and(&memory->out[page / 64], ~bit);

	if (out && !(before & bit))
		atomic_fetch_add(&memory->out_pages, 1);
	else if (!out && before & bit)
		atomic_fetch_sub(&memory->out_pages, 1);
}

static int read_page(int file, void *page, __u64 page_address)
{
	ssize_t got;

	do
		got = pread(file, page, PAGE_BYTES, (off_t)page_address);
	while (got < 0 && errno == EINTR);
	if (got == (ssize_t)PAGE_BYTES)
		return 0;
	return got < 0 ? errno : EIO;
}

/* With the lock `evicting`. */
static int place_locked(struct guest_memory *memory, void *page, __u64 page_address, bool out)
{
	struct uffdio_copy copy = {
		.dst = (__u64)memory->cpu + page_address,
		.src = (__u64)page,
		.len = PAGE_BYTES,
		.mode = UFFDIO_COPY_MODE_DONTWAKE,
	};
	struct uffdio_zeropage zero = {.range = {copy.dst, PAGE_BYTES},
				       .mode = UFFDIO_ZEROPAGE_MODE_DONTWAKE};
	int error = out ? read_page(memory->backing, page, page_address) : 0;

	if (error)
		return error;
	if (out ? ioctl(memory->cpu_faults, UFFDIO_COPY, &copy)
		: ioctl(memory->cpu_faults, UFFDIO_ZEROPAGE, &zero)) {
		error = errno;
		if (error == EEXIST)
			(void)vm_page_bypassed(memory, page_address);
		return error;
	}
	pager_set_out(memory, page_address, false);
	vm_page_came(memory, page_address, out);
	return 0;
}

/*
 * Places the page as it is now in the backing file. No eviction may come between: of two guests that
 * wait for one page the second's message may be served when the page is back, and written, already.
 * The time is of that lock, too: the next eviction may come as soon as it is free.
 */
static int place_page(struct guest_memory *memory, void *page, __u64 page_address, bool *out,
		      __u64 *there_ns)
{
	int error;

	pthread_mutex_lock(&memory->evicting);
	*out = pager_is_out(memory, page_address);
	error = place_locked(memory, page, page_address, *out);
	*there_ns = monotonic_ns();
	pthread_mutex_unlock(&memory->evicting);
	return error;
}

/* EAGAIN: the address space changes just now. ENOMEM: the kernel is short of memory, for now. */
int pager_bring(struct guest_memory *memory, void *page, __u64 page_address, __u32 device)
{
	__u64 start_ns = monotonic_ns(), there_ns;
	bool out;
	__u32 asked;
	int error;

	inject_sleep(memory->injections, memory_take_delay(memory, page_address, &asked));
	if (asked != DEVICE_ALL)
		device = asked;
	if (memory->wait_room)
		memory->wait_room(memory->room);
	while ((error = place_page(memory, page, page_address, &out, &there_ns)) == EAGAIN ||
	       error == ENOMEM)
		memory_sleep(error == ENOMEM ? 10 * NSEC_PER_MSEC : 0);
	if (error && error != EEXIST)
		return -error;
	/* Told before anyone can go on, so that the truth is in order. */
	if (!error)
		memory_page_in(memory, page_address, device, out ? PAGE_FILE : PAGE_ZERO, start_ns,
			       there_ns);
	if (error)
		return PAGER_WAS_THERE;
	return out ? PAGER_FROM_FILE : PAGER_ZEROES;
}
