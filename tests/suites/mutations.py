#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Breaks code in small ways, one at a time, and asks whether a unit test notices: lib/translate, and the bounds
that readers of strangers' files check.

Each mutation replaces one text in one file (of lib/translate, if it names no other folder), compiles what sees
that file and links the test named for it with that in the place of the good one. Blanks and line ends in the
text match any, and the name may be a pattern, if the text stands in just one of the files: code that moves
stays found. A mutation that no test notices is a failure. Arguments are the numbers of those to try; none: all.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
CACHE, TABLES, MODEL, SETS = "cache", "tables", "model", "model_sets"
LAWS = "model_laws"
# Programs with the one test that is to notice.
REFERENCE, ORACLE = "model_reference random*", "model_reference the_oracle*"
REFUSED = "model_reference prefetches*"
TURNS, TENANTS, STORE, IMPORT = "turns", "tenants", "store", "import"
REUSE, PAGES = "reuse", "pages"
RECORDS, HELLO, JOURNAL, FILES = "records", "hello", "journal_file", "file_bounds"

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
    ("model_iommu.h", "return (first - leaf + 1) * (TABLES_LEVELS + 1) + host;", "return (first - leaf) * (TABLES_LEVELS + 1) + host;", LAWS),
    ("model_level.h", "if ((__u32)stats->fills != miss->fills) {", "if (false) {", MODEL),
    ("model*", "(time_ps - device->slot_ps + m->slot_ps - 1) / m->slot_ps", "(time_ps - device->slot_ps) / m->slot_ps + 1", MODEL),
    ("model.c", "in_flight_changes(m, &m->devices[a->device], -1);", "m->devices[a->device].in_flight--;", MODEL),
    ("model_prefetch.c", "if (*predicted == NONE)\n\t\t\t*predicted = source;", "*predicted = NONE;", MODEL),
    ("model_level.h", "<< KEY_PAGE | (__u64)domain << 2", "<< KEY_PAGE", MODEL),
    ("model_level.h", "level->lost[key_domain(victim)]++;", "level->lost[key_domain(key)]++;", SETS),
    ("model_queue.h", "return time_ps << DUE_KIND_BITS | kind;", "return time_ps << DUE_KIND_BITS | (5 - kind);", MODEL),
    ("model_queue.h", "while (previous->due > due &&", "while (previous->due >= due &&", MODEL),
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
    ("turns.c", "if (t->only)\n\t\treturn;", "", TENANTS),
    ("pages.c", ".reuse_median = half ? half - 1 : 0", ".reuse_median = half", PAGES),
    ("pages.c", "accesses * 1000 / runs > tenant->run", "accesses * 1000 / runs < tenant->run", PAGES),
    ("pages.c", "page->newer->older = page->older;", "", TENANTS),
    ("pages.c", "add_taken(tenant, page->slot, -1u);", "", REUSE),
    ("pages.c", "tenant->taken[i] = i < count;", "tenant->taken[i] = i <= count;", REUSE),
    ("import_qemu.c", "{\"pmask\", MASK, UINT64_MAX},", "", IMPORT),
    ("import_hypersio.c", "if (type != TRANSLATION)", "if (!type)", IMPORT),
    ("import.c", "O_RDONLY | O_NONBLOCK", "O_RDONLY", IMPORT),
    # What only every single step tells.
    ("cache_set.h", "next_use > cache->next_uses[slot])", "next_use < cache->next_uses[slot])", REFERENCE),
    ("model*", "m->stats.prefetch_useful += !used[slot];", "m->stats.prefetch_useful += used[slot];", REFERENCE),
    ("model*", "m->stats.prefetch_unused += evicted && !used[slot];", "m->stats.prefetch_unused += evicted != 0;", REFERENCE),
    ("model*", "used[slot] = false;", "", REFERENCE),
    ("model*", "schedule(m, EVENT_IOMMU, time_ps + m->config.pcie_ps,", "schedule(m, EVENT_IOMMU, time_ps + m->config.devtlb_hit_ps + m->config.pcie_ps,", REFERENCE),
    ("model*", "page_key(0, 12, a->source)", "page_key(0, 12, a->source & 0xff)", REFERENCE),
    ("model*", "level_touch(context, 0, m->context_slot, CACHE_NEVER);", "", REFERENCE),
    ("model*", "(__u32)level->sets[set].fills - 1", "(__u32)level->sets[set].fills", REFERENCE),
    ("model*", "m->devices[n].slot_ps < device->slot_ps", "m->devices[n].slot_ps <= device->slot_ps", REFERENCE),
    ("model*", "waiting[n] = false; drops[n] = 0;", "waiting[n] = false;", REFERENCE),
    ("model*", "forget(&device->buffer, key);", "", REFERENCE),
    ("model*", "forget(&m->iotlb, key);", "", REFERENCE),
    ("model*", "forget(&m->level2, key_2m(key));", "", REFERENCE),
    ("model*", "if (r->page_shift >= 30)", "if (r->page_shift > 30)", REFERENCE),
    ("model*", "device->slot_ps += missed * m->slot_ps; pass(m, device->slot_ps, device, 0);", "device->slot_ps += missed * m->slot_ps;", REFERENCE),
    ("model*", "m->now_ps > slots ? m->now_ps : slots", "m->now_ps", REFERENCE),
    ("model*", "if (p->recent_count == distance) {", "if (p->recent_count + 1 == distance) {", REFERENCE),
    ("model*", "= h->keys[i];", "= h->keys[h->count - 1 - i];", REFERENCE),
    ("model*", "p->under_way == MODEL_PREFETCHES", "p->under_way == MODEL_PREFETCHES - 1", REFUSED),
    ("model*", "if (*predicted == NONE) *predicted", "*predicted", REFERENCE),
    ("model*", "if (m->config.prefetch_trigger == TRIGGER_ACCESS) model_prefetch_ahead(m, device, a->source, m->now_ps); "
     "remember(p, a, m->config.prefetch_pages);",
     "remember(p, a, m->config.prefetch_pages); if (m->config.prefetch_trigger == TRIGGER_ACCESS) "
     "model_prefetch_ahead(m, device, a->source, m->now_ps);", REFERENCE),
    ("model*", "hit ? on_miss && is_in(&device->buffer, a->key) :", "hit ? on_miss :", REFERENCE),
    ("model*", "model_prefetch_ahead(m, device, a->source, time_ps);", "model_prefetch_ahead(m, device, a->source, m->now_ps);", REFERENCE),
    ("model*", "if (m->config.prefetch_trigger == TRIGGER_ACCESS)", "", REFERENCE),
    ("model*", "schedule(m, EVENT_HISTORY, time_ps + m->config.pcie_ps + m->config.dram_ps,", "schedule(m, EVENT_HISTORY, time_ps + m->config.pcie_ps,", REFERENCE),
    ("model*", "!a->fill2 ? 1 : !a->fill3 ? 2 : TABLES_LEVELS", "!a->fill2 ? 1 : !a->fill3 ? 3 : TABLES_LEVELS", REFERENCE),
    ("model*", "leaf < 3 ? 3 - leaf : 0", "leaf < 2 ? 3 - leaf : 0", REFERENCE),
    ("model*", "!a->walks || a->prefetch || a->faulted", "a->prefetch || a->faulted", REFERENCE),
    ("model*", "!a->walks || a->prefetch || a->faulted", "!a->walks || a->faulted", REFERENCE),
    ("model*", "4 * m->config.pcie_ps + m->config.fault_ps", "3 * m->config.pcie_ps + m->config.fault_ps", REFERENCE),
    ("model*", "if (m->iotlb.cache) fill(&m->iotlb, &a->iotlb, a->key, a->next_use);", "", REFERENCE),
    ("model*", "if (a->prefetch) m->stats.prefetch_walks++; else", "", REFERENCE),
    ("model*", "(~0ull << (bits))", "(~0ull << (bits) << 1)", REFERENCE),
    ("model*", "level->set_bit = set_bit;", "level->set_bit = KEY_2M;", REFERENCE),
    ("model*", "if ((victim ^ key) & KEY_DOMAIN) {", "{", REFERENCE),
    ("model*", "m->random.state = config->seed;", "m->random.state = config->seed + 1;", REFERENCE),
    ("model_queue.h", "EVENT_CONTEXT, /* the context entry has come */ EVENT_IOMMU, /* a request reached the IOMMU */",
     "EVENT_IOMMU, EVENT_CONTEXT,", REFERENCE),
    ("model_queue.h", "EVENT_HIT, /* DevTLB or prefetch buffer answered */ EVENT_DONE, /* the IOMMU's answer is back at the device */",
     "EVENT_DONE, EVENT_HIT,", REFERENCE),
    ("lib/base/random.h", "mixed = (mixed ^ mixed >> 27)", "mixed = (mixed ^ mixed >> 26)", REFERENCE),
    ("oracle.c", "uses->slots[at].domain != domain))", "uses->slots[at].domain > domain))", ORACLE),
    ("oracle.c", "request->iova >> request->page_shift << request->page_shift | request->page_shift",
     "request->iova >> 12 << 12 | request->page_shift", ORACLE),
    ("tables.c", "above > level; above--", "above > level + 1; above--", TABLES),
    ("tables.c", "for (__u64 done = 0;", "for (__u64 done = 1ull << host_shift;", TABLES),
    ("tables.c", "return is_leaf(entry, level) ? 0 : overlaps(iova, shift);", "return 0;", TABLES),
    ("tables.c", "address >> level_shift(level) & (ENTRIES - 1)", "address >> level_shift(level) & (ENTRIES / 2 - 1)", TABLES),
    # Bounds of what a stranger's file claims.
    ("lib/trace/records.c", "frame->rows[i].histogram > frame->bin_count ||", "", RECORDS),
    ("lib/trace/records.c", "frame->rows[i].bins > frame->bin_count - frame->rows[i].histogram", "false", RECORDS),
    ("lib/trace/records.c", "if (frame->bins[i].bucket >= HISTOGRAM_BUCKETS)", "if (false)", RECORDS),
    ("lib/trace/records.c", "rows <= AGGREGATE_ROWS_MAX &&", "", RECORDS),
    ("lib/trace/records.c", "&& pages <= AGGREGATE_PAGES_MAX", "", RECORDS),
    ("lib/trace/columns.c", "if (cursor->short_of) return -EBADMSG;", "", RECORDS),
    ("lib/trace/buffer.c", "if (size > cursor->left) {", "if (size > cursor->left + 1) {", RECORDS),
    ("lib/trace/read.c", "header->count > TRACE_EVENTS_MAX ||", "", RECORDS),
    ("lib/trace/read.c", "tick_count > TRACE_EVENTS_MAX ||", "", RECORDS),
    ("lib/capture/hello.c", "|| number != index", "", HELLO),
    ("lib/capture/hello.c", "|| count > HELLO_DEVICES_MAX", "", HELLO),
    ("lib/capture/hello.c", "|| (__u64)signed_value > maximum", "", HELLO),
    ("lib/capture/hello.c", "i < NAME_TEXT - 1", "i < NAME_TEXT", HELLO),
    ("injectors/real/journal_file.c", "if (head->texts > JOURNAL_TEXTS || ", "if (", JOURNAL),
    ("injectors/real/journal_file.c", "|| head->bytes > JOURNAL_TEXT_BYTES", "", JOURNAL),
    ("injectors/real/journal_file.c", "return ends == head->texts && ", "return ", JOURNAL),
    ("injectors/real/journal_file.c", "&& (!head->bytes || !texts[head->bytes - 1])", "", JOURNAL),
    ("injectors/real/journal_file.c", "head->bytes > size - sizeof(*head) ||", "", JOURNAL),
    ("injectors/real/journal_file.c", "|| head->type > JOURNAL_UNDONE", "", JOURNAL),
    ("lib/analyze/slo_file.c", "if (set->count == SLO_MAX)", "if (set->count > SLO_MAX)", FILES),
    ("lib/job/options.c", "strlen(text) >= row->size ||", "strlen(text) > row->size ||", FILES),
    ("lib/job/options.c", "if (last >= CPU_SETSIZE) return -EINVAL;", "", FILES),
    ("lib/job/sweep.c", "dimension->value_count == SWEEP_VALUES", "dimension->value_count > SWEEP_VALUES", FILES),
    ("lib/job/sweep.c", "sweep->dimension_count == SWEEP_DIMENSIONS", "sweep->dimension_count > SWEEP_DIMENSIONS", FILES),
    ("lib/job/sweep.c", "> SWEEP_POINTS)", "> SWEEP_POINTS * 2)", FILES),
]


