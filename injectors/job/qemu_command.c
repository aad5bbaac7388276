// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/qemu_command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/vm/handover.h"
#include "lib/base/fail.h"

#define COMMAS	      512 /* bytes of a value in which commas are doubled */
#define FIRST_CHASSIS 64  /* of our root ports: below are those of others */

/* Which device of QEMU's stands for a model. */
static const struct {
	const char *model, *device;
} vm_models[] = {
	{"block", "vhost-user-blk-pci"},
};

static const char *device_of(const struct device_class *class)
{
	for (size_t i = 0; i < sizeof(vm_models) / sizeof(vm_models[0]); i++)
		if (!strcmp(vm_models[i].model, class->name))
			return vm_models[i].device;
	return NULL;
}

bool vm_has_model(const struct device_class *class)
{
	return device_of(class) && class->vhost;
}

/* "-m" and "--m"; of "-M" the long form. */
static const char *option_of(const char *word)
{
	if (word[0] != '-' || !word[1])
		return "";
	word += 1 + (word[1] == '-');
	return !strcmp(word, "M") ? "machine" : word;
}

const char *qemu_words_value(const char *const *words, unsigned int count, const char *option)
{
	const char *value = NULL;

	for (unsigned int i = 0; i < count; i++)
		if (!strcmp(option_of(words[i]), option))
			value = i + 1 < count ? words[i + 1] : "";
	return value;
}

static int too_many(const struct tenant_config *tenant)
{
	return failed(-EINVAL,
		      "virtual machine %s: too many arguments; accepted: %d with those of "
		      "its devices",
		      tenant->name, QEMU_WORDS_MAX);
}

/* One word of ours. */
__attribute__((format(printf, 2, 3))) static int word_add(struct qemu_command *arguments,
							  const char *format, ...)
{
	va_list values;
	int length;

	if (arguments->count == QEMU_WORDS_MAX)
		return -E2BIG;
	va_start(values, format);
	length = vasprintf(&arguments->added[arguments->added_count], format, values);
	va_end(values);
	if (length < 0)
		return -ENOMEM;
	arguments->argv[arguments->count++] = arguments->added[arguments->added_count++];
	return 0;
}

/* A value as QEMU takes it: commas doubled. */
static const char *qemu_value(const char *text, char out[COMMAS])
{
	size_t used = 0;

	for (; *text && used < COMMAS - 2; text++) {
		out[used++] = *text;
		if (*text == ',')
			out[used++] = ',';
	}
	out[used] = '\0';
	return out;
}

/* Names of devices are the job's: what QEMU takes of them as part of an id. */
static void device_id(const struct device_config *device, __u32 index, char id[64])
{
	snprintf(id, 64, "faultline-%u-%.32s", index, device->name);
	for (char *c = id; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.",
			    *c))
			*c = '_';
}

static int add_device(struct qemu_command *arguments, const struct qemu_command_config *config,
		      __u32 index, __u32 place)
{
	const struct device_config *device = &config->machine->devices[index];
	bool iommu = config->machine->tenants[config->tenant].vm.iommu;
	char id[64], path[COMMAS], bus[160] = "";
	int err;

	device_id(device, index, id);
	err = word_add(arguments, "-chardev")
		      ?: word_add(arguments, "socket,id=%s,path=%s%s", id,
				  qemu_value(config->sockets[index], path),
				  config->reconnect ? ",reconnect=1" : "");
	if (!err && iommu) {
		snprintf(bus, sizeof(bus),
			 ",bus=%s-port,iommu_platform=on,ats=on,disable-legacy=on", id);
		err = word_add(arguments, "-device")
			      ?: word_add(arguments, "pcie-root-port,id=%s-port,chassis=%u,slot=%u",
					  id, FIRST_CHASSIS + place, FIRST_CHASSIS + place);
	}
	return err ?: word_add(arguments, "-device") ?:
	       word_add(arguments, "%s,chardev=%s,num-queues=%u,queue-size=%u%s",
			device_of(device->class), id, device->queues, device->queue_depth, bus);
}

static int add_memory(struct qemu_command *arguments, const struct tenant_config *tenant,
		      const char *const *given, unsigned int count)
{
	char machine[64] = "memory-backend=faultline", name[COMMAS];
	int err;

	if (tenant->vm.iommu)
		snprintf(machine, sizeof(machine),
			 "%skernel-irqchip=split,memory-backend=faultline",
			 qemu_words_value(given, count, "machine") ? "" : "q35,");
	err = qemu_words_value(given, count, "name")
		      ? 0
		      : (word_add(arguments, "-name")
				 ?: word_add(arguments, "%s", qemu_value(tenant->name, name)));
	if (!err)
		err = word_add(arguments, "-object") ?:
		      word_add(arguments, "memory-backend-memfd,id=faultline,size=%llu,share=on",
			       tenant->memory) ?:
		      word_add(arguments, "-machine") ?: word_add(arguments, "%s", machine);
	if (!err && tenant->vm.iommu)
		err = word_add(arguments, "-device")
			      ?: word_add(arguments, "intel-iommu,device-iotlb=on,intremap=on");
	return err;
}

