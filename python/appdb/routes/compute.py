"""Routes that compute columns of a row and store nothing."""

from appdb.declare.declared import caller
from appdb.declare.errors import AppFileError
from appdb.expressions.expr import ColumnRef
from appdb.routes._rows import NewRowRoute, read_by, stored_names


class ComputeRoute(NewRowRoute):
    """One route over a model that only computes."""

    __slots__ = ()
    kind = "compute"
    changes_rows = False
    option_names = ("path", "inputs", "outputs", "uploadfile_inputs", "return_fileresponse", "background")

    @classmethod
    def declare(cls, router, model, path, inputs, outputs, options, source, **more):
        """Adds a route. Over a view with an iterator it returns the rows that one row makes."""
        table = getattr(model, "__appdb_table__", None)
        if table is not None and _is_made(table):
            if more.get("function") is not None:
                raise AppFileError(
                    f"A function cannot make the response of {path}: {table.model} is a view with an iterator.",
                    f"Write add_compute_route({table.model}, path={path!r}), which returns a list of its rows.",
                )
            if options.get("return_fileresponse"):
                raise AppFileError(
                    f"return_fileresponse= is not for {table.model}, a view with an iterator: it has several rows.",
                    "Leave it out.",
                )
        return super().declare(router, model, path, inputs, outputs, options, source, **more)

    @staticmethod
    def _taken(table):
        """Rows of views are made of a row of the table below all views."""
        return table if table.view is None else table.view.lineage[-1]

    def _inputs(self, table, inputs):
        own = self.model.__appdb_table__
        if own is table or (inputs is None and _is_made(own)):
            return super()._inputs(table, inputs)
        if inputs is None:
            needed = read_by(own, [*own.columns])
            return [name for name in stored_names(table) if name in own.columns or name in needed]
        return super()._inputs(table, [_of_base(own, table, one, self.path) for one in _listed(inputs)])

    def _check(self, table):
        super()._check(self._taken(table))

    def _needed(self, table):
        own = self.model.__appdb_table__
        if _is_made(own):
            # What the iterators and conditions read is checked with the whole application (check-routes.ts).
            return (), ""
        return read_by(own, self.outputs), "the outputs are computed from"


def _is_made(table):
    """Whether the rows of a view are made by an iterator, its own or that of a view below it."""
    below = [] if table.view is None else table.view.lineage
    return any(one.view is not None and one.view.iterator is not None for one in (table, *below))


def _listed(inputs):
    return inputs if isinstance(inputs, (list, tuple)) else [inputs]


def _of_base(view, table, column, path):
    """The name of a column of the table that a view shows, for a column of the view or of a view below it."""
    if not isinstance(column, ColumnRef) or column._owner is table:
        return column
    tables = [view, *view.view.lineage]
    if column._owner not in tables:
        return column
    if column._owner.columns[column._name].value is not None:
        raise AppFileError(
            f"Column '{column._name}' is computed and cannot be an input of {path}.",
            f"Take '{column._name}' out of inputs. Name stored columns of {table.model}.",
        )
    if column._name not in table.columns:
        return column
    above = tables[tables.index(column._owner) : -1]
    if any(one.view.makes(column._name) or column._name not in one.inherited for one in above):
        raise AppFileError(
            f"inputs= names '{column._name}' of {column._owner.model}, which is made; a request has values of {table.model}.",
            f"Name columns of {table.model}.",
        )
    return column._name


def add_compute_route(self, model, path=None, inputs=None, outputs=None, **options):
    """Serves POST `path`: computes `outputs` from `inputs` and stores nothing. Defaults as in an insert route."""
    ComputeRoute.declare(self, model, path, inputs, outputs, options, caller(1))


def compute_route(self, model, path=None, inputs=None, outputs=None, **options):
    """Decorator: a compute route whose response is the function's result. Otherwise like `insert_route`."""
    source = caller(1)
    return lambda function: ComputeRoute.declare(self, model, path, inputs, outputs, options, source, function=function)
