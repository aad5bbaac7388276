// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/page_lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/fail.h"

struct page_locks {
	pthread_mutex_t lock;
	pthread_cond_t unlocked;
	__u32 waiting;
	__u64 bits[];
};

int page_locks_create(struct page_locks **locks, __u64 pages)
{
	struct page_locks *new = calloc(1, sizeof(*new) + (pages + 63) / 64 * sizeof(__u64));

	if (!new)
		return failed(-ENOMEM, "no memory for the locks of %llu pages", pages);
	pthread_mutex_init(&new->lock, NULL);
	pthread_cond_init(&new->unlocked, NULL);
	*locks = new;
	return 0;
}

void page_locks_destroy(struct page_locks *locks)
{
	if (!locks)
		return;
	pthread_cond_destroy(&locks->unlocked);
	pthread_mutex_destroy(&locks->lock);
	free(locks);
}

void page_lock(struct page_locks *locks, __u64 page)
{
	__u64 *word = &locks->bits[page / 64], bit = 1ull << (page % 64);

	pthread_mutex_lock(&locks->lock);
	locks->waiting++;
	while (*word & bit)
		pthread_cond_wait(&locks->unlocked, &locks->lock);
	locks->waiting--;
	*word |= bit;
	pthread_mutex_unlock(&locks->lock);
}

void page_unlock(struct page_locks *locks, __u64 page)
{
	pthread_mutex_lock(&locks->lock);
	locks->bits[page / 64] &= ~(1ull << (page % 64));
	if (locks->waiting)
		pthread_cond_broadcast(&locks->unlocked);
	pthread_mutex_unlock(&locks->lock);
}
