# SPDX-License-Identifier: GPL-2.0
# What scenarios share inside the guest; sourced before the scenario.
#
# Results that shall leave the guest go to $results (a recording of the default run is there by
# itself). The working directory is /work, emptied for each scenario.

kernel=$(sed -n 1p /lab/kernel)
results=/work/results
passed=0 failed=0 skipped=0
without=
run=plain
tracing_program='^[0-9]+: (tracing|kprobe|tracepoint|raw_tracepoint|perf_event) '

ok() {
	passed=$((passed + 1))
	echo "ok - $1"
}

not_ok() {
	failed=$((failed + 1))
	echo "not ok - $1${2:+: $2}"
}

skip() {
	skipped=$((skipped + 1))
	echo "skip - $1: $2"
}

# part NAME: what the guest does from here on, for the runner's account of CPU time.
part() { echo "faultline-lab: part $1" >/dev/kmsg; }

# check_that NAME COMMAND...: one check, its output shown only if it fails.
check_that() {
	local name=$1 output
	shift
	if output=$("$@" 2>&1); then
		ok "$name"
	else
		not_ok "$name" "exit $?: $*"
		printf '%s\n' "$output" | tail -n 20 | sed 's/^/# /'
	fi
}

# equal NAME ACTUAL EXPECTED
equal() {
	if [ "$2" = "$3" ]; then
		ok "$1 ($2)"
	else
		not_ok "$1" "got '$2', expected '$3'"
	fi
}

# between NAME ACTUAL LEAST MOST
between() {
	if [[ $2 =~ ^[0-9]+$ ]] && [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]; then
		ok "$1 ($2)"
	else
		not_ok "$1" "got '$2', expected $3 to $4"
	fi
}

# Every process that is started costs an emulated CPU tens of ms: what waits or looks again and again
# starts none. Nobody writes into this pipe.
[ -p /run/nothing ] || mkfifo /run/nothing
exec {nothing}<>/run/nothing
pause() { read -rt "$1" -u $nothing || :; } # SECONDS

# Hundredths of a second in which the guest's CPUs had something to do, into $busy.
busy_ticks() {
	local user nice system irq softirq
	read -r _ user nice system _ _ irq softirq _ </proc/stat
	busy=$((user + nice + system + irq + softirq))
}

# says FILE WORDS: they are in it.
says() {
	local text
	read -rd '' text <"$1"
	[[ $text == *"$2"* ]]
}

# wait_for SECONDS COMMAND...: until it succeeds. After that time it has failed only if the guest then
# has nothing to do for ten seconds: on a busy host all takes longer, but goes on.
wait_for() {
	local tries=$(($1 * 20)) still=0 busy before
	shift
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		if [ "$tries" -le 0 ]; then
			busy_ticks
			before=$busy
			pause 1
			still=$((still + 1))
			busy_ticks
			[ $((busy - before)) -gt 20 ] && still=0
			[ $still -lt 10 ] || return 1
		fi
		pause 0.05
	done
}

