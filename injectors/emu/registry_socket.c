// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/registry_socket.h"

#include "injectors/emu/registry_observers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/base/run_directory.h"

#define BACKLOG	   64
#define NEW_SUFFIX ".new" /* bound, not yet listening */

/* An address below the directory's descriptor: no path is walked twice, none is too long. */
static bool registry_socket_address(struct sockaddr_un *address, int directory, const char *name,
				    const char *suffix)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	return (size_t)snprintf(address->sun_path, sizeof(address->sun_path),
				"/proc/self/fd/%d/%s%s", directory, name,
				suffix) < sizeof(address->sun_path);
}

int registry_socket_listen(int directory, const char *name)
{
	struct sockaddr_un address;
	char new_name[64];
	int listening, err;

	snprintf(new_name, sizeof(new_name), "%s%s", name, NEW_SUFFIX);
	listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listening < 0)
		return failed(-errno, "cannot make a socket: %s", strerror(errno));
	if (!registry_socket_address(&address, directory, name, NEW_SUFFIX)) {
		err = failed(-ENAMETOOLONG, "%s: name too long", name);
		goto close_socket;
	}
	unlinkat(directory, new_name, 0);
	if (bind(listening, (struct sockaddr *)&address, sizeof(address))) {
		err = failed(-errno, "%s/%s: cannot bind a socket: %s", run_directory(), new_name,
			     strerror(errno));
		goto close_socket;
	}
	if (fchmodat(directory, new_name, 0600, 0) || listen(listening, BACKLOG) ||
	    renameat(directory, new_name, directory, name)) {
		err = failed(-errno, "%s/%s: cannot listen: %s", run_directory(), name,
			     strerror(errno));
		unlinkat(directory, new_name, 0);
		goto close_socket;
	}
	return listening;

close_socket:
	close(listening);
	return err;
}

/* Whether it is a socket that refuses connections. */
static bool socket_is_dead(int directory, const char *name)
{
	struct sockaddr_un address;
	struct stat status;
	bool dead;
	int probe;

	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISSOCK(status.st_mode) ||
	    !registry_socket_address(&address, directory, name, ""))
		return false;
	probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (probe < 0)
		return false;
	dead = connect(probe, (struct sockaddr *)&address, sizeof(address)) &&
	       errno == ECONNREFUSED;
	close(probe);
	return dead;
}

/* What a machine has for its virtual machines goes with it; nobody is asked by a connection, which would be taken for theirs. */
static bool owner_is_dead(const char *name)
{
	long pid = strtol(name, NULL, 10);

	return pid > 0 && kill((pid_t)pid, 0) && errno == ESRCH;
}

static bool is_dead(int directory, const char *name)
{
	if (strstr(name, RUN_SOCKET_INFIX))
		return owner_is_dead(name);
	if (strstr(name, RUN_MACHINE_SUFFIX))
		return socket_is_dead(directory, name);
	return registry_observer_is_dead(directory, name);
}

int registry_socket_reap(int directory)
{
	const struct dirent *entry;
	int copy, count = 0;
	DIR *listing;

	copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	listing = copy >= 0 ? fdopendir(copy) : NULL;
	if (!listing) {
		int err =
			failed(-errno, "%s: cannot list it: %s", run_directory(), strerror(errno));

		if (copy >= 0)
			close(copy);
		return err;
	}
	while ((entry = readdir(listing)))
		if (is_dead(directory, entry->d_name) && !unlinkat(directory, entry->d_name, 0))
			count++;
	closedir(listing);
	return count;
}
