# SPDX-License-Identifier: GPL-2.0
# kernels: 6.1
# quiet limit: 4
guest() {
	ok "begins"
	# Deaf to everything but SIGKILL, and so is its child.
	trap '' TERM INT HUP
	sh -c 'trap "" TERM INT HUP; while :; do sleep 1000; done' &
	wait
}
