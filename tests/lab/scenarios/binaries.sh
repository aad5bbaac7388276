# SPDX-License-Identifier: GPL-2.0
# More copies of the emulator than probes are on at once, one after the other: each is met and its faults are seen. Linux 6.1
# takes a grace period for each site that it takes a probe away from, during which the recorder goes on.
#
# sample: none
# memory: 1024

copies=11 # of 8

guest() {
	mkdir -p "$results" /run/faultline
	chmod 700 /run/faultline
	printf '%s\n' '[tenant vm]' 'memory = 4M' '[device disk]' 'file_bytes = 2M' '[workload w]' 'sizes = 4K' 'rate = 97/s' \
		'duration = 1s' '[inject cold]' 'action = evict' 'what = next' 'rate = 31/s' 'duration = 1s' >/tmp/machine.ini
	cat >/tmp/copies <<END
for i in \$(seq $copies); do
	cp $(command -v faultline-inject) /tmp/copy\$i
	/tmp/copy\$i run /tmp/machine.ini || echo "copy \$i: \$?"
done
END
	TMPDIR=/tmp faultline record --as-root -o "$results/run.flt" -- bash /tmp/copies \
		>"$results/run.out" 2>"$results/run.err"
	equal "recorded without loss" $? 0
	check_that "every copy ran" bash -c "! grep '^copy' $results/run.out"
	check_that "none was turned down" bash -c "! grep 'is not met' $results/run.err"
}

host() {
	"$FAULTLINE" report run.flt --csv=tables --raw-time >/dev/null
	equal "machines that were not met" "$(awk -F, '$1 ~ /^machines_/ { n += $2 } END { print n + 0 }' tables/loss.csv)" 0
	equal "copies whose faults were seen" \
		"$(awk -F, 'NR > 1 && $2 + 0 > 0 { split($1, name, "#"); seen[name[2]] } END { print length(seen) }' tables/summary.csv)" $copies
}
