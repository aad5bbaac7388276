#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What is wrong in a simulation's job or on its command line: one sentence with file:line or option,
# the value and what is accepted; a typed exit code; nothing on stdout, no output begun.
. "$(dirname "$0")/lib.sh"

# says EXIT SENTENCE ARGUMENT...: stderr is this sentence and nothing else.
says() {
	local code=$1 sentence=$2 status
	shift 2
	prlimit --cpu=20 "$FAULTLINE" sim "$@" >out 2>err </dev/null
	status=$?
	if [ "$status" -ne "$code" ]; then
		not_ok "sim $*" "exit $status, expected $code: $(head -c 300 err)"
	elif [ "$(cat err)" != "faultline: $sentence" ]; then
		not_ok "sim $*" "said: $(head -c 500 err)"
	elif [ -s out ]; then
		not_ok "sim $*" "printed: $(head -c 300 out)"
	else
		ok "$code: $sentence"
	fi
}

# job SENTENCE TEXT ARGUMENT...: TEXT with printf's escapes is job.ini; exit 3.
job() {
	local sentence=$1
	# shellcheck disable=SC2059
	printf "$2" >job.ini
	shift 2
	says 3 "job.ini$sentence" job.ini "$@"
}

# What is no job file.
lines='lines of text of at most 4000 characters'
job ':2: tenants=0: accepted: 1 to 65536' '[trace]\ntenants = 0'
job ':2: tenants=0: accepted: 1 to 65536' '[trace]\r\ntenants = 0\r\n'
job ':2: tenants=0: accepted: 1 to 65536' '\xef\xbb\xbf[trace]\ntenants = 0\n'
job ":2: a NUL byte; accepted: $lines" '[trace]\n\0tenants = 0\n'
job ":2: a NUL byte; accepted: $lines" '[trace]\ntenants = 4\0\n'
job ":3: a longer line; accepted: $lines" "[trace]\n\n;$(printf '%04000d' 0)\n"
job ': is empty; accepted: a simulation file with [SECTION]s' ''
job ': is empty; accepted: a simulation file with [SECTION]s' '; a comment\n\n'
job ':1: tenants: accepted: entries after a [SECTION]' 'tenants = 4\n[trace]\n'
job ':2: accepted: [SECTION], KEY = VALUE or ; comment' '[trace]\ntenants 4\n'
job ':2: =4: accepted: KEY = VALUE' '[trace]\n= 4\n'
job ':1: [trace: accepted: [TYPE] or [TYPE NAME]' '[trace\ntenants = 4\n'
job ':1: [trace] x: accepted: [TYPE] or [TYPE NAME]' '[trace] x\ntenants = 4\n'
job ':1: [trace x]: accepted: [trace], which has no name' '[trace x]\ntenants = 4\n'
job ':3: [trace] is already at job.ini:1; accepted: once' '[trace]\n[link]\n[trace]\n'
job ':3: tenants is already set at job.ini:2; accepted: once' '[trace]\ntenants = 4\ntenants = 4\n'
job ':2: tenants: no such key in [link]; accepted: packet, mbit_per_s' '[link]\ntenants = 4\n'
job ':2: tenant: no such key in [trace]; did you mean tenants?' '[trace]\ntenant = 4\n'
job ':2: tenants=: accepted: 1 to 65536' '[trace]\ntenants =\n'
job ":2: workload=$(printf '%076d' 0)...: accepted: iperf3, mediastream, websearch" \
	"[trace]\nworkload = $(printf '%03000d' 0)\n"
job ':2: tenants=4\x1b[31m: accepted: 1 to 65536' '[trace]\ntenants = 4\033[31m\n'
says 3 "/dev/zero: is a device or socket; accepted: a simulation file" /dev/zero
says 3 './: is a directory; accepted: a simulation file' ./
says 3 'nowhere.ini: cannot open the simulation file: No such file or directory' nowhere.ini

# What does not go together.
job ':2: [devtlb] entries=100, ways=8: accepted: entries that are ways times a power of two, or ways=0' \
	'[devtlb]\nentries = 100\n'
job ':3: [level2] entries=512, ways=3: accepted: entries that are ways times a power of two, or ways=0' \
	'[level2]\nentries = 512\nways = 3\n'
