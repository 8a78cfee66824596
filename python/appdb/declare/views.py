"""Views: models over another model, with `base=`. Raises AppFileError."""

from appdb.declare.declared import Column, Declared
from appdb.declare.errors import AppFileError, listed
from appdb.declare.types import display
from appdb.expressions.expr import ColumnRef, Expr, lift, literal, shortened
from appdb.kinds import rules
from appdb.kinds.string import String

# Verbs that change which rows there are in a way that one row cannot tell.
_REFUSED = (
    ("_joins", "join"),
    ("_groups", "group_by"),
    ("_order", "order_by"),
    ("_bounds", "limit"),
    ("_distinct", "distinct"),
)


class ViewOf:
    """What a view is over: a table, a condition of its rows, and the columns that it shows."""

    def __init__(self, table, condition=None, shown=None, outputs=()):
        self.table = table
        self.condition = condition
        self.shown = shown  # Names; None for all.
        self.outputs = outputs  # (name, expression) of select(name=expression).
        self.iterator = None  # The call that makes the rows; None: a row of the table is one of the view.
        self.in_select = True  # Until the class body begins: these expressions read all columns of the base.

    @property
    def lineage(self):
        """The tables below the view, the nearest first."""
        found = [self.table]
        while found[-1].view is not None:
            found.append(found[-1].view.table)
        return found

    def makes(self, name):
        """Whether the iterator gives the column of that name."""
        return self.iterator is not None and name in ("pos", *(output.name for output in self.iterator.outputs))

    def document(self):
        """Its part of the manifest."""
        condition = self.condition
        return {
            "base": self.table.name,
            "filter": None if condition is None else {"text": condition._text, "expr": condition._node},
            "columns": self.shown,
            **({} if not self.outputs else {"selected": [name for name, _ in self.outputs]}),
            **({} if self.iterator is None else {"iterator": self.iterator.document()}),
        }


def view_of(class_name, own_base, base):
    """Reads `base=`: a model of the same base, or a query over one."""
    from appdb.queries.query import Query

    query = base if isinstance(base, Query) else None
    model = query._models[0] if query is not None else base
    table = getattr(model, "__dict__", {}).get("__appdb_table__") if isinstance(model, type) else None
    if type(base).__name__ == "NamedQuery":
        raise AppFileError(
            f"base= of the model {class_name} is the function {base.__name__}, which is marked @db.query.",
            f"Write what the function returns: base={base.query._models[0].__name__}.where(...)",
        )
    if table is None:
        raise AppFileError(
            f"base= of the model {class_name} is {shortened(repr(base))}, not a model.",
            "Name a model, or a query over one: base=Docs, base=Docs.where(Docs.stars > 3)",
        )
    if model.__mro__[1] is not own_base:
        raise AppFileError(
            f"base= of the model {class_name} names {model.__name__}, a model of another model_base().",
            "Make both with one base.",
        )
    return view_over(class_name, table, query)


def view_over(class_name, table, query):
    """What a view is over: a table, or a query over it that chooses rows and values. `query` is None for all rows."""
    if query is None:
        return ViewOf(table)
    for attribute, verb in _REFUSED:
        if getattr(query, attribute):
            raise AppFileError(
                f"base= of the model {class_name} uses {verb}(); a view chooses rows by where() and values by select().",
                f"Use {verb}() in queries over {class_name}.",
            )
    for what in (query._where, *(expr for _, expr in query._selected or ())):
        if what is not None:
            _check_reads(class_name, table, what)
    if query._where is not None:
        _check_condition(class_name, table, query._where)
    return ViewOf(table, _condition(class_name, table, query), *_selected(class_name, table, query))


def _condition(class_name, table, query):
    """The condition of where() and sample(), None for all rows."""
    if query._drawn is None:
        return query._where
    drawn = _sampled(class_name, table, **query._drawn)
    return drawn if query._where is None else query._where & drawn


