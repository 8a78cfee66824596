"""Mistakes in the file as a whole: its name, its place, its imports."""

import json

import pytest
from conftest import HEAD
from test_manifest_errors import MODEL, check


def test_no_model_is_told(project):
    for source in ("", "x = 1\n"):
        check(project.error(source, head="# nothing\n"), "# nothing", "no table")


def test_the_error_in_a_module_names_that_module(project):
    project.write(models="import appdb as db\nBase = db.model_base()\n\nclass A(Base, name='a'):\n    x: int\n")
    error = project.error("from models import A\n", head="")
    assert error["source"] == {"file": "models.py", "line": 5}
    project.write(models="import appdb as db\n\nimport missing_helper\n")
    error = project.error("from models import A\n", head="")
    assert error["source"] == {"file": "models.py", "line": 3} and error["written"] == "import missing_helper"
    project.write(models="def f(:\n")
    assert project.error("from models import A\n", head="")["source"] == {"file": "models.py", "line": 1}


def test_an_import_beside_the_app_says_where_imports_start(project):
    project.write(back__app="import helper\n", back__helper="x = 1\n")
    error = project.error(app="back/app.py")
    assert "import back.helper" in error["hint"]


def test_a_column_of_a_missing_name_in_a_route_is_told(project):
    error = project.error(MODEL + "r = Router()\nr.add_insert_route(A, path='/a', outputs=[A.upp])\n")
    check(error, "A.upp", "'upp'", "'up'")


@pytest.mark.parametrize(
    ("app", "code"),
    [
        ("nothing.py", "app_file_not_found"),
        ("../outside.py", "app_outside_project"),
        ("app.txt", "app_invalid"),
        ("a.b.py", "app_invalid"),
    ],
)
def test_a_file_that_cannot_be_the_application(project, app, code):
    inner = project.root / "project"
    inner.mkdir()
    for name in ("outside.py", "project/app.txt", "project/a.b.py"):
        (project.root / name).write_text("x = 1\n")
    done = project.run(app, cwd=inner)
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["code"], error["source"]) == (1, code, None)


def test_a_file_on_another_drive_lies_outside(tmp_path, monkeypatch):
    from appdb.appfile import collect

    def on_another_drive(path, start):  # Windows raises this for C: and D:.
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    (tmp_path / "app.py").write_text("x = 1\n")
    monkeypatch.setattr("os.path.relpath", on_another_drive)
    with pytest.raises(collect.AppFileOutside):
        collect._module_path(str(tmp_path / "project"), str(tmp_path / "app.py"))


@pytest.mark.parametrize("name", ["json", "os", "appdb", "msgpack", "string"])
def test_a_file_named_like_a_module_of_python_is_told(project, name):
    project.write(**{name: HEAD + MODEL})
    done = project.run(f"{name}.py")
    document = json.loads(done.stdout)
    # Either the file can be imported, or the error asks to rename it.
    if "error" in document:
        assert "Rename" in document["error"]["hint"]
    else:
        assert document["tables"][0]["name"] == "a"


def test_usage_is_told_without_a_file(project):
    import subprocess
    import sys

    from conftest import environment

    done = subprocess.run([sys.executable, "-m", "appdb.manifest"], env=environment(), capture_output=True)
    assert (done.returncode, done.stdout) == (2, b"") and b"usage" in done.stderr
