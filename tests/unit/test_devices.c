// SPDX-License-Identifier: GPL-2.0
/*
 * The device dictionary: devices that go, and what comes to their address or place. The maps are real
 * ones, filled as the kernel side does. Needs root; without it every test is skipped.
 */
#include "tests/unit/test.h"

#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/capture/devices.h"
#include "tests/unit/amount.h"

static struct shared_maps maps;
static struct device_table *table;

static void ask_nobody(void *self, __u32 pid)
{
	(void)self;
	(void)pid;
}

static int begin(void **state)
{
	struct capture_config config = {};

	if (geteuid())
		return 0;
	if (shared_maps_create(&maps, 4096) ||
	    device_table_create(&table, &config, &maps, ask_nobody, NULL)) {
		fprintf(stderr, "%s\n", failure_text());
		return -1;
	}
	return 0;
}

static int end(void **state)
{
	device_table_destroy(table);
	table = NULL;
	if (maps.object)
		shared_maps_destroy(&maps);
	return 0;
}

static struct device_key at(__u64 address)
{
	return (struct device_key){.kind = DEVICE_BY_ADDRESS, .source = address};
}

/* The kernel side meets a device; returns its number there. */
static __u32 meet(__u64 address, const char *bus, const char *name)
{
	struct device_state state = {.id = ++maps.state->devices};
	struct device_key key = at(address);
	__u64 domain = address + 0x1000;
	struct domain_state of = {.device = state.id};

	snprintf(state.bus, sizeof(state.bus), "%s", bus);
	snprintf(state.name, sizeof(state.name), "%s", name);
	assert_int_equal(bpf_map_update_elem(maps.devices, &key, &state, BPF_NOEXIST), 0);
	assert_int_equal(bpf_map_update_elem(maps.domains, &domain, &of, BPF_ANY), 0);
	maps.state->slots++;
	return state.id;
}

/* As device_leave() of bpf/device.bpf.h does. */
static void leave(const struct device_key *key)
{
	struct device_past past = {.key = *key};

	assert_int_equal(bpf_map_lookup_elem(maps.devices, key, &past.state), 0);
	assert_int_equal(bpf_map_update_elem(maps.devices_gone, &past.state.id, &past, BPF_NOEXIST),
			 0);
	assert_int_equal(bpf_map_delete_elem(maps.devices, key), 0);
	maps.state->slots--;
	maps.state->gone++;
}

static void go(__u64 address)
{
	struct device_key key = at(address);

	leave(&key);
}

static bool has_domain(__u64 address)
{
	__u64 domain = address + 0x1000;
	struct domain_state of;

	return !bpf_map_lookup_elem(maps.domains, &domain, &of);
}

static const char *told(__u32 handle)
{
	const struct device_info *info = device_table_next_new(table);

	if (!info)
		return "nothing";
	assert_int_equal(info->handle, handle);
	return info->name;
}

static void an_address_may_get_another_device(void **state)
{
	__u32 first, second;

	if (geteuid())
		skip();
	first = device_table_handle(table, meet(0x1000, "platform", "one"));
	assert_string_equal(told(first), "one");
	go(0x1000);
	second = device_table_handle(table, meet(0x1000, "platform", "two"));
	assert_int_not_equal(first, second);
	assert_string_equal(told(second), "two");
	/* Events of the first may still be on their way. */
	assert_int_equal(device_table_handle(table, 1), first);
}

static void a_place_may_get_another_device(void **state)
{
	__u32 first, same, second;

	if (geteuid())
		skip();
	first = device_table_handle(table, meet(0x1000, "pci", "0000:01:00.0"));
	assert_string_equal(told(first), "0000:01:00.0");
	/* Met another way while it is there, it is the same. */
	same = device_table_handle(table, meet(0x3000, "pci", "0000:01:00.0"));
	assert_int_equal(same, first);
	assert_string_equal(told(first), "nothing");
	go(0x1000);
	go(0x3000);
	second = device_table_handle(table, meet(0x5000, "pci", "0000:01:00.0"));
	assert_int_not_equal(first, second);
	assert_string_equal(told(second), "0000:01:00.0");
}

/* Gone before user space has asked for its name, and another is there already. */
static void a_short_life_leaves_a_name(void **state)
{
	__u32 first, second, number;

	if (geteuid())
		skip();
	number = meet(0x1000, "pci", "0000:01:00.0");
	go(0x1000);
	second = device_table_handle(table, meet(0x1000, "pci", "0000:01:00.0"));
	first = device_table_handle(table, number);
	assert_true(first && second);
	assert_int_not_equal(first, second);
	device_table_forget_gone(table);
	assert_int_equal(device_table_handle(table, number), first);
}