def seconds_for(test):
    """Of CPU time: a test that takes four times what it takes with the good code has noticed."""
    return 100 if test == "model_reference" else 12


def find(name, old):
    """The one file that has the text, and where; or why there is none."""
    text = r"\s+".join(re.escape(word) for word in old.split())
    places = [(path, match) for path in sorted(ROOT.glob(name if "/" in name else f"lib/translate/{name}"))
              if path.suffix in (".c", ".h") for match in re.finditer(text, path.read_text())]
    if len(places) != 1:
        return None, f"stands {len(places)} times"
    return places[0], ""


def compile_mutated(directory, mutated):
    """Objects of every source that sees the mutated file, as the build's dependencies know it."""
    objects = []
    # What is in lib/base is seen by lib/translate, which the tests look at.
    folder = pathlib.Path("lib/translate") if mutated.parent.name == "base" else mutated.parent
    sources = ROOT / folder if mutated.parent.name == "base" else directory / folder
    for source in sorted(sources.glob("*.c")):
        known = BUILD / folder / (source.stem + ".d")
        if str(mutated) not in re.split(r"[\s:]+", known.read_text()):
            continue
        target = directory / (source.stem + ".o")
        done = subprocess.run(
            ["gcc", "-O1", "-std=gnu11", "-D_GNU_SOURCE", "-pthread", f"-I{directory}", f"-I{ROOT}",
             f"-I{BUILD}", "-c", str(source), "-o", str(target)],
            capture_output=True, text=True, check=False)
        if done.returncode:
            return None, done.stderr
        objects.append(str(target))
    return objects, ""


