// SPDX-License-Identifier: GPL-2.0
/* faultline-inject vfio: a driver in user space whose devices do DMA where they may not. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "injectors/real/journal.h"
#include "injectors/real/real.h"
#include "injectors/real/vfio_bind.h"
#include "injectors/real/vfio_run.h"
#include "lib/base/fail.h"
#include "lib/base/units.h"

enum {
	OPTION_COUNT = 256,
	OPTION_SIZE,
	OPTION_IOMMU,
	OPTION_MEMLOCK,
	OPTION_INTERVAL,
	OPTION_DEPTH,
	OPTION_OVERWRITE,
	OPTION_READ
};

static const struct argp_option options[] = {
	{"device", 'd', "ADDRESS", 0,
	 "PCI address of a device to drive, such as 0000:00:02.0; repeatable", 0},
	{"count", OPTION_COUNT, "N", 0, "DMAs (fault), rounds (others); default: the action's", 0},
	{"size", OPTION_SIZE, "SIZE", 0, "Of one mapping of churn and limit (64K)", 0},
	{"iommu", OPTION_IOMMU, "type1|iommufd", 0, "Whose address space the devices get (type1)",
	 0},
	{"memlock", OPTION_MEMLOCK, "SIZE", 0,
	 "limit: RLIMIT_MEMLOCK of this process, without the capability to exceed it", 0},
	{"interval", OPTION_INTERVAL, "TIME", 0, "Pause after each DMA or round (0)", 0},
	{"depth", OPTION_DEPTH, "N", 0, "fault: DMAs of one device under way at once (1)", 0},
	{"read", OPTION_READ, NULL, 0, "fault: the device reads memory instead of writing it (edu)",
	 0},
	{"overwrite", OPTION_OVERWRITE, NULL, 0,
	 "transfer: store on the NVMe medium, from block 0 on", 0},
	{0},
};

static int parse_iommu(const char *text, enum space_kind *kind)
{
	if (!strcmp(text, "type1"))
		*kind = SPACE_TYPE1;
	else if (!strcmp(text, "iommufd"))
		*kind = SPACE_IOMMUFD;
	else
		return failed(-EINVAL, "--iommu %s: accepted: type1, iommufd", text);
	return 0;
}

static int parse_device(struct vfio_job *job, const char *text)
{
	if (job->device_count == VFIO_DEVICES)
		return failed(-EINVAL, "--device %s: accepted: at most %d devices", text,
			      VFIO_DEVICES);
	job->devices[job->device_count++] = text;
	return vfio_parse_address(text);
}

static int parse_number(struct vfio_job *job, int key, const char *text)
{
	__u64 depth = 1;
	int error;

	switch (key) {
	case OPTION_COUNT:
		error = units_parse_count(text, 1, 100000000, &job->count);
		return error ? failed_in(error, "--count") : 0;
	case OPTION_SIZE:
		error = units_parse_size_within(text, 4096, 1ull << 60, &job->size);
		return error ? failed_in(error, "--size") : 0;
	case OPTION_MEMLOCK:
		error = units_parse_size_within(text, 4096, 1ull << 60, &job->memlock);
		return error ? failed_in(error, "--memlock") : 0;
	case OPTION_INTERVAL:
		error = units_parse_duration_within(text, 0, UNITS_DURATION_MOST,
						    &job->interval_ns);
		return error ? failed_in(error, "--interval") : 0;
	default:
		error = units_parse_count(text, 1, MASTER_DEPTH_MAX, &depth);
		job->depth = (unsigned int)depth;
		return error ? failed_in(error, "--depth") : 0;
	}
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct vfio_job *job = state->input;
	int error = 0;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &job->verb;
		return 0;
	case 'd':
		error = parse_device(job, argument);
		break;
	case OPTION_IOMMU:
		error = parse_iommu(argument, &job->iommu);
		break;
	case OPTION_OVERWRITE:
		job->overwrite = true;
		break;
	case OPTION_READ:
		job->read_direction = true;
		break;
	case OPTION_COUNT:
	case OPTION_SIZE:
	case OPTION_MEMLOCK:
	case OPTION_INTERVAL:
	case OPTION_DEPTH:
		error = parse_number(job, key, argument);
		break;
	case ARGP_KEY_ARG:
		if (job->action_given)
			usage_error(state, "%s: accepted: one action%s", argument,
				    destination_hint(&job->verb.results.to, argument));
		error = vfio_parse_action(argument, &job->action);
		job->action_given = true;
		break;
	case ARGP_KEY_END:
		error = vfio_job_check(job);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (error)
		usage_error(state, "%s", failure_text());
	return 0;
}

/* What its masters counted together. */
struct run_row {
	const struct vfio_run *run;
	__u64 vectors, interrupts, resets;
};

