"""Queries over models: `Docs.where(Docs.n > 1).select(Docs.title)`, and `@query`, which names one.

A Query holds the calls of its verbs so far; each verb returns a new one. Nothing runs here: the manifest contains
the query (packages/contract/src/query.ts), and the engine compiles it to one statement.
"""

from appdb.declare.arguments import checked_methods
from appdb.declare.errors import AppFileError, did_you_mean, later, listed
from appdb.declare.types import display
from appdb.expressions.aggregates import is_aggregate
from appdb.expressions.expr import ColumnRef, Expr, lift
from appdb.kinds import rules
from appdb.queries.query_nodes import TableNames, contains, default_name, refuse_constant, unplaced, walk

VERBS = frozenset("where select order_by limit group_by join distinct sample head tail count".split())
_JOINS = {
    "inner": "inner",
    "left": "left",
    "right": "right",
    "full": "full",
    "full_outer": "full",
    "cross": "cross",
}


@checked_methods
class Query:
    """A read from one model or several. Immutable."""

    __slots__ = ("_models", "_joins", "_where", "_groups", "_selected", "_distinct", "_order", "_bounds", "_drawn")

    def __init__(self, model):
        self._models = (model,)
        self._joins = ()  # (kind, model, condition or None)
        self._where = None
        self._groups = ()
        self._selected = None  # ((name or None, Expr), ...)
        self._distinct = False
        self._order = ()  # (Expr, ascending)
        self._bounds = {}  # limit, offset, tail -> Expr
        self._drawn = None

    def _with(self, **changes):
        made = object.__new__(type(self))
        for name in Query.__slots__:
            setattr(made, name, changes.get(name, getattr(self, name)))
        return made

    def where(self, condition=None, *more, **named):
        """Keeps the rows for which `condition` is true. A second where() narrows further."""
        if named:
            name = next(iter(named))
            raise AppFileError(
                f"where() takes a condition, not {name}=.", f"Write where({self._models[0].__name__}.{name} == ...)"
            )
        if more:
            raise AppFileError("where() takes one condition.", "Join them by &: where((A.x == 1) & (A.y == 2))")
        refuse_constant("where()", condition, self._models[0])
        condition = _value("where", condition)
        if condition._kind != "bool":
            raise AppFileError(
                f"where() takes a condition, which is Bool; {condition._text} is {display(condition._kind)}.",
                "Compare it: where(Model.column == value)",
            )
        _refuse_aggregate("where", condition, "Filter rows before they are grouped.")
        return self._with(_where=condition if self._where is None else self._where & condition)

    def select(self, *values, **named):
        """Chooses the values of a result row: columns and expressions, and `alias=expression`."""
        if self._selected is not None:
            raise AppFileError("select() is called twice in one query.", "Name all values in one select().")
        chosen = [(None, _value("select", value)) for value in values]
        chosen += [(name, _value("select", value)) for name, value in named.items()]
        for value in values:
            owner = next((one for one in self._models if value in one.__appdb_table__.columns), None) if type(value) is str else None
            if owner is not None:
                raise AppFileError(f"select() takes columns, not the text {value!r}.", f"Write {owner.__name__}.{value}")
        if not chosen:
            return self
        return self._with(_selected=tuple(chosen))

    def order_by(self, *values, asc=True, **unknown):
        """Sorts by `values`, ascending or not. A later order_by() sorts rows that are equal in the earlier ones."""
        if unknown:
            raise AppFileError(
                f"order_by() has no option {next(iter(unknown))}=.", "Write asc=False for a descending order."
            )
        if not values:
            raise AppFileError("order_by() names nothing to sort by.", "Write order_by(Model.column, asc=False)")
        if asc is not True and asc is not False:
            raise AppFileError(f"asc= is True or False, not {asc!r}.", "Write asc=False for a descending order.")
        keys = []
        for value in values:
            key = self._key("order_by", value)
            if not rules(key._kind).is_ordered:
                raise AppFileError(
                    f"order_by() cannot sort by {key._text}, which is {display(key._kind)}.",
                    _part_of("Sort by", key, "Int"),
                )
            keys.append((key, asc))
        return self._with(_order=(*self._order, *keys))

    def _key(self, where, value):
        """A sort or group key. Raises AppFileError for a column's name as text."""
        if isinstance(value, str):
            name, sign, direction = value.lstrip("-"), value[:1] == "-", value.lower().endswith(" desc")
            model, name = self._models[0].__name__, name.split(" ")[0]
            written = f"{where}({model}.{name}{', asc=False' if where == 'order_by' and (sign or direction) else ''})"
            raise AppFileError(f"{where}() takes columns, not the text {value!r}.", f"Write {written}")
        return _value(where, value)

    def limit(self, n, offset=None):
        """Takes at most `n` rows after skipping the first `offset`; both are whole numbers or parameters."""
        bounds = {**self._bounds, "limit": _bound("limit", "n", n)}
        if offset is not None:
            bounds["offset"] = _bound("limit", "offset", offset)
        return self._with(_bounds=bounds)

    def head(self, n=10):
        """Takes the first `n` rows."""
        return self._with(_bounds={**self._bounds, "limit": _bound("head", "n", n)})

    def tail(self, n=10):
        """Takes the last `n` rows, in the order of the query."""
        if "limit" in self._bounds or "offset" in self._bounds:
            raise AppFileError("A query cannot use both tail() and limit().", "Keep one of them.")
        return self._with(_bounds={**self._bounds, "tail": _bound("tail", "n", n)})

    def group_by(self, *values):
        """Makes one row of all rows with equal `values`; select() then takes them and aggregates."""
        if self._groups:
            raise AppFileError("group_by() is called twice in one query.", "Name all values in one group_by().")
        if not values:
            raise AppFileError("group_by() names nothing to group by.", "Write group_by(Model.column)")
        groups = tuple(self._key("group_by", value) for value in values)
        for group in groups:
            if not rules(group._kind).is_ordered:
                raise AppFileError(
                    f"group_by() cannot group by {group._text}, which is {display(group._kind)}.",
                    _part_of("Group by", group, "String"),
                )
            _refuse_aggregate("group_by", group, "Group by columns.")
        return self._with(_groups=groups)

    def join(self, other, on=None, how="inner"):
        """Joins the rows of another model: `A.join(B, on=A.id == B.a_id, how="left")`."""
        model = _model("join", other)
        kind = _JOINS.get(how) if isinstance(how, str) else None
        if kind is None:
            raise AppFileError(
                f"join() has no how={how!r}.",
                'Write how="full".' if how == "outer" else did_you_mean(str(how), _JOINS, f"It is one of {listed(_JOINS)}."),
            )
        if any(known is model for known in self._models):
            raise AppFileError(
                f"{model.__name__} is joined to itself or joined twice, which is not supported.",
                "Join two different models.",
            )
        condition = _join_condition(self._models, model, on, kind)
        return self._with(_models=(*self._models, model), _joins=(*self._joins, (kind, model, condition)))

    def distinct(self):
        """Removes rows that equal another one in all selected values."""
        return self._with(_distinct=True)

    def sample(self, n=None, fraction=None, seed=None, **unknown):
        """Samples rows: `n` of them, or each with the probability `fraction`. Equal seeds give equal samples."""
        if unknown:
            raise later(f"sample({next(iter(unknown))}=)", "Draw from the rows of each value: where(...).sample(n=100)")
        if (n is None) == (fraction is None):
            raise AppFileError("sample() takes n= or fraction=.", "Write sample(n=100) or sample(fraction=0.1)")
        if n is not None and (type(n) is not int or n < 0):
            part = f"sample(fraction={n!r})" if type(n) is float and 0 <= n <= 1 else "sample(n=100)"
            raise AppFileError(f"sample(n=) is a whole number, not {n!r}.", f"Write {part}")
        if fraction is not None and (type(fraction) not in (int, float) or not 0 <= fraction <= 1):
            raise AppFileError(f"sample(fraction=) is from 0 to 1, not {fraction!r}.", "Write sample(fraction=0.1)")
        if seed is not None and (type(seed) is not int or abs(seed) >= 2**53):
            raise AppFileError(f"sample(seed=) is a whole number, not {seed!r}.", "Write sample(n=100, seed=1)")
        if self._drawn is not None:
            raise AppFileError("sample() is called twice in one query.", "Sample once.")
        return self._with(_drawn={"n": n, "fraction": None if fraction is None else float(fraction), "seed": seed})

    def count(self):
        """Counts the rows: a query of one row with the value `count`."""
        from appdb.functions._aggregates import count

        if self._groups or self._distinct or self._bounds:
            raise AppFileError(
                "count() counts rows after where(); here it follows group_by(), distinct() or limit().",
                "Remove those, or select an aggregate: .group_by(...).select(n=count())",
            )
        return self._with(_selected=(("count", count()),), _order=())

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        from appdb.queries.other_verbs import unknown_verb

        raise unknown_verb("A query", name, of=self._models[0])

    def __iter__(self):
        from appdb.queries.other_verbs import not_run

        raise not_run(self._models[0], "go through its rows", "A query is not run while the file is read.")

    def _refuse_value(self, *_):
        from appdb.queries.other_verbs import not_run

        raise not_run(self._models[0], "use its value", "A query has no value while the file is read.")

    __bool__ = __int__ = __len__ = __getitem__ = _refuse_value
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse_value
    __hash__ = object.__hash__

    def document(self):
        """The query in manifest form. Raises AppFileError for clauses that conflict."""
        names = TableNames(self._models)
        selected = self._named()
        self._check_reads()
        self._check_clauses(selected, names)
        bounds = {name: self._bounds[name]._node if name in self._bounds else None for name in _BOUNDS}
        return {
            "from": names.of(self._models[0]),
            "joins": [
                {"kind": kind, **names.of(model), "on": None if on is None else names.placed(on)}
                for kind, model, on in self._joins
            ],
            "where": None if self._where is None else names.placed(self._where),
            "group_by": [names.placed(group) for group in self._groups],
            "select": [{"name": name, "expr": names.placed(expr)} for name, expr in selected],
            "distinct": self._distinct,
            "order_by": [{"expr": names.placed(expr), "asc": asc} for expr, asc in self._order],
            **bounds,
            "sample": self._drawn,
        }

    def expressions(self):
        """All expressions of the query."""
        found = [expr for _, expr in self._selected or ()]
        found += [expr for expr, _ in self._order]
        found += [on for _, _, on in self._joins if on is not None]
        found += [*self._groups, *([] if self._where is None else [self._where])]
        return found

    def _named(self):
        chosen = self._selected
        if chosen is None:
            if self._groups:
                raise AppFileError(
                    "A query with group_by() selects nothing.", "Add .select(Model.column, n=count(Model.column))"
                )
            columns = [column for model in self._models for column in model.__appdb_table__.columns.values()]
            chosen = tuple((None, column.ref) for column in columns if column.is_stored)
        aliases = [name for name, _ in chosen if name is not None]
        taken, named = set(aliases), []
        for place, (alias, expr) in enumerate(chosen):
            if alias is None:
                first = name = expr._name if isinstance(expr, ColumnRef) else default_name(expr._node, place)
                if name in aliases:
                    raise AppFileError(
                        f"select() names '{name}' twice: once as a column and once as an alias.",
                        "Give one of them another alias.",
                    )
                number = 0
                while name in taken:
                    number += 1
                    name = f"{first}_{number}"
                taken.add(name)
            named.append((alias or name, expr))
        return named

    def _check_reads(self):
        for expr in self.expressions():
            for ref in expr._reads:
                if not any(ref._owner is model.__appdb_table__ for model in self._models):
                    from appdb.declare.views import refuse_column_of_base

                    refuse_column_of_base(self._models, ref)
                    raise AppFileError(
                        f"The query reads '{ref._name}' of {ref._owner.model}, which it does not name.",
                        f"Join it: .join({ref._owner.model}, on=...)",
                    )

    def _check_clauses(self, selected, names):
        chosen = [("select", expr, names.placed(expr)) for _, expr in selected]
        order = [("order_by", expr, names.placed(expr)) for expr, _ in self._order]
        groups = [names.placed(group) for group in self._groups]
        all_values = [*chosen, *order]
        for where, expr, node in all_values:
            if any(is_aggregate(part) for one in walk(node) if is_aggregate(one) for part in walk(list(one.values()))):
                raise AppFileError(
                    f"{where}() takes an aggregate of an aggregate: {expr._text}.", "An aggregate takes columns."
                )
        if groups or any(contains(node, "aggregate") for _, _, node in all_values):
            for where, expr, node in all_values:
                if contains(node, "window"):
                    raise AppFileError(
                        f"{where}() holds {expr._text}, a value of each row; this query makes one row of many.",
                        "Select it in a query without group_by() and other aggregates.",
                    )
                left = unplaced(node, groups)
                if left is not None:
                    raise AppFileError(
                        f"{where}() holds {expr._text}, which reads '{left}': a group has many of them.",
                        f"Add '{left}' to group_by(), or take an aggregate such as max(...).",
                    )
        if self._distinct:
            for _, expr, _ in chosen:
                if not rules(expr._kind).is_ordered:
                    raise AppFileError(
                        f"distinct() cannot compare {expr._text}, which is {display(expr._kind)}.",
                        _part_of("Select", expr, "String"),
                    )
            for _, expr, node in order:
                if not any(node == other for _, _, other in chosen):
                    raise AppFileError(
                        f"A query with distinct() is sorted by {expr._text}, which is not selected.",
                        "Select it, or sort by what is selected.",
                    )


