# SPDX-License-Identifier: GPL-2.0
# kernels: 6.1
# What it starts outlives it, and holds programs: they are gone before the next one begins.
guest() {
	setsid faultline record -o /tmp/left.flt 2>/tmp/left.err &
	check_that "recording begins" wait_for 30 grep -q recording /tmp/left.err
}
