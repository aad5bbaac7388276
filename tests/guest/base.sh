#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A Debian 12 with systemd and the libraries of our programs, as an ext4 image that guests boot from and none
# changes. It is made once a month, into $FAULTLINE_GUEST_CACHE (~/.cache/faultline/guest).
#
#   base.sh path      prints the image
#   base.sh silent    succeeds, with what was tried, if the archive that it comes from does not answer
#
# Exits with 75 if the archive cannot be had; the last line that begins with "guest: " says why.
set -euo pipefail
cache=${FAULTLINE_GUEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/faultline/guest}
PATH=$PATH:/usr/sbin:/sbin
packages=systemd,systemd-sysv,udev,procps,kmod,libbpf1,libelf1,libjansson4,libinih1,libxxhash0,libncursesw6,libibverbs1,libmnl0,libnl-route-3-200,libpci3,libprotobuf-c1,libmicrohttpd12,libzstd1,zlib1g

site() {
	apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' |
		awk '$2 == "bookworm" && $3 == "main" { print $1; exit }'
}

# As apt gets through to its archives: proxies, certificates, passwords are apt's.
fetch() { # SYSTEM
	local from
	from=$(site)
	[ -n "$from" ] || { echo "guest: no archive of bookworm among this host's apt sources" >&2 && exit 75; }
	eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
	[ -z "${http_proxy:-}" ] || export http_proxy
	[ -z "${https_proxy:-}" ] || export https_proxy
	debootstrap --variant=minbase --include="$packages" bookworm "$1" "$from" >"$1.log" 2>&1 ||
		{ echo "guest: debootstrap: $(grep -m1 -oE 'Failed [a-z ]+|Couldn.t [a-z ]+' "$1.log" || tail -n 1 "$1.log" | cut -c1-60)" >&2 && exit 75; }
}

path() {
	local image work
	image=$cache/bookworm-$(sha256sum <<<"$packages" | head -c 16).ext4
	mkdir -p "$cache"
	exec {lock}>"$cache/lock"
	flock "$lock"
	if [ -z "$(find "$image" -mtime -30 2>/dev/null)" ]; then
		find "$cache" -mindepth 1 -maxdepth 1 -name 'new.*' -exec rm -rf --one-file-system {} +
		work=$(mktemp -d "$cache/new.XXXXXX")
		# An image that was had before is better than none.
		if ! (fetch "$work/system" {lock}>&-); then
			rm -rf --one-file-system "$work"
			[ -e "$image" ] || exit 75
		else
			rm -rf "$work"/system/var/cache/apt/archives/*.deb "$work"/system/var/lib/apt/lists/*
			mke2fs -q -t ext4 -O ^has_journal -d "$work/system" "$work/image" 1G
			mv "$work/image" "$image"
			rm -rf --one-file-system "$work"
		fi
	fi
	echo "$image"
}

silent() {
	local from
	from=$(site)
	[ -n "$from" ] || { echo "no archive of bookworm among this host's apt sources" && return; }
	if timeout 120 apt-get -qq -o Acquire::Retries=0 -o Dir::State::lists="$(mktemp -d)" -o APT::Update::Error-Mode=any update >/dev/null 2>&1; then
		echo "apt-get update is answered"
		return 1
	fi
	echo "apt-get update is not answered"
}

case ${1:-} in
path | silent) "$1" ;;
*)
	sed -n 's/^# \{0,1\}//; 3,9p' "$0" >&2
	exit 2
	;;
esac
