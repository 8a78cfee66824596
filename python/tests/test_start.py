"""The modules that the manifest writer loads, and its handling of streams: every command waits for its start."""

import json
import subprocess
import sys

from conftest import environment

# Each takes 1 to 10 ms to load.
SLOW = {"re", "enum", "json", "typing", "dataclasses", "inspect", "ast", "functools", "importlib", "hashlib", "uuid"}

APP = '''
import sys

import appdb as db
from appdb.functions import upper, uuid7
from appdb.serving import Router

Base = db.model_base()


@db.udf
def short(text: str, length: int = 3) -> str:
    return text[:length]


class Docs(Base, name="docs"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    year: db.Int | None
    loud = upper(title)
    start = short(title, length=4)
    __indexes__ = [db.BtreeIndex(title)]


ingest = Router()
ingest.add_insert_route(Docs, path="/docs", inputs=[Docs.title], outputs=[Docs.id, Docs.loud])

import atexit

atexit.register(lambda: print("LOADED", *sys.modules, file=sys.stderr))
'''


def write(root, *options, **streams):
    (root / "app.py").write_text(APP)
    return subprocess.run(
        [sys.executable, "-S", "-P", *options, "app.py"], cwd=root, env=environment(), timeout=60, **streams
    )


def test_reading_a_file_loads_no_slow_module(tmp_path):
    done = write(tmp_path, "-c", "from appdb.manifest import run; run()", capture_output=True, text=True)
    assert len(json.loads(done.stdout)["tables"]) == 1
    (loaded,) = [line for line in done.stderr.splitlines() if line.startswith("LOADED")]
    assert SLOW & set(loaded.split()) == set()


def test_both_ways_to_start_it_write_the_same(tmp_path):
    by_name = write(tmp_path, "-m", "appdb.manifest", capture_output=True)
    by_text = write(tmp_path, "-c", "from appdb.manifest import run; run()", capture_output=True)
    assert by_name.stdout == by_text.stdout != b""


def test_stdout_may_be_a_file_and_stderr_a_pipe(tmp_path):
    with open(tmp_path / "manifest.json", "wb") as file:
        done = write(tmp_path, "-m", "appdb.manifest", stdout=file, stderr=subprocess.PIPE)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert json.loads((tmp_path / "manifest.json").read_text())["app_file"] == "app.py"


def test_the_document_is_plain_ascii_and_has_no_nan():
    from appdb.appfile.json import dumps

    document = {"a": [1, -2.5, True, False, None, "ä\n\"\\\u2028\ud83d"], "b": {}, "c": []}
    assert dumps(document) == json.dumps(document, separators=(",", ":"))
    for value in float("nan"), float("inf"):
        try:
            dumps({"a": value})
        except ValueError:
            continue
        raise AssertionError("JSON has no such number")


def test_the_public_names_are_listed_for_completion():
    import appdb

    assert {"Column", "String", "model_base", "query", "functions", "serving"} <= set(dir(appdb))


CALLS = '''
import sys

import appdb as db
from appdb.functions.document import document_splitter
from appdb.functions.json import list_iterator
from appdb.functions.video import frame_iterator

Base = db.model_base()


class Docs(Base, name="docs"):
    file: db.Document
    film: db.Video
    rows: db.Json[list[{"a": db.Int}]]


calls = [document_splitter(Docs.file, "heading"), frame_iterator(Docs.film), list_iterator(Docs.rows)]
print(*sys.modules)
'''


def test_a_call_of_an_iterator_loads_nothing_that_only_runs_need(tmp_path):
    (tmp_path / "app.py").write_text(CALLS)
    done = subprocess.run(
        [sys.executable, "-S", "-P", "app.py"], cwd=tmp_path, env=environment(), timeout=60, capture_output=True, text=True
    )
    loaded = set(done.stdout.split())
    assert "appdb.iterators.library" in loaded, done.stderr
    assert (SLOW | {"fractions", "av", "PIL"}) & loaded <= {"importlib"}  # Which looks for the packages of media.
    media = {one for one in loaded if one.startswith("appdb.media") and one != "appdb.media"}
    assert media | ({"appdb.iterators.frames", "appdb.iterators.documents"} & loaded) == set()
