# SPDX-License-Identifier: GPL-2.0
"""What a script calls: commands of shell (by shfmt's syntax tree), of make, and of Python, and its imports."""
import ast
import json
import os
import re
import subprocess

# Commands that run another one, with the number of arguments of their own before it. Options and
# assignments between are passed over; -c takes a text in the shell's own language.
RUNNERS = {"exec": 0, "command": 0, "env": 0, "nice": 0, "setsid": 0, "sudo": 0, "nohup": 0, "xargs": 0, "unshare": 0,
           "timeout": 1, "setpriv": 0, "chroot": 1, "time": 0, "nsenter": 0, "taskset": 1, "chrt": 1, "ionice": 0, "flock": 1,
           "runuser": 0, "stdbuf": 0, "prlimit": 0, "strace": 0, "systemd-run": 0}
# Options of these whose value is a word of its own.
WITH_VALUE = {"-n", "-P", "-I", "-d", "-k", "-s", "-g", "-u", "-t", "-o", "--reuid", "--regid", "--groups", "--bounding-set", "--inh-caps",
              "--ambient-caps"}
SHELLS = ("sh", "bash")
BUILTINS = set(subprocess.run(["bash", "-c", "compgen -bk"], capture_output=True, text=True, check=True).stdout.split())
ARGUMENTS = "\1"
NAME = re.compile(r"^[A-Za-z][\w.+-]*$")


class Calls:
    """Commands and imports, each with the place that was found first."""

    def __init__(self):
        self.commands, self.imports, self.functions = {}, {}, set()
        self.runners = {}  # functions that run a command, as RUNNERS do, and how many arguments come before it
        self.runs_arguments = False
        self.programs = set()  # those that are no function, whatever its name

    def command(self, name, place):
        if NAME.match(name) and name not in BUILTINS:
            self.commands.setdefault(name, place)

    def imported(self, name, place):
        self.imports.setdefault(name.split(".")[0], place)


def text_of(word):
    """A word; what is put together at run time has a NUL where that comes, and "$@" is ARGUMENTS."""
    text = ""
    for part in word.get("Parts", ()):
        if part["Type"] in ("Lit", "SglQuoted"):
            text += part.get("Value", "")
        elif part["Type"] == "DblQuoted":
            text += text_of(part)
        elif part["Type"] == "ParamExp" and part.get("Param", {}).get("Value") == "@":
            text += ARGUMENTS
        else:
            text += "\0"
    return re.sub(r"\\(.)", r"\1", text)


def nodes(tree):
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from nodes(value)


def follow(words, place, calls):
    """The command that these words run, and those that it runs in turn."""
    while words and (re.match(r"^\w+\+?=", words[0])):
        words = words[1:]
    if words[:1] == [ARGUMENTS]:
        calls.runs_arguments = True
    if not words or "\0" in words[0]:
        return
    name, rest = words[0], words[1:]
    calls.command(name, place)
    if name in SHELLS and "-c" in rest[:-1]:
        shell(rest[rest.index("-c") + 1].replace("\0", "x"), place, calls)
    elif name == "python3" and "-c" in rest[:-1]:
        python(rest[rest.index("-c") + 1].replace("\0", "x"), place, calls)
    elif name == "find":
        for at, word in enumerate(rest):
            if word in ("-exec", "-execdir"):
                follow(rest[at + 1:], place, calls)
    elif name == "trap" and rest:
        shell(rest[0].replace("\0", "x"), place, calls)
    elif name == "eval":
        shell(" ".join(rest).replace("\0", "x"), place, calls)
    elif name in ("script", "flock", "su") and "-c" in rest[:-1]:
        shell(rest[rest.index("-c") + 1].replace("\0", "x"), place, calls)
    elif name == "tmux" and rest and " " in rest[-1]:
        shell(rest[-1].replace("\0", "x"), place, calls)
    elif name == "command" and rest[:1] == ["-v"]:
        for word in rest[1:]:
            calls.command(word, place)
            calls.programs.add(word)
    elif name in calls.runners:
        follow(rest[calls.runners[name]:], place, calls)
    elif name in RUNNERS:
        own = RUNNERS[name]
        while rest and (own or rest[0].startswith("-")):
            if rest[0].startswith("-"):
                rest = rest[2 if rest[0] in WITH_VALUE else 1:]
            else:
                own, rest = own - 1, rest[1:]
        follow(rest, place, calls)
        if name == "command" and rest:
            calls.programs.add(rest[0])


