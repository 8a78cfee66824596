"""The worker process: results per row, errors, hanging and greedy functions, its end."""

import errno
import os
import signal
import time

import pytest
from appdb.worker.failures import worker_error

UDFS = """
import ctypes, os, sys, time
@db.udf
def f(n: int) -> str:
    return do(n)
def do(n):
    if n == 1: return 7
    if n == 2: raise KeyError('no ' + str(n))
    if n == 3: return None
    if n == 4: sys.exit(5)
    if n == 5: raise KeyboardInterrupt
    if n == 6: return 'a\\0b'
    if n == 7: time.sleep(0.3)
    if n == 8: print('printed by a function'); os.write(1, b'raw bytes \\xff\\n'); sys.stderr.write('to stderr\\n')
    if n == 9: return sys.stdin.read() + 'nothing'
    if n == 10: return 'x' * (1 << 31)
    if n == 11: os._exit(3)
    if n == 12: raise Ugly()
    if n == 13: raise ValueError('\\ud800' + 'y' * 5000)
    if n == 14: return Text('sub')
    if n == 15:
        while True: pass
    if n == 16: return f(0) + upper('a')
    if n == 17: time.sleep(0.03)
    if n == 19: sum(range(1_500_000))
    if n == 20: sum(range(10**12))
    if n == 21: return os.environ['NO_SUCH']
    if n == 18: return 'z' * (120 << 20)
    return 'ok'
class Ugly(Exception):
    def __str__(self): raise RuntimeError('ugly')
class Text(str): pass
class A(Base, name='a'):
    n: db.Int
    s = f(n)
"""
CHAIN = UDFS + "    t = s + '!'\n    u = upper(t)\n    m = n * 2\n"


@pytest.fixture
def worker(project, workers):
    def start(source=UDFS, **options):
        document = project.manifest(source)
        started = workers(project.root, **options)
        assert started.first["t"] == "ready", started.first
        started.define(document["tables"][0], document["functions"])
        return started

    return start


def test_ready_says_who_it_is(worker):
    started = worker()
    assert started.first["pid"] == started.process.pid
    assert started.first["protocol"] == 1 and started.first["python"].count(".") == 2


def test_each_failing_row_is_told_and_the_others_succeed(worker):
    values, errors, _ = worker().run([[0, 1, 2, 3, 4, 5, 6, 12, 13, 21, 14, 16, 0]])
    assert [values[n]["s"] for n in range(13)] == ["ok", *[None] * 9, "sub", "okA", "ok"]
    told = {n: error["s"] for n, error in errors.items()}
    assert set(told) == {1, 2, 3, 4, 5, 6, 7, 8, 9}
    assert {error["function"] for error in told.values()} == {"app:f"}
    assert [told[n]["kind"] for n in sorted(told)] == [
        "wrong_type", "raised", "wrong_type", "raised", "raised", "raised", "raised", "raised", "raised",
    ]  # fmt: skip
    assert [told[n]["type"] for n in (2, 4, 5, 6, 7, 8)] == [
        "KeyError", "SystemExit", "KeyboardInterrupt", "ValueError", "Ugly", "ValueError",
    ]  # fmt: skip
    assert told[1]["message"] == "expected str, got int" and told[3]["message"] == "expected str, got None"
    assert told[2]["message"] == "'no 2'" and told[2]["at"].startswith("app.py:")
    assert len(told[8]["message"]) < 2100 and told[8]["message"].startswith("\\ud800y")
    assert told[9]["message"] == "'NO_SUCH' is not a variable of the environment"


def test_what_reads_a_failed_column_is_skipped_with_the_cause(worker):
    values, errors, _ = worker(CHAIN).run([[0, 2]])
    assert values[0] == {"s": "ok", "t": "ok!", "u": "OK!", "m": 0}
    assert values[1] == {"s": None, "t": None, "u": None, "m": 4}
    assert {name: error["kind"] for name, error in errors[1].items()} == {"s": "raised", "t": "skipped", "u": "skipped"}
    assert (errors[1]["u"]["function"], errors[1]["u"]["type"]) == ("app:f", "KeyError")


def test_prints_go_to_the_log_and_stdin_is_empty(worker):
    started = worker()
    values, errors, _ = started.run([[8, 9]])
    assert (values[0]["s"], values[1]["s"], errors) == ("ok", "nothing", {})
    started.close()
    for line in ("printed by a function", "raw bytes", "to stderr"):
        assert line in started.stderr


def test_rows_that_are_ready_do_not_wait_for_a_slow_one(worker):
    started = worker()
    started.start([[0, 0, 0, 7, 0]])
    first = started.receive()
    assert (first["t"], first["rows"]) == ("rows", [0, 1, 2])
    at = started.receive()
    assert (at["t"], at["row"]) == ("at", 3)
    rest = []
    while (frame := started.receive())["t"] != "done":
        rest += frame.get("rows", [])
    assert rest == [3, 4]


