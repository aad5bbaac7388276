#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Wrong options and poor environments: one clear sentence, a typed exit code, nothing left behind.
. "$(dirname "$0")/lib.sh"

# refuses NAME CODE PATTERN COMMAND...: exits with CODE, up to 3 with nothing printed, and says, in one line, what PATTERN finds.
refuses() {
	local name=$1 code=$2 pattern=$3 status lines
	shift 3
	prlimit --cpu=20 "$@" >out 2>err </dev/null
	status=$?
	lines=$(grep -c . err)
	if [ $status -ne "$code" ]; then
		not_ok "$name" "exit $status, expected $code: $(head -n 2 err)"
	elif ! grep -qiE -- "$pattern" err; then
		not_ok "$name" "said: $(head -n 2 err)"
	elif [ -s out ] && [ "$code" -le 3 ]; then
		not_ok "$name" "printed: $(head -n 2 out)"
	elif [ "$lines" -gt 3 ]; then
		not_ok "$name" "$lines lines on stderr: $(head -n 4 err)"
	else
		ok "$name: $(head -n 1 err)"
	fi
}

make -s -C "$root" build/bench/storm || exit 1
programs_before=$(orphaned_programs)

# Options of every verb.
"$FAULTLINE" 2>err
equal "no verb: how it is used, exit code" $? 2
refuses "unknown verb" 2 "unknown verb 'explode'" "$FAULTLINE" explode
for verb in record top report timeline footprint slo doctor; do
	refuses "$verb: unknown option" 2 'unrecognized|unknown' "$FAULTLINE" $verb --no-such-option
	check "$verb --help works" "$FAULTLINE" $verb --help
	"$FAULTLINE" $verb --help >help 2>&1
	if grep -qi example help && [ "$(wc -L <help)" -le 80 ]; then
		ok "$verb --help has examples within 80 columns"
	else
		not_ok "$verb --help has examples within 80 columns" "$(wc -L <help) columns"
	fi
done
printf '[slo any]\nfault_rate = 1000\n' >slo.ini
for verb in report timeline footprint slo; do
	refuses "$verb: no file named" 2 'recording|FILE|argument' "$FAULTLINE" $verb
	objectives=()
	[ $verb = slo ] && objectives=(-c slo.ini)
	refuses "$verb: file missing" 3 'nowhere.flt.*No such file' "$FAULTLINE" $verb nowhere.flt "${objectives[@]}"
done
refuses "report: a directory" 3 'directory' "$FAULTLINE" report .
: >empty.flt
refuses "report: an empty file" 3 'empty|no recording' "$FAULTLINE" report empty.flt
head -c 4097 /dev/urandom >noise.flt
refuses "report: not a recording" 3 'no recording' "$FAULTLINE" report noise.flt
refuses "report: bad --since" 2 'since' "$FAULTLINE" report empty.flt --since yesterdayish
refuses "report: since after until" 2 'since|until' "$FAULTLINE" report empty.flt --since 5s --until 2s
refuses "timeline: bad --slowest" 2 'slowest' "$FAULTLINE" timeline empty.flt --slowest=-3
refuses "record: bad ring size" 2 'ring' "$FAULTLINE" record -o r.flt --ring-size 7
refuses "record: bad duration" 2 'duration' "$FAULTLINE" record -o r.flt --duration soon
refuses "record: bad pid" 2 'pid' "$FAULTLINE" record -o r.flt -p twelve
refuses "record: bad kind" 2 'kind' "$FAULTLINE" record -o r.flt --kind sneeze
refuses "record: bad trigger" 2 'trigger' "$FAULTLINE" record -o r.flt --trigger 'sneeze>1ms'
refuses "record: unknown probe" 2 'probe' "$FAULTLINE" record -o r.flt --disable-probe sneeze
refuses "record: a function for no probe" 2 'PROBE=FUNCTION' "$FAULTLINE" record -o r.flt --attach sneeze=cough
refuses "record: a function for a tracepoint" 2 'not on a function' "$FAULTLINE" record -o r.flt --attach page_fault_user=cough
refuses "record: bad max size" 2 "--max-size: '3' is out of range; accepted: a size from 1M to 1E" "$FAULTLINE" record -o r.flt --keep 1m --max-size 3
refuses "record: command missing" 1 'no-such-command' "$FAULTLINE" record -o r.flt -- no-such-command
rm -f r.flt
: >taken.flt
refuses "record: output exists" 1 'taken.flt.*exists' "$FAULTLINE" record -o taken.flt --duration 1s
ln -s "$scratch/target" link.flt
refuses "record: output is a symbolic link" 1 'link.flt' "$FAULTLINE" record -o link.flt --duration 1s
refuses "record: output is no regular file" 1 '/dev/full: exists and is no regular file; choose another name$' \
	"$FAULTLINE" record --force -o /dev/full --duration 1s
