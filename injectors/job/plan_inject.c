// SPDX-License-Identifier: GPL-2.0
/* Which devices an [inject NAME] is for, and whether what it does can be done to them. */
#include <errno.h>
#include <stdlib.h>

#include "injectors/job/plan_private.h"
#include "lib/base/fail.h"

static bool takes_next(const struct device_class *class)
{
	return class->driver->next_pages != NULL;
}

static bool takes_ring(const struct device_class *class)
{
	return class->driver->ring_pages != NULL;
}

/* Some pages are known by who drives the device: not every model's driver tells of all kinds. */
static int check_evictions(const struct plan_builder *b, const struct job_injection *injection,
			   __u32 device)
{
	const struct device_class *class = b->plan->machine.devices[device].class;
	bool (*of)(const struct device_class *) = injection->what == EVICT_NEXT	  ? takes_next
						  : injection->what == EVICT_RING ? takes_ring
										  : NULL;
	char models[256], full[PLAN_DEVICE_NAME];

	if (injection->kind != INJECTION_EVICT || !of || of(class))
		return 0;
	device_classes_text(of, " or ", models, sizeof(models));
	return failed(-EBADMSG,
		      "%s: [inject %s] what=%s on %s, which has model=%s; accepted: what=%srandom, "
		      "%sall%s%s",
		      injection->where, injection->name, of == takes_next ? "next" : "ring",
		      plan_device_name(b, device, full, sizeof(full)), class->name,
		      takes_next(class) ? "next, " : "", takes_ring(class) ? "ring, " : "",
		      *models ? ", or devices with model=" : "", models);
}

/* What frames and packets may meet on their way, only devices that have some are asked about. */
static const struct {
	enum injection_kind kind;
	bool (*of)(const struct device_class *class);
	bool mode; /* whose control goes one of the ways of docs/hyv.md */
} wire_injections[] = {
	{INJECTION_FRAME_LOSS, device_class_has_frames},
	{INJECTION_PACKET_LOSS, device_class_has_packets},
	{INJECTION_PACKET_DUPLICATE, device_class_has_packets},
	{INJECTION_NACK_LOST, device_class_has_packets},
	{INJECTION_PIN_ENOMEM, device_class_has_packets, true},
	{INJECTION_SLOW_REMAP, device_class_has_packets, true},
	{INJECTION_VETO, device_class_has_packets, true},
	{INJECTION_KICK_LOST, device_class_has_packets, true},
	{INJECTION_EVENT_LOST, device_class_has_packets, true},
	{INJECTION_EVENT_LATE, device_class_has_packets, true},
	{INJECTION_INSTALL_STALL, device_class_has_packets},
	{INJECTION_GUEST_KILL, device_class_has_packets, true},
	{INJECTION_CQ_OVERRUN, device_class_has_packets},
	{INJECTION_DEAD_KEY, device_class_has_packets},
};

static int check_mode(const struct plan_builder *b, const struct job_injection *injection,
		      __u32 device)
{
	const struct device_config *config = &b->plan->machine.devices[device];
	char full[PLAN_DEVICE_NAME];

	if (config->class->has_mode && config->class->has_mode(&config->settings))
		return 0;
	return failed(-EBADMSG,
		      "%s: [inject %s] action=%s on %s, which has no mode=; accepted: devices with "
		      "mode=native, hybrid, passthrough or odp",
		      injection->where, injection->name, injection_name(injection->kind),
		      plan_device_name(b, device, full, sizeof(full)));
}

static int check_wire(const struct plan_builder *b, const struct job_injection *injection,
		      __u32 device)
{
	const struct device_class *class = b->plan->machine.devices[device].class;
	char models[256], full[PLAN_DEVICE_NAME];

	for (size_t i = 0; i < sizeof(wire_injections) / sizeof(wire_injections[0]); i++) {
		if (injection->kind != wire_injections[i].kind)
			continue;
		if (wire_injections[i].of(class))
			return wire_injections[i].mode ? check_mode(b, injection, device) : 0;
		device_classes_text(wire_injections[i].of, " or ", models, sizeof(models));
		return failed(
			-EBADMSG,
			"%s: [inject %s] action=%s on %s, which has model=%s; accepted: devices "
			"with model=%s",
			injection->where, injection->name, injection_name(injection->kind),
			plan_device_name(b, device, full, sizeof(full)), class->name, models);
	}
	return 0;
}

/* A device of the emulated machine has nobody who would come back. */
static int check_restart(const struct plan_builder *b, const struct job_injection *injection,
			 __u32 device)
{
	const struct device_config *config = &b->plan->machine.devices[device];
	char full[PLAN_DEVICE_NAME];

	if (injection->kind != INJECTION_DEVICE_RESTART || plan_is_vm(b, config->tenant))
		return 0;
	return failed(-EBADMSG,
		      "%s: [inject %s] action=%s on %s, which no virtual machine drives; accepted: "
		      "devices of tenants with backend=vm",
		      injection->where, injection->name, injection_name(injection->kind),
		      plan_device_name(b, device, full, sizeof(full)));
}

