/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process that maps a memory-backend-memfd as QEMU does, with libfaultline-vm.so preloaded: this test's own program once more, which does
 * what it is asked to, a line each.
 *
 *	map BYTES [private|hugetlb]	"mapped" or "refused ERRNO"; a region is its number, in the order of these
 *	write REGION PAGE VALUE		the page's first word: "done"
 *	read REGION PAGE		its value
 *	where REGION			its address there
 *	punch REGION PAGE		gives the page back, as a balloon does: "done"
 *	stray PAGE VALUE		writes to the first region's file by a mapping that nobody serves: "done"
 *	churn THREADS WRITES PAGES	each writes its own words of the first region and reads what it wrote, so often and until
 *	stop				"lost NUMBER"
 *	sum REGION PAGES		of all words
 *	direct PATH, set-direct PATH	opens for direct I/O, or makes it that: "opened" or "refused ERRNO"
 *	keep-direct PATH		opens it so, and leaves it open: "kept"
 *	device PATH			opens a device of that name, in a /dev of its own; likewise
 *	remap				maps the first region's file once more: "mapped" or "refused ERRNO"
 *	huge				asks for huge pages in the first region: "huge" or "small"
 */
#ifndef FAULTLINE_TEST_FAKE_QEMU_H
#define FAULTLINE_TEST_FAKE_QEMU_H

#include <linux/types.h>
#include <sys/types.h>

struct fake_qemu {
	pid_t pid;
	int in, out, errors;
	char reply[128];
	char said[4096]; /* on stderr, once it has ended */
};

/* The first thing in main() of a test that starts one: does not return in the process that is one. */
void fake_qemu_main(int count, char **arguments);

/* Further words are arguments that QEMU might have; ends with NULL. */
void fake_qemu_start(struct fake_qemu *qemu, const char *socket, ...);
/* Asks, and waits for the reply. */
const char *fake_qemu_ask(struct fake_qemu *qemu, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The two halves of that. */
void fake_qemu_tell(struct fake_qemu *qemu, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
const char *fake_qemu_reply(struct fake_qemu *qemu);
/* Whether a reply is there, or its end. */
int fake_qemu_is_ready(const struct fake_qemu *qemu);
/* Its end, waited for; as of waitpid(). It ends by itself where nothing more is to be asked. */
int fake_qemu_end(struct fake_qemu *qemu);

#endif
