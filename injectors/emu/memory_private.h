/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guest memory from the inside.
 *
 *	memory.c	 what both backends share: addresses, touching, delays, statistics
 *	memory_pager.c	 pager backend: mappings, userfaultfds, the pager thread
 *	memory_bring.c	 pager backend: absent pages back into the memory file
 *	memory_evict.c	 pager backend: eviction beside guest CPUs that go on running
 *	memory_views.c	 pager backend: other processes that have the memory mapped
 *	memory_overlay.c pager backend: the host's own pages in place of the guest's
 *	memory_vm.c	 backend vm: what a virtual machine does to its memory without telling anybody
 *	memory_faults.c	 what all of them ask of a userfaultfd
 *	memory_swap.c	 swap backend
 *	presence.c	 what the kernel says about a page: pagemap, mincore
 *	dma_guard.c	 touching memory that may not be there
 */
#ifndef FAULTLINE_MEMORY_PRIVATE_H
#define FAULTLINE_MEMORY_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "injectors/emu/memory.h"

#define EVICT_TRIES	  64 /* a guest CPU may touch the page between its going and the look */
#define RESOLVE_TRIES	  3
#define PAGER_DESCRIPTORS 5

/* In the order of what bringing the page back takes. */
enum memory_page_state { PAGE_PRESENT, PAGE_GONE_MINOR, PAGE_NEVER, PAGE_GONE_MAJOR };

/* A resolve under way, on its thread's stack: hands the device's delay to the pager. */
struct pending_resolve {
	__u64 page_address;
	__u64 delay_ns;
	__u32 device;
	struct pending_resolve *next;
};

struct memory_ops {
	int (*create)(struct guest_memory *memory, const struct guest_memory_config *config);
	void (*destroy)(struct guest_memory *memory);
	int (*populate)(struct guest_memory *memory, __u64 guest_address, __u64 bytes);
	/* As guest_memory_evict_timed(). */
	int (*evict)(struct guest_memory *memory, __u64 guest_address, enum evict_kind kind,
		     __u64 *gone_ns);
	/* After a touch: gives the device its view. -EAGAIN if the page is gone again. */
	int (*show_device)(struct guest_memory *memory, __u64 guest_address);
	int (*dma_copy)(struct guest_memory *memory, __u64 guest_address, void *buffer,
			size_t bytes, bool write);
	/* enum memory_page_state, or negative errno */
	int (*state)(struct guest_memory *memory, __u64 guest_address);
	__u64 (*held)(const struct guest_memory *memory);
	int (*look)(struct guest_memory *memory, __u64 guest_address, __u32 pages,
		    unsigned char *looks);
	int (*unmap)(struct guest_memory *memory, __u64 guest_address, __u64 bytes); /* or NULL */
	int (*lock)(struct guest_memory *memory, __u64 guest_address, bool lock);    /* or NULL */
};

/* Maps guest memory at a multiple of 2 MiB, as every VMM does; fork leaves it out, no huge pages. */
int memory_map(struct guest_memory *memory, int flags, int descriptor, unsigned char **view);

struct guest_memory {
	const struct memory_ops *ops;
	__u64 bytes;
	__u32 tenant;
	struct inject_table *injections;
	void (*wait_room)(void *argument);
	void *room;
	struct memory_watch watch;
	unsigned char *cpu, *dma; /* equal with the swap backend */
	unsigned char *unserved;  /* guest_memory_unserved(); NULL: nobody has asked */

	/* pager backend; descriptors are -1 where not open */
	int memfd, backing, cpu_faults, dma_faults, stop;
	bool running;
	pthread_t pager;
	_Atomic __u64 *
		out; /* a bit a page: it has no frame, its content is in the backing file; written with ... */
	pthread_mutex_t evicting;  /* ... this lock */
	__u64 *known;		   /* likewise: it has been brought in before */
	bool vm;		   /* backend vm: protection stays in views until a page is back */
	bool unprotected;	   /* a control: nothing is protected at all */
	bool bypass_told;	   /* with the lock */
	struct memory_view *views; /* with the lock `evicting`, as ... */
	__u64 *overlaid; /* ... a bit a page: the views of this process show another file */

