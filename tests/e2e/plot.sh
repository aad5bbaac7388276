#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A recording's tables, a sweep's results and a simulation's become plots; what cannot be drawn is said.
. "$(dirname "$0")/lib.sh"

plot=$root/dashboards/plot.sh
if ! command -v gnuplot >/dev/null; then
	not_ok "plots" "no gnuplot: tests/setup.sh check installs it"
	finish
fi

# is_plot FILE: a PNG of 1000x600 that is not a blank sheet.
is_plot() {
	python3 - "$1" <<'PY'
import struct, sys
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
assert struct.unpack(">II", data[16:24]) == (1000, 600), struct.unpack(">II", data[16:24])
assert len(data) > 5000, f"only {len(data)} bytes: blank?"
PY
}

cat >sweep.ini <<'INI'
[tenant vm]
count = 2
memory = 8M
[device disk]
file_bytes = 8M
[workload mix]
sizes = 4K
rate = 300/s
duration = 2s
[inject cold]
action = evict
what = next
kind = major
rate = 29/s
duration = 2s
[sweep]
baseline = cold.enabled=no
rate = cold.rate: 11/s, 29/s
INI
"$FAULTLINE" record --as-root -q -o run.flt -- "$INJECT" run --csv=sweep.csv sweep.ini >out 2>err
equal "a sweep is recorded" "$?" 0
"$FAULTLINE" report run.flt --csv=tables >out 2>err
equal "its tables are written" "$?" 0

check "the tables are drawn" "$plot" tables plots
for name in stages rate latency-cdf footprint; do
	check "$name.png is a plot" is_plot "plots/$name.png"
done
check "the sweep is drawn" "$plot" sweep.csv rate iops_per_s sweep.png
check "sweep.png is a plot" is_plot sweep.png

