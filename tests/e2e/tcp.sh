#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What TCP sends again against the counters of the namespaces where it does: of all of the host, of an emulated
# machine's networks and of nothing else, of nobody.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

make -s -C "$root" build/tests/lab/programs/tcp_loss >/dev/null || not_ok "tcp_loss" "does not build"
cp "$root/build/tests/lab/programs/tcp_loss" bin
loss=$scratch/bin/tcp_loss
compare() { check "$1" /usr/bin/python3 "$root/tests/reference/compare_tcp.py" "${@:2}"; }
record() { "$FAULTLINE" record --as-root -o "$1.flt" "${@:2}" >"$1.made" 2>"$1.err"; }
state_of() { "$FAULTLINE" report "$1.flt" --csv=- --table probes 2>/dev/null | awk -F, -v probe="$2" '$1 == probe {print $2}'; }

# A host may leave a tracepoint out that a timer's interrupt comes to, about once in a thousand, in which its counters
# count all the same. It is no fault of the programs: two recorders at once lack the same event, neither has run for
# it (`hits`), the kernel has skipped none of their runs (`missed`) and no ring was full (`lost`). Nothing tells of
# it. In the guest kernels of the lab (scenario tcp) it is never tried again.
# exactly NAME TEXT [COMPARE-OPTION] -- OPTION...
exactly() {
	local name=$1 text=$2 options=() try
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	for try in 1 2 3 4; do
		record "$name" --force "$@"
		equal "$text: exit code" $? 0
		/usr/bin/python3 "$root/tests/reference/compare_tcp.py" "$name.flt" "$name.made" "${options[@]}" >"$name.compared" && break
		[ $try -lt 4 ] && retried "$text" "$(head -3 "$name.compared" | tr '\n' ' ')"
	done
	compare "$text: as its counters say" "$name.flt" "$name.made" "${options[@]}"
}

exactly host "all of the host" -- --tcp --kind tcp -- "$loss"

# Another, which is no machine, at the same time: what it does is nobody's.
while [ ! -e enough ]; do "$loss" --short >/dev/null; done &
exactly machine "a machine" --machine -- --kind tcp,nic,fault -- "$loss" --machine
touch enough
wait $!
exactly device "the device that was asked for" --machine -- -d 'vm/net' --kind tcp,nic,fault -- "$loss" --short --machine

# Flows in a flight recorder's segments.
record kept --tcp --kind tcp --keep 1h -- "$loss" --short
"$FAULTLINE" report kept.flt --csv=- --table events 2>/dev/null >events.csv
check "a flight recorder has them" grep -q '^TCP retransmission,' events.csv

record unasked --kind tcp -- "$loss" --short
compare "nobody asked" unasked.flt unasked.made --nothing
equal "and no program was attached for it" "$(state_of unasked tcp_retransmit)" off
check "and says why, and nothing else" grep -q 'tcp_retransmit,off.*,"no emulated machine has a network, and the host.s was not asked for (--tcp)",$' <("$FAULTLINE" report unasked.flt --csv=- --table probes 2>/dev/null)

record filtered -d 'vm/other' --kind tcp -- "$loss" --short --machine
compare "another device was asked for" filtered.flt filtered.made --nothing
equal "and no program was attached for it either" "$(state_of filtered tcp_retransmit)" off
record kinds --kind tcp_error -- "$loss" --short --machine
equal "another kind was: not attached" "$(state_of kinds tcp_retransmit)" "not asked"
equal "this kind was" "$(state_of kinds tcp_error)" on

record left --tcp --disable-probe tcp_retransmit -- "$loss" --short
check "a report says what is missing" grep -q 'what TCP sent again is not known' <("$FAULTLINE" report left.flt 2>/dev/null | tr '\n' ' ')
# One probe less, and what is told differs.
for probe in tcp_retransmit tcp_synack tcp_state tcp_error; do
	record "no-$probe" --tcp --kind tcp --disable-probe "$probe" -- "$loss"
	/usr/bin/python3 "$root/tests/reference/compare_tcp.py" "no-$probe.flt" "no-$probe.made" >"no-$probe.compared" 2>&1
	check "without $probe the comparison fails" grep -q '^not ok' "no-$probe.compared"
done

"$FAULTLINE" top --tcp -b 300ms 2 >top.out 2>top.err
equal "top --tcp: exit code" $? 0
finish
