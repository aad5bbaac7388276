// SPDX-License-Identifier: GPL-2.0
/* QEMU's monitor, with somebody in its place who says what QEMU would not, or nothing. */
#include "tests/unit/test.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "injectors/job/vm_monitor.h"
#include "lib/base/fail.h"

#define LONG_NS (120 * SECOND) /* on any machine, however busy */
#define GREETING \
	"{\"QMP\": {\"version\": {\"qemu\": {\"major\": 7}}, \"capabilities\": [\"oob\"]}}\r\n"
#define CAPABLE GREETING "{\"return\": {}, \"id\": 1}\r\n"

struct peer {
	struct vm_monitor *monitor;
	int socket; /* QEMU's end */
};

static void meet(struct peer *peer, __u64 answer_ns)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(vm_monitor_create(&peer->monitor, ends[0], "vm7", answer_ns), 0);
	peer->socket = ends[1];
}

static void say_bytes(const struct peer *peer, const char *bytes, size_t size)
{
	assert_int_equal(write(peer->socket, bytes, size), (ssize_t)size);
}

/* Ahead of what it answers: the numbers of commands are known. */
static void say(const struct peer *peer, const char *text)
{
	say_bytes(peer, text, strlen(text));
}

static void part(struct peer *peer)
{
	vm_monitor_destroy(peer->monitor);
	if (peer->socket >= 0)
		close(peer->socket);
}

static void ends_with(struct peer *peer, int error, const char *sentence)
{
	assert_int_equal(vm_monitor_execute(peer->monitor, "stop", NULL, NULL), error);
	if (!strstr(failure_text(), sentence) || !strstr(failure_text(), "vm7"))
		fail_msg("said \"%s\", not \"%s\"", failure_text(), sentence);
}

static void an_answer_is_that_of_its_command(void **state)
{
	struct peer peer;
	json_t *answer, *sent;
	char text[512];
	ssize_t size;

	meet(&peer, LONG_NS);
	say(&peer, CAPABLE "{\"event\": \"RESUME\", \"timestamp\": {}}\r\n"
			   "{\"return\": {\"actual\": 31}, \"id\": 2}\r\n"
			   "{\"event\": \"STOP\", \"id\": 3}\n{\"return\": {}, \"id\": 3}\n");
	assert_int_equal(vm_monitor_execute(peer.monitor, "query-balloon", NULL, &answer), 0);
	assert_int_equal(json_integer_value(json_object_get(answer, "actual")), 31);
	json_decref(answer);
	assert_int_equal(vm_monitor_execute(peer.monitor, "balloon",
					    json_pack("{s:I}", "value", (json_int_t)5 << 30), NULL),
			 0);
	size = read(peer.socket, text, sizeof(text) - 1);
	assert_true(size > 0);
	text[size] = '\0';
	assert_non_null(strstr(text, "qmp_capabilities"));
	sent = json_loads(strstr(text, "{\"execute\":\"balloon\""), 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(sent, "id")), 3);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(sent, "arguments"), "value")),
		5ll << 30);
	json_decref(sent);
	/* One without arguments says nothing of any. */
	sent = json_loads(strstr(text, "{\"execute\":\"query-balloon\""), JSON_DISABLE_EOF_CHECK,
			  NULL);
	assert_non_null(sent);
	assert_null(json_object_get(sent, "arguments"));
	json_decref(sent);
	part(&peer);
}

static void a_refusal_is_in_qemu_s_words_and_not_the_end(void **state)
{
	struct peer peer;

	meet(&peer, LONG_NS);
	say(&peer, CAPABLE
	    "{\"error\": {\"class\": \"DeviceNotActive\", \"desc\": \"No balloon\\u001b[1m "
	    "device\"}, \"id\": 2}\r\n{\"error\": {}, \"id\": 3}\n{\"return\": {}, \"id\": 4}\r\n");
	ends_with(&peer, -EIO, "QEMU refuses 'stop': No balloon");
	assert_null(strchr(failure_text(), '\33'));
	ends_with(&peer, -EIO, "QEMU refuses 'stop': without a word");
	assert_int_equal(vm_monitor_execute(peer.monitor, "stop", NULL, NULL), 0);
	part(&peer);
}

