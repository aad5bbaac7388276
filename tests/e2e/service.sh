#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# faultline-recorder.service: what the unit says, held by systemd's own programs; its very command with the rights
# that it gives; what doctor says of these. FACE=full: in guests with a real systemd (tests/guest).
. "$(dirname "$0")/lib.sh"

packaging=$root/packaging
unit=$packaging/faultline-recorder.service
full=$packaging/faultline-recorder.service.d/full.conf

# The unit as systemd reads it; its program is where ours is.
mkdir units
as_here() { sed "s#/usr/bin/faultline#$FAULTLINE#" "$unit"; }
as_here >units/faultline-recorder.service
verify() { systemd-analyze verify --man=no --recursive-errors=no "$PWD/units/faultline-recorder.service"; }
check "systemd-analyze verify" verify
equal "and says nothing" "$(verify 2>&1)" ""
exposure() { systemd-analyze security --no-pager --offline=true --threshold=20 "$1"; }
check "systemd-analyze security: under 2" exposure units/faultline-recorder.service
mkdir units/faultline-recorder.service.d
cp "$full" units/faultline-recorder.service.d
equal "systemd-analyze verify: full.conf" "$(SYSTEMD_UNIT_PATH=$PWD/units: verify 2>&1)" ""
rm -r units/faultline-recorder.service.d

# Lines that nothing else here would miss.
while IFS= read -r line; do
	equal "the unit has $line" "$(grep -cxF "$line" "$unit")" 1
done <<'LINES'
User=_faultline
Group=_faultline
StateDirectory=faultline
StateDirectoryMode=0750
UMask=0077
AmbientCapabilities=CAP_BPF CAP_PERFMON
CapabilityBoundingSet=CAP_BPF CAP_PERFMON
NoNewPrivileges=yes
Restart=always
StartLimitIntervalSec=0
RestartPreventExitStatus=2 4
SuccessExitStatus=5
CPUQuota=50%
MemoryMax=512M
MemorySwapMax=0
TasksMax=16
LimitFSIZE=1G
LimitCORE=0
LINES
# Each of these closes something: without it systemd counts more that is open.
exposed() { systemd-analyze security --no-pager --offline=true --json=short "$1" | jq '[.[] | select(.set == false)] | length'; }
whole=$(exposed units/faultline-recorder.service)
for name in ProtectSystem ProtectHome PrivateTmp PrivateDevices ProtectClock ProtectControlGroups ProtectHostname \
	ProtectKernelLogs ProtectKernelModules ProtectKernelTunables PrivateMounts RestrictNamespaces RestrictRealtime RestrictSUIDSGID \
	LockPersonality MemoryDenyWriteExecute NoNewPrivileges KeyringMode RestrictAddressFamilies IPAddressDeny \
	SystemCallArchitectures SystemCallFilter CapabilityBoundingSet User UMask; do
	grep -v "^$name=" units/faultline-recorder.service >units/less.service
	without=$(exposed units/less.service)
	case $name in
	# These are in what others of the unit imply: their own line is counted.
	PrivateMounts | KeyringMode | ProtectClock | NoNewPrivileges | PrivateDevices) equal "the unit has $name" "$(grep -c "^$name=" "$unit")" 1 ;;
	*) between "without $name more is open" "$without" $((whole + 1)) 99 ;;
	esac
done
for name in PrivateIPC DevicePolicy RemoveIPC OOMPolicy OOMScoreAdjust CPUWeight IOWeight MemoryHigh SystemCallErrorNumber; do
	equal "the unit has $name" "$(grep -c "^$name=" "$unit")" 1
done
equal "full.conf has what is needed, and no more" "$(sed -n 's/^\(Ambient\|Bounding\)[A-Za-z]*=//p; s/^CapabilityBoundingSet=//p' "$full" | sort -u)" \
	"CAP_SYS_ADMIN CAP_SYSLOG CAP_SYS_PTRACE"
mkdir -p system/etc
check "systemd-sysusers makes its user" systemd-sysusers --root="$PWD/system" "$packaging/faultline.sysusers"
equal "a system's user without a shell" "$(awk -F: '{ print $1, ($3 < 1000), $7 }' system/etc/passwd)" "_faultline 1 /usr/sbin/nologin"

