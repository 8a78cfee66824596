"""Iterators of the application: `@db.iterator` on functions and classes, runs, and outputs that are read again."""

import sys

import pytest
from test_iterator_examples import column

from appdb.appfile.sources import Places
from appdb.declare.errors import AppFileError
from appdb.iterators import reading, running
from appdb.iterators.calls import IteratorCall
from appdb.iterators.reading import close_all, read_again
from appdb.iterators.running import MAX_ROWS, run_iterator
from appdb.udfs.called import called_functions, function_documents
from appdb.worker.calling import CellError
from appdb.worker.failures import worker_error
from appdb.worker.loading import loaded


SOURCE = '''
from collections.abc import Generator
from typing import Iterator, TypedDict

import appdb as db

RUNS = []
ENDED = []


class Part(TypedDict):
    text: str
    length: int
    note: str | None


@db.iterator
def parts(text: str, sep: str = " ", *, least: int = 0) -> Iterator[Part]:
    for one in text.split(sep):
        if len(one) >= least:
            yield {"text": one, "length": len(one), "note": None}


class Square(TypedDict):
    n: db.Int
    square: db.Int
    cube: db.Int


@db.iterator(unstored_cols=["cube", "square"])
class Squares:
    def __init__(self, n: int, *, start: int | None = None):
        RUNS.append(n)
        self.at, self.n = start or 0, n

    def __iter__(self):
        return self

    def __next__(self) -> Square:
        if self.at >= self.n:
            raise StopIteration
        self.at += 1
        return {"n": self.at, "square": self.at**2, "cube": self.at**3}

    def close(self):
        ENDED.append(self.n)


class Rows(TypedDict):
    n: int


@db.iterator
class Steps:
    def __init__(self, n: int):
        self.left = n

    def __next__(self) -> Rows:
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return {"n": self.left}

    def close(self):
        ENDED.append("steps")


@db.iterator
class Counted:
    def __init__(self, n: int):
        self.n = n

    def __iter__(self) -> Generator[Rows, None, None]:
        try:
            for n in range(self.n):
                yield {"n": n}
        finally:
            ENDED.append("counted")


@db.iterator
def endless(n: int) -> Iterator[Rows]:
    try:
        while True:
            yield {"n": n}
    finally:
        ENDED.append("endless")


@db.iterator
def odd(kind: str) -> Iterator[Rows]:
    yield {"n": 1}
    if kind == "raises":
        raise KeyError("no such thing")
    if kind == "exits":
        raise SystemExit(3)
    yield {
        "text": {"n": "two"}, "none": {"n": None}, "less": {}, "more": {"n": 2, "m": 3}, "list": [1], "nothing": None,
        "large": {"n": 2**70},
    }[kind]


@db.iterator
def holds_on(n: int) -> Iterator[Rows]:
    try:
        yield {"n": n}
    except GeneratorExit:
        yield {"n": n}
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own_parts.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("own_parts", None)
    import own_parts

    yield own_parts
    close_all()
    del sys.modules["own_parts"]


def run(iterator, *args, **kwargs):
    return list(run_iterator(iterator, args, kwargs, iterator.outputs))


def failure(iterator, *args, **kwargs):
    with pytest.raises(CellError) as caught:
        run(iterator, *args, **kwargs)
    assert caught.value.function == iterator.id
    return caught.value.cause


def test_a_function_has_an_id_parameters_and_outputs(own):
    assert own.parts.id == "own_parts:parts"
    assert [(one.name, str(one.kind), one.mode) for one in own.parts.parameters] == [
        ("text", "string", "positional"),
        ("sep", "string", "positional"),
        ("least", "int", "keyword_only"),
    ]
    assert [(one.name, one.kind, one.nullable, one.stored) for one in own.parts.outputs] == [
        ("text", "string", False, True),
        ("length", "int", False, True),
        ("note", "string", True, True),
    ]
    assert [one["text"] for one in own.parts("a b")] == ["a", "b"]


def test_a_call_over_columns_mixes_columns_constants_and_defaults(own):
    call = own.parts(column("title", "string"), least=column("n", "int"), sep=",")
    assert isinstance(call, IteratorCall) and call.is_udf
    assert (call.fn, call.text) == ("own_parts:parts", "parts(title, sep=',', least=n)")
    assert call._functions == (own.parts,)
    assert call.read_expression("text", {}) is None
    assert own.parts(column("title", "string")).text == "parts(title)"
    document = own.Squares(column("n", "int"), start=None).document()
    assert (document["is_udf"], document["text"]) == (True, "Squares(n, start=None)")
    assert [one["is_stored"] for one in document["outputs"]] == [True, False, False]


def test_arguments_are_checked_as_those_of_functions(own):
    title, n = column("title", "string"), column("n", "int")
    for args, kwargs, words in (
        ((n,), {}, "takes String for 'text'"),
        ((title,), {"widest": 3}, "no argument 'widest'"),
        ((title, " ", 3), {}, "takes 2 positional arguments"),
        ((title, None), {}, "given None for 'sep'"),
        ((), {"sep": title}, "without its argument 'text'"),
    ):
        with pytest.raises(AppFileError) as caught:
            own.parts(*args, **kwargs)
        assert words in caught.value.detail


def test_rows_are_given_one_by_one_in_stored_form(own):
    assert run(own.parts, "a bc") == [
        {"text": "a", "length": 1, "note": None},
        {"text": "bc", "length": 2, "note": None},
    ]
    assert [one["text"] for one in run(own.parts, "a,bc", sep=",", least=2)] == ["bc"]
    assert run(own.parts, None) == []
    rows = run_iterator(own.endless, [7], {}, own.endless.outputs)
    assert [next(rows), next(rows)] == [{"n": 7}, {"n": 7}]
    rows.close()
    assert own.ENDED == ["endless"]


def test_outputs_that_are_not_stored_are_left_out(own):
    assert run(own.Squares, 2) == [{"n": 1}, {"n": 2}]
    assert run(own.Squares, 2, start=1) == [{"n": 2}]
    assert own.ENDED == [2, 2]
    assert run(own.Counted, 2) == [{"n": 0}, {"n": 1}]
    assert own.ENDED == [2, 2, "counted"]
    assert run(own.Steps, 2) == [{"n": 1}, {"n": 0}]
    rows = run_iterator(own.Steps, [9], {}, own.Steps.outputs)
    assert next(rows) == {"n": 8}
    rows.close()
    assert own.ENDED[3:] == ["steps", "steps"]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("text", "the row at pos 1 of odd has str for the output 'n': expected int, got str"),
        ("none", "the row at pos 1 of odd has None for the output 'n'; expected int"),
        ("less", "the row at pos 1 of odd lacks the output 'n'"),
        ("more", "the row at pos 1 of odd has 'm', which is not one of its outputs n"),
        ("list", "the row at pos 1 of odd is list, not a dict"),
        ("nothing", "the row at pos 1 of odd is None, not a dict"),
    ],
)
def test_a_wrong_row_is_named_with_its_output_and_type(own, kind, message):
    assert str(failure(own.odd, kind)) == message
    assert "64 bits" in str(failure(own.odd, "large"))


def test_a_generator_that_raises_is_reported_with_its_line(own, tmp_path):
    error = failure(own.odd, "raises")
    assert isinstance(error, KeyError)
    assert worker_error("own_parts:odd", error, str(tmp_path))["at"] == f"own_parts.py:{line_of('raise KeyError')}"
    assert isinstance(failure(own.odd, "exits"), SystemExit)
    assert isinstance(failure(own.parts, "a", sep=""), ValueError)


def line_of(text):
    return next(number for number, line in enumerate(SOURCE.split("\n"), 1) if text in line)


def test_an_endless_iterator_ends_with_an_error_that_names_it(own, monkeypatch):
    assert MAX_ROWS == 1_000_000
    monkeypatch.setattr(running, "MAX_ROWS", 1_000)
    assert str(failure(own.endless, 1)) == "endless makes more than 1,000 rows of one row; it may never end"
    assert own.ENDED == ["endless"]
    assert len(run(own.Counted, 1_000)) == 1_000


def test_a_generator_is_closed_after_an_error_and_one_that_refuses_is_reported(own):
    rows = run_iterator(own.endless, [7], {}, [*own.endless.outputs, *own.Squares.outputs[1:]])
    with pytest.raises(CellError):
        next(rows)
    assert own.ENDED == ["endless"]
    rows = run_iterator(own.holds_on, [7], {}, own.holds_on.outputs)
    next(rows)
    with pytest.raises(CellError) as caught:
        rows.close()
    assert isinstance(caught.value.cause, RuntimeError)


def read(own, pos, name="square", n=5, **kwargs):
    return read_again(own.Squares, [n], kwargs, own.Squares.outputs, pos, name)


def test_an_output_that_is_not_stored_is_read_by_running_the_iterator_again(own):
    assert [read(own, pos) for pos in (0, 1, 1, 4)] == [1, 4, 4, 25]
    assert [read(own, 4, "cube"), own.RUNS] == [125, [5]]  # One run for rows that ascend.
    assert [read(own, 2), own.RUNS, own.ENDED] == [9, [5, 5], [5]]
    assert [read(own, 0, start=3), own.RUNS] == [16, [5, 5, 5]]
    with pytest.raises(CellError) as caught:
        read(own, 9)
    assert "gives only 5 rows now, and none at pos 9" in str(caught.value.cause)


def test_open_iterators_are_bounded(own):
    for n in range(1, 9):
        read(own, 0, n=n)
    assert len(reading._open) == reading.MAX_OPEN == 4
    assert own.ENDED == [1, 2, 3, 4]
    close_all()
    assert own.ENDED == [1, 2, 3, 4, 5, 6, 7, 8] and not reading._open


def test_arguments_that_are_costly_to_compare_keep_nothing_open(own, tmp_path):
    (tmp_path / "own_tiles.py").write_text(
        "from typing import Iterator, TypedDict\nimport appdb as db\n"
        "class Tile(TypedDict):\n    n: int\n    size: db.Json\n"
        "@db.iterator(unstored_cols=['size'])\ndef tiles(image: db.Image, options: dict) -> Iterator[Tile]:\n"
        "    yield {'n': 1, 'size': list(image.size)}\n"
    )
    import media_samples
    import own_tiles

    image = media_samples.image("L 4x2 7")
    assert read_again(own_tiles.tiles, [image, {}], {}, own_tiles.tiles.outputs, 0, "size") == "[4,2]"
    assert not reading._open
    read_again(own_tiles.tiles, [image, {}], {}, own_tiles.tiles.outputs, 0, "size")


def test_a_manifest_and_a_worker_find_the_iterator(own, tmp_path):
    call = own.parts(column("title", "string"))
    found = called_functions([("V", call)])
    assert found == {"own_parts:parts": own.parts}
    places, path = Places(str(tmp_path)), str((tmp_path / "own_parts.py").resolve())
    (document,) = function_documents(found, places, {path: "own_parts.py"})
    assert (document["kind"], document["name"], document["result"]["type"]) == ("iterator", "parts", {"kind": "json"})
    assert document["source"] == {"file": "own_parts.py", "line": line_of("def parts") - 1}
    assert [one["name"] for one in document["parameters"]] == ["text", "sep", "least"]
    of_class = called_functions([("V", own.Squares(column("n", "int")))])
    (of_class,) = function_documents(of_class, places, {path: "own_parts.py"})
    assert of_class["source"]["line"] == line_of("class Squares") - 1
    assert of_class["digest"] != document["digest"]
    assert loaded({"id": "own_parts:parts", "module": "own_parts", "name": "parts"}) is own.parts
    assert loaded({"id": "own_parts:Squares", "module": "own_parts", "name": "Squares"}) is own.Squares


def test_a_file_declares_iterators_and_uses_them_over_columns(project):
    project.write(parts=SOURCE)
    source = """
    from parts import Squares, parts

    class A(Base, name='a'):
        title: db.String
        n: db.Int

    call = parts(A.title, sep=',')
    assert call.fn == 'parts:parts' and call._reads == (A.title,)
    assert [one.name for one in Squares(A.n).outputs] == ['n', 'square', 'cube']
    """
    assert project.manifest(source)["tables"][0]["name"] == "a"
