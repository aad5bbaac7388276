// SPDX-License-Identifier: GPL-2.0
/* `faultline-inject exec`: a command in a network of a machine that another process is. */
#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/emu/registry.h"
#include "injectors/exec.h"
#include "injectors/machine_networks.h"
#include "lib/base/fail.h"
#include "tests/unit/child.h"
#include "tests/unit/scratch.h"

#define WORDS	      12
#define NETWORKS_MOST 2

static bool no_tap;

static int setup(void **state)
{
	no_tap = access("/dev/net/tun", F_OK);
	return run_scratch_make(state);
}

static int teardown(void **state)
{
	registry_remove_stale(); /* of machines that were killed */
	return run_scratch_remove(state);
}

static _Noreturn void be_machine(unsigned int networks, int told)
{
	static const struct registry_device device = {
		.name = "vm/net0", .tenant = "vm", .model = "nic", .queues = 1};
	struct network_config config = {.mtu = 1500, .queue_length = 100};
	struct network open[NETWORKS_MOST];
	struct registry *registry;
	int ring = memfd_create("ring", MFD_CLOEXEC);

	assert_int_equal(registry_open(&registry, &device, 1, ring), 0);
	for (unsigned int i = 0; i < networks; i++) {
		snprintf(config.name, sizeof(config.name), "net%u", i);
		assert_int_equal(network_open(&open[i], &config), 0);
	}
	assert_int_equal(write(told, "", 1), 1);
	for (;;)
		pause();
}

static pid_t start_machine(unsigned int networks)
{
	pid_t machine;
	int told[2];
	char word;

	if (no_tap)
		skip();
	assert_int_equal(pipe(told), 0);
	machine = child_fork();
	if (!machine)
		be_machine(networks, told[1]);
	close(told[1]);
	assert_int_equal(read(told[0], &word, 1), 1);
	close(told[0]);
	return machine;
}

static void end_machine(pid_t machine)
{
	int status;

	assert_int_equal(kill(machine, SIGKILL), 0);
	assert_int_equal(waitpid(machine, &status, 0), machine);
}

static char printed[4096];

