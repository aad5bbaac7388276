#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What includes what: no circle between files, and no file that reaches back to a layer above its own.

LAYERS goes from the bottom up. A file belongs to the longest prefix of its path, so that a new folder is of its
parent's layer. It includes from its own prefix and from lower layers: those of one layer do not know each other.
What is inside a module, NAME_private.h, is for the files of its folder and of those in it, for tests and for benchmarks.
"""
import os
import re
import sys

LAYERS = (
    {"bpf/", "injectors/kmod/", "injectors/vm/"},
    {"lib/base/"},
    {"lib/output/", "lib/trace/", "lib/protect/", "injectors/vm/library/"},
    {"lib/cli/"},
    {"lib/capture/", "lib/job/", "lib/translate/"},
    {"lib/analyze/", "lib/fabric/"},
    {"tools/common.", "tools/progress.", "injectors/consent.", "injectors/medium.", "injectors/results."},
    {"injectors/emu/", "injectors/net/"},
    {"tools/fabric/", "tools/fleet/", "tools/protect/", "tools/sim/", "tools/top/", "injectors/emu/devices/", "injectors/guest/", "injectors/job/", "injectors/real/"},
    {"injectors/cluster/", "injectors/emu/nic/", "injectors/emu/kvstore/", "injectors/emu/verbs_load/load_guest.c"},
    {"tools/", "injectors/"},
    {"tests/"},
    {"bench/"},
)
HEIGHT = {prefix: height for height, layer in enumerate(LAYERS) for prefix in layer}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


def prefix_of(path):
    return max((prefix for prefix in HEIGHT if path.startswith(prefix)), key=len, default=None)


def included(path, files):
    """As the compiler finds it: beside the file, or from the repository's top."""
    with open(path) as file:
        names = INCLUDE.findall(file.read())
    for name in names:
        beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
        yield from [found for found in (beside, name) if found in files][:1]


def circle_from(path, graph, way, finished):
    """The first circle that is met on the way down from a file, as a list of files."""
    if path in way:
        return way[way.index(path):] + [path]
    if path in finished:
        return None
    for name in graph[path]:
        circle = circle_from(name, graph, way + [path], finished)
        if circle:
            return circle
    finished.add(path)
    return None


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    files = {os.path.join(folder, name)
             for top in ("bpf", "lib", "tools", "injectors", "bench", "tests")
             for folder, _, names in os.walk(top) for name in names if name.endswith((".c", ".h", ".def"))}
    graph = {path: list(included(path, files)) for path in sorted(files)}
    wrong, finished = [], set()
    for path in graph:
        circle = circle_from(path, graph, [], finished)
        if circle:
            wrong.append("circle: " + " includes ".join(circle))
            finished.update(circle)
    wrong += [f"{path} is of no layer: LAYERS lists the folders" for path in graph if not prefix_of(path)]
    for path, names in graph.items():
        for name in names:
            mine, other = prefix_of(path), prefix_of(name)
            if mine and other and mine != other and HEIGHT[other] >= HEIGHT[mine]:
                wrong.append(f"{path} includes {name}: {mine} does not stand on {other}")
            elif name.endswith("_private.h") and not path.startswith((os.path.dirname(name) + "/", "tests/", "bench/")):
                wrong.append(f"{path} includes {name}: private to its folder")
    print(f"{len(files)} files, {sum(map(len, graph.values()))} includes, {len(LAYERS)} layers, {len(wrong)} wrong")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
