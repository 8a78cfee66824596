"""The examples of each function of the library are its tests: over plain values, over columns, and as a method."""

import base64
import dis
import importlib
import io
import json

import media_samples
import pytest
from conftest import Project, Worker, compute_rows

from appdb.functions import _NAMESPACES
from appdb.values import decoder, encoder, to_json

COLUMNS = {
    "string": "db.String",
    "int": "db.Int",
    "float": "db.Float",
    "bool": "db.Bool",
    "timestamp": "db.Timestamp",
    "date": "db.Date",
    "uuid": "db.UUID",
    "json": "db.Json",
    "array": "db.Array['float64']",
    "image": "db.Image",
    "video": "db.Video",
    "audio": "db.Audio",
    "document": "db.Document",
}
MEDIA = ("image", "video", "audio", "document")
LISTED = ("video.concat_videos",)  # These take a list of columns of media.
CHECKED = ("resized", "reduced", "converted")  # Wrong constants of these are refused while the file is read.
PLAIN = ("video.segment_video",)  # These have no result that a column holds.
ARRAY = {"kind": "array", "dtype": "float64", "shape": None}


def functions_of(namespace):
    return importlib.import_module(f"appdb.functions.{namespace}").FUNCTIONS.values()


class Example:
    """One example of a function: `args` and `wanted` in stored form, `kinds` those of the columns for them."""

    def __init__(self, function, example, number):
        *args, wanted = example
        if function.id in LISTED:
            args = args[0]
        self.function = function
        self.constants = args
        self.kinds = [kind_of(function, place, arg) for place, arg in enumerate(args)]
        self.args = [stored(kind, arg) for kind, arg in zip(self.kinds, args)]
        self.wanted = wanted if type(wanted) is type or function.kind in MEDIA else stored(function.kind, wanted)
        # Functions of media are slow: each example has its own columns, which are null for the others.
        self.columns = [f"{kind}_{n}_{number}" if kind in MEDIA else f"{kind}_{n}" for n, kind in enumerate(self.kinds)]

    def over_columns(self):
        fixed = [one.name for one in self.function.parameters if one.name in self.function.constants]
        by_place = () if self.function.id in LISTED else self.function.parameters
        names = [one.name for one in by_place] + [None] * len(self.columns)
        texts = [repr(c) if name in fixed else column for name, c, column in zip(names, self.constants, self.columns)]
        return self.called(texts, is_method=False)

    def over_first(self):
        """The first argument as a column, the others as constants where such exist; as a method if it is one."""
        if self.wanted is ValueError and self.function.result in CHECKED:
            return self.over_columns()
        texts = [
            column if kind in (*MEDIA, "array") else repr(constant)
            for kind, constant, column in zip(self.kinds, self.constants, self.columns)
        ]
        return self.called([self.columns[0], *texts[1:]], self.function.is_method)

    def named(self):
        """The names of keyword-only parameters by place."""
        if self.function.id in LISTED:
            return {}
        return {place: one.name for place, one in enumerate(self.function.parameters) if one.mode == "keyword_only"}

    def called(self, arguments, is_method):
        """The call; keyword-only parameters are named."""
        named = self.named()
        texts = [f"{named[place]}={text}" if place in named else text for place, text in enumerate(arguments)]
        if self.function.id in LISTED:
            texts = [f"[{', '.join(texts)}]"]
        called = f"fn.{self.function.id}({', '.join(texts)})"
        if self.function.is_property:
            called = f"{texts[0]}.{self.function.name}"
        elif is_method:
            called = f"{texts[0]}.{self.function.name}({', '.join(texts[1:])})"
        return f"{called}.b64_encode()" if self.function.kind == "image" else called  # Without loss.

    def plain(self):
        """The result of a call over plain values in stored form, or the error of the call or of storing."""
        values = [arg if arg is None else read(kind, arg) for kind, arg in zip(self.kinds, self.args)]
        named = self.named()
        positional = [value for place, value in enumerate(values) if place not in named]
        if self.function.id in LISTED:
            positional = [positional]
        try:
            result = self.function(
                *positional, **{named[place]: values[place] for place in named if place < len(values)}
            )
            if self.function.kind in MEDIA:
                return None if result is None else media_samples.shown(self.function.kind, result)
            return None if result is None else encoder(self.function.kind)(result)
        except Exception as error:
            return error


def kind_of(function, place, arg):
    if function.id in LISTED:
        return "video"
    if place >= len(function.parameters):  # An arbitrary argument.
        return "int" if type(arg) is int else "string"
    kind = function.parameters[place].kind
    return "int" if kind == "float" and type(arg) is int else kind


