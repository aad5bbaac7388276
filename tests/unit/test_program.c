// SPDX-License-Identifier: GPL-2.0
/* Real programs in the namespaces of a network: as whom they run, how they end, and what is told of that. */
#include "tests/unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "injectors/net/program.h"
#include "injectors/net/program_check.h"
#include "lib/base/fail.h"
#include "tests/unit/child.h"

static struct program_host host;
static struct network network;
static bool no_tap;

static int setup(void **state)
{
	const struct network_config config = {
		.name = "net0", .mtu = 1500, .queue_length = NETWORK_QUEUE_LENGTH};

	unsetenv("SUDO_UID");
	no_tap = access("/dev/net/tun", F_OK);
	return program_host_open(&host) || (!no_tap && network_open(&network, &config));
}

static int teardown(void **state)
{
	if (!no_tap)
		network_close(&network);
	program_host_close(&host);
	return 0;
}

static struct program_config config_of(const char *run, enum program_role role)
{
	struct program_config config = {.name = "test",
					.side = NETWORK_WIRE,
					.role = role,
					.ready_timeout_ns = 20 * SECOND};

	snprintf(config.run, sizeof(config.run), "%s", run);
	return config;
}

static struct network_program *start(const struct program_config *config)
{
	struct network_program *program = NULL;

	if (no_tap)
		skip();
	if (program_start(&program, &host, &network, config))
		fail_msg("%s", failure_text());
	return program;
}

static void said(const char *text)
{
	if (!strstr(failure_text(), text))
		fail_msg("'%s' is not in '%s'", text, failure_text());
}

/* What it prints, to be freed. */
static char *output_of(const struct program_config *config)
{
	struct network_program *program = start(config);
	__u64 discarded;
	size_t size;
	char *text;

	if (program_wait(program, 60 * SECOND))
		fail_msg("%s", failure_text());
	text = program_output(program, &size, &discarded);
	assert_non_null(text);
	assert_int_equal(strlen(text), size);
	assert_int_equal(discarded, 0);
	program_free(program);
	return text;
}

static void prints(const char *run, const char *text)
{
	const struct program_config config = config_of(run, PROGRAM_LOAD);
	char *output = output_of(&config);

	if (strcmp(output, text) != 0)
		fail_msg("%s printed '%s', not '%s'", run, output, text);
	free(output);
}

