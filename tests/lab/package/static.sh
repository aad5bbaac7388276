# SPDX-License-Identifier: GPL-2.0
# The static `faultline`, copied to another host, runs in a root that has nothing else in it: it records, explains, says
# what this kernel can show, draws and serves. tests/e2e/package.sh runs this with FACE=full.
#
# iommu: intel
# devices: -device edu
# files: build/static/faultline
# programs: script

alone() { TMPDIR=/tmp chroot /alone /faultline "$@"; }

guest() {
	local server
	mkdir -p "$results" /alone/proc /alone/sys /alone/dev /alone/tmp /alone/run
	cp "$(command -v faultline)" /alone/faultline
	mount --rbind /proc /alone/proc
	mount --rbind /sys /alone/sys
	mount --rbind /dev /alone/dev
	equal "it is one file" "$(find /alone -xdev -type f)" /alone/faultline

	alone doctor --csv=/tmp/doctor >/tmp/out 2>&1
	equal "doctor ends well" $? 0
	equal "the IOMMU is shown" "$(sed -n 's/^IOMMU,\([a-z ]*\),.*/\1/p' /alone/tmp/doctor/paths.csv)" shown
	alone record --kind cpu_fault --duration 2s -o /tmp/run.flt >/tmp/out 2>&1 &
	wait_for 30 grep -q 'recording into' /tmp/out
	for _ in 1 2 3; do busybox true; done
	wait $!
	equal "it records without loss" $? 0
	alone report /tmp/run.flt --csv=/tmp/tables --raw-time >/tmp/out 2>&1
	equal "it explains that" $? 0
	check_that "probes were hit" awk -F, 'NR > 1 && $3 > 0 { hit++ } END { exit !hit }' /alone/tmp/tables/probes.csv
	alone top -b 1 2 >/tmp/out 2>&1
	equal "top prints" $? 0
	TERM=xterm script -qec "timeout 20 chroot /alone /faultline top 1s 2" /dev/null </dev/null >/tmp/screen 2>&1
	check_that "top draws without files that describe terminals" grep -q 'faultline top' /tmp/screen
	if alone --help-table | grep -q '^serve'; then
		TMPDIR=/tmp chroot /alone /faultline serve --listen 127.0.0.1:9777 --no-state >/tmp/serve.out 2>&1 &
		server=$!
		wait_for 60 busybox wget -q -O /tmp/metrics http://127.0.0.1:9777/metrics
		check_that "it serves metrics" grep -q '^# HELP faultline_' /tmp/metrics
		kill -TERM $server
		wait $server
	fi
	umount -l /alone/proc /alone/sys /alone/dev
	cp /alone/tmp/run.flt "$results"
}

host() {
	check_that "the host reads what it has recorded" "$FAULTLINE" report run.flt
}
