#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tells a QEMU what to do: qmp.py SOCKET STEP...

A step is a command of QMP with its arguments (`stop`, `cont`, `balloon value=200M`, `query-balloon`), `seconds=N` to
wait, `balloon-at=SIZE` to wait until the guest's balloon has left it that much, or `until=EVENT`. What each answers is
printed, a line each; an error ends it with 1, as does a QEMU that goes away, with 2.
"""
import json
import socket
import sys
import time

SCALE = {"K": 10, "M": 20, "G": 30}


def number(text):
    if text[-1:] in SCALE and text[:-1].isdigit():
        return int(text[:-1]) << SCALE[text[-1]]
    return int(text) if text.isdigit() else text


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
        self.events = []
        self.read()
        self.command("qmp_capabilities", {})

    def read(self):
        line = self.lines.readline()
        if not line:
            raise Gone
        message = json.loads(line)
        if "event" in message:
            self.events.append(message)
        return message

    def command(self, name, arguments):
        self.socket.sendall(json.dumps({"execute": name, "arguments": arguments}).encode())
        while True:
            message = self.read()
            if "return" in message:
                return message["return"]
            if "error" in message:
                print(f"{name}: {message['error']['desc']}", file=sys.stderr)
                sys.exit(1)

    def until(self, event):
        while not any(message["event"] == event for message in self.events):
            self.read()
        self.events = [message for message in self.events if message["event"] != event]


def grouped(words):
    """Steps, each with its arguments."""
    groups = []
    for word in words:
        alone = "=" not in word or word.split("=")[0] in ("seconds", "balloon-at", "until")
        if alone:
            groups.append([word])
        else:
            groups[-1].append(word)
    return groups


def main(path, *words):
    monitor = Monitor(path)
    for name, *arguments in grouped(words):
        key, _, value = name.partition("=")
        if key == "seconds":
            time.sleep(float(value))
        elif key == "until":
            monitor.until(value)
        elif key == "balloon-at":
            while monitor.command("query-balloon", {})["actual"] != number(value):
                time.sleep(0.1)
        else:
            pairs = dict(argument.split("=", 1) for argument in arguments)
            print(json.dumps(monitor.command(name, {key: number(value) for key, value in pairs.items()})), flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Gone, BrokenPipeError, ConnectionResetError):
        print("QEMU is gone", file=sys.stderr)
        sys.exit(2)
