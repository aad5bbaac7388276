# SPDX-License-Identifier: GPL-2.0
"""Perfetto's own trace processor, as Debian's chromium-shell has it for Chromium's tests: libtest_trace_processor.so.

It is C++ without headers: its three functions are looked up by their names, and what they take and give is laid out
as libc++ does on x86-64 (a vector is three pointers, a string of up to 22 bytes stands in its own 24). A library
that has them no more is Moved.
"""
import ctypes

PREFIX = "_ZN4base4test22TestTraceProcessorImpl"
STRING = "NSt3__112basic_stringIcNS2_11char_traitsIcEENS2_9allocatorIcEEEE"
CONSTRUCT = f"{PREFIX}C1Ev"
PARSE = f"{PREFIX}10ParseTraceERKNSt3__16vectorIcNS2_9allocatorIcEEEE"
QUERY = f"_ZNK4base4test22TestTraceProcessorImpl12ExecuteQueryERK{STRING}"
FREE = "_ZN4base4test18QueryResultOrErrorD1Ev"


class Moved(Exception):
    """The library has no such function any more."""


class Refused(Exception):
    """What it said of a trace or a question."""


def vector(address):
    begin, end, _ = (ctypes.c_uint64 * 3).from_address(address)
    return range(begin, end, 24)


def string(address):
    """Short: twice its length in the first byte, then its bytes. Long: odd capacity, length, pointer."""
    first = ctypes.c_uint8.from_address(address).value
    if not first & 1:
        return ctypes.string_at(address + 1, first >> 1)
    _, size, data = (ctypes.c_uint64 * 3).from_address(address)
    return ctypes.string_at(data, size)


class TraceProcessor:
    def __init__(self, library, trace):
        loaded = ctypes.CDLL(library)
        try:
            construct, parse, self.execute, self.free = (
                getattr(loaded, name) for name in (CONSTRUCT, PARSE, QUERY, FREE))
        except AttributeError as error:
            raise Moved(str(error)) from error
        self.self = ctypes.create_string_buffer(64)
        construct(ctypes.byref(self.self))
        with open(trace, "rb") as file:
            data = file.read()
        buffer = ctypes.create_string_buffer(data, len(data))
        begin = ctypes.addressof(buffer)
        raw = (ctypes.c_uint64 * 3)(begin, begin + len(data), begin + len(data))
        status = ctypes.c_uint64(0)
        parse(ctypes.byref(status), ctypes.byref(self.self), ctypes.byref(raw))
        if status.value != 1:
            raise Refused(f"{trace}: {self.why(status.value)}")

    @staticmethod
    def why(status):
        """absl::Status: 1 is OK, an odd number a code alone, else a pointer to one with a message."""
        return f"code {status >> 2}" if status & 1 else string(status + 8).decode(errors="replace")

    def query(self, sql):
        """A list of rows, each a dictionary of texts; NULL is None."""
        text = sql.encode()
        data = ctypes.create_string_buffer(text)
        question = (ctypes.c_uint64 * 3)((len(text) + 1) | 1, len(text), ctypes.addressof(data))
        result = ctypes.create_string_buffer(64)
        self.execute(ctypes.byref(result), ctypes.byref(self.self), ctypes.byref(question))
        base = ctypes.addressof(result)
        error = string(base + 24).decode(errors="replace")
        rows = [[string(cell).decode(errors="replace") for cell in vector(row)] for row in vector(base)]
        self.free(ctypes.byref(result))
        if error:
            raise Refused(f"{sql}: {error}")
        return [{name: None if cell == "[NULL]" else cell for name, cell in zip(rows[0], row)} for row in rows[1:]]
