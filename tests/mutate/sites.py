# SPDX-License-Identifier: GPL-2.0
"""Where a C source can be broken in a small way: over the syntax tree, so that no text is pinned.

A mutation is one operator, constant or condition changed or one statement deleted. Its name is the function, what
is there and what takes its place, and which of them if a function has several alike: the file and the line may
change and it is still the same one. What comes out of a macro is left alone: only text that stands there is changed.
"""
import collections
import dataclasses
import re

from clang import cindex

KIND = cindex.CursorKind
BINARY = {
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("/",), "<<": (">>",), ">>": ("<<",),
    "<": ("<=", ">"), "<=": ("<", ">"), ">": (">=", "<"), ">=": (">", "<"), "==": ("!=",), "!=": ("==",),
    "&&": ("||",), "||": ("&&",), "&": ("|",), "|": ("&",), "^": ("|",),
    "+=": ("-=",), "-=": ("+=",), "*=": ("/=",), "/=": ("*=",), "|=": ("=", "&="), "&=": ("=", "|="), "^=": ("|=",),
    "<<=": (">>=",), ">>=": ("<<=",),
}
UNARY = {"++": ("--",), "--": ("++",), "!": ("",), "~": ("",), "-": ("",)}
# A condition always false: a branch or a loop never taken. Always true: a branch always taken; of loops, none ends.
CONDITIONS = {KIND.IF_STMT: ("true", "false"), KIND.CONDITIONAL_OPERATOR: ("true", "false"),
              KIND.WHILE_STMT: ("false",)}
EFFECTS = (KIND.CALL_EXPR, KIND.COMPOUND_ASSIGNMENT_OPERATOR, KIND.UNARY_OPERATOR, KIND.BREAK_STMT, KIND.CONTINUE_STMT)
AROUND = 40  # characters of the expression on each side that a name has
LONGEST = 100  # of what is changed
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
LITERAL = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)")
# These stand for no decision of the code around them: what they check is checked when compiling.
SILENT = ("_Static_assert", "static_assert", "assert", "__builtin_unreachable")


@dataclasses.dataclass(frozen=True)
class Mutation:
    file: str
    line: int
    begin: int
    end: int
    new: str
    name: str

    def apply(self, text):
        return text[:self.begin] + self.new.encode() + text[self.end:]


def plain(text):
    """On one line, without comments."""
    return " ".join(COMMENT.sub(" ", text).split())


