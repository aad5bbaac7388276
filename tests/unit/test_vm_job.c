// SPDX-License-Identifier: GPL-2.0
/* Tenants that are virtual machines: what cannot be, before anything starts, and the command line that the rest becomes. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/job/plan.h"
#include "injectors/job/qemu_command.h"
#include "lib/base/fail.h"
#include "tests/unit/job_files.h"

/* Any program stands for QEMU until it is run. */
#define VM	   "[tenant vm]\nbackend = vm\nmemory = 64M\n"
#define QEMU(args) VM "qemu = /bin/true " args "\n"
#define DISK	   "[device disk]\n"

struct planned {
	struct job_text *text;
	struct job job;
	struct plan plan;
};

static int plan_of(const char *content, struct planned *planned)
{
	int err = read_job(&planned->text, content);

	if (err)
		return err;
	err = job_build(&planned->job, planned->text);
	if (!err) {
		err = plan_build(&planned->plan, &planned->job);
		if (err)
			job_free(&planned->job);
	}
	if (err)
		job_text_free(planned->text);
	return err;
}

static void planned_free(struct planned *planned)
{
	plan_free(&planned->plan);
	job_free(&planned->job);
	job_text_free(planned->text);
}

static void plan_good(const char *content, struct planned *planned)
{
	if (plan_of(content, planned))
		fail_msg("%s", failure_text());
}

static void refused(const char *content, const char *sentence)
{
	struct planned planned;

	assert_int_equal(plan_of(content, &planned), -EBADMSG);
	if (!strstr(failure_text(), JOB_PATH) || !strstr(failure_text(), sentence))
		fail_msg("said \"%s\", not \"%s\"", failure_text(), sentence);
}

static void a_guest_is_a_load(void **state)
{
	struct planned planned;

	plan_good(QEMU("-nographic") "duration = 7s\nwrite_protect = no\nviommu = yes\n" DISK,
		  &planned);
	assert_int_equal(planned.plan.machine.tenants[0].backend, MEMORY_VM);
	assert_true(planned.plan.machine.tenants[0].unprotected);
	assert_true(planned.plan.machine.tenants[0].vm.iommu);
	assert_int_equal(planned.plan.machine.tenants[0].vm.duration_ns, 7 * SECOND);
	planned_free(&planned);
	plan_good(QEMU("-nographic") DISK, &planned);
	assert_false(planned.plan.machine.tenants[0].unprotected);
	planned_free(&planned);
}

static void what_drives_others_is_refused(void **state)
{
	static const char mixed[] = QEMU("") "[tenant plain]\nmemory = 8M\n" DISK
					     "[workload w]\ncount = 7\ndevice = plain/disk\n";
	struct planned planned;

	refused(QEMU("") DISK "[workload w]\ncount = 7\n",
		"a [workload] is for vm/disk, which the guest of a virtual machine drives");
	plan_good(mixed, &planned);
	planned_free(&planned);
}

static void keys_of_others_are_refused(void **state)
{
	refused(VM "process = own\nqemu = -nographic\n" DISK, "process=own: accepted");
	refused(QEMU("") DISK "pasid = yes\nmodel = accel\n", "model=accel: vm/disk is a virtual");
	refused(QEMU("") DISK "read_only_percent = 3\n", ":6: [device disk] read_only_percent");
	refused(QEMU("") DISK "page_size = 2M\n[machine]\npremap = yes\n", "page_size");
	refused(QEMU("") DISK "lookup = uffd\nfile_direct = yes\n", "file_direct=yes of disk pins");
	refused("[machine]\nreclaim_order = idle\nreclaim_percent = 10\n" QEMU("") DISK
		"lookup = uffd\n",
		":2: [machine] reclaim_order=idle goes by what devices look up, and disk has");
	refused("[machine]\nmemory_limit = 32M\n" QEMU("") DISK, ":2: [machine] memory_limit");
}

