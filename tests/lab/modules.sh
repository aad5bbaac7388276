#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Builds a module for a kernel of the lab: modules.sh KERNEL [NAME] prints the path of its .ko file.
# KERNEL is 6.1, 6.12 or new; without a name it builds faultline_device. Nothing is built again unless
# something changed. Exits with 75 when something cannot be fetched, 2 when asked wrongly, 1 when it
# cannot be built; the last line then says what was wrong.
#
#   faultline_device          injectors/kmod
#   iommufd                   the kernel's own, which Debian does not build, from its very sources
#   faultline_device_iommufd  injectors/kmod for use with iommufd
#
# Debian's headers are made for the release their kernel comes from. What is done about the
# difference, in a copy of them:
#   * programs linked to a newer C library get that library (unpacked, not installed), by patchelf
#   * a compiler older than the kernel's gets its options by their older names
#   * headers without the kernel's BTF get it from the image, so that the module has BTF of its own
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$(dirname "$here")")
sources=$root/injectors/kmod
cache=${FAULTLINE_LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/faultline/lab}
unset MAKEFLAGS MAKEOVERRIDES MFLAGS

say() { echo "lab: $*" >&2; }

needs() {
	command -v "$1" >/dev/null && return
	say "no $1 on this host: tests/setup.sh lab installs it"
	exit 1
}

# give_btf BUILD KERNEL: the kernel's types, where its headers come without.
give_btf() {
	local build=$1 vmlinux=$1/vmlinux
	if [ ! -e "$vmlinux" ]; then
		objcopy --only-section=.BTF "$(python3 "$here/image.py" "$("$here/kernels.sh" image "$2")")" "$vmlinux" 2>/dev/null
	fi
	# It patches numbers of types into modules that ask for them by name; ours does not.
	if [ ! -e "$build/tools/bpf/resolve_btfids/resolve_btfids" ]; then
		mkdir -p "$build/tools/bpf/resolve_btfids"
		printf '#!/bin/sh\nexit 0\n' >"$build/tools/bpf/resolve_btfids/resolve_btfids"
		chmod +x "$build/tools/bpf/resolve_btfids/resolve_btfids"
	fi
}

# Not through a pipe: who ends it at the first match has ldd end with a signal, now and then.
runs_here() { [[ $(ldd "$1" 2>&1) != *"not found"* ]]; }

# give_library FILE...: programs made for a newer C library find it where it was unpacked.
give_library() {
	local file libraries=
	for file in "$@"; do
		runs_here "$file" && continue
		if [ -z "$libraries" ]; then
			libraries=$("$here/kernels.sh" packages trixie libc6 libelf1t64 libdw1t64 zlib1g libzstd1 \
				liblzma5 libbz2-1.0 libbpf1 libssl3t64 pahole) || exit
		fi
		patchelf --set-interpreter "$libraries/usr/lib64/ld-linux-x86-64.so.2" \
			--set-rpath "$libraries/usr/lib/x86_64-linux-gnu" "$file"
	done
	[ -n "$libraries" ] || return 0
	install -m 755 "$libraries/usr/bin/pahole" "$toolchain/pahole"
	patchelf --set-interpreter "$libraries/usr/lib64/ld-linux-x86-64.so.2" \
		--set-rpath "$libraries/usr/lib/x86_64-linux-gnu" "$toolchain/pahole"
}

# write_compiler FILE: the host's compiler under a name that takes newer options.
write_compiler() {
	cat >"$1" <<-SHELL
		#!/bin/bash
		exec $(command -v gcc-12 || command -v gcc) "\${@/#-fmin-function-alignment=/-falign-functions=}"
	SHELL
	chmod +x "$1"
}

# prepare KERNEL HEADERS: makes \$toolchain, a copy of the headers that works on this host.
prepare() {
	local kernel=$1 tree=${2%/usr/src/*} copy=$toolchain.tmp file programs
	[ -e "$toolchain/ready" ] && return
	say "preparing the headers of $kernel"
	rm -rf "$copy" "$toolchain"
	mkdir -p "$copy"
	# Hard links: a file that is changed below is replaced, not written to.
	if ! cp -al "$tree/usr" "$copy/usr" 2>/dev/null; then
		rm -rf "$copy/usr" # whatever could be made of it before the first link was refused
		cp -a "$tree/usr" "$copy/usr"
	fi
	while IFS= read -r file; do
		sed -i "s#$tree/usr/#$toolchain/usr/#g" "$file"
	done < <(grep -rlF "$tree/usr/" "$copy/usr/src" --include=Makefile)
	mv "$copy" "$toolchain"
	mapfile -t programs < <(find "$toolchain"/usr/lib/linux-kbuild-* -type f -perm -u+x)
	for file in "${programs[@]}"; do
		[ "$(head -c 4 "$file" | tr -d '\0')" = $'\177ELF' ] || continue
		cp -p "$file" "$file.own" && mv "$file.own" "$file"
		give_library "$file"
	done
	write_compiler "$toolchain/cc"
	give_btf "$toolchain/usr/src/${2##*/}" "$kernel"
	touch "$toolchain/ready"
}

