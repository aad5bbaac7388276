# SPDX-License-Identifier: GPL-2.0
# A kernel that is locked down step by step: doctor says how far, also where securityfs is not mounted, and
# what that takes away; a recording has what is left. Nothing lifts a lockdown, so the guest is its own.
#
# kernels: 6.12
# alone: yes

says() { grep -q "^lockdown,$1" host/host.csv; }
unmounted() { [ ! -e /sys/kernel/security/lockdown ]; }
mounted() { unmounted && mount -t securityfs none /sys/kernel/security; }

guest() {
	mounted
	umount /sys/kernel/security
	# Without the rights that would show it, nothing is made of a refusal.
	unshare -U -r faultline doctor --csv=host 2>/dev/null
	check_that "who cannot know does not say" says "missing,cannot be told"
	faultline doctor --csv=host --force 2>/dev/null
	check_that "that none is seen is told" says "ok,none"
	mounted
	echo integrity >/sys/kernel/security/lockdown
	faultline doctor --csv=host --force 2>/dev/null
	check_that "integrity is told" says "ok,integrity: BPF may read"
	umount /sys/kernel/security
	check_that "securityfs is not mounted" unmounted
	faultline doctor --csv=host --force 2>/dev/null
	check_that "and it is told without" says "ok,integrity: BPF may read"
	faultline record -o integrity.flt -- true 2>record.err
	equal "a recording has all that doctor said" $? 0

	mounted
	echo confidentiality >/sys/kernel/security/lockdown
	umount /sys/kernel/security
	faultline doctor --csv=host --force 2>/dev/null
	check_that "confidentiality is told without securityfs" says "missing,confidentiality: BPF may not read"
	faultline doctor >doctor.out 2>&1
	tr -s ' \n' ' ' <doctor.out >doctor.line
	check_that "and that emulated machines cannot be seen for it" grep -q \
		'emulated machines not shown the kernel is locked down: BPF may not read its memory. To change that: see lockdown, below' doctor.line
	check_that "which is below" grep -q '^with lockdown=integrity or none' doctor.out
	check_that "CPU page faults are seen all the same" grep -q '^CPU page faults *shown' doctor.out
	sed 's/^/    | /' doctor.out
	faultline record -o confidential.flt -- true 2>record.err
	equal "and recorded" $? 0
	check_that "the recorder names the reason" grep -q 'the kernel is locked down: BPF may not read its memory' record.err
	sed 's/^/    | /' record.err
}
