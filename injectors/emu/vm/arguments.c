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
	const char *
		values; /* of the setting that the word is then, between spaces; "": any; NULL: it is none */
	const char *why;
};

#define PINS   "writes to pinned pages, past the pager"
#define OTHERS "its back-end maps the guest's memory itself, past the pager"
#define DIRECT "O_DIRECT " PINS "; accepted: "
#define VHOST  "the kernel's vhost " PINS

/* A boolean as QEMU reads it; without a value it is on. */
#define ON  " on yes true y "
#define OFF " off no false n "

static const struct refused refused[] = {
	{"incoming", NULL, NULL, "pages that come by migration are not the pager's"},
	{"mem-path", NULL, NULL, "accepted: memory-backend-memfd with share=on"},
	{"device", "vfio-", NULL, "vfio pins all of the guest's memory"},
	{"device", "vhost-vsock", NULL, VHOST},
	{"device", "vhost-scsi", NULL, VHOST},
	{"device", "vhost-vdpa", NULL, VHOST},
	{"device", "vhost-user-fs", NULL, OTHERS},
	{"device", "vhost-user-gpu", NULL, OTHERS},
	{"device", "vhost-user-vga", NULL, OTHERS},
	{"device", "vhost-user-input", NULL, OTHERS},
	{"device", "vhost-user-scsi", NULL, OTHERS},
	{"device", "vhost-user-vsock", NULL, OTHERS},
	{"device", "vhost-user-rng", NULL, OTHERS},
	{"device", "vhost-user-i2c", NULL, OTHERS},
	{"device", "vhost-user-gpio", NULL, OTHERS},
	{"netdev", "vhost-vdpa", NULL, VHOST},
	{"nic", "vhost-vdpa", NULL, VHOST},
	{NULL, "vhost", ON, VHOST "; accepted: vhost=off"},
	{NULL, "vhostforce", ON, VHOST "; accepted: vhost=off"},
	{NULL, "vhostfd", "", VHOST},
	{NULL, "vhostfds", "", VHOST},
	{NULL, "cache", " none ", DIRECT "cache=writeback, cache=writethrough"},
	{NULL, "cache", " directsync ", DIRECT "cache=writethrough"},
	{NULL, "direct", ON, DIRECT "cache.direct=off"},
	{NULL, "aio", " native ", "it needs O_DIRECT, which " PINS "; accepted: aio=threads"},
	{NULL, "hugetlb", ON, "pages of 4 KiB are evicted; accepted: hugetlb=off"},
	{NULL, "mem-lock", ON, "locked memory cannot be evicted; accepted: mem-lock=off"},
	{"object", "memory-backend-file", NULL, "accepted: memory-backend-memfd with share=on"},
	{"object", "memory-backend-ram", NULL, "accepted: memory-backend-memfd with share=on"},
};

static bool is_word_end(char c)
{
	return !c || strchr(",-=:\" }", c);
}

/* The next of the word at the beginning of one of the value's parts, or NULL. */
static const char *word_find(const char *value, const char *at, const char *word)
{
	while ((at = strstr(at, word)) && at != value && !strchr(",{ :.\"", at[-1]))
		at++;
	return at;
}

/* Whether `value` has the word, whole unless it ends in "-" or "=". */
static bool value_has_word(const char *value, const char *word)
{
	size_t length = strlen(word);
	bool open = strchr("-=", word[length - 1]);

	for (const char *at = value; (at = word_find(value, at, word)); at++)
		if (open || is_word_end(at[length]))
			return true;
	return false;
}

/* What `key` is set to, as in key=VALUE and in JSON's "key": VALUE; "on" if the key stands alone, NULL if it is not there. */
static const char *setting_find(const char *value, const char *at, const char *key)
{
	const char *end = at + strlen(key);

	if (*end == '"')
		end += 1 + strspn(end + 1, " \t\n");
	else if (at != value && (!*end || *end == ','))
		return "on";
	return *end == '=' || *end == ':' ? end + 1 + strspn(end + 1, " \t\n\"") : NULL;
}

/* Whether the key is set to one of the values, "": to any, anywhere in the argument. */
static bool value_has_setting(const char *value, const char *key, const char *values)
{
	for (const char *at = value; (at = word_find(value, at, key)); at++) {
		const char *set = setting_find(value, at, key);
		char one[32];

		if (!set)
			continue;
		snprintf(one, sizeof(one), " %.*s ", (int)strcspn(set, ",\"} \t\n"), set);
		if (!*values || strstr(values, one))
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

/* Another's back-end would map the guest's memory itself: only the chardevs are served that we name. */
static bool is_others_back_end(const char *value)
{
	const char *at = word_find(value, value, "chardev");
	const char *set = at ? setting_find(value, at, "chardev") : NULL;

	return value_has_word(value, "vhost-user") &&
	       (!set || strncmp(set, VM_CHARDEV_PREFIX, strlen(VM_CHARDEV_PREFIX)) != 0);
}

static bool argument_is_refused(const struct refused *no, const char *option, const char *value)
{
	if (no->option && strcmp(no->option, option) != 0)
		return false;
	if (!no->word)
		return true;
	return no->values ? value_has_setting(value, no->word, no->values)
			  : value_has_word(value, no->word);
}

static int argument_check(const char *option, const char *value)
{
	if (is_guests_option(option))
		return 0;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		const struct refused *no = &refused[i];

		if (argument_is_refused(no, option, value))
			return failed(
				-EINVAL,
				"QEMU's argument -%s %s: refused beside memory that is evicted: %s",
				option, value, no->why);
	}
	if (is_others_back_end(value))
		return failed(
			-EINVAL,
			"QEMU's argument -%s %s: its back-end is not the job's and would map "
			"the guest's memory itself, past the pager; accepted: the devices that "
			"the job has, whose chardevs are " VM_CHARDEV_PREFIX "...",
			option, value);
	if (value_has_word(value, "memory-backend-memfd") && value_has_setting(value, "share", OFF))
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
