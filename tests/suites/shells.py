#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Completion as somebody at a prompt has it: shells.py bash|zsh COMPLETIONS, in real shells on a terminal.

The completed line is carried out by stand-ins for the programs, which say what they were given.
"""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# (what is typed, what the program is then given), a tab at each ~; files.flt and folder/ are there.
TYPED = [
    ("faultline rec~--outp~x.flt", ["record", "--output", "x.flt"]),
    ("faultline rep~fil~", ["report", "files.flt"]),
    ("faultline report --csv=fol~", ["report", "--csv=folder/"]),
    ("faultline report --max-m~", ["report", "--max-memory"]),
    ("faultline top -i fil~", ["top", "-i", "files.flt"]),
    ("faultline export --parquet fo~", ["export", "--parquet", "folder/"]),
    ("faultline-inject pageo~--adv~col~", ["pageout", "--advice", "cold"]),
    ("faultline-inject pageout --advice=pag~", ["pageout", "--advice=pageout"]),
    ("faultline-inject run made-up-j~--sho~", ["run", "made-up-job", "--short"]),
    ("faultline record -- faultline-inj~", ["record", "--", "faultline-inject"]),
    ("faultline no-such-verb --outp~", ["no-such-verb", "--outp"]),
]
STAND_IN = """#!/bin/sh
[ "$*" != list ] || { echo 'made-up-job   what it is for'; exit; }
[ $# -eq 0 ] || printf '<%s>' "$@" >>"$SAID"
echo >>"$SAID"
"""
START = {
    "bash": ("bash --norc --noprofile -i", "PS1='ready> '; for f in {made}/bash/*; do . \"$f\"; done"),
    "zsh": ("zsh -f -i", "PS1='ready> '; unsetopt auto_param_slash auto_remove_slash; fpath=({made}/zsh $fpath); "
                         "autoload -Uz compinit; compinit -u -d $HOME/dump"),
}


class Shell:
    def __init__(self, name, made, folder):
        command, begin = START[name]
        self.said = os.path.join(folder, "said")
        environment = {"HOME": folder, "TERM": "dumb", "PATH": f"{folder}/bin:/usr/bin:/bin", "SAID": self.said, "LC_ALL": "C.UTF-8"}
        self.process, self.terminal = pty.fork()
        if not self.process:
            os.chdir(folder)
            os.execvpe(command.split()[0], command.split(), environment)
        self.shown = ""
        self.send(begin.format(made=made) + "; echo go''es on\r")
        self.wait(lambda: "goes on" in self.shown)

    def send(self, text):
        os.write(self.terminal, text.encode())

    def wait(self, done, seconds=60):
        end = time.monotonic() + seconds
        while not done():
            if time.monotonic() > end:
                raise TimeoutError(self.shown[-500:])
            if select.select([self.terminal], [], [], 0.05)[0]:
                self.shown += os.read(self.terminal, 4096).decode(errors="replace")

    def settle(self):
        """Until it writes no more: what a tab has put there is."""
        quiet = 0
        while quiet < 6:
            if select.select([self.terminal], [], [], 0.05)[0]:
                self.shown += os.read(self.terminal, 4096).decode(errors="replace")
                quiet = 0
            else:
                quiet += 1

    def given(self, typed):
        if os.path.exists(self.said):
            os.remove(self.said)
        for part in re.findall(r"[^~]+~?", typed):
            self.send(part.replace("~", "\t"))
            self.settle()
        self.send("\r")
        self.wait(lambda: os.path.exists(self.said) and os.path.getsize(self.said) and open(self.said, encoding="utf-8").read().endswith("\n"))
        with open(self.said, encoding="utf-8") as file:
            return re.findall(r"<(.*?)>", file.read())

    def end(self):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.terminal)


def main():
    name, made = sys.argv[1], os.path.abspath(sys.argv[2])
    folder = tempfile.mkdtemp(prefix="faultline-shells.")
    failed = 0
    try:
        os.makedirs(os.path.join(folder, "bin"))
        os.makedirs(os.path.join(folder, "folder"))
        open(os.path.join(folder, "files.flt"), "w", encoding="utf-8").close()
        for program in ("faultline", "faultline-inject"):
            path = os.path.join(folder, "bin", program)
            with open(path, "w", encoding="utf-8") as file:
                file.write(STAND_IN)
            os.chmod(path, 0o755)
        shell = Shell(name, made, folder)
        for typed, wanted in TYPED:
            # zsh puts a value behind = where bash leaves a space.
            given = [word for each in shell.given(typed) for word in (each.split("=") if "=" not in typed else [each])]
            failed += given != wanted
            print(f"{'ok' if given == wanted else 'not ok'} - {name}: {typed}" + ("" if given == wanted else f": {given}"))
        shell.end()
    finally:
        shutil.rmtree(folder)
    return failed > 0


sys.exit(main())
