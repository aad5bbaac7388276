# SPDX-License-Identifier: GPL-2.0
# What scenarios share inside the guest; sourced before the scenario.
#
# Results that shall leave the guest go to $results (a recording of the default run is there by
# itself). The working directory is /work, emptied for each scenario.

kernel=$(sed -n 1p /lab/kernel)
results=/work/results
. /lab/words.sh
without=
run=plain
tracing_program='^[0-9]+: (tracing|kprobe|tracepoint|raw_tracepoint|perf_event) '

# part NAME: what the guest does from here on, for the runner's account of CPU time.
part() { echo "faultline-lab: part $1" >/dev/kmsg; }

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

stopped() { says "/proc/$1/status" "State:	T"; } # PID

# kept MAP WORD: entries of the recorder's map that have this word.
kept() { bpftool -j map dump name "$1" | grep -o "$2" | wc -l; }
# counted NAME: of what both sides of the recorder count (struct capture_state).
counted() { bpftool -j map dump name state | grep -o "\"$1\":[0-9]*" | head -n 1 | cut -d: -f2; }

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
	if [ -d "/sys/module/$name" ]; then
		[ $# -eq 0 ] || not_ok "module $name" "is there already, from another scenario, and not with $*"
		return
	fi
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

# unload MODULE...: in this order.
unload() {
	local name
	for name in "${@//-/_}"; do
		rmmod "$name" || not_ok "module $name unloads" "$(dmesg | tail -n 1)"
	done
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
# `record_options`. The run without a probe is recorded into without.flt, any other into $other.flt.
record_start() {
	run=${other:-plain}
	recording=$results/${other:-run}.flt
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

# Stops it. Its tables are made, and looked at, on the host.
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
	part look
	# Whoever renames functions does so without a word: every recording is asked for silent probes.
	echo "${recording##*/},$run,${silent:-}" >>"$results/recordings"
}

# keep FILE...: for `check` (or `check_without`), which finds them under the same names.
keep() {
	local to=$results/${other:-run}
	[ -n "$without" ] && to=$results/without
	mkdir -p "$to" && cp -r "$@" "$to" || not_ok "kept: $*"
}

# remember NAME...: variables as they are now, which the functions on the host have, too.
remember() { declare -p "$@" >>"$results/remembered"; }

# Whose symbols are whose, as this kernel says; the kernel's own are those that it had after boot.
keep_symbols() {
	grep ']$' /proc/kallsyms >"$results/symbols"
	grep -l O /sys/module/*/taint 2>/dev/null | cut -d/ -f4 >"$results/own-modules"
}
