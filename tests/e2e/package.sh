#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What puts Faultline onto a host: `make install` and `uninstall`, pages and completion that a new verb gets by itself,
# the static program in a root of its own. FACE=full: Debian packages, built from `git archive`, judged by lintian,
# installed, upgraded and purged in a clean root (tests/package/root.sh); the static program in the lab's kernels.
own_mounts=yes
. "$(dirname "$0")/lib.sh"

make_quietly() { make -s -C "$root" "$@" >make.out 2>&1; }
installed() { (cd "$1" && find . -mindepth 1 \( -type f -printf '%p %m %s\n' -o -printf '%p %m\n' \) | LC_ALL=C sort); }

# Both programs, as a folder for pages.py, with a verb and an option that are new.
stand_ins() {
	mkdir -p newer
	cp "$FAULTLINE" newer/real
	ln -s "$INJECT" newer/faultline-inject
	cat >newer/faultline <<-'END'
		#!/bin/bash
		real=$(dirname "$0")/real
		case $* in
		--help-table) "$real" --help-table && printf 'brandnew\tdoes what nobody knew\n' ;;
		'brandnew --help-table') cat <<JSON ;;
		{"name": "faultline brandnew", "arguments": "FILE", "before": "Text. More.", "after": "EXAMPLES:\n  faultline brandnew x\n",
		 "options": [{"name": "colour", "key": "c", "value": "NAME", "optional": false, "help": "Of it", "choices": ["red", "green"],
		 "group": 0}]}
		JSON
		*) exec -a faultline "$real" "$@" ;;
		esac
	END
	chmod +x newer/faultline
}

make_quietly pages static || not_ok "everything is built" "$(tail -n 3 make.out)"
programs=(faultline faultline-inject)

# A new verb.
stand_ins
"$root/docs/man/pages.py" made/man newer 2026-11-26 2>pages.err && "$root/docs/man/completions.py" made newer 2>>pages.err
equal "pages and completion are made of a newer program" $? 0
check "a new verb has a page" grep -qx '.Nd does what nobody knew' made/man/faultline-brandnew.1
check "with its option" grep -qx '.It Fl c , -colour Ar name' made/man/faultline-brandnew.1
check "and its example" grep -qx 'faultline brandnew x' made/man/faultline-brandnew.1
check "it is in the page of the program" grep -qx '.Xr faultline-brandnew 1 .' made/man/faultline.1
equal "mandoc has no word to say of it" "$(mandoc -T lint -W warning made/man/faultline-brandnew.1 made/man/faultline.1 2>&1)" ""
check "bash knows what its option takes" grep -q "brandnew --colour.*words='red green'" made/bash/faultline
check "so does zsh" grep -q -- '--colour=.*(red green)' made/zsh/_faultline
equal "a page of a verb that is gone is told" "$(cp -r "$root/docs/man" man && touch man/faultline-gone.mdoc &&
	man/pages.py other "$root" 2>&1)" "faultline-gone.mdoc: no program has such a verb"

# Install and uninstall.
mkdir empty
make_quietly install DESTDIR="$PWD/empty" PREFIX=/opt/fl || not_ok "make install" "$(tail -n 3 make.out)"
there=$PWD/empty/opt/fl
LC_ALL=C sort "$there/share/faultline/installed" >listed
find empty -mindepth 1 -printf '/%P\n' | LC_ALL=C sort >found
check "its list is what it has put there" cmp listed found
for program in "${programs[@]}"; do
	equal "$program is there" "$("$there/bin/$program" --version)" "$program 0.1.0"
done
equal "they find their jobs" "$("$there/bin/faultline-inject" list | wc -l)" "$(find "$root/injectors/jobs" -name '*.ini' | wc -l)"
for program in "${programs[@]}"; do
	verbs=$("$there/bin/$program" --help-table | tail -n +2 | cut -f 1)
	for verb in $verbs; do
		man -M "$there/share/man" -w "$program-$verb" >/dev/null 2>&1 || echo "$verb"
	done >missing
	equal "every verb of $program has a page that man finds" "$(cat missing)" ""
done
make_quietly install DESTDIR="$PWD/empty" PREFIX=/opt/fl
make_quietly uninstall DESTDIR="$PWD/empty" PREFIX=/opt/fl
equal "uninstall takes all of it away, also after a second install" "$(installed empty)" ""

(cd "$root" && exec packaging/install.sh install "$scratch/interrupted" /usr/local . build/made) >install.out 2>&1 &
installing=$!
wait_for 20 test -e interrupted/usr/local/share/man/man1/faultline.1
kill -KILL $installing
wait $installing 2>/dev/null
check "an install that is killed has put something" test -e interrupted/usr/local/bin/faultline
make_quietly uninstall DESTDIR="$PWD/interrupted"
equal "and what it has put goes" "$(installed interrupted)" ""

