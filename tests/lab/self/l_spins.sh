# SPDX-License-Identifier: GPL-2.0
# kernels: 6.1
# alone: yes
# cpu limit: 5
guest() {
	ok "begins"
	while :; do :; done
}
