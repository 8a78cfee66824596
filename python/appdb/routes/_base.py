"""The common parts of all kinds of routes, and the checks of path and options. Checks raise AppFileError."""

from appdb.declare.errors import AppFileError, did_you_mean

_PATH_MARKS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~/")
_RESERVED = ("/health", "/openapi.json")


class Route:
    """A kind declares the options of its routes by class attributes, and its own manifest part by `_parts`."""

    __slots__ = ("method", "path", "background", "source")
    kind = None
    option_names = ()  # Options of the declaring methods.
    example = None  # An example of a declaration.
    in_path = "Send the value in the body."  # Advice instead of a path parameter.
    may_be_prefix = False  # Its path may be empty after a prefix.
    models = ()  # Models that the route names.
    queries = ()
    handler = None  # The function that answers.

    def __init__(self, method, path, background, source):
        self.method = method
        self.path = path
        self.background = background
        self.source = source

    @staticmethod
    def without_parameters(path):
        """Returns the path with a letter instead of each supported parameter. Raises AppFileError."""
        return path

    def document(self):
        """The route in manifest form, without its source."""
        return {
            "kind": self.kind,
            "method": self.method,
            "path": self.path,
            **self._parts(),
            **({} if self.background is None else {"background": self.background.document()}),
        }


def checked_options(kind, options):
    """The Background of a route, None without one. Raises AppFileError for an unknown or unsupported option."""
    for name, value in options.items():
        if name == "background":
            continue
        if name != "export_sql":
            raise AppFileError(
                f"add_{kind.kind}_route has no option '{name}'.",
                did_you_mean(name, kind.option_names, f"Its options are {', '.join(kind.option_names)}."),
            )
        if value:
            from appdb.routes.sql_export import export_of

            export_of(kind, {name: value})
    if not options.get("background"):
        return None
    from appdb.routes.background import background_of

    return background_of(options["background"])


def checked_prefix(prefix):
    """Returns `prefix` if it is valid. Raises AppFileError."""
    if not isinstance(prefix, str):
        raise AppFileError(f"prefix= is text, not {type(prefix).__name__}.", 'Write prefix="/v1"')
    if prefix == "":
        return prefix
    if not prefix.startswith("/") or prefix.endswith("/"):
        raise AppFileError(
            f"The prefix '{prefix}' does not begin with '/', or ends with one.", f"Write '/{prefix.strip('/')}'"
        )
    check_path(Route, prefix)
    return prefix


def shape_of(path):
    """The path without the names of its parameters: two routes of one shape are equal."""
    return "/".join("{}" if part.startswith("{") else part for part in path.split("/"))


def check_path(kind, path):
    """Raises AppFileError unless `path` is valid for this kind of route."""
    if not isinstance(path, str):
        example = kind.example or f'add_{kind.kind}_route(Model, path="/items")'
        raise AppFileError(f"The route has no path ({path!r}).", f"Write {example}")
    if not path.startswith("/"):
        raise AppFileError(f"The path '{path}' does not begin with '/'.", f"Write '/{path}'")
    path = kind.without_parameters(path)
    if "{" in path or ":" in path:
        raise AppFileError(f"The path '{path}' has a parameter; routes take none.", kind.in_path)
    wrong = [mark for mark in path if mark not in _PATH_MARKS]
    if wrong:
        raise AppFileError(
            f"The path '{path}' contains {wrong[0]!r}.", "Use letters a-z, digits and - _ . ~ between the slashes."
        )
    if "//" in path or (path.endswith("/") and path != "/") or "/./" in path + "/" or "/../" in path + "/":
        raise AppFileError(
            f"The path '{path}' has an empty or dotted part.", "Write '/part/part', without a slash at the end."
        )


def check_full_path(full):
    """Raises AppFileError for a full path that every service reserves."""
    if full in _RESERVED or full.startswith("/_"):
        raise AppFileError(f"The path {full} is reserved for the service itself.", "Choose another path.")