def test_a_hanging_row_is_named_and_what_came_before_is_not_lost(worker):
    started = worker()
    started.start([[0, 15, 0]])
    assert started.receive()["rows"] == [0]
    assert started.receive() == {"t": "at", "call": 1, "row": 1, "step": 0, "function": "app:f"}
    started.process.kill()


def test_the_first_row_of_a_call_is_named_too(worker):
    started = worker()
    started.start([[15]])
    assert started.receive() == {"t": "at", "call": 1, "row": 0, "step": 0, "function": "app:f"}
    started.process.kill()


def test_a_row_that_holds_the_interpreter_for_ever_is_named_when_rows_were_slow(worker):
    started = worker()
    started.start([[0, 19, 19, 19, 19, 20, 0]])
    answered, named = read_until_silent(started)
    assert answered == [0, 1, 2, 3, 4] and named == 5


def test_a_named_row_is_never_mistaken_for_a_later_one(worker):
    for rows in ([7, 0, 0, 20], [17, 20], [19, 19, 20], [0, 0, 20]):
        started = worker()
        started.start([rows])
        answered, named = read_until_silent(started)
        assert named in (None, len(rows) - 1) or named in answered, (rows, answered, named)


def read_until_silent(started):
    """All answered rows and the last named row; then ends the process, which blocks its interpreter forever."""
    import select

    answered, named = [], None
    # Unbuffered from here on, so that select sees the available data.
    while select.select([started.process.stdout.raw], [], [], 1.0)[0]:
        frame = started.receive_raw()
        if frame["t"] == "rows":
            answered += frame["rows"]
        elif frame["t"] == "at":
            named = frame["row"]
    started.process.kill()
    return answered, named


def test_results_leave_at_least_every_20_ms(worker):
    started = worker()
    started.start([[17] * 12])
    arrivals = []
    while (frame := started.receive())["t"] != "done":
        if frame["t"] == "rows":
            arrivals.append(len(frame["rows"]))
    assert sum(arrivals) == 12
    assert max(arrivals) <= 3


def test_fast_rows_are_not_named(worker):
    frames = worker().run([[0] * 2000])[2]
    assert [frame["t"] for frame in frames][-1] == "done"
    assert sum(frame["t"] == "at" for frame in frames) <= 1


def test_a_greedy_row_is_told_and_the_worker_goes_on(worker):
    started = worker(memory=256 << 20)
    values, errors, _ = started.run([[0, 10, 0]])
    assert (values[0]["s"], values[2]["s"]) == ("ok", "ok")
    assert (errors[1]["s"]["kind"], errors[1]["s"]["type"]) == ("memory", "MemoryError")
    assert started.run([[0]])[0] == {0: {"s": "ok"}}


def test_a_result_too_large_to_be_sent_is_told(worker):
    started = worker(memory=300 << 20)
    values, errors, _ = started.run([[0, 18, 0]])
    assert (values[0]["s"], values[1]["s"], values[2]["s"]) == ("ok", None, "ok")
    assert errors[1]["s"]["kind"] == "memory"
    assert started.run([[0]])[0] == {0: {"s": "ok"}}


def test_a_function_may_end_the_process(worker):
    started = worker()
    started.start([[11]])
    with pytest.raises(EOFError):
        started.receive()
    assert started.process.wait(10) == 3


def test_the_end_of_its_input_ends_it(worker):
    started = worker()
    assert started.close() == 0


def test_exit_ends_it_after_what_was_sent_before(worker):
    started = worker()
    call = started.start([[7, 0]])
    started.send({"t": "exit"})
    frames = []
    while (frame := started.receive())["t"] != "done":
        frames.append(frame)
    assert sum(len(f["rows"]) for f in frames if f["t"] == "rows") == 2 and frame["call"] == call
    assert started.process.wait(10) == 0


def test_an_interrupt_of_the_terminal_does_not_touch_it(worker):
    started = worker()
    os.kill(started.process.pid, signal.SIGINT)
    assert started.run([[0]])[0] == {0: {"s": "ok"}}


def test_threads_of_the_application_do_not_hold_it(project, workers):
    project.write(app="import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n")
    started = workers(project.root)
    assert started.first["t"] == "ready" and started.close() == 0


def test_it_dies_with_the_process_that_started_it(project, tmp_path):
    import subprocess
    import sys

    from conftest import environment, init_frame, send_frame

    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess, sys, time\n"
            "worker = subprocess.Popen([sys.executable, '-m', 'appdb.worker'], stdin=sys.stdin)\n"
            "print(worker.pid, flush=True)\ntime.sleep(60)\n",
        ],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    pid = int(parent.stdout.readline())
    send_frame(parent.stdin, init_frame(tmp_path))
    assert len(parent.stdout.read(4)) == 4, "the worker's first frame: it has begun"
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 60
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    died = not alive(pid)
    parent.stdin.close()
    parent.stdout.close()
    assert died


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_import_that_fails_is_told(project, workers):
    project.write(app="import appdb\n\nimport no_such_module\n")
    started = workers(project.root)
    assert started.first["t"] == "failed"
    error = started.first["error"]
    assert (error["kind"], error["type"], error["at"]) == ("import", "ModuleNotFoundError", "app.py:3")
    assert "no_such_module" in error["message"] and started.process.wait(10) == 1


