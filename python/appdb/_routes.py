"""The kinds of routes that a router holds, each with what the manifest says of it."""


class Route:
    """What every kind has. A kind says by `_parts` what is its own."""

    __slots__ = ("kind", "method", "path", "background", "source")
    models = ()  # that the route names
    queries = ()

    def __init__(self, kind, method, path, background, source):
        self.kind = kind
        self.method = method
        self.path = path
        self.background = background
        self.source = source

    def document(self):
        """The route as in the manifest, without its source."""
        return {
            "kind": self.kind,
            "method": self.method,
            "path": self.path,
            **self._parts(),
            **({} if self.background is None else {"background": self.background.document()}),
        }


class ModelRoute(Route):
    """One route over a model."""

    __slots__ = ("model",)

    def __init__(self, kind, path, model, background, source):
        super().__init__(kind, "post", path, background, source)
        self.model = model

    @property
    def models(self):
        """Models that the route names."""
        return (self.model,)

    def _parts(self):
        return {"table": self.model.__appdb_table__.name}


class RowRoute(ModelRoute):
    """One route over a model: a row of it in by `inputs`, its `outputs` out. An update finds its row by `key`."""

    __slots__ = ("key", "inputs", "outputs", "on_error", "answerer", "export")

    def __init__(self, kind, path, model, inputs, outputs, on_error, answerer, export, background, source, key=None):
        super().__init__(kind, path, model, background, source)
        self.key = key
        self.inputs = inputs
        self.outputs = outputs
        self.on_error = on_error
        self.answerer = answerer
        self.export = export

    def _parts(self):
        return {
            **super()._parts(),
            **({} if self.key is None else {"key": self.key}),
            "inputs": self.inputs,
            "outputs": self.outputs,
            "on_error": self.on_error,
            "handler": None if self.answerer is None else self.answerer.document(),
            **({} if self.export is None else {"export_sql": self.export.document()}),
        }


class DeleteRoute(ModelRoute):
    """One route over a model: values in by `match_columns`, the number of the rows that had them out."""

    __slots__ = ("match_columns",)

    def __init__(self, path, model, match_columns, background, source):
        super().__init__("delete", path, model, background, source)
        self.match_columns = match_columns

    def _parts(self):
        return {**super()._parts(), "match_columns": self.match_columns}


class QueryRoute(Route):
    """One route over a query: values of the parameters `inputs` in, rows out."""

    __slots__ = ("query", "inputs", "one_row")

    def __init__(self, method, path, query, inputs, one_row, background, source):
        super().__init__("query", method, path, background, source)
        self.query = query
        self.inputs = inputs
        self.one_row = one_row

    @property
    def queries(self):
        """Queries that the route names."""
        return (self.query,)

    def _parts(self):
        return {"query": self.query.id, "inputs": self.inputs, "one_row": self.one_row}
