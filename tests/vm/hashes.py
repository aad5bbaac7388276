#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""hashes.py PORT BYTES LOG: sends random bytes to whoever connects, takes what comes until its end, and adds a line of what it sent and
received to LOG: md5 and length of each."""
import hashlib
import os
import socket
import sys
import threading

port, size, log = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]


def send(connection, payload):
    connection.sendall(payload)
    connection.shutdown(socket.SHUT_WR)


listening = socket.create_server(("", port))
while True:
    connection, _ = listening.accept()
    payload = os.urandom(size)
    sender = threading.Thread(target=send, args=(connection, payload))
    sender.start()
    received = bytearray()
    while part := connection.recv(65536):
        received += part
    sender.join()
    connection.close()
    with open(log, "a") as file:
        file.write(f"{hashlib.md5(payload).hexdigest()} {len(payload)} {hashlib.md5(received).hexdigest()} {len(received)}\n")