refuses "record: output directory missing" 1 'No such file' "$FAULTLINE" record -o no/where.flt --duration 1s
refuses "top: bad interval" 2 'interval' "$FAULTLINE" top -b 0 1
refuses "top: bad sort" 2 'no such column' "$FAULTLINE" top -b -s colour 1 1
printf '[slo x]\nlatency_target=soon\n' >bad.ini
check "record: a fifth of a second" "$FAULTLINE" record -o good.flt --duration 200ms
refuses "slo: bad objectives" 3 'bad.ini:2' "$FAULTLINE" slo good.flt -c bad.ini

# All arguments are looked at before the first byte of output; what a verb accepts as --table is what it writes.
for words in "report good.flt" "timeline good.flt" "footprint good.flt" "slo good.flt -c slo.ini" "doctor good.flt" doctor; do
	# shellcheck disable=SC2086
	set -- "$FAULTLINE" $words
	refuses "$words: no such table" 2 '--table nosuch: accepted: ' "$@" --table nosuch
	tables=$(sed 's/.*accepted: //; s/, /\n/g' err | sort)
	refuses "$words: no such table as JSON" 2 '--table nosuch: accepted: ' "$@" --json --table nosuch
	[ "$2" = timeline ] || refuses "$words: several tables in one CSV" 2 'name a directory' "$@" --csv
	rm -rf tables
	"$@" --csv=tables >out 2>err
	equal "$words: the tables that are accepted are those that are written" "$(basename -as .csv tables/* | sort | cksum)" \
		"$(echo "$tables" | cksum)"
	"$@" --table "$(echo "$tables" | head -n 1)" >out 2>err
	status=$?
	[ "$2" = slo ] && [ $status -eq 6 ] && status=0 # no device was there that the objective fits
	equal "$words: one that has no rows is a table, too" "$status $(grep -c . out | sed 's/[1-9].*/lines/')" "0 lines"
done

# What is read is not written over, by whatever name it goes.
ln -s good.flt soft.flt
ln good.flt hard.flt
ln good.flt hard.csv
ln good.flt tables/faults.csv -f
printf '[trace]\ntenants = 4\n' >sim.ini
inputs=$(cat good.flt slo.ini sim.ini | cksum)
for verb in report timeline footprint "slo -c slo.ini" doctor; do
	for name in good.flt soft.flt hard.flt bin/../good.flt "$PWD/good.flt"; do
		# shellcheck disable=SC2086
		refuses "$verb: its input as output, $name" 2 "$name: is the input good.flt" "$FAULTLINE" $verb good.flt --json="$name" --force
	done
done
refuses "timeline: its input as a CSV file" 2 'hard.csv: is the input' "$FAULTLINE" timeline good.flt --csv=hard.csv --force
refuses "report: its input in a CSV directory" 2 'tables: faults.csv: is the input' "$FAULTLINE" report good.flt --csv=tables --force
refuses "report: its input through standard input" 2 'good.flt: is the input -' \
	sh -c "exec '$FAULTLINE' report - --json=good.flt --force <good.flt"
"$FAULTLINE" record -q --keep 1m -o ring.flt --duration 200ms
refuses "report: a segment of its input" 2 'ring.flt.000001: is a part of the input ring.flt' \
	"$FAULTLINE" report ring.flt --json=ring.flt.000001 --force
