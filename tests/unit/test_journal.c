// SPDX-License-Identifier: GPL-2.0
/* Plain files and directories stand in for attributes: the journal cannot tell them apart. */
#include "tests/unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/real/journal.h"
#include "injectors/real/journal_file.h"
#include "injectors/real/journal_replay.h"
#include "lib/base/fail.h"
#include "lib/base/run_directory.h"
#include "lib/capture/process.h"
#include "tests/unit/child.h"
#include "tests/unit/scratch.h"

#define CHANGES 4

static char world[64];
static char first[96], second[96], made[96], inner[112];
static const struct journal_options quiet;

static void put(const char *path, const char *value)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(value, file);
	assert_int_equal(fclose(file), 0);
}

static void expect(const char *path, const char *value)
{
	char now[256];

	assert_int_equal(attribute_read(path, now, sizeof(now)), 0);
	assert_string_equal(now, value);
}

static bool exists(const char *path)
{
	struct stat status;

	return !lstat(path, &status);
}

static int setup(void **state)
{
	assert_int_equal(run_scratch_make(state), 0);
	snprintf(world, sizeof(world), "/run/faultline-world.XXXXXX");
	assert_non_null(mkdtemp(world));
	snprintf(first, sizeof(first), "%s/first", world);
	snprintf(second, sizeof(second), "%s/second", world);
	snprintf(made, sizeof(made), "%s/made", world);
	snprintf(inner, sizeof(inner), "%s/inner", made);
	put(first, "one\n");
	put(second, "(null)\n");
	return 0;
}

static int teardown(void **state)
{
	rmdir(inner);
	rmdir(made);
	unlink(first);
	unlink(second);
	rmdir(world);
	/* Fails if a journal was left behind. */
	return run_scratch_remove(state);
}

/* What the tests change, in this order. */
static int change(struct journal *journal, int which)
{
	switch (which) {
	case 0:
		return journal_set(journal, first, "two");
	case 1:
		return journal_make_directory(journal, made);
	case 2:
		return journal_make_directory(journal, inner);
	default:
		return journal_set(journal, second, "vfio-pci");
	}
}

/* The world after so many of them. */
static void arrange(int changes)
{
	rmdir(inner);
	rmdir(made);
	put(first, changes > 0 ? "two\n" : "one\n");
	put(second, changes > 3 ? "vfio-pci\n" : "(null)\n");
	if (changes > 1)
		assert_int_equal(mkdir(made, 0755), 0);
	if (changes > 2)
		assert_int_equal(mkdir(inner, 0755), 0);
}

static void expect_untouched(void)
{
	char now[64];

	expect(first, "one");
	assert_false(exists(made));
	/* driver_override shows "(null)" once it was given an empty line; a file keeps the line. */
	assert_int_equal(attribute_read(second, now, sizeof(now)), 0);
	assert_true(!strcmp(now, "(null)") || !strcmp(now, ""));
}

static size_t journals_left(void)
{
	DIR *list = opendir(run_scratch);
	struct dirent *entry;
	size_t count = 0;

	assert_non_null(list);
	while ((entry = readdir(list)) != NULL)
		count += strstr(entry->d_name, JOURNAL_SUFFIX) != NULL;
	closedir(list);
	return count;
}

static void test_closing_undoes_all(void **state)
{
	struct journal *journal;

	assert_int_equal(journal_open(&journal, &quiet), 0);
	for (int i = 0; i < CHANGES; i++)
		assert_int_equal(change(journal, i), 0);
	expect(first, "two");
	expect(second, "vfio-pci");
	assert_true(exists(inner));
	assert_int_equal(journals_left(), 1);
	assert_int_equal(journal_close(journal), 0);
	expect_untouched();
	assert_int_equal(journals_left(), 0);
}

static void test_undo_in_between(void **state)
{
	struct journal *journal;

	assert_int_equal(journal_open(&journal, &quiet), 0);
	for (int round = 0; round < 3; round++) {
		arrange(0);
		for (int i = 0; i < CHANGES; i++)
			assert_int_equal(change(journal, i), 0);
		assert_int_equal(journal_undo(journal), 0);
		expect_untouched();
	}
	assert_int_equal(journal_close(journal), 0);
}

