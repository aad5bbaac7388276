# SPDX-License-Identifier: GPL-2.0
# Page requests of four processes at once through the kernel's own core: groups of one to eight whose
# few numbers are used again and again, PASIDs that two devices share, answers out of order. Each is
# held against the log of the module that raised it.
# sample: new
# cpus: 2
# own modules: faultline_device
# disabled: mm_fault

raise() {
	local what=$1
	shift
	faultline-inject iopf "$what" -p 4 -g 1-8 -d 0 -d 1 --hold 2ms --wait 60s "$@" \
		--truth "$results/$what.$1${without:+.without}.truth" >inject.out 2>&1 ||
		not_ok "$what $*" "$(tail -n 3 inject.out)"
}

setup() {
	load faultline_device
}

# The first is exact, the second uses each of 4 numbers of each device more than a hundred times.
workload() {
	raise burst -r1000 -G8 -s1
	[ -n "$without" ] && return
	raise burst -r4001 -G4 -s2
	raise mixed -r503 -G8 -s3
	keep inject.out
}

# Whose code queued and resolved them (docs/kmod.md): the probes are on the workqueue and cannot tell.
check_consumer() {
	local whose
	case $kernel in
	6.1) whose="the kernel's, registered by the module" ;;
	6.12) whose="the module's, for report, groups and response the kernel's" ;;
	new) whose="the kernel's own, all of it" ;;
	esac
	equal "resolved by code that is" \
		"$(tr '\n' ' ' <inject.out | sed -n "s/.*requests were resolved by code that is //; s/ *$//p")" "$whose"
}

check() {
	equal "events lost" "$(column loss count what lost)" 0
	equal "groups without instance" "$(column loss count what state_failed)" 0
	equal "probe hits of reports" "$(hits iopf_report)" $((1000 + 4001 + 503))
	check_consumer
}

check_without() {
	equal "reports are still seen" "$(hits iopf_report)" 1000
}

teardown() {
	faultline-inject iopf unplug >inject.out 2>&1 || not_ok "unplug" "$(cat inject.out)"
	unload faultline_device
}

host() {
	"$FAULTLINE" report run.flt --csv=tables --raw-time >/dev/null
	python3 "$reference/compare_requests.py" tables burst.-r1000.truth burst.-r4001.truth mixed.-r503.truth \
		--overtaking --shared --causes anonymous || failed=1
	"$FAULTLINE" report without.flt --csv=without --raw-time >/dev/null
	python3 "$reference/compare_requests.py" without burst.-r1000.without.truth --lacks resolve || failed=1
}
