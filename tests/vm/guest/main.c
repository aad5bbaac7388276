// SPDX-License-Identifier: GPL-2.0
#include "load.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A thread, and what it is to do. */
struct worker {
	pthread_t thread;
	const struct work *work;
	struct load *load;
	uint64_t number;
};

static const struct work *const works[] = {&churn_work, &counters_work, &flags_work,
					   &tmpfs_work, &disk_work,	&buffered_work};
#define WORKS	    (sizeof(works) / sizeof(works[0]))
#define WORKERS_MAX 64

bool load_is_over(const struct load *load)
{
	return load->end_ns && clock_ns() >= load->end_ns;
}

/* A guest whose memory is not what it was has no reason to go on (`wrong=panic`). */
static void guest_panic(void)
{
	int fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "c", 1) != 1)
		printf("guest: no /proc/sysrq-trigger\n");
	if (fd >= 0)
		close(fd);
}

void load_wrong(struct load *load, const char *what, uint64_t where, uint64_t bytes)
{
	pthread_mutex_lock(&load->result.lock);
	if (!load->result.wrong_bytes)
		printf("guest: %s %llu: %llu bytes are wrong\n", what, (unsigned long long)where,
		       (unsigned long long)bytes);
	load->result.wrong_bytes += bytes;
	if (!strcmp(load->options->wrong, "panic"))
		guest_panic();
	pthread_mutex_unlock(&load->result.lock);
}

void load_error(struct load *load, const char *what, int error)
{
	pthread_mutex_lock(&load->result.lock);
	if (!load->result.errors)
		printf("guest: %s: %s\n", what, strerror(error));
	load->result.errors++;
	pthread_mutex_unlock(&load->result.lock);
}

static void *worker_run(void *argument)
{
	struct worker *worker = argument;

	worker->work->thread(worker->load, worker->number);
	return NULL;
}

