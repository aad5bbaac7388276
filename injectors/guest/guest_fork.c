// SPDX-License-Identifier: GPL-2.0
/*
 * Children of a guest. The pages of its regions are shared mappings, which a child would write to as its parent does, in the heap of both.
 * So a child gets private pages with the same bytes before anything else of it runs, and the parent waits for that: what either does next is
 * its own alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "injectors/guest/adoptions.h"

#define STACK_BYTES (128ull << 10)

struct shared_row {
	unsigned char *here;
	__u64 bytes;
};

/* Of the one fork at a time: from before it until the child has what is its own. */
static struct forking {
	pthread_mutex_t lock;
	struct guest_device *guests;
	sigset_t signals; /* as they were blocked */
	int pipe[2];	  /* ends with the child's copying, -1 */
	struct shared_row *rows;
	__u64 count, room;
	const char *failed; /* NULL */
} forking = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void shared_row_add(void *argument, __u64 here, __u64 guest_address)
{
	struct shared_row *last = forking.count ? &forking.rows[forking.count - 1] : NULL;

	(void)argument, (void)guest_address;
	if (last && (__u64)last->here + last->bytes == here)
		last->bytes += PAGE_BYTES;
	else if (forking.count < forking.room)
		forking.rows[forking.count++] =
			(struct shared_row){(unsigned char *)here, PAGE_BYTES};
	else
		forking.failed = "its parent's regions have changed";
}

/* A page may be mapped twice, by who moves it and keeps it. */
static void find_rows(__u64 adopted)
{
	struct own_mappings mappings;

	forking.room = 2 * adopted;
	forking.rows = adoption_map(forking.room * sizeof(*forking.rows), PROT_READ | PROT_WRITE);
	if (!forking.rows || own_mappings_open(&mappings)) {
		forking.failed = "no memory or no /proc";
		return;
	}
	for (struct guest_device *guest = forking.guests; guest; guest = guest->next)
		if (guest->adoptions.count)
			adopted_each(guest, &mappings, shared_row_add, NULL);
	own_mappings_close(&mappings);
}

static __u64 lock_guests(void)
{
	__u64 adopted = 0;

	pthread_mutex_lock(&forking.lock);
	for (struct guest_device *guest = forking.guests; guest; guest = guest->next) {
		pthread_mutex_lock(&guest->adoptions.lock);
		adopted += guest->adoptions.count;
	}
	return adopted;
}

static void unlock_guests(void)
{
	for (struct guest_device *guest = forking.guests; guest; guest = guest->next)
		pthread_mutex_unlock(&guest->adoptions.lock);
	pthread_mutex_unlock(&forking.lock);
}

static void before_fork(void)
{
	__u64 adopted = lock_guests();
	sigset_t all;

	forking.rows = NULL;
	forking.count = 0;
	forking.failed = NULL;
	forking.pipe[0] = forking.pipe[1] = -1;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &forking.signals);
	if (!adopted)
		return;
	if (pipe2(forking.pipe, O_CLOEXEC))
		forking.failed = strerror(errno);
	find_rows(adopted);
}

static void after_fork(void)
{
	if (forking.rows)
		munmap(forking.rows, forking.room * sizeof(*forking.rows));
	pthread_sigmask(SIG_SETMASK, &forking.signals, NULL);
	unlock_guests();
}

static void fork_pipe_close(int end)
{
	if (forking.pipe[end] >= 0)
		close(forking.pipe[end]);
}

static void parent_after_fork(void)
{
	char none;

	fork_pipe_close(1);
	/* Its end is the child's word, whether it has copied or died. */
	while (forking.pipe[0] >= 0 && read(forking.pipe[0], &none, 1) < 0 && errno == EINTR)
		;
	fork_pipe_close(0);
	after_fork();
}

/* Whatever of it the program's own checkers say that nobody may read. */
static void copy_row(void *to, const void *from, __u64 bytes)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static bool row_own(const struct shared_row *row)
{
	void *made = adoption_map(row->bytes, PROT_READ | PROT_WRITE);

	if (!made)
		return false;
	copy_row(made, row->here, row->bytes);
	return mremap(made, row->bytes, row->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, row->here) !=
	       MAP_FAILED;
}

/* Neither the heap nor anything of stdio before what they lie on is the child's. */
static void child_after_fork(void)
{
	static const char before[] = "faultline-verbs: a child of a program with registered memory "
				     "gets no copy of it and ends: ";

	for (__u64 i = 0; !forking.failed && i < forking.count; i++)
		if (!row_own(&forking.rows[i]))
			forking.failed = "no memory";
	if (forking.failed) {
		(void)!write(STDERR_FILENO, before, sizeof(before) - 1);
		(void)!write(STDERR_FILENO, forking.failed, strlen(forking.failed));
		(void)!write(STDERR_FILENO, "\n", 1);
		_exit(127);
	}
	fork_pipe_close(0);
	fork_pipe_close(1);
	for (struct guest_device *guest = forking.guests; guest; guest = guest->next) {
		guest->child = true;
		atomic_store(&guest->gone, true);
	}
	after_fork();
}

static void watch_forks(void)
{
	(void)pthread_atfork(before_fork, parent_after_fork, child_after_fork);
}

void guest_fork_begin(struct guest_device *guest)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&forking.lock);
	guest->next = forking.guests;
	forking.guests = guest;
	pthread_mutex_unlock(&forking.lock);
}

void guest_fork_end(struct guest_device *guest)
{
	struct guest_device **at = &forking.guests;

	pthread_mutex_lock(&forking.lock);
	while (*at && *at != guest)
		at = &(*at)->next;
	if (*at)
		*at = guest->next;
	pthread_mutex_unlock(&forking.lock);
}

struct elsewhere {
	ucontext_t back, there;
	pid_t (*fork)(void);
	pid_t child;
	int error;
};

/* makecontext() passes ints. */
static void fork_elsewhere(unsigned int high, unsigned int low)
{
	struct elsewhere *elsewhere = (struct elsewhere *)((__u64)high << 32 | low);

	elsewhere->child = elsewhere->fork();
	elsewhere->error = errno;
}

pid_t guest_fork(pid_t (*real)(void))
{
	__u64 adopted = lock_guests();
	struct elsewhere *elsewhere;
	pid_t child;
	int error;

	unlock_guests();
	if (!adopted)
		return real();
	elsewhere = adoption_map(STACK_BYTES, PROT_READ | PROT_WRITE);
	if (!elsewhere || getcontext(&elsewhere->there)) {
		errno = ENOMEM;
		return -1;
	}
	elsewhere->fork = real;
	elsewhere->there.uc_link = &elsewhere->back;
	elsewhere->there.uc_stack = (stack_t){
		.ss_sp = elsewhere + 1,
		.ss_size = STACK_BYTES - sizeof(*elsewhere),
	};
	makecontext(&elsewhere->there, (void (*)(void))fork_elsewhere, 2,
		    (unsigned int)((__u64)elsewhere >> 32), (unsigned int)(__u64)elsewhere);
	swapcontext(&elsewhere->back, &elsewhere->there);
	child = elsewhere->child;
	error = elsewhere->error;
	munmap(elsewhere, STACK_BYTES);
	errno = error;
	return child;
}
