# SPDX-License-Identifier: GPL-2.0
"""The disk of a virtual machine without faults beside QEMU's own, what a fault takes, and what registered memory costs a guest that boots.

Without a guest: bench/vm_load asks the same of our disk and of qemu-storage-daemon's vhost-user-blk export, on one file. With one (QEMU
without KVM): a thread of 4 KiB I/Os, by these two and by QEMU's own virtio-blk.
"""
import csv
import json
import os
import re
import statistics
import subprocess
import time

from measure import INJECT, ROOT, ROUNDS, Samples, add, fresh, note, run

LOAD = f"{ROOT}/build/bench/vm_load"
LIBRARY = f"{ROOT}/libfaultline-vm.so"
DISK_BYTES = 64 << 20
SECONDS = "2"
TOUCHES = "20011"
STORM = "4000/s"
GUEST_ROUNDS = min(ROUNDS, 3)
GUEST_BYTES = 16 << 20
OPERATIONS = 10007
WAIT_SECONDS = 60
FROM_BACKING_FILE = 1  # of a page_in in the truth log
PEER = "qemu-storage-daemon"


def wait_for_socket(path, process):
    for _ in range(WAIT_SECONDS * 100):
        if os.path.exists(path):
            return
        if process.poll() is not None:
            break
        time.sleep(0.01)
    process.kill()
    raise RuntimeError(f"{process.args[0]}: no socket: {process.communicate()[1][-500:]}")