job ':2: [devtlb] partitions=8 of the 2 sets that entries=16, ways=8 make: accepted: 1 to 2' \
	'[devtlb]\nentries = 16\n' --preset hypertrio
job ':3: packet=1, mbit_per_s=100000000: accepted: a picosecond a packet and more' \
	'[link]\nmbit_per_s = 100000000\npacket = 1\n'
job ':3: tenant_min=1840, tenant_max=9: accepted: tenant_max of at least tenant_min' \
	'[trace]\npackets = 0\ntenant_max = 9\n'
job ':4: packets=0, tenant_max=0: a trace without end; accepted: one of them above 0' \
	'[trace]\npackets = 0\ntenant_min = 0\ntenant_max = 0\n'
job ':2: streams=33, data_pages=32: accepted: at most a stream a page' '[trace]\nstreams = 33\n'
job ':6: pages up to 0x1000100000000 (data_pages=262144 of 1073741824 bytes), walk.tables=yes: accepted: addresses of 48 bits' \
	'[walk]\nmode = nested\ntables = yes\n[trace]\ndata_page = 1G\ndata_pages = 262144\n'
job ':2: policy=belady: accepted: lru, lfu, random, fifo' '[context]\npolicy = belady\n'

# What a sweep replaces is a value all the same.
job ':2: tenants=0: accepted: 1 to 65536' '[trace]\ntenants = 0\n[sweep]\nt = trace.tenants: 1, 2\n'
# What has no effect, at any point of a sweep.
job ':2: zipf=50: has no effect with order=rr; accepted: with order=zipf' '[trace]\nzipf = 50\n'
job ':2: tables=yes: has no effect with mode=as-released; accepted: with mode=nested' '[walk]\ntables = yes\n'
job ':2: pages=3: has no effect with entries=0; accepted: with entries above 0' '[prefetch]\npages = 3\n'
job ':2: fault=50us: has no effect with more.faults_per_million=0; accepted: with more.faults_per_million above 0' '[latency]\nfault = 50us\n'
job ':4: zipf=50: has no effect with order=rr; accepted: with order=zipf' \
	'[sweep]\nx = trace.order: rr, rand\n[trace]\nzipf = 50\n'
check "a preset's keys are nobody's" "$FAULTLINE" sim --preset table2-literal --set walk.mode=24 --set trace.packets=20 --tenants 2
check "and it gives a key its effect" "$FAULTLINE" sim --preset hypertrio --set prefetch.pages=3 --set trace.packets=20 --tenants 2

# Sweeps.
form='accepted: NAME = SECTION.KEY: VALUE, VALUE ...'
job ":2: x=: no colon; $form" '[sweep]\nx =\n'
job ":2: x=trace.seed:: an empty value; $form" '[sweep]\nx = trace.seed:\n'
job ":2: x=trace.seed: 1,1: the same value twice; $form" '[sweep]\nx = trace.seed: 1,1\n'
job ":2: x=trace.seed: $(seq -s, 65 | head -c 64)...: more than 64 values; $form" \
	"[sweep]\nx = trace.seed: $(seq -s, 65)\n"
job ":4: c=trace.run: $(seq -s, 64 | head -c 65)...: more than 4096 points; $form" \
	"[sweep]\na = trace.seed: $(seq -s, 64)\nb = trace.turn: $(seq -s, 64)\nc = trace.run: $(seq -s, 64)\n"
job ":2: 9=trace.seed: 1: NAME is made of up to 40 letters, digits and _; $form" '[sweep]\n9 = trace.seed: 1\n'
job ":3: x=trace.run: 1: this name is already swept; $form" '[sweep]\nx = trace.seed: 1\nx = trace.run: 1\n'
job ':3: trace.seed is already swept at job.ini:2; accepted: once' \
	'[sweep]\nx = trace.seed: 1, 2\ny = trace.seed: 3, 4\n'
job ":2: x=expect.y: 1: no point has such a value of its own; $form" '[sweep]\nx = expect.y: 1\n'
job ':2: tenants=0: accepted: 1 to 65536' '[sweep]\nx = trace.tenants: 4, 0\n'
job ':2: tenant: no such key in [trace]; did you mean tenants?' '[sweep]\nx = trace.tenant: 4\n'
sections='preset, trace, link, ptb, latency, walk, context, devtlb, iotlb, level2, level3, prefetch, more, sweep, expect, short'
job ":2: tlb.x: job.ini has no section [tlb]; accepted: sweep, ${sections/sweep, /}" '[sweep]\nx = tlb.x: 1\n'