def _sampled(class_name, table, n, fraction, seed):
    """sample(fraction=...) as a condition of one row: the hash of its key and the seed, as a number from 0 to 1."""
    where = f"base= of the model {class_name} uses sample("
    if n is not None:
        raise AppFileError(
            f"{where}n={n}), and whether a row is one of {n} depends on the other rows, which come and go.",
            f"Write {table.model}.sample(fraction=0.1), or use sample(n={n}) in queries over {class_name}.",
        )
    root = table if table.view is None else table.view.lineage[-1]
    key = [column.name for column in root.columns.values() if column.primary_key]
    if any(one.view is not None and one.view.iterator is not None for one in (table, *([] if table.view is None else table.view.lineage))):
        raise AppFileError(
            f"{where}), and the rows of {table.model} are made of those of {root.model}.",
            f"Sample the rows that they are made of: base={root.model}.sample(fraction={fraction})",
        )
    if not key:
        raise AppFileError(
            f"{where}), which draws rows by their primary key, and {root.model} has none.",
            f"Declare one in {root.model}: id = db.Column(value=uuid7(), primary_key=True)",
        )
    missing = [name for name in key if name not in table.columns]
    if missing:
        raise AppFileError(
            f"{where}), which draws rows by their primary key, and {table.model} does not show {listed(missing)}.",
            f"Add it to select() in base= of {table.model}.",
        )
    text = lift(str(seed or 0))
    for name in key:
        ref = table.columns[name].ref
        text = text + "," + (ref if ref._kind == "string" else ref.astype(String))
    node = {"node": "call", "fn": "op.draw", "args": [text._node], "kwargs": {}}
    printed = f"sample(fraction={fraction}" + ("" if seed is None else f", seed={seed}") + ")"
    drawn = Expr("float", text._nullable, node, printed, parts=[text]) < fraction
    drawn._text = printed
    return drawn


def _check_condition(class_name, table, condition):
    """Refuses a condition that is the same for all rows, and one that changes while its row does not."""
    if condition._node["node"] == "literal":
        raise AppFileError(
            f"The condition in base= of the model {class_name} is the constant {condition._text} for each row.",
            f"Compare a column of {table.model}. For a null, write {table.model}.column == None, not `is None`.",
        )
    from appdb.declare.defaults import GENERATORS
    from appdb.queries.query_nodes import walk

    for node in walk(condition._node):
        if node["node"] != "call" or node["fn"] not in GENERATORS:
            continue
        changing = node["fn"].rpartition(".")[2]
        raise AppFileError(
            f"The condition in base= of the model {class_name} calls {changing}(). A view tests a row when it is written,"
            " not again later.",
            f"Leave {changing}() out, and write it in a query over the view: {class_name}.where(...)",
        )


def _check_reads(class_name, table, expr):
    for ref in expr._reads:
        if ref._owner is not table:
            raise AppFileError(
                f"base= of the model {class_name} reads '{ref._name}' of {ref._owner.model}.",
                f"Read columns of {table.model}: {table.model}.{ref._name}",
            )


def _selected(class_name, table, query):
    """The names of the shown columns, None for all, and the named expressions."""
    if query._selected is None:
        return None, ()
    shown, outputs = [], []
    for name, expr in query._selected:
        is_column = isinstance(expr, ColumnRef) and table.columns[expr._name].is_stored
        if is_column and name in (None, expr._name):
            shown.append(expr._name)
        elif name is None:
            raise AppFileError(
                f"select() in base= of the model {class_name} has {expr._text} without a name.",
                f"Name it: select(value={expr._text})",
            )
        else:
            outputs.append((name, expr))
    return shown, tuple(outputs)


def inherited_columns(table):
    """The columns of the base that a view shows, as columns of the view."""
    from copy import copy  # Loaded when it is needed: it takes a millisecond.

    base, shown = table.view.table, table.view.shown
    found = {}
    for name, column in base.columns.items():
        if column.is_stored and (shown is None or name in shown):
            ref = ColumnRef(table, name, column.ref._kind, column.ref._nullable, column.value is not None)
            found[name] = copy(column)
            found[name].ref = ref
    return found


