# SPDX-License-Identifier: GPL-2.0
# The kernel side's tables of domains and of PCI functions are full when a device comes and changes its domain: each that
# finds no room is counted and said, the recorder ends with 5, and no event vanishes. As many as there is room for are
# entered from outside, in the way the programs do it.
# sample: none
# iommu: intel
# devices: -device edu
# modules: vfio-pci vfio_iommu_type1
# files: build/tests/lab/programs/containers

turns=37
edu=$(cd /sys/bus/pci/devices && grep -l 0x11e8 */device | head -n 1 | cut -d/ -f1)

# of_map NAME KEY: a number of the recorder's map.
of_map() { bpftool -j map show name "$1" | grep -o "\"$2\":[0-9]*" | head -n 1 | cut -d: -f2; }
# fill NAME: with keys that no kernel has; how many there are then.
fill() {
	local id most rest value i
	id=$(of_map "$1" id) most=$(of_map "$1" max_entries)
	rest=$(printf ' 255%.0s' $(seq 3 "$(of_map "$1" bytes_key)")) value=$(printf ' 0%.0s' $(seq "$(of_map "$1" bytes_value)"))
	for ((i = 0; i <= most; i++)); do
		echo "map update id $id key $((i & 255)) $((i >> 8))$rest value$value"
	done >/tmp/batch
	bpftool batch file /tmp/batch >/tmp/batch.out 2>&1
	check_that "$1: is full" grep -q 'Argument list too long' /tmp/batch.out
}
# turn_over COUNT: containers, and how often something was turned away until the last of them had gone, in $failures.
turn_over() {
	containers "$group" "$1" &
	user=$!
	wait_for 60 stopped $user || not_ok "containers are opened and closed"
	failures=$(counted state_failed)
	kill -CONT $user
	wait $user
}

guest() {
	local group failures first
	mkdir -p "$results"
	load vfio_iommu_type1
	load vfio-pci
	faultline record --kind vfio_map,vfio_unmap,iommu_attach,device_new -o "$results/run.flt" 2>record.err &
	record_pid=$!
	wait_for 60 says record.err recording || not_ok "recording begins" "$(cat record.err)"
	fill pci_functions
	equal "nothing was turned away before" "$(counted state_failed)" 0
	echo vfio-pci >"/sys/bus/pci/devices/$edu/driver_override"
	echo "$edu" >/sys/bus/pci/drivers_probe
	group=$(basename "$(readlink "/sys/bus/pci/devices/$edu/iommu_group")")
	wait_for 10 test -e "/dev/vfio/$group" || not_ok "vfio-pci has the device"
	turn_over 1
	first=$failures
	check_that "the function was counted ($first)" test "$first" -ge 1
	fill domains
	turn_over $turns
	check_that "each domain was counted ($failures)" test "$failures" -ge $((first + turns))
	kill -INT $record_pid
	wait $record_pid
	equal "the recorder ends with" $? 5
	counted=$(sed -nE 's/.* lost: numbers are floors \((.*)\).*/\1/p' record.err)
	equal "and says why" "$counted" "the kernel's maps had no room"
	echo "$failures" >"$results/turned-away"
	echo "$edu" >/sys/bus/pci/devices/$edu/driver/unbind
	echo >/sys/bus/pci/devices/$edu/driver_override
	unload vfio-pci vfio_pci_core vfio_iommu_type1 vfio
}

host() {
	local said
	"$FAULTLINE" report run.flt --csv=tables --raw-time >/dev/null 2>&1
	equal "the report ends with" $? 5
	said=$(awk -F, '$1 == "state_failed" { print $2 }' tables/loss.csv)
	check_that "the account has them ($said)" test "$said" -ge "$(cat turned-away)"
	"$FAULTLINE" report run.flt >text 2>&1
	check_that "the report says so" bash -c "tr -s '\n ' ' ' <text | grep -q ', $said entries that found no room in the kernel.s maps'"
	equal "events lost" "$(awk -F, '$1 == "lost" { print $2 }' tables/loss.csv)" 0
	equal "containers, and maps in them" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["container"] ~ /^vfio/ { n++; maps += $at["maps"] } END { print n + 0, maps + 0 }' tables/vfio.csv)" "$((turns + 1)) $((turns + 1))"
}
