#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# plot.sh DIR OUT: draws what `faultline report --csv=DIR` or `faultline sim --csv=DIR` has written as PNG
# files in OUT.
# plot.sh CSV X Y [LINES] OUT.png: draws a campaign's results: column Y over column X of the sweep.
# Tables that are missing or empty are left out and named. Exit status: 0 something was drawn,
# 1 nothing could be, 2 wrong arguments.
set -u

here=$(cd "$(dirname "$0")" && pwd)
most=8 # devices in one plot: those with most faults

usage() {
	local name
	name=$(basename "$0")
	cat <<TEXT
Usage: $name DIR OUT
       $name CSV X Y [LINES] OUT.png
Draws the CSV files in DIR (faultline report FILE --csv=DIR, faultline sim JOB --csv=DIR) as PNG files in
OUT, or the results of a campaign (faultline-inject run JOB --csv=CSV): column Y over column X, a line for
each value of LINES.

EXAMPLES:
  $name tables plots
  $name sweep.csv latency iops_per_s rate sweep.png
TEXT
}

fail() {
	echo "plot.sh: $*" >&2
	exit "${status:-1}"
}

case ${1-} in -h | --help) usage && exit 0 ;; esac
[ $# -eq 2 ] || [ $# -eq 4 ] || [ $# -eq 5 ] || { usage >&2 && exit 2; }
command -v gnuplot >/dev/null || fail "gnuplot is missing: apt-get install gnuplot-nox"
work=$(mktemp -d "${TMPDIR:-/tmp}/faultline-plot.XXXXXX") || fail "no temporary directory"
trap 'rm -rf "$work"' EXIT
if [ $# -eq 2 ]; then
	csv=$1 out=$2
	[ -d "$csv" ] || status=2 fail "$csv: no such directory; write it with: faultline report FILE --csv=$csv"
	mkdir -p "$out" || fail "$out: cannot be created"
else
	[ -s "$1" ] || status=2 fail "$1: no results; write them with: faultline-inject run JOB --csv=$1"
	csv=$(dirname "$1") out=$(dirname "${!#}")
fi

# table NAME COLUMN...: rows of NAME.csv, only these columns, in this order, tab-separated.
# Knows RFC 4180 quotes; a tab inside a name becomes a blank.
table() {
	local file=$csv/$1.csv
	shift
	[ -s "$file" ] || return 1
	awk -v want="$*" '
	function split_csv(line, cells,    n, cell, c, i, quoted) {
		n = 0; cell = ""; quoted = 0
		for (i = 1; i <= length(line); i++) {
			c = substr(line, i, 1)
			if (c == "\"" && quoted && substr(line, i + 1, 1) == "\"") { cell = cell c; i++ }
			else if (c == "\"") quoted = !quoted
			else if (c == "," && !quoted) { cells[++n] = cell; cell = "" }
			else cell = cell (c == "\t" ? " " : c)
		}
		cells[++n] = cell
		return n
	}
	{ sub(/\r$/, "") }
	NR == 1 {
		columns = split(want, names, " ")
		n = split_csv($0, cells)
		for (i = 1; i <= n; i++) place[cells[i]] = i
		for (i = 1; i <= columns; i++)
			if (!(names[i] in place)) {
				print "plot.sh: " FILENAME ": no column " names[i] >"/dev/stderr"
				exit 1
			}
		next
	}
	{
		split_csv($0, cells)
		line = cells[place[names[1]]]
		for (i = 2; i <= columns; i++) line = line "\t" cells[place[names[i]]]
		print line
	}' "$file"
}

# Seconds of a time cell: ISO 8601 (within a day or two), or monotonic nanoseconds.
seconds='
function seconds(text,    part) {
	if (text !~ /T/) return text / 1e9
	split(substr(text, 12), part, /[:Z]/)
	return substr(text, 9, 2) * 86400 + part[1] * 3600 + part[2] * 60 + part[3]
}'

# blocks: "key<TAB>rest" lines, keys in any order, to blocks headed by their quoted key, most frequent
# first, as gnuplot'"'"'s index wants them. At most $most.
blocks() {
	awk -F'\t' -v most="$most" '
	{
		key = $1
		if (!(key in rows)) keys[++n] = key
		rows[key] = rows[key] substr($0, length(key) + 2) "\n"
		weight[key]++
	}
	END {
		for (k = 1; k <= n && k <= most; k++) {
			best = ""
			for (i = 1; i <= n; i++)
				if (!(keys[i] in done) && (best == "" || weight[keys[i]] > weight[best]))
					best = keys[i]
			done[best] = 1
			printf "%s\"%s\"\n%s", (k > 1 ? "\n\n" : ""), best, rows[best]
		}
	}'
}

count_blocks() { awk '/^"/ { n++ } END { print n + 0 }' "$1"; }

drawn=0
# draw NAME SETTINGS [FILE]: runs NAME.gp on the prepared $work/NAME.
draw() {
	local name=$1 settings=${2-} file=${3-$out/$1.png}
	# The user's path stays out of gnuplot's commands, where a quote in it would end a string.
	if gnuplot -e "here='$here'; data='$work/$name'; out='$work/plot.png'; $settings" "$here/$name.gp" \
		2>"$work/errors" && cp "$work/plot.png" "$file"; then
		echo "$file"
		drawn=$((drawn + 1))
	else
		echo "plot.sh: $name: $(head -n 3 "$work/errors")" >&2
	fi
}

skip() { echo "plot.sh: $1: not drawn: $2" >&2; }

stages() {
	table stages device queue kind stage count mean_ns p50_ns p99_ns max_ns >"$work/rows" ||
		{ skip stages "no stages.csv" && return; }
	awk -F'\t' -v OFS='\t' -v most="$most" -v devices="$work/stages.devices" \
		-v stages="$work/stages.stages" '
	BEGIN { n = split("request delivery dispatch resolve map respond resume", names, " ") }
	$2 != "" || $3 != "all" { next }
	$1 == "all" && $4 != "total" { print $4, $7 / 1e3, $8 / 1e3, $9 / 1e3 >stages }
	$1 != "all" && $4 == "total" { order[++m] = $1; faults[$1] = $5; p50[$1] = $7; p99[$1] = $8 }
	$1 != "all" { mean[$1, $4] = $6 }
	END {
		for (k = 1; k <= m && k <= most; k++) {
			best = ""
			for (i = 1; i <= m; i++)
				if (!(order[i] in done) && (best == "" || faults[order[i]] > faults[best]))
					best = order[i]
			done[best] = 1
			line = best OFS faults[best] OFS p50[best] / 1e3 OFS p99[best] / 1e3
			for (i = 1; i <= n; i++) line = line OFS mean[best, names[i]] / 1e3
			print line >devices
		}
	}' "$work/rows"
	[ -s "$work/stages.devices" ] || { skip stages "no complete fault" && return; }
	# Milliseconds once a p99 has reached ten of them.
	if awk -F'\t' '$4 >= 10000 { slow = 1 } END { exit !slow }' "$work/stages.devices"; then
		draw stages "scale=1000.0; unit='ms';"
	else
		draw stages "scale=1.0; unit='us';"
	fi
}

rate() {
	table rates window kind device rate_per_s >"$work/rows" || { skip rate "no rates.csv" && return; }
	local begin
	begin=$(cut -f1 "$work/rows" | sort | head -n 1)
	prepare() {
		awk -F'\t' -v OFS='\t' -v kind="$1" -v begin="$begin" "$seconds"'
		# A second without any has no row; a value holds for the whole of its second.
		function until(device, at) {
			if (device in last && at > last[device] + 1.5) print device, last[device] + 1, 0
		}
		$2 == kind {
			at = seconds($1) - seconds(begin)
			until($3, at)
			print $3, at, $4
			last[$3] = at
		}
		END { for (device in last) print device, last[device] + 1, 0 }' "$work/rows" | blocks
	}
	prepare "I/O page fault" >"$work/rate.faults"
	prepare "I/O completion" >"$work/rate.ios"
	[ -s "$work/rate.faults" ] || { skip rate "no fault" && return; }
	draw rate "begin='${begin%.*}'; fault_devices=$(count_blocks "$work/rate.faults"); \
io_devices=$(count_blocks "$work/rate.ios"); has_ios=io_devices;"
}

latency() {
	table faults device total_ns >"$work/rows" || { skip latency-cdf "no faults.csv" && return; }
	awk -F'\t' '$2 > 0' "$work/rows" | sort -t"$(printf '\t')" -k1,1 -k2,2n | awk -F'\t' -v OFS='\t' '
	# At most some 2000 points a device, all of the slowest 100: what the tail is made of.
	function flush(    i) {
		for (i = 1; i <= n; i++)
			if (i > n - 100 || n < 2000 || i % int(n / 1000) == 0)
				print device, at[i] / 1e3, (n - i + 1) / n
		n = 0
	}
	$1 != device { flush(); device = $1 }
	{ at[++n] = $2 }
	END { flush() }' | blocks >"$work/latency-cdf"
	[ -s "$work/latency-cdf" ] || { skip latency-cdf "no complete fault" && return; }
	draw latency-cdf "devices=$(count_blocks "$work/latency-cdf");"
}

footprint() {
	table footprint_curve window device touched_4k_bytes touched_2m_bytes >"$work/rows" ||
		{ skip footprint "no footprint_curve.csv" && return; }
	local begin
	begin=$(cut -f1 "$work/rows" | sort | head -n 1)
	awk -F'\t' -v OFS='\t' -v begin="$begin" "$seconds"'
	{ print $2, seconds($1) - seconds(begin), $3 / 1048576, $4 / 1048576 }' "$work/rows" |
		blocks >"$work/footprint"
	[ -s "$work/footprint" ] || { skip footprint "no access was logged" && return; }
	draw footprint "begin='${begin%.*}'; devices=$(count_blocks "$work/footprint");"
}

# campaign CSV X Y [LINES] OUT.png
campaign() {
	local name x=$2 y=$3 lines= file=${!#} unit= scale=1 baseline
	[ $# -eq 5 ] && lines=$4
	name=$(basename "$1" .csv)
	# shellcheck disable=SC2086 # LINES may be nothing
	table "$name" "$x" "$y" point $lines >"$work/rows" || exit 2
	[ -s "$work/rows" ] || fail "$1: no rows"
	case $y in *_ns) scale=1000000 unit=" (ms)" ;; esac
	# A baseline is named in the first dimension and has no values in the others.
	baseline=$(awk -F'\t' -v s="$scale" '$1 == "baseline" || $4 == "baseline" { print $2 / s; exit }' "$work/rows")
	awk -F'\t' -v OFS='\t' -v s="$scale" -v lines="$lines" '
	$1 == "" || $1 == "baseline" || $4 == "baseline" || $2 == "" { next }
	{
		if (!($1 in place)) place[$1] = n++
		print (lines == "" ? "all points" : lines " " $4), place[$1], $1, $2 / s
	}' "$work/rows" | blocks >"$work/campaign"
	[ -s "$work/campaign" ] || fail "$1: $y is empty in every row of the sweep"
	draw campaign "title='${name//\'/}'; xname='$x'; yname='${y%_ns}$unit'; baseline=${baseline:-NaN}; \
lines=$(count_blocks "$work/campaign");" "$file"
}

if [ $# -eq 2 ] && [ -s "$csv/results.csv" ] && [ -s "$csv/sets.csv" ]; then
	# shellcheck source=dashboards/sim.sh
	. "$here/sim.sh"
	simulation
elif [ $# -eq 2 ]; then
	stages
	rate
	latency
	footprint
else
	campaign "$@"
fi
[ "$drawn" -gt 0 ] || fail "$csv: nothing to draw"
