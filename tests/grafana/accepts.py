#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Do Grafana's types accept dashboards? accepts.py PACKAGES FILE... as JSON; PACKAGES as tests/engines/fetch.sh has them.

What is wrong is printed as tsc says it; exit status 1. Writes into the current folder.
"""
import itertools
import json
import os
import subprocess
import sys

KINDS = {"stat": "StatPanel", "table": "TablePanel", "heatmap": "HeatmapPanel", "timeseries": "TimeseriesPanel", "row": "RowPanelPlain"}
NUMBERS = itertools.count()


def constants(name, board):
    """A constant a panel, so that what is wrong is told with its panel; and the whole."""
    for panel in board["panels"]:
        kind = KINDS.get(panel["type"], "never")
        yield f"export const {name}_panel_{panel['id']}: {kind} = {json.dumps(panel)};"
    for number, one in enumerate(board["annotations"]["list"]):
        yield f"export const {name}_annotation_{number}: Annotation = {json.dumps(one)};"
    # Their queries are more than Dashboard knows, and were held to their types above.
    bare = [{**one, "target": {"refId": one["target"]["refId"]}} for one in board["annotations"]["list"]]
    yield f"export const {name}: DashboardPlain = {json.dumps({**board, 'annotations': {'list': bare}})};"


def mistakes(board):
    """What tsc must refuse of each kind of panel; it says so if it does not."""
    for kind in ("stat", "table", "heatmap", "timeseries"):
        panel = next((one for one in board["panels"] if one["type"] == kind), None)
        if not panel:
            continue
        defaults = panel["fieldConfig"]["defaults"]
        for wrong in ({**panel, "titel": "x"}, {**panel, "type": "graph"}, {**panel, "options": {**panel["options"], "legends": 1}},
                      {**panel, "targets": [{**panel["targets"][0], "expression": "up"}]}, {**panel, "gridPos": {"w": "24"}},
                      {**panel, "fieldConfig": {"overrides": [], "defaults": {**defaults, "color": {"mode": "rainbow"}}}},
                      {**panel, "fieldConfig": {"overrides": [], "defaults": {**defaults, "custom": {"lineWidht": 1}}}}):
            yield f"// @ts-expect-error\nexport const mistake_{next(NUMBERS)}: {KINDS[kind]} = {json.dumps(wrong)};"
    for wrong in ({**board, "uuid": "x"}, {**board, "schemaVersion": "39"}):
        yield f"// @ts-expect-error\nexport const mistake_{next(NUMBERS)}: DashboardPlain = {json.dumps(wrong)};"


def main(packages, *files):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "types.ts"), encoding="utf-8") as file:
        text = [file.read()]
    for path in files:
        with open(path, encoding="utf-8") as file:
            board = json.load(file)
        text += [*constants(os.path.basename(path).partition(".")[0], board), *mistakes(board)]
    with open("dashboards.ts", "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")
    if not os.path.exists("node_modules"):
        os.symlink(os.path.join(packages, "node_modules"), "node_modules")
    run = subprocess.run(["node", "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--target", "es2022", "--module", "esnext",
                          "--moduleResolution", "bundler", "--skipLibCheck", "dashboards.ts"], check=False)
    return run.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
