# SPDX-License-Identifier: GPL-2.0
# In a pid namespace of its own the recorder translates numbers of processes by a BPF iterator over tasks: each kernel
# has its own layout of what that reads.
#
# sample: 6.12
# files: build/bench/storm

guest() {
	mkdir -p "$results"
	unshare --pid --fork --mount-proc faultline record --as-root --kind cpu_fault -o inside.flt -- storm anonymous 1009 1 >record.out 2>record.err
	equal "a command in a namespace" $? 0
	cp inside.flt record.err "$results"
	seen=$(faultline report inside.flt --csv=- --table events | awk -F, '$1 == "CPU page fault" {n = $3} END {print n + 0}')
	if [ "$seen" -ge 1009 ]; then
		ok "its faults are seen one by one ($seen)"
	else
		not_ok "its faults are seen one by one" "$seen of 1009: $(tail -n 2 record.err)"
	fi
	unshare --pid --fork --mount-proc faultline doctor -v >doctor.out 2>&1
	equal "doctor says that the kernel translates" "$(grep -c '^pids  *ok  *of a namespace of its own' doctor.out)" 1
	# With the /proc of another namespace it reads a mount of its own.
	unshare --pid --fork faultline doctor -v >foreign.out 2>&1
	equal "and whose /proc it is" "$(grep -c '^pids  *ok  *of a namespace of its own; /proc is of another' foreign.out)" 1
}
