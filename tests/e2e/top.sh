#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The live view as a user sees it: in a terminal (tmux), of several sizes, with every key, while an
# emulated machine faults; and batch output beside it. Numbers on the screen are compared with the
# machine's own truth.
. "$(dirname "$0")/lib.sh"

if ! command -v tmux >/dev/null; then
	not_ok "live view in a terminal" "no tmux: tests/setup.sh check installs it"
	finish
fi
export LC_ALL=C.UTF-8
server=faultline-top-$$
tmux() { command tmux -L "$server" -f /dev/null "$@"; }
cleanup() {
	tmux kill-server 2>/dev/null
	[ -n "${machine-}" ] && kill "$machine" 2>/dev/null
	rm -rf --one-file-system "$scratch"
}
trap cleanup EXIT

# machine DURATION: 2 tenants; vm0 loses a page 97 times a second, vm1 is left in peace.
machine_job() {
	cat >machine.ini <<INI
[tenant vm]
count = 2
memory = 16M
[device disk]
queues = 2
file_bytes = 16M
[workload mix]
sizes = 4K
depth = 2
rate = 500/s
duration = $1
[inject cold]
action = evict
device = vm0/disk
what = next
kind = major
rate = 97/s
duration = $1
INI
}

# A terminal with a shell in it; what it shows, and what is typed into it.
terminal() { # NAME COLUMNS ROWS
	tmux new-session -d -s "$1" -x "$2" -y "$3" \
		"env -i PATH=$PATH HOME=/root TERM=screen-256color LC_ALL=C.UTF-8 \
		FAULTLINE_RUN_DIR=$FAULTLINE_RUN_DIR PS1='ready> ' bash --norc"
	wait_for 5 shows "$1" 'ready>'
}
screen() { tmux capture-pane -p -t "$1"; }
shows() { screen "$1" | grep -qE -- "$2"; }
lacks() { ! shows "$@"; }
type_keys() { # NAME KEY...
	local name=$1
	shift
	tmux send-keys -t "$name" "$@"
}
# What is typed before the shell is back may be lost in the change of the terminal's modes.
run_in() {
	wait_for 6 shows "$1" 'ready> *$'
	type_keys "$1" "$2" Enter
}

# sees NAME TERMINAL PATTERN: within a few seconds the terminal shows the pattern.
sees() {
	if wait_for 6 shows "$2" "$3"; then
		ok "$1"
	else
		not_ok "$1" "no /$3/ on the screen"
		screen "$2" | sed 's/^/    /'
	fi
}
process_in() { # the faultline in a terminal
	local pane
	pane=$(tmux list-panes -t "$1" -F '#{pane_pid}')
	pgrep -P "$pane" -f "$FAULTLINE top" | head -n 1
}
# A terminal is restored if its modes are, its cursor is visible and the first screen is back.
restored() { # NAME TERMINAL
	run_in "$2" 'stty -a > after; echo rc=$?'
	wait_for 5 shows "$2" 'rc=0'
	if cmp -s before after && [ "$(tmux display -p -t "$2" '#{alternate_on} #{cursor_flag}')" = "0 1" ]; then
		ok "$1"
	else
		not_ok "$1" "$(tmux display -p -t "$2" 'alternate=#{alternate_on} cursor=#{cursor_flag}') $(diff before after)"
	fi
	type_keys "$2" clear Enter
	wait_for 5 bash -c "! tmux -L $server capture-pane -p -t $2 | grep -q rc="
}

# Others may be tracing on this host: only programs that were not there before and stay count.
programs_before=$(orphaned_programs)
terminal main 80 24
run_in main "cd $scratch; stty -a > before; clear"

# 1. Nothing to see is an answer, and costs next to nothing.
run_in main "$FAULTLINE top"
sees "without devices the screen says what watches" main 'No I/O page fault and no device in'
sees "loss, own CPU and memory are on screen" main 'lost 0 .*self +[0-9.]+% +[0-9.]+M'
idle=$(process_in main)
# utime + stime in ticks of 10 ms
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
from=$(ticks "$idle")
sleep 5
percent=$((($(ticks "$idle") - from) / 5))
if [ "$percent" -lt 3 ]; then
	ok "idle it takes less than 3% of a CPU ($percent%)"
else
	not_ok "idle it takes less than 3% of a CPU" "$percent%"
fi

# 2. A machine that starts later is seen; a second top and a recorder run beside it.
machine_job 10s
"$FAULTLINE" top --csv 1 >batch.csv 2>batch.err &
batch=$!
wait_for 5 test -s batch.csv
"$INJECT" run --truth truth.jsonl machine.ini >inject.out 2>inject.err &
machine=$!
sees "the faulting device comes first, with its rate" main '^vm0/disk +vm0 +[0-9.]+ +[0-9]+ +[0-9.]+[mun]s'
sees "the quiet device is listed, too" main '^vm1/disk +vm1 +0 +'
wait "$machine"
status=$?
machine=
equal "the machine ended well" "$status" 0
sleep 2.5
kill -INT "$batch"
wait "$batch"
equal "batch ends well on Ctrl-C" "$?" 0