static void words_are_parted_as_told(void **state)
{
	static const struct {
		const char *run, *words; /* with | between them */
	} good[] = {
		{"iperf3 -c {guest}", "iperf3|-c|10.77.0.1"},
		{"  a\t b  ", "a|b"},
		{"a --host={wire}:{guest}", "a|--host=10.77.0.2:10.77.0.1"},
		{"a 'b c' \"d 'e\" f\"g\"h ''", "a|b c|d 'e|fgh|"},
		{"a $b ; > *", "a|$b|;|>|*"},
		{"a { {} {1} {\"k\":1}", "a|{|{}|{1}|{k:1}"},
	};
	static const struct {
		const char *run, *said;
	} bad[] = {
		{"", "run: no program; accepted: a program"},
		{"  ", "run: no program"},
		{"'' a", "run: no program"},
		{"a {guset}", "run: {guset} is no address; accepted: {guest}, {wire}"},
		{"a 'b", "run: ' without its end"},
	};
	char *argv[PROGRAM_WORDS + 1], joined[256], many[2 * PROGRAM_WORDS + 4] = "";
	struct program_words words;

	for (unsigned int i = 0; i < COUNT(good); i++) {
		assert_int_equal(program_split(good[i].run, &words), 0);
		program_argv(&words, argv);
		joined[0] = '\0';
		for (unsigned int n = 0; argv[n]; n++) {
			strcat(joined, n ? "|" : "");
			strcat(joined, argv[n]);
		}
		assert_string_equal(joined, good[i].words);
	}
	for (unsigned int i = 0; i < COUNT(bad); i++) {
		assert_int_equal(program_split(bad[i].run, &words), -EINVAL);
		said(bad[i].said);
	}
	for (unsigned int i = 0; i < PROGRAM_WORDS; i++)
		strcat(many, "a ");
	assert_int_equal(program_split(many, &words), 0);
	strcat(many, "a ");
	assert_int_equal(program_split(many, &words), -EINVAL);
	said("too long; accepted: 64 words");
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void what_cannot_run_is_told_before(void **state)
{
	struct program_config config = config_of("no-such-program -x", PROGRAM_LOAD);
	char path[] = "/var/tmp/faultline-program.XXXXXX";

	assert_int_equal(program_check(&config), -ENOENT);
	said("program test: no-such-program: no such program; install it, or give its path");
	config = config_of("/nowhere/iperf3", PROGRAM_LOAD);
	assert_int_equal(program_check(&config), -ENOENT);
	config = config_of("/tmp", PROGRAM_LOAD);
	assert_int_equal(program_check(&config), -ENOENT);
	config = config_of("/tmp/../usr/bin/true", PROGRAM_LOAD);
	assert_int_equal(program_check(&config), -ENOENT);
	said("programs have a /tmp of their own");
	config = config_of("sleep 1", PROGRAM_LOAD);
	assert_int_equal(program_check(&config), 0);
	strcpy(config.ready, "tcp:0");
	assert_int_equal(program_check(&config), -EINVAL);
	said("program test: ready: 'tcp:0' is no port; accepted: tcp:1 to tcp:65535");
	strcpy(config.ready, "5201");
	assert_int_equal(program_check(&config), -EINVAL);
	strcpy(config.ready, "udp:65535");
	assert_int_equal(program_check(&config), 0);
	assert_int_equal(close(mkstemp(path)), 0);
	config = config_of(path, PROGRAM_LOAD);
	assert_int_equal(program_check(&config), -EACCES);
	said("cannot be run: Permission denied");
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(program_check(&config), -ENOEXEC);
	said("the kernel does not execute it; accepted: a binary, or a script");
	write_file(path, "#! /no/such/interpreter -x\n");
	assert_int_equal(program_check(&config), -ENOEXEC);
	said("its interpreter '/no/such/interpreter' cannot be run: No such file");
	write_file(path, "#!/bin/sh\n");
	assert_int_equal(program_check(&config), 0);
	unlink(path);
}

/* One that may be run, and is no program. */
static void what_is_no_program_is_told(void **state)
{
	struct network_program *program;
	char path[] = "/var/tmp/faultline-program.XXXXXX";
	struct program_config config;
	int fd = mkstemp(path);

	if (no_tap)
		skip();
	assert_int_equal(write(fd, "echo", 4), 4);
	assert_int_equal(fchmod(fd, 0755), 0);
	close(fd);
	config = config_of(path, PROGRAM_LOAD);
	assert_int_equal(program_start(&program, &host, &network, &config), -ENOEXEC);
	assert_null(program);
	said("the kernel does not execute it; accepted: a binary, or a script");
	/* Another machine's. */
	fd = open(path, O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, "\177ELF", 4), 4);
	close(fd);
	assert_int_equal(program_start(&program, &host, &network, &config), -ENOEXEC);
	assert_null(program);
	said("being run: Exec format error");
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(program_start(&program, &host, &network, &config), -EACCES);
	said("Permission denied; accepted: a program that user 65534 may run");
	unlink(path);
}

static void it_runs_as_nobody_in_its_namespace(void **state)
{
	prints("id -un", "nobody\n");
	prints("id -Gn", "nogroup\n");
	/* The first process of its PID namespace is ours; it has a session and a group of its own. */
	prints("sh -c 'echo $$ $PPID'", "2 1\n");
	prints("/usr/bin/python3 -c 'import os; print(os.getsid(0), os.getpgid(0))'", "2 2\n");
	/* Of the host it sees no process. */
	prints("/usr/bin/python3 -c 'import os; print(sorted(f for f in os.listdir(\"/proc\") if f.isdigit()), os.readlink(\"/proc/self\"))'",
	       "['1', '2'] 2\n");
	/* Signals 32 and 33 are the C library's own, which it lets nobody reset. */
	prints("sh -c 'grep -E \"NoNewPrivs|CapEff|SigBlk|SigIgn\" /proc/self/status | cut -f2 | sed s/180000000$/000000000/'",
	       "0000000000000000\n0000000000000000\n0000000000000000\n1\n");
	prints("sh -c 'ip -4 -o addr show net0 | grep -o 10.77.0.2/24'", "10.77.0.2/24\n");
	prints("/usr/bin/python3 -c 'import os; print(sorted(os.listdir(\"/proc/self/fd\"))[:4], len(os.read(0, 1)))'",
	       "['0', '1', '2', '3'] 0\n");
	prints("/usr/bin/python3 -c 'import os; print([os.readlink(\"/proc/self/fd/0\")] + [f for f in os.listdir(\"/proc/self/fd\") if int(f) > 3])'",
	       "['/dev/null']\n");
}

