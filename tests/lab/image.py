# SPDX-License-Identifier: GPL-2.0
"""Builds the guest's initramfs: our programs with their libraries, a shell, modules, scenarios."""
import glob
import hashlib
import lzma
import os
import re
import shutil
import stat
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SEARCH = "/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin"
PROGRAMS = ("bash", "bpftool", "grep", "tar")
# Modules every guest needs: the port that results leave through.
BASE_MODULES = ("virtio_pci", "virtio_console")


class Missing(Exception):
    """Something the image needs is not on this host."""


class Unavailable(Missing):
    """Something cannot be fetched; that is nobody's failure."""


def cache_directory():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("FAULTLINE_LAB_CACHE") or os.path.join(home, "faultline", "lab")


class Archive:
    """A cpio archive in the "newc" format, which is what kernels unpack."""

    def __init__(self):
        self.entries = {}

    def _parents(self, path):
        parent = os.path.dirname(path)
        if parent and parent not in self.entries:
            self._parents(parent)
            self.entries[parent] = (stat.S_IFDIR | 0o755, b"")

    def add(self, path, mode, content):
        path = path.lstrip("/")
        self._parents(path)
        self.entries[path] = (mode, content)

    def directory(self, path):
        self.add(path, stat.S_IFDIR | 0o755, b"")

    def link(self, path, target):
        if path.lstrip("/") not in self.entries:
            self.add(path, stat.S_IFLNK | 0o777, target.encode())

    def file(self, path, source):
        with open(source, "rb") as file:
            mode = 0o755 if os.access(source, os.X_OK) else 0o644
            self.add(path, stat.S_IFREG | mode, file.read())

    def text(self, path, text, mode=0o644):
        self.add(path, stat.S_IFREG | mode, text.encode())

    def bytes(self):
        parts = []

        def put(number, path, mode, content):
            name = path.encode() + b"\0"
            fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
            head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
            for part in (head, content):
                parts.append(part)
                parts.append(b"\0" * (-len(part) % 4))

        # A directory comes before what is in it.
        for number, path in enumerate(sorted(self.entries), 1):
            put(number, path, *self.entries[path])
        put(0, "TRAILER!!!", 0, b"")
        return b"".join(parts)


def kernel_file(tree):
    """Path of the kernel as an ELF file, which QEMU starts at once: an emulated CPU would take a fifth of
    its boot to unpack the compressed image. Made once and kept beside that."""
    path, packed = os.path.join(tree, "vmlinux"), os.path.join(tree, "vmlinuz")
    if not os.path.exists(path):
        with open(packed, "rb") as file:
            image = file.read()
        # The header of the boot protocol: sectors of setup code; where the payload is behind them, its length.
        begin = ((image[0x1f1] or 4) + 1) * 512 + struct.unpack_from("<I", image, 0x248)[0]
        payload = image[begin:begin + struct.unpack_from("<I", image, 0x24c)[0]]
        if payload.startswith(b"\xfd7zXZ\0"):
            kernel = lzma.LZMADecompressor().decompress(payload)
        else:
            # The payload ends with its unpacked length.
            kernel = subprocess.run(["zstd", "-dc"], input=payload[:-4], capture_output=True, check=False).stdout
        if not kernel.startswith(b"\x7fELF"):
            raise Missing(f"{packed}: no kernel found in it")
        with open(f"{path}.{os.getpid()}", "wb") as file:
            file.write(kernel)
        os.rename(file.name, path)
    return path


def libraries(path):
    """What the dynamic linker would load for it: (path in the guest, path here)."""
    run = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    if "not found" in run.stdout:
        raise Missing(f"{path}: {' '.join(line.strip() for line in run.stdout.splitlines() if 'not found' in line)}")
    for line in run.stdout.splitlines():
        match = re.search(r"(?:=> )?(/\S+) \(0x", line)
        if match:
            yield match[1]


def add_program(archive, path, target):
    archive.file(target, path)
    for library in libraries(path):
        if library.lstrip("/") not in archive.entries:
            archive.file(library, os.path.realpath(library))


def find_program(name):
    path = shutil.which(name, path=SEARCH)
    if not path:
        raise Missing(f"no program '{name}' on this host: tests/setup.sh lab installs what scenarios use")
    return os.path.realpath(path)


def missing(scenario, kernel):
    """What this host does not have of what a scenario asks for, or None."""
    try:
        for name in scenario.list("programs", kernel):
            find_program(name)
    except Missing as error:
        return str(error)
    for path in scenario.list("paths", kernel) + [os.path.join(ROOT, path) for path in scenario.list("files", kernel)]:
        if not os.path.exists(path):
            return f"no {path} on this host"
    return None


class Modules:
    """A kernel's own modules: their files, in the order they must be loaded in."""

    def __init__(self, tree, release):
        self.base = os.path.join(tree, "lib", "modules", release)
        self.release = release
        self.files, self.needs, self.sums = {}, {}, {}
        with open(os.path.join(self.base, "modules.dep"), encoding="utf-8") as file:
            for line in file:
                path, _, needs = line.partition(":")
                self.files[self.name(path)] = path
                self.needs[self.name(path)] = [self.name(need) for need in needs.split()]
        with open(os.path.join(self.base, "modules.builtin"), encoding="utf-8") as file:
            self.builtin = {self.name(line.strip()) for line in file}
        with open(os.path.join(tree, "files.sha256"), encoding="utf-8") as file:
            for line in file:
                digest, path = line.split(None, 1)
                self.sums[path.strip()] = digest

    @staticmethod
    def name(path):
        return re.sub(r"\.ko(\.\w+)?$", "", os.path.basename(path)).replace("-", "_")

    def closure(self, names):
        """The modules asked for and all they need; what is built in or not there is left out."""
        wanted = []
        for name in (name.replace("-", "_") for name in names):
            if name in self.files:
                # modules.dep lists what is needed by need: the last must come first.
                wanted += [need for need in [*reversed(self.needs[name]), name] if need not in wanted]
        return wanted

    def read(self, name):
        path = os.path.join(self.base, self.files[name])
        with open(path, "rb") as file:
            content = file.read()
        relative = os.path.join("lib/modules", self.release, self.files[name])
        if self.sums.get(relative) != hashlib.sha256(content).hexdigest():
            raise Missing(f"{path} is damaged: remove {os.path.dirname(os.path.dirname(self.base))} to fetch it again")
        if path.endswith(".xz"):
            return lzma.decompress(content)
        if path.endswith(".zst"):
            return subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout
        return content


