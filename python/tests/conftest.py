"""Projects in temporary folders, with the manifest writer and the worker as processes. All end with the test."""

import json
import os
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import msgpack
import pytest

LIBRARY = Path(__file__).resolve().parents[1]
HEAD = """
import appdb as db
import appdb.functions as fn
from appdb.functions import upper, uuid7
from appdb.serving import Router

Base = db.model_base()
"""


def texts(table):
    """The printed form of each column of a table in a manifest; None for a stored one."""
    return {column["name"]: column["computed"] and column["computed"]["text"] for column in table["columns"]}


def environment(**more):
    msgpack_folder = str(Path(msgpack.__file__).resolve().parents[1])
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return {**env, "PYTHONPATH": f"{LIBRARY}{os.pathsep}{msgpack_folder}", "PYTHONDONTWRITEBYTECODE": "1", **more}


class Project:
    def __init__(self, root):
        self.root = root

    def write(self, **files):
        for name, text in files.items():
            path = self.root / (name.replace("__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")

    def run(self, app="app.py", *options, cwd=None):
        return subprocess.run(
            [sys.executable, "-P", "-m", "appdb.manifest", *options, app],
            cwd=cwd or self.root,
            env=environment(),
            capture_output=True,
            timeout=60,
        )

    def manifest(self, source=None, head=HEAD, app="app.py"):
        if source is not None:
            self.write(app=textwrap.dedent(head) + textwrap.dedent(source))
        done = self.run(app)
        document = json.loads(done.stdout)
        assert "error" not in document, document
        assert done.returncode == 0, done.stderr
        return document

    def error(self, source=None, head=HEAD, app="app.py"):
        if source is not None:
            self.write(app=textwrap.dedent(head) + textwrap.dedent(source))
        done = self.run(app)
        assert done.returncode == 1, done.stdout
        error = json.loads(done.stdout)["error"]
        assert set(error) == {"code", "detail", "hint", "source", "written"}
        assert error["detail"].strip() and error["hint"].strip()
        assert str(self.root) not in json.dumps(error), "a path of the machine is told"
        return error

    def table(self, source, name=None):
        tables = self.manifest(source)["tables"]
        return tables[0] if name is None else next(table for table in tables if table["name"] == name)

    def columns(self, source):
        return {column["name"]: column for column in self.table(source)["columns"]}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def init_frame(root, modules=(), memory=512 << 20):
    """The first frame that a worker gets."""
    return {
        "t": "init",
        "protocol": 1,
        "project_root": str(root),
        "modules": [*modules],
        "memory_bytes": memory,
        "function_timeout_ms": 30_000,
        "http": None,
    }


def send_frame(stream, frame):
    body = msgpack.packb(frame)
    stream.write(struct.pack(">I", len(body)) + body)
    stream.flush()


class Worker:
    """The engine's side of one worker process."""

    def __init__(self, root, modules, memory=512 << 20, project_root=None):
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "appdb.worker"],
            cwd=root,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.send(init_frame(project_root or root, modules, memory))
        self.beats = []
        self.first = self.receive()
        self.calls = 0

    def send(self, frame):
        send_frame(self.process.stdin, frame)

    def receive(self):
        """The next frame; beats are kept separately."""
        while True:
            head = self.process.stdout.read(4)
            if len(head) < 4:
                raise EOFError(self.process.stderr.read().decode(errors="replace"))
            frame = msgpack.unpackb(self.process.stdout.read(struct.unpack(">I", head)[0]))
            if frame["t"] != "beat":
                return frame
            self.beats.append(frame)

    def receive_raw(self):
        """Like receive, without the buffer of the pipe object, so that `select` is accurate. Returns beats too."""
        head = self._exactly(4)
        return msgpack.unpackb(self._exactly(struct.unpack(">I", head)[0]))

    def _exactly(self, size):
        data = b""
        while len(data) < size:
            data += os.read(self.process.stdout.fileno(), size - len(data)) or self._ended()
        return data

    def _ended(self):
        raise EOFError(self.process.stderr.read().decode(errors="replace"))

    def counts(self):
        """Counts by function: the sum of the beats so far."""
        total = {}
        for beat in self.beats:
            for name, counts in beat["functions"].items():
                of = total.setdefault(name, dict.fromkeys(counts, 0))
                for key, value in counts.items():
                    of[key] = value if key == "running" else of[key] + value
        return total

    def define(self, table, functions, graph=1):
        """Defines the graph of all computed columns of a manifest's table."""
        stored = [c for c in table["columns"] if c["computed"] is None]
        computed = [c for c in table["columns"] if c["computed"] is not None]
        self.steps = [c["name"] for c in computed]
        pick = ("name", "type", "nullable")
        self.send(
            {
                "t": "graph",
                "graph": graph,
                "inputs": [{key: c[key] for key in pick} for c in stored],
                "steps": [{**{key: c[key] for key in pick}, "expr": c["computed"]["expr"]} for c in computed],
                "functions": [{key: f[key] for key in ("id", "module", "name")} for f in functions],
            }
        )

    def start(self, columns, n=None, graph=1):
        self.calls += 1
        n = len(columns[0]) if n is None else n
        self.send({"t": "run", "call": self.calls, "graph": graph, "n": n, "columns": columns})
        return self.calls

    def run(self, columns, n=None, graph=1):
        """Returns (rows by number: values by step, errors by number, the frames)."""
        call = self.start(columns, n, graph)
        values, errors, frames = {}, {}, []
        while True:
            frame = self.receive()
            frames.append(frame)
            assert frame["call"] == call
            if frame["t"] == "done":
                return values, errors, frames
            if frame["t"] == "rows":
                for k, row in enumerate(frame["rows"]):
                    values[row] = {name: frame["columns"][s][k] for s, name in enumerate(self.steps)}
                    if frame["errors"] and frame["errors"][k]:
                        errors[row] = frame["errors"][k]

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.stderr = self.process.stderr.read().decode(errors="replace")
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()
        return self.process.returncode


