// SPDX-License-Identifier: GPL-2.0
/* faultline: observes I/O page faults. */
#include "lib/cli/program.h"
#include "tools/verbs.h"

static const struct verb verbs[] = {
	{"record", "record events into a .flt file, around a command or until Ctrl-C", verb_record},
	{"top", "live view of devices by fault rate", verb_top},
	{"serve", "metrics for Prometheus and a page of the last minutes, by HTTP", verb_serve},
	{"report", "what faulted, where, why, how long each stage took", verb_report},
	{"timeline", "single faults, stage by stage", verb_timeline},
	{"footprint", "which memory devices touch, and how often", verb_footprint},
	{"protect", "what to pin so that devices hardly fault, and at what cost", verb_protect},
	{"slo", "which I/O broke its objective, and which fault caused it", verb_slo},
	{"diff", "what differs between two recordings, and what of it is chance", verb_diff},
	{"explain", "one fault: why it took its time, who waited, what would have helped",
	 verb_explain},
	{"export", "recordings as Parquet files, for engines that hold a fleet's", verb_export},
	{"merge", "one recording of those of several hosts", verb_merge},
	{"sim", "translation for many tenants, simulated: DevTLB, IOTLB, PTB, prefetching",
	 verb_sim},
	{"accesses", "which pages a trace needs, how soon again, who shares them", verb_accesses},
	{"fleet", "which faults policies would save populations of machines, simulated",
	 verb_fleet},
	{"fabric", "ways of PCIe between hosts, and what they cost, simulated", verb_fabric},
	{"doctor", "what this host can show and what not, path by path, and why", verb_doctor},
};

int main(int argc, char **argv)
{
	const struct program program = {
		"faultline",
		"Observes I/O page faults: live, or from a recording.",
		"  sudo faultline record -o run.flt -- ./workload\n"
		"  faultline report run.flt\n"
		"  sudo faultline top\n",
		verbs,
		sizeof(verbs) / sizeof(verbs[0]),
	};

	return program_run(&program, argc, argv);
}
