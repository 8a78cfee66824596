"""Finds `column is None` in the source of models and queries.

Python evaluates `is` itself, so the library never sees the test: it is the constant False for every row. Only the
source shows it.
"""

from appdb.declare import deferred
from appdb.declare.errors import AppFileError

_WRITTEN = (b" is None", b" is not None")  # Most files have neither and are not parsed.
_FUNCTIONS = ("FunctionDef", "AsyncFunctionDef", "Lambda")


def refuse_identity_tests(tables, queries):
    """Refuses `is None` and `is not None` next to a column, in a model's `base=` and body and in a query's body. Raises AppFileError."""
    columns = {table.model: table.columns for table in tables}
    for filename, statements in _by_file(tables, queries).items():
        if not _is_written(filename):
            continue
        tree = deferred.parse(filename)
        for node in deferred.statements(tree) if tree is not None else ():
            kind, own = type(node).__name__, {}
            if kind == "ClassDef":
                own = statements.get((node.name, _first_line(node)), {})
                for keyword in node.keywords:  # base=Docs.where(...)
                    _refuse_in(keyword.value, filename, {}, columns)
            elif kind not in _FUNCTIONS or (node.name, _first_line(node)) not in statements:
                continue
            for part in node.body:
                _refuse_in(part, filename, own, columns)


def _by_file(tables, queries):
    """The class and function statements to check: their names and first lines by file, with the bare column names
    there."""
    found = {}
    for table in tables:
        found.setdefault(table.source[0], {})[table.model, table.source[1]] = table.columns
    for query in queries:
        found.setdefault(query.source[0], {})[query.function.__name__, query.source[1]] = {}
    return found


def _is_written(filename):
    try:
        with open(filename, "rb") as file:
            text = file.read()
    except OSError:  # An interactive session has no file.
        return False
    return any(words in text for words in _WRITTEN)


def _first_line(node):
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _refuse_in(node, filename, own, columns):
    if type(node).__name__ == "Compare":
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:]):
            sign = {"Is": "is", "IsNot": "is not"}.get(type(operator).__name__)
            name = _column(left, own, columns)
            if sign and name and type(right).__name__ == "Constant" and right.value is None:
                raise AppFileError(
                    f"'{name} {sign} None' is the constant {sign == 'is not'} for every row: Python decides it when the"
                    " file is read.",
                    f"Write {name} {'==' if sign == 'is' else '!='} None.",
                    (filename, node.lineno),
                )
    for field in node._fields:
        value = getattr(node, field, None)
        for item in value if isinstance(value, list) else (value,):
            if hasattr(item, "_fields") and type(item).__name__ not in _FUNCTIONS:
                _refuse_in(item, filename, own, columns)


def _column(node, own, columns):
    """The source text of a column; None for anything else."""
    kind = type(node).__name__
    if kind == "Name":
        return node.id if node.id in own else None
    if kind == "Attribute" and type(node.value).__name__ == "Name" and node.attr in columns.get(node.value.id, ()):
        return f"{node.value.id}.{node.attr}"
    return None
