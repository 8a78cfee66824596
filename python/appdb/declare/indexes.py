"""The indexes in `__indexes__`: B-trees, and embedding indexes, which find rows by similarity."""

from appdb.declare.declared import Declared, caller
from appdb.declare.errors import AppFileError, did_you_mean, listed
from appdb.declare.names import check_index_name
from appdb.declare.types import display, manifest_type
from appdb.expressions.expr import ColumnRef, Expr
from appdb.kinds import DISPLAY, rules

_METRICS = ("cosine", "ip", "l2")
_MAX_DIMENSIONS = {"fp16": 4000, "fp32": 2000}
# The kinds of values that have a function of their own: string_embed=, image_embed= and so on.
EMBEDDED = ("string", "image", "audio", "video", "document")
_HOW = "Write __indexes__ = [db.BtreeIndex(column)]"


class BtreeIndex:
    """An index for fast lookups, ranges and orders by its columns: `__indexes__ = [BtreeIndex(email)]`."""

    def __init__(self, *columns, name=None, **unknown):
        if unknown:
            raise AppFileError(f"BtreeIndex has no option '{next(iter(unknown))}'.", "Write BtreeIndex(column).")
        if not columns:
            raise AppFileError("BtreeIndex() names no column.", "Write BtreeIndex(column).")
        for column in columns:
            _check_column("BtreeIndex", column)
        self.columns = columns
        self.name = None if name is None else check_index_name(name)
        self.source = caller(1)


class EmbeddingIndex:
    """An index that finds the rows with the nearest vectors: `__indexes__ = [EmbeddingIndex(text, embedding=f)]`."""

    def __init__(
        self,
        column=None,
        embedding=None,
        string_embed=None,
        image_embed=None,
        audio_embed=None,
        video_embed=None,
        document_embed=None,
        metric="cosine",
        precision="fp16",
        name=None,
        **unknown,
    ):
        if unknown:
            known = ["column", "embedding", *(f"{kind}_embed" for kind in EMBEDDED), "metric", "precision", "name"]
            option = next(iter(unknown))
            raise AppFileError(
                f"EmbeddingIndex has no option '{option}'.",
                did_you_mean(option, known, f"Its options are {', '.join(known)}."),
            )
        if column is None:
            raise AppFileError("EmbeddingIndex() names no column.", "Write EmbeddingIndex(column, embedding=function).")
        _check_column("EmbeddingIndex", column)
        if metric not in _METRICS:
            raise AppFileError(f"metric= is {listed(_METRICS)}, not {metric!r}.", "Write metric='cosine'.")
        if precision not in _MAX_DIMENSIONS:
            raise AppFileError(f"precision= is 'fp16' or 'fp32', not {precision!r}.", "Write precision='fp16'.")
        self.columns = (column,)
        self.function = embedding
        given = zip(EMBEDDED, (string_embed, image_embed, audio_embed, video_embed, document_embed))
        self.by_kind = {kind: function for kind, function in given if function is not None}
        self.metric = metric
        self.precision = precision
        self.name = None if name is None else check_index_name(name)
        self.source = caller(1)


class Btree:
    """A declared B-tree."""

    def __init__(self, name, columns, source):
        self.name = name
        self.columns = columns
        self.source = source

    def document(self, places):
        """The index in the manifest."""
        return {"kind": "btree", "name": self.name, "columns": list(self.columns), "source": places.of(self.source)}


class Embedding:
    """A declared embedding index. `hidden` names the column of the vectors; None: the column itself.

    `embeds` has the expressions that make vectors of values of other kinds than the column's, over a parameter.
    """

    def __init__(self, index, column, kind, hidden, embeds):
        self.name = index.name
        self.columns = (column._name,)
        self.metric = index.metric
        self.precision = index.precision
        self.kind = kind
        self.kind_of_column = column._kind
        self.dimensions = kind.type["shape"][0]
        self.hidden = hidden
        self.embeds = embeds
        self.source = index.source

    def document(self, places):
        """The index in the manifest."""
        return {
            "kind": "embedding",
            "name": self.name,
            "columns": list(self.columns),
            "values": self.hidden,
            "metric": self.metric,
            "precision": self.precision,
            "dimensions": self.dimensions,
            **({"embeds": {kind: value._node for kind, value in self.embeds.items()}} if self.embeds else {}),
            "source": places.of(self.source),
        }


