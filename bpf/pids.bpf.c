// SPDX-License-Identifier: GPL-2.0
/*
 * Which number the kernel itself uses for a process (events carry it), and which the reader's pid
 * namespace does (everybody else there): a pair for each process that the reader can see.
 */
#include "bpf/kernel.h"

#include "bpf/pids.h"

char LICENSE[] SEC("license") = "GPL";

/* As bpf_iter.h of the kernel has them since 5.8. */
struct bpf_iter_meta {
	struct seq_file *seq;
} __attribute__((preserve_access_index));

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));

SEC("iter/task")
int pids(struct bpf_iter__task *context)
{
	struct task_struct *reader = (void *)bpf_get_current_task(), *task = context->task;
	struct pid_pair pair = {};
	struct pid *pid;
	unsigned int level;

	if (!task || task->pid != task->tgid)
		return 0;
	level = BPF_CORE_READ(reader, thread_pid, level);
	pid = BPF_CORE_READ(task, thread_pid);
	if (!pid || BPF_CORE_READ(pid, level) < level)
		return 0;
	pair.kernel = (__u32)task->tgid;
	bpf_probe_read_kernel(&pair.local, sizeof(pair.local),
			      (void *)pid + bpf_core_field_offset(pid->numbers) +
				      level * bpf_core_type_size(struct upid) +
				      bpf_core_field_offset(struct upid, nr));
	bpf_seq_write(context->meta->seq, &pair, sizeof(pair));
	return 0;
}
