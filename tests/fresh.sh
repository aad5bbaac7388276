#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# README's commands as a new user has them: in a bookworm that debootstrap made, which has nothing but
# make, git and ca-certificates, a clone of HEAD, `make demo` and `make check`. Needs root.
#
#   FRESH_COMMANDS  what is made there, in this order ("demo check"); `shell` is a prompt
#   FRESH_CACHE     `lab` (default): guest kernels, sources and packages that the lab has fetched are there,
#                   nothing that was built from them, engines and uPlot from npm; `none`: they are fetched again, about 2 GB
#   FRESH_RUN       what is run there instead of `make NAME`, below the clone
#   FRESH_TAKE      a folder of this host that is copied to /root/taken there
#   FRESH_BASE      archive of the base system (~/.cache/faultline/fresh/bookworm.tar); a week old it is made again
#
# It shares the host's kernel, /sys and processes, as counts by process ID must agree with the kernel's.
# Mounts are in a namespace of their own. Whatever ends it, processes and files of it go, too.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
commands=${FRESH_COMMANDS:-demo check}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/faultline
base=${FRESH_BASE:-$cache/fresh/bookworm.tar}
lab=${FAULTLINE_LAB_CACHE:-$cache/lab}
engines=${FAULTLINE_ENGINES_CACHE:-$cache/engines}
uplot=${FAULTLINE_UPLOT_CACHE:-$cache/uplot}
place=${TMPDIR:-/var/tmp}

fail() {
	echo "fresh: $*" >&2
	exit 1
}

# The Debian archives of this host, as "SITE SUITE".
archives() {
	apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Identifier: Packages' |
		awk '$2 ~ /^bookworm(-updates|-security)?$/ && $3 == "main" && $4 == "Debian" { print $1, $2 }' | sort -u
}

