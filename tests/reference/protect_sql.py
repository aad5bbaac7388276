#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Makes recordings of accesses, and finds out with SQLite what `faultline protect` says of them.

    protect_sql.py make FOLDER      pages.flt, single.flt, mappings.flt, second.flt, lossy.flt, cut.flt, empty.flt,
                                unknown.flt, damaged.flt; what is in the first two: pages.csv, single.csv
    protect_sql.py accesses ACCESSES.csv EXPECTED.csv       the exported accesses are those that were written
    protect_sql.py faults ACCESSES.csv PROTECT.csv IDLE_NS      faults without pins, by lag() over the exported accesses
    protect_sql.py avoided ACCESSES.csv ACTIONS.csv PROTECT.csv  those that pins avoid, and pinned_mean, by the exported pins
    protect_sql.py reclaim ACCESSES.csv ACTIONS.csv PROTECT.csv  faults of rule reclaim, by going through all of them
    protect_sql.py rates PROTECT.csv RESULTS.csv                percentages, RPR, sums; the oracle is beaten nowhere
    protect_sql.py windows ACCESSES.csv WINDOWS.csv SECONDS     distinct pages by windows

Each check is a line "ok - ..." or "not ok - ...".
"""
import csv
import math
import os
import pathlib
import random
import sqlite3
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../hostile"))
from forge import IO_COMPLETE, KIND, PASID_NONE, SECOND, START_NS, Recording  # noqa: E402

IDLE = 300 * SECOND
HUGE = 1 << 21
MEMORY = 2 << 30
MINUTES = 41


def second_of(now):
    return START_NS // SECOND + now


def touched(draw, now):
    """4 KiB pages that two devices touch in a second: some soon again, some after minutes, some never."""
    pages = [(2, 9, 5)] if now == 1 else []
    for device in (1, 2) if now > 1 else ():
        for _ in range(draw.randrange(4)):
            huge = (draw.randrange(5) if draw.random() < .4 else 5 + now // 11 % 37 if draw.random() < .9 else
                    50 + draw.randrange(400))
            for _ in range(1 + draw.randrange(2)):
                pages.append((device, PASID_NONE if device == 1 else draw.choice([3, 9]),
                              huge * 512 + draw.randrange(512)))
    return sorted(set(pages))


def begun(host="one", kinds="", **device):
    r = Recording(host=host, recording=zlib.crc32(host.encode()))
    if kinds:
        r.host(hostname=host, kinds=kinds)
    for name, vm in (("vm0/nic", "vm0"), ("vm0/disk", "vm0"), ("vm1/disk", "vm1")):
        r.device(name=name, vm=vm, **{"memory": MEMORY, **device})
    return r


NAMES = {1: "vm0/nic", 2: "vm0/disk"}


def domain(device, pasid):
    return NAMES[device] + ("" if pasid == PASID_NONE else f"@{pasid}")


def write(path, accesses):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([("time_ns", "domain", "page", "count"), *accesses])


def pages(seed, host="one", seconds=60 * MINUTES, expected=None, **device):
    """Pages of 4 KiB by seconds; what is expected are pages of 2 MiB, in the order of devices, PASIDs and pages."""
    draw, r, accesses = random.Random(seed), begun(host, **device), []
    for now in range(1, seconds):
        some = [dict(page=page, device=device, pasid=pasid, reads=1 + draw.randrange(3), writes=draw.randrange(2))
                for device, pasid, page in touched(draw, now)]
        if some:
            r.aggregate(window=second_of(now), pages=some)
        counts = {}
        for one in some:
            key = one["device"], one["pasid"], one["page"] // 512
            counts[key] = counts.get(key, 0) + one["reads"] + one["writes"]
        accesses += [(second_of(now) * SECOND, domain(*key[:2]), key[2], counts[key]) for key in sorted(counts)]
    if expected:
        write(expected, accesses)
    return r


def single(seed, kind, expected=None, **begin):
    """One by one, of lengths that reach over the end of a page; several at one time."""
    draw, r, events, accesses, now = random.Random(seed), begun(**begin), [], [], START_NS
    for _ in range(3001):
        now += draw.choice([0, 1, draw.randrange(2 * SECOND)])
        length = draw.choice([512, 4096, HUGE])
        address = draw.randrange(300) * HUGE + draw.choice([draw.randrange(HUGE), HUGE - length])
        events.append(dict(time=now, address=address, kind=kind, length=length, device=1 + draw.randrange(2), queue=0,
                           pasid=PASID_NONE, flags=1))
        accesses += [(now, NAMES[events[-1]["device"]], page, 1)
                     for page in range(address // HUGE, (address + length - 1) // HUGE + 1)]
    if expected:
        write(expected, sorted(accesses, key=lambda access: NAMES[1] != access[1]))
    return r.events(events)


def make(folder):
    os.chdir(folder)
    pages(1, expected="pages.csv").end(START_NS + 60 * MINUTES * SECOND).write("pages.flt")
    pages(2, "two").end(START_NS + 60 * MINUTES * SECOND).write("second.flt")
    single(3, IO_COMPLETE, "single.csv", kinds="io_complete").end().write("single.flt")
    single(4, KIND["DMA_MAP"]).end().write("mappings.flt")
    pages(5, seconds=600).loss(100, 90, 10).end().write("lossy.flt")
    pages(6, seconds=600).write("cut.flt")
    pages(7, seconds=600, memory=0).end().write("unknown.flt")
    begun().end().write("empty.flt")
    broken = bytearray(pathlib.Path("pages.flt").read_bytes())
    broken[len(broken) // 2] ^= 0xff
    pathlib.Path("damaged.flt").write_bytes(broken)


def told(name, wrong):
    print(f"not ok - {name}: {wrong}" if wrong else f"ok - {name}")


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def table(db, path):
    """All columns as text, but for numbers, in the order of lines."""
    some = rows(path)
    name = pathlib.Path(path).stem
    columns = list(some[0])
    db.execute(f"CREATE TABLE {name} (line INTEGER PRIMARY KEY, {', '.join(columns)})")
    db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * (len(columns) + 1))})",
                   [[i] + [int(v) if v.isdigit() else v for v in row.values()] for i, row in enumerate(some)])
    return name


GAPS = """CREATE VIEW gaps AS SELECT point, domain, page, time_ns, line,
          time_ns - lag(time_ns) OVER (PARTITION BY point, tenant, domain, page ORDER BY line) AS gap
          FROM {} """


def faults(accesses, protect, idle):
    db = sqlite3.connect(":memory:")
    name = table(db, accesses)
    db.execute(GAPS.format(name))
    found = {(point, domain): of for point, domain, *of in db.execute(f"""
        SELECT point, domain, sum(gap > {idle}), sum(gap IS NULL) FROM gaps GROUP BY point, domain""")}
    counts = {(point, domain): of for point, domain, *of in db.execute(f"""
        SELECT point, domain, sum(count), count(DISTINCT iif(told = 'yes', page, NULL)) FROM {name}
        GROUP BY point, domain""")}
    wrong, total = [], 0
    for row in rows(protect):
        if row["domain"] == "total":
            continue
        key = int(row["point"]), row["domain"]
        theirs = [int(row[c]) for c in ("faults_none", "first_accesses", "touched_pages", "accesses", "told_pages")]
        ours = [found[key][0], found[key][1], found[key][1], *counts[key]]
        total += ours[0]
        if theirs != ours:
            wrong.append(f"{key}: {theirs}, by SQL {ours}")
    if total < 100:
        wrong.append(f"only {total} faults")
    told(f"{total} faults, and pages and accesses of {len(found)} domains by SQL", "; ".join(wrong))


def avoided(accesses, actions, protect):
    """A fault is avoided if the newest pin or unpin of its page before it is a pin, and was in time."""
    db = sqlite3.connect(":memory:")
    name, acts = table(db, accesses), table(db, actions)
    end = START_NS + 60 * MINUTES * SECOND
    wrong, seen = [], 0
    db.execute(GAPS.format(name))
    db.execute(f"CREATE INDEX place ON {acts} (point, domain, page, time_ns, line)")
    # What happens at the time of an access but because of it comes after it: pins on touch.
    found = dict(((p, d), a) for p, d, a in db.execute(f"""
        SELECT g.point, g.domain, sum((SELECT a.action = 'pin' AND a.time_ns <= g.time_ns - g.gap + {IDLE} FROM {acts} a
               WHERE a.point = g.point AND a.domain = g.domain AND a.page = g.page AND a.time_ns <= g.time_ns
                     AND NOT (a.time_ns = g.time_ns AND a.reason = 'touched')
               ORDER BY a.line DESC LIMIT 1))
        FROM gaps g WHERE g.gap > {IDLE} GROUP BY g.point, g.domain"""))
    pinned = dict(((p, d), s) for p, d, s in db.execute(f"""
        SELECT point, domain, sum(until - time_ns) FROM (SELECT point, domain, time_ns, action, coalesce(lead(time_ns) OVER (
               PARTITION BY point, domain, page ORDER BY line), {end}) AS until FROM {acts}) WHERE action = 'pin'
        GROUP BY point, domain"""))
    first = dict(db.execute(f"SELECT point || tenant, min(time_ns) FROM {name} GROUP BY point, tenant"))
    for row in rows(protect):
        if row["domain"] == "total":
            continue
        key = int(row["point"]), row["domain"]
        ours, theirs = found.get(key) or 0, int(row["faults_none"]) - int(row["faults"])
        mean = pinned.get(key, 0) / (end - first[row["point"] + row["tenant"]])
        seen += ours
        if ours != theirs:
            wrong.append(f"{key}: avoids {theirs}, by SQL {ours}")
        if not math.isclose(mean, float(row["pinned_mean_pages"]), rel_tol=1e-6, abs_tol=1e-6):
            wrong.append(f"{key}: pinned {row['pinned_mean_pages']}, by SQL {mean}")
    if seen < 50:
        wrong.append(f"only {seen} avoided")
    told(f"{seen} avoided faults and pinned time by SQL", "; ".join(wrong))


def low_to_high(now, low, high, period):
    phase = 2 * (now % period) / period
    return low + (high - low) * (2 - phase if phase > 1 else phase)


def reclaimed(accesses, actions, lru):
    """Faults by domain of one point: a list of what happens, in order, and a memory manager as docs/protect.md has it."""
    start = int(accesses[0]["time_ns"])
    last = max(int(a["time_ns"]) for a in accesses)
    todo = [(int(a["time_ns"]), 3 if a["reason"] == "touched" or lru else 0, a) for a in actions]
    todo += [(start + (i + 1) * SECOND, 1, None) for i in range((last - start) // SECOND)]
    todo += [(int(a["time_ns"]), 2, a) for a in accesses]
    used, pinned, out, known, found = {}, {}, set(), set(), {}
    for turn, (now, what, row) in enumerate(sorted(todo, key=lambda item: item[:2])):
        page = row and row["page"]
        if what == 1:
            share = low_to_high(now - start, 0.1, 0.5, 1000 * SECOND)
            idle = sorted((when, page) for page, when in used.items() if page not in out and not pinned.get(page))
            out.update(page for _, page in idle[:max(0, int(share * len(used) * (1 + 1e-12)) - len(out))])
        elif what == 2:
            if page in out and (row["domain"], page) in known:
                found[row["domain"]] = found.get(row["domain"], 0) + 1
            known.add((row["domain"], page))
            used[page] = turn
            out.discard(page)
        elif row["action"] == "pin":
            pinned[page] = pinned.get(page, 0) + 1
            out.discard(page)
        else:
            pinned[page] -= 1
    return found


def reclaim(accesses, actions, protect):
    wrong, total = [], 0
    acts, done = rows(actions), rows(accesses)
    for point in sorted({row["point"] for row in done}):
        found = reclaimed([a for a in done if a["point"] == point], [a for a in acts if a["point"] == point],
                          any(r["point"] == point and r["pinned_by"] == "lru" for r in rows(protect)))
        theirs = {r["domain"]: int(r["faults"]) for r in rows(protect) if r["point"] == point and r["domain"] != "total"}
        total += sum(found.values())
        if {domain: found.get(domain, 0) for domain in theirs} != theirs:
            wrong.append(f"point {point}: {theirs}, by hand {found}")
    if total < 100:
        wrong.append(f"only {total} faults")
    told(f"{total} faults of reclaim, one by one", "; ".join(wrong))


def windows(accesses, footprint, seconds):
    origin = min(int(a["time_ns"]) for a in rows(accesses))
    pages = {}
    for a in rows(accesses):
        key = a["domain"].split("@")[0], (int(a["time_ns"]) - origin) // (int(seconds) * SECOND)
        pages.setdefault(key, set()).add((a["domain"], a["page"]))
    ours = {(device, origin + number * int(seconds) * SECOND): len(of) for (device, number), of in pages.items()}
    theirs = {(row["device"], int(row["window_ns"])): int(row["pages_2m"]) for row in rows(footprint)}
    told(f"distinct pages of {len(ours)} windows", "" if ours == theirs and len(ours) > 5 else f"{theirs}, not {ours}")


def accesses_are(accesses, expected):
    """Of one point; of single ones each domain's for itself, as those of a tenant may stand in any order of domains."""
    ours = [(a["time_ns"], a["domain"], a["page"], a["count"]) for a in rows(expected)]
    theirs = [(a["time_ns"], a["domain"], a["page"], a["count"]) for a in rows(accesses) if a["point"] == "1"]
    if "single" in expected:
        theirs.sort(key=lambda access: NAMES[1] != access[1])
    wrong = next((f"{a}, not {b}" for a, b in zip(theirs, ours) if a != b), "")
    told(f"{len(ours)} accesses are those that were recorded", wrong or (len(ours) != len(theirs) and f"{len(theirs)}"))


