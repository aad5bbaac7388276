// SPDX-License-Identifier: GPL-2.0
/* faultline-inject iopf: the emulated devices of the module faultline_device. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/real/iopf_options.h"
#include "injectors/real/memory_file.h"
#include "injectors/real/real.h"

const struct iopf_what_info iopf_whats[IOPF_WHATS] = {
	[IOPF_BURST] = {"burst", "page requests for fresh pages, as fast as it goes", true},
	[IOPF_MIXED] = {"mixed", "good ones among requests that must fail", true},
	[IOPF_BAD_PASID] = {"bad-pasid", "requests with a PASID that nobody has", true},
	[IOPF_READ_ONLY] = {"read-only", "writes to pages that may only be read", true},
	[IOPF_UNMAPPED] = {"unmapped", "requests for addresses where nothing is", true},
	[IOPF_UNMAP] = {"unmap", "pages unmapped while their requests wait", true},
	[IOPF_EXIT] = {"exit", "processes that end while their requests wait", true},
	[IOPF_WITHHOLD] = {"withhold", "answers that come when the device has given up", true},
	[IOPF_FLOOD] = {"flood", "more requests than the IOMMU's queue takes", true},
	[IOPF_IOMMUFD] = {"iommufd", "page requests that user space resolves, by iommufd", true},
	[IOPF_DMA] = {"dma", "DMA mappings made and removed", false},
	[IOPF_IO_PAGE_FAULT] = {"io-page-fault", "accesses that are not mapped", false},
	[IOPF_STATUS] = {"status", "show the devices and their counters", false},
	[IOPF_CLEAR] = {"clear", "empty the module's log, zero its counters", false},
	[IOPF_PLUG] = {"plug", "put devices back (default: all)", false},
	[IOPF_UNPLUG] = {"unplug", "remove devices (default: all), before rmmod", false},
};

static int iopf_check(void *input)
{
	struct iopf_options *options = input;
	int err = options->what_name
			  ? iopf_parse_what(options->what_name, options)
			  : failed(-EINVAL, "no WHAT; `faultline-inject iopf -h` lists it");

	return err ? err : iopf_check_options(options);
}

static int iopf_check_devices(const struct iopf_run *run)
{
	const struct faultline_info *info = &run->device.info;

	for (__u32 i = 0; i < run->options->device_count; i++) {
		__u32 number = run->options->devices[i];

		if (number >= info->devices)
			return failed(-EINVAL, "--device %u: accepted: 0 to %u", number,
				      info->devices - 1);
		if (!(info->plugged & 1u << number))
			return failed(-ENODEV,
				      "device %u is unplugged: `faultline-inject iopf plug`",
				      number);
	}
	return 0;
}

static void iopf_print_plan(const struct iopf_run *run, FILE *file)
{
	const struct iopf_options *options = run->options;

	fprintf(file, "%s: %s\n", iopf_whats[options->what].name, iopf_whats[options->what].does);
	if (iopf_whats[options->what].raises)
		fprintf(file,
			"%u requests in groups of %u to %u from %u processes, at most %u group "
			"numbers, seed %llu\n",
			options->requests, options->group_least, options->group_most,
			options->processes, options->group_numbers,
			(unsigned long long)options->seed);
	for (__u32 i = 0; i < options->device_count; i++)
		fprintf(file, "on %s\n", iopf_device_name(&run->device, options->devices[i]));
	fprintf(file, "nothing was done\n");
}

/* Which were named, or all that can be. */
static int iopf_plug_or_unplug(const struct iopf_run *run)
{
	const struct iopf_options *options = run->options;
	bool out = options->what == IOPF_UNPLUG;
	__u32 named = 0;
	int err = 0;

	for (__u32 i = 0; i < options->device_count; i++)
		named |= 1u << options->devices[i];
	for (__u32 i = 0; i < run->device.info.devices && !err; i++) {
		bool plugged = run->device.info.plugged & 1u << i;
		struct faultline_unplug request = {
			.device = i,
			.flags = out && options->surprise ? FAULTLINE_UNPLUG_SURPRISE : 0};

		if (named ? !(named & 1u << i) : plugged != out)
			continue;
		err = iopf_call(&run->device, out ? FAULTLINE_IOC_UNPLUG : FAULTLINE_IOC_PLUG,
				&request, out ? "cannot unplug" : "cannot plug in");
	}
	return err;
}