/* Of whose console somebody else has nobody knows when its guest begins. */
static void starts_of_guests_need_their_consoles(void **state)
{
	static const char evict[] = "[inject i]\naction = evict\nkind = major\nwhat = random\n"
				    "duration = 1s\nstart_from = guests\nstart = 7ms\n";
	char content[512];
	struct planned planned;

	snprintf(content, sizeof(content), QEMU("") DISK "%s", evict);
	plan_good(content, &planned);
	assert_true(planned.plan.injections[0].job->from_guests);
	assert_int_equal(planned.plan.injections[0].job->start_ns, 7 * SECOND / 1000);
	planned_free(&planned);
	snprintf(content, sizeof(content), VM DISK "%s", evict);
	refused(content, "start_from=guests: 0 of 1 virtual machines have their consoles here");
	snprintf(content, sizeof(content),
		 "[tenant t]\nmemory = 8M\n" DISK "[workload w]\ncount = 7\n%s", evict);
	refused(content, "start_from=guests: 0 of 0 virtual machines");
}

/* What devices that do not look cannot meet, is refused where there are no others. */
static void injections_without_effect_are_refused(void **state)
{
	static const char uffd[] = QEMU("") DISK "lookup = uffd\n";
	static const struct {
		const char *injection, *sentence; /* NULL: accepted */
	} tried[] = {
		{"action = evict\nwhat = random\n", ":7: [inject i] kind: all that device=*"},
		{"action = evict\nwhat = random\nkind = minor\n", ":11: [inject i] kind: all that"},
		{"action = evict\nwhat = random\nkind = major\n", NULL},
		{"action = delay\ndelay = 1ms\nstage = dispatch\n",
		 ":11: [inject i] stage: all that device=* matches have lookup=uffd"},
		{"action = delay\ndelay = 1ms\nstage = delivery\n", ":11: [inject i] stage: all"},
		{"action = delay\ndelay = 1ms\nstage = respond\n", ":11: [inject i] stage: all"},
		{"action = delay\ndelay = 1ms\n", NULL},
		{"action = response_lost\n", ":9: [inject i] action: all that"},
		{"action = overflow\n", ":9: [inject i] action: all that"},
		{"action = duplicate\n", ":9: [inject i] action: all that"},
	};
	char content[1024];
	struct planned planned;

	for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
		snprintf(content, sizeof(content), "%s[inject i]\nduration = 1s\n%s", uffd,
			 tried[i].injection);
		if (tried[i].sentence) {
			refused(content, tried[i].sentence);
		} else {
			plan_good(content, &planned);
			planned_free(&planned);
		}
		/* A device that looks is beside it. */
		snprintf(
			content, sizeof(content),
			"%s[device other]\nmodel = block\nfile_bytes = 4M\n[inject i]\nduration = 1s\n%s",
			uffd, tried[i].injection);
		plan_good(content, &planned);
		planned_free(&planned);
	}
	refused("[machine]\nreclaim_percent = 10\nreclaim_kind = minor\n" QEMU("") DISK
		"lookup = uffd\n",
		":3: [machine] reclaim_kind=minor takes pages from devices that look");
}

#define SQUEEZED(keys) "[inject i]\naction = balloon\nduration = 7s\n" keys

