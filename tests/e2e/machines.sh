#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Machines that are short, many, or not met at all: what they produced, by their own results, is what the
# recording says was received, lost or missed, exactly; and what was missed is said.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

machine='[tenant vm]\nmemory = 4M\n[device disk]\nfile_bytes = 2M\n[workload w]\nsizes = 4K\n'
printf "${machine}count = 20\n" >short.ini
printf "${machine}count = 101\nrate = 5/s\n" >long.ini
printf "${machine}duration = 60s\nrate = 97/s\n" >endless.ini
{ cat short.ini; printf '[sweep]\nsizes = w.sizes: 4K, 8K, 16K\ndepth = w.depth: 1, 2, 3, 4, 5, 6, 7\n'; } >sweep.ini

cat >one-by-one <<'END'
for i in $(seq 60); do "$1" run short.ini --csv >result.$i 2>out.$i || echo "$i: $(cat out.$i)" >>failed; done
END
cat >at-once <<'END'
for i in $(seq 90); do "$1" run long.ini --csv >result.$i 2>out.$i || echo "$i: $(cat out.$i)" >>failed & done
# How many there were at once.
most=0
while [ -n "$(jobs -r)" ]; do
	there=("$FAULTLINE_RUN_DIR"/*.machine)
	[ ${#there[@]} -gt "$most" ] && most=${#there[@]}
	sleep 0.1
done
echo "$most" >most
wait
END
# Each that begins asks the others whether they live, which is not an observer's visit.
cat >together <<'END'
for i in $(seq 29); do "$1" run short.ini --csv >result.$i 2>out.$i || echo "$i: $(cat out.$i)" >>failed & done
wait
END
cat >sweep <<'END'
"$1" run sweep.ini --csv >result.1 2>out.1 || cat out.1 >>failed
END

produced() { sum_of ios result.*; }

# account NAME IOS: after a recording: the identity holds, and received is what the tables count.
account() {
	local received lost missed
	read_account
	received=$(total access_received) lost=$(total access_lost) missed=$(total access_missed)
	equal "$1: the machines' own results" "$(produced)" "$2"
	equal "$1: received + lost + missed is what they produced" "$((received + lost + missed))" "$2"
	equal "$1: no machine kept its total to itself" "$(total machines_unknown)" 0
	if [ $((lost + missed)) -gt 0 ]; then
		equal "$1: the recorder ends with 5" "$record_status" 5
		equal "$1: the report ends with 5" "$report_status" 5
		check "$1: and says why" grep -q 'floors: .*\(machines were not met\|access records were lost\)' report.err
	else
		equal "$1: the recorder ends with 0" "$record_status" 0
		equal "$1: the report ends with 0" "$report_status" 0
	fi
}

# under_record NAME IOS
under_record() {
	rm -f result.* failed
	"$FAULTLINE" record --force -o run.flt -- bash "$1" "$INJECT" 2>record.err
	record_status=$?
	if [ -e failed ]; then not_ok "$1: every machine runs" "$(head -n 3 failed)"; else ok "$1: every machine runs"; fi
	account "$1" "$2"
}

under_record one-by-one 1200
under_record at-once 9090
equal "at-once: more than 64 machines at once" "$(($(cat most) > 64))" 1
equal "at-once: more than 64 were watched at once" "$(($(total access_received) > 64 * 101))" 1
under_record together 580
equal "together: machines that were not met" "$(total machines_missed)" 0
equal "together: I/Os that were missed" "$(total access_missed)" 0
under_record sweep 420

# A recorder that is stopped meets nobody: nothing is received, and every I/O is counted.
rm -f result.* failed
record_start || not_ok "a recorder" "$(cat record.err)"
kill -STOP "$record_pid"
for i in 1 2 3 4 5; do "$INJECT" run short.ini --csv >result.$i 2>out.$i || not_ok "machine $i" "$(cat out.$i)"; done
kill -CONT "$record_pid"
record_end
account stopped 100
equal "stopped: machines that were not met" "$(total machines_missed)" 5
equal "stopped: their I/Os are missed" "$(total access_missed)" 100
"$FAULTLINE" report run.flt >text 2>&1
check "stopped: the report says so" grep -q '5 emulated machines not met' text

# One that is killed tells no total: that is said, too.
record_start || not_ok "a recorder" "$(cat record.err)"
"$INJECT" run endless.ini >/dev/null 2>&1 &
machine=$!
wait_for 10 bash -c "ls $FAULTLINE_RUN_DIR/*.machine"
sleep 0.3
kill -KILL "$(basename "$(ls "$FAULTLINE_RUN_DIR"/*.machine)" .machine)"
wait "$machine" 2>/dev/null
sleep 0.3
record_end
read_account
equal "killed: the recorder ends with 5" "$record_status" 5
equal "killed: one machine reported no total" "$(total machines_unknown)" 1
equal "killed: it was met, and that is what is said" "$(grep -o 'floors: [^.]*' report.err)" "floors: emulated machines reported no total of their I/Os"

# One of another run directory: its faults are seen, its I/Os are not, and that is said.
cat >stranger.ini <<'END'
[tenant vm]
memory = 8M
[device disk]
queues = 1
[workload mix]
rate = 1009/s
duration = 400ms
[inject cold]
action = evict
pages = 8
rate = 23/s
duration = 400ms
END
mkdir -m 700 elsewhere
# stranger OPTION...: the machine as the recorder's command, and what the recording says of it.
stranger() {
	rm -rf stranger.truth*
	"$FAULTLINE" record --force -o run.flt "$@" -- env FAULTLINE_RUN_DIR="$PWD/elsewhere" \
		"$INJECT" run stranger.ini --truth stranger.truth >/dev/null 2>record.err
	record_status=$?
	read_account
	requests=$(grep -ch '"what": *"request"' stranger.truth*)
}
stranger
equal "a stranger: its faults are seen" "$(($(wc -l <csv/faults.csv) - 1 > 20))" 1
equal "a stranger: none of its I/Os is" "$(total access_received)" 0
equal "a stranger: it is counted" "$(total machines_unknown) $(total machines_missed)" "1 0"
equal "a stranger: the recorder ends with 5" "$record_status" 5
equal "a stranger: the report says why" "$(grep -o 'floors: [^.]*' report.err)" "floors: emulated machines reported no total of their I/Os"
# The one probe that counts them sees it first: that is no request. What is not asked for is not missed.
without=()
for probe in invalidate_start invalidate_device invalidate_ack invalidate_freed fault_request fault_isr fault_handler; do
	without+=(--disable-probe "$probe")
done
stranger -d 'nic*' "${without[@]}"
check "a stranger left out: there were requests" test "$requests" -gt 20
equal "a stranger left out: its requests are counted" "$(total filtered)" "$requests"
equal "a stranger left out: nothing is missed" "$record_status $(total machines_unknown)" "0 0"

# Whatever file it runs, and since when that is there: no fault comes before its probes are attached. None of
# the memory is mapped at first: those are many which come in the first moment.
cat >cold.ini <<'END'
[machine]
premap = no
[tenant vm]
memory = 8M
[device disk]
file_bytes = 8M
[workload w]
rate = 5000/s
count = 1009
END
other() {
	rm -f cold.truth run.flt
	"$FAULTLINE" record -q --force -o run.flt "$@" --truth cold.truth >/dev/null 2>record.err
	other_status=$?
	"$FAULTLINE" report run.flt --csv=csv --force 2>report.err
	other_faults=$(($(wc -l <csv/faults.csv) - 1))
	equal "$other_name: its faults are all there" "$other_status $other_faults" "0 $(grep -c '"what": *"detect"' cold.truth)"
	check "$other_name: there were faults" test "$other_faults" -gt 500
}
cp "$INJECT" copied
other_name="a machine of another file" other -- ./copied run ./cold.ini
cat >upgrade <<'END'
sleep 0.3; cp "$1" new && mv new "$2" && exec "$2" run ./cold.ini --truth "$4"
END
cp "$INJECT" upgraded
other_name="a machine whose file was replaced" other --emulator ./upgraded -- sh upgrade "$INJECT" ./upgraded

# A recorder without an emulator of its own says since when it watches: before the first fault, not a second later.
mkdir alone && cp "$FAULTLINE" alone/faultline
alone/faultline record -q --force -o run.flt -- ./copied run ./cold.ini >/dev/null 2>record.err
"$FAULTLINE" report run.flt --csv=csv --force 2>/dev/null
equal "probes that came with a machine: since when is told, and no fault is before" "$(python3 - <<'END'
import csv
since = [row["since"] for row in csv.DictReader(open("csv/probes.csv")) if row["since"]]
first = min(row["start"] for row in csv.DictReader(open("csv/faults.csv")))
print(len(since) > 10, max(since) <= first)
END
)" "True True"

# What a recorder that was killed leaves goes with the next machine.
record_start || not_ok "a recorder" "$(cat record.err)"
kill -KILL "$record_pid"
wait "$record_pid" 2>/dev/null
"$INJECT" run short.ini >/dev/null 2>&1
equal "nothing is left in the run directory" "$(ls -A "$FAULTLINE_RUN_DIR")" ""
finish
