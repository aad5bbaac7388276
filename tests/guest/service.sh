# SPDX-License-Identifier: GPL-2.0
# Inside a guest with a real systemd: faultline-recorder.service starts, records, comes back, and is refused what it
# must be refused; then all of it again as full.conf has it. /check has words.sh and refused.pl.
. /check/words.sh
unit=faultline-recorder
state=/var/lib/faultline

# A busy host makes an emulated guest wait: as long as that takes.
wait_for() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.5
	done
}
shown() { systemctl show -P "$1" $unit; }
said() { journalctl -q -o cat -u $unit | grep -c "$1"; } # how often
recording_again() { [ "$(said '^recording into')" -gt "$1" ]; }
start() { # and what it is started by: wait until it records
	local before
	before=$(said '^recording into')
	"$@"
	wait_for 100 recording_again "$before" && return
	journalctl -q -o cat -u $unit | tail -n 15
	return 1
}
of_status() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$(shown MainPID)/status" | xargs; }
# A command with faults, so that there is something to record.
faults() { for _ in 1 2 3 4 5 6 7; do (exec /bin/true); done; }
# report FILE: 1 if it can be read, whatever was lost or has no end.
readable() {
	rm -rf tables
	faultline report "$1" --csv=tables >report.out 2>&1
	case $? in 0 | 5) echo 1 ;; *) tail -n 2 report.out ;; esac
}
cpu_faults() { # as one word: there are some
	[ "$(column counts count kind "CPU page fault" | awk '{ sum += $1 } END { print sum + 0 }')" -gt 0 ] && echo some
}

cd /root || exit 1
mkdir -p /home/somebody /usr/lib/modules/none
systemd-sysusers /usr/lib/sysusers.d/faultline.conf
uid=$(id -u _faultline)
check_that "the user is a system's, without a shell" [ "$(getent passwd _faultline | cut -d: -f7) $((uid < 1000))" = "/usr/sbin/nologin 1" ]
systemctl daemon-reload

# As two capabilities have it.
check_that "it starts and records" start systemctl start $unit
equal "it is active" "$(shown ActiveState)/$(shown SubState)" active/running
equal "as its own user" "$(of_status Uid)" "$uid $uid $uid $uid"
for set in CapEff CapPrm CapBnd CapAmb; do
	equal "with two capabilities ($set)" "$(of_status $set)" 000000c000000000
done
equal "none can be got, and calls are filtered" "$(of_status NoNewPrivs) $(of_status Seccomp)" "1 2"
equal "bounds of memory, tasks and CPU" "$(shown MemoryMax) $(shown TasksMax) $(shown CPUQuotaPerSecUSec)" "536870912 16 500ms"
group=/sys/fs/cgroup$(shown ControlGroup)
equal "and the kernel has them" "$(cat "$group/memory.max" "$group/memory.swap.max" "$group/pids.max" "$group/cpu.max" | xargs)" "536870912 0 16 50000 100000"
check_that "systemd-analyze security: under 2" systemd-analyze security --no-pager --threshold=20 $unit
equal "its files are its own" "$(stat -c '%U %a' $state $state/always.flt | xargs)" "_faultline 750 _faultline 600"

# It is killed, and comes back; what it had kept is there.
faults
sleep 3
pid=$(shown MainPID)
check_that "killed, it starts again" start kill -KILL "$pid"
equal "systemd counts that" "$(shown NRestarts)" 1
equal "what it had kept can be read" "$(readable $state/always.crashed-001.flt)" 1
equal "and has page faults" "$(cpu_faults)" some
check_that "stopped and started, it is there again" start systemctl restart $unit
equal "without a failure" "$(shown Result) $(shown NRestarts)" "success 0"
equal "what the stopped one had kept can be read" "$(readable $state/always.crashed-002.flt)" 1

# What it is refused: the unit with another program. Root can do all of it, so that nothing is refused for want of it.
sed -e 's#^ExecStart=.*#ExecStart=/usr/bin/perl /check/refused.pl#; s/^Type=.*/Type=oneshot/; /^Restart/d' \
	/usr/lib/systemd/system/$unit.service >/etc/systemd/system/refused.service