# How this host's apt gets through to them: proxies, certificates, passwords.
take_over_apt() {
	local system=$1 file
	archives | sed 's#\(.*\) \(.*\)#deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \1 \2 main#' \
		>"$system/etc/apt/sources.list"
	rm -rf "$system/etc/apt/sources.list.d"/*
	apt-config dump | grep -E '^Acquire::(https?|ftp|Proxy|Retries)' >"$system/etc/apt/apt.conf.d/90host"
	while IFS= read -r file; do
		[ -f "$file" ] && install -D -m 644 "$file" "$system$file"
	done < <(sed -n 's/.* "\(\/.*\)";$/\1/p' "$system/etc/apt/apt.conf.d/90host")
	cp -r /etc/apt/auth.conf* "$system/etc/apt/" 2>/dev/null
	cp -L /etc/resolv.conf /etc/hosts "$system/etc/"
	cp "$HOME/.npmrc" "$system/root/" 2>/dev/null
	cp /usr/local/share/ca-certificates/*.crt "$system/usr/local/share/ca-certificates/" 2>/dev/null
	chroot "$system" update-ca-certificates >/dev/null 2>&1
}

make_base() {
	local system=$1/base site
	[ -n "$(find "$base" -mtime -7 2>/dev/null)" ] && return
	site=$(archives | awk '$2 == "bookworm" { print $1; exit }')
	[ -n "$site" ] || fail "no Debian archive with bookworm among this host's apt sources"
	eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
	[ -z "${http_proxy:-}" ] || export http_proxy
	[ -z "${https_proxy:-}" ] || export https_proxy
	echo "fresh: making the base system (debootstrap)"
	debootstrap --variant=minbase --include=make,git,ca-certificates bookworm "$system" "$site" >"$1/debootstrap.log" 2>&1 ||
		fail "debootstrap: $(tail -n 3 "$1/debootstrap.log" | paste -sd ' ')"
	rm -rf "$system"/var/cache/apt/archives/*.deb
	mkdir -p "$(dirname "$base")"
	tar -C "$system" --one-file-system -cf "$base.tmp" . && mv "$base.tmp" "$base" || fail "cannot write $base"
	rm -rf "$system"
}

# Waits for the end of this script, however it came, ends what runs inside and removes it. The lock is
# this script's alone: its children have no descriptor of it.
janitor() {
	local inside process left
	inside=$(realpath "$1/system" 2>/dev/null || echo "$1/system")
	exec 8<"$1"
	flock 8
	while :; do
		left=
		for process in /proc/[0-9]*; do
			# A process of a mount namespace that is gone from here has its root told as it was mounted.
			[ "$(readlink "$process/root" 2>/dev/null)" = "$inside" ] && left=yes && kill -KILL "${process#/proc/}" 2>/dev/null
		done
		[ -n "$left" ] || break
		sleep 0.2
	done
	rm -rf --one-file-system "$1"
}

# take_lab_cache SYSTEM SCRATCH: what was fetched, without writing to it, under the name that it has here.
take_lab_cache() {
	local part
	mkdir -p "$1$lab"
	for part in trees packages kernels apt; do
		[ -d "$lab/$part" ] || continue
		mkdir -p "$1$lab/$part" "$2/$part" "$2/$part.work"
		mount -t overlay -o "lowerdir=$lab/$part,upperdir=$2/$part,workdir=$2/$part.work" none "$1$lab/$part" 2>/dev/null ||
			cp -a --reflink=auto "$lab/$part" "$1$lab/" || return
	done
	[ ! -d "$uplot" ] || { mkdir -p "$1$uplot" && cp -a --reflink=auto "$uplot/." "$1$uplot/"; }
	[ ! -d "$engines" ] || { mkdir -p "$1$engines" && cp -a --reflink=auto "$engines/." "$1$engines/"; }
}

# In namespaces of its own: everything from the unpacked base to the last command.
inside() {
	local directory=$1 system=$1/system name status worst=0 begin
	mkdir -p "$system" "$directory/cache"
	tar -C "$system" -xpf "$base" || fail "cannot unpack $base"
	mount --make-rprivate /
	mount --bind "$system" "$system"
	take_over_apt "$system"
	mount -t proc proc "$system/proc"
	mount --rbind /sys "$system/sys"
	mount --rbind /dev "$system/dev"
	mount -t tmpfs -o mode=755 tmpfs "$system/run"
	[ "${FRESH_CACHE:-lab}" = none ] || take_lab_cache "$system" "$directory/cache" || fail "cannot take $lab along"
	git clone -q --no-local "$root" "$system/root/faultline" || fail "cannot clone $root"
	[ -z "${FRESH_TAKE:-}" ] || cp -r "$FRESH_TAKE" "$system/root/taken" || fail "cannot copy $FRESH_TAKE"
	mkdir -p "$root/build/fresh"
	for name in $commands; do
		begin=$SECONDS
		local run=(chroot "$system" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
			TERM="${TERM:-dumb}" FAULTLINE_LAB_CACHE="$lab" FAULTLINE_ENGINES_CACHE="$engines" FAULTLINE_UPLOT_CACHE="$uplot" ${http_proxy:+http_proxy="$http_proxy"}
			${https_proxy:+https_proxy="$https_proxy"})
		if [ "$name" = shell ]; then
			"${run[@]}" bash
			continue
		fi
		# shellcheck disable=SC2016
		"${run[@]}" sh -c 'cd /root/faultline && exec "$@"' sh ${FRESH_RUN:-make "$name"} 2>&1 </dev/null |
			tee "$root/build/fresh/$name.log"
		status=${PIPESTATUS[0]}
		echo "fresh: $name: exit $status after $((SECONDS - begin)) s"
		[ "$status" -eq 0 ] || worst=1
	done
	rm -rf "$root/build/fresh/check"
	cp -r "$system/root/faultline/build/check" "$root/build/fresh/check" 2>/dev/null
	return $worst
}

case ${1:-} in
--inside) inside "$2"; exit ;;
--janitor) janitor "$2"; exit ;;
esac
[ "$(id -u)" -eq 0 ] || fail "run as root: debootstrap and mounts need it"
[ -z "$(git -C "$root" status --porcelain --untracked-files=no)" ] || echo "fresh: what is not committed is left out"
directory=$(mktemp -d "$place/faultline-fresh.XXXXXX")
chmod 755 "$directory"
exec {lock}<"$directory"
flock "$lock"
(
	exec {lock}<&-
	setsid "$0" --janitor "$directory" >/dev/null 2>&1 </dev/null &
)
(make_base "$directory") {lock}<&- || exit 1
unshare --mount --fork --kill-child=KILL "$0" --inside "$directory" {lock}<&-
