#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Manual pages into a folder: what docs/man has, and in each OPTIONS the options as -h of the verb explains them.

    pages.py FOLDER [PROGRAMS]

The list under OPTIONS in docs/man has only what there is to say beyond -h, that in common.mdoc for every page
with such an option. What follows the list stays behind it.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Verbs without a page of their own, in that of the program.
IN_PROGRAM = {"faultline-inject": ("run", "check", "help", "recover")}
HELP = {"help", "usage", "version"}  # in the page of the program, by hand
LINE = re.compile(r"^ {2}(?:-(\w), | {4})--([\w-]+)(?:(\[)?=(\S+?)\]?)?(?: +(.*))?$")


class Option:
    def __init__(self, heading, match):
        self.heading = heading
        self.short, self.name, self.optional, self.value = match[1], match[2], bool(match[3]), match[4]
        self.text = match[5] or ""

    def item(self):
        short = f"{self.short} , " if self.short else ""
        value = f" Ar {self.value.lower()}" if self.value else ""
        return f".It Fl {short}-{self.name}" + (f" Ns Op = Ns{value}" if self.optional else value)

    def words(self):
        """The help as mdoc: what it calls the value is one."""
        text = self.text.replace("\\", "\\e") + ("" if self.text.endswith(".") else ".")
        for word in set(re.findall(r"[A-Z]{2,}", self.value or "")):
            text = re.sub(rf"(?:^|(?<= )){word}([,.;:)]?)(?= |$) ?", f"\n.Ar {word.lower()} \\1\n", text)
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        return [line if line.startswith(".Ar ") else re.sub(r"^([.'])", r"\\&\1", line) for line in lines]


def options_of(program, verb, programs):
    """As -h lists them, in lines that are not broken."""
    shown = subprocess.run([os.path.join(programs, program), verb, "-h"], capture_output=True, text=True, check=True,
                           env={**os.environ, "ARGP_HELP_FMT": "rmargin=9999"}).stdout
    heading, options = "", []
    for line in shown.partition("EXAMPLES:")[0].split("\n"):
        match = LINE.match(line)
        if match:
            options.append(Option(heading, match))
        elif re.match(r"^ {20,}\S", line) and options:
            options[-1].text += line.strip()
        elif re.match(r"^ \S.*:$", line):
            heading = line.strip()[:-1]
    return [option for option in options if option.name not in HELP]


def additions(lines):
    """{name of an option: lines}, and what follows the list."""
    found, name = {}, None
    for at, line in enumerate(lines):
        item = re.match(r"^\.It Fl -([\w-]+)$", line)
        if line == ".El":
            return found, lines[at + 1:]
        if item:
            name = item[1]
            found[name] = []
        elif name:
            found[name] += [line] if line else []
    return found, lines


def section(options, own, common):
    heading, open_list = None, False
    for option in options:
        if option.heading != heading or not open_list:
            if open_list:
                yield ".El"
            if option.heading:
                yield f".Ss {option.heading}"
            yield ".Bl -tag -width Ds"
            heading, open_list = option.heading, True
        yield option.item()
        yield from option.words()
        yield from own.pop(option.name, common.get(option.name, []))
    if open_list:
        yield ".El"


def page(name, common, programs):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        before, mark, rest = file.read().partition(".Sh OPTIONS\n")
    inside, end, after = rest.partition("\n.Sh ")
    program, verb = re.fullmatch(r"(faultline(?:-inject)?)(?:-(\w+))?\.1", name).groups()
    options = {}
    for each in [verb] if verb else IN_PROGRAM.get(program, ()):
        for option in options_of(program, each, programs):
            options.setdefault(option.name, option)
    if not options:
        return before + mark + rest
    own, behind = additions(inside.split("\n"))
    in_order = sorted(options.values(), key=lambda option: bool(option.heading))  # those without one belong to none
    lines = [*section(in_order, own, common), *behind]
    if own:
        sys.exit(f"{name}: {verb or program} has no option --{', --'.join(own)}")
    return before + mark + "\n".join(lines) + end + after


def main():
    folder, programs = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "..", "..")
    with open(os.path.join(HERE, "common.mdoc"), encoding="utf-8") as file:
        common, _ = additions(file.read().split("\n"))
    os.makedirs(folder, exist_ok=True)
    for name in sorted(name for name in os.listdir(HERE) if name.endswith(".1")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(page(name, common, programs))


if __name__ == "__main__":
    main()
