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
	unsigned long locked_vm;   /* pages */
	struct task_struct *owner; /* only with CONFIG_MEMCG */
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
	char comm[16];
	__u64 start_boottime; /* 5.5 and later */
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct signal_struct *signal;
	const struct cred *cred;
	struct pid *thread_pid;
};

struct dev_iommu;

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
	struct dev_iommu *iommu;
	struct iommu_group *iommu_group;
	const struct class *class;
	__u32 devt;
};

struct class
{
	const char *name;
};

struct iommu_group {
	struct iommu_domain *domain;
};

struct pci_bus {
	unsigned char number;
	void *sysdata;
};

struct pci_dev {
	struct pci_bus *bus;
	unsigned int devfn;
	struct device dev;
};

/* arch/x86/include/asm/pci.h */
struct pci_sysdata {
	int domain;
};

/* drivers/iommu/intel/iommu.h */
struct intel_iommu {
	void *reg;
	__u64 cap;
	__u16 segment;
};

struct qi_desc {
	__u64 qw0;
};

struct list_head {
	struct list_head *next;
};

struct mm_struct___6_1 {
	__u32 pasid;
};

struct vm_area_struct {
	struct mm_struct *vm_mm;
	const void *vm_ops;
};

enum mmu_notifier_event { MMU_NOTIFY_UNMAP };

struct mmu_notifier_range {
	struct mm_struct *mm;
	unsigned long start;
	unsigned long end;
	enum mmu_notifier_event event;
};

struct work_struct {
	void (*func)(struct work_struct *work);
};

struct irqaction {
	const char *name;
	unsigned int flags;
};

/* include/linux/iommu.h; in uapi on 6.1, there prm is in a union */
struct iommu_fault_page_request {
	__u32 flags;
	__u32 pasid;
	__u32 grpid;
	__u32 perm;
	__u64 addr;
};

struct iommu_fault {
	__u32 type;
	struct iommu_fault_page_request prm;
};

struct iopf_fault {
	struct iommu_fault fault;
};

struct iommu_page_response {
	__u32 pasid;
	__u32 grpid;
	__u32 code;
};

struct iopf_queue;

struct iommu_fault_param {
	struct device *dev; /* with the next: since 6.8 */
	struct iopf_queue *queue;
};

struct iopf_device_param { /* 6.1 */
	struct iopf_queue *queue;
};

struct dev_iommu {
	struct iommu_fault_param *fault_param;
};

struct dev_iommu___6_1 {
	struct iopf_device_param *iopf_param;
};

struct iommu_domain {
	unsigned int type;
	struct mm_struct *mm; /* in a union: of an SVA domain */
};

struct iommu_attach_handle {
	struct iommu_domain *domain;
};

struct iopf_group {
	struct iopf_fault last_fault;
	struct list_head pending_node; /* with the last two: since 6.8 */
	struct work_struct work;
	struct iommu_attach_handle *attach_handle;
	struct iommu_fault_param *fault_param;
};