def notices(objects, test, directory):
    """Links the test with the mutated objects first: the archive then does not give the good ones."""
    test, *chosen = test.split()
    program = directory / f"test_{test}"
    helpers = [*map(str, (BUILD / "tests/reference").glob("*.o")),
               *(str(BUILD / f"tests/unit/{name}.o") for name in ("model_runs", "stream_log", "job_files"))]
    if chosen:
        helpers.append(str(BUILD / "tests/unit/model_pair.o"))
    link = subprocess.run(
        ["gcc", "-pthread", "-o", str(program), str(BUILD / f"tests/unit/test_{test}.o"), *helpers,
         *objects, str(BUILD / "libfaultline.a"), "-lcmocka", "-lbpf", "-lelf", "-lz", "-lzstd", "-ljansson",
         "-linih", "-lpci", "-lxxhash", "-lm"], capture_output=True, text=True, check=False)
    if link.returncode:
        return None, link.stderr
    # A mutation may make it spin, or wait for ever.
    run = subprocess.run([str(ROOT / "tests/watchdog.py"), "run", "--cpu", str(seconds_for(test)), "--quiet", "20", "--",
                          str(program), *chosen], capture_output=True, check=False)
    return run.returncode != 0, ""


def try_mutation(number, name, old, new, test):
    label = f"mutation {number}: {name}: {' '.join(old.split())[:60]}"
    place, error = find(name, old)
    if not place:
        return False, f"{label}: {error}"
    path, match = place
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        mutated = path.relative_to(ROOT)
        folder = directory / mutated.parent
        folder.mkdir(parents=True)
        for source in path.parent.glob("*.[ch]"):
            os.symlink(source, folder / source.name)
        text = path.read_text()
        (folder / path.name).unlink()
        (folder / path.name).write_text(text[:match.start()] + new + text[match.end():])
        objects, error = compile_mutated(directory, mutated)
        if objects is None:
            return False, f"{label}: does not compile: {error.splitlines()[0]}"
        noticed, error = notices(objects, test, directory)
        if noticed is None:
            return False, f"{label}: does not link: {error.splitlines()[-1]}"
        return noticed, label


def main():
    passed = failed = 0
    chosen = [int(number) for number in sys.argv[1:]] or range(1, len(MUTATIONS) + 1)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for good, label in pool.map(lambda number: try_mutation(number, *MUTATIONS[number - 1]), chosen):
            print(f"{'ok' if good else 'not ok'} - {label}", flush=True)
            passed += good
            failed += not good
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
