// SPDX-License-Identifier: GPL-2.0
/* The model `rdma`: its options, and what it agrees to. */
#include <errno.h>

#include "injectors/emu/hyv/hyv_layout.h"
#include "injectors/emu/machine.h"
#include "injectors/emu/ranks/ranks_driver.h"
#include "injectors/emu/hyv/hyv_layout.h"
#include "injectors/emu/rdma/rdma_private.h"
#include "injectors/emu/verbs_load/verbs_load_driver.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"

static const struct rdma_settings *settings_of(const struct device_settings *settings)
{
	return (const struct rdma_settings *)settings->bytes;
}

static struct device_peer rdma_peer(struct device_settings *settings)
{
	struct rdma_settings *own = (struct rdma_settings *)settings->bytes;

	return (struct device_peer){own->peer, &own->peer_device, own->mtu};
}

static const char *rdma_variant(const struct device_settings *settings)
{
	static const char *const modes[RDMA_MODES] = {
		[RDMA_MODE_NATIVE] = "native",
		[RDMA_MODE_HYBRID] = "hybrid",
		[RDMA_MODE_PASSTHROUGH] = "passthrough",
		[RDMA_MODE_ODP] = "odp",
	};
	const struct rdma_settings *s = settings_of(settings);

	return s->mode ? modes[s->mode] : fault_policies[s->fault]->name;
}

static bool rdma_has_mode(const struct device_settings *settings)
{
	return settings_of(settings)->mode != RDMA_MODE_NONE;
}

/* Its guest's rings and messages may lie anywhere: all of its memory is the device's to write. */
static int rdma_agree(const struct device_check *check)
{
	const struct device_config *device = check->device;

	if (!device->read_only_percent)
		return 0;
	return failed(-EBADMSG, "%s: [device %s] read_only_percent=%u: accepted: 0 with model=rdma",
		      check->where, device->name, device->read_only_percent);
}

#define LINK_LEAST	1000000ull /* bits/s */
#define LINK_MOST	400000000000ull
#define SETTING(member) DEVICE_SETTING(struct rdma_settings, member)

static const struct option_choice mtus[] = {{"1024", 1024}, {"4096", RDMA_MTU_MAX}, {NULL, 0}};
static const struct option_choice prefaults[] = {
	{"page", RDMA_PREFAULT_PAGE}, {"request", RDMA_PREFAULT_REQUEST}, {NULL, 0}};
static const struct option_choice profiles[] = {
	{"ideal", RDMA_PROFILE_IDEAL}, {"connectx", RDMA_PROFILE_CONNECTX}, {NULL, 0}};

static const struct option_choice modes[] = {
	{"none", RDMA_MODE_NONE},     {"native", RDMA_MODE_NATIVE},
	{"hybrid", RDMA_MODE_HYBRID}, {"passthrough", RDMA_MODE_PASSTHROUGH},
	{"odp", RDMA_MODE_ODP},	      {NULL, 0}};
#define ANY_MODE	 "native,hybrid,passthrough,odp"
#define THROUGH_THE_HOST "hybrid,odp"

/* In the order of fault_policies[]. */
enum {
#define FAULT_POLICY(name) RDMA_FAULT_##name,
#include "injectors/emu/rdma/fault_policies.def"
};
static const struct option_choice faults[] = {
#define FAULT_POLICY(name) {#name, RDMA_FAULT_##name},
#include "injectors/emu/rdma/fault_policies.def"
	{NULL, 0}};

static int parse_link_rate(const struct option_row *row, const char *text, void *fields)
{
	return units_parse_bit_rate(text, LINK_LEAST, LINK_MOST,
				    (__u64 *)((char *)fields + row->offset));
}

static const struct option_own own_link = {
	.name = "rate",
	.beginning = "off, or bits a second such as 100M or 2.5G, ",
	.parse = parse_link_rate,
};