/* Writes "ACTION first", as unbind and bind do, and is undone by another one. */
static void test_actions(void **state)
{
	struct journal *journal;

	assert_int_equal(journal_open(&journal, &quiet), 0);
	assert_int_equal(journal_act(journal, NULL, NULL, first, "probed"), 0);
	assert_int_equal(journal_set(journal, second, "vfio-pci"), 0);
	assert_int_equal(journal_act(journal, first, "unbound", NULL, NULL), 0);
	expect(first, "unbound");
	assert_int_equal(journal_act(journal, "/nowhere/at/all", "x", first, "wrong"), -ENOENT);
	assert_int_equal(journal_close(journal), 0);
	expect(first, "probed");
	expect(second, "");
}

static void test_a_taken_name_is_left_alone(void **state)
{
	struct journal *journal;

	assert_int_equal(mkdir(made, 0755), 0);
	assert_int_equal(journal_open(&journal, &quiet), 0);
	assert_int_equal(journal_make_directory(journal, made), -EEXIST);
	assert_non_null(strstr(failure_text(), "choose another"));
	assert_int_equal(journal_close(journal), 0);
	assert_true(exists(made));
}

static void test_a_refused_change_is_not_undone(void **state)
{
	struct journal *journal;

	assert_int_equal(journal_open(&journal, &quiet), 0);
	assert_int_equal(journal_swap_on(journal, first, 0), -EINVAL);
	assert_int_equal(journal_set(journal, "/nowhere/attribute", "1"), -ENOENT);
	assert_int_equal(journal_make_directory(journal, "/nowhere/directory"), -ENOENT);
	assert_int_equal(journal_close(journal), 0);
}

static void test_what_somebody_else_changed_is_said(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *log = open_memstream(&text, &size);
	struct journal *journal;

	assert_int_equal(journal_open(&journal, &(struct journal_options){.log = log}), 0);
	assert_int_equal(journal_set(journal, first, "two"), 0);
	put(first, "three\n");
	assert_int_equal(journal_close(journal), 0);
	fclose(log);
	assert_non_null(strstr(text, "was \"three\" by now"));
	expect(first, "one");
	free(text);
}

