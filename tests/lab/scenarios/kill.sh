# SPDX-License-Identifier: GPL-2.0
# Whenever faultline is killed, the kernel takes back every program, map and link of its.
#
# sample: new
# iommu: intel

loaded() {
	bpftool prog list | grep -oE '^[0-9]+: [a-z_]+'
	bpftool map list | grep -oE '^[0-9]+: [a-z_]+'
	bpftool link list | grep -oE '^[0-9]+: [a-z_]+'
}
# Numbers are given once. What was loaded before may be on its way out: the kernel frees maps after a while.
new() { loaded | grep -vxFf before; }
nothing_new() { [ -z "$(new)" ]; }

guest() {
	local moment recorder seen=0
	mkdir -p "$results"
	loaded >before
	# Moments of loading, attaching and recording; the sequence is the same in every run.
	RANDOM=4711
	for round in 0 1 2 3 4; do
		moment=$((round * 800 + RANDOM % 800))
		faultline record -o "$results/killed.flt" -f 2>record.err &
		recorder=$!
		sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
		nothing_new || seen=$((seen + 1))
		kill -KILL $recorder
		wait $recorder 2>/dev/null
		if wait_for 30 nothing_new; then
			ok "killed after $moment ms ($(tail -n 1 record.err | cut -c1-40)): nothing is left"
		else
			not_ok "killed after $moment ms: nothing is left" "$(new | tail -n 3 | tr '\n' ' ')"
		fi
	done
	# Had no round found anything loaded, the test would prove nothing.
	between "rounds in which something was loaded when it was killed" $seen 3 5
}
