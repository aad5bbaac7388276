// SPDX-License-Identifier: GPL-2.0
#include "injectors/net/network_counters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fail.h"

#define COUNTERS_TEXT (64ul << 10)

static const struct network_counter {
	const char *group, *name;
	size_t offset;
} network_counter_rows[] = {
#define NETWORK_COUNTER(member, group, name) \
	{group, name, offsetof(struct network_counters, member)},
#include "injectors/net/network_counters.def"
#undef NETWORK_COUNTER
};

#define NETWORK_COUNTERS (sizeof(network_counter_rows) / sizeof(network_counter_rows[0]))

static __u64 *counter_of(struct network_counters *counters, size_t row)
{
	return (__u64 *)((char *)counters + network_counter_rows[row].offset);
}

/* "Tcp: InSegs OutSegs" and "Tcp: 12 15"; which were found is marked. */
static void counters_take_group(char *names, char *values, struct network_counters *counters,
				bool found[NETWORK_COUNTERS])
{
	char *name_rest, *value_rest, *group = strtok_r(names, ": ", &name_rest);

	strtok_r(values, ": ", &value_rest);
	while (group) {
		const char *name = strtok_r(NULL, " ", &name_rest);
		const char *value = strtok_r(NULL, " ", &value_rest);

		if (!name || !value)
			return;
		for (size_t i = 0; i < NETWORK_COUNTERS; i++) {
			if (strcmp(network_counter_rows[i].group, group) != 0 ||
			    strcmp(network_counter_rows[i].name, name) != 0)
				continue;
			*counter_of(counters, i) = strtoull(value, NULL, 10);
			found[i] = true;
		}
	}
}

static void counters_take_file(char *text, struct network_counters *counters,
			       bool found[NETWORK_COUNTERS])
{
	char *rest, *names = strtok_r(text, "\n", &rest);

	while (names) {
		char *values = strtok_r(NULL, "\n", &rest);

		if (!values)
			return;
		counters_take_group(names, values, counters, found);
		names = strtok_r(NULL, "\n", &rest);
	}
}

int network_counters_parse(char *snmp, char *netstat, struct network_counters *counters)
{
	bool found[NETWORK_COUNTERS] = {false};

	counters_take_file(snmp, counters, found);
	counters_take_file(netstat, counters, found);
	for (size_t i = 0; i < NETWORK_COUNTERS; i++)
		if (!found[i])
			return failed(-ENOENT,
				      "this kernel's /proc/net/%s has no %s %s; it needs Linux "
				      "4.17 or later",
				      strstr(network_counter_rows[i].group, "Ext") ? "netstat"
										   : "snmp",
				      network_counter_rows[i].group, network_counter_rows[i].name);
	return 0;
}

static int read_text(const char *path, char *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t size = fd < 0 ? -1 : 0;

	while (fd >= 0 && used < COUNTERS_TEXT - 1) {
		size = read(fd, text + used, COUNTERS_TEXT - 1 - used);
		if (size <= 0)
			break;
		used += (size_t)size;
	}
	text[used] = '\0';
	if (size < 0)
		size = failed(-errno, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return size < 0 ? (int)size : 0;
}

int network_counters_read(unsigned int link, struct network_counters *counters)
{
	char *texts = malloc(2 * COUNTERS_TEXT);
	int err;

	if (!texts)
		return failed(-ENOMEM, "no memory to read a namespace's counters");
	err = read_text("/proc/thread-self/net/snmp", texts)
		      ?: read_text("/proc/thread-self/net/netstat", texts + COUNTERS_TEXT)
		      ?: network_counters_parse(texts, texts + COUNTERS_TEXT, counters);
	free(texts);
	return err ?: link_read_statistics(link, &counters->link);
}