_BOUNDS = ("limit", "offset", "tail")


def _part_of(verb, value, kind):
    """What to write for a value that has no order."""
    if rules(value._kind).casts:
        return f"{verb} a part of it, for example with .astype(db.{kind})."
    return f"{verb} a value of it that a function marked @udf computes."


def verb(model, name):
    """A verb of queries as a method of a model: `Docs.where`."""
    return getattr(Query(model), name)


def _value(where, value):
    if isinstance(value, Query) or hasattr(value, "__appdb_table__"):
        raise AppFileError(f"{where}() takes columns and expressions, not a model or a query.", "Name its columns.")
    if value is None:
        raise AppFileError(f"{where}() is given None.", "Name a column or an expression.")
    if where in ("order_by", "group_by") and not isinstance(value, Expr):
        otherwise = "Write asc=False for a descending order." if value is False else "Name columns of the model."
        raise AppFileError(f"{where}() takes columns, not {value!r}.", otherwise)
    return lift(value)


def _bound(where, what, value):
    expr = value if isinstance(value, Expr) else lift(value) if type(value) is int else None
    if expr is None or expr._kind != "int" or expr._node["node"] not in ("literal", "parameter"):
        shown = value._text if isinstance(value, Expr) else repr(value)
        raise AppFileError(
            f"{where}() takes a whole number or a parameter of type int as {what}, not {shown}.",
            f"Write {where}(10), or declare the parameter: {what}: int = 10",
        )
    if type(value) is int and value < 0:
        raise AppFileError(f"{where}() takes no negative {what}: {value}.", f"Write {where}(10)")
    return expr


