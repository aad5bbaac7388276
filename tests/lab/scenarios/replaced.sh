# SPDX-License-Identifier: GPL-2.0
# A device is taken out, and another one gets the address in the kernel by which the first was known,
# and its disk the number of the first one's: a recording has both, each under its own name and with its
# own DMA. Without the probe that tells of devices that go they are taken for each other.
# sample: none
# iommu: intel
# disk: one 64M
# disk: two 64M
# devices: -device pcie-root-port,id=first,chassis=1,slot=1 -device pcie-root-port,id=second,chassis=2,slot=2 -device nvme,drive=one,serial=one,bus=first -device nvme,drive=two,serial=two,bus=second
# modules: nvme
# disabled: device_release
# alone: yes

reads=61 turns=3
pci=/sys/bus/pci/devices

# function_of SERIAL: the PCI function of an NVMe controller.
function_of() {
	local serial
	for serial in /sys/class/nvme/nvme*/serial; do
		grep -qx "$1 *" "$serial" && basename "$(readlink -f "${serial%/serial}/device")" && return
	done
	return 1
}
disk_of() { basename "$(ls -d $pci/"$1"/nvme/nvme*/nvme*n1 2>/dev/null | head -n 1)" | grep n1; }

plug() { # FUNCTION BUS
	echo 1 >"$2/rescan"
	wait_for 20 disk_of "$1" || not_ok "$1 is plugged in"
	wait_for 20 test -b "/dev/$(disk_of "$1")"
}
unplug() { # FUNCTION
	[ -e "$pci/$1" ] || return
	echo 1 >"$pci/$1/remove"
	wait_for 20 test ! -e "$pci/$1" || not_ok "$1 is taken out"
}

setup() {
	load nvme
	wait_for 20 function_of one
	wait_for 20 function_of two
	one=$(function_of one) two=$(function_of two)
	one_bus=$(dirname "$(readlink -f $pci/"$one")")/pci_bus/${one%:*}
	two_bus=$(dirname "$(readlink -f $pci/"$two")")/pci_bus/${two%:*}
	echo "$one $two $turns $reads" >"$results/names"
}

prepare() {
	unplug "$one"
	unplug "$two"
}

# used FUNCTION BUS NAME: plugged in, read from, looked for in the recorder's map, taken out.
used() {
	plug "$1" "$2"
	dd if="/dev/$(disk_of "$1")" of=/dev/null bs=4k count=$reads iflag=direct 2>/dev/null || not_ok "$1 is read"
	bpftool map dump name devices >"$results/${without:+without.}$3"
	unplug "$1"
}

workload() {
	local turn
	# A freed address is mostly given out again at once, or in turn with a second one: so they change their order.
	for turn in $(seq $turns); do
		[ $((turn % 2)) -eq 0 ] || used "$one" "$one_bus" "one.$turn"
		used "$two" "$two_bus" "two.$turn"
		[ $((turn % 2)) -eq 1 ] || used "$one" "$one_bus" "one.$turn"
	done
	[ -n "$without" ] || wait_for 20 no_device_known
	bpftool map dump name devices >"$results/${without:+without.}after"
}
no_device_known() { ! bpftool map dump name devices | grep -q '"name"'; }

check() {
	equal "events lost" "$(column loss count what lost)" 0
	between "devices that went" "$(hits device_release)" $((2 * turns)) $((6 * turns))
}

teardown() { unload nvme; }

host() {
	local names what
	read -r -a names <names
	"$FAULTLINE" report run.flt --csv=tables >/dev/null && "$FAULTLINE" report without.flt --csv=without.tables >/dev/null ||
		not_ok "the recordings can be read"
	python3 "$reference/replaced.py" . "" "${names[@]}" >with.out
	cat with.out
	! grep -q '^not ok' with.out && grep -q '^ok - only what is there is known' with.out || failed=1
	python3 "$reference/replaced.py" . without. "${names[@]}" >without.out
	for what in "only what is there is known" "all slots are given back" "so were their disks" "each time with the same DMA"; do
		if grep -q "^not ok - $what" without.out; then
			ok "without the probe it is not so that $what"
		else
			not_ok "without the probe it is not so that $what" "$(tr '\n' '|' <without.out)"
		fi
	done
}