static void what_has_gone_gives_its_slots_back(void **state)
{
	__u32 stays, late;

	if (geteuid())
		skip();
	stays = device_table_handle(table, meet(0x9000, "pci", "0000:09:00.0"));
	/* Many more than the kernel side has room for, one after the other; some go at once. */
	for (int i = 0; i < 3 * DOMAINS_MAX; i++) {
		__u64 address = 0x10000 + (__u64)i * 0x10000;

		assert_true(device_table_handle(table, meet(address, "platform", "guest")));
		go(address);
		if (i % 97 == 0) {
			assert_true(has_domain(address));
			device_table_forget_gone(table);
			assert_false(has_domain(address));
		}
		if (i % 97 == 96)
			device_table_forget_gone(table);
	}
	device_table_forget_gone(table);
	assert_true(has_domain(0x9000));
	late = device_table_handle(table, 1);
	assert_int_equal(late, stays);
	assert_int_equal(device_table_handle(table, meet(0xa000, "pci", "0000:09:00.0")), stays);
}

static __u32 meet_kind(__u32 kind, const struct owner_key *owner, __u64 index)
{
	struct device_key key = {kind, owner->pid, owner->start, index};
	struct device_state state = {.id = ++maps.state->devices};
	struct owner_share account = {0};

	bpf_map_lookup_elem(maps.owners, owner, &account);
	account.devices++;
	account.entered++;
	assert_int_equal(bpf_map_update_elem(maps.devices, &key, &state, BPF_NOEXIST), 0);
	assert_int_equal(bpf_map_update_elem(maps.owners, owner, &account, BPF_ANY), 0);
	maps.state->slots++;
	return state.id;
}

/* The kernel side meets a process's device; returns its number there. */
static __u32 meet_of(const struct owner_key *owner, __u64 index)
{
	return meet_kind(DEVICE_EMULATED, owner, index);
}

static void what_processes_had_is_given_back(void **state)
{
	const struct owner_key stays = {.pid = 7, .start = 70};
	struct owner_share account;
	__u32 before, number, late;

	if (geteuid())
		skip();
	before = device_table_handle(table, meet_of(&stays, 0));
	/* Many more than there is room for, nobody asked for the names of most. */
	for (__u32 i = 0; i < 2 * DEVICES_MAX / 16; i++) {
		struct owner_key owner = {.pid = 100 + i, .start = i};

		for (__u64 index = 0; index < 16; index++)
			number = meet_of(&owner, index);
		device_table_forget_owner(table, owner.pid, owner.start);
		assert_int_not_equal(bpf_map_lookup_elem(maps.owners, &owner, &account), 0);
	}
	/* Events of what has gone may still be on their way, and what stays is what it was. */
	late = device_table_handle(table, number);
	assert_true(late && late != before);
	assert_int_equal(device_table_handle(table, 1), before);
	assert_int_equal(bpf_map_lookup_elem(maps.owners, &stays, &account), 0);
	assert_int_equal(maps.state->slots, 1);
}

/* What a process has opened and closed is known by its name, and taken from it only once. */
static void what_was_closed_is_known(void **state)
{
	const struct owner_key owner = {.pid = 7, .start = 70};
	__u32 first, seen;

	if (geteuid())
		skip();
	for (__u64 i = 1; i <= 3 * OWNER_DEVICES_MAX; i++) {
		struct device_key key = {DEVICE_VFIO_CONTAINER, 7, 70, i};
		__u32 number = meet_kind(DEVICE_VFIO_CONTAINER, &owner, i);
		char name[32];

		/* Every other one before anybody asks. */
		if (i % 2)
			leave(&key);
		seen = device_table_handle(table, number);
		snprintf(name, sizeof(name), "vfio/7.%llu", i);
		assert_string_equal(told(seen), name);
		if (i % 2 == 0)
			leave(&key);
		if (i % 1000 == 0)
			device_table_forget_gone(table);
	}
	/* One that was closed and nobody asks for; one that is open as the process ends, likewise. */
	meet_kind(DEVICE_VFIO_CONTAINER, &owner, 0);
	leave(&(struct device_key){DEVICE_VFIO_CONTAINER, 7, 70, 0});
	first = meet_kind(DEVICE_VFIO_CONTAINER, &owner, 1);
	assert_int_equal(maps.state->slots, 1);
	device_table_forget_owner(table, 7, 70);
	assert_int_equal(maps.state->slots, 0);
	assert_true(device_table_handle(table, first));
}

