#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The observer needs rights, not root: with CAP_BPF and CAP_PERFMON a user records what these allow, and each
# probe says what it lacks; without one of them it is told which, and that is exit 4.
. "$(dirname "$0")/../e2e/lib.sh"

chmod 755 "$scratch"
mkdir user
chown 65534:65534 user
as_user() { # CAPABILITIES COMMAND...
	local rights=$1
	shift
	setpriv --reuid=65534 --regid=65534 --clear-groups ${rights:+--inh-caps="$rights" --ambient-caps="$rights"} "$@"
}
enough=+bpf,+perfmon
# said: 1 if err has nothing but the one sentence that root's run directory is root's.
said() { sed 's/^faultline: .*: cannot open the directory: Permission denied; emulated machines are not met: their names and I\/Os are not seen$/1/' err; }

for rights in '' +bpf +perfmon +sys_ptrace,+dac_override; do
	case $rights in
	+bpf) lacking='CAP_PERFMON' ;;
	+perfmon) lacking='CAP_BPF' ;;
	*) lacking='CAP_BPF and CAP_PERFMON' ;;
	esac
	for verb in "record -f -o user/none.flt --duration 50ms" "top -b 0.1 1" "doctor --watch 50ms"; do
		# shellcheck disable=SC2086
		as_user "$rights" "$FAULTLINE" $verb >out 2>err
		equal "${verb%% *} with '$rights'" "$? $(grep -c "^faultline: this process may not load BPF programs: it lacks $lacking; sudo faultline" err)" "4 1"
	done
	as_user "$rights" "$FAULTLINE" doctor --csv=- --table host >host.csv
	equal "doctor with '$rights' names what is lacking" "$(grep -c "^rights,.*it lacks $lacking" host.csv)" 1
done
equal "nothing is left of them" "$(ls user)" ""