# 3. Its numbers are the truth's: every fault, once.
faults=$(grep -c '"what":"detect"' truth.jsonl)
screen main >final
shown=$(awk '$1 == "vm0/disk" { print $4 }' final)
equal "the screen's total is the truth's" "$shown" "$faults"
equal "the batch's total is the truth's" \
	"$(awk -F, '$2 == "vm0/disk" { total = $5 } END { print total }' batch.csv)" "$faults"
check "batch CSV is a rectangle of numbers" python3 - <<'PY'
import csv
rows = list(csv.DictReader(open("batch.csv", newline="")))
assert rows and all(None not in row and None not in row.values() for row in rows)
assert {row["device"] for row in rows} >= {"all", "vm0/disk", "vm1/disk"}
assert all(float(row["lost_events"]) == 0 for row in rows)
PY

# 4. Keys.
type_keys main Home Enter
sees "Enter shows the stages of a device" main '^resolve +[0-9]+ +[0-9.]+[mun]s'
sees "its last faults are listed" main '^[0-9:.]{12} +[0-9a-f]+ +[01] [-R][-W][-M]'
sees "loss is on the detail screen" main 'lost 0 '
type_keys main '?'
sees "? explains the keys" main 'PgDn'
sees "loss is on the help screen" main 'lost 0 '
type_keys main q
sees "q goes back to the details" main '^resolve'
type_keys main Escape
sees "Escape goes back to the devices" main '^DEVICE'
type_keys main S
sees "S sorts by the column before" main 'sort name'
type_keys main r
sees "r reverses" main 'sort name \(reversed\)'
equal "the order is reversed" "$(screen main | grep -o '^vm[01]/disk' | head -n 1)" "vm1/disk"
type_keys main s /
sees "/ asks for a filter" main '^filter: _'
type_keys main vm1
sees "the filter hides the others while it is typed" main '^filter: vm1_'
equal "only one device is left" "$(screen main | grep -c '^vm[01]/disk')" 1
type_keys main Escape
# Views: each has its own rows, totals and number; the finding and the loss stay.
sees "the worst finding is told in a sentence" main '^LOOK: vm0/disk: [0-9]+ faults within a second at '
for view in "2 iommu:No unrecoverable IOMMU fault" "3 dma:No DMA mapping|^DEVICE +DRIVER" \
	"4 vfio:No VFIO container" "5 rdma:No RDMA on-demand paging" "6 nic:No ring of a NIC" "7 qp:No queue pair" "8 lent:No lent device" "9 pins:Nothing is told of memory registered"; do
	type_keys main Tab
	sees "Tab shows view ${view%%:*}" main "\\[${view%%:*} [-0-9.kMG]+\\]"
	sees "with its own rows" main "${view#*:}"
	sees "and the finding and loss" main 'lost 0 '
	equal "one finding on it" "$(screen main | grep -c '^LOOK: vm0/disk: ')" 1
done
type_keys main Tab
sees "Tab leads back to the faults" main '\[1 faults [0-9]+\]'
type_keys main BTab
sees "Shift-Tab goes the other way" main '\[9 pins [-0]\]'
type_keys main 1
sees "a number goes to its view" main '^vm0/disk '
sees "latencies are of the window" main 'times over 10s'
# The machine ended longer ago than the window: it has no latency, its faults had.
sees "the window has no fault any more" main "^vm0/disk +vm0 +0 +$faults +- +- +- -"
type_keys main w
sees "w shows them since the start" main 'times since start'
sees "where the faults are" main "^vm0/disk +vm0 +0 +$faults +[0-9.]+[mun]s +[0-9.]+[mun]s"
type_keys main w
type_keys main p
sees "p pauses" main 'PAUSED'
paused=$(screen main | head -n 1)
sleep 1.5
equal "a paused screen stands still" "$(screen main | head -n 1)" "$paused"
type_keys main p +
sees "+ makes the interval longer" main 'every 2s'
type_keys main -

# 5. Sizes, while it runs.
for size in "40 10" "120 40" "200 60" "80 24"; do
	read -r columns rows <<<"$size"
	tmux resize-window -t main -x "$columns" -y "$rows"
	sees "at ${columns}x$rows device, loss and own cost are shown" main 'vm0/disk'
	equal "nothing wraps at ${columns}x$rows" "$(screen main | grep -c 'DEVICE')" 1
	type_keys main Tab
	sees "the next view fits ${columns}x$rows" main 'unrecoverable IOMMU fault'
	type_keys main BTab
	sees "loss at ${columns}x$rows" main 'lost 0 +.*self [0-9.]+%'
