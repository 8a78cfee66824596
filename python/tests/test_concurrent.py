"""Async and batched functions, resource pools, queries and aggregates in the worker process."""

import json
import queue
import signal
import time
from types import SimpleNamespace

import pytest

from appdb.worker.concurrent import INLINE
from appdb.worker.flow import Flow

FUNCTIONS = """
import asyncio, time, os
db.ResourcePool("api", max_concurrent=3, retries=2)
calls = []
@db.udf
async def slow(n: int) -> str:
    await asyncio.sleep(5 if n == 7 else 0.01)
    return f"s{n}"
@db.udf(timeout=1)
async def hasty(n: int) -> int:
    if n == 1: await asyncio.sleep(30)
    if n == 2: raise ValueError("no two")
    if n == 3: raise SystemExit(3)
    if n == 4: return "four"
    if n == 5:
        try: await asyncio.sleep(30)
        except asyncio.CancelledError: return 5
    return n
@db.udf(timeout=1)
async def stuck(n: int) -> int:
    if n == 1: time.sleep(30)
    return n
@db.udf(timeout=1)
async def stubborn(n: int) -> int:
    while True:
        try: await asyncio.sleep(30)
        except asyncio.CancelledError: pass
@db.udf(timeout=1)
def late(n: int) -> int:
    if n == 1: time.sleep(30)
    return n
@db.udf(batch_size=4)
def lengths(texts: db.Batch[str], plus: int = 0) -> db.Batch[int]:
    calls.append(len(texts))
    if "bad" in texts: raise ValueError(f"bad among {len(texts)}")
    if "short" in texts: return [1]
    return [len(text) + plus for text in texts]
@db.udf(batch_size=100)
async def doubled(ns: db.Batch[int]) -> db.Batch[int]:
    await asyncio.sleep(0.01)
    return [n * 2 for n in ns]
@db.udf
def batches(n: int) -> str:
    return str(calls)
class Refused(Exception):
    def __init__(self, status, after=None):
        super().__init__(f"refused with {status}")
        self.status_code = status
        self.response = type("Response", (), {"headers": {} if after is None else {"retry-after": after}})()
tried = {}
@db.udf(resource_pool="api")
def asked(n: int) -> str:
    tried[n] = tried.get(n, 0) + 1
    if n == 1 and tried[n] == 1: raise Refused(429, "7")
    if n == 2: raise Refused(503)
    if n == 3: raise Refused(400)
    if n == 4 and tried[n] == 1: raise TimeoutError("read timed out")
    if n == 5: raise Refused(429, "9999")
    return f"answer {n} at try {tried[n]}"
@db.udf
def plain(text: str) -> str:
    return text + "!"
"""
TABLE = "class A(Base, name='a'):\n    n: db.Int\n"


@pytest.fixture(autouse=True)
def patience():
    """Ends a test that waits for a missing frame."""

    def give_up(*_):
        raise TimeoutError("no frame came for 120 s")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(120)
    yield
    signal.alarm(0)


@pytest.fixture
def begun(project, workers):
    def begin(body, functions=FUNCTIONS, table=TABLE):
        document = project.manifest(functions + table + body)
        started = workers(project.root)
        assert started.first["t"] == "ready", started.first
        started.define(document["tables"][0], document["functions"])
        return started

    return begin


def collect(worker, count, answer=None):
    """Rows in order of arrival, with their values and errors, and the other frames."""
    rows, others = {}, []
    while len(rows) < count:
        frame = worker.receive()
        if frame["t"] == "acquire" and answer is None:
            others.append(frame)
            worker.send({"t": "grant", "ask": frame["ask"]})
        elif frame["t"] == "query":
            worker.send({"t": "answer", "ask": frame["ask"], **answer(frame)})
        elif frame["t"] == "rows":
            for k, row in enumerate(frame["rows"]):
                values = {name: frame["columns"][s][k] for s, name in enumerate(worker.steps)}
                rows[row] = (values, (frame["errors"] or [None] * 99)[k] if frame["errors"] else None)
        else:
            others.append(frame)
    return rows, others


def test_the_worker_says_what_it_must_be_told_apart_by(begun):
    ready = begun("    s = slow(n)\n").first
    told = {function["id"]: function for function in ready["functions"]}
    assert told["app:lengths"] == {
        "id": "app:lengths", "is_concurrent": True, "batch_size": 4, "timeout_s": None, "resource_pool": None,
    }  # fmt: skip
    assert told["app:late"]["timeout_s"] == 1 and not told["app:late"]["is_concurrent"]
    assert ready["resource_pools"] == [{"name": "api", "max_concurrent": 3, "per_minute": None, "retries": 2}]


