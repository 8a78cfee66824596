"""`SqlExport`: a stored row's outputs are also written to a table of another database."""

from urllib.parse import parse_qs, urlsplit

from appdb.declare.errors import AppFileError, did_you_mean

_OPTIONS = ("db_connect", "table", "db_schema", "method")
_METHODS = ("insert", "update", "merge")
_MISSING = object()


class SqlExport:
    """The table of a PostgreSQL database to which an insert or update route also writes the outputs of a stored row.

    `db_connect` is `"env:NAME"`, a variable of the service's environment with a URL, or the URL itself
    (`postgresql://user@host/db`); put a password in the variable. `method` is "insert", "update" (the row with the
    target's primary key) or "merge" (update or insert it). Raises AppFileError for anything else.
    """

    __slots__ = ("_document", "has_password")

    def __init__(self, *args, **options):
        if args:
            raise AppFileError("SqlExport takes keywords only.", 'Write SqlExport(db_connect="env:...", table="...")')
        for name in options:
            if name not in _OPTIONS:
                hint = did_you_mean(name, _OPTIONS, f"Its options are {', '.join(_OPTIONS)}.")
                raise AppFileError(f"SqlExport has no option '{name}'.", hint)
        method = options.get("method", "insert")
        if method not in _METHODS:
            raise AppFileError(
                f"method={method!r} is not a method of SqlExport.", 'Write method="insert", "update" or "merge"'
            )
        schema = options.get("db_schema")
        connect, self.has_password = _connect(options.get("db_connect", _MISSING))
        self._document = {
            "db_connect": connect,
            "table": _name("table", options.get("table", _MISSING)),
            "db_schema": None if schema is None else _name("db_schema", schema),
            "method": method,
        }

    def __repr__(self):
        return f"SqlExport(table={self._document['table']!r}, method={self._document['method']!r})"

    def document(self):
        """The export in manifest form."""
        return self._document


def export_of(kind, options):
    """Takes `export_sql` from a route's options: the SqlExport, or None. Raises AppFileError."""
    export = options.pop("export_sql", None)
    if export is None:
        return None
    if "export_sql" not in kind.option_names:
        raise AppFileError(
            f"export_sql= is an option of insert and update routes; a {kind.kind} route stores no row.", "Omit it."
        )
    if not isinstance(export, SqlExport):
        shown = type(export).__name__
        raise AppFileError(f"export_sql= is a SqlExport, not {shown}.", "Write export_sql=SqlExport(...)")
    return export


def export_warnings(routers):
    """A warning for each URL with a password in the code."""
    routes = [route for router in routers for route in router._routes if getattr(route, "export", None) is not None]
    return [
        f"{route.path} exports to a URL with a password, which is visible in the code and in the service's files: "
        'put it into a variable of the environment, and write db_connect="env:NAME".'
        for route in routes
        if route.export.has_password
    ]


def _connect(value):
    if not isinstance(value, str) or not value:
        raise AppFileError("SqlExport needs db_connect=.", 'Write db_connect="env:WAREHOUSE_URL"')
    if value.startswith("env:"):
        name = value[4:]
        if not name.isidentifier():
            raise AppFileError(f"db_connect={value!r} names no variable.", 'Write db_connect="env:WAREHOUSE_URL"')
        return {"env": name}, False
    try:
        url = urlsplit(value)
        has_password = url.password is not None or "password" in parse_qs(url.query)
        scheme = url.scheme
    except ValueError:
        scheme, has_password = "", False
    # The URL never appears in a message: it may contain a password.
    if scheme not in ("postgresql", "postgres"):
        of = f"a URL of {scheme}" if scheme and "://" in value else "no URL"
        raise AppFileError(
            f"db_connect= is {of}; rows are exported to PostgreSQL only.",
            'Write db_connect="postgresql://user@host/database", or "env:NAME" for a variable that holds it.',
        )
    return {"url": value}, has_password


def _name(what, value):
    if not isinstance(value, str) or not value:
        raise AppFileError(f"{what}= of SqlExport is a name.", f'Write {what}="readings"')
    return value
