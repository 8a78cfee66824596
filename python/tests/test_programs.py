"""Functions of a program: how requests send them, and how workers load them."""

import base64
import functools
import hashlib
import re
import subprocess
import sys
import threading
from typing import Iterator, TypedDict

import pytest

import appdb as db
from appdb.client.programs import import_folders
from conftest import environment
from fake_database import definition
from test_client import docs, server  # noqa: F401

LOADER = "from appdb.worker.programs import load\n\nload(globals())\n"
SUFFIX = "!"
WORD = re.compile("[a-z]+")
LOCK = threading.Lock()


def words_of(text):
    return WORD.findall(text.lower())


@db.udf
def summarize(text: str, *, end: str = ".") -> str:
    return " ".join(words_of(text)) + SUFFIX + end


@db.udf
def locked(text: str) -> str:
    with LOCK:
        return text


def make(prefix):
    @db.udf
    def prefixed(text: str) -> str:
        return prefix + text

    return prefixed


@db.udf
async def measured(text: str) -> int:
    return len(text)


@db.udf(batch_size=2)
def batched(text: db.Batch[str]) -> db.Batch[db.Array[(2,), "int64"]]:
    import numpy

    return [numpy.array([len(one), 1]) for one in text]


@db.udf
def either(text: str) -> str:
    return text + " as text"


@either.overload
def either_number(number: int) -> str:
    return f"{number} as number"


class Part(TypedDict):
    word: str


@db.iterator
def parts(text: str) -> Iterator[Part]:
    for word in words_of(text):
        yield {"word": word}


def change_of(server, docs, **column):
    server.events = [{"event": "done", "plan": {"tables": []}}]
    docs.add_computed_column(if_exists="ignore", **column)
    return server.bodies("/changes")[-1]


def store(folder, body):
    """Writes the modules of a request as the daemon does; returns their names."""
    names = []
    for content in body["program"]["modules"]:
        name = "appdb_program_" + hashlib.sha256(base64.b64decode(content)).hexdigest()[:32]
        (folder / f"{name}.content").write_text(content)
        (folder / f"{name}.py").write_text(LOADER)
        names.append(name)
    return names


def compute(workers, folder, body, *titles):
    """Computes the first column of a change over titles: ([values], [errors])."""
    modules = {function["module"] for function in body["functions"]}
    worker = workers(folder, modules)
    assert worker.first["t"] == "ready", worker.first
    title = {"name": "title", "type": {"kind": "string"}, "nullable": False, "computed": None}
    worker.define({"columns": [title, *body["change"]["columns"]]}, body["functions"])
    values, errors, _ = worker.run([list(titles)])
    name = body["change"]["columns"][0]["name"]
    return [values[n][name] for n in range(len(titles))], [errors.get(n, {}).get(name) for n in range(len(titles))]


def test_a_function_is_sent_with_the_values_that_it_uses(server, docs, workers, tmp_path):
    body = change_of(server, docs, short=summarize(docs.title, end="?"))
    (name,) = store(tmp_path, body)
    (function,) = body["functions"]
    assert (function["id"], function["module"], function["name"]) == (f"{name}:summarize", name, "summarize")
    assert body["change"]["columns"][0]["computed"]["expr"]["function"] == f"{name}:summarize"
    assert compute(workers, tmp_path, body, "Hello 1 World") == (["hello world!?"], [None])


def test_its_name_is_the_same_until_a_value_changes(server, docs, monkeypatch):
    def name():
        return change_of(server, docs, short=summarize(docs.title))["functions"][0]["id"]

    before = name()
    assert name() == before
    monkeypatch.setattr(sys.modules[__name__], "SUFFIX", "?")
    assert name() != before


def test_two_functions_of_one_name_stay_apart(server, docs, workers, tmp_path):
    first, second = make("1 "), make("2 ")
    body = change_of(server, docs, both=first(docs.title) + second(docs.title))
    assert len(store(tmp_path, body)) == 2
    assert compute(workers, tmp_path, body, "x") == (["1 x2 x"], [None])


@functools.lru_cache(maxsize=8)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@functools.singledispatch
def shape(value):
    return "one"


@shape.register
def _(value: list):
    return [shape(one) for one in value]


class Words:
    def __init__(self, text):
        self.text = text

    @functools.cached_property
    def first(self):
        return self.text.split()[0]

    @functools.cache
    def ending(self, end):
        return self.first + end


twice = functools.partial(lambda times, text: text * times, 2)


