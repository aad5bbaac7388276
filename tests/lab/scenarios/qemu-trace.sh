#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What QEMU's VT-d tells of a disk's translations, as input of accesses and sim: every line counts, once,
# as grep and awk count them. It is about QEMU, so that one kernel will do.
# kernels: 6.12
# iommu: intel
# alone: yes
# disk: traced 64M
# devices: -device nvme,drive=traced,serial=traced -msg timestamp=on -trace vtd_iotlb_page_hit -trace vtd_iotlb_page_update
# modules: nvme

reads=101 writes=211

guest() {
	load nvme
	wait_for 10 test -b /dev/nvme0n1
	check_that "the disk reads" dd if=/dev/nvme0n1 of=/dev/null bs=64k count=$reads iflag=direct
	check_that "and writes" dd if=/dev/zero of=/dev/nvme0n1 bs=4k count=$writes oflag=direct
	unload nvme
}

host() {
	local log=../qemu.log lines pages name
	lines=$(grep -cE '^[0-9]+@[0-9]+\.[0-9]{6}:vtd_iotlb_page_(hit|update) IOTLB page ' $log)
	equal "QEMU says nothing else, each line with its time" "$(wc -l <$log)" "$lines"
	for name in hit update; do
		[ "$(grep -c "vtd_iotlb_page_$name" $log)" -gt 0 ] || not_ok "there are lines of vtd_iotlb_page_$name"
	done
	# The disk's data in pages of 4K; its queues come on top.
	[ "$lines" -ge $((reads * 16 + writes)) ] || not_ok "every page of every request is there" "$lines lines"
	pages=$(sed -E 's/.* iova 0x([0-9a-f]*)[0-9a-f]{3} .*/\1/' $log | sort -u | wc -l)
	"$FAULTLINE" accesses --trace $log --set trace.as_recorded=yes --set trace.requests=1 --csv=accesses ||
		not_ok "accesses reads them" "exit $?"
	equal "every line is an access" "$(cell_of accesses accesses/tenants.csv)" "$lines"
	equal "to as many pages" "$(cell_of pages accesses/tenants.csv)" "$pages"
	equal "of one tenant" "$(($(wc -l <accesses/tenants.csv) - 1))" 1
	"$FAULTLINE" sim --trace $log --tenants 5 --set trace.packets=0 --table results --csv=- >results.csv ||
		not_ok "sim reads them" "exit $?"
	equal "five tenants who share it take whole packets of three from it" \
		"$(cell_of packets results.csv)" "$((lines / 3 * 5))"
}