/* Runs `changes` changes in a process that is then killed; its pid and start name the journal. */
static void die_after(int changes, char name[JOURNAL_NAME])
{
	int ready[2], status;
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	child = child_fork();
	if (!child) {
		struct journal *journal;
		int err = journal_open(&journal, &quiet);

		for (int i = 0; i < changes && !err; i++)
			err = change(journal, i);
		if (write(ready[1], err ? "e" : "k", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 'k');
	journal_name(name, (__u32)child, process_start((__u32)child));
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, SIGKILL);
	close(ready[0]);
	close(ready[1]);
}

static void test_what_fails_stays_on_file(void **state)
{
	struct journal_recovery recovery;
	char name[JOURNAL_NAME], file[128];

	die_after(CHANGES, name);
	snprintf(file, sizeof(file), "%s/file", made);
	put(file, "in the way");
	/* `made` cannot be removed: `first`, changed before it, must not be touched. */
	assert_int_equal(journal_recover(&quiet, &recovery), -ENOTEMPTY);
	assert_int_equal(recovery.undone, 2);
	assert_int_equal(recovery.left, 2);
	expect(first, "two");
	assert_int_equal(journals_left(), 1);
	unlink(file);
	assert_int_equal(journal_recover(&quiet, &recovery), 0);
	assert_int_equal(recovery.undone, 2);
	expect_untouched();
}

static void test_a_living_owner_is_left_alone(void **state)
{
	struct journal_recovery recovery;
	struct journal *journal;

	assert_int_equal(journal_open(&journal, &quiet), 0);
	assert_int_equal(change(journal, 0), 0);
	assert_int_equal(journal_recover(&quiet, &recovery), 0);
	assert_int_equal(recovery.journals, 0);
	expect(first, "two");
	assert_int_equal(journal_close(journal), 0);
}

static void path_of(char path[160], const char *name)
{
	snprintf(path, 160, "%s/%s", run_scratch, name);
}

static size_t load(const char *name, char bytes[4096])
{
	char path[160];
	ssize_t size;
	int file;

	path_of(path, name);
	file = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	size = read(file, bytes, 4096);
	close(file);
	assert_in_range(size, 100, 4000);
	return (size_t)size;
}

static void store(const char *name, const char *bytes, size_t size)
{
	char path[160];
	int file;

	path_of(path, name);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	assert_int_equal(write(file, bytes, size), size);
	close(file);
}

static void test_kill_and_recover(void **state)
{
	struct journal_recovery recovery;
	char name[JOURNAL_NAME];

	for (int changes = 0; changes <= CHANGES; changes++) {
		arrange(0);
		die_after(changes, name);
		assert_int_equal(journals_left(), 1);
		assert_int_equal(journal_recover(&quiet, &recovery), 0);
		assert_int_equal(recovery.journals, 1);
		assert_int_equal(recovery.undone, changes);
		assert_int_equal(recovery.left, 0);
		expect_untouched();
		assert_int_equal(journals_left(), 0);
	}
	assert_int_equal(journal_recover(&quiet, &recovery), 0);
	assert_int_equal(recovery.journals, 0);
}

static void test_the_next_start_recovers_and_says_so(void **state)
{
	char name[JOURNAL_NAME], *text = NULL;
	struct journal *journal;
	size_t size;
	FILE *log = open_memstream(&text, &size);

	die_after(CHANGES, name);
	assert_int_equal(journal_open(&journal, &(struct journal_options){.log = log}), 0);
	expect_untouched();
	assert_int_equal(journal_close(journal), 0);
	fclose(log);
	assert_non_null(strstr(text, "4 changes undone that process"));
	free(text);
}

/* Two injectors that both set it would give it back in the wrong order: the second is refused. */
static void test_what_another_has_set_is_refused(void **state)
{
	int ready[2], status;
	char byte;
	struct journal *journal;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = child_fork();
	if (!pid) {
		if (journal_open(&journal, &quiet) || journal_set(journal, first, "two"))
			_exit(1);
		close(ready[0]);
		close(ready[1]);
		pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 0);
	close(ready[0]);
	assert_int_equal(journal_open(&journal, &quiet), 0);
	assert_int_equal(journal_set(journal, first, "three"), -EBUSY);
	assert_non_null(strstr(failure_text(), "has set it"));
	expect(first, "two");
	/* What it has not set is free. */
	assert_int_equal(journal_set(journal, second, "vfio-pci"), 0);
	assert_int_equal(journal_close(journal), 0);
	expect(second, "");
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	/* A dead one's is given back first; and one sets its own as often as it likes. */
	assert_int_equal(journal_open(&journal, &quiet), 0);
	expect(first, "one");
	assert_int_equal(journal_set(journal, first, "three"), 0);
	assert_int_equal(journal_set(journal, first, "four"), 0);
	assert_int_equal(journal_close(journal), 0);
	expect(first, "one");
}

/* Cut at every byte: what is wholly on file is undone, and its change may or may not have been
 * made. */
static void test_cut_at_every_byte(void **state)
{
	struct journal_content content;
	struct journal_recovery recovery;
	char name[JOURNAL_NAME], bytes[4096];
	int whole = 0, seen = 0;
	size_t size;

	die_after(CHANGES, name);
	size = load(name, bytes);
	for (size_t cut = 0; cut <= size; cut++) {
		assert_int_equal(journal_parse(bytes, cut, &content), 0);
		assert_false(content.damaged);
		whole = content.count ? (int)content.count - 1 : 0;
		journal_content_free(&content);
		for (int was_made = 0; was_made < 2; was_made++) {
			if (!whole && was_made)
				continue;
			arrange(was_made || !whole ? whole : whole - 1);
			store(name, bytes, cut);
			assert_int_equal(journal_recover(&quiet, &recovery), 0);
			assert_int_equal(recovery.journals, 1);
			assert_int_equal(recovery.undone, whole);
			expect_untouched();
			assert_int_equal(journals_left(), 0);
		}
		seen |= 1 << whole;
	}
	assert_int_equal(whole, CHANGES);
	assert_int_equal(seen, (1 << (CHANGES + 1)) - 1);
}

/* One byte wrong: exactly the record that it belongs to is lost. */
static void test_damage_at_every_byte(void **state)
{
	struct journal_content content;
	char name[JOURNAL_NAME], bytes[4096];
	size_t size;

	die_after(CHANGES, name);
	size = load(name, bytes);
	for (size_t at = 0; at < size; at++) {
		bytes[at] ^= 0x20;
		assert_int_equal(journal_parse(bytes, size, &content), 0);
		assert_int_equal(content.count, CHANGES);
		assert_true(content.damaged || content.valid < size);
		journal_content_free(&content);
		bytes[at] ^= 0x20;
	}
	/* Any one change can be read wrongly; the others are undone all the same. */
	bytes[size - 1] ^= 0x20;
	store(name, bytes, size);
	assert_int_equal(journal_recover(&quiet, &(struct journal_recovery){0}), 0);
	expect(first, "one");
	assert_false(exists(made));
	expect(second, "vfio-pci");
}

static void test_an_earlier_boot_is_forgotten(void **state)
{
	const char *const owner[JOURNAL_TEXTS] = {"1", "1", "another boot"};
	const char *const set[JOURNAL_TEXTS] = {first, "zero", "one"};
	struct journal_recovery recovery;
	char path[160];
	int file;

	path_of(path, "4194305-1" JOURNAL_SUFFIX);
	file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_int_equal(journal_append(file, JOURNAL_OWNER, 1, owner), 0);
	assert_int_equal(journal_append(file, JOURNAL_SET, 2, set), 0);
	close(file);
	assert_int_equal(journal_recover(&quiet, &recovery), 0);
	assert_int_equal(recovery.undone, 0);
	expect(first, "one");
	assert_int_equal(journals_left(), 0);
}

static void test_dry_run(void **state)
{
	struct journal_recovery recovery;
	char name[JOURNAL_NAME], *text = NULL;
	struct journal *journal;
	size_t size;
	FILE *log = open_memstream(&text, &size);
	const struct journal_options dry = {.dry_run = true, .log = log};

	assert_int_equal(journal_open(&journal, &dry), 0);
	for (int i = 0; i < CHANGES; i++)
		assert_int_equal(change(journal, i), 0);
	assert_int_equal(journal_close(journal), 0);
	expect_untouched();
	assert_int_equal(journals_left(), 0);
	die_after(CHANGES, name);
	assert_int_equal(journal_recover(&dry, &recovery), 0);
	assert_int_equal(recovery.left, CHANGES);
	assert_int_equal(recovery.undone, 0);
	expect(first, "two");
	fclose(log);
	assert_non_null(strstr(text, "write \"two\" to"));
	assert_non_null(strstr(text, "mkdir"));
	assert_non_null(strstr(text, "write \"one\" to"));
	assert_non_null(strstr(text, "rmdir"));
	free(text);
	assert_int_equal(journal_recover(&quiet, &recovery), 0);
	expect_untouched();
}

static void make_all_changes(void)
{
	struct journal *journal;
	int err;

	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	err = journal_open(&journal, &quiet);
	for (int i = 0; i < CHANGES && !err; i++)
		err = change(journal, i);
	if (!err)
		err = journal_close(journal);
	_exit(err ? 1 : 0);
}

/* Kills a process at its n-th entry to or exit from a system call. False: it ended before. */
static bool kill_at(unsigned int stops)
{
	pid_t child = child_fork();
	int status;

	if (!child)
		make_all_changes();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status));
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL);
	for (unsigned int i = 0; i < stops; i++) {
		ptrace(PTRACE_SYSCALL, child, 0, 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		if (WIFEXITED(status)) {
			assert_int_equal(WEXITSTATUS(status), 0);
			return false;
		}
	}
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	return true;
}

static void test_kill_at_every_system_call(void **state)
{
	struct journal_recovery recovery;
	unsigned int stops = 0, undone = 0;
	bool killed = true;

	while (killed) {
		arrange(0);
		killed = kill_at(stops++);
		assert_int_equal(journal_recover(&quiet, &recovery), 0);
		undone += recovery.undone > 0;
		expect_untouched();
		assert_int_equal(journals_left(), 0);
	}
	assert_in_range(stops, 100, 5000);
	assert_in_range(undone, 40, stops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_closing_undoes_all, setup, teardown),
		cmocka_unit_test_setup_teardown(test_undo_in_between, setup, teardown),
		cmocka_unit_test_setup_teardown(test_actions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_taken_name_is_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_refused_change_is_not_undone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_what_somebody_else_changed_is_said, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_what_fails_stays_on_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_living_owner_is_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kill_and_recover, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_next_start_recovers_and_says_so, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_what_another_has_set_is_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_cut_at_every_byte, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage_at_every_byte, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_earlier_boot_is_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dry_run, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kill_at_every_system_call, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
