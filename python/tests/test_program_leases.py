"""Functions of a program in a hosted database: stored once, renewed by a thread, and stored again when they are lost."""

import base64
import os
import subprocess
import sys
import threading
import time

import pytest

import appdb as db
from appdb.client.databases import Database
from appdb.client.leases import _OF_QUERIES, Lease
from appdb.client.paths import table_path
from appdb.declare.errors import Error
from conftest import environment


class Pod:
    """Keeps leases as a database does. A short lease makes threads renew often."""

    def __init__(self, lease_seconds=600):
        self.leases = {}
        self.calls = []
        self.renewed = threading.Event()
        self._seconds = lease_seconds
        self._made = 0

    def call(self, method, path, body=None):
        self.calls.append((method, path))
        if method == "POST":
            self._made += 1
            name = f"lease{self._made}"
            self.leases[name] = {}
        else:
            name = path.rpartition("/")[2]
            if name not in self.leases:
                raise Error("The database does not have the functions.", "Store them again.", "program_not_found")
        if method == "DELETE":
            del self.leases[name]
            return None
        if method == "PUT" and not body["modules"]:
            self.renewed.set()
        for content in body["modules"]:
            self.leases[name][base64.b64decode(content)] = [one["id"] for one in body["functions"]]
        return {"program": name, "lease_seconds": self._seconds}


def document(module):
    return {"id": f"{module}:f", "module": module}


def test_functions_are_stored_once_and_more_are_added():
    pod = Pod()
    lease = Lease(pod)
    lease.keep({"a": b"1"}, [document("a")], True)
    lease.keep({"a": b"1"}, [document("a")], True)
    lease.keep({"a": b"1", "b": b"2"}, [document("a"), document("b")], False)
    assert pod.calls == [("POST", "/programs"), ("PUT", "/programs/lease1")]
    assert pod.leases == {"lease1": {b"1": ["a:f"], b"2": ["b:f"]}}


def test_large_modules_go_in_several_requests():
    pod = Pod()
    Lease(pod).keep({name: name.encode() * 5_000_000 for name in "abc"}, [document(name) for name in "abc"], True)
    assert [method for method, _ in pod.calls] == ["POST", "PUT", "PUT"]
    assert sorted(pod.leases["lease1"].values()) == [["a:f"], ["b:f"], ["c:f"]]


def test_lost_functions_are_stored_again_all_of_them():
    pod = Pod()
    lease = Lease(pod)
    lease.keep({"a": b"1"}, [document("a")], True)
    assert not lease.restore()
    pod.leases.clear()
    assert lease.restore()
    assert pod.leases == {"lease2": {b"1": ["a:f"]}}
    pod.leases.clear()
    lease.keep({"b": b"2"}, [document("b")], True)
    assert pod.leases == {"lease3": {b"1": ["a:f"], b"2": ["b:f"]}}


def test_a_thread_renews_the_lease_and_stores_lost_functions_again():
    pod = Pod(lease_seconds=0.03)
    Lease(pod).keep({"a": b"1"}, [document("a")], True)
    assert pod.renewed.wait(30)
    pod.leases.clear()
    pod.renewed.clear()
    assert pod.renewed.wait(30)
    assert list(pod.leases.values()) == [{b"1": ["a:f"]}]


def test_a_request_makes_the_thread_store_lost_functions(monkeypatch):
    monkeypatch.setattr("appdb.client.leases._SOON_S", 0)
    pod = Pod()
    lease = Lease(pod)
    lease.keep({"a": b"1"}, [document("a")], True)
    before = lease.times_stored
    pod.leases.clear()
    lease.renew_soon()
    wait_until(lambda: lease.times_stored != before)
    assert list(pod.leases.values()) == [{b"1": ["a:f"]}]
    calls = len(pod.calls)
    assert lease.restore(before)
    assert len(pod.calls) == calls
    assert not lease.restore(lease.times_stored)


def test_a_request_that_waits_makes_the_thread_store_lost_functions(monkeypatch):
    monkeypatch.setattr("appdb.client.leases._SLOW_S", 0.01)
    pod = Pod()
    lease = Lease(pod)
    lease.keep({"a": b"1"}, [document("a")], True)
    before = lease.times_stored
    pod.leases.clear()
    lease.renew_soon()
    with lease.waiting():
        wait_until(lambda: lease.times_stored != before)
    assert list(pod.leases.values()) == [{b"1": ["a:f"]}]


