// SPDX-License-Identifier: GPL-2.0
/* What a guest whose memory is evictable cannot be beside: refused with a sentence, by arguments, by mapping, and by what is open. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/emu/vm/arguments.h"
#include "lib/base/fail.h"
#include "tests/unit/scratch.h"
#include "tests/unit/vm_world.h"

enum { WORDS_MOST = 8 };

struct arguments_case {
	const char *words[WORDS_MOST];
	const char *refused; /* of the sentence; NULL: it is none */
};

static const struct arguments_case cases[] = {
	{{"-incoming", "tcp:0:4444"}, "migration"},
	{{"--incoming", "defer"}, "migration"},
	{{"-mem-path", "/dev/hugepages"}, "memory-backend-memfd"},
	{{"-device", "vfio-pci,host=01:00.0"}, "vfio pins"},
	{{"-device", "{\"driver\":\"vfio-pci\",\"host\":\"01:00.0\"}"}, "vfio pins"},
	{{"-device", "vhost-vsock-pci,guest-cid=3"}, "vhost"},
	{{"-device", "vhost-user-fs-pci,chardev=c,tag=t"}, "maps the guest's memory itself"},
	{{"-device", "vhost-user-blk-pci,chardev=c"}, "not the job's"},
	{{"-device", "vhost-user-blk-pci"}, "not the job's"},
	{{"-device", "vhost-user-blk-pci,chardev=faultline-0-disk"}, NULL},
	{{"-device", "{\"driver\": \"vhost-user-blk-pci\", \"chardev\": \"c\"}"}, "not the job's"},
	{{"-device", "{\"driver\": \"vhost-user-blk-pci\", \"chardev\": \"faultline-0-d\"}"}, NULL},
	{{"-netdev", "vhost-user,id=faultline-,chardev=c"}, "not the job's"},
	{{"-netdev", "{\"type\":\"vhost-user\",\"id\":\"n\",\"chardev\":\"c\"}"}, "not the job's"},
	{{"-nic", "vhost-user,chardev=c"}, "not the job's"},
	{{"-netdev", "vhost-user,id=n,chardev=faultline-1-net"}, NULL},
	{{"-chardev", "socket,id=vhost-user,path=vhost"}, NULL},
	{{"-netdev", "tap,id=n,vhost=on"}, "vhost=off"},
	{{"-netdev", "tap,id=n,vhost=off"}, NULL},
	{{"-netdev", "tap,id=n,vhost=yes"}, "vhost=off"},
	{{"-netdev", "tap,id=n,vhost"}, "vhost=off"},
	{{"-netdev", "tap,id=n,vhostfd=7"}, "vhost"},
	{{"-netdev", "{\"type\":\"tap\",\"id\":\"n\",\"vhost\":true}"}, "vhost=off"},
	{{"-netdev", "{\"type\":\"tap\",\"id\":\"vhost\",\"vhost\" : false}"}, NULL},
	{{"-netdev", "vhost-vdpa,vhostdev=/dev/vhost-vdpa-0,id=n"}, "vhost"},
	{{"-drive", "file=d,cache=none,if=virtio"}, "O_DIRECT"},
	{{"-drive", "file=d,cache=directsync"}, "O_DIRECT"},
	{{"-drive", "file=d,cache=writeback"}, NULL},
	{{"-drive", "file=d,cache.direct=on"}, "O_DIRECT"},
	{{"-drive", "file=d,file.cache.direct=on"}, "O_DIRECT"},
	{{"-drive", "file=d,cache.direct=true"}, "O_DIRECT"},
	{{"-drive", "file=d,cache.direct=y"}, "O_DIRECT"},
	{{"-drive", "file=d,cache.direct"}, "O_DIRECT"},
	{{"-drive", "file=d,cache.direct=no,cache.no-flush=on"}, NULL},
	{{"-drive", "file=json:{\"driver\":\"file\",,\"cache.direct\":\"on\"}"}, "O_DIRECT"},
	{{"-blockdev", "{\"driver\":\"file\", \"aio\" : \"native\"}"}, "aio=threads"},
	{{"-drive", "file=d,aio=native"}, "aio=threads"},
	{{"-drive", "file=d,aio=io_uring"}, NULL},
	{{"-blockdev", "driver=file,filename=d,node-name=n,cache.direct=on"}, "O_DIRECT"},
	{{"-blockdev", "{\"driver\":\"file\",\"cache\":{\"direct\": true}}"}, "O_DIRECT"},
	{{"-blockdev", "{\"driver\":\"file\",\"cache\":{\"direct\":false}}"}, NULL},
	{{"-object", "memory-backend-memfd,id=m,size=1G,hugetlb=on"}, "hugetlb=off"},
	{{"-object", "memory-backend-memfd,id=m,size=1G,share=off"}, "share=on"},
	{{"-object", "memory-backend-memfd,id=m,size=1G,share=on"}, NULL},
	{{"-object", "memory-backend-memfd,id=m,size=1G,hugetlb=true"}, "hugetlb=off"},
	{{"-object", "memory-backend-memfd,id=m,size=1G,share=false"}, "share=on"},
	{{"-object", "{\"qom-type\":\"memory-backend-memfd\",\"share\": false}"}, "share=on"},
	{{"-object", "memory-backend-file,id=m,size=1G,mem-path=/x"}, "memory-backend-memfd"},
	{{"-object", "memory-backend-ram,id=m,size=1G"}, "memory-backend-memfd"},
	{{"-overcommit", "mem-lock=on"}, "mem-lock=off"},
	{{"-kernel", "k", "-append", "vhost=on cache=none"}, NULL},
	{{"-name", "vfio-pci"}, NULL},
	{{"-m", "256M", "-smp", "2", "-nodefaults"}, NULL},
	{{"-device"}, NULL},
};

