#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Whoever may read the emulator's binary may map it and call its probes, for thousands of devices that are not there.
# A recorder of root's sees root's machine as if nobody had, and counts every call that it turned away.
. "$(dirname "$0")/../e2e/lib.sh"

. "$root/tests/hostile/stranger/words.sh"

machine_ini 503 211
run_machine() {
	rm -f truth.jsonl
	check "a machine of root's runs" "$INJECT" run --truth truth.jsonl machine.ini
}
# Before the machine begins, and while it runs: 5003 devices, of which the kernel side would have room for some.
record_start || not_ok "a recorder" "$(cat record.err)"
knock_start 5003 1 "${nobody[@]}"
kill -CONT $knock_pid
knock_end
before=$calls
knock_start 5003 1000000 "${nobody[@]}"
kill -CONT $knock_pid
run_machine
kill -TERM $knock_pid
knock_end
record_end
read_account
equal "a stranger: every call was turned away" "$(total turned_away)" $((before + calls))
exact "a stranger"
equal "a stranger: nothing was lost, the recorder ends with" "$record_status" 0
equal "a stranger: so does the report" "$report_status" 0
equal "a stranger: the only emulated device" "$(awk -F, '$4 == "emulated" {print $1}' csv/devices.csv | xargs | head -c 99)" vm/disk
equal "a stranger: its I/Os" "$(total access_received)" 503
python3 "$root/tests/reference/compare_truth.py" csv truth.jsonl >verdict 2>&1
check "a stranger: every fault of the machine, and no other ($(grep -c '^ok' verdict) comparisons)" \
	bash -c "grep -q passed verdict && ! grep -q '^not ok' verdict"
check "the recorder says so" grep -q "^turned away: $((before + calls)) calls of probes by other users" record.err
"$FAULTLINE" report run.flt >text 2>&1
check "the report says so" bash -c "tr -s '\n ' ' ' <text | grep -q ' $((before + calls)) calls of probes by other users. processes turned away'"
equal "the report's JSON says so" "$("$FAULTLINE" report run.flt --json 2>/dev/null |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["turned_away"])')" $((before + calls))
"$FAULTLINE" top -b -i run.flt >top.text 2>&1
check "top says so" grep -q "Turned away: $((before + calls)) calls" top.text

# Root's own process that invents devices takes its share and no more; what found no room is lost, and counted.
# The machine beside has its slot, though it came later.
share=$(awk '$2 == "OWNER_DEVICES_MAX" {print $3}' "$root/bpf/state.h")
stages=$(printf 'fault_%s,' detect request isr handler resolved mapped response resume)io
record_start --kind "$stages" --ring-size 16M || not_ok "a recorder" "$(cat record.err)"
stay=yes knock_start $((share + 53)) 1
kill -CONT $knock_pid
wait_for 20 stopped $knock_pid
run_machine
# kept PID: of the recorder's slots of devices, by the kernel's own word: those that this process has, those that are
# taken, those that are said to be taken, and how many numbers of devices were ever given out.
kept() {
	/usr/bin/python3 - $record_pid "$1" <<'PY'
import glob, json, subprocess, sys
recorder, owner = map(int, sys.argv[1:])
def ask(*words):
    return json.loads(subprocess.run(["bpftool", "-j", "map", *words], capture_output=True, text=True, check=True).stdout)
def lines(path):
    try:
        return open(path).readlines()
    except FileNotFoundError: # closed meanwhile: no map
        return []
held = {int(line.split()[1]) for path in glob.glob(f"/proc/{recorder}/fdinfo/*")
        for line in lines(path) if line.startswith("map_id:")}
maps = {ask("show", "id", str(number)).get("name"): number for number in held}
owners = [int.from_bytes(bytes(int(byte, 16) for byte in entry["key"][4:8]), "little")
          for entry in ask("dump", "id", str(maps["devices"]))]
state = ask("dump", "id", str(maps["state"]))[0]["formatted"]["value"]
print(owners.count(owner), len(owners), state["slots"], state["devices"])
PY
}
slots() { kept "$1" | cut -d' ' -f1; }
returned() { [ "$(slots $knock_pid)" = 0 ]; }
read -r has taken said _ < <(kept $knock_pid)
equal "many devices: one that lives has its slots" "$has" "$share"
equal "many devices: as many slots are taken as are said to be" "$said" "$taken"
kill -CONT $knock_pid
knock_end
check "the slots of one that has ended are given back" wait_for 10 returned
record_end
read_account
exact "many devices"
equal "many devices: the share of one process" \
	"$(awk -F, -v pid=$knock_pid '$4 == "emulated" && $7 == pid' csv/devices.csv | wc -l)" "$share"
check "many devices: what found no room was lost ($(total lost))" test "$(total lost)" -gt 0
equal "many devices: of nobody was it turned away" "$(total turned_away)" 0
equal "many devices: the recorder ends with" "$record_status" 5
equal "many devices: the machine's I/Os" "$(total access_received)" 503
equal "many devices: the machine faulted under its name" \
	"$(awk -F, '$1 == "vm/disk" {print ($2 + 0 > 0)}' csv/summary.csv)" 1

# As many as there is room for, and one more: it gets none, nor a number. All of it comes back, and serves who comes then.
all=$(awk '$2 == "DEVICES_MAX" {print $3}' "$root/bpf/state.h")
record_start --kind fault_detect --ring-size 16M || not_ok "a recorder" "$(cat record.err)"
takers=()
for taker in $(seq 0 $((all / share))); do
	stay=yes knock_start "$share" 1
	kill -CONT $knock_pid
	wait_for 20 stopped $knock_pid || not_ok "process $taker calls"
	takers+=("$knock_pid")
done
equal "a full table: the last one's slots, and numbers of devices given out" "$(kept $knock_pid)" "0 $all $all $all"
for taker in "${takers[@]}"; do
	kill -CONT "$taker"
	wait "$taker"
done
empty() { [ "$(kept 0)" = "0 0 0 $all" ]; }
check "a full table: all of it comes back" wait_for 20 empty
stay=yes knock_start 61 1
kill -CONT $knock_pid
wait_for 20 stopped $knock_pid
equal "a full table: the next one's slots" "$(kept $knock_pid)" "61 61 61 $((all + 61))"
kill -CONT $knock_pid
wait $knock_pid
record_end
read_account
exact "a full table"
equal "a full table: whoever had a slot is in the recording" "$(awk -F, '$4 == "emulated"' csv/devices.csv | wc -l)" $((all + 61))
check "a full table: who had none is counted ($(total lost))" test "$(total lost)" -ge "$share"
finish
