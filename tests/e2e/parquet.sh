#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What `export --parquet` writes is what `--csv` writes, for an independent reader, for ClickHouse's engine and for
# DuckDB; names of strangers, damage, what is in the way and kills; questions of dashboards/clickhouse.
. "$(dirname "$0")/lib.sh"
reference=$root/tests/reference
read_parquet() { /usr/bin/python3 "$reference/parquet_read.py" "$@"; }
files() { find "$1" -type f -name '*.parquet' | wc -l; }

# tables NAME: all tables of NAME.flt as CSV into NAME.tables, facts into NAME.json.
tables() {
	"$FAULTLINE" report "$1.flt" --csv="$1.tables" 2>/dev/null
	"$FAULTLINE" report "$1.flt" --json --table loss >"$1.json" 2>/dev/null
	"$FAULTLINE" slo "$1.flt" -c slo.ini --csv="$1.tables" >/dev/null 2>&1
}

# A machine whose queue overflows: every kind of fault, objectives that break.
cat >run.ini <<'INI'
[machine]
request_queue_entries = 8
[tenant vm]
memory = 8M
[device disk]
count = 2
group_pages = 5
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
latency_target = 2ms
[slo silver]
device = *disk*
fault_rate = 1
INI
"$FAULTLINE" record --as-root --emulator "$INJECT" -o run.flt -- "$INJECT" run run.ini >record.out 2>&1
check "recordings are made" /usr/bin/python3 "$reference/parquet_recordings.py" .
names=(run hostile clean monday tuesday timeless)
for name in "${names[@]}"; do tables "$name"; done

# Each by itself, so that its files are found; and all into one place.
for name in "${names[@]}"; do
	"$FAULTLINE" export "$name.flt" -c slo.ini --parquet "$name.files" 2>"$name.err"
	status=$?
	[ "$name" = run ] || equal "$name: its exit code" $status $([ $name = tuesday ] && echo 5 || echo 0)
	check "$name: the files have what the CSV has" read_parquet "$name.files" "$name.tables"
done
equal "there is a file a table and one of facts" "$(files run.files)" \
	$(($(find run.tables -name '*.csv' | wc -l) + 1))
