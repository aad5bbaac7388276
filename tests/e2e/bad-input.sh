#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Bad job files and bad options: one sentence that names place and accepted values, a typed exit
# code, nothing started. Each file of tests/data/bad-jobs says in its first line what it must cause:
# "; exit CODE: PATTERN".
. "$(dirname "$0")/lib.sh"

# refuses NAME CODE PATTERN COMMAND...
refuses() {
	local name=$1 code=$2 pattern=$3 status
	shift 3
	prlimit --cpu=20 "$@" >out 2>err </dev/null
	status=$?
	if [ "$status" -ne "$code" ]; then
		not_ok "$name" "exit $status, expected $code: $(head -c 300 err)"
	elif ! grep -qE -- "$pattern" err; then
		not_ok "$name" "said: $(head -c 300 err)"
	elif [ "$(grep -c '^faultline' err)" -ne 1 ]; then
		not_ok "$name" "not one sentence: $(head -c 600 err)"
	elif [ -n "$(ls -A "$FAULTLINE_RUN_DIR" 2>/dev/null)" ]; then
		not_ok "$name" "left entries in the run directory"
	else
		ok "$name"
	fi
}

for job in "$root"/tests/data/bad-jobs/*.ini; do
	name=$(basename "$job" .ini)
	IFS= read -r first <"$job"
	if [[ $first =~ ^\;\ exit\ ([0-9]+):\ (.*)$ ]]; then
		refuses "$name" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "$INJECT" check "$job"
	else
		refuses "$name" 3 'is empty' "$INJECT" check "$job"
	fi
done

cat >good.ini <<'INI'
[machine]
[tenant vm]
memory = 4M
[device disk]
file_bytes = 4M
[workload mix]
count = 7
[inject mix]
action = evict
duration = 1s
INI
check "the job of the option cases is good" "$INJECT" check good.ini

refuses "run: no job" 2 'no job file' "$INJECT" run
refuses "run: two jobs" 2 "unexpected argument 'good.ini'" "$INJECT" run good.ini good.ini
refuses "run: unknown option" 2 'unrecognized option' "$INJECT" run good.ini --explode
refuses "run: job missing" 3 'nowhere.ini: cannot open the job file: No such file' "$INJECT" run nowhere.ini
refuses "run: job is a directory" 3 'is a directory' "$INJECT" run ./
# A folder or a file of the name, such as make demo leaves, changes nothing.
mkdir demo
cp good.ini rtt
check "a shipped job is found beside a folder of its name" "$INJECT" check demo
check "a shipped job is found beside a file of its name" grep -q jobs/rtt.ini <("$INJECT" check rtt)
check "a file without .ini is named with a slash" "$INJECT" check ./rtt
refuses "run: no such job" 3 "unknown job 'rtz'; accepted: .*concurrent, demo, .*rtt.*\./rtz" "$INJECT" run rtz
refuses "run: --set without value" 2 'accepted: SECTION.KEY=VALUE' "$INJECT" run good.ini --set mix.rate
refuses "run: --set without key" 2 'accepted: SECTION.KEY=VALUE' "$INJECT" run good.ini --set rate=1
refuses "run: --set names no section" 2 'has no section \[db\]' "$INJECT" run good.ini --set db.rate=1
refuses "run: --set is ambiguous" 2 'names both \[workload mix\] and \[inject mix\]' "$INJECT" run good.ini --set mix.rate=1
refuses "run: --set value" 2 '--set: workload mix.rate=fast: accepted' "$INJECT" run good.ini --set "workload mix.rate=fast"
refuses "run: --set key" 2 '--set: raet: no such key' "$INJECT" run good.ini --set "workload mix.raet=1"
refuses "run: bad seed" 2 '--seed: seed=x: accepted' "$INJECT" run good.ini --seed x
refuses "run: --short without [short]" 3 'has no \[short\] section' "$INJECT" run good.ini --short
refuses "run: two formats" 2 'exclude each other' "$INJECT" run good.ini --csv --json
: >taken.csv
refuses "run: output exists" 1 'taken.csv.*exists' "$INJECT" run good.ini --csv=taken.csv
refuses "run: output directory missing" 1 'no/where.csv.*No such file' "$INJECT" run good.ini --csv=no/where.csv
ln -s "$scratch/target" link.csv
# The path belongs to its option, behind '='; a word that was meant so is answered with that.
refuses "run: old spelling of --csv" 2 "unexpected argument 'old.csv'; a path for the tables follows '=': --csv=old.csv" \
	"$INJECT" run good.ini --csv old.csv
refuses "run: old spelling, job behind" 2 "unexpected argument 'good.ini'" "$INJECT" run --csv old.csv good.ini
refuses "run: old spelling, no job" 3 "unknown job 'rtz'.*; a path for the tables follows '=': --json=rtz" "$INJECT" run --json rtz
refuses "run: two places" 2 "unexpected argument 'two'$" "$INJECT" run good.ini --csv=one two
for verb in pageout odp; do
	refuses "$verb: old spelling of --csv" 2 "unexpected argument 'old.csv'; a path .*--csv=old.csv" "$INJECT" $verb --csv old.csv
done
refuses "vfio: old spelling of --csv" 2 "unexpected argument 'old.csv'; a path .*--csv=old.csv" "$INJECT" vfio fault --csv old.csv
refuses "iopf: old spelling of --csv" 2 "unexpected argument 'old.csv'; a path .*--csv=old.csv" "$INJECT" iopf burst --csv old.csv
refuses "slow: old spelling of --csv" 2 "unexpected argument 'old.csv'; accepted: -- COMMAND; a path .*--csv=old.csv" \
	"$INJECT" slow --name a --size 1M --delay 1ms --csv old.csv
refuses "slow: a command behind -- is one" 2 'accepted: --duration, or a command' \
	"$INJECT" slow --name a --size 1M --delay 1ms --duration 1s --csv -- old.csv
refuses "run: output is a symbolic link" 1 'link.csv' "$INJECT" run good.ini --csv=link.csv
: >taken.truth
refuses "run: truth file exists" 1 'taken.truth.*exists' "$INJECT" run good.ini --truth taken.truth
# Before anything has begun: neither a table nor the truth of another point is left.
refuses "run: truth in no directory" 1 'truth log no/where.jsonl: No such file' "$INJECT" run good.ini --csv=begun.csv --truth no/where.jsonl
refuses "run: truth is a directory" 1 'truth log ./ exists' "$INJECT" run good.ini --csv=begun.csv --truth ./
: >swept.2
{ cat good.ini && printf '[sweep]\nrate = inject mix.rate: 1/s, 2/s\n'; } >swept.ini
refuses "run: a value that the sweep replaces" 2 '--set: inject mix.rate=soon: accepted' "$INJECT" run swept.ini \
	--set "inject mix.rate=soon"
refuses "check: likewise" 2 '--set: inject mix.rate=soon: accepted' "$INJECT" check swept.ini --set "inject mix.rate=soon"
refuses "run: truth file of the second point exists" 1 'swept.2 exists' "$INJECT" run swept.ini --csv=begun.csv --truth swept
equal "a bad path of the truth is found before the run" "$(ls begun.csv swept.1 2>&1 | grep -v 'No such')" ""
refuses "run: backing directory missing" 1 '/nowhere.*No such file' "$INJECT" run good.ini --set machine.directory=/nowhere
refuses "run: backing file missing" 1 '/nowhere/disk.*No such file' "$INJECT" run good.ini --set disk.file=/nowhere/disk
refuses "check: unknown option" 2 'unrecognized option' "$INJECT" check good.ini --csv
refuses "help: unknown key" 2 'raet: no such key or section; did you mean rate' "$INJECT" help raet
refuses "help: two keys" 2 "unexpected argument 'depth'" "$INJECT" help rate depth
refuses "list: argument" 2 "unexpected argument 'all'" "$INJECT" list all
refuses "recover: argument" 2 "unexpected argument 'all'" "$INJECT" recover all
refuses "pageout: no process" 2 'accepted: one of --pid and --device' "$INJECT" pageout
refuses "pageout: process that is none" 1 'there is no process 4194303' "$INJECT" pageout -p 4194303
refuses "pageout: bad range" 2 "--range: invalid range '9-5'; accepted: START-END or START" "$INJECT" pageout -p 1 --range 9-5
refuses "pageout: bad rate" 2 "--rate: invalid rate '0'; accepted: more than 0" "$INJECT" pageout -p 1 --rate 0
refuses "pageout: burst without every" 2 'both of them, or neither' "$INJECT" pageout -p 1 --burst 3
refuses "pageout: duration without pace" 2 'with --rate or --burst' "$INJECT" pageout -p 1 --duration 1s
refuses "pageout: bad order" 2 'sequential, random, zipf' "$INJECT" pageout -p 1 --pattern up
refuses "pageout: device missing" 1 '/dev/vfio/none: No such file' "$INJECT" pageout -d /dev/vfio/none
refuses "pageout: device is a file" 2 'accepted: a character device' "$INJECT" pageout -d /etc/passwd
refuses "pageout: no such emulated device" 1 'tenant/device' "$INJECT" pageout -d vm/disk
refuses "slow: no name" 2 'no --name' "$INJECT" slow --size 1M --delay 1ms
refuses "slow: bad name" 2 "--name: invalid name 'a/b'; accepted" "$INJECT" slow --name a/b --size 1M --delay 1ms
refuses "slow: two backends" 2 'accepted: one of --size' "$INJECT" slow --name a --size 1M --over /dev/null
refuses "slow: bad size" 2 'whole megabytes' "$INJECT" slow --name a --size 5K --delay 1ms
refuses "slow: part of a millisecond" 2 'whole milliseconds' "$INJECT" slow --name a --over /dev/null --delay 5us
refuses "slow: no consent" 4 'add --yes-i-mean-it /dev/null' "$INJECT" slow --name a --over /dev/null --delay 5ms
# A dry run asks for no consent: it says which one would be needed, and goes on to what it would do.
refuses "slow: no consent in a dry run" 1 'accepted: a block device' "$INJECT" slow -n --name a --over /dev/null --delay 5ms
sleep 1000 &
sleeper=$!
"$INJECT" pageout -n -p $sleeper >plan 2>err
equal "pageout: nor there, and the plan is shown" "$? $(grep -c "needs --yes-i-mean-it $sleeper$" plan) $(grep -c MADV_PAGEOUT plan | sed 's/[1-9].*/some/')" "0 1 some"
kill $sleeper
refuses "odp: no such device in a dry run" 1 'no RDMA device nosuch' "$INJECT" odp -n -d nosuch
# An output that cannot be is known before the work.
mkdir results
: >results/slow.csv
refuses "slow: output exists" 1 'taken.csv: exists already' "$INJECT" slow --name a --size 1M --delay 1ms --csv=taken.csv
refuses "slow: table exists" 1 'results/slow.csv: exists already' "$INJECT" slow --name a --size 1M --delay 1ms --csv=results
refuses "slow: no null_blk, or no such command" 1 'null_blk|nosuchcommand' \
	"$INJECT" slow --name a --size 1M --delay 1ms --json=left.json -- nosuchcommand
