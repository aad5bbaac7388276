#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# However the programs are started - standard descriptors closed, an empty pattern, a command that is no
# program - no recording is spoilt and none is replaced by what cannot be one.
. "$(dirname "$0")/../e2e/lib.sh"

# closed DESCRIPTORS COMMAND...: without these of the standard descriptors.
closed() {
	local which=$1
	shift
	(
		[[ $which != *0* ]] || exec 0<&-
		[[ $which != *2* ]] || exec 2>&-
		[[ $which != *1* ]] || exec 1>&-
		exec "$@"
	)
}

for which in 0 1 2 12 012; do
	rm -f closed.flt
	closed $which "$FAULTLINE" record --duration 50ms -o closed.flt >/dev/null 2>err
	equal "record without descriptors $which" "$(($? % 5)) $("$FAULTLINE" report closed.flt >/dev/null 2>&1; echo $(($? % 5)))" "0 0"
	equal "and no sentence lands in the recording" "$(grep -ac 'recording into\|I/O page faults\|nothing lost' closed.flt)" 0
done
# The command's own descriptors are as closed as ours were.
closed 012 "$FAULTLINE" record -qf -o closed.flt -- sh -c 'echo word || echo "closed $$" >told'
equal "a command writes into no file of ours" "$(cut -d ' ' -f 1 told) $(grep -ac word closed.flt)" "closed 0"
closed 1 "$FAULTLINE" report closed.flt 2>err
equal "what cannot be printed is told" "$? $(grep -c '^faultline: standard output: cannot be written' err)" "1 1"
closed 12 "$INJECT" check demo
equal "an injector without them" "$?" 1

printf '[tenant vm]\nmemory = 4M\n[device disk]\nfile_bytes = 2M\n[workload w]\nsizes = 4K\ncount = 20\n' >job.ini
closed 02 "$INJECT" run ./job.ini >out
equal "a run without them" "$? $(test -s out && echo told)" "0 told"

"$FAULTLINE" record -q --duration 50ms -o good.flt
before=$(md5sum <good.flt)
refused() { # NAME CODE PATTERN COMMAND...
	local name=$1 code=$2 pattern=$3
	shift 3
	"$@" >out 2>err </dev/null
	equal "$name" "$(grep -cE "^($code)$" <<<$?) $(grep -cE -e "$pattern" err)" "1 1"
}
for option in -d --device=; do
	refused "an empty $option of record" 2 "device: '' fits no device" "$FAULTLINE" record -f ${option%=*} '' --duration 50ms -o good.flt
	refused "an empty $option of timeline" 2 "device: '' fits no device" "$FAULTLINE" timeline ${option%=*} '' good.flt
	refused "an empty $option of top" 2 "-d: '' fits no device" "$FAULTLINE" top ${option%=*} '' good.flt -b 1
done
refused "an empty -p of record" 2 "pid: ''" "$FAULTLINE" record -f -p '' --duration 50ms -o good.flt
refused "an empty -p of top" 2 "p: ''" "$FAULTLINE" top -p '' good.flt -b 1

# What the kernel does not run is not handed to a shell.
printf 'touch ran\n' >text
printf '\177ELF\002\001\001' >elf
head -c 4096 /dev/zero | tr '\0' '\252' >noise
printf '#!/nowhere/interpreter\n' >script
chmod +x text elf noise script
mkdir -p directory path/sleep
for file in ./text ./elf ./noise ./script ./directory ./missing nosuchcommand; do
	refused "a command that is no program: $file" "[14]" "^faultline: $file: " "$FAULTLINE" record -f -o good.flt -- "$file"
done
equal "no shell ran it" "$(ls ran 2>/dev/null)" ""
equal "the recording that was there is there" "$(md5sum <good.flt)" "$before"
PATH=$PWD/path:$PATH "$FAULTLINE" record -qf -o good.flt -- sleep 0.01
equal "a directory of that name in \$PATH is no command" "$?" 0
finish
