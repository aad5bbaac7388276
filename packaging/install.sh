#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# install.sh install DESTDIR PREFIX PROGRAMS MADE [0] | uninstall DESTDIR PREFIX
#
# Installs what is built, and takes away exactly that: what was copied, and the directories that had to be made for
# it, are in PREFIX/share/faultline/installed, without DESTDIR (not with a 0 behind). What an older version had and this one has not
# goes when this one comes.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022

fail() {
	echo "faultline: $*" >&2
	exit 1
}

what=${1:-} destination=${2%/} prefix=${3%/} programs=${4-} made=${5-} with_manifest=${6:-1}
case $prefix in /*) ;; *) fail "PREFIX=$prefix: accepted: an absolute path, such as /usr/local" ;; esac
base=$destination$prefix
manifest=$base/share/faultline/installed

# Of MODE SOURCE TARGET (below PREFIX), a line each, tabs between.
wanted() {
	local file mode
	printf '755\t%s\tbin/%s\n' "$programs/faultline" faultline "$programs/faultline-inject" faultline-inject
	printf '644\t%s\tlib/faultline/%s\n' "$programs/libfaultline-verbs.so" libfaultline-verbs.so \
		"$programs/libfaultline-vm.so" libfaultline-vm.so
	for file in "$made"/man/*.1; do printf '644\t%s\tshare/man/man1/%s\n' "$file" "${file##*/}"; done
	for file in "$made"/completion/bash/*; do
		printf '644\t%s\tshare/bash-completion/completions/%s\n' "$file" "${file##*/}"
	done
	for file in "$made"/completion/zsh/*; do printf '644\t%s\tshare/zsh/site-functions/%s\n' "$file" "${file##*/}"; done
	for file in injectors/jobs/*.ini; do printf '644\t%s\tshare/faultline/jobs/%s\n' "$file" "${file##*/}"; done
	for file in tools/jobs/*.ini; do printf '644\t%s\tshare/faultline/sim/%s\n' "$file" "${file##*/}"; done
	printf '644\t%s\t%s\n' packaging/faultline-recorder.service lib/systemd/system/faultline-recorder.service \
		packaging/faultline.sysusers lib/sysusers.d/faultline.conf \
		packaging/faultline-recorder.service.d/full.conf share/faultline/faultline-recorder.service.d/full.conf
	find dashboards -type f ! -name '*.pyc' ! -name demo.sh | LC_ALL=C sort | while IFS= read -r file; do
		mode=644
		[ ! -x "$file" ] || mode=755
		printf '%s\t%s\tshare/faultline/%s\n' "$mode" "$file" "$file"
	done
}

# What the list names, deepest first; it is root that removes it: nothing outside PREFIX, but for the way there.
recorded() {
	local path
	[ -f "$manifest" ] || return 0
	LC_ALL=C sort -r -u "$manifest" | while IFS= read -r path; do
		case $path/ in
		*/../* | *//* | /) ;;
		"$prefix"/*) printf '%s\n' "$path" ;;
		*) [[ $prefix/ != "$path"/* ]] || printf '%s\n' "$path" ;;
		esac
	done
}

# Of the directory PATH and those above it what is not there.
missing() {
	[ ! -d "$destination$1" ] || return 0
	missing "$(dirname "$1")"
	printf '%s\n' "$1"
}

# Of paths, a line each: files, and directories that have nothing else in them.
remove() {
	local path
	while IFS= read -r path; do
		if [ -d "$destination$path" ] && [ ! -L "$destination$path" ]; then
			rmdir --ignore-fail-on-non-empty "$destination$path"
		else
			rm -f "$destination$path"
		fi
	done
}

# list FILE...: what they name and the list itself are what `uninstall` takes away.
list() {
	[ "$with_manifest" = 1 ] || return 0
	mkdir -p "${manifest%/*}"
	{ cat "$@" && echo "$prefix/share/faultline/installed"; } | LC_ALL=C sort -u >"$manifest.new"
	mv "$manifest.new" "$manifest"
}

install_all() {
	local mode source target new old
	[ -z "$destination" ] || mkdir -p "$destination"
	new=$(mktemp) old=$(mktemp)
	# shellcheck disable=SC2064
	trap "rm -f '$new' '$old'" EXIT
	recorded >"$old"
	while IFS=$'\t' read -r mode source target; do
		[ -f "$source" ] || fail "$source: is not there; \`make\` builds it"
		missing "$prefix/$(dirname "$target")" >>"$new"
		printf '%s\n' "$prefix/$target" >>"$new"
	done < <(wanted)
	# Directories that an earlier one has made are still ours.
	while IFS= read -r target; do [ ! -d "$destination$target" ] || printf '%s\n' "$target" >>"$new"; done <"$old"
	LC_ALL=C sort -u -o "$new" "$new"
	# Before anything is copied: what is interrupted can be taken away.
	list "$new" "$old"
	while IFS=$'\t' read -r mode source target; do
		mkdir -p "$(dirname "$base/$target")"
		install -m "$mode" "$source" "$base/$target"
		[[ $source != *.service ]] || sed -i "s#=/usr/bin/#=$prefix/bin/#" "$base/$target"
	done < <(wanted)
	grep -vxF -f "$new" "$old" | remove || true
	list "$new"
}

case $what in
install) install_all ;;
uninstall)
	[ -f "$manifest" ] || fail "$manifest: is not there: nothing that \`make install\` has put below $base"
	all=$(recorded)
	# The list goes last, so that what is interrupted can be gone on with.
	grep -vxF "$prefix/share/faultline/installed" <<<"$all" | remove
	remove <<<"$all"
	;;
*) fail "$what: accepted: install, uninstall" ;;
esac