static void arguments_are_checked(void **state)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct vm_arguments said;
		size_t count = 0;
		int error;

		while (count < WORDS_MOST && cases[i].words[count])
			count++;
		error = vm_arguments_check(cases[i].words, count, &said);
		assert_int_equal(error, cases[i].refused ? -EINVAL : 0);
		if (!error)
			continue;
		assert_non_null(strstr(failure_text(), cases[i].refused));
		assert_non_null(strstr(failure_text(), cases[i].words[1]));
	}
}

static void arguments_tell_a_name_and_kvm(void **state)
{
	static const struct {
		const char *words[4];
		const char *name;
		bool kvm;
	} said[] = {
		{{"-name", "one", "-m", "1G"}, "one", false},
		{{"-name", "guest=two,debug-threads=on", "-enable-kvm"}, "two", true},
		{{"-name", "debug-threads=on"}, "", false},
		{{"-accel", "kvm"}, "", true},
		{{"-accel", "tcg,thread=multi"}, "", false},
		{{"-machine", "q35,accel=kvm:tcg"}, "", true},
		{{"-cpu", "kvm64"}, "", false},
	};

	for (size_t i = 0; i < COUNT(said); i++) {
		struct vm_arguments got;
		size_t count = 0;

		while (count < COUNT(said[i].words) && said[i].words[count])
			count++;
		assert_int_equal(vm_arguments_check(said[i].words, count, &got), 0);
		assert_string_equal(got.name, said[i].name);
		assert_int_equal(got.kvm, said[i].kvm);
	}
}

/* Whether or not this host is set so, it says which. */
static void the_host_is_checked(void **state)
{
	FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re");
	char text[128] = "[never]";
	int error = vm_host_check();
	bool refused;

	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		fclose(file);
	refused = strstr(text, "[always]") || strstr(text, "[within_size]") ||
		  strstr(text, "[force]");
	if (refused)
		assert_int_equal(error, -ENOTSUP);
	else
		assert_true(!error || strstr(failure_text(), "hugepages-"));
}

/* The mapping fails, with the sentence, and the host has heard of it or not; the next machine is welcome. */
static void assert_refused(const char *map, const char *sentence)
{
	assert_int_equal(strncmp(fake_qemu_ask(&vm.qemu, "%s", map), "refused ", 8), 0);
	assert_int_equal(fake_qemu_end(&vm.qemu), 0);
	assert_non_null(strstr(vm.qemu.said, sentence));
	vm_world_boot();
	vm_world_power_down();
}

static void memory_of_another_size_is_refused(void **state)
{
	fake_qemu_start(&vm.qemu, vm.socket, NULL);
	assert_string_equal(fake_qemu_ask(&vm.qemu, "map %lu", HUGE_BYTES), "refused 22");
	assert_int_equal(vm_handover_wait(vm.handover, 60 * SECOND), -ECONNREFUSED);
	assert_non_null(strstr(failure_text(),
			       "tenant guest has 4194304 bytes of memory, QEMU maps "
			       "2097152"));
	/* It may ask again for what it may have, as an object of the monitor's. */
	assert_string_equal(fake_qemu_ask(&vm.qemu, "map %lu", VM_BYTES), "mapped");
	assert_int_equal(vm_world_turned(VM_REFUSED).state, VM_RUNS);
	assert_int_equal(fake_qemu_end(&vm.qemu), 0);
	assert_non_null(strstr(vm.qemu.said, "size=4M"));
}

static void private_memory_is_refused(void **state)
{
	fake_qemu_start(&vm.qemu, vm.socket, NULL);
	assert_refused("map 4194304 private", "accepted: share=on");
}

static void huge_memory_is_refused(void **state)
{
	fake_qemu_start(&vm.qemu, vm.socket, NULL);
	assert_refused("map 4194304 hugetlb", "accepted: hugetlb=off");
}