# load MODULE [OPTION...]: with all it needs; what is built in or loaded already is as good.
load() {
	local name=${1//-/_} path need
	shift
	[ -d "/sys/module/$name" ] && return
	path=/lib/modules/$name.ko
	if [ -e "$path" ]; then
		for need in $(sed -n "s/^$name //p" /lib/modules/needs); do
			load "$need" || return
		done
	elif [ -e "/lib/modules/own/$name.ko" ]; then
		path=/lib/modules/own/$name.ko
	elif grep -qx "$name" /lib/modules/builtin; then
		return
	else
		not_ok "module $name" "not in the guest: name it in the scenario's header"
		return 1
	fi
	insmod "$path" "$@" || {
		not_ok "module $name loads" "$(dmesg | tail -n 1)"
		return 1
	}
}

unload() {
	local name=${1//-/_}
	rmmod "$name" || not_ok "module $name unloads" "$(dmesg | tail -n 1)"
}

# Our own modules do not stay for the next scenario.
unload_own() {
	local path name
	for path in /lib/modules/own/*.ko; do
		name=$(basename "$path" .ko)
		[ -d "/sys/module/${name//-/_}" ] && { rmmod "$name" || echo "not ok - module $name could be unloaded"; }
	done
}

# A recorder into run.flt whose probes are in place: options of `record`, or of the scenario's own
# `record_options`. The run without a probe is recorded into without.flt.
record_start() {
	recording=$results/run.flt
	run=plain
	[ -n "$without" ] && recording=$results/without.flt run="without $without"
	mkdir -p "$results"
	part start
	# The recorder's own shell empties its file, perhaps after the first look at it.
	rm -f "$recording" record.err
	# shellcheck disable=SC2086
	faultline record ${record_options:-} ${without:+--disable-probe $without} "$@" -o "$recording" 2>record.err &
	record_pid=$!
	if ! wait_for 60 recorder_began || ! says record.err recording; then
		not_ok "recording begins ($run)" "$(tail -n 3 record.err)"
		return 1
	fi
	part workload
}
recorder_began() { says record.err recording || ! kill -0 "$record_pid"; }

# Stops it; its tables (docs/analysis.md) are then CSV files in ./tables.
record_stop() {
	local status
	part stop
	kill -INT "$record_pid" 2>/dev/null
	wait "$record_pid"
	status=$?
	if [ $status -eq 0 ]; then
		ok "recorded $run: $(tail -n 1 record.err)"
	else
		not_ok "recorded $run" "exit $status: $(tail -n 3 record.err)"
	fi
	part report
	tables "$recording"
	part check
	# Whoever renames functions does so without a word: every recording is asked.
	equal "probes attached and silent ($run)" "$(column probes probe state silent | paste -sd' ')" "${silent:-}"
}

# tables RECORDING
tables() {
	rm -rf tables
	faultline report "$1" --csv=tables >report.err 2>&1 || not_ok "report of $1" "exit $?: $(tail -n 3 report.err)"
}

# rows TABLE COLUMN...: these columns of a table, tab-separated, one line a row.
rows() {
	local table=$1
	shift
	select_rows "$table" "$*" "" ""
}

# column TABLE COLUMN [KEY VALUE]...: that column of the rows whose columns have these values.
column() {
	local table=$1 wanted=$2 keys= values=
	shift 2
	while [ $# -gt 0 ]; do
		keys+=" $1" values+="$2"$'\t'
		shift 2
	done
	select_rows "$table" "$wanted" "$keys" "$values"
}

# select_rows TABLE COLUMNS KEYS VALUES
select_rows() {
	awk -v wanted="$2" -v keys="$3" -v values="$4" '
		function split_line(line, field,    n, at, rest) {
			if (line !~ /"/) {
				split(line, field, ",")
				return
			}
			n = 0
			while (line != "") {
				n++
				field[n] = ""
				if (line ~ /^"/) {
					# A quoted field ends at a quote that no other quote follows.
					rest = substr(line, 2)
					while ((at = index(rest, "\"\"")) && at == index(rest, "\"")) {
						field[n] = field[n] substr(rest, 1, at)
						rest = substr(rest, at + 2)
					}
					at = index(rest, "\"")
					field[n] = field[n] substr(rest, 1, at - 1)
					line = substr(rest, at + 2)
				} else {
					at = index(line, ",")
					if (!at) at = length(line) + 1
					field[n] = substr(line, 1, at - 1)
					line = substr(line, at + 1)
				}
			}
		}
		NR == 1 {
			split_line($0, title)
			for (i in title) number[title[i]] = i
			count = split(wanted, want, " ")
			key_count = split(keys, key, " ")
			next
		}
		{
			split("", field)
			split_line($0, field)
			found = ""
			for (i = 1; i <= key_count; i++) found = found field[number[key[i]]] "\t"
			if (found != values) next
			out = field[number[want[1]]]
			for (i = 2; i <= count; i++) out = out "\t" field[number[want[i]]]
			print out
		}' "tables/$1.csv"
}

# How often a probe's program ran, as the recording says.
hits() { column probes hits probe "$1"; }

# Who owns each symbol of standard input: "SYMBOL kernel", "SYMBOL kernel:MODULE" for one of the
# kernel's own modules, "SYMBOL module:MODULE" for one from elsewhere.
owners_of() {
	local symbol module
	sed '/^$/d; s/.*/ &$/; p; s/\$$/\t/' >symbols
	[ -s symbols ] || return
	grep -E -f symbols /proc/kallsyms | while read -r _ _ symbol module; do
		module=${module//[\[\]]/}
		if [ -z "$module" ]; then
			echo "$symbol kernel"
		elif grep -q O "/sys/module/$module/taint"; then
			echo "$symbol module:$module"
		else
			echo "$symbol kernel:$module"
		fi
	done | sort -u
}

# The symbol whose code makes a probe fire: a tracepoint's is its definition.
symbol_of() {
	case $1 in
	tp_btf* | raw_tp* | tracepoint*) echo "__tracepoint_${1##*[ :/]}" ;;
	files*) echo files ;;
	usdt*) echo "${1##* }" ;;
	*) echo "${1##*[ :/]}" ;;
	esac
}

# Prints which code produced each stage of this run and holds it against the scenario's table.
stage_table() {
	local table=/lab/scenarios/$scenario.stages stage probe expected attach count symbol actual field
	local seen=0 differ=0
	local -A symbols=() counts=()
	if [ ! -e "$table" ]; then
		not_ok "table of stages" "no tests/lab/scenarios/$scenario.stages"
		return
	fi
	while IFS=$'\t' read -r probe count attach; do
		counts[$probe]=$count
		[ -n "$attach" ] && symbols[$probe]=$(symbol_of "$attach")
	done < <(rows probes probe hits attach)
	case $kernel in 6.1) field=3 ;; 6.12) field=4 ;; new) field=5 ;; esac
	awk -v field=$field '!/^#/ && NF { print $1, $2, $field }' "$table" >stages.expected
	if [ "$run" = plain ] || [ ! -s owners ]; then
		while read -r stage probe expected; do
			echo "${symbols[$probe]:-}"
		done <stages.expected | owners_of >owners
	fi
	printf '# %-20s | %s\n' "stage ($run)" "produced by"
	while read -r stage probe expected; do
		count=${counts[$probe]:-0}
		symbol=${symbols[$probe]:-}
		actual=-
		if [ "$count" -gt 0 ]; then
			actual=$(sed -n "s/^$symbol //p" owners | paste -sd+ -)
			actual=${actual:-unknown}
			[ "$symbol" = files ] && actual=files
			seen=$((seen + 1))
		fi
		[ "$probe" = "$without" ] && [ "$expected" != - ] && expected=-
		printf '# %-20s | %-24s %s\n' "$stage" "${actual/#-/not seen}" "${symbol:+$count x }${symbol#__tracepoint_}"
		if [ "$actual" != "$expected" ]; then
			not_ok "stage $stage ($run)" "produced by '$actual' (probe $probe), expected '$expected'"
			differ=$((differ + 1))
		fi
		echo "$run,$stage,$probe,$actual,$count,$symbol" >>"$results/stages.csv"
	done <stages.expected
	[ -z "$without" ] && [ $seen -eq 0 ] && not_ok "stages were seen" "none"
	[ $differ -eq 0 ] && ok "$(wc -l <stages.expected) stages ($run) as in the table"
}