/* Its name was needed after that of thousands of others: it is no other's, and counted. */
static void a_forgotten_name_is_counted(void **state)
{
	__u32 number;

	if (geteuid())
		skip();
	number = meet(0x1000, "platform", "one");
	go(0x1000);
	assert_int_equal(bpf_map_delete_elem(maps.devices_gone, &number), 0);
	assert_int_equal(device_table_handle(table, number), DEVICE_NONE);
	assert_int_equal(device_table_handle(table, number), DEVICE_NONE);
	assert_int_equal(maps.state->state_failed, 1);
	assert_string_equal(told(0), "nothing");
}

/* Calls of the kernel about its devices: each is counted here before it is made. */
static unsigned int calls;

int bpf_map_get_next_key(int map, const void *key, void *next)
{
	union bpf_attr attr = {.map_fd = map, .key = (__u64)key, .next_key = (__u64)next};

	calls++;
	return (int)syscall(SYS_bpf, BPF_MAP_GET_NEXT_KEY, &attr, sizeof(attr));
}

int bpf_map_lookup_elem(int map, const void *key, void *value)
{
	union bpf_attr attr = {.map_fd = map, .key = (__u64)key, .value = (__u64)value};

	calls++;
	return (int)syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr));
}

int bpf_map_lookup_batch(int map, void *in, void *out, void *keys, void *values, __u32 *count,
			 const struct bpf_map_batch_opts *options)
{
	union bpf_attr attr = {.batch = {.map_fd = map,
					 .in_batch = (__u64)in,
					 .out_batch = (__u64)out,
					 .keys = (__u64)keys,
					 .values = (__u64)values,
					 .count = *count}};
	int result = (int)syscall(SYS_bpf, BPF_MAP_LOOKUP_BATCH, &attr, sizeof(attr));

	(void)options;
	calls++;
	*count = attr.batch.count;
	return result;
}

/* What one process had is looked for among its own, whatever others have. */
static void an_end_costs_what_it_had(void **state)
{
	const struct owner_key stays = {.pid = 7, .start = 70};
	const __u32 all = amount(4096, 1024);
	unsigned int before;

	if (geteuid())
		skip();
	for (__u64 index = 0; index < all; index++)
		assert_true(device_table_handle(table, meet_of(&stays, index)));
	for (__u32 i = 0; i < 1000; i++)
		assert_true(device_table_handle(
			table, meet_of(&(struct owner_key){.pid = 100 + i, .start = i}, 0)));
	before = calls;
	for (__u32 i = 0; i < 1000; i++)
		device_table_forget_owner(table, 100 + i, i);
	assert_in_range(calls - before, 1, 4 * 1000);
	assert_int_equal(maps.state->slots, all);
}

static void a_device_without_slot_is_known_all_the_same(void **state)
{
	const struct device_key key = {DEVICE_EMULATED, 7, 70, 3};
	struct device_info info = {.kind = DEVICE_EMULATED, .name = "vm/disk"};
	struct device_state met = {0};
	struct device_key in_the_way;
	__u32 handle;

	if (geteuid())
		skip();
	for (__u64 i = 0; i < DEVICES_MAX; i++) {
		in_the_way = at(i + 1);
		assert_int_equal(bpf_map_update_elem(maps.devices, &in_the_way, &met, BPF_ANY), 0);
	}
	handle = device_table_enter(table, &key, &info);
	assert_true(handle && handle != HANDLE_DROPPED);
	assert_string_equal(told(handle), "vm/disk");
	/* Now there is room: the kernel side meets it, and it is no other. */
	assert_int_equal(bpf_map_delete_elem(maps.devices, &in_the_way), 0);
	met.id = ++maps.state->devices;
	assert_int_equal(bpf_map_update_elem(maps.devices, &key, &met, BPF_NOEXIST), 0);
	assert_int_equal(device_table_handle(table, met.id), handle);
}

