#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What both programs say of their verbs and options (--help-table, lib/cli/describe.h), for pages and completion.

A verb or an option that a program gets is in both without an edit here.
"""
import json
import os
import re
import subprocess

PROGRAMS = ("faultline", "faultline-inject")


class Option:
    def __init__(self, fields, heading):
        self.name, self.short, self.value = fields["name"], fields["key"], fields["value"]
        self.optional, self.help, self.choices = fields["optional"], fields["help"], fields["choices"]
        self.heading = heading

    def takes(self):
        """What a shell can complete the value with: choices, file, directory; None if nothing."""
        if self.choices:
            return "choices"
        words = set(re.findall(r"[A-Z]+", self.value or ""))
        if words & {"DIR", "DIRECTORY"}:
            return "directory"
        return "file" if words & {"FILE", "PATH", "OUT"} else None


HELP = [Option({"name": name, "key": key, "value": None, "optional": False, "help": text, "choices": []}, "")
        for name, key, text in (("help", "h", "Give this help"), ("usage", "", "Give a short usage message"),
                                ("version", "V", "Print the version"))]


class Verb:
    """`options` are in the order of their groups, those without a heading first."""

    def __init__(self, program, name, does, table):
        self.program, self.name, self.does = program, name, does
        self.arguments, self.before = table["arguments"], table["before"]
        self.after, self.examples = self.split(table["after"])
        ordered = sorted(table["options"], key=lambda option: option["group"])
        heading, group, self.options = "", None, []
        for fields in ordered:
            if fields["group"] != group:
                group, heading = fields["group"], ""
            if fields["name"]:
                self.options.append(Option(fields, heading))
            else:
                heading = fields["help"].rstrip(":")

    @staticmethod
    def split(text):
        """What follows the options: without the examples, and these; exit codes are told by the page."""
        before, _, rest = text.partition("EXAMPLES:\n")
        examples, _, behind = rest.partition("\n\n")
        paragraphs = [part.strip("\n") for part in (before + "\n\n" + behind).split("\n\n")]
        return [part for part in paragraphs if part and not part.startswith("Exit status")], examples.strip("\n")


class Program:
    def __init__(self, folder, name):
        self.name, self.path = name, os.path.join(folder, name)
        lines = [line.split("\t") for line in self.ask("--help-table").splitlines()]
        self.does = lines[0][1]
        self.verbs = [Verb(name, verb, does, json.loads(self.ask(verb, "--help-table"))) for verb, does in lines[1:]]
        self.examples = self.ask("--help").partition("EXAMPLES:\n")[2].partition("\n\n")[0]

    def ask(self, *words):
        return subprocess.run([self.path, *words], capture_output=True, text=True, check=True).stdout


def programs(folder):
    return [Program(folder, name) for name in PROGRAMS if os.path.exists(os.path.join(folder, name))]
