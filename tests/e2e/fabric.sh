#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# faultline fabric as one calls it: the shipped jobs hold and can fail, the same job gives the same bytes, tables agree with
# each other, and what is wrong is named with its line.
. "$(dirname "$0")/lib.sh"
reference=$root/tests/e2e/fabric.py

fabric() {
	local job=$1
	shift
	"$FAULTLINE" fabric "$root/tools/jobs/$job.ini" "$@"
}
for job in "$root"/tools/jobs/fabric-*.ini; do
	name=$(basename "$job" .ini)
	check "$name: every expectation holds" fabric "$name"
	fabric "$name" --csv="$name.1" 2>/dev/null
	fabric "$name" --csv="$name.2" 2>/dev/null
	equal "$name: the same bytes again" "$(cat "$name".1/*.csv | sha256sum)" "$(cat "$name".2/*.csv | sha256sum)"
	check "$name: results are those of the transactions" /usr/bin/python3 "$reference" "$name.1"
done

# Expectations can fail: what each of them is about, taken away.
broken() {
	local name=$1
	shift
	fabric "$name" "$@" >broken.out 2>&1
	equal "$name with $*: an expectation fails" $? 6
}
broken fabric-piv-table-1 --set a.iommu=no --set b.iommu=no
broken fabric-piv-table-1 --set a3.under=a-gpus
broken fabric-piv-table-2 --set borrower-adapter.under=borrower
broken fabric-p2p --set b3.under=b
broken fabric-p2p --set a1.under=a-adapters
broken fabric-root-split --set fabric.split=0
broken fabric-root-split --set fabric.split_outstanding=400
broken fabric-root-split --set fabric.outstanding=16
broken fabric-root-split --set fabric.root_rate=5e9/s
broken fabric-engines --set fabric.memory=100ns
broken fabric-engines --set cable.rate=2e9/s
broken fabric-nvme-distance --set cable.delay=50ns
broken fabric-nvme-distance --set uplink.delay=170ns
broken fabric-hop-sweep --set between.delay=400ns
broken fabric-hop-sweep --set fabric.outstanding=1024
broken fabric-queue-placement --set gpu.under=lender
broken fabric-queue-placement --set lender-ram.queue=gpu

# One scenario alone is as among the others.
sed '/^\[expect\]/,$d' "$root/tools/jobs/fabric-p2p.ini" >p2p.ini
"$FAULTLINE" fabric ./p2p.ini --table results --csv=- | awk -F , '$3 == "2L-P2P"' | cut -d , -f 2,4- >among.csv
"$FAULTLINE" fabric ./p2p.ini --set run.scenario=2L-P2P --table results --csv=- | tail -n +2 | cut -d , -f 2- >alone.csv
check "a scenario alone: as among the others" cmp among.csv alone.csv
equal "and there are five" "$(wc -l <alone.csv)" 5
"$FAULTLINE" fabric fabric-piv-table-1 --set expect.loc_p2p_sw='hops > 0' --json >all.json 2>/dev/null
equal "as JSON: exit" $? 0
check "which has every point" python3 -c 'import json; t = json.load(open("all.json"))["tables"]; assert len(t["results"]) == 11 and len(t["transactions"]) == 16'
equal "and says that it is a model's" "$(fabric fabric-piv-table-1 | head -1)" "Results (model)"

cat >two.ini <<'INI'
[host a]
[adapter x]
under = a
[host b]
[adapter y]
under = b
[device d]
under = b
[link c]
between = x y
[transfer t]
from = a
to = d
INI
# refused CODE PATTERN ARGUMENT...
refused() {
	local code=$1 pattern=$2
	shift 2
	"$FAULTLINE" fabric "$@" >out 2>err
	equal "$*: exit" $? "$code"
	check "and why: $pattern" grep -q -- "$pattern" err
	equal "in one sentence" "$(grep -c '^faultline' err)" 1
	check "nothing else is said" test ! -s out
}
check "two hosts: fine" "$FAULTLINE" fabric ./two.ini
refused 2 "no JOB"
refused 3 "unknown job" no-such-job
refused 2 "keys" ./two.ini --keys
refused 2 "no such key" ./two.ini --set x.bars=1G
refused 2 "x.bar=3G: accepted: 1M to 1024G, a power of two" ./two.ini --set x.bar=3G
refused 2 "x.under=b2, which there is not: accepted: a host, or a switch of one" ./two.ini --set x.under=b2
refused 2 "t.from=e: accepted: a host, device or adapter" ./two.ini --set t.from=e
refused 2 "t.via=d: accepted: a host" ./two.ini --set t.via=d
refused 2 "t.through=x d: accepted: names of adapters, up to 6" ./two.ini --set t.through="x d"
refused 2 "t.engine=y: .*no via" ./two.ini --set t.engine=y --set t.via=a
refused 2 "fabric.split=48: accepted: 0 to 4096, a power of two" ./two.ini --set fabric.split=48
refused 2 "run.scenario=u: accepted: the name of a \[transfer\] or \[io\]" ./two.ini --set run.scenario=u
# text LINE PATTERN: two.ini with another line at the end.
text() {
	local pattern=$1
	shift
	{ cat two.ini && printf '%b' "$1"; } >bad.ini
	refused 3 "$pattern" ./bad.ini
}
text "bad.ini:14: \[host d\]: there is \[device d\] at .*bad.ini:7" "[host d]\n"
text "bad.ini:15: between=x y: x has another cable" "[link e]\nbetween = x y\n"
text "bad.ini:14: \[adapter z\] has no cable" "[adapter z]\nunder = a\n"
text "bad.ini:15: under=q, which is under itself" "[switch p]\nunder = q\n[switch q]\nunder = p\n"
text "bad.ini:15: cpu=d: accepted: a host" "[io i]\ncpu = d\ndevice = d\n"
text "bad.ini:14: \[io t\]: there is \[transfer t\]" "[io t]\ncpu = a\ndevice = d\n"
text "bad.ini:14: \[transfer u\]: there is no way from lone to d" "[transfer u]\nfrom = lone\nto = d\n[host lone]\n"
text "bad.ini:14: \[hosts\]: accepted: host, switch" "[hosts c]\n"
sed '/transfer/,$d' two.ini >none.ini
refused 3 "no \[transfer NAME\] and no \[io NAME\]" ./none.ini
sed '/\[host/d' two.ini | sed 's/^under = .*//' >roots.ini
refused 3 "needs under" ./roots.ini
finish
