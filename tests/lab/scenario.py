# SPDX-License-Identifier: GPL-2.0
"""What a scenario asks for, read from its header, and which scenarios share a boot."""
import os
import re
import shlex

KERNELS = ("6.1", "6.12", "new")
IOMMUS = {
    "none": ("", []),
    "intel": ("intel_iommu=on", ["-device", "intel-iommu,intremap=on,device-iotlb=on"]),
    "virtio": ("", ["-device", "virtio-iommu-pci"]),
}
NOWHERE = "none"  # of a sample: only the whole lab runs it
KEYS = ("kernels", "sample", "iommu", "command line", "cpus", "memory", "disk", "devices", "modules", "own modules",
        "programs", "paths", "files", "disabled", "cpu limit", "quiet limit", "alone", "clock",
        "expected message")
KEY = re.compile(r"^# (%s)(?: (6\.1|6\.12|new))?: *(.*?) *$" % "|".join(KEYS))


class Wrong(Exception):
    """A scenario or a request that cannot be understood; the text says how to mend it."""


class Scenario:
    """One script: its header, and the table of stages beside it."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.stages = os.path.splitext(path)[0] + ".stages"
        self.values = {}
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for line in text.splitlines()[1:]:
            if line and not line.startswith("#"):
                break
            match = KEY.match(line)
            if match:
                self.values.setdefault((match[1], match[2]), []).append(match[3])
            elif re.match(r"^# [a-z]+( [a-z]+)?( (6\.1|6\.12|new))?: ", line):
                raise Wrong(f"{path}: no key '{line[2:line.index(':')]}': one of {', '.join(KEYS)}")
        if path.endswith(".sh") and not re.search(r"^guest\(\)", text, re.M):
            self.check_stages()
        self.has_host = re.search(r"^host\(\)", text, re.M) is not None or not re.search(r"^guest\(\)", text, re.M)
        for kernel in self.list("kernels", None) or KERNELS:
            if kernel not in KERNELS:
                raise Wrong(f"{path}: no kernel '{kernel}': one of {', '.join(KERNELS)}")
        for kernel in self.list("sample", None):
            if kernel != NOWHERE and not self.runs_on(kernel):
                raise Wrong(f"{path}: sample: '{kernel}' is no kernel that it runs on")
        for kernel in KERNELS:
            if self.one("iommu", kernel, "none") not in IOMMUS:
                raise Wrong(f"{path}: no IOMMU '{self.one('iommu', kernel)}': one of {', '.join(IOMMUS)}")
            if self.one("clock", kernel, "own") not in ("own", "host"):
                raise Wrong(f"{path}: no clock '{self.one('clock', kernel)}': own or host")
            for key in ("cpus", "memory", "cpu limit", "quiet limit"):
                self.number(key, kernel, 1)

    def check_stages(self):
        """Without a table and a probe to leave out a scenario proves only half of what it could."""
        if not os.path.exists(self.stages):
            raise Wrong(f"{self.path}: no {self.stages}: whose code produces each stage")
        with open(self.stages, encoding="utf-8") as file:
            rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
        for row in rows:
            if len(row) != 2 + len(KERNELS):
                raise Wrong(f"{self.stages}: '{' '.join(row)}' is not STAGE PROBE {' '.join(KERNELS)}")
        for kernel in (kernel for kernel in KERNELS if self.runs_on(kernel)):
            probe = self.one("disabled", kernel)
            if not any(row[1] == probe and row[2 + KERNELS.index(kernel)] != "-" for row in rows):
                raise Wrong(f"{self.path}: disabled: '{probe}' is no probe that its table shows on {kernel}")

    def all(self, key, kernel):
        """Lines of a key: those for this kernel alone replace those for all."""
        return self.values.get((key, kernel), self.values.get((key, None), []))

    def list(self, key, kernel):
        return [word for line in self.all(key, kernel) for word in line.split()]

    def one(self, key, kernel, default=""):
        return (self.all(key, kernel) or [default])[-1]

    def number(self, key, kernel, default):
        text = self.one(key, kernel, str(default))
        if not text.isdigit() or int(text) == 0:
            raise Wrong(f"{self.path}: {key}: '{text}' is not a positive number")
        return int(text)

    def runs_on(self, kernel):
        return kernel in (self.list("kernels", None) or KERNELS)

    def keep_sample(self):
        """Runs on the kernels of its sample only; on none where that is "none"."""
        self.values[("kernels", None)] = self.values.get(("sample", None), self.values.get(("kernels", None), []))

    def boot_key(self, kernel):
        """Scenarios that agree in this may follow one another in one guest."""
        alone = self.name if self.one("alone", kernel) == "yes" else ""
        return (kernel, self.one("iommu", kernel, "none"), self.one("command line", kernel),
                self.number("cpus", kernel, 1), self.one("clock", kernel), alone)


class Boot:
    """One guest and the scenarios that run in it, one after the other."""

    def __init__(self, kernel, scenarios):
        self.kernel = kernel
        self.scenarios = sorted(scenarios, key=lambda scenario: scenario.name)
        self.iommu = self.scenarios[0].one("iommu", kernel, "none") if scenarios else "none"
        self.cpus = max([s.number("cpus", kernel, 1) for s in scenarios], default=1)
        # Linux 6.1 does not come up with two CPUs whose instructions QEMU counts.
        self.own_clock = (not scenarios or self.scenarios[0].one("clock", kernel, "own") == "own") and \
            (kernel != "6.1" or self.cpus == 1)
        self.memory = max([s.number("memory", kernel, 768) for s in scenarios], default=768)

    def union(self, key):
        words = []
        for scenario in self.scenarios:
            words += [word for word in scenario.list(key, self.kernel) if word not in words]
        return words

    def lines(self, key):
        lines = []
        for scenario in self.scenarios:
            lines += [line for line in scenario.all(key, self.kernel) if line not in lines]
        return lines

    def command_line(self):
        words = [IOMMUS[self.iommu][0]]
        words += [self.scenarios[0].one("command line", self.kernel)] if self.scenarios else []
        return " ".join(word for word in words if word)

    def disks(self):
        """Name and size of every disk; the same name means the same disk."""
        disks = {}
        for line in self.lines("disk"):
            match = re.match(r"^([a-z0-9_]+) ([0-9]+[KMG])$", line)
            if not match:
                raise Wrong(f"disk: '{line}' is not 'NAME SIZE', as in 'data 64M'")
            disks[match[1]] = match[2]
        return disks

    def devices(self):
        """QEMU's arguments. Scenarios share devices: of two that are alike there are as many as one asks for."""
        most = {}
        for scenario in self.scenarios:
            units = []
            for word in shlex.split(" ".join(scenario.all("devices", self.kernel))):
                if word.startswith("-") or not units:
                    units.append((word,))
                else:
                    units[-1] += (word,)
            for unit in units:
                most[unit] = max(most.get(unit, 0), units.count(unit))
        return [word for unit, count in most.items() for word in unit * count]

    def cpu_limits(self):
        """CPU seconds of the emulator that each scenario may use: many times what it needs."""
        return {one.name: one.number("cpu limit", self.kernel, 200) for one in self.scenarios}

    def plan(self):
        """What the guest is to do, a scenario a line: name, limit of stillness, probe to leave out."""
        return "".join(f"{one.name} {one.number('quiet limit', self.kernel, 90)} {one.one('disabled', self.kernel)}\n"
                       for one in self.scenarios)

    def name(self):
        return "+".join(scenario.name for scenario in self.scenarios) or "shell"


def load(directory, names=()):
    """The scenarios of a directory, or only those named: another's mistakes do not matter then."""
    known = sorted(name[:-3] for name in os.listdir(directory) if name.endswith(".sh"))
    for name in names:
        if name not in known:
            raise Wrong(f"no scenario '{name}': one of {', '.join(known)}")
    return [Scenario(os.path.join(directory, name + ".sh")) for name in names or known]


def plan(scenarios, kernels):
    """Boots for these scenarios, as few as their needs allow."""
    groups = {}
    for kernel in kernels:
        for scenario in scenarios:
            if scenario.runs_on(kernel):
                groups.setdefault(scenario.boot_key(kernel), []).append(scenario)
    return [Boot(key[0], group) for key, group in groups.items()]
