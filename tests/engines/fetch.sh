#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Engines that read our Parquet files, as npm has them: ClickHouse (chdb) and DuckDB, in the versions and with the
# checksums of package-lock.json. They are fetched once, into $FAULTLINE_ENGINES_CACHE (~/.cache/faultline/engines).
#
#   fetch.sh path [FOLDER]   prints the folder whose node_modules they are in; of FOLDER's package-lock.json
#                            instead, into ~/.cache/faultline/FOLDER
#   fetch.sh silent          succeeds, with what was tried, if the registry that npm is set to does not answer
#
# Exits with 75 when they cannot be fetched; the last line that begins with "engines: " says why.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# npm has certificates of its own; a host may trust more.
[ -e /etc/ssl/certs/ca-certificates.crt ] && export NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}
cache=${FAULTLINE_ENGINES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/faultline/engines}
from=${2:-$here}
[ "$from" = "$here" ] || cache=$(dirname "$cache")/$(basename "$from")

path() {
	local version place work said
	version=$(cat "$from/package.json" "$from/package-lock.json" | sha256sum | head -c 16)
	place=$cache/$version
	mkdir -p "$cache"
	exec {lock}>"$cache/lock"
	flock "$lock"
	if [ ! -d "$place" ]; then
		# What a killed one has left, and versions that were pinned a month ago.
		find "$cache" -mindepth 1 -maxdepth 1 -type d \( -name 'new.*' -o -mtime +30 \) -exec rm -rf {} +
		work=$(mktemp -d "$cache/new.XXXXXX")
		cp "$from/package.json" "$from/package-lock.json" "$work"
		# `npm ci` of some versions wants libraries of other systems in the lock, which not every registry has.
		if ! said=$(cd "$work" && npm install --no-save --ignore-scripts --no-audit --no-fund \
			--cache "$work/cache" 2>&1 </dev/null); then
			rm -rf "$work"
			# What npm says names its registry, which is nobody's business here.
			echo "engines: npm install: $(grep -oE 'code [A-Z_]+|EINTEGRITY' <<<"$said" | head -n 1)" >&2
			exit 75
		fi
		if ! node "$here/locked.js" "$work" "$from"; then
			rm -rf "$work"
			echo "engines: npm install: what it brought is not what package-lock.json has" >&2
			exit 1
		fi
		rm -rf "$work/cache"
		mv "$work" "$place"
	fi
	echo "$place"
}

silent() {
	local said
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