/* The guest's first serial port is what is captured. What the job says of any of these is left to it. */
static int add_console(struct qemu_command *arguments, const char *const *given, unsigned int count)
{
	static const struct {
		const char *option, *value;
	} consoles[] = {{"-display", "none"}, {"-monitor", "none"}, {"-serial", "stdio"}};
	int err = 0;

	if (qemu_words_value(given, count, "nographic"))
		return 0;
	for (size_t i = 0; !err && i < sizeof(consoles) / sizeof(consoles[0]); i++)
		if (!qemu_words_value(given, count, consoles[i].option + 1))
			err = word_add(arguments, "%s", consoles[i].option)
				      ?: word_add(arguments, "%s", consoles[i].value);
	return err;
}

int qemu_words_split(const struct tenant_config *tenant, struct program_words *words,
		     char *argv[PROGRAM_WORDS + 1], const char **program, unsigned int *first)
{
	int err;

	*words = (struct program_words){0};
	*program = QEMU_PROGRAM;
	*first = 0;
	argv[0] = NULL;
	if (!*tenant->vm.arguments)
		return 0;
	err = program_words_split(tenant->vm.arguments, NULL, words);
	if (err)
		return err;
	program_argv(words, argv);
	if (argv[0][0] != '-') {
		*program = argv[0];
		*first = 1;
	}
	return 0;
}

static int arguments_fill(struct qemu_command *arguments, const struct qemu_command_config *config)
{
	const struct tenant_config *tenant = &config->machine->tenants[config->tenant];
	char *given[PROGRAM_WORDS + 1];
	const char *program;
	unsigned int first;
	__u32 place = 0;
	int err = qemu_words_split(tenant, &arguments->words, given, &program, &first);

	if (err)
		return err;
	arguments->given = arguments->words.count - first;
	err = word_add(arguments, "%s", program);
	if (!err)
		err = add_memory(arguments, tenant, (const char *const *)given + first,
				 arguments->given);
	if (!err && config->console)
		err = add_console(arguments, (const char *const *)given + first, arguments->given);
	for (__u32 d = 0; !err && d < config->machine->device_count; d++)
		if (config->machine->devices[d].tenant == config->tenant)
			err = add_device(arguments, config, d, place++);
	for (unsigned int i = 0; !err && i < arguments->given; i++) {
		if (arguments->count == QEMU_WORDS_MAX)
			err = -E2BIG;
		else
			arguments->argv[arguments->count++] = given[first + i];
	}
	arguments->argv[arguments->count] = NULL;
	if (err == -ENOMEM)
		return failed(err, "no memory for the arguments of virtual machine %s",
			      tenant->name);
	return err == -E2BIG ? too_many(tenant) : err;
}

int qemu_command_build(struct qemu_command **arguments, const struct qemu_command_config *config)
{
	struct qemu_command *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return failed(-ENOMEM, "no memory for the arguments of a virtual machine");
	err = arguments_fill(new, config);
	if (err) {
		qemu_command_free(new);
		return err;
	}
	*arguments = new;
	return 0;
}

void qemu_command_free(struct qemu_command *arguments)
{
	if (!arguments)
		return;
	for (unsigned int i = 0; i < arguments->added_count; i++)
		free(arguments->added[i]);
	free(arguments);
}

/* As a shell takes it for one word. */
static void print_word(const char *word, FILE *file)
{
	if (*word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				  "-_=,./:@%+") == strlen(word)) {
		fputs(word, file);
		return;
	}
	fputc('\'', file);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", file);
		else
			fputc(*word, file);
	}
	fputc('\'', file);
}

void qemu_command_print(const struct qemu_command *arguments, const char *library,
			const char *socket, FILE *file)
{
	fputs(VM_SOCKET_VARIABLE "=", file);
	print_word(socket, file);
	fputs(" LD_PRELOAD=", file);
	print_word(library, file);
	for (unsigned int i = 0; i < arguments->count; i++) {
		fputc(' ', file);
		print_word(arguments->argv[i], file);
	}
	fputc('\n', file);
}
