# SPDX-License-Identifier: GPL-2.0
"""Part smartio: an emulated NVMe disk, lent and local, beside the emulated block device and fio on a file; same size, depth."""
import json
import os

from measure import Samples, add, job, note, run


def bench_smartio(scratch):
    disk = f"{scratch}/disk"
    with open(disk, "wb") as file:
        file.write(os.urandom(1 << 20) * 64)

    def emulated(host, depth):
        row = job("smartio", scratch, f"reader.host={host}", f"reader.depth={depth}")
        return {"iops": float(row["iops"])}

    def block(depth):
        row = job("block", scratch, f"disk.file={disk}", f"reader.depth={depth}")
        return {"iops": float(row["iops_per_s"])}

    def fio(depth):
        output, _ = run(["fio", "--name=peer", f"--filename={disk}", "--rw=randread", "--bs=4k",
                         "--ioengine=posixaio", f"--iodepth={depth}", "--runtime=1", "--time_based",
                         "--norandommap", "--thread", "--output-format=json"], scratch)
        return {"iops": json.loads(output[output.index("{"):])["jobs"][0]["read"]["iops"]}

    for depth in (1, 32):
        note(f"lent disk, depth {depth}, beside a local one, the block device and fio")
        variants = {
            "lent": lambda: emulated("user", depth),
            "local": lambda: emulated("lender", depth),
            "block device": lambda: block(depth),
            "fio posixaio": lambda: fio(depth),
        }
        samples = Samples(variants)
        for peer in list(variants)[1:]:
            add(f"smartio_lent_4k_depth_{depth}", samples.median("lent", "iops"), "IO/s", peer,
                samples.median(peer, "iops"))
