#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""SIGKILL at random instants, of a flight recorder and of `recover`: kills.py WHAT ARGUMENT...

    kills.py recorder FAULTLINE DIRECTORY KILLS BOUND
    kills.py recover INJECT RUN_DIRECTORY DIRECTORY KILLS [FILLER]

recorder: `record --max-size BOUND` of one name in DIRECTORY, killed and started again without a word of what
was there. Afterwards every frame of every file is whole but for the last one of the file that was being
written, files are within their bound, no name is another than the recorder's own, and the next start takes
it from there. On a full disk a start may be refused with one sentence.

recover: a journal of changes that a dead program left, undone by `recover`, which is killed, and by another
one, which is not. Afterwards each file has what it had before the changes, and nothing is left. With a file
FILLER the disk of RUN_DIRECTORY is full meanwhile: no mark can be written.

Prints one line a failure, then what was met.
"""
import collections
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import time

import xxhash

FILE_HEADER, FRAME_HEADER = 40, 64
EVENTS = 5
SEGMENT_START = 64 << 10  # of names and probes: more than one ever begins with
random.seed(int(os.environ.get("SEED", 4099)))


def frames(data):
    """Recording, whole frames and their events of one file; bytes behind them that are no frame."""
    count = events = 0
    at = FILE_HEADER
    if xxhash.xxh3_64_intdigest(data[:32]) != struct.unpack_from("<Q", data, 32)[0]:
        raise ValueError("its header does not check")
    recording, = struct.unpack_from("<I", data, 16)
    while at + FRAME_HEADER <= len(data):
        (magic, number, kind, _, _, many, _, _, stored, _, _, payload_sum,
         header_sum) = struct.unpack_from("<IIBBHIQIIQQQQ", data, at)
        if magic != 0xf54c46b5 or number != recording:
            raise ValueError(f"no frame at byte {at} of {len(data)}")
        if xxhash.xxh3_64_intdigest(data[at:at + 56]) != header_sum:
            raise ValueError(f"a header that does not check at byte {at} of {len(data)}")
        payload = data[at + FRAME_HEADER:at + FRAME_HEADER + stored]
        if len(payload) < stored:
            break
        if xxhash.xxh3_64_intdigest(payload) != payload_sum:
            raise ValueError(f"a payload that does not check at byte {at} of {len(data)}")
        at += FRAME_HEADER + stored
        count += 1
        events += many if kind == EVENTS else 0
    return recording, count, events, len(data) - at


def nap(seconds):
    time.sleep(random.random() * seconds)


def kill(process):
    """At once; False if it has ended by itself."""
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


class Driver:
    def __init__(self):
        self.met = collections.Counter()

    def fail(self, turn, text):
        print(f"turn {turn}: {text}")
        self.met["failures"] += 1

    def turns(self, kills):
        """Until so many were killed: those that ended before are none."""
        turn = 0
        while self.met["killed"] < kills and turn < 4 * kills + 16:
            yield turn
            turn += 1
        if self.met["killed"] < kills:
            self.fail(turn, f"only {self.met['killed']} of {kills} were killed")


class Recorder(Driver):
    NAMES = re.compile(r"ring(\.crashed-\d{3,})?\.flt(\.\d{6,})?")

    def __init__(self, program, directory, bound):
        self.program, self.bound = program, int(bound)
        self.directory = pathlib.Path(directory)
        self.ring = self.directory / "ring.flt"
        self.full = (self.directory / "filler").exists()
        self.known = collections.Counter()
        self.words = self.directory.parent / "kills.err"  # the disk may be full
        super().__init__()

    def start(self):
        with open(self.words, "w") as words:
            return subprocess.Popen(
                [self.program, "record", "--max-size", str(self.bound), "-o", self.ring],
                stderr=words)

    def begun(self, process):
        while "recording into" not in self.words.read_text() and process.poll() is None:
            time.sleep(0.005)

    def files(self):
        return [path for path in self.directory.iterdir() if path.name != "filler"]

    def look(self, turn):
        """All that is there: what was there before and had events stays until it has to make room."""
        total, now = 0, collections.Counter()
        for path in sorted(self.files()):
            data = path.read_bytes()
            total += len(data)
            if not self.NAMES.fullmatch(path.name):
                self.fail(turn, f"{path.name} is left")
            if len(data) < FILE_HEADER:
                self.met["begun"] += 1  # killed between making it and its header
                continue
            try:
                recording, whole, events, rest = frames(data)
            except ValueError as error:
                self.fail(turn, f"{path.name}: {error}")
                continue
            self.met["frames"] += whole
            self.met["cut"] += rest > 0
            now[recording] += events
        self.met["let go"] += (room := total > self.bound * 3 // 4)
        for recording, events in self.known.items():
            if events > now[recording] and not room and not self.full:
                self.fail(turn, f"of {events} events of an earlier one {now[recording]} are left")
        self.met["with events"] += len(now - self.known) > 0
        self.known = now
        # What was there before and the start of the one that had no name yet.
        if total > self.bound + SEGMENT_START:
            self.fail(turn, f"{total} bytes under a bound of {self.bound}")

    def readable(self, turn):
        for path in self.files():
            if re.search(r"flt$", path.name) and path.stat().st_size == FILE_HEADER:
                run = subprocess.run([self.program, "report", path], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE, text=True)
                # 3: the last frame was being written, or it had no segment yet.
                if run.returncode not in (0, 3, 5):
                    self.fail(turn, f"report {path.name} ends with {run.returncode}: {run.stderr}")

    def run(self, kills):
        for turn in self.turns(kills):
            process = self.start()
            # Every third dies as it starts, the others with something to lose.
            if turn % 3:
                self.begun(process)
            nap(1.2 if turn % 3 else 0.3)
            if not kill(process):
                said = self.words.read_text().strip().split("\n")[-1]
                full = "No space left" in said and said.startswith("faultline: ")
                self.met["refused"] += full
                if not full:
                    self.fail(turn, f"it has ended: {said}")
            else:
                self.met["killed"] += 1
            self.look(turn)
            self.readable(turn)
        return self.met


class Recovery(Driver):
    CHANGES = 24

    def __init__(self, program, run_directory, directory, filler=None):
        self.program, self.filler = program, filler
        self.journals = pathlib.Path(run_directory)
        self.directory = pathlib.Path(directory)
        self.boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        super().__init__()

    @staticmethod
    def record(kind, sequence, *texts):
        body = b"".join(text.encode() + b"\0" for text in texts)
        head = struct.pack("<4sHHII", b"FLJ1", kind, len(texts), sequence, len(body))
        return head + struct.pack("<Q", xxhash.xxh64_intdigest(head + body)) + body

    def leave(self, turn):
        """What a program that died has changed."""
        gone = subprocess.Popen(["true"])
        gone.wait()
        data = self.record(1, 0, str(gone.pid), str(turn + 1), self.boot)
        for i in range(self.CHANGES):
            path, new = self.directory / f"attribute{i}", f"new{i}"
            record = self.record(2, i + 1, str(path), f"old{i}", new)
            # The last page of the journal is full: a mark takes another one.
            if i == self.CHANGES - 1:
                new += "." * (-len(data + record) % 4096)
                record = self.record(2, i + 1, str(path), f"old{i}", new)
            data += record
            path.write_text(new + "\n")
        (self.journals / f"{gone.pid}-{turn + 1}.journal").write_bytes(data)
        if self.filler:
            self.fill()

    def fill(self):
        with open(self.journals / self.filler, "ab", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass  # there is no more room
        self.met["full"] += not os.statvfs(self.journals).f_bfree

    def empty(self):
        if self.filler:
            (self.journals / self.filler).unlink()
        return not list(self.journals.iterdir())

    def run(self, kills):
        # How long it takes by itself, so that the instants are spread over all of it.
        self.leave(0)
        before = time.monotonic()
        subprocess.run([self.program, "recover"], stdout=subprocess.DEVNULL, check=True)
        whole = time.monotonic() - before
        self.empty()
        for turn in self.turns(kills):
            self.leave(turn + 1)
            process = subprocess.Popen([self.program, "recover"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            nap(1.2 * whole)
            killed = kill(process)
            self.met["killed" if killed else "ended"] += 1
            # The first one may have taken long because the machine was busy; or this one.
            whole *= 1.1 if killed else 0.9
            undone = sum((self.directory / f"attribute{i}").read_text().strip() == f"old{i}"
                         for i in range(self.CHANGES))
            self.met["in the middle"] += 0 < undone < self.CHANGES
            run = subprocess.run([self.program, "recover"], capture_output=True, text=True)
            values = [(self.directory / f"attribute{i}").read_text().strip()
                      for i in range(self.CHANGES)]
            undone = values == [f"old{i}" for i in range(self.CHANGES)]
            if not self.empty() or run.returncode or not undone:
                self.fail(turn, f"exit {run.returncode}, {values}: {run.stderr}")
        return self.met


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    if what == "recorder":
        program, directory, kills, bound = arguments
        met = Recorder(program, directory, bound).run(int(kills))
    else:
        program, run_directory, directory, kills, *filler = arguments
        met = Recovery(program, run_directory, directory, *filler).run(int(kills))
    # Kills that hit nothing prove nothing.
    if not met["with events"] + met["in the middle"]:
        print("none was killed with something to lose")
        met["failures"] += 1
    print(", ".join(f"{count} {name}" for name, count in sorted(met.items())))
    sys.exit(met["failures"] > 0)
