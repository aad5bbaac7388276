# SPDX-License-Identifier: GPL-2.0
# kernels: 6.1
guest() {
	ok "begins"
	echo "WARNING: CPU: 0 PID: 4711 at self/test.c:1 self_test+0x1/0x2" >/dev/kmsg
}
