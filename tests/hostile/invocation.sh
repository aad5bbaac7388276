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
	refused "an empty $option of record" 2 "device: '' matches no device" "$FAULTLINE" record -f ${option%=*} '' --duration 50ms -o good.flt
	refused "an empty $option of timeline" 2 "device: '' matches no device" "$FAULTLINE" timeline ${option%=*} '' good.flt
	refused "an empty $option of top" 2 "device: '' matches no device" "$FAULTLINE" top ${option%=*} '' good.flt -b 1
done
refused "an empty -p of record" 2 "--pid: invalid number ''" "$FAULTLINE" record -f -p '' --duration 50ms -o good.flt
refused "an empty -p of top" 2 "--pid: invalid number ''" "$FAULTLINE" top -p '' good.flt -b 1

refused "--max-size is not blamed for another option" 2 "^faultline: there is no probe 'x'" \
	"$FAULTLINE" record --max-size 1M -o wrong.flt --disable-probe x

# Nobody will ever write into this pipe.
mkfifo pipe
for words in "record -qf --duration 50ms -o good.flt" doctor "doctor --watch 50ms"; do
	# shellcheck disable=SC2086
	refused "${words%% *}: a pipe is no emulator" 2 "--emulator 'pipe': is no regular file" \
		timeout 60 "$FAULTLINE" $words --emulator=pipe
done
# Nor into one that is read: of a job, of objectives, of a recording or of a trace.
for words in "slo good.flt -c pipe" "top -b -i good.flt -c pipe" "top -b -i pipe" "report pipe" "timeline pipe" \
	"footprint pipe" "doctor pipe" "sim ./pipe" "sim --trace pipe" "accesses ./pipe"; do
	# shellcheck disable=SC2086
	timeout -s KILL 60 "$FAULTLINE" $words >out 2>err </dev/null
	equal "$words: a pipe is nothing to wait for" "$? $(grep -cE '^faultline: (\./)?pipe: is a pipe; accepted: ' err)" "3 1"
done
for verb in check run "run --dry-run"; do
	# shellcheck disable=SC2086
	timeout -s KILL 60 "$INJECT" $verb ./pipe >out 2>err </dev/null
	equal "$verb ./pipe: a pipe is nothing to wait for" "$? $(grep -c '^faultline: ./pipe: is a pipe; accepted: a job file$' err)" "3 1"
done
# What cannot be opened or read as a file is an input that is wrong, whatever the verb.
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
for file in socket /proc/self/mem /dev/tty; do
	for words in "top -b -i" report timeline footprint doctor "accesses --trace" "sim --trace"; do
		# shellcheck disable=SC2086
		setsid -w timeout -s KILL 60 "$FAULTLINE" $words $file >out 2>err </dev/null
		equal "$words $file" "$? $(grep -c "^faultline: $file: " err)" "3 1"
	done
done
for verb in "$INJECT run ./job.ini" "$INJECT recover" "$FAULTLINE record -o none.flt" "$FAULTLINE top -b" "$FAULTLINE doctor"; do
	# shellcheck disable=SC2086
	FAULTLINE_RUN_DIR=relative $verb >out 2>err
	equal "${verb##*/} with a relative run directory" "$? $(grep -c '^faultline: FAULTLINE_RUN_DIR=relative: must be' err)" "3 1"
done
# The trace is fine; it is the system that refuses a file to keep it in, or its growth.
for verb in sim accesses; do
	TMPDIR=/nonexistent "$FAULTLINE" $verb --trace good.flt >out 2>err
	equal "$verb without a place for a temporary file" "$? $(grep -c 'temporary file in /nonexistent: No such' err)" "1 1"
	prlimit --fsize=4096 -- "$FAULTLINE" $verb --trace "$root/tests/data/qemu-vtd.log" 2>&1 >/dev/null | cat >err
	equal "$verb whose temporary file cannot grow" "${PIPESTATUS[0]} $(grep -c 'a temporary file of 1 MiB: ' err)" "1 1"
done
printf '[tenant vm]\nmemory = 4M\n[device disk]\nfile_bytes = 2M\n[workload w]\nsizes = 4K\ncount = 200\nrate = 500/s\n[inject c]\naction = evict\npages = 9\nrate = 50/s\nduration = 9s\n' >cold.ini
"$FAULTLINE" record -q --as-root -o cold.flt -- "$INJECT" run ./cold.ini >out
"$FAULTLINE" timeline cold.flt >/dev/full 2>err
equal "timeline says why it cannot print" "$? $(grep -c '^faultline: standard output: cannot be written: No space left on device$' err)" "1 1"
for given in /dev/stdin <(cat job.ini); do
	check "but a descriptor that was given to us is read (${given%%[0-9]*})" timeout -s KILL 60 "$INJECT" check "$given" < <(cat job.ini)
done

mkdir pipes
mkfifo -m 755 pipes/faultline-inject
ln -s "$FAULTLINE" pipes/faultline
(
	mkdir alone
	cp "$FAULTLINE" alone
	PATH=$PWD/pipes:$PATH exec timeout 60 alone/faultline doctor --json >out 2>err
)
equal "nor one in \$PATH" "$? $(grep -o 'no faultline-inject beside this program' out | sort -u | wc -l)" "0 1"

# Sizes that a short cannot hold: 0 is how the program ends, by its own key.
cat >sizes.py <<'PY'
import fcntl, os, pty, select, struct, sys, termios
SIZES = [(24, 65535), (65535, 80), (24, 32768), (32768, 80)]
for first in SIZES:
    child, terminal = pty.fork()
    if not child:
        os.environ["TERM"] = "xterm"
        os.environ.pop("LINES", None), os.environ.pop("COLUMNS", None)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", *first, 0, 0))
        os.execv(sys.argv[1], sys.argv[1:])
    steps = SIZES[:2] + [(24, 80), "q"]
    try:
        # Once something was drawn, and each time that nothing more of it comes, the next step.
        while os.read(terminal, 65536):
            while steps and not select.select([terminal], [], [], 0.3)[0]:
                step = steps.pop(0)
                if step == "q":
                    os.write(terminal, b"q")
                else:
                    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", *step, 0, 0))
    except OSError:
        pass
    print(os.waitpid(child, 0)[1], len(steps), end=" ")
PY
equal "top outlives sizes of any terminal" "$(timeout 300 python3 sizes.py "$FAULTLINE" top -i good.flt)" "$(printf '0 0 %.0s' 1 2 3 4)"

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