def test_a_slow_async_row_holds_up_no_other(begun):
    worker = begun("    s = slow(n)\n    t = plain(s)\n    u = upper(slow(n + 1)) + t\n")
    worker.start([[7, *range(100, 160)]])
    rows, _ = collect(worker, 60)
    assert 0 not in rows and rows[1][0] == {"s": "s100", "t": "s100!", "u": "S101s100!"}


def test_an_async_call_past_its_limit_is_cancelled_and_its_neighbours_go_on(begun):
    worker = begun("    s = hasty(n)\n    t = s + 1\n")
    worker.start([[0, 1, 2, 3, 4, 5, 6]])
    rows, _ = collect(worker, 7)
    assert {row: values["t"] for row, (values, _) in rows.items()} == {
        0: 1, 1: None, 2: None, 3: None, 4: None, 5: None, 6: 7,
    }  # fmt: skip
    told = {row: (error["s"]["kind"], error["s"]["type"]) for row, (_, error) in rows.items() if error}
    assert told == {
        1: ("timeout", "TimeoutError"), 2: ("raised", "ValueError"), 3: ("raised", "SystemExit"),
        4: ("wrong_type", "TypeError"), 5: ("timeout", "TimeoutError"),
    }  # fmt: skip
    assert rows[1][1]["s"]["message"] == "ran longer than 1 s" and rows[1][1]["t"]["kind"] == "skipped"


def test_errors_of_concurrent_columns_can_be_read_by_others(begun):
    worker = begun(
        "    s = hasty(n)\n    t = s + hasty(n)\n    u = t * 2\n    k = s.errortype\n"
        "    m = fn.string.format('{}: {}', t.errortype, u.errormsg)\n"
    )
    worker.start([[0, 2]])
    rows, _ = collect(worker, 2)
    assert rows[0] == ({"s": 0, "t": 0, "u": 0, "k": None, "m": "None: None"}, None)
    assert rows[1][0] == {
        "s": None, "t": None, "u": None, "k": "ValueError", "m": "CellError: s has no value: ValueError: no two",
    }  # fmt: skip
    assert sorted(rows[1][1]) == ["s", "t", "u"]


def test_a_fault_of_the_worker_itself_answers_the_row_and_is_in_the_log(capfd):
    def fails(values):
        raise RuntimeError("a step that cannot begin")

    def step(at, name, needs):
        run = dict(kind=INLINE, run=fails, watching=None, is_visible=True, when=None, when_reads=[])
        return SimpleNamespace(at=at, place=at, name=name, needs=needs, reads=[], **run)

    steps = [step(0, "a", set()), step(1, "b", {0})]
    steps[0].run = lambda values: 1
    steps[1].watching = lambda *_: fails(None)
    frames = queue.Queue()
    flow = Flow(lambda *sent: [frames.put(frame) for frame in sent], None, "/nowhere", 1)
    flow.run({"call": 1, "n": 1, "columns": []}, SimpleNamespace(readers=[], steps=steps, visible=steps))
    rows = frames.get(timeout=60)
    assert rows["columns"] == [[1], [None]]
    told = rows["errors"][0]
    assert [*told] == ["b"] and told["b"]["message"] == "a step that cannot begin"
    assert frames.get(timeout=60) == {"t": "done", "call": 1}
    assert "RuntimeError: a step that cannot begin" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["stuck", "stubborn", "late"])
def test_what_cannot_be_cancelled_is_told_with_its_row(begun, name):
    worker = begun(f"    s = {name}(n)\n")
    worker.start([[0, 1]] if name != "stubborn" else [[1]])
    frames = []
    while not frames or frames[-1]["t"] != "overdue":
        frames.append(worker.receive())
    assert frames[-1] == {
        "t": "overdue", "call": 1, "row": 0 if name == "stubborn" else 1, "function": f"app:{name}",
        "timeout_s": 1,
    }  # fmt: skip


def test_batches_take_many_rows_and_constants_once(begun):
    worker = begun(
        "    s = lengths(string_of(n))\n    t = lengths('x', plus=3)\n    b = batches(s)\n",
        FUNCTIONS + "@db.udf\ndef string_of(n: int) -> str | None:\n    return None if n == 0 else 'y' * n\n",
    )
    worker.start([list(range(9))])
    rows, _ = collect(worker, 9)
    assert [rows[n][0]["s"] for n in range(9)] == [None, *range(1, 9)]
    assert {rows[n][0]["t"] for n in range(9)} == {4}
    assert max(json.loads(rows[8][0]["b"])) == 4


