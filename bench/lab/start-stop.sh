# SPDX-License-Identifier: GPL-2.0
# How long it takes until a recording of one second begins, and until it is gone: read by
# bench/start_stop_bench.py, which adds bpftrace and another faultline to compare with.
# iommu: intel
# clock: host
# memory: 1536

other= # another faultline; the bench fills it in

now() { read -r uptime _ </proc/uptime; }

# told COMMAND...: each line of its stderr with the time since boot, the first and last of its own.
told() {
	now
	echo "$uptime begin"
	"$@" 2>&1 >/dev/null | while IFS= read -r line; do
		now
		echo "$uptime $line"
	done
	now
	echo "$uptime end"
}

# What bpftrace counts, all of it or one: the functions that are on here, at entry.
functions() {
	faultline doctor --csv --table probes 2>/dev/null |
		sed -n 's/^[^,]*,ok,function \([a-z0-9_]*\)\( and [^,]*\)\{0,1\},.*/\1/p' | sort -u
}

guest() {
	local round functions first
	functions=$(functions)
	first=${functions%%$'\n'*}
	echo "bench functions $(wc -w <<<"$functions")"
	for round in 1 2 3; do
		told faultline record --duration 1s -f -o second.flt | sed 's/^/bench ours /'
		told faultline record --kind cpu_fault --duration 1s -f -o second.flt | sed 's/^/bench ours-one /'
		[ -n "$other" ] && told $other record --duration 1s -f -o second.flt | sed 's/^/bench before /'
		command -v bpftrace >/dev/null || continue
		told bpftrace -e "$(for one in $functions; do echo "kfunc:$one { @[probe] = count(); }"; done) interval:s:1 { exit(); }" |
			sed 's/^/bench bpftrace-all /'
		told bpftrace -e "kfunc:$first { @[probe] = count(); } interval:s:1 { exit(); }" | sed 's/^/bench bpftrace-one /'
	done
	ok "three rounds"
}
