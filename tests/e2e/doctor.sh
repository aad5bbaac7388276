#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# doctor's probe table of this host, held against the kernel's types and symbols and against what a
# recording attaches.
. "$(dirname "$0")/lib.sh"

reference=$root/tests/reference
mkdir btf
cp /sys/kernel/btf/* btf 2>/dev/null || { not_ok "doctor's table" "no type information in /sys/kernel/btf"; finish; }
cut -d' ' -f3- /proc/kallsyms >symbols
cat /sys/kernel/tracing/available_filter_functions >traceable 2>/dev/null
ls -d /sys/class/infiniband >directories 2>/dev/null
for iommu in /sys/class/iommu/*; do
	[ -e "$iommu" ] && echo "$(basename "$iommu") $(cat "$iommu/intel-iommu/ecap" "$iommu/amd-iommu/features" 2>/dev/null)"
done >iommus
[ -e /sys/firmware/acpi/tables/DMAR ] && echo DMAR >>iommus
[ -e /sys/bus/event_source/devices/kprobe ] && echo kprobes >>directories
check "doctor ends well" bash -c "$FAULTLINE doctor --emulator '$INJECT' --json --table probes >doctor.json"
check "a recording ends well" "$FAULTLINE" record -q -o probes.flt --tcp --emulator "$INJECT" --duration 1s
"$FAULTLINE" report --csv=- --table probes probes.flt >probes.csv 2>/dev/null
check "every row of the table is true" python3 "$reference/doctor_table.py" . "$INJECT"
check "what is missing comes with a remedy" bash -c \
	"$FAULTLINE doctor --csv=- --table host | awk -F, '\$2 == \"missing\" && \$NF == \"\" { exit 1 }'"
# A line a path, before all else; what is not shown says why, and what would change it.
"$FAULTLINE" doctor --emulator "$INJECT" >doctor.txt 2>/dev/null
"$FAULTLINE" doctor --emulator "$INJECT" --csv=- --table paths >paths.csv 2>/dev/null
check "doctor begins with its paths" bash -c "head -n 1 doctor.txt | grep -q '^What this host can show'"
paths=$(($(wc -l <paths.csv) - 1))
check "there are paths" [ "$paths" -ge 10 ]
check "every path of the table is a line of the text" python3 - <<-'END'
	import csv
	text = open("doctor.txt").read().splitlines()
	for row in csv.DictReader(open("paths.csv")):
	    assert any(line.startswith(row["path"].ljust(24) + row["state"]) for line in text), row
	    assert row["state"] in ("shown", "partly", "not shown"), row
	    assert (row["state"] == "shown") == (row["change"] == ""), row
	    assert row["state"] == "shown" or row["why"], row
END
check "probes come with -v only" bash -c "! grep -q '^fault_detect' doctor.txt && \
	$FAULTLINE doctor -v --emulator '$INJECT' 2>/dev/null | grep -q '^fault_detect'"
for how in "" -v "--watch 1s"; do
	# shellcheck disable=SC2086
	"$FAULTLINE" doctor $how --emulator "$INJECT" >lines 2>/dev/null
	check "no line of doctor $how is longer than 80" bash -c "[ -s lines ] && ! grep -nE '^.{81}' lines"
	check "no word of doctor $how is cut" bash -c "! grep -n '~$' lines"
done
# What a path shows is what its probes show: their states, from the other table, by their names.
check "paths and probes agree" python3 - <<-'END'
	import csv, json
	probes = {row["probe"]: row["state"] for row in json.load(open("doctor.json"))["tables"]["probes"]}
	paths = {row["path"]: row for row in csv.DictReader(open("paths.csv"))}
	for path, begin in (("emulated machines", ("fault_", "invalidate_", "inject_")), ("block requests", ("block_",)),
	                    ("CPU page faults", ("page_fault_",)), ("scheduling", ("sched_",))):
	    # That of a fault which is not reported is a queue pair's.
	    states = [state for name, state in probes.items() if name.startswith(begin) and name != "fault_suppressed"]
	    assert int(paths[path]["probes"]) == len(states), path
	    assert int(paths[path]["on"]) == states.count("ok"), path
	    expected = "shown" if states.count("ok") == len(states) else "partly" if "ok" in states else "not shown"
	    assert paths[path]["state"] == expected, path
END
# It tells what its own user can see: nothing, without root, and without what the kernel asks of root.
seen_by() { # NAME WHY COMMAND...
	local name=$1 why=$2
	shift 2
	"$@" --emulator "$INJECT" --csv=- --table paths >"$name.csv" 2>/dev/null
	check "doctor shows a $name nothing, and says what would change it" python3 - "$name.csv" "$why" <<-'END'
		import csv, sys
		whole = {row["path"]: row for row in csv.DictReader(open("paths.csv"))}
		rows = list(csv.DictReader(open(sys.argv[1])))
		assert len(rows) == len(whole)
		shown = [row for row in rows if whole[row["path"]]["state"] == "shown"]
		assert len(shown) >= 3, shown
		for row in rows:
		    assert row["state"] == "not shown" and row["on"] == "0" and row["why"] and row["change"], row
		for row in shown:
		    assert sys.argv[2] in row["why"] and "in this kernel" not in row["why"], row
	END
	"$@" --emulator "$INJECT" >"$name.txt" 2>/dev/null
	check "and counts no probe for a $name" grep -q '^0 of [0-9]* probes can be attached' "$name.txt"
}
chmod 755 . && install "$FAULTLINE" "$INJECT" .
INJECT=$PWD/faultline-inject seen_by user "may not load BPF programs: it lacks CAP_BPF and CAP_PERFMON" \
	setpriv --reuid=65534 --regid=65534 --clear-groups ./faultline doctor
seen_by "root without capabilities" "may not load BPF programs" \
	setpriv --bounding-set=-bpf,-sys_admin,-perfmon ./faultline doctor
if said=$(unshare --user --map-root-user true 2>&1); then
	seen_by "root of a user namespace" "may not load BPF programs" unshare --user --map-root-user ./faultline doctor
else
	skip "a root of a user namespace" "$said"
fi
check "of a recording it tells what that could show" bash -c \
	"$FAULTLINE doctor probes.flt --csv=- --table probes | cut -d, -f1,2 | sed 's/,on/,ok/' >recorded.states && \
	$FAULTLINE doctor --emulator '$INJECT' --csv=- --table probes 2>/dev/null | cut -d, -f1,2 | cmp - recorded.states"
check "watching and a recording exclude each other" bash -c "! $FAULTLINE doctor --watch 1s probes.flt 2>refused && grep -q watch refused"

# Lockdown is told also where securityfs is not mounted: the kernel's own word, from a mount of ours.
word=$(unshare -m bash -c 'mount -t securityfs none /sys/kernel/security 2>/dev/null
	sed "s/.*\[\(.*\)\].*/\1/" /sys/kernel/security/lockdown' 2>/dev/null)