def start(command, scratch, socket):
    process = subprocess.Popen(command, cwd=scratch, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    wait_for_socket(socket, process)
    return process


def daemon(disk, scratch):
    socket = fresh(f"{scratch}/peer.sock")
    return socket, start([PEER, "--blockdev", f"driver=file,node-name=file,filename={disk}",
                          "--export", "type=vhost-user-blk,id=disk,node-name=file,writable=on,"
                          f"addr.type=unix,addr.path={socket}"], scratch, socket)


def disk_of(disk):
    return [f"--set=disk.file={disk}", "--set=disk.writable=yes"]


def load_figures(output):
    ios, ns, device, driver, p50, p99 = map(int, output.split())
    return {"iops": ios * 1e9 / ns, "device": device / ios, "all": (device + driver) / ios,
            "p50": p50, "p99": p99}


def with_ours(words, scratch, *settings):
    """vm_load in QEMU's place: (what it printed, the job's row)."""
    memory, socket = fresh(f"{scratch}/memory.sock"), fresh(f"{scratch}/disk.sock")
    machine = start([INJECT, "run", f"{ROOT}/bench/vm-disk.ini", "--csv",
                     f"--set=vm.socket={memory}", f"--set=disk.socket={socket}", *settings],
                    scratch, socket)
    wait_for_socket(memory, machine)
    output, _ = run(["env", f"FAULTLINE_VM={memory}", f"LD_PRELOAD={LIBRARY}", LOAD, socket,
                     *words], scratch)
    rows, errors = machine.communicate(timeout=WAIT_SECONDS)
    if machine.returncode:
        raise RuntimeError(f"vm-disk: exit {machine.returncode}: {errors[-500:]}")
    return output, next(csv.DictReader(rows.splitlines()))


def with_daemon(words, disk, scratch):
    socket, process = daemon(disk, scratch)
    try:
        return run([LOAD, socket, *words], scratch)[0]
    finally:
        process.terminate()
        process.communicate(timeout=WAIT_SECONDS)


def bench_disk(disk, scratch):
    for what, depth in (("read", "1"), ("read", "32"), ("write", "32")):
        note(f"a virtual machine's disk, {what} at depth {depth}, beside {PEER}")
        words = [what, depth, SECONDS]
        s = Samples({
            "ours": lambda: load_figures(with_ours(words, scratch, *disk_of(disk))[0]),
            "peer": lambda: load_figures(with_daemon(words, disk, scratch)),
        })
        for key, name, unit in (("iops", "", "IO/s"), ("device", "_device", "CPU-ns/IO"),
                                ("all", "_all", "CPU-ns/IO"), ("p50", "_p50", "ns")):
            add(f"vm_disk_{what}_{depth}{name}", s.median("ours", key), unit, "storage daemon",
                s.median("peer", key))


def service_figures(truth):
    """What the pager took for each page that it brought from the backing file, by its own log."""
    taken = []
    with open(truth, encoding="ascii") as file:
        for line in file:
            event = json.loads(line)
            if event["what"] == "page_in" and event["code"] == FROM_BACKING_FILE:
                taken.append(event["value"])
    return {"service_p50": statistics.median(taken),
            "service_p99": statistics.quantiles(taken, n=100)[98], "count": len(taken)}


def bench_faults_of_vm(scratch):
    """Pages are evicted all the time: what it takes to have one back, for the pager and for who waits."""
    note("faults of a virtual machine's CPUs and its disk")
    truth = f"{scratch}/truth.jsonl"

    def storm(words, lookup="pa-bitmap"):
        return with_ours(words, scratch, f"--set=storm.rate={STORM}", f"--set=disk.lookup={lookup}",
                         f"--truth={fresh(truth)}")

    def cpu():
        _, p50, p99 = map(int, storm(["touch", TOUCHES])[0].split())
        return {"p50": p50, "p99": p99, **service_figures(truth)}

    def device(lookup):
        row = storm(["read", "1", SECONDS], lookup)[1]
        return {"p50": float(row["round_trip_p50_ns"]), "p99": float(row["round_trip_p99_ns"]),
                **service_figures(truth)}

    s = Samples({"cpu": cpu, "device": lambda: device("pa-bitmap"),
                 "uffd": lambda: device("uffd")})
    for variant in s.of:
        for point in ("service_p50", "service_p99", "p50", "p99"):
            add(f"vm_fault_{variant}_{point}", s.median(variant, point), "ns")


class Guest:
    """The guest of tests/vm in QEMU, by itself or with memory and disk of ours."""

    def __init__(self, scratch, disk):
        self.scratch, self.disk = scratch, disk
        self.folder = run([f"{ROOT}/tests/vm/guest.sh"], scratch)[0].strip()
        with open(f"{self.folder}/command-line", encoding="ascii") as file:
            self.line = file.read().strip()

    def words(self, operations):
        load = "seconds=1" if not operations else \
            f"disk_bytes={GUEST_BYTES} disk_threads=1 disk_block=4096 disk_operations={operations}"
        return ["-cpu", "max,-cx16,-erms,-fsrm,-la57,-smap,-smep", "-nodefaults",
                "-no-user-config", "-no-reboot", "-kernel", f"{self.folder}/kernel", "-initrd",
                f"{self.folder}/initrd", "-append", f"{self.line} -- {load}"]

    def told(self, output, cpu):
        keys = dict(re.findall(r"faultline-guest: (\w+) (\d+)", output))
        if keys.get("wrong_bytes") != "0" or keys.get("errors") != "0":
            raise RuntimeError(f"guest: {output[-500:]}")
        figures = {"cpu": cpu, "boot": int(keys["boot_ms"]) * 1e6}
        if "read_p50_ns" in keys:
            figures.update(read=int(keys["read_p50_ns"]), write=int(keys["write_p50_ns"]),
                           iops=(int(keys["reads"]) + int(keys["writes"])) * 1e3 /
                           int(keys["load_ms"]))
        return figures

    def plain(self, operations, *devices):
        return self.told(*run(
            ["qemu-system-x86_64", "-object", "memory-backend-memfd,id=m,size=256M,share=on",
             "-machine", "q35,memory-backend=m", "-m", "256M", "-display", "none", "-serial",
             "stdio", *devices, *self.words(operations)], self.scratch))

    def own_disk(self):
        return self.plain(OPERATIONS, "-drive", f"file={self.disk},format=raw,if=none,id=d",
                          "-device", "virtio-blk-pci,drive=d")

    def daemon(self):
        socket, process = daemon(self.disk, self.scratch)
        try:
            figures = self.plain(OPERATIONS, "-chardev", f"socket,id=c,path={socket}", "-device",
                                 "vhost-user-blk-pci,chardev=c,num-queues=1")
            with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
                ticks = file.read().rpartition(")")[2].split()[11:13]
            figures["cpu"] += sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
            return figures
        finally:
            process.terminate()
            process.communicate(timeout=WAIT_SECONDS)

    def ours(self, operations):
        console = fresh(f"{self.scratch}/console")
        quoted = " ".join(f'"{word}"' if " " in word else word
                          for word in ["-machine", "q35", *self.words(operations)])
        _, cpu = run([INJECT, "run", f"{ROOT}/bench/vm-disk.ini", "--csv", "--set=vm.memory=256M",
                      f"--set=vm.qemu={quoted}", f"--console={console}", *disk_of(self.disk)],
                     self.scratch)
        with open(console, encoding="utf-8", errors="replace") as file:
            return self.told(file.read(), cpu)


def bench_guest(disk, scratch):
    note("a guest that boots, and one whose disk is busy, in QEMU without KVM")
    guest = Guest(scratch, disk)
    s = Samples({
        "boot": lambda: guest.plain(0),
        "boot ours": lambda: guest.ours(0),
        "virtio-blk": guest.own_disk,
        "storage daemon": guest.daemon,
        "ours": lambda: guest.ours(OPERATIONS),
    }, GUEST_ROUNDS)
    for key, name, unit in (("boot", "vm_boot", "ns"), ("cpu", "vm_boot_cpu", "CPU-s")):
        add(name, s.median("boot ours", key), unit, "plain QEMU", s.median("boot", key))
    for peer in ("virtio-blk", "storage daemon"):
        for key, unit in (("iops", "IO/s"), ("read", "ns"), ("write", "ns"), ("cpu", "CPU-s")):
            add(f"vm_guest_{key}", s.median("ours", key), unit, peer, s.median(peer, key))


def bench_vm(scratch):
    disk = f"{scratch}/vm-disk"
    with open(disk, "wb") as file:
        file.write(os.urandom(1 << 20) * (DISK_BYTES >> 20))
    bench_disk(disk, scratch)
    bench_faults_of_vm(scratch)
    bench_guest(disk, scratch)