/* What QEMU carries out is for virtual machines whose QEMU is ours. */
static void a_balloon_is_a_virtual_machine_s(void **state)
{
	static const char mixed[] = QEMU("") "[tenant plain]\nmemory = 8M\n" DISK
					     "[workload w]\ncount = 7\ndevice = plain/disk\n";
	struct planned planned;
	char content[1024];

	refused(QEMU("") DISK SQUEEZED(""), ":6: [inject i] action=balloon needs memory=");
	refused(QEMU("") DISK SQUEEZED("memory = 64M\n"),
		":9: [inject i] memory=67108864: tenant vm has 67108864 bytes; accepted: less");
	refused(QEMU("") DISK SQUEEZED("memory = 32M\nperiod = 9ms\n"),
		":6: [inject i] period=9000000ns: accepted: 0, or at least 10ms");
	refused(QEMU("") DISK SQUEEZED("memory = 32M\ntenant = mv\n"),
		":10: [inject i] tenant=mv matches none of 1 tenants (the first is vm)");
	refused(VM "socket = /run/m\n" DISK "socket = /run/d\n" SQUEEZED("memory = 32M\n"),
		"on tenant vm, which has a QEMU that somebody else starts; accepted: tenant=, a ");
	snprintf(content, sizeof(content), "%s%s", mixed, SQUEEZED("memory = 32M\n"));
	refused(content, "on tenant plain, which is no virtual machine");
	snprintf(content, sizeof(content), "%s%s", mixed, SQUEEZED("memory = 32M\ntenant = vm\n"));
	plan_good(content, &planned);
	assert_int_equal(planned.plan.injections[0].tenant_count, 1);
	assert_int_equal(planned.plan.injections[0].tenants[0], 0);
	/* Its devices are those of the machine. */
	assert_int_equal(planned.plan.injections[0].device_count, 1);
	assert_int_equal(planned.plan.injections[0].devices[0], 0);
	assert_false(planned.plan.injections[0].every_device);
	planned_free(&planned);
}

#define STANDS(name, from, keys) \
	"[inject " name "]\naction = suspend\nstart = " from "\nduration = 7s\n" keys

/* The end of one would undo the other. */
static void one_machine_stands_still_once_at_a_time(void **state)
{
	static const char *const good[] = {
		QEMU("") DISK STANDS("a", "0", "") STANDS("b", "7s", ""),
		QEMU("") DISK STANDS("a", "0", "") STANDS("b", "6s", "enabled = no\n"),
		QEMU("") DISK STANDS("a", "0", "enabled = no\n") STANDS("b", "6s", ""),
		QEMU("") DISK STANDS("a", "0", "") SQUEEZED("memory = 32M\n"),
		QEMU("") "count = 2\n" DISK STANDS("a", "0", "tenant = vm0\n")
			STANDS("b", "0", "tenant = vm1\n"),
	};
	struct planned planned;

	for (size_t i = 0; i < COUNT(good); i++) {
		plan_good(good[i], &planned);
		planned_free(&planned);
	}
	refused(QEMU("") DISK STANDS("a", "0", "") STANDS("b", "6s", ""),
		":10: [inject b] action=suspend on tenant vm while [inject a] does the same to it");
	refused(QEMU("") DISK STANDS("a", "6s", "") STANDS("b", "0", ""), "while [inject a]");
	refused(QEMU("") "count = 2\n" DISK STANDS("a", "0", "tenant = vm0\n")
			STANDS("b", "0", "tenant = vm\n"),
		"on tenant vm0 while [inject a]");
}

static void arguments_that_cannot_work_are_refused(void **state)
{
	static const struct {
		const char *arguments, *sentence;
	} wrong[] = {
		{"-m 64M", "memory= of its tenant"},
		{"-machine q35,memory-backend=x", "the guest's memory is added"},
		{"-object memory-backend-memfd,id=x,size=64M", "the guest's memory is added"},
		{"-daemonize", "nobody would see it end"},
		{"-drive file=x,cache=none", "O_DIRECT"},
		{"-blockdev driver=file,cache.direct=on,filename=x", "O_DIRECT"},
		{"-drive file=x,aio=native,cache=none", "O_DIRECT"},
		{"-device vfio-pci,host=00:01.0", "vfio"},
		{"-netdev tap,id=n,vhost=on", "vhost"},
		{"-incoming tcp:0:4444", "-incoming"},
		{"-mem-path /dev/hugepages", "memory-backend-memfd"},
		{"-append \"no end", "without its end"},
	};
	char content[512];

	for (size_t i = 0; i < COUNT(wrong); i++) {
		snprintf(content, sizeof(content), VM "qemu = /bin/true %s\n" DISK,
			 wrong[i].arguments);
		refused(content, wrong[i].sentence);
		refused(content, ":4: [tenant vm] qemu");
	}
	refused(VM "viommu = yes\nqemu = /bin/true -M pc\n" DISK,
		":5: [tenant vm] qemu: -machine pc");
	refused(VM "qemu = qemu-system-nowhere -nographic\n" DISK,
		"qemu-system-nowhere: no such program");
}