equal "and what came to nothing leaves no file" "$(ls left.json results 2>&1 | grep -v 'No such file' | paste -sd ' ')" "results: slow.csv"
refuses "slow: no delay" 2 'no --delay' "$INJECT" slow --name a --size 1M
# An option that would change nothing is no option to be silent about.
refuses "iopf: --live without dma" 2 '--live: no effect with io-page-fault; accepted: with dma$' "$INJECT" iopf io-page-fault --live 3
refuses "iopf: --requests with dma" 2 '--requests: no effect with dma; accepted: with burst, mixed' "$INJECT" iopf dma -r 3
refuses "iopf: --count with burst" 2 '--count: no effect with burst; accepted: with dma, io-page-fault$' "$INJECT" iopf --count 3 burst
refuses "iopf: --surprise with plug" 2 '--surprise: no effect with plug; accepted: with unplug$' "$INJECT" iopf plug --surprise
refuses "iopf: --truth with status" 2 '--truth: no effect with status' "$INJECT" iopf status --truth x
refuses "vfio: --size with fault" 2 '--size: accepted: with the actions churn and limit' "$INJECT" vfio fault -d 0000:00:04.0 --size 64K
refuses "record: --around without --trigger" 2 '--around: accepted: with --trigger' "$FAULTLINE" record --around 2s --count 1 -o x.flt
refuses "record: --keep short of --around" 2 'needs at least 11400ms$' "$FAULTLINE" record --keep 11s --trigger 'total>100ms' --around 700ms --count 1 -o x.flt
refuses "record: --keep short by a little" 2 'needs at least 10999ms$' "$FAULTLINE" record --keep 10998ms --trigger 'total>100ms' --around 499001us --count 1 -o x.flt
refuses "record: --keep short of whole seconds" 2 'needs at least 12s$' "$FAULTLINE" record --keep 11s --trigger 'total>100ms' --around 1s --count 1 -o x.flt
refuses "record: --as-root without command" 2 '--as-root: accepted: with a command' "$FAULTLINE" record --as-root --count 1 -o x.flt
refuses "top: two spans" 2 '--window and --since-start exclude each other' "$FAULTLINE" top -b --window 5s --since-start 1 1
refuses "doctor: --attach without --watch" 2 '--attach mm_fault=f: accepted: with --watch' "$FAULTLINE" doctor --attach mm_fault=f
refuses "doctor: --emulator with a recording" 2 '--emulator ./e: accepted: of this host' "$FAULTLINE" doctor run.flt --emulator ./e
refuses "accesses: --threads" 2 '--threads: there is one trace' "$FAULTLINE" accesses --threads 3
refuses "accesses: --sweep" 2 '--sweep: there is one trace; accepted: --set' "$FAULTLINE" accesses --sweep trace.tenants=4,8
refuses "accesses: a job of many points" 3 'active-set.ini:15: workload has 3 values.*choose one: --set' "$FAULTLINE" accesses active-set
check "accesses: of one point" "$FAULTLINE" accesses active-set --set 'sweep.workload=trace.workload: iperf3' \
	--set 'sweep.entries=devtlb.entries: 5' --tenants 1 --set trace.packets=97