def take_iterator(class_name, table, call):
    """Reads `iterator=`. Its stored outputs and `pos` come before the columns of the base, and hide those of their names."""
    from appdb.iterators.calls import IteratorCall

    if hasattr(call, "__next__"):
        name = getattr(call, "__name__", type(call).__name__)
        if _holds_column(call):
            raise AppFileError(
                f"iterator= of the model {class_name} calls {name}, which is not marked @db.iterator.",
                f"Write @db.iterator above {name}, and give its rows the type of a TypedDict.",
            )
        raise AppFileError(
            f"iterator= of the model {class_name} is a call of {'an iterator' if name.startswith('_') else name} without a column.",
            "Give it a column of the base, for example iterator=string_splitter(Docs.body, separators='sentence')",
        )
    if not isinstance(call, IteratorCall):
        raise AppFileError(
            f"iterator= of the model {class_name} is {shortened(repr(call))}, not a call of an iterator over columns.",
            "Write for example iterator=string_splitter(Docs.body, separators='sentence')",
        )
    view = table.view
    if view is None:
        raise AppFileError(
            f"The model {class_name} has iterator= and no base=.", "Name the model whose rows it takes: base=Docs"
        )
    for ref in call._reads:
        if ref._owner is not view.table:
            raise AppFileError(
                f"iterator= of the model {class_name} reads '{ref._name}' of {ref._owner.model}.",
                f"Give it columns of {view.table.model}, which is its base.",
            )
    view.iterator = call
    made = {"pos": _made(table, "pos", "int", False)}
    for output in call.outputs:
        if output.stored:
            if output.name in made:
                raise AppFileError(
                    f"iterator= of the model {class_name} has the output '{output.name}' twice.", "Give it once."
                )
            made[output.name] = _made(table, output.name, output.kind, True)
    unstored = {output.name for output in call.outputs if not output.stored}
    below = {name: column for name, column in table.inherited.items() if name not in made and name not in unstored}
    table.inherited = {**made, **below}


def _holds_column(call):
    """Whether a plain generator or object was made with a column, as only a marked one can be."""
    held = call.gi_frame.f_locals if getattr(call, "gi_frame", None) else getattr(call, "__dict__", {})
    return any(isinstance(value, Expr) for value in held.values())


def _made(table, name, kind, nullable):
    return Declared(name, ColumnRef(table, name, kind, nullable), None, None, table.source)


def fill_body(table, body):
    """Gives the class body the names of select(name=expression) and of the iterator's outputs."""
    view = table.view
    for name, expr in view.outputs:
        body._assign(name, expr, table.source)
    view.in_select = False
    if view.iterator is None:
        return
    stored = {name: table.inherited[name].ref for name in ("pos", *(o.name for o in view.iterator.outputs if o.stored))}
    for name, ref in stored.items():
        dict.__setitem__(body, name, ref)
    for output in view.iterator.outputs:
        if not output.stored:
            _refuse_hidden(table, output)
            expr = view.iterator.read_expression(output.name, stored)
            if expr is None:
                expr = _reread(view.iterator, output, stored["pos"])
            view.in_select = True
            body._assign(output.name, Column(value=expr, stored=False), table.source)
            view.in_select = False


def _refuse_hidden(table, output):
    """An output that is not stored is made of the iterator's arguments, which it reads by their names in the view."""
    view = table.view
    hidden = next((ref for ref in view.iterator._reads if view.makes(ref._name)), None)
    if hidden is not None:
        model = view.table.model
        raise AppFileError(
            f"iterator= of the model {table.model} reads '{hidden._name}' of {model}, whose name an output has; "
            f"'{output.name}', which is not stored, needs it.",
            f'Declare a view that gives it another name: class Renamed(Base, name="renamed", '
            f"base={model}.select({_other_columns(view.table, table.view, hidden)}other={model}.{hidden._name})): pass; "
            f"then write base=Renamed and iterator={view.iterator.text.partition('(')[0]}(Renamed.other)",
        )