# Its command, as nobody with the rights of the unit and no others; a smaller bound is reached here.
chmod 755 "$scratch"
mkdir state
chown 65534:65534 state
rights=$(sed -n 's/^AmbientCapabilities=//p' "$unit" | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
equal "two rights" "$rights" +bpf,+perfmon
with() { # RIGHTS COMMAND...
	local rights=$1
	shift
	${run:-} setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all,"$rights" --inh-caps="$rights" \
		--ambient-caps="$rights" "$@"
}
read -ra line < <(as_here | sed -n 's/^ExecStart=//p' | sed "s#\${STATE_DIRECTORY}#$PWD/state#; s/ \$FAULTLINE_RECORD//; s/--max-size 1G/--max-size 1M/")
options=$(sed -n 's/^Environment="FAULTLINE_RECORD=\(.*\)"/\1/p' "$unit")
equal "the unit's own options" "$options" "--trigger total>100ms --snapshots-size 256M"
serve_start() { # NAME OPTION...: a check that it records; not in a shell of its own, whose child it would be
	local name=$1
	shift
	rm -f serve.err
	run=exec with "$rights" "${line[@]}" "$@" 2>serve.err >/dev/null &
	serve_pid=$!
	wait_for 20 grep -q '^recording into' serve.err && ok "$name" || not_ok "$name" "$(head -n 3 serve.err)"
}
serve_end() { # SIGNAL
	kill "-$1" $serve_pid
	wait $serve_pid 2>/dev/null
	serve_status=$?
}
readable() { # RECORDING: with its tables
	rm -rf csv
	"$FAULTLINE" report "$1" --csv=csv --raw-time >/dev/null 2>report.err
	case $? in 0 | 5) ;; *) return 1 ;; esac
}
storm_start anon 100003 9
serve_start "the unit's command records with two rights" -p $storm_pid --trigger 'total>1us' --around 1s
kill -CONT $storm_pid
most=0
while kill -0 $storm_pid 2>/dev/null; do
	used=$(cat state/always.flt state/always.flt.* 2>/dev/null | wc -c)
	[ "$used" -gt "$most" ] && most=$used
	sleep 0.1
