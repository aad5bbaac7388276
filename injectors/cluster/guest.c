// SPDX-License-Identifier: GPL-2.0
/* A VM as a process: its RAM, its boot, its driver's I/Os, and its end. */
#include "injectors/cluster/guest.h"

#include <errno.h>
#include <linux/pci_regs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "injectors/cluster/accel.h"
#include "injectors/cluster/agent.h"
#include "injectors/cluster/guest_private.h"
#include "injectors/cluster/seen.h"
#include "injectors/cluster/target.h"
#include "lib/base/clock.h"
#include "lib/base/fail.h"

/* At most between two looks at what has changed meanwhile. */
#define GUEST_WAIT_NS (20 * NSEC_PER_MSEC)

/* Made once and used by each cluster after the other: all processes of one have inherited them. */
static struct {
	int *files;
	__u32 count;
} guest_eventfds;

static int guest_eventfds_make(__u32 count)
{
	__u64 old;
	int *files = realloc(guest_eventfds.files, (count ? count : 1) * sizeof(*files));

	if (!files)
		return failed(-ENOMEM, "no memory for %u eventfds", count);
	guest_eventfds.files = files;
	for (__u32 i = 0; i < guest_eventfds.count && i < count; i++)
		while (read(files[i], &old, sizeof(old)) > 0)
			;
	for (; guest_eventfds.count < count; guest_eventfds.count++) {
		files[guest_eventfds.count] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (files[guest_eventfds.count] < 0)
			return failed(-errno, "no eventfd for a guest's interrupts");
	}
	return 0;
}

int guests_create(struct cluster *cluster)
{
	__u32 count = cluster->config->vm_count;
	int err = guest_eventfds_make(count * GUEST_VECTORS);

	if (err)
		return err;
	cluster->guests =
		shared_alloc(cluster, sizeof(struct guests) + count * sizeof(struct guest_shared));
	if (!cluster->guests)
		return -ENOMEM;
	cluster->guests->count = count;
	for (__u32 i = 0; i < count; i++)
		for (__u32 vector = 0; vector < GUEST_VECTORS; vector++)
			cluster->guests->guests[i].eventfds[vector] =
				guest_eventfds.files[i * GUEST_VECTORS + vector];
	return targets_create(cluster);
}

struct guest_shared *guest_of(const struct cluster *cluster, __u32 vm)
{
	return vm < cluster->guests->count ? &cluster->guests->guests[vm] : NULL;
}

const struct guest_results *guest_results_of(const struct cluster *cluster, __u32 vm)
{
	const struct guest_shared *guest = guest_of(cluster, vm);

	return guest ? &guest->results : NULL;
}

__u64 guest_bar_address(const struct cluster *cluster, __u32 vm, __u32 bar)
{
	const struct guest_shared *guest = guest_of(cluster, vm);

	return guest && bar < FUNCTION_BARS ? guest->bars[bar] : 0;
}

/* Until so long after the run's begin, or its end; false: it has ended. */
static bool guest_sleep_until(struct cluster *cluster, __u64 run_ns)
{
	while (!cluster_stopping(cluster)) {
		__u32 events = agent_events(cluster);
		__u64 now = cluster_run_ns(cluster);

		if (now && now >= run_ns)
			return true;
		agent_wait(cluster, events,
			   now && run_ns - now < GUEST_WAIT_NS ? run_ns - now : GUEST_WAIT_NS);
	}
	return false;
}

/* Tells its driver to leave: the run ends, or (until_ns) its time has come. */
struct guest_clock {
	struct cluster *cluster;
	__u64 until_ns; /* 0: none */
	int stop;
	bool over;
	pthread_t thread;
};

static void *guest_clock_run(void *argument)
{
	struct guest_clock *clock = argument;

	while (!__atomic_load_n(&clock->over, __ATOMIC_ACQUIRE)) {
		__u32 events = agent_events(clock->cluster);

		if (cluster_stopping(clock->cluster) ||
		    (clock->until_ns && cluster_run_ns(clock->cluster) >= clock->until_ns))
			__atomic_store_n(&clock->stop, 1, __ATOMIC_RELEASE);
		agent_wait(clock->cluster, events, GUEST_WAIT_NS);
	}
	return NULL;
}

