# SPDX-License-Identifier: GPL-2.0
"""What suite `extension` adds of lib/analyze: an analyzer, which is a file and a line, and a column of another's table."""

FILES = {"lib/analyze/toy.c": r"""// SPDX-License-Identifier: GPL-2.0
/* How many events came with an even time, and how many with an odd one. */
#include <errno.h>

#include "lib/analyze/live.h"
#include "lib/base/fail.h"
#include "lib/base/memory.h"

struct toy {
	__u64 events[2];
};

static int toy_on_events(void *self, const struct event *events, size_t count)
{
	struct toy *toy = self;

	for (size_t i = 0; i < count; i++)
		toy->events[events[i].time_ns % 2]++;
	return 0;
}

static struct stream toy_stream(struct toy *toy)
{
	static const struct stream_ops ops = {.events = toy_on_events};

	return (struct stream){&ops, toy};
}

static int create_toy(struct analysis *analysis, const struct analysis_config *config)
{
	(void)config;
	analysis->toy = memory_calloc(1, sizeof(*analysis->toy));
	return analysis->toy ? 0 : failed(-ENOMEM, "no memory for a toy");
}

static void toy_destroy(struct toy *toy)
{
	memory_free(toy);
}

#define TOYS(COLUMN)                                                       \
	COLUMN(parity, none, TEXT, 6, SHOWN, row == context->events ? "even" : "odd") \
	COLUMN(rung, events, COUNT, 6, SHOWN, *row)
TABLE(toys, "Toys", TOYS, __u64, struct toy)

static void toy_write(const struct analysis *analysis, struct writer *writer, const struct table_wish *wish)
{
	(void)wish;
	writer_begin_with(writer, &toys_table, analysis->toy);
	for (int parity = 0; parity < 2; parity++)
		writer_row(writer, &analysis->toy->events[parity]);
	writer_end(writer);
}

static bool toy_rang(const struct analysis *analysis)
{
	return analysis->toy->events[0];
}

static void toy_find(const struct analysis *analysis, struct writer *writer)
{
	writer_note(writer, "The toy rang %llu times too early.", analysis->toy->events[1]);
}

static void toy_look(const struct analysis *analysis, struct live_summary *summary)
{
	summary->loss.lost += 1000 * analysis->toy->events[0];
}

static const struct analyzer_table tables[] = {{&toys_table, toy_write, toy_rang}, {0}};

DEFINE_ANALYZER(toy, .tables = tables, .chapter = REPORT_IO, .findings = toy_find, .summary = toy_look)
"""}
# Each a file, the line before it and the line.
LINES = (
    ("lib/analyze/analyzers.def", "ANALYZER(slo)", "ANALYZER(toy)"),
    ("lib/analyze/session_tables.c", "\tCOLUMN(handle, none, COUNT, 6, WIDE, row->handle)",
     "\tCOLUMN(toy, percent, COUNT, 4, WIDE, 100 + row->handle) \\"),
)
COLUMNS_TEST = "build/tests/unit/test_columns"


def add_to(tree):
    for path, text in FILES.items():
        (tree / path).write_text(text, encoding="utf-8")
    for path, before, line in LINES:
        text = (tree / path).read_text(encoding="utf-8")
        at = text.index("\n", text.index("\n" + before) + 1) + 1
        (tree / path).write_text(text[:at] + line + "\n" + text[at:], encoding="utf-8")


def see_in_reports(tree, run, check):
    """Of a recording with three events, at times of which two are even, of a kind whose number is 300."""
    def report(*words):
        return run(tree, "./faultline", "report", "toy.flt", *words)

    _, text, _ = report("--csv=-", "--table", "toys")
    check("a table of a new analyzer is in report --csv", text == "parity,rung_events\neven,2\nodd,1\n", text)
    _, text, _ = report("--json")
    check("and in report --json", '"toys":[{"parity":"even","rung_events":2},' in "".join(text.split()), text[:2000])
    _, text, _ = report()
    check("and in report's text", "\nToys\nPARITY  RUNG_EVENTS\n" in text, text)
    check("which has its sentence", "\nThe toy rang 1 times too early.\n" in text, text)
    _, text, _ = run(tree, "./faultline", "top", "-b", "-i", "toy.flt", "--json", "1")
    check("top has its part of the summary", '"lost_events":2000' in text.replace('": ', '":'), text[:2000])
    _, _, said = report("--table", "none")
    check("report --table offers it", "toys" in said.partition("accepted: ")[2].strip().split(", "), said)
    _, text, _ = report("--csv=-", "--table", "devices")
    check("a new column is in report --csv", text.startswith("device,handle,toy_percent,") and ",1,101," in text, text)


def see_in_docs(tree, run, check):
    """docs/analysis.md is refused until it has what the test of its tables asks for."""
    page = tree / "docs/analysis.md"
    lines = page.read_text(encoding="utf-8").splitlines(keepends=True)
    devices, slo = (next(i for i, line in enumerate(lines) if line.startswith(f"| `{table}` | `"))
                    for table in ("devices", "slo"))
    for name, place, wanted in (
            ("column", slice(devices, devices + 1), lines[devices].replace("`handle`,", "`handle`, `toy_percent`,")),
            ("table", slice(slo, slo), "| `toys` | `parity`, `rung_events` |\n")):
        status, out, said = run(tree, COLUMNS_TEST)
        check(f"docs without the {name} are refused", status != 0 and f"should have here: {wanted}" in out + said,
              out + said)
        lines[place] = [wanted]
        page.write_text("".join(lines), encoding="utf-8")
    status, out, said = run(tree, COLUMNS_TEST)
    check("docs with both are accepted", status == 0, out + said)
