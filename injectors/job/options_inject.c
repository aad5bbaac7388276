// SPDX-License-Identifier: GPL-2.0
/* The keys of [inject]. */
#include "injectors/job/options_private.h"

#define INJECT(member) FIELD(struct job_injection, member)

static const struct option_choice injections[] = {
#define INJECTION(id, action, point, run, workers) {action, INJECTION_##id},
#include "injectors/job/injections.def"
#undef INJECTION
	{NULL, 0}};
static const struct option_choice stages[] = {{"delivery", INJECT_DELIVERY},
					      {"dispatch", INJECT_DISPATCH},
					      {"resolve", INJECT_RESOLVE},
					      {"respond", INJECT_RESPOND},
					      {NULL, 0}};
static const struct option_choice distributions[] = {{"fixed", INJECT_FIXED},
						     {"uniform", INJECT_UNIFORM},
						     {"exponential", INJECT_EXPONENTIAL},
						     {NULL, 0}};
static const struct option_choice choices_of_pages[] = {
	{"next", EVICT_NEXT}, {"random", EVICT_RANDOM}, {"ring", EVICT_RING},
	{"idle", EVICT_IDLE}, {"all", EVICT_ALL},	{NULL, 0}};
static const struct option_choice sides[] = {
	{"rx", RING_SIDE(RING_RX)}, {"tx", RING_SIDE(RING_TX)}, {"both", RING_SIDES}, {NULL, 0}};
static const struct option_choice arrivals[] = {
	{"even", ARRIVAL_EVEN}, {"random", ARRIVAL_RANDOM}, {NULL, 0}};
static const struct option_choice loads[] = {{"spin", HOG_SPIN}, {"scan", HOG_SCAN}, {NULL, 0}};

/* Actions that have candidates. */
#define ARMED                                                                                    \
	"evict,delay,response_lost,response_failure,overflow,duplicate,frame_loss,packet_loss,"  \
	"packet_duplicate,nack_lost,pin_enomem,slow_remap,veto,kick_lost,event_lost,event_late," \
	"install_stall,guest_kill,cq_overrun,dead_key,device_restart"
/* ... that take time. */
#define DELAYS "delay,slow_remap,event_late,install_stall"
/* ... that QEMU does. */
#define OF_VMS "balloon,suspend"

static const struct option_choice starts[] = {{"machine", false}, {"guests", true}, {NULL, 0}};

