"""Routes that compute columns of a row and store nothing."""

from appdb.declare.declared import caller
from appdb.declare.errors import AppFileError
from appdb.expressions.expr import ColumnRef
from appdb.routes._rows import NewRowRoute, read_by


class ComputeRoute(NewRowRoute):
    """One route over a model that only computes."""

    __slots__ = ()
    kind = "compute"
    option_names = ("path", "inputs", "outputs", "uploadfile_inputs", "return_fileresponse", "background")

    @classmethod
    def declare(cls, router, model, path, inputs, outputs, options, source, **more):
        """Adds a route. Over a view with an iterator it returns the rows that one row makes."""
        table = getattr(model, "__appdb_table__", None)
        if table is not None and cls._taken(table) is not table:
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
        """Rows of iterators are made of a row of the table below all views."""
        found = [table, *([] if table.view is None else table.view.lineage)]
        made = any(one.view is not None and one.view.iterator is not None for one in found)
        return found[-1] if made else table

    def _inputs(self, table, inputs):
        own = self.model.__appdb_table__
        if inputs is None or own is table:
            return super()._inputs(table, inputs)
        return super()._inputs(table, [_of_base(own, table, one) for one in _listed(inputs)])

    def _check(self, table):
        super()._check(self._taken(table))

    def _needed(self, table):
        own = self.model.__appdb_table__
        if own is table:
            return read_by(table, self.outputs), "the outputs are computed from"
        # What the iterators and conditions read is checked with the whole application (check-routes.ts).
        return (), ""


def _listed(inputs):
    return inputs if isinstance(inputs, (list, tuple)) else [inputs]


def _of_base(view, table, column):
    """The name of a column of the table that a view shows, for a column of the view or of a view below it."""
    if not isinstance(column, ColumnRef) or column._owner is table:
        return column
    tables = [view, *view.view.lineage]
    if column._owner not in tables or column._name not in table.columns:
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
