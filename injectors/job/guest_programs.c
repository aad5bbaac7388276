// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/guest_programs.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/emu/hyv/guest_process.h"
#include "injectors/job/preload_library.h"
#include "injectors/net/link.h"
#include "injectors/net/listening.h"
#include "injectors/net/netns.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"

#define LIBRARY	 "libfaultline-verbs.so"
#define LOOK_NS	 (10 * NSEC_PER_MSEC)
#define READY_NS (10 * NSEC_PER_SEC) /* until it listens where the job says */

struct guest_program {
	const struct tenant_config *tenant;
	__u32 index; /* of the tenant */
	struct guest_process *process;
	__u64 begin_ns, end_ns; /* 0: not yet */
};

struct guest_programs {
	int network;
	char library[PATH_MAX];
	__u32 count;
	struct guest_program list[];
};

static int network_begin(void *argument)
{
	int *network = argument;

	*network = netns_open_own();
	return *network < 0 ? *network : link_loopback_up();
}

int guest_programs_open(struct guest_programs **guests, const struct plan *plan)
{
	const struct machine_config *machine = &plan->machine;
	struct guest_programs *opened;
	__u32 count = 0;
	int err;

	*guests = NULL;
	for (__u32 t = 0; t < machine->tenant_count; t++)
		count += *machine->tenants[t].program != '\0';
	if (!count)
		return 0;
	opened = calloc(1, sizeof(*opened) + count * sizeof(opened->list[0]));
	if (!opened)
		return failed(-ENOMEM, "no memory for %u programs of guests", count);
	opened->network = -1;
	for (__u32 t = 0; t < machine->tenant_count; t++)
		if (*machine->tenants[t].program)
			opened->list[opened->count++] =
				(struct guest_program){.tenant = &machine->tenants[t], .index = t};
	err = preload_library_find(LIBRARY, "programs of guests", opened->library)
		      ?: netns_run(NETNS_NEW, network_begin, &opened->network);
	if (err)
		guest_programs_close(opened);
	else
		*guests = opened;
	return err;
}

static int guest_program_failed(struct guest_program *program, const char *when)
{
	const struct tenant_config *tenant = program->tenant;
	int status = 0;
	size_t size;
	const char *text = guest_process_output(program->process, &size);
	char how[64];

	(void)guest_process_wait(program->process, 0, &status);
	while (size && strchr("\r\n \t", text[size - 1]))
		size--;
	for (const char *line; (line = memchr(text, '\n', size));) {
		size -= (size_t)(line + 1 - text);
		text = line + 1;
	}
	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "by SIG%s", sigabbrev_np(WTERMSIG(status)) ?: "RT");
	else
		snprintf(how, sizeof(how), "with status %d", WEXITSTATUS(status));
	return failed(-EIO, "the program of tenant %s (%s) ended %s%s%s%.*s", tenant->name,
		      tenant->program, how, when, size ? ": " : "", (int)size, text);
}

static int program_begin(struct guest_programs *guests, struct guest_program *program,
			 struct machine *machine)
{
	int sockets[GUEST_SOCKETS_MAX];
	struct guest_process_config config = {
		.name = program->tenant->name,
		.sockets = sockets,
		.program = program->tenant->program,
		.library = guests->library,
		.network = guests->network,
	};
	int count = machine_invite_guest(machine, program->index, sockets, GUEST_SOCKETS_MAX);

	if (count < 0)
		return count;
	config.socket_count = (__u32)count;
	program->begin_ns = monotonic_ns();
	return guest_process_start(&program->process, &config);
}

/* Until somebody listens where it says. */
static int await_ready(const struct guest_programs *guests, struct guest_program *program,
		       const volatile sig_atomic_t *stop)
{
	__u64 end_ns = monotonic_ns() + READY_NS;
	struct listening listening;
	int found = listening_parse(program->tenant->program_ready, &listening);

	while (!found) {
		found = listening_look(guests->network, &listening);
		if (found)
			break;
		if (*stop)
			return -EINTR;
		if (guest_process_wait(program->process, LOOK_NS, NULL) != -ETIMEDOUT)
			return guest_program_failed(program, " before it was ready");
		if (monotonic_ns() >= end_ns)
			return failed(
				-ETIMEDOUT,
				"the program of tenant %s (%s) is not ready: nobody listens at "
				"%s after 10 s; accepted: the port that it listens at",
				program->tenant->name, program->tenant->program,
				program->tenant->program_ready);
	}
	return found < 0 ? found : 0;
}

