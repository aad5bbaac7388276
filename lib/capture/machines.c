// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/machines.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/proc.h"
#include "lib/capture/access_reader.h"
#include "lib/capture/observer.h"
#include "lib/capture/pid_namespace.h"
#include "lib/capture/process.h"

#define MACHINES_MAX  512 /* a socket each, of the 1024 files that a process may have */
#define SCAN_NS	      (100 * NSEC_PER_MSEC)
#define MEET_NS	      (50 * NSEC_PER_MSEC)
#define FINISH_NS     (200 * NSEC_PER_MSEC) /* for what machines are telling just now */
#define RECORDS	      512
#define ACCESS_BYTES  (2u << 20) /* the most that one request of a device moves */
#define FILE_NAME_MAX 32

enum machine_state {
	MACHINE_CONNECTED, /* its hello is awaited */
	MACHINE_KNOWN,
	MACHINE_REFUSED, /* not to be believed; kept until it ends so as not to ask again */
};

struct machine {
	char file[FILE_NAME_MAX]; /* in the run directory; a key, not a claim that is believed */
	enum machine_state state;
	int socket;
	__u32 pid;
	__u64 start_time;
	struct machine_device *devices;
	size_t device_count;
	struct access_reader log; /* .ring NULL: it has none, or it was damaged */
	__u64 id;
	__u64 seen; /* I/Os received, or lost because their records were invalid */
};

struct machines {
	const struct machines_ops *ops;
	void *self;
	struct observer *observer; /* NULL: there is no run directory, and so no machine */
	struct machine list[MACHINES_MAX];
	__u64 unwatched; /* the most that were there at once beyond what can be watched */
	size_t count;
	__u64 created_ticks; /* our own start: machines older than that have a past */
	__u64 next_scan_ns;
	__u64 received;
	__u64 lost; /* of machines that have ended, and of records that were invalid */
	char *text; /* room for a hello */
};

int machines_create(struct machines **machines, const struct machines_ops *ops, void *self)
{
	struct machines *m = calloc(1, sizeof(*m));

	if (m)
		m->text = malloc(HELLO_MAX);
	if (!m || !m->text) {
		free(m);
		return failed(-ENOMEM, "no memory to watch machines");
	}
	m->ops = ops;
	m->self = self;
	m->created_ticks = process_start(getpid());
	if (observer_open(&m->observer))
		m->observer = NULL;
	*machines = m;
	return 0;
}

static void release(struct machine *machine)
{
	close(machine->socket);
	free(machine->devices);
	access_reader_close(&machine->log);
}

void machines_destroy(struct machines *machines)
{
	if (!machines)
		return;
	for (size_t i = 0; i < machines->count; i++)
		release(&machines->list[i]);
	observer_close(machines->observer);
	free(machines->text);
	free(machines);
}

static void socket_address(int directory, const char *file, struct sockaddr_un *address)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	/* Through the descriptor: the directory that was checked, however long its path. */
	snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s", directory,
		 file);
}

static int connect_to(int directory, const char *file)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	int error;

	if (fd < 0)
		return -errno;
	socket_address(directory, file, &address);
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

/* Removes a socket that nobody listens on; under the lock that its maker holds as well. */
static void reap(int directory, const char *file)
{
	int fd;

	if (flock(directory, LOCK_EX | LOCK_NB))
		return;
	fd = connect_to(directory, file);
	if (fd == -ECONNREFUSED)
		unlinkat(directory, file, 0);
	else if (fd >= 0)
		close(fd);
	flock(directory, LOCK_UN);
}

/* Whether it is watched, or has gone; false if there is no room for it. */
static bool find(struct machines *m, int directory, const char *file)
{
	struct machine *machine;
	int fd;

	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->list[i].file, file))
			return true;
	if (m->count == MACHINES_MAX || strlen(file) >= FILE_NAME_MAX)
		return false;
	fd = connect_to(directory, file);
	if (fd == -ECONNREFUSED)
		reap(directory, file);
	if (fd < 0)
		return fd == -ECONNREFUSED || fd == -ENOENT;
	machine = &m->list[m->count];
	memset(machine, 0, sizeof(*machine));
	strcpy(machine->file, file);
	machine->socket = fd;
	m->count++;
	return true;
}

static void scan(struct machines *m)
{
	int fd = run_directory_open(false);
	struct dirent *entry;
	__u64 unwatched = 0;
	DIR *directory;

	if (fd < 0)
		return; /* none, or not root's alone: nothing in it is believed */
	directory = fdopendir(fd);
	if (!directory) {
		close(fd);
		return;
	}
	while ((entry = readdir(directory))) {
		const char *suffix = strchr(entry->d_name, '.');

		if (suffix && suffix > entry->d_name && !strcmp(suffix, RUN_MACHINE_SUFFIX))
			unwatched += !find(m, fd, entry->d_name);
	}
	closedir(directory);
	if (unwatched > m->unwatched)
		m->unwatched = unwatched;
}

