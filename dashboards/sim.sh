# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Draws what `faultline sim --csv=DIR` has written; plot.sh sources it. The last dimension of the sweep
# is an axis or a line, every combination of the others a line or a panel.

panels_most=6 lines_most=12

# Names of the sweep's dimensions, one a line: the columns of "sets" between point and cache.
dimensions() {
	local count names
	count=$(head -n 1 "$csv/sets.csv" | tr -d '\r' | tr , '\n' | awk '/^(seen_)?cache$/ { last = NR } END { print last - 2 }')
	mapfile -t names < <(head -n 1 "$csv/results.csv" | tr -d '\r' | tr , '\n')
	[ "$count" -le 0 ] || printf '%s\n' "${names[@]:1:count}"
}

# $work/points: point, combination, its name, place of the last dimension's value, value, bandwidth and
# what was offered in Gb/s. Combination -1 is the baseline. Values are words of strangers.
points() {
	local names
	mapfile -t names < <(dimensions)
	table results point bandwidth_bits_per_s offered_bits_per_s "${names[@]}" |
		awk -F'\t' -v OFS='\t' -v count="${#names[@]}" '
	function word(text) { gsub(/[^A-Za-z0-9_.:+\/-]/, "?", text); return text }
	{
		name = ""
		for (i = 4; i < count + 3; i++) name = name (i > 4 ? ", " : "") word($i)
		value = count ? word($(count + 3)) : ""
		if ($4 == "baseline") combination = -1
		else {
			if (!(name in combinations)) combinations[name] = combined++
			if (!(value in places)) places[value] = placed++
			combination = combinations[name]
		}
		print $1, combination, name, places[value] + 0, value, $2 / 1e9, $3 / 1e9
	}' >"$work/points"
	last= others=
	[ ${#names[@]} -eq 0 ] || last=${names[-1]}
	[ ${#names[@]} -le 1 ] || others=$(printf ', %s' "${names[@]:0:${#names[@]}-1}")
	others=${others#, }
	combinations=$(awk -F'\t' '$2 >= n { n = $2 + 1 } END { print n + 0 }' "$work/points")
}

# The names of combinations as gnuplot's word() takes them; the values of the last dimension the same way
# (words), or as ticks at their place or at their value.
titles() { awk -F'\t' '$2 >= 0 && !($2 in seen) { seen[$2] = 1; printf "\"%s\" ", ($3 == "" ? "all points" : $3) }' "$work/points"; }
ticks() {
	awk -F'\t' -v at="$1" '
	$2 >= 0 && !($4 in seen) {
		seen[$4] = 1
		if (at == "words") printf "\"%s\" ", ($5 == "" ? "all" : $5)
		else printf "%s\"%s\" %s", (n++ ? ", " : ""), $5, (at == "value" ? $5 : $4)
	}' "$work/points"
}

# too_many NAME LIMIT: says what a plot has no room for.
too_many() {
	[ "$combinations" -le "$2" ] || echo "plot.sh: $1: the first $2 of $combinations combinations of $others" >&2
}

# by_combination COUNT: "combination<TAB>rest" lines, in order, to gnuplot's data blocks.
by_combination() {
	awk -F'\t' -v most="$1" '
	$1 >= 0 && $1 < most { rows[$1] = rows[$1] substr($0, length($1) + 2) "\n"; if ($1 >= n) n = $1 + 1 }
	END { for (i = 0; i < n; i++) printf "%s%s", (i ? "\n\n" : ""), (rows[i] == "" ? "NaN\n" : rows[i]) }'
}

bandwidth() {
	local settings kind
	[ -n "$last" ] || { skip bandwidth "no sweep" && return; }
	too_many bandwidth $lines_most
	# Values far apart stand on a logarithmic axis, words side by side.
	kind=$(awk -F'\t' '$2 < 0 { next }
	$5 !~ /^[0-9.]+$/ || $5 <= 0 { words = 1 }
	{ if (!n++ || $5 < least) least = $5; if ($5 > most) most = $5 }
	END { print (words ? "words" : most >= 8 * least ? "log" : "linear") }' "$work/points")
	awk -F'\t' -v OFS='\t' -v kind="$kind" '{ print $2, kind == "words" ? $4 : $5, $6 }' "$work/points" |
		by_combination $lines_most >"$work/bandwidth"
	settings=$(awk -F'\t' '
	$2 < 0 { baseline = $6 }
	$2 >= 0 { if ($7 > most) most = $7; if (!n++ || $7 < least) least = $7 }
	END {
		printf "baseline=%s; ", (baseline == "" ? "NaN" : baseline)
		# A device offers a packet at every slot, so that this is the link, if it was not swept.
		printf "link=%s;", (least > 0.95 * most ? most : "NaN")
	}' "$work/points")
	[ "$kind" = words ] && kind="words'; ticks='$(ticks place)" || kind="$kind'; ticks='$(ticks value)"
	draw bandwidth "kind='$kind'; xname='$last'; others='$others'; titles='$(titles)'; $settings \
lines=$((combinations < lines_most ? combinations : lines_most));"
}

# Settings of a plot with a panel for each combination.
panel_settings() {
	local panels=$((combinations < panels_most ? combinations : panels_most))
	echo "panels=$panels; titles='$(titles)'; by='${others:+, by $others}'; last='$last'; \
places=$(awk -F'\t' '$4 >= n { n = $4 + 1 } END { print n }' "$work/points"); ticks='$(ticks place)'; \
names='$(ticks words)';"
}

conflicts() {
	table sets point cache set accesses cross_evictions >"$work/rows" || { skip conflicts "no sets.csv" && return; }
	awk -F'\t' -v OFS='\t' '
	NR == FNR { combination[$1] = $2; place[$1] = $4; next }
	$2 == "devtlb" { print combination[$1], $3, place[$1], $4 ? $5 / $4 : 0 }' \
		"$work/points" "$work/rows" >"$work/cells"
	[ -s "$work/cells" ] || { skip conflicts "the DevTLB has too many sets" && return; }
	too_many conflicts $panels_most
	by_combination $panels_most <"$work/cells" >"$work/conflicts"
	draw conflicts "$(panel_settings) $(awk -F'\t' '
	$2 >= sets[$1] { sets[$1] = $2 + 1 }
	$1 >= n { n = $1 + 1 }
	$4 > most { most = $4 }
	END {
		for (i = 0; i < n; i++) counts = counts " " sets[i] + 0
		printf "sets='"'%s'"'; most=%g;", counts, most
	}' "$work/cells")"
}

# A line for each value of the last dimension. A stretch of time stands at its end, the first begins where a
# logarithmic axis can show it; the last one is cut by the end of the run and left out.
ptb() {
	table ptb point start_ps length_ps in_flight_milli >"$work/rows" || { skip ptb "no ptb.csv" && return; }
	too_many ptb $panels_most
	awk -F'\t' -v OFS='\t' -v most=$panels_most '
	NR == FNR { combination[$1] = $2; place[$1] = $4; if ($4 >= places) places = $4 + 1; next }
	combination[$1] < 0 || combination[$1] >= most { next }
	{
		i = combination[$1] * places + place[$1]
		if (!(i in begun)) rows[i] = $3 / 4e6 OFS $4 / 1000 "\n"
		else rows[i] = rows[i] begun[i]
		begun[i] = ($2 + $3) / 1e6 OFS $4 / 1000 "\n"
		if (i >= n) n = i + 1
	}
	END { for (i = 0; i < n; i++) printf "%s%s", (i ? "\n\n" : ""), (i in rows ? rows[i] : "NaN\n") }' \
		"$work/points" "$work/rows" >"$work/ptb"
	draw ptb "$(panel_settings)"
}

# cumulative COLUMN SCALE: "combination<TAB>value..." lines to value and the percentage of tenants up to it.
cumulative() {
	sort -t"$(printf '\t')" -k1,1n -k"$1,$1g" "$work/chosen" | awk -F'\t' -v OFS='\t' -v column="$1" -v scale="$2" '
	function flush(    i) {
		print combination, at[1] / scale, 0
		for (i = 1; i <= n; i++) if (i == n || at[i + 1] != at[i]) print combination, at[i] / scale, 100 * i / n
		n = 0
	}
	NR > 1 && $1 != combination { flush() }
	{ combination = $1; at[++n] = $column }
	END { flush() }' | by_combination $lines_most
}

# The tenants of the points with the last value of the last dimension.
tenants() {
	local value scale
	table tenants point tenant bandwidth_bits_per_s latency_mean_ps latency_p99_ps >"$work/rows" ||
		{ skip tenants "no tenants.csv" && return; }
	value=$(awk -F'\t' '$2 >= 0 && $4 >= n { n = $4; value = $5 } END { print value }' "$work/points")
	awk -F'\t' -v OFS='\t' -v value="$value" '
	NR == FNR { if ($2 >= 0 && $5 == value) combination[$1] = $2; next }
	$1 in combination { print combination[$1], $3, $4, $5 }' "$work/points" "$work/rows" >"$work/chosen"
	[ -s "$work/chosen" ] || { skip tenants "no tenant" && return; }
	too_many tenants $lines_most
	scale=$(awk -F'\t' '$2 > most { most = $2 } END { print (most >= 1e9 ? "1e9" : "1e6") }' "$work/chosen")
	cumulative 2 "$scale" >"$work/tenants.bandwidth"
	cumulative 3 1e6 >"$work/tenants.mean"
	cumulative 4 1e6 >"$work/tenants.p99"
	draw tenants "titles='$(titles)'; others='$others'; at='${last:+ of points with $last=$value}'; \
unit='$([ "$scale" = 1e9 ] && echo Gb/s || echo Mb/s)'; lines=$((combinations < lines_most ? combinations : lines_most));"
}

simulation() {
	points
	bandwidth
	conflicts
	ptb
	tenants
}