def near(text, number):
    return text == "" if number is None else text != "" and math.isclose(float(text), number, rel_tol=1e-6, abs_tol=1e-6)


def ratio(part, whole):
    return 100 * part / whole if whole else None


def rates(protect, results):
    wrong, sums = [], {}
    for row in rows(protect):
        none, left = int(row["faults_none"]), int(row["faults"])
        avoided = ratio(none - left, none)
        pinned = ratio(float(row["pinned_mean_pages"]), int(row["memory_pages"]))
        rpr = avoided / pinned if avoided is not None and pinned else None
        what = f"{row['point']} {row['domain']}"
        if not near(row["avoided_percent"], avoided) or not near(row["pinned_mean_percent"], pinned):
            wrong.append(f"{what}: percent")
        if not near(row["rpr"], rpr):
            wrong.append(f"{what}: RPR {row['rpr']}, not {rpr}")
        if row["oracle_avoided"] and int(row["oracle_avoided"]) < none - left:
            wrong.append(f"{what}: beats the oracle")
        mine = (none, left, int(row["pins"]), int(row["accesses"]))
        if row["domain"] != "total":
            sums[row["point"]] = tuple(map(sum, zip(sums.get(row["point"], (0, 0, 0, 0)), mine, strict=True)))
        elif sums[row["point"]] != mine:
            wrong.append(f"{what}: {mine}, sum {sums[row['point']]}")
        else:
            sums[row["point"]] = dict(row)
    for point, row in sums.items():
        memory = {}
        for of in rows(protect):
            if of["point"] == point and of["domain"] != "total":
                key = of["host"], of["tenant"]
                memory[key] = max(memory.get(key, 0), int(of["memory_pages"]))
        if int(row["memory_pages"]) != sum(memory.values()):
            wrong.append(f"total of point {point}: memory {row['memory_pages']}")
    for row in rows(results):
        for ours, theirs in (("rpr", "rpr"), ("faults", "faults"), ("pinned_mean_percent", "pinned_mean_percent"),
                             ("avoided_percent", "avoided_percent"), ("faults_none", "faults_none")):
            if row[ours] != sums[row["point"]][theirs]:
                wrong.append(f"results of point {row['point']}: {ours}")
    told(f"percentages and RPR of {len(sums)} points", "; ".join(wrong))


if __name__ == "__main__":
    {"make": make, "faults": faults, "avoided": avoided, "reclaim": reclaim, "rates": rates,
     "windows": windows, "accesses": accesses_are}[sys.argv[1]](*sys.argv[2:])
