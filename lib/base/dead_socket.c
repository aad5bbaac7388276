// SPDX-License-Identifier: GPL-2.0
#include "lib/base/dead_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static bool refuses_connections(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat status;
	bool dead;
	int probe;

	if (strlen(path) >= sizeof(address.sun_path) || lstat(path, &status) ||
	    !S_ISSOCK(status.st_mode))
		return false;
	memcpy(address.sun_path, path, strlen(path) + 1);
	/* One that is listened on with another type says EPROTOTYPE. */
	probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (probe < 0)
		return false;
	dead = connect(probe, (const struct sockaddr *)&address, sizeof(address)) &&
	       errno == ECONNREFUSED;
	close(probe);
	return dead;
}

bool dead_socket_remove(const char *path)
{
	int before = errno;
	bool removed = refuses_connections(path) && !unlink(path);

	errno = before;
	return removed;
}
