#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The check itself: a skip needs the proof of its reason.
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
for package in patchelf tmux python3-zstandard bpftrace; do
	sed "s/\b$package\b//" "$tests/setup.sh" >setup.sh
	said=$(/usr/bin/python3 "$tests/suites/packages.py" setup.sh)
	check "$package is missed" grep -q "^not ok - .*: package $package is not in the set" <<<"$said"
done
said=$(PYTHONPATH=$tests/suites PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 - <<'PY'
import commands
calls = commands.Calls()
commands.shell('check() { shift; "$@"; }; check "a name" nice -n 3 frob "$(xargs -n 1 nicate)"; bash -c "x=1 inner -v"', "t", calls)
commands.python('import subprocess, zstandard\nTOOL = "wrench"\nsubprocess.run([TOOL, "-x"], check=True)', "t", calls)
commands.makefile("TOOL := hammer\nall: x\n\t$(Q)+$(TOOL) $(addprefix -k ,$(K)) && $$(nail)\n", "t", calls)
print(*sorted(calls.commands.keys() - calls.functions), *sorted(calls.imports))
PY
)
equal "commands behind others, in texts, lists and recipes are seen" "$said" \
	"bash frob hammer inner nail nicate nice wrench xargs subprocess zstandard"
finish