static void what_it_writes_goes_with_it(void **state)
{
	struct stat status;

	prints("sh -c 'ls -A /tmp; cd; pwd; echo $HOME ${TMPDIR-none}; touch faultline-86392; ls -A'",
	       "/tmp\n/tmp none\nfaultline-86392\n");
	assert_int_equal(stat("/tmp/faultline-86392", &status), -1);
}

static void sudo_runs_it_as_its_caller(void **state)
{
	setenv("SUDO_UID", "4321", 1);
	setenv("SUDO_GID", "1234", 1);
	prints("id -u", "4321\n");
	prints("id -G", "1234\n");
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}

static void its_output_is_bounded(void **state)
{
	const struct program_config config = config_of("head -c 5000001 /dev/zero", PROGRAM_LOAD);
	struct network_program *program = start(&config);
	__u64 discarded;
	size_t size;
	char *text;

	assert_int_equal(program_wait(program, 60 * SECOND), 0);
	text = program_output(program, &size, &discarded);
	assert_int_equal(size, PROGRAM_OUTPUT);
	assert_int_equal(discarded, 5000001 - PROGRAM_OUTPUT);
	free(text);
	program_free(program);
}

static void ends_badly(const char *run, enum program_role role, const char *text)
{
	const struct program_config config = config_of(run, role);
	struct network_program *program = start(&config);

	assert_int_equal(program_wait(program, 60 * SECOND), -EIO);
	said(text);
	program_free(program);
}

static void a_bad_end_has_its_status_and_last_line(void **state)
{
	ends_badly("sh -c 'echo first >&2; echo no route >&2; exit 3'", PROGRAM_LOAD,
		   "exit 3') ended with status 3: no route");
	ends_badly("sh -c 'exit 1'", PROGRAM_LOAD,
		   "program test (sh -c 'exit 1') ended with status 1");
	ends_badly("sh -c 'kill -SEGV $$'", PROGRAM_LOAD, "ended by SIGSEGV");
	ends_badly("true", PROGRAM_SERVER,
		   "program test (true) ended with status 0 before it was stopped");
	ends_badly(
		"sh -c 'yes | head -c 100000 >&2; printf \"\\nno r\" >&2; sleep 0.2; printf oute >&2; exit 1'",
		PROGRAM_LOAD, "ended with status 1: no route");
}

static void one_that_ends_is_never_ready(void **state)
{
	struct program_config config = config_of("sh -c 'echo in use >&2; exit 1'", PROGRAM_SERVER);
	struct network_program *program;

	strcpy(config.ready, "tcp:5201");
	program = start(&config);
	assert_int_equal(program_await_ready(program, NULL), -EIO);
	said("ended with status 1 before it was ready: in use");
	program_free(program);
}

static void await_output(const struct network_program *program)
{
	size_t size = 0;

	while (!size) {
		__u64 discarded;
		char *text = program_output(program, &size, &discarded);

		assert_non_null(text);
		free(text);
		usleep(1000);
	}
}

/* Speaks once it has done that. */
#define OTHER(code)                                                            \
	"/usr/bin/python3 -c 'import socket, time; s = socket.socket(); " code \
	"; print(1, flush=True); time.sleep(1000)'"

static void one_that_does_not_listen_is_never_ready(void **state)
{
	static const char *const servers[] = {
		"sleep 1000",
		OTHER("s.bind((\"\", 5212)); s.listen()"),
		/* A connection of that port, and nobody behind it any more. */
		OTHER("s.bind((\"\", 5211)); s.listen(); c = socket.create_connection((\"127.0.0.1\", 5211)); "
		      "a = s.accept(); s.close()"),
		OTHER("u = socket.socket(type=socket.SOCK_DGRAM); u.bind((\"\", 5211))"),
	};

	for (unsigned int i = 0; i < COUNT(servers); i++) {
		struct program_config config = config_of(servers[i], PROGRAM_SERVER);
		struct network_program *program;
		char sentence[512];

		strcpy(config.ready, "tcp:5211");
		config.ready_timeout_ns = 1;
		program = start(&config);
		if (i)
			await_output(program);
		assert_int_equal(program_await_ready(program, NULL), -ETIMEDOUT);
		snprintf(
			sentence, sizeof(sentence),
			"program test (%s) is not ready: nobody listens at tcp:5211 on its side after 1ns",
			servers[i]);
		said(sentence);
		program_free(program);
	}
}

