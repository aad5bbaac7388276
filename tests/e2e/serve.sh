#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The server as Prometheus and others see it: scraped by Debian's Prometheus and VictoriaMetrics while an emulated
# machine faults, held against the report of a recording of the same time; restarted, killed, on a full disk, among slow
# clients and garbage. FACE=full: more of each.
own_mounts=yes
. "$(dirname "$0")/lib.sh"

helper() { /usr/bin/python3 "$root/tests/e2e/serve.py" "$@"; }
for program in promtool prometheus victoria-metrics curl; do
	command -v $program >/dev/null || not_ok "$program" "is missing: tests/setup.sh check installs it"
done
[ $failed -eq 0 ] || finish

export TMPDIR=$scratch/tmp
mkdir "$TMPDIR" textfile
pids=()
cleanup() {
	touch "$scratch/enough" 2>/dev/null
	kill "${pids[@]}" 2>/dev/null
	wait
	rm -rf --one-file-system "$scratch" "${FAULTLINE_RUN_DIR:?}"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP
[ "${FACE:-}" = full ] && kills=47 seconds=7 || kills=5 seconds=3

# take_lines: `ok - ` and `not ok - ` of a helper become ours.
take_lines() {
	local line any=no
	while IFS= read -r line; do
		case $line in
		'ok - '*) ok "${line#ok - }" ;;
		'not ok - '*) not_ok "${line#not ok - }" ;;
		*'Error'*) not_ok "$*" "$line" ;;
		*) echo "    $line" ;;
		esac
		any=yes
	done < <("$@" 2>&1)
	[ $any = yes ] || not_ok "$*" "said nothing"
}

# serve_start OPTION...: a server at $port that answers, with $server its process.
serve_start() {
	rm -f serve.err # what an earlier one said is not this one's word
	"$FAULTLINE" serve --listen "127.0.0.1:$port" "$@" 2>serve.err &
	server=$!
	pids+=("$server")
	wait_for 20 grep -q '^serving' serve.err
}
serve_end() { # SIGNAL
	kill "-$1" "$server"
	wait "$server" 2>/dev/null
	status=$?
}
fetch() { curl -sSf --max-time 20 "http://127.0.0.1:$port$1"; } # PATH

machine_job() { # SECONDS PER_SECOND
	cat >machine.ini <<INI
[tenant vm]
count = 2
memory = 16M
[device disk]
queues = 2
file_bytes = 16M
[workload mix]
sizes = 4K
depth = 2
rate = 499/s
duration = ${1}s
[inject cold]
action = evict
device = vm0/disk
what = next
kind = major
rate = $2/s
duration = ${1}s
[inject cool]
action = evict
device = vm1/disk
what = next
kind = minor
rate = 31/s
duration = ${1}s
INI
}
record_machine() { # into run.flt and csv/
	rm -rf csv run.flt
	"$FAULTLINE" record -q -o run.flt -- "$INJECT" run machine.ini >/dev/null 2>record.err
	"$FAULTLINE" report run.flt --csv=csv >/dev/null 2>report.err
}
faults_of() { awk -F, -v device="$1" '$1 == device {print $2}' csv/summary.csv; }
served() { fetch /metrics | awk -v name="$1" '$1 == name {print $2}'; }
serves() { [ "$(served "$1")" = "$2" ]; }

cat >scrape.yml <<YML
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: faultline
    static_configs:
      - targets: ["127.0.0.1:PORT"]
YML

port=$(helper port) prometheus_port=$(helper port) victoria_port=$(helper port)
sed -i "s/PORT/$port/" scrape.yml
check "Debian's Prometheus takes the configuration" promtool check config scrape.yml

# Live, scraped by both.
cat >slo.ini <<'INI'
[slo gold]
device = *disk
fault_rate = 3
latency_target = 1us
latency_percentile = 50
INI
serve_start -c slo.ini --textfile textfile || not_ok "a server starts" "$(cat serve.err)"
prometheus --config.file=scrape.yml --storage.tsdb.path=prometheus --log.level=error \
	--web.listen-address="127.0.0.1:$prometheus_port" >prometheus.log 2>&1 &
