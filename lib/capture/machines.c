// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/machines.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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
	MACHINE_REFUSED, /* not to be trusted; kept until it ends so as not to ask again */
};

struct capture_machine {
	char file[FILE_NAME_MAX]; /* in the run directory; a key, not a claim that is trusted */
	enum machine_state state;
	int socket;
	__u32 pid;
	__u64 start_time;
	struct capture_machine_device *devices;
	size_t device_count;
	int binary;		  /* that it runs, -1: not known yet */
	bool unaccounted;	  /* it will tell us no total */
	struct access_reader log; /* .ring NULL: it has none, or it was damaged */
	__u64 id;
	__u64 seen; /* I/Os received, or lost because their records were invalid */
};

struct machines {
	const struct machines_ops *ops;
	void *self;
	struct observer *
		observer; /* NULL: there is no run directory, and so no machine, or no room in it */
	char no_account[REASON_TEXT];
	struct capture_machine list[MACHINES_MAX];
	struct unmet unmet;
	__u64 uncounted; /* that told us no total, and of which not all was received */
	size_t count;
	__u64 created_ticks; /* our own start: machines older than that have a past */
	__u64 since_ns;	     /* of machines with a past: what completed since then is read */
	__u64 next_scan_ns;
	__u64 received;
	__u64 lost; /* of machines that have ended, and of records that were invalid */
	char *text; /* room for a hello */
};

static void machines_release(const struct machines *m, struct capture_machine *machine)
{
	if (machine->binary >= 0)
		m->ops->leave(m->self, machine->binary);
	close(machine->socket);
	free(machine->devices);
	access_reader_close(&machine->log);
}

void machines_destroy(struct machines *machines)
{
	if (!machines)
		return;
	for (size_t i = 0; i < machines->count; i++)
		machines_release(machines, &machines->list[i]);
	unmet_clear(&machines->unmet);
	observer_close(machines->observer);
	free(machines->text);
	free(machines);
}

/* Whether it is watched, or has gone; false if there is no room for it, or it has none for us. */
static bool machines_find(struct machines *m, int directory, const char *file, bool unaccounted)
{
	struct capture_machine *machine;
	int fd;

	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->list[i].file, file))
			return true;
	if (m->count == MACHINES_MAX || strlen(file) >= FILE_NAME_MAX)
		return false;
	fd = hello_connect(directory, file);
	if (fd < 0)
		return fd == -ECONNREFUSED || fd == -ENOENT;
	machine = &m->list[m->count++];
	*machine = (struct capture_machine){.socket = fd, .binary = -1};
	strcpy(machine->file, file);
	machine->unaccounted = unmet_take(&m->unmet, file) || unaccounted;
	return true;
}

/* `unaccounted`: those that are found only now have told us of neither beginning nor end. */
static void machines_scan(struct machines *m, bool unaccounted)
{
	int fd = run_directory_open(false);
	struct dirent *entry;
	DIR *directory;

	if (fd < 0)
		return; /* none, or not root's alone: nothing in it is trusted */
	directory = fdopendir(fd);
	if (!directory) {
		close(fd);
		return;
	}
	unmet_look_begin(&m->unmet);
	while ((entry = readdir(directory))) {
		const char *suffix = strchr(entry->d_name, '.');

		if (suffix && suffix > entry->d_name && !strcmp(suffix, RUN_MACHINE_SUFFIX) &&
		    !machines_find(m, fd, entry->d_name, unaccounted))
			unmet_wait(&m->unmet, entry->d_name, unaccounted);
	}
	unmet_look_end(&m->unmet);
	closedir(directory);
}

/* Where there is a directory there will be machines: that they are not accounted for is worth a sentence. */
static void keep_no_account(struct machines *m)
{
	char reason[REASON_TEXT];
	int directory;

	m->observer = NULL;
	snprintf(reason, sizeof(reason), "%s", failure_text());
	directory = run_directory_open(false);
	if (directory < 0)
		return;
	close(directory);
	snprintf(m->no_account, sizeof(m->no_account), "%s", reason);
}

