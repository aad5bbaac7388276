#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Manual pages of both programs and of each of their verbs, into a folder.

    pages.py FOLDER [PROGRAMS [DATE]]

All that the tables of options and the text of -h tell comes from there. NAME.mdoc beside this file has what they do
not: whole sections, which stand instead of the generated one or behind it in the usual order, and under OPTIONS, for
single options, what there is to say beyond -h. common.mdoc has the latter for every page with such an option, and the
sections of pages that have none of their own. DATE (2026-11-26): of the pages; that of SOURCE_DATE_EPOCH, today.
"""
import datetime
import os
import re
import sys
import time

import tables

HERE = os.path.dirname(os.path.abspath(__file__))
ORDER = ["NAME", "SYNOPSIS", "DESCRIPTION", "VERBS", "OPTIONS", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES",
         "OVERHEAD", "RIGHTS", "SEE ALSO", "CAVEATS"]


def escaped(text):
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e"))


def sentences(text):
    """A line each, as mdoc wants them."""
    return [escaped(line) for line in re.sub(r"(?<=[a-z)'][.?!]) +(?=[A-Z])", "\n", text).split("\n") if line]


def read_sections(name):
    """{section: lines} of a file beside this one; nothing if there is none."""
    path = os.path.join(HERE, name)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        parts = re.split(r"^\.Sh (.*)\n", file.read(), flags=re.M)
    return {section: body.rstrip("\n").split("\n") for section, body in zip(parts[1::2], parts[2::2])}


def additions(lines):
    """{name of an option: lines}, and what follows the list."""
    found, name = {}, None
    for at, line in enumerate(lines):
        item = re.match(r"^\.It Fl -([\w-]+)$", line)
        if line == ".El":
            return found, lines[at + 1:]
        if item:
            name = item[1]
            found[name] = []
        elif name:
            found[name] += [line] if line else []
    return found, [] if found else lines


def item(option):
    short = f"{option.short} , " if option.short else ""
    value = f" Ar {option.value.lower()}" if option.value else ""
    return f".It Fl {short}-{option.name}" + (f" Ns Op = Ns{value}" if option.optional else value)


def words(option):
    """The help as mdoc: what it calls the value is one."""
    text = option.help + ("" if option.help.endswith(".") else ".")
    for word in set(re.findall(r"[A-Z]{2,}", option.value or "")):
        text = re.sub(rf"(?:^|(?<= )){word}([,.;:)]?)(?= |$) ?", f"\n.Ar {word.lower()} \\1\n", text)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return [part for line in lines for part in ([line] if line.startswith(".Ar ") else sentences(line))]


def options_section(options, own, common):
    heading, open_list = None, False
    for option in sorted(options, key=lambda option: bool(option.heading)):  # those without one belong to none
        if option.heading != heading or not open_list:
            if open_list:
                yield ".El"
            if option.heading:
                yield f".Ss {option.heading}"
            yield ".Bl -tag -width Ds"
            heading, open_list = option.heading, True
        yield item(option)
        yield from words(option)
        yield from own.pop(option.name, common.get(option.name, []))
    if open_list:
        yield ".El"


def synopsis(verb):
    """What -h calls arguments: capitals are what one puts there, anything else is typed as it is."""
    def part(found):
        capital = found[0][0].isupper()
        return f"\\fI{found[0].lower()}\\fR" if capital else f"\\fB{found[0]}\\fR"

    shown = re.sub(r"--?[a-z]*|[A-Z]\w*(?:\.\w+)?|[a-z]\w*", part, verb.arguments.replace("...", " ...")).replace("-", "\\-")
    return [f".Nm {verb.program} {verb.name}", *([".Op Ar option ..."] if verb.options else []),
            *([f"\\&{shown}"] if shown else [])]


def paragraphs(texts):
    """Lines that begin with spaces stay as they are."""
    lines = []
    for text in texts:
        lines.append(".Pp")
        for line in text.split("\n"):
            if line.startswith("  "):
                lines += [] if lines[-1] == ".Ed" else [".Bd -literal -offset indent"]
                lines = lines[:-1] if lines[-1] == ".Ed" else lines
                lines += [line[2:].replace("\\", "\\e"), ".Ed"]
            else:
                lines += sentences(line.strip())
    return lines[1:]


def literal(text):
    return [".Bd -literal -offset indent", *(escaped(line.strip()).replace("-", "\\-") for line in text.split("\n")), ".Ed"]


def write(folder, title, sections, date):
    order = ORDER + [name for name in sections if name not in ORDER]
    lines = ['.\\" SPDX-License-Identifier: GPL-2.0', '.\\" Made by docs/man/pages.py.', f".Dd {date}",
             f".Dt {title.upper()} 1", ".Os"]
    for name in sorted(sections, key=order.index):
        if sections[name]:
            lines += [f".Sh {name}", *sections[name]]
    with open(os.path.join(folder, f"{title}.1"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def behind(option_lines, more):
    """A paragraph follows a list with .Pp, a subsection without."""
    more = more[1:] if more[:1] == [".Pp"] else more
    return [*option_lines, *([".Pp"] if more and option_lines and not more[0].startswith(".Ss") else []), *more]


def verb_page(folder, verb, common, date):
    title = f"{verb.program}-{verb.name}"
    by_hand = read_sections(f"{title}.mdoc")
    own, more = additions(by_hand.pop("OPTIONS", []))
    common_options, _ = additions(common["OPTIONS"])
    sections = {
        "NAME": [f".Nm {title}", f".Nd {verb.does}"],
        "SYNOPSIS": synopsis(verb),
        "DESCRIPTION": paragraphs([verb.before, *verb.after]),
        "OPTIONS": behind(list(options_section(verb.options, own, common_options)), more),
        "EXIT STATUS": common["EXIT STATUS"],
        "EXAMPLES": literal(verb.examples) if verb.examples else [],
        "SEE ALSO": [f".Xr {verb.program} 1"],
    }
    if own:
        sys.exit(f"{title}.mdoc: {verb.program} {verb.name} has no option --{', --'.join(own)}")
    # A .Nm alone is the page's name.
    by_hand = {name: [f".Nm {verb.program} {verb.name}" if line == ".Nm" else line for line in lines]
               for name, lines in by_hand.items()}
    write(folder, title, sections | by_hand, date)


def program_page(folder, program, date):
    verbs = [".Bl -tag -width Ds"]
    for verb in program.verbs:
        verbs += [f".It Cm {verb.name}", f"{escaped(verb.does[0].upper() + verb.does[1:])}; see", f".Xr {program.name}-{verb.name} 1 ."]
    sections = {
        "NAME": [f".Nm {program.name}", f".Nd {program.does[0].lower()}{program.does[1:].rstrip('.')}"],
        "SYNOPSIS": [".Nm", ".Ar verb", ".Op Ar option ...", ".Nm", ".Ar verb", ".Fl -help", ".Nm", ".Fl -version"],
        "DESCRIPTION": [program.does],
        "VERBS": [*verbs, ".El"],
        "EXAMPLES": literal(program.examples),
    }
    write(folder, program.name, sections | read_sections(f"{program.name}.mdoc"), date)


def main():
    folder = sys.argv[1]
    programs = sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "..", "..")
    epoch = float(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    day = datetime.date.fromisoformat(sys.argv[3]) if len(sys.argv) > 3 else datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    date = f"{day:%B} {day.day}, {day.year}"
    common = read_sections("common.mdoc")
    titles = set()
    os.makedirs(folder, exist_ok=True)
    for program in tables.programs(programs):
        program_page(folder, program, date)
        titles |= {f"{program.name}.mdoc"} | {f"{program.name}-{verb.name}.mdoc" for verb in program.verbs}
        for verb in program.verbs:
            verb_page(folder, verb, common, date)
    left = {name for name in os.listdir(HERE) if name.endswith(".mdoc")} - titles - {"common.mdoc"}
    if left and len(titles) > 1 and len(tables.programs(programs)) == len(tables.PROGRAMS):
        sys.exit(f"{', '.join(sorted(left))}: no program has such a verb")


if __name__ == "__main__":
    main()
