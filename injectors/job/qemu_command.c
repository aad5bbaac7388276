// SPDX-License-Identifier: GPL-2.0
#include "injectors/job/qemu_command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/emu/vm/arguments.h"
#include "injectors/job/vm_process.h"
#include "injectors/net/network.h"
#include "injectors/vm/handover.h"
#include "lib/base/fail.h"

#define COMMAS	      512 /* bytes of a value in which commas are doubled */
#define MONITOR	      VM_CHARDEV_PREFIX "monitor"
#define FIRST_CHASSIS 64 /* of our root ports: below are those of others */

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
__attribute__((format(printf, 2, 3))) static int word_add(struct qemu_command *command,
							  const char *format, ...)
{
	va_list values;
	int length;

	if (command->count == QEMU_WORDS_MAX)
		return -E2BIG;
	va_start(values, format);
	length = vasprintf(&command->added[command->added_count], format, values);
	va_end(values);
	if (length < 0)
		return -ENOMEM;
	command->argv[command->count++] = command->added[command->added_count++];
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
	snprintf(id, 64, VM_CHARDEV_PREFIX "%u-%.32s", index, device->name);
	for (char *c = id; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.",
			    *c))
			*c = '_';
}

/* What stands for a model behind its chardev `id`; `place`: where the device is, with a comma before it. */
typedef int model_add(struct qemu_command *command, const struct device_config *device,
		      const char *id, const char *place);

static int add_disk(struct qemu_command *command, const struct device_config *device,
		    const char *id, const char *place)
{
	return word_add(command, "-device")
		       ?: word_add(command,
				   "vhost-user-blk-pci,chardev=%s,num-queues=%u,"
				   "queue-size=%u%s",
				   id, device->queues, device->queue_depth, place);
}

/*
 * It is known to its wire by its address, and has no ROM to boot from. Under KVM it has two vectors besides those of its queues:
 * configuration and control. Else it interrupts by its pin: QEMU 7.2 without KVM crashes as it gives vectors of a vhost-user netdev to the
 * guest (it asks for a route of KVM's that is not there).
 */
static int add_nic(struct qemu_command *command, const struct device_config *device, const char *id,
		   const char *place)
{
	unsigned int vectors = command->kvm ? 2u * device->queues + 2 : 0;
	int err = word_add(command, "-netdev")
			  ?: word_add(command, "vhost-user,id=%s-net,chardev=%s,queues=%u", id, id,
				      device->queues);

	return err ?: word_add(command, "-device") ?:
	       word_add(command,
			"virtio-net-pci,netdev=%s-net,mac=" NETWORK_GUEST_MAC
			",mq=on,vectors=%u,rx_queue_size=%u,tx_queue_size=%u,romfile=%s",
			id, vectors, device->queue_depth, device->queue_depth, place);
}

static const struct {
	const char *model;
	model_add *add;
} vm_models[] = {
	{"block", add_disk},
	{"nic", add_nic},
};

static model_add *adder_of(const struct device_class *class)
{
	for (size_t i = 0; class->vhost && i < sizeof(vm_models) / sizeof(vm_models[0]); i++)
		if (!strcmp(vm_models[i].model, class->name))
			return vm_models[i].add;
	return NULL;
}

bool vm_has_model(const struct device_class *class)
{
	return adder_of(class) != NULL;
}

static int command_add_device(struct qemu_command *command,
			      const struct qemu_command_config *config, __u32 index, __u32 place)
{
	const struct device_config *device = &config->machine->devices[index];
	bool iommu = config->machine->tenants[config->tenant].vm.iommu;
	char id[64], path[COMMAS], bus[160] = "";
	int err;

	device_id(device, index, id);
	err = word_add(command, "-chardev")
		      ?: word_add(command, "socket,id=%s,path=%s%s", id,
				  qemu_value(config->sockets[index], path),
				  config->reconnect ? ",reconnect=1" : "");
	if (!err && iommu) {
		snprintf(bus, sizeof(bus),
			 ",bus=%s-port,iommu_platform=on,ats=on,disable-legacy=on", id);
		err = word_add(command, "-device")
			      ?: word_add(command, "pcie-root-port,id=%s-port,chassis=%u,slot=%u",
					  id, FIRST_CHASSIS + place, FIRST_CHASSIS + place);
	}
	return err ?: adder_of(device->class)(command, device, id, bus);
}