@pytest.fixture
def workers():
    started = []

    def start(root, modules=("app",), **options):
        worker = Worker(root, list(modules), **options)
        started.append(worker)
        return worker

    yield start
    for worker in started:
        if worker.process.poll() is None:
            worker.process.kill()
            worker.process.wait()
        for pipe in (worker.process.stdin, worker.process.stdout, worker.process.stderr):
            pipe.close()


def compute_rows(project, worker_of, source, rows):
    """Declares a table and computes rows of its inputs in a worker: ([values], [errors or None])."""
    document = project.manifest(source)
    worker = worker_of(project.root)
    assert worker.first["t"] == "ready", worker.first
    worker.define(document["tables"][0], document["functions"])
    inputs = len([c for c in document["tables"][0]["columns"] if c["computed"] is None])
    values, errors, _ = worker.run([[row[n] for row in rows] for n in range(inputs)], len(rows))
    return [values[n] for n in range(len(rows))], [errors.get(n) for n in range(len(rows))]


@pytest.fixture
def compute(project, workers):
    return lambda source, *rows: compute_rows(project, workers, source, rows)


def compute_cases(root, head, cases):
    """Computes many cases at once, (expression, row) each: the value, or the error as a dict, of each."""
    body = "".join(f"    x{number} = {expression}\n" for number, (expression, _) in enumerate(cases))
    worker = None

    def start(folder):
        nonlocal worker
        worker = Worker(folder, ["app"])
        return worker

    try:
        values, errors = compute_rows(Project(root), start, head + body, [row for _, row in cases])
    finally:
        if worker is not None:
            worker.close()
    return [(errors[n] or {}).get(f"x{n}", values[n][f"x{n}"]) for n in range(len(cases))]
