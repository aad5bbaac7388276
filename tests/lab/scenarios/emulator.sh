# SPDX-License-Identifier: GPL-2.0
# The emulated machine under this kernel, its page request queue far too small: every fault, overflow and
# discarded request as its truth log has them. The programs for its probes are the same on every kernel, the
# verifiers are not. Then emulated hosts, of which one lends devices to others.
#
# sample: 6.1
# memory: 1024
# files: tests/e2e/jobs/overflow.ini tests/e2e/jobs/stray.ini

guest() {
	mkdir -p "$results" /run/faultline
	chmod 700 /run/faultline
	TMPDIR=/tmp faultline record --as-root -o "$results/run.flt" -- faultline-inject run \
		--truth "$results/truth" /lab/files/overflow.ini --set vm.count=3 --set mix.rate=53 \
		--set mix.duration=4s --set cold.pages=31 --set cold.rate=2/s --set disk.page_requests=31 --set gone.rate=1/s \
		>"$results/run.out" 2>"$results/run.err"
	equal "recorded without loss" $? 0
	check_that "pages were evicted, requests dropped" grep -q '"overflow"' "$results/truth"
	TMPDIR=/tmp faultline record --as-root -o "$results/stray.flt" -- faultline-inject run --truth "$results/stray.truth" \
		/lab/files/stray.ini --set cluster.timeout=10m --set cluster.dead=20s >"$results/stray.out" 2>"$results/stray.err"
	equal "emulated hosts are recorded without loss" $? 0
}

host() {
	"$FAULTLINE" report run.flt --csv=tables --raw-time >/dev/null
	python3 "$reference/compare_truth.py" tables truth --evictions-race || failed=1
	"$FAULTLINE" report stray.flt --csv=stray >/dev/null
	python3 "$reference/compare_lent.py" stray.truth stray.flt stray disk@lender,shared@lender \
		lender,user,other,user/asker no || failed=1
}
