// SPDX-License-Identifier: GPL-2.0
#include "injectors/emu/protector.h"

#include <errno.h>
#include <stdlib.h>

#include "injectors/emu/machine_private.h"
#include "injectors/emu/protector_pins.h"
#include "injectors/emu/record_order.h"
#include "lib/base/fail.h"

#define RECORDS_MOST 65536
#define PASS_EACH_NS \
	(100 * NSEC_PER_MSEC) /* of the records' time, between two looks at who is silent */

/* By the access log's owner alone, and by who stops the machine once that has ended. */
struct protector {
	struct machine *machine;
	struct record_order *order;
	struct protector_pins *pins;
	unsigned int page_bits;
	__u32 domain_count;
	struct protector_domain **of_device; /* a device */
	__u64 passed_ns;		     /* records' time at the last look at who is silent */
	__u64 accesses;
	bool begun, stopped, last;
	struct protector_domain domains[];
};

static void act(void *argument, const struct protect_action *action)
{
	struct protector_domain *domain = argument;

	protector_pins_add(domain->protector->pins, domain, action, domain->protector->last);
}

static int add_policy_domain(struct protector *protector, __u32 tenant, __u32 device)
{
	const struct tenant_config *config = &protector->machine->tenants[tenant].config;
	struct protector_domain *domain = &protector->domains[protector->domain_count++];
	__u64 pages = config->memory >> protector->page_bits;
	int error;

	domain->protector = protector;
	domain->tenant = tenant;
	domain->device = device;
	domain->held = calloc(pages / 64 + 1, sizeof(*domain->held));
	if (!domain->held)
		return failed(-ENOMEM, "no memory for what is pinned of %llu pages", pages);
	error = protect_create(&domain->policy, &protector->machine->config.protector.keys,
			       pages ?: 1, (struct protect_sink){act, domain});
	return error ? failed_in(error, "protector of tenant %s", config->name) : 0;
}

static int add_tenant(struct protector *protector, __u32 index)
{
	const struct tenant *tenant = &protector->machine->tenants[index];
	bool together = protector->machine->config.protector.scope == PROTECTOR_TENANT;
	int error = together ? add_policy_domain(protector, index, DEVICE_ALL) : 0;

	for (__u32 i = 0; !error && i < tenant->device_count; i++) {
		if (!together)
			error = add_policy_domain(protector, index, tenant->devices[i]);
		protector->of_device[tenant->devices[i]] =
			&protector->domains[protector->domain_count - 1];
	}
	return error;
}

static int check_page(__u64 page)
{
	if (page >= PAGE_BYTES && page <= PROTECTOR_PAGE_MAX && !(page & (page - 1)))
		return 0;
	return failed(-EINVAL, "protector: page=%llu: accepted: a power of two, 4K to 2M", page);
}

int protector_create(struct protector **protector, struct machine *machine)
{
	const struct protector_options *config = &machine->config.protector;
	__u32 devices = machine->config.device_count, tenants = machine->config.tenant_count;
	__u32 most = devices > tenants ? devices : tenants;
	struct protector *new;
	int error;

	if (config->keys.policy == 0) /* none is the first of protect_policies */
		return 0;
	error = check_page(config->page_bytes);
	if (error)
		return error;
	new = calloc(1, sizeof(*new) + most * sizeof(new->domains[0]));
	if (!new)
		return failed(-ENOMEM, "no memory for the protector of %u domains", most);
	new->machine = machine;
	new->page_bits = (unsigned int)__builtin_ctzll(config->page_bytes);
	new->of_device = calloc(devices, sizeof(struct protector_domain *));
	error = new->of_device ? record_order_create(&new->order, RECORDS_MOST)
			       : failed(-ENOMEM, "no memory for the protector");
	if (!error)
		error = protector_pins_create(&new->pins, machine, new->page_bits);
	for (__u32 i = 0; !error && i < tenants; i++)
		error = add_tenant(new, i);
	if (error)
		protector_destroy(new);
	else
		*protector = new;
	return error;
}

void protector_destroy(struct protector *protector)
{
	if (!protector)
		return;
	protector_pins_destroy(protector->pins);
	for (__u32 i = 0; i < protector->domain_count; i++) {
		protect_destroy(protector->domains[i].policy);
		free(protector->domains[i].held);
	}
	record_order_destroy(protector->order);
	free(protector->of_device);
	free(protector);
}

/* A range is an access to each of its pages. */
static void take_record(struct protector *protector, const struct access_record *record)
{
	struct protector_domain *domain = protector->of_device[record->device];
	__u64 page = record->address >> protector->page_bits;
	__u64 last = (record->address + (record->length ? record->length - 1 : 0)) >>
		     protector->page_bits;

	domain->newest_ns = record->time_ns;
	for (; page <= last; page++) {
		protect_access(domain->policy, record->time_ns, page);
		__atomic_store_n(&protector->accesses, protector->accesses + 1, __ATOMIC_RELAXED);
	}
}

static void advance_silent(struct protector *protector)
{
	__u64 newest = record_order_newest(protector->order);

	if (newest < PROTECTOR_LAG_NS || newest - protector->passed_ns < PASS_EACH_NS)
		return;
	protector->passed_ns = newest;
	for (__u32 i = 0; i < protector->domain_count; i++)
		if (protector->domains[i].newest_ns < newest - PROTECTOR_LAG_NS)
			protect_advance(protector->domains[i].policy, newest - PROTECTOR_LAG_NS);
}

void protector_take(void *argument, const struct access_record *record)
{
	struct protector *protector = argument;
	struct access_record next;

	if (!protector->begun)
		protector_pins_begin(protector->pins);
	protector->begun = true;
	while (!record_order_add(protector->order, record))
		if (record_order_take(protector->order, true, &next))
			take_record(protector, &next);
	while (record_order_take(protector->order, false, &next))
		take_record(protector, &next);
	advance_silent(protector);
}

void protector_halt(struct protector *protector)
{
	if (protector)
		protector_pins_halt(protector->pins);
}

void protector_stop(struct protector *protector)
{
	struct access_record next;

	if (!protector || protector->stopped)
		return;
	protector->stopped = true;
	while (record_order_take(protector->order, true, &next))
		take_record(protector, &next);
	for (__u32 i = 0; i < protector->domain_count; i++)
		protect_advance(protector->domains[i].policy,
				record_order_newest(protector->order));
	protector->last = true;
	for (__u32 i = 0; i < protector->domain_count; i++)
		protect_release(protector->domains[i].policy);
	protector_pins_stop(protector->pins);
}

void protector_stats(struct protector *protector, struct protector_stats *stats)
{
	*stats = (struct protector_stats){0};
	if (!protector)
		return;
	protector_pins_stats(protector->pins, stats);
	stats->accesses = __atomic_load_n(&protector->accesses, __ATOMIC_RELAXED);
}