/* Words that are an argument's value are nobody's option. */
static void what_a_guest_is_told_is_its_own(void **state)
{
	struct planned planned;

	plan_good(QEMU("-append \"vhost=on cache=none -incoming\" -name cache=none") DISK,
		  &planned);
	planned_free(&planned);
}

static void somebody_else_s_machine_has_sockets(void **state)
{
	struct planned planned;

	refused(VM DISK, ":1: [tenant vm] backend=vm; accepted: with qemu=, or with socket=");
	refused(VM "socket = /run/m\n" DISK,
		":5: [device disk] of a virtual machine that somebody");
	refused(VM "socket = /run/m\n" DISK "socket = /run/m\n", "is another's, too");
	refused(VM "count = 2\nsocket = /run/m\n" DISK "socket = /run/d\n", "is another's, too");
	refused(QEMU("") DISK "count = 2\nsocket = /run/d\n", "is another's, too");
	plan_good(VM "socket = /run/m\n" DISK "socket = /run/d\n", &planned);
	planned_free(&planned);
}

/* All words of the command line, parted by blanks. */
static void command_of_config(const char *content, struct qemu_command_config config, char *text,
			      size_t size)
{
	static const char *const sockets[] = {"/run/a,b", "/run/c"};
	struct planned planned;
	struct qemu_command *command;
	size_t used = 0;

	config.sockets = sockets;

	plan_good(content, &planned);
	config.machine = &planned.plan.machine;
	assert_int_equal(qemu_command_build(&command, &config), 0);
	assert_null(command->argv[command->count]);
	for (unsigned int i = 0; i < command->count; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "",
					 command->argv[i]);
	qemu_command_free(command);
	planned_free(&planned);
}

static void command_of(const char *content, bool console, char *text, size_t size)
{
	command_of_config(content, (struct qemu_command_config){.console = console}, text, size);
}

/* An inherited descriptor, which nobody else can open. */
static void a_monitor_is_nobody_else_s(void **state)
{
	static const char monitor[] = " -chardev socket,id=faultline-monitor,fd=5 -mon "
				      "chardev=faultline-monitor,mode=control";
	struct qemu_command_config config = {.monitor = true};
	char text[2048];

	command_of_config(QEMU("-nographic") DISK, config, text, sizeof(text));
	assert_non_null(strstr(text, monitor));
	assert_null(strstr(text, "virtio-balloon"));
	config.balloon = true;
	command_of_config(QEMU("-name virtio-balloon-pci -nographic") DISK, config, text,
			  sizeof(text));
	assert_non_null(strstr(text, monitor));
	assert_non_null(strstr(text, " -device virtio-balloon-pci,deflate-on-oom=on -name"));
	/* QEMU takes one. */
	command_of_config(QEMU("--device virtio-balloon-pci,id=mine") DISK, config, text,
			  sizeof(text));
	assert_null(strstr(text, "deflate-on-oom"));
	command_of(QEMU("-nographic") DISK, true, text, sizeof(text));
	assert_null(strstr(text, "monitor,"));
	assert_null(strstr(text, "-mon "));
}

