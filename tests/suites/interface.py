#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What both programs say of themselves: -h, manual pages, docs and what they do agree.

Manual pages and completion have the options of each verb's -h, from which they come; every
example of -h, of the manual pages and of README is one that the verb understands; every exit code is
named wherever they are listed; --csv and --json are followed by no word, which would not be their path.
What all verbs refuse alike is in refusals.py.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

from refusals import check_all

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
OBSERVER = ("record", "top", "report", "timeline", "explain", "footprint", "protect", "slo", "export", "merge", "sim", "accesses", "fleet", "doctor")
CAMPAIGNS = ("run", "check", "help", "list", "recover", "exec")  # in faultline-inject.1
REAL = ("iopf", "odp", "pageout", "slow", "vfio")
VERBS = [("faultline", verb) for verb in OBSERVER] + [("faultline-inject", verb) for verb in CAMPAIGNS + REAL]
COMMON = {"help", "usage", "version"}  # in the page of the program
REFUSED = "--no-such-option"
MAN = sorted(page for page in os.listdir(os.path.join(ROOT, "docs", "man")) if page.endswith(".1"))
CODES = {0, 1, 2, 3, 4, 5, 6, 7}
passed = failed = 0


def check(name, wrong):
    global passed, failed
    if wrong:
        failed += 1
        print(f"not ok - {name}")
        for line in wrong:
            print(f"    {line}")
    else:
        passed += 1
        print(f"ok - {name}")


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def run(*words):
    result = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return result.returncode, result.stdout, result.stderr


def help_of(program, verb):
    status, text, complaint = run(f"./{program}", verb, "-h")
    return text if not status and not complaint else ""


def options_of_help(text):
    """{long name: (short name, argument, as the field writes it)}"""
    found = {}
    text = text.partition("EXAMPLES:")[0]
    for short, name, argument in re.findall(r"^ +(?:-(\w), +)?--([\w-]+)(\[?=\S+)?", text, re.M):
        found[name] = (short, argument.lower())
    return found


def page_of(program, verb):
    return f"{program}-{verb}.1" if verb in OBSERVER + REAL else f"{program}.1"


