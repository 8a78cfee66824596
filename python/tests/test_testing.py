"""`appdb.testing` in suites of users, against a server that answers as the daemon does."""

import json
import os
import subprocess
import sys

import pytest

from conftest import LIBRARY, environment
from fake_database import FakeDatabase

APP = """
import appdb as db
from appdb.functions import upper

Base = db.model_base()


class Docs(Base, name="docs"):
    title: db.String
    loud = upper(title)
"""
ONE = """
from app import Base, Docs


def test_one(database):
    database.create_all(Base)
    Docs.insert(title="Emma")
    database.insert("docs", title="Emma")
    database.insert(Docs, [{"title": "Emma"}])
"""


class Suite:
    def __init__(self, folder, server):
        self.folder = folder
        self.server = server
        self.home = folder / "home"
        self.write("app.py", APP)
        self.write("conftest.py", 'pytest_plugins = ["appdb.testing"]\n')

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def run(self, *options, **variables):
        env = environment(SERVICE_HOME=str(self.home), PYTEST_DEBUG_TEMPROOT=str(self.folder), **variables)
        env["PYTHONPATH"] = os.pathsep.join([str(LIBRARY), *sys.path[1:]])
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        done = subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def made(self):
        """The scratch databases by name, each with what it is a copy of."""
        return {body["name"]: body["copy_of"] for body in self.server.bodies("/v1/scratch/create")}

    def deleted(self):
        return [body["name"] for body in self.server.bodies("/v1/scratch/delete")]


@pytest.fixture
def suite(tmp_path):
    server = FakeDatabase()
    home = tmp_path / "home"
    home.mkdir()
    (home / "daemon.json").write_text(json.dumps({"port": server.server_address[1]}))
    (home / "daemon.token").write_text("secret\n")
    yield Suite(tmp_path, server)
    server.shutdown()
    server.server_close()


def test_each_test_gets_a_copy_of_the_tables(suite):
    suite.write("test_it.py", ONE + ONE.replace("test_one", "test_two"))
    code, said = suite.run()
    assert code == 0, said
    (template,) = [name for name, of in suite.made().items() if of is None]
    assert [of for of in suite.made().values() if of is not None] == [template] * 3, "two, and one for a next test"
    assert sorted(suite.deleted()) == sorted(suite.made())
    changed = [path for _, path, _, _ in suite.server.requests if path.endswith("/changes")]
    assert changed == [f"/v1/databases/{template}/changes"]
    inserted = [path.split("/")[3] for _, path, _, _ in suite.server.requests if path.endswith("/rows")]
    assert len(inserted) == 6 and template not in inserted and len(set(inserted)) == 2


def test_an_unused_database_costs_nothing(suite):
    suite.write("test_it.py", "def test_one(database):\n    print(database)\n")
    code, said = suite.run()
    assert code == 0, said
    assert suite.server.requests == []


def test_models_are_unbound_and_unchanged_after_a_test(suite):
    suite.write(
        "test_it.py",
        ONE
        + """    Docs.__appdb_table__.columns["more"] = None


def test_two(database):
    assert not Docs.is_bound
    assert "more" not in Docs.__appdb_table__.columns
    assert Docs.__appdb_table__.path == "docs"
    try:
        Docs.insert(title="Emma")
    except Exception as error:
        assert "is not bound to a table" in str(error)
    else:
        raise AssertionError
""",
    )
    code, said = suite.run()
    assert code == 0, said


def test_names_have_the_process_and_the_worker(suite):
    suite.write("test_it.py", ONE)
    suite.write(
        "conftest.py",
        """
pytest_plugins = ["appdb.testing"]


def pytest_configure(config):
    config.workerinput = {"workerid": "gw3"}
""",
    )
    code, said = suite.run()
    assert code == 0, said
    pids = {body["pid"] for body in suite.server.bodies("/v1/scratch/create")}
    assert [name.startswith(f"test-{pid}-gw3-") for name in suite.made() for pid in pids] == [True] * 3


def test_a_table_in_an_empty_database(suite):
    suite.server.answers["/v1/scratch/create"] = (200, {"name": "x"})
    suite.write(
        "test_it.py",
        """
import pytest

import appdb as db


def test_one(database):
    docs = database.create_table("docs", {"title": db.String})
    assert database.path("docs") == f"{database.name}/docs" and database.path() == database.name
    assert database.get_table("docs").path == docs.path == database.path("docs")
    assert database.list_tables() == ["docs"]
    with pytest.raises(db.Error, match='Write database.insert'):
        database.insert(5, [])
""",
    )
    code, said = suite.run()
    assert code == 0, said
    assert list(suite.made().values()) == [None] and suite.deleted() == list(suite.made())


def test_the_fixture_can_be_imported(suite):
    suite.write("conftest.py", "from appdb.testing import database\n")
    suite.write("test_it.py", ONE)
    code, said = suite.run()
    assert code == 0, said


def test_the_environment_of_functions_is_that_of_the_run(suite):
    """A variable of the single test would give each test its own workers."""
    suite.write("test_it.py", ONE)
    code, said = suite.run()
    assert code == 0, said
    (change,) = suite.server.bodies("/changes")
    assert "PYTEST_CURRENT_TEST" not in change["runtime"]["env"]


def test_a_copy_that_fails_fails_one_test(suite):
    suite.write("test_it.py", ONE + ONE.replace("test_one", "test_two") + ONE.replace("test_one", "test_three"))
    suite.write(
        "conftest.py",
        """
pytest_plugins = ["appdb.testing"]


def pytest_runtest_setup(item):
    if item.name == "test_one":
        from appdb.testing import Run

        create = Run.create
        made = []

        def fail_once(self, copy_of=None):
            made.append(copy_of)
            if len(made) == 3:
                raise OSError("no copy")
            return create(self, copy_of)

        Run.create = fail_once
""",
    )
    code, said = suite.run()
    assert code == 1 and "1 failed, 2 passed" in said, said


@pytest.mark.skipif(os.name == "nt", reason="a shell script is no command there")
def test_the_command_starts_a_missing_daemon(suite, tmp_path):
    suite.write("test_it.py", ONE)
    (suite.home / "daemon.json").rename(tmp_path / "daemon.json")
    tools = tmp_path / "tools"
    tools.mkdir()
    command = tools / "cli"
    command.write_text(f'#!/bin/sh\n[ "$*" = "daemon start" ] && cp "{tmp_path}/daemon.json" "{suite.home}"\n')
    command.chmod(0o755)
    code, said = suite.run(PATH=f"{tools}{os.pathsep}{os.environ['PATH']}")
    assert code == 0, said