mkdir full.d
: >full.d/top.csv
refuses "top: table exists" 1 'full.d/top.csv: exists already' "$FAULTLINE" top -b -i good.flt --csv=full.d
refuses "slo: its objectives as output" 2 'slo.ini: is the input' "$FAULTLINE" slo good.flt -c slo.ini --json=slo.ini --force
for verb in sim accesses; do
	refuses "$verb: its job as output" 2 'sim.ini: is the input' "$FAULTLINE" $verb sim.ini --json=sim.ini --force
done
equal "and all are what they were" "$(cat good.flt slo.ini sim.ini | cksum)" "$inputs"

# Poor environments.
chmod 755 "$scratch"
cp "$FAULTLINE" faultline
cp "$INJECT" faultline-inject
printf '[machine]\n[tenant vm]\nmemory=4M\n[device d]\ntenant=vm\nmodel=block\nfile_bytes=4M\n[workload w]\ndevice=d\nduration=1s\n' >job.ini
chmod 644 job.ini
refuses "record: no rights" 4 'it lacks CAP_BPF and CAP_PERFMON; sudo faultline' setpriv --reuid=65534 --regid=65534 \
	--clear-groups ./faultline record -o /tmp/never.flt --duration 1s
refuses "top: no rights" 4 'it lacks CAP_BPF and CAP_PERFMON; sudo faultline' setpriv --reuid=65534 --regid=65534 \
	--clear-groups ./faultline top -b 1 1
refuses "inject: not root" 4 'root|userfaultfd|CAP_SYS_PTRACE|privilege' setpriv --reuid=65534 --regid=65534 \
	--clear-groups ./faultline-inject run job.ini
refuses "inject: no userfaultfd" 4 'userfaultfd' setpriv --bounding-set=-sys_ptrace \
	./faultline-inject run job.ini
refuses "record: no BTF" 4 'BTF' unshare -m bash -c \
	'mount --bind /dev/null /sys/kernel/btf/vmlinux && exec ./faultline record -o r.flt --duration 1s'
cp good.flt secret.flt
cp slo.ini secret.ini
chmod 600 secret.flt secret.ini
chmod 644 good.flt slo.ini
for words in "report secret.flt" "timeline secret.flt" "footprint secret.flt" "slo secret.flt -c slo.ini" "slo good.flt -c secret.ini" \
	"doctor secret.flt" "top -b -i secret.flt" "top -b -i good.flt -c secret.ini" "sim secret.ini" "sim --trace secret.flt" "accesses --trace secret.flt"; do
	# shellcheck disable=SC2086
	refuses "$words: it may not be read" 3 'secret.*Permission denied' \
		setpriv --reuid=65534 --regid=65534 --clear-groups ./faultline $words
done
refuses "run secret.ini: it may not be read" 3 'secret.*Permission denied' \
	setpriv --reuid=65534 --regid=65534 --clear-groups ./faultline-inject run secret.ini
check "doctor works without root" setpriv --reuid=65534 --regid=65534 --clear-groups ./faultline doctor
check "doctor works without BTF" unshare -m bash -c \
	'mount --bind /dev/null /sys/kernel/btf/vmlinux && ./faultline doctor | grep -i btf'

# A full disk: what was written stays readable, the exit code says so.
mkdir full
mount -t tmpfs -o size=128k none full
head -c 80000 /dev/urandom >full/ballast
"$FAULTLINE" record --as-root -o full/r.flt -- "$root/build/bench/storm" anon 100003 2 >out 2>err
status=$?
if [ $status -eq 1 ] && grep -qi 'no space' err; then
	ok "record: disk full: $(grep -i 'no space' err | head -n 1)"
else
	not_ok "record: disk full" "exit $status: $(head -n 2 err)"
fi
"$FAULTLINE" report full/r.flt >out 2>err
status=$?
# It has no end: what it counts are floors.
if [ $status -eq 5 ] || [ $status -eq 3 ]; then
	ok "what a full disk kept is readable"
else
	not_ok "what a full disk kept is readable" "exit $status: $(head -n 1 err)"
fi
umount full

# The kernel frees a program a moment after its last descriptor.
check "no BPF program is left attached" wait_for 5 programs_gone
equal "entries left in the run directory" "$(ls -A "$FAULTLINE_RUN_DIR" 2>/dev/null)" ""
finish