# own_csv JOB X Y [LINES]: results of which its plot can be drawn, if those of the job have these columns.
own_csv() {
	python3 - "$@" <<'PY'
import csv, re, sys
job, *words = sys.argv[1:]
with open("sweep.csv") as file:
    there = set(next(csv.reader(file)))
with open(job) as file:
    there |= set(re.findall(r"^(\w+) *=", file.read().partition("\n[sweep]\n")[2].partition("\n[")[0], re.M))
columns = [column for word in words for column in word.split(",")]
assert set(columns) <= there, f"{set(columns) - there}: no column of its results"
out = csv.writer(sys.stdout)
out.writerow(["point", *columns])
for row in range(4):
    out.writerow([row, row % 2 + 1, row + 3, *("ab"[row // 2] for _ in columns[2:])])
PY
}
# A campaign's own plots: the commands that each job names are of columns that it has, and draw them.
for job in "$root"/injectors/jobs/{npf,vpri,pause,rdma}*.ini; do
	name=$(basename "$job" .ini)
	count=0
	while read -ra columns; do
		picture=$name-$((++count)).png
		check "$name names columns that it has" own_csv "$job" "${columns[@]}"
		own_csv "$job" "${columns[@]}" >own.csv
		check "$name names a plot that is drawn" "$plot" own.csv "${columns[@]}" "$picture"
		check "$picture is a plot" is_plot "$picture"
	done < <(sed -n 's|^; Plot: dashboards/plot.sh [^ ]* \(.*\) [^ ]*\.png.*|\1|p' "$job")
	check "$name names a plot" test $count -gt 0
done
# What falls into one place, lines and words, of results of NICs.
cat >nic.csv <<'CSV'
policy,again,window,duration_s,requests_per_s,goodput_bytes_per_s,round_trip_mean_ns,timeouts,lost,lost_fault,kind,rate,size,nics,scheduler,tcp,latency,load,burst,iops_per_s,takes,min_goodput_bytes_per_s
baseline,,,9,,,,,,,,,,,,,,,,,,
pin,1,iperf3 -w 32K -t 2,1,1,1,1,1,1,1,5ms,1/s,16,1,serial,classic,5ms,ping,5,1,5ms,1
pin,2,iperf3 -w 32K -t 2,3,1,1,1,1,1,1,5ms,2/s,64,4,serial,classic,30ms,ping,30,1,50ms,1
ooo,1,iperf3 -w 256K -t 2,2,1,1,1,1,1,1,50ms,1/s,16,1,affined,modern,5ms,throughput,5,1,5ms,1
CSV
# drawn_of WORD...: what gnuplot is given for them, its data and the texts.
drawn_of() {
	mkdir -p fake
	printf '#!/bin/sh\ncat campaign text.y >"%s/given"\necho "$@" >>"%s/given"\nexit 1\n' "$PWD" "$PWD" >fake/gnuplot
	chmod +x fake/gnuplot
	PATH=$PWD/fake:$PATH "$plot" "$@" never.png >out 2>err
	tr '\t\n' '  ' <given
}
check "what falls into one place is its mean" grep -q '"all points" 0 "pin" 2 1 "ooo" 2 duration_s, mean of 2' \
	<(drawn_of nic.csv policy duration_s)
check "with the baseline beside it" grep -q 'baseline=9' given
check "words are points" grep -q 'words=1' given
check "several columns make a line, of their values only what differs" \
	grep -q '"policy pin, window 32K" 0 "1" 1 1 "2" 3   "policy ooo, window 256K" 0 "1" 2' \
	<(drawn_of nic.csv again duration_s policy,window)
check "as few words as tell lines apart" grep -q 'load ping-pong".*load throughput"' \
	<(sed 's/,ping,/,sockperf ping-pong -i a -t 1,/; s/,throughput,/,sockperf throughput -t 1,/' nic.csv >long.csv
		drawn_of long.csv rate duration_s load)
check "numbers are a line" grep -q 'words=0' given
"$plot" nic.csv policy duration_s again,nonsense x.png >out 2>err
equal "an unknown second column is wrong usage" "$? $(grep -c 'no column nonsense' err)" "2 1"

# What is missing is named, the rest is drawn.
rm tables/faults.csv tables/footprint_curve.csv
"$plot" tables fewer >out 2>err
equal "some tables are enough" "$?" 0
equal "what is missing is named" "$(grep -c 'not drawn' err)" 2
equal "the others are drawn" "$(ls fewer | tr '\n' ' ')" "rate.png stages.png "

# Names are bytes of strangers: quotes, commas, blanks, gnuplot's own signs.
mkdir hostile
sed -E 's|vm0/disk(#[0-9]+)?|"a ""b"", $(touch pwned) `touch pwned` {x_1}"|' tables/stages.csv >hostile/stages.csv
sed -E 's|vm0/disk(#[0-9]+)?|"a ""b"", $(touch pwned) `touch pwned` {x_1}"|' tables/rates.csv >hostile/rates.csv
check "hostile names are drawn" "$plot" hostile drawn
check "hostile/stages.png is a plot" is_plot drawn/stages.png
check "and not executed" test ! -e pwned

# A simulation: every kind of sweep, and none.
cat >sim.ini <<'INI'
[trace]
packets = 5003
[sweep]
baseline = walk.mode=none
design = preset.design: base, hypertrio
packets = link.packet: 1542, 3K
tenants = trace.tenants: 1, 8, 64
INI
check "a simulation writes its tables" "$FAULTLINE" sim sim.ini --csv=sim
check "they are drawn" "$plot" sim simulated
for name in bandwidth conflicts ptb tenants; do
	check "$name.png is a plot" is_plot "simulated/$name.png"
done
check "one over words" "$FAULTLINE" sim --set trace.packets=503 --csv=words \
	--sweep trace.workload=iperf3,websearch
check "is drawn" "$plot" words worded
check "bandwidth.png is a plot" is_plot worded/bandwidth.png
check "one point" "$FAULTLINE" sim --set trace.packets=503 --tenants 3 --csv=point
"$plot" point pointed >out 2>err
equal "is drawn, but for what takes a sweep" "$(cat err)" "plot.sh: bandwidth: not drawn: no sweep"
equal "and has the other plots" "$(ls pointed | tr '\n' ' ')" "conflicts.png ptb.png tenants.png "
# More combinations than a plot has room for, and words that are not meant for gnuplot.
check "a large sweep" "$FAULTLINE" sim --set trace.packets=203 --sweep trace.seed=1,2,3,4,5,6,7 \
	--sweep trace.order=rr,rand --tenants 3 --csv=many
sed -i "s|,rand,|,\"'; system 'touch pwned'; x='\",|" many/results.csv
"$plot" many drawn >out 2>err
equal "is drawn in part: exit" $? 0
equal "and what was left out is named" "$(grep -c 'the first 6 of 7 combinations of seed' err)" 2
check "strangers' words are not executed" test ! -e pwned
rm sim/results.csv
"$plot" sim lost >out 2>err
equal "without its results nothing is drawn" "$?" 1

mkdir empty
"$plot" empty nothing >out 2>err
equal "nothing to draw is an error" "$?" 1
for kind in pipe directory device; do
	rm -rf empty/stages.csv
	case $kind in
	pipe) mkfifo empty/stages.csv ;;
	directory) mkdir empty/stages.csv ;;
	device) ln -s /dev/null empty/stages.csv ;;
	esac
	timeout 60 "$plot" empty nothing >out 2>err
	equal "a $kind is named as what it is" "$? $(grep -c "empty/stages.csv: is a $kind.*; accepted: a CSV file" err)" "1 1"
done
rm -rf empty/stages.csv
"$plot" /nonexistent plots >out 2>err
equal "no directory is wrong usage" "$?" 2
"$plot" sweep.csv rate nonsense x.png >out 2>err
equal "an unknown column is wrong usage" "$?" 2
check "and named" grep -q 'no column nonsense' err
"$plot" >out 2>err
equal "no arguments are wrong usage" "$?" 2
equal "no temporary files are left" "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'faultline-plot.*' | wc -l)" 0
finish
