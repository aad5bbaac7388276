#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""An independent reader of our Parquet files, written from parquet.thrift and the encodings' specification.

    parquet_read.py FILE.parquet TABLE.csv    the file has what the CSV has, cell by cell
    parquet_read.py DIRECTORY CSV-DIRECTORY   likewise each file below a directory that `export` wrote: TABLE/.../*.parquet
    parquet_read.py DIRECTORY                 every file below it can be read
    parquet_read.py FILE.parquet              prints row groups, facts, columns with what they are, and cells

Prints what differs, then how many tables, row groups, rows and cells were compared. Holds every page to its checksum and its
sizes, every chunk to its statistics. As a module: read(path). Needs python3-zstandard. Takes what faultline writes:
flat optional columns, plain and dictionary encodings, pages of version 1 in zstd.
"""
import csv
import datetime
import glob
import math
import os
import struct
import sys
import zlib

import zstandard

INT64, DOUBLE, BYTE_ARRAY = 2, 5, 6
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
STRING, TIMESTAMP, INTEGER = 1, 8, 10
EPOCH = datetime.datetime(1970, 1, 1)


class Cursor:
    """Thrift's compact protocol; a struct is a dictionary of its fields' numbers."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, size):
        if self.at + size > len(self.data):
            raise ValueError("it ends too soon")
        self.at += size
        return self.data[self.at - size:self.at]

    def varint(self):
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return number

    def zigzag(self):
        number = self.varint()
        return number >> 1 ^ -(number & 1)

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return struct.unpack("b", self.take(1))[0]
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 8:
            return bytes(self.take(self.varint()))
        if kind == 9:
            head = self.take(1)[0]
            count = head >> 4 if head >> 4 != 15 else self.varint()
            return [self.value(head & 15) for _ in range(count)]
        if kind == 12:
            return self.struct()
        raise ValueError(f"type {kind} of Thrift")

    def struct(self):
        fields, last = {}, 0
        while True:
            head = self.take(1)[0]
            if not head:
                return fields
            last = last + (head >> 4) if head >> 4 else self.zigzag()
            fields[last] = self.value(head & 15)


def runs(cursor, width, count):
    """The hybrid of runs and bit-packed groups."""
    values = []
    while len(values) < count:
        head = cursor.varint()
        if head & 1:
            for _ in range(head >> 1):
                packed = int.from_bytes(cursor.take(width), "little")
                values += [packed >> i * width & (1 << width) - 1 for i in range(8)]
        else:
            values += [int.from_bytes(cursor.take((width + 7) // 8), "little")] * (head >> 1)
    return values[:count]


def plain(cursor, physical, count):
    if physical == BYTE_ARRAY:
        return [bytes(cursor.take(struct.unpack("<I", cursor.take(4))[0])) for _ in range(count)]
    return list(struct.unpack(f"<{count}{'d' if physical == DOUBLE else 'Q'}", cursor.take(8 * count)))


def expect(truth, what):
    if not truth:
        raise ValueError(what)


def page(data, at):
    """The header, the content, and where the next one is."""
    cursor = Cursor(data, at)
    header = cursor.struct()
    packed = cursor.take(header[3])
    expect(zlib.crc32(packed) == header[4] & 0xffffffff, f"the page at {at} has another checksum")
    content = zstandard.ZstdDecompressor().decompress(packed, max_output_size=max(1, header[2]))
    expect(len(content) == header[2], f"the page at {at} has another size")
    return header, content, cursor.at, cursor.at - at - header[3] + header[2]


def chunk_of(data, meta):
    """The cells of a column chunk: None where there is no value."""
    at = begin = meta.get(11, meta[9])
    dictionary, size = None, 0
    if 11 in meta:
        header, content, at, size = page(data, at)
        expect(header[1] == 2 and header[7][2] == PLAIN, "the dictionary is none")
        cursor = Cursor(content)
        dictionary = plain(cursor, meta[1], header[7][1])
        expect(cursor.at == len(content), "the dictionary is longer than its entries")
        expect(len(set(map(repr, dictionary))) == len(dictionary), "the dictionary has an entry twice")
    expect(at == meta[9], "the data page is elsewhere")
    header, content, at, more = page(data, at)
    expect(at - begin == meta[7] and size + more == meta[6], "the chunk has another size")
    count, encoding = header[5][1], header[5][2]
    expect(header[1] == 0 and count == meta[5] and header[5][3] == RLE and encoding in meta[2], "the page is no data page")
    cursor = Cursor(content)
    levels = runs(Cursor(cursor.take(struct.unpack("<I", cursor.take(4))[0])), 1, count)
    if encoding == RLE_DICTIONARY:
        width = cursor.take(1)[0]
        values = [dictionary[i] for i in runs(cursor, width, sum(levels))]
    else:
        values = plain(cursor, meta[1], sum(levels))
    expect(cursor.at == len(content), "the page is longer than its values")
    check_statistics(meta, levels, values)
    left = iter(values)
    return [next(left) if level else None for level in levels]


def check_statistics(meta, levels, values):
    said = meta[12]
    expect(said[3] == levels.count(0), f"{meta[3][0]}: {said[3]} nulls are told of {levels.count(0)}")
    if 5 in said:
        least, most = said[6], said[5]
        expect(meta[1] != BYTE_ARRAY or max(len(least), len(most)) <= 64, f"{meta[3][0]}: its bounds are long")
        if meta[1] != BYTE_ARRAY:
            code = "<d" if meta[1] == DOUBLE else "<Q"
            least, most = struct.unpack(code, least)[0], struct.unpack(code, most)[0]
        if meta[1] == DOUBLE:
            signs = [math.copysign(1, bound) for bound in (least, most) if not bound]
            expect(signs in ([], [-1] if not least else [1], [-1, 1]), f"{meta[3][0]}: a bound of one zero leaves out the other")
        expect((least, most) == (min(values), max(values)), f"{meta[3][0]}: bounds are {min(values)}, {max(values)}")
    else:
        expect(not values or max(map(len, (min(values), max(values)))) > 64, f"{meta[3][0]}: it has no bounds")


class File:
    """columns: {name: cells}; kinds: {name: "number", "time", "real", "text" or "bytes"}; facts, groups, rows."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        expect(data[:4] == data[-4:] == b"PAR1", "it is no Parquet file")
        size = struct.unpack("<I", data[-8:-4])[0]
        footer = Cursor(data[-8 - size:-8])
        meta = footer.struct()
        expect(footer.at == size, "the footer is longer than its fields")
        root, *schema = meta[2]
        expect(root[5] == len(schema) == len(meta[7]), "the schema has another number of columns")
        self.rows, self.groups = meta[3], len(meta[4])
        self.facts = {pair[1].decode(): pair[2].decode() for pair in meta.get(5, [])}
        self.kinds = {column[4].decode(): kind(column) for column in schema}
        self.columns = {name: [] for name in self.kinds}
        for group in meta[4]:
            expect(len(group[1]) == len(schema), "a row group has another number of columns")
            expect(sum(c[3][7] for c in group[1]) == group[6], "a row group has another size")
            expect(sum(c[3][6] for c in group[1]) == group[2], "a row group has another plain size")
            for column, chunk in zip(schema, group[1]):
                expect(chunk[3][3] == [column[4]] and chunk[3][1] == column[1], "a chunk is of another column")
                cells = chunk_of(data, chunk[3])
                expect(len(cells) == group[3], "a chunk has another number of rows")
                self.columns[column[4].decode()] += cells
        for cells in self.columns.values():
            expect(len(cells) == self.rows, f"{self.rows} rows are told of {len(cells)}")
        for name, cells in self.columns.items():
            if self.kinds[name] == "text":
                self.columns[name] = [cell if cell is None else cell.decode().encode() for cell in cells]


def kind(column):
    logical = column.get(10, {})
    expect(column[3] == 1, "a column is not optional")
    if column[1] == DOUBLE and not logical:
        return "real"
    if column[1] == BYTE_ARRAY:
        return {(0, STRING): "text", (None, None): "bytes"}[column.get(6), next(iter(logical), None)]
    if TIMESTAMP in logical:
        expect(logical[TIMESTAMP] == {1: True, 2: {3: {}}}, "a timestamp is not in ns of UTC")
        return "time"
    expect(column[6] == 14 and logical == {INTEGER: {1: 64, 2: False}}, "a number is not UINT_64")
    return "number"


read = File


def nanoseconds(text):
    """Of ISO 8601 with nine decimals."""
    seconds, _, fraction = text.partition(".")
    since = datetime.datetime.strptime(seconds, "%Y-%m-%dT%H:%M:%S") - EPOCH
    return (since.days * 86400 + since.seconds) * 10 ** 9 + int(fraction.rstrip("Z"))


def cell_of(text, of):
    """What a cell of the CSV means in a column of that kind; of reals it has ten digits."""
    if of in ("text", "bytes"):
        return text.encode("utf-8", "surrogateescape") or None
    if not text:
        return None
    if of == "time":
        return nanoseconds(text)
    return float(text) if of == "real" else int(text, 16 if text.startswith("0x") else 10)


def alike(cell, wanted, of):
    if of in ("text", "bytes"):
        return (cell or None) == wanted
    if of == "real" and cell is not None and wanted is not None:
        return float(f"{cell:.10g}") == wanted
    return cell == wanted


def read_csv(path):
    """(header, rows), with the names' own bytes."""
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        header, *rows = csv.reader(file)
    return header, rows


def compare(path, table):
    """(what differs, row groups, rows, cells)."""
    try:
        file = File(path)
    except (ValueError, KeyError, IndexError, struct.error, zstandard.ZstdError) as error:
        return [f"{path}: {error!r}"], 0, 0, 0
    header, rows = read_csv(table)
    if list(file.columns) != header:
        return [f"{path}: its columns are {list(file.columns)}, not {header}"], 0, 0, 0
    if file.rows != len(rows):
        return [f"{path}: it has {file.rows} rows of {len(rows)}"], 0, 0, 0
    wrong = []
    for place, (name, cells) in enumerate(file.columns.items()):
        of = file.kinds[name]
        for row, cell in enumerate(cells):
            if not alike(cell, cell_of(rows[row][place], of), of):
                wrong.append(f"{path}: {name} of row {row + 1} is {cell!r}, not {rows[row][place]!r}")
                break
        if any(of == "real" and cell is not None and math.isnan(cell) for cell in cells):
            wrong.append(f"{path}: {name} has NaN")
    return wrong, file.groups, len(rows), len(rows) * len(header)


def pairs(place, tables):
    if os.path.isfile(place):
        return [(place, tables)]
    found = sorted(glob.glob(os.path.join(glob.escape(place), "**", "*.parquet"), recursive=True))
    named = [(path, os.path.relpath(path, place).split(os.sep)[0]) for path in found]
    return [(path, os.path.join(tables, name + ".csv")) for path, name in named if name != "facts"]


def show(file):
    print(f"{file.groups} groups, {file.rows} rows")
    for name, value in file.facts.items():
        print(f"{name}: {value}")
    for name, cells in file.columns.items():
        print(f"{name} ({file.kinds[name]}): {', '.join(map(str, cells))}")


def main():
    if len(sys.argv) == 2 and os.path.isdir(sys.argv[1]):
        return print(sum(File(path).rows for path, _ in pairs(sys.argv[1], "")), "rows")
    if len(sys.argv) == 2:
        return show(File(sys.argv[1]))
    wrong, sums, found = [], [0, 0, 0], pairs(*sys.argv[1:])
    for path, table in found:
        more, *counts = compare(path, table)
        wrong += more
        sums = [a + b for a, b in zip(sums, counts)]
    if os.path.isdir(sys.argv[2]):
        missing = {name[:-4] for name in os.listdir(sys.argv[2])} - {os.path.basename(table)[:-4] for _, table in found}
        wrong += [f"{name}: no such table in {sys.argv[1]}" for name in sorted(missing)]
    print("\n".join([*wrong, "{} tables, {} row groups, {} rows, {} cells".format(len(found), *sums)]))
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # whoever reads has seen enough
        os._exit(0)