# Expectations and [short].
job ':2: x: column 1: the expression ends; accepted here: a column or a number' '[expect]\nx =\n'
job ':2: x: column 1: is a number; accepted: a comparison such as p99 < 5ms' '[expect]\nx = packets\n'
job ':2: x: column 1: bandwith: no such column or dimension; did you mean bandwidth?' '[expect]\nx = bandwith > 1\n'
job ':2: x: column 9: t: no such dimension in [sweep]' '[expect]\nx = packets(t=1) > 1\n'
job ':4: x: column 11: 9: not a value of t in [sweep]' '[sweep]\nt = trace.seed: 1\n[expect]\nx = packets(t=9) > 1\n'
job ':3: x is already at job.ini:2; accepted: once' '[expect]\nx = packets > 1\nx = packets > 2\n'
job ':2: x=1: accepted: SECTION.KEY=VALUE' '[short]\nx = 1\n' --short
job ':3: trace.seed is already set at job.ini:2; accepted: once' \
	'[short]\ntrace.seed = 1\ntrace.seed = 2\n' --short
job ': has no [short] section, so --short changes nothing' '[trace]\n' --short

# The command line.
says 2 '--set a: accepted: SECTION.KEY=VALUE' --set a
says 2 '--set: =: accepted: SECTION.KEY=VALUE' --set =
says 2 "--set: tlb.x: the command line has no section [tlb]; accepted: $sections" --set tlb.x=1
says 2 '--set: trace.tenants=0: accepted: 1 to 65536' --set ' trace.tenants = 0 '
says 2 '--set: trace.tenants=4\n5: accepted: 1 to 65536' --set $'trace.tenants=4\n5'
says 2 '--tenants: tenants=65537: accepted: 1 to 65536' --tenants 65537
says 2 '--sweep tenants=4: accepted: SECTION.KEY=V1,V2' --sweep tenants=4
says 2 '--sweep trace.seed: 1,: an empty value; accepted: SECTION.KEY=V1,V2' --sweep trace.seed=1,
says 2 '--sweep expect.x: 1: no point has such a value of its own; accepted: SECTION.KEY=V1,V2' --sweep expect.x=1
says 2 '--sweep: tenants=0: accepted: 1 to 65536' --sweep trace.tenants=4,0
says 2 '--sweep: trace.seed is already swept at --sweep; accepted: once' --sweep trace.seed=1 --sweep trace.seed=2
says 3 'the command line: has no [short] section, so --short changes nothing' --short
says 2 "unknown preset 'hyper'; accepted: base, hypertrio, as-released, table2-literal" --preset hyper
says 2 '--set: [iotlb] entries=9, ways=8: accepted: entries that are ways times a power of two, or ways=0' \
	--set iotlb.entries=9

# Values that are each fine and together beyond what 64 bits of picoseconds hold, or a wait of 10^11 slots.
help='accepted: fewer packets, shorter latencies or a faster link'
says 1 "13 days of virtual time after 137439 packets: $help" --set link.packet=1M --set link.mbit_per_s=1
says 1 "sums of virtual time beyond 64 bits after 111738 packets: $help" --preset base --set ptb.entries=64 \
	--set latency.pcie=1s --set latency.dram=1s --set walk.mode=24 --set latency.fault=1s \
	--set more.faults_per_million=1000000
check "two devices wait for a second a translation without going through its slots" prlimit --cpu=20 "$FAULTLINE" \
	sim --set more.devices=2 --set latency.pcie=1s --set trace.packets=100

# Outputs are looked at before the work, begun only when it is done, and named when they are whole.
small=(--tenants 4 --set trace.packets=50)
mkdir taken locked
: >taken/caches.csv
chmod 555 locked
chmod 711 "$scratch"
says 1 'taken/caches.csv: exists already; choose another name or remove it' --csv=taken
equal "and nothing was put beside it" "$(ls taken)" caches.csv
check "--force replaces it" "$FAULTLINE" sim "${small[@]}" --csv=taken --force
check "all tables are there and whole" sh -c 'wc -l taken/results.csv taken/tenants.csv | grep -q "^ *7 total"'
says 2 '--table result: accepted: results, caches, tenants, ptb, partitions, sets' --table result
says 2 'CSV holds one table a file and this output has several: name a directory (--csv=DIR) or one table (--table caches)' --csv=-
equal "a directory that may not be written to is named before the work" "$(setpriv --reuid=65534 --regid=65534 \
	--clear-groups "$FAULTLINE" sim --set trace.packets=1e15 --csv="$PWD/locked" 2>&1 | sed "s:$PWD/::")" \
	'faultline: locked: cannot be written to: Permission denied'