# build NAME DIRECTORY OPTION...: one module from a directory of sources, checked.
build() {
	local name=$1 directory=$2 pahole=pahole
	shift 2
	[ -x "$toolchain/pahole" ] && pahole=$toolchain/pahole
	if ! make -C "$toolchain/usr/src/${headers##*/}" M="$directory" CC="$toolchain/cc" \
		PAHOLE="$pahole" "$@" modules >"$directory/log" 2>&1; then
		grep -aE 'error|Error|warning|undefined' "$directory/log" | head -n 12 >&2
		say "$name does not build for $kernel: $(grep -aE -m1 'error|undefined|No rule' "$directory/log"), see $directory/log"
		return 1
	fi
	grep -q 'Skipping BTF' "$directory/log" && say "$name has no BTF: see $directory/log" && return 1
	strip --strip-debug "$directory/$name.ko"
}

warnings="-Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers \
	-Wno-type-limits -Wno-cast-function-type -Werror"

build_faultline_device() {
	cp "$sources"/*.[ch] "$sources"/features.sh "$sources/Kbuild" "$1/"
	build faultline_device "$1" KCFLAGS="$warnings"
}

build_faultline_device_iommufd() {
	local iommufd
	iommufd=$(made iommufd) || return
	cp "$sources"/*.[ch] "$sources"/features.sh "$sources/Kbuild" "$1/"
	build faultline_device_iommufd "$1" KCFLAGS="$warnings" FAULTLINE_IOMMUFD=1 \
		KBUILD_EXTRA_SYMBOLS="$iommufd/drivers/iommu/iommufd/Module.symvers"
}

# The kernel exports all that iommufd needs but one helper, which its own sources have as well. What
# it consists of is its own Makefile's to say; what a kernel has built in is linked into it here.
build_iommufd() {
	local archive directory=$1/drivers/iommu/iommufd
	archive=$("$here/kernels.sh" source "$kernel") || return
	tar -C "$1" --strip-components=1 --wildcards -xf "$archive" '*/drivers/iommu/iommufd/*' \
		'*/drivers/iommu/*.h' '*/lib/interval_tree.c' || return
	{
		printf '#include <linux/%s>\n' interval_tree.h interval_tree_generic.h compiler.h export.h
		sed -n '/^#ifdef CONFIG_INTERVAL_TREE_SPAN_ITER/,/^#endif/p' "$1/lib/interval_tree.c"
	} >"$directory/span_iter.c"
	cat >"$directory/Kbuild" <<-'KBUILD'
		CONFIG_IOMMUFD := m
		include $(src)/Makefile
		iommufd-y += span_iter.o $(iommufd_driver-y)
	KBUILD
	printf 'ccflags-y += -DCONFIG_%s=1\n' IOMMUFD_MODULE INTERVAL_TREE_SPAN_ITER IOMMUFD_DRIVER_CORE_MODULE \
		>>"$directory/Kbuild"
	build iommufd "$directory" && mv "$directory/iommufd.ko" "$1/"
}

# made NAME: the directory in which it was built, now or before.
made() {
	local name=$1 from=$sources directory
	[ "$name" = iommufd ] && from=/dev/null
	directory=$cache/modules/$kernel-$name-$({
		declare -f build "build_$name" build_iommufd
		echo "$toolchain $warnings"
		cat "$toolchain/cc"
		[ "$from" = /dev/null ] || cat "$from"/*
	} | sha256sum | cut -c1-16)
	if [ ! -e "$directory/built" ]; then
		rm -rf "$directory"
		mkdir -p "$directory"
		"build_$name" "$directory" >&2 || return
		touch "$directory/built"
		# Only the newest few are worth keeping.
		find "$cache/modules" -mindepth 1 -maxdepth 1 -name "$kernel-$name-[0-9a-f]*" -printf '%T@ %p\n' |
			sort -rn | tail -n +4 | cut -d' ' -f2- | xargs -r rm -rf
	fi
	echo "$directory"
}

[ $# -eq 1 ] || [ $# -eq 2 ] || {
	sed -n 's/^# \{0,1\}//; 3,10p' "$0" >&2
	exit 2
}
kernel=$1 name=${2:-faultline_device}
declare -F "build_$name" >/dev/null || {
	say "no module '$name': faultline_device, iommufd or faultline_device_iommufd"
	exit 2
}
for program in gcc make pahole patchelf zstd python3; do needs $program; done
headers=$("$here/kernels.sh" headers "$kernel") || exit $?
key=$({
	echo "$headers"
	cat "$headers/Module.symvers"
	declare -f prepare give_btf runs_here give_library write_compiler
	gcc --version
	pahole --version
} | sha256sum | cut -c1-16)
toolchain=$cache/toolchains/${headers##*/linux-headers-}-$key
mkdir -p "$cache/locks" "$cache/toolchains" "$cache/modules"
exec {lock}>"$cache/locks/modules-$kernel"
flock "$lock"
prepare "$kernel" "$headers"
directory=$(made "$name") || exit $?
echo "$directory/$name.ko"
