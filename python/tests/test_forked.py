"""A forked process opens its own connections: those of its parent carry the parent's responses."""

import json
import os
import subprocess
import sys

import pytest

from fake_database import FakeDatabase

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="This system has no fork().")

HEAD = """
import os
import appdb as db

docs = db.get_table("main/docs")
"""


def run(tmp_path, server, program):
    """Runs a program on a server, in a process of its own: pytest has threads. Returns its lines."""
    (tmp_path / "daemon.json").write_text(json.dumps({"port": server.server_address[1]}))
    (tmp_path / "daemon.token").write_text("secret\n")
    environment = {**os.environ, "SERVICE_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", HEAD + program], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.fixture
def server():
    made = FakeDatabase()
    yield made
    made.shutdown()
    made.server_close()


def test_a_child_has_connections_of_its_own(server, tmp_path):
    server.result({"count": "int"}, [[7]])
    server.result({"count": "int"}, [[8]])
    program = """
if os.fork() == 0:
    print("child", docs.count(), flush=True)
    os._exit(0)
assert os.wait()[1] == 0
print("parent", docs.count())
"""
    assert run(tmp_path, server, program) == ["child 7", "parent 8"]
    assert len(server.connections) == 2


def test_a_child_works_while_the_lock_of_its_parent_was_held(server, tmp_path):
    server.result({"count": "int"}, [[7]])
    program = """
with docs.__appdb_database__.connection._pool._lock:
    if os.fork() == 0:
        print("child", docs.count(), flush=True)
        os._exit(0)
assert os.wait()[1] == 0
"""
    assert run(tmp_path, server, program) == ["child 7"]


def test_a_child_does_not_read_the_rows_of_its_parent(server, tmp_path):
    program = """
answer = docs.__appdb_database__.connection.send("GET", "/tables")
if os.fork() == 0:
    try:
        answer.json()
    except db.Error as error:
        print(error.code, "sent by process" in error.detail, flush=True)
    answer.close()
    os._exit(0)
assert os.wait()[1] == 0
print(answer.json()["folders"])
answer.close()
"""
    assert run(tmp_path, server, program) == ["invalid_request True", "['empty']"]
