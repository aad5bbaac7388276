#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Boots a Debian 12 with its systemd under QEMU's emulation, with our programs and files on it.

    guest.py KERNEL DIRECTORY SCRIPT [FILE=PLACE...]

KERNEL is one of the lab's. SCRIPT runs as a unit once the guest is up; what it prints becomes our output, and the
guest is powered off behind it. A FILE of this host is at PLACE in the guest. DIRECTORY keeps console and initramfs.
Exits with 75 if kernel or system cannot be fetched.
"""
import os
import resource
import stat
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lab"))
import image  # noqa: E402
import machine  # noqa: E402

MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4")  # which a softdep of ext4 names
CPU_SECONDS = 1500
UNIT = """[Unit]
After=multi-user.target
Wants=multi-user.target
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/bin/bash -c 'exec >/dev/ttyS1 2>&1; exec /bin/bash /check/script'
StandardInput=null
TimeoutStartSec=infinity
"""


def fetched(*command):
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        print(image.last_words(run), file=sys.stderr)
        sys.exit(75 if run.returncode == 75 else 1)
    return run.stdout.strip().splitlines()[-1]


def payload(script, files):
    """Our files, as they are to be in the guest."""
    archive = image.Archive()
    for directory in ("dev", "proc", "bin"):
        archive.directory(directory)
    archive.file("init", os.path.join(HERE, "init"))
    archive.entries["init"] = (stat.S_IFREG | 0o755, archive.entries["init"][1])
    archive.file("bin/busybox", image.find_program("busybox"))
    archive.file("payload/check/script", script)
    for pair in files:
        source, _, place = pair.partition("=")
        archive.file("payload" + place, source)
    archive.text("payload/etc/systemd/system/check.service", UNIT)
    archive.link("payload/etc/systemd/system/default.target", "/etc/systemd/system/check.service")
    # Nobody logs in, and what waits for devices waits for an emulated CPU.
    for unit in ("getty.target", "serial-getty@ttyS0.service", "systemd-random-seed.service", "apt-daily.timer",
                 "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_reap.service", "fstrim.timer"):
        archive.link(f"payload/etc/systemd/system/{unit}", "/dev/null")
    archive.text("payload/etc/fstab", "")
    return archive.bytes()


def main():
    kernel, directory, script, *files = sys.argv[1:]
    lab = os.path.join(HERE, "..", "lab", "kernels.sh")
    release = fetched(lab, "release", kernel)
    tree = fetched(lab, "image", kernel)
    disk = fetched(os.path.join(HERE, "base.sh"), "path")
    initramfs = os.path.join(directory, "initramfs")
    with open(initramfs, "wb") as file:
        with open(image.kernel_layer(tree, release, MODULES), "rb") as layer:
            file.write(layer.read())
        file.write(b"\0" * (-file.tell() % 4))
        file.write(payload(script, files))
    results = os.path.join(directory, "results")
    command = [machine.QEMU, "-M", "q35", "-accel", "tcg,thread=single", "-cpu", machine.CPU, "-smp", "1", "-m", "1G",
               # Its time is what it computes: how busy the host is changes none of its times (tests/lab/machine.py).
               "-icount", "shift=0",
               "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
               "-kernel", image.kernel_file(tree), "-initrd", initramfs,
               "-append", machine.COMMAND_LINE.replace("nr_uarts=1", "nr_uarts=2") +
               " quiet systemd.show_status=no systemd.unit=check.service lockdown=none",
               "-serial", f"file:{directory}/console", "-serial", f"file:{results}",
               "-drive", f"file={disk},format=raw,if=none,id=root,snapshot=on,cache=unsafe",
               "-device", "virtio-blk-pci,drive=root"]
    seconds, wrong, _ = machine.run(command, directory, {"boot": CPU_SECONDS})
    with open(results, errors="replace", encoding="utf-8") as file:
        sys.stdout.write(file.read().replace("\r", ""))
    print(f"# {kernel}: {seconds:.0f} s, {resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime:.0f} s of CPU time")
    if wrong:
        print(f"not ok - the guest: {wrong}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
