# SPDX-License-Identifier: GPL-2.0
# Page requests that end otherwise: nobody's PASID, pages that are not there or may not be written, a
# queue that overflows, processes and devices that go while requests wait, answers held back.
# sample: new
# cpus: 2
# own modules: faultline_device
# disabled: iopf_handler

# raise WHAT OPTION...: its counters are in WHAT.csv, summed over devices; its log is a truth.
raise() {
	local what=$1
	shift
	rm -f "$what.csv"
	faultline-inject iopf "$what" -p 2 -d 0 -d 1 --wait 60s "$@" --csv="$what.csv" \
		--truth "$results/$what.${without:+without.}truth" >inject.out 2>&1 ||
		not_ok "$what $*" "$(tail -n 3 inject.out)"
}

setup() {
	load faultline_device
}

workload() {
	raise bad-pasid -r 31 -g 1-3 -G 8
	raise read-only -r 37 -g 1-3 -G 8
	raise unmapped -r 41 -g 1-3 -G 8
	raise unmap -r 43 -g 1-3
	raise exit -r 47 -g 1-3
	raise withhold -r 53 -g 1-3 -G 32 --timeout 100ms
	raise flood -r 409 -g 1-8 --queue 64
	keep ./*.csv
}

# counted COLUMN: over all that was done.
counted() { sum_of "$1" ./*.csv; }

check() {
	equal "events lost" "$(column loss count what lost)" 0
	equal "reports" "$(hits iopf_report)" "$(counted reported)"
}

teardown() {
	faultline-inject iopf unplug >inject.out 2>&1 || not_ok "unplug" "$(cat inject.out)"
	unload faultline_device
}

host() {
	local what truths=
	for what in bad-pasid read-only unmapped unmap exit withhold flood; do
		truths+=" $what.truth"
	done
	"$FAULTLINE" report run.flt --csv=tables --raw-time >/dev/null
	"$FAULTLINE" report run.flt 2>&1 | tr '\n' ' ' | tr -s ' ' | grep -q " discarded after a page request queue overflowed" ||
		not_ok "the answer tells of the overflow" "$("$FAULTLINE" report run.flt 2>&1 | head -n 12)"
	# shellcheck disable=SC2086
	python3 "$reference/compare_requests.py" tables $truths --no-timing --discards || failed=1
}