done
tmux resize-window -t main -x 41 -y 11
sees "at 41x11 what is left out is marked" main '>$'
sees "at 41x11 the worst finding is there" main '^(BAD|LOOK): |fault took|finding'
tmux resize-window -t main -x 20 -y 4
sees "a tiny terminal is told so" main '^terminal too small$'
tmux resize-window -t main -x 10 -y 3
sees "a tinier one in whole words" main '^too small$'
tmux resize-window -t main -x 80 -y 24
sees "and comes back" main '^vm0/disk'

# 6. Stopped and continued.
type_keys main C-z
sees "Ctrl-Z gives the terminal back" main 'Stopped'
equal "the first screen is back while it is stopped" "$(tmux display -p -t main '#{alternate_on}')" 0
type_keys main fg Enter
sees "fg brings the screen back" main '^vm0/disk'

kill -STOP "$(process_in main)"
sees "a hard stop gives the shell back" main 'Stopped'
type_keys main fg Enter
sees "fg repaints what the shell wrote over" main '^vm0/disk'
# What the shell wrote stands among rows that were there before: they say nothing of the repainting.
check "nothing of the shell is left" wait_for 6 lacks main 'Stopped'
type_keys main h
sees "keys work after it" main 'PgDn'
type_keys main q

# 7. Every way out restores the terminal.
type_keys main q
sees "q quits" main 'ready> *$'
restored "q restores the terminal" main
for signal in TERM INT HUP QUIT; do
	run_in main "$FAULTLINE top"
	sees "it starts again" main '^faultline top'
	kill -"$signal" "$(process_in main)"
	wait_for 5 bash -c "! pgrep -P $(tmux list-panes -t main -F '#{pane_pid}') >/dev/null"
	restored "SIG$signal restores the terminal" main
done
run_in main "$FAULTLINE top -i /nonexistent; echo status=\$?"
sees "an error is one sentence on a sane terminal" main '^faultline: /nonexistent.*'
restored "an error leaves the terminal as it was" main
terminal killed 80 24
run_in killed "$FAULTLINE top"
sees "it starts in another terminal" killed '^faultline top'
kill -KILL "$(process_in killed)"
check "SIGKILL leaves no BPF program" wait_for 5 programs_gone
tmux kill-session -t killed

# 8. Colour only where wanted; keys although stdin is taken.
run_in main "NO_COLOR=1 $FAULTLINE top"
sees "it runs without colour" main 'lost 0'
if command tmux -L "$server" capture-pane -e -p -t main | grep -qE $'\033\\[[0-9;]*3[0-7]m'; then
	not_ok "NO_COLOR is honoured" "colour on the screen"
else
	ok "NO_COLOR is honoured"
fi
type_keys main q
run_in main "$FAULTLINE top </dev/null"
sees "it draws although stdin is no terminal" main '^faultline top'
type_keys main h
sees "keys come from the terminal then" main 'PgDn'
type_keys main Q
run_in main "TERM=nonsense $FAULTLINE top; echo status=\$?"
sees "an unknown terminal is named" main 'TERM=nonsense: '
sees "with a typed status" main 'status=1'

# 9. Batch.
check "JSON parses" bash -c "'$FAULTLINE' top --json 0.2 3 | python3 -m json.tool"
for view in faults iommu dma vfio rdma nic qp lent pins; do
	check "view $view as JSON parses" bash -c \
		"'$FAULTLINE' top --json --view $view 0.2 2 | python3 -m json.tool"
	check "view $view as CSV is a rectangle with its loss" bash -c \
		"'$FAULTLINE' top --csv --view $view 0.2 2 | python3 -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
assert len(rows) >= 2 and all(None not in row.values() for row in rows)
assert all(row[\"lost_events\"] == \"0\" and row[\"time\"] for row in rows)'"
	check "view $view as text fits 80 columns" bash -c \
		"'$FAULTLINE' top -b --view $view 0.2 2 | awk 'length > 80 { exit 1 } END { exit NR < 4 }'"
done
check "text fits 80 columns" bash -c "'$FAULTLINE' top -b 0.2 2 | awk 'length > 80 { exit 1 }'"
check "a reader that goes away ends it" bash -c "'$FAULTLINE' top -b 0.2 500 | head -n 1; [ \${PIPESTATUS[0]} -eq 141 ]"
"$FAULTLINE" top -b 1 100 >/dev/null &
batch=$!
sleep 1.5
kill -TERM "$batch"
wait "$batch"
equal "stopped before its count is a status of its own" "$?" 7
# The checkout may lie where nobody else may look.
chmod 755 "$scratch"
cp "$FAULTLINE" faultline
setpriv --reuid=65534 --regid=65534 --clear-groups ./faultline top -b 1 1 >out 2>err
equal "without privileges the status says so" "$?" 4
equal "and one sentence does" "$(grep -c '^faultline: ' err) $(wc -l <err)" "1 1"

check "no BPF program is left" wait_for 5 programs_gone
tmux kill-server
finish