static int iopf_work(void *self)
{
	struct iopf_run *run = self;

	if (run->options->what == IOPF_IOMMUFD)
		return iopf_run_iommufd(run);
	return iopf_whats[run->options->what].raises ? iopf_run_requests(run) : iopf_run_dma(run);
}

static int iopf_perform(struct iopf_run *run)
{
	const struct verb_work work = {
		.table = iopf_whats[run->options->what].raises ? "requests" : "dma",
		.run = iopf_work,
		.report = iopf_report,
	};
	int code = verb_perform(&work, &run->options->verb, run);

	iopf_plan_free(&run->plan);
	return code;
}

static int iopf_act(struct iopf_run *run)
{
	static const struct verb_work status = {.table = "status", .report = iopf_report_status};
	int err = 0;

	switch (run->options->what) {
	case IOPF_STATUS:
		return verb_perform(&status, &run->options->verb, run);
	case IOPF_CLEAR:
		err = iopf_call(&run->device, FAULTLINE_IOC_CLEAR, NULL,
				"cannot clear the log while requests are pending");
		break;
	case IOPF_PLUG:
	case IOPF_UNPLUG:
		err = iopf_plug_or_unplug(run);
		break;
	default:
		err = iopf_check_devices(run);
		if (!err)
			return iopf_perform(run);
	}
	return err ? failure_report(err) : EXIT_OK;
}

/* The list of WHAT stands in the help, from the same table. */
static char *iopf_help_filter(int key, const char *text, void *input)
{
	static char help[2048];
	size_t used = 0;

	(void)input;
	if (key != ARGP_KEY_HELP_PRE_DOC)
		return (char *)text;
	used += (size_t)snprintf(help, sizeof(help), "%s\n\nWHAT is one of:\n", text);
	for (int i = 0; i < IOPF_WHATS; i++)
		used += (size_t)snprintf(help + used, sizeof(help) - used, "  %-14s %s\n",
					 iopf_whats[i].name, iopf_whats[i].does);
	return strdup(help);
}

int real_iopf(int argc, char **argv)
{
	static const struct cli_table tables[] = {
		{iopf_option_list}, VERB_TABLES(struct iopf_options), {0}};
	const struct cli cli = {
		.tables = tables,
		.children = VERB_CHILDREN(struct iopf_options),
		.arguments = "WHAT",
		.argument = offsetof(struct iopf_options, what_name),
		.given = offsetof(struct iopf_options, given),
		.check = iopf_check,
		.help_filter = iopf_help_filter,
		.about =
			"Makes the emulated devices of the kernel module faultline_device raise page "
			"requests, map DMA and fault, and reports from the module's own log what became of "
			"it. Nothing else on the machine is touched.\v"
			"EXAMPLES:\n"
			"  sudo faultline-inject iopf burst -r 1000 -p 4 -g 1-8 -G 8 -d 0 -d 1\n"
			"  sudo faultline-inject iopf flood -r 200 --queue 32 --truth flood.jsonl\n"
			"  sudo faultline-inject iopf withhold --timeout 50ms --json=late.json\n"
			"  sudo faultline-inject iopf io-page-fault --count 31 --forbidden\n"
			"  sudo faultline-inject iopf unplug && sudo rmmod faultline_device\n",
	};
	static struct iopf_options options;
	static struct iopf_run run;
	int err;

	iopf_defaults(&options);
	cli_parse(&cli, argc, argv, &options);
	run.options = &options;
	err = iopf_open(&run.device);
	if (err)
		return failure_report(err);
	if (options.memory)
		err = memory_file_consent(&options.verb, options.memory);
	if (err) {
		err = failure_report(err);
	} else if (options.verb.dry_run) {
		iopf_print_plan(&run, stdout);
	} else {
		err = iopf_act(&run);
	}
	iopf_close(&run.device);
	return err;
}
