#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# `make demo` tells a story that is true: its objective breaks, the faults behind it are those of its slow storage, and
# the page and the trace that it leaves are there.
. "$(dirname "$0")/lib.sh"

mkdir left
FAULTLINE=$FAULTLINE INJECT=$INJECT "$root/dashboards/demo.sh" "$scratch/left" >out 2>err
equal "the demo ends well" $? 0
chapters=$(grep '^== ' out)
equal "it has its chapters" "$(wc -l <<<"$chapters")" 5
check "the objective is violated" grep -q 'gold .* VIOLATED' out
check "a violation names the stage of the slow storage" grep -qzE 'I/Os overlapped [0-9]+ fault[^.]*resolve\s+took' out
check "by most of the seconds that were broken" python3 - left/demo/violations.csv <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
slow = [row for row in rows if row["stage"] == "resolve"]
assert len(slow) >= 2 and all(int(row["faults"]) for row in slow), rows
PY
# told CHAPTER: its lines.
told() { awk -v chapter="== $1" '/^== /{on = index($0, chapter) == 1} on' out; }
check "faults that broke it are shown stage by stage" grep -qE '^  resolve +[3-9][0-9.]+ms' <(told 'The faults that broke it')
check "the longest is explained by the injection" grep -qi 'inject' <(told 'The longest of them')
check "the page is there" grep -qi '<!doctype html' left/demo/demo.html
check "the trace is there" test -s left/demo/demo.pftrace
for name in stages rate latency-cdf footprint; do
	check "plot $name is there" test -s "left/demo/$name.png"
done
equal "within 80 columns" "$(awk 'length > 80' out)" ""
check "what is left is named" grep -q 'demo/demo.html' out
finish
