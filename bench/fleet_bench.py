# SPDX-License-Identifier: GPL-2.0
"""How long faultline fleet takes for many devices and a day: CPU time a device, which is what two cores have for 5000."""
import csv
import io
import re
import time

from measure import FAULTLINE, ROOT, ROUNDS, Samples, add, run

MACHINES = 100
DEVICES, CORES = 5000, 2


def bench_fleet(scratch):
    with open(f"{ROOT}/tools/jobs/fleet-adp.ini", encoding="ascii") as file:
        job = re.sub(r"\[expect\][^[]*", "", file.read())
    with open(f"{scratch}/fleet.ini", "w", encoding="ascii") as file:
        file.write(job)

    def measured(*options):
        before = time.monotonic()
        output, cpu = run([FAULTLINE, "fleet", "./fleet.ini", f"--set=production.count={MACHINES}",
                           "--table=fleet_devices", "--csv=-", *options], scratch)
        devices = sum(row["policy"] == "adp" for row in csv.DictReader(io.StringIO(output)))
        return {"seconds": time.monotonic() - before, "cpu": cpu / devices}

    samples = Samples({"one thread": lambda: measured("-j1"), "all CPUs": measured}, rounds=min(ROUNDS, 3))
    cpu = samples.median("one thread", "cpu")
    add("fleet: a device and day, none and adp", 1000 * cpu, "ms of CPU")
    add(f"fleet: {DEVICES} devices and a day", DEVICES * cpu / CORES / 60, "min on two cores")
    add("fleet: all CPUs over one thread",
        samples.median("one thread", "seconds") / samples.median("all CPUs", "seconds"), "times")
