# SPDX-License-Identifier: GPL-2.0
# The part of tests/e2e/package.sh that takes long: sourced by it with FACE=full.

# Built from what is committed, without a network, and with nothing from a home.
mkdir -p source debs/1 debs/2
git -C "$root" archive HEAD | tar -C source -x
build() { # DIRECTORY OPTION...: packages into it
	(cd source && env -u MAKEFLAGS HOME=/nonexistent SOURCE_DATE_EPOCH=1795000000 unshare -n -- \
		dpkg-buildpackage -us -uc "${@:2}") >"build$(basename "$1").log" 2>&1 || return
	mv ./*.deb ./*.changes ./*.buildinfo "$1"
	mv ./*.dsc ./*.tar.* "$1" 2>/dev/null
	return 0
}
build debs/1
equal "packages are built without a network" $? 0
equal "there are three" "$(cd debs/1 && ls ./*.deb | sed 's/_.*//; s/..//' | grep -v dbgsym | LC_ALL=C sort | paste -sd ' ')" \
	"faultline faultline-dashboards faultline-inject"
equal "lintian has no word to say" "$(lintian --allow-root -I --pedantic debs/1/*.changes 2>&1 | grep -v '^running with root')" ""

(cd source && rm -f debian/files && sed -i '1s/(.*)/(0.1.0+next)/' debian/changelog)
build debs/2 -b -nc
equal "the next version is built" $? 0

FRESH_COMMANDS=package FRESH_RUN=tests/package/root.sh FRESH_TAKE=$PWD/debs FRESH_CACHE=lab "$root/tests/fresh.sh" >fresh.out 2>&1
status=$?
while IFS= read -r line; do
	case $line in
	'ok - '*) ok "clean root: ${line#ok - }" ;;
	'not ok - '*) not_ok "clean root: ${line#not ok - }" ;;
	'    '*) echo "$line" ;;
	esac
done <fresh.out
equal "the clean root's script ends well" $status 0
[ $status -eq 0 ] || tail -n 15 fresh.out

FAULTLINE=$root/build/static/faultline INJECT=$root/faultline-inject FAULTLINE_RUN_DIR='' \
	"$root/tests/lab/lab.py" run --scenarios "$root/tests/lab/package" >lab.out 2>&1
status=$?
while IFS= read -r line; do
	case $line in
	'ok - '*) ok "guest: ${line#ok - }" ;;
	'not ok - '*) not_ok "guest: ${line#not ok - }" ;;
	'skip - '*) skip "guest" "${line#skip - }" ;;
	esac
done <lab.out
equal "guests of all kernels end well" $status 0
[ $status -eq 0 ] || tail -n 15 lab.out
