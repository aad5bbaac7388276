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

struct arguments {
	struct iopf_options options;
	bool has_what;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	int err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->options.verb;
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->has_what)
			usage_error(
				state, "%s: accepted: one WHAT%s", argument,
				destination_hint(&arguments->options.verb.results.to, argument));
		arguments->has_what = true;
		err = iopf_parse_what(argument, &arguments->options);
		break;
	case ARGP_KEY_END:
		if (!arguments->has_what)
			usage_error(state, "say WHAT: `faultline-inject iopf -h` lists it");
		err = iopf_check_options(&arguments->options);
		break;
	default:
		err = iopf_parse_option(key, argument, &arguments->options);
	}
	if (err == -ENOENT)
		return ARGP_ERR_UNKNOWN;
	if (err)
		usage_error(state, "%s", failure_text());
	return 0;
}

static int check_devices(const struct iopf_run *run)
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

static void print_plan(const struct iopf_run *run, FILE *file)
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
static int plug_or_unplug(const struct iopf_run *run)
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

static int run_and_report(struct iopf_run *run)
{
	struct writer *writer;
	int stopped, err = results_open(&writer, &run->options->verb.results,
					iopf_whats[run->options->what].raises ? "requests" : "dma");

	if (err)
		return failure_report(err);
	verb_catch_signals();
	if (run->options->what == IOPF_IOMMUFD)
		stopped = iopf_run_iommufd(run);
	else if (iopf_whats[run->options->what].raises)
		stopped = iopf_run_requests(run);
	else
		stopped = iopf_run_dma(run);
	/* What was done is reported even if it came to an early end. */
	if (stopped)
		failure_report(stopped);
	err = iopf_report(run, writer);
	if (!err)
		err = writer_close(writer);
	else
		writer_close(writer);
	iopf_plan_free(&run->plan);
	if (err)
		return failure_report(err);
	return exit_code_of(stopped);
}

static int report_status(const struct iopf_run *run)
{
	struct writer *writer;
	int closed, err = results_open(&writer, &run->options->verb.results, "status");

	if (!err) {
		err = iopf_report_status(&run->device, writer);
		closed = writer_close(writer);
		err = err ? err : closed;
	}
	return err ? failure_report(err) : EXIT_OK;
}

static int act(struct iopf_run *run)
{
	int err = 0;

	switch (run->options->what) {
	case IOPF_STATUS:
		return report_status(run);
	case IOPF_CLEAR:
		err = iopf_call(&run->device, FAULTLINE_IOC_CLEAR, NULL,
				"cannot clear the log while requests are pending");
		break;
	case IOPF_PLUG:
	case IOPF_UNPLUG:
		err = plug_or_unplug(run);
		break;
	default:
		err = check_devices(run);
		if (!err)
			return run_and_report(run);
	}
	return err ? failure_report(err) : EXIT_OK;
}

/* The list of WHAT stands in the help, from the same table. */
static char *help_filter(int key, const char *text, void *input)
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
	static const struct argp_child children[] = {{&verb_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		iopf_argp_options,
		parse,
		"WHAT",
		"Makes the emulated devices of the kernel module faultline_device raise page "
		"requests, map DMA and fault, and reports from the module's own log what became of "
		"it. Nothing else on the machine is touched.\v"
		"EXAMPLES:\n"
		"  sudo faultline-inject iopf burst -r 1000 -p 4 -g 1-8 -G 8 -d 0 -d 1\n"
		"  sudo faultline-inject iopf flood -r 200 --queue 32 --truth flood.jsonl\n"
		"  sudo faultline-inject iopf withhold --timeout 50ms --json=late.json\n"
		"  sudo faultline-inject iopf io-page-fault --count 31 --forbidden\n"
		"  sudo faultline-inject iopf unplug && sudo rmmod faultline_device\n",
		children,
		help_filter,
		NULL};
	static struct arguments arguments;
	static struct iopf_run run;
	int err;

	iopf_defaults(&arguments.options);
	usage_parse(&argp, argc, argv, ARGP_NO_HELP, &arguments);
	run.options = &arguments.options;
	err = iopf_open(&run.device);
	if (err)
		return failure_report(err);
	if (arguments.options.memory)
		err = memory_file_consent(&arguments.options.verb, arguments.options.memory);
	if (err) {
		err = failure_report(err);
	} else if (arguments.options.verb.dry_run) {
		print_plan(&run, stdout);
	} else {
		err = act(&run);
	}
	iopf_close(&run.device);
	return err;
}
