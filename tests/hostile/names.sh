#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A recording runs no command and steers no terminal, whatever its devices, processes, hosts and probes are
# called: not through text, messages and `top`, not through its CSV files and their plots.
. "$(dirname "$0")/../e2e/lib.sh"
here=$root/tests/hostile
# What waits for a terminal may wait for ever.
names() { "$root/tests/watchdog.py" run --cpu 600 --quiet 300 -- /usr/bin/python3 -B "$here/names.py" "$@"; }

check "a recording of strange names is made" names make names.flt
check "text and messages show them escaped" names text "$FAULTLINE" names.flt
check "JSON is JSON, with each of them" names json "$FAULTLINE" names.flt
check "CSV is RFC 4180, with each of them as it is" names csv "$FAULTLINE" names.flt tables
check "CSV on a terminal shows them escaped" names terminal "$FAULTLINE" names.flt
check "top shows them escaped" names screen "$FAULTLINE" names.flt
check "devices that share a name are told apart wherever it stands" names shared "$FAULTLINE" shared.flt

# What a stranger's job says of itself: its queues are full all the time.
cat >evil.ini <<JOB
[tenant vm]
memory = 16M
[device d]
file_bytes = 16M
medium_latency = 20ms
[workload w]
rate = 100000/s
duration = 300ms
[sweep]
x = machine.name: $(printf '\033')[31m, $(printf '\033')[32m
JOB
"$INJECT" run evil.ini >out 2>&1
equal "a campaign shows the names of its points escaped" \
	"$(grep -c $'\033' out) $(grep -cF ' points, most in x=\x1b[3' out)" "0 1"

plot=$root/dashboards/plot.sh
check "the tables are drawn" "$plot" tables plots
equal "all of them" "$(ls plots | tr '\n' ' ')" "footprint.png latency-cdf.png rate.png stages.png "
# Some of them alone, so that none hides behind another; all of them in the longer form.
shelf=(row gnuplot shell carriage)
[ "${HOSTILE:-}" != long ] || mapfile -t shelf < <(/usr/bin/python3 -B "$here/forge.py" shelf | cut -d ' ' -f 1 | grep -vx empty)
for name in "${shelf[@]}"; do
	rm -rf alone*
	/usr/bin/python3 -B "$here/forge.py" flt alone.flt "device=@$name" faults=3 ios=3 windows=2 pages=3
	"$FAULTLINE" report alone.flt --csv=alone >/dev/null 2>err || [ $? -eq 5 ] || not_ok "$name" "$(cat err)"
	equal "plots of a device called '$name', and what ran" \
		"$("$plot" alone alone.plots 2>/dev/null | grep -c '^alone.plots/.*png$') $(find . -name pwned)" "4 "
done

# Whoever writes the tables may write anything into them.
write_tables() { # BEGIN DEVICE
	mkdir -p forged
	python3 - "$@" <<'PY'
import csv, sys
begin, device = sys.argv[1:]
def put(name, *rows):
    with open(f"forged/{name}.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
put("rates", ["window", "kind", "device", "rate_per_s"], [begin, "I/O page fault", device, 3], [begin, "I/O completion", device, 3])
put("footprint_curve", ["window", "device", "touched_4k_bytes", "touched_2m_bytes"], [begin, device, 4096, 4096])
put("faults", ["device", "total_ns"], [device, 3000], [device, "1e999"], [device, "__import__('os')"])
put("stages", ["device", "queue", "kind", "stage", "count", "mean_ns", "p50_ns", "p99_ns", "max_ns"],
    [device, "", "all", "total", 3, 3, 3, 3, 3], ["all", "", "all", device, 3, 3, 3, 3, 3], [device, "", "all", "map", 3, "3)", 3, 3, 3])
PY
}
evil="'; system('touch pwned'); a='"
begins=("$evil.1" "2026-11-21T14:02:03Z" '`touch pwned`' "0/0" $'a\nb' 9e99 -1)
devices=('"; system("touch pwned"); a="' "$evil" '@`touch pwned`' $'x\n\n\n"y"\n' '{/*99 x} %s %n' "NaN" "#")
for i in "${!begins[@]}"; do
	write_tables "${begins[i]}" "${devices[i]}"
	"$plot" forged forged.plots >out 2>err
	equal "tables that begin at '${begins[i]//$'\n'/}': no more than 1, and a sentence" "$(($? <= 1)) $(grep -vc '^plot.sh: ' err)" "1 0"
done
equal "and runs nothing" "$(find . -name pwned)" ""
write_tables "2026-11-21T14:02:03.000000000Z" "$evil"
equal "forged tables are drawn where there is something to draw" "$("$plot" forged forged.plots 2>/dev/null | wc -l)" 4

# Columns, files and arguments of a campaign's and a simulation's plots are names, too.
printf '%s\n' "rate,$evil,point,latency_ns" "1,2,3,4" "baseline,5,6,7" "2,$evil,3,4" >"results'; system('touch pwned'); '.csv"
check "a campaign is drawn" "$plot" "results'; system('touch pwned'); '.csv" rate latency_ns "$evil" sweep.png
check "a simulation is made" "$FAULTLINE" sim --set trace.packets=203 --csv=sim \
	--sweep trace.order=rr,rand --sweep trace.seed=1,2 --tenants 3
sed -i "1s|order|$evil|; 1s|seed|b\"; system \"touch pwned\"; c=\"|; s|,rand,|,$evil,|" sim/results.csv
check "forged, it is drawn" "$plot" sim sim.plots
equal "every plot of it" "$(ls sim.plots | wc -l)" 4
equal "and runs nothing either" "$(find . -name pwned)" ""

# A job's and an SLO file's own words.
"$INJECT" run demo --dry-run --set machine.name=$'\e]0;owned\a' --set machine.directory=$'/\e[2J' >plan
check "a plan shows a job's names escaped" bash -c "grep -q '^  machine .x1b]0;owned.x07: ' plan && ! LC_ALL=C grep -q '[^ -~]' plan"
/usr/bin/python3 -B "$here/forge.py" ini stranger.ini '[tenant vm]' '[device disk]' '[workload mix]' 'count = 1' '[expect]' \
	'a\x1b[2J = \x1b]0;owned\x07' '\xe2\x80\xae = 1' '[sweep]' '\x1b[2J = machine.\x9b2J: 1, 2'
for verb in "check" "run --dry-run"; do
	"$INJECT" $verb stranger.ini >out 2>err
	equal "$verb of a stranger's job: exit" $? 3
	equal "and what it says" "$(LC_ALL=C grep -c '[^ -~]' out err)" "out:0
err:0"
done
finish
