"""What all iterators are: a function that gives rows, which over columns gives an IteratorCall."""

from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError
from appdb.functions._builtin import hinted_parameters
from appdb.iterators.arguments import BadArgument
from appdb.iterators.calls import IteratorCall
from appdb.udfs.calls import NO_DEFAULT, bind, by_name, has_columns, printed


class Iterator:
    """The base of iterators: an id, a name, the parameters, and `rows`, which makes the rows of one row's values."""

    is_udf = False
    timeout_s = None
    from_json = False  # Values of rows are JSON, which its outputs convert.

    def named(self, args, kwargs):
        """Arguments in canonical form by parameter name."""
        places = [one.name for one in self.parameters if one.goes_by_place]
        return {**dict(zip(places, args)), **kwargs}

    def is_skipped(self, args, kwargs):
        """Whether a null argument of a parameter that is not nullable leaves no rows."""
        nullable = {one.name: one.nullable for one in self.parameters}
        return any(value is None and not nullable.get(name, False) for name, value in self.named(args, kwargs).items())


class LibraryIterator(Iterator):
    """An iterator of the library, declared by `library_iterator`."""

    def __init__(self, python, namespace, examples, outputs, needs, check, constants, own_binding, from_json):
        self.python = python
        self.name = self.__name__ = python.__name__
        self.__doc__ = python.__doc__
        self.id = f"{namespace}.{python.__name__}"
        self.parameters = hinted_parameters(python)
        self.examples = examples
        self.from_json = from_json
        self._outputs = outputs
        self._needs = needs
        self._check = check
        self._constants = constants
        self._own_binding = own_binding

    @property
    def __signature__(self):
        from inspect import signature

        return signature(self.python)

    def rows(self, *args, **kwargs):
        """The rows of one row's values, with stored outputs only."""
        return self.python(*args, **kwargs)

    def __call__(self, *args, **kwargs):
        if Phase.running or not has_columns(args, kwargs):
            return self._whole_rows(args, kwargs)
        if self._own_binding is not None:
            positional, named, outputs = self._own_binding(self, args, kwargs)
            return IteratorCall(self, positional, named, printed(self.name, positional, named), outputs)
        self._refuse_lists(args, kwargs)
        positional, named, _ = bind(self.name, self.parameters, args, kwargs)
        values, by_row = self._values(self.named(positional, named))
        outputs = self._checked(values, by_row)
        self._require(values)
        return IteratorCall(self, tuple(positional), named, printed(self.name, positional, named), outputs)

    def _refuse_lists(self, args, kwargs):
        """Refuses a list for a parameter that is a text of words with commas."""
        texts = [one.name for one in self.parameters if one.kind == "string"]
        for name, value in by_name(self.name, self.parameters, args, kwargs).items():
            if name in texts and isinstance(value, (list, tuple, set)):
                shown = ",".join(str(one) for one in value)
                raise AppFileError(
                    f"{self.name}() takes a text for '{name}', not a {type(value).__name__}.", f'Write {name}="{shown}"'
                )

    def _values(self, given):
        """(constants and defaults by parameter, names of the parameters that differ by row and are None there)."""
        values, by_row = {}, set()
        for parameter in self.parameters:
            expr = given.get(parameter.name)
            if expr is None:
                values[parameter.name] = None if parameter.default is NO_DEFAULT else parameter.default
            elif expr._node["node"] == "literal":
                values[parameter.name] = constant(expr)
            elif parameter.name in self._constants:
                raise AppFileError(
                    f"{self.name}() takes a constant for '{parameter.name}'; {expr._text} differs by row.",
                    "Write the value itself.",
                )
            else:
                values[parameter.name] = None
                by_row.add(parameter.name)
        return values, by_row

    def parts(self, values):
        """(outputs, packages) for constant arguments by parameter name."""
        outputs, needs = ((one(values) if callable(one) else one) for one in (self._outputs, self._needs))
        return outputs, needs

    def _checked(self, values, by_row):
        refused = None
        try:
            if self._check is not None:
                self._check(values, by_row)
            return self.parts(values)[0]
        except BadArgument as error:
            refused = AppFileError(error.detail, error.hint)
        raise refused

    def _require(self, values):
        _, needs = self.parts(values)
        if needs:
            from appdb.declare.packages import require

            require(needs, f"{self.name}()")

    def _whole_rows(self, args, kwargs):
        """The rows with all outputs, as a test or a function of the application wants them."""
        from appdb.functions._builtin import find

        readers = {one.name: one.reader for one in ([] if callable(self._outputs) else self._outputs) if one.reader}
        by_place = [one.name for one in self.parameters if one.mode != "keyword_only"]
        given = {**dict(zip(by_place, args)), **kwargs}
        for row in self.rows(*args, **kwargs):
            for name, reader in readers.items():
                parts = [given[one] for one in reader.arguments] + [row[one] for one in reader.outputs]
                row = {name: find(reader.function).python(*parts), **row}
            yield row

    def __repr__(self):
        return f"<iterator {self.id}>"


def library_iterator(
    namespace, examples, *, outputs, needs=(), check=None, constants=(), binding=None, from_json=False
):
    """Declares an iterator of the library by its generator function, whose hints are its parameters.

    `outputs` is a list of Output, or a function of the constant arguments by name. `needs`: packages, or a function
    like `outputs`. `check(values, by_row)` raises BadArgument; `values` has None for the parameters in `by_row`.
    `constants`: parameters that may not differ by row. `binding(iterator, args, kwargs)` gives the positional and
    named expressions and the outputs of an iterator with arbitrary arguments. `examples` are its tests: positional
    arguments, named ones, and the rows or the class of the exception (python/tests/test_iterator_examples.py).
    """

    def declare(python):
        return LibraryIterator(
            python, namespace, examples, outputs, needs, check, constants, binding, from_json
        )

    return declare


def constant(expr):
    """The Python value of a constant argument."""
    from appdb.kinds import rules
    from appdb.values import decoder

    type, value = expr._node["type"], expr._node["value"]
    if value is None:
        return None
    stored, decode = rules(type["kind"]).from_literal(value, type), decoder(type)
    return stored if decode is None else decode(stored)


def check_output_name(name, where):
    """Raises AppFileError for an output that cannot be a column of a view."""
    from appdb.declare.names import check_column_name

    if name == "pos":
        raise AppFileError(
            f"{where} has the output 'pos', which is the number of the row in every view with an iterator.",
            "Give the output another name.",
        )
    try:
        folded = check_column_name(name)
    except AppFileError as error:
        raise AppFileError(f"{where}: {error.detail}", error.hint) from None
    if folded != name:
        raise AppFileError(f"{where} has the output '{name}'; columns have lower-case names.", f"Call it '{folded}'.")


