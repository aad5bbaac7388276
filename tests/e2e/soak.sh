#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A machine that faults all the time under a flight recorder and a live view: memory stays flat,
# the recording stays within its bound, nothing is lost. SOAK_SECONDS says how long (60).
. "$(dirname "$0")/lib.sh"

seconds=${SOAK_SECONDS:-60}
bound=$((4 << 20))

sed "s/^duration = .*/duration = ${seconds}s/" "$root/tests/e2e/jobs/everything.ini" >soak.ini
"$FAULTLINE" record --keep 20s --max-size 4M -o soak.flt 2>record.err &
recorder=$!
wait_for 20 grep -q recording record.err || not_ok "the recorder started" "$(cat record.err)"
"$FAULTLINE" top -b 1 >top.out 2>top.err &
top=$!
"$INJECT" run soak.ini >run.out 2>run.err &
guardian=$!
wait_for 10 pgrep -P $guardian || not_ok "the machine started" "$(cat run.err)"
machine=$(pgrep -P $guardian | head -n 1)

resident() { awk '/^VmRSS/ {print $2}' "/proc/$1/status" 2>/dev/null; }
: >memory.csv
over=0
while kill -0 $guardian 2>/dev/null; do
	echo "$SECONDS,$(resident $recorder),$(resident $top),$(resident "$machine")" >>memory.csv
	size=$(du -cb soak.flt* 2>/dev/null | awk 'END {print $1}')
	[ "${size:-0}" -le $((bound + 65536)) ] || over=$((over + 1))
	sleep 0.5
done
wait $guardian
equal "the machine ended well" $? 0
kill -INT $recorder $top
wait $recorder
equal "nothing was lost" $? 0
wait $top

# The first quarter warms tables and caches up; after it the median must not creep.
python3 - >verdict <<'PY'
import statistics
rows = [line.strip().split(",") for line in open("memory.csv")]
rows = [[int(cell) for cell in row] for row in rows if all(row)]
quarter = len(rows) // 4
for number, name in enumerate(("recorder", "top", "machine"), 1):
    early = statistics.median(row[number] for row in rows[quarter:2 * quarter])
    late = statistics.median(row[number] for row in rows[-quarter:])
    flat = late <= early * 1.05 + 1024
    print("flat" if flat else "grows", name, f"{early:.0f} KiB, then {late:.0f} KiB")
PY
while read -r how what; do
	if [ "$how" = flat ]; then ok "memory of $what"; else not_ok "memory of $what"; fi
done <verdict
[ "$(wc -l <verdict)" -eq 3 ] || not_ok "memory was sampled" "$(tail -n 2 memory.csv)"
equal "samples in which the flight recorder was over its bound" $over 0
"$FAULTLINE" report soak.flt >report.out 2>report.err
status=$?
if [ $status -eq 0 ] && grep -q 'faulted' report.out; then
	ok "its last seconds can be reported"
else
	not_ok "its last seconds can be reported" "exit $status: $(head -n 2 report.err)"
fi
finish