/* QEMU has slots for it, and less of the memory at first. */
static void memory_may_be_plugged_in(void **state)
{
	struct planned planned;
	char text[2048];

	plan_good(QEMU("") "plug = 128M\nplug_at = 7s\n" DISK, &planned);
	assert_int_equal(planned.plan.machine.tenants[0].memory, 192u << 20);
	assert_int_equal(planned.plan.machine.tenants[0].vm.plug_bytes, 128u << 20);
	assert_int_equal(planned.plan.machine.tenants[0].vm.plug_at_ns, 7 * SECOND);
	planned_free(&planned);
	command_of_config(QEMU("") "plug = 128M\n" DISK,
			  (struct qemu_command_config){.monitor = true}, text, sizeof(text));
	assert_non_null(strstr(text, "size=67108864,share=on "));
	assert_non_null(strstr(text, " -m size=64M,slots=1,maxmem=192M "));
	refused(QEMU("") "plug = 128M\n" DISK SQUEEZED("memory = 32M\n"),
		":7: [inject i] action=balloon on tenant vm, which has plug=");
}

static void ours_come_before_the_job_s(void **state)
{
	char text[2048];

	command_of(QEMU("-nographic -append \"a  b\"") DISK "queues = 3\nqueue_depth = 128\n", true,
		   text, sizeof(text));
	assert_string_equal(text,
			    "/bin/true -name vm -object memory-backend-memfd,id=faultline,"
			    "size=67108864,share=on -machine memory-backend=faultline "
			    "-chardev socket,id=faultline-0-disk,path=/run/a,,b "
			    "-device vhost-user-blk-pci,chardev=faultline-0-disk,num-queues=3,"
			    "queue-size=128 -nographic -append a  b");
}

static void a_console_is_asked_for_where_there_is_none(void **state)
{
	char text[2048];

	command_of(QEMU("-display none") DISK, true, text, sizeof(text));
	assert_non_null(strstr(text, " -monitor none -serial stdio "));
	assert_null(strstr(text, "-display none -monitor none -serial stdio -display"));
	command_of(QEMU("-nographic") DISK, true, text, sizeof(text));
	assert_null(strstr(text, "-serial"));
	command_of(QEMU("-display none") DISK, false, text, sizeof(text));
	assert_null(strstr(text, "-serial"));
}

static void a_viommu_has_a_port_for_each_device(void **state)
{
	char text[4096];

	command_of(QEMU("-name guest=x") "viommu = yes\n" DISK "count = 2\n", true, text,
		   sizeof(text));
	assert_null(strstr(text, "-name vm"));
	assert_non_null(strstr(text, "-machine q35,kernel-irqchip=split,memory-backend=faultline "
				     "-device intel-iommu,device-iotlb=on,intremap=on "));
	assert_non_null(strstr(text, "-device pcie-root-port,id=faultline-1-disk1-port,chassis=65,"
				     "slot=65 -device vhost-user-blk-pci,"
				     "chardev=faultline-1-disk1,num-queues=1,queue-size=64,"
				     "bus=faultline-1-disk1-port,iommu_platform=on,ats=on,"
				     "disable-legacy=on"));
	command_of(QEMU("-M q35,smm=off") "viommu = yes\n" DISK, true, text, sizeof(text));
	assert_non_null(strstr(text, "-machine kernel-irqchip=split,memory-backend=faultline"));
}

#define NIC "[device net]\nmodel = nic\nqueue_depth = 256\n"

static void a_network_card_has_its_guest_s_address(void **state)
{
	static const char card[] =
		"-chardev socket,id=faultline-0-net,path=/run/a,,b "
		"-netdev vhost-user,id=faultline-0-net-net,chardev=faultline-0-net,queues=3 "
		"-device virtio-net-pci,netdev=faultline-0-net-net,mac=02:00:0a:4d:00:01,mq=on,"
		"vectors=%d,rx_queue_size=256,tx_queue_size=256,romfile=";
	char text[2048], expected[512];

	/* QEMU 7.2 crashes over vectors that are not KVM's. */
	for (int kvm = 0; kvm < 2; kvm++) {
		command_of(kvm ? QEMU("-accel kvm") NIC "queues = 3\n"
			       : QEMU("") NIC "queues = 3\n",
			   true, text, sizeof(text));
		snprintf(expected, sizeof(expected), card, kvm ? 8 : 0);
		assert_non_null(strstr(text, expected));
	}
}

