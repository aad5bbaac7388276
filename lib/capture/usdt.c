// SPDX-License-Identifier: GPL-2.0
#include "lib/capture/usdt.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/fail.h"
#include "lib/capture/permission.h"

/* From the UAPI of Linux 6.6, newer than the headers we build with: enum bpf_attach_type and the
 * uprobe_multi part of bpf_attr.link_create. */
#define TRACE_UPROBE_MULTI 48

struct uprobe_multi_link {
	__u32 program;
	__u32 target;
	__u32 attach_type;
	__u32 flags;
	__u64 path;
	__u64 offsets;
	__u64 semaphores;
	__u64 cookies;
	__u32 count;
	__u32 multi_flags;
	__u32 pid; /* 0: every process */
	__u32 reserved;
};

bool usdt_multi_supported(const struct btf *kernel)
{
	int id = btf__find_by_name_kind(kernel, "bpf_attach_type", BTF_KIND_ENUM);
	const struct btf_type *type = id > 0 ? btf__type_by_id(kernel, id) : NULL;

	for (int i = 0; type && i < btf_vlen(type); i++)
		if (btf_enum(type)[i].val == TRACE_UPROBE_MULTI &&
		    !strcmp(btf__name_by_offset(kernel, btf_enum(type)[i].name_off),
			    "BPF_TRACE_UPROBE_MULTI"))
			return true;
	return false;
}

void usdt_use_multi(struct bpf_program *program)
{
	bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)TRACE_UPROBE_MULTI);
}

static int attach_multi(struct usdt_links *links, const struct bpf_program *program,
			const char *path, const struct usdt_place_at *places, size_t count)
{
	__u64 *columns = calloc(3 * count, sizeof(*columns));
	struct uprobe_multi_link link = {
		.program = bpf_program__fd(program),
		.attach_type = TRACE_UPROBE_MULTI,
		.path = (__u64)(unsigned long)path,
		.offsets = (__u64)(unsigned long)columns,
		.semaphores = (__u64)(unsigned long)(columns + count),
		.cookies = (__u64)(unsigned long)(columns + 2 * count),
		.count = count,
	};
	int error = 0;

	if (!columns)
		return failed(-ENOMEM, "no memory for %zu probe sites", count);
	for (size_t i = 0; i < count; i++) {
		columns[i] = places[i].offset;
		columns[count + i] = places[i].semaphore;
		columns[2 * count + i] = places[i].cookie;
	}
	links->multi = syscall(__NR_bpf, BPF_LINK_CREATE, &link, sizeof(link));
	links->is_multi = links->multi >= 0;
	if (!links->is_multi)
		error = failed(-errno, "attaching to %s: %s", path, strerror(errno));
	free(columns);
	return error;
}

static int attach_each(struct usdt_links *links, const struct bpf_program *program,
		       const char *path, const struct usdt_place_at *places, size_t count)
{
	links->sites = calloc(count, sizeof(struct bpf_link *));
	if (!links->sites)
		return failed(-ENOMEM, "no memory for %zu probe sites", count);
	for (size_t i = 0; i < count; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = places[i].cookie,
			    .ref_ctr_offset = places[i].semaphore);
		struct bpf_link *link = bpf_program__attach_uprobe_opts(program, -1, path,
									places[i].offset, &options);

		if (!link) {
			int error = errno;

			return failed(-error, "attaching to %s: %s%s", path, strerror(error),
				      permission_of_perf_events(error));
		}
		links->sites[links->site_count++] = link;
	}
	return 0;
}

int usdt_attach(struct usdt_links *links, const struct bpf_program *program, const char *path,
		const struct usdt_place_at *places, size_t count)
{
	bool multi = bpf_program__expected_attach_type(program) ==
		     (enum bpf_attach_type)TRACE_UPROBE_MULTI;
	int error;

	*links = (struct usdt_links){};
	error = multi ? attach_multi(links, program, path, places, count)
		      : attach_each(links, program, path, places, count);
	if (error)
		usdt_detach(links);
	return error;
}

void usdt_detach(struct usdt_links *links)
{
	if (links->is_multi)
		close(links->multi);
	for (size_t i = 0; i < links->site_count; i++)
		bpf_link__destroy(links->sites[i]);
	free(links->sites);
	*links = (struct usdt_links){};
}
