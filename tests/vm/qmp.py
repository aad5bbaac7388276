#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tells a QEMU what to do: qmp.py SOCKET COMMAND...

A command is one of QMP without arguments (`stop`, `cont`, `quit`). What each answers is printed, a line each; an error ends
it with 1, as does a QEMU that goes away, with 2.
"""
import json
import socket
import sys
import time


class Gone(Exception):
    """QEMU hung up."""


class Monitor:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        end = time.monotonic() + 60
        while True:
            try:
                self.socket.connect(path)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
        self.lines = self.socket.makefile("r")
        self.read()
        self.command("qmp_capabilities")

    def read(self):
        line = self.lines.readline()
        if not line:
            raise Gone
        return json.loads(line)

    def command(self, name):
        self.socket.sendall(json.dumps({"execute": name}).encode())
        while True:
            message = self.read()
            if "return" in message:
                return message["return"]
            if "error" in message:
                print(f"{name}: {message['error']['desc']}", file=sys.stderr)
                sys.exit(1)


def main(path, *commands):
    monitor = Monitor(path)
    for name in commands:
        print(json.dumps(monitor.command(name)), flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Gone, BrokenPipeError, ConnectionResetError):
        print("QEMU is gone", file=sys.stderr)
        sys.exit(2)
