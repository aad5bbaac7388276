// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fail.h"
#include "lib/capture/hello.h"

#define DEVICE(index, name)                                                                  \
	"{\"index\":" index ",\"name\":\"" name "\",\"model\":\"block\",\"tenant\":\"vm0\"," \
	"\"queues\":2,\"memory\":67108864,\"pasid\":2147483648}"
#define HELLO(devices) \
	"{\"faultline\":1,\"pid\":4711,\"start_time\":123457,\"devices\":[" devices "]}"

static struct hello hello;

static int parse(const char *text)
{
	return hello_parse(text, strlen(text), &hello);
}

static void a_hello_is_understood(void **state)
{
	assert_int_equal(parse(HELLO(DEVICE("0", "vm0/disk") "," DEVICE("1", "vm0/nic"))), 0);
	assert_int_equal(hello.pid, 4711);
	assert_int_equal(hello.start_time, 123457);
	assert_int_equal(hello.device_count, 2);
	assert_string_equal(hello.devices[1].name, "vm0/nic");
	assert_string_equal(hello.devices[1].tenant, "vm0");
	assert_int_equal(hello.devices[0].memory, 67108864);
	assert_int_equal(hello.devices[0].pasid, 2147483648u);
	hello_free(&hello);
}

static void where_memory_is_mapped_need_not_be_told(void **state)
{
	assert_int_equal(parse(HELLO(DEVICE("0", "vm0/disk"))), 0);
	assert_int_equal(hello.devices[0].mapped_at, 0);
	hello_free(&hello);
	assert_int_equal(parse(HELLO("{\"mapped_at\":140073414311936,\"index\":0,\"name\":\"d\","
				     "\"model\":\"m\",\"tenant\":\"t\",\"queues\":1,\"memory\":1,"
				     "\"pasid\":0}")),
			 0);
	assert_int_equal(hello.devices[0].mapped_at, 140073414311936);
	hello_free(&hello);
	assert_int_equal(parse(HELLO("{\"mapped_at\":-1,\"index\":0,\"name\":\"d\",\"model\":\"m\","
				     "\"tenant\":\"t\",\"queues\":1,\"memory\":1,\"pasid\":0}")),
			 -EPROTO);
}

static int parse_networks(const char *networks)
{
	char text[512];

	snprintf(text, sizeof(text),
		 HELLO("{\"networks\":%s,\"index\":0,\"name\":\"n\",\"model\":"
		       "\"nic\",\"tenant\":\"t\",\"queues\":1,\"memory\":1,"
		       "\"pasid\":0}"),
		 networks);
	return parse(text);
}

static void networks_are_two_namespaces_or_none(void **state)
{
	static const char *const bad[] = {
		"[]",	 "[1]",	    "[1,2,3]",	     "[0,2]", "[1,0]", "[-1,2]", "[1,4294967296]",
		"[7,7]", "[1.5,2]", "[\"1\",\"2\"]", "null",  "1",     "{}",
	};

	assert_int_equal(parse(HELLO(DEVICE("0", "vm0/disk"))), 0);
	assert_int_equal(hello.devices[0].networks[0] | hello.devices[0].networks[1], 0);
	hello_free(&hello);
	assert_int_equal(parse_networks("[4026531840,4294967295]"), 0);
	assert_int_equal(hello.devices[0].networks[0], 4026531840);
	assert_int_equal(hello.devices[0].networks[1], 4294967295);
	hello_free(&hello);
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(parse_networks(bad[i]), -EPROTO);
		assert_non_null(strstr(failure_text(), "networks of device n are no two"));
	}
}

static void names_that_would_break_a_terminal_are_defused(void **state)
{
	assert_int_equal(parse(HELLO(DEVICE("0", "a\\u001b[2Jb"))), 0);
	assert_string_equal(hello.devices[0].name, "a?[2Jb");
	hello_free(&hello);
}

static void a_name_without_end_is_cut(void **state)
{
	char name[301], text[1024];

	memset(name, 'x', 300);
	name[300] = '\0';
	snprintf(text, sizeof(text),
		 "{\"faultline\":1,\"pid\":1,\"start_time\":1,\"devices\":[{\"index\":0,\"name\":"
		 "\"%s\",\"model\":\"m\",\"tenant\":\"t\",\"queues\":1,\"memory\":1,\"pasid\":0}]}",
		 name);
	assert_int_equal(parse(text), 0);
	assert_int_equal(strlen(hello.devices[0].name), NAME_TEXT - 1);
	hello_free(&hello);
}

static void anything_else_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"null",
		"[]",
		"{}",
		"{\"faultline\":2,\"pid\":1,\"start_time\":1,\"devices\":[]}",
		"{\"faultline\":1,\"pid\":-1,\"start_time\":1,\"devices\":[]}",
		"{\"faultline\":1,\"pid\":1.5,\"start_time\":1,\"devices\":[]}",
		"{\"faultline\":1,\"pid\":99999999999,\"start_time\":1,\"devices\":[]}",
		"{\"faultline\":1,\"pid\":1,\"devices\":[]}",
		"{\"faultline\":1,\"pid\":1,\"start_time\":1,\"devices\":{}}",
		"{\"faultline\":1,\"pid\":1,\"start_time\":1}",
		"{\"faultline\":1,\"pid\":1,\"pid\":2,\"start_time\":1,\"devices\":[]}",
		HELLO("7"),
		HELLO(DEVICE("1", "first")),
		HELLO(DEVICE("0", "a") "," DEVICE("0", "b")),
		HELLO(DEVICE("-1", "a")),
		HELLO(DEVICE("0", "")),
		HELLO("{\"index\":0}"),
		HELLO(DEVICE("0", "a")) "trailing",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i]), -EPROTO);
		assert_null(hello.devices);
	}
}

static void more_devices_than_any_machine_has_are_refused(void **state)
{
	size_t length;
	char *text;

	for (int more = 0; more < 2; more++) {
		FILE *file = open_memstream(&text, &length);

		fputs("{\"faultline\":1,\"pid\":1,\"start_time\":1,\"devices\":[", file);
		for (int i = 0; i < HELLO_DEVICES_MAX + more; i++)
			fprintf(file,
				"%s{\"index\":%d,\"name\":\"d\",\"model\":\"m\",\"tenant\":\"t\","
				"\"queues\":1,\"memory\":1,\"pasid\":0}",
				i ? "," : "", i);
		fputs("]}", file);
		fclose(file);
		assert_int_equal(parse(text), more ? -EPROTO : 0);
		assert_int_equal(hello.device_count, more ? 0 : HELLO_DEVICES_MAX);
		hello_free(&hello);
		free(text);
	}
}

static void every_cut_of_a_hello_is_refused(void **state)
{
	static const char whole[] = HELLO(DEVICE("0", "vm0/disk"));

	for (size_t bytes = 0; bytes < sizeof(whole) - 1; bytes++)
		assert_int_equal(hello_parse(whole, bytes, &hello), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hello_is_understood),
		cmocka_unit_test(where_memory_is_mapped_need_not_be_told),
		cmocka_unit_test(networks_are_two_namespaces_or_none),
		cmocka_unit_test(names_that_would_break_a_terminal_are_defused),
		cmocka_unit_test(a_name_without_end_is_cut),
		cmocka_unit_test(anything_else_is_refused),
		cmocka_unit_test(more_devices_than_any_machine_has_are_refused),
		cmocka_unit_test(every_cut_of_a_hello_is_refused),
	};

	return cmocka_run_group_tests_name("hello", tests, NULL, NULL);
}
