#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Live numbers equal the recording's: what `top` showed last is what a replay of the recording it
# made ends with, and what `report` says of it.
. "$(dirname "$0")/lib.sh"

# ended NAME STATUS FILE: well, else what it said, and what the recording has to say of a loss. CPU page faults of
# all the host's processes are counted: where top is held up for seconds while thousands of them come and go, the
# counters run out, and that is all that may be said, and takes nothing from what is compared here.
ended() {
	local why processes
	[ "$2" -eq 0 ] && ok "$1" && return
	why=$(sed -n 's/^faultline: counts are floors: //p' "$3")
	processes=$("$FAULTLINE" report live.flt --csv=- --table counts 2>/dev/null | grep -c '^CPU page fault,')
	if [ "$2 $why" = "5 counting ran out of counters" ] && [ "$processes" -ge 1000 ]; then
		ok "$1, and tells that $processes processes used up the counters"
	else
		not_ok "$1" "exit $2: $(paste -sd' ' "$3"); $processes processes; $("$FAULTLINE" report live.flt \
			--csv=- --table loss 2>/dev/null | grep -v ',0$' | paste -sd' ')"
	fi
}

intervals() { awk -F, '$2 == "all" { n++ } END { print n + 0 }' live.csv; }
more_intervals() { [ "$(intervals)" -ge "$1" ]; }
"$FAULTLINE" top -b --csv --since-start -o live.flt 1 >live.csv 2>top.err &
top=$!
wait_for 20 more_intervals 1
"$INJECT" run "$root/tests/e2e/jobs/mutation.ini" >/dev/null 2>run.err
# One that began behind the machine's end is over.
wait_for 10 more_intervals $(($(intervals) + 2))
kill -INT $top
wait $top
ended "top ended well" $? top.err
"$FAULTLINE" top -b --csv --since-start -i live.flt >replay.csv 2>replay.err
ended "the replay ended well" $? replay.err
# A window that holds the whole recording must give the same percentiles, by other code.
"$FAULTLINE" top -b --csv --window 1h -i live.flt >window.csv 2>window.err
ended "the replay of a window ended well" $? window.err
"$FAULTLINE" report live.flt --csv=tables >/dev/null 2>report.err

python3 - >verdict <<'PY'
import csv

def last(path):
    """The last row of each device that ever faulted."""
    rows = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            rows[row["device"]] = row
    return {name: row for name, row in rows.items() if row.get("faults", "0") not in ("", "0")}

live, replay, window = last("live.csv"), last("replay.csv"), last("window.csv")
# Totals since the start; rates belong to an interval and intervals begin elsewhere.
totals = ("faults", "p50_ns", "p99_ns", "max_ns", "slowest", "unfinished", "inconsistent",
          "overflowed", "discarded", "abandoned", "bursts", "footprint_bytes", "ios")
print("devices", len(live), len(replay))
for name in sorted(live.keys() | replay.keys()):
    for column in totals:
        # The host's disks go on behind the last interval that was asked for; no device that faults does.
        if (name, column) == ("all", "ios"):
            continue
        a, b = live.get(name, {}).get(column), replay.get(name, {}).get(column)
        print("same" if a == b and a is not None else "differs", name, column, a, b)
        b = window.get(name, {}).get(column)
        print("same" if a == b and a is not None else "differs", "window", name, column, a, b)
with open("tables/stages.csv", newline="") as file:
    for row in csv.DictReader(file):
        if (row["stage"], row["queue"], row["kind"]) == ("total", "", "all") and (
                row["device"] in live and row["device"] != "all"):
            for column in ("p50_ns", "p99_ns", "max_ns"):
                a = live[row["device"]][column]
                print("same" if a == row[column] else "differs", "report", row["device"], column,
                      a, row[column])
PY
if [ "$(grep -c '^same' verdict)" -ge 98 ]; then
	ok "$(grep -c '^same' verdict) numbers of $(sed -n 's/^devices //p' verdict) devices compared"
else
	not_ok "numbers compared" "$(head -n 3 verdict live.csv)"
fi
if grep -q '^differs' verdict; then
	not_ok "live and recorded numbers are the same" "$(grep '^differs' verdict | head -n 5)"
else
	ok "live and recorded numbers are the same"
fi
finish
