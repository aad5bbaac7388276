#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Rules and alerts of dashboards/prometheus: promtool and vmalert take them and test them, docs/alerts.md has a section an
# alert, one goes through Prometheus and Alertmanager to a receiver. FACE=full breaks each alert, which its tests notice.
. "$(dirname "$0")/lib.sh"

# What it starts dies with it, however it ends.
/usr/bin/python3 "$root/tests/prometheus/rules.py" ${FACE:+"$FACE"} >verdict 2>run.err &
driver=$!
trap 'kill $driver 2>/dev/null; rm -rf "$scratch"' EXIT
wait $driver
adopt rules
finish
