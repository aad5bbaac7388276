#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fetches what the lab's guests are made of, through apt with its signatures checked, without
# installing anything: kernels.sh COMMAND prints the path of what it fetched.
#
#   release KERNEL            the kernel's release, as `uname -r` would print it
#   image KERNEL              tree with vmlinuz, config and lib/modules/RELEASE
#   headers KERNEL            directory for `make -C`, with scripts and common headers beside it
#   source KERNEL             archive of the very sources the image was built from
#   packages SUITE NAME...    tree of these packages, unpacked
#   refresh [KERNEL]          look for newer versions now, instead of once a week
#   silent KERNEL             succeeds, with what was tried, if its archive does not answer
#
# KERNEL is 6.1, 6.12 or new. Exits with 75 when something cannot be fetched, 2 when asked wrongly, 1
# when this host is the reason. The last line that begins with "lab: " says what was wrong.
set -euo pipefail

cache=${FAULTLINE_LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/faultline/lab}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
PATH=$PATH:/usr/sbin:/sbin
unset MAKEFLAGS
more_options=()

say() { echo "lab: $*" >&2; }
unavailable() {
	say "$*"
	exit 75
}
broken() {
	say "$*"
	exit 1
}
usage() {
	sed -n 's/^# \{0,1\}//; 3,15p' "$0" >&2
	exit 2
}

# locked NAME: nobody else works on NAME until this process ends.
locked() {
	mkdir -p "$cache/locks" || broken "cannot write to $cache: set FAULTLINE_LAB_CACHE"
	exec {lock}>"$cache/locks/$1"
	flock "$lock"
}

suites_of() {
	case $1 in
	6.1) echo bookworm bookworm-security ;;
	6.12) echo bookworm-backports ;;
	new) echo trixie-backports ;;
	*)
		say "no kernel '$1': 6.1, 6.12 or new"
		exit 2
		;;
	esac
}

# The archive this host takes its own packages from, and its security counterpart.
archive_of() {
	local kind=main
	[[ $1 == *-security ]] && kind=security
	[ -n "${FAULTLINE_LAB_ARCHIVE:-}" ] && [ $kind = main ] && echo "$FAULTLINE_LAB_ARCHIVE" && return
	apt-get indextargets --format '$(RELEASE) $(SITE)' 'Identifier: Packages' 'Component: main' 2>/dev/null |
		awk -v kind=$kind '
			$1 !~ /^(bookworm|trixie|forky|sid|stable|testing|unstable|oldstable)/ { next }
			(kind == "security") == ($1 ~ /-security$/) { print $2; exit }'
}

