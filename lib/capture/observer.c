// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/observer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/base/fail.h"
#include "lib/base/run_directory.h"

#define RECORDS_AT_ONCE 128
#define LOOKS_MAX	100 /* what is not found by then was killed, or there is no room for it */
#define TAKEN_MAX	(1 << 20) /* bytes of records taken whose memory is kept */

struct account {
	__u64 id;
	__u64 produced, seen;
	__u64 works_ns;	    /* 0: it waited until it was looked at */
	unsigned int looks; /* times it was looked for */
	bool met, gone, ended;
	bool held; /* a lock, while it lives */
	bool dead; /* when last looked at: what it had told is read by the next time */
	UT_hash_handle hh;
};

struct observer {
	int directory;
	int fd;
	char name[48];
	off_t offset; /* of the first record not yet taken */
	off_t given_back;
	struct account *accounts;
	struct observer_counts counts;
};

bool observer_is_file(const char *name)
{
	const char *suffix = strchr(name, '.');

	return suffix && !strcmp(suffix, RUN_OBSERVER_SUFFIX);
}

bool observer_is_alive(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB))
		return errno == EWOULDBLOCK;
	flock(fd, LOCK_UN);
	return false;
}

static unsigned int observers_alive(int directory)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *entry;
	unsigned int alive = 0;

	if (!listing && copy >= 0)
		close(copy);
	while (listing && (entry = readdir(listing))) {
		int fd = observer_is_file(entry->d_name) ? openat(directory, entry->d_name,
								  O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
							 : -1;

		if (fd < 0)
			continue;
		alive += observer_is_alive(fd);
		close(fd);
	}
	if (listing)
		closedir(listing);
	return alive;
}

