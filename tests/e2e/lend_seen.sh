#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Emulated hosts that lend devices: what is recorded of them is what they did, by their truth log; a probe less is noticed.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
jobs=$root/tests/e2e/jobs
kinds=(--kind lend --kind iommu_map --kind iommu_unmap --kind io_complete --kind inject)

# record_jobs PREFIX PROGRAM: each job side by side, by a program and in a registry of its own: PREFIXlent.flt, PREFIXlent.truth, its tables
# in PREFIXlent/, and the same of stray. Kinds that are asked for by name come one by one, else counted.
record_job() {
	local asked=() name=$1$2
	[ "$2" != stray ] && asked=("${kinds[@]}")
	cp "$3" "inject-$2"
	FAULTLINE_RUN_DIR=$FAULTLINE_RUN_DIR.$2 "$FAULTLINE" record -o "$name.flt" "${asked[@]}" --emulator "$scratch/inject-$2" -- \
		"$scratch/inject-$2" run --truth "$name.truth" "$jobs/$2.ini" >"$name.out" 2>"$name.err"
	"$FAULTLINE" report --csv="$name" "$name.flt" >/dev/null 2>>"$name.err"
	rm -rf "$FAULTLINE_RUN_DIR.$2"
}
record_jobs() {
	record_job "$1" lent "$2" &
	record_job "$1" stray "$2"
	wait
	cat "$1lent.err" "$1stray.err" >run.err
}
compare() {
	python3 "$root/tests/reference/compare_lent.py" "$1.truth" "$1.flt" "$1" "${@:2}" >verdict 2>&1
}
lent=(disk@lender,shared@lender,passed@lender lender,user,user/guest,user/both,user/far yes)
stray=(disk@lender,shared@lender lender,user,other,user/asker no)

record_jobs "" "$INJECT"
compare lent "${lent[@]}"
adopt lent
equal "nothing is lost" "$(grep -c 'nothing lost' run.err)" 2
compare stray "${stray[@]}"
adopt stray
"$FAULTLINE" report lent.flt | paste -sd ' ' >lent.text
"$FAULTLINE" report stray.flt | paste -sd ' ' >stray.text
check "a link that went down is told with what vanished" grep -qE 'its link went down [0-9]+ times?; [0-9]+ writes? vanished' lent.text
check "refusals on a lent path are told" grep -q 'Faults on a lent data path: an IOMMU refused lender/disk' lent.text
check "stray DMA is told with its borrow and host" grep -qE 'Stray DMA: lender/disk, borrow [0-9]+, reached .* of memory of host [0-9]+' stray.text

# A host is killed while it is recorded: what it had told stays, the others' is all there.
record_job "" killed "$INJECT"
compare killed disk@lender,shared@lender lender,user,other,user/near,other/far yes killed=user
adopt killed
check "the killed host told no total" grep -q 'reported no total' killed.err

# Who mediates has no I/Os of its own, and nobody starves beside him.
cat >mediated.ini <<'INI'
[cluster]
dead = 30s
[host lender]
[host user]
[adapter la]
under = lender
[adapter ua]
under = user
[link cable]
between = la ua
[device disk]
under = lender
[target between]
host = lender
device = disk
initiator = user
ios = 211
INI
"$FAULTLINE" record -q -o mediated.flt --kind lend --emulator "$INJECT" -- "$INJECT" run mediated.ini >run.out 2>run.err
"$FAULTLINE" report --csv=mediated mediated.flt >mediated.text 2>&1
equal "a target is no user of its device" \
	"$(cut -d, -f1,3 mediated/clients.csv | paste -sd ' ') $(grep -c starved: mediated.text)" "client,ios user/between,211 0"

# A host's process does not run while its client tells it more than its ring holds: what is lost counts as lost events. The client
# never comes to an end by itself, so that nothing depends on when its host is stopped.
cat >full.ini <<'INI'
[cluster]
dead = 60s
timeout = 1h
[host lender]
memory = 32M
[device disk]
under = lender
size = 4M
[adapter la]
under = lender
[host user]
memory = 32M
[adapter ua]
under = user
[link cable]
between = la ua
[manager m]
host = lender
device = disk
[client c]
host = user
device = disk
ios = 1000000000000
INI
export FAULTLINE_RUN_DIR=$FAULTLINE_RUN_DIR.full
"$FAULTLINE" record -o full.flt --kind lend -- "$INJECT" run full.ini --csv=full.csv >/dev/null 2>full.err &
recorder=$!