refuses "sim: --format without --trace" 2 '--format qemu: accepted: with --trace' "$FAULTLINE" sim --format qemu
refuses "unknown verb" 2 "unknown verb 'explode'" "$INJECT" explode

equal "the target of the symbolic link was not made" "$([ -e target ] && echo made)" ""
if "$INJECT" help --markdown >markdown && python3 - "$root/docs/jobs.md" markdown <<'PY'; then
import sys
words = [" ".join(open(name).read().split()) for name in sys.argv[1:]]  # the page is wrapped
sys.exit(words[1] not in words[0])
PY
	ok "docs/jobs.md has the tables of the program"
else
	not_ok "docs/jobs.md has the tables of the program"
fi

# A recording whose newest account of events is damaged: what is there has been received all the same.
/usr/bin/python3 -B "$root/tests/hostile/forge.py" flt whole.flt device=vm0/disk faults=5 kept=3 faults=7
python3 - <<'PY'
data = bytearray(open("whole.flt", "rb").read())
data[-250] ^= 0xff
open("damaged.flt", "wb").write(data)
PY
events=$("$FAULTLINE" report damaged.flt --json 2>err | python3 -c 'import json, sys; print(json.load(sys.stdin)["events"])')
check "a recording of one damaged frame" grep -q '1 frames are lost' err
printf '[slo a]\nlatency_target = 1us\n' >damaged.ini
for verb in report timeline footprint "slo -c damaged.ini" doctor; do
	# shellcheck disable=SC2086
	"$FAULTLINE" $verb damaged.flt >/dev/full 2>err
	equal "of a damaged recording on a full disk both are told: $verb" \
		"$? $(grep -c 'damaged.flt: is damaged' err) $(grep -c 'No space left' err) $(wc -l <err)" "1 1 1 2"
done
check "... of $events events: lost 1 of one more" bash -c '
	"$0" top -b -i damaged.flt 2>/dev/null | paste -sd " " | grep -q "; lost 1 of $1 events"' "$FAULTLINE" $((events + 1))
check "... which are some" [ "$events" -gt 20 ]

# Facts and tables have the same times: faults are within the recording, and it is what was kept.
equal "raw times of facts and tables can be compared" "$("$FAULTLINE" report whole.flt --json --raw-time 2>/dev/null | python3 -c '
import json, sys
report = json.load(sys.stdin)
first, last, kept = (int(report[fact]) for fact in ("from", "to", "kept_from"))
bursts = [row["from_ns"] for row in report["tables"]["bursts"]]
faults = [row["start_ns"] for row in report["tables"]["faults"]]
print(len(bursts), len(faults) > 0, all(time <= last for time in bursts + faults), first == kept, max(faults) > first)')" "1 True True True True"
finish