static const struct option_row rows[] = {
	{"inject", "action", OPTION_CHOICE, INJECT(kind), .choices = injections,
	 .meaning = "what is done to the machine"},
	{"inject", "device", OPTION_TEXT, INJECT(device), .otherwise = "*",
	 .meaning = "devices it is done to, each on its own: a [device]'s name or a pattern over "
		    "TENANT/DEVICE",
	 .needs = {{"action", ARMED}}},
	{"inject", "enabled", OPTION_BOOL, INJECT(enabled), .otherwise = "yes",
	 .meaning = "no: the section is checked and left out, as for a baseline"},
	{"inject", "start", OPTION_TIME, INJECT(start_ns), 0, 24 * HOUR, "0",
	 .meaning = "begin, from the machine's start; 0: before any load"},
	{"inject", "start_from", OPTION_CHOICE, INJECT(from_guests), .otherwise = "machine",
	 .choices = starts,
	 .meaning = "what `start` counts from: the machine's start; guests: when those of all its "
		    "virtual machines have said on their consoles that their loads begin "
		    "(`faultline-guest-begins`)"},
	{"inject", "duration", OPTION_TIME, INJECT(duration_ns), 1e6, 24 * HOUR,
	 .meaning = "undone after this; or when the workloads are done, whichever is first"},
	{"inject", "probability", OPTION_COUNT, INJECT(probability), 1, 100, "100",
	 .meaning = "percent of candidates, as in the kernel's fault_attr",
	 .needs = {{"action", ARMED}}},
	{"inject", "interval", OPTION_COUNT, INJECT(interval), 1, 1e9, "1",
	 .meaning = "every Nth candidate only", .needs = {{"action", ARMED}}},
	{"inject", "times", OPTION_COUNT, INJECT(times), -1, 1e15, "-1",
	 .meaning = "at most so often, over all of its devices; -1: no limit",
	 .needs = {{"action", ARMED}}},
	{"inject", "seed", OPTION_COUNT, INJECT(seed), 0, 9e15, "0",
	 .meaning = "0: from the machine's seed", .needs = {{"action", ARMED}}},
	{"inject", "stage", OPTION_CHOICE, INJECT(stage), .otherwise = "resolve", .choices = stages,
	 .meaning = "the stage of a fault that it lengthens", .needs = {{"action", "delay"}}},
	{"inject", "delay", OPTION_TIME, INJECT(delay_ns), 0, HOUR, "0",
	 .meaning = "fixed value, uniform's lower bound, exponential's mean",
	 .needs = {{"action", DELAYS}}},
	{"inject", "delay_max", OPTION_TIME, INJECT(delay_max_ns), 0, HOUR, "0",
	 .meaning = "uniform's upper bound",
	 .needs = {{"action", DELAYS}, {"distribution", "uniform"}}},
	{"inject", "distribution", OPTION_CHOICE, INJECT(distribution), .otherwise = "fixed",
	 .choices = distributions, .meaning = "how it varies", .needs = {{"action", DELAYS}}},
	{"inject", "what", OPTION_CHOICE, INJECT(what), .otherwise = "next",
	 .choices = choices_of_pages,
	 .meaning = "those that the next I/Os will touch, random ones of the device's buffers, "
		    "of those what was idle for longest (idle; with machine.reclaim_order=idle), "
		    "all that its rings hold at that instant, or all of the tenant",
	 .needs = {{"action", "evict"}}},
	{"inject", "side", OPTION_CHOICE, INJECT(sides), .otherwise = "rx", .choices = sides,
	 .meaning = "which rings: those it receives into, or sends from",
	 .needs = {{"action", "evict"}, {"what", "ring"}}},
	{"inject", "kind", OPTION_CHOICE, INJECT(evict), .otherwise = "minor", .choices = evictions,
	 .meaning = "the frame is kept (minor) or its content written out (major)",
	 .needs = {{"action", "evict"}}},
	{"inject", "pages", OPTION_COUNT, INJECT(pages), 1, 1e6, "1", .meaning = "pages each time",
	 .needs = {{"action", "evict"}, {"what", "next,random,idle"}}},
	{"inject", "rate", OPTION_RATE, INJECT(rate), 0, 1e5, "1/s",
	 .meaning = "events per second for each device; 0: none", .needs = {{"action", "evict"}}},
	{"inject", "burst", OPTION_COUNT, INJECT(burst), 1, 1000, "1",
	 .meaning = "evictions at each event, back to back", .needs = {{"action", "evict"}}},
	{"inject", "arrival", OPTION_CHOICE, INJECT(arrival), .otherwise = "even",
	 .choices = arrivals,
	 .meaning = "at equal distances and at once for all devices, or each at random",
	 .needs = {{"action", "evict"}}},
	{"inject", "threads", OPTION_COUNT, INJECT(threads), 1, 256, "1",
	 .meaning = "threads on each CPU", .needs = {{"action", "cpu_hog"}}},
	{"inject", "load", OPTION_CHOICE, INJECT(load), .otherwise = "spin", .choices = loads,
	 .meaning = "arithmetic only, or a scan of memory as a compressor does it",
	 .needs = {{"action", "cpu_hog"}}},
	{"inject", "cpus", OPTION_CPUS, INJECT(cpus), .otherwise = "",
	 .meaning = "where; empty: the CPUs of the tenants, where handlers run",
	 .needs = {{"action", "cpu_hog"}}},
	{"inject", "tenant", OPTION_TEXT, INJECT(tenant), .otherwise = "*",
	 .meaning = "virtual machines it is done to, each on its own: a [tenant]'s name or a "
		    "pattern over tenants, all of them with backend=vm and qemu=",
	 .needs = {{"action", OF_VMS}}},
	{"inject", "period", OPTION_TIME, INJECT(period_ns), 0, 24 * HOUR, "0",
	 .meaning = "again and again, each time for half of it and undone for the other half; "
		    "0: once, for all of the duration",
	 .needs = {{"action", OF_VMS}}},
	{"inject", "memory", OPTION_BYTES, INJECT(memory), 0, 64 * GIB, "0",
	 .meaning = "what the balloon leaves its guest, below memory= of the tenant",
	 .needs = {{"action", "balloon"}}, .multiple = 4 * KIB},
};

const char *injection_name(enum injection_kind kind)
{
	return kind < INJECTIONS ? injections[kind].name : "none";
}

const struct option_rows inject_rows = {rows, sizeof(rows) / sizeof(rows[0])};
