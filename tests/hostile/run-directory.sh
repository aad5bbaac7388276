#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A run directory that is not root's alone is believed in nothing, and said; a umask that takes everything away
# takes nothing from us; and a command that we start gets umask and signals as we got them.
own_mounts=yes
. "$(dirname "$0")/../e2e/lib.sh"
printf '[tenant vm]\nmemory = 4M\n[device disk]\nfile_bytes = 2M\n[workload w]\nsizes = 4K\ncount = 20\n' >machine.ini
not_ours='must be a directory, no link, of root with mode 0700'

foreign() { case $1 in
	other) mkdir -m 700 "$FAULTLINE_RUN_DIR" && chown 65534 "$FAULTLINE_RUN_DIR" ;;
	link) mkdir -m 700 "$scratch/elsewhere" && ln -s "$scratch/elsewhere" "$FAULTLINE_RUN_DIR" ;;
	file) : >"$FAULTLINE_RUN_DIR" ;;
	open) mkdir "$FAULTLINE_RUN_DIR" && chmod 777 "$FAULTLINE_RUN_DIR" ;;
	unusable) mkdir -m 0 "$FAULTLINE_RUN_DIR" ;;
	esac }
# says NAME CODE COMMAND...: the sentence, once.
says() {
	local name=$1 code=$2
	shift 2
	"$@" >out 2>err
	equal "$name" "$? $(cat out err | grep -c "$FAULTLINE_RUN_DIR: $not_ours")" "$code 1"
}
for kind in other link file open unusable; do
	check "$kind: is there" foreign $kind
	before=$(stat -c '%f %u %g %s %Z' "$FAULTLINE_RUN_DIR")
	rm -f x.flt
	says "$kind: record" 0 "$FAULTLINE" record -q --duration 20ms -o x.flt
	says "$kind: top" 0 "$FAULTLINE" top -b 0.1 1
	says "$kind: recover" 4 "$INJECT" recover
	says "$kind: run" 4 "$INJECT" run machine.ini
	"$FAULTLINE" doctor --json >out 2>err
	check "$kind: doctor" grep -q "$not_ours" out
	equal "$kind: is as it was" "$(stat -c '%f %u %g %s %Z' "$FAULTLINE_RUN_DIR")" "$before"
	equal "$kind: nothing is in it" "$(ls -A "$FAULTLINE_RUN_DIR/" 2>/dev/null)" ""
	rm -rf "$FAULTLINE_RUN_DIR" elsewhere
done

# It is root's, and has no room for one more file.
mkdir "$FAULTLINE_RUN_DIR" && mount -t tmpfs -o nr_inodes=1,mode=700 none "$FAULTLINE_RUN_DIR" || not_ok "full: is there"
for words in "record -q --duration 20ms -o z.flt" "top -b 0.1 1"; do
	# shellcheck disable=SC2086
	"$FAULTLINE" $words >out 2>err
	equal "full: ${words%% *}" "$? $(grep -c "$FAULTLINE_RUN_DIR/.*: cannot create it: No space left on device; .* that end before they are met are not counted" err)" "0 1"
done
umount "$FAULTLINE_RUN_DIR" && rmdir "$FAULTLINE_RUN_DIR"

# Another directory than the usual one is named on purpose: that it cannot be had is told.
FAULTLINE_RUN_DIR=relative
for words in "$FAULTLINE record -q --duration 20ms -o y.flt" "$FAULTLINE top -b 0.1 1" "$FAULTLINE doctor" "$INJECT run machine.ini"; do
	# shellcheck disable=SC2086
	$words >out 2>err
	equal "relative: ${words#"$scratch"/bin/}" "$? $(grep -c 'FAULTLINE_RUN_DIR=relative: must be an absolute path' err)" "3 1"
done
equal "relative: nothing was made" "$(ls -d relative y.flt 2>/dev/null)" ""
FAULTLINE_RUN_DIR=$scratch/none/where
for words in "record -q --duration 20ms -o y.flt" "top -b 0.1 1"; do
	# shellcheck disable=SC2086
	"$FAULTLINE" $words >out 2>err
	equal "missing: ${words%% *}" "$? $(grep -c "$scratch/none/where: .*; emulated machines are not met: their names and I/Os are not seen" err)" "0 1"
done
for given in "$FAULTLINE_RUN_DIR" "$scratch/none/where//"; do
	FAULTLINE_RUN_DIR=$given "$FAULTLINE" doctor --csv=- --table host 2>err | grep '^machines,' >out
	equal "missing: doctor names what is missing, and the remedy" \
		"$(grep -c "^machines,missing,$given: cannot be made: there is no $scratch/none/," out)" 1
done
mkdir none
check "missing: but its folder, and there may be machines yet" \
	grep -q '^machines,ok,0 emulated machines in ' <("$FAULTLINE" doctor --csv=- --table host 2>/dev/null)
rmdir none
FAULTLINE_RUN_DIR=/run/faultline-$suite.$$

for mask in 777 277; do
	rm -rf x.flt x.csv "$FAULTLINE_RUN_DIR"
	(
		umask $mask
		"$FAULTLINE" record -q -o x.flt -- sh -c 'umask; sed -n s/^SigIgn://p /proc/self/status' >out 2>err
		echo $? >code
		"$INJECT" run machine.ini --csv=x.csv >>out 2>>err
		echo $? >>code
		"$INJECT" recover >>out 2>>err
		echo $? >>code
	)
	chmod 600 out err code
	equal "umask $mask: all ends well" "$(xargs <code) $(cat err)" "0 0 0 "
	equal "umask $mask: modes" "$(stat -c %a x.flt x.csv "$FAULTLINE_RUN_DIR" | xargs)" "600 600 700"
	equal "umask $mask: is the command's" "$(sed -n 1p out)" "0$mask"
	# Bit 24 is SIGXFSZ, 12 is SIGPIPE.
	equal "umask $mask: the command ignores no more than we do" "$((0x$(sed -n '2s/[^0-9a-f]*\([0-9a-f]*\)$/\1/p' out) & 0x1001000))" 0
done
finish
