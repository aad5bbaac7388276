#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Whatever a process is not given - files, memory, stack, room, the kernel's consent to any one call of
# bpf(2) - it ends with a sentence and a typed code, never by a signal; a limit that can be raised is.
. "$(dirname "$0")/../e2e/lib.sh"

# survives NAME COMMAND...: it works, or the system's refusal is said in a sentence.
survives() {
	local name=$1 code
	shift
	rm -f limited.flt
	"$@" 2>&1 >/dev/null | cat >err # a pipe: what is said is no file of limited size
	code=${PIPESTATUS[0]}
	case $code in
	0 | 5) ok "$name" ;;
	1 | 4) equal "$name: a sentence" "$(tail -n 1 err | grep -c '^faultline: ..*')" 1 ;;
	*) not_ok "$name" "exit $code: $(tail -n 1 err)" ;;
	esac
}
quick=("$FAULTLINE" record -q --duration 20ms -o limited.flt)
# Who may raise every limit meets none of files.
poor=(setpriv --bounding-set -sys_resource --inh-caps -sys_resource)

need=''
for files in 5 40 100 150 200; do
	rm -f limited.flt
	"${poor[@]}" prlimit --nofile=$files -- "${quick[@]}" >out 2>err
	equal "$files open files: refused" "$?" 1
	read -r need allowed < <(sed -nE 's/^faultline: .* up to ([0-9]+) open files, and ([0-9]+) are allowed.*/\1 \2/p' err)
	equal "$files open files: the sentence names need and limit" "$((need > files)) $allowed" "1 $files"
	equal "$files open files: nothing is left" "$(ls -d limited* 2>/dev/null)" ""
done
"${poor[@]}" prlimit --nofile="$need" -- "${quick[@]}" 2>err
equal "what was said to be needed suffices" "$(($? % 5)) $(cat err)" "0 "
rm -f limited.flt
prlimit --nofile=64:4096 -- "$FAULTLINE" record -q -o limited.flt -- sh -c 'ulimit -S -n; ulimit -H -n' >out 2>err
equal "a soft limit is raised" "$(($? % 5)) $(cat err)" "0 "
equal "and not for the command" "$(xargs <out)" "64 4096"
if setpriv --dump | grep -q '^Capability bounding set:.*sys_resource'; then
	survives "a hard limit is raised by who may" prlimit --nofile=100 -- "${quick[@]}"
	check "so that nothing is missing" test -s limited.flt
fi

limits=(as=16000000 as=48000000 as=200000000 data=1000000 data=8000000 stack=32000 stack=131072
	fsize=0 fsize=100 fsize=4096 nproc=0 memlock=0 sigpending=0 msgqueue=0)
[ "${HOSTILE:-}" != long ] || limits+=(nofile={4..120..4} as={12..256..6}000000 data={1..128..3}000000
	stack={32..512..16}000 fsize={1..20000..777} nproc={1..6} core=0 rss=0 locks=0 nice=0 rtprio=0 rttime=1)
for limit in "${limits[@]}"; do
	# The loader's own end: of programs that have more libraries than there is room for.
	prlimit "--$limit" -- "$FAULTLINE" --version >/dev/null 2>&1
	[ $? -ne 127 ] || continue
	survives "record with $limit" prlimit "--$limit" -- "${quick[@]}"
done
for limit in as=48000000 data=8000000 stack=32000 fsize=0 nofile=40; do
	survives "doctor with $limit" prlimit "--$limit" -- "$FAULTLINE" doctor
	survives "top with $limit" prlimit "--$limit" -- "$FAULTLINE" top -b 0.1 1
	survives "an injector with $limit" prlimit "--$limit" -- "$INJECT" check demo
done
prlimit --stack=32000 -- "$FAULTLINE" --version >out 2>err
equal "a stack that is too small names need and limit" "$? $(grep -c '262144 bytes is needed, and 32000 are allowed (RLIMIT_STACK)' err)" "1 1"

# CPU time: what works is made to end, the one way or the other, and nobody is killed.
said() { grep -c '^faultline: the limit of CPU time was reached (RLIMIT_CPU); raise it: ulimit -t$' err; }
busy=("$FAULTLINE" sim --preset base --tenants 1024 --set trace.packets=100000000 -j 2)
for cpu in 1:60 2:2; do
	prlimit --cpu=$cpu -- "${busy[@]}" >out 2>err
	equal "CPU time $cpu: a sentence" "$? $(said)" "1 1"
done
printf '[tenant vm]\nmemory = 8M\n[device disk]\nfile_bytes = 4M\n[workload w]\nsizes = 4K\nduration = 3600s\n' >job.ini
prlimit --cpu=1:60 -- "$INJECT" run ./job.ini >out 2>err
equal "CPU time of a machine: undone" "$? $(said) $(grep -c 'everything injected is undone' err) $(ls "$FAULTLINE_RUN_DIR" | grep -c machine)" "7 1 1 0"
for end in 0 7; do
	command=()
	[ $end -eq 0 ] || command=(-- sleep 600)
	rm -f run.flt record.err # what the one before said
	"$FAULTLINE" record -o run.flt "${command[@]}" 2>record.err &
	record_pid=$!
	wait_for 20 grep -q recording record.err && kill -XCPU $record_pid
	wait $record_pid
	equal "CPU time of a recorder: ended in order, with ${command[1]:-nothing else}" \
		"$? $(tail -n 1 record.err | grep -c RLIMIT_CPU) $("$FAULTLINE" report run.flt >/dev/null 2>&1; echo $(($? % 5)))" "$end 1 0"
done

# The kernel refuses one call of bpf(2), or all from that one on.
calls=(EINVAL/{1,30,60,130,200,260}+ EMFILE/{150,180,230}+ EPERM/140+ EINVAL/{120,170} ENOMEM/{50,190})
[ "${HOSTILE:-}" != long ] ||
	calls=({EINVAL,EPERM,ENOMEM,EMFILE,EBUSY,ENOSPC,E2BIG,EOPNOTSUPP}/{{1..400..13},{1..400..13}+})
for call in "${calls[@]}"; do
	survives "bpf(2) says ${call%/*} at call ${call#*/}" strace -f -qq -o /dev/null -e trace=bpf \
		-e "inject=bpf:error=${call%/*}:when=${call#*/}" "${quick[@]}"
done
rm -f limited.flt
strace -f -qq -o /dev/null -e trace=bpf -e inject=bpf:error=EINVAL:when=1+ "${quick[@]}" 2>err
equal "what the kernel refuses is no wrong usage" "$? $(grep -c 'creating an event ring.*Invalid argument' err)" "1 1"
finish
