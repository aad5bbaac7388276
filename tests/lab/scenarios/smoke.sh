# SPDX-License-Identifier: GPL-2.0
# What every kernel has: page faults, and the IOMMU at work behind a real disk driver.
# iommu: intel
# disk: smoke 64M
# devices: -device nvme,drive=smoke,serial=smoke
# modules: nvme
# disabled: iommu_map
# time limit: 60

setup() { load nvme; wait_for 5 test -b /dev/nvme0n1; }

workload() {
	dd if=/dev/nvme0n1 of=/dev/null bs=4k count=97 iflag=direct 2>/dev/null
}

check() { equal "events lost" "$(column loss count what lost)" 0; }

teardown() { unload nvme; }
