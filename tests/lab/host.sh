#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs a scenario's part on the host, in the directory of what came out of the guest:
# host.sh SCENARIO KERNEL. Recordings are analyzed here, where it costs nothing.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
FAULTLINE=${FAULTLINE:-$root/faultline}
reference=$root/tests/reference
# The distribution's Python has the modules that tests/setup.sh installs.
PATH=/usr/bin:$PATH
failed=0

ok() { echo "ok - $1"; }
not_ok() {
	failed=$((failed + 1))
	echo "not ok - $1${2:+: $2}"
}
equal() {
	if [ "$2" = "$3" ]; then
		ok "$1 ($2)"
	else
		not_ok "$1" "got '$2', expected '$3'"
	fi
}

# top_is_report VIEW TABLE: what a replay ends with is what `report` says of the same recording.
top_is_report() {
	local said
	rm -rf tables.host
	"$FAULTLINE" top -i run.flt --view "$1" --since-start --csv >"top-$1.csv" &&
		"$FAULTLINE" report run.flt --csv=tables.host >/dev/null
	# A mean rate of all of it is a column of the report's; the last interval's is the view's.
	if said=$(python3 "$reference/compare_top.py" "top-$1.csv" "tables.host/$2.csv" 2>&1); then
		ok "view $1 of top is the report's table $2 ($said)"
	else
		not_ok "view $1 of top is the report's table $2" "$said"
	fi
}

kernel=$2
. "$1"
host
[ "$failed" -eq 0 ]