/* The hello with the ring's descriptor. Bytes, 0 if it is not there yet, or a negative errno. */
static long receive(struct machine *machine, char *text, int *ring)
{
	union {
		char buffer[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {text, HELLO_MAX};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buffer,
		.msg_controllen = sizeof(control.buffer),
	};
	ssize_t bytes = recvmsg(machine->socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *header;

	*ring = -1;
	if (bytes < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ring, CMSG_DATA(header), sizeof(int));
	if (!bytes || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return -EPROTO;
	return bytes;
}

/*
 * Is the peer who the hello says, and an emulator? A pid is that of its teller's pid namespace, so
 * what the hello says is replaced by what the kernel says; the start time is the same everywhere.
 */
static int believe(struct machines *m, struct machine *machine, struct hello *hello)
{
	socklen_t length = sizeof(struct ucred);
	struct ucred peer;
	char path[64];
	int executable, error;

	if (getsockopt(machine->socket, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return failed(-errno, "peer credentials: %s", strerror(errno));
	if (peer.uid || peer.pid <= 0)
		return failed(-EPERM, "process %d of user %u speaks for a machine", peer.pid,
			      peer.uid);
	snprintf(path, sizeof(path), "%s/%d/exe", proc_root(), peer.pid);
	executable = open(path, O_RDONLY | O_CLOEXEC);
	if (executable < 0)
		return failed(-errno, "%s: %s", path, strerror(errno));
	/* Asked after opening: then the file belongs to the process that the hello means. */
	if (process_start(peer.pid) != hello->start_time)
		error = failed(-EPERM, "process %d did not start at tick %llu", peer.pid,
			       hello->start_time);
	else
		error = m->ops->trust(m->self, peer.pid, executable);
	close(executable);
	if (error)
		return error;
	hello->pid = pid_to_kernel(peer.pid);
	return hello->pid ? 0 : -ESRCH;
}

static int know(struct machines *m, struct machine *machine, const struct hello *hello, int ring)
{
	bool ours;

	/* One that has begun since we looked has told so before it could be met. What fails fails again soon. */
	if (m->observer && !observer_knows(m->observer, hello->id))
		observer_read(m->observer);
	/* From its first record on, if it began after us: a process may have run machines before. */
	ours = hello->start_time >= m->created_ticks ||
	       (m->observer && observer_knows(m->observer, hello->id));
	machine->devices = calloc(hello->device_count + 1, sizeof(machine->devices[0]));
	if (!machine->devices)
		return failed(-ENOMEM, "no memory for %zu devices", hello->device_count);
	machine->pid = hello->pid;
	machine->start_time = hello->start_time;
	machine->device_count = hello->device_count;
	machine->id = hello->id;
	if (m->observer)
		observer_met(m->observer, hello->id);
	for (size_t i = 0; i < hello->device_count; i++) {
		machine->devices[i].hello = hello->devices[i];
		machine->devices[i].handle = m->ops->device(m->self, hello, &hello->devices[i]);
	}
	if (ring >= 0 && access_reader_open(&machine->log, ring, ours))
		machine->log.ring = NULL; /* its faults are seen all the same */
	return 0;
}

static void await_hello(struct machines *m, struct machine *machine)
{
	struct hello hello = {};
	int ring, error;
	long bytes = receive(machine, m->text, &ring);

	if (bytes) {
		error = bytes < 0 ? (int)bytes : hello_parse(m->text, bytes, &hello);
		if (!error)
			error = believe(m, machine, &hello);
		if (!error)
			error = know(m, machine, &hello, ring);
		machine->state = error ? MACHINE_REFUSED : MACHINE_KNOWN;
		/* It need not stay for us any longer. */
		shutdown(machine->socket, SHUT_WR);
		if (error)
			m->ops->refused(m->self);
		hello_free(&hello);
	}
	if (ring >= 0)
		close(ring);
}

static bool valid(const struct machine *machine, const struct access_record *record)
{
	const unsigned int access = EVENT_READ | EVENT_WRITE;

	return record->device < machine->device_count && machine->devices[record->device].handle &&
	       record->length <= ACCESS_BYTES && record->length &&
	       record->address + record->length > record->address && record->flags & access &&
	       !(record->flags & ~access) &&
	       (record->code & ~(IO_FAULTED | IO_PART | IO_SOURCE)) <= IO_ERROR;
}

static int read_log(struct machines *m, struct machine *machine)
{
	struct access_record records[RECORDS];
	/* One capacity a pass: a producer faster than we are must not keep us here. */
	long budget = machine->log.ring ? (long)machine->log.capacity : 0, count;

	while (budget > 0) {
		count = access_reader_read(&machine->log, records, RECORDS);
		if (count < 0) {
			m->lost += machine->log.lost;
			machine->seen += machine->log.lost;
			access_reader_close(&machine->log);
			memset(&machine->log, 0, sizeof(machine->log));
			return 0;
		}
		for (long i = 0; i < count; i++) {
			const struct access_record *record = &records[i];
			int error;

			machine->seen++;
			if (!valid(machine, record)) {
				m->lost++;
				continue;
			}
			m->received++;
			error = m->ops->access(m->self, machine->pid,
					       &machine->devices[record->device], record);
			if (error)
				return error;
		}
		if (!count && __atomic_load_n(&machine->log.ring->head, __ATOMIC_RELAXED) ==
				      machine->log.cursor)
			break;
		budget -= RECORDS;
	}
	return 0;
}

static bool ended(const struct machine *machine)
{
	struct pollfd look = {.fd = machine->socket, .events = POLLRDHUP};

	return poll(&look, 1, 0) > 0 && look.revents & (POLLHUP | POLLRDHUP | POLLERR);
}

static int step(struct machines *m, struct machine *machine, bool *gone)
{
	int error;

	if (machine->state == MACHINE_CONNECTED)
		await_hello(m, machine);
	*gone = ended(machine);
	if (machine->state != MACHINE_KNOWN)
		return 0;
	/* After asking for its end: then all it has published is read. */
	error = read_log(m, machine);
	if (!error && *gone) {
		m->lost += machine->log.lost;
		if (m->observer)
			observer_gone(m->observer, machine->id, machine->seen + machine->log.lost);
		error = m->ops->gone(m->self, machine->pid, machine->start_time);
	}
	return error;
}

static int step_all(struct machines *m)
{
	for (size_t i = m->count; i-- > 0;) {
		bool gone;
		int error = step(m, &m->list[i], &gone);

		if (gone) {
			release(&m->list[i]);
			m->list[i] = m->list[--m->count];
		}
		if (error)
			return error;
	}
	return 0;
}

int machines_poll(struct machines *machines, __u64 now_ns)
{
	struct observer *observer = machines->observer;
	int error = observer ? observer_read(observer) : 0;

	if (error)
		return error;
	if (now_ns >= machines->next_scan_ns || (observer && observer_awaits(observer))) {
		machines->next_scan_ns = now_ns + SCAN_NS;
		scan(machines);
	}
	error = step_all(machines);
	/* Whoever had told its end before this pass has served all that was connected to it. */
	if (observer)
		observer_settle(observer);
	return error;
}

int machines_finish(struct machines *machines)
{
	struct timespec pause = {.tv_nsec = NSEC_PER_MSEC};
	__u64 now = monotonic_ns(), deadline = now + FINISH_NS;
	int error = machines_poll(machines, now);

	while (!error && machines->observer && !observer_is_settled(machines->observer) &&
	       now < deadline) {
		nanosleep(&pause, NULL);
		now = monotonic_ns();
		error = machines_poll(machines, now);
	}
	if (!error && machines->observer)
		observer_finish(machines->observer);
	return error;
}

/* Asked of the kernel: the name of its socket has the pid of the machine's own namespace. */
static bool speaks_for(const struct machine *machine, __u32 local_pid)
{
	socklen_t length = sizeof(struct ucred);
	struct ucred peer;

	return !getsockopt(machine->socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) &&
	       peer.pid > 0 && (__u32)peer.pid == local_pid;
}

int machines_meet(struct machines *machines, __u32 pid)
{
	struct pollfd look = {.events = POLLIN};
	__u32 local = pid_to_local(pid);

	scan(machines);
	for (size_t i = 0; i < machines->count; i++) {
		struct machine *machine = &machines->list[i];

		if (machine->state != MACHINE_CONNECTED || !speaks_for(machine, local))
			continue;
		look.fd = machine->socket;
		poll(&look, 1, MEET_NS / NSEC_PER_MSEC);
		await_hello(machines, machine);
	}
	return 0;
}

static const struct machine *machine_of(const struct machines *machines, __u32 pid,
					__u64 start_time)
{
	for (size_t i = 0; i < machines->count; i++) {
		const struct machine *machine = &machines->list[i];

		if (machine->state == MACHINE_KNOWN && machine->pid == pid &&
		    machine->start_time == start_time)
			return machine;
	}
	return NULL;
}

const struct hello_device *machines_find(const struct machines *machines, __u32 pid,
					 __u64 start_time, __u64 index)
{
	const struct machine *machine = machine_of(machines, pid, start_time);

	return machine && index < machine->device_count ? &machine->devices[index].hello : NULL;
}

bool machines_knows(const struct machines *machines, __u32 pid, __u64 start_time)
{
	return machine_of(machines, pid, start_time);
}

size_t machines_count(const struct machines *machines)
{
	return machines->count;
}

void machines_loss(const struct machines *machines, struct loss_info *loss)
{
	struct observer_counts counts = {0};

	if (machines->observer)
		observer_counts(machines->observer, &counts);
	loss->access_received = machines->received;
	loss->access_lost = machines->lost;
	for (size_t i = 0; i < machines->count; i++)
		loss->access_lost += machines->list[i].log.lost;
	loss->access_missed = counts.missed;
	loss->machines_missed = counts.machines_missed;
	loss->machines_unknown =
		counts.unknown > machines->unwatched ? counts.unknown : machines->unwatched;
}
