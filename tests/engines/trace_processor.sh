#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Perfetto's trace processor, as Debian has it for Chromium's tests: one library of the package chromium-shell, which is
# downloaded and not installed, into $FAULTLINE_TRACE_PROCESSOR_CACHE (~/.cache/faultline/trace-processor).
#
#   trace_processor.sh path      prints the library's path
#   trace_processor.sh silent    succeeds, with what was tried, if the archive that apt is set to does not answer
#
# Exits with 75 when it cannot be had; the last line that begins with "trace processor: " says why.
set -euo pipefail
cache=${FAULTLINE_TRACE_PROCESSOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/faultline/trace-processor}
package=chromium-shell
library=libtest_trace_processor.so

refuse() {
	echo "trace processor: $1" >&2
	exit 75
}

candidate() { apt-cache policy $package 2>/dev/null | sed -n 's/^ *Candidate: *//p'; }

# fetch VERSION: the newest that apt knows; where its lists are old, the archive has another by now.
fetch() { (cd "$1" && apt-get download -qq "$package=$2" >/dev/null 2>&1); }

path() {
	local version work found
	mkdir -p "$cache"
	exec {lock}>"$cache/lock"
	flock "$lock"
	version=$(candidate)
	found=$(find "$cache" -mindepth 2 -name $library -path "$cache/${version:-none}/*" | head -n 1)
	# Any that was fetched does, if the archive has gone on or does not answer.
	if [ -z "$found" ]; then
		find "$cache" -mindepth 1 -maxdepth 1 -name 'new.*' -exec rm -rf {} +
		work=$(mktemp -d "$cache/new.XXXXXX")
		chmod 755 "$work"
		if fetch "$work" "$version" || { apt-get update -qq >/dev/null 2>&1 && version=$(candidate) && fetch "$work" "$version"; }; then
			dpkg -x "$work"/*.deb "$work/all"
			mkdir "$work/kept"
			find "$work/all" -name $library -exec mv {} "$work/kept" \;
			[ -e "$work/kept/$library" ] || { rm -rf "$work"; refuse "$package $version has no $library any more"; }
			rm -rf "${cache:?}/$version"
			mv "$work/kept" "$cache/$version"
		fi
		rm -rf "$work"
		found=$(find "$cache" -mindepth 2 -name $library -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-)
	fi
	[ -n "$found" ] || refuse "apt-get download $package: it cannot be had"
	echo "$found"
}

silent() {
	local work said=0
	work=$(mktemp -d)
	fetch "$work" "$(candidate)" || said=$?
	rm -rf "$work"
	echo "apt-get download $package: $([ $said -eq 0 ] && echo it comes || echo "exit $said")"
	[ $said -ne 0 ]
}

case ${1:-} in
path | silent) "$1" ;;
*)
	sed -n 's/^# \{0,1\}//; 3,9p' "$0" >&2
	exit 2
	;;
esac