def _model(where, model):
    if "__appdb_table__" not in getattr(model, "__dict__", ()):
        raise AppFileError(
            f"{where}() takes a model, not {getattr(model, '__name__', type(model).__name__)}.", "Name its class."
        )
    return model


def _join_condition(models, model, on, kind):
    if kind == "cross":
        if on is not None:
            raise AppFileError("A cross join has no on=.", 'Remove on= or how="cross".')
        return None
    if on is None:
        raise AppFileError("join() has no on=.", f"Write join({model.__name__}, on=A.column == {model.__name__}.column)")
    if isinstance(on, ColumnRef) and on._kind != "bool":  # The common column.
        other = model.__appdb_table__.columns.get(on._name)
        if other is None:
            raise AppFileError(
                f"join() is on '{on._name}', which {model.__name__} does not have.",
                f"Write on={on._owner.model}.{on._name} == {model.__name__}.<column>",
            )
        on = on == other.ref
    refuse_constant("on=", on, model)
    condition = _value("join", on)
    if condition._kind != "bool":
        raise AppFileError(f"on= is a condition, not {condition._text}.", "Compare columns of both models.")
    _refuse_aggregate("join", condition, "Join before rows are grouped.")
    return condition


def _refuse_aggregate(where, expr, hint):
    if contains(expr._node, "aggregate"):
        raise AppFileError(f"{where}() holds an aggregate: {expr._text}.", hint)
    if contains(expr._node, "window"):
        raise AppFileError(
            f"{where}() holds {expr._text}, which is computed from the rows that {where}() gives.",
            "Select it, or sort by it with order_by().",
        )
