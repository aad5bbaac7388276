#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The check itself: a skip needs the proof of its reason, what is called is installed, and what hangs is
# ended on any machine, but nothing that is only slow.
. "$(dirname "$0")/../e2e/lib.sh"
tests=$root/tests

# A list of its own, whose reasons hold or do not.
export FAULTLINE_ALLOWED_SKIPS=$scratch/list
cat >list <<'LIST'
here: nothing can be mounted | no_tmpfs
here: another proof | no_such_proof
LIST
said=$("$tests/proofs.sh" here "nothing can be mounted")
equal "a skip whose reason does not hold fails" $? 1
equal "and says what was found" "$said" "its reason does not hold (no_tmpfs): a tmpfs can be mounted"
said=$(setpriv --bounding-set=-sys_admin "$tests/proofs.sh" here "nothing can be mounted")
equal "a skip whose reason holds passes" $? 0
check "with the host's own answer" grep -q 'permission denied' <<<"$said"
check "a skip without a proof fails" bash -c "! '$tests/proofs.sh' here 'another proof'"
check "a skip that nobody listed fails" bash -c "! '$tests/proofs.sh' here 'unlisted'"
(
	suite=here
	skip "nothing can be mounted" "so it says"
	[ "$failed.$skipped" = 1.1 ]
) >skip.out
equal "a suite's skip without its reason is a failure" $? 0
unset FAULTLINE_ALLOWED_SKIPS
while IFS= read -r proof; do
	check "$proof is a proof" grep -q "^${proof%% *}() {" "$tests/proofs.sh"
done < <(sed -n '/^[a-z].*: .* | /s/.* | //p' "$tests/allowed-skips" | sort -u)

# What the scripts call is in tests/setup.sh: without any of these the test finds who misses it.
cp "$tests/setup.sh" setup.sh
some=(patchelf tmux python3-zstandard bpftrace)
for package in "${some[@]}"; do sed -i "s/\b$package\b//" setup.sh; done
said=$(/usr/bin/python3 "$tests/suites/packages.py" setup.sh)
for package in "${some[@]}"; do
	check "$package is missed" grep -q "^not ok - .*\bpackage $package is not in the set" <<<"$said"
done
said=$(PYTHONPATH=$tests/suites PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 - <<'PY'
import commands
calls = commands.Calls()
commands.shell('check() { shift; "$@"; }; check "a name" nice -n 3 frob "$(xargs -n 1 nicate)"; bash -c "x=1 inner -v"', "t", calls)
commands.python('import subprocess, zstandard\nTOOL = "wrench"\nsubprocess.run([TOOL, "-x"], check=True)', "t", calls)
commands.shell('taskset -c 1 aa; setpriv --reuid 7 bb; flock x.lock cc; eval "dd -x"; script -q -c "ee" /dev/null; tmux new-session -d "ff 1"', "t", calls)
commands.python('from subprocess import run\nrun(args=["gg"])\nrun(["hh"])\nrun("ii -x", shell=True)', "t", calls)
commands.makefile("TOOL := hammer\nall: x\n\t$(Q)+$(TOOL) $(addprefix -k ,$(K)) && $$(nail)\n", "t", calls)
print(*sorted(calls.commands.keys() - calls.functions), *sorted(calls.imports))
PY
)
equal "commands behind others, in texts, lists and recipes are seen" "$said" \
	"aa bash bb cc dd ee ff flock frob gg hammer hh ii inner nail nicate nice script setpriv taskset tmux wrench xargs subprocess zstandard"