/* It counts who connects: nobody must. */
#define SERVER(kind, family)                                                         \
	"/usr/bin/python3 -c 'import socket, time; s = socket.socket(socket." family \
	", socket." kind "); "                                                       \
	"time.sleep(0.1); s.bind((\"\", 5201)); "

static void one_that_listens_is_ready(void **state)
{
	static const struct {
		const char *run, *ready;
	} servers[] = {
		{SERVER("SOCK_STREAM", "AF_INET") "s.listen(); s.settimeout(0.3); s.accept()'",
		 "tcp:5201"},
		{SERVER("SOCK_STREAM", "AF_INET6") "s.listen(); s.settimeout(0.3); s.accept()'",
		 "tcp:5201"},
		{SERVER("SOCK_DGRAM", "AF_INET") "s.settimeout(0.3); s.recv(1)'", "udp:5201"},
	};

	for (unsigned int i = 0; i < COUNT(servers); i++) {
		struct program_config config = config_of(servers[i].run, PROGRAM_SERVER);
		struct network_program *program;

		strcpy(config.ready, servers[i].ready);
		program = start(&config);
		if (program_await_ready(program, NULL))
			fail_msg("%s", failure_text());
		assert_int_equal(program_wait(program, 60 * SECOND), -EIO);
		said("timed out");
		program_free(program);
	}
}

static void a_duration_ends_it(void **state)
{
	struct program_config config = config_of("sleep 1000", PROGRAM_LOAD);
	struct network_program *program;

	config.duration_ns = 2 * SECOND; /* a busy machine may need some of it until we wait */
	program = start(&config);
	assert_int_equal(program_wait(program, 1 * MS), -ETIMEDOUT);
	assert_int_equal(program_wait(program, 60 * SECOND), 0);
	program_free(program);
}

/* What it prints on SIGTERM is kept: iperf3 tells its results then. */
static void a_stop_lets_it_speak(void **state)
{
	const struct program_config config = config_of(
		"/usr/bin/python3 -uc 'import signal, sys, time; signal.signal(signal.SIGTERM, lambda *a: sys.exit(sys.stdout.write(\"sum\\n\") and 0)); "
		"sys.stdout.write(\"begun\\n\"); time.sleep(1000)'",
		PROGRAM_SERVER);
	struct network_program *program = start(&config);
	__u64 discarded;
	size_t size;
	char *text;

	await_output(program);
	program_stop(program);
	assert_int_equal(program_wait(program, 0), 0);
	text = program_output(program, &size, &discarded);
	assert_string_equal(text, "begun\nsum\n");
	free(text);
	program_free(program);
}

static void one_that_does_not_listen_to_sigterm_is_killed(void **state)
{
	struct program_config config =
		config_of("sh -c 'trap : TERM; while :; do sleep 1000; done'", PROGRAM_LOAD);
	struct network_program *program;

	config.duration_ns = 300 * MS;
	program = start(&config);
	assert_int_equal(program_wait(program, 60 * SECOND), 0);
	program_free(program);
}

/* Whether any process is in a namespace, or has it open. */
static bool is_used(__u64 inode)
{
	char command[200], line[8];
	bool used;
	FILE *pipe;

	snprintf(
		command, sizeof(command),
		"ls -l /proc/[0-9]*/fd /proc/[0-9]*/task/*/ns/net 2>/dev/null | grep -F 'net:[%llu]'",
		inode);
	pipe = popen(command, "re");
	used = fgets(line, sizeof(line), pipe);
	while (fgets(line, sizeof(line), pipe))
		;
	pclose(pipe);
	return used;
}

/* Processes whose command line has this word. */
static unsigned int processes_with(const char *word)
{
	char command[200], line[32] = "";
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "grep -lz '^%s$' /proc/[0-9]*/cmdline 2>/dev/null | wc -l", word);
	pipe = popen(command, "re");
	assert_non_null(fgets(line, sizeof(line), pipe));
	pclose(pipe);
	return (unsigned int)atoi(line);
}