static int command_add_memory(struct qemu_command *command, const struct tenant_config *tenant,
			      const char *const *given, unsigned int count)
{
	char machine[64] = "memory-backend=faultline", name[COMMAS];
	__u64 first = tenant->memory - tenant->vm.plug_bytes;
	int err;

	if (tenant->vm.iommu)
		snprintf(machine, sizeof(machine),
			 "%skernel-irqchip=split,memory-backend=faultline",
			 qemu_words_value(given, count, "machine") ? "" : "q35,");
	err = qemu_words_value(given, count, "name")
		      ? 0
		      : (word_add(command, "-name")
				 ?: word_add(command, "%s", qemu_value(tenant->name, name)));
	if (!err)
		err = word_add(command, "-object") ?:
		      word_add(command, "memory-backend-memfd,id=faultline,size=%llu,share=on",
			       first) ?:
		      word_add(command, "-machine") ?: word_add(command, "%s", machine);
	if (!err && tenant->vm.plug_bytes)
		err = word_add(command, "-m")
			      ?: word_add(command, "size=%lluM,slots=1,maxmem=%lluM", first >> 20,
					  tenant->memory >> 20);
	if (!err && tenant->vm.iommu)
		err = word_add(command, "-device")
			      ?: word_add(command, "intel-iommu,device-iotlb=on,intremap=on");
	return err;
}

/* The guest's first serial port is what is captured. What the job says of any of these is left to it. */
static int add_console(struct qemu_command *command, const char *const *given, unsigned int count)
{
	static const struct {
		const char *option, *value;
	} consoles[] = {{"-display", "none"}, {"-monitor", "none"}, {"-serial", "stdio"}};
	int err = 0;

	if (qemu_words_value(given, count, "nographic"))
		return 0;
	for (size_t i = 0; !err && i < sizeof(consoles) / sizeof(consoles[0]); i++)
		if (!qemu_words_value(given, count, consoles[i].option + 1))
			err = word_add(command, "%s", consoles[i].option)
				      ?: word_add(command, "%s", consoles[i].value);
	return err;
}

static bool has_balloon(const char *const *given, unsigned int count)
{
	for (unsigned int i = 0; i + 1 < count; i++)
		if (!strcmp(option_of(given[i]), "device") &&
		    !strncmp(given[i + 1], "virtio-balloon", strlen("virtio-balloon")))
			return true;
	return false;
}

static int add_injected(struct qemu_command *command, const struct qemu_command_config *config,
			const char *const *given, unsigned int count)
{
	int err = 0;

	if (config->monitor)
		err = word_add(command, "-chardev")
			      ?: word_add(command, "socket,id=" MONITOR ",fd=%d",
					  VM_PROCESS_MONITOR);
	if (!err && config->monitor)
		err = word_add(command, "-mon")
			      ?: word_add(command, "chardev=" MONITOR ",mode=control");
	if (!err && config->balloon && !has_balloon(given, count))
		err = word_add(command, "-device")
			      ?: word_add(command, "virtio-balloon-pci,deflate-on-oom=on");
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

static int arguments_fill(struct qemu_command *command, const struct qemu_command_config *config)
{
	const struct tenant_config *tenant = &config->machine->tenants[config->tenant];
	char *given[PROGRAM_WORDS + 1];
	struct vm_arguments said;
	const char *program;
	unsigned int first;
	__u32 place = 0;
	int err = qemu_words_split(tenant, &command->words, given, &program, &first);

	if (err)
		return err;
	command->given = command->words.count - first;
	err = vm_arguments_check((const char *const *)given + first, command->given, &said);
	if (err)
		return err;
	command->kvm = said.kvm;
	err = word_add(command, "%s", program);
	if (!err)
		err = command_add_memory(command, tenant, (const char *const *)given + first,
					 command->given);
	if (!err && config->console)
		err = add_console(command, (const char *const *)given + first, command->given);
	for (__u32 d = 0; !err && d < config->machine->device_count; d++)
		if (config->machine->devices[d].tenant == config->tenant)
			err = command_add_device(command, config, d, place++);
	if (!err)
		err = add_injected(command, config, (const char *const *)given + first,
				   command->given);
	for (unsigned int i = 0; !err && i < command->given; i++) {
		if (command->count == QEMU_WORDS_MAX)
			err = -E2BIG;
		else
			command->argv[command->count++] = given[first + i];
	}
	command->argv[command->count] = NULL;
	if (err == -ENOMEM)
		return failed(err, "no memory for the arguments of virtual machine %s",
			      tenant->name);
	return err == -E2BIG ? too_many(tenant) : err;
}

int qemu_command_build(struct qemu_command **command, const struct qemu_command_config *config)
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
	*command = new;
	return 0;
}

void qemu_command_free(struct qemu_command *command)
{
	if (!command)
		return;
	for (unsigned int i = 0; i < command->added_count; i++)
		free(command->added[i]);
	free(command);
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

void qemu_command_print(const struct qemu_command *command, const char *library, const char *socket,
			FILE *file)
{
	fputs(VM_SOCKET_VARIABLE "=", file);
	print_word(socket, file);
	fputs(" LD_PRELOAD=", file);
	print_word(library, file);
	for (unsigned int i = 0; i < command->count; i++) {
		fputc(' ', file);
		print_word(command->argv[i], file);
	}
	fputc('\n', file);
}