# A machine of root's at work; what root's recorder and the user's see of it in the same second.
printf '[tenant vm]\nmemory = 8M\n[device disk]\nfile_bytes = 4M\n[workload w]\nsizes = 4K\nrate = 500/s\nduration = 3600s\n[inject cold]\naction = evict\nkind = minor\npages = 40\nrate = 50/s\nduration = 3600s\n' >job.ini
"$INJECT" run ./job.ini >machine.out 2>&1 &
machine=$!
begun() { ls "$FAULTLINE_RUN_DIR"/*.machine >/dev/null; }
check "a machine of root's runs" wait_for 20 begun
"$FAULTLINE" record -q -o root.flt --duration 1s &
as_user $enough "$FAULTLINE" record -q -o user/run.flt --duration 1s 2>err
equal "a user with two rights records" "$(($? % 5)) $(said)" "0 1"
wait $!
equal "into a file of the user's" "$(stat -c %U user/run.flt)" nobody
probes() { "$FAULTLINE" doctor "$1" --csv=- --table probes 2>/dev/null; }
probes root.flt >root.csv
probes user/run.flt >user.csv
"$FAULTLINE" report root.flt --csv=root --raw-time >/dev/null 2>&1
as_user '' "$FAULTLINE" report user/run.flt --csv=user/tables --raw-time >/dev/null 2>&1
check "its faults, and what each probe of root's has that the user's lacks is named" python3 - <<'PY'
import csv
def probes(path): return {row["probe"]: row for row in csv.DictReader(open(path))}
root, user = probes("root.csv"), probes("user.csv")
assert set(root) == set(user) and len(user) > 80, len(user)
on = [name for name, row in root.items() if row["state"] in ("on", "ok")]
assert len(on) > 20, on
for name in on:
    row = user[name]
    assert row["state"] in ("on", "ok") or "CAP_" in row["reason"], row
maps = [row for name, row in user.items() if name in ("dma_map", "dma_alloc") and row["state"] in ("on", "ok")]
assert maps and all("CAP_SYSLOG" in row["reason"] for row in maps), maps
assert not any("CAP_" in row["reason"] for row in root.values())
emulated = [row for name, row in user.items() if name in ("fault_detect", "fault_request", "fault_response")]
assert len(emulated) == 3 and all("tell them to root alone" in row["reason"] for row in emulated), emulated
assert not any("root alone" in row["reason"] for row in root.values())
def rows(path): return list(csv.DictReader(open(path)))
assert len(rows("user/tables/faults.csv")) > 10 and len(rows("root/faults.csv")) > 10
def names(path): return [row["device"] for row in rows(path) if row["kind"] == "emulated"]
assert names("root/devices.csv") == ["vm/disk"], names("root/devices.csv")
assert names("user/tables/devices.csv")[0].startswith("emulated:"), names("user/tables/devices.csv")
PY
as_user $enough "$FAULTLINE" top -b 0.2 1 >out 2>err
equal "top with two rights" "$(($? % 5)) $(grep -c 'probes' out | sed 's/^[1-9].*/told/') $(said)" "0 told 1"
kill $machine
wait $machine 2>/dev/null

# Whom sudo was called by is known, or the command does not run.
chmod 777 .
for given in SUDO_UID=65534 "SUDO_UID=65534 SUDO_GID=" "SUDO_UID=65534 SUDO_GID=users" "SUDO_UID=65534 SUDO_GID=-1" \
	"SUDO_UID=nobody SUDO_GID=0" "SUDO_UID= SUDO_GID=0" "SUDO_UID=99999999999 SUDO_GID=0" "SUDO_UID=-1 SUDO_GID=0"; do
	rm -f sudo.flt ran
	# shellcheck disable=SC2086
	env -u SUDO_GID -u SUDO_UID $given "$FAULTLINE" record -q -o sudo.flt -- sh -c 'id -u >ran' 2>err
	equal "who called sudo is not known ($given)" "$? $(cat ran 2>/dev/null; ls sudo.flt 2>/dev/null) $(grep -cE "^faultline: SUDO_[GU]ID=.*: is not a (group|user)'s number" err)" "3  1"
	# shellcheck disable=SC2086
	env -u SUDO_GID -u SUDO_UID $given "$FAULTLINE" record -qf --as-root -o sudo.flt -- sh -c 'id -u >ran' 2>err
	equal "but that it is to run as root ($given)" "$(($? % 5)) $(cat ran)" "0 0"
done
for given in "SUDO_UID=65534 SUDO_GID=65534" "SUDO_UID=0 SUDO_GID=0" SUDO_UID=0; do
	rm -f ran
	# shellcheck disable=SC2086
	env -u SUDO_GID -u SUDO_UID $given "$FAULTLINE" record -qf -o sudo.flt -- sh -c 'id -u >ran' 2>err
	equal "it runs as who called sudo ($given)" "$(($? % 5)) $(cat ran)" "0 $(sed -E 's/SUDO_UID=([0-9]+).*/\1/' <<<"$given")"
done
rm -f sudo.flt ran
chmod 755 .

as_user $enough "$FAULTLINE" record -qf -o user/run.flt -- sh -c 'id -u; grep CapEff /proc/self/status' >out
equal "a command runs as the user, with the rights that the user had" "$(xargs <out)" "65534 CapEff: 000000c000000000"
as_user $enough "$FAULTLINE" doctor --csv=- --table host >host.csv
equal "doctor tells which rights would show more" \
	"$(grep -c '^rights,.*lacks CAP_SYS_ADMIN (functions of modules), CAP_SYSLOG (names of functions that mapped), and is not root' host.csv)" 1
equal "and that root has all" "$("$FAULTLINE" doctor --csv=- --table host | grep -c '^rights,[a-z]*,all that are of use')" 1
as_user $enough "$FAULTLINE" record -q -o root.flt --duration 50ms 2>err
equal "a file of root's is not the user's to replace" "$(($? == 1 || $? == 4)) $(grep -c '^faultline: root.flt' err)" "1 1"
finish
