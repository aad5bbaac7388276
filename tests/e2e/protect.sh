#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# faultline protect: its faults, avoided faults and pinned time are those that SQLite finds in the accesses and actions
# that it exports; ratios; points, threads, losses; what is wrong in a job or on a command line.
. "$(dirname "$0")/lib.sh"
reference=$root/tests/reference/protect_sql.py

# found CHECK ARGUMENT...: what the reference says of exported tables.
found() {
	local line
	while IFS= read -r line; do
		case $line in
		'ok - '*) ok "$what: ${line#ok - }" ;;
		*) not_ok "$what" "${line#not ok - }" ;;
		esac
	done < <("$reference" "$@" 2>&1 || echo "exit $?")
}

# export FILE... OPTION...: all tables of this question.
export_tables() {
	rm -rf out accesses.csv actions.csv
	"$FAULTLINE" protect "$@" --csv=out 2>err &&
		"$FAULTLINE" protect "$@" --csv=accesses.csv --table protect_accesses --raw-time 2>>err &&
		"$FAULTLINE" protect "$@" --csv=actions.csv --table protect_actions --raw-time 2>>err ||
		not_ok "$what" "exit $?: $(head -c 300 err)"
}

whole() {
	"$reference" make . || return

	what='pages'
	export_tables pages.flt --policy none,static,lru,adp,tuned,spatial
	found accesses accesses.csv pages.csv
	found faults accesses.csv out/protect.csv 300000000000
	found avoided accesses.csv actions.csv out/protect.csv
	found rates out/protect.csv out/results.csv

	what='a tenant is a domain, smaller pages'
	export_tables pages.flt --policy lru,adp --set protector.scope=tenant --set protector.page=64K --set rule.idle=60s
	found faults accesses.csv out/protect.csv 60000000000
	found rates out/protect.csv out/results.csv

	what='half of the accesses are lost'
	export_tables pages.flt --policy lru,adp,oracle --drop 0.5
	found faults accesses.csv out/protect.csv 300000000000
	found rates out/protect.csv out/results.csv
	export_tables pages.flt --policy lru,adp --drop 0.5
	found avoided accesses.csv actions.csv out/protect.csv

	for what in single mappings; do
		export_tables "$what.flt" --policy none,lru,adp,oracle --set protector.oracle=3%
		[ "$what" = mappings ] || found accesses accesses.csv single.csv
		found faults accesses.csv out/protect.csv 300000000000
		found rates out/protect.csv out/results.csv
	done

	what='reclaim'
	export_tables pages.flt --policy none,lru,static,adp --rule reclaim --set rule.low=10% --set rule.period=1000s
	found reclaim accesses.csv actions.csv out/protect.csv
	found rates out/protect.csv out/results.csv

	what='windows of a footprint'
	"$FAULTLINE" protect pages.flt --policy none --csv=accesses.csv --force --table protect_accesses --raw-time
	"$FAULTLINE" footprint pages.flt --window 10m --csv=windows.csv --table footprint_windows --raw-time
	found windows accesses.csv windows.csv 600
	equal "a simulated fault is the footprint's" \
		"$("$FAULTLINE" footprint pages.flt --csv=- --table footprint | awk -F , 'NR > 1 { print $1, $9 }' | sort | xargs)" \
		"$("$FAULTLINE" protect pages.flt --policy none --csv=- --table protect |
			awk -F , 'NR > 1 && $3 != "total" { sub(/@.*/, "", $3); n[$3] += $13 } END { for (d in n) print d, n[d] }' | sort | xargs)"

	points
	sizes
	worlds
	losses
	refusals
	interrupted
	recorded
}

# same NAME ACTUAL EXPECTED: texts that are too long to be told.
same() {
	if [ -n "$2" ] && [ "$2" = "$3" ]; then
		ok "$1 ($(wc -l <<<"$2") lines)"
	else
		not_ok "$1" "$(diff <(echo "$2") <(echo "$3") | head -n 4)"
	fi
}

