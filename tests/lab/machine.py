# SPDX-License-Identifier: GPL-2.0
"""Boots a guest under QEMU's own emulation and sees to it that it ends."""
import ctypes
import os
import re
import signal
import subprocess
import sys
import time

import scenario

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import watchdog  # noqa: E402

QEMU = os.environ.get("FAULTLINE_LAB_QEMU", "qemu-system-x86_64")
# An oops ends the guest at once: what ran after it would prove nothing. Warnings reach the console.
# Time passes in leaps for a guest on a busy host: no test of the timer, late stall detection.
COMMAND_LINE = " ".join((
    "console=ttyS0 8250.nr_uarts=1 loglevel=5 panic=-1 oops=panic",
    "no_timer_check clocksource=tsc tsc=reliable nmi_watchdog=0 watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=60",
    "mitigations=off random.trust_cpu=on",
    # An emulated CPU pays for each byte that is zeroed or checked once more, and finds nothing here.
    "init_on_alloc=0 hardened_usercopy=off randomize_kstack_offset=off audit=0 clearcpuid=112",
    "preempt=lazy"))  # where a kernel knows it; guest/init says why
# What costs an emulated CPU most and no scenario is about: `rep movsb` for copies (byte by byte), five
# levels of page tables, checks that end a block of translated code at each access to user memory.
CPU = "max,-erms,-fsrm,-la57,-smap,-smep"
MARK = re.compile(r"faultline-lab: (begin|part|end) (\S+)")
OTHER_CPU_SECONDS = 200  # of booting, and of what follows a scenario
# Inside, init ends a scenario that stands still; this is for guests that cannot any more.
QUIET_SECONDS, IDLE_SHARE = 300, 0.2
LISTEN_SECONDS, LOOK_SECONDS = 0.1, 1
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


def die_with_parent():
    """In the child: whatever ends the runner, however suddenly, ends the guest."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def command(boot, kernel, initramfs, directory, interactive):
    """QEMU's command line for a boot; disks are made sparse in directory."""
    # iommu comes first: QEMU wants it there before the devices it serves.
    # CPUs take turns: emulated side by side, one may run an instruction that another is just patching
    # (int3 of a function that gets its probe), which is QEMU's and not the kernel's fault.
    args = [QEMU, "-M", "q35,kernel-irqchip=split", "-accel", "tcg,thread=single", "-cpu", CPU, "-smp", str(boot.cpus),
            "-m", str(boot.memory), "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            *scenario.IOMMUS[boot.iommu][1], "-kernel", kernel, "-initrd", initramfs,
            "-append", " ".join([COMMAND_LINE, boot.command_line(), "-- shell" if interactive else ""]).strip()]
    if boot.own_clock:
        # It counts what the guest computes, a ns an instruction: how busy the host is changes none of its
        # times, nor what its timer interrupts. Where nothing outside answers a guest that sleeps, its clock
        # goes on to the end of the sleep at once; else the host sleeps, and may wake late.
        args += ["-icount", "shift=0" if boot.disks() or boot.devices() else "shift=0,sleep=off"]
    if interactive:
        args += ["-serial", "mon:stdio"]
    else:
        args += ["-serial", f"file:{directory}/console"]
    args += ["-device", "virtio-serial-pci,ioeventfd=off", "-chardev", f"file,id=results,path={directory}/results.tar",
             "-device", "virtserialport,chardev=results,name=results"]
    for name, size in boot.disks().items():
        path = os.path.join(directory, f"{name}.disk")
        with open(path, "wb") as file:
            file.truncate(int(size[:-1]) << {"K": 10, "M": 20, "G": 30}[size[-1]])
        args += ["-drive", f"file={path},format=raw,if=none,id={name},cache=unsafe"]
    return args + boot.devices()


class Costs:
    """CPU time of the emulator, by what the guest does: it says on the console what begins there."""

    def __init__(self, pid, console):
        self.pid, self.console, self.read = pid, console, 0
        self.phase, self.part = "boot", "boot"  # a scenario, or "end" after it; and its part
        self.begun = self.paid = 0.0
        self.seconds = {}  # by phase, by part

    def listen(self):
        """A mark is noticed soon after it was made, or the wrong part pays."""
        if not os.path.exists(self.console) or os.path.getsize(self.console) <= self.read:
            return
        with open(self.console, "rb") as file:
            file.seek(self.read)
            lines = file.read().rpartition(b"\n")[0]
        self.read += len(lines)
        used = watchdog.Process(self.pid).cpu
        for what, name in MARK.findall(lines.decode(errors="replace")):
            self.pay(used)
            self.part = name if what == "part" else what
            if what != "part":
                self.phase, self.begun = name if what == "begin" else "end", used

    def pay(self, used):
        parts = self.seconds.setdefault(self.phase, {})
        parts[self.part] = parts.get(self.part, 0.0) + used - self.paid
        self.paid = used


class GuestWatch:
    """Decides whether a guest hangs or spins, by what the emulator uses and the guest says."""

    def __init__(self, pid, directory, limits):
        self.pid, self.limits = pid, limits
        self.paths = [os.path.join(directory, name) for name in ("console", "results.tar")]
        self.costs, self.used = Costs(pid, self.paths[0]), 0.0
        self.said, self.looked = (), time.monotonic()
        self.moved = self.looked

    def sizes(self):
        return tuple(os.path.getsize(path) if os.path.exists(path) else 0 for path in self.paths)

    def look(self):
        """What is wrong, or None."""
        self.costs.listen()
        now = time.monotonic()
        if now - self.looked < LOOK_SECONDS:
            return None
        process = watchdog.Process(self.pid)
        computed, self.used = process.cpu - self.used, process.cpu
        said = self.sizes()
        if said != self.said:
            self.said, self.moved = said, now
        # A guest in which all sleeps still has its timer's ticks.
        if computed > IDLE_SHARE * (now - self.looked) or process.waits_for_cpu:
            self.moved = now
        self.looked = now
        phase = self.costs.phase
        limit = self.limits.get(phase, OTHER_CPU_SECONDS)
        if self.used - self.costs.begun > limit:
            return f"it used more than {limit} s of CPU time in {phase}"
        if now - self.moved > QUIET_SECONDS:
            return f"nothing ran in it for {QUIET_SECONDS} s, in {phase}"
        return None


def run(args, directory, limits):
    """Runs a guest to its end: (seconds, what went wrong or None, what it used by phase and part)."""
    begin = time.monotonic()
    with open(os.path.join(directory, "qemu.log"), "wb") as log:
        try:
            guest = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                     preexec_fn=die_with_parent)
        except OSError as error:
            return 0, f"{args[0]}: {error.strerror}", {}
        watch, wrong = GuestWatch(guest.pid, directory, limits), None
        try:
            while not wrong:
                try:
                    guest.wait(timeout=LISTEN_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    wrong = watch.look()
        finally:
            guest.kill()
            guest.wait()
        if not wrong and guest.returncode:
            wrong = f"QEMU ended with {guest.returncode}"
    return time.monotonic() - begin, wrong, watch.costs.seconds
