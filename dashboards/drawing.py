# SPDX-License-Identifier: GPL-2.0
"""Tables in, plots out.

Whatever a cell holds, a stranger may have written it. Tables are read by a CSV reader, a cell becomes a
number or a title, and gnuplot gets both in files: its commands are those of *.gp and numbers.
"""
import csv
import datetime
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

csv.field_size_limit(1 << 20)
HERE = pathlib.Path(__file__).resolve().parent
MOST = 8  # devices in one plot: those with most faults
TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d(?:\.\d{1,9})?)Z", re.ASCII)


class Unusable(Exception):
    """A table, or what can be drawn of it: the sentence says why not."""


class Missing(Unusable):
    """A column that was asked for."""


def plain(text):
    return "".join(c if c.isprintable() else "?" for c in str(text))


def say(sentence):
    print(plain(f"plot.sh: {sentence}"), file=sys.stderr)


def title(text):
    """A cell as text to be drawn: letters and signs that mean nothing to gnuplot or a shell."""
    return "".join(c if c.isprintable() and c not in "\"'\\`$%" else "?" for c in text[:100])


def number(text):
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def seconds(text):
    """Of a time cell: wall-clock, or monotonic nanoseconds."""
    found = TIME.fullmatch(text)
    if not found:
        value = number(text)
        return None if value is None else value / 1e9
    try:
        day = datetime.date(*map(int, found.groups()[:3])).toordinal()
    except ValueError:
        return None
    hours, minutes, rest = found.groups()[3:]
    return day * 86400 + int(hours) * 3600 + int(minutes) * 60 + float(rest)


class Table:
    """A CSV file: some of its columns, row by row. A column is one name, or several of which one is there;
    `numbers` and `times` are the places of columns whose cells have to be such."""

    def __init__(self, path, columns, numbers=(), times=()):
        self.path, self.numbers, self.times, self.left_out = path, set(numbers), set(times), 0
        if not path.exists():
            raise Unusable(f"no {path.name}")
        # A FIFO without a writer would make us wait.
        if not path.is_file():
            kind = "directory" if path.is_dir() else "pipe" if path.is_fifo() else "device or socket"
            raise Unusable(f"{path}: is a {kind}; accepted: a CSV file")
        self.file = open(path, newline="", encoding="utf-8", errors="replace")
        self.rows = csv.reader(self.file, strict=True)
        self.heading = next(self, None)
        if self.heading is None:
            raise Unusable(f"no {path.name}")
        self.places = []
        for names in columns:
            known = [name for name in names.split("|") if name in self.heading]
            if not known:
                raise Missing(f"{path}: no column {names}")
            self.places.append(self.heading.index(known[0]))

    def __next__(self):
        try:
            return next(self.rows)
        except csv.Error as error:
            raise Unusable(f"{self.path}: line {self.rows.line_num}: {error}") from None

    def __iter__(self):
        for cells in iter(lambda: next(self, None), None):
            if not cells:  # an empty line
                continue
            row = [cells[place] if place < len(cells) else "" for place in self.places]
            for i in self.numbers | self.times:
                row[i] = number(row[i]) if i in self.numbers else seconds(row[i])
            if any(cell is None for cell in row):
                self.left_out += 1
            else:
                yield row
        self.file.close()
        if self.left_out:
            say(f"{self.path}: {self.left_out} rows left out: no numbers where there have to be")


def line(*cells):
    """Of a data file; texts in quotes, so that none begins a comment."""
    return "\t".join(f'"{title(cell)}"' if isinstance(cell, str) else f"{cell:.12g}" for cell in cells) + "\n"


def largest(rows_of, weight=len):
    """At most MOST keys, those of most weight first."""
    return sorted(rows_of, key=lambda key: -weight(rows_of[key]))[:MOST]


class Plotter:
    """Draws in a folder of its own, where gnuplot finds its commands, data and texts under constant names."""

    def __init__(self, csv_directory, out):
        self.csv, self.out, self.drawn = csv_directory, out, 0
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="faultline-plot."))
        for script in HERE.glob("*.gp"):
            shutil.copy(script, self.work)

    def close(self):
        shutil.rmtree(self.work)

    def table(self, name, *columns, **kinds):
        return Table(self.csv / f"{name}.csv", columns, **kinds)

    def data(self, name, lines):
        (self.work / name).write_text("".join(lines), encoding="utf-8")

    def text(self, name, text):
        """What *.gp have as content("NAME")."""
        self.data(f"text.{name}", title(text))

    def words(self, name, texts):
        """Several, which word() takes apart."""
        self.data(f"text.{name}", " ".join(f'"{title(text)}"' for text in texts))

    def blocks(self, name, rows_of):
        """Blocks headed by their key, as gnuplot's index and columnheader() want them: their number."""
        keys = largest(rows_of)
        self.data(name, ("\n\n" * (i > 0) + line(key) + "".join(rows_of[key]) for i, key in enumerate(keys)))
        return len(keys)

    def draw(self, name, file=None, **numbers):
        settings = "; ".join(f"{key}={value:.12g}" for key, value in numbers.items()).replace("=nan", "=NaN")
        file = self.out / f"{name}.png" if file is None else file
        done = subprocess.run(["gnuplot", "--default-settings", "-e", settings, f"{name}.gp"], cwd=self.work,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
        try:
            if done.returncode:
                raise OSError(" ".join(done.stderr.split()[:40]))
            if pathlib.Path(file).is_symlink():
                pathlib.Path(file).unlink()  # of a plot, not what somebody let it point to
            shutil.copyfile(self.work / "plot.png", file)
        except OSError as error:
            say(f"{name}: {error}")
            return
        print(plain(file))
        self.drawn += 1

    def each(self, *plots):
        for plot in plots:
            try:
                plot(self)
            except Unusable as error:
                say(f"{plot.__name__.replace('_', '-')}: not drawn: {error}")
