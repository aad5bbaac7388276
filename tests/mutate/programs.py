# SPDX-License-Identifier: GPL-2.0
"""The unit tests' programs: which are near a source, and how they are linked with a changed one.

What is near follows from symbols: a test's object calls what other objects define, and these call others.
Near is what it takes the fewest steps to. How a test is linked is asked of make.
"""
import collections
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
# The changed object is watched for what it reads, writes and shifts, all of the program for what it leaks.
WATCHED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
COMPILER = ["gcc", "-O1", "-w", "-std=gnu11", "-D_GNU_SOURCE", '-DFAULTLINE_VERSION="0"', "-pthread", *WATCHED]
LINKER = ["gcc", "-fuse-ld=gold", "-Wl,-S", "-pthread", *WATCHED]
LIBBPF = re.compile(r"(bpf|btf|libbpf|ring_buffer|perf_buffer)_")


def lines(*words):
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


class Programs:
    def __init__(self):
        self.links = {}  # test -> objects and libraries
        for line in lines("make", "--no-print-directory", "-n", "V=1", "-W", "build/libfaultline.a", "tests"):
            match = re.match(r"gcc .*-o build/tests/unit/(test_\w+) (.*)", line)
            if match:
                self.links[match[1]] = match[2].split()
        members = [*self.members("libfaultline.a", "lib"), *self.members("libinject.a", "injectors"),
                   *self.members("libtests.a", "tests/unit", "tests/reference", "tools")]
        self.read_symbols(members + [f"build/tests/unit/{test}.o" for test in self.links])
        self.near = {test: self.steps(test) for test in self.links}

    @staticmethod
    def members(archive, *folders):
        """Objects that make puts into it: names in archives have no folders."""
        known = {name.rpartition("/")[2] for name in lines("ar", "t", str(BUILD / archive))}
        return [str(path.relative_to(ROOT)) for folder in folders for path in sorted((BUILD / folder).rglob("*.o"))
                if path.name in known and (ROOT / path.relative_to(BUILD)).with_suffix(".c").exists()]

    def read_symbols(self, objects):
        self.defined, self.own, self.wanted = {}, collections.defaultdict(set), collections.defaultdict(set)
        for line in lines("nm", "-A", *objects):
            path, _, rest = line.partition(":")
            kind, name = rest.split()[-2:]
            if kind == "U":
                self.wanted[path].add(name)
            elif kind.isupper():
                self.defined.setdefault(name, path)
                self.own[path].add(name)
        self.sees = {}  # object -> what it is made of
        for path in objects:
            self.sees[path] = set(re.split(r"[\s:\\]+", (ROOT / path).with_suffix(".d").read_text()))

    def steps(self, test):
        """From a test's object to every other that its program has, by calls; what the test defines is its own."""
        begin = f"build/tests/unit/{test}.o"
        found, edge = {begin: 0}, [begin]
        while edge:
            following = []
            for path in edge:
                for name in self.wanted[path] - self.own[begin]:
                    other = self.defined.get(name, begin)
                    if other not in found:
                        found[other] = found[path] + 1
                        following.append(other)
            edge = following
        return found

    def is_pure(self, source):
        """Does it call nothing of libbpf?"""
        return not any(LIBBPF.match(name) for path in self.objects(source) for name in self.wanted.get(path, ()))

    def tests(self, source):
        """As near a source or header as the nearest and one step more; a word of its name in theirs is one step less.
        A test whose name begins as the file's is the first, however far. A header is its own folder's objects; their
        mean decides among equals."""
        objects, words = self.objects(source), set(re.findall(r"[a-z0-9]+", source))
        folder = "build/" + source.rpartition("/")[0] + "/"
        own = pathlib.Path(source).stem.partition("_")[0]
        objects = [path for path in objects if path.startswith(folder)] or objects
        found = []
        for test, steps in self.near.items():
            known = [steps[path] for path in objects if path in steps]
            if known:
                parts = test.split("_")
                found.append((parts[1] != own, min(known) - len(words & set(parts)), sum(known) / len(known), min(known), test))
        least = min((steps for *_, steps, _ in found), default=0)
        return [test for other, *_, steps, test in sorted(found) if steps <= least + 1 or not other]

    def objects(self, source):
        """What is compiled of it."""
        if source.endswith(".c"):
            return [f"build/{source[:-2]}.o"]
        return [path for path, seen in sorted(self.sees.items()) if source in seen and "/tests/" not in path]

    def compile(self, source, text, directory):
        """Objects made with this text in the place of the source's; None if it does not compile."""
        changed = directory / source
        changed.parent.mkdir(parents=True, exist_ok=True)
        changed.write_bytes(text)
        made = {}
        for path in self.objects(source):
            unit = path.removeprefix("build/").removesuffix(".o") + ".c"
            target = directory / path
            target.parent.mkdir(parents=True, exist_ok=True)
            done = subprocess.run([*COMPILER, f"-I{directory}", f"-I{ROOT}", f"-I{BUILD}", "-c",
                                   str(changed if unit == source else ROOT / unit), "-o", str(target)],
                                  cwd=ROOT, capture_output=True, check=False)
            if done.returncode:
                return None
            made[path] = target
        return made

    def link(self, test, objects, program):
        """The test with those of these objects that it needs, whose archives then do not give theirs. None, or why not."""
        own = [word for word in self.links[test] if word.endswith(".o")]
        rest = [word for word in self.links[test] if not word.endswith(".o")]
        changed = [str(made) for path, made in objects.items() if path in self.near[test]]
        done = subprocess.run([*LINKER, "-o", str(program), *own, *changed, *rest],
                              cwd=ROOT, capture_output=True, text=True, check=False)
        return "; ".join(done.stderr.splitlines()[-4:]) if done.returncode else None


def scratch():
    return tempfile.TemporaryDirectory(prefix="mutate-", dir=BUILD)
