#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The main job, shown: an emulated block device faults under capture, its objective breaks, and the recording tells
# why. `demo.sh [DIRECTORY]` leaves its files there (in the root of the sources).
set -euo pipefail
cd "$(dirname "$0")/.."

place=${1:-.}
job=injectors/jobs/demo.ini
faultline=${FAULTLINE:-./faultline}
inject=${INJECT:-./faultline-inject}
recording=$place/demo.flt
if [ "$(id -u)" -ne 0 ]; then
	echo "faultline: the demo loads BPF programs and uses userfaultfd: sudo make demo" >&2
	exit 4
fi
# What an earlier one has left; nothing else that may lie there.
rm -f "$place"/demo/*.{csv,png,html,pftrace} "$recording"

chapter() { printf '\n== %s\n\n' "$*"; }

# worst: of the violations in CSV that whose faults took longest in one stage: its device, its longest fault's begin
# and number, its window's begin and end.
worst() {
	python3 -c '
import csv, sys
from datetime import datetime, timedelta
rows = [row for row in csv.DictReader(sys.stdin) if row["fault"]]
row = max(rows, key=lambda row: int(row["stage_time_ns"] or 0), default=None)
if row:
    second = datetime.strptime(row["window"][:26], "%Y-%m-%dT%H:%M:%S.%f")
    end = second + timedelta(microseconds=int(row["window_length_ns"]) // 1000)
    print(row["device"], row["fault"], row["window"], end.isoformat() + "Z")
'
}

echo "Recording $job on the emulated block device (about 15 s)."
echo "Meanwhile, in another terminal:  sudo ./faultline top"
echo
"$faultline" record --as-root -o "$recording" -- "$inject" run "$job"

chapter "What happened"
"$faultline" report "$recording" --csv="$place/demo" >/dev/null
"$faultline" report "$recording"
dashboards/plot.sh "$place/demo" "$place/demo"

chapter "The objective that broke: 99.7% of a second's I/Os within 20 ms"
status=0
"$faultline" slo "$recording" -c "$job" || status=$?
[ "$status" -eq 6 ] || { echo "faultline: the demo's objective did not break (slo: $status)" >&2; exit 1; }
"$faultline" slo "$recording" -c "$job" --csv=- --table violations >"$place/demo/violations.csv" 2>/dev/null || true
read -r device fault since until < <(worst <"$place/demo/violations.csv") ||
	{ echo "faultline: no fault explains the demo's violations" >&2; exit 1; }

chapter "The faults that broke it, in the worst second"
"$faultline" timeline "$recording" --since "$since" --until "$until" --slowest 2

chapter "The longest of them, explained"
"$faultline" explain "$recording" "$device@$fault" -c "$job"

chapter "For others' eyes"
"$faultline" export "$recording" --html "$place/demo/demo.html" -c "$job"
"$faultline" export "$recording" --perfetto "$place/demo/demo.pftrace" -c "$job"
# Under sudo the files belong to whoever asked.
[ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$place/demo" "$recording"

echo "Left in $place:"
cat <<'TEXT'
  demo.flt            the recording
  demo/demo.html      a page for a ticket, for any browser; it needs no network
  demo/demo.pftrace   the trace, for Perfetto's viewer
  demo/*.csv, *.png   its tables, plots
Try next:
  ./faultline timeline demo.flt --slowest 20
  ./faultline footprint demo.flt
  ./faultline diff demo.flt OTHER.flt     # another run of it
  sudo ./faultline doctor
  sudo ./faultline-inject run injectors/jobs/rtt.ini
  ./faultline-inject help
TEXT