class Finder:
    """All mutations of the functions that a file defines."""

    def __init__(self, path, root, arguments):
        self.path = path
        with open(f"{root}/{path}", "rb") as file:
            self.text = file.read()
        self.unit = cindex.Index.create().parse(f"{root}/{path}", args=["-x", "c", *arguments])
        self.found, self.seen, self.places = [], collections.Counter(), set()
        self.function, self.around = "", None

    def all(self):
        for cursor in self.unit.cursor.get_children():
            if cursor.kind == KIND.FUNCTION_DECL and cursor.is_definition() and self.is_here(cursor):
                self.function = cursor.spelling
                self.visit(cursor)
        return self.found

    def is_here(self, cursor):
        return cursor.location.file and cursor.location.file.name.endswith(self.path)

    def source(self, begin, end):
        return self.text[begin:end].decode(errors="replace")

    def add(self, begin, end, new):
        """Text from begin to end becomes new; the name has what is around it in the same expression."""
        if (begin, end, new) in self.places:  # a macro's statements all stand where the macro does
            return
        self.places.add((begin, end, new))
        first, last = self.around if self.around else (begin, end)
        first, last = min(first, begin), max(last, end)
        before, after = plain(self.source(first, begin)), plain(self.source(end, last))
        name = f"{self.function}: {before[-AROUND:]}{{{plain(self.source(begin, end))[:LONGEST]} => {new}}}{after[:AROUND]}"
        self.seen[name] += 1
        if self.seen[name] > 1:
            name += f" #{self.seen[name]}"
        line = self.text.count(b"\n", 0, begin) + 1
        self.found.append(Mutation(self.path, line, begin, end, new, name))

    def visit(self, cursor):
        children = list(cursor.get_children())
        if cursor.kind == KIND.CALL_EXPR and cursor.spelling in SILENT or self.is_table(cursor):
            return
        if cursor.kind in (KIND.BINARY_OPERATOR, KIND.COMPOUND_ASSIGNMENT_OPERATOR) and len(children) == 2:
            self.binary(cursor, *children)
        elif cursor.kind == KIND.UNARY_OPERATOR and len(children) == 1:
            self.unary(cursor, children[0])
        elif cursor.kind == KIND.INTEGER_LITERAL:
            self.constant(cursor)
        elif cursor.kind in CONDITIONS and children:
            self.condition(cursor, children[0])
        for place, child in enumerate(children):
            if cursor.kind == KIND.COMPOUND_STMT or self.is_body(cursor, place, len(children)):
                self.statement(child)
            outermost = child.kind.is_expression() and not self.around
            if outermost:
                self.around = (child.extent.start.offset, child.extent.end.offset)
            self.visit(child)
            if outermost:
                self.around = None

    @staticmethod
    def is_table(cursor):
        """Columns, names, widths: data, which golden outputs hold."""
        if cursor.kind != KIND.VAR_DECL or cursor.storage_class != cindex.StorageClass.STATIC:
            return False
        kind = cursor.type
        return kind.is_const_qualified() or kind.get_array_element_type().is_const_qualified()

    @staticmethod
    def is_body(cursor, place, count):
        """Of a branch or a loop without braces."""
        return (cursor.kind == KIND.IF_STMT and place > 0 or cursor.kind == KIND.WHILE_STMT and place == 1 or
                cursor.kind == KIND.FOR_STMT and place == count - 1 or
                cursor.kind in (KIND.CASE_STMT, KIND.DEFAULT_STMT) and place == count - 1)

    def binary(self, cursor, left, right):
        begin, end = left.extent.end.offset, right.extent.start.offset
        between = self.source(begin, end)
        operator = plain(between)
        if begin >= end or operator not in BINARY or COMMENT.search(between):
            return
        begin += between.index(operator)
        for new in BINARY[operator]:
            self.add(begin, begin + len(operator), new)

    def unary(self, cursor, operand):
        begin, end = cursor.extent.start.offset, cursor.extent.end.offset
        for operator, news in UNARY.items():
            before = self.source(begin, operand.extent.start.offset) == operator
            if before or self.source(operand.extent.end.offset, end) == operator:
                at = begin if before else end - len(operator)
                for new in news:
                    self.add(at, at + len(operator), new)
                return

    def constant(self, cursor):
        begin = cursor.extent.start.offset
        match = LITERAL.match(self.source(begin, begin + 40))
        if not match or begin + match.end() != cursor.extent.end.offset:
            return
        base = 16 if match[1].lower().startswith("0x") else 8 if match[1].startswith("0") else 10
        value = int(match[1], base)
        digits = hex(value + 1) if base == 16 else str(value + 1)
        for new in (digits, "0") if value == 1 else (digits,):
            self.add(begin, begin + match.end(), new + match[2])

    def condition(self, cursor, condition):
        begin, end = condition.extent.start.offset, condition.extent.end.offset
        if not self.is_text(condition) or not self.follows(cursor, begin, end):
            return
        for new in CONDITIONS[cursor.kind]:
            self.add(begin, end, new)

    def follows(self, cursor, begin, end):
        """Is the condition what stands in the parentheses, or before the question mark?"""
        after = self.source(end, end + 80).lstrip()
        if cursor.kind == KIND.CONDITIONAL_OPERATOR:
            return after.startswith("?") and not after.startswith("?:")
        return self.source(cursor.extent.start.offset, begin).rstrip().endswith("(") and after.startswith(")")

    def is_text(self, cursor):
        return cursor.extent.start.offset < cursor.extent.end.offset and self.is_here(cursor)

    def statement(self, cursor):
        begin, end = cursor.extent.start.offset, cursor.extent.end.offset
        effect = cursor.kind in EFFECTS or cursor.kind == KIND.BINARY_OPERATOR
        returns = cursor.kind == KIND.RETURN_STMT and not list(cursor.get_children())
        # A macro's place is its name's: behind a call that stands there is its semicolon.
        if (effect or returns) and self.is_text(cursor) and cursor.spelling not in SILENT and \
                self.source(end, end + 1) == ";":
            self.add(begin, end, "")


def mutations(path, root, arguments):
    return Finder(path, root, arguments).all()