points() {
	local job='[sweep]\npolicy = protector.policy: none, lru, adp\nloss = log.drop: 0, 0.5\n[protector]\nlru = 5%%\n'
	job+='[expect]\nless = pinned_mean(policy=adp, loss=0) < pinned_mean(policy=lru, loss=0)\n'
	job+='all = faults_none(policy=none, loss=0) == faults_none(policy=adp, loss=0.5)\n'
	# shellcheck disable=SC2059
	printf "$job" >job.ini
	rm -rf one many
	"$FAULTLINE" protect pages.flt second.flt job.ini --csv=one -j 1 2>err
	equal "expectations hold" "$? $(grep -c '^PASS' err)" "0 2"
	"$FAULTLINE" protect pages.flt second.flt job.ini --csv=many -j 7 2>err
	if diff -r one many >diff && [ "$(wc -l <one/protect_curve.csv)" -gt 1000 ]; then
		ok "the same bytes on one and on 7 threads ($(cat one/* | wc -c))"
	else
		not_ok "the same bytes on one and on 7 threads" "$(head -n 3 diff)"
	fi
	what='two recordings'
	found rates one/protect.csv one/results.csv
	# shellcheck disable=SC2059
	printf "$job"'never = rpr(policy=lru) > 1000\n' >job.ini
	"$FAULTLINE" protect pages.flt job.ini >out.txt 2>err
	equal "one that does not hold ends with 6" $? 6
	"$FAULTLINE" protect pages.flt second.flt job.ini --sweep rule.idle=60s,300s >out.txt 2>&1
	equal "text is of 80 columns" "$(awk 'length > 80 && !/^ *[a-z_]+\(|PASS|FAIL|faults_none/' out.txt | wc -l) $(grep -c total out.txt)" "0 12"
	"$FAULTLINE" protect pages.flt --policy adp --csv=- --table protect | cut -d , -f 3- >alone
	"$FAULTLINE" protect pages.flt --policy lru,adp,none --csv=- --table protect | awk -F , '$2 == "adp" || NR == 1' |
		cut -d , -f 3- >among
	same "a policy does the same alone and among others" "$(cat alone)" "$(cat among)"
}

# What the log lost is drawn of what a page of a second has, whatever else is swept.
sizes() {
	local ask=(pages.flt --policy adp --drop 0.5 --table protect_accesses --raw-time --csv=-)
	"$FAULTLINE" protect "${ask[@]}" | cut -d , -f 3- >alone
	"$FAULTLINE" protect "${ask[@]}" --sweep protector.page=64K,2M | awk -F , '$2 != "64K"' | cut -d , -f 4- >among
	same "2 MiB pages do the same alone and beside smaller ones" "$(cat alone)" "$(sed '1s/seen_page/page/' among)"
	equal "a page of a second is one access" "$(sed 1d alone | cut -d , -f 1,2,5 | sort | uniq -d | wc -l)" 0
	between "half of single ones are lost" "$(awk -F , '$6 == 1 { n++; no += $7 == "no" } END { print int(100 * no / n) }' alone)" 45 55
}

# Recordings and devices do not know of each other.
worlds() {
	local file
	"$FAULTLINE" protect pages.flt second.flt --csv=- --table protect | grep -v total | sort >together
	for file in pages second; do
		"$FAULTLINE" protect $file.flt --csv=- --table protect | grep -v total
	done | sort -u >apart
	same "two recordings are each its own" "$(cat together)" "$(cat apart)"
	"$FAULTLINE" protect pages.flt -d 'vm0/d*' --csv=- --table protect | grep vm0/ | sort >chosen
	grep ',vm0/disk.*,one,' apart >all
	same "a chosen device is what it is among all" "$(cat chosen)" "$(cat all)"
	"$FAULTLINE" protect - --csv=- --table protect <pages.flt | grep -v total | sort >piped
	same "standard input" "$(cat piped)" "$(grep -v ,two, apart)"
}

losses() {
	local name code
	while read -r name code words; do
		"$FAULTLINE" protect "$name.flt" --csv=- --table protect >out.txt 2>err
		equal "$name: exit" "$? $(grep -c "$words" err) $(($(wc -l <out.txt) > 6))" "$code 1 1"
	done <<-END
		lossy 5 counts are floors: events were lost
		cut 5 counts are floors: the recording has no end
		damaged 3 damaged.flt: counts are floors
	END
	"$FAULTLINE" protect single.flt --source pages >out.txt
	equal "what it has no accesses of" "$? $(grep -c 'No access was recorded' out.txt)" "0 1"
	"$FAULTLINE" protect unknown.flt --set protector.memory=2G --csv=- --table protect >known 2>err
	equal "memory may be said" "$? $(grep -c ',1024,' known)" "0 12"
}

