#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Prints the header that tools/page/assets.c includes: assets.sh UPLOT_FOLDER, which is empty for a program without it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# hashed NAME FILE: as a Content-Security-Policy names what is between its tags. What would end them is refused.
hashed() {
	if grep -qiE '</(script|style)|<!--' "$2"; then
		echo "assets.sh: $2: holds what would end its element" >&2
		exit 1
	fi
	# shellcheck disable=SC2059 # the format is bytes
	echo "#define $1_HASH \"sha256-$(printf "$(sha256sum <"$2" | head -c 64 | sed 's/../\\x&/g')" | base64)\""
}

echo "/* Made by tools/page/assets.sh. */"
hashed OWN_STYLE tools/page/page.css
hashed OWN_SCRIPT tools/page/page.js
[ -n "${1:-}" ] || exit 0
echo "#define UPLOT_STYLE_PATH \"$1/uPlot.min.css\""
echo "#define UPLOT_SCRIPT_PATH \"$1/uPlot.iife.js\""
echo "#define UPLOT_LICENCE_PATH \"$1/LICENSE\""
hashed UPLOT_STYLE "$1/uPlot.min.css"
hashed UPLOT_SCRIPT "$1/uPlot.iife.js"
