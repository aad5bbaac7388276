# SPDX-License-Identifier: GPL-2.0
# kernels: 6.1
guest() {
	ok "begins"
	sync
	echo c >/proc/sysrq-trigger
}