#define RUN(COLUMN)                                                                      \
	COLUMN(action, none, TEXT, 8, SHOWN, vfio_action_name(context->action))          \
	COLUMN(pid, none, COUNT, 7, WIDE, (__u64)getpid())                               \
	COLUMN(iommu, none, TEXT, 7, WIDE, space_kind_name(context->iommu))              \
	COLUMN(devices, none, COUNT, 7, WIDE, context->device_count)                     \
	COLUMN(dmas, none, COUNT, 7, SHOWN, row->run->result.dmas)                       \
	COLUMN(refused, none, COUNT, 7, WIDE, row->run->result.refused)                  \
	COLUMN(faulting, none, COUNT, 8, SHOWN, row->run->result.faulting)               \
	COLUMN(reported, none, COUNT, 8, SHOWN, row->run->result.reported)               \
	COLUMN(suppressed, none, COUNT, 10, WIDE, row->run->result.suppressed)           \
	COLUMN(retried, none, COUNT, 7, WIDE, row->run->result.retried)                  \
	COLUMN(verified, none, BYTES, 8, SHOWN, row->run->result.verified)               \
	COLUMN(wrong, none, BYTES, 6, WIDE, row->run->result.wrong)                      \
	COLUMN(maps, none, COUNT, 7, SHOWN, row->run->space.counts.maps)                 \
	COLUMN(maps_failed, none, COUNT, 11, WIDE, row->run->space.counts.maps_failed)   \
	COLUMN(map_errno, none, COUNT, 9, WIDE, (__u64)row->run->space.counts.map_errno) \
	COLUMN(unmaps, none, COUNT, 7, SHOWN, row->run->space.counts.unmaps)             \
	COLUMN(mapped, none, BYTES, 8, WIDE, row->run->space.counts.mapped)              \
	COLUMN(unmapped, none, BYTES, 8, WIDE, row->run->space.counts.unmapped)          \
	COLUMN(locked, none, BYTES, 7, WIDE, row->run->result.locked)                    \
	COLUMN(pinned, none, BYTES, 7, WIDE, row->run->result.pinned)                    \
	COLUMN(vectors, none, COUNT, 7, WIDE, row->vectors)                              \
	COLUMN(interrupts, none, COUNT, 10, WIDE, row->interrupts)                       \
	COLUMN(resets, none, COUNT, 6, WIDE, row->resets)                                \
	COLUMN(duration, none, DURATION, 8, SHOWN, row->run->result.duration_ns)
TABLE(vfio, "What the driver did", RUN, struct run_row, struct vfio_job)

static int write_result(struct writer *writer, const struct vfio_job *job,
			const struct vfio_run *run)
{
	struct run_row row = {.run = run};
	int error = writer_begin_with(writer, &vfio_table, job);

	for (unsigned int i = 0; i < run->master_count; i++) {
		row.vectors += run->masters[i].device.vectors;
		row.interrupts += run->masters[i].device.interrupts;
		row.resets += run->masters[i].device.resets;
	}
	error = error ? error : writer_row(writer, &row);
	/* Not in the table: programs that read that must not miss it either. */
	if (run->log.overwritten)
		fprintf(stderr,
			"faultline: the kernel's log was overwritten %llu times before it was read: "
			"reported and suppressed are floors\n",
			run->log.overwritten);
	return error ? error : writer_end(writer);
}

static int check_consent(const struct vfio_job *job)
{
	enum master_kind kind;
	int error = 0;

	for (unsigned int i = 0; !error && i < job->device_count; i++) {
		char what[64];

		error = master_identify(job->devices[i], &kind);
		if (error)
			break;
		snprintf(what, sizeof(what), "device %s (%s)", job->devices[i],
			 master_kind_name(kind));
		error = verb_require_consent(&job->verb, job->devices[i], what);
	}
	return error;
}