/* All of it is final: the second command ends as the first, and is not sent. */
static void what_is_no_qmp_ends_it(void **state)
{
	static const struct {
		const char *said, *sentence;
	} wrong[] = {
		{"hello\r\n", "QEMU's monitor says \"hello\": accepted: JSON objects"},
		{"\n", "QEMU's monitor says \"\": accepted"},
		{"[1, 2]\n", "accepted: JSON objects"},
		{"31\n", "accepted: JSON objects"},
		{"{\"QMP\": {\n", "accepted: JSON objects"},
		{"{\"QMP\": 31}\n", "does not greet"},
		{"{\"return\": {}, \"id\": 1}\n", "does not greet"},
		{GREETING "{\"return\": {}}\n", "else than an answer to 'qmp_capabilities'"},
		{GREETING "{\"return\": {}, \"id\": 2}\n", "else than an answer to 'qmp_cap"},
		{GREETING "{\"error\": {\"desc\": \"no\"}, \"id\": 1}\n", "'qmp_capabilities': no"},
		{CAPABLE "{\"return\": {}, \"id\": 1}\n", "else than an answer to 'stop'"},
		{CAPABLE "{\"return\": {}, \"id\": \"2\"}\n", "else than an answer to 'stop'"},
		{CAPABLE "{\"id\": 2}\n", "else than an answer to 'stop'"},
		{CAPABLE "{}\n", "else than an answer to 'stop'"},
		{CAPABLE "{\"error\": {\"desc\": \"JSON parse error\"}}\n", "JSON parse error"},
		{CAPABLE "{\"return\": {}, \"id\": 2} x\n", "accepted: JSON objects"},
	};

	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct peer peer;
		bool refused = strstr(wrong[i].sentence, "': no");
		char text[512];
		ssize_t size;

		meet(&peer, LONG_NS);
		say(&peer, wrong[i].said);
		ends_with(&peer, refused ? -EIO : -EPROTO, wrong[i].sentence);
		(void)!recv(peer.socket, text, sizeof(text), MSG_DONTWAIT);
		ends_with(&peer, refused ? -EIO : -EPROTO, wrong[i].sentence);
		size = recv(peer.socket, text, sizeof(text), MSG_DONTWAIT);
		assert_int_equal(size, -1);
		part(&peer);
	}
}

static void bytes_of_any_value_are_no_qmp(void **state)
{
	static const char bytes[] = {'{', '\0', '\377', '\n', 'x', '\n'};
	struct peer peer;
	char deep[8192];

	meet(&peer, LONG_NS);
	say_bytes(&peer, bytes, sizeof(bytes));
	ends_with(&peer, -EPROTO, "accepted: JSON objects");
	part(&peer);
	/* A parser that goes down with every bracket would be out of stack some day. */
	meet(&peer, LONG_NS);
	memset(deep, '[', sizeof(deep));
	say(&peer, CAPABLE);
	say(&peer, "{\"event\": ");
	for (int i = 0; i < 7; i++)
		say_bytes(&peer, deep, sizeof(deep));
	say(&peer, "\n");
	ends_with(&peer, -EPROTO, "accepted: JSON objects");
	part(&peer);
}

/* An event of almost as many bytes as are read is taken, one that does not end is not. */
static void a_line_has_an_end(void **state)
{
	static char filler[VM_MONITOR_LINE - 100];
	struct peer peer;

	memset(filler, 'x', sizeof(filler));
	for (int ends = 0; ends < 2; ends++) {
		meet(&peer, LONG_NS);
		say(&peer, CAPABLE "{\"event\": \"");
		say_bytes(&peer, filler, sizeof(filler));
		if (ends) {
			say(&peer, "\"}\r\n{\"return\": {}, \"id\": 2}\r\n");
			assert_int_equal(vm_monitor_execute(peer.monitor, "stop", NULL, NULL), 0);
		} else {
			say_bytes(&peer, filler, 200);
			ends_with(&peer, -EPROTO, "accepted: messages of up to 64K");
		}
		part(&peer);
	}
}

static void *say_slowly(void *argument)
{
	const struct peer *peer = argument;
	static const char text[] =
		CAPABLE "{\"event\": \"STOP\"}\r\n{\"return\": {}, \"id\": 2}\r\n";

	for (size_t i = 0; i < strlen(text); i++) {
		say_bytes(peer, text + i, 1);
		if (i % 16 == 0)
			usleep(1000);
	}
	return NULL;
}

static void a_message_may_come_in_pieces(void **state)
{
	struct peer peer;
	pthread_t thread;

	meet(&peer, LONG_NS);
	assert_int_equal(pthread_create(&thread, NULL, say_slowly, &peer), 0);
	assert_int_equal(vm_monitor_execute(peer.monitor, "stop", NULL, NULL), 0);
	pthread_join(thread, NULL);
	part(&peer);
}

static void silence_has_an_end(void **state)
{
	static const char *const said[] = {"", "{\"QM", GREETING, CAPABLE,
					   CAPABLE "{\"event\": \"STOP\"}\n{\"return\""};
	static const char *const about[] = {"its greeting", "its greeting", "qmp_capabilities",
					    "stop", "stop"};
	struct peer peer;

	for (size_t i = 0; i < COUNT(said); i++) {
		char sentence[64];

		meet(&peer, 20 * MS);
		say(&peer, said[i]);
		snprintf(sentence, sizeof(sentence), "has not answered '%s' of its monitor for 20",
			 about[i]);
		ends_with(&peer, -ETIMEDOUT, sentence);
		/* What comes too late answers nothing. */
		say(&peer, "{\"return\": {}, \"id\": 2}\n{\"return\": {}, \"id\": 3}\n");
		ends_with(&peer, -ETIMEDOUT, sentence);
		part(&peer);
	}
}

