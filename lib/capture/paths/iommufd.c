// SPDX-License-Identifier: GPL-2.0
/* Address spaces of iommufd, and page requests that it hands to user space. */
#include <bpf/bpf.h>

#include "lib/capture/capture_private.h"
#include "lib/capture/paths/rows.h"
#include "bpf/iommufd.skel.h"

static DEFINE_OBJECT(iommufd);

#define IOMMUFD "iommufd"

static const struct probe_row rows[] = {
	{PROBE_IOPF_QUEUED_IOMMUFD, "iopf_queued_iommufd", &iopf_object, EVENT_FAULT_QUEUED,
	 METHODS(FUNCTION(iommufd_fault_iopf_handler, "iopf_queued_iommufd")), .module = IOMMUFD,
	 .optional = true, .place = PLACE_PAGE_REQUESTS},
	{PROBE_IOMMUFD_MAP, "iommufd_map", &iommufd_object, EVENT_VFIO_MAP,
	 METHODS(FUNCTION(iopt_map_user_pages, "space_map_begin", "space_map_end")),
	 .module = IOMMUFD, .shares = "iommu_map", .many = true,
	 .without = "iommufd maps are not counted",
	 .unaccused = "a mapping may be made before the recording, and pinned in it"},
	{PROBE_IOMMUFD_UNMAP, "iommufd_unmap", &iommufd_object, EVENT_VFIO_UNMAP,
	 METHODS(FUNCTION(iopt_unmap_iova, "space_unmap_begin", "space_unmap_end")),
	 .module = IOMMUFD, .shares = "iommu_unmap", .many = true,
	 .without = "iommufd unmaps are not counted", .unaccused = "a mapping may stay"},
	{PROBE_IOMMUFD_PIN, "iommufd_pin", &iommufd_object, EVENT_VFIO_PIN,
	 METHODS(FUNCTION(pfn_reader_user_pin, "space_pin_begin", "space_pin_end")),
	 .module = IOMMUFD, .without = "pages that iommufd pins are not counted",
	 .unaccused = "a mapping without a device is not pinned"},
	{PROBE_IOMMUFD_RELEASE, "iommufd_release", &iommufd_object, EVENT_VFIO_UNMAP,
	 METHODS(FUNCTION(iopt_destroy_table, "space_release")), .module = IOMMUFD,
	 .optional = true},
};

/* An address space of iommufd lives on if others have it: it is a new one with their first request. */
static int forget_spaces(struct capture *c, __u64 now_ns)
{
	int map = probe_set_map(c->probes, PROBE_IOMMUFD_MAP, "containers");
	struct container container;
	__u64 address, next;
	int end = map < 0 || bpf_map_get_next_key(map, NULL, &next);

	(void)now_ns;
	while (!end) {
		address = next;
		/* The successor is fetched first: after a delete there is no way to it. */
		end = bpf_map_get_next_key(map, &address, &next);
		if (!bpf_map_lookup_elem(map, &address, &container) &&
		    owner_set_has(&c->ended, container.device.owner))
			bpf_map_delete_elem(map, &address);
	}
	return 0;
}

const struct path iommufd_path = {
	.name = "iommufd",
	.needs = "a kernel with CONFIG_IOMMUFD (none of Debian's)",
	ROWS(rows),
	.steps[STEP_ENDED] = forget_spaces,
};