struct iopf_group___6_1 {
	struct device *dev;
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

struct sg_table {
	struct scatterlist *sgl;
	unsigned int nents;
	unsigned int orig_nents;
};

/* include/linux/dma-mapping.h, 6.16 and later */
struct dma_iova_state {
	__u64 addr;
	__u64 __size; /* top bit: a bounce buffer is in use */
};

/* drivers/vfio: of the modules' own type information */
struct vfio_iommu {
	unsigned int dma_avail; /* mappings it may still get */
};

struct vfio_dma {
	__u64 iova;
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

/*
 * RDMA: include/rdma/ib_verbs.h, ib_umem.h, ib_umem_odp.h; the drivers' own from their modules.
 * Kinds of fields must agree with the kernel's for their offsets to be found: enums stay enums.
 */
enum rdma_driver_id { RDMA_DRIVER_MLX5 = 1, RDMA_DRIVER_RXE = 14 };

struct ib_device_ops {
	enum rdma_driver_id driver_id;
};

struct ib_device {
	struct ib_device_ops ops;
	char name[64];
};

struct ib_umem {
	struct ib_device *ibdev;
	struct mm_struct *owning_mm;
	size_t length;
	unsigned long address;
};

struct mmu_interval_notifier {
	unsigned long invalidate_seq;
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct hmm_dma_map { /* 6.16 and later */
	unsigned long *pfn_list;
};

struct ib_umem_odp {
	struct ib_umem umem;
	struct mmu_interval_notifier notifier;
	struct pid *tgid;
	struct hmm_dma_map map;
	void *private;
	int npages;
	unsigned int page_shift;
};

struct ib_mr {
	__u32 lkey;
};

struct rxe_mr {
	struct ib_mr ibmr;
};

struct mlx5_ib_mr {
	struct ib_mr ibmr;
	struct mlx5_ib_mr *parent; /* of a part of an implicit region */
};

struct mlx5_ib_dev {
	struct ib_device ib_dev;
};

struct mlx5_ib_pf_eq {
	struct mlx5_ib_dev *dev;
	struct work_struct work;
};

struct mlx5_pagefault {
	__u8 event_subtype;
	union {
		struct {
			__u32 packet_size;
			__u32 wq_num;
		} wqe;
		struct {
			__u32 r_key;
			__u32 packet_size;
			__u64 rdma_va;
		} rdma;
		struct { /* 6.12 and later */
			__u64 va;
			__u32 mkey;
			__u32 fault_byte_count;
		} memory;
	};
	struct mlx5_ib_pf_eq *eq;
	struct work_struct work;
};

/* TCP: include/net/sock.h, inet_sock.h, inet_connection_sock.h, tcp.h, linux/skbuff.h, linux/tcp.h */
struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		__u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	__u16 skc_dport; /* network order */
	__u16 skc_num;
	unsigned short skc_family;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr; /* only with CONFIG_IPV6 */
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
	int sk_err;
};

struct inet_sock {
	__u16 inet_sport; /* network order */
};

struct inet_connection_sock {
	__u32 icsk_rto; /* jiffies */
	__u8 icsk_ca_state : 5;
	__u8 icsk_pending;
};

struct tcp_sock {
	__u32 snd_una, snd_nxt;
	__u32 snd_cwnd;
};

struct request_sock {
	struct sock_common __req_common;
};

struct tcp_request_sock {
	__u32 snt_isn;
};

struct sk_buff {
	unsigned int len;
	char cb[48];
};

struct tcp_skb_cb {
	__u32 seq;
	__u32 end_seq;
	__u16 tcp_gso_segs;
	__u8 sacked;
};

#pragma clang attribute pop

/* The memory's owner; NULL: it has none any more, or the kernel keeps none. */
static __always_inline struct task_struct *mm_owner(struct mm_struct *mm)
{
	return bpf_core_field_exists(mm->owner) ? BPF_CORE_READ(mm, owner) : NULL;
}

#define IOPF_PASID_VALID	0x01 /* iommu_fault_page_request.flags */
#define IOPF_LAST_PAGE		0x02
#define IOPF_READ		0x01 /* .perm */
#define IOPF_WRITE		0x02
#define IOPF_EXEC		0x04
#define IOPF_PRIV		0x08
#define IOMMU_DOMAIN_TYPE_SVA	0x10   /* iommu_domain.type */
#define VM_FAULT_OOM		0x0001 /* include/linux/mm_types.h */
#define VM_FAULT_SIGBUS		0x0002
#define VM_FAULT_MAJOR		0x0004
#define VM_FAULT_HWPOISON	0x0010
#define VM_FAULT_HWPOISON_LARGE 0x0020
#define VM_FAULT_SIGSEGV	0x0040
#define VM_FAULT_RETRY		0x0400
#define VM_FAULT_FALLBACK	0x0800
#define VM_FAULT_ERRORS                                                                 \
	(VM_FAULT_OOM | VM_FAULT_SIGBUS | VM_FAULT_HWPOISON | VM_FAULT_HWPOISON_LARGE | \
	 VM_FAULT_SIGSEGV)
#define PAGE_FAULT_WRITE 0x02 /* arch/x86/include/asm/trap_pf.h */
#define PAGE_FAULT_EXEC	 0x10
#define DMA_TO_DEVICE	 1 /* include/linux/dma-direction.h */
#define DMA_FROM_DEVICE	 2
#define DMA_FAILED	 (~0ull) /* DMA_MAPPING_ERROR */
#define SG_CHAIN	 0x01	 /* include/linux/scatterlist.h */
#define SG_LINK_BITS	 0x03
#define REQ_OP_MASK	 0xff /* include/linux/blk_types.h */
#define MINOR_BITS	 20
#define RLIMIT_MEMLOCK	 8  /* include/uapi/asm-generic/resource.h */
#define CAP_IPC_LOCK	 14 /* include/uapi/linux/capability.h */

#define AF_INET	    2
#define AF_INET6    10
#define IPPROTO_TCP 6
#define TCP_CA_LOSS 4	 /* enum tcp_ca_state in include/uapi/linux/tcp.h */
#define TCPCB_LOST  0x04 /* tcp_skb_cb.sacked, include/net/tcp.h */

#define ODP_WRITE_ALLOWED 2ull	       /* include/rdma/ib_umem_odp.h until 6.18 */
#define HMM_PFN_WRITE	  (1ull << 62) /* include/linux/hmm.h, in its place since */

#endif
