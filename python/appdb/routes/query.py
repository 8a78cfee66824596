"""Routes that return the rows of a query."""

from appdb.declare.declared import caller
from appdb.declare.errors import AppFileError, did_you_mean, listed
from appdb.expressions.expr import Expr, shown
from appdb.routes._base import Route, checked_options
from appdb.udfs.calls import NO_DEFAULT

_PAGES = ("page_size", "cursor")


class QueryRoute(Route):
    """One route over a query: takes values of the parameters `inputs`, returns rows."""

    __slots__ = ("query", "inputs", "uploads", "one_row", "is_file")
    kind = "query"
    option_names = (
        *("path", "query", "inputs", "one_row", "method", "uploadfile_inputs", "return_fileresponse"),
        "background",
    )
    in_path = 'Make it a parameter of the query: clients send it in the body, or with method="get" as /path?name=value'

    def __init__(self, method, path, query, inputs, uploads, one_row, is_file, background, source):
        super().__init__(method, path, background, source)
        self.query = query
        self.inputs = inputs
        self.uploads = uploads
        self.one_row = one_row
        self.is_file = is_file

    @staticmethod
    def without_parameters(path):
        """Returns the path with a letter instead of each parameter of the query. Raises AppFileError."""
        if "{" not in path:
            return path
        from appdb.http.handler_checks import without_parameters

        return without_parameters(path)

    @property
    def queries(self):
        """Queries that the route names."""
        return (self.query,)

    def _parts(self):
        return {
            "query": self.query.id,
            "inputs": self.inputs,
            "one_row": self.one_row,
            **({"uploads": self.uploads} if self.uploads else {}),
            **({"file_response": True} if self.is_file else {}),
        }


def add_query_route(self, path=None, query=None, inputs=None, one_row=False, method="post", **options):
    """Serves `path`: runs a function marked @query. Returns `{"rows": [...]}`, or a list for a scalar query.

    `inputs` are the parameters that a request can set, by default all. A part `{name}` of the path is one of them.
    `uploadfile_inputs` are parameters of media types whose files come as parts of a form. With `one_row=True` the
    response is the row itself: 404 without a row, 409 for several. With `return_fileresponse=True` it is the file of
    the selected value. `method` is "post" (parameters in the body) or "get" (in the URL). Raises AppFileError for
    unknown parameters and paths in use.
    """
    wanted = options.pop("return_fileresponse", None)
    uploads = options.pop("uploadfile_inputs", None)
    background = checked_options(QueryRoute, options)
    _check_query(query)
    is_file = False
    if wanted is not None:
        from appdb.routes.files import checked_query_file

        is_file = checked_query_file(query, wanted, background)
    verb = method.lower() if isinstance(method, str) else method
    if verb not in ("post", "get"):
        raise AppFileError(f"method={method!r} is not a query route method.", 'Write method="get" or method="post"')
    if one_row is not True and one_row is not False:
        raise AppFileError(f"one_row= is True or False, not {one_row!r}.", "Write one_row=True")
    self._take_path(QueryRoute, path, verb)
    if uploads is not None:
        from appdb.routes.files import query_uploads_of

        uploads = query_uploads_of(query, inputs, uploads, verb)
    names = _inputs(query, inputs, path, uploads or [])
    _check_path_parameters(query, names, path, background)
    made = QueryRoute(verb, path, query, names, uploads or [], one_row or is_file, is_file, background, caller(1))
    self._routes.append(made)


def _check_query(query):
    """Raises AppFileError unless `query` is marked @query."""
    from appdb.queries.named_query import NamedQuery

    if isinstance(query, NamedQuery):
        return
    name = getattr(query, "__name__", repr(query))
    if query is None:
        raise AppFileError("add_query_route names no query.", 'Write add_query_route(path="/newest", query=newest)')
    raise AppFileError(f"add_query_route expected a query, got {name}.", f"Mark {name} with @db.query.")


def _check_path_parameters(query, names, path, background):
    """Raises AppFileError for a part of the path that is not an input, or that a job could not know."""
    parts = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    for name in parts:
        if name not in names:
            raise AppFileError(
                f"The path '{path}' names '{name}', which is not an input of {query.__name__}.",
                did_you_mean(name, names, f"Its inputs are {listed(names) or 'none'}."),
            )
    if parts and background is not None:
        raise AppFileError(f"The path '{path}' has parameters, and the route has background=.", "Leave one of them out.")


def parameters_of(what, query, given):
    """Parameter names of a list of names. Raises AppFileError for unknown and repeated ones."""
    parameters = [parameter.name for parameter in query.parameters]
    if isinstance(given, (str, Expr)) or not hasattr(given, "__iter__"):
        known = given if isinstance(given, str) and given in parameters else "name"
        raise AppFileError(f"{what}= is a list of parameter names.", f'Write {what}=["{known}"]')
    names = []
    for name in given:
        if not isinstance(name, str):
            raise AppFileError(
                f"{what}= contains {shown(name)}, which is not the name of a parameter of {query.__name__}.",
                f"Name the parameter: {what}=[\"{(parameters or ['name'])[0]}\"]",
            )
        if name not in parameters:
            raise AppFileError(
                f"{what}= names {name!r}, which is not a parameter of {query.__name__}.",
                did_you_mean(str(name), parameters, f"Its parameters are {listed(parameters) or 'none'}."),
            )
        if name in names:
            raise AppFileError(f"{what}= names '{name}' twice.", "Name it once.")
        names.append(name)
    return names


def _inputs(query, inputs, path, uploads):
    """The parameters of `query` that a route takes. Raises AppFileError for unknown, repeated and missing ones."""
    parameters = {parameter.name: parameter for parameter in query.parameters}
    for name in _PAGES:
        if name in parameters:
            raise AppFileError(
                f"The query {query.__name__} has a parameter '{name}', which is reserved for pages in {path}.",
                "Rename the parameter.",
            )
    if inputs is None:
        return [*parameters]
    names = [*parameters_of("inputs", query, inputs), *uploads]
    missing = [name for name, p in parameters.items() if name not in names and p.default is NO_DEFAULT]
    if missing:
        raise AppFileError(
            f"The inputs of {path} lack {listed(missing)}, which {query.__name__} needs.",
            f"Add {listed(missing)} to inputs, or give the parameter a default.",
        )
    return names
