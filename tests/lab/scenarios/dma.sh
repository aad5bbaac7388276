# SPDX-License-Identifier: GPL-2.0
# The DMA of real drivers behind VT-d, from their loading to their unloading, against the kernel's
# tracing of its own - tracepoints of the DMA API where there are some, else kprobes on its functions.
#
# sample: new
# iommu: intel
# disk: dma 64M
# disk: virtio 64M
# devices: -device nvme,drive=dma,serial=dma -device virtio-blk-pci,drive=virtio,iommu_platform=on,disable-legacy=on
# modules: nvme virtio_pci virtio_blk
# disabled: dma_alloc

reads=37
tracing=/sys/kernel/tracing
pairs="dma_map:dma_map_page_attrs dma_unmap:dma_unmap_page_attrs dma_map_sg:__dma_map_sg_attrs
	dma_unmap_sg:dma_unmap_sg_attrs dma_alloc:dma_alloc_attrs dma_free:dma_free_attrs"

# The kernel's own event for each of our probes: "PROBE EVENT".
own_events() {
	local pair map=dma_map_page
	if [ -d $tracing/events/dma ]; then
		[ -d $tracing/events/dma/dma_map_phys ] && map=dma_map_phys
		echo "dma_map $map"
		echo "dma_unmap ${map/map/unmap}"
		printf '%s %s\n' dma_map_sg dma_map_sg dma_unmap_sg dma_unmap_sg dma_alloc dma_alloc dma_free dma_free
		[ "$kernel" = new ] && printf '%s %s\n' dma_iova_link own_link dma_iova_destroy own_destroy
	else
		for pair in $pairs; do echo "${pair%:*} own_${pair%:*}"; done
	fi
	return 0
}

setup() {
	local pair
	echo 8192 >$tracing/buffer_size_kb
	if [ -d $tracing/events/dma ]; then
		for pair in dma_map_page dma_unmap_page dma_map_phys dma_unmap_phys dma_map_sg dma_unmap_sg dma_alloc dma_free; do
			[ -d $tracing/events/dma/$pair ] && echo 1 >$tracing/events/dma/$pair/enable
		done
		if [ "$kernel" = new ]; then
			echo "p:own/own_link dma_iova_link" >>$tracing/kprobe_events
			echo "p:own/own_destroy dma_iova_destroy" >>$tracing/kprobe_events
		fi
	else
		for pair in $pairs; do
			echo "p:own/own_${pair%:*} ${pair#*:} memory=%dx:u64" >>$tracing/kprobe_events
		done
	fi
	# Freeing nothing is no event of ours.
	for pair in dma/dma_free/filter:virt_addr own/own_dma_free/filter:memory; do
		[ -e "$tracing/events/${pair%:*}" ] && echo "${pair#*:} != 0" >"$tracing/events/${pair%:*}"
	done
	[ -d $tracing/events/own ] && echo 1 >$tracing/events/own/enable
	events=$(own_events)
	remember events
}

workload() {
	: >$tracing/trace
	load nvme
	wait_for 10 test -b /dev/nvme0n1
	load virtio_pci
	load virtio_blk
	wait_for 10 test -b /dev/vda
	for disk in nvme0n1 vda; do
		dd if=/dev/$disk of=/dev/null bs=64k count=$reads iflag=direct 2>/dev/null
		dd if=/dev/zero of=/dev/$disk bs=4k count=$((reads - 8)) oflag=direct 2>/dev/null
		# Its memory is never in one piece: the newest kernel maps it by ranges of addresses.
		dd if=/dev/$disk of=/dev/null bs=16M count=1 iflag=direct 2>/dev/null
	done
	unload nvme virtio_blk
	cp $tracing/trace trace
	keep trace
}

check() {
	local probe event
	equal "events lost" "$(column loss count what lost)" 0
	equal "the kernel's tracing lost nothing" "$(grep -c 'LOST' trace)" 0
	while read -r probe event; do
		equal "$probe, as traced by the kernel" "$(hits "$probe")" "$(traced "$event")"
	done <<<"$events"
	between "maps for all reads and writes" \
		"$(($(hits dma_map) + $(hits dma_map_sg) + $(hits dma_iova_link | sed 's/^$/0/')))" $((4 * reads - 16)) 10000
	[ "$kernel" != new ] || check_that "ranges were taken" test "$(hits dma_iova_destroy)" -gt 0
	equal "nothing found no room" "$(rows dma refused | sum)" 0
	equal "no mapping is unknown" "$(rows dma unknown | sum)" 0
	equal "no live mapping of the disk is left" "$(rows dma driver live | awk '$1 == "nvme" { s += $2 } END { print s + 0 }')" 0
	equal "no live bytes of the disk are left" \
		"$(rows dma driver live_size_bytes | awk '$1 == "nvme" { s += $2 } END { print s + 0 }')" 0
	check_that "IOMMU mappings have their device" \
		grep -q '^"\?IOMMU map"\?,0000:' tables/counts.csv
	check_that "flushes took time" awk -F , '/IOMMU flush/ { n++ } END { exit !n }' tables/counts.csv
}

check_without() {
	equal "without dma_alloc: frees of unknown memory" \
		"$(rows dma unknown | sum)" "$(traced "$(awk '$1 == "dma_free" { print $2 }' <<<"$events")")"
}

teardown() {
	[ -d $tracing/events/own ] && echo 0 >$tracing/events/own/enable
	echo 0 >$tracing/events/enable
	: >$tracing/kprobe_events
}

host() {
	top_is_report dma dma
}