# use_suites SUITE...: from now on apt reads these and nothing else, with a state of its own.
use_suites() {
	local suite archive name
	[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || broken "the lab needs Debian on amd64"
	[ -r "$keyring" ] || broken "no $keyring: install debian-archive-keyring"
	name=$(IFS=+ && echo "$*")
	apt_state=$cache/apt/$name
	locked "apt-$name"
	mkdir -p "$apt_state"/{state/lists/partial,cache/archives/partial} && : >"$apt_state/sources.tmp" ||
		broken "cannot write to $apt_state: set FAULTLINE_LAB_CACHE"
	for suite in "$@"; do
		archive=$(archive_of "$suite")
		if [ -n "$archive" ]; then
			echo "deb [signed-by=$keyring] $archive $suite main" >>"$apt_state/sources.tmp"
		elif [[ $suite != *-security ]]; then
			unavailable "no Debian archive among this host's apt sources: set FAULTLINE_LAB_ARCHIVE"
		fi
	done
	cmp -s "$apt_state/sources.tmp" "$apt_state/sources.list" || rm -f "$apt_state/updated"
	mv "$apt_state/sources.tmp" "$apt_state/sources.list"
	apt_options=(-q=2 -o "Dir::State=$apt_state/state" -o "Dir::Cache=$apt_state/cache"
		-o "Dir::Etc::SourceList=$apt_state/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null
		-o Dir::State::status=/dev/null -o APT::Architecture=amd64 -o APT::Architectures::=amd64
		-o Acquire::Languages=none -o Acquire::Retries=2
		-o Acquire::AllowInsecureRepositories=false -o APT::Get::AllowUnauthenticated=false
		-o Acquire::AllowDowngradeToInsecureRepositories=false "${more_options[@]}")
	# The cache is private to its user: apt's own user could not write there.
	[ "$(id -u)" -eq 0 ] && apt_options+=(-o APT::Sandbox::User=root)
	if [ -z "$(find "$apt_state/updated" -mmin -1440 2>/dev/null)" ]; then
		update
	fi
	return 0
}

update() {
	# An update that fails keeps the lists that were there: they may still do.
	if apt-get "${apt_options[@]}" -o APT::Update::Error-Mode=any update >"$apt_state/log" 2>&1; then
		touch "$apt_state/updated"
	elif grep -q 'No space left' "$apt_state/log"; then
		broken "no room in $apt_state: set FAULTLINE_LAB_CACHE"
	elif [ ! -e "$apt_state/updated" ]; then
		unavailable "apt cannot read $(sed 's/^deb \[[^]]*\] //' "$apt_state/sources.list" | paste -sd,):" \
			"$(grep -m1 '^[EW]:' "$apt_state/log")"
	fi
}

# download DIRECTORY PACKAGE[=VERSION]...
download() {
	local directory=$1
	shift
	(cd "$directory" && apt-get "${apt_options[@]}" download "$@") >"$apt_state/log" 2>&1 && return
	grep -q 'No space left' "$apt_state/log" && broken "no room in $directory: set FAULTLINE_LAB_CACHE"
	# A version vanished since the lists were read, perhaps.
	update
	(cd "$directory" && apt-get "${apt_options[@]}" download "$@") >"$apt_state/log" 2>&1 ||
		unavailable "apt cannot download $*: $(grep -m1 '^E:' "$apt_state/log")"
}

# tree PATH FINISH PACKAGE...: unpacks packages at PATH; FINISH is called with the unpacked tree.
# PATH appears with everything in it or not at all.
tree() {
	local path=$1 finish=$2 package temporary=$1.tmp
	shift 2
	rm -rf "$temporary"
	mkdir -p "$temporary/debs" || broken "cannot write to $temporary: set FAULTLINE_LAB_CACHE"
	say "fetching $*"
	download "$temporary/debs" "$@"
	for package in "$temporary"/debs/*.deb; do
		dpkg -x "$package" "$temporary" || {
			rm -rf "$temporary"
			broken "cannot unpack $package (is the disk full?)"
		}
	done
	(cd "$temporary/debs" && sha256sum -- *.deb) >"$temporary/packages.sha256"
	rm -rf "$temporary/debs"
	if ! "$finish" "$temporary" "$path"; then
		rm -rf "$temporary"
		broken "cannot prepare $path (is the disk full?)"
	fi
	mv -T "$temporary" "$path"
}

# resolve KERNEL: writes what it consists of to a file that stays valid for a week.
#   release RELEASE / version VERSION / image PACKAGE... / headers PACKAGE... / source PACKAGE
resolve() {
	local kernel=$1 file=$cache/kernels/$1 status=0
	mkdir -p "$cache/kernels" || broken "cannot write to $cache: set FAULTLINE_LAB_CACHE"
	if [ -n "$(find "$file" -mtime -7 2>/dev/null)" ]; then
		return
	fi
	# The newest release whose image and headers are both there; old ones vanish piece by piece.
	(
		# shellcheck disable=SC2046
		use_suites $(suites_of "$kernel")
		apt-cache "${apt_options[@]}" pkgnames linux- | sort >"$apt_state/names"
		releases "$kernel" <"$apt_state/names" >"$file.tmp"
		grep -q '^release' "$file.tmp" || unavailable "no kernel with image and headers in $(suites_of "$kernel")"
		version=$(apt-cache "${apt_options[@]}" show "$(sed -n 's/^headers \([^ ]*\).*/\1/p' "$file.tmp")" |
			sed -n 's/^Version: //p' | head -n 1)
		echo "version $version" >>"$file.tmp"
		mv "$file.tmp" "$file"
	) || status=$?
	[ $status -eq 0 ] && return
	[ -e "$file" ] || exit $status
	say "staying with $kernel = $(field "$kernel" release)"
}

releases() {
	awk -v kernel="$1" '
		{ there[$1] = 1 }
		END {
			pattern = kernel == "6.1" ? "^6[.]1[.]" : kernel == "6.12" ? "^6[.]12[.]" : "^[0-9]"
			for (name in there) {
				release = name
				if (!sub(/^linux-headers-/, "", release) || release !~ /-amd64$/ ||
				    release ~ /-(cloud|rt)-/ || release !~ pattern)
					continue
				base = release
				sub(/-amd64$/, "", base)
				if (!(("linux-headers-" base "-common") in there))
					continue
				if (("linux-binary-" release) in there && ("linux-modules-" release) in there)
					image = "linux-binary-" release " linux-modules-" release " linux-base-" release
				else if (!(("linux-modules-" release) in there) && ("linux-image-" release) in there)
					image = "linux-image-" release
				else
					continue
				short = base
				if (match(base, /^[0-9]+[.][0-9]+/))
					short = substr(base, 1, RLENGTH)
				kbuild = ("linux-kbuild-" base) in there ? "linux-kbuild-" base : "linux-kbuild-" short
				print release "\t" image "\t" name " linux-headers-" base "-common " kbuild "\tlinux-source-" short
			}
		}' | sort -V | tail -n 1 |
		awk -F '\t' '{ print "release " $1; print "image " $2; print "headers " $3; print "source " $4 }'
}

field() { sed -n "s/^$2 //p" "$cache/kernels/$1"; }

