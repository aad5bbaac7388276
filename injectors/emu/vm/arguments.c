// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/vm/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fail.h"

/* A word that may be part of an argument, and why it is refused. */
struct refused {
	const char *
		option; /* whose value it is, such as "device"; NULL: of any; the option itself: word NULL */
	const char *word;
	const char *why;
};

#define PINS   "writes to pinned pages, past the pager"
#define OTHERS "its back-end maps the guest's memory itself, past the pager"

static const struct refused refused[] = {
	{"incoming", NULL, "pages that come by migration are not the pager's"},
	{"mem-path", NULL, "accepted: memory-backend-memfd with share=on"},
	{"device", "vfio-", "vfio pins all of the guest's memory"},
	{"device", "vhost-vsock", "the kernel's vhost " PINS},
	{"device", "vhost-scsi", "the kernel's vhost " PINS},
	{"device", "vhost-vdpa", "the kernel's vhost " PINS},
	{"device", "vhost-user-fs", OTHERS},
	{"device", "vhost-user-gpu", OTHERS},
	{"device", "vhost-user-vga", OTHERS},
	{"device", "vhost-user-input", OTHERS},
	{"device", "vhost-user-scsi", OTHERS},
	{"device", "vhost-user-vsock", OTHERS},
	{"device", "vhost-user-rng", OTHERS},
	{"device", "vhost-user-i2c", OTHERS},
	{"device", "vhost-user-gpio", OTHERS},
	{"netdev", "vhost-vdpa", "the kernel's vhost " PINS},
	{NULL, "vhost=on", "the kernel's vhost " PINS "; accepted: vhost=off"},
	{NULL, "vhostforce=on", "the kernel's vhost " PINS "; accepted: vhost=off"},
	{NULL, "vhostfd=", "the kernel's vhost " PINS},
	{NULL, "vhostfds=", "the kernel's vhost " PINS},
	{NULL, "cache=none", "O_DIRECT " PINS "; accepted: cache=writeback, cache=writethrough"},
	{NULL, "cache=directsync", "O_DIRECT " PINS "; accepted: cache=writethrough"},
	{NULL, "cache.direct=on", "O_DIRECT " PINS "; accepted: cache.direct=off"},
	{NULL, "\"direct\":true", "O_DIRECT " PINS "; accepted: \"direct\":false"},
	{NULL, "\"direct\": true", "O_DIRECT " PINS "; accepted: \"direct\":false"},
	{NULL, "aio=native", "it needs O_DIRECT, which " PINS "; accepted: aio=threads"},
	{NULL, "hugetlb=on", "pages of 4 KiB are evicted; accepted: hugetlb=off"},
	{NULL, "hugetlb=yes", "pages of 4 KiB are evicted; accepted: hugetlb=off"},
	{NULL, "mem-lock=on", "locked memory cannot be evicted; accepted: mem-lock=off"},
	{"object", "memory-backend-file", "accepted: memory-backend-memfd with share=on"},
	{"object", "memory-backend-ram", "accepted: memory-backend-memfd with share=on"},
};

static bool is_word_end(char c)
{
	return !c || strchr(",-=:\" }", c);
}

/* Whether `value` has the word at the beginning of one of its parts; a word that ends in a letter ends with the part. */
static bool value_has_word(const char *value, const char *word)
{
	size_t length = strlen(word);
	bool open = strchr("-=", word[length - 1]);

	for (const char *at = value; (at = strstr(at, word)); at++) {
		bool begins = at == value || *word == '"' || strchr(",{ :.\"", at[-1]);

		if (begins && (open || is_word_end(at[length])))
			return true;
	}
	return false;
}

/* "-drive" and "--drive" are one option. */
static const char *option_name(const char *argument)
{
	if (*argument != '-')
		return NULL;
	return argument + 1 + (argument[1] == '-');
}

/* Whose values are nothing of QEMU's own. */
static bool is_guests_option(const char *option)
{
	return !strcmp(option, "append") || !strcmp(option, "name");
}

static int argument_check(const char *option, const char *value)
{
	if (is_guests_option(option))
		return 0;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		const struct refused *no = &refused[i];

		if (no->option && strcmp(no->option, option) != 0)
			continue;
		if (!no->word || value_has_word(value, no->word))
			return failed(
				-EINVAL,
				"QEMU's argument -%s %s: refused beside memory that is evicted: %s",
				option, value, no->why);
	}
	if (value_has_word(value, "memory-backend-memfd") &&
	    (value_has_word(value, "share=off") || value_has_word(value, "share=no")))
		return failed(-EINVAL, "QEMU's argument -%s %s: accepted: share=on", option, value);
	return 0;
}

/* "guest=NAME,process=..." or "NAME,...". */
static void take_guest_name(const char *value, char *name, size_t room)
{
	const char *guest = strstr(value, "guest=");
	size_t length;

	if (guest && (guest == value || guest[-1] == ','))
		value = guest + strlen("guest=");
	length = strcspn(value, ",");
	if (!memchr(value, '=', length))
		snprintf(name, room, "%.*s", (int)length, value);
}

int vm_arguments_check(const char *const *arguments, size_t count, struct vm_arguments *said)
{
	*said = (struct vm_arguments){0};
	for (size_t i = 0; i < count; i++) {
		const char *option = option_name(arguments[i]);
		const char *value = i + 1 < count ? arguments[i + 1] : "";
		int error;

		if (!option)
			continue;
		error = argument_check(option, value);
		if (error)
			return error;
		if (!strcmp(option, "name"))
			take_guest_name(value, said->name, sizeof(said->name));
		said->kvm |= !strcmp(option, "enable-kvm") || value_has_word(value, "accel=kvm") ||
			     (!strcmp(option, "accel") && value_has_word(value, "kvm"));
	}
	return 0;
}