def test_one_bad_row_of_a_batch_fails_alone(begun):
    words = "@db.udf\ndef word(n: int) -> str:\n    return ['good', 'bad', 'short', 'fine', 'well'][n]\n"
    worker = begun("    s = lengths(word(n))\n", FUNCTIONS + words)
    worker.start([[0, 1, 3, 4]])
    rows, _ = collect(worker, 4)
    assert [rows[n][0]["s"] for n in range(4)] == [4, None, 4, 4]
    assert rows[1][1]["s"]["message"] == "bad among 1"
    worker.start([[2, 4]])
    rows, _ = collect(worker, 2)
    told = {rows[n][1]["s"]["message"] for n in range(2)}
    assert told == {"expected a list of 2 values, got 1 values"}


def test_async_batches_run_too(begun):
    worker = begun("    s = doubled(n)\n")
    worker.start([list(range(150))])
    rows, _ = collect(worker, 150)
    assert [rows[n][0]["s"] for n in range(150)] == [n * 2 for n in range(150)]


def test_a_call_that_the_provider_turns_away_is_tried_again(begun):
    worker = begun("    s = asked(n)\n")
    worker.start([[0, 1, 2, 3, 4, 5]])
    rows, asks = collect(worker, 6)
    assert [rows[n][0]["s"] for n in (0, 1, 4)] == ["answer 0 at try 1", "answer 1 at try 2", "answer 4 at try 2"]
    assert [rows[n][1]["s"]["message"] for n in (2, 3, 5)] == [
        "refused with 503", "refused with 400", "refused with 9999"[:13] + "429",
    ]  # fmt: skip
    waits = [(ask["attempt"], ask["retry_after_s"]) for ask in asks if ask["t"] == "acquire"]
    assert sorted(waits, key=str) == sorted([(0, None)] * 6 + [(1, 7.0), (1, None), (2, None), (1, None)], key=str)
    assert sum(ask["t"] == "release" for ask in asks) == len(waits)


def test_a_column_may_ask_a_query(begun):
    worker = begun("    s = plain(upper('x'))\n")
    query = {
        "node": "query", "query": "app:top", "args": {"k": {"node": "column", "name": "n", **INT}}, **JSON,
    }  # fmt: skip
    path = {"node": "path", "base": query, "steps": [{"index": 0}, {"key": "t"}], **JSON}
    steps = [{"name": name, **JSON, "expr": expr} for name, expr in (("q", query), ("p", path))]
    worker.send({"t": "graph", "graph": 2, "inputs": [{"name": "n", **INT}], "steps": steps, "functions": []})
    worker.steps = ["q", "p"]
    worker.start([[1, 2]], graph=2)

    def answer(frame):
        assert frame["query"] == "app:top"
        if frame["args"]["k"] == 2:
            return {"value": None, "error": {"code": "database_unavailable", "message": "PostgreSQL does not answer."}}
        return {"value": '[{"t": "first"}]', "error": None}

    rows, _ = collect(worker, 2, answer)
    assert rows[0] == ({"q": '[{"t": "first"}]', "p": '"first"'}, None)
    assert (rows[1][1]["q"]["type"], rows[1][1]["q"]["message"]) == ("QueryFailed", "PostgreSQL does not answer.")
    assert rows[1][1]["p"]["kind"] == "raised", "its own call of the query failed"


INT = {"type": {"kind": "int"}, "nullable": False}
JSON = {"type": {"kind": "json"}, "nullable": True}


def test_an_async_function_over_the_elements_of_a_list_is_waited_for(begun):
    worker = begun("    s = plain(upper('x'))\n    w = slow(n)\n    l = lengths('abc')\n")
    functions = [{"id": f"app:{name}", "module": "app", "name": name} for name in ("hasty", "slow")]
    element = {"node": "call", "fn": "op.cast", "args": [{"node": "item", "depth": 0, **JSON}], "kwargs": {}, **INT}
    inner = {"node": "udf", "function": "app:hasty", "args": [element], "kwargs": {}, **INT}
    expr = {
        "node": "call", "fn": "map", "args": [{"node": "column", "name": "j", **JSON}, inner], "kwargs": {}, **JSON,
    }  # fmt: skip
    steps = [{"name": "m", **JSON, "expr": expr}]
    inputs = [{"name": "j", **JSON}]
    worker.send({"t": "graph", "graph": 2, "inputs": inputs, "steps": steps, "functions": functions})
    worker.steps = ["m"]
    worker.start([["[6, 7]", "[1]"]], graph=2)
    rows, _ = collect(worker, 2)
    assert rows[0] == ({"m": "[6,7]"}, None) and rows[1][1]["m"]["kind"] == "timeout"


