#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The main job, shown: an emulated block device faults under capture, the recording is explained.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
	echo "faultline: the demo loads BPF programs and uses userfaultfd: sudo make demo" >&2
	exit 4
fi
rm -rf demo demo.flt

echo "Recording injectors/jobs/demo.ini on the emulated block device (about 15 s)."
echo "Meanwhile, in another terminal:  sudo ./faultline top"
echo
./faultline record --as-root -o demo.flt -- ./faultline-inject run injectors/jobs/demo.ini
echo
./faultline report demo.flt --csv=demo >/dev/null
./faultline report demo.flt
echo
./faultline timeline demo.flt --slowest 3
dashboards/plot.sh demo demo
# Under sudo the files belong to whoever asked.
[ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" demo demo.flt

cat <<'TEXT'

Left here: demo.flt (the recording), demo/*.csv (its tables), demo/*.png (plots).
Try next:
  ./faultline timeline demo.flt --slowest 20
  ./faultline footprint demo.flt
  ./faultline slo demo.flt -c injectors/jobs/demo.ini
  sudo ./faultline doctor
  sudo ./faultline-inject run injectors/jobs/rtt.ini
  ./faultline-inject help
TEXT
