// SPDX-License-Identifier: GPL-2.0
#include "injectors/vm/refusals.h"

#include <stdio.h>
#include <string.h>

/* Where a part of an option's value stands. */
enum part {
	ANYWHERE, /* "cache=none" in "if=none,cache=none", and in JSON */
	FIRST,	  /* "vfio-pci" in "vfio-pci,host=..." */
	ALONE,	  /* the option by itself */
};

struct refused_word {
	const char *option; /* without its dash */
	enum part where;
	const char *word;
	const char *why;
	bool given; /* only where the caller adds the memory */
};

#define PINS \
	"the kernel pins guest memory for it, and what it reads into a page that is evicted is lost"
#define UNEVICTED "the guest's memory would not be the one that is handed over"
#define ONE_GUEST "a guest's memory is handed over once, empty"

static const struct refused_word refused[] = {
	{"drive", ANYWHERE, "cache=none", PINS "; accepted: cache=writeback, aio=threads"},
	{"drive", ANYWHERE, "cache=directsync", PINS "; accepted: cache=writethrough"},
	{"drive", ANYWHERE, "cache.direct=on", PINS "; accepted: cache.direct=off"},
	{"drive", ANYWHERE, "aio=native", PINS "; accepted: aio=threads"},
	{"blockdev", ANYWHERE, "cache.direct=on", PINS "; accepted: cache.direct=off"},
	{"blockdev", ANYWHERE, "\"direct\":true", PINS "; accepted: false"},
	{"blockdev", ANYWHERE, "\"direct\": true", PINS "; accepted: false"},
	{"blockdev", ANYWHERE, "aio=native", PINS "; accepted: aio=threads"},
	{"blockdev", ANYWHERE, "\"native\"", PINS "; accepted: \"threads\""},
	{"device", FIRST, "vfio-",
	 "VFIO pins all of the guest's memory; accepted: emulated devices"},
	{"device", ANYWHERE, "\"vfio-",
	 "VFIO pins all of the guest's memory; accepted: emulated devices"},
	{"device", FIRST, "vhost-scsi-", PINS "; accepted: virtio-scsi-pci"},
	{"device", FIRST, "vhost-vsock-", PINS "; accepted: none, or a vhost-user device"},
	{"device", FIRST, "vhost-vdpa-", PINS "; accepted: virtio devices"},
	{"netdev", ANYWHERE, "vhost=on", PINS "; accepted: vhost=off"},
	{"netdev", ANYWHERE, "vhostforce=on", PINS "; accepted: vhost=off"},
	{"netdev", FIRST, "vhost-vdpa", PINS "; accepted: other backends"},
	{"nic", ANYWHERE, "vhost=on", PINS "; accepted: vhost=off"},
	{"incoming", ALONE, "", ONE_GUEST "; accepted: a guest that boots"},
	{"mem-path", ALONE, "", UNEVICTED "; accepted: a memory-backend-memfd"},
	{"object", ANYWHERE, "hugetlb=on",
	 "pages of 2 MiB cannot be taken away one by one; accepted: hugetlb=off"},
	{"object", FIRST, "memory-backend-file", UNEVICTED "; accepted: memory-backend-memfd"},
	{"object", FIRST, "memory-backend-ram", UNEVICTED "; accepted: memory-backend-memfd"},
	{"overcommit", ANYWHERE, "mem-lock=on",
	 "locked memory is not to be taken away; accepted: mem-lock=off"},
	{"machine", ANYWHERE, "confidential-guest-support",
	 "encrypted memory cannot be moved by the host; accepted: none"},
	{"machine", ANYWHERE, "memory-encryption",
	 "encrypted memory cannot be moved by the host; accepted: none"},
	{"numa", ANYWHERE, "memdev=", UNEVICTED "; accepted: one backend for all"},
	{"daemonize", ALONE, "", "nobody would see it end; accepted: without it", true},
	{"object", FIRST, "memory-backend-", "the guest's memory is added; accepted: none", true},
	{"machine", ANYWHERE, "memory-backend=", "the guest's memory is added; accepted: none",
	 true},
	{"m", ALONE, "", "the size of the guest's memory is the tenant's; accepted: memory= of it",
	 true},
};

/* "-m" and "--m"; of "-M" the long form. */
static const char *option_of(const char *word)
{
	if (word[0] != '-' || !word[1])
		return "";
	word += 1 + (word[1] == '-');
	return !strcmp(word, "M") ? "machine" : word;
}

static bool refused_at(const struct refused_word *this, const char *value)
{
	switch (this->where) {
	case ALONE:
		return true;
	case FIRST:
		return !strncmp(value, this->word, strlen(this->word));
	case ANYWHERE:
		return strstr(value, this->word) != NULL;
	}
	return false;
}

static bool hands_over_all(const char *value)
{
	return strncmp(value, "memory-backend-memfd", 20) != 0 ||
	       strstr(value, "share=off") == NULL;
}

bool vm_arguments_refused(const char *const *argv, size_t count, bool given, char *sentence,
			  size_t size)
{
	for (size_t i = 0; i < count; i++) {
		const char *option = option_of(argv[i]), *value = i + 1 < count ? argv[i + 1] : "";

		for (size_t k = 0; k < sizeof(refused) / sizeof(refused[0]); k++) {
			const struct refused_word *this = &refused[k];

			if (strcmp(option, this->option) != 0 || (this->given && !given) ||
			    !refused_at(this, value))
				continue;
			snprintf(sentence, size, "-%s%s%.200s: %s", option,
				 this->where == ALONE ? "" : " ", this->where == ALONE ? "" : value,
				 this->why);
			return true;
		}
		if (!strcmp(option, "object") && !hands_over_all(value)) {
			snprintf(sentence, size, "-object %.200s: %s", value,
				 UNEVICTED "; accepted: share=on");
			return true;
		}
	}
	return false;
}

const char *vm_arguments_value(const char *const *argv, size_t count, const char *option)
{
	const char *value = NULL;

	for (size_t i = 0; i + 1 < count; i++)
		if (!strcmp(option_of(argv[i]), option_of(option)))
			value = argv[i + 1];
	return value;
}

bool vm_arguments_have(const char *const *argv, size_t count, const char *option)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(option_of(argv[i]), option_of(option)))
			return true;
	return false;
}

bool vm_arguments_kvm(const char *const *argv, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *option = option_of(argv[i]), *value = i + 1 < count ? argv[i + 1] : "";

		if (!strcmp(option, "enable-kvm") ||
		    (!strcmp(option, "accel") && !strncmp(value, "kvm", 3)) ||
		    (!strcmp(option, "machine") && strstr(value, "accel=kvm")))
			return true;
	}
	return false;
}