def _select_otherwise(view, hidden):
    """How base= gives a column that an output hides another name."""
    named = f"{hidden._name}_of_base={view.table.model}.{hidden._name}"
    has_select = view.shown is not None or view.outputs
    return f"Add {named} to select() of base=" if has_select else f"Add .select({_other_columns(view.table, view, hidden)}{named}) to base="


def _other_columns(base, view, hidden):
    """The columns of a base for select(), without one that gets another name."""
    shown = [name for name in base.columns if name != hidden._name and base.columns[name].is_stored]
    return "".join(f"{base.model}.{name}, " for name in shown if view.shown is None or name in view.shown)


def _reread(call, output, pos):
    """The expression of an output of the application's iterator that is not stored: the iterator runs again."""
    document = call.document()
    parts = [*call.args, *call.kwargs.values(), pos]
    run = {
        "node": "udf",
        "function": call.fn,
        "args": document["args"],
        "kwargs": document["kwargs"],
        "type": {"kind": "json"},
        "nullable": True,
    }
    args = [run, pos._node, literal(output.name)._node]
    node = {"node": "call", "fn": "op.reread", "args": args, "kwargs": {}}
    expr = Expr(output.kind, True, node, output.name, parts=parts)
    expr._functions += call._functions
    return expr


def check_readable(table, name, ref):
    """Refuses a column that a view's own column cannot read."""
    view = table.view
    for below in view.lineage:
        if ref._owner is below:
            shown = table.inherited.get(ref._name)
            if view.in_select or (shown is not None and not view.makes(ref._name)):
                return
            if shown is not None:
                raise AppFileError(
                    f"Column '{name}' reads '{ref._name}' of {below.model}, whose name the iterator's output has in this view.",
                    f"{_select_otherwise(view, ref)}, and write {ref._name}_of_base here in place of {below.model}.{ref._name}",
                )
            raise AppFileError(
                f"Column '{name}' reads '{ref._name}', which base= of {table.model} does not select.",
                f"Add it: .select({below.model}.{ref._name}, ...)",
            )
    raise AppFileError(
        f"Column '{name}' reads '{ref._name}' of {ref._owner.model}; a view reads columns of its base and its own.",
        f"Its columns are {listed(table.inherited)}.",
    )


def refused_change(table, call, source=None):
    """The error for a change of a view's rows. `call` is the refused one, with {} in place of the model."""
    root = table.view.lineage[-1]
    is_made = any(one.view is not None and one.view.iterator is not None for one in (table, *table.view.lineage))
    return AppFileError(
        f"{table.name} is a view. Its rows are {'made of ' if is_made else ''}rows of the table {root.name}.",
        f"Name the model of that table: {call.format(root.model)}",
        source,
    )


def refuse_column_of_base(models, ref):
    """Refuses a column of a view's base in a query over the view, which has it under its own name."""
    for table in (model.__appdb_table__ for model in models):
        if table.view is not None and ref._owner in table.view.lineage and ref._name in table.columns:
            raise AppFileError(
                f"The query over the view {table.model} reads '{ref._name}' of {ref._owner.model}.",
                f"Write {table.model}.{ref._name}",
            )


def refuse_stored(table, name, kind):
    """Refuses a column without a value: a view has no rows of its own."""
    raise AppFileError(
        f"Column '{name}' of the view {table.model} has a type ({display(kind)}) and no value; a view has no rows of its own.",
        f"Declare '{name}' in {table.view.table.model}, or give it a value: {name} = <expression>",
    )


def owned(expr, table):
    """The same expression over columns of the view instead of its bases."""
    if all(ref._owner is table for ref in expr._reads):
        return expr
    made = object.__new__(Expr)
    for attribute in Expr.__slots__:
        setattr(made, attribute, getattr(expr, attribute))
    made._reads = tuple(_standin(ref, table) for ref in expr._reads)
    return made


def _standin(ref, table):
    if ref._owner is table:
        return ref
    made = object.__new__(ColumnRef)
    for attribute in (*Expr.__slots__, "_name", "_computed"):
        setattr(made, attribute, getattr(ref, attribute))
    made._owner = table
    return made