sleep 9999 &
victim=$!
printf '[Service]\nEnvironment=VICTIM=%s\n' $victim >/tmp/victim.conf
mkdir -p /etc/systemd/system/refused.service.d && cp /tmp/victim.conf /etc/systemd/system/refused.service.d/
systemctl daemon-reload
VICTIM=$victim perl /check/refused.pl >root.told
systemctl start refused
journalctl -q -o cat -u refused | grep -E ' (yes|no)( |$)' >unit.told
equal "everything was tried" "$(sed -E 's/ (yes|no)( .*)?$//' unit.told | cksum)" "$(sed -E 's/ (yes|no)( .*)?$//' root.told | cksum)"
while IFS= read -r told; do
	what=${told% yes}
	[ "$what" != "$told" ] || { not_ok "control: root can" "$told" && continue; }
	case $what in
	'its '*) equal "what it is for it can do: $what" "$(grep -c "^$what yes" unit.told)" 1 ;;
	*) equal "refused: $what: $(sed -n "s#^$what no ##p" unit.told)" "$(grep -c "^$what no" unit.told)" 1 ;;
	esac
done <root.told
kill $victim
check_that "doctor says in there which capability would show more" grep -q 'CAP_SYS_ADMIN' <(
	sed -i 's#^ExecStart=.*#ExecStart=/usr/bin/faultline doctor#' /etc/systemd/system/refused.service
	systemctl daemon-reload
	systemctl start refused
	journalctl -q -o cat -u refused
)

# Its bound of the disk, with a smaller one.
mkdir -p /etc/systemd/system/$unit.service.d
printf '[Service]\nExecStart=\n%s\n' "$(sed -n 's/--max-size 1G/--max-size 1M/; /^ExecStart=/p' /usr/lib/systemd/system/$unit.service)" \
	>/etc/systemd/system/$unit.service.d/small.conf
echo 'FAULTLINE_RECORD=--kind block_complete --kind dma' >/etc/default/$unit
systemctl daemon-reload
check_that "it starts with other options" start systemctl restart $unit
most=0
for _ in 1 2; do
	echo 3 >/proc/sys/vm/drop_caches
	find / -xdev -type f -size -64k -exec cat {} + >/dev/null 2>&1
	used=$(du -sb --apparent-size --exclude='*trigger*' $state | cut -f1)
	[ "$used" -gt "$most" ] && most=$used
done
between "what is on the disk is bounded" "$most" 20000 1200000
rm -rf /etc/systemd/system/$unit.service.d /etc/default/$unit

# As full.conf has it: root, whom machines tell their names; a trigger's recording survives what ends the recorder.
mkdir -p /etc/systemd/system/$unit.service.d
cp /usr/share/faultline/full.conf /etc/systemd/system/$unit.service.d/
echo 'FAULTLINE_RECORD=--trigger total>1us --around 1s' >/etc/default/$unit
systemctl daemon-reload
check_that "full.conf: it starts and records" start systemctl restart $unit
equal "full.conf: with five capabilities" "$(of_status CapEff)" "$(printf '%016x' $((1 << 39 | 1 << 38 | 1 << 21 | 1 << 34 | 1 << 19)))"
printf '[tenant vm]\nmemory = 4M\n[device disk]\nfile_bytes = 2M\n[workload w]\nsizes = 4K\nrate = 50/s\nduration = 20s\n' >job.ini
printf '[inject cold]\naction = evict\nkind = minor\npages = 4\nrate = 5/s\nduration = 20s\n' >>job.ini
faultline-inject run ./job.ini >machine.out 2>&1 &
machine=$!
check_that "full.conf: a slow fault is saved" wait_for 200 test -e $state/always.trigger-001.flt
wait $machine
snapshots=$(ls $state/*trigger*.flt | wc -l)
first=$(sha256sum <$state/always.trigger-001.flt)
check_that "full.conf: killed, it starts again" start kill -KILL "$(shown MainPID)"
check_that "full.conf: and once more" start systemctl restart $unit
equal "what was saved is as it was" "$(sha256sum <$state/always.trigger-001.flt)" "$first"
equal "and all of it is there" "$(($(ls $state/*trigger*.flt | wc -l) >= snapshots))" 1
equal "it can be read" "$(readable $state/always.trigger-001.flt)" 1
equal "and names the machine's device" "$(column devices device kind emulated | head -n 1)" vm/disk
systemctl stop $unit
equal "stopped, it has not failed" "$(shown Result) $(shown ActiveState)" "success inactive"
equal "nothing of it is left" "$(grep -hc prog_type /proc/[0-9]*/fdinfo/* 2>/dev/null | awk '{ s += $1 } END { print s + 0 }')" \
	"$(grep -hc prog_type /proc/1/fdinfo/* 2>/dev/null | awk '{ s += $1 } END { print s + 0 }')"
journalctl -q -o cat -u $unit | grep '^faultline' | sort | uniq -c | sed 's/^/# /' | tail -n 12
echo "guest: $passed passed, $failed failed"
