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
finish
