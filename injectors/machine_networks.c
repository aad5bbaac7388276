// SPDX-License-Identifier: GPL-2.0
#include "injectors/machine_networks.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injectors/net/netns.h"
#include "lib/base/fail.h"
#include "lib/base/proc.h"
#include "lib/base/run_directory.h"
#include "lib/capture/hello.h"

#define ACCEPTED_TEXT 1024

static const char *const side_names[NETWORK_SIDES] = {
	[NETWORK_GUEST] = "guest", [NETWORK_WIRE] = "wire"};

static void accepted_add(char text[ACCEPTED_TEXT], const char *word)
{
	size_t length = strlen(text);

	snprintf(text + length, ACCEPTED_TEXT - length, "%s%s", length ? ", " : "", word);
}

/* The kernel says who listens, whatever the file is called. */
static bool machine_speaks(int directory, pid_t pid)
{
	socklen_t size = sizeof(struct ucred);
	struct ucred peer;
	char file[32];
	bool same;
	int fd;

	snprintf(file, sizeof(file), "%d" RUN_MACHINE_SUFFIX, pid);
	fd = hello_connect(directory, file);
	if (fd < 0)
		return false;
	same = !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && !peer.uid &&
	       peer.pid == pid;
	close(fd);
	return same;
}

/* Those that answer. */
static const char *list_machines(int directory, char text[ACCEPTED_TEXT])
{
	int copy = fcntl(directory, F_DUPFD_CLOEXEC, 0);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	text[0] = '\0';
	while (dir && (entry = readdir(dir))) {
		char *suffix = strstr(entry->d_name, RUN_MACHINE_SUFFIX);

		if (!suffix || strcmp(suffix, RUN_MACHINE_SUFFIX) != 0)
			continue;
		*suffix = '\0';
		if (machine_speaks(directory, (pid_t)strtol(entry->d_name, NULL, 10)))
			accepted_add(text, entry->d_name);
	}
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
	return *text ? text : "none runs now";
}

int machine_is_running(pid_t pid)
{
	int directory = run_directory_open(false);
	char text[ACCEPTED_TEXT];
	int err = 0;

	if (directory < 0 && directory != -ENOENT)
		return directory;
	if (directory < 0 || !machine_speaks(directory, pid))
		err = failed(-ESRCH,
			     "process %d is no emulated machine; accepted: the PID of one that "
			     "runs (%s)",
			     pid, directory < 0 ? "none runs now" : list_machines(directory, text));
	if (directory >= 0)
		close(directory);
	return err;
}

/* Calls `each` with every namespace that the process has open, until it returns something else than 0. */
static int each_netns(pid_t pid,
		      int (*each)(void *argument, int fds, const char *name, __u64 inode),
		      void *argument)
{
	char path[64], link[64];
	struct dirent *entry;
	int found = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "%s/%d/fd", proc_root(), pid);
	directory = opendir(path);
	if (!directory)
		return failed(-errno, "%s: %s", path, strerror(errno));
	while (!found && (entry = readdir(directory))) {
		ssize_t size = readlinkat(dirfd(directory), entry->d_name, link, sizeof(link) - 1);
		unsigned long long inode;

		link[size < 0 ? 0 : size] = '\0';
		if (sscanf(link, "net:[%llu]", &inode) == 1)
			found = each(argument, dirfd(directory), entry->d_name, inode);
	}
	closedir(directory);
	return found;
}

static int open_that(void *argument, int fds, const char *name, __u64 inode)
{
	int fd;

	if (inode != *(const __u64 *)argument)
		return 0;
	fd = openat(fds, name, O_RDONLY | O_CLOEXEC);
	/* Closed since, and its number maybe another file's by now. */
	if (fd >= 0 && netns_inode(fd) == inode)
		return fd;
	if (fd >= 0)
		close(fd);
	return 0;
}

int machine_open_netns(pid_t pid, __u64 inode)
{
	int fd = each_netns(pid, open_that, &inode);

	return fd ? fd : failed(-ESRCH, "machine %d has closed its network by now", pid);
}

/* In a namespace: the side that its address makes it. */
static int look_at_side(void *argument)
{
	struct machine_side *side = argument;
	struct ifaddrs *all, *each;
	struct in_addr guest, wire;

	inet_pton(AF_INET, NETWORK_GUEST_ADDRESS, &guest);
	inet_pton(AF_INET, NETWORK_WIRE_ADDRESS, &wire);
	if (getifaddrs(&all))
		return failed(-errno, "the addresses of a machine's network: %s", strerror(errno));
	for (each = all; each; each = each->ifa_next) {
		const struct sockaddr_in *address = (const void *)each->ifa_addr;

		if (!address || address->sin_family != AF_INET ||
		    (address->sin_addr.s_addr != guest.s_addr &&
		     address->sin_addr.s_addr != wire.s_addr))
			continue;
		side->side =
			address->sin_addr.s_addr == guest.s_addr ? NETWORK_GUEST : NETWORK_WIRE;
		snprintf(side->name, sizeof(side->name), "%s", each->ifa_name);
	}
	freeifaddrs(all);
	return 0;
}

static int take_side(void *argument, int fds, const char *name, __u64 inode)
{
	struct machine_sides *sides = argument;
	struct machine_side side = {.inode = inode};
	int fd, err;

	for (size_t i = 0; i < sides->count; i++)
		if (sides->sides[i].inode == inode)
			return 0;
	if (sides->count == MACHINE_SIDES_MOST)
		return 0;
	fd = openat(fds, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	err = netns_run(fd, look_at_side, &side);
	close(fd);
	if (!err && side.name[0])
		sides->sides[sides->count++] = side;
	return err;
}

int machine_list_sides(pid_t pid, struct machine_sides *sides)
{
	int err;

	sides->count = 0;
	err = each_netns(pid, take_side, sides);
	if (err)
		return err;
	return sides->count
		       ? 0
		       : failed(-ENOENT,
				"machine %d has no network; accepted: one with a nic whose wire "
				"is a tap",
				pid);
}

/* "guest" or "DEVICE:guest". */
static bool side_is_meant(const struct machine_side *side, const char *text)
{
	const char *colon = strrchr(text, ':'), *slash;
	char device[256], name[IFNAMSIZ];

	if (strcmp(colon ? colon + 1 : text, side_names[side->side]) != 0)
		return false;
	if (!colon)
		return true;
	if (colon == text || colon - text >= (ptrdiff_t)sizeof(device))
		return false;
	snprintf(device, sizeof(device), "%.*s", (int)(colon - text), text);
	slash = strrchr(device, '/');
	network_name(slash ? slash + 1 : device, name);
	return !strcmp(name, side->name);
}

const struct machine_side *machine_choose_side(pid_t pid, const struct machine_sides *sides,
					       const char *text)
{
	const struct machine_side *chosen = NULL;
	char accepted[ACCEPTED_TEXT] = "", word[IFNAMSIZ + 8];
	size_t meant = 0;

	for (size_t i = 0; i < sides->count; i++) {
		const struct machine_side *side = &sides->sides[i];

		snprintf(word, sizeof(word), "%s:%s", side->name, side_names[side->side]);
		accepted_add(accepted, word);
		if (!side_is_meant(side, text))
			continue;
		chosen = side;
		meant++;
	}
	if (meant == 1)
		return chosen;
	failed(-EINVAL, "'%s' is %s of machine %d; accepted: %s%s", text,
	       meant ? "more than one side" : "no side", pid,
	       sides->count == 2 ? "guest, wire, " : "", accepted);
	return NULL;
}
