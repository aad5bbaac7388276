#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs a scenario's part on the host, in the directory of what came out of the guest:
# host.sh SCENARIO KERNEL. Recordings are analyzed here, where it costs nothing.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
FAULTLINE=${FAULTLINE:-$root/faultline}
reference=$root/tests/reference
# The distribution's Python has the modules that tests/setup.sh installs.
PATH=/usr/bin:$PATH
results=$PWD
. "$root/tests/lab/guest/words.sh"
faultline() { "$FAULTLINE" "$@"; }

# sum: of the numbers of standard input.
sum() { awk '{ n += $1 } END { print n + 0 }'; }
# traced EVENT: how often the kernel's own trace, kept as `trace`, has it.
traced() { grep -c " $1: " trace; }

# top_is_report VIEW TABLE: what a replay ends with is what `report` says of the same recording, floors (5), too.
top_is_report() {
	local said status
	rm -rf tables.host
	"$FAULTLINE" top -i run.flt --view "$1" --since-start --csv >"top-$1.csv"
	status=$?
	"$FAULTLINE" report run.flt --csv=tables.host >/dev/null
	equal "top and report end alike" "$?" "$status"
	# A mean rate of all of it is a column of the report's; the last interval's is the view's.
	if said=$(python3 "$reference/compare_top.py" "top-$1.csv" "tables.host/$2.csv" 2>&1); then
		ok "view $1 of top is the report's table $2 ($said)"
	else
		not_ok "view $1 of top is the report's table $2" "$said"
	fi
}

# Who owns each symbol of standard input: "SYMBOL kernel", "SYMBOL kernel:MODULE" for one of the
# kernel's own modules, "SYMBOL module:MODULE" for one from elsewhere.
owners_of() {
	sed '/^$/d; s/.*/ &$/; p; s/\$$/\t/' >patterns
	[ -s patterns ] || return
	grep -hE -f patterns <(grep -v ']$' ../kallsyms) symbols | awk '
		FILENAME == "own-modules" { own["[" $1 "]"] = 1; next }
		{ print $3, $4 == "" ? "kernel" : (($4 in own) ? "module:" : "kernel:") substr($4, 2, length($4) - 2) }' \
		own-modules - | sort -u
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

# stage_table FILE RUN [PROBE]: prints which code produced each stage of a recording and holds it
# against the scenario's table. Without PROBE its row must be "not seen".
stage_table() {
	local run=$2 without=${3:-} stage probe expected attach count symbol actual field seen=0 differ=0
	local -A symbols=() counts=()
	while IFS=$'\t' read -r probe count attach; do
		counts[$probe]=$count
		[ -n "$attach" ] && symbols[$probe]=$(symbol_of "$attach")
	done < <(cd "${1%.flt}" && rows probes probe hits attach)
	case $kernel in 6.1) field=3 ;; 6.12) field=4 ;; new) field=5 ;; esac
	awk -v field=$field '!/^#/ && NF { print $1, $2, $field }' "$stages" >stages.expected
	# Of the first recording: what a module had is not there any more where it has gone since.
	[ -s owners ] || while read -r stage probe expected; do
		echo "${symbols[$probe]:-}"
	done <stages.expected | owners_of >owners
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
		[ "$probe" = "$without" ] && expected=-
		printf '# %-20s | %-24s %s\n' "$stage" "${actual/#-/not seen}" "${symbol:+$count x }${symbol#__tracepoint_}"
		if [ "$actual" != "$expected" ]; then
			not_ok "stage $stage ($run)" "produced by '$actual' (probe $probe), expected '$expected'"
			differ=$((differ + 1))
		fi
		echo "$run,$stage,$probe,$actual,$count,$symbol" >>stages.csv
	done <stages.expected
	[ -z "$without" ] && [ $seen -eq 0 ] && not_ok "stages were seen" "none"
	[ $differ -eq 0 ] && ok "$(wc -l <stages.expected) stages ($run) as in the table"
}

# recorded FILE RUN SILENT: its tables, beside what the guest kept for it.
recorded() {
	local silent=$3
	tables "../$1"
	equal "probes attached and silent ($2)" "$(column probes probe state silent | paste -sd' ')" "$3"
}

in_directory() {
	cd "$1" || return
	"${@:2}"
	cd "$results" || exit
}

# check_recorded: what a scenario without a `guest` of its own has recorded.
check_recorded() {
	local file run
	for file in run.flt without.flt; do
		[ -s $file ] && grep -q "^$file," recordings || not_ok "there is $file"
	done
	while IFS=, read -r file run _ <&3; do
		case $file in
		run.flt)
			stage_table "$file" "$run"
			cd run && check
			;;
		without.flt)
			stage_table "$file" "$run" "${run#without }"
			cd without && check_without "${run#without }"
			;;
		esac
		cd "$results" || exit
	done 3<recordings
}

kernel=$2
stages=${1%.sh}.stages
check() { :; }
check_without() { :; }
. "$1"
[ -e remembered ] && . ./remembered
whole() {
	local file run silent_probes
	if [ -e recordings ]; then
		while IFS=, read -r file run silent_probes; do
			mkdir -p "${file%.flt}"
			in_directory "${file%.flt}" recorded "$file" "$run" "$silent_probes"
		done <recordings
	fi
	if ! declare -F guest >/dev/null; then
		if [ -e recordings ]; then check_recorded; else not_ok "something was recorded"; fi
	fi
	if declare -F host >/dev/null; then host || failed=$((failed + 1)); fi
}

to_the_end
[ -n "${ended:-}" ] || not_ok "its checks on the host run to their end" "an error of bash ended them: see above"
echo "counted $passed $failed $skipped"
[ "$failed" -eq 0 ]
