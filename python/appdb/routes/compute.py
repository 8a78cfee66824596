"""Routes that compute columns of a row and store nothing."""

from appdb.declare.declared import caller
from appdb.routes._rows import NewRowRoute, read_by


class ComputeRoute(NewRowRoute):
    """One route over a model that only computes."""

    __slots__ = ()
    kind = "compute"
    option_names = ("path", "inputs", "outputs", "uploadfile_inputs", "return_fileresponse", "background")

    def _needed(self, table):
        return read_by(table, self.outputs), "the outputs are computed from"


def add_compute_route(self, model, path=None, inputs=None, outputs=None, **options):
    """Serves POST `path`: computes `outputs` from `inputs` and stores nothing. Defaults as in an insert route."""
    ComputeRoute.declare(self, model, path, inputs, outputs, options, caller(1))


def compute_route(self, model, path=None, inputs=None, outputs=None, **options):
    """Decorator: a compute route whose response is the function's result. Otherwise like `insert_route`."""
    source = caller(1)
    return lambda function: ComputeRoute.declare(self, model, path, inputs, outputs, options, source, function=function)