@db.udf
def wrapped(text: str) -> str:
    fibonacci.cache_clear()
    words = Words(text)
    return f"{fibonacci(20)} {fibonacci.cache_parameters()['maxsize']} {shape([1])} {words.ending('!')} {twice(text)}"


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda t: measured(t), 3),
        (lambda t: either(t), "abc as text"),
        (lambda t: either(measured(t)), "3 as number"),
        (lambda t: t.apply(lambda text: text[::-1], db.String), "cba"),
        (lambda t: make("> ")(t), "> abc"),
        (lambda t: wrapped(t), "6765 8 ['one'] abc! abcabc"),
    ],
)
def test_a_kind_of_function_works(server, docs, workers, tmp_path, call, value):
    body = change_of(server, docs, x=call(docs.title))
    store(tmp_path, body)
    assert compute(workers, tmp_path, body, "abc") == ([value], [None])


def test_a_batched_function_returns_arrays(server, docs, workers, tmp_path):
    pytest.importorskip("numpy")
    body = change_of(server, docs, x=batched(docs.title))
    store(tmp_path, body)
    values, errors = compute(workers, tmp_path, body, "abc", "d")
    assert errors == [None, None] and len({str(value) for value in values}) == 2


def test_an_iterator_is_sent_with_its_view(server, docs):
    server.tables["parts"] = definition("parts", view={"base": "docs", "filter": None, "columns": None})
    db.create_view("main/parts", docs, iterator=parts(docs.title))
    body = server.bodies("/changes")[-1]
    (function,) = body["functions"]
    assert function["module"].startswith("appdb_program_") and function["kind"] == "iterator"
    assert len(body["program"]["modules"]) == 1


def test_a_query_sends_its_functions(server, docs):
    server.result({"x": "string"}, [["a!"]])
    docs.select(x=summarize(docs.title)).collect()
    body = server.bodies("/query")[-1]
    assert body["query"]["select"][0]["expr"]["function"] == body["functions"][0]["id"]
    assert body["program"]["pid"] > 0


def test_a_value_that_cannot_be_sent_is_named(docs):
    with pytest.raises(db.Error) as told:
        docs.add_computed_column(x=locked(docs.title))
    assert "locked cannot be sent to a worker, because it uses 'LOCK' (_thread.lock)" in told.value.detail
    assert "functions.py" in told.value.hint


def test_a_lacking_package_is_named_with_what_to_install(docs, monkeypatch):
    call = make("1")(docs.title)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(db.Error) as told:
        docs.add_computed_column(x=call)
    assert told.value.code == "environment_failed"
    assert "prefixed" in told.value.detail and "pip install 'appdb[data]'" in told.value.hint


def test_a_function_that_went_fails_its_own_column(server, docs, workers, tmp_path):
    body = change_of(server, docs, x=summarize(docs.title))
    values, (error,) = compute(workers, tmp_path, body, "abc")
    assert values == [None]
    assert (error["kind"], error["type"]) == ("missing", "ProgramEnded")
    assert error["message"] == "it was defined in a notebook or program that has ended"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"appdb 3.2\n", "it was defined with Python 3.2, and the functions of this table run with Python"),
        (b"appdb %d.%d\nnonsense" % sys.version_info[:2], "it cannot be loaded: UnpicklingError"),
        (b"appdb %d.%d\ncno_such_package\nf\n." % sys.version_info[:2], "it needs the module no_such_package"),
    ],
)
def test_content_that_cannot_be_loaded_fails_the_call_alone(server, docs, workers, tmp_path, content, message):
    body = change_of(server, docs, x=summarize(docs.title))
    (name,) = store(tmp_path, body)
    (tmp_path / f"{name}.content").write_text(base64.b64encode(content).decode())
    _, (error,) = compute(workers, tmp_path, body, "abc")
    assert error["kind"] == "missing" and error["message"].startswith(message), error


def test_folders_of_the_program_are_sent_without_those_of_python(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(tmp_path))
    found = import_folders()
    assert str(tmp_path.resolve()) in found
    assert not [folder for folder in found if "site-packages" in folder or folder.startswith(sys.base_prefix + "/lib")]


def test_a_started_file_declares_functions(project):
    import subprocess

    project.write(app="import appdb as db\n@db.udf\ndef f(n: int) -> int:\n    return n + 1\nprint(f(1), f)\n")
    done = subprocess.run([sys.executable, "app.py"], cwd=project.root, env=environment(), capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith(b"2 <udf appdb_program_"), done.stderr


def test_a_program_sends_the_same_content_in_each_run(project):
    project.write(
        run="""
            import appdb as db
            from appdb.client.programs import Sent

            @db.udf
            def loud(text: str) -> str:
                return text.upper()

            print(*Sent(loud.overloads).modules())
            """
    )
    run = [sys.executable, str(project.root / "run.py")]
    first, second = (subprocess.run(run, env=environment(), capture_output=True, text=True) for _ in range(2))
    assert first.stdout == second.stdout != "", first.stderr