def declare_indexes(table, declared):
    """Adds the indexes of a model, and their hidden columns, to its table."""
    if not isinstance(declared, (list, tuple)):
        raise AppFileError("__indexes__ is a list.", _HOW, table.source)
    for index in declared:
        if isinstance(index, BtreeIndex):
            made = _btree(table, index)
        elif isinstance(index, EmbeddingIndex):
            made = _embedding(table, index)
        else:
            raise AppFileError(f"__indexes__ contains {index!r}, which is not an index.", _HOW, table.source)
        for other in table.indexes:
            if made.name is not None and other.name == made.name:
                raise AppFileError(f"Two indexes have the name '{made.name}'.", "Rename one.", index.source)
        table.indexes.append(made)


def refuse_elsewhere(name, value):
    """Refuses an index, or a list of some, that a model's body gives to another name."""
    values = value if isinstance(value, (list, tuple)) else (value,)
    if any(isinstance(one, (BtreeIndex, EmbeddingIndex)) for one in values):
        raise AppFileError(f"'{name}' is an index, not a column.", "Write __indexes__ = [...], with the index in the list.")


def _btree(table, index):
    columns = tuple(_indexed(table, index, column) for column in index.columns)
    for name in columns:
        kind = table.columns[name].ref._kind
        if not rules(kind).is_indexed:
            as_text = f"Index a column with its text, {name}.astype(db.String), or remove the index."
            raise AppFileError(
                f"Column '{name}' is {DISPLAY[kind]}; a B-tree index does not help there.",
                as_text if "string" in rules(kind).casts and not rules(kind).is_ordered else "Remove the index.",
                index.source,
            )
    if len(set(columns)) < len(columns):
        raise AppFileError("An index names a column twice.", "Name each column once.", index.source)
    if table.has_default_idxs and len(columns) == 1:
        raise AppFileError(
            f"Column '{columns[0]}' already has an index, by has_default_idxs=True.",
            "Remove the BtreeIndex or has_default_idxs.",
            index.source,
        )
    for other in table.indexes:
        if isinstance(other, Btree) and other.columns == columns:
            raise AppFileError(f"Two indexes are on {listed(columns)}.", "Keep one of them.", index.source)
    return Btree(index.name, columns, index.source)


def _embedding(table, index):
    name = _indexed(table, index, index.columns[0])
    column = table.columns[name].ref
    kind = str(column._kind)
    if not rules(kind).is_embedded:
        kinds = [DISPLAY[one] for one in DISPLAY if rules(one).is_embedded]
        raise AppFileError(
            f"Column '{name}' is {display(column._kind)}; an embedding index is on {', '.join(kinds[:-1])} or {kinds[-1]}.",
            f"Index a column with its text: {name}.astype(db.String)",
            index.source,
        )
    for other in table.indexes:
        if isinstance(other, Embedding) and other.columns == (name,) and None in (other.name, index.name):
            raise AppFileError(
                f"Column '{name}' has several embedding indexes, and one has no name.",
                f'Name each of them: EmbeddingIndex({name}, name="by_words")',
                index.source,
            )
    if index.function is not None and kind in index.by_kind:
        raise AppFileError(
            f"EmbeddingIndex({name}) has embedding= and {kind}_embed=, two functions for one column.",
            "Keep one of them.",
            index.source,
        )
    function = index.by_kind.get(kind, index.function)
    if function is None and kind != "array":
        others = "".join(f"{other}_embed= and " for other in index.by_kind)
        raise AppFileError(
            f"EmbeddingIndex({name}) has {others}no function that makes vectors of {display(column._kind)}.",
            f"Write EmbeddingIndex({name}, embedding=function), with a function marked @db.udf.",
            index.source,
        )
    if function is None:
        return _checked(index, column, column._kind, lambda: None, f"Column '{name}'")
    value = _called(index, function, column)
    what = f"The embedding function of '{name}', {value._text},"
    return _checked(index, column, value._kind, lambda: _hide(table, index, name, value), what)


def _called(index, function, value):
    """The expression that makes the vector of a value."""
    if type(function).__name__ not in ("Udf", "Using", "ExprUdf"):
        shown = getattr(function, "__name__", repr(function))
        raise AppFileError(
            f"embedding={shown} is not a function of the application.", "Mark it @db.udf, and give it here.", index.source
        )
    try:
        return function(value)
    except AppFileError as error:
        raise AppFileError(error.detail, error.hint, error.source or index.source) from None


