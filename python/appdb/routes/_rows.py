"""The common parts of routes over a model that take and return values of a row. Raises AppFileError."""

from appdb.declare.errors import AppFileError, did_you_mean, listed
from appdb.declare.model import ModelMeta
from appdb.expressions.expr import ColumnRef, Expr
from appdb.routes._base import Route, checked_options


class ModelRoute(Route):
    """One route over a model."""

    __slots__ = ("model",)
    changes_rows = True

    def __init__(self, path, model, background, source):
        super().__init__("post", path, background, source)
        self.model = model

    @property
    def models(self):
        """Models that the route names."""
        return (self.model,)

    def _parts(self):
        return {"table": self.model.__appdb_table__.name}


class RowRoute(ModelRoute):
    """One route over a model: takes values of a row as `inputs`, returns its `outputs`."""

    __slots__ = ("inputs", "uploads", "outputs", "on_error", "answerer", "export", "is_file")

    @classmethod
    def declare(cls, router, model, path, inputs, outputs, options, source, on_error="abort", function=None):
        """Adds such a route to a router and returns the function that makes its responses, None without one."""
        check_on_error(on_error)
        export = _export(cls, options)
        uploads, is_file = options.pop("uploadfile_inputs", None), options.pop("return_fileresponse", None)
        background = checked_options(cls, options)
        check_model(cls, model)
        router._take_path(cls, path)
        made = cls(path, model, background, source)
        made.on_error, made.export = on_error, export
        table = model.__appdb_table__
        taken = cls._taken(table)
        made.uploads = []
        if uploads is not None:
            from appdb.routes.files import uploads_of

            made.uploads = uploads_of(cls, taken, inputs, uploads)
        made.inputs = made._inputs(taken, inputs)
        made.answerer, made.outputs = _outputs(model, outputs, function, on_error)
        made.is_file = False
        if is_file is not None:
            from appdb.routes.files import checked_file_response

            made.is_file = checked_file_response(table, made.outputs, is_file, made.answerer, background)
        made._check(model.__appdb_table__)
        router._routes.append(made)
        return function

    @staticmethod
    def _taken(table):
        """The table whose values a request has."""
        return table

    def _check(self, table):
        """Refuses impossible inputs."""

    def _parts(self):
        return {
            **super()._parts(),
            "inputs": self.inputs,
            "outputs": self.outputs,
            "on_error": self.on_error,
            "handler": None if self.answerer is None else self.answerer.document(),
            **({} if self.export is None else {"export_sql": self.export.document()}),
            **({"uploads": self.uploads} if self.uploads else {}),
            **({"file_response": True} if self.is_file else {}),
        }


class NewRowRoute(RowRoute):
    """A route for a new row. Its kind defines by `_needed` which stored columns a request must have, and why."""

    __slots__ = ()

    def _inputs(self, table, inputs):
        if inputs is None:
            return stored_names(table)
        return [*names_of("inputs", table, inputs), *self.uploads]

    def _check(self, table):
        for name in self.inputs:
            if table.columns[name].value is not None:
                raise AppFileError(
                    f"Column '{name}' is computed and cannot be an input of {self.path}.", f"Take '{name}' out of inputs."
                )
        needed, why = self._needed(table)
        missing = [n for n in needed if n not in self.inputs and not _may_be_left_out(table.columns[n])]
        if missing:
            raise AppFileError(
                f"The inputs of {self.path} lack {listed(missing)}, which {why}.", f"Add {listed(missing)} to inputs."
            )


def stored_names(table):
    """The names of the columns that are not computed."""
    return [c.name for c in table.columns.values() if c.value is None]


def key_of(table):
    """The names of the columns of the primary key."""
    return [c.name for c in table.columns.values() if c.primary_key]