const char *machines_no_account(const struct machines *machines)
{
	return machines->no_account;
}

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
	m->since_ns = READ_FROM_NOW;
	m->created_ticks = process_start(getpid());
	if (observer_open(&m->observer))
		keep_no_account(m);
	/* They began before the account of them did. */
	machines_scan(m, true);
	*machines = m;
	return 0;
}

/*
 * Is the peer who the hello says, and an emulator? A pid is that of its teller's pid namespace, so
 * what the hello says is replaced by what the kernel says; the start time is the same everywhere.
 */
static int trust_peer(struct machines *m, struct capture_machine *machine, struct hello *hello)
{
	socklen_t length = sizeof(struct ucred);
	struct ucred peer;
	char path[64];
	int executable, binary;

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
		binary = failed(-EPERM, "process %d did not start at tick %llu", peer.pid,
				hello->start_time);
	else
		binary = m->ops->trust(m->self, peer.pid, executable);
	close(executable);
	if (binary < 0)
		return binary;
	machine->binary = binary;
	hello->pid = pid_to_kernel(peer.pid);
	return hello->pid ? 0 : failed(-ESRCH, "process %d has ended", peer.pid);
}

/* Not all that it produces will be received, for the reason that was told last. */
static void falls_short(struct machines *m, struct capture_machine *machine)
{
	m->uncounted += machine->unaccounted;
	machine->unaccounted = false;
	m->ops->refused(m->self);
}

/* The faults of one without are seen all the same; of its I/Os nothing is, as if it had not been met. */
static void open_log(struct machines *m, struct capture_machine *machine, const struct hello *hello,
		     int ring, __u64 since_ns)
{
	int error = ring < 0 ? failed(-EPROTO, "access log: was not handed over")
			     : access_reader_open(&machine->log, ring, since_ns);

	if (error) {
		machine->log.ring = NULL;
		failed_in(error, "process %u", hello->pid);
		falls_short(m, machine);
	} else if (m->observer) {
		observer_met(m->observer, hello->id);
	}
	m->uncounted += machine->log.late;
}

/* Its probes are attached by now: whether it worked before is told by now, too. */
static void know_beginning(struct machines *m, struct capture_machine *machine)
{
	__u64 works_ns, since_ns = m->ops->watched_since(m->self, machine->binary);

	observer_read(m->observer);
	works_ns = observer_works_since(m->observer, machine->id);
	if (!works_ns || works_ns >= since_ns)
		return;
	failed(-ETIME, "process %u worked for %llu ms before its probes were attached",
	       machine->pid, (since_ns - works_ns) / NSEC_PER_MSEC);
	machine->unaccounted = true;
	falls_short(m, machine);
}

static int know(struct machines *m, struct capture_machine *machine, const struct hello *hello,
		int ring)
{
	bool told;

	/* One that has begun since we looked has told so before it could be met. What fails fails again soon. */
	if (m->observer && !observer_knows(m->observer, hello->id))
		observer_read(m->observer);
	told = m->observer && observer_knows(m->observer, hello->id);
	machine->devices = calloc(hello->device_count + 1, sizeof(machine->devices[0]));
	if (!machine->devices)
		return failed(-ENOMEM, "no memory for %zu devices", hello->device_count);
	machine->pid = hello->pid;
	machine->start_time = hello->start_time;
	machine->device_count = hello->device_count;
	machine->id = hello->id;
	machine->unaccounted = !told;
	for (size_t i = 0; i < hello->device_count; i++) {
		machine->devices[i].hello = hello->devices[i];
		machine->devices[i].handle = m->ops->device(m->self, hello, &hello->devices[i]);
	}
	/* From its first record on, if it began after us: a process may have run machines before. */
	open_log(m, machine, hello, ring,
		 told || hello->start_time >= m->created_ticks ? 0 : m->since_ns);
	if (told && m->ops->watched_since)
		know_beginning(m, machine);
	return 0;
}

