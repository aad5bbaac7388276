# SPDX-License-Identifier: GPL-2.0
# With CAP_BPF and CAP_PERFMON a user attaches to all of the kernel itself that root does; what modules have, and on
# Debian's 6.1 the emulator, is named as lacking CAP_SYS_ADMIN, and is there with it. Plain `doctor` says of each what its
# recording then has. Root raises a hard limit of open files.
#
# sample: 6.1
# iommu: intel
# modules: vfio-pci vfio_iommu_type1
# programs: setpriv prlimit

recorded_by() { # NAME COMMAND...
	local name=$1
	shift
	"$@" faultline record --tcp -q --duration 500ms -o "user/$name.flt" 2>"$name.err"
	equal "recorded by $name" "$(($? % 5))" 0
	cat "$name.err"
	"$@" faultline doctor --csv="user/$name"
	cp "user/$name/probes.csv" "$results/$name-probes.csv"
	cp "user/$name/paths.csv" "$results/$name-paths.csv"
	cp "user/$name.flt" "$results"
}

guest() {
	mkdir -p "$results" user
	chmod 1777 user
	load vfio-pci
	load vfio_iommu_type1
	local user="setpriv --reuid 65534 --regid 65534 --clear-groups"
	recorded_by root
	recorded_by two $user --inh-caps +bpf,+perfmon --ambient-caps +bpf,+perfmon
	recorded_by three $user --inh-caps +bpf,+perfmon,+sys_admin --ambient-caps +bpf,+perfmon,+sys_admin
	$user faultline record -q --duration 500ms -o user/none.flt 2>none.err
	equal "without rights" $? 4
	check_that "says which" says none.err "it lacks CAP_BPF and CAP_PERFMON"
	recorded_by limited prlimit --nofile=100 --
	unload vfio-pci vfio_pci_core vfio_iommu_type1 vfio
}

host() {
	local name
	for name in root two three limited; do
		"$FAULTLINE" doctor "$name.flt" --csv=- --table probes >"$name.csv" 2>/dev/null
	done
	python3 - "$kernel" <<'PY' || failed=1
import csv, sys
def table(name, key): return {row[key]: row for row in csv.DictReader(open(name + ".csv"))}
def probes(name): return table(name, "probe")
root, two, three, limited = (probes(name) for name in ("root", "two", "three", "limited"))
def on(rows): return {name for name, row in rows.items() if row["state"] in ("on", "ok")}
print(f"# on: root {len(on(root))}, two rights {len(on(two))}, three {len(on(three))}, 100 files {len(on(limited))}")
lacking = on(root) - on(two)
told = {name: on(probes(name + "-probes")) for name in ("root", "two", "three", "limited")}
false = {name: sorted(told[name] ^ on(rows)) for name, rows in
         (("root", root), ("two", two), ("three", three), ("limited", limited)) if told[name] != on(rows)}
machines = table("two-paths", "path")["emulated machines"]
vfio = table("two-paths", "path")["VFIO"]
lacks = "fault_detect" in lacking
wrong = {name: two[name]["reason"] for name in lacking if "CAP_SYS_ADMIN" not in two[name]["reason"]}
for what, good, detail in (("many are on", len(on(root)) > 40, len(on(root))),
                           ("what lacks a right names it", lacking and not wrong, wrong),
                           ("doctor tells each beforehand what is recorded then", not false, false),
                           ("on 6.1 that is the emulator, too", lacks == (sys.argv[1] == "6.1"), lacks),
                           ("doctor says so by path, and what would change it",
                            not lacks or (machines["state"], machines["change"]) == ("not shown", "CAP_SYS_ADMIN (sudo faultline)")
                            and "CAP_SYS_ADMIN" in machines["why"], machines),
                           ("where they are shown, their names and I/Os are root's alone",
                            lacks or (machines["state"], machines["change"]) == ("partly", "root (sudo faultline)"), machines),
                           ("VFIO's functions name the right, and so does their path",
                            (vfio["state"], vfio["change"]) == ("not shown", "CAP_SYS_ADMIN (sudo faultline)"), vfio),
                           ("who maps has no name without CAP_SYSLOG, and is told",
                            all("CAP_SYSLOG" in probes("two-probes")[name]["reason"] and not probes("root-probes")[name]["reason"]
                                for name in ("dma_map", "dma_alloc")), [probes("two-probes")[name] for name in ("dma_map", "dma_alloc")]),
                           ("with it all are on", on(three) == on(root), on(root) ^ on(three)),
                           ("root raises its limit", on(limited) == on(root), on(root) ^ on(limited))):
    print(f"{'ok' if good else 'not ok'} - {what}" + ("" if good else f": {detail}"))
    if not good: sys.exit(1)
PY
}
