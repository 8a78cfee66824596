"""Routes that store one row, or many."""

from appdb.declare.declared import caller
from appdb.routes._rows import NewRowRoute, check_on_error, stored_names


class InsertRoute(NewRowRoute):
    """One route over a model that stores the row."""

    __slots__ = ()
    kind = "insert"
    option_names = (
        *("path", "inputs", "outputs", "on_error", "uploadfile_inputs", "return_fileresponse"),
        *("export_sql", "background"),
    )

    def _needed(self, table):
        return stored_names(table), "every row has"


def add_insert_route(self, model, path=None, inputs=None, outputs=None, on_error="abort", **options):
    """Serves POST `path`: stores one row and returns its `outputs`, including computed columns.

    `inputs` are the accepted fields, by default all columns that are not computed; `outputs` are all columns by
    default. `uploadfile_inputs` are media columns whose files come as parts of a form. With
    `return_fileresponse=True` the response is the file of the only output. A failed computed column refuses the row.
    With `on_error="ignore"` the row is stored, and the cell is null with its error. Raises AppFileError for unknown
    columns, missing required ones, and paths in use.
    """
    InsertRoute.declare(self, model, path, inputs, outputs, options, caller(1), on_error)


def insert_route(self, model, path=None, inputs=None, outputs=None, on_error="abort", **options):
    """Decorator: an insert route whose response is the function's result.

    The function gets the outputs as keyword-only arguments, by default those that it names, before the row is
    stored: if it raises, nothing is stored. It is returned unchanged. Raises AppFileError like `add_insert_route`,
    and for parameters that are not outputs or have another type.
    """
    check_on_error(on_error)
    source = caller(1)
    return lambda function: InsertRoute.declare(self, model, path, inputs, outputs, options, source, on_error, function)