/* An event of its came before the hello of its machine: what it is called, and the filter, wait for that. */
static void a_late_hello_names_what_was_met(void **state)
{
	const struct capture_config config = {.devices = {"t0/*"}, .device_count = 1};
	const struct owner_key owner = {.pid = 7, .start = 70};
	const struct device_key key = {DEVICE_EMULATED, 7, 70, 0},
				other = {DEVICE_EMULATED, 7, 70, 1};
	const struct device_info *info;
	struct device_info named = {.kind = DEVICE_EMULATED, .name = "t0/disk", .queues = 3};
	struct device_state met;
	__u32 handle;

	if (geteuid())
		skip();
	handle = device_table_handle(table, meet_of(&owner, 0));
	info = device_table_next_new(table);
	assert_string_equal(info->name, "emulated:7/0");
	named.first_ns = info->first_ns + 99;
	assert_int_equal(device_table_enter(table, &key, &named), handle);
	info = device_table_next_new(table);
	assert_non_null(info);
	assert_string_equal(info->name, "t0/disk");
	assert_int_equal(info->handle, handle);
	assert_int_equal(info->queues, 3);
	assert_int_equal(info->first_ns, named.first_ns - 99);
	assert_int_equal(device_table_enter(table, &key, &named), handle);
	assert_string_equal(told(0), "nothing");

	device_table_forget_owner(table, 7, 70);
	device_table_destroy(table);
	assert_int_equal(device_table_create(&table, &config, &maps, ask_nobody, NULL), 0);
	assert_int_equal(device_table_handle(table, meet_of(&owner, 0)), HANDLE_DROPPED);
	assert_int_equal(device_table_handle(table, meet_of(&owner, 1)), HANDLE_DROPPED);
	handle = device_table_enter(table, &key, &named);
	assert_int_not_equal(handle, HANDLE_DROPPED);
	assert_string_equal(told(handle), "t0/disk");
	assert_int_equal(bpf_map_lookup_elem(maps.devices, &key, &met), 0);
	assert_int_equal(met.verdict, DEVICE_PASS);
	assert_int_equal(device_table_handle(table, met.id), handle);
	snprintf(named.name, sizeof(named.name), "t1/disk");
	assert_int_equal(device_table_enter(table, &other, &named), HANDLE_DROPPED);
	assert_int_equal(bpf_map_lookup_elem(maps.devices, &other, &met), 0);
	assert_int_equal(met.verdict, DEVICE_DROP);
	assert_string_equal(told(0), "nothing");
}

/* Process 7 is a machine of two devices. */
static void ask(void *self, __u32 pid)
{
	struct device_info info = {.kind = DEVICE_EMULATED};

	(*(unsigned int *)self)++;
	for (__u64 index = 0; index < 2 && pid == 7; index++) {
		const struct device_key key = {DEVICE_EMULATED, 7, 70, index};

		snprintf(info.name, sizeof(info.name), "vm/%llu", index);
		device_table_enter(table, &key, &info);
	}
}

static void a_machine_is_asked_once_before_its_devices_are_met(void **state)
{
	const struct owner_key machine = {.pid = 7, .start = 70},
			       stranger = {.pid = 8, .start = 80};
	const struct device_info *info;
	struct capture_config config = {};
	__u32 ids[3], named = 0, strange = 0;
	unsigned int asked = 0;

	if (geteuid())
		skip();
	device_table_destroy(table);
	assert_int_equal(device_table_create(&table, &config, &maps, ask, &asked), 0);
	ids[0] = meet_of(&machine, 1);
	ids[1] = meet_of(&stranger, 0);
	ids[2] = meet_of(&machine, 0);
	assert_int_not_equal(device_table_handle(table, ids[0]), DEVICE_NONE);
	assert_int_equal(asked, 2);
	while ((info = device_table_next_new(table))) {
		named += !strncmp(info->name, "vm/", 3);
		strange += !strcmp(info->name, "emulated:8/0");
	}
	assert_int_equal(named, 2);
	assert_int_equal(strange, 1);
	assert_int_not_equal(device_table_handle(table, ids[0]),
			     device_table_handle(table, ids[2]));
	assert_int_equal(asked, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_address_may_get_another_device, begin, end),
		cmocka_unit_test_setup_teardown(a_place_may_get_another_device, begin, end),
		cmocka_unit_test_setup_teardown(a_short_life_leaves_a_name, begin, end),
		cmocka_unit_test_setup_teardown(what_has_gone_gives_its_slots_back, begin, end),
		cmocka_unit_test_setup_teardown(what_processes_had_is_given_back, begin, end),
		cmocka_unit_test_setup_teardown(what_was_closed_is_known, begin, end),
		cmocka_unit_test_setup_teardown(a_forgotten_name_is_counted, begin, end),
		cmocka_unit_test_setup_teardown(an_end_costs_what_it_had, begin, end),
		cmocka_unit_test_setup_teardown(a_machine_is_asked_once_before_its_devices_are_met,
						begin, end),
		cmocka_unit_test_setup_teardown(a_late_hello_names_what_was_met, begin, end),
		cmocka_unit_test_setup_teardown(a_device_without_slot_is_known_all_the_same, begin,
						end),
	};

	return cmocka_run_group_tests_name("devices", tests, NULL, NULL);
}
