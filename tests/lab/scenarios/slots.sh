# SPDX-License-Identifier: GPL-2.0
# A process that opens and closes more containers of VFIO in its life than one may have at once: each is seen,
# and nothing that was taken for it stays taken. A domain that is freed is no longer taken for the next one at its address.
# sample: none
# iommu: intel
# disk: vfio 64M
# devices: -device edu
# modules: vfio-pci vfio_iommu_type1
# files: build/tests/lab/programs/containers
# disabled: iommu_domain_free
# alone: yes

turns=2153 # of 2048
edu=$(cd /sys/bus/pci/devices && grep -l 0x11e8 */device | head -n 1 | cut -d/ -f1)
record_options="--kind vfio_map,vfio_unmap,iommu_attach,device_new"

setup() {
	load vfio_iommu_type1
	load vfio-pci
	echo vfio-pci >"/sys/bus/pci/devices/$edu/driver_override"
	echo "$edu" >/sys/bus/pci/drivers_probe
	group=$(basename "$(readlink "/sys/bus/pci/devices/$edu/iommu_group")")
	wait_for 10 test -e "/dev/vfio/$group" || not_ok "vfio-pci has the device"
}

workload() {
	local before domains
	before=$(counted domains)
	containers "$group" $turns &
	user=$!
	wait_for 60 stopped $user || not_ok "containers are opened and closed"
	equal "while it lives: containers kept" "$(kept containers '"key"')" 0
	equal "devices of its kept" "$(kept devices '"type1"')" 0
	equal "its share" "$(kept owners '"devices":0')" 1
	check_that "as many numbers of devices were given out as were entered ($(counted devices))" \
		test "$(counted devices)" -ge $turns -a "$(counted devices)" -lt $((turns + 99))
	domains=$(($(counted domains) - before))
	if [ -z "$without" ]; then
		check_that "each domain was another ($domains)" test $domains -ge $turns
		check_that "and none of them is kept ($(kept domains '"number"'))" test "$(kept domains '"number"')" -lt 9
	else
		check_that "they were taken for each other ($domains)" test $domains -lt $turns
	fi
	kill -CONT $user
	wait $user
}

# of_containers: how many there are, and maps of all.
of_containers() { rows vfio container maps | awk -F '\t' '$1 ~ /^vfio/ { n++; maps += $2 } END { print n + 0, maps + 0 }'; }

check() {
	equal "events lost" "$(column loss count what lost)" 0
	equal "nothing found no room" "$(column loss count what state_failed)" 0
	equal "containers, and maps in them" "$(of_containers)" "$turns $turns"
}

check_without() { equal "containers, and maps in them" "$(of_containers)" "$turns $turns"; }

teardown() {
	echo "$edu" >"/sys/bus/pci/devices/$edu/driver/unbind"
	echo >"/sys/bus/pci/devices/$edu/driver_override"
	unload vfio-pci vfio_pci_core vfio_iommu_type1 vfio
}