/* A virtual machine's page that is gone minor is gone from the tables of devices, which those that do not look have none of. */
static bool tenant_looks(const struct plan_builder *b, __u32 tenant)
{
	const struct machine_config *machine = &b->plan->machine;

	for (__u32 d = 0; d < machine->device_count; d++)
		if (machine->devices[d].tenant == tenant &&
		    machine->devices[d].lookup != LOOKUP_UFFD)
			return true;
	return false;
}

/* Whether it can do anything to a device: one with lookup=uffd makes no page requests. */
static bool does_anything(const struct plan_builder *b, const struct job_injection *injection,
			  __u32 device)
{
	const struct device_config *config = &b->plan->machine.devices[device];

	switch (injection->kind) {
	case INJECTION_EVICT:
		return injection->evict == EVICT_MAJOR || tenant_looks(b, config->tenant);
	case INJECTION_DELAY:
		return injection->stage == INJECT_RESOLVE || config->lookup != LOOKUP_UFFD;
	case INJECTION_RESPONSE_LOST:
	case INJECTION_RESPONSE_FAILURE:
	case INJECTION_OVERFLOW:
	case INJECTION_DUPLICATE:
		return config->lookup != LOOKUP_UFFD;
	default:
		return true;
	}
}

static int without_effect(const struct plan_builder *b, const struct job_injection *injection)
{
	const char *key = injection->kind == INJECTION_EVICT   ? "kind"
			  : injection->kind == INJECTION_DELAY ? "stage"
							       : "action";
	const char *accepted = injection->kind == INJECTION_EVICT   ? "kind=major, or "
			       : injection->kind == INJECTION_DELAY ? "stage=resolve, or "
								    : "";

	return failed(-EBADMSG,
		      "%s: [inject %s] %s: all that device=%s matches have lookup=uffd, which make "
		      "no page requests, so that nothing would happen; accepted: %sdevices with "
		      "lookup=pa-bitmap or ats",
		      job_where(b->job, injection->where, key), injection->name, key,
		      injection->device, accepted);
}

int plan_injection_add(struct plan_builder *b, const struct job_injection *injection, __u32 id,
		       struct plan_injection **added)
{
	struct plan_injection *planned = &b->plan->injections[b->plan->injection_count++];
	__u32 devices = b->plan->machine.device_count;

	planned->devices = calloc(devices + 1, sizeof(*planned->devices));
	planned->chosen = calloc(devices + 1, sizeof(*planned->chosen));
	if (!planned->devices || !planned->chosen)
		return failed(-ENOMEM, "no memory for %u devices", devices);
	planned->job = injection;
	planned->id = id;
	planned->seed = injection->seed ? injection->seed : b->plan->machine.seed * 2000003 + id;
	*added = planned;
	return 0;
}

void plan_injection_choose(const struct plan_builder *b, struct plan_injection *planned,
			   __u32 device)
{
	planned->chosen[device] = true;
	planned->devices[planned->device_count++] = device;
	planned->every_device = planned->device_count == b->plan->machine.device_count;
}

static int plan_device_injection(struct plan_builder *b, const struct job_injection *injection,
				 __u32 id)
{
	__u32 devices = b->plan->machine.device_count;
	struct plan_injection *planned;
	__u32 matched = 0, reached = 0;
	int err = 0;

	for (__u32 d = 0; !err && d < devices; d++) {
		if (!plan_device_fits(b, injection->device, d))
			continue;
		matched++;
		reached += does_anything(b, injection, d);
		err = check_evictions(b, injection, d)
			      ?: check_wire(b, injection, d)
			      ?: check_restart(b, injection, d);
	}
	if (err)
		return err;
	if (!matched)
		return plan_no_device(b, injection->where, injection->device);
	if (!reached)
		return without_effect(b, injection);
	if (!injection->enabled)
		return 0;
	err = plan_injection_add(b, injection, id, &planned);
	for (__u32 d = 0; !err && d < devices; d++)
		if (plan_device_fits(b, injection->device, d))
			plan_injection_choose(b, planned, d);
	return err;
}

/* Whose guest's console is not the job's, of that guest nobody knows when it has begun. */
static int check_start(const struct plan_builder *b, const struct job_injection *injection)
{
	const struct machine_config *machine = &b->plan->machine;
	__u32 vms = 0, ours = 0;

	for (__u32 t = 0; t < machine->tenant_count; t++) {
		vms += plan_is_vm(b, t);
		ours += plan_is_vm(b, t) && *machine->tenants[t].vm.arguments;
	}
	if (!injection->from_guests || (vms && ours == vms))
		return 0;
	return failed(-EBADMSG,
		      "%s: [inject %s] start_from=guests: %u of %u virtual machines have their "
		      "consoles here; accepted: where all have qemu=, and there is one; or "
		      "start_from=machine",
		      job_where(b->job, injection->where, "start_from"), injection->name, ours,
		      vms);
}

int plan_injection(struct plan_builder *b, const struct job_injection *injection, __u32 id)
{
	int err = check_start(b, injection);

	if (err)
		return err;
	return injection_is_of_vms(injection->kind) ? plan_vm_injection(b, injection, id)
						    : plan_device_injection(b, injection, id);
}