/* One that does not read, either. */
static void who_does_not_listen_is_not_waited_for(void **state)
{
	size_t size = 8u << 20;
	char *much = calloc(1, size);
	struct peer peer;

	memset(much, 'x', size - 1);
	meet(&peer, 20 * MS);
	say(&peer, CAPABLE);
	assert_int_equal(
		vm_monitor_execute(peer.monitor, "stop", json_pack("{s:s}", "much", much), NULL),
		-ETIMEDOUT);
	part(&peer);
	free(much);
}

static void its_end_is_told(void **state)
{
	static const char *const said[] = {"", GREETING, CAPABLE, CAPABLE "{\"return\": {}, \"i"};
	struct peer peer;

	for (size_t i = 0; i < COUNT(said); i++) {
		meet(&peer, LONG_NS);
		say(&peer, said[i]);
		/* It reads nothing any more, and what it said is still there. */
		shutdown(peer.socket, SHUT_RDWR);
		ends_with(&peer, -EPIPE, "QEMU has closed its monitor");
		close(peer.socket);
		peer.socket = -1;
		ends_with(&peer, -EPIPE, "QEMU has closed its monitor");
		part(&peer);
	}
}

/* What is not answered then never is, though the connection may last. */
static void it_may_say_that_it_ends(void **state)
{
	struct peer peer;

	meet(&peer, LONG_NS);
	say(&peer, CAPABLE "{\"event\": \"STOP\"}\n{\"return\": {}, \"id\": 2}\n");
	assert_int_equal(vm_monitor_execute(peer.monitor, "stop", NULL, NULL), 0);
	assert_int_equal(vm_monitor_ends_ns(peer.monitor), 0);
	say(&peer, "{\"event\": \"SHUTDOWN\", \"data\": {\"guest\": true}}\n");
	ends_with(&peer, -EPIPE, "QEMU ends");
	assert_true(vm_monitor_ends_ns(peer.monitor) > 0);
	ends_with(&peer, -EPIPE, "QEMU ends");
	part(&peer);
}

/* Answers each command with its own argument. */
static void *answer_all(void *argument)
{
	const struct peer *peer = argument;
	FILE *commands = fdopen(dup(peer->socket), "r");
	json_t *command;

	say(peer, GREETING);
	while ((command = json_loadf(commands, JSON_DISABLE_EOF_CHECK, NULL))) {
		json_t *number = json_object_get(json_object_get(command, "arguments"), "number");
		json_t *answer = json_pack("{s:O, s:{s:O*}}", "id", json_object_get(command, "id"),
					   "return", "number", number);
		char *text = json_dumps(answer, 0);

		say(peer, text);
		say(peer, "\r\n");
		free(text);
		json_decref(answer);
		json_decref(command);
	}
	fclose(commands);
	return NULL;
}

#define THREADS	 4
#define COMMANDS 131

struct asker {
	struct peer *peer;
	pthread_t thread;
	int number, right;
};

static void *ask_all(void *argument)
{
	struct asker *asker = argument;

	for (int i = 0; i < COMMANDS; i++) {
		json_int_t number = asker->number * COMMANDS + i;
		json_t *answer;

		if (vm_monitor_execute(asker->peer->monitor, "echo",
				       json_pack("{s:I}", "number", number), &answer))
			break;
		asker->right += json_integer_value(json_object_get(answer, "number")) == number;
		json_decref(answer);
	}
	return NULL;
}

static void any_thread_gets_its_own_answer(void **state)
{
	struct asker askers[THREADS];
	struct peer peer;
	pthread_t thread;

	meet(&peer, LONG_NS);
	assert_int_equal(pthread_create(&thread, NULL, answer_all, &peer), 0);
	for (int i = 0; i < THREADS; i++) {
		askers[i] = (struct asker){.peer = &peer, .number = i};
		assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_all, &askers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(askers[i].thread, NULL);
		assert_int_equal(askers[i].right, COMMANDS);
	}
	shutdown(peer.socket, SHUT_RDWR);
	pthread_join(thread, NULL);
	part(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_that_of_its_command),
		cmocka_unit_test(a_refusal_is_in_qemu_s_words_and_not_the_end),
		cmocka_unit_test(what_is_no_qmp_ends_it),
		cmocka_unit_test(bytes_of_any_value_are_no_qmp),
		cmocka_unit_test(a_line_has_an_end),
		cmocka_unit_test(a_message_may_come_in_pieces),
		cmocka_unit_test(silence_has_an_end),
		cmocka_unit_test(who_does_not_listen_is_not_waited_for),
		cmocka_unit_test(its_end_is_told),
		cmocka_unit_test(it_may_say_that_it_ends),
		cmocka_unit_test(any_thread_gets_its_own_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
