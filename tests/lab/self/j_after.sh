# SPDX-License-Identifier: GPL-2.0
# kernels: 6.1
# expected message: trap divide -- what this scenario is about
guest() {
	equal "programs of the scenario before" "$(bpftool prog list | grep -c tracing)" 0
	equal "processes of the scenario before" "$(cat /proc/[0-9]*/comm | grep -cE '^(sleep|faultline)')" 0
	echo "self_test[1]: trap divide error" >/dev/kmsg
	echo some >"$results/some"
}
host() { equal "what came out" "$(cat some)" some; }
