# SPDX-License-Identifier: GPL-2.0
# What a guest's stock driver charges (docs/smartio-lending.md, "Guests"), through a real DMA API and VT-d instead of the emulated ones: each
# byte that its device may reach is mapped in the IOMMU, page-rounded, none is left once the driver is gone, and nothing
# faults. No emulation has an NTB, so that windows are not part of it.
#
# kernels: 6.1
# sample: 6.1
# iommu: intel
# disk: guest 16M
# devices: -device nvme,drive=guest,serial=guest
# modules: nvme
# disabled: dma_alloc

reads=37
record_options="--kind dma_map --kind dma_unmap --kind dma_alloc --kind dma_free --kind iommu_map --kind iommu_unmap --kind iommu_fault"

workload() {
	load nvme
	wait_for 10 test -b /dev/nvme0n1
	dd if=/dev/nvme0n1 of=/dev/null bs=4k count=$reads iflag=direct 2>/dev/null
	dd if=/dev/zero of=/dev/nvme0n1 bs=64k count=$((reads - 8)) oflag=direct 2>/dev/null
	unload nvme
}

# charged RECORDING: bytes that DMA maps and allocations name, page-rounded, those that the IOMMU mapped, what is left of both, faults.
charged() {
	PYTHONPATH=$reference python3 - "$1" "$(kind_number DMA_MAP)" "$(kind_number DMA_UNMAP)" "$(kind_number DMA_ALLOC)" \
		"$(kind_number DMA_FREE)" "$(kind_number IOMMU_MAP)" "$(kind_number IOMMU_UNMAP)" "$(kind_number IOMMU_FAULT)" <<-'PY'
		import sys
		import flt_read
		map_, unmap, alloc, free, iommu_map, iommu_unmap, fault = map(int, sys.argv[2:])
		sums, counts = {}, {}
		for name, fields in flt_read.read(sys.argv[1]):
		    if name != "event":
		        continue
		    address, length, kind = fields[1], fields[2], fields[10]
		    pages = (address % 4096 + length + 4095) // 4096 * 4096
		    sums[kind] = sums.get(kind, 0) + pages
		    counts[kind] = counts.get(kind, 0) + 1
		of = lambda kind: sums.get(kind, 0)
		print(of(map_) + of(alloc), of(iommu_map), of(unmap) + of(free), of(iommu_unmap), counts.get(fault, 0),
		      counts.get(map_, 0))
	PY
}

host() {
	local dma iommu undone unmapped faults maps
	read -r dma iommu undone unmapped faults maps < <(charged run.flt)
	between "maps of all reads and writes" "$maps" $((2 * reads - 8)) 10000
	equal "bytes that the IOMMU mapped are those of the DMA API, page-rounded" "$iommu" "$dma"
	equal "the driver has unmapped all that it mapped" "$undone" "$dma"
	equal "so has the IOMMU" "$unmapped" "$iommu"
	equal "no fault" "$faults" 0
	read -r dma iommu undone unmapped faults maps < <(charged without.flt)
	check_that "without dma_alloc the IOMMU has more than is told" test "$iommu" -gt "$dma"
}
