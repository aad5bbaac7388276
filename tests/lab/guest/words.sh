# SPDX-License-Identifier: GPL-2.0
# Words of checks, which run inside the guest and on the host: sourced by lib.sh, by host.sh and by the
# suites' own tests/e2e/lib.sh.

passed=0 failed=0 skipped=0

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

# to_the_end: runs `whole`. An error of bash, as in arithmetic, leaves all functions without a word, so
# whoever calls it looks for `ended` afterwards, outside of any.
to_the_end() {
	whole
	ended=yes
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

# tables RECORDING: where the probe of each page request is said to be $silent, or faults of the IOMMU went unseen,
# counts are floors.
tables() {
	local status expected=0
	[[ " ${silent:-} " == *" iopf_report "* ]] && expected=5
	rm -rf tables
	faultline report "$1" --csv=tables >report.err 2>&1
	status=$?
	[ "$(column iommu_fault_totals count what "unseen is a floor")" = 1 ] && expected=5
	[ $status -eq $expected ] || not_ok "report of $1" "exit $status, expected $expected: $(tail -n 3 report.err)"
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

# cell_of COLUMN FILE.csv: of the first row.
cell_of() { awk -F , -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } NR == 2 { print $at }' "$2"; }

# sum_of COLUMN FILE.csv...: over all rows.
sum_of() {
	awk -F , -v name="$1" 'FNR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		{ sum += $at } END { print sum + 0 }' "${@:2}"
}

# kind_number NAME: of bpf/event_kinds.def, from the tree: not inside the guest.
kind_number() { sed -n "s/^EVENT_KIND($1, \([0-9]*\),.*/\1/p" "$root/bpf/event_kinds.def"; }
