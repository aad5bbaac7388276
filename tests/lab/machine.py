# SPDX-License-Identifier: GPL-2.0
"""Boots a guest under QEMU's own emulation and sees to it that it ends."""
import ctypes
import os
import signal
import subprocess
import time

import scenario

QEMU = os.environ.get("FAULTLINE_LAB_QEMU", "qemu-system-x86_64")
# An oops ends the guest at once: what ran after it would prove nothing. Warnings reach the console.
# Time passes in leaps for a guest on a busy host: no test of the timer, late stall detection.
COMMAND_LINE = " ".join((
    "console=ttyS0 8250.nr_uarts=1 loglevel=5 panic=-1 oops=panic",
    "no_timer_check clocksource=tsc tsc=reliable nmi_watchdog=0 watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=60",
    "mitigations=off random.trust_cpu=on",
    "preempt=lazy"))  # where a kernel knows it; guest/init says why
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def die_with_parent():
    """In the child: whatever ends the runner, however suddenly, ends the guest."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def command(boot, vmlinuz, initramfs, directory, interactive):
    """QEMU's command line for a boot; disks are made sparse in directory."""
    # iommu comes first: QEMU wants it there before the devices it serves.
    # CPUs take turns: emulated side by side, one may run an instruction that another is just patching
    # (int3 of a function that gets its probe), which is QEMU's and not the kernel's fault.
    args = [QEMU, "-M", "q35,kernel-irqchip=split", "-accel", "tcg,thread=single", "-cpu", "max", "-smp", str(boot.cpus),
            "-m", str(boot.memory), "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            *scenario.IOMMUS[boot.iommu][1], "-kernel", vmlinuz, "-initrd", initramfs,
            "-append", " ".join([COMMAND_LINE, boot.command_line(), "-- shell" if interactive else ""]).strip()]
    if interactive:
        args += ["-serial", "mon:stdio"]
    else:
        args += ["-serial", f"file:{directory}/console"]
    args += ["-device", "virtio-serial-pci", "-chardev", f"file,id=results,path={directory}/results.tar",
             "-device", "virtserialport,chardev=results,name=results"]
    for name, size in boot.disks().items():
        path = os.path.join(directory, f"{name}.disk")
        with open(path, "wb") as file:
            file.truncate(int(size[:-1]) << {"K": 10, "M": 20, "G": 30}[size[-1]])
        args += ["-drive", f"file={path},format=raw,if=none,id={name},cache=unsafe"]
    return args + boot.devices()


def run(args, directory, limit):
    """Runs a guest to its end: (seconds, what went wrong or None)."""
    begin = time.monotonic()
    with open(os.path.join(directory, "qemu.log"), "wb") as log:
        try:
            guest = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                     preexec_fn=die_with_parent)
        except OSError as error:
            return 0, f"{args[0]}: {error.strerror}"
        try:
            guest.wait(timeout=limit)
            wrong = None if guest.returncode == 0 else f"QEMU ended with {guest.returncode}"
        except subprocess.TimeoutExpired:
            wrong = f"the guest was still running after {limit} s"
        finally:
            guest.kill()
            guest.wait()
    return time.monotonic() - begin, wrong
