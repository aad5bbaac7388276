#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Rules and alerts of dashboards/prometheus: promtool and vmalert take them and test them, docs/alerts.md has a section an
# alert, some go through Prometheus and Alertmanager to a receiver. FACE=full breaks each alert, which its tests notice.
. "$(dirname "$0")/lib.sh"

# What it starts dies with it, however it ends.
/usr/bin/python3 "$root/tests/prometheus/rules.py" "$FAULTLINE" "$INJECT" ${FACE:+"$FACE"} >verdict 2>run.err &
driver=$!
trap 'kill $driver 2>/dev/null; rm -rf --one-file-system "$scratch"' EXIT
trap 'exit 143' TERM INT
wait $driver
adopt rules
finish
