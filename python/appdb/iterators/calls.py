"""Calls of iterators over columns, and the columns that their rows have."""

from appdb.declare.types import manifest_type


class Output:
    """A column of an iterator's rows. An output that is not stored has a value when it is read.

    `reader`: for such an output of a library iterator, the function that makes the value (Reader). An iterator of the
    application runs again instead (reading.py).
    """

    __slots__ = ("name", "kind", "nullable", "stored", "reader")

    def __init__(self, name, kind, nullable=False, stored=True, reader=None):
        self.name = name
        self.kind = kind
        self.nullable = nullable
        self.stored = stored
        self.reader = reader

    def document(self):
        """The output as Json."""
        return {
            "name": self.name,
            "type": manifest_type(self.kind),
            "nullable": self.nullable,
            "is_stored": self.stored,
        }

    def __repr__(self):
        return f"Output({self.name!r}, {str(self.kind)!r}, nullable={self.nullable}, stored={self.stored})"


class Reader:
    """How an output is read: the id of a library function, and the iterator's arguments and outputs that it takes."""

    __slots__ = ("function", "arguments", "outputs")

    def __init__(self, function, arguments, outputs):
        self.function = function
        self.arguments = arguments
        self.outputs = outputs


class IteratorCall:
    """A call of an iterator over columns: what `iterator=` of a model takes.

    `fn` is the iterator's id: `document.document_splitter`, or `<module>:<name>` for one of the application. `args` and
    `kwargs` are expressions in canonical form (udfs/calls.py), `text` prints the call, `outputs` has its columns in
    order. `_reads` and `_functions` are as in Expr; `_functions` has the iterator itself if it is the application's.
    """

    __slots__ = ("function", "fn", "args", "kwargs", "text", "outputs", "_reads", "_functions")

    def __init__(self, function, args, kwargs, text, outputs):
        self.function = function
        self.fn = function.id
        self.args = args
        self.kwargs = kwargs
        self.text = text
        self.outputs = outputs
        self._reads = ()
        self._functions = (function,) if function.is_udf else ()
        for part in (*args, *kwargs.values()):
            self._reads += part._reads
            self._functions += part._functions

    @property
    def is_udf(self):
        """Whether the iterator is the application's."""
        return self.function.is_udf

    def document(self):
        """The call as Json, with expressions as the manifest has them."""
        return {
            "fn": self.fn,
            "is_udf": self.is_udf,
            "args": [arg._node for arg in self.args],
            "kwargs": {name: arg._node for name, arg in self.kwargs.items()},
            "text": self.text,
            "outputs": [output.document() for output in self.outputs],
        }

    def read_expression(self, name, columns):
        """The expression of an output that is not stored, over `columns`: the expressions of stored outputs by name.

        None for an iterator of the application, which is read by running it again.
        """
        from appdb.functions._builtin import find

        reader = next(output.reader for output in self.outputs if output.name == name)
        if reader is None:
            return None
        given = self.function.named(self.args, self.kwargs)
        parts = [given[argument] for argument in reader.arguments]
        return find(reader.function)(*parts, *(columns[output] for output in reader.outputs))

    def __repr__(self):
        return f"<iterator call: {self.text}>"
