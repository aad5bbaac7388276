// SPDX-License-Identifier: GPL-2.0
/* What a fake QEMU does in its own process. */
#include "tests/unit/fake_qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/page.h"
#include "lib/base/random.h"

enum { REGIONS = 4, THREADS = 4, WORDS = PAGE_BYTES / 8 };

struct backend {
	int file;
	size_t bytes;
	unsigned char *memory;
};

struct churn {
	pthread_t thread;
	unsigned int number, of;
	uint64_t writes, pages, lost;
	uint64_t *last; /* of its words, as it wrote them */
};

static struct backend regions[REGIONS];
static unsigned int region_count;
static atomic_bool stop;

static volatile uint64_t *word(unsigned int region, uint64_t page, uint64_t index)
{
	return (volatile uint64_t *)(regions[region].memory + (page << PAGE_BITS)) + index;
}

static void refused_or(const void *mapped, const char *done)
{
	if (mapped == MAP_FAILED)
		printf("refused %d\n", errno);
	else
		printf("%s\n", done);
}

static void map(const char *words)
{
	struct backend *backend = &regions[region_count];
	bool private = strstr(words, "private"), huge = strstr(words, "hugetlb");

	backend->bytes = strtoull(words, NULL, 0);
	backend->file =
		memfd_create("memory-backend-memfd", MFD_CLOEXEC | (huge ? MFD_HUGETLB : 0));
	if (backend->file < 0 || ftruncate(backend->file, (off_t)backend->bytes))
		exit(101);
	backend->memory = mmap(NULL, backend->bytes, PROT_READ | PROT_WRITE,
			       private ? MAP_PRIVATE : MAP_SHARED, backend->file, 0);
	region_count += backend->memory != MAP_FAILED;
	refused_or(backend->memory, "mapped");
}

/* With the kernel alone between it and the file: nobody is told. */
static void stray(uint64_t page, uint64_t value)
{
	uint64_t *at = (uint64_t *)syscall(SYS_mmap, NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
					   MAP_SHARED, regions[0].file, page << PAGE_BITS);

	if (at == MAP_FAILED)
		exit(102);
	*(volatile uint64_t *)at = value;
	munmap(at, PAGE_BYTES);
	printf("done\n");
}

static void *churn_run(void *argument)
{
	struct churn *churn = argument;
	struct random random = {churn->number + 1};

	for (uint64_t w = churn->number; w < churn->pages * WORDS; w += THREADS)
		*word(0, w / WORDS, w % WORDS) = 0;
	for (uint64_t n = 1; n <= churn->writes || !atomic_load(&stop); n++) {
		uint64_t page = random_below(&random, churn->pages);
		uint64_t index = random_below(&random, WORDS / THREADS) * THREADS + churn->number;
		volatile uint64_t *at = word(0, page, index);
		uint64_t *last = &churn->last[page * WORDS + index];

		churn->lost += *at != *last;
		*last = n << 8 | churn->number;
		*at = *last;
	}
	return NULL;
}

/* All words of all threads at the end, too. */
static void churn(unsigned int threads, uint64_t writes, uint64_t pages)
{
	struct churn churns[THREADS] = {0};
	uint64_t lost = 0;
	char line[8];

	atomic_store(&stop, false);
	for (unsigned int i = 0; i < threads; i++) {
		churns[i] = (struct churn){.number = i, .writes = writes, .pages = pages};
		churns[i].last = calloc(pages * WORDS, sizeof(uint64_t));
		pthread_create(&churns[i].thread, NULL, churn_run, &churns[i]);
	}
	if (!fgets(line, sizeof(line), stdin) || strcmp(line, "stop\n"))
		exit(105);
	atomic_store(&stop, true);
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(churns[i].thread, NULL);
	for (unsigned int i = 0; i < threads; i++) {
		for (uint64_t w = i; w < pages * WORDS; w += THREADS)
			churns[i].lost += *word(0, w / WORDS, w % WORDS) != churns[i].last[w];
		lost += churns[i].lost;
		free(churns[i].last);
	}
	printf("lost %" PRIu64 "\n", lost);
}