pids+=($!)
victoria-metrics -promscrape.config=scrape.yml -storageDataPath=victoria -retentionPeriod=1 \
	-httpListenAddr="127.0.0.1:$victoria_port" -search.latencyOffset=0s -search.disableCache \
	-loggerLevel=ERROR >victoria.log 2>&1 &
pids+=($!)
apis=("Prometheus=http://127.0.0.1:$prometheus_port" "VictoriaMetrics=http://127.0.0.1:$victoria_port")
scraped() { # URL: how often
	curl -sf "${1#*=}/api/v1/query" --data-urlencode 'query=count_over_time(faultline_floor[1h]) > 3'
}
answered() { scraped "$1" | grep -q '"value"'; }
for api in "${apis[@]}"; do
	wait_for 60 answered "$api" || not_ok "${api%%=*} scrapes" "$(tail -n 3 prometheus.log victoria.log)"
done
machine_job "$seconds" 97
record_machine
faults=$(faults_of vm0/disk)
[ "${faults:-0}" -gt 100 ] && ok "the machine faulted" || not_ok "the machine faulted" "$faults, $(tail -n 2 record.err)"
settled() { # both have scraped what came last
	local api device
	for api in "${apis[@]}"; do
		for device in vm0/disk vm1/disk; do
			[ "$(curl -sf "${api#*=}/api/v1/query" --data-urlencode \
				"query=faultline_ios_total{device=\"$device\"} == $(awk -F, -v device=$device '$1 == device {print $2}' csv/io_devices.csv)" |
				grep -c '"value"')" = 1 ] || return 1
		done
	done
}
wait_for 30 settled
fetch /metrics >first.prom
check "promtool finds nothing to complain of" promtool check metrics <first.prom
[ -z "$(promtool check metrics <first.prom 2>&1)" ] && ok "and says nothing" || not_ok "and says nothing" "$(promtool check metrics <first.prom 2>&1 | head -n 3)"
take_lines helper counts csv "${apis[@]}"
# Two observers see the same faults, each at its own time: times are those of what the server itself has kept.
mkdir own
cp "$TMPDIR"/faultline-serve.*/last.flt* own
"$FAULTLINE" report own/last.flt --csv=kept >/dev/null 2>own.err
take_lines helper counts kept "${apis[@]}"
take_lines helper times kept "${apis[@]}"
take_lines helper metrics "$root/tools/serve/metrics.def" "$root/docs/metrics.md"
violations=$(served 'faultline_objective_violations_total{objective="gold",device="vm0/disk"}')
[ "${violations:-0}" -gt 0 ] && ok "a broken objective is counted" || not_ok "a broken objective is counted" "$violations"
check "nothing was lost meanwhile" serves faultline_floor 0
fetch / >page.html
grep -qi '<!doctype html' page.html && grep -q 'vm0/disk' page.html &&
	ok "the page tells of the last minutes" || not_ok "the page tells of the last minutes" "$(head -c 300 page.html)"
whole_textfile() { helper complete textfile/faultline.prom && [ "$(stat -c %a textfile/faultline.prom)" = 644 ]; }
check "node_exporter's file is whole, and may be read" whole_textfile

# Who may ask what.
code() { curl -s -o /dev/null -w '%{http_code}' --max-time 20 "$@"; }
check "a name of another site is refused" [ "$(code -H 'Host: faultline.example:80' "http://127.0.0.1:$port/metrics")" = 403 ]
check "our own names are not" [ "$(code -H "Host: localhost:$port" "http://127.0.0.1:$port/metrics")" = 200 ]
check "POST is refused" [ "$(code -d x "http://127.0.0.1:$port/metrics")" = 405 ]
check "there is nothing else" [ "$(code --path-as-is "http://127.0.0.1:$port/../../etc/passwd")" = 404 ]
check "HEAD has no body" [ "$(curl -sI "http://127.0.0.1:$port/metrics" | grep -c '200 OK\|^# ')" = 1 ]
take_lines helper garbage "$port"

# Two on one port.
timeout 60 "$FAULTLINE" serve --listen "127.0.0.1:$port" 2>second.err
second=$?
[ $second = 1 ] && [ "$(wc -l <second.err)" = 1 ] && grep -q 'another program listens there' second.err &&
	ok "a port in use is a sentence" || not_ok "a port in use is a sentence" "$second: $(cat second.err)"

# Two on one state, or one textfile; whoever was killed is in nobody's way.
second_on() { # FILE OPTION...
	timeout 60 "$FAULTLINE" serve --listen none "${@:2}" 2>second.err
	[ $? = 1 ] && [ "$(wc -l <second.err)" = 1 ] && grep -q "$1: another server (process [1-9][0-9]*) writes it" second.err
}
ln -s textfile link
mkdir textfile2 textfile3
check "a textfile of another server is refused" second_on textfile/faultline.prom --no-state --textfile textfile
check "by another name, too" second_on link/faultline.prom --no-state --textfile link
stated=0
for ((i = 0; i < 3; i++)); do
	"$FAULTLINE" serve --listen none --state shared --textfile textfile2 2>stated.err &
	holder=$!
	pids+=("$holder")
	rm -f textfile2/faultline.prom
	wait_for 20 test -s textfile2/faultline.prom && stated=$((stated + 1))
	[ $i -gt 0 ] || check "a state of another server is refused" second_on shared --state shared --textfile textfile3
	kill -KILL $holder
done
wait $holder 2>/dev/null
[ $stated = 3 ] && ok "killed and started again at once, it has its files" || not_ok "killed and started again at once, it has its files" "$stated: $(cat stated.err)"

# Slow clients, while it faults: neither capture nor others wait for them.
helper slow "$port" 32 "$scratch/enough" >slow.out &
pids+=($!)
wait_for 20 grep -q slow slow.out
machine_job 2 197
before=$(served 'faultline_faults_began_total{device="vm0/disk"}')
record_machine
during=$(faults_of vm0/disk)
check "among 32 slow clients no fault is missed" wait_for 20 serves 'faultline_faults_began_total{device="vm0/disk"}' $((before + during))
check "nor anything else" serves faultline_floor 0
check "and others are answered" [ "$(code --max-time 5 "http://127.0.0.1:$port/metrics")" = 200 ]
touch enough

# Ended and started again: the machine is gone, and its counts are not.
fetch /metrics >before.prom
took_all() { [ "$(served faultline_scrapes_total)" -gt "$(awk '$1 == "faultline_scrapes_total" {print $2}' before.prom)" ]; }
wait_for 10 took_all
serve_end TERM
check "SIGTERM ends it well" [ $status = 0 ]
check "its file stays, whole" helper complete textfile/faultline.prom
serve_start --textfile textfile
fetch /metrics >after.prom
take_lines helper falls before.prom after.prom
machine_job 2 97
record_machine
check "counts go on where they were" wait_for 20 serves 'faultline_faults_began_total{device="vm0/disk"}' \
	$((before + during + $(faults_of vm0/disk)))
fetch /metrics >before.prom
check "promtool agrees after all of that" promtool check metrics <before.prom
serve_end KILL
nothing_left() { [ -z "$(ls "$TMPDIR")" ]; }
check "killed, it leaves nothing of the page" wait_for 10 nothing_left
serve_start --no-page
fetch /metrics >after.prom
take_lines helper falls before.prom after.prom
check "without a page it says so" [ "$(code "http://127.0.0.1:$port/")" = 503 ]
serve_end TERM

# Killed at any time: never half a file, and never less than before.
torn=0 fell=0 last=0 written=0
rm textfile/faultline.prom
for ((i = 0; i < kills; i++)); do
	"$FAULTLINE" serve --listen none --interval 100ms --state counters --textfile textfile 2>/dev/null &
	server=$!
	pids+=("$server")
	((i % 2)) || wait_for 20 test -e textfile/faultline.prom
	sleep "$((RANDOM % 2)).$((RANDOM % 10))"
	kill -KILL $server
	wait $server 2>/dev/null
	[ -e textfile/faultline.prom ] || continue
	written=$((written + 1))
	helper complete textfile/faultline.prom || torn=$((torn + 1))
	now=$(awk '$1 == "faultline_events_total" {print $2}' textfile/faultline.prom)
	[ "$now" -ge "$last" ] || fell=$((fell + 1))
	last=$now
done
check "killed $kills times: no half file" [ $torn = 0 -a $written -gt 0 ]
check "killed $kills times: no count fell" [ $fell = 0 ]
echo 'my thesis' >thesis
timeout 60 "$FAULTLINE" serve --listen none --textfile textfile --state thesis 2>thesis.err
[ $? = 3 ] && grep -q 'is no state of counters' thesis.err && grep -q thesis thesis &&
	ok "what is no state is not replaced" || not_ok "what is no state is not replaced" "$(cat thesis.err thesis)"

# A full disk.
mkdir small
mount -t tmpfs -o size=256k none small
"$FAULTLINE" serve --listen "127.0.0.1:$port" --textfile small --no-state --no-page 2>serve.err &
server=$!
pids+=("$server")
wait_for 20 test -s small/faultline.prom
head -c 300K /dev/zero >small/full 2>/dev/null
check "a full disk is a sentence" wait_for 10 grep -q 'cannot be written: No space left' serve.err
check "what was there is whole" helper complete small/faultline.prom
check "the server goes on" [ "$(code "http://127.0.0.1:$port/metrics")" = 200 ]
failures() { [ "$(served faultline_textfile_failures_total)" -gt 1 ]; }
check "and counts it" wait_for 10 failures
check "once told, not every second" [ "$(grep -c 'cannot be written' serve.err)" = 1 ]
rm small/full
check "with room it is written again" wait_for 10 grep -q 'is written again' serve.err
serve_end TERM
umount small

# A recording: what it says, whenever it is asked.
"$FAULTLINE" serve -i run.flt --listen none --textfile textfile
cp textfile/faultline.prom every.prom
"$FAULTLINE" serve -i run.flt --listen none --textfile textfile --max-devices 1
take_lines helper sums every.prom textfile/faultline.prom
check "one device has its name, one more is other" [ "$(grep -c '^faultline_faults_began_total' textfile/faultline.prom)" = 2 ]
[ "$(awk '$1 == "faultline_faults_began_total{device=\"vm0/disk\"}" {print $2}' every.prom)" = "$(faults_of vm0/disk)" ] &&
	ok "a recording's counts are the report's" || not_ok "a recording's counts are the report's" "$(grep faults_began every.prom)"
serve_start -i run.flt
fetch / >page.html
check "a recording has a page, too" grep -q vm0/disk page.html
serve_end INT
check "Ctrl-C ends that, too" [ $status = 0 ]
refused() { # CODE PATTERN OPTION...
	local want=$1 pattern=$2
	shift 2
	timeout 60 "$FAULTLINE" serve "$@" >refused.out 2>refused.err
	[ $? = "$want" ] && grep -q "$pattern" refused.err && [ ! -s refused.out ]
}
check "what is no recording is refused" refused 3 'no recording\|not a' -i thesis --listen none --textfile textfile
check "what is not there is refused" refused 3 'No such file' -i missing.flt --listen none --textfile textfile
check "no such directory" refused 1 'cannot be opened' -i run.flt --listen none --textfile missing
check "no such address" refused 2 'is no address' --listen example.com:80
check "an address of others" refused 1 'no address of this host' --listen 192.0.2.1:9753
check "nobody to tell" refused 2 'leaves nobody' --listen none

finish