def test_calls_errors_rows_and_seconds_are_counted(begun):
    worker = begun("    s = hasty(n)\n    t = lengths('abc')\n    u = asked(n)\n")
    worker.start([[0, 2, 6, 1]])
    collect(worker, 4)
    more = 0
    counts = {}
    # Counts are reported each second, and come with the frames of rows.
    while counts.get("app:hasty", {"calls": 0})["calls"] < 5 or counts["app:hasty"]["running"] > 0:
        worker.start([[6]])
        collect(worker, 1)
        more += 1
        time.sleep(0.05)
        counts = worker.counts()
    assert counts["app:hasty"]["calls"] <= 4 + more and counts["app:hasty"]["errors"] == 2
    assert counts["app:hasty"]["seconds"] > 0.15
    lengths = counts["app:lengths"]
    assert lengths["calls"] <= lengths["rows"] <= 4 + more and lengths["rows"] >= 4
    assert counts["app:asked"]["retries"] >= 2


AGGREGATES = """
@db.uda
class total(db.Aggregator):
    def __init__(self, start: int = 0):
        self.sum = start
    def update(self, n: int) -> None:
        if n == 13: raise ValueError("unlucky")
        self.sum += n
    def value(self) -> int:
        return self.sum
@db.uda
class latest(db.Aggregator):
    def __init__(self): self.seen = None
    def update(self, t: str | None, weight: float = 1.0): self.seen = (t, weight)
    def value(self) -> str | None: return None if self.seen is None else f"{self.seen[0]} {self.seen[1]}"
"""


def fold(worker, call, name, args, constants, feeds, also=()):
    function = {"id": f"app:{name}", "module": "app", "name": name}
    inputs = [{"name": f"i{place}", "type": arg["type"], "nullable": True} for place, arg in enumerate(args)]
    given = [
        {"name": arg["name"], "expr": {"node": "column", **one}} for one, arg in zip(inputs, args)
    ]
    frame = {"function": function, "inputs": inputs, "args": given, "functions": [], "constants": constants}
    worker.send({"t": "fold", "call": call, **frame, "is_sorted": False, "is_window": False})
    for groups, columns in feeds:
        worker.send({"t": "feed", "call": call, "groups": groups, "columns": columns})
        assert worker.receive() == {"t": "fed", "call": call, "values": [], "errors": None}
    worker.send({"t": "finish", "call": call, "groups": list(also)})
    frame = worker.receive()
    assert (frame["t"], frame["call"]) == ("folded", call)
    errors = frame["errors"] or [None] * len(frame["groups"])
    return dict(zip(frame["groups"], frame["values"])), {g: e for g, e in zip(frame["groups"], errors) if e}


def test_an_aggregate_runs_over_streamed_groups(begun):
    worker = begun("    s = plain('x')\n", FUNCTIONS + AGGREGATES)
    number = [{"name": None, "type": {"kind": "int"}, "nullable": True}]
    feeds = [([1, 2, 1], [[10, 20, 30]]), ([2, 3, 4, 4], [[None, 13, 1, 2]])]
    values, errors = fold(worker, 1, "total", number, {}, feeds, also=[9])
    assert values == {1: 40, 2: 20, 3: None, 4: 3, 9: 0}
    assert (errors[3]["function"], errors[3]["type"], errors[3]["message"]) == ("app:total", "ValueError", "unlucky")
    start = {"start": {"node": "literal", "value": "100", "type": {"kind": "int"}, "nullable": False}}
    assert fold(worker, 2, "total", number, start, [([0], [[1]])]) == ({0: 101}, {})
    named = [{"name": None, "type": {"kind": "string"}, "nullable": True},
             {"name": "weight", "type": {"kind": "float"}, "nullable": False}]  # fmt: skip
    assert fold(worker, 3, "latest", named, {}, [([0, 0], [["a", None], [1, 2]])], [5]) == (
        {0: "None 2.0", 5: None},
        {},
    )
    values, errors = fold(worker, 4, "gone", number, {}, [([0], [[1]])])
    assert values == {0: None} and errors[0]["kind"] == "missing"