def check_model(kind, model):
    """Raises AppFileError unless `model` is a model of the application."""
    if not isinstance(model, ModelMeta):
        shown = type(model).__name__
        raise AppFileError(f"add_{kind.kind}_route takes a model first, not {shown}.", "Name the class of the model.")
    if "__appdb_table__" not in model.__dict__:
        raise AppFileError(f"{model.__name__} is the base of the models, not a model.", "Name one of its models.")
    table = model.__appdb_table__
    if table.view is not None and kind.changes_rows:
        from appdb.declare.views import refused_change

        raise refused_change(table, f"router.add_{kind.kind}_route({{}}, ...)")


def check_on_error(on_error):
    """Raises AppFileError unless `on_error` is 'abort' or 'ignore'."""
    if on_error not in ("abort", "ignore"):
        raise AppFileError(f"on_error= is 'abort' or 'ignore', not {on_error!r}.", 'Write on_error="ignore"')


def names_of(what, table, columns):
    """Column names of a list of columns or names. Raises AppFileError for unknown and repeated ones."""
    if isinstance(columns, (str, Expr)) or not hasattr(columns, "__iter__"):
        name = columns._name if isinstance(columns, ColumnRef) else columns
        known = name if isinstance(name, str) and name.lower() in table.columns else "column"
        raise AppFileError(f"{what}= is a list of columns.", f"Write {what}=[{table.model}.{known}]")
    names = []
    for column in columns:
        name = _name_of(what, table, column)
        if name in names:
            raise AppFileError(f"{what}= names '{name}' twice.", "Name it once.")
        names.append(name)
    return names


def _outputs(model, outputs, function, on_error):
    """The Answerer of a decorated function (None without one) and the names of the outputs. Raises AppFileError."""
    table = model.__appdb_table__
    names = None if outputs is None else names_of("outputs", table, outputs)
    answerer = None
    if function is not None:
        from appdb.routes.answerers import answerer_of

        answerer, names = answerer_of(function, table, names, on_error == "ignore")
    if names is None:
        return None, [c.name for c in table.columns.values() if c.is_stored]
    return answerer, names


def _name_of(what, table, column):
    if isinstance(column, ColumnRef):
        if column._owner is not table:
            raise AppFileError(
                f"{what}= names '{column._name}' of the model {column._owner.model}; the route is for {table.model}.",
                f"Name columns of {table.model}.",
            )
        return column._name
    if not isinstance(column, str):
        shown = column._text if isinstance(column, Expr) else repr(column)
        raise AppFileError(
            f"{what}= contains {shown}, which is not a column.", "Name a column, as Model.column or in quotes."
        )
    if column.lower() not in table.columns:
        raise AppFileError(
            f"{what}= names '{column}', which is not a column of {table.model}.",
            did_you_mean(column, table.columns, f"Its columns are {listed(table.columns)}."),
        )
    return column.lower()


def _may_be_left_out(column):
    """Whether a request may omit the value of a stored column."""
    return column.ref._nullable or column.default is not None


def read_by(table, names):
    """The stored columns that the named ones are computed from, in declared order. Of a view: columns of its table,
    also those that its condition reads."""
    below = [] if table.view is None else table.view.lineage
    wanted = {(id(table), name) for name in names}
    for one in (table, *below):
        if one.view is not None and one.view.condition is not None:
            _add_reads(wanted, (table, *below), one.view.condition)
        for column in reversed(one.columns.values()):  # A column only reads earlier ones.
            if (id(one), column.name) in wanted and column.value is not None:
                _add_reads(wanted, (table, *below), column.value)
            elif (id(one), column.name) in wanted and one.view is not None:
                wanted.add((id(one.view.table), column.name))
    root = below[-1] if below else table
    return [c.name for c in root.columns.values() if (id(root), c.name) in wanted and c.value is None]


def _add_reads(wanted, tables, expr):
    """Adds the columns that an expression reads. A view reads columns of its bases as its own."""
    for ref in expr._reads:
        for one in tables[tables.index(ref._owner) :]:
            if ref._name in one.columns:
                wanted.add((id(one), ref._name))
                break


def _export(kind, options):
    """Takes `export_sql=` from the options of a route that supports it."""
    if options.get("export_sql") is None:
        return options.pop("export_sql", None)
    from appdb.routes.sql_export import export_of

    return export_of(kind, options)
