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

static const char *const iommus[] = {"type1", "iommufd", NULL};

#define VFIO(member) CLI_FIELD(struct vfio_job, member)

static const struct cli_option vfio_options[] = {
	{"device", 'd', "ADDRESS",
	 "PCI address of a device to drive, such as 0000:00:02.0; repeatable", CLI_LIST,
	 VFIO(devices), .most = VFIO_DEVICES, .count = offsetof(struct vfio_job, device_count),
	 .parse = vfio_check_address},
	{"count", 0, "N", "DMAs (fault), rounds (others); default: the action's", CLI_COUNT,
	 VFIO(count), 1, 100000000},
	{"size", 0, "SIZE", "Of one mapping of churn and limit (64K)", CLI_SIZE, VFIO(size), 4096},
	{"iommu", 0, "type1|iommufd", "Whose address space the devices get (type1)", CLI_CHOICE,
	 VFIO(iommu), .names = iommus},
	{"memlock", 0, "SIZE",
	 "limit: RLIMIT_MEMLOCK of this process, without the capability to exceed it", CLI_SIZE,
	 VFIO(memlock), 4096},
	{"interval", 0, "TIME", "Pause after each DMA or round (0)", CLI_TIME, VFIO(interval_ns)},
	{"depth", 0, "N", "fault: DMAs of one device under way at once (1)", CLI_COUNT, VFIO(depth),
	 1, MASTER_DEPTH_MAX},
	{"read", 0, NULL, "fault: the device reads memory instead of writing it (edu)", CLI_FLAG,
	 VFIO(read_direction)},
	{"overwrite", 0, NULL, "transfer: store on the NVMe medium, from block 0 on", CLI_FLAG,
	 VFIO(overwrite)},
	{0},
};

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

static int vfio_write_result(struct writer *writer, const struct vfio_job *job,
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

static int vfio_check_consent(const struct vfio_job *job)
{
	enum master_kind kind;
	int error = 0;

	for (size_t i = 0; !error && i < job->device_count; i++) {
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

static void vfio_print_plan(const struct vfio_job *job)
{
	char size[UNITS_TEXT];

	printf("open an address space (%s) with %zu device%s, map their queues\n",
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
static int vfio_work(const struct vfio_job *job, struct vfio_run *run, int *acted)
{
	const struct journal_options options_of_journal = {
		.dry_run = job->verb.dry_run, .log = job->verb.dry_run ? stdout : stderr};
	struct journal *journal;
	int error = journal_open(&journal, &options_of_journal), undone;

	if (error)
		return error;
	for (size_t i = 0; !error && i < job->device_count; i++)
		error = vfio_bind(journal, job->devices[i], job->verb.dry_run);
	if (!error && job->verb.dry_run)
		vfio_print_plan(job);
	if (!error && !job->verb.dry_run) {
		error = vfio_run_open(run, job);
		if (!error)
			*acted = vfio_run_act(run);
		vfio_run_close(run);
	}
	undone = journal_close(journal);
	return error ? error : undone;
}

static int vfio_run_job(const struct vfio_job *job)
{
	struct writer *writer = NULL;
	struct vfio_run run = {0};
	int acted = 0, error = vfio_check_consent(job), closed;

	error = error ? error : verb_open_output(&writer, &job->verb, "vfio");
	if (error)
		return failure_report(error);
	error = vfio_work(job, &run, &acted);
	if (!error && !job->verb.dry_run)
		error = vfio_write_result(writer, job, &run);
	if (error)
		writer_abandon(writer);
	closed = error ? 0 : writer_close(writer);
	return verb_end(error ? error : closed, acted);
}

int real_vfio(int argc, char **argv)
{
	static const struct cli_table tables[] = {
		{vfio_options}, VERB_TABLES(struct vfio_job), {0}};
	const struct cli cli = {
		.tables = tables,
		.children = VERB_CHILDREN(struct vfio_job),
		.arguments = "ACTION",
		.argument = offsetof(struct vfio_job, action_name),
		.check = vfio_job_check,
		.about =
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
	};
	struct vfio_job job = {0};

	cli_parse(&cli, argc, argv, &job);
	verb_catch_signals();
	return vfio_run_job(&job);
}