def kernel_layer(tree, release, names):
    """Path of an archive with these modules, kept for the next guest of the same kernel."""
    modules = Modules(tree, release)
    wanted = modules.closure([*BASE_MODULES, *names])
    key = hashlib.sha256(" ".join([tree, release, *wanted]).encode()).hexdigest()[:16]
    path = os.path.join(cache_directory(), "initramfs", f"{release}-{key}.cpio")
    if not os.path.exists(path):
        archive = Archive()
        for name in wanted:
            archive.add(f"lib/modules/{name}.ko", stat.S_IFREG | 0o644, modules.read(name))
        # name: what it needs, in the order of loading
        archive.text("lib/modules/needs", "".join(
            f"{name} {' '.join(reversed(modules.needs[name]))}".rstrip() + "\n" for name in wanted))
        archive.text("lib/modules/builtin", "\n".join(sorted(modules.builtin)) + "\n")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.tmp.{os.getpid()}"
        with open(temporary, "wb") as file:
            file.write(archive.bytes())
        os.rename(temporary, path)
        prune(os.path.dirname(path))
    os.utime(path)
    return path


def prune(directory, keep=24):
    """Of what can be built again only the newest stay."""
    for pattern, count in (("*.cpio", keep), ("*.tmp.*", 4)):
        found = sorted(glob.glob(os.path.join(directory, pattern)), key=os.path.getmtime, reverse=True)
        for path in found[count:]:
            os.unlink(path)


def last_words(run):
    """What one of our scripts said was wrong: tools that it calls may say more after that."""
    lines = run.stderr.strip().splitlines() or [f"exit {run.returncode}"]
    return next((line for line in reversed(lines) if line.startswith("lab: ")), lines[-1]).removeprefix("lab: ")


def own_module(kernel, name):
    """Builds a module of this repository for a kernel: path of its .ko file."""
    run = subprocess.run([os.path.join(HERE, "modules.sh"), kernel, name], capture_output=True, text=True, check=False)
    if run.returncode == 75:
        raise Unavailable(last_words(run))
    if run.returncode:
        raise Missing(f"{name} for {kernel} cannot be built: {last_words(run)}")
    return run.stdout.strip().splitlines()[-1]


def system_layer(boot, release):
    """The rest: programs as they are now, the guest's scripts, this boot's scenarios and its plan."""
    archive = Archive()
    for directory in ("proc", "sys", "dev", "tmp", "run", "root", "mnt", "lab/results"):
        archive.directory(directory)
    archive.link("bin/sh", "bash")
    for name in [*PROGRAMS, *boot.union("programs")]:
        add_program(archive, find_program(name), f"bin/{name}")
    for variable, name in (("FAULTLINE", "faultline"), ("INJECT", "faultline-inject")):
        path = os.environ.get(variable) or os.path.join(ROOT, name)
        if not os.path.exists(path):
            raise Missing(f"no {path}: run make")
        add_program(archive, path, f"bin/{name}")
    for path in boot.union("files"):
        target = f"bin/{os.path.basename(path)}" if os.access(os.path.join(ROOT, path), os.X_OK) else f"lab/files/{os.path.basename(path)}"
        try:
            add_program(archive, os.path.join(ROOT, path), target)
        except FileNotFoundError as error:
            raise Missing(f"no {error.filename}: is it built?") from error
    for path in boot.union("paths"):
        if not os.path.exists(path):
            raise Missing(f"no {path} on this host: tests/setup.sh lab installs what scenarios use")
        add_program(archive, path, path)
    for name in boot.union("own modules"):
        archive.file(f"lib/modules/own/{name}.ko", own_module(boot.kernel, name))
    for name in sorted(os.listdir(os.path.join(HERE, "guest"))):
        archive.file("init" if name == "init" else f"lab/{name}", os.path.join(HERE, "guest", name))
    for scenario in boot.scenarios:
        archive.file(f"lab/scenarios/{scenario.name}.sh", scenario.path)
        if os.path.exists(scenario.stages):
            archive.file(f"lab/scenarios/{scenario.name}.stages", scenario.stages)
    archive.text("lab/plan", boot.plan())
    archive.text("lab/kernel", f"{boot.kernel}\n{release}\n")
    busybox = find_program("busybox")
    archive.file("bin/busybox", busybox)
    for applet in subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split():
        archive.link(f"bin/{applet}", "busybox")
    for directory in ("sbin", "usr/bin", "usr/sbin"):
        archive.link(directory, "/bin")
    return archive.bytes()


def build(boot, tree, release, path):
    """Writes the boot's initramfs to path."""
    layer = kernel_layer(tree, release, boot.union("modules"))
    with open(path, "wb") as file, open(layer, "rb") as base:
        shutil.copyfileobj(base, file)
        # Archives follow one another at multiples of four bytes.
        file.write(b"\0" * (-file.tell() % 4))
        file.write(system_layer(boot, release))


if __name__ == "__main__":
    print(kernel_file(sys.argv[1]))