/* The stock driver, for as many I/Os in all, or until the run, or `until_ns`, is over. */
static int guest_drive(struct bus *bus, struct io_user *user, __u64 ios, __u64 until_ns)
{
	const struct io_config *configured = user->config;
	struct io_config config = *configured;
	struct borrow_config borrow = {
		.device = bus->device,
		.host = bus->host,
		.adapters = {CLUSTER_NONE, CLUSTER_NONE},
		.peer = CLUSTER_NONE,
	};
	struct guest_clock clock = {.cluster = bus->cluster, .until_ns = until_ns};
	int err;

	config.ios = ios;
	borrow.io = config;
	err = pthread_create(&clock.thread, NULL, guest_clock_run, &clock);
	if (err)
		return failed(-err, "cannot start a guest's clock");
	user->config = &config;
	err = stock_driver_run(bus, &borrow, user, &clock.stop);
	user->config = configured;
	__atomic_store_n(&clock.over, true, __ATOMIC_RELEASE);
	pthread_join(clock.thread, NULL);
	return err == -ENODEV && clock.stop ? 0 : err;
}

/* Half of the I/Os come before memory is added: what is then given to the device is refused, the rest goes on. */
static int guest_drive_both(struct bus *bus, struct io_user *user, const struct vm_config *config,
			    __u64 added_ns)
{
	__u64 half = (config->io.ios + 1) / 2;
	int err = guest_drive(bus, user, half, half ? 0 : added_ns);

	if (!err && guest_sleep_until(bus->cluster, added_ns))
		err = guest_memory_added(bus);
	if (!err && !cluster_stopping(bus->cluster))
		err = guest_drive(bus, user, config->io.ios, 0);
	return err;
}

/* Firmware is done; what sets Bus Master is the kernel that it has begun. */
static int guest_kernel(struct bus *bus, const struct vm_config *config, __u64 boot_ns)
{
	__u32 command = bus->ops->config_read(bus, PCI_COMMAND, 2);
	struct io_user user;
	int err;

	bus->ops->config_write(bus, PCI_COMMAND, 2,
			       command | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	err = bus->ops->state(bus);
	if (!err)
		err = io_user_open(&user, bus->cluster, &config->io, config->device, CLUSTER_NONE,
				   CLUSTER_NONE);
	if (err)
		return err;
	err = config->added ? guest_drive_both(bus, &user, config, boot_ns + config->added_ns)
			    : guest_drive(bus, &user, config->io.ios, 0);
	io_user_close(&user);
	return err;
}

/* Its lender may be begun anew, register a little later, or be busy with a reset: who boots waits as long as anybody may be silent. */
static int guest_boots(struct bus *bus)
{
	__u64 begin = monotonic_ns();
	int err = guest_boot(bus);

	while ((err == -EBUSY || err == -ENODEV || err == -EHOSTDOWN) &&
	       !cluster_stopping(bus->cluster) &&
	       monotonic_ns() - begin < bus->cluster->config->dead_ns) {
		agent_wait(bus->cluster, agent_events(bus->cluster), GUEST_WAIT_NS);
		err = guest_boot(bus);
	}
	return err;
}

int guest_run(struct cluster *cluster)
{
	__u32 vm = agent_info(cluster, cluster->self)->config;
	const struct vm_config *config = &cluster->config->vms[vm];
	struct bus bus;
	__u64 boot_ns;
	bool booted;
	int err;

	if (!guest_sleep_until(cluster, 0))
		return 0;
	err = bus_guest_open(&bus, cluster, vm);
	if (err)
		return err;
	err = guest_boots(&bus);
	booted = !err;
	boot_ns = cluster_run_ns(cluster);
	if (!err && guest_sleep_until(cluster, boot_ns + config->bus_master_ns))
		err = guest_kernel(&bus, config, boot_ns);
	/* Whatever its driver met first: a timeout, or registers of all ones. */
	if (err && booted && bus.ops->state(&bus))
		err = bus.ops->state(&bus);
	if (err == -ENODEV || err == -EHOSTDOWN)
		failed(err, "%s was taken from its guest: %s",
		       cluster->config->devices[config->device].name, strerror(-err));
	guest_of(cluster, vm)->results.error = err;
	bus_guest_close(&bus);
	return err;
}
