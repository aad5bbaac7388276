#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Pages of an ordinary process are evicted, and every number is held against what the process says
# of itself: its own fault counters, its own page table, mincore(), and its content.
. "$(dirname "$0")/lib.sh"

make -s -C "$root" build/tests/lab/programs/page_target >/dev/null ||
	not_ok "the target program builds"
target_program=$root/build/tests/lab/programs/page_target

# target_start KIND PAGES [FILE]: sets $pid and $address.
target_start() {
	coproc target { exec "$target_program" "$@"; }
	read -r -t 20 address pid <&"${target[0]}"
}
# tell WORD: what the target answers is left in $answer.
tell() {
	echo "$1" >&"${target[1]}"
	read -r -t 60 answer <&"${target[0]}"
}
target_end() {
	local writer=${target[1]}
	exec {writer}>&-
	wait "$pid" 2>/dev/null
}
# evict PAGES OPTION...: so many pages from the target's first on; $table has the rows.
evict() {
	local pages=$1
	shift
	rm -f out.csv
	"$INJECT" pageout -p "$pid" --range "$address+$((pages * 4))K" --yes-i-mean-it "$pid" \
		--csv=out.csv "$@" 2>err
	status=$?
}
# cell COLUMN [KIND]: of the row of that kind, or of the only row.
cell() {
	awk -F, -v column="$1" -v kind="${2:-}" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		kind == "" || $at["kind"] == kind { print $at[column] }' out.csv
}
# adds_up NAME ASKED: every row's asked is evicted + skipped, and these are the sums of outcomes.
adds_up() {
	equal "$1: asked = evicted + skipped, each the sum of its outcomes" "$(awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) { at[$i] = i; if ($i == "to_swap") e = i; if ($i == "unmapped") s = i }; next }
		{
			evicted = skipped = 0
			for (i = e; i < s; i++) evicted += $i
			for (i = s; i <= NF; i++) skipped += $i
			if (evicted != $at["evicted"] || skipped != $at["skipped"]) bad = 1
			asked += $at["asked"]; sum += evicted + skipped
		}
		END { print asked, sum, bad + 0 }' out.csv)" "$2 $2 0"
}