def pages():
    """{page: {long name: short one}} of the manual pages as they are installed (docs/man/pages.py)."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(ROOT, "docs", "man", "pages.py"), folder], check=True)
        found = {}
        for page in os.listdir(folder):
            text = read(folder, page).partition(".Sh OPTIONS")[2].partition("\n.Sh ")[0]
            found[page] = {name: short for short, name in re.findall(r"^\.It Fl (?:(\w) , )?-([\w-]+)", text, re.M)}
        return found


def check_width():
    for program, verb in VERBS:
        text = help_of(program, verb)
        wrong = [] if "EXAMPLES:" in text else ["it has no examples"]
        wrong += [line for line in text.split("\n") if len(line) > 80]
        check(f"{program} {verb} -h has examples, within 80 columns", wrong)


def check_options():
    written = pages()
    for page in sorted({page_of(*verb) for verb in VERBS}):
        said = {}
        for verb in VERBS:
            if page_of(*verb) == page:
                said |= {name: short for name, (short, _) in options_of_help(help_of(*verb)).items() if name not in COMMON}
        check(f"{page} has the options of -h", [f"{name}" for name in said if said[name] != written[page].get(name)]
              if said else ["-h prints no option"])
    check("faultline.1 has the options of every verb", [f"--{name} is not in it" for name in COMMON - set(written["faultline.1"])])


def check_completion():
    """What bash completes is what -h lists, before a verb the verbs."""
    script = 'PATH=.:$PATH; . tools/completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); ' \
             '_faultline "$1" "${!#}"; echo "${COMPREPLY[@]}"'
    for program in ("faultline", "faultline-inject"):
        known = {verb for name, verb in VERBS if name == program}
        found = set(run("bash", "-c", script, "bash", program, "")[1].split())
        check(f"bash completes the verbs of {program}", sorted(known ^ found))
    wrong = []
    for program, verb in VERBS:
        found = set(run("bash", "-c", script, "bash", program, verb, "--")[1].split())
        wrong += [f"{program} {verb}: {name}" for name in {f"--{name}" for name in options_of_help(help_of(program, verb))} ^ found]
    check("bash completes the options of each verb", wrong)


def commands(text):
    """Of our programs in some lines of shell, as words without redirections."""
    lines = re.sub(r"\\e?\n\s*", " ", text).replace("\\e", "\\")
    for line in lines.split("\n"):
        line = re.sub(r"^\.Dl ", "", line.strip())
        # In the help of `top`, what follows two spaces explains.
        line = re.sub(r"(?<=\S) {3,}\S.*$", "", line)
        if not re.match(r"(?:sudo )?(?:\./)?faultline(?:-inject)? [a-z]", line):
            continue
        lexer = shlex.shlex(line.replace("PID", "4711"), posix=True, punctuation_chars="|&>")
        lexer.whitespace_split = True
        words = list(lexer)
        for part in re.split("\1(?:[|&]+)\1", "\1" + "\1".join(words) + "\1"):
            part = part.strip("\1").split("\1")
            part = part[1:] if part[:1] == ["sudo"] else part
            if ">" in part:
                part = part[:part.index(">")]
            if part and re.fullmatch(r"(?:\./)?faultline(?:-inject)?", part[0]):
                yield [os.path.basename(part[0]), *part[1:]]


def misunderstood(command):
    """Why a verb does not understand that line, which it is not let carry out: an option that no verb has comes
    behind its own. None if that one is all that it refuses."""
    end = command.index("--") if "--" in command else len(command)
    words = [*command[:end], REFUSED, *command[end:]]
    status, _, complaint = run(f"./{words[0]}", *words[1:])
    if status == 2 and f"unrecognized option '{REFUSED}'" in complaint:
        return None
    return f"{shlex.join(command)}: {complaint.splitlines()[0] if complaint else f'ended with {status}'}"


def examples():
    """(where, text) of everything that shows commands."""
    for program, verb in VERBS:
        text = help_of(program, verb)
        if "EXAMPLES:" in text:
            yield f"{program} {verb} -h", text.partition("EXAMPLES:")[2]
    for page in MAN:
        yield page, read("docs", "man", page).partition(".Sh EXAMPLES")[2]
    for page in ("README.md", *(f"docs/{name}" for name in sorted(os.listdir(os.path.join(ROOT, "docs"))) if name.endswith(".md"))):
        lines = re.findall(r"^    (.*)$", read(page), re.M)
        yield page, "\n".join(re.sub(r"\s+# .*$", "", line) for line in lines)


def check_examples():
    shown = set()
    for where, text in examples():
        # `help`, `list` and `recover` have no options of their own; what has no verb is the usage's.
        found = [command for command in commands(text) if len(command) > 1]
        shown |= {(command[0], command[1]) for command in found}
        check(f"{where}: each of {len(found)} examples is understood",
              [reason for reason in map(misunderstood, found) if reason])
    harmless = [["faultline-inject", "list"], *(["faultline-inject", "help", key] for key in ("inject.rate", "results")),
                ["faultline-inject", "check", "rtt", "--short"], ["faultline", "sim", "--keys"]]
    check("those that start nothing are carried out", [shlex.join(command) for command in harmless
                                                       if run(f"./{command[0]}", *command[1:])[0]])
    check("every verb has an example", [f"{' '.join(verb)} has none" for verb in VERBS if verb not in shown])


def check_codes():
    enum = {int(code) for code in re.findall(r"^\tEXIT_\w+ = (\d),", read("lib", "base", "fail.h"), re.M)}
    check("the exit codes are those of lib/base/fail.h", [] if enum == CODES else [f"{sorted(enum)}"])
    table = {int(code) for code in re.findall(r"^\| (\d) \|", read("docs", "exit-codes.md"), re.M)}
    check("docs/exit-codes.md names each", [] if table == enum else [f"{sorted(table)}"])
    for page in MAN:
        section = re.search(r"^\.Sh EXIT STATUS\n(.*?)^\.Sh ", read("docs", "man", page), re.M | re.S)
        codes = {int(code) for code in re.findall(r"(?:^\.It |(?<![\w.+-]))(\d)(?= |$)", section[1], re.M)} if section else set()
        wrong = [] if section else ["it has no EXIT STATUS"]
        wrong += [f"{code} is no exit code" for code in sorted(codes - enum)]
        if page == "faultline.1":
            wrong += [f"{code} is not named" for code in sorted(enum - codes)]
        check(f"{page} names exit codes", wrong or ([] if {0, 2} <= codes else [f"only {sorted(codes)}"]))


def check_paths():
    """`--csv out` writes to standard output and takes `out` for something else."""
    looked, wrong = 0, []
    files = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    spaced = re.compile(r"--(?:csv|json)[ \t]+(?![\d<>|&;\\)-])[\"'$\w./{]")
    for path in files:
        if not re.search(r"\.(sh|py|md|ini|c|h|1|html|yml)$|Makefile|\.ci/run$", path) or path.startswith("tests/data/"):
            continue
        for number, line in enumerate(read(path).split("\n"), 1):
            if not re.search(r"--(csv|json)\b", line):
                continue
            looked += 1
            # That the old spelling is refused, and where the word is a sentence's or another option's.
            if spaced.search(line) and not REFUSALS.search(line):
                wrong.append(f"{path}:{number}: {line.strip()}")
    check(f"no word follows --csv or --json with a space ({looked} lines)",
          wrong if looked > 100 else [*wrong, "too few lines: not looked everywhere"])


REFUSALS = re.compile(r"old spelling|--csv old|--csv conflicts|--csv nowhere|--csv or --json|--csv and --json|--csv has|"
                      r"--csv takes|--csv \"\$@\"|--json \(|--csv \"\$INJECT\"|--csv out`|--csv WORD")


check_width()
check_options()
check_completion()
check_examples()
check_codes()
check_paths()
check_all(check, VERBS, lambda program, verb: options_of_help(help_of(program, verb)))
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(failed > 0)