# The layout differs between releases; here it is one, and every file's sum is kept beside it.
finish_image() {
	local tree=$1 release
	release=$(cd "$tree" && ls -d lib/modules/* usr/lib/modules/* 2>/dev/null | head -n 1)
	release=${release##*/}
	[ -n "$release" ] || return 1
	[ -d "$tree/lib" ] || ln -s usr/lib "$tree/lib"
	if [ -e "$tree/boot/vmlinuz-$release" ]; then
		ln "$tree/boot/vmlinuz-$release" "$tree/vmlinuz" && ln "$tree/boot/config-$release" "$tree/config"
	else
		ln "$tree/lib/modules/$release/vmlinuz" "$tree/vmlinuz" && ln "$tree/lib/modules/$release/config" "$tree/config"
	fi || return 1
	rm -rf "$tree/usr/share" "$tree/boot"
	depmod -b "$tree" "$release" &&
		(cd "$tree" && sha256sum vmlinuz config && find -L lib/modules -type f -exec sha256sum {} +) >"$tree/files.sha256"
}

# Debian's headers name each other by absolute paths; these shall work where they lie.
finish_headers() {
	local tree=$1 path=$2 file
	while IFS= read -r file; do
		sed -i "s#\([= ]\)/usr/\(src\|lib\)/linux-#\1$path/usr/\2/linux-#g" "$file" || return 1
	done < <(grep -rlE '[= ]/usr/(src|lib)/linux-' "$tree/usr/src" --include=Makefile)
}

nothing() { :; }

# made NAME PATH SUITES FINISH PACKAGE...: the tree PATH, unless it is there: by one process, under this name.
made() {
	local name=$1 path=$2 suites=$3
	shift 3
	[ ! -d "$path" ] || return 0
	locked "$name"
	[ ! -d "$path" ] || return 0
	# shellcheck disable=SC2086
	use_suites $suites
	tree "$path" "$@"
}

# part_of KERNEL PART FINISH PACKAGE...: sets $path to its tree, and $release.
part_of() {
	release=$(field "$1" release)
	path=$cache/trees/$release/$2
	made "$2-$release" "$path" "$(suites_of "$1")" "${@:3}"
}

image() {
	local path release
	resolve "$1"
	# shellcheck disable=SC2046
	part_of "$1" image finish_image $(field "$1" image)
	echo "$path"
}

headers() {
	local path release
	resolve "$1"
	# shellcheck disable=SC2046
	part_of "$1" headers finish_headers $(field "$1" headers)
	echo "$path/usr/src/linux-headers-$release"
}

source_archive() {
	local path release
	resolve "$1"
	part_of "$1" source nothing "$(field "$1" source)=$(field "$1" version)"
	ls "$path"/usr/src/linux-source-*.tar.xz
}

packages() {
	local suite=$1 name path
	shift
	name=$(printf '%s\n' "$@" | sort | sha256sum | cut -c1-16)
	path=$cache/packages/$suite-$name
	made "packages-$suite-$name" "$path" "$suite" nothing "$@"
	echo "$path"
}

refresh() {
	local kernel
	for kernel in "$@"; do
		suites_of "$kernel" >/dev/null
		find "$cache/kernels/$kernel" -exec touch -d '8 days ago' {} + 2>/dev/null || true
		# shellcheck disable=SC2046
		rm -f "$cache/apt/$(suites_of "$kernel" | tr ' ' +)/updated"
		resolve "$kernel"
		echo "$kernel $(field "$kernel" release)"
	done
}

# A request to the archive, with nothing of what was fetched before: only one that nobody answered
# counts, and not one whose answer was no good. A proxy says with 502, 503 or 504 that nobody answered it;
# what asks one names the whole address.
silent() {
	local suites answers='Could not connect|Could not resolve|Temporary failure|Connection (failed|refused|reset|timed out)'
	answers+='|Unable to connect|timed out|Network is unreachable|No route to host|No Debian archive|response from proxy:? HTTP/[0-9.]+ 50[234] '
	suites=$(suites_of "$1") || exit
	cache=$(mktemp -d)
	trap 'rm -rf "$cache"' EXIT
	more_options=(-o Debug::Acquire::http=true)
	# shellcheck disable=SC2086
	if (use_suites $suites) 2>"$cache/said"; then
		echo "the archive answers for $suites"
		return 1
	fi
	tail -n 1 "$cache/said" | sed 's/^lab: //'
	grep -qE '^GET https?://' "$cache"/apt/*/log 2>/dev/null && answers+='| 50[234] '
	grep -qiE "$answers" "$cache/said"
}

command=${1:-}
[ $# -gt 0 ] && shift
case $command:$# in
release:1) resolve "$1" && field "$1" release ;;
image:1) image "$1" ;;
headers:1) headers "$1" ;;
source:1) source_archive "$1" ;;
packages:0 | packages:1) usage ;;
packages:*) packages "$@" ;;
refresh:0) refresh 6.1 6.12 new ;;
refresh:*) refresh "$@" ;;
silent:1) silent "$1" ;;
*) usage ;;
esac
