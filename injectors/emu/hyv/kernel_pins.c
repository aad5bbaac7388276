// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/hyv/kernel_pins.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bpf/page.h"
#include "injectors/emu/hyv/pin_ring.h"
#include "lib/base/fail.h"

#define SLOT_BYTES   (1ull << 30) /* of one registered buffer at most */
#define SLOT_NONE    (~0u)
#define STATUS_BYTES 8192
#define LOOKS	     5000 /* a millisecond between them */

struct pin_slot {
	__u64 bytes; /* of all of the pin, in its first slot; else 0 */
	__u32 next;  /* of the same pin, or free */
};

struct pinner {
	int ring;
	pthread_mutex_t lock;
	_Atomic __u64 bytes;
	__u32 free;
	struct pin_slot slots[PINNER_SLOTS];
};

/* Where the kernel counts late, pins of this process are made and released one at a time, so that VmPin says when it has happened. */
static pthread_mutex_t late_lock = PTHREAD_MUTEX_INITIALIZER;

int pinner_create(struct pinner **pinner)
{
	struct pinner *created = calloc(1, sizeof(*created));
	int error;

	if (!created)
		return failed(-ENOMEM, "no memory for a table of %u pins", PINNER_SLOTS);
	error = pin_ring_open(PINNER_SLOTS, &created->ring);
	if (error) {
		free(created);
		return error;
	}
	pthread_mutex_init(&created->lock, NULL);
	for (__u32 slot = 0; slot < PINNER_SLOTS; slot++)
		created->slots[slot].next = slot + 1 < PINNER_SLOTS ? slot + 1 : SLOT_NONE;
	*pinner = created;
	return 0;
}

void pinner_destroy(struct pinner *pinner)
{
	if (!pinner)
		return;
	pin_ring_close(pinner->ring);
	pthread_mutex_destroy(&pinner->lock);
	free(pinner);
}

/*
 * The worker is to begin a second after the slot's last user is known to be gone, which takes a grace period of RCU. Who waits for
 * the worker after that, here at the end of a table of files, lets it begin at once; who does it before waits for that second.
 */
static void hasten_release(int ring)
{
	const struct timespec grace = {.tv_nsec = 40000000};

	nanosleep(&grace, NULL);
	pin_ring_hasten(ring);
}

static int await_release(const struct pinner *pinner, __s64 most)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	__s64 pinned = 0;

	hasten_release(pinner->ring);
	for (int looks = 0; looks < LOOKS; looks++) {
		pinned = pinned_by_kernel(0);
		if (pinned <= most)
			return pinned < 0 ? (int)pinned : 0;
		nanosleep(&pause, NULL);
	}
	return failed(-ETIMEDOUT, "the kernel has %lld bytes pinned after %d ms, not %lld", pinned,
		      LOOKS, most);
}

/* Empties the slots of a pin, whose first it is, and frees them. With the lock. */
static int slots_release(struct pinner *pinner, __u32 first, __u64 bytes)
{
	bool late = pin_ring_counts() == PINS_COUNTED_LATE;
	__s64 before = late ? pinned_by_kernel(0) : 0;
	__u32 slot = first, last;
	int error = 0, result;

	do {
		result = pin_ring_update(pinner->ring, slot, 0, 0);
		error = error ? error : result;
		last = slot;
		slot = pinner->slots[slot].next;
	} while (slot != SLOT_NONE);
	if (error)
		return failed(error, "cannot unpin %llu bytes: %s", bytes, strerror(-error));
	pinner->slots[first].bytes = 0;
	pinner->slots[last].next = pinner->free;
	pinner->free = first;
	return late && before >= 0 ? await_release(pinner, before - (__s64)bytes) : 0;
}

static int pin_refused(int error, __u64 address, __u64 bytes)
{
	struct rlimit limit = {0};

	if (error == -ENOSPC)
		return failed(error,
			      "%u pins are made by one ring, there is no other left for %llu KiB",
			      PINNER_SLOTS, bytes >> 10);
	if (error == -EFAULT || error == -EOPNOTSUPP)
		return failed(-EFAULT,
			      "cannot pin %llu bytes at 0x%llx: they are not all mapped, writable "
			      "and memory",
			      bytes, address);
	if (error != -ENOMEM)
		return failed(error, "cannot pin %llu bytes: %s", bytes, strerror(-error));
	getrlimit(RLIMIT_MEMLOCK, &limit);
	return failed(error,
		      "cannot pin %llu KiB: no memory, or more than RLIMIT_MEMLOCK of %llu KiB "
		      "allows (ulimit -l)",
		      bytes >> 10, (unsigned long long)limit.rlim_cur >> 10);
}

