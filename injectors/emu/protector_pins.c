// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/protector_pins.h"

#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/machine_private.h"
#include "injectors/emu/probes.h"
#include "injectors/emu/thread.h"
#include "injectors/emu/truth.h"
#include "lib/base/fail.h"

#define QUEUE	   8192
#define QUEUE_PINS (QUEUE / 2) /* pins are refused beyond, so that what lets pages go has room */

struct pin_order {
	struct protector_domain *domain;
	struct protect_action action;
};

struct protector_pins {
	struct machine *machine;
	unsigned int page_bits;
	pthread_t thread;
	bool running;
	atomic_bool halted;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t added, taken;
	bool stop;
	__u32 first, count;
	struct pin_order queue[QUEUE];
	__u64 pins, unpins, refused;
	__u64 pinned, pinned_most; /* bytes */
	__u64 begun_ns, changed_ns, ended_ns;
	double byte_ns; /* pinned bytes over time, until changed_ns */
};

static __u64 page_bytes(const struct protector_pins *pins)
{
	return 1ull << pins->page_bits;
}

static struct truth_record truth_of(const struct protector_pins *pins,
				    const struct pin_order *order, __u8 what)
{
	const struct protector_domain *domain = order->domain;

	return (struct truth_record){
		.address = order->action.page << pins->page_bits,
		.length = page_bytes(pins),
		.value = order->action.time_ns,
		.device = domain->device,
		.pasid = domain->device == DEVICE_ALL
				 ? PASID_NONE
				 : pins->machine->devices[domain->device].pasid,
		.tenant = domain->tenant,
		.queue = QUEUE_NONE,
		.who = TRUTH_PROTECTOR,
		.what = what,
		.code = order->action.reason,
	};
}

/* With the lock: what was pinned until now. */
static void account(struct protector_pins *pins, __u64 now)
{
	if (pins->begun_ns && !pins->ended_ns)
		pins->byte_ns += (double)pins->pinned * (double)(now - pins->changed_ns);
	pins->changed_ns = now;
}

static void account_pin(struct protector_pins *pins, bool pinned)
{
	pthread_mutex_lock(&pins->lock);
	account(pins, monotonic_ns());
	if (pinned) {
		pins->pins++;
		pins->pinned += page_bytes(pins);
	} else {
		pins->unpins++;
		pins->pinned -= page_bytes(pins);
	}
	if (pins->pinned > pins->pinned_most)
		pins->pinned_most = pins->pinned;
	pthread_mutex_unlock(&pins->lock);
}

/* Where the page lies in the guest, for a device of the domain. False: for none of them is it memory of the guest's. */
static bool find_page(const struct protector_pins *pins, const struct protector_domain *domain,
		      __u64 page, __u32 *device, __u64 *guest_address)
{
	const struct tenant *tenant = &pins->machine->tenants[domain->tenant];
	__u64 iova = page << pins->page_bits;

	for (__u32 i = 0; i < tenant->device_count; i++) {
		*device = tenant->devices[i];
		*guest_address = iova - pins->machine->devices[*device].iova_offset;
		if ((domain->device == DEVICE_ALL || domain->device == *device) &&
		    *guest_address < tenant->config.memory)
			return true;
	}
	return false;
}

/* The tenant's other devices find it in their page tables, too. */
static void advise_others(const struct protector_pins *pins, const struct protector_domain *domain,
			  __u32 device, __u64 guest_address)
{
	const struct tenant *tenant = &pins->machine->tenants[domain->tenant];

	for (__u32 i = 0; domain->device == DEVICE_ALL && i < tenant->device_count; i++)
		if (tenant->devices[i] != device)
			(void)machine_advise(pins->machine, tenant->devices[i], guest_address,
					     page_bytes(pins), false);
}

static void refuse_pin(struct protector_pins *pins, const struct pin_order *order, int error)
{
	struct truth_record truth = truth_of(pins, order, TRUTH_PIN_REFUSED);

	truth.code = (__u8)-error;
	truth_log(truth);
	/* Not because there was no room. */
	if (error == -ECANCELED)
		return;
	pthread_mutex_lock(&pins->lock);
	pins->refused++;
	pthread_mutex_unlock(&pins->lock);
}

static void tell_done(const struct protector_pins *pins, const struct pin_order *order,
		      __u32 device)
{
	const struct protect_action *action = &order->action;
	__u32 pasid = pins->machine->devices[device].pasid;
	__u64 address = action->page << pins->page_bits;

	if (action->pin)
		PIN_PROBE(pin, device, pasid, address, page_bytes(pins), action->reason,
			  action->time_ns);
	else
		PIN_PROBE(unpin, device, pasid, address, page_bytes(pins), action->reason,
			  action->time_ns);
}

static void carry_out_pin(struct protector_pins *pins, const struct pin_order *order)
{
	__u64 guest_address = 0, bit;
	__u32 device = 0;
	int error;

	if (atomic_load(&pins->halted))
		error = -ECANCELED;
	else if (!find_page(pins, order->domain, order->action.page, &device, &guest_address))
		error = -EFAULT;
	else
		error = machine_pin(pins->machine, device, guest_address, page_bytes(pins), false);
	if (error) {
		refuse_pin(pins, order, error);
		return;
	}
	bit = guest_address >> pins->page_bits;
	order->domain->held[bit / 64] |= 1ull << bit % 64;
	advise_others(pins, order->domain, device, guest_address);
	account_pin(pins, true);
	tell_done(pins, order, device);
}

