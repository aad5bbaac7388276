// SPDX-License-Identifier: GPL-2.0
/* The module's log: read, and written as the truth that recordings are held against. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/real/iopf.h"
#include "lib/base/array.h"
#include "lib/base/files.h"

#define ENTRIES_A_CALL 4096u

int iopf_log_read(const struct iopf_device *device, __u64 first,
		  struct faultline_log_entry **entries, size_t *count)
{
	struct faultline_log log;
	size_t room = 0;

	*entries = NULL;
	*count = 0;
	do {
		int err;

		if (!array_grow(entries, &room, *count + ENTRIES_A_CALL, sizeof(**entries),
				ARRAY_PLAIN)) {
			free(*entries);
			return failed(-ENOMEM, "out of memory for the log");
		}
		log = (struct faultline_log){.first = first + *count,
					     .count = ENTRIES_A_CALL,
					     .entries = (uintptr_t)(*entries + *count)};
		err = iopf_call(device, FAULTLINE_IOC_LOG, &log, "cannot read the log");
		if (err) {
			free(*entries);
			return err;
		}
		*count += log.count;
	} while (log.count);
	return 0;
}

static const char *kind_name(__u32 kind)
{
	static const char *const names[] = {"", "request", "dma_map", "dma_unmap", "io_page_fault"};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "";
}

static const char *state_name(__u32 state)
{
	static const char *const names[] = {"",		 "queued",  "reported",
					    "answered",	 "dropped", "automatic",
					    "discarded", "refused", "aborted"};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "";
}

static void print_request(FILE *file, const struct faultline_log_entry *entry)
{
	fprintf(file,
		",\"pasid\":%u,\"group\":%u,\"instance\":%llu,\"permissions\":%u,\"last\":%s,"
		"\"no_pasid\":%s,\"state\":\"%s\",\"code\":%u,\"result\":%d,\"timed_out\":%s,"
		"\"withheld\":%s,\"late\":%s,\"returned_ns\":%llu,\"responded_ns\":%llu,"
		"\"delivered_ns\":%llu,\"timed_out_ns\":%llu",
		entry->pasid, entry->group, (unsigned long long)entry->instance, entry->permissions,
		entry->flags & FAULTLINE_LOG_LAST ? "true" : "false",
		entry->flags & FAULTLINE_LOG_NO_PASID ? "true" : "false", state_name(entry->state),
		entry->code, entry->result,
		entry->flags & FAULTLINE_LOG_TIMED_OUT ? "true" : "false",
		entry->flags & FAULTLINE_LOG_WITHHELD ? "true" : "false",
		entry->flags & FAULTLINE_LOG_LATE ? "true" : "false",
		(unsigned long long)entry->returned_ns, (unsigned long long)entry->responded_ns,
		(unsigned long long)entry->delivered_ns, (unsigned long long)entry->timed_out_ns);
}

static void print_entry(FILE *file, const struct iopf_device *device,
			const struct faultline_log_entry *entry)
{
	fprintf(file,
		"{\"id\":%llu,\"kind\":\"%s\",\"device\":\"%s\",\"pid\":%d,\"tid\":%d,"
		"\"address\":%llu,\"raised_ns\":%llu,\"reported_ns\":%llu",
		(unsigned long long)entry->id, kind_name(entry->kind),
		iopf_device_name(device, entry->device), entry->pid, entry->tid,
		(unsigned long long)entry->address, (unsigned long long)entry->raised_ns,
		(unsigned long long)entry->reported_ns);
	if (entry->kind == FAULTLINE_LOG_REQUEST)
		print_request(file, entry);
	else if (entry->kind == FAULTLINE_LOG_IO_PAGE_FAULT)
		fprintf(file, ",\"permissions\":%u", entry->permissions);
	else
		fprintf(file, ",\"size\":%llu,\"handle\":%u,\"result\":%d",
			(unsigned long long)entry->size, entry->handle, entry->result);
	fputs("}\n", file);
}

int iopf_truth_write(const char *path, const struct iopf_device *device,
		     const struct faultline_log_entry *entries, size_t count)
{
	int fd = files_create(AT_FDCWD, path, 0644);
	FILE *file;

	if (fd < 0)
		return fd;
	file = fdopen(fd, "w");
	if (!file)
		return failed(-errno, "%s: %s", path, strerror(errno));
	for (size_t i = 0; i < count; i++)
		print_entry(file, device, &entries[i]);
	if (ferror(file) | fclose(file))
		return failed(-EIO, "%s: cannot be written: is the disk full?", path);
	return 0;
}