def test_a_program_that_ends_itself_while_imported_is_told(project, workers):
    project.write(app="import sys\nsys.exit('enough')\n")
    started = workers(project.root)
    assert (started.first["t"], started.first["error"]["type"]) == ("failed", "SystemExit")


def test_another_protocol_is_refused(project, workers):
    from conftest import Worker

    class Newer(Worker):
        def send(self, frame):
            super().send({**frame, "protocol": 99} if frame["t"] == "init" else frame)

    project.write(app="")
    started = Newer(project.root, ["app"])
    started.close()
    assert started.first["t"] == "failed" and "99" in started.first["error"]["message"]


def test_a_function_that_is_gone_is_told_for_each_row(project, workers):
    document = project.manifest(UDFS)
    project.write(app="x = 1\n")
    started = workers(project.root)
    started.define(document["tables"][0], document["functions"])
    values, errors, _ = started.run([[0, 1]])
    assert values == {0: {"s": None}, 1: {"s": None}}
    assert {error["s"]["kind"] for error in errors.values()} == {"missing"}
    assert "'f'" in errors[0]["s"]["message"]


def test_several_graphs_live_side_by_side(project, workers):
    document = project.manifest(CHAIN)
    started = workers(project.root)
    started.define(document["tables"][0], document["functions"], graph=1)
    short = {
        **document["tables"][0],
        "columns": [document["tables"][0]["columns"][0], document["tables"][0]["columns"][-1]],
    }
    started.define(short, [], graph=2)
    assert started.run([[4]], graph=2)[0] == {0: {"m": 8}}
    started.steps = ["s", "t", "u", "m"]
    assert started.run([[0]], graph=1)[0][0]["m"] == 0


def test_a_graph_may_have_no_inputs(project, workers):
    document = project.manifest("class A(Base, name='a'):\n    n: db.Int\n    k = uuid7()\n")
    table = {**document["tables"][0], "columns": document["tables"][0]["columns"][1:]}
    started = workers(project.root)
    started.define(table, [])
    values = started.run([], n=3)[0]
    assert len({value["k"] for value in values.values()}) == 3


def test_large_frames_pass(project, workers):
    document = project.manifest("class A(Base, name='a'):\n    s: db.String\n    t = s + s\n")
    started = workers(project.root)
    started.define(document["tables"][0], [])
    text = "é🎉" * 500_000
    assert started.run([[text, "b"]])[0] == {0: {"t": text * 2}, 1: {"t": "bb"}}


def test_modules_of_the_project_do_not_stand_in_for_those_that_start_the_worker(project, workers):
    document = project.manifest(UDFS)
    project.write(
        json="raise RuntimeError('the wrong json')\n", signal="raise RuntimeError\n", appdb="raise RuntimeError\n"
    )
    started = workers(project.root)
    assert started.first["t"] == "ready"
    started.define(document["tables"][0], document["functions"])
    assert started.run([[0]])[0] == {0: {"s": "ok"}}


def test_it_is_small(worker):
    started = worker()
    started.run([[0] * 256])
    with open(f"/proc/{started.process.pid}/status") as file:
        resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    assert resident < 20_000


def test_a_function_that_writes_a_query_is_told_where_queries_are_written(worker):
    wrong = ["A.where(A.n > 1).collect()", "A.collect()", "A.count()", "A.select(x=count(A.n))", "sum(A.n)"]
    body = "".join(f"    if n == {at}: return {text}\n" for at, text in enumerate(wrong))
    started = worker(UDFS.replace("def do(n):\n", f"def do(n):\n    from appdb.functions import count, sum\n{body}"))
    _, errors, _ = started.run([[*range(len(wrong))]])
    told = [errors[at]["s"]["message"] for at in range(len(wrong))]
    assert [message.split()[0] for message in told] == [".collect()", "A.collect()", "count()", "count()", "sum()"]
    assert all("@db.query" in message for message in told)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_function_that_meets_a_full_disk_is_told_by_its_code_and_without_a_path(number):
    told = worker_error("udfs:card", OSError(number, os.strerror(number), "/home/me/x.png"), "/project")
    assert (told["kind"], told["type"], told["message"]) == ("raised", "disk_full", "the disk has no space left")
    assert worker_error("udfs:card", OSError(errno.EACCES, "no"), "/project")["type"] == "PermissionError"