"$FAULTLINE" export "${names[@]/%/.flt}" -c slo.ini --parquet fleet 2>fleet.err
equal "all in one command: loss is told" $? 5
equal "no file of one is another's" "$(files fleet)" $(($(files run.files) * ${#names[@]}))
check "a clean recording's facts say so" grep -q "^value.*b'no', b'yes'" <(read_parquet clean.files/facts/*/*/*.parquet)
check "floors are told in every file" grep -q '^floor: events were lost' <(read_parquet tuesday.files/bursts/*/*/*.parquet)

# Where files are: names of hosts are values, not paths.
equal "a host's name leads nowhere" "$(cd fleet/facts && echo * | tr ' ' '\n' | sort | paste -sd ' ')" \
	"$(printf '%s\n' 'host=..' 'host=__HIVE_DEFAULT_PARTITION__' "host=$(uname -n)" 'host=mon%2Fday' \
		'host=no%2F..%2F%5Cxff%22%5Cn%2541%20%5Cu00e9%3Dx' 'host=tuesday' | sort | paste -sd ' ')"
equal "the day is that of the recording's begin" "$(cd fleet/facts && echo host=mon*/* host=tue*/* host=__*/*)" \
	"host=mon%2Fday/date=2026-11-22 host=tuesday/date=2026-11-23 host=__HIVE_DEFAULT_PARTITION__/date=1970-01-01"

"$FAULTLINE" export far.flt --parquet far.files 2>far.err
equal "a day that no timestamp has" "$(cd far.files/faults/host=far && echo *) $(read_parquet far.files/faults/*/*/*.parquet | grep '^start')" \
	"date=1970-01-01 start (time): None, None, None"

# Memory.
"$FAULTLINE" export pages.flt clean.flt --max-memory 16M --parquet pages.files 2>pages.err
equal "behind a recording for which memory was too little, none is taken for whole" \
	"$? $(cd pages.files/facts && echo *) $(grep -c 'clean.flt: not exported: memory ran out before' pages.err)" "1 host=pages 1"
check "it says so itself" grep -q '^complete: no: memory ran out' <(read_parquet pages.files/footprint/*/*/*.parquet)

# What is in the way.
cp clean.flt copy.flt
before=$(find clean.files -type f -printf '%p %i %T@\n' | sort | sha256sum)
"$FAULTLINE" export copy.flt --parquet clean.files 2>copy.err
equal "the same recording again is refused, whatever its file is called" $? 1
equal "which leaves all as it was" "$(find clean.files -type f -printf '%p %i %T@\n' | sort | sha256sum)" "$before"
"$FAULTLINE" export clean.flt copy.flt --parquet twice.files 2>copy.err
equal "twice in one call is refused before anything is written" "$? $(ls twice.files 2>/dev/null | wc -l)" "2 0"
check "with both names" grep -q 'copy.flt: it is the same recording as in clean.flt' copy.err
check "with --force it replaces" "$FAULTLINE" export copy.flt -c slo.ini --parquet clean.files --force
check "with the same" read_parquet clean.files clean.tables
"$FAULTLINE" export clean.flt nosuch.flt --parquet none 2>none.err
equal "a recording that is missing is told before anything is written" "$? $(find none -type f 2>/dev/null | wc -l)" "3 0"
mkdir linked && ln -s "$scratch/clean.tables" linked/faults
"$FAULTLINE" export clean.flt --parquet linked 2>linked.err
equal "a link is no folder" "$? $(grep -c 'cannot open folder faults: Not a directory' linked.err)" "1 1"
equal "nothing is behind it" "$(find clean.tables -name '*.parquet' | wc -l)" 0

# Damage.
for name in damaged cut; do
	"$FAULTLINE" export "$name.flt" --parquet "$name.files" 2>"$name.err"
	equal "$name: its exit code" $? 5
	"$FAULTLINE" report "$name.flt" --csv="$name.tables" 2>/dev/null
	check "$name: what was readable is there" read_parquet "$name.files" "$name.tables"
	check "$name: the facts say why counts are floors" grep -q '^floor: .*unreadable' \
		<(read_parquet "$name.files"/faults/*/*/*.parquet)
done
head -c 20 clean.flt >stump.flt
"$FAULTLINE" export stump.flt --parquet stump.files 2>stump.err
equal "what is no recording any more" "$? $(find stump.files -type f 2>/dev/null | wc -l)" "3 0"

# Killed: whatever has a name is whole.
partial=0
for delay in 02 06 13 29; do
	"$FAULTLINE" export big.flt --parquet killed --force 2>/dev/null &
	sleep "0.$delay"
	kill -KILL $! && wait $! 2>/dev/null
	count=$(find killed -type f 2>/dev/null | wc -l)
	[ "$count" -eq "$(files killed 2>/dev/null)" ] && [ "$count" -lt 37 ] && partial=$((partial + 1))
done
[ $partial -gt 0 ] && ok "killed $partial times before its end" || not_ok "killed before its end"
check "no file is half" read_parquet killed

# Engines.
if engines=$("$root/tests/engines/fetch.sh" path 2>engines.err); then
	for engine in clickhouse duckdb; do
		for name in run hostile; do
			check "$engine reads the same: $name" /usr/bin/python3 "$reference/compare_engines.py" $engine "$engines" "$name.files" "$name.tables"
		done
	done
	cat >protect.csv <<-CSV
		policy,domain,tenant,host,memory_pages,faults_none,faults,pinned_mean_pages,rpr,pinned_by
		adp,vm0/disk@0,vm0,mon/day,2048,101,47,91.5,11.9,adp
		adp,vm1/disk,vm1,mon/day,1024,53,31,17.25,24.6,adp
		lru,vm0/disk,vm0,tuesday,2048,97,89,204,0.8,lru
		lru,vm0/nic0@17,vm0,tuesday,4096,211,3,409.5,9.8,lru
		lru,vm2,vm2,tuesday,4096,13,11,409.5,1.5,lru
		lru,total,,,4096,308,92,,,lru
	CSV
	change=$(awk -F , 'NR > 1 && $1 != "" { print $1 }' run.tables/faults.csv | sort | sed -n 101p)
	/usr/bin/python3 "$reference/compare_questions.py" "$engines" fleet protect.csv "$change" "$(uname -n)" run.tables \
		"$(printf 'no/../\\xff"\\n%%41 \\u00e9=x')" hostile.tables .. clean.tables mon/day monday.tables tuesday tuesday.tables \
		__HIVE_DEFAULT_PARTITION__ timeless.tables >verdict 2>run.err
	adopt questions
else
	skip "engines" "$(tail -n 1 engines.err)"
fi
finish