/* `line`: words behind "exec", with one blank between them, {} being the PID. Returns the exit status. */
static int run_exec(pid_t machine, const char *line)
{
	char *argv[WORDS + 2] = {"faultline-inject exec"}, words[512], *rest = words, *word,
			   pid[16];
	int output = memfd_create("output", 0), status, argc = 1;
	pid_t child;

	snprintf(words, sizeof(words), "%s", line);
	snprintf(pid, sizeof(pid), "%d", machine);
	while ((word = strsep(&rest, " ")) && argc <= WORDS)
		argv[argc++] = strcmp(word, "{}") ? word : pid;
	fflush(NULL);
	child = child_fork();
	if (!child) {
		dup2(output, STDOUT_FILENO);
		dup2(output, STDERR_FILENO);
		_exit(verb_exec(argc, argv));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	printed[pread(output, printed, sizeof(printed) - 1, 0)] = '\0';
	close(output);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void has_printed(const char *text)
{
	if (!strstr(printed, text))
		fail_msg("'%s' is not in '%s'", text, printed);
}

static void a_command_is_on_its_side(void **state)
{
	pid_t machine = start_machine(1);

	assert_int_equal(run_exec(machine, "{} guest -- ip -4 -o addr show net0"), 0);
	has_printed("inet 10.77.0.1/24");
	assert_int_equal(run_exec(machine, "{} wire -- ip -4 -o addr show net0"), 0);
	has_printed("inet 10.77.0.2/24");
	assert_int_equal(run_exec(machine, "{} net0:wire -- ip -4 -o addr show net0"), 0);
	has_printed("inet 10.77.0.2/24");
	assert_int_equal(run_exec(machine, "{} vm/net0:guest -- ip -4 -o addr show net0"), 0);
	has_printed("inet 10.77.0.1/24");
	end_machine(machine);
}

static void its_status_is_the_commands(void **state)
{
	pid_t machine = start_machine(1);

	assert_int_equal(run_exec(machine, "{} wire -- false"), 1);
	assert_string_equal(printed, "");
	assert_int_equal(run_exec(machine, "{} wire -- expr 2 - 2"), 1);
	assert_string_equal(printed, "0\n");
	assert_int_equal(run_exec(machine, "{} wire -- timeout -s KILL 0.01 sleep 100"),
			 128 + SIGKILL);
	/* What is the command's is not taken for ours. */
	assert_int_equal(run_exec(machine, "{} wire -- echo -- -h --usage"), 0);
	assert_string_equal(printed, "-- -h --usage\n");
	assert_int_equal(run_exec(machine, "{} wire -- no-such-command"), EXIT_FAIL);
	has_printed("faultline: no-such-command: no such command");
	end_machine(machine);
}

static void several_networks_are_told_apart(void **state)
{
	pid_t machine = start_machine(2);

	assert_int_equal(run_exec(machine, "{} net1:wire -- ip -4 -o addr show net1"), 0);
	has_printed("inet 10.77.0.2/24");
	assert_int_equal(run_exec(machine, "{} wire -- true"), EXIT_USAGE);
	has_printed("'wire' is more than one side of machine ");
	has_printed("; accepted: net");
	has_printed("net0:guest");
	has_printed("net0:wire");
	has_printed("net1:guest");
	has_printed("net1:wire");
	end_machine(machine);
}

static void what_is_no_side_is_refused(void **state)
{
	static const char *const wrong[] = {"side",  "",     "net1:wire", ":wire",
					    "net0:", "net0", "wire:net0", "net0:wires"};
	pid_t machine = start_machine(1);

	for (unsigned int i = 0; i < COUNT(wrong); i++) {
		char line[64], sentence[64];

		snprintf(line, sizeof(line), "{} %s -- true", wrong[i]);
		snprintf(sentence, sizeof(sentence), "faultline: '%s' is no side of machine ",
			 wrong[i]);
		assert_int_equal(run_exec(machine, line), EXIT_USAGE);
		has_printed(sentence);
		has_printed("accepted: guest, wire, net0:");
	}
	end_machine(machine);
}

static void other_processes_are_refused(void **state)
{
	char accepted[64];
	pid_t machine;

	assert_int_equal(run_exec(getpid(), "{} wire -- true"), EXIT_FAIL);
	has_printed("is no emulated machine; accepted: the PID of one that runs (none runs now)");
	machine = start_machine(0);
	snprintf(accepted, sizeof(accepted), "one that runs (%d)", machine);
	assert_int_equal(run_exec(getpid(), "{} wire -- true"), EXIT_FAIL);
	has_printed(accepted);
	assert_int_equal(run_exec(machine, "{} wire -- true"), EXIT_FAIL);
	has_printed("has no network; accepted: one with a nic whose wire is a tap");
	end_machine(machine);
	/* Its socket is there still, and nobody behind it. */
	assert_int_equal(run_exec(machine, "{} wire -- true"), EXIT_FAIL);
	has_printed("is no emulated machine");
}

/* A process with a network that is not behind a machine's socket. */
static void a_stranger_is_not_entered(void **state)
{
	const struct network_config config = {.name = "net0", .mtu = 1500, .queue_length = 100};
	struct network network;
	char from[128], to[128];
	pid_t machine = start_machine(1);

	assert_int_equal(network_open(&network, &config), 0);
	snprintf(from, sizeof(from), "%s/%d.machine", run_scratch, machine);
	snprintf(to, sizeof(to), "%s/%d.machine", run_scratch, getpid());
	assert_int_equal(link(from, to), 0);
	assert_int_equal(run_exec(getpid(), "{} wire -- true"), EXIT_FAIL);
	has_printed("is no emulated machine");
	assert_int_equal(unlink(to), 0);
	network_close(&network);
	end_machine(machine);
}

static void bad_command_lines_are_refused(void **state)
{
	static const struct {
		const char *line, *said;
	} wrong[] = {
		{"x wire -- true", "'x' is no PID; accepted: the PID of a machine"},
		{"0 wire -- true", "'0' is no PID"},
		{"12", "accepted: a machine's PID, guest or wire, and -- COMMAND"},
		{"12 wire", "accepted: a machine's PID"},
		{"12 -- true", "accepted: a machine's PID"},
		{"12 wire --", "--: no command behind it"},
		{"12 wire true", "unexpected argument 'true'; accepted: -- COMMAND"},
	};

	for (unsigned int i = 0; i < COUNT(wrong); i++) {
		assert_int_equal(run_exec(0, wrong[i].line), EXIT_USAGE);
		has_printed(wrong[i].said);
	}
}

static void a_namespace_is_found_by_its_number(void **state)
{
	pid_t machine = start_machine(2);
	struct machine_sides sides;

	assert_int_equal(machine_list_sides(machine, &sides), 0);
	assert_int_equal(sides.count, 4);
	for (size_t i = 0; i < sides.count; i++) {
		int fd = machine_open_netns(machine, sides.sides[i].inode);
		struct stat status;

		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &status), 0);
		assert_int_equal(status.st_ino, sides.sides[i].inode);
		close(fd);
	}
	assert_int_equal(machine_open_netns(machine, 1), -ESRCH);
	assert_non_null(strstr(failure_text(), "has closed its network by now"));
	end_machine(machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_is_on_its_side),
		cmocka_unit_test(its_status_is_the_commands),
		cmocka_unit_test(several_networks_are_told_apart),
		cmocka_unit_test(what_is_no_side_is_refused),
		cmocka_unit_test(other_processes_are_refused),
		cmocka_unit_test(a_stranger_is_not_entered),
		cmocka_unit_test(bad_command_lines_are_refused),
		cmocka_unit_test(a_namespace_is_found_by_its_number),
	};

	return cmocka_run_group_tests_name("exec", tests, setup, teardown);
}