/* What was refused is not there to be let go. */
static void carry_out_unpin(struct protector_pins *pins, const struct pin_order *order)
{
	__u64 guest_address = 0, bit;
	__u32 device = 0;

	if (!find_page(pins, order->domain, order->action.page, &device, &guest_address))
		return;
	bit = guest_address >> pins->page_bits;
	if (!(order->domain->held[bit / 64] >> bit % 64 & 1))
		return;
	order->domain->held[bit / 64] &= ~(1ull << bit % 64);
	(void)machine_unpin(pins->machine, device, guest_address, page_bytes(pins));
	account_pin(pins, false);
	tell_done(pins, order, device);
}

/* False: all is done, and there will be no more. */
static bool next_order(struct protector_pins *pins, struct pin_order *order)
{
	bool more;

	pthread_mutex_lock(&pins->lock);
	while (!pins->count && !pins->stop)
		pthread_cond_wait(&pins->added, &pins->lock);
	more = pins->count;
	if (more) {
		*order = pins->queue[pins->first];
		pins->first = (pins->first + 1) % QUEUE;
		pins->count--;
		pthread_cond_signal(&pins->taken);
	}
	pthread_mutex_unlock(&pins->lock);
	return more;
}

static void *pins_main(void *argument)
{
	struct protector_pins *pins = argument;
	struct pin_order order;

	while (next_order(pins, &order)) {
		if (order.action.pin)
			carry_out_pin(pins, &order);
		else
			carry_out_unpin(pins, &order);
	}
	return NULL;
}

int protector_pins_create(struct protector_pins **pins, struct machine *machine,
			  unsigned int page_bits)
{
	struct protector_pins *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return failed(-ENOMEM, "no memory for the protector");
	new->machine = machine;
	new->page_bits = page_bits;
	pthread_mutex_init(&new->lock, NULL);
	pthread_cond_init(&new->added, NULL);
	pthread_cond_init(&new->taken, NULL);
	error = thread_start(&new->thread, NULL, pins_main, new, "protector");
	new->running = !error;
	if (error)
		protector_pins_destroy(new);
	else
		*pins = new;
	return error;
}

void protector_pins_destroy(struct protector_pins *pins)
{
	if (!pins)
		return;
	protector_pins_stop(pins);
	pthread_cond_destroy(&pins->added);
	pthread_cond_destroy(&pins->taken);
	pthread_mutex_destroy(&pins->lock);
	free(pins);
}

void protector_pins_begin(struct protector_pins *pins)
{
	pthread_mutex_lock(&pins->lock);
	pins->begun_ns = pins->changed_ns = monotonic_ns();
	pthread_mutex_unlock(&pins->lock);
}

void protector_pins_add(struct protector_pins *pins, struct protector_domain *domain,
			const struct protect_action *action, bool last)
{
	const struct pin_order order = {domain, *action};
	struct truth_record truth = truth_of(pins, &order, action->pin ? TRUTH_PIN : TRUTH_UNPIN);
	bool refused;

	truth.flags = last ? EVENT_LAST : 0;
	truth_log(truth);
	pthread_mutex_lock(&pins->lock);
	refused = action->pin && pins->count >= QUEUE_PINS;
	while (!action->pin && pins->count == QUEUE)
		pthread_cond_wait(&pins->taken, &pins->lock);
	if (!refused) {
		pins->queue[(pins->first + pins->count) % QUEUE] = order;
		pins->count++;
		pthread_cond_signal(&pins->added);
	}
	pthread_mutex_unlock(&pins->lock);
	if (refused)
		refuse_pin(pins, &order, -EAGAIN);
}

void protector_pins_halt(struct protector_pins *pins)
{
	atomic_store(&pins->halted, true);
	pthread_mutex_lock(&pins->lock);
	account(pins, monotonic_ns());
	pins->ended_ns = pins->changed_ns;
	pthread_mutex_unlock(&pins->lock);
}

void protector_pins_stop(struct protector_pins *pins)
{
	if (!pins->running)
		return;
	protector_pins_halt(pins);
	pthread_mutex_lock(&pins->lock);
	pins->stop = true;
	pthread_cond_signal(&pins->added);
	pthread_mutex_unlock(&pins->lock);
	pthread_join(pins->thread, NULL);
	pins->running = false;
}

void protector_pins_stats(struct protector_pins *pins, struct protector_stats *stats)
{
	pthread_mutex_lock(&pins->lock);
	if (!pins->ended_ns)
		account(pins, monotonic_ns());
	*stats = (struct protector_stats){
		.pins = pins->pins,
		.unpins = pins->unpins,
		.refused = pins->refused,
		.pinned = pins->pinned,
		.pinned_most = pins->pinned_most,
		.pinned_mean = pins->begun_ns && pins->changed_ns > pins->begun_ns
				       ? pins->byte_ns / (double)(pins->changed_ns - pins->begun_ns)
				       : 0,
	};
	pthread_mutex_unlock(&pins->lock);
}