/* With the lock. 0, or negative errno without a sentence; *pinned: bytes of the slots that are linked from *first on. */
static int slots_pin(struct pinner *pinner, __u64 address, __u64 bytes, __u32 *first, __u64 *pinned)
{
	__u32 last = SLOT_NONE;

	for (*pinned = 0; *pinned < bytes;) {
		__u64 piece = bytes - *pinned < SLOT_BYTES ? bytes - *pinned : SLOT_BYTES;
		__u32 slot = pinner->free;
		int error;

		if (slot == SLOT_NONE)
			return -ENOSPC;
		error = pin_ring_update(pinner->ring, slot, address + *pinned, piece);
		if (error)
			return error;
		pinner->free = pinner->slots[slot].next;
		pinner->slots[slot] = (struct pin_slot){.next = SLOT_NONE};
		if (last == SLOT_NONE)
			*first = slot;
		else
			pinner->slots[last].next = slot;
		last = slot;
		*pinned += piece;
	}
	return 0;
}

static void pinner_lock(struct pinner *pinner)
{
	if (pin_ring_counts() == PINS_COUNTED_LATE)
		pthread_mutex_lock(&late_lock);
	pthread_mutex_lock(&pinner->lock);
}

static void pinner_unlock(struct pinner *pinner)
{
	pthread_mutex_unlock(&pinner->lock);
	if (pin_ring_counts() == PINS_COUNTED_LATE)
		pthread_mutex_unlock(&late_lock);
}

int pinner_pin(struct pinner *pinner, void *address, __u64 bytes, __u32 *pin)
{
	__u64 start = (__u64)(uintptr_t)address & ~(PAGE_BYTES - 1), end, pinned;
	int error;

	if (!bytes ||
	    __builtin_add_overflow((__u64)(uintptr_t)address, bytes + PAGE_BYTES - 1, &end) ||
	    bytes + PAGE_BYTES < bytes)
		return failed(-EFAULT, "cannot pin %llu bytes at %p: no such range", bytes,
			      address);
	end &= ~(PAGE_BYTES - 1);
	pinner_lock(pinner);
	error = slots_pin(pinner, start, end - start, pin, &pinned);
	if (error && pinned)
		slots_release(pinner, *pin, pinned);
	if (!error) {
		pinner->slots[*pin].bytes = end - start;
		atomic_fetch_add(&pinner->bytes, end - start);
	}
	pinner_unlock(pinner);
	return error ? pin_refused(error, start, end - start) : 0;
}

int pinner_unpin(struct pinner *pinner, __u32 pin)
{
	__u64 bytes;
	int error;

	pinner_lock(pinner);
	bytes = pin < PINNER_SLOTS ? pinner->slots[pin].bytes : 0;
	if (bytes) {
		error = slots_release(pinner, pin, bytes);
		if (!pinner->slots[pin].bytes)
			atomic_fetch_sub(&pinner->bytes, bytes);
	} else {
		error = failed(-EINVAL, "there is no pin %u", pin);
	}
	pinner_unlock(pinner);
	return error;
}

bool pins_are_counted(void)
{
	return pin_ring_counts() != PINS_UNCOUNTED;
}

__u64 pinner_bytes(const struct pinner *pinner)
{
	return atomic_load(&pinner->bytes);
}

__s64 pinned_by_kernel(pid_t pid)
{
	char path[32] = "/proc/self/status", status[STATUS_BYTES];
	const char *line;
	ssize_t got;
	int file;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return failed(errno == ENOENT ? -ESRCH : -errno, "cannot open %s: %s", path,
			      strerror(errno));
	got = read(file, status, sizeof(status) - 1);
	close(file);
	if (got < 0)
		return failed(-errno, "cannot read %s: %s", path, strerror(errno));
	status[got] = 0;
	line = strstr(status, "\nVmPin:");
	/* What has ended, and was not waited for, has no memory. */
	if (!line)
		return failed(-ESRCH, "%s has no VmPin: the process has ended", path);
	return strtoll(line + strlen("\nVmPin:"), NULL, 10) * 1024;
}
