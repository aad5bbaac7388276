# SPDX-License-Identifier: GPL-2.0
# The live view of RDMA's on-demand paging while soft-RoCE faults for real: what it showed last is what a
# replay of its own recording ends with and what `report` says of that, and what the injector counted.
# kernels: new
# modules: ib_uverbs rdma_rxe
# programs: rdma ip
# paths: /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so /etc/libibverbs.d/rxe.driver

intervals() { cut -d , -f 1 "$results/live.csv" | sort -u | wc -l; }
grown() { [ "$(intervals)" -ge $(($1 + 2)) ]; }
# own COLUMN: sum over the injector's rows.
own() { sum_of "$1" odp.csv; }

guest() {
	local top before
	load ib_uverbs
	load rdma_rxe
	ip link set lo up
	rdma link add rxe0 type rxe netdev lo
	wait_for 5 test -e /dev/infiniband/uverbs0
	mkdir -p "$results"
	faultline top -b --view rdma --since-start --csv -o "$results/live.flt" 1 >"$results/live.csv" 2>top.err &
	top=$!
	wait_for 60 test -s "$results/live.csv" || not_ok "the view begins" "$(tail -n 2 top.err)"
	# Its regions are there to the end of the view: rows are those of devices that are.
	check_that "traffic" faultline-inject odp --device rxe0 --count 61 --csv=odp.csv
	before=$(intervals)
	wait_for 60 grown "$before" || not_ok "the view goes on" "$(tail -n 2 top.err)"
	kill -INT $top
	wait $top
	equal "top ends well" $? 0
	own forced >"$results/forced"
	rdma link delete rxe0
	unload rdma_rxe ib_uverbs
}

host() {
	local said shown
	"$FAULTLINE" top -i live.flt --view rdma --since-start --csv >replay.csv
	equal "its replay ends well" $? 0
	rm -rf tables
	"$FAULTLINE" report live.flt --csv=tables >/dev/null
	if said=$(python3 "$reference/compare_top.py" live.csv replay.csv faults_rate_per_s self_cpu_percent \
		self_memory_bytes 2>&1); then
		ok "live numbers are those of its recording ($said)"
	else
		not_ok "live numbers are those of its recording" "$said"
	fi
	if said=$(python3 "$reference/compare_top.py" live.csv tables/odp.csv 2>&1); then
		ok "live numbers are the report's ($said)"
	else
		not_ok "live numbers are the report's" "$said"
	fi
	# Every page was proven absent first, and each is one fault: of the device, and of its regions.
	shown=$(python3 - <<'PY'
import csv
rows = list(csv.DictReader(open("live.csv", newline="")))
last = [row for row in rows if row["time"] == rows[-1]["time"] and row["faults"]]
print(*(sum(int(row["faults"]) for row in last if (row["region"] != "") == regions) for regions in (False, True)))
PY
	)
	equal "faults shown of the device and of its regions are the pages forced absent" "$shown" "$(cat forced) $(cat forced)"
}
