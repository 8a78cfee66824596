"""`SqlExport`: its options, and that no secret is printed."""

import pytest
from test_manifest_errors import check

MODELS = """
from appdb.serving import SqlExport

class A(Base, name='a'):
    id = db.Column(value=uuid7(), primary_key=True)
    n: db.Int

r = Router()
"""

URL = "postgresql://u@host/db"


def manifest(project, line):
    return project.manifest(MODELS + line + "\n")


def test_an_export_stands_in_its_route(project):
    line = "r.add_insert_route(A, path='/a', export_sql=SqlExport(db_connect='env:OTHER', table='copies'))"
    [route] = manifest(project, line)["services"][0]["routes"]
    assert route["export_sql"] == {
        "db_connect": {"env": "OTHER"},
        "table": "copies",
        "db_schema": None,
        "method": "insert",
    }


def test_updates_and_decorators_export_as_well(project):
    export = f"export_sql=SqlExport(db_connect='{URL}', table='t', db_schema='s', method='merge')"
    line = f"r.add_update_route(A, path='/u', {export})\n@r.insert_route(A, path='/d', {export})\ndef f(*, n):\n    return n"
    made = manifest(project, line)
    for route in made["services"][0]["routes"]:
        assert route["export_sql"] == {"db_connect": {"url": URL}, "table": "t", "db_schema": "s", "method": "merge"}
    assert made["warnings"] == []


@pytest.mark.parametrize("url", ["postgresql://u:hunter2@host/db", "postgres://host/db?user=u&password=hunter2"])
def test_a_password_in_the_code_is_warned_about_and_not_repeated(project, url):
    made = manifest(project, f"r.add_insert_route(A, path='/a', export_sql=SqlExport(db_connect='{url}', table='t'))")
    [warning] = made["warnings"]
    assert "env:NAME" in warning and "/a" in warning and "hunter2" not in warning


@pytest.mark.parametrize(
    "arguments, words",
    [
        ("'env:OTHER', 't'", ["keywords only"]),
        ("db_connect='env:OTHER'", ["table= of SqlExport"]),
        ("table='t'", ["db_connect=", "env:"]),
        ("db_connect='env:', table='t'", ["names no variable"]),
        ("db_connect='mysql://u:hunter2@h/db', table='t'", ["URL of mysql", "PostgreSQL only", "postgresql://"]),
        ("db_connect='postgresql+psycopg2://u:hunter2@h/db', table='t'", ["URL of postgresql+psycopg2"]),
        ("db_connect='hunter2', table='t'", ["no URL"]),
        ("db_connect='env:OTHER', table='t', method='upsert'", ["method='upsert'"]),
        ("db_connect='env:OTHER', table='t', methd='merge'", ["methd", "method"]),
        ("db_connect='env:OTHER', table='t', db_schema=''", ["db_schema="]),
    ],
)
def test_what_cannot_work_is_refused_without_repeating_a_secret(project, arguments, words):
    line = f"r.add_insert_route(A, path='/a', export_sql=SqlExport({arguments}))"
    error = project.error(MODELS + line + "\n")
    check(error, line, *words)
    assert "hunter2" not in error["detail"] + error["hint"]


@pytest.mark.parametrize(
    "line, words",
    [
        ("r.add_compute_route(A, path='/a', export_sql=SqlExport(db_connect='env:O', table='t'))", ["compute", "no row"]),
        ("r.add_delete_route(A, path='/a', export_sql=SqlExport(db_connect='env:O', table='t'))", ["delete"]),
        ("r.add_insert_route(A, path='/a', export_sql='env:O')", ["SqlExport", "str"]),
    ],
)
def test_only_routes_that_store_a_row_export_it(project, line, words):
    check(project.error(MODELS + line + "\n"), line, *words)