for options in "${small[*]} --json" '--keys' "${small[*]} --csv=- --table results" "${small[*]} --wide"; do
	# shellcheck disable=SC2086
	text=$("$FAULTLINE" sim $options 2>&1 >/dev/full)
	equal "a full output is an error with $options" "$? $text" \
		'1 faultline: standard output: cannot be written: No space left on device'
done
for order in '--json --csv=both' '--csv=both --json'; do
	# shellcheck disable=SC2086
	"$FAULTLINE" sim $order >out 2>err
	equal "two formats are refused: $order" "$? $(head -n 1 err)" \
		'2 faultline sim: --csv and --json exclude each other'
done
# One convention for both programs: the path belongs to its option, the next word never does.
"$FAULTLINE" sim "${small[@]}" --csv --table results >out 2>err
equal "--csv takes no word: what follows is an option still" "$? $(wc -l <out) $(cat err)" "0 2 "
"$FAULTLINE" sim --table results "${small[@]}" --csv conflicts >out 2>err
equal "nor the job" "$(head -n 1 out | cut -d , -f 1)" point
check "a path of .csv is a file" "$FAULTLINE" sim "${small[@]}" --csv=one.csv --table results
equal "with the table in it" "$(wc -l <one.csv)" 2
says 2 'CSV holds one table a file and this output has several: name a directory (--csv=DIR) or one table (--table caches)' --csv=two.csv
equal "which several do not fit into" "$(ls two.csv 2>&1 | grep -c 'No such')" 1
check "JSON goes into a file as well" "$FAULTLINE" sim "${small[@]}" --json=all.json
check "and is whole" python3 -c 'import json; assert json.load(open("all.json"))["tables"]["results"]'
# The old spelling says how it is spelled now.
"$FAULTLINE" sim --csv old 2>err
equal "the old spelling of --csv: no job" \
	"$? $(grep -c "^faultline: unknown job 'old'; .*; a path for the tables follows '=': --csv=old$" err)" "3 1"
"$FAULTLINE" report nowhere.flt --csv old 2>err
equal "a second word is refused with it" "$? $(head -n 1 err)" \
	"2 faultline report: unexpected argument 'old'; a path for the tables follows '=': --csv=old"
"$FAULTLINE" report --csv nowhere 2>err
equal "and a recording that is none" "$? $(cat err)" \
	"3 faultline: nowhere: cannot be opened: No such file or directory; a path for the tables follows '=': --csv=nowhere"
"$FAULTLINE" report nowhere --csv 2>err
equal "but nobody else's word" "$? $(cat err)" "3 faultline: nowhere: cannot be opened: No such file or directory"
"$FAULTLINE" top -b 1 1 --csv old 2>err
equal "top: the old spelling" "$? $(grep -c "; a path for the tables follows '=': --csv=old" err)" "2 1"
"$FAULTLINE" doctor --csv old 2>err
equal "doctor: the old spelling" "$? $(grep -c "; a path for the tables follows '=': --csv=old" err)" "3 1"
for signal in INT TERM HUP; do
	# A shell's background jobs ignore SIGINT, and what is ignored stays so.
	python3 - "$FAULTLINE" $signal <<'PY' && ok "SIG$signal ends with 7 and no file" || not_ok "SIG$signal"
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
run = subprocess.Popen([sys.argv[1], "sim", "--set", "trace.packets=1e12", "--csv=stopped"], stderr=subprocess.PIPE, text=True)
while not os.path.isdir("stopped"):
    time.sleep(0.01)
number = getattr(signal, "SIG" + sys.argv[2])
# On a busy machine it catches signals later than it makes the folder.
while not int(next(line for line in open(f"/proc/{run.pid}/status") if line.startswith("SigCgt")).split()[1], 16) >> (number - 1) & 1:
    time.sleep(0.01)
