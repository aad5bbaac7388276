/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guest RAM that really leaves and really comes back.
 *
 * Backend "pager": a memfd, mapped twice and MADV_DONTFORK. The CPU mapping is registered with a
 * userfaultfd whose pager thread fills absent pages from a backing file. The DMA mapping has
 * UFFD_FEATURE_SIGBUS: a device that touches an absent page is caught, it never resolves a fault by
 * accident. Backend "swap": one private mapping and the kernel's own swap (MADV_PAGEOUT); devices
 * check presence explicitly. Frames are named by a host physical address: base + guest address.
 *
 * Page state: present in the CPU mapping | gone minor (frame kept, no mapping) | gone major (frame
 * freed, content in the backing file or swap).
 */
#ifndef FAULTLINE_MEMORY_H
#define FAULTLINE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/page.h"
#include "injectors/emu/inject.h"

#define HUGE_BYTES (1ul << 21)

/* MEMORY_VM: as MEMORY_PAGER, for a virtual machine whose process has it mapped (vm/handover.h): nobody fills it. */
enum memory_backend { MEMORY_PAGER, MEMORY_SWAP, MEMORY_VM };
enum page_origin { PAGE_ZERO, PAGE_FILE, PAGE_SWAP };
enum evict_kind { EVICT_MINOR, EVICT_MAJOR };

/* An access to guest_memory_cpu() that found its page absent, and waits; nobody had asked for the page (guest_memory_resolve()). */
struct memory_access {
	__u64 guest_address; /* of the page */
	__u64 begin_ns;
	__u32 tid; /* of the thread */
	bool write;
	/* The watcher's */
	void *device;
	__u32 index; /* of that device, for the truth log */
	__u16 queue;
	__u64 fault, delay_ns; /* delay: until the page is brought */
};

/* Who wants to know of them: of devices that access their guest's memory as it is, and have the kernel find what is absent. By the pager's thread. */
struct memory_watch {
	/* Whether it is a device's. */
	bool (*begins)(void *argument, struct memory_access *access);
	/* The page is there, before the access goes on. */
	void (*ends)(void *argument, const struct memory_access *access, bool major);
	void *argument;
};

struct guest_memory_config {
	__u64 bytes;	/* multiple of HUGE_BYTES, 2 MiB to 64 GiB */
	__u64 physical; /* host physical base of this tenant's RAM, multiple of 1 GiB */
	enum memory_backend backend;
	/* MEMORY_VM: evict without protecting the guest's mapping, so that what it writes meanwhile is lost: a control */
	bool unprotected;
	const char
		*directory; /* where the unlinked backing file lives; NULL: $TMPDIR or /var/tmp */
	__u32 tenant;	    /* for the truth log */
	struct memory_watch watch;	 /* MEMORY_VM; all NULL: nobody */
	struct inject_table *injections; /* whose INJECT_RESOLVE delays apply; may be NULL */
	/* Called by the pager before it brings each page (memory_limit.h); NULL: nobody limits it. */
	void (*wait_room)(void *argument);
	void *room;
};

struct guest_memory;

int guest_memory_create(struct guest_memory **memory, const struct guest_memory_config *config);
void guest_memory_destroy(struct guest_memory *memory);

/* The CPU's view. Touching it may fault and block until the pager has brought the page. */
void *guest_memory_cpu(struct guest_memory *memory, __u64 guest_address);

/* The device's view of a frame, there from populate or resolve until evict. Touch it only through
 * guest_memory_dma_copy() or a system call that can return EFAULT (preadv/pwritev): an absent page
 * is an invariant violation, not a wait. */
void *guest_memory_dma(struct guest_memory *memory, __u64 guest_address);
/* Guarded copy; -EFAULT if the frame was absent (counted by the caller as a violation). */
int guest_memory_dma_copy(struct guest_memory *memory, __u64 guest_address, void *buffer,
			  size_t bytes, bool write);

/*
 * After an EFAULT of the device's view, with backend vm: a guest may have given pages back (a balloon) without telling its devices, which
 * it then has them use again. Those are zeroes, and shown. 0: the access may be tried again; -EFAULT: a page was evicted, or it is
 * another backend. The caller holds references on the pages (lookup.h).
 */
