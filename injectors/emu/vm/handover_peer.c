// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injectors/emu/vm/arguments.h"
#include "injectors/emu/vm/handover_private.h"
#include "lib/base/fail.h"
#include "lib/base/printable.h"
#include "lib/base/proc.h"

#define ARGUMENTS_MOST	1024
#define ARGUMENTS_BYTES (64u << 10)

/* A file of its in /proc, as a string; bytes, 0: it cannot be read. */
static size_t read_of_process(pid_t pid, const char *name, char *text, size_t room)
{
	char path[320];
	ssize_t got, all = 0;
	int file;

	snprintf(path, sizeof(path), "%s/%d/%s", proc_root(), (int)pid, name);
	file = open(path, O_RDONLY | O_CLOEXEC);
	while (file >= 0 && (size_t)all < room - 1 &&
	       (got = read(file, text + all, room - 1 - (size_t)all)) > 0)
		all += got;
	if (file >= 0)
		close(file);
	text[all] = '\0';
	return (size_t)all;
}

static size_t split(const char *text, size_t bytes, const char **arguments, size_t most)
{
	size_t count = 0;

	for (size_t at = 0; at < bytes && count < most; at += strlen(text + at) + 1)
		arguments[count++] = text + at;
	return count;
}

/* QEMU's own words, its name among them. */
static int arguments_look(pid_t pid, struct vm_arguments *said)
{
	const char **arguments = calloc(ARGUMENTS_MOST, sizeof(*arguments));
	char *text = malloc(ARGUMENTS_BYTES);
	int error = 0;

	*said = (struct vm_arguments){0};
	if (!arguments || !text) {
		error = failed(-ENOMEM, "no memory to look at process %d", (int)pid);
	} else {
		size_t bytes = read_of_process(pid, "cmdline", text, ARGUMENTS_BYTES);
		size_t count = split(text, bytes, arguments, ARGUMENTS_MOST);

		if (count)
			error = vm_arguments_check(arguments + 1, count - 1, said);
		else
			error = failed(-ESRCH, "process %d: its arguments cannot be read",
				       (int)pid);
	}
	free(arguments);
	free(text);
	return error;
}

int vm_peer_look(int socket, struct vm_status *status, int *process)
{
	struct vm_arguments said;
	struct ucred peer;
	socklen_t bytes = sizeof(peer);
	char name[VM_QEMU_NAME];
	int error;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) || peer.pid <= 0)
		return failed(-ESRCH, "whoever asks for memory is in a pid namespace that this one "
				      "does not see");
	*process = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	if (*process < 0)
		return failed(-errno, "process %d asks for memory: %s", (int)peer.pid,
			      strerror(errno));
	error = arguments_look(peer.pid, &said);
	if (error) {
		close(*process);
		*process = -1;
		return error;
	}
	read_of_process(peer.pid, "comm", name, sizeof(name));
	name[strcspn(name, "\n")] = '\0';
	printable(*said.name ? said.name : name, status->name, sizeof(status->name));
	status->pid = peer.pid;
	status->kvm = said.kvm;
	return 0;
}