	pthread_mutex_t pending_lock;
	struct pending_resolve *pending;
	_Atomic __u64 page_in_zero, page_in_file, page_in_swap, minor;
	_Atomic __u64 evicted_minor, evicted_major, evict_failed, dma_violations;
	_Atomic __u64 view_faults, discarded, bypassed, out_pages;
};

extern const struct memory_ops pager_ops;
extern const struct memory_ops swap_ops;

/* The delay that a resolver of this page still waits for, 0 if none; it now is the caller's to sleep.
 * `*device` gets the resolver's device, or DEVICE_ALL. */
__u64 memory_take_delay(struct guest_memory *memory, __u64 page_address, __u32 *device);
/* Counts one page brought in and logs the truth of it: it was there at `there_ns`. */
void memory_page_in(struct guest_memory *memory, __u64 page_address, __u32 device,
		    enum page_origin origin, __u64 start_ns, __u64 there_ns);

/*
 * A userfaultfd's, of this or another process; 0 or negative errno, without a sentence. What is lifted lets who waits there go on, at once or by
 * a wake of the caller's.
 */
enum memory_protection { PROTECT_LIFT, PROTECT_LIFT_LATER, PROTECT };
int memory_write_protect(int faults, __u64 address, __u64 bytes, enum memory_protection protection);
/* Who touches the page has a SIGBUS from now on. */
int memory_poison(int faults, __u64 address);
/* With a sentence. */
int memory_faults_register(int faults, void *mapping, __u64 bytes, __u64 mode);

/*
 * Brings an absent page into the memory file and the CPUs' view; who waits for it is the caller's to wake. `page`: of the caller's, a page
 * long. Negative errno without a sentence: it cannot be brought. Any thread that holds no lock. `device`: whose access waits for it, for
 * the truth log; DEVICE_ALL: none's that is known here.
 */
enum { PAGER_ZEROES, PAGER_FROM_FILE, PAGER_WAS_THERE };
int pager_bring(struct guest_memory *memory, void *page, __u64 page_address, __u32 device);
/* Who waits for it in the CPUs' view. */
void pager_wake(struct guest_memory *memory, __u64 page_address);
/* It is out of the memory file; told with or without the lock `evicting`, set with it. */
static inline bool pager_is_out(const struct guest_memory *memory, __u64 page_address)
{
	__u64 page = page_address >> PAGE_BITS;

	return atomic_load(&memory->out[page / 64]) >> page % 64 & 1;
}
void pager_set_out(struct guest_memory *memory, __u64 page_address, bool out);
/* Gives the device its view of a page that is there; -EAGAIN: it is gone again. */
int pager_show_device(struct guest_memory *memory, __u64 page_address);

/* memory_vm.c, with the lock `evicting`. */

/* A page that has just been brought in, from the backing file if it was out. */
void vm_page_came(struct guest_memory *memory, __u64 page_address, bool was_out);
/* A page that is out has a frame: true, and it is out no more, what is in that frame is its content from now on. */
bool vm_page_bypassed(struct guest_memory *memory, __u64 page_address);

/* Of a page in every view, with the lock `evicting`. */
int memory_views_protect(struct guest_memory *memory, __u64 page_address,
			 enum memory_protection protection);
/* With the lock `evicting`. */
static inline bool memory_overlaid(const struct guest_memory *memory, __u64 page_address)
{
	__u64 page = page_address >> PAGE_BITS;

	return memory->overlaid[page / 64] >> page % 64 & 1;
}

/* Pager backend's eviction, in memory_evict.c. */
int pager_evict(struct guest_memory *memory, __u64 guest_address, enum evict_kind kind,
		__u64 *gone_ns);
/* guest_memory_unmap() beside evictions. */
int pager_unmap(struct guest_memory *memory, __u64 guest_address, __u64 bytes);
/* For a guest CPU that wrote to a page under eviction: returns when the eviction is over. */
void pager_wait_eviction(struct guest_memory *memory);

/* Content as populate gives it: derived from each word's address. */
void memory_fill(void *buffer, __u64 guest_address, __u64 bytes);
void memory_sleep(__u64 ns);

static inline bool memory_range_valid(const struct guest_memory *memory, __u64 guest_address,
				      __u64 bytes)
{
	return guest_address < memory->bytes && bytes <= memory->bytes - guest_address;
}

#endif