/* Two that have left its session, one of them by a double fork. */
#define TREE(seconds) \
	"sh -c 'setsid sleep " seconds " & (setsid sleep " seconds " &) ; sleep " seconds "'"

static void all_that_it_starts_ends_with_it(void **state)
{
	const struct program_config config = config_of(TREE("86397"), PROGRAM_SERVER);
	struct network_program *program = start(&config);

	while (processes_with("86397") < 3)
		usleep(1000);
	program_stop(program);
	assert_int_equal(processes_with("86397"), 0);
	program_free(program);
}

static void what_it_leaves_behind_ends_too(void **state)
{
	const struct program_config config =
		config_of("sh -c '(setsid sleep 86396 &); echo left'", PROGRAM_LOAD);
	char *text = output_of(&config);

	assert_string_equal(text, "left\n");
	assert_int_equal(processes_with("86396"), 0);
	free(text);
}

/* It never lets the pipe become empty. */
static void what_it_leaves_behind_does_not_hold_it_up(void **state)
{
	const struct program_config config =
		config_of("sh -c '(setsid yes 86393 &); sleep 0.1'", PROGRAM_LOAD);
	struct network_program *program = start(&config);

	assert_int_equal(program_wait(program, 60 * SECOND), 0);
	assert_int_equal(processes_with("86393"), 0);
	program_free(program);
}

static void *start_in_a_thread(void *argument)
{
	const struct program_config config =
		config_of("sh -c 'sleep 0.3; echo lived'", PROGRAM_LOAD);

	*(struct network_program **)argument = start(&config);
	return NULL;
}

/* Death signals of parents are of threads. */
static void it_outlives_the_thread_that_started_it(void **state)
{
	struct network_program *program;
	__u64 discarded;
	pthread_t thread;
	size_t size;
	char *text;

	if (no_tap)
		skip();
	assert_int_equal(pthread_create(&thread, NULL, start_in_a_thread, &program), 0);
	pthread_join(thread, NULL);
	assert_int_equal(program_wait(program, 60 * SECOND), 0);
	text = program_output(program, &size, &discarded);
	assert_string_equal(text, "lived\n");
	free(text);
	program_free(program);
}

static void the_host_holds_nothing_open(void **state)
{
	const struct network_config how = {.name = "net0", .mtu = 1500, .queue_length = 100};
	struct program_host own;
	struct network ours;
	__u64 inode;
	int low, high;

	if (no_tap)
		skip();
	assert_int_equal(network_open(&ours, &how), 0);
	/* Below and above those of the host. */
	high = fcntl(ours.ends[NETWORK_WIRE].netns, F_DUPFD_CLOEXEC, 500);
	assert_int_equal(high, 500);
	low = fcntl(high, F_DUPFD_CLOEXEC, 0);
	assert_int_equal(program_host_open(&own), 0);
	assert_in_range(own.channel, low + 1, high - 1);
	close(low);
	close(high);
	inode = ours.ends[NETWORK_WIRE].inode;
	assert_true(is_used(inode));
	network_close(&ours);
	alarm(60);
	while (is_used(inode)) /* it may be about to close it */
		usleep(1000);
	alarm(0);
	program_host_close(&own);
}

enum death { ALONE, HOST_FIRST, WITH_SIBLING };

/* Another process of the machine, with all that was open in it, that lives on. */
static pid_t fork_sibling(void)
{
	pid_t sibling = fork();

	if (sibling)
		return sibling;
	alarm(100);
	for (;;)
		pause();
}

