# SPDX-License-Identifier: GPL-2.0
# kernels: 6.1
guest() {
	local number=08
	ok "begins"
	number=$((number + 1)) # no octal number: bash leaves all functions
	ok "never comes"
}

host() {
	local number=09
	number=$((number + 1))
}
