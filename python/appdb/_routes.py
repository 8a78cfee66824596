"""The kinds of routes that a router holds, each with what the manifest says of it."""


class RowRoute:
    """One route over a model: a row of it in by `inputs`, its `outputs` out."""

    __slots__ = tuple(
        "kind method path model inputs outputs on_error answerer export background source".split()
    )

    def __init__(self, kind, path, model, inputs, outputs, on_error, answerer, export, background, source):
        self.kind = kind
        self.method = "post"
        self.path = path
        self.model = model
        self.inputs = inputs
        self.outputs = outputs
        self.on_error = on_error
        self.answerer = answerer
        self.export = export
        self.background = background
        self.source = source

    @property
    def models(self):
        """Models that the route names."""
        return (self.model,)

    @property
    def queries(self):
        """Queries that the route names."""
        return ()

    def document(self):
        """The route as in the manifest, without its source."""
        return {
            "kind": self.kind,
            "method": self.method,
            "path": self.path,
            "table": self.model.__appdb_table__.name,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "on_error": self.on_error,
            "handler": None if self.answerer is None else self.answerer.document(),
            **({} if self.export is None else {"export_sql": self.export.document()}),
            **({} if self.background is None else {"background": self.background.document()}),
        }


class QueryRoute:
    """One route over a query: values of the parameters `inputs` in, rows out."""

    __slots__ = ("kind", "method", "path", "query", "inputs", "one_row", "background", "source")

    def __init__(self, method, path, query, inputs, one_row, background, source):
        self.kind = "query"
        self.method = method
        self.path = path
        self.query = query
        self.inputs = inputs
        self.one_row = one_row
        self.background = background
        self.source = source

    @property
    def models(self):
        """Models that the route names."""
        return ()

    @property
    def queries(self):
        """Queries that the route names."""
        return (self.query,)

    def document(self):
        """The route as in the manifest, without its source."""
        return {
            "kind": self.kind,
            "method": self.method,
            "path": self.path,
            "query": self.query.id,
            "inputs": self.inputs,
            "one_row": self.one_row,
            **({} if self.background is None else {"background": self.background.document()}),
        }