/* Becomes a machine with programs; tells when they run. */
static _Noreturn void be_machine(int told, enum death death)
{
	struct {
		__u64 inode;
		pid_t sibling;
	} word = {0};
	const struct network_config how = {.name = "net0", .mtu = 1500, .queue_length = 100};
	const struct program_config config = config_of(TREE("86395"), PROGRAM_SERVER);
	struct network_program *programs[2];
	struct program_host own;
	struct network ours;

	assert_int_equal(program_host_open(&own), 0);
	assert_int_equal(network_open(&ours, &how), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(program_start(&programs[i], &own, &ours, &config), 0);
	while (processes_with("86395") < 6)
		usleep(1000);
	if (death == HOST_FIRST)
		assert_int_equal(kill(own.pid, SIGKILL), 0);
	word.inode = ours.ends[NETWORK_WIRE].inode;
	word.sibling = death == WITH_SIBLING ? fork_sibling() : 0;
	assert_int_equal(write(told, &word, sizeof(word)), sizeof(word));
	for (;;)
		pause();
}

static void dies_with_its_machine(enum death death)
{
	struct {
		__u64 inode;
		pid_t sibling;
	} word;
	int told[2], status;
	pid_t machine;

	if (no_tap)
		skip();
	assert_int_equal(pipe(told), 0);
	machine = child_fork();
	if (!machine)
		be_machine(told[1], death);
	close(told[1]);
	assert_int_equal(read(told[0], &word, sizeof(word)), sizeof(word));
	/* The end of the test if it never comes. One that becomes another program has no command line for a moment. */
	alarm(60);
	while (processes_with("86395") != 6)
		usleep(1000);
	assert_true(is_used(word.inode));
	assert_int_equal(kill(machine, SIGKILL), 0);
	assert_int_equal(waitpid(machine, &status, 0), machine);
	while (processes_with("86395"))
		usleep(1000);
	if (word.sibling)
		assert_int_equal(kill(word.sibling, SIGKILL), 0);
	while (is_used(word.inode))
		usleep(1000);
	alarm(0);
	close(told[0]);
}

static void a_killed_machine_leaves_no_program(void **state)
{
	dies_with_its_machine(ALONE);
}

static void nor_does_one_whose_host_was_killed(void **state)
{
	dies_with_its_machine(HOST_FIRST);
}

static void nor_one_whose_descriptors_are_open_elsewhere(void **state)
{
	dies_with_its_machine(WITH_SIBLING);
}

static void a_first_process_that_is_killed_is_told(void **state)
{
	const struct program_config config = config_of("sleep 86394", PROGRAM_LOAD);
	struct network_program *program = start(&config);
	char command[] = "kill -KILL $(ps -o ppid= -p $(pgrep -fx 'sleep 86394'))";

	assert_int_equal(system(command), 0);
	assert_int_equal(program_wait(program, 60 * SECOND), -EIO);
	said("program test (sleep 86394) was killed from outside");
	assert_int_equal(processes_with("86394"), 0);
	program_free(program);
}

static unsigned int descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned int count = 0;

	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static void no_descriptor_is_left(void **state)
{
	struct program_config config = config_of("true", PROGRAM_LOAD);
	unsigned int before = descriptors();

	free(output_of(&config));
	config.duration_ns = 1;
	program_free(start(&config));
	assert_int_equal(descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_parted_as_told),
		cmocka_unit_test(what_cannot_run_is_told_before),
		cmocka_unit_test(what_is_no_program_is_told),
		cmocka_unit_test(it_runs_as_nobody_in_its_namespace),
		cmocka_unit_test(what_it_writes_goes_with_it),
		cmocka_unit_test(sudo_runs_it_as_its_caller),
		cmocka_unit_test(its_output_is_bounded),
		cmocka_unit_test(a_bad_end_has_its_status_and_last_line),
		cmocka_unit_test(one_that_ends_is_never_ready),
		cmocka_unit_test(one_that_does_not_listen_is_never_ready),
		cmocka_unit_test(one_that_listens_is_ready),
		cmocka_unit_test(a_duration_ends_it),
		cmocka_unit_test(a_stop_lets_it_speak),
		cmocka_unit_test(one_that_does_not_listen_to_sigterm_is_killed),
		cmocka_unit_test(all_that_it_starts_ends_with_it),
		cmocka_unit_test(what_it_leaves_behind_ends_too),
		cmocka_unit_test(what_it_leaves_behind_does_not_hold_it_up),
		cmocka_unit_test(it_outlives_the_thread_that_started_it),
		cmocka_unit_test(the_host_holds_nothing_open),
		cmocka_unit_test(a_killed_machine_leaves_no_program),
		cmocka_unit_test(nor_does_one_whose_host_was_killed),
		cmocka_unit_test(nor_one_whose_descriptors_are_open_elsewhere),
		cmocka_unit_test(a_first_process_that_is_killed_is_told),
		cmocka_unit_test(no_descriptor_is_left),
	};

	return cmocka_run_group_tests_name("program", tests, setup, teardown);
}
