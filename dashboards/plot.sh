#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Draws recordings, campaigns and simulations from their CSV files: `plot.sh -h`. plot.py does the work.
exec python3 -B "$(dirname "$(readlink -f "$0")")/plot.py" "$@"
