"""Expression nodes inside a query: the owners of their columns, their names, and their form in a group."""

from itertools import chain, count

from appdb.declare.errors import AppFileError
from appdb.expressions.aggregates import is_aggregate


def refuse_constant(where, value, model):
    """Raises AppFileError for a bool in place of a condition: Python has evaluated `is None`, `in` or `not`."""
    if type(value).__name__ in ("bool", "bool_"):
        name = model.__name__
        raise AppFileError(
            f"{where} takes a condition, not the constant {value}. Python evaluates 'is', 'in', 'not' and 'and' itself.",
            f"Compare a column of {name}. Test for null: {name}.column {'!=' if value else '=='} None.",
        )


class TableNames:
    """The names of tables in a query's columns: those of the tables without their folders, each once."""

    def __init__(self, models):
        self._names = {}
        for model in models:
            name = model.__appdb_table__.name
            short, taken = name.rpartition("/")[2], set(self._names.values())
            numbered = (f"{short[:50]}_{number}" for number in count(2))
            self._names[name] = next(one for one in chain([short], numbered) if one not in taken)

    def of(self, model):
        table = model.__appdb_table__
        return {"table": table.path, "as": self._names[table.name]}

    def placed(self, expr):
        """The node of an expression with `of` in each of its columns."""
        owners = {id(ref._node): self._name_of(ref) for ref in expr._reads}
        return self._placed(expr._node, owners, {ref._name: self._name_of(ref) for ref in expr._reads})

    def _name_of(self, ref):
        return self._names.get(ref._owner.name, ref._owner.name)

    def _placed(self, node, owners, by_name):
        if isinstance(node, list):
            return [self._placed(item, owners, by_name) for item in node]
        if not isinstance(node, dict):
            return node
        kind = node.get("node")
        if kind in ("column", "cell_error"):
            name = node["name" if kind == "column" else "column"]
            return {**node, "of": owners.get(id(node)) or by_name.get(name) or next(iter(self._names.values()))}
        if kind == "similarity":
            node = {**node, "of": self._names.get(node["of"], node["of"])}
        return {key: self._placed(value, owners, by_name) for key, value in node.items()}


def walk(node):
    """Yields a node and all nodes inside it."""
    if isinstance(node, list):
        for item in node:
            yield from walk(item)
    elif isinstance(node, dict):
        if "node" in node:
            yield node
        for value in node.values():
            if isinstance(value, (dict, list)):
                yield from walk(value)


def contains(node, kind):
    """True when a node of this kind is inside."""
    return any(inner["node"] == kind for inner in walk(node))


def unplaced(node, groups):
    """The name of a column that is neither grouped by nor inside an aggregate; None when there is none."""
    if isinstance(node, list):
        parts = node
    elif not isinstance(node, dict) or is_aggregate(node) or any(node == group for group in groups):
        return None
    elif node.get("node") in ("column", "cell_error", "similarity"):
        return node["name" if node["node"] == "column" else "column"]
    else:
        parts = node.values()
    for part in parts:
        if isinstance(part, (dict, list)):
            found = unplaced(part, groups)
            if found is not None:
                return found
    return None


def default_name(node, place):
    """The default name of a selected expression."""
    kind = node["node"]
    if kind == "column":
        return node["name"]
    if kind == "cell_error":
        from appdb.expressions.expr import CELL_ERRORS

        return f"{node['column']}_{next(name for name, part in CELL_ERRORS.items() if part == node['part'])}"
    if kind == "path" and node["base"]["node"] == "column":
        return node["base"]["name"] + "".join(map(_step_name, node["steps"]))
    if kind == "call" and not node["fn"].startswith("op."):
        return node["fn"].rpartition(".")[2]
    if kind == "udf":
        return node["function"].rpartition(":")[2].partition("#")[0]
    if is_aggregate(node):
        return node["fn"].rpartition(":")[2].rpartition(".")[2].partition("#")[0]
    if kind in ("literal", "similarity"):
        return kind
    if kind == "parameter":
        return node["name"]
    return f"col_{place}"


def _step_name(step):
    if "key" in step:
        return f"_{step['key']}"
    return str(step["index"]) if "index" in step else "_list"
