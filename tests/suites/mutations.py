#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Breaks lib/translate in small ways, one at a time, and asks whether a unit test notices.

Each mutation replaces one text in one file, compiles that file and links the tests named for it
with it in the place of the good one. A mutation that no test notices is a failure.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
CACHE, TABLES, MODEL, SETS = "cache", "tables", "model", "model_sets"
TURNS, TENANTS, STORE, IMPORT = "turns", "tenants", "store", "import"

MUTATIONS = [
    ("cache_set.h", "record->order >> (4 * (cache->ways - 1)) & 0xf", "record->order & 0xf", CACHE),
    ("cache_set.h", "== CACHE_LFU_LIMIT) {\n\t\trecord->counters = record->counters >> 1",
     "== CACHE_LFU_LIMIT) {\n\t\trecord->counters = record->counters >> 2", CACHE),
    ("cache_set.h", "record->counters &= ~(0xfull << (4 * way));", "record->counters |= 1ull << (4 * way);", CACHE),
    ("cache_set.h", "if (next_uses[way] > next_uses[farthest])", "if (next_uses[way] < next_uses[farthest])", CACHE),
    ("cache_set.h", "(__u32)(numbers >> 60)) + 1)", "(__u32)(numbers >> 60)) + 0)", CACHE),
    ("cache_set.h", "return cache_draw(cache, cache->ways);\n\t/* Each way", "return 0;\n\t/* Each way", CACHE),
    ("cache_set.h", "way = (__u32)__builtin_ctz(~record->valid);", "way = 31 - (__u32)__builtin_clz(~record->valid & cache->full);", CACHE),
    ("cache_set.h", "cache->random ^= cache->random << 25;", "cache->random ^= cache->random << 24;", CACHE),
    ("cache_wide.c", "if (++counters[slot] < CACHE_LFU_LIMIT)", "if (++counters[slot] <= CACHE_LFU_LIMIT)", CACHE),
    ("cache_wide.c", "if (set->newest == slot)\n\t\t\treturn;", "if (set->newest != slot)\n\t\t\treturn;", CACHE),
    ("cache_wide.c", "gap = at;\n\t}", "}", CACHE),
    ("tables.c", "return level == 1 || entry & ENTRY_PAGE;", "return level == 1;", TABLES),
    ("tables.c", "++*reads;", "", TABLES),
    ("tables.c", "return table | (address & page_mask(level_shift(level)));", "return table;", TABLES),
    ("model_iommu.c", "return (first - leaf + 1) * (TABLES_LEVELS + 1) + host;", "return (first - leaf) * (TABLES_LEVELS + 1) + host;", MODEL),
    ("model_level.h", "if ((__u32)stats->fills != miss->fills) {", "if (false) {", MODEL),
    ("model.c", "return (time_ps - device->slot_ps + m->slot_ps - 1) / m->slot_ps;", "return (time_ps - device->slot_ps) / m->slot_ps + 1;", MODEL),
    ("model.c", "in_flight_changes(m, &m->devices[a->device], -1);", "m->devices[a->device].in_flight--;", MODEL),
    ("model_prefetch.c", "if (*predicted == NONE)\n\t\t\t*predicted = source;", "*predicted = NONE;", MODEL),
    ("model_level.h", "<< KEY_PAGE | (__u64)domain << 2", "<< KEY_PAGE", MODEL),
    ("model_level.h", "level->lost[key_domain(victim)]++;", "level->lost[key_domain(key)]++;", SETS),
    ("model_queue.h", "queue->ring[queue->tail & queue->mask].time_ps = QUEUE_END;", "", MODEL),
    ("model_queue.h", "time_ps > time_ps)", "time_ps >= time_ps)", MODEL),
    ("oracle.c", "request->next_use = uses->slots[at].page ? uses->slots[at].next : CACHE_NEVER;", "request->next_use = number;", MODEL),
    ("turns.c", "t->chances[middle] > drawn", "t->chances[middle] < drawn", TURNS),
    ("turns.c", "if (++t->round >= t->largest_share)", "if (++t->round > t->largest_share)", TURNS),
    ("turns.c", "sum += chance * share_of(t, i);", "sum += chance;", TURNS),
    ("turns.c", "random_next(&t->random) | 1ull << DOUBLINGS_MAX", "random_next(&t->random) | 2ull << DOUBLINGS_MAX", TURNS),
    ("turns.c", "mantissa = (__u64)(square >> 64);", "mantissa = (__u64)(square >> 63);", TURNS),
    ("tenants.c", "t->tenants[least].left = c->tenant_packets_min;", "", TENANTS),
    ("tenants.c", "if (c->phase && !--tenant->phase) {", "if (c->phase && !tenant->phase--) {", TENANTS),
    ("tenants.c", "__u64 base = number * c->apart;", "__u64 base = c->apart;", TENANTS),
    ("store.c", "p->left = 0;\n\t\t\tbreak;", "break;", STORE),
    ("store.c", "p->next[tenant] == p->at && take(p, tenant, packet)", "take(p, tenant, packet)", STORE),
    ("pages.c", "page->newer->older = page->older;", "", TENANTS),
    ("import_qemu.c", "{\"pmask\", MASK, UINT64_MAX},", "", IMPORT),
    ("import_hypersio.c", "if (type != TRANSLATION)", "if (!type)", IMPORT),
    ("import.c", "O_RDONLY | O_NONBLOCK", "O_RDONLY", IMPORT),
]


