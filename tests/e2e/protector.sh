#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The protector of a machine that runs: it decides as its policy does of the recording, its probes tell what it does, and
# nothing of it stays behind.
. "$(dirname "$0")/lib.sh"

cat >job.ini <<'INI'
[machine]
reclaim_percent = 94
reclaim_order = idle
reclaim_interval = 20ms
reclaim_scan = 20ms
[protector]
policy = adp
page = 4K
[tenant vm]
memory = 16M
count = 2
[device disk]
file_bytes = 4M
count = 2
[workload rounds]
pattern = random
sizes = 4K, 8K
buffer_bytes = 1M
rate = 600/s
duration = 1200ms
INI
adp='policy=adp page=4096 active=0.03 inactive=0.02 scan=50000000 promote_after=300000000 demote_after=50000000'
lru='policy=lru page=65536 lru=0.05 scope=tenant'

# sets KEY=VALUE...: as options of `run`, which read times with their unit.
sets() {
	local word
	for word; do
		case $word in
		scan=* | promote_after=* | demote_after=*) word+=ns ;;
		esac
		printf -- '--set\nprotector.%s\n' "$word"
	done
}

# compare EMULATOR "KEY=VALUE..." [OPTION...]: runs the job under record; the verdict is in "verdict".
compare() {
	local emulator=$1 keys options
	read -ra keys <<<"$2"
	mapfile -t options < <(sets "${keys[@]}")
	shift 2
	rm -f run.flt truth.jsonl run.csv
	"$FAULTLINE" record -q --as-root --emulator "$emulator" --kind io_complete,pin -o run.flt -- \
		"$emulator" run job.ini --truth truth.jsonl --csv=run.csv "${options[@]}" "$@" >run.out 2>run.err
	/usr/bin/python3 "$root/tests/reference/compare_pins.py" run.flt truth.jsonl memory=$((16 << 20)) "${keys[@]}" \
		>verdict 2>&1
}
cells_of() { for column; do cell_of "$column" run.csv; done | tr '\n' ' '; }

compare "$INJECT" "$adp"
adopt "adp"
equal "adp: nothing broke, nothing was lost, all is let go" \
	"$(cells_of violations errors accesses_lost pin_refused) $(($(cell_of pins run.csv) - $(cell_of unpins run.csv)))" "0 0 0 0  0"
check "adp: pages were pinned again and again" test "$(cell_of pins run.csv)" -gt 400
equal "adp: reports count what was pinned" "$("$FAULTLINE" report run.flt --table counts --csv 2>/dev/null |
	python3 -c '
import csv, sys
rows = [row for row in csv.DictReader(sys.stdin) if row["kind"] in ("page pinned", "page let go")]
print(*(sum(int(row["count"]) for row in rows if row["kind"] == event) for event in ("page pinned", "page let go")))')" \
	"$(cell_of pins run.csv) $(cell_of unpins run.csv)"
# Of 2% of each of two tenants of 16M, and of two devices each: 4% of all.
check "adp: no more was pinned than its caps allow" \
	python3 -c 'import sys; sys.exit(not 0 < float(sys.argv[1]) <= float(sys.argv[2]) <= 4)' \
	"$(cell_of pinned_mean_percent run.csv)" "$(cell_of pinned_max_percent run.csv)"

compare "$INJECT" "$lru"
adopt "lru of a tenant"

# Room for 5 pages of 64K in each tenant.
compare "$INJECT" "policy=static page=65536" --set vm.memlock=320K
adopt "static without room"
check "static without room: refused, counted and no error" test "$(cell_of pin_refused run.csv)" -gt 20
equal "static without room: what there was room for" "$(cells_of pins unpins pinned violations errors)" "10 10 160 0 0 "

for probe in pin unpin; do
	python3 "$root/tests/reference/delete_probe.py" "$INJECT" $probe "$scratch/mutant"
	compare "$scratch/mutant" "$adp"
	check "without the probe $probe: noticed" \
		bash -c 'grep -q "^not ok - .*the probes tell" verdict && grep -q "^ok - .*decides of the recording" verdict'
done

# Lost accesses are a choice, and counted.
rm -f run.csv
"$INJECT" run job.ini --csv=run.csv --set machine.access_log_buffers=2 --set machine.access_log_records=2 \
	--set machine.access_log_interval=50ms --set machine.access_log_wake=no >run.out 2>run.err
equal "a machine of few buffers runs: $(tail -n 1 run.err)" $? 0
check "most of its accesses are lost" test "$(cell_of accesses_lost run.csv)" -gt $(($(cell_of accesses run.csv) / 2))
check "not all" test "$(cell_of accesses_lost run.csv)" -lt "$(cell_of accesses run.csv)"

refused() { # NAME WHAT OPTION...
	local name=$1 what=$2
	shift 2
	"$INJECT" run job.ini "$@" >run.out 2>run.err
	equal "$name: exit code" $? 3
	check "$name: said" grep -q "$what" run.err
}
refused "pages of 4M" 'page=4M: accepted: up to 2M' --set protector.page=4M
refused "a buffer of one record" 'access_log_records=1: accepted: 0, or 2' --set machine.access_log_records=1
printf '[inject cold]\naction = evict\nwhat = idle\nduration = 1s\nrate = 100/s\npages = 3\n' >>job.ini
refused "what is idle where nobody looks" 'what=idle: accepted: with machine.reclaim_order=idle' \
	--set machine.reclaim_order=random
rm -f run.csv
"$INJECT" run job.ini --csv=run.csv --set machine.reclaim_percent=0 >run.out 2>run.err
equal "what is idle is evicted: $(tail -n 1 run.err)" "$? $(cells_of evict_missed violations)" "0 0 0 "
check "as often as it was to" test "$(cell_of evicted run.csv)" -gt 500

gone() { ! pgrep -f "$PWD/job.ini" >/dev/null; }
for signal in INT KILL; do
	"$INJECT" run "$PWD/job.ini" --set rounds.duration=600s --set cold.enabled=no >/dev/null 2>&1 &
	guardian=$!
	wait_for 20 sh -c "ls $FAULTLINE_RUN_DIR/*.machine >/dev/null 2>&1"
	sleep 0.6
	kill -$signal $guardian
	wait $guardian 2>/dev/null
	equal "exit code after SIG$signal, with pins" $? $([ $signal = INT ] && echo 7 || echo 137)
	wait_for 10 gone
	equal "SIG$signal leaves no process, and with it no pin" $? 0
done
finish
