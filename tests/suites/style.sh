#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Formatting, clang-tidy's bugprone set, sizes of files and functions, layers, names,
# docs of tables, man pages, shell syntax.
set -uo pipefail
passed=0 failed=0
result() {
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok - $1"
	else
		failed=$((failed + 1))
		echo "not ok - $1"
	fi
}

mapfile -t sources < <(find bpf lib tools injectors bench tests packaging -name '*.[ch]' | sort)
clang-format --dry-run -Werror "${sources[@]}"
result "formatted by .clang-format" $?

# BPF sources are checked by the verifier; tests and the kernel module by the compiler.
mapfile -t units < <(find lib tools injectors -name '*.c' -not -path 'injectors/kmod/*' | sort)
checks='-*,bugprone-*,-bugprone-easily-swappable-parameters,-bugprone-narrowing-conversions'
checks+=',-bugprone-reserved-identifier,-bugprone-assignment-in-if-condition'
# Files come before the --, what the compiler is told behind it.
printf '%s\n' "${units[@]}" | xargs -P "$(nproc)" -n 8 bash -c 'clang-tidy --quiet --checks="$0" \
	--warnings-as-errors="*" "$@" -- -std=gnu11 -D_GNU_SOURCE -DFAULTLINE_VERSION="\"x\"" -I. -Ibuild' \
	"$checks" 2>/dev/null
result "clang-tidy bugprone" $?

python3 tests/suites/sizes.py "${sources[@]}"
result "files and functions fit in the head" $?

python3 tests/suites/layers.py
result "no circle between files, no folder reaches back" $?

python3 tests/suites/names.py
result "one name, one thing" $?

# Readers of memory that others write copy and then look whether it is still the same. On x86 a missing
# fence between the two is invisible; ARM's code has an instruction for it.
bad=0
for reader in lib/capture/access_reader.c:access_reader_read lib/capture/owners.c:owners_measure; do
	clang --target=aarch64-linux-gnu -D__x86_64__ -I/usr/include/x86_64-linux-gnu -std=gnu11 -D_GNU_SOURCE -I. \
		-O2 -S -o - "${reader%:*}" | awk -v name="${reader#*:}:" '
		$1 ~ /^[a-z_]+:$/ { inside = $1 == name } inside && /dmb[ \t]+ishld/ { found = 1 } END { exit !found }' || {
		echo "no fence in ${reader#*:}() of ${reader%:*}"
		bad=1
	}
done
result "what is read without a lock is fenced before it is looked at again" $bad

bad=0
for table in $(grep -rlE 'include <uthash.h>' lib tools injectors); do
	grep -q '^#define HASH_NONFATAL_OOM[[:space:]]*1$' "$table" || { echo "$table: ends the program where memory ends"; bad=1; }
done
result "no hash table ends the program without a sentence" $bad

bad=0
for script in $(find tests dashboards packaging .ci -name '*.sh') .ci/run; do
	bash -n "$script" || bad=1
done
result "shell scripts parse" $bad

bad=0
for script in $(find tests bench docs -name '*.py'); do
	/usr/bin/python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$script" || bad=1
done
result "Python scripts parse" $bad

python3 tests/suites/promises.py
result "every promise of README has its tests" $?

python3 tests/suites/kinds.py
result "docs/events.md has every kind of event" $?

LC_ALL=C.UTF-8 grep -nP '^(?!\||    ).{101}' README.md docs/*.md && bad=1 || bad=0
result "docs have at most 100 columns, tables and examples aside" $bad

rm -rf build/man
python3 docs/man/pages.py build/man
bad=$?
mandoc -T lint -W warning build/man/*.1 || bad=1
for page in build/man/*.[1-8]; do
	[ -z "$(LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)" ] || {
		echo "man page with warnings: $page"
		bad=1
	}
done
result "man pages render without warnings" $bad

grep -rIl . bpf lib tools injectors bench tests dashboards packaging docs --include='*.[ch]' --include='*.sh' --include='*.py' |
	xargs grep -L 'SPDX-License-Identifier: GPL-2.0' | grep . && bad=1 || bad=0
result "every source names its licence" $bad

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