def compile_mutated(directory, name):
    """Objects of every source that sees the mutated file: itself, or all if it is a header."""
    folder = directory / "lib/translate"
    sources = [folder / name] if name.endswith(".c") else sorted(folder.glob("*.c"))
    objects = []
    for source in sources:
        if name.endswith(".h") and name not in source.read_text() and "cache_set" not in name \
                and "model_" not in name:
            continue
        target = directory / (source.stem + ".o")
        done = subprocess.run(
            ["gcc", "-O1", "-std=gnu11", "-D_GNU_SOURCE", "-pthread", f"-I{directory}", f"-I{ROOT}",
             f"-I{BUILD}", "-c", str(source), "-o", str(target)], capture_output=True, text=True)
        if done.returncode:
            return None, done.stderr
        objects.append(str(target))
    return objects, ""


def notices(objects, test, directory):
    """Links the test with the mutated objects first: the archive then does not give the good ones."""
    program = directory / f"test_{test}"
    helpers = [str(p) for p in (BUILD / "tests/reference").glob("*.o")]
    link = subprocess.run(
        ["gcc", "-pthread", "-o", str(program), str(BUILD / f"tests/unit/test_{test}.o"), *helpers,
         *objects, str(BUILD / "libfaultline.a"), "-lcmocka", "-lbpf", "-lelf", "-lz", "-lzstd", "-ljansson",
         "-linih", "-lpci", "-lxxhash", "-lm"], capture_output=True, text=True)
    if link.returncode:
        return None, link.stderr
    try:
        run = subprocess.run([str(program)], capture_output=True, timeout=20, check=False)
    except subprocess.TimeoutExpired:
        return True, ""
    return run.returncode != 0, ""


def try_mutation(number, name, old, new, test):
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        folder = directory / "lib/translate"
        folder.mkdir(parents=True)
        for source in (ROOT / "lib/translate").glob("*.[ch]"):
            os.symlink(source, folder / source.name)
        text = (ROOT / "lib/translate" / name).read_text()
        label = f"mutation {number}: {name}: {old.split(chr(10))[0].strip()[:60]}"
        if text.count(old) != 1:
            return False, f"{label}: stands {text.count(old)} times in the file"
        (folder / name).unlink()
        (folder / name).write_text(text.replace(old, new))
        objects, error = compile_mutated(directory, name)
        if objects is None:
            return False, f"{label}: does not compile: {error.splitlines()[0]}"
        noticed, error = notices(objects, test, directory)
        if noticed is None:
            return False, f"{label}: does not link: {error.splitlines()[-1]}"
        return noticed, label


def main():
    passed = failed = 0
    for number, mutation in enumerate(MUTATIONS, 1):
        good, label = try_mutation(number, *mutation)
        print(f"{'ok' if good else 'not ok'} - {label}", flush=True)
        passed += good
        failed += not good
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
