#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What `export --html` writes, as a browser has it: Chromium under a policy that allows nothing, numbers of `report`,
# a million events, names of strangers, a program without uPlot; and how the file is made.
. "$(dirname "$0")/lib.sh"

# The page and the numbers of NAME.flt by a program.
page() {
	local name=$1 program=$2
	shift 2
	"$FAULTLINE" report "$name.flt" --json >"$name.json" 2>/dev/null
	"$program" export "$name.flt" --html "$name.html" --force "$@" 2>"$name.err"
}

# look NAME FORM: in the browser.
look() {
	/usr/bin/python3 "$root/tests/e2e/page.py" "$1.html" "$1.json" "$2" >verdict 2>run.err
	adopt "$2"
}

cat >run.ini <<'INI'
[tenant vm]
memory = 8M
[device disk]
count = 2
file_bytes = 8M
[workload mix]
sizes = 16K:3, 64K:2
count = 307
depth = 2
rate = 401/s
[inject cold]
action = evict
pages = 61
rate = 7/s
duration = 3s
INI
cat >slo.ini <<'INI'
[slo gold]
latency_target = 1us
[slo silver]
device = *disk*
fault_rate = 1
INI
"$FAULTLINE" record --as-root --emulator "$INJECT" -o run.flt -- "$INJECT" run run.ini >record.out 2>&1
page run "$FAULTLINE" -c slo.ini
equal "a page is written" "$? $(find . -name 'run.html*' | wc -l)" "0 1"
"$FAULTLINE" slo run.flt -c slo.ini --json 2>/dev/null >slo.json
jq -s '.[0] * {tables: (.[0].tables + .[1].tables)}' run.json slo.json >both.json && mv both.json run.json

make -s -C "$root" build/plain/faultline >/dev/null
cp "$root/build/plain/faultline" bin/plain
cp run.flt plain.flt
page plain bin/plain
check "a program without uPlot says so" grep -q 'built without uPlot' plain.err
check "it has no canvas to draw on" sh -c '! grep -q uPlot.iife plain.html && ! grep -q "Leon Sorokin" plain.html'
look plain plain
if [ ! -s "$root/build/plain/with" ]; then
	skip "plots" "this program was built without uPlot"
else
	check "uPlot's licence is in the page" grep -q 'Copyright (c) 20.* Leon Sorokin' run.html
	look run whole
	make -s -C "$root" build/bench/page_bench >/dev/null
	"$root/build/bench/page_bench" 125003 spike.flt
	page spike "$FAULTLINE"
	check "a million events are in 2 MiB" [ "$(stat -c %s spike.html)" -le $((2 << 20)) ]
	# Its million rows are too much for what only one spike is looked for in.
	jq '.tables.faults |= (sort_by(-.total_ns)[:31] as $slow | $slow)' spike.json >few.json
	look spike spike
fi
/usr/bin/python3 "$root/tests/hostile/forge.py" flt hostile.flt 'device=<script>alert(1)</script>' faults=11 \
	'device=</script><img src=x onerror=alert(1)>' faults=7 'device="><svg onload=alert(1)>' faults=5 'device=<!--' ios=13 \
	'host=<script>alert(2)</script>' >/dev/null 2>&1
page hostile "$FAULTLINE"
look hostile hostile

# How the file is made.
equal "what is there stays" "$("$FAULTLINE" export run.flt --html run.html 2>&1 >/dev/null | grep -c 'run.html') $?" "1 0"
cp run.flt own.flt
"$FAULTLINE" export own.flt --html own.flt --force 2>own.err
equal "a recording is not replaced by its page" "$? $(cmp run.flt own.flt && echo same)" "2 same"
"$FAULTLINE" merge run.flt spike.flt -o merged.flt >/dev/null 2>&1 || "$FAULTLINE" merge run.flt hostile.flt -o merged.flt 2>merge.err
"$FAULTLINE" export merged.flt --html merged.html 2>merged.err
equal "of two hosts there is no one page" "$? $(ls merged.html* 2>/dev/null) $(grep -c "a page is of one" merged.err)" "2  1"
head -c $(($(stat -c %s run.flt) * 2 / 3)) run.flt >cut.flt
"$FAULTLINE" export cut.flt --html cut.html 2>cut.err
equal "a cut recording has a page" "$? $(grep -c 'recording has no end' cut.html | sed 's/[1-9][0-9]*/told/')" "5 told"
cp run.flt damaged.flt
printf 'damage' | dd of=damaged.flt bs=1 seek=$(($(stat -c %s run.flt) / 2)) conv=notrunc 2>/dev/null
"$FAULTLINE" export damaged.flt --html damaged.html 2>damaged.err
equal "so has a damaged one" "$? $(grep -c 'unreadable' damaged.html | sed 's/[1-9][0-9]*/told/')" "5 told"
"$FAULTLINE" export run.flt --html /dev/full 2>full.err
equal "what is no file is refused" "$? $(wc -l <full.err)" "1 1"
check "our script is one" node --check "$root/tools/page/page.js"
finish
