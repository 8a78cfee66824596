"""Annotated names of a class body, read from its source.

From Python 3.14 on, an annotation is not evaluated in place, so the body's namespace never sees `title: String`.
This module answers a later line that uses `title`.
"""

_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST. The module `ast` is slow to load; `_ast` is faster but not free.


class AnnotatedNames:
    """The annotated names of one class statement: the position and text of each annotation."""

    def __init__(self, filename, class_name, line):
        self._filename = filename
        self._found = {}
        statement = _class_statement(filename, class_name, line)
        if statement is not None:
            self._collect(statement.body)

    def line(self, name):
        """The line of a name's annotation, or None."""
        node = self._found.get(name)
        return None if node is None else node.lineno

    def annotation(self, name, before_line, scope_globals, scope_locals):
        """Evaluates the annotation of a name before a line. Raises KeyError if there is none."""
        node = self._found[name]
        if node.end_lineno >= before_line:
            raise KeyError(name)
        import _ast

        code = compile(_ast.Expression(node.annotation), self._filename, "eval")
        return eval(code, scope_globals, scope_locals)

    def _collect(self, statements):
        for node in statements:
            kind = type(node).__name__
            if kind == "AnnAssign" and node.value is None and type(node.target).__name__ == "Name":
                self._found.setdefault(node.target.id, node)
            elif kind not in ("ClassDef", "FunctionDef", "AsyncFunctionDef"):
                for part in ("body", "orelse", "finalbody"):
                    inner = getattr(node, part, None)
                    if isinstance(inner, list):
                        self._collect(inner)


def parse(filename):
    """Parses a source file; None when it is invalid or cannot be read (an interactive session)."""
    try:
        with open(filename, "rb") as file:
            return compile(file.read(), filename, "exec", _ONLY_AST, dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return None


def walk(node):
    """Yields a node and all nodes inside it."""
    yield node
    for field in node._fields:
        value = getattr(node, field, None)
        for item in value if isinstance(value, list) else (value,):
            if hasattr(item, "_fields"):
                yield from walk(item)


def statements(node):
    """Yields all statements inside a node. Skips expressions: they are most of a tree and contain no statement."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, part, None)
        for item in inner if isinstance(inner, list) else ():
            yield item
            yield from statements(item)


_latest = None  # (file, its tree): a file with fifty models is parsed once, not fifty times.


def forget():
    """Releases the latest tree. A worker does not need its megabytes after the import."""
    global _latest
    _latest = None


def _class_statement(filename, class_name, line):
    import os

    global _latest
    try:
        stat = os.stat(filename)
    except OSError:
        return None
    file = (filename, stat.st_mtime_ns, stat.st_size)
    if _latest is None or _latest[0] != file:
        _latest = file, parse(filename)
    tree = _latest[1]
    for node in statements(tree) if tree is not None else ():
        if type(node).__name__ == "ClassDef" and node.name == class_name and node.lineno <= line <= node.end_lineno:
            return node
    return None