done
between "what is on the disk is bounded" "$most" 500000 $((1048576 + 131072)) # and a segment, which went while we looked
equal "and its oldest part has gone" "$(ls state/always.flt.000001 2>&1 | grep -c 'No such')" 1
printf '[tenant vm]\nmemory = 8M\n[device disk]\nfile_bytes = 4M\n[workload w]\nsizes = 4K\nrate = 500/s\nduration = 3600s\n' >job.ini
printf '[inject cold]\naction = evict\nkind = minor\npages = 40\nrate = 50/s\nduration = 3600s\n' >>job.ini
"$INJECT" run ./job.ini >machine.out 2>&1 &
machine=$!
check "a slow fault is saved" wait_for 30 test -e state/always.trigger-001.flt
kill $machine
wait $machine 2>/dev/null
saved() { cat state/always.trigger-*.flt | sha256sum; }
serve_end KILL
before=$(saved)
# shellcheck disable=SC2086
serve_start "after SIGKILL it starts again, with the unit's own options" $options
check "what it had kept can be read" readable state/always.crashed-001.flt
between "and has page faults" "$(awk -F, '$1 == "CPU page fault" { sum += $5 } END { print sum + 0 }' csv/counts.csv)" 1000 9999999
equal "what the trigger saved is as it was" "$(saved)" "$before"
check "and can be read" readable state/always.trigger-001.flt
between "with its faults" "$(wc -l <csv/faults.csv)" 2 9999999
serve_end TERM
equal "SIGTERM: it ends well" "$((serve_status == 0 || serve_status == 5))" 1
serve_start "and starts again"
check "what it had kept can be read then, too" readable state/always.crashed-002.flt
equal "what the trigger saved is as it was even now" "$(saved)" "$before"
serve_end TERM
equal "all is its own, and nobody else reads it" "$(stat -c '%u %a' state/* | sort -u)" "65534 600"
equal "without --set-aside a start is refused" "$(with "$rights" "${line[@]//--set-aside/-q}" --duration 50ms 2>&1 | grep -c 'exists already')" 1

# Every call that it makes is in the unit's filter, which nothing here enforces.
with "$rights" strace -f -qq -o state/calls.trace "${line[@]/always/calls}" --duration 300ms -p $$ 2>/dev/null
check "what it calls is let through by the unit's filter" python3 - "$unit" <<'PY'
import re, subprocess, sys
def members(word):
    if not word.startswith("@"): return {word}
    text = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", word], capture_output=True, text=True, check=True).stdout
    return {call for line in text.splitlines()[1:] if line.strip() and "#" not in line for call in members(line.strip())}
allowed = members("@default")
for line in re.findall(r"^SystemCallFilter=(.*)", open(sys.argv[1]).read(), re.M):
    calls = {call for word in line.lstrip("~").split() for call in members(word)}
    allowed = allowed - calls if line.startswith("~") else allowed | calls
called = set(re.findall(r"^\d+ +(\w+)\(", open("state/calls.trace").read(), re.M))
assert {"bpf", "memfd_create", "openat", "flock"} <= called, called
# What may fail: a limit that is raised, who a user is.
called -= {"prlimit64", "socket", "connect"}
assert not called - allowed, called - allowed
PY

# What doctor says of these rights is so with those that it names.
doctor() { # RIGHTS NAME
	with "$1" "$FAULTLINE" doctor --emulator "$INJECT" --csv=- --table "$2"
}
for table in probes paths host; do
	doctor "$rights" $table >two-$table.csv
	doctor "$rights,+sys_admin" $table >admin-$table.csv
	doctor "$rights,+sys_admin,+syslog" $table >all-$table.csv
	"$FAULTLINE" doctor --emulator "$INJECT" --csv=- --table $table >root-$table.csv
done
check "doctor names what each probe lacks, and that is what gives it" python3 - <<'PY'
import csv
def rows(name, key): return {row[key]: row for row in csv.DictReader(open(name + ".csv"))}
two, admin, full, root = (rows(name + "-probes", "probe") for name in ("two", "admin", "all", "root"))
assert len(root) > 80
for name, row in root.items():
    assert "CAP_" not in row["reason"], row
    # What root has and this user has not is named; what names no right is no different.
    lacks = (two[name]["state"], two[name]["reason"]) != (row["state"], row["reason"])
    assert lacks == ("CAP_" in two[name]["reason"] or "root alone" in two[name]["reason"]), (two[name], row)
    assert "CAP_SYS_ADMIN" not in admin[name]["reason"], admin[name]
    assert "CAP_" not in full[name]["reason"] and full[name]["state"] == row["state"], full[name]
for name in ("dma_map", "dma_map_sg", "dma_alloc"):
    if two[name]["state"] == "ok":
        assert "CAP_SYSLOG" in two[name]["reason"] and "CAP_SYSLOG" in admin[name]["reason"], two[name]
paths, host = rows("two-paths", "path"), rows("two-host", "what")
machines = paths["emulated machines"]
if machines["state"] == "partly":
    assert (machines["why"].count("root alone"), machines["change"]) == (1, "root (sudo faultline)"), machines
else:
    assert machines["change"] == "CAP_SYS_ADMIN (sudo faultline)", machines
assert rows("root-paths", "path")["emulated machines"]["state"] == "shown"
assert "CAP_SYS_ADMIN (functions of modules)" in host["rights"]["finding"], host["rights"]
assert "CAP_SYSLOG" in host["rights"]["finding"] and "CAP_" not in rows("all-host", "what")["rights"]["finding"]
assert rows("root-host", "what")["rights"]["state"] == "ok"
for row in host.values():
    assert row["remedy"] != "sudo faultline", row
PY

# A real systemd: kernels of the lab under QEMU.
guest() { # KERNEL
	local files=("$FAULTLINE=/usr/bin/faultline" "$INJECT=/usr/bin/faultline-inject" "$unit=/usr/lib/systemd/system/faultline-recorder.service"
		"$packaging/faultline.sysusers=/usr/lib/sysusers.d/faultline.conf" "$full=/usr/share/faultline/full.conf"
		"$root/tests/lab/guest/words.sh=/check/words.sh" "$root/tests/guest/refused.pl=/check/refused.pl")
	local directory=$scratch/guest-$1 status
	mkdir "$directory"
	python3 "$root/tests/guest/guest.py" "$1" "$directory" "$root/tests/guest/service.sh" "${files[@]}" >"$directory/out" 2>"$directory/err"
	status=$?
	if [ $status -eq 75 ]; then
		skip "guest $1" "$(tail -n 1 "$directory/err")"
		return
	fi
	while IFS= read -r line; do
		case $line in
		'ok - '*) ok "$1: ${line#ok - }" ;;
		'not ok - '*) not_ok "$1: ${line#not ok - }" ;;
		*) echo "# $1: $line" ;;
		esac
	done <"$directory/out"
	grep -q '^guest: [0-9]* passed' "$directory/out" || not_ok "guest $1: came to its end" "exit $status: $(tail -n 3 "$directory/err" "$directory/console")"
}
if [ "${FACE:-}" = full ]; then
	for kernel in ${SERVICE_KERNELS:-6.1 6.12}; do
		guest "$kernel"
	done
fi
finish