def test_a_request_that_waits_renews_the_lease_once(monkeypatch):
    monkeypatch.setattr("appdb.client.leases._SLOW_S", 0.01)
    pod = Pod()
    lease = Lease(pod)
    lease.keep({"a": b"1"}, [document("a")], True)
    with lease.waiting():
        assert pod.renewed.wait(30)
        calls = len(pod.calls)
        pod.renewed.clear()
        assert not pod.renewed.wait(0.1)
    with lease.waiting():
        assert pod.renewed.wait(30)
    assert len(pod.calls) == calls + 1


def test_a_database_that_was_away_gets_the_functions_soon(monkeypatch):
    monkeypatch.setattr("appdb.client.leases._SOON_S", 0.01)
    pod = Pod()
    lease = Lease(pod)
    call, asked = pod.call, []

    def sleeps(*args):
        asked.append(args)
        raise Error("The database sleeps.", "Start it.", "database_not_available")

    lease.keep({"a": b"1"}, [document("a")], True)
    pod.call = sleeps
    lease._renewed_at = 0
    lease.renew_soon()
    wait_until(lambda: len(asked) > 2)
    pod.leases.clear()
    pod.call = call
    wait_until(lambda: pod.leases)
    assert list(pod.leases.values()) == [{b"1": ["a:f"]}]


def wait_until(is_so):
    ends = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.005)


def test_old_functions_of_queries_are_forgotten_and_those_of_columns_stay():
    pod = Pod()
    lease = Lease(pod)
    lease.keep({"column": b"column"}, [document("column")], True)
    for number in range(_OF_QUERIES + 1):
        name = f"q{number}"
        lease.keep({name: name.encode()}, [document(name)], False)
    (stored,) = pod.leases.values()
    assert {b"column", b"q100"} < set(stored)
    assert b"q0" not in stored


def test_a_refused_function_is_not_taken_for_stored():
    pod = Pod()
    lease = Lease(pod)
    call = pod.call

    def refuse(*args):
        raise Error("The program runs Python 3.9.", "Run 3.11.", "program_python")

    pod.call = refuse
    with pytest.raises(Error, match="3.9"):
        lease.keep({"a": b"1"}, [document("a")], True)
    pod.call = call
    lease.keep({"a": b"1"}, [document("a")], True)
    assert pod.leases == {"lease1": {b"1": ["a:f"]}}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_a_lease_of_its_own():
    database = Database(table_path("cloud://acme:main/docs")[0])
    mine = database.lease()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, b"own" if database.lease() is not mine and database._living_lease() is database.lease() else b"shared")
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(read, 10) == b"own"
    assert database.lease() is mine


PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
from test_program_leases import Pod, document
from appdb.client.leases import Lease

class Told(Pod):
    def call(self, *args):
        print(args[0], flush=True)
        return super().call(*args)

Lease(Told()).keep({{"a": b"1"}}, [document("a")], True)
{end}
"""


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("", ["POST", "DELETE"]),
        ("raise SystemExit(3)", ["POST", "DELETE"]),
        ("import os; os._exit(0)", ["POST"]),
        ("import os\nif os.fork() == 0: raise SystemExit(0)\nos.wait()", ["POST", "DELETE"]),
    ],
)
def test_a_program_ends_with_its_thread_and_deletes_its_lease_at_a_clean_exit(end, told):
    text = PROGRAM.format(tests=os.path.dirname(__file__), end=end)
    done = subprocess.run([sys.executable, "-c", text], env=environment(), capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (told, "")


def test_a_hosted_database_gets_the_functions_before_the_request():
    from appdb.client.code import request_code

    @db.udf
    def summarize(text: str) -> str:
        return text

    pod = Pod()
    database = Database(table_path("cloud://acme:main/docs")[0])
    database._lease = Lease(pod)
    class Docs(db.model_base(), name="docs"):
        body: db.String

    code, documents = request_code(database, [("the query", summarize(Docs.body))])
    assert documents["runtime"] is None
    assert "program" not in documents
    ((stored,),) = [list(one.values()) for one in pod.leases.values()]
    assert stored == [code.sent.named(documents["functions"][0]["id"])]