mkdir -p strangers/usr/local/{bin,share/man/man1,share/faultline/jobs,share/zsh/site-functions}
echo x | tee strangers/usr/local/bin/other strangers/usr/local/share/faultline/jobs/mine.ini \
	strangers/usr/local/share/man/man1/other.1 >/dev/null
installed strangers >before
make_quietly install DESTDIR="$PWD/strangers"
echo x >strangers/usr/local/share/faultline/dashboards/mine.json
make_quietly uninstall DESTDIR="$PWD/strangers"
equal "what others have put into our folders stays" "$(cat strangers/usr/local/share/faultline/dashboards/mine.json)" x
rm -r strangers/usr/local/share/faultline/dashboards
installed strangers >after
check "strangers' files and folders are as before" cmp before after

make_quietly install DESTDIR="$PWD/older"
manifest=older/usr/local/share/faultline/installed
touch older/usr/local/share/faultline/jobs/gone.ini older/victim older/usr/victim
printf '/usr/local/%s\n' share/faultline/jobs/gone.ini ../victim ../../victim >>$manifest
printf '%s\n' /victim /usr/victim victim "$PWD/older/victim" >>$manifest
make_quietly install DESTDIR="$PWD/older"
check "what an older version had goes with the next install" test ! -e older/usr/local/share/faultline/jobs/gone.ini
printf '%s\n' /usr/local/../victim /usr/local/../../victim /victim /usr/victim victim "$PWD/older/victim" >>$manifest
make_quietly uninstall DESTDIR="$PWD/older"
equal "a list that leads elsewhere is not followed" "$(find older -type f | LC_ALL=C sort)" \
	"$(printf 'older/%s\n' usr/victim victim)"
make_quietly uninstall DESTDIR="$PWD/older"
check "without a list nothing is removed, which is said" grep -q 'is not there: nothing' make.out
make_quietly install DESTDIR="$PWD/older" PREFIX=usr
check "a relative PREFIX is refused" grep -q 'accepted: an absolute path' make.out
make_quietly install DESTDIR="$PWD/plain" MANIFEST=0
check "a package has no list" test ! -e plain/usr/local/share/faultline/installed
equal "one version" "$(sed -n '1s/.*(\(.*\)).*/\1/p' "$root/debian/changelog")" "$(sed -n 's/^VERSION *:= //p' "$root/Makefile")"

# The static program where nothing else is.
static=$root/build/static/faultline
check "it asks for no interpreter" bash -c "! readelf -l '$static' | grep -q INTERP"
# File systems of its own, never those of the host by --bind: whatever ends this suite, removing its folder must not
# reach them.
mkdir -p alone/proc alone/sys alone/dev alone/tmp alone/run
cp "$static" alone/faultline
mount -t proc proc alone/proc && mount -t sysfs -o ro sysfs alone/sys && mount -t tracefs -o ro tracefs alone/sys/kernel/tracing &&
	mount -t tmpfs -o mode=755 tmpfs alone/dev && mknod -m 666 alone/dev/null c 1 3 && mknod -m 666 alone/dev/tty c 5 0 &&
	mknod -m 666 alone/dev/urandom c 1 9 || not_ok "a root of its own is made"
alone() { env -i PATH="$PATH" TMPDIR=/tmp TERM="${TERM:-dumb}" chroot alone /faultline "$@"; }
equal "in a root of its own it says its version" "$(alone --version 2>&1)" "faultline 0.1.0"
alone doctor --csv=/tmp/doctor >doctor.out 2>&1
equal "doctor" $? 0
alone record --kind cpu_fault --duration 1s -o /tmp/run.flt >record.out 2>&1
equal "record" $? 0
alone report --csv=/tmp/tables /tmp/run.flt >report.out 2>&1
equal "report" $? 0
alone top -b 1 1 >top.out 2>&1
equal "top prints" $? 0
TERM=xterm script -qec "chroot alone /faultline top -i /tmp/run.flt 1s 1" /dev/null </dev/null >screen 2>&1
check "top draws without a file that describes the terminal" grep -q 'faultline top' screen
TERM=odd script -qec "chroot alone /faultline top -i /tmp/run.flt" /dev/null </dev/null >screen 2>&1
check "one that nobody knows is a sentence" grep -q 'TERM=odd: ncurses does not know this terminal' screen
TMPDIR=/tmp chroot alone /faultline serve --listen 127.0.0.1:0 --no-state >serve.out 2>&1 &
server=$!
trap 'kill -KILL $server 2>/dev/null; rm -rf --one-file-system "$scratch"' EXIT
address() { grep -oE '127\.0\.0\.1:[1-9][0-9]*' serve.out | head -n 1; }
served() { [ -n "$(address)" ] && python3 -c 'import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())' \
	"http://$(address)/metrics" >metrics 2>metrics.err; }
wait_for 20 served
check "it serves metrics, without a line of TLS" grep -q '^# HELP faultline_' metrics
kill -TERM $server
wait $server
umount -R alone/proc alone/sys alone/dev

[ "${FACE:-}" != full ] || . "$root/tests/package/full.sh"
finish