static void arguments_of_a_running_one_are_checked(void **state)
{
	fake_qemu_start(&vm.qemu, vm.socket, "-incoming", "defer", NULL);
	assert_refused("map 4194304", "pages that come by migration are not the pager's");
}

static void nobody_listens(void **state)
{
	char nowhere[64];

	snprintf(nowhere, sizeof(nowhere), "%s/nowhere", scratch);
	fake_qemu_start(&vm.qemu, nowhere, NULL);
	assert_string_equal(fake_qemu_ask(&vm.qemu, "map %lu", VM_BYTES), "refused 2");
	assert_int_equal(fake_qemu_end(&vm.qemu), 0);
	assert_non_null(strstr(vm.qemu.said, "nobody hosts this machine's memory at"));
}

/* tmpfs has no direct I/O in all kernels that this runs on: a file where the tests are built. */
static const char *disk_path(void)
{
	static char path[96];
	int file;

	snprintf(path, sizeof(path), "/var/tmp/faultline-direct-%d", (int)getpid());
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	close(file);
	return path;
}

static void a_file_for_direct_io_is_refused_once_memory_is_handed_over(void **state)
{
	const char *path = disk_path();

	fake_qemu_start(&vm.qemu, vm.socket, NULL);
	assert_string_equal(fake_qemu_ask(&vm.qemu, "direct %s", path), "opened");
	assert_string_equal(fake_qemu_ask(&vm.qemu, "map %lu", VM_BYTES), "mapped");
	assert_string_equal(fake_qemu_ask(&vm.qemu, "direct %s", path), "refused 22");
	assert_string_equal(fake_qemu_ask(&vm.qemu, "set-direct %s", path), "refused 22");
	assert_int_equal(fake_qemu_end(&vm.qemu), 0);
	assert_non_null(strstr(vm.qemu.said, path));
	assert_non_null(strstr(vm.qemu.said, "accepted: cache=writeback"));
	unlink(path);
}

static void memory_is_refused_beside_a_file_for_direct_io(void **state)
{
	const char *path = disk_path();

	fake_qemu_start(&vm.qemu, vm.socket, NULL);
	assert_string_equal(fake_qemu_ask(&vm.qemu, "keep-direct %s", path), "kept");
	assert_refused("map 4194304", "accepted: cache=writeback");
	unlink(path);
}

static void devices_that_pin_are_refused(void **state)
{
	static const char *const devices[] = {"/dev/vfio/vfio", "/dev/vfio/7", "/dev/iommu",
					      "/dev/vhost-net", "/dev/vhost-vsock"};

	if (geteuid())
		skip();
	vm_world_boot();
	for (size_t i = 0; i < COUNT(devices); i++)
		assert_string_equal(fake_qemu_ask(&vm.qemu, "device %s", devices[i]), "refused 22");
	assert_string_equal(fake_qemu_ask(&vm.qemu, "device /dev/other"), "opened");
	assert_int_equal(fake_qemu_end(&vm.qemu), 0);
	for (size_t i = 0; i < COUNT(devices); i++)
		assert_non_null(strstr(vm.qemu.said, devices[i]));
}

static void a_second_mapping_is_refused(void **state)
{
	vm_world_boot();
	assert_string_equal(fake_qemu_ask(&vm.qemu, "remap"), "refused 13");
	assert_int_equal(fake_qemu_end(&vm.qemu), 0);
	assert_non_null(strstr(vm.qemu.said, "maps its guest's memory a second time"));
}

/* A back-end that is added while the guest runs, as by QMP. */
static void memory_is_given_to_nobody_else(void **state)
{
	vm_world_boot();
	assert_string_equal(fake_qemu_ask(&vm.qemu, "give"), "refused 13");
	assert_int_equal(fake_qemu_end(&vm.qemu), 0);
	assert_non_null(strstr(vm.qemu.said, "to a back-end that is not the job's"));
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, vm_world_setup, vm_world_teardown)

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_checked),
		cmocka_unit_test(arguments_tell_a_name_and_kvm),
		cmocka_unit_test(the_host_is_checked),
		IN_WORLD(memory_of_another_size_is_refused),
		IN_WORLD(private_memory_is_refused),
		IN_WORLD(huge_memory_is_refused),
		IN_WORLD(arguments_of_a_running_one_are_checked),
		IN_WORLD(nobody_listens),
		IN_WORLD(a_file_for_direct_io_is_refused_once_memory_is_handed_over),
		IN_WORLD(memory_is_refused_beside_a_file_for_direct_io),
		IN_WORLD(devices_that_pin_are_refused),
		IN_WORLD(a_second_mapping_is_refused),
		IN_WORLD(memory_is_given_to_nobody_else),
	};

	fake_qemu_main(count, arguments);
	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
