#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Dashboards of dashboards/grafana: Grafana's types accept them; every query has series on Prometheus and VictoriaMetrics,
# of made-up series of every metric and of a campaign that `faultline serve` watches.
. "$(dirname "$0")/lib.sh"

# drive WORD...: what it starts dies with it, however it ends.
drive() {
	/usr/bin/python3 "$root/tests/prometheus/dashboards.py" "$@" >verdict 2>run.err &
	driver=$!
	wait $driver
	adopt "$1"
}
trap 'kill $driver 2>/dev/null; rm -rf --one-file-system "$scratch"' EXIT
trap 'exit 143' TERM INT

drive made
drive campaign "$FAULTLINE" "$INJECT"

if packages=$("$root/tests/engines/fetch.sh" path "$root/tests/grafana" 2>fetch.err); then
	check "Grafana's types accept them, and refuse mistakes in them" \
		/usr/bin/python3 "$root/tests/grafana/accepts.py" "$packages" "$root"/dashboards/grafana/*.json
else
	skip "types" "$(tail -n 1 fetch.err)"
fi
finish
