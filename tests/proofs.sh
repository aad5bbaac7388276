#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# May this check be skipped? proofs.sh SUITE CHECK looks for it in tests/allowed-skips, tries what its
# reason says cannot be had, and prints what came of that: exit 0 if the reason is shown to hold, 1 with
# the sentence to fail with if not.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
list=${FAULTLINE_ALLOWED_SKIPS:-$here/allowed-skips}

# Each prints what the host answered; it succeeds only if that is the refusal.

# The kernel has no way to poison a page of a userfaultfd (Linux 6.6): its own list of features.
no_page_poison() {
	python3 - <<-'PYTHON'
		import ctypes, fcntl, os, struct, sys
		SYS_userfaultfd, UFFDIO_API, UFFD_API, POISON = 323, 0xc018aa3f, 0xaa, 1 << 14
		libc = ctypes.CDLL(None, use_errno=True)
		fd = libc.syscall(SYS_userfaultfd, os.O_CLOEXEC)
		if fd < 0:
		    print("userfaultfd():", os.strerror(ctypes.get_errno()))
		    sys.exit(1)
		answer = fcntl.ioctl(fd, UFFDIO_API, struct.pack("QQQ", UFFD_API, 0, 0))
		features = struct.unpack("QQQ", answer)[1]
		print(f"UFFDIO_API answers features {features:#x}, poison {'among' if features & POISON else 'not among'} them")
		sys.exit(bool(features & POISON))
	PYTHON
}

# No tmpfs may be mounted, not even in a namespace that ends with this process.
no_tmpfs() {
	local directory said status
	directory=$(mktemp -d) || return 1
	if said=$(mount -t tmpfs -o size=64k none "$directory" 2>&1); then
		umount "$directory"
		echo "a tmpfs can be mounted"
		status=1
	else
		echo "$said"
		status=0
	fi
	rmdir "$directory"
	return $status
}

# No tmpfs may be mounted in a mount namespace of its own, or no such namespace may be made.
no_tmpfs_of_its_own() {
	local said
	if said=$(unshare --mount mount -t tmpfs -o size=64k none /tmp 2>&1); then
		echo "a tmpfs can be mounted in a namespace of its own"
		return 1
	fi
	echo "$said"
}

# No loop device can be made of a file.
no_loop() {
	local file loop
	file=$(mktemp) || return 1
	truncate -s 1M "$file"
	if loop=$(losetup --find --show "$file" 2>&1); then
		losetup -d "$loop"
		loop="$loop can be made of a file"
		set -- 1
	fi
	rm -f "$file"
	echo "$loop"
	return "${1:-0}"
}

# The kernel has no TAP, or the device that makes one is not here.
no_tap() {
	python3 - <<-'PYTHON'
		import os, sys
		try:
		    os.close(os.open("/dev/net/tun", os.O_RDWR))
		except OSError as error:
		    print("/dev/net/tun:", error.strerror)
		else:
		    print("/dev/net/tun can be opened")
		    sys.exit(1)
	PYTHON
}

# No user namespace may be made; the kernel lets nobody make one below a chroot, as `make fresh` is.
no_user_namespace() {
	local said
	if said=$(unshare --user --map-root-user true 2>&1); then
		echo "a user namespace can be made"
		return 1
	fi
	echo "$said"
}

# perf_event_open() refuses the counter of page faults.
no_fault_counter() {
	python3 - <<-'PYTHON'
		import ctypes, os, struct, sys
		SYS_perf_event_open, SOFTWARE, PAGE_FAULTS = 298, 1, 2
		attributes = struct.pack("IIQQQQQ", SOFTWARE, 64, PAGE_FAULTS, 0, 0, 0, 0).ljust(64, b"\0")
		libc = ctypes.CDLL(None, use_errno=True)
		fd = libc.syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0)
		print("perf_event_open():", "gives a counter" if fd >= 0 else os.strerror(ctypes.get_errno()))
		sys.exit(fd >= 0)
	PYTHON
}

# archive_is_silent KERNEL: a request to the archive that this kernel comes from is not answered.
archive_is_silent() { "$here/lab/kernels.sh" silent "$1" 2>&1; }

# A request to the registry that npm is set to is not answered.
registry_is_silent() { "$here/engines/fetch.sh" silent 2>&1; }
uplot_cannot_be_had() { "$here/uplot/fetch.sh" silent 2>&1; }

# The archive that a guest's Debian comes from does not answer.
guest_cannot_be_had() { "$here/guest/base.sh" silent 2>&1; }

# The archive that apt is set to has no package with Perfetto's trace processor.
no_trace_processor() { "$here/engines/trace_processor.sh" silent 2>&1; }

suite=$1 check=$2
proof=$(awk -F ' [|] ' -v wanted="$suite: $check" '$1 == wanted { print $2 }' "$list")
if [ -z "$proof" ]; then
	echo "this skip is not in tests/allowed-skips"
	exit 1
fi
# shellcheck disable=SC2086
if said=$(declare -F "${proof%% *}" >/dev/null && $proof); then
	echo "${said%%$'\n'*}"
else
	echo "its reason does not hold ($proof): ${said:-no such proof}"
	exit 1
fi