/* Under the directory's lock, which whoever removes the files of dead observers holds as well. */
static int create(struct observer *o)
{
	int err = 0;

	if (flock(o->directory, LOCK_EX))
		return failed(-errno, "%s: cannot lock it: %s", run_directory(), strerror(errno));
	if (observers_alive(o->directory) >= OBSERVERS_MAX) {
		flock(o->directory, LOCK_UN);
		return failed(-EUSERS, "%s: %d recorders watch emulated machines already",
			      run_directory(), OBSERVERS_MAX);
	}
	o->fd = openat(o->directory, o->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	if (o->fd < 0)
		err = failed(-errno, "%s/%s: cannot create it: %s", run_directory(), o->name,
			     strerror(errno));
	else
		flock(o->fd, LOCK_EX);
	flock(o->directory, LOCK_UN);
	return err;
}

int observer_open(struct observer **observer)
{
	struct observer *o = calloc(1, sizeof(*o));
	__u64 number = (__u64)getpid();
	int err;

	*observer = NULL;
	if (!o)
		return failed(-ENOMEM, "no memory for the account of machines");
	o->fd = -1;
	if (getrandom(&number, sizeof(number), 0) < 0)
		number ^= (__u64)(uintptr_t)o;
	snprintf(o->name, sizeof(o->name), "%016llx%s", number, RUN_OBSERVER_SUFFIX);
	err = o->directory = run_directory_open(true);
	if (err >= 0)
		err = create(o);
	if (err < 0) {
		observer_close(o);
		return err;
	}
	*observer = o;
	return 0;
}

void observer_close(struct observer *o)
{
	struct account *account, *next;

	if (!o)
		return;
	if (o->fd >= 0) {
		unlinkat(o->directory, o->name, 0);
		close(o->fd);
	}
	if (o->directory >= 0)
		close(o->directory);
	HASH_ITER(hh, o->accounts, account, next) {
		HASH_DEL(o->accounts, account);
		free(account);
	}
	free(o);
}

static struct account *observer_find(const struct observer *o, __u64 id)
{
	struct account *account;

	HASH_FIND(hh, o->accounts, &id, sizeof(id), account);
	return account;
}

static void take(struct observer *o, const struct machine_record *record)
{
	struct account *account = observer_find(o, record->id);

	if (record->what == MACHINE_ENDED && account) {
		account->ended = true;
		account->produced = record->produced;
	}
	if (record->what == MACHINE_WORKS && account)
		account->works_ns = record->works_ns;
	if (record->what != MACHINE_BEGAN || account)
		return;
	account = calloc(1, sizeof(*account));
	if (account) {
		account->id = record->id;
		account->held = record->held;
		HASH_ADD(hh, o->accounts, id, sizeof(account->id), account);
		if (account->hh.tbl)
			return;
	}
	free(account);
	o->counts.unknown++;
}

int observer_read(struct observer *o)
{
	struct machine_record records[RECORDS_AT_ONCE];
	ssize_t bytes;

	do {
		bytes = pread(o->fd, records, sizeof(records), o->offset);
		if (bytes < 0)
			return failed(-errno, "%s/%s: %s", run_directory(), o->name,
				      strerror(errno));
		bytes -= bytes % (ssize_t)sizeof(records[0]);
		for (size_t i = 0; i < (size_t)bytes / sizeof(records[0]); i++)
			take(o, &records[i]);
		o->offset += bytes;
	} while (bytes == sizeof(records));
	/* A recorder runs for months: what was taken needs no memory any more. */
	if (o->offset - o->given_back > TAKEN_MAX &&
	    !fallocate(o->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, o->offset))
		o->given_back = o->offset;
	return 0;
}

bool observer_awaits(struct observer *o)
{
	bool awaits = false;

	for (struct account *a = o->accounts; a; a = a->hh.next)
		awaits |= !a->met && !a->ended && a->looks++ < LOOKS_MAX;
	return awaits;
}

bool observer_knows(const struct observer *o, __u64 id)
{
	return observer_find(o, id);
}

__u64 observer_works_since(const struct observer *o, __u64 id)
{
	const struct account *account = observer_find(o, id);

	return account ? account->works_ns : 0;
}

void observer_met(struct observer *o, __u64 id)
{
	struct account *account = observer_find(o, id);

	if (account)
		account->met = true;
}

void observer_gone(struct observer *o, __u64 id, __u64 seen)
{
	struct account *account = observer_find(o, id);

	if (!account)
		return;
	account->gone = true;
	account->seen = seen;
}

/* One that was met and goes on has given all it had; the next I/O is after the end. */
static bool is_open(const struct account *account)
{
	return account->gone || !account->met;
}

static bool is_held(const struct observer *o, const struct account *account)
{
	struct flock lock = {.l_type = F_WRLCK, .l_start = (off_t)account->id, .l_len = 1};

	return fcntl(o->fd, F_OFD_GETLK, &lock) || lock.l_type != F_UNLCK;
}

/* Whether nothing can come of it any more. Whoever was dead before the last read has told nothing since. */
static bool observer_is_over(const struct observer *o, struct account *account)
{
	bool was_dead = account->dead;

	if (account->ended || !account->held)
		return account->ended;
	account->dead = !is_held(o, account);
	return was_dead;
}

void observer_settle(struct observer *o)
{
	struct account *account, *next;

	HASH_ITER(hh, o->accounts, account, next) {
		if (!is_open(account) || !observer_is_over(o, account))
			continue;
		o->counts.unknown += !account->ended;
		o->counts.machines_missed += account->ended && !account->met;
		if (account->produced > account->seen)
			o->counts.missed += account->produced - account->seen;
		HASH_DEL(o->accounts, account);
		free(account);
	}
}

bool observer_is_settled(const struct observer *o)
{
	for (const struct account *a = o->accounts; a; a = a->hh.next)
		if (is_open(a))
			return false;
	return true;
}

void observer_finish(struct observer *o)
{
	for (const struct account *a = o->accounts; a; a = a->hh.next)
		o->counts.unknown += is_open(a);
}

void observer_counts(const struct observer *o, struct observer_counts *counts)
{
	*counts = o->counts;
}

struct unmet_machine {
	char file[NAME_MAX + 1];
	unsigned int look; /* the last that found it */
	UT_hash_handle hh;
};

void unmet_look_begin(struct unmet *unmet)
{
	unmet->look++;
}

static struct unmet_machine *unmet_add(struct unmet *unmet, const char *file)
{
	struct unmet_machine *machine = calloc(1, sizeof(*machine));

	if (machine) {
		snprintf(machine->file, sizeof(machine->file), "%s", file);
		HASH_ADD_STR(unmet->machines, file, machine);
		if (machine->hh.tbl)
			return machine;
	}
	free(machine);
	return NULL;
}

void unmet_wait(struct unmet *unmet, const char *file, bool anew)
{
	struct unmet_machine *machine;

	HASH_FIND_STR(unmet->machines, file, machine);
	if (!machine && anew) {
		machine = unmet_add(unmet, file);
		unmet->ended += !machine; /* without memory: better told twice than not at all */
	}
	if (machine)
		machine->look = unmet->look;
}

static void unmet_forget(struct unmet *unmet, struct unmet_machine *machine)
{
	HASH_DEL(unmet->machines, machine);
	free(machine);
}

void unmet_look_end(struct unmet *unmet)
{
	struct unmet_machine *machine, *next;

	HASH_ITER(hh, unmet->machines, machine, next) {
		if (machine->look == unmet->look)
			continue;
		unmet->ended++;
		unmet_forget(unmet, machine);
	}
}

bool unmet_take(struct unmet *unmet, const char *file)
{
	struct unmet_machine *machine;

	HASH_FIND_STR(unmet->machines, file, machine);
	if (machine)
		unmet_forget(unmet, machine);
	return machine;
}

__u64 unmet_count(const struct unmet *unmet)
{
	return unmet->ended + HASH_COUNT(unmet->machines);
}

void unmet_clear(struct unmet *unmet)
{
	struct unmet_machine *machine, *next;

	HASH_ITER(hh, unmet->machines, machine, next)
		unmet_forget(unmet, machine);
}