told=$("$FAULTLINE" doctor --csv=- --table host 2>/dev/null | sed -n 's/^lockdown,[a-z]*,\([a-z]*\).*/\1/p')
if [ -n "$word" ]; then
	check "lockdown is as the kernel says ($told)" [ "$told" = "$word" ]
else
	check "lockdown is told without the kernel's word ($told)" [ "$told" = none ]
fi

# Where /sys or /proc is not mounted, what is not found there is no answer: that is said first, and nothing else.
lacks() { # SAID REMEDY NEED HOW
	local said=$1 remedy=$2 need=$3 how=$4 words
	for words in "record -o never.flt --duration 1s" "record -o never.flt -- true" "record -o never.flt -p 1" \
		"top -b 0.1 1" "doctor --watch 1s"; do
		# shellcheck disable=SC2086
		unshare -m bash -c "$how"' && exec "$@"' bash "$FAULTLINE" $words >out 2>err
		equal "$how: ${words%% -o*}" "$? $(cat err)" "4 faultline: $said, so nothing can be watched: $remedy"
	done
	unshare -m bash -c "$how"' && "$@" --table paths >unmounted.csv && "$@" --table host >unmounted-host.csv && "$@" --table probes >unmounted-probes.csv' \
		bash "$FAULTLINE" doctor --csv=- 2>err
	check "$how: doctor has that as the reason of everything, and tells nothing else" python3 - "$said" "$remedy" "$need" <<-'END'
		import csv, sys
		said, remedy, need = sys.argv[1:]
		def rows(name): return list(csv.DictReader(open(name)))
		paths = rows("unmounted.csv")
		assert len(paths) == len(rows("paths.csv")) >= 10
		for row in paths:
		    assert (row["state"], row["why"], row["change"]) == ("not shown", said, remedy), row
		host = {row["what"]: row for row in rows("unmounted-host.csv")}
		assert (host["mounts"]["state"], host["mounts"]["finding"], host["mounts"]["remedy"]) == ("missing", said, remedy)
		for what in need.split(","):
		    assert host[what]["state"] == "missing" and host[what]["remedy"] == remedy, host[what]
		    assert host[what]["finding"].startswith("cannot be told: /"), host[what]
		assert {row["reason"] for row in rows("unmounted-probes.csv")} == {said}
	END
	unshare -m bash -c "$how"' && exec "$@"' bash "$FAULTLINE" doctor >out 2>err
	equal "$how: the text says once what would change it" "$(sed -n 3p out | grep -cF "${said% mounted}") $(grep -c '^mounts: ' out)" "1 1"
}
of_sys=BTF,IOMMU,VFIO,iommufd,RDMA of_proc=pids,swap,emulator
lacks "/sys is not mounted" "mount -t sysfs sysfs /sys" "$of_sys" "umount -R -l /sys"
lacks "/sys is not mounted" "mount -t sysfs sysfs /sys" "$of_sys" \
	"mount -t tmpfs none /sys && mkdir -p /sys/devices/system/cpu && echo 0 >/sys/devices/system/cpu/possible"