static void a_network_card_s_wire_is_ours(void **state)
{
	static const struct {
		const char *keys, *sentence;
	} wrong[] = {
		{"rx_policy = pin\n", "buffers are anywhere; accepted: drop, cache"},
		{"offload = checksum\n", "offload: none is offered"},
		{"wire = loop\n[traffic t]\nduration = 1s\nverify = no\n",
		 "wire=loop: its guest sends what it likes"},
		{"wire = generator\n", "has no [traffic NAME]"},
		{"wire = generator\n[traffic t]\nduration = 1s\nverify = yes\n",
		 "verify=yes: net is a virtual"},
		{"mtu = 1501\n", "accepted: up to 1500"},
		{"queues = 33\n", "accepted: up to 32"},
		{"lookup = uffd\n", "a NIC looks before it writes"},
		{"[program p]\nside = guest\nrole = load\nrun = true\n", "vm/net, which the guest"},
	};
	static const char program[] =
		QEMU("") NIC "[program p]\nside = wire\nrole = server\nrun = true\n";
	static const char traffic[] =
		QEMU("") NIC "wire = generator\n[traffic t]\nduration = 1s\nverify = no\n";
	char content[512];
	struct planned planned;

	for (size_t i = 0; i < COUNT(wrong); i++) {
		snprintf(content, sizeof(content), QEMU("") NIC "%s", wrong[i].keys);
		refused(content, wrong[i].sentence);
	}
	refused(QEMU("") "[device net]\nmodel = nic\n", "accepted: 256 to 1024");
	plan_good(program, &planned);
	planned_free(&planned);
	plan_good(traffic, &planned);
	planned_free(&planned);
}

/* What is printed is a line that a shell makes the same words of. */
static void a_line_for_a_shell(void **state)
{
	static const char *const sockets[] = {"/run/a b"};
	struct planned planned;
	struct qemu_command *command;
	struct qemu_command_config config = {.sockets = sockets, .reconnect = true};
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	plan_good(QEMU("-append \"it's $HOME\"") DISK, &planned);
	config.machine = &planned.plan.machine;
	assert_int_equal(qemu_command_build(&command, &config), 0);
	qemu_command_print(command, "/lib/x.so", "/run/m", file);
	fclose(file);
	assert_ptr_equal(strstr(text, "FAULTLINE_VM=/run/m LD_PRELOAD=/lib/x.so /bin/true "), text);
	assert_non_null(strstr(text, "'socket,id=faultline-0-disk,path=/run/a b,reconnect=1'"));
	assert_non_null(strstr(text, " -append 'it'\\''s $HOME'\n"));
	free(text);
	qemu_command_free(command);
	planned_free(&planned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_guest_is_a_load),
		cmocka_unit_test(what_drives_others_is_refused),
		cmocka_unit_test(keys_of_others_are_refused),
		cmocka_unit_test(injections_without_effect_are_refused),
		cmocka_unit_test(a_balloon_is_a_virtual_machine_s),
		cmocka_unit_test(memory_may_be_plugged_in),
		cmocka_unit_test(one_machine_stands_still_once_at_a_time),
		cmocka_unit_test(starts_of_guests_need_their_consoles),
		cmocka_unit_test(arguments_that_cannot_work_are_refused),
		cmocka_unit_test(what_a_guest_is_told_is_its_own),
		cmocka_unit_test(somebody_else_s_machine_has_sockets),
		cmocka_unit_test(a_monitor_is_nobody_else_s),
		cmocka_unit_test(ours_come_before_the_job_s),
		cmocka_unit_test(a_console_is_asked_for_where_there_is_none),
		cmocka_unit_test(a_viommu_has_a_port_for_each_device),
		cmocka_unit_test(a_network_card_has_its_guest_s_address),
		cmocka_unit_test(a_network_card_s_wire_is_ours),
		cmocka_unit_test(a_line_for_a_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
