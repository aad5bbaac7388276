/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel types of the BPF programs, declared by hand: only the fields in use. Offsets are relocated
 * at load time from the running kernel's BTF. Names as in Linux 6.1 to 6.18 unless a comment says
 * otherwise. Included first by every BPF program.
 */
#ifndef FAULTLINE_KERNEL_H
#define FAULTLINE_KERNEL_H

#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct mm_struct {
	unsigned long locked_vm; /* pages */
};

struct rlimit {
	unsigned long rlim_cur;
};

struct signal_struct {
	struct rlimit rlim[16];
};

struct user_struct {
	struct {
		long counter;
	} locked_vm; /* pages */
};

struct cred {
	struct {
	} cap_effective; /* two words until 6.2, one long since: bit 0 is in the first byte */
	struct user_struct *user;
};

struct task_struct {
	int pid;
	int tgid;
	__u64 start_boottime; /* 5.5 and later */
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct signal_struct *signal;
	const struct cred *cred;
};

struct kobject {
	const char *name;
};

struct bus_type {
	const char *name;
};

struct device_driver {
	const char *name;
};

struct device {
	struct kobject kobj;
	struct device_driver *driver;
	const struct bus_type *bus;
};

/* block layer: request_queue.disk since 5.15 */
struct gendisk {
	int major;
	int first_minor;
	char disk_name[32];
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	__u64 __sector;
};

/* include/linux/scatterlist.h: the DMA fields of one entry */
struct scatterlist {
	unsigned long page_link;
	unsigned int offset;
	unsigned int length;
	__u64 dma_address;
	unsigned int dma_length; /* only with CONFIG_NEED_SG_DMA_LENGTH */
};

/* drivers/vfio: of the modules' own type information */
struct vfio_iommu {
	unsigned int dma_avail; /* mappings it may still get */
};

struct vfio_dma {
	size_t size;
};

struct vfio_device {
	struct device *dev;
};

struct vfio_pci_core_device {
	struct vfio_device vdev;
};

/* drivers/iommu/iommufd: 6.2 and later */
struct pfn_reader_user {
	unsigned long upages_start;
	unsigned long upages_end;
};

#pragma clang attribute pop

#define PAGE_FAULT_WRITE 0x02 /* arch/x86/include/asm/trap_pf.h */
#define PAGE_FAULT_EXEC	 0x10
#define DMA_TO_DEVICE	 1 /* include/linux/dma-direction.h */
#define DMA_FROM_DEVICE	 2
#define DMA_FAILED	 (~0ull) /* DMA_MAPPING_ERROR */
#define SG_CHAIN	 0x01	 /* include/linux/scatterlist.h */
#define SG_LINK_BITS	 0x03
#define REQ_OP_MASK	 0xff /* include/linux/blk_types.h */
#define REQ_OP_WRITE	 1
#define MINOR_BITS	 20
#define RLIMIT_MEMLOCK	 8  /* include/uapi/asm-generic/resource.h */
#define CAP_IPC_LOCK	 14 /* include/uapi/linux/capability.h */

#endif