static void print_plan(const struct vfio_job *job)
{
	char size[UNITS_TEXT];

	printf("open an address space (%s) with %u device%s, map their queues\n",
	       space_kind_name(job->iommu), job->device_count, job->device_count == 1 ? "" : "s");
	switch (job->action) {
	case VFIO_FAULT:
		printf("%llu DMAs of a page to IOVAs from 0x%llx on, which are not mapped\n",
		       job->count, VFIO_IOVA_ABSENT);
		break;
	case VFIO_RETRY:
		printf("%llu times: DMA to an IOVA from 0x%llx on, map it, DMA again, unmap\n",
		       job->count, VFIO_IOVA_ABSENT);
		break;
	case VFIO_STALE:
		printf("%llu times: map an IOVA from 0x%llx on, DMA to it, unmap it, DMA again\n",
		       job->count, VFIO_IOVA_ABSENT);
		break;
	case VFIO_CHURN:
	case VFIO_LIMIT:
		printf("%llu times: map %s at IOVA 0x%llx%s\n", job->count,
		       units_format_size(job->size, size), VFIO_IOVA_BUFFER,
		       job->action == VFIO_CHURN ? ", unmap" : " and on, until refused");
		break;
	case VFIO_RESET:
		printf("%llu times: DMA with an interrupt, reset the device\n", job->count);
		break;
	default:
		printf("%llu times: DMA out and in at IOVA 0x%llx%s\n", job->count,
		       VFIO_IOVA_BUFFER,
		       job->overwrite ? ", storing on NVMe media from block 0 on" : "");
		break;
	}
}

/* Binds, acts, and gives everything back before the results are written. */
static int work(const struct vfio_job *job, struct vfio_run *run, int *acted)
{
	const struct journal_options options_of_journal = {
		.dry_run = job->verb.dry_run, .log = job->verb.dry_run ? stdout : stderr};
	struct journal *journal;
	int error = journal_open(&journal, &options_of_journal), undone;

	if (error)
		return error;
	for (unsigned int i = 0; !error && i < job->device_count; i++)
		error = vfio_bind(journal, job->devices[i], job->verb.dry_run);
	if (!error && job->verb.dry_run)
		print_plan(job);
	if (!error && !job->verb.dry_run) {
		error = vfio_run_open(run, job);
		if (!error)
			*acted = vfio_run_act(run);
		vfio_run_close(run);
	}
	undone = journal_close(journal);
	return error ? error : undone;
}

static int run_job(const struct vfio_job *job)
{
	struct writer *writer = NULL;
	struct vfio_run run = {0};
	int acted = 0, error = check_consent(job), closed;

	error = error ? error : results_open(&writer, &job->verb.results, "vfio");
	if (error)
		return failure_report(error);
	error = work(job, &run, &acted);
	if (!error && !job->verb.dry_run)
		error = write_result(writer, job, &run);
	if (error)
		writer_abandon(writer);
	closed = error ? 0 : writer_close(writer);
	return verb_end(error ? error : closed, acted);
}

int real_vfio(int argc, char **argv)
{
	static const struct argp_child children[] = {{&verb_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		options,
		parse,
		"ACTION",
		"Drives PCI devices from user space through VFIO: QEMU's edu and NVMe controllers. "
		"ACTION is transfer (DMA to mapped memory), fault (to unmapped addresses), retry "
		"(fault, map on demand, once more), stale (DMA to what was unmapped), churn (map and unmap), limit (map until "
		"refused) or reset (interrupt, reset). A device is taken from its driver and given "
		"back.\v"
		"EXAMPLES:\n"
		"  sudo faultline-inject vfio fault -d 0000:00:04.0 --count 101 \\\n"
		"       --yes-i-mean-it 0000:00:04.0\n"
		"  sudo faultline-inject vfio limit -d 0000:00:04.0 --memlock 8M --size 1M \\\n"
		"       --yes-i-mean-it 0000:00:04.0\n"
		"  sudo faultline-inject vfio retry -d 0000:00:04.0 --dry-run\n",
		children,
		NULL,
		NULL,
	};
	struct vfio_job job = {0};

	usage_parse(&argp, argc, argv, ARGP_NO_HELP, &job);
	verb_catch_signals();
	return run_job(&job);
}
