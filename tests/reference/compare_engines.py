#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What engines read in our Parquet files is what the CSV of the same tables says.

    compare_engines.py ENGINE ENGINES PLACE CSV    ENGINE: clickhouse or duckdb, of tests/engines/fetch.sh

PLACE and CSV are two directories, as parquet_read.py takes them. Of each table the engine's own names and types of
columns, every cell in the order of the rows, and of each column how many values there are, how many different ones,
the sum, the least, the greatest and two quantiles, which this computes again from the CSV.
"""
import json
import math
import os
import subprocess
import sys

import parquet_read

HERE = os.path.dirname(os.path.abspath(__file__))
QUANTILES = (0.5, 0.99)
# Bytes of a text, as hexadecimal digits: answers are JSON.
ENGINES = {
    "clickhouse": {
        "types": {"text": "Nullable(String)", "bytes": "Nullable(String)", "number": "Nullable(UInt64)",
                  "time": "Nullable(DateTime64(9, 'UTC'))", "real": "Nullable(Float64)"},
        "time": "toUnixTimestamp64Nano({})", "unit": 1,
        "text": "hex({})", "bytes": "hex({})", "wide": "toInt128({})", "digits": "toString({})",
        "distinct": "uniqExact({})", "quantile": "quantileExact({1})({0})",
        # Its index into the sorted values.
        "index": lambda count, level: int(level * count),
        "from": "file('{}', 'Parquet')", "settings": "SET max_threads = 1, use_hive_partitioning = 0",
    },
    "duckdb": {
        "types": {"text": "VARCHAR", "bytes": "BLOB", "number": "UBIGINT", "time": "TIMESTAMP WITH TIME ZONE", "real": "DOUBLE"},
        # It knows times to the microsecond.
        "time": "epoch_us({})", "unit": 1000,
        "text": "hex(encode({}))", "bytes": "hex({})", "wide": "{}::hugeint", "digits": "{}::varchar",
        "distinct": "count(distinct {})", "quantile": "quantile_disc({0}, {1})",
        "index": lambda count, level: max(1, math.ceil(count * level)) - 1,
        "from": "read_parquet('{}', hive_partitioning = false)", "settings": "SET threads = 1",
    },
}


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Table:
    """Queries of a table, and what they have to say."""

    def __init__(self, engine, path, csv):
        self.path, self.engine = path, engine
        self.file = parquet_read.File(path)
        self.header, rows = parquet_read.read_csv(csv)
        self.kinds = [self.file.kinds[name] for name in self.header]
        self.rows = [[self.shown(parquet_read.cell_of(text, kind), kind) for text, kind in zip(row, self.kinds)] for row in rows]

    def shown(self, cell, kind):
        """As the engine can tell it."""
        return cell // self.engine["unit"] if kind == "time" and cell is not None else cell

    def value(self, name, kind):
        """Something that has an order and, but for texts, a sum. An empty text is no other than none, as in the CSV."""
        name = quoted(name)
        return f"nullif({name}, '')" if kind in ("text", "bytes") else self.engine["time"].format(name) if kind == "time" else name

    def source(self):
        return self.engine["from"].format(self.path.replace("\\", "\\\\").replace("'", "''"))

    def queries(self):
        engine, cells, sums = self.engine, [], ["count(*)"]
        for name, kind in zip(self.header, self.kinds):
            value = self.value(name, kind)
            digits = engine["digits"] if kind != "real" else "{}"
            if kind in ("text", "bytes"):
                digits = engine[kind]
            cells.append(digits.format(value))
            sums += [f"count({value})", engine["distinct"].format(value), digits.format(f"min({value})"), digits.format(f"max({value})")]
            if kind not in ("text", "bytes"):
                wide = engine["wide"].format(value) if kind != "real" else value
                sums += [digits.format(f"sum({wide})")]
                sums += [digits.format(engine["quantile"].format(value, level)) for level in QUANTILES]
        return (f"DESCRIBE (SELECT * FROM {self.source()})", f"SELECT {', '.join(cells)} FROM {self.source()}",
                f"SELECT {', '.join(sums)} FROM {self.source()}")

    def read(self, text, kind):
        """A cell of an answer."""
        if text is None or text == "" and kind in ("text", "bytes"):
            return None
        if kind in ("text", "bytes"):
            return bytes.fromhex(text)
        return float(text) if kind == "real" else int(text)

    def same(self, said, wanted, kind, of_sum=False):
        if kind == "real" and said is not None and wanted is not None and math.isfinite(wanted):
            return math.isclose(said, wanted, rel_tol=1e-7 if of_sum else 1e-9, abs_tol=1e-300)
        return said == wanted or kind == "real" and said is not None and wanted is not None and math.isnan(said) and math.isnan(wanted)

    def wrong(self, answers):
        for answer in answers:
            if isinstance(answer, dict):
                return [answer["error"][:300]]
        types, rows, sums = answers
        wanted = [[name, self.engine["types"][kind]] for name, kind in zip(self.header, self.kinds)]
        if [row[:2] for row in types] != wanted:
            return [f"a column is {said}, not {right}" for said, right in zip([row[:2] for row in types], wanted) if said != right][:1] \
                or [f"it has {len(types)} columns of {len(wanted)}"]
        if len(rows) != len(self.rows):
            return [f"it has {len(rows)} rows of {len(self.rows)}"]
        found = self.wrong_cells(rows)
        return found or self.wrong_sums(iter(sums[0]))

    def wrong_cells(self, rows):
        for number, (row, wanted) in enumerate(zip(rows, self.rows), 1):
            for name, kind, text, cell in zip(self.header, self.kinds, row, wanted):
                if not self.same(self.read(text, kind), cell, kind):
                    return [f"{name} of row {number} is {text!r}, not {cell!r}"]
        return []

    def wrong_sums(self, said):
        wrong = [] if int(next(said)) == len(self.rows) else ["it counts other rows"]
        for place, (name, kind) in enumerate(zip(self.header, self.kinds)):
            values = sorted(row[place] for row in self.rows if row[place] is not None)
            counts = {"count": len(values), "distinct": len(set(values))}
            for what, wanted in counts.items():
                got = int(next(said))
                # Reals have ten digits in the CSV: what differs behind them is the same there.
                if got != wanted and (kind != "real" or what == "count" or got < wanted):
                    wrong.append(f"{what} of {name} is {got}, not {wanted}")
            bounds = [("min", values[0] if values else None), ("max", values[-1] if values else None)]
            if kind not in ("text", "bytes"):
                bounds.append(("sum", sum(values) if values else None))
                bounds += [(f"quantile {level}", values[self.engine["index"](len(values), level)] if values else None)
                           for level in QUANTILES]
            for what, wanted in bounds:
                got = self.read(next(said), kind)
                # ClickHouse has NaN, not null, for the quantile of no reals, which JSON has as null.
                if not self.same(got, wanted, kind, what == "sum"):
                    wrong.append(f"{what} of {name} is {got!r}, not {wanted!r}")
        return wrong


def ask(engine, folder, queries):
    """A list of answers."""
    answered = subprocess.run(["node", os.path.join(HERE, "..", "engines", "query.js"), engine, folder], input=json.dumps(queries),
                              capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in answered.stdout.splitlines()]
    if len(answers) != len(queries):
        raise RuntimeError(f"{engine} answered {len(answers)} of {len(queries)} queries: {answered.stderr[-500:]}")
    return answers


def main():
    name, folder, place, csv = sys.argv[1:]
    tables = [Table(ENGINES[name], path, table) for path, table in parquet_read.pairs(os.path.abspath(place), csv)]
    answers = iter(ask(name, folder, [ENGINES[name]["settings"], *(query for table in tables for query in table.queries())]))
    failed = len(next(answers))
    for table in tables:
        for line in table.wrong([next(answers) for _ in table.queries()]):
            failed += 1
            print(f"{table.path}: {line}")
    print(f"{len(tables)} tables, {sum(len(table.rows) for table in tables)} rows, {failed} differences")
    return 1 if failed or not tables else 0


if __name__ == "__main__":
    sys.exit(main())
