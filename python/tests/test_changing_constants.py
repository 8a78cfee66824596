"""Constants that differ each time the file is read are reported at their line."""

import pytest

HEADING = "import random, time, uuid\nfrom datetime import datetime, date, timezone\n"
LINE = 9 + 2


@pytest.mark.parametrize(
    ("column", "hint"),
    [
        ("x = db.Column(value=datetime.now())", "now()"),
        ("x = db.Column(type=db.Timestamp, default=datetime.now(timezone.utc))", "now()"),
        ("x = db.Column(value=random.random())", "@udf"),
        ("x = db.Column(value=uuid.uuid4())", "uuid4()"),
        ("x = n + time.time_ns()", "@udf"),
        ("x = upper(f'run {uuid.uuid4()}')", "@udf"),
    ],
)
def test_a_constant_that_changes_is_named_at_its_line(project, column, hint):
    error = project.error(f"{HEADING}class A(Base, name='a'):\n    n: db.Int\n    {column}\n")
    assert "Column 'x' has a constant that is another one each time the file is read" in error["detail"]
    assert hint in error["hint"]
    assert error["written"] == column


def test_a_query_with_the_time_of_its_reading_is_named(project):
    error = project.error(
        f"{HEADING}class A(Base, name='a'):\n    at: db.Timestamp\n"
        "@db.query\ndef late():\n    return A.where(A.at < datetime.now(timezone.utc))\n"
    )
    assert "The query late has a constant that is another one" in error["detail"]
    assert "parameter of the query" in error["hint"]


@pytest.mark.parametrize(
    "value",
    [
        "datetime(2026, 11, 24, 17, 30)",
        "uuid.uuid5(uuid.NAMESPACE_DNS, 'example.org')",
        "1 / 3",
        "60 * 60 * 24 * 1000000",
        "uuid.UUID('7f000001-0000-4000-8000-00000000abcd')",
    ],
)
def test_a_constant_that_stays_is_taken(project, value):
    assert project.columns(f"{HEADING}class A(Base, name='a'):\n    x = db.Column(value={value})\n")["x"]["computed"]


def test_a_module_that_can_be_read_but_once_is_taken(project):
    project.columns(
        "import sys\nassert not hasattr(sys, 'read_before')\nsys.read_before = True\n"
        "class A(Base, name='a'):\n    x = db.Column(value=1 / 3)\n"
    )


def test_the_second_reading_prints_nothing(project):
    project.write(app="import appdb as db\nprint('once')\nBase = db.model_base()\nclass A(Base, name='a'):\n    x = db.Column(value=1 / 3)\n")
    assert project.run().stderr == b"once\n"
