// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/registry_observers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/run_directory.h"

static int observer_tell(int fd, const struct machine_record *record)
{
	if (write(fd, record, sizeof(*record)) == sizeof(*record))
		return 0;
	return failed(errno ? -errno : -EIO, "%s: an observer cannot be told of a machine: %s",
		      run_directory(), strerror(errno));
}

/* As long as we live: who is killed tells no end, and is known to be dead by that (lib/capture/observer.h). */
static bool observer_hold(int fd, __u64 id)
{
	struct flock lock = {.l_type = F_WRLCK, .l_start = (off_t)id, .l_len = 1};

	return !fcntl(fd, F_OFD_SETLK, &lock);
}

int registry_observers_tell_begin(struct registry_observers *observers, int directory)
{
	struct machine_record record = {.what = MACHINE_BEGAN};
	const struct dirent *entry;
	int copy, err = 0;
	DIR *listing;

	if (getrandom(&record.id, sizeof(record.id), 0) != sizeof(record.id))
		return failed(-errno, "no random numbers: %s", strerror(errno));
	record.id = (record.id & INT64_MAX) | 1;
	observers->id = record.id;
	copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	listing = copy >= 0 ? fdopendir(copy) : NULL;
	if (!listing) {
		err = failed(-errno, "%s: cannot list it: %s", run_directory(), strerror(errno));
		if (copy >= 0)
			close(copy);
		return err;
	}
	while (!err && observers->count < OBSERVERS_MAX && (entry = readdir(listing))) {
		int fd = observer_is_file(entry->d_name)
				 ? openat(directory, entry->d_name,
					  O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC)
				 : -1;

		if (fd < 0)
			continue;
		observers->fds[observers->count++] = fd;
		record.held = observer_hold(fd, record.id);
		err = observer_tell(fd, &record);
	}
	closedir(listing);
	return err;
}

unsigned int registry_observers_alive(const struct registry_observers *observers)
{
	unsigned int alive = 0;

	for (unsigned int i = 0; i < observers->count; i++)
		alive += observer_is_alive(observers->fds[i]);
	return alive;
}

void registry_observers_tell_late(const struct registry_observers *observers)
{
	const struct machine_record record = {
		.id = observers->id, .works_ns = monotonic_ns(), .what = MACHINE_WORKS};

	for (unsigned int i = 0; i < observers->count; i++)
		observer_tell(observers->fds[i], &record);
}

void registry_observers_tell_end(struct registry_observers *observers, __u64 produced)
{
	const struct machine_record record = {
		.id = observers->id, .produced = produced, .what = MACHINE_ENDED};

	for (unsigned int i = 0; i < observers->count; i++) {
		/* Who cannot be told misses a total, and counts it as unknown. */
		observer_tell(observers->fds[i], &record);
		close(observers->fds[i]);
	}
	observers->count = 0;
}

bool registry_observer_is_dead(int directory, const char *name)
{
	int fd = observer_is_file(name) ? openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
					: -1;
	bool dead = fd >= 0 && !observer_is_alive(fd);

	if (fd >= 0)
		close(fd);
	return dead;
}