int guest_memory_undiscard(struct guest_memory *memory, __u64 guest_address, __u64 bytes);

/* Fills pages with content derived from their address, present afterwards. */
int guest_memory_populate(struct guest_memory *memory, __u64 guest_address, __u64 bytes);

/*
 * Makes one page present as the host's fault handler does: by touching the CPU mapping, so that
 * exactly one real CPU page fault happens in the calling thread if the page was gone. Then gives
 * the device its view of the frame. `device` faulted: its INJECT_RESOLVE delay is slept once. The
 * caller excludes an evict of the same page until it has updated the IOPT (lookup.h says how).
 * -EAGAIN if the page was evicted again at once, -EFAULT if its content cannot be read back.
 */
int guest_memory_resolve(struct guest_memory *memory, __u64 guest_address, __u32 device, bool write,
			 bool *major);

/*
 * Takes one page's memory away; the IOMMU side must be invalidated and unmapped before. Writes it
 * to the backing store if major, then proves the absence by pagemap (minor) or mincore and pagemap
 * (major): -EBUSY if it is still there (tried 3 times), 0 when proven.
 */
int guest_memory_evict(struct guest_memory *memory, __u64 guest_address, enum evict_kind kind);
/* Likewise; `*gone_ns`: monotonic ns at which the absence was proven, before the pager can have brought the page
 * back; 0 if it was not. */
int guest_memory_evict_timed(struct guest_memory *memory, __u64 guest_address, enum evict_kind kind,
			     __u64 *gone_ns);
/* Present in the CPU mapping, by pagemap. */
bool guest_memory_present(struct guest_memory *memory, __u64 guest_address);

/* Bytes of frames that this memory holds by the kernel's own count, mapped or not. */
__u64 guest_memory_held(const struct guest_memory *memory);
/* Its pager's file is on tmpfs or ramfs: what is evicted stays in the host's memory. */
bool guest_memory_paged_to_memory(const struct guest_memory *memory);
/* One look of the kernel's at pages that follow each other: bits for each. */
#define PAGE_LOOK_HELD 1 /* it has a frame */
#define PAGE_LOOK_MAPPED \
	2 /* the guest's CPUs have it mapped, and guest_memory_unmap() can take that */
int guest_memory_look(struct guest_memory *memory, __u64 guest_address, __u32 pages,
		      unsigned char *looks);
/* Takes the CPUs' mapping of pages away, but neither their frames nor the device's view. The kernel alone maps one
 * again when it is touched. -ENOTSUP with backend swap. */
int guest_memory_unmap(struct guest_memory *memory, __u64 guest_address, __u64 bytes);

/*
 * Keeps the kernel itself from taking a present page (mlock), or no longer. With backend pager there is nothing to do: the
 * devices' view locks what it shows. -ENOMEM with a sentence: RLIMIT_MEMLOCK, or too many mappings.
 */
int guest_memory_lock(struct guest_memory *memory, __u64 guest_address, bool lock);

/*
 * Backend vm, a control: the whole memory file mapped once more, with no userfaultfd. Who touches a page that is out by this mapping waits
 * for nothing: the kernel makes a frame of zeroes, whose content is the page's from then on (`bypassed`). The mapping is the memory's, the
 * same for all who ask, and goes with it. -EINVAL: another backend.
 */
int guest_memory_unserved(struct guest_memory *memory, void **mapping);

/*
 * Backend vm: looks for pages that are out and have a frame all the same; each is counted once, as `bypassed`, and told of on
 * stderr, the first. Evictions and faults find them, too. Returns how many there have been.
 */
__u64 guest_memory_find_bypassed(struct guest_memory *memory);

struct guest_memory_stats {
	__u64 page_in_zero, page_in_file, page_in_swap, minor;
	__u64 evicted_minor, evicted_major, evict_failed, dma_violations;
	__u64 view_faults; /* of the pages brought in, those that another process has touched: a virtual machine's CPUs */
	__u64 discarded; /* pages that were there, that the guest gave back (balloon), and that were touched again: zeroes */
	__u64 bypassed; /* pages that were out and in the memory file all the same: somebody wrote past the pager */
	__u64 out; /* pages that are out now: in the backing file and in no frame */
};
void guest_memory_stats(const struct guest_memory *memory, struct guest_memory_stats *stats);

#endif
