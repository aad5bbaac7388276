// SPDX-License-Identifier: GPL-2.0
#include "tests/unit/hyv_seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seen seen;

static void device(__u32 handle, const char *name, const char *model)
{
	struct device_info info = {.handle = handle,
				   .kind = DEVICE_EMULATED,
				   .pid = 100 + handle,
				   .pid_start_ns = 1001 * MS,
				   .first_ns = 1001 * MS};

	snprintf(info.name, sizeof(info.name), "%s", name);
	snprintf(info.model, sizeof(info.model), "%s", model);
	snprintf(info.vm, sizeof(info.vm), "left");
	assert_int_equal(seen.stream.ops->device(seen.stream.self, &info), 0);
}

int seen_setup_with(const struct analysis_config *config)
{
	const struct host_info host = {.hostname = "h", .start_ns = 1000 * MS};

	assert_int_equal(analysis_create(&seen.analysis, config), 0);
	seen.stream = analysis_stream(seen.analysis);
	seen.stream.ops->host(seen.stream.self, &host);
	device(HYBRID, "left/hybrid", "rdma/hybrid");
	device(NATIVE, "left/native", "rdma/native");
	device(PASSTHROUGH, "left/passed", "rdma/passthrough");
	device(ODP, "left/odp", "rdma/odp");
	device(PLAIN, "left/plain", "rdma/npf");
	seen.now_ns = 2000 * MS;
	return 0;
}

int seen_setup(void **state)
{
	(void)state;
	return seen_setup_with(NULL);
}

int seen_teardown(void **state)
{
	(void)state;
	analysis_destroy(seen.analysis);
	return 0;
}

void seen_push(struct event event)
{
	seen.now_ns += MS;
	event.time_ns = seen.now_ns;
	assert_int_equal(seen.stream.ops->events(seen.stream.self, &event, 1), 0);
}

static char *print(const struct analyzer *only)
{
	struct writer_config config = {.format = only ? OUTPUT_CSV : OUTPUT_TEXT};
	struct writer *writer;
	char *text;
	size_t size;

	config.file = open_memstream(&text, &size);
	assert_int_equal(writer_open(&writer, &config), 0);
	if (only)
		analysis_write(seen.analysis, only, writer, &(struct table_wish){0});
	else
		analysis_write_findings(seen.analysis, writer);
	assert_int_equal(writer_close(writer), 0);
	fclose(config.file);
	for (char *c = text; !only && *c; c++)
		if (*c == '\n')
			*c = ' ';
	return text;
}

void seen_says(const struct analyzer *only, const char *what)
{
	char *text = print(only);

	if (!strstr(text, what))
		fail_msg("\"%s\" is not in:\n%s", what, text);
	free(text);
}

void seen_says_not(const struct analyzer *only, const char *what)
{
	char *text = print(only);

	if (strstr(text, what))
		fail_msg("\"%s\" is in:\n%s", what, text);
	free(text);
}

void seen_verb(__u32 handle, __u32 token, __u8 kind, __u64 start_ns, __u64 took_ns, int error)
{
	seen_push((struct event){.kind = EVENT_VERB,
				 .device = handle,
				 .group = token,
				 .code = kind,
				 .address = start_ns,
				 .length = PAGES(3),
				 .value = took_ns,
				 .instance = 17,
				 .tid = 2,
				 .queue = (__u16)error,
				 .flags = error ? EVENT_MAJOR : 0});
}