int guest_programs_begin(struct guest_programs *guests, struct machine *machine,
			 const volatile sig_atomic_t *stop)
{
	int err = 0;

	for (__u32 i = 0; guests && !err && i < guests->count; i++) {
		struct guest_program *program = &guests->list[i];

		err = program_begin(guests, program, machine);
		if (!err && *program->tenant->program_ready)
			err = await_ready(guests, program, stop);
	}
	return err;
}

int guest_programs_look(struct guest_programs *guests, __u64 wait_ns)
{
	bool running = false;

	for (__u32 i = 0; guests && i < guests->count; i++) {
		struct guest_program *program = &guests->list[i];
		int status;

		if (program->end_ns)
			continue;
		if (guest_process_wait(program->process, running ? 0 : wait_ns, &status)) {
			running = true;
			continue;
		}
		program->end_ns = monotonic_ns();
		if (status)
			return guest_program_failed(program, "");
	}
	return running ? -ETIMEDOUT : 0;
}

int guest_programs_too_long(const struct guest_programs *guests, __u64 timeout_ns)
{
	const struct tenant_config *tenant = guests->list[0].tenant;
	char text[UNITS_TEXT];

	for (__u32 i = 0; i < guests->count; i++)
		if (!guests->list[i].end_ns)
			tenant = guests->list[i].tenant;
	return failed(
		-ETIMEDOUT,
		"the program of tenant %s (%s) is not done after %s; accepted: a shorter one, "
		"or a longer machine.timeout",
		tenant->name, tenant->program, units_format_duration(timeout_ns, text));
}

void guest_programs_stop(struct guest_programs *guests)
{
	for (__u32 i = 0; guests && i < guests->count; i++)
		if (guests->list[i].process)
			guest_process_stop(guests->list[i].process);
}

double guest_programs_seconds(const struct guest_programs *guests)
{
	__u64 end_ns = 0;

	for (__u32 i = 0; guests && i < guests->count; i++)
		if (guests->list[i].end_ns > end_ns)
			end_ns = guests->list[i].end_ns;
	return end_ns ? (double)(end_ns - guests->list[0].begin_ns) / 1e9 : NAN;
}

/* The last of what one has printed, whole lines, each with its tenant's name before it. */
static void lines_add(char *text, size_t size, const struct guest_program *program)
{
	size_t bytes, length = 0, prefix = strlen(program->tenant->name) + 2;
	const char *printed = guest_process_output(program->process, &bytes);
	const char *first = printed + bytes;

	for (size_t room = size, line = 0; first > printed; line = 0) {
		const char *begin = first - 1;

		while (begin > printed && begin[-1] != '\n')
			begin--;
		line = (size_t)(first - begin) + prefix + 1;
		if (line >= room)
			break;
		room -= line;
		first = begin;
	}
	while (*first) {
		size_t end = strcspn(first, "\n");

		length += (size_t)snprintf(text + length, size - length, "%s: %.*s\n",
					   program->tenant->name, (int)end, first);
		first += end + (first[end] == '\n');
	}
}

void guest_programs_printed(const struct guest_programs *guests, char *text, size_t size)
{
	*text = '\0';
	for (__u32 i = 0; guests && i < guests->count; i++) {
		size_t length = strlen(text);

		if (guests->list[i].process)
			lines_add(text + length, size / guests->count, &guests->list[i]);
	}
}

void guest_programs_close(struct guest_programs *guests)
{
	if (!guests)
		return;
	for (__u32 i = 0; i < guests->count; i++)
		guest_process_free(guests->list[i].process);
	if (guests->network >= 0)
		close(guests->network);
	free(guests);
}
