# SPDX-License-Identifier: GPL-2.0
# Words of suites in which a stranger calls the emulator's probes (tests/lab/programs/knock.c): the calls, a
# machine beside them, and the account of it all. Sourced behind tests/e2e/lib.sh.

make -s -C "$root" build/tests/lab/programs/knock >/dev/null || not_ok "knock is built"
cp "$root/build/tests/lab/programs/knock" bin
chmod 755 . bin bin/knock bin/faultline*
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)

# machine_ini COUNT FAULTS: a machine of COUNT I/Os in a second, and FAULTS evictions.
machine_ini() {
	cat >machine.ini <<END
[tenant vm]
memory = 4M
[device disk]
file_bytes = 2M
[workload w]
sizes = 4K
count = $1
rate = $1/s
[inject cold]
action = evict
what = next
rate = $2/s
duration = 1s
END
}

# knock_start DEVICES ROUNDS [AS...]: who waits to be let go (kill -CONT $knock_pid), then calls all sites, and
# with stay=yes waits once more.
knock_start() {
	"${@:3}" "$scratch/bin/knock" "$INJECT" "$1" "$2" ${stay:+stay} >knock.out 2>knock.err &
	knock_pid=$!
	wait_for 10 stopped $knock_pid || not_ok "a stranger" "$(cat knock.err)"
}
# knock_end: how many calls it made, in $calls.
knock_end() {
	wait $knock_pid || not_ok "the stranger calls" "$(cat knock.err)"
	calls=$(tail -n 1 knock.out)
}

# What user space tells of groups, access logs, live mappings and devices that have gone comes through no ring.
not_from_rings="($(sed -nE 's/^EVENT_KIND\((FAULT_UNFINISHED|IO_COMPLETE|DEVICE_GONE|DMA_LIVE), ([0-9]+),.*/\2,/p' "$root/bpf/event_kinds.def" | xargs))"
# exact NAME: the account holds, and is that of the file's own events.
exact() {
	equal "$1: received + lost + missed + turned away is what was produced" \
		$(($(total received) + $(total lost) + $(total missed) + $(total turned_away))) "$(total produced)"
	equal "$1: received is what the file holds" "$(total received)" "$(/usr/bin/python3 - <<PY
import sys
sys.path.insert(0, "$root/tests/reference")
import flt_read
print(sum(name == "event" and fields[10] not in $not_from_rings for name, fields in flt_read.read("run.flt")))
PY
)"
}