time.sleep(0.1)
run.send_signal(number)
said = run.communicate()[1]
assert run.returncode == 7, run.returncode
assert said == "faultline: stopped by a signal before the work was complete\n", said
assert not os.listdir("stopped")
PY
done
for run in 1 2 3 4; do
	"$FAULTLINE" sim --tenants 1024 --set trace.packets=20000 --set trace.seed=$run --csv=race 2>race.err.$run &
done
wait
winner=$(grep -L . race.err.*)
equal "of four at once one writes the directory, the others say so" \
	"$(grep -l 'race/results.csv: exists already\|race: results.csv: exists already' race.err.* | wc -l)" 3
check "and its tables are whole" sh -c "$FAULTLINE sim --tenants 1024 --set trace.packets=20000 --set \
	trace.seed=${winner##*.} --csv=alone && diff -r race alone"

# Tables.
long=(--tenants 4 --set trace.packets=9 --sweep more.invalidate_packets=0,100 --sweep trace.first_touches=0,1
	--sweep preset.walk=as-released,table2-literal)
"$FAULTLINE" sim "${long[@]}" >text
equal "long names of a sweep leave 80 columns" "$(awk 'length > 80' text | wc -l) $(wc -l <text)" "0 10"
"$FAULTLINE" accesses --tenants 30 --set trace.packets=2000 >text
equal "the tables of accesses, too, and tell that they are parts" "$(awk 'length > 80' text | wc -l) $(grep '^These are' text)" \
	"0 These are 20 of 30 tenants; --table tenants prints all.
These are 20 of 90 pages; --table pages prints all."
"$FAULTLINE" sim "${long[@]}" --wide >text
equal "and are whole in wide output" "$(grep -c 'INVALIDATE_PACKETS  FIRST_TOUCHES  WALK ' text)" 1
"$FAULTLINE" sim "${small[@]}" --sweep trace.packets=5,6 --sweep trace.tenants=2,3 --csv=named
for table in named/*.csv; do
	equal "${table#*/}: no column comes twice" "$(head -n 1 "$table" | tr , '\n' | sort | uniq -d)" ""
done
equal "JSON has what was swept and what was seen" "$("$FAULTLINE" sim "${small[@]}" --sweep trace.packets=5,6 --json |
	python3 -c 'import json, sys
print([(row["packets"], row["seen_packets"]) for row in json.load(sys.stdin)["tables"]["results"]])')" \
	"[('5', 5), ('6', 6)]"

# Memory that is not there is an error in one sentence, wherever it lacks; the limit is what is available.
lacks() {
	local kib status
	for kib in 1000 2000 4000 8000 16000 32000 64000; do
		(ulimit -d $kib && exec prlimit --cpu=20 "$FAULTLINE" "$@" >out 2>err)
		status=$?
		[ $status -eq 0 ] && continue
		if [ $status -ne 1 ] || [ "$(wc -l <err)" -ne 1 ] || ! grep -qE 'no memory|Cannot allocate' err; then
			not_ok "$*: $kib KiB" "exit $status: $(head -c 300 err)"
			return
		fi
	done
	ok "$*: enough memory or one sentence"
}
# Sanitizers need more than they are left.
[ -n "${SANITIZED:-}" ] && lacks() { :; }
lacks sim --preset hypertrio --set devtlb.policy=belady
lacks sim --tenants 65536 --set more.devices=64 --set trace.packets=2000
lacks sim --preset table2-literal --set trace.packets=20000
lacks sim --sweep trace.seed=1,2,3 -j 3 --set devtlb.entries=1048576 --set trace.packets=2000 --json
lacks accesses --set trace.packets=20000 --json
"$FAULTLINE" sim --set trace.packets=1e12 2>/dev/null >&2 &
limited() { awk '/^Max data size/ { exit !($4 + 0 > 1e6) }' "/proc/$!/limits"; }
if wait_for 5 limited; then
	ok "a simulation does not take more memory than there is"
else
	not_ok "a simulation does not take more memory than there is" "$(grep data /proc/$!/limits)"
fi
kill $!

# Every key that --keys lists, at its ends, beyond them and with what is no such value.
"$FAULTLINE" sim --keys >keys
equal "--keys stays within 80 columns" "$(awk 'length > 80' keys)" ""
for verb in sim accesses; do
	"$FAULTLINE" $verb -h >help
	equal "$verb -h stays within 80 columns, its examples on lines of their own" \
		"$(awk 'length > 80 || /^(trace|--)/' help)" ""
