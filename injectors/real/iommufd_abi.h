/* SPDX-License-Identifier: GPL-2.0 */
/* include/uapi/linux/iommufd.h of 6.11 and later as far as it is used; Debian 12's headers predate it. */
#ifndef FAULTLINE_REAL_IOMMUFD_ABI_H
#define FAULTLINE_REAL_IOMMUFD_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define IOMMUFD_IOAS_ALLOC  _IO(';', 0x81)
#define IOMMUFD_IOAS_MAP    _IO(';', 0x85)
#define IOMMUFD_HWPT_ALLOC  _IO(';', 0x89)
#define IOMMUFD_FAULT_ALLOC _IO(';', 0x8e)

struct iommufd_ioas_alloc {
	__u32 size, flags;
	__u32 out_ioas_id;
};

enum { IOMMUFD_MAP_FIXED_IOVA = 1, IOMMUFD_MAP_WRITEABLE = 2, IOMMUFD_MAP_READABLE = 4 };

struct iommufd_ioas_map {
	__u32 size, flags;
	__u32 ioas_id, reserved;
	__u64 user_va, length, iova;
};

enum { IOMMUFD_HWPT_NEST_PARENT = 1, IOMMUFD_HWPT_FAULT_ID_VALID = 4 };

struct iommufd_hwpt_alloc {
	__u32 size, flags;
	__u32 dev_id, pt_id;
	__u32 out_hwpt_id, reserved;
	__u32 data_type, data_len;
	__u64 data_uptr;
	__u32 fault_id, reserved2;
};

struct iommufd_fault_alloc {
	__u32 size, flags;
	__u32 out_fault_id, out_fault_fd;
};

enum { IOMMUFD_FAULT_PASID_VALID = 1, IOMMUFD_FAULT_LAST_PAGE = 2 };

/* What is read from the fault queue. */
struct iommufd_pgfault {
	__u32 flags, dev_id;
	__u32 pasid, grpid;
	__u32 perm, reserved;
	__u64 addr;
	__u32 length, cookie;
};

enum { IOMMUFD_RESPONSE_SUCCESS = 0, IOMMUFD_RESPONSE_INVALID = 1 };

/* What is written to it. */
struct iommufd_response {
	__u32 cookie, code;
};

#endif
