// SPDX-License-Identifier: GPL-2.0
/* Life of the guest's driver. */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "injectors/emu/nic/driver_private.h"
#include "injectors/emu/pins.h"
#include "injectors/emu/traffic.h"
#include "injectors/emu/thread.h"
#include "lib/base/fail.h"

#define WAIT_STEP_NS (2 * NSEC_PER_MSEC)

static int driver_queue_create(struct nic_driver *driver, __u32 index)
{
	struct nic_driver_queue *queue = &driver->queue[index];
	struct nic *nic = driver->nic;

	queue->driver = driver;
	queue->index = index;
	queue->registers = nic_registers(nic, index);
	queue->scratch = malloc((size_t)RX_FRAME_BUFFERS * nic->settings.rx_buffer);
	queue->made_up = malloc(nic->frame_bytes);
	queue->free = calloc(nic->depth, sizeof(*queue->free));
	queue->rx_posted = calloc(nic->depth, sizeof(bool));
	queue->tx_posted = calloc(nic->depth, sizeof(bool));
	if (!queue->made_up || !queue->scratch || !queue->free || !queue->rx_posted ||
	    !queue->tx_posted)
		return failed(-ENOMEM, "no memory for queue %u of a NIC", index);
	return 0;
}

/* With `pin` nothing of the device's rings and buffers ever leaves. */
static int pin_memory(struct nic_driver *driver, const struct driver_setup *setup)
{
	const struct nic_layout *layout = nic_memory(driver->nic);
	__u64 start = driver->channel->queue[0].ring;

	if (!rx_policies[driver->nic->settings.rx_policy]->pins)
		return 0;
	return machine_pin(setup->machine, setup->index, start, layout->end - start, true);
}

static void driver_destroy(void *argument)
{
	struct nic_driver *driver = argument;

	for (__u32 q = 0; q < driver->queues; q++) {
		free(driver->queue[q].scratch);
		free(driver->queue[q].made_up);
		free(driver->queue[q].free);
		free(driver->queue[q].rx_posted);
		free(driver->queue[q].tx_posted);
	}
	if (driver->stop >= 0)
		close(driver->stop);
	verifier_destroy(driver->verifier);
	generator_destroy(driver->generator);
	pthread_mutex_destroy(&driver->verifying);
	free(driver);
}

/* What the guest sends and receives if it has no network. */
static int create_traffic(struct nic_driver *driver, const struct traffic_config *traffic)
{
	int err = 0;

	if (!traffic || driver->nic->settings.wire == NIC_WIRE_TAP)
		return 0;
	if (traffic->verify)
		err = verifier_create(&driver->verifier, traffic);
	if (!err && driver->nic->settings.wire == NIC_WIRE_LOOP)
		err = generator_create(&driver->generator, traffic);
	return err;
}

static int driver_create(void **argument, const struct driver_setup *setup)
{
	struct nic *nic = setup->model;
	struct nic_driver *driver =
		calloc(1, sizeof(*driver) + nic->queues * sizeof(driver->queue[0]));
	int err = 0;

	if (!driver)
		return failed(-ENOMEM, "no memory for the driver of a NIC");
	driver->nic = nic;
	driver->queues = nic->queues;
	driver->channel = setup->channel;
	driver->memory = setup->memory;
	pthread_mutex_init(&driver->verifying, NULL);
	driver->stop = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (driver->stop < 0)
		err = failed(-errno, "no descriptor for the driver of a NIC");
	for (__u32 q = 0; !err && q < nic->queues; q++)
		err = driver_queue_create(driver, q);
	if (!err)
		err = create_traffic(driver, setup->traffic);
	if (!err)
		err = pin_memory(driver, setup);
	if (err)
		driver_destroy(driver);
	else
		*argument = driver;
	return err;
}

static int start_sender(struct nic_driver_queue *queue)
{
	int err = thread_start(&queue->sender, NULL, driver_transmit, queue, "guest-tx%u",
			       queue->index);

	queue->sending = !err;
	return err;
}

static int driver_queue_start(struct nic_driver_queue *queue)
{
	int err;

	driver_receive_prepare(queue);
	driver_transmit_prepare(queue);
	err = thread_start(&queue->receiver, NULL, driver_receive, queue, "guest-rx%u",
			   queue->index);
	queue->receiving = !err;
	if (!err && queue->driver->nic->networked)
		err = start_sender(queue);
	return err;
}

static int driver_start(void *argument)
{
	struct nic_driver *driver = argument;
	int err = 0;

	for (__u32 q = 0; !err && q < driver->queues; q++)
		err = driver_queue_start(&driver->queue[q]);
	if (!err && driver->nic->networked)
		nic_begin(driver->nic);
	return err;
}

/* What is made up goes out by the first queue, or comes from the wire. */
static int driver_begin(void *argument)
{
	struct nic_driver *driver = argument;
	int err = 0;

	driver->start_ns = monotonic_ns();
	if (driver->generator)
		err = start_sender(&driver->queue[0]);
	if (!err)
		nic_begin(driver->nic);
	return err;
}

static __u64 frames_taken(const struct nic_driver *driver)
{
	__u64 taken = 0;

	for (__u32 q = 0; q < driver->queues; q++)
		taken += __atomic_load_n(&driver->queue[q].taken, __ATOMIC_RELAXED);
	return taken;
}

/* All that was made up has arrived, or been lost, and the guest has it. */
static bool traffic_over(struct nic_driver *driver)
{
	struct nic_stats stats;
	__u64 sent;

	if (driver->nic->settings.wire == NIC_WIRE_TAP)
		return true;
	if (!nic_wire_ended(driver->nic) ||
	    (driver->generator && !__atomic_load_n(&driver->sent_all, __ATOMIC_ACQUIRE)))
		return false;
	nic_stats(driver->nic, &stats);
	sent = stats.tx.frames + stats.tx.lost[LOSS_FAULT];
	return !stats.rx.held && frames_taken(driver) == stats.rx.frames &&
	       (driver->nic->settings.wire != NIC_WIRE_LOOP ||
		(stats.in + stats.missed == stats.tx.frames &&
		 sent == __atomic_load_n(&driver->submitted, __ATOMIC_ACQUIRE)));
}

static int driver_wait(void *argument, __u64 timeout_ns)
{
	__u64 until = monotonic_ns() + timeout_ns;

	while (!traffic_over(argument)) {
		if (monotonic_ns() >= until)
			return -ETIMEDOUT;
		sleep_until(monotonic_ns() + WAIT_STEP_NS);
	}
	return 0;
}

static void driver_stop(void *argument)
{
	struct nic_driver *driver = argument;
	__u64 refused = 0;

	if (driver->stopped)
		return;
	driver->stopped = true;
	__atomic_store_n(&driver->stopping, true, __ATOMIC_RELEASE);
	(void)eventfd_write(driver->stop, 1);
	for (__u32 q = 0; q < driver->queues; q++) {
		struct nic_driver_queue *queue = &driver->queue[q];

		doorbell_ring(&queue->registers->interrupt);
		doorbell_ring(&queue->registers->sent);
		if (queue->receiving)
			pthread_join(queue->receiver, NULL);
		if (queue->sending)
			pthread_join(queue->sender, NULL);
		refused += queue->refused;
	}
	nic_guest_ends(driver->nic, refused, driver->mismatches);
}

const struct device_driver nic_driver = {
	.create = driver_create,
	.start = driver_start,
	.begin = driver_begin,
	.wait = driver_wait,
	.stop = driver_stop,
	.destroy = driver_destroy,
	.ring_pages = driver_ring_pages,
	.buffer_bytes = driver_buffer_bytes,
};
