"""Routes that compute columns of a row and store nothing."""

from appdb.declare.declared import caller
from appdb.declare.errors import AppFileError
from appdb.routes._rows import NewRowRoute, read_by, stored_names


class ComputeRoute(NewRowRoute):
    """One route over a model that only computes."""

    __slots__ = ()
    kind = "compute"
    changes_rows = False
    option_names = ("path", "inputs", "outputs", "uploadfile_inputs", "return_fileresponse", "background")

    def _inputs(self, table, inputs):
        """Over a view without an iterator, a request has columns of the view's table: a row that may be one of it."""
        root = _root(table)
        if inputs is None and root is not table:
            shown = [name for name in stored_names(table) if name in root.columns]
            needed = read_by(table, [*table.columns])
            return [name for name in stored_names(root) if name in shown or name in needed]
        if isinstance(inputs, (list, tuple)):
            inputs = [_of_root(table, column, self.path) for column in inputs]
        return super()._inputs(root, inputs)

    def _check(self, table):
        super()._check(_root(table))

    def _needed(self, table):
        return read_by(self.model.__appdb_table__, self.outputs), "the outputs are computed from"


def _of_root(table, column, path):
    """The name of a column of a view or its bases in the view's table; anything else as it is. Raises AppFileError."""
    owner = getattr(column, "_owner", None)
    if table.view is None or owner not in (table, *table.view.lineage):
        return column
    if owner.columns[column._name].value is not None:
        raise AppFileError(
            f"Column '{column._name}' is computed and cannot be an input of {path}.",
            f"Take '{column._name}' out of inputs. Name stored columns of {table.view.lineage[-1].model}.",
        )
    return column._name


def _root(table):
    """The table that has the rows of a view without an iterator; any other table itself."""
    below = [] if table.view is None else table.view.lineage
    is_made = any(one.view is not None and one.view.iterator is not None for one in (table, *below))
    return table if is_made or not below else below[-1]


def add_compute_route(self, model, path=None, inputs=None, outputs=None, **options):
    """Serves POST `path`: computes `outputs` from `inputs` and stores nothing. Defaults as in an insert route."""
    ComputeRoute.declare(self, model, path, inputs, outputs, options, caller(1))


def compute_route(self, model, path=None, inputs=None, outputs=None, **options):
    """Decorator: a compute route whose response is the function's result. Otherwise like `insert_route`."""
    source = caller(1)
    return lambda function: ComputeRoute.declare(self, model, path, inputs, outputs, options, source, function=function)
