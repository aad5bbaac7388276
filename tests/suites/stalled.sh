#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every unit test while now and then one of its threads stands still (tests/stall.c), as those of a machine do
# whose CPUs others take: what holds at a quiet moment only fails. SEED=N chooses other moments.
set -uo pipefail
declare -A except=(
	[journal]="traces a program itself, which has one tracer at most"
	[guest_process]="is told of a child's end when the child's tracer has been told"
	[memory]="counts CPU faults, and one that is interrupted is taken again"
	[capture]="loads BPF programs, and the verifier ends with EAGAIN whenever its thread is interrupted"
	[probe_report]="loads BPF programs, too"
)
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
mkdir -p "$programs/tests/unit"
for program in build/tests/unit/test_*; do
	case $program in *.o | *.d) continue ;; esac
	name=${program##*/test_}
	if [ -n "${except[$name]:-}" ]; then
		echo "# not $name: it ${except[$name]}"
	else
		ln -s "$PWD/$program" "$programs/tests/unit/"
	fi
done
tests/suites/unit.sh "$programs" build/tests/stall "${SEED:-1}"