static void run_threads(struct load *load)
{
	static struct worker workers[WORKERS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < WORKS; i++) {
		uint64_t threads = works[i]->threads(load->options);

		for (uint64_t number = 0; number < threads; number++) {
			struct worker *worker = &workers[count];
			int error = 0;

			*worker = (struct worker){0, works[i], load, number};
			if (count < WORKERS_MAX)
				error = pthread_create(&worker->thread, NULL, worker_run, worker);
			if (error || count == WORKERS_MAX - 1) {
				load_error(load, works[i]->name, error);
				break;
			}
			count++;
		}
	}
	for (size_t i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
}

void say(const char *key, uint64_t value)
{
	printf("faultline-guest: %s %llu\n", key, (unsigned long long)value);
}

static void say_latency(const char *name, const struct latency *latency)
{
	static const struct {
		const char *name;
		unsigned int per_mille;
	} percentiles[] = {{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p999", 999}};
	char key[64];

	for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++) {
		uint64_t ns = latency_percentile(latency, percentiles[i].per_mille);

		snprintf(key, sizeof(key), "%s_%s_ns", name, percentiles[i].name);
		if (ns)
			say(key, ns);
	}
	snprintf(key, sizeof(key), "%s_max_ns", name);
	if (latency->count)
		say(key, latency->max_ns);
}

/* What the guest's kernel has counted of its disk (Documentation/block/stat.rst). */
static void say_disk(const struct load_options *options)
{
	static const char *const names[] = {"disk_reads",
					    NULL,
					    "disk_read_sectors",
					    NULL,
					    "disk_writes",
					    NULL,
					    "disk_written_sectors",
					    NULL,
					    NULL,
					    NULL,
					    NULL,
					    "disk_discards",
					    NULL,
					    NULL,
					    NULL,
					    "disk_flushes"};
	char path[64], text[300] = "", *next, *word;
	int fd;

	if (!options->disk_bytes)
		return;
	snprintf(path, sizeof(path), "/sys/block/%s/stat", strrchr(options->disk, '/') + 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		printf("guest: no %s\n", path);
	if (fd >= 0)
		close(fd);
	word = strtok_r(text, " \n", &next);
	for (size_t i = 0; word && i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i])
			say(names[i], strtoull(word, NULL, 10));
		word = strtok_r(NULL, " \n", &next);
	}
}

static void report(const struct load *load, uint64_t begin)
{
	const struct load_result *result = &load->result;

	say("wrong_bytes", result->wrong_bytes);
	say("errors", result->errors);
	say("pages", result->churned);
	say("counted", result->counted);
	if (result->flags_tried) {
		say("flags_tried", result->flags_tried);
		say("flags_spoiled", result->flags_spoiled);
	}
	say("files", result->files);
	say("reads", result->reads);
	say("writes", result->writes);
	say("zeroed", result->zeroed);
	say("discarded", result->discarded);
	say("flushes", result->flushes);
	say("boots", load->boots + 1);
	say_latency("page", &result->page);
	say_latency("read", &result->read);
	say_latency("write", &result->write);
	say_disk(load->options);
	say("boot_ms", begin / 1000000);
	say("load_ms", (clock_ns() - begin) / 1000000);
}

/* The number behind a word in one of the kernel's tables. */
static uint64_t kernel_number(const char *path, const char *word)
{
	char line[200];
	uint64_t number = 0;
	FILE *table = fopen(path, "re");

	if (!table) {
		printf("guest: no %s\n", path);
		return 0;
	}
	while (fgets(line, sizeof(line), table))
		if (!strncmp(line, word, strlen(word)))
			number = strtoull(line + strlen(word), NULL, 10);
	fclose(table);
	return number;
}

/* What balloons have given back since the boot, however quickly. */
static uint64_t given_back(void)
{
	return kernel_number("/proc/vmstat", "balloon_deflate ") << 12;
}

static void await_memory(const struct load_options *options)
{
	while (options->await_memory &&
	       kernel_number("/proc/meminfo", "MemTotal: ") << 10 < options->await_memory)
		usleep(100000);
}

static void rest(const struct load_options *options)
{
	uint64_t before = given_back();

	sleep((unsigned int)options->rest_seconds);
	if (!options->rest_balloon)
		return;
	printf("faultline-guest-rests\n");
	while (given_back() < before + options->rest_balloon)
		usleep(100000);
}

/* A command in the guest's shell, whose end is told like all else. */
static void run_command(const char *command)
{
	pid_t child;
	int status = 0;

	if (!*command)
		return;
	child = fork();
	if (child == 0) {
		setenv("PATH", "/bin", 1);
		execl("/bin/busybox", "busybox", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		status = -1;
	say("run_status", WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 255);
}

int main(int argc, char **argv)
{
	static struct load_options options;
	static struct load load = {.options = &options, .result.lock = PTHREAD_MUTEX_INITIALIZER};
	bool good = machine_begin();
	uint64_t begin = clock_ns(), traffic;

	setvbuf(stdout, NULL, _IOLBF, 0);
	load_options_init(&options);
	for (int i = 1; i < argc; i++) {
		if (load_option(&options, argv[i]))
			continue;
		printf("guest: '%s' is nothing that can be asked for\n", argv[i]);
		good = false;
	}
	if (options.seconds)
		load.end_ns = begin + options.seconds * 1000000000u;
	if (good && disk_begin(&load) && network_begin(&load)) {
		printf("faultline-guest-begins\n");
		await_memory(&options);
		for (uint64_t round = 0; round < options.rounds; round++) {
			if (round)
				rest(&options);
			run_threads(&load);
		}
		traffic = clock_ns();
		run_command(options.run);
		network_end(&load, traffic);
		disk_end(&load);
		report(&load, begin);
	} else {
		say("errors", load.result.errors + 1);
		options.reboots = 0;
	}
	machine_end(load.boots < options.reboots ? "reboot" : options.end);
}