# What hangs or spins is ended with all that it started; what is slow is not, however busy the machine.
watchdog=$tests/watchdog.py
looks() { "$watchdog" run --every 0.2 "$@" 2>watchdog.err; }
looks --quiet 2 -- sh -c "setsid sleep 86400.$$ & sleep 86401.$$"
equal "a sleeper is ended" $? 124
check "and it says why" grep -q '^watchdog: ended: in 2 s it printed nothing and used [0-9.]* s of CPU time; there were: .*sleep 86401' watchdog.err
check "with what it left in another session" bash -c "! pgrep -f 'sleep 8640[0-9]\.$$'"
looks --quiet 3 -- nice -n -10 sh -c 'while :; do sleep 0.2; done'
equal "one that polls for ever is ended" $? 124
check "as one that hangs" grep -q '^watchdog: ended: in 3 s it printed nothing' watchdog.err
looks --quiet 600 --cpu 2 -- sh -c 'sh -c "while :; do :; done"'
equal "a spinner is ended" $? 124
check "and it says why, too" grep -q '^watchdog: ended: it used [23] s of CPU time without a word' watchdog.err
looks --quiet 600 --cpu 0.5 -- sh -c 'while :; do i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done; echo; done' >chatter
equal "one that prints all the time is ended, too" $? 124
check "when it has used far too much" grep -q 'used [5-9] s of CPU time;' watchdog.err
burners=()
for ((i = 0; i < 2 * $(nproc); i++)); do
	sh -c 'while :; do :; done' &
	burners+=($!)
