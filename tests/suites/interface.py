#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What both programs say of themselves: -h, manual pages, docs and what they do agree.

Every verb has a manual page and completion, made of the tables of its options, with the options of its -h; every
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

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROGRAMS = ("faultline", "faultline-inject")
VERBS = [(program, line.split("\t")[0]) for program in PROGRAMS
         for line in subprocess.run([os.path.join(ROOT, program), "--help-table"], capture_output=True, text=True, check=True)
         .stdout.splitlines()[1:]]
COMMON = {"help", "usage", "version"}  # in the page of the program
REFUSED = "--no-such-option"
WITHOUT_OPTIONS = {("faultline-inject", "list"), ("faultline-inject", "exec")}
made = tempfile.TemporaryDirectory()  # what is made of the tables: man/, completion/
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


def make_pages():
    """{page: its text}, as they are installed (docs/man/pages.py); completion beside them."""
    for script, folder in (("pages.py", "man"), ("completions.py", "completion")):
        subprocess.run([sys.executable, os.path.join(ROOT, "docs", "man", script), os.path.join(made.name, folder)], check=True)
    folder = os.path.join(made.name, "man")
    return {page: read(folder, page) for page in sorted(os.listdir(folder))}


def options_of_page(text):
    """{long name: short one}."""
    text = text.partition(".Sh OPTIONS")[2].partition("\n.Sh ")[0]
    return {name: short for short, name in re.findall(r"^\.It Fl (?:(\w) , )?-([\w-]+)", text, re.M)}


def check_width():
    for program, verb in VERBS:
        text = help_of(program, verb)
        wrong = [] if "EXAMPLES:" in text else ["it has no examples"]
        wrong += [line for line in text.split("\n") if len(line) > 80]
        check(f"{program} {verb} -h has examples, within 80 columns", wrong)


def check_pages():
    wanted = {f"{program}.1" for program in PROGRAMS} | {f"{program}-{verb}.1" for program, verb in VERBS}
    check("every verb has a manual page, and there is no other", sorted(wanted ^ set(MAN)))
    for program, verb in VERBS:
        said = {name: short for name, (short, _) in options_of_help(help_of(program, verb)).items() if name not in COMMON}
        written = options_of_page(MAN[f"{program}-{verb}.1"])
        wrong = [f"--{name}" for name in said.keys() | written.keys() if said.get(name) != written.get(name)]
        check(f"{program}-{verb}.1 has the options of -h", wrong if said or (program, verb) in WITHOUT_OPTIONS else ["-h prints no option"])
    for program in PROGRAMS:
        listed = re.findall(r"^\.Xr (\S+) 1 \.$", MAN[f"{program}.1"].partition(".Sh VERBS")[2].partition("\n.Sh ")[0], re.M)
        check(f"{program}.1 lists the verbs", sorted({f"{program}-{verb}" for name, verb in VERBS if name == program} ^ set(listed)))
    check("faultline.1 has the options of every verb",
          [f"--{name} is not in it" for name in COMMON - set(options_of_page(MAN["faultline.1"]))])


def bash_completes(program, *words):
    script = 'PATH=.:$PATH; . "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); ' \
             f'_{program.replace("-", "_")}_complete "$1" "${{!#}}"; echo "${{COMPREPLY[@]}}"'
    return set(run("bash", "-c", script, os.path.join(made.name, "completion", "bash", program), program, *words)[1].split())


def zsh_completes(program, verb):
    """The options that it tells _arguments of."""
    function = f"_{program.replace('-', '_')}_complete"
    script = f'compdef() {{ : }}; source "$0"; _arguments() {{ print -rl -- "$@" }}; words=({program} {verb} --); CURRENT=3; {function}'
    said = run("zsh", "-f", "-c", script, os.path.join(made.name, "completion", "zsh", f"_{program}"))[1]
    return set(re.findall(r"^\*(--[\w-]+)", said, re.M))


def check_completion():
    """What shells complete is what -h lists, before a verb the verbs. tests/suites/shells.py types it."""
    for program in PROGRAMS:
        known = {verb for name, verb in VERBS if name == program} | {"--help", "--version"}
        check(f"bash completes the verbs of {program}", sorted(known ^ bash_completes(program, "")))
    for shell, complete in (("bash", lambda program, verb: bash_completes(program, verb, "--")), ("zsh", zsh_completes)):
        wrong = []
        for program, verb in VERBS:
            said = {f"--{name}" for name in options_of_help(help_of(program, verb))}
            wrong += [f"{program} {verb}: {name}" for name in said ^ complete(program, verb)]
        check(f"{shell} completes the options of each verb", wrong)
    for shell in ("bash", "zsh"):
        status, said, complaint = run(sys.executable, os.path.join(ROOT, "tests", "suites", "shells.py"), shell,
                                      os.path.join(made.name, "completion"))
        check(f"somebody at a prompt of {shell} gets that completed",
              [] if not status and said else [*re.findall("^not ok.*", said, re.M), *complaint.splitlines()[-3:]])


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
    for page, text in MAN.items():
        yield page, text.partition(".Sh EXAMPLES")[2].replace("\\-", "-")
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
    for page, text in MAN.items():
        section = re.search(r"^\.Sh EXIT STATUS\n(.*?)^\.Sh ", text, re.M | re.S)
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


MAN = make_pages()
check_width()
check_pages()
check_completion()
check_examples()
check_codes()
check_paths()
check_all(check, VERBS, lambda program, verb: options_of_help(help_of(program, verb)))
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(failed > 0)