def function(declaration, calls):
    """A function of the script; one that runs the arguments it is left with runs a command, too."""
    name, own, probe = declaration["Name"]["Value"], 0, Calls()
    for node in nodes(declaration):
        if node.get("Type") == "CallExpr" and node.get("Args"):
            words = [text_of(word) for word in node["Args"]]
            if words[0] == "shift":
                own += int(words[1]) if len(words) > 1 and words[1].isdigit() else 1
            elif not probe.runs_arguments:
                follow(words, "", probe)
    calls.functions.add(name)
    calls.runners.pop(name, None)
    if probe.runs_arguments:
        calls.runners[name] = own


def shell(text, place, calls):
    run = subprocess.run(["shfmt", "-ln", "bash", "--to-json"], input=text, capture_output=True, text=True, check=False)
    if run.returncode:
        return
    tree = json.loads(run.stdout)
    for node in nodes(tree):
        if node.get("Type") == "FuncDecl":
            function(node, calls)
    for node in nodes(tree):
        if node.get("Type") == "CallExpr" and node.get("Args"):
            at = f"{place}:{node['Pos']['Line']}" if ":" not in place else place
            follow([text_of(word) for word in node["Args"]], at, calls)
        # A program in Python that stands in the script.
        if node.get("Cmd", {}).get("Type") == "CallExpr" and node.get("Redirs"):
            words = [text_of(word) for word in node["Cmd"].get("Args", ())]
            if any(word.endswith("python3") for word in words):
                for redirection in node["Redirs"]:
                    if redirection.get("Hdoc"):
                        python(re.sub(r"(?m)^\t+", "", text_of(redirection["Hdoc"]).replace("\0", "x")), place, calls)


def makefile(text, place, calls):
    """Recipes, with variables that name one program taken for it."""
    values = dict(re.findall(r"(?m)^(\w+)\s*[:?]?=\s*(?:\$\(firstword .* )?([\w./-]+)\)?$", text))
    values["MAKE"] = "make"
    text = text.replace("\\\n", " ")
    for line in re.findall(r"(?m)^\t(.*)$", text):
        line = re.sub(r"\$\(Q\)|\$\(call msg,[^)]*\)", "", line).lstrip("@+-").replace("$$", "\0")
        line = re.sub(r"\$\((\w+)\)", lambda match: values.get(match[1], "x"), line)
        while line != (line := re.sub(r"\$\([^()$]*\)|\$[@<^*]", "x", line)):
            pass
        shell(line.replace("\0", "$"), place, calls)


def python(text, place, calls):
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    constants = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value
            if isinstance(value, ast.Call) and len(value.args) == 2:  # os.environ.get(NAME, DEFAULT)
                value = value.args[1]
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                constants[node.targets[0].id] = value.value

    def word(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        return constants.get(node.id, "\0") if isinstance(node, ast.Name) else "\0"

    def runs(node):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in ("run", "Popen", "call", "check_call", "check_output")

    ran = [(node, node.args[0] if node.args else keyword.value) for node in ast.walk(tree)
           if isinstance(node, ast.Call) and runs(node)
           for keyword in ([None] if node.args else [one for one in node.keywords if one.arg == "args"])]
    given = {id(argument) for _, argument in ran}
    for node, argument in ran:
        if any(one.arg == "shell" for one in node.keywords):
            shell(word(argument).replace("\0", "x"), place, calls)
    named = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign)}
    named |= {id(node.args[0]) for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args}
    for node in ast.walk(tree):
        at = f"{place}:{getattr(node, 'lineno', 0)}" if ":" not in place else place
        if isinstance(node, ast.Import):
            for name in node.names:
                calls.imported(name.name, at)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            calls.imported(node.module, at)
        elif isinstance(node, ast.Call):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            owner = getattr(getattr(node.func, "value", None), "id", "")
            if function in ("which", "find_program") and node.args:
                calls.command(word(node.args[0]), at)
            elif owner == "os" and function in ("system", "popen") and node.args:
                shell(word(node.args[0]).replace("\0", "x"), at, calls)
        elif isinstance(node, ast.List) and node.elts:
            words = [word(one) for one in node.elts]
            # A list that is given to what runs it, or has a name or a user and goes on like a command.
            if id(node) in given or id(node) in named and any(one.startswith("-") for one in words[1:]):
                follow([os.path.basename(words[0]), *words[1:]], at, calls)
