"""From the definition of a table, as a server gives it, to the declarations that expressions and queries need."""

from appdb.client.paths import refuse_versions
from appdb.declare.declared import Declared
from appdb.declare.errors import did_you_mean, listed
from appdb.declare.indexes import Btree, Embedding
from appdb.declare.model import Table as Declarations
from appdb.declare.unstored import UnstoredRef
from appdb.declare.views import ViewOf, inherited_columns, take_iterator
from appdb.expressions.expr import ColumnRef, Expr
from appdb.iterators.calls import IteratorCall, Output
from appdb.kinds._base import Kind

_SOURCE = ("", 1)


class _Options:
    """The options of a column that its definition has."""

    def __init__(self, column, is_stored):
        self.primary_key = column["primary_key"]
        self.is_stored = is_stored
        self.comment = column["comment"]
        self.custom_metadata = column["custom_metadata"]
        self.renamed_from = None


class _Vectors:
    """A hidden column with the vectors of an index: what tells whether a new index can share it."""

    def __init__(self, column):
        self.name = column["name"]
        self.value = None if column["computed"] is None else _expression(column["computed"], column, ())
        self.precision = column["type"].get("vector")


def kind_of(type):
    """The kind of a manifest's type."""
    return Kind(type) if len(type) > 1 else type["kind"]


def declarations(path, definition, base=None):
    """The declarations of a table or view; `base` are those of what a view is over."""
    name = path.rpartition("/")[2]
    table = Declarations(name, {"name": name}, _SOURCE)
    table.name = path
    table.is_bound = True
    fill(table, definition, base)
    return table


def fill(table, definition, base=None):
    """Replaces the declarations by those of a newer definition. References to unchanged columns stay valid."""
    known = {name: column.ref for name, column in table.columns.items()}
    table.comment = definition["comment"]
    table.custom_metadata = definition["custom_metadata"]
    table.has_default_idxs = definition["has_default_idxs"]
    table.view, table.inherited = None, {}
    if base is not None:
        _take_view(table, definition["view"], base)
    columns = dict(table.inherited)
    for column in definition["columns"]:
        if not column.get("is_hidden"):
            columns[column["name"]] = _stored(table, column)
    for column in definition.get("unstored") or ():
        columns[column["name"]] = _unstored(table, column, columns)
    for name, column in columns.items():
        before = known.get(name)
        if before is not None and _is_same(before, column.ref):
            column.ref = before
    table.columns = columns
    hidden = (_Vectors(column) for column in definition["columns"] if column.get("is_hidden"))
    table.hidden = {column.name: column for column in hidden}
    table.indexes = [_index(index, table) for index in definition["indexes"]]


def column_of(table, name):
    """The reference of a column. Raises AttributeError with the nearest name."""
    column = table.columns.get(name.lower())
    if column is not None:
        return column.ref
    refuse_versions(name, table.model)
    from appdb.declare.errors import UnknownAttribute

    raise UnknownAttribute(
        f"The table {table.name} has no column '{name}'.",
        did_you_mean(name, table.columns, f"Its columns are {listed(table.columns)}."),
    )


def _take_view(table, view, base):
    table.view = ViewOf(base, None, view["columns"])
    table.inherited = inherited_columns(table)
    iterator = view.get("iterator")
    if iterator is not None:
        call = object.__new__(IteratorCall)
        call.fn, call.text = iterator["fn"], iterator["text"]
        call.function, call.args, call.kwargs, call._reads, call._functions = None, [], {}, (), ()
        call.outputs = [
            Output(output["name"], kind_of(output["type"]), output["nullable"], output["is_stored"])
            for output in iterator["outputs"]
        ]
        take_iterator(table.model, table, call)
    table.view.in_select = False


def _stored(table, column):
    computed = column["computed"]
    ref = ColumnRef(table, column["name"], kind_of(column["type"]), column["nullable"], computed is not None)
    value = None if computed is None else _expression(computed, column, ())
    return Declared(column["name"], ref, value, _Options(column, True), _SOURCE)


def _unstored(table, column, columns):
    parts = tuple(one.ref for one in columns.values() if one.is_stored)
    value = _expression(column["computed"], column, parts)
    ref = UnstoredRef(table, column["name"], value)
    return Declared(column["name"], ref, value, _Options(column, False), _SOURCE)


def _expression(computed, column, parts):
    """An expression of the server's tree, over the columns `parts`."""
    return Expr(kind_of(column["type"]), column["nullable"], dict(computed["expr"]), computed["text"], parts=parts)


def _is_same(before, now):
    if type(before) is not type(now) or before._nullable != now._nullable or before._node != now._node:
        return False
    return getattr(before, "_computed", False) == getattr(now, "_computed", False)


def _index(index, table):
    if index["kind"] == "btree":
        return Btree(index["name"], tuple(index["columns"]), _SOURCE)
    made = object.__new__(Embedding)
    column = table.columns.get(index["columns"][0])
    made.name = index["name"]
    made.columns = tuple(index["columns"])
    made.metric = index["metric"]
    made.precision = index["precision"]
    made.kind = Kind({"kind": "array", "dtype": "float32", "shape": [index["dimensions"]]})
    made.kind_of_column = None if column is None else column.ref._kind
    made.dimensions = index["dimensions"]
    made.hidden = index["values"]
    made.embeds = index.get("embeds") or {}
    made.source = _SOURCE
    return made
