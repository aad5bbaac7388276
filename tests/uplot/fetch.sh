#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# uPlot, which draws the plots of pages (docs/page.md), as npm has it: the version and the checksum of tools/page/uplot.lock.
# It is fetched once, into $FAULTLINE_UPLOT_CACHE (~/.cache/faultline/uplot), where `make` looks for it.
#
#   fetch.sh path      prints the folder that holds uPlot.iife.js, uPlot.min.css and LICENSE
#   fetch.sh silent    succeeds, with what was tried, if the registry that npm is set to does not answer
#
# Exits with 75 when it cannot be fetched; the last line that begins with "uplot: " says why. A build without it is whole,
# but for the plots.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# npm has certificates of its own; a host may trust more.
[ -e /etc/ssl/certs/ca-certificates.crt ] && export NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}
cache=${FAULTLINE_UPLOT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/faultline/uplot}
read -r version checksum <"$here/../../tools/page/uplot.lock"

# refuse STATUS WHY: nothing of it stays.
refuse() {
	rm -rf "${work:-}"
	echo "uplot: $2" >&2
	exit "$1"
}

path() {
	local place=$cache/$version work said
	mkdir -p "$cache"
	exec {lock}>"$cache/lock"
	flock "$lock"
	if [ ! -d "$place" ]; then
		find "$cache" -mindepth 1 -maxdepth 1 -type d -name 'new.*' -exec rm -rf {} +
		command -v npm >/dev/null || refuse 75 "there is no npm to fetch it with"
		work=$(mktemp -d "$cache/new.XXXXXX")
		# What npm says names its registry, which is nobody's business here.
		said=$(cd "$work" && timeout 300 npm pack "uplot@$version" --ignore-scripts --fetch-retries=1 \
			--cache "$work/cache" 2>&1 </dev/null) ||
			refuse 75 "npm pack: $(grep -oE 'code [A-Z_]+|E[A-Z]{4,}' <<<"$said" | head -n 1)"
		sha512sum --quiet --check <<<"$checksum  $work/uplot-$version.tgz" >/dev/null 2>&1 ||
			refuse 1 "what npm brought is not what tools/page/uplot.lock has"
		tar -xzf "$work/uplot-$version.tgz" -C "$work" --strip-components=1 --no-same-owner \
			package/LICENSE package/dist/uPlot.iife.js package/dist/uPlot.min.css
		mv "$work"/dist/* "$work"
		rm -rf "$work/dist" "$work/cache" "$work"/*.tgz
		mv "$work" "$place"
	fi
	echo "$place"
}

silent() {
	local said
	command -v npm >/dev/null || { echo "no npm is installed" && return; }
	if said=$(timeout 120 npm ping --fetch-retries=0 --fetch-timeout=30000 2>&1 </dev/null); then
		echo "npm ping is answered"
		return 1
	fi
	echo "npm ping: $(grep -oE 'code [A-Z_]+' <<<"$said" | head -n 1)"
}

case ${1:-} in
path | silent) "$1" ;;
*)
	sed -n 's/^# \{0,1\}//; 3,10p' "$0" >&2
	exit 2
	;;
esac