lacks "/proc is not mounted" "mount -t proc proc /proc" "$of_proc" "umount -R -l /proc"
lacks "/sys and /proc are not mounted" "mount -t sysfs sysfs /sys; mount -t proc proc /proc" "$of_sys,$of_proc" \
	"umount -R -l /sys /proc"
equal "all is mounted here" "$("$FAULTLINE" doctor --csv=- --table host | grep '^mounts,')" "mounts,ok,/sys and /proc,"
# No folder is not an empty one.
equal "a kernel that knows no IOMMU" "$(unshare -m bash -c 'mount -t tmpfs none /sys/class && exec "$@"' bash \
	"$FAULTLINE" doctor --csv=- --table host | grep '^IOMMU,' | cut -d, -f2,3)" "missing,this kernel has no support for IOMMUs"

check "-v changes nothing on stdout" bash -c \
	"$FAULTLINE doctor -v --emulator '$INJECT' --json --table probes 2>/dev/null | cmp - doctor.json"

# The check itself must be able to fail: a table that lies either way is found.
mkdir lie
cp -r btf symbols traceable directories iommus lie
lies() { # NAME SED-PROGRAM
	sed "$2" doctor.json >lie/doctor.json
	check "a table that lies is found: $1" \
		bash -c "! cmp -s lie/doctor.json doctor.json && ! python3 '$reference/doctor_table.py' lie '$INJECT'"
}
lies "what is off is said to be on" 's/"state":"off"/"state":"ok"/'
lies "what is there is said to be missing" \
	's/"state":"ok","attach":"tp_btf sched_switch","hits":0,"reason":""/"state":"off","attach":"tp_btf sched_switch","hits":0,"reason":"this kernel has no tracepoint sched_switch"/'
echo smmu3 >>lie/iommus
lies "an IOMMU is said not to be there" 's/"state":"ok","attach":"tp_btf sched_switch","hits":0,"reason":""/"state":"off","attach":"tp_btf sched_switch","hits":0,"reason":"no IOMMU is active"/'
# A damaged recording is told as far as it goes, as other verbs do.
printf '[tenant vm]\nmemory = 4M\n[device disk]\nfile_bytes = 2M\n[workload w]\nsizes = 4K\ncount = 2000\n' >machine.ini
"$FAULTLINE" record -q --force --kind io -o whole.flt -- "$INJECT" run machine.ini >/dev/null 2>&1
python3 -c 'import sys
data = bytearray(open("whole.flt", "rb").read())
for i in range(len(data) // 2, len(data) // 2 + 40):
    data[i] ^= 0x5a
open("damaged.flt", "wb").write(data)'
for words in doctor report "doctor --json"; do
	# shellcheck disable=SC2086
	"$FAULTLINE" $words damaged.flt >out 2>err
	equal "a damaged recording: $words" "$? $(grep -cE 'parts of the recording are unreadable' out) $(grep -c '^faultline: damaged.flt: is damaged' err)" "3 1 1"
done
check "and every path is told" python3 -c 'import json; exit(len(json.load(open("out"))["tables"]["paths"]) < 12)'
finish