def _other_embeds(index, column, kind):
    """The expressions for values of other kinds than the column's, over a parameter; `kind` is that of the vectors.

    A function with several signatures is also used for those kinds that one of them takes.
    """
    own, found = str(column._kind), {}
    for other in EMBEDDED:
        if other == own:
            continue
        value = Expr(other, False, {"node": "parameter", "name": "value"}, "value")
        given = index.by_kind.get(other)
        if given is not None:
            made = _called(index, given, value)
        elif own in EMBEDDED and _takes(index.function, value):
            made = _called(index, index.function, value)
        else:
            continue
        _checked_vector(index, made._kind, f"The function of {other}_embed=, {made._text},")
        if made._kind.type["shape"] != kind.type["shape"]:
            raise AppFileError(
                f"The function of {other}_embed=, {made._text}, makes {display(made._kind)}, and the vectors of "
                f"'{column._name}' are {display(kind)}.",
                "Both must come from one model, so that their vectors can be compared.",
                index.source,
            )
        found[other] = made
    return found


def _takes(function, value):
    """Whether a function has several signatures, and one for the value."""
    if len(getattr(getattr(function, "udf", function), "overloads", ())) < 2:
        return False
    try:
        function(value)
    except AppFileError:
        return False
    return True


def _checked(index, column, kind, hidden, what):
    """The declaration; `hidden` returns the column for the vectors after all checks."""
    _checked_vector(index, kind, what)
    embeds = _other_embeds(index, column, kind)
    return Embedding(index, column, kind, hidden(), embeds)


def _checked_vector(index, kind, what):
    """Raises AppFileError unless the type is a vector of a length that the index can hold."""
    shape = None if kind != "array" or type(kind) is str else kind.type["shape"]
    if shape is None or len(shape) != 1 or shape[0] is None or not kind.type["dtype"].startswith("float"):
        raise AppFileError(
            f"{what} is {display(kind)}; an embedding has one dimension of a fixed length, of floats.",
            "Declare it as db.Array[(384,), db.Float], with the length that it has.",
            index.source,
        )
    most = _MAX_DIMENSIONS[index.precision]
    if shape[0] > most:
        wider = shape[0] <= _MAX_DIMENSIONS["fp16"]
        raise AppFileError(
            f"{what} has {shape[0]} dimensions; an index with precision '{index.precision}' holds {most} at most.",
            "Write precision='fp16'." if wider else "Take an embedding with fewer dimensions.",
            index.source,
        )


def _hide(table, index, name, value):
    """The name of the hidden column with these vectors. Indexes that only differ in the metric share one."""
    for column in table.hidden.values():
        if column.value._node == value._node and column.precision == index.precision:
            return column.name
    number, own = 1, f"_embedding_{name}"[:60]
    while own in table.hidden:
        number += 1
        own = f"{f'_embedding_{name}'[:56]}_{number}"
    table.hidden[own] = Hidden(own, value, index)
    return own


class Hidden(Declared):
    """A column with the vectors of an index. Computed like any other, and hidden from users."""

    __slots__ = ("precision",)

    def __init__(self, name, value, index):
        super().__init__(name, value, value, None, index.source)
        self.precision = index.precision

    def type(self):
        """Its type in the manifest."""
        return {**manifest_type(self.value._kind), "vector": self.precision}


def _check_column(what, column):
    if not isinstance(column, (ColumnRef, str)):
        shown = column._text if isinstance(column, Expr) else repr(column)
        raise AppFileError(
            f"{what} takes columns of the model, not {shown}.",
            "Declare the expression as a computed column and index that.",
        )


def _is_of_base(table, name):
    return name in table.inherited and not table.view.makes(name)


def _indexed(table, index, column):
    below = () if table.view is None else table.view.lineage
    if isinstance(column, ColumnRef) and column._owner is not table and column._owner not in below:
        raise AppFileError(
            f"The index names '{column._name}' of another model.", "Name columns of this model.", index.source
        )
    name = column.lower() if isinstance(column, str) else column._name
    if name not in table.columns:
        raise AppFileError(
            f"The index names '{column}', which is not a column of {table.model}.",
            did_you_mean(name, table.columns, f"Its columns are {listed(table.columns)}."),
            index.source,
        )
    if table.view is not None and table.view.iterator is not None and _is_of_base(table, name):
        base = table.view.table
        raise AppFileError(
            f"The index names '{name}', which is a column of {base.model}; the rows of {table.model} do not have it.",
            f"Put the index into __indexes__ of {base.model}, or name outputs and columns of {table.model}.",
            index.source,
        )
    if not table.columns[name].is_stored:
        from appdb.declare.unstored import refuse_unstored

        refuse_unstored(table.columns[name], "indexed", index.source)
    return name