done
looks --quiet 1 --cpu 60 -- nice -n 10 sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; exit 3'
equal "one that gets little of a busy machine is not" $? 3
mine() { setsid nice -n 10 sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; : >slow.done; exec sleep 30'; }
mine &
slow=$!
check "what works is waited for beyond its time" wait_for 1 test -e slow.done
kill $slow "${burners[@]}"
wait $slow "${burners[@]}" 2>/dev/null
looks --quiet 1 --cpu 60 -- sh -c 'for i in 1 2 3 4 5 6; do sleep 0.5; echo $i; done' >chatter
equal "one that prints and sleeps is not" $? 0
looks -- sh -c 'kill -9 $$'
equal "a signal is told as a shell tells it" $? 137
looks -- sh -c '(true & echo $! >orphan); sleep 0.3; ! kill -0 "$(cat orphan)" 2>/dev/null'
equal "what it leaves behind is reaped" $? 0
"$watchdog" run -- sh -c "sleep 86402.$$ & sleep 86403.$$" &
watched=$!
wait_for 5 pgrep -f "^sleep 86403\.$$"
kill -TERM $watched
wait $watched
equal "one that is stopped" $? 143
check "takes all of it along" bash -c "! pgrep -f 'sleep 8640[0-9]\.$$'"

# What is held up (make stalled) does what it would have done, later.
equal "a stalled command's status is its own" "$("$root/build/tests/stall" 1 sh -c '(sleep 0.1; echo 3) & wait; exit 7' 2>stall.err; echo $?)" $'3\n7'
equal "a signal that ends it is told" "$("$root/build/tests/stall" 1 sh -c 'kill -9 $$' 2>/dev/null; echo $?)" 137
"$root/build/tests/stall" 1 sh -c 'i=0; while [ $i -lt 100 ]; do i=$((i + 1)); sleep 0.01; done' 2>stall.err
check "it stood still" grep -q '^stall: [1-9][0-9]* times' stall.err

# A watchdog that is killed takes its command along, another watchdog's included, and so does a test the
# recorder that it would have killed.
"$watchdog" run -- "$watchdog" run -- sh -c "exec sleep 86404.$$" &
watched=$!
check "watchdogs nest" wait_for 5 pgrep -f "^sleep 86404\.$$"
kill -KILL $watched
wait $watched 2>/dev/null
check "one that is killed takes its command along" wait_for 5 eval "! pgrep -f 'sleep 86404\.$$'"
# As seen while the test itself is stopped: it would kill its recorder after some milliseconds.
"$root/build/tests/unit/test_trace_ring" >ring.out 2>&1 &
ring=$!
recorder_lives() {
	kill -STOP $ring && recorder=$(pgrep -P $ring -x test_trace_ring) &&
		folder=$(find "/proc/$recorder/fd" -lname '*faultline-test-*' -printf '%l\n' | head -n 1) && [ -n "$folder" ] ||
		! kill -CONT $ring
}
wait_for 10 recorder_lives
equal "a test's recorder is there" $? 0
kill -KILL $ring
wait $ring 2>/dev/null
check "and goes with the test" wait_for 5 eval "! grep -q '^State:.[RSD]' /proc/$recorder/status"
kill -KILL "$recorder" 2>/dev/null
rm -rf "${folder%/*}"

# A program of tests that leaves in the middle of them has failed, however it exits.
mkdir -p programs/tests/unit
cat >leaves.c <<'C'
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
static void holds(void **state) { (void)state; }
static void leaves(void **state) { (void)state; exit(0); }
int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(holds), cmocka_unit_test(leaves), cmocka_unit_test(holds)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
C
gcc -o programs/tests/unit/test_leaves leaves.c -lcmocka
(cd "$root" && tests/suites/unit.sh "$scratch/programs") >unit.out
equal "a unit test that leaves its program fails" $? 1
check "and the program is named" grep -q '^not ok - .*/test_leaves began 3 tests and ended 0' unit.out
printf '#!/bin/sh\n' >programs/tests/unit/test_leaves
(cd "$root" && tests/suites/unit.sh "$scratch/programs") >unit.out
equal "so does a program without tests" "$?, $(tail -n 1 unit.out)" "1, 0 passed, 1 failed, 0 skipped"
rm programs/tests/unit/test_leaves
(cd "$root" && tests/suites/unit.sh "$scratch/programs") >unit.out
equal "and a folder without programs" "$?, $(tail -n 1 unit.out)" "1, 0 passed, 1 failed, 0 skipped"

# A suite that checks nothing has failed: by its own account, and by that of check.sh.
printf '. "%s/e2e/lib.sh"\nfinish\n' "$tests" >idle.sh
said=$(bash idle.sh)
equal "a suite that checks nothing fails" $? 1
equal "and says so" "${said%%$'\n'*}" "not ok - something is checked"

# The sum of check.sh tells and counts what was tried again.
mkdir -p sum/tests/e2e sum/build
cp "$tests/check.sh" "$tests/watchdog.py" sum/tests
printf '#!/bin/bash\necho "retried - this: it was late"\necho "truth: 5 passed, 0 failed, 0 skipped, 1 retried"\n' >sum/tests/e2e/truth.sh
printf '#!/bin/bash\necho "top: 2 passed, 0 failed, 0 skipped"\nexit 1\n' >sum/tests/e2e/top.sh
printf '#!/bin/bash\necho "perf: 0 passed, 0 failed, 0 skipped"\n' >sum/tests/e2e/perf.sh
sum/tests/check.sh truth top >sum.out
equal "a suite that fails without a failure fails the sum" $? 1
check "what was retried is told" grep -q '^    retried - this: it was late' sum.out
equal "and counted" "$(tail -n 1 sum.out)" "7 passed, 1 failed, 0 skipped, 1 retried"
# planted TEXT: what becomes of a suite that does this.
planted() {
	printf '#!/bin/bash\n%s\n' "$1" >sum/tests/e2e/top.sh
	sum/tests/check.sh top >sum.out
	tail -n 1 sum.out
}
equal "the sum of what a suite ran is not its own" "$(planted 'echo "inner: 3 passed, 0 failed, 0 skipped"')" \
	"0 passed, 1 failed, 0 skipped, 0 retried"
equal "nor is a sum that more follows" "$(planted 'echo "top: 3 passed, 0 failed, 0 skipped"; echo more')" \
	"0 passed, 1 failed, 0 skipped, 0 retried"
equal "a failure that was not counted counts" \
	"$(planted '(echo "not ok - lost"; echo "not ok - twice") | cat; echo "top: 3 passed, 0 failed, 0 skipped"')" \
	"3 passed, 2 failed, 0 skipped, 0 retried"
equal "a skip that nobody saw is a failure" "$(planted 'echo "top: 3 passed, 0 failed, 7 skipped"')" \
	"3 passed, 1 failed, 7 skipped, 0 retried"
planted 'echo "[  FAILED  ] its_test"; for i in {1..30}; do echo "$i"; done' >/dev/null
check "what failed stands at the end, once more" eval "grep -A 1 '^failed: top ' sum.out | grep -qxF '    [  FAILED  ] its_test'"
planted "setsid sleep 86405.$$ & echo 'top: 1 passed, 0 failed, 0 skipped'" >/dev/null
check "what a suite leaves behind ends with it" bash -c "! pgrep -f 'sleep 86405\.$$'"
sum/tests/check.sh perf >sum.out
equal "a suite that checked nothing fails the sum" "$?, $(tail -n 1 sum.out)" "1, 0 passed, 1 failed, 0 skipped, 0 retried"
finish