# 1. A file: its clean pages leave memory, and each comes back by one major fault.
target_start file 997 "$scratch/backing"
evict 997 --pattern random --seed 7
equal "file: exit" "$status" 0
adds_up file 997
equal "file: pages evicted" "$(cell evicted)" 997
equal "file: all of them to storage" "$(cell to_storage)" 997
tell present
equal "file: what the process itself sees mapped, and in memory" "$answer" "0 0"
evict 997
equal "file: asked again, none is present" "$(cell absent)" 997
tell read
equal "file: its own minor and major faults" "${answer% * * * *}" "0 997"
equal "file: pages with wrong content" "${answer##* }" 0
# Written to, they stay in the page cache: the kernel leaves writing to others.
tell write
evict 997
equal "dirty file: pages evicted" "$(cell evicted)" 997
equal "dirty file: pages still in the page cache, as mincore says" "$(cell to_page_cache)" \
	"$(tell present; echo "${answer#* }")"
evict 7 --range 0x10000+4K
equal "an address without mapping" "$(cell unmapped unmapped)" 1
adds_up "with an unmapped address" 8

# 2. The pace, exactly.
evict 997 --rate 97/s --duration 1s
equal "97/s for 1 s" "$(awk -F, 'NR > 1 { n += $4 } END { print n }' out.csv)" 97
evict 997 --burst 13 --every 200ms --duration 1s
equal "bursts of 13 each 200 ms for 1 s" "$(awk -F, 'NR > 1 { n += $4 } END { print n }' out.csv)" 65
evict 997 --pattern zipf --rate 1009/s --pages 211
equal "211 pages, zipf" "$(awk -F, 'NR > 1 { n += $4 } END { print n }' out.csv)" 211
adds_up zipf 211
tell lock
evict 53
equal "mlocked pages are skipped as such" "$(cell locked)" 53
target_end

# 3. Shared memory: leaves the page table, stays in memory where there is no swap.
target_start shmem 499
evict 499
adds_up shmem 499
equal "shmem: pages evicted" "$(cell evicted)" 499
tell present
equal "shmem: pages mapped" "${answer% *}" 0
equal "shmem: pages in memory" "${answer#* }" "$(cell to_page_cache)"
tell write
equal "shmem: its own faults" "$(($(cut -d ' ' -f 1 <<<"$answer") + $(cut -d ' ' -f 2 <<<"$answer")))" 499
equal "shmem: wrong content" "${answer##* }" 0

# 4. Consent, and whom it holds for.
"$INJECT" pageout -p "$pid" >out 2>err
equal "without consent: exit" $? 4
check "without consent: the sentence says what to add" grep -q -- "--yes-i-mean-it $pid" err
"$INJECT" pageout -p "$pid" --yes-i-mean-it $$ >out 2>err
equal "consent to another process is none" $? 4
tell present
equal "nothing was evicted without consent" "${answer% *}" 499
"$INJECT" pageout -p "$pid" --dry-run --yes-i-mean-it "$pid" --mapping '*guest*' >out 2>err
equal "dry run: exit" $? 0
check "dry run: names the mapping" grep -q "MADV_PAGEOUT.*shmem.*guest" out
tell present
equal "nothing was evicted by a dry run" "${answer% *}" 499
"$INJECT" pageout -p 2 --yes-i-mean-it 2 >out 2>err
check "a thread of the kernel is refused" grep -q 'no memory of its own\|no process' err
"$INJECT" pageout -d /dev/zero --yes-i-mean-it /dev/zero --dry-run >out 2>err
check "a device that nobody has open is refused" grep -q 'no process has it open' err

# 5. Interrupted, and the process killed meanwhile: the report comes all the same.
"$INJECT" pageout -p "$pid" --range "$address+1996K" --rate 101/s --duration 60s \
	--yes-i-mean-it "$pid" --csv=stopped.csv 2>err &
injector=$!
sleep 1
kill -INT $injector
wait $injector
equal "interrupted: exit" $? 7
mv stopped.csv out.csv
asked=$(awk -F, 'NR > 1 { n += $4 } END { print n }' out.csv)
adds_up interrupted "$asked"
"$INJECT" pageout -p "$pid" --range "$address+1996K" --rate 101/s --duration 60s \
	--yes-i-mean-it "$pid" --csv=killed.csv 2>err &
injector=$!
sleep 0.5
kill -KILL "$pid"
wait $injector
equal "the process is killed: exit" $? 0
mv killed.csv out.csv
adds_up "the process is killed" "$(awk -F, 'NR > 1 { n += $4 } END { print n }' out.csv)"
wait "$pid" 2>/dev/null || true

# 6. Mapped twice, and anonymous.
target_start twice 89
evict 89
equal "mapped twice: skipped as shared" "$(cell shared)" 89
target_end
target_start anonymous 101
evict 101
adds_up anonymous 101
if [ "$(awk '/SwapFree/ { print $2 }' /proc/meminfo)" = 0 ]; then
	equal "anonymous without swap: skipped as such" "$(cell no_swap)" 101
else
	equal "anonymous with swap: evicted" "$(cell evicted)" 101
fi
target_end

# By device: of every process that has it open, and of the emulated machine that has it.
exec 8</dev/full
target_start file 67 "$scratch/backing"
exec 8<&-
rm -f out.csv
"$INJECT" pageout -d /dev/full --mapping '*backing' --yes-i-mean-it /dev/full --csv=out.csv 2>err
equal "by device: exit" $? 0
equal "by device: the process that has it open, its pages" "$(cell pid) $(cell evicted)" "$pid 67"
"$INJECT" pageout -d /dev/full --mapping '*backing' >out 2>err
equal "by device, without consent: exit" $? 4
target_end
cat >machine.ini <<'INI'
[machine]
[tenant vm]
memory = 4M
[device disk]
file_bytes = 4M
[workload mix]
duration = 20s
rate = 100/s
INI
"$INJECT" run machine.ini >machine.out 2>&1 &
machine=$!
wait_for 10 bash -c "ls $FAULTLINE_RUN_DIR/*.machine"
rm -f out.csv
"$INJECT" pageout -d vm/disk --csv=out.csv 2>err
equal "by emulated device: no consent is needed" $? 0
equal "by emulated device: of its guest memory, mapped twice" "$(cell kind | sort -u)" shmem
adds_up "by emulated device" "$(awk -F, 'NR > 1 { n += $4 } END { print n }' out.csv)"
kill -INT $machine
wait $machine

# 7. The recorder sees exactly these faults; what it started needs no consent.
rm -f run.flt
target_start file 211 "$scratch/backing"
"$FAULTLINE" record -p "$pid" -q -o run.flt 2>record.err &
recorder=$!
wait_for 20 test -s run.flt
sleep 1
evict 211
tell read
kill -INT $recorder
wait $recorder
equal "the recording ended well" $? 0
equal "major faults of the process" "$(cut -d ' ' -f 2 <<<"$answer")" "$(cell evicted)"
first=$((address))
equal "faults within the range, as recorded" "$(PYTHONPATH=$root/tests/reference /usr/bin/python3 - "$pid" "$first" "$(kind_number CPU_FAULT)" <<'PY'
import sys
import flt_read
pid, first, cpu_fault = map(int, sys.argv[1:])
print(sum(1 for name, fields in flt_read.read("run.flt")
          if name == "event" and fields[10] == cpu_fault and fields[8] == pid
          and first <= fields[1] < first + 211 * 4096))
PY
)" 211
target_end
cat >started.sh <<'SH'
exec "$1" shmem 31 <fifo >target.out
SH
mkfifo fifo
"$FAULTLINE" record -q -o started.flt --as-root -- bash started.sh "$target_program" 2>record.err &
recorder=$!
exec 9>fifo
wait_for 20 test -s target.out
read -r address pid <target.out
rm -f out.csv
"$INJECT" pageout -p "$pid" --range "$address+124K" --csv=out.csv 2>err
equal "started by faultline: no consent is needed" $? 0
equal "started by faultline: pages evicted" "$(cell evicted)" 31
exec 9>&-
wait $recorder
finish