# says EXIT SENTENCE ARGUMENT...: stderr is this sentence, and nothing was begun.
says() {
	local code=$1 sentence=$2 status
	shift 2
	rm -rf never
	"$FAULTLINE" protect "$@" --csv=never >out.txt 2>err </dev/null
	status=$?
	if [ "$status" -eq "$code" ] && [ "$(sed '1s/^faultline protect:/faultline:/;1q' err)" = "faultline: $sentence" ] && [ ! -s out.txt ] && [ ! -e never ]; then
		ok "$code: $sentence"
	else
		not_ok "protect $*" "exit $status, said: $(head -c 500 err)"
	fi
}

refusals() {
	local names='none, static, lru, adp, tuned, spatial, oracle'
	says 2 "--policy: policy=lfu: accepted: $names; did you mean lru?" pages.flt --policy lfu
	says 2 '--rule: kind=guess: accepted: interval, reclaim' pages.flt --rule guess
	says 2 '--drop: drop=2: accepted: 0 to 1' pages.flt --drop 2
	says 2 '--sweep protector: accepted: SECTION.KEY=V1,V2' pages.flt --sweep protector
	says 2 '--set: protector.lru=5%: has no effect with policy=adp; accepted: with policy=lru' pages.flt --policy adp --set protector.lru=5%
	says 2 "unknown.flt: how much memory vm0/nic reaches was not recorded; accepted: --set protector.memory=SIZE for all, or \
-d PATTERN of devices that are known" unknown.flt
	says 2 '--policy: policy=oracle: knows the future of rule interval alone; accepted: kind=interval' pages.flt \
		--policy oracle --rule reclaim
	says 2 'two jobs: job.ini, other.ini; accepted: one' pages.flt job.ini other.ini
	says 2 'standard input is named twice; accepted: once' - -
	says 2 'no recording given; accepted: .flt files, or - for standard input' job.ini
	says 3 'nowhere.flt: cannot be opened: No such file or directory' nowhere.flt
	says 3 'nowhere.ini: cannot open the job file: No such file or directory' pages.flt nowhere.ini
	printf '[rule]\nkind = reclaim\nlow = 60%%\n' >low.ini
	says 3 'low.ini:3: low=0.6, high=0.5: accepted: low of at most high' pages.flt low.ini
	printf '[protector]\nscan = 20\n' >unit.ini
	says 3 'unit.ini:2: scan=20: accepted: 1us to 24h; with a unit: ns us ms s m h d' pages.flt unit.ini
	printf '[machine]\nseed = 1\n' >machine.ini
	says 3 'machine.ini:1: [machine]: accepted: protector, rule, log, sweep, expect, short' pages.flt machine.ini
}

# A shell's background jobs ignore SIGINT, and what is ignored stays so.
interrupted() {
	local caps
	caps=$(seq -s % 1 63)
	/usr/bin/python3 - "$FAULTLINE" protect pages.flt --csv=half --sweep "protector.inactive=${caps//%/%,}%" \
		--sweep protector.promote_after="$(seq -s s, 100 163)s" --policy adp >out.txt 2>err <<-'END'
		import signal, subprocess, sys, time
		signal.signal(signal.SIGINT, signal.default_int_handler)
		child = subprocess.Popen(sys.argv[1:])
		time.sleep(1)
		child.send_signal(signal.SIGINT)
		sys.exit(child.wait())
	END
	equal "interrupted" "$? $(find half -type f 2>/dev/null | wc -l) $(cat err)" \
		"7 0 faultline: stopped by a signal before the work was complete"
}

# Of the emulated machine, in times that fit a test.
recorded() {
	cat >machine.ini <<-INI
		[machine]
		seed = 7
		[tenant vm]
		memory = 8M
		[device disk]
		file_bytes = 8M
		[workload mix]
		sizes = 4K, 16K
		rate = 700
		duration = 2s
	INI
	"$FAULTLINE" record --kind io_complete -o run.flt -- "$INJECT" run machine.ini >record.out 2>&1 ||
		not_ok "recording a machine" "$(tail -n 3 record.out)"
	what='an emulated machine'
	export_tables run.flt --policy lru,adp,oracle --set protector.page=4K --set rule.idle=500ms --set protector.scan=10ms \
		--set protector.promote_after=200ms --set protector.demote_after=50ms
	found faults accesses.csv out/protect.csv 500000000
	found rates out/protect.csv out/results.csv
}

to_the_end
equal "all of it was asked" "$ended" yes
finish
