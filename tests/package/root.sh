#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In a clean root (tests/fresh.sh) with packages of two versions in /root/taken/1 and /root/taken/2: installed, used,
# upgraded, removed, purged; then every file is what it was before. For tests/package/full.sh.
set -uo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
taken=${1:-/root/taken}
failed=0

ok() { echo "ok - $1"; }
not_ok() {
	failed=1
	echo "not ok - $1"
	shift
	[ $# -eq 0 ] || printf '    %s\n' "$@"
}
check() {
	local name=$1
	shift
	if "$@" >/tmp/said 2>&1; then ok "$name"; else not_ok "$name" "$(tail -n 3 /tmp/said)"; fi
}

# Every file with its mode, owner and content, every folder; of what packages always change only what they have to say:
# apt's and dpkg's own lists, logs and caches, and the copies that passwd keeps of its files are left out.
files() {
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /root -o -path /var/lib/dpkg \
		-o -path /var/lib/apt -o -path /var/cache -o -path /var/log -o -name '*-' -path '/etc/*' \) -prune -o \
		\( -type f -printf '%p %m %U %G ' -exec sh -c 'sha256sum <"$1"' sh {} \; -o -printf '%p %m %U %G %l\n' \) | sort
	# Nobody's configuration, database or alternative is left with dpkg.
	dpkg-query -W -f '${Package} ${db:Status-Status}\n' | sort
	find /var/lib/dpkg/info /var/lib/systemd -name '*faultline*' 2>/dev/null
}
debs() { ls "$taken/$1"/*.deb | grep -v dbgsym; }
version() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null; }

apt-get update -qq >/dev/null 2>&1
# What they depend on, and what a host with man pages, shells and systemd has, comes first.
# shellcheck disable=SC2046
needed=$(for deb in $(debs 1); do dpkg-deb -f "$deb" Depends; done | tr ',' '\n' | sed 's/(.*)//; s/|.*//; s/^ *//; s/ *$//' |
	grep -v '^faultline' | sort -u)
# shellcheck disable=SC2086
check "what they depend on is in Debian 12" apt-get install -y -qq --no-install-recommends $needed man-db bash-completion systemd
ldconfig
files >/root/before

# shellcheck disable=SC2046
check "installed" dpkg -i $(debs 1)
check "nothing is missing" apt-get check
check "the observer runs" sh -c 'faultline --version && faultline-inject list'
check "a model's job is found" faultline sim --preset base --tenants 2
check "doctor says what this host shows" faultline doctor
check "a page is there" man -w faultline-record
check "so is the service" test -e /lib/systemd/system/faultline-recorder.service
check "its program is where it says" sh -c 'test -x "$(sed -n "s/^ExecStart=\([^ ]*\).*/\1/p" /lib/systemd/system/faultline-recorder.service)"'
check "it is not enabled" sh -c '! find /etc/systemd -name "faultline*" | grep .'
check "its user is there" getent passwd _faultline
check "completion is where bash looks" sh -c 'bash -ic ". /usr/share/bash-completion/bash_completion; _completion_loader faultline; complete -p faultline"'
check "no file is in two packages" sh -c '! dpkg -L faultline faultline-inject faultline-dashboards | while read -r f; do [ -d "$f" ] || echo "$f"; done | sort | uniq -d | grep .'

# As a recorder leaves it.
mkdir -p /var/lib/faultline && echo x >/var/lib/faultline/always.flt && chown -R _faultline /var/lib/faultline
# shellcheck disable=SC2046
check "upgraded" dpkg -i $(debs 2)
check "the version is the next" test "$(version faultline) $(version faultline-inject)" = "0.1.0+next 0.1.0+next"
check "recordings survive the upgrade" test -e /var/lib/faultline/always.flt
check "removed" apt-get remove -y -qq faultline faultline-inject faultline-dashboards
check "recordings survive the removal" test -e /var/lib/faultline/always.flt
check "purged" apt-get purge -y -qq faultline faultline-inject faultline-dashboards
files >/root/after
check "nothing remains, and nothing else was touched" diff /root/before /root/after
[ $failed -eq 0 ]