done
if python3 - "$FAULTLINE" >keys.log 2>&1 <<'PY'; then
import re, subprocess, sys

units = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "s": 10**9}
scale = lambda text: (lambda m: int(float(m[1]) * units[m[2]]))(re.match(r"([\d.e+]+)(\w*)$", text))
own = {  # kinds of value that a list or a range does not tell: good ones, bad ones
    "shares": (["1", "100", "1:1:4", ":".join(64 * ["7"])],
               ["", "0", "101", "1:", ":1", "1::2", "1,2", "1:0", "-1", "x", "1" * 70]),
    "address": (["0x0", "0x40000000", "0x1fffffffc000000"],
                ["", "0", "4096", "0x", "0xg", "-0x1", "0x200000000000000", "0x" + 17 * "1", "x", "1G"]),
}
kinds = "count|bytes|time|choice|yes/no|address|shares"
rows = re.findall(rf"^  (\w+)\.(\w+) .* ({kinds}): (.*); default: (?:.*only with (.*)|.*)$",
                  open("keys").read().replace("\n      ", " "), re.M)
assert len(rows) >= 66, len(rows)
wrong = 0

def needed(section, needs):  # "phase above 0 and order=zipf": options that make the key one with an effect
    for need in needs.split(" and ") if needs else []:
        key, value = re.match(r"([\w.]+)(?:=(\S+)| above 0)$", need).groups()
        yield from ("--set", f"{key if '.' in key else f'{section}.{key}'}={value or 8}")

def run(section, key, value, accepted=None, needs=""):
    global wrong
    if needs and accepted is None:  # without them it is refused, whatever its value
        done = subprocess.run([sys.argv[1], "sim", "--set", f"{section}.{key}={value}"], capture_output=True, text=True)
        if done.returncode != 2 or f"--set: {section}.{key}={value}: has no effect with " not in done.stderr:
            wrong += 1
            print(f"{section}.{key}={value} without {needs}: exit {done.returncode}: {done.stderr}")
    done = subprocess.run(["prlimit", "--cpu=20", sys.argv[1], "sim", "--set", "trace.tenants=4", "--set", "trace.packets=20",
                           *needed(section, needs), "--set", f"{section}.{key}={value}"], capture_output=True, text=True)
    said = f"faultline: --set: {section}.{key}={value}: accepted: {accepted}"
    if accepted is None:  # fine, or not together with the others
        good = done.returncode == 0 or (done.returncode == 2 and (
            ", " in done.stderr.split(": accepted")[0] or needs and f"{key}={value}: " not in done.stderr))
    else:
        good = done.returncode == 2 and done.stderr.rstrip("\n").split("; did you mean")[0] == said
    if not good:
        wrong += 1
        print(f"{section}.{key}={value}: exit {done.returncode}: {done.stderr}")

for section, key, kind, accepted, needs in rows:
    if kind in ("count", "bytes", "time"):
        low, high = map(scale, re.match(r"(\S+) to ([^\s,;]+)", accepted).groups())
        unit = "ns" if kind == "time" else ""
        if high < 10**15:  # packets: nobody waits for so many
            run(section, key, f"{high}{unit}", needs=needs)
        run(section, key, f"{low}{unit}", needs=needs)
        bad = ["", "-1", "1.5x", "0x10", str(2**64), "abc", "nan", "1e400", "5Q", "1,5", "+5", "5%", f"{high + 1}{unit}"]
        if low:
            bad.append(f"{low - 1}{unit}")
        bad.append({"count": "5K", "bytes": "5ns", "time": "5"}[kind])
    elif kind in own:
        good, bad = own[kind]
        for value in good:
            run(section, key, value, needs=needs)
    else:
        for value in accepted.split(", "):
            run(section, key, value, needs=needs)
        bad = ["", "x", accepted.split(", ")[0] + "x", "maybe"]
    for value in bad:
        run(section, key, value, accepted)
sys.exit(wrong != 0)
PY
	ok "every key takes what --keys says and nothing else"
else
	not_ok "every key takes what --keys says and nothing else" "$(head -c 2000 keys.log)"
fi
finish
