// SPDX-License-Identifier: GPL-2.0
/*
 * What the probes' programs are measured against: nothing at all, and the least that counts.
 * `address` tells the bench where the kernel keeps some zeroes: memory for arguments to point at.
 */
#include "bpf/kernel.h"

char LICENSE[] SEC("license") = "GPL";

struct zeroes {
	__u8 bytes[16384];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct zeroes);
} zeroes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} where SEC(".maps");

SEC("raw_tp")
int nothing(void *ctx)
{
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} counts SEC(".maps");

/* What bpftrace makes of `@[pid] = count()`. */
SEC("raw_tp")
int count(void *ctx)
{
	__u64 pid = bpf_get_current_pid_tgid() >> 32, one = 1;
	__u64 *value = bpf_map_lookup_elem(&counts, &pid);

	if (value)
		one += *value;
	bpf_map_update_elem(&counts, &pid, &one, BPF_ANY);
	return 0;
}

SEC("raw_tp")
int address(void *ctx)
{
	__u32 zero = 0;
	void *memory = bpf_map_lookup_elem(&zeroes, &zero);
	__u64 *result = bpf_map_lookup_elem(&where, &zero);

	if (memory && result)
		*result = (__u64)memory;
	return 0;
}
