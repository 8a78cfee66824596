"""A file edited twice within one second is read in its latest form, with bytecode enabled."""

import json
import os
import subprocess
import sys
import time

from conftest import HEAD, environment

FIRST = HEAD + 'class Docs(Base, name="docs"):\n    a: db.String\n'
SECOND = HEAD + 'class Docs(Base, name="docs"):\n    b: db.String\n'


def ordinary():
    env = environment()
    del env["PYTHONDONTWRITEBYTECODE"]
    return env


def columns(root):
    done = subprocess.run(
        [sys.executable, "-P", "-m", "appdb.manifest", "app.py"],
        cwd=root,
        env=ordinary(),
        capture_output=True,
        timeout=60,
    )
    return [column["name"] for column in json.loads(done.stdout)["tables"][0]["columns"]]


def just_now():
    """A whole second, a little ahead so that a slow machine has time to read both edits."""
    return int(time.time()) + 1


def write(root, text, mtime):
    path = root / "app.py"
    path.write_text(text)
    os.utime(path, (mtime, mtime))


def cached(root):
    return list(root.glob("__pycache__/app.*.pyc"))


def test_of_two_edits_within_one_second_the_second_is_read(tmp_path):
    assert len(FIRST) == len(SECOND)
    now = just_now()
    write(tmp_path, FIRST, now)
    assert columns(tmp_path) == ["a"]
    write(tmp_path, SECOND, now)
    assert columns(tmp_path) == ["b"]


def test_bytecode_that_another_python_left_within_the_second_is_not_read(tmp_path):
    now = just_now()
    write(tmp_path, FIRST, now)
    subprocess.run([sys.executable, "-c", "import app"], cwd=tmp_path, env=ordinary(), check=True, timeout=60)
    assert cached(tmp_path) != []
    write(tmp_path, SECOND, now)
    assert columns(tmp_path) == ["b"]


def test_a_file_at_rest_is_kept_compiled(tmp_path):
    write(tmp_path, FIRST, time.time() - 10)
    assert columns(tmp_path) == ["a"]
    kept = cached(tmp_path)
    assert len(kept) == 1
    before = kept[0].stat().st_mtime_ns
    assert columns(tmp_path) == ["a"]
    assert kept[0].stat().st_mtime_ns == before


def test_the_worker_reads_the_second_edit_too(tmp_path, workers, monkeypatch):
    monkeypatch.setattr("conftest.environment", ordinary)
    document = HEAD + "@db.udf\ndef mark(a: str) -> str:\n    return '{}'\n"
    document += 'class Docs(Base, name="docs"):\n    a: db.String\n    m = mark(a)\n'
    now = just_now()
    answers = []
    for text in "one", "two":
        write(tmp_path, document.format(text), now)
        worker = workers(tmp_path)
        assert worker.first["t"] == "ready", worker.first
        table = manifest(tmp_path)
        worker.define(table["tables"][0], table["functions"])
        values, _, _ = worker.run([["x"]])
        answers.append(values[0]["m"])
    assert answers == ["one", "two"]


def manifest(root):
    done = subprocess.run(
        [sys.executable, "-B", "-P", "-m", "appdb.manifest", "app.py"],
        cwd=root,
        env=environment(),
        capture_output=True,
        timeout=60,
    )
    return json.loads(done.stdout)
