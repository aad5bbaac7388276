#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds the last interval of a view of `faultline top` against other tables of the same name.

compare_top.py TOP.csv TABLE.csv [LEFT_OUT...]: every row and every column of TABLE (of `report`, or of
another `top`) is in the last interval of TOP, and no other row; prints how many numbers were
compared. Columns that only TOP has are its own: time, rates, loss. LEFT_OUT names columns that are of an
interval or of the program itself.
"""
import csv
import sys


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def last_interval(rows):
    """Of a table with a time column; one without is whole. An interval without rows has an empty one."""
    if not rows or list(rows[0])[0] != "time":
        return rows
    last = [row for row in rows if row["time"] == rows[-1]["time"]]
    key = list(last[0])[1]
    return [row for row in last if row[key]]


def main(top_path, table_path, *left_out):
    tables = rows_of(top_path), rows_of(table_path)
    top, table = last_interval(tables[0]), last_interval(tables[1])
    if not table:
        sys.exit(f"{table_path}: no rows to compare")
    if len(top) != len(table):
        sys.exit(f"{len(top)} rows in {top_path}, {len(table)} in {table_path}")
    columns = [name for name in table[0] if name not in ("time", *left_out)]
    unknown = [name for name in columns if name not in top[0]]
    if unknown:
        sys.exit(f"{top_path} lacks columns {', '.join(unknown)}")

    def cells(row):
        return tuple(row[name] for name in columns)

    compared = 0
    for ours, theirs in zip(sorted(map(cells, top)), sorted(map(cells, table))):
        for name, a, b in zip(columns, ours, theirs):
            if a != b:
                sys.exit(f"{ours[0]}: {name} is {a} in {top_path}, {b} in {table_path}")
            compared += 1
    print(f"{compared} numbers of {len(table)} rows")


main(*sys.argv[1:])