static void await_hello(struct machines *m, struct capture_machine *machine)
{
	struct hello hello = {};
	int ring, error;
	long bytes = hello_receive(machine->socket, m->text, &ring);

	if (bytes) {
		error = bytes < 0 ? (int)bytes : hello_parse(m->text, bytes, &hello);
		if (!error)
			error = trust_peer(m, machine, &hello);
		if (!error)
			error = know(m, machine, &hello, ring);
		machine->state = error ? MACHINE_REFUSED : MACHINE_KNOWN;
		/* It need not stay for us any longer. */
		shutdown(machine->socket, SHUT_WR);
		if (error)
			falls_short(m, machine);
		hello_free(&hello);
	}
	if (ring >= 0)
		close(ring);
}

static bool valid(const struct capture_machine *machine, const struct access_record *record)
{
	const unsigned int access = EVENT_READ | EVENT_WRITE;

	return record->device < machine->device_count && machine->devices[record->device].handle &&
	       record->length <= ACCESS_BYTES && record->length &&
	       record->address + record->length > record->address && record->flags & access &&
	       !(record->flags & ~access) &&
	       (record->code & ~(IO_FAULTED | IO_PART | IO_SOURCE)) <= IO_ERROR;
}

static int read_log(struct machines *m, struct capture_machine *machine)
{
	struct access_record records[RECORDS];
	/* One capacity a pass: a producer faster than we are must not keep us here. */
	long budget = machine->log.ring ? (long)machine->log.capacity : 0, count;

	while (budget > 0) {
		count = access_reader_read(&machine->log, records, RECORDS);
		if (count < 0) {
			m->lost += machine->log.lost;
			machine->seen += machine->log.lost;
			failed_in((int)count, "process %u", machine->pid);
			falls_short(m, machine);
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

static bool ended(const struct capture_machine *machine)
{
	struct pollfd look = {.fd = machine->socket, .events = POLLRDHUP};

	return poll(&look, 1, 0) > 0 && look.revents & (POLLHUP | POLLRDHUP | POLLERR);
}

static int step(struct machines *m, struct capture_machine *machine, bool *gone)
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
			/* Before its hello, and it had told nothing else. */
			m->uncounted +=
				m->list[i].state == MACHINE_CONNECTED && m->list[i].unaccounted;
			machines_release(m, &m->list[i]);
			m->list[i] = m->list[--m->count];
		}
		if (error)
			return error;
	}
	return 0;
}

void machines_greet(struct machines *machines)
{
	for (size_t i = 0; i < machines->count; i++)
		if (machines->list[i].state == MACHINE_CONNECTED)
			await_hello(machines, &machines->list[i]);
}

int machines_poll(struct machines *machines, __u64 now_ns)
{
	struct observer *observer = machines->observer;
	int error = observer ? observer_read(observer) : 0;

	if (machines->since_ns == READ_FROM_NOW)
		machines->since_ns = now_ns;
	if (error)
		return error;
	if (now_ns >= machines->next_scan_ns || (observer && observer_awaits(observer))) {
		machines->next_scan_ns = now_ns + SCAN_NS;
		machines_scan(machines, !observer);
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
static bool speaks_for(const struct capture_machine *machine, __u32 local_pid)
{
	socklen_t length = sizeof(struct ucred);
	struct ucred peer;

	return !getsockopt(machine->socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) &&
	       peer.pid > 0 && (__u32)peer.pid == local_pid;
}

void machines_meet(struct machines *machines, __u32 pid)
{
	struct pollfd look = {.events = POLLIN};
	__u32 local = pid_to_local(pid);

	machines_scan(machines, !machines->observer);
	for (size_t i = 0; i < machines->count; i++) {
		struct capture_machine *machine = &machines->list[i];

		if (machine->state != MACHINE_CONNECTED || !speaks_for(machine, local))
			continue;
		look.fd = machine->socket;
		poll(&look, 1, MEET_NS / NSEC_PER_MSEC);
		await_hello(machines, machine);
	}
}

static const struct capture_machine *machine_of(const struct machines *machines, __u32 pid,
						__u64 start_time)
{
	for (size_t i = 0; i < machines->count; i++) {
		const struct capture_machine *machine = &machines->list[i];

		if (machine->state == MACHINE_KNOWN && machine->pid == pid &&
		    machine->start_time == start_time)
			return machine;
	}
	return NULL;
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
		counts.unknown + machines->uncounted + unmet_count(&machines->unmet);
}
