# SPDX-License-Identifier: GPL-2.0
# The live view's tables while drivers map, pin, are refused and fault: what three of them showed last
# is what replays of their own recordings end with, number by number, and what the drivers counted.
# sample: 6.12
# iommu: intel
# disk: vfio 64M
# devices: -device edu -device nvme,drive=vfio,serial=vfio
# modules: nvme vfio-pci vfio_iommu_type1

edu=$(cd /sys/bus/pci/devices && grep -l 0x11e8 */device | head -n 1 | cut -d/ -f1)
nvme=$(cd /sys/bus/pci/devices && grep -l 0x010802 */class | head -n 1 | cut -d/ -f1)
shown="vfio iommu dma"

grown() { [ "$(wc -l <"$results/$1.live.csv")" -ge $(($2 + 2)) ]; }
begun() { [ "$(wc -l <"$results/$1.live.csv")" -gt 1 ]; }

# drive ACTION DEVICE [OPTION...]: one run of the driver, its counters in truth.csv.
drive() {
	rm -f truth.csv
	faultline-inject vfio "$1" -d "$2" --yes-i-mean-it "$2" --csv=truth.csv "${@:3}" 2>driver.err ||
		not_ok "driver $1" "exit $?: $(tail -n 2 driver.err)"
}
truth() { cell_of "$1" truth.csv; }

guest() {
	local view tops=() maps refused faulting lines
	load vfio_iommu_type1 dma_entry_limit=23
	load vfio-pci
	mkdir -p "$results"
	for view in $shown; do
		faultline top -b --view "$view" --since-start --csv -o "$results/$view.flt" 1 \
			>"$results/$view.live.csv" 2>"$view.err" &
		tops+=($!)
	done
	for view in $shown; do
		wait_for 60 begun "$view" || not_ok "view $view begins" "$(tail -n 2 "$view.err")"
	done
	load nvme
	wait_for 10 test -b /dev/nvme0n1
	dd if=/dev/nvme0n1 of=/dev/null bs=4K count=37 iflag=direct 2>/dev/null
	unload nvme
	drive churn "$nvme" --count 53
	maps=$(truth maps)
	drive limit "$nvme" --size 64K
	maps="$maps $(truth maps)" refused=$(truth maps_failed)
	drive fault "$edu" --count 1
	faulting=$(truth faulting)
	# All that the drivers caused is in closed seconds; what comes after is shown at the end.
	for view in $shown; do
		lines=$(wc -l <"$results/$view.live.csv")
		wait_for 60 grown "$view" "$lines" || not_ok "view $view goes on"
	done
	kill -INT "${tops[@]}"
	for view in "${tops[@]}"; do
		wait "$view"
		equal "top ends well" $? 0
	done
	echo "$maps" >"$results/maps"
	echo "$refused" >"$results/refused"
	echo "$faulting" >"$results/faulting"
	unload vfio-pci vfio_pci_core vfio_iommu_type1 vfio
}

# field CSV COLUMN: of the last interval, a line a row.
field() {
	python3 - "$1" "$2" <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
for row in rows:
    if row["time"] == rows[-1]["time"]:
        print(row[sys.argv[2]])
PY
}

host() {
	local view said
	for view in vfio iommu dma; do
		"$FAULTLINE" top -i "$view.flt" --view "$view" --since-start --csv >"$view.replay.csv"
		equal "view $view: its replay ends well" $? 0
		# The mean rate of a report is over its length, which goes on after the last interval.
		if said=$(python3 "$reference/compare_top.py" "$view.live.csv" "$view.replay.csv" \
			rate_per_s maps_rate_per_s unmaps_rate_per_s allocs_rate_per_s faults_rate_per_s \
			self_cpu_percent self_memory_bytes 2>&1); then
			ok "view $view: live numbers are those of its recording ($said)"
		else
			not_ok "view $view: live numbers are those of its recording" "$said"
		fi
	done
	for maps in $(cat maps); do
		equal "vfio: a container with the driver's maps" "$(field vfio.live.csv maps | grep -cx "$maps")" 1
	done
	equal "vfio: refusals are the driver's" \
		"$(field vfio.live.csv failed | awk '{ sum += $1 } END { print sum }')" "$(cat refused)"
	equal "dma: all that the disk's driver mapped is unmapped" "$(field dma.live.csv maps)" "$(field dma.live.csv unmaps)"
	equal "iommu: faults are the driver's" \
		"$(field iommu.live.csv faults | awk '{ sum += $1 } END { print sum }')" "$(cat faulting)"
}