static const struct option_row rdma_rows[] = {
	{"device", "peer", OPTION_TEXT, SETTING(peer), .otherwise = "",
	 .meaning = "TENANT/DEVICE at the other end of the link, whose peer is this one"},
	{"device", "link", OPTION_OWN, SETTING(link), LINK_LEAST, LINK_MOST, "10G",
	 .own = &own_link, .meaning = "what each side sends at most"},
	{"device", "link_delay", OPTION_TIME, SETTING(link_delay_ns), 0, 1e8, "2us",
	 .meaning = "from the last bit's leaving to its arrival"},
	{"device", "mtu", OPTION_CHOICE, SETTING(mtu), .otherwise = "4096", .choices = mtus,
	 .meaning = "payload of a packet in bytes, the same at both ends"},
	{"device", "queue_pairs", OPTION_COUNT, SETTING(queue_pairs), 1, VERBS_QUEUE_PAIRS_MAX,
	 "256", .meaning = "queue pairs that there can be at once"},
	{"device", "engine_cpus", OPTION_CPUS, SETTING(engine_cpus), .otherwise = "",
	 .meaning = "CPUs of the device's own thread; empty: all"},
	{"device", "timeout", OPTION_TIME, SETTING(timeout_ns), 0, 1e10, "67ms",
	 .meaning = "without an acknowledgement packets are sent again; 0: never"},
	{"device", "retries", OPTION_COUNT, SETTING(retries), 0, TRANSPORT_RETRIES_MAX, "7",
	 .meaning = "times in a row without progress, then the queue pair is in error"},
	{"device", "rnr_retries", OPTION_COUNT, SETTING(rnr_retries), 0, TRANSPORT_RETRIES_MAX, "7",
	 .meaning = "likewise of receiver-not-ready answers; 7: for ever"},
	{"device", "rnr_timer", OPTION_COUNT, SETTING(rnr_timer), 0, 31, "12",
	 .meaning = "code of the time that a receiver-not-ready answer asks for, InfiniBand's "
		    "table 45: 1 is 10 us, 12 is 640 us, 31 is 491 ms, 0 is 655 ms"},
	{"device", "fault", OPTION_CHOICE, SETTING(fault), .otherwise = "npf", .choices = faults,
	 .meaning = "what becomes of a packet whose page is absent. npf: each side waits, or has "
		    "the other wait, as NPF's table says; drop: it is lost, and a timeout finds "
		    "out"},
	{"device", "read_rnr", OPTION_BOOL, SETTING(read_rnr), .otherwise = "no",
	 .meaning = "the initiator of a read may answer its responses as not ready: NPF's wish, "
		    "not InfiniBand's. Used if both ends have it",
	 .needs = {{"fault", "npf"}}},
	{"device", "fault_limit", OPTION_COUNT, SETTING(fault_limit), 1, 64, "4",
	 .meaning = "page requests that a queue pair may have unanswered (NPF 4: 4), of each of "
		    "its four kinds a quarter, at least one; further faults are not reported"},
	{"device", "clear_delay", OPTION_TIME, SETTING(clear_delay_ns), 0, 1e9, "0",
	 .meaning = "after a resume until the next fault of its kind is reported"},
	{"device", "prefault", OPTION_CHOICE, SETTING(prefault), .otherwise = "request",
	 .choices = prefaults,
	 .meaning = "what a fault asks for: the pages of the packet, or of all of the rest of its "
		    "request at once"},
	{"device", "profile", OPTION_CHOICE, SETTING(profile), .otherwise = "ideal",
	 .choices = profiles,
	 .meaning = "times of the device itself, which are set, not measured. ideal: none; "
		    "connectx: 150 us before a request and 48 us after its response (NPF, figure "
		    "3)"},
	{"device", "mode", OPTION_CHOICE, SETTING(mode), .otherwise = "none", .choices = modes,
	 .meaning =
		 "how its guest controls it. none: a thread of the machine, pins are an account; "
		 "native: as an application of the host; hybrid: verbs go through the host, "
		 "data does not (HyV); passthrough: all of its memory is pinned and the device "
		 "is the guest's; odp: as hybrid, nothing but queues is pinned and the device "
		 "faults"},
	{"device", "skip_contiguous", OPTION_BOOL, SETTING(skip_contiguous), .otherwise = "no",
	 .meaning = "regions in one piece of guest memory are not remapped; HyV remaps all but "
		    "those of one page",
	 .needs = {{"mode", THROUGH_THE_HOST}}},
	{"device", "host_queues", OPTION_BOOL, SETTING(host_queues), .otherwise = "no",
	 .meaning = "queues are memory of the host that the guest maps, as Chelsio's; no: the "
		    "guest's, as ConnectX's",
	 .needs = {{"mode", THROUGH_THE_HOST}}},
	{"device", "forward_posts", OPTION_BOOL, SETTING(forward_posts), .otherwise = "no",
	 .meaning = "posts go as commands, as SoftiWARP's: the device looks at no doorbell by "
		    "itself",
	 .needs = {{"mode", THROUGH_THE_HOST}}},
	{"device", "install_time", OPTION_TIME, SETTING(install_ns), 0, 1e10, "0",
	 .meaning = "the device's own time to create a queue pair, which is set, not measured",
	 .needs = {{"mode", ANY_MODE}}},
	{"device", "install_entry_time", OPTION_TIME, SETTING(install_entry_ns), 0, 1e9, "0",
	 .meaning = "likewise for each entry of its queues", .needs = {{"mode", ANY_MODE}}},
	{"device", "register_page_time", OPTION_TIME, SETTING(register_page_ns), 0, 1e9, "0",
	 .meaning = "likewise for each page of a region", .needs = {{"mode", ANY_MODE}}},
};

/* The command ring, or in mode passthrough all of it; what else is pinned its guest asks for. */
static __u64 rdma_pins(const struct device_config *device, __u64 bytes)
{
	switch (settings_of(&device->settings)->mode) {
	case RDMA_MODE_PASSTHROUGH:
		return bytes;
	case RDMA_MODE_HYBRID:
	case RDMA_MODE_ODP:
		return 0;
	default:
		return PAGE_BYTES;
	}
}

static const struct device_driver *rdma_choose_driver(const struct driver_setup *setup)
{
	return setup->verbs ? &verbs_load_driver : &rdma_driver;
}

const struct device_class rdma_class = {
	.name = "rdma",
	.meaning = "an RDMA device, linked to another",
	.rows = rdma_rows,
	.row_count = sizeof(rdma_rows) / sizeof(rdma_rows[0]),
	.settings_bytes = DEVICE_SETTINGS(struct rdma_settings),
	.depth_max = 4096,
	.data_align = 1,
	.io = DEVICE_IO_NONE,
	.has_packets = true,
	.peer = rdma_peer,
	.check = rdma_agree,
	.pins = rdma_pins,
	.start = rdma_start,
	.stop = rdma_stop,
	.has_mode = rdma_has_mode,
	.variant = rdma_variant,
	.driver = &rdma_driver,
	.choose_driver = rdma_choose_driver,
};
