# SPDX-License-Identifier: GPL-2.0
# Who may call the emulator's probes is decided in the kernel, before anything else is done: another user's calls are
# counted and that is all, root's process that invents devices gets no more than its share.
#
# sample: new
# memory: 1024
# programs: setpriv
# files: tests/e2e/jobs/idle.ini build/tests/lab/programs/knock

# knocked COMMAND...: runs knock; how many calls it made is in $calls.
knocked() {
	"$@" >knock.out 2>knock.err &
	knock=$!
	wait_for 30 stopped $knock
	kill -CONT $knock
	wait $knock
	read -r calls <knock.out
}
recorded() {
	rm -f record.err
	faultline record "$@" 2>record.err &
	recorder=$!
	wait_for 60 says record.err recording
}
ended() {
	kill -INT $recorder
	wait $recorder
}

guest() {
	mkdir -p "$results" /run/faultline
	chmod 700 /run/faultline
	emulator=$(command -v faultline-inject)
	recorded -o "$results/run.flt"
	knocked setpriv --reuid 65534 --regid 65534 --clear-groups knock "$emulator" 61 1
	echo "$calls" >"$results/calls"
	TMPDIR=/tmp faultline-inject run --truth "$results/truth" /lab/files/idle.ini >run.out 2>&1
	ended
	equal "recorded without loss" $? 0
	recorded --kind fault_detect -o "$results/share.flt"
	knocked knock "$emulator" 2053 1
	ended
	equal "what is beyond a process's share is lost" $? 5
}

host() {
	"$FAULTLINE" report run.flt --csv=tables --raw-time >/dev/null
	python3 "$reference/compare_truth.py" tables truth || failed=1
	equal "every call was turned away" "$(column loss count what turned_away)" "$(cat calls)"
	equal "no device but the machine's" "$(column devices device kind emulated | wc -l)" 1
	rm -rf tables
	"$FAULTLINE" report share.flt --csv=tables --raw-time >/dev/null
	equal "the share of one process" "$(column devices device kind emulated | wc -l)" 2048
	equal "what was beyond it" "$(($(column loss count what lost) > 0))" 1
}
