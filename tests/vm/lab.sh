#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# `make lab-vm`: the suite of stock virtual machines with KILLS (200) of one side after the other, then fio's view of a
# disk beside ours in all of its cases, then their campaigns with full grids; one CSV
# each in build/campaigns. Under TCG, which is all that is proven: numbers are counts and orders, not times.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
tests/vm/guest.sh with iperf3 >/dev/null || exit
mkdir -p build/campaigns
failed=0
# Whether guests may have cmpxchg16b (docs/vm.md, Traps) is this QEMU's affair.
tests/vm/guest.sh run -cpu max,-erms,-fsrm,-la57,-smap,-smep flags_operations=100000 | tr -d '\r' |
	sed -n 's/^faultline-guest: \(flags_.*\)/cmpxchg16b: \1/p'
KILLS=${KILLS:-200} bash tests/e2e/vm.sh || failed=$((failed + 1))
KILLS=$((${KILLS:-200} / 10)) bash tests/e2e/vm_nic.sh || failed=$((failed + 1))
VM_FIO=all bash tests/e2e/vm_fio.sh || failed=$((failed + 1))
for job in injectors/jobs/vm-*.ini; do
	name=$(basename "$job" .ini)
	[[ $name == *demo ]] && continue
	rm -f "build/campaigns/$name.csv"
	echo "== $name"
	./faultline-inject run "$job" --csv="build/campaigns/$name.csv" || failed=$((failed + 1))
done
echo "lab-vm: $failed failed"
[ $failed -eq 0 ]
