#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A stock virtual machine under a reclaimer, its disk busy, `top` beside it; then what the recording says, and what the guest
# saw. `vm-demo.sh [DIRECTORY]` leaves its files there (in the root of the sources).
set -euo pipefail
cd "$(dirname "$0")/.."

place=${1:-.}
job=injectors/jobs/vm-demo.ini
faultline=${FAULTLINE:-./faultline}
inject=${INJECT:-./faultline-inject}
recording=$place/vm-demo.flt
if [ "$(id -u)" -ne 0 ]; then
	echo "faultline: the demo loads BPF programs and uses userfaultfd: sudo make vm-demo" >&2
	exit 4
fi
tests/vm/guest.sh >/dev/null
rm -f "$recording"
# What they say is in a file without a name, gone with this script.
said=$(mktemp)
exec 3<>"$said"
rm "$said"
said=/proc/$$/fd/3
machine=
trap '[ -z "$machine" ] || kill $machine 2>/dev/null || true' EXIT

chapter() { printf '\n== %s\n\n' "$*"; }

echo "QEMU boots Debian's 6.12 in 256 MB of which the host keeps 70% out; then memory and disk are busy for half a minute."
# Whatever happens to this script, what it has started ends.
setpriv --pdeathsig=TERM "$faultline" record --as-root -o "$recording" -- "$inject" run "$job" >"$said" 2>&1 &
machine=$!
if [ -t 1 ]; then
	sleep 4
	setpriv --pdeathsig=TERM "$faultline" top || true
	echo "The machine goes on to its end."
else
	while kill -0 $machine 2>/dev/null; do
		sleep 5
		"$faultline" top -b 2 1 2>/dev/null || true
	done
fi
status=0
wait $machine || status=$?
machine=

chapter "The machine: faults of its disk (faults) and pages that its CPUs touched (cpu_faults)"
cat "$said"
# 5: on a busy host events may be lost; the report says how many.
[ $status -eq 0 ] || [ $status -eq 5 ] || exit $status

chapter "What happened"
"$faultline" report "$recording" || [ $? -eq 5 ]

chapter "The longest fault of its disk, explained"
"$faultline" explain "$recording" --slowest || [ $? -eq 5 ]

cat <<TEXT

Left in $place: vm-demo.flt, the recording. Try next:
  ./faultline timeline $recording --slowest 20
  sudo ./faultline-inject run injectors/jobs/vm-integrity.ini
  ./faultline-inject vm --print-arguments injectors/jobs/vm-demo.ini    # for a QEMU of your own
TEXT
