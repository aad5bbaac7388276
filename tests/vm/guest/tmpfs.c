// SPDX-License-Identifier: GPL-2.0
/* Files in a tmpfs, written, read back and verified as a whole. */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static uint64_t tmpfs_threads(const struct load_options *options)
{
	return options->tmpfs_bytes >= LOAD_PAGE ? options->tmpfs_files : 0;
}

/* All pages of a file: written as of a generation, or read and compared with it. */
static uint64_t whole_file(int fd, uint64_t bytes, uint64_t owner, uint64_t generation, bool write)
{
	_Alignas(8) char page[LOAD_PAGE];
	uint64_t wrong = 0;

	for (uint64_t at = 0; at + LOAD_PAGE <= bytes; at += LOAD_PAGE) {
		ssize_t length;

		if (write) {
			page_fill(page, owner + at, generation);
			length = pwrite(fd, page, LOAD_PAGE, (off_t)at);
		} else {
			length = pread(fd, page, LOAD_PAGE, (off_t)at);
			if (length == LOAD_PAGE)
				wrong += page_wrong_bytes(page, owner + at, generation);
		}
		if (length != LOAD_PAGE)
			wrong += LOAD_PAGE;
	}
	return wrong;
}

static void tmpfs_thread(struct load *load, uint64_t number)
{
	uint64_t bytes = load->options->tmpfs_bytes, rounds = load->options->tmpfs_rounds, round;
	uint64_t owner = (number + 1) << 48, wrong;
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/tmp/file%llu", (unsigned long long)number);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) {
		load_error(load, path, errno);
		return;
	}
	for (round = 1; (!rounds || round <= rounds) && !load_is_over(load); round++) {
		wrong = whole_file(fd, bytes, owner, round, true);
		wrong += whole_file(fd, bytes, owner, round, false);
		if (wrong)
			load_wrong(load, path, round, wrong);
	}
	/* Once more, after all else had its time to disturb it. */
	wrong = round > 1 ? whole_file(fd, bytes, owner, round - 1, false) : 0;
	if (wrong)
		load_wrong(load, path, round, wrong);
	close(fd);
	unlink(path);
	pthread_mutex_lock(&load->result.lock);
	load->result.files += round - 1;
	pthread_mutex_unlock(&load->result.lock);
}

const struct work tmpfs_work = {"tmpfs", tmpfs_threads, tmpfs_thread};
