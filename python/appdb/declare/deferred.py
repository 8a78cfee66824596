"""Annotated names of a class body, read from its source.

From Python 3.14 on an annotation is not evaluated where it stands, so the body's mapping never sees `title: String`
pass by. A later line that uses `title` is answered from here instead.
"""

_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST; the module `ast` itself is slow to load, `_ast` quicker but not free


class AnnotatedNames:
    """The annotated names of one class statement: where each stands and what its annotation says."""

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
        """Evaluates the annotation of a name that stands before a line. Raises KeyError where none does."""
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
    """Parses a source file; None when it cannot be read (an interactive session) or is not valid."""
    try:
        with open(filename, "rb") as file:
            return compile(file.read(), filename, "exec", _ONLY_AST, dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return None


def walk(node):
    """Yields a node and all that is inside it."""
    yield node
    for field in node._fields:
        value = getattr(node, field, None)
        for item in value if isinstance(value, list) else (value,):
            if hasattr(item, "_fields"):
                yield from walk(item)


def statements(node):
    """Yields all statements inside a node. Expressions are not entered: they are most of a tree and hold no statement."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, part, None)
        for item in inner if isinstance(inner, list) else ():
            yield item
            yield from statements(item)


_latest = None  # (which file, its tree): a file with fifty models is parsed once, not fifty times


def forget():
    """Lets go of the latest tree. Whoever stays after the import, the worker, has no use for its megabytes."""
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