def stored(kind, value):
    if kind in MEDIA and value is not None:
        return media_samples.stored(kind, value)
    if value is None or kind not in ("json", "array"):
        return value
    return to_json(value) if kind == "json" else encoder(ARRAY)(value)


def read(kind, value):
    decode = decoder(ARRAY if kind == "array" else kind)
    return value if decode is None else decode(value)


EXAMPLES = {
    namespace: [
        Example(function, one, number)
        for function in functions_of(namespace)
        for number, one in enumerate(function.examples, 100 * list(functions_of(namespace)).index(function))
    ]
    for namespace in _NAMESPACES
}
ALL = [pytest.param(name, n, id=f"{one.function.id}-{n}") for name in EXAMPLES for n, one in enumerate(EXAMPLES[name])]


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """By namespace and example: a worker's results for its two expressions, and for the second one with nulls."""
    return {name: compute(tmp_path_factory.mktemp(name), examples) for name, examples in EXAMPLES.items()}


def compute(root, declared):
    examples = [one for one in declared if one.function.id not in PLAIN]
    types = {column: COLUMNS[kind] for one in examples for column, kind in zip(one.columns, one.kinds)}
    expressions = [text for one in examples for text in (one.over_columns(), one.over_first())]
    columns = [f"    {column}: {type} | None\n" for column, type in types.items()]
    steps = [f"    x{n} = {text}\n" for n, text in enumerate(expressions)]
    source = "class A(Base, name='a'):\n" + "".join(columns + steps)
    given = [dict(zip(one.columns, one.args)) for one in examples] + [{}]
    rows = [[cells.get(column) for column in types] for cells in given]
    started = []

    def start(folder):
        started.append(Worker(folder, ["app"]))
        return started[0]

    try:
        values, errors = compute_rows(Project(root), start, source, rows)
    finally:
        for worker in started:
            worker.close()

    def cell(row, step):
        found = (errors[row] or {}).get(f"x{step}", values[row][f"x{step}"])
        kind = examples[step // 2].function.kind
        if type(found) is not str or kind not in MEDIA:
            return found
        if kind != "image":
            return media_samples.shown(kind, json.loads(found)["path"])
        from PIL import Image

        return media_samples.shown(kind, Image.open(io.BytesIO(base64.b64decode(found))))

    found = {one: (cell(n, 2 * n), cell(n, 2 * n + 1), cell(-1, 2 * n + 1)) for n, one in enumerate(examples)}
    return [found.get(one, (None, None, None)) for one in declared]


@pytest.mark.parametrize(("namespace", "n"), ALL)
def test_gives(computed, namespace, n):
    example = EXAMPLES[namespace][n]
    plain = example.plain()
    if example.function.id in PLAIN:
        assert isinstance(plain, example.wanted)
        return
    for result in computed[namespace][n][:2]:
        if type(example.wanted) is type:
            assert isinstance(plain, example.wanted)
            assert (result["type"], result["message"]) == (type(plain).__name__, str(plain))
        else:
            assert [repr(result), repr(plain)] == [repr(example.wanted)] * 2


@pytest.mark.parametrize(("namespace", "n"), ALL)
def test_null_gives_null_where_it_is_not_an_argument(computed, namespace, n):
    example = EXAMPLES[namespace][n]
    if not example.function.parameters[0].nullable:
        assert computed[namespace][n][2] is None


@pytest.mark.parametrize("namespace", _NAMESPACES)
def test_every_function_has_examples(namespace):
    for function in functions_of(namespace):
        generates = not function.parameters
        assert (len(function.examples) == 0) == generates, function
        if not generates and function.parameters[0].nullable:
            assert any(one[0] is None for one in function.examples), f"{function} has no example of null"


@pytest.mark.parametrize("namespace", _NAMESPACES)
def test_a_body_calls_python_s_own_function_where_ours_has_its_name(namespace):
    ours = {function.name for function in functions_of(namespace)}
    module = vars(importlib.import_module(f"appdb.functions.{namespace}"))
    own = [one for one in module.values() if getattr(one, "__module__", None) == f"appdb.functions.{namespace}"]
    bodies = [*(one for one in own if hasattr(one, "__code__")), *(one.python for one in functions_of(namespace))]
    for body in bodies:
        shadowed = globals_of(body.__code__) & ours
        assert not shadowed, f"{body.__name__} calls {shadowed} of ours; write builtins.{min(shadowed)}"


def globals_of(code):
    names = {one.argval for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL"}
    return names.union(*(globals_of(part) for part in code.co_consts if hasattr(part, "co_code")))