static void sum(unsigned int region, uint64_t pages)
{
	uint64_t all = 0;

	for (uint64_t w = 0; w < pages * WORDS; w++)
		all = all * 31 + *word(region, w / WORDS, w % WORDS);
	printf("%" PRIu64 "\n", all);
}

static void opened(int file)
{
	if (file < 0)
		printf("refused %d\n", errno);
	else
		printf("opened\n");
	if (file >= 0)
		close(file);
}

static void set_direct(const char *path)
{
	int file = open(path, O_RDWR | O_CLOEXEC);

	if (file >= 0 && fcntl(file, F_SETFL, O_DIRECT)) {
		close(file);
		file = -1;
	}
	opened(file);
}

static void open_device(const char *path)
{
	static bool made;

	if (!made && (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		      mount("none", "/dev", "tmpfs", 0, NULL) || mkdir("/dev/vfio", 0700)))
		exit(103);
	made = true;
	opened(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

/* The memory file to somebody who is not the host, and another file, which is nobody's business. */
static void give(void)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec data = {"x", 1};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		exit(105);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &pair[1], sizeof(int));
	if (sendmsg(pair[0], &message, MSG_NOSIGNAL) != 1)
		exit(106);
	memcpy(CMSG_DATA(header), &regions[0].file, sizeof(int));
	if (sendmsg(pair[0], &message, MSG_NOSIGNAL) == 1)
		puts("given");
	else
		printf("refused %d\n", errno);
}

static void huge(void)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	char line[512];
	bool mine = false, asked = false;
	unsigned long start;

	madvise(regions[0].memory, regions[0].bytes, MADV_HUGEPAGE);
	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%*x ", &start) == 1 && strchr(line, '-'))
			mine = start == (unsigned long)regions[0].memory;
		if (mine && !strncmp(line, "VmFlags:", 8))
			asked = strstr(line, " hg");
	}
	if (maps)
		fclose(maps);
	printf("%s\n", asked ? "huge" : "small");
}

static void do_one(const char *line)
{
	const char *words = strchr(line, ' ') ? strchr(line, ' ') + 1 : "";
	uint64_t a = 0, b = 0, c = 0;

	sscanf(words, "%" SCNu64 " %" SCNu64 " %" SCNu64, &a, &b, &c);
	if (!strncmp(line, "map ", 4)) {
		map(words);
	} else if (!strncmp(line, "write ", 6)) {
		*word((unsigned int)a, b, 0) = c;
		printf("done\n");
	} else if (!strncmp(line, "read ", 5)) {
		printf("%" PRIu64 "\n", *word((unsigned int)a, b, 0));
	} else if (!strncmp(line, "where ", 6)) {
		printf("%" PRIu64 "\n", (uint64_t)regions[a].memory);
	} else if (!strncmp(line, "punch ", 6)) {
		printf("%s\n",
		       fallocate(regions[a].file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				 (off_t)(b << PAGE_BITS), PAGE_BYTES)
			       ? "failed"
			       : "done");
	} else if (!strncmp(line, "stray ", 6)) {
		stray(a, b);
	} else if (!strncmp(line, "churn ", 6)) {
		churn((unsigned int)a, b, c);
	} else if (!strncmp(line, "sum ", 4)) {
		sum((unsigned int)a, b);
	} else if (!strncmp(line, "direct ", 7)) {
		opened(open(words, O_RDWR | O_DIRECT | O_CLOEXEC));
	} else if (!strncmp(line, "keep-direct ", 12)) {
		printf("%s\n", open(words, O_RDWR | O_DIRECT | O_CLOEXEC) < 0 ? "failed" : "kept");
	} else if (!strncmp(line, "set-direct ", 11)) {
		set_direct(words);
	} else if (!strncmp(line, "device ", 7)) {
		open_device(words);
	} else if (!strcmp(line, "remap")) {
		refused_or(mmap(NULL, regions[0].bytes, PROT_READ, MAP_SHARED, regions[0].file, 0),
			   "mapped");
	} else if (!strcmp(line, "give")) {
		give();
	} else if (!strcmp(line, "huge")) {
		huge();
	} else {
		exit(104);
	}
}

void fake_qemu_main(int count, char **arguments)
{
	char line[4096];

	if (count < 2 || strcmp(arguments[1], "fake-qemu"))
		return;
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		do_one(line);
	}
	exit(0);
}