# find_run: pids of what it runs: $lender, $user, $parent, $client. Machines say whose they are; the client is what is no machine.
find_run() {
	local hosts
	hosts=$(/usr/bin/python3 - "$FAULTLINE_RUN_DIR" <<-'PY'
		import glob, json, os, socket, sys
		for path in glob.glob(sys.argv[1] + "/*.machine"):
		    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as machine:
		        machine.connect(path)
		        name = json.loads(machine.recv(1 << 20))["devices"][0]["name"]
		    print(name.split("/")[0], os.path.basename(path).split(".")[0])
	PY
	) || return 1
	lender=$(awk '$1 == "lender" {print $2}' <<<"$hosts")
	user=$(awk '$1 == "user" {print $2}' <<<"$hosts")
	[ -n "$lender" ] && [ -n "$user" ] || return 1
	parent=$(ps -o ppid= -p "$user" | tr -d ' ')
	client=$(pgrep -P "$parent" | grep -vx -e "$lender" -e "$user")
	[ "$(wc -w <<<"$client")" -eq 1 ]
}
ticks() { awk '{print $14 + $15}' "/proc/$client/stat"; } # CPU time of the client, 1/100 s
has_worked() { [ "$(ticks)" -ge "$1" ]; }

# An I/O takes it some 15 us of CPU time, and the ring holds 8192 records: 8 times of that.
if wait_for 10 find_run && wait_for 10 has_worked 5 && kill -STOP "$user"; then
	wait_for 10 has_worked $(($(ticks) + 100)) || not_ok "the client goes on without its host" "$(ps -o pid,stat,args --ppid "$parent")"
	kill -KILL "$client"
	kill -CONT "$user"
else
	not_ok "the client has begun" "$(cat full.err; ps -eo pid,ppid,stat,args | grep '[f]ull.ini')"
	pkill -INT -P "$recorder"
fi
wait $recorder
"$FAULTLINE" report full.flt --csv=full >/dev/null 2>&1

# What the recorder's own rings had no room for, and the access log of a host that catches up, counts beside what the emulator lost.
/usr/bin/python3 - >full.account <<'PY'
import csv
def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
loss = {row["what"]: int(row["count"]) for row in rows("full/loss.csv") if row["count"]}
probes = {row["probe"]: {c: int(row[c] or 0) for c in ("hits", "emitted", "lost", "missed")} for row in rows("full/probes.csv")}
last = probes["lend_lost"]
own = last["hits"] - last["emitted"]
others = sum(probe["lost"] for name, probe in probes.items() if name != "lend_lost")
print("emulator", rows("full.csv")[0]["seen_lost"])
print("relayed", last["lost"] - own)
print("events", loss["lost"], last["lost"] + others)
print("ios", loss["access_received"] + loss["access_lost"] + loss["access_missed"], probes["lend_io"]["hits"] + probes["lend_io"]["missed"])
print("all", loss["lost"] + loss["missed"] + loss["access_lost"] + loss["access_missed"])
PY
account() { awk -v what="$1" -v column="$2" '$1 == what {print $column}' full.account; }
lost=$(account emulator 2)
check "a ring that is full loses" [ "${lost:-0}" -gt 0 ]
equal "and the recording knows how many were lost there" "$(account relayed 2)" "$lost"
equal "beside them it has lost what its own probes found no room for" "$(account events 2)" "$(account events 3)"
equal "of each I/O that came through there is an access record, or it counts as lost" "$(account ios 2)" "$(account ios 3)"
check "it says how many in all" grep -qF ", $(account all 2) lost: numbers are floors (events were lost" full.err
equal "so does JSON" "$("$FAULTLINE" report full.flt --json 2>/dev/null | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["lost"])')" \
	"$(account all 2)"

# Without one half of the probes that half is missed, and nothing else; then the other.
probes=$(readelf -n "$INJECT" | awk '/Provider: faultline/ {getline; print $2}' | sort -u |
	grep -E '^(lend_.*|window_.*|requester_.*|link_state|path_state|client_state|failover|stray_dma|interrupt_relay|multicast|adapter_state)$' | grep -vx lend_lost)
equal "all probes are found" "$(wc -w <<<"$probes")" 20
for half in 0 1; do
	gone=$(awk -v half=$half 'NR % 2 == half' <<<"$probes")
	cp "$INJECT" mutant
	for probe in $gone; do
		python3 "$root/tests/reference/delete_probe.py" mutant "$probe" mutant.next && mv mutant.next mutant
	done
	chmod +x mutant
	record_jobs mutant-$half- "$scratch/mutant"
	for job in lent stray; do
		names=$job[@]
		compare mutant-$half-$job "${!names}" "$(paste -sd , <<<"$gone")"
		tail -n 1 verdict
	done >missed
	equal "half $half of the probes is missed, and no other" "$(tr ' ' '\n' <missed | grep . | sort -u | paste -sd ' ')" \
		"$(sort -u <<<"$gone" | paste -sd ' ')"
done
finish
