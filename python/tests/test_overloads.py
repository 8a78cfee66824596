"""The signature that a call takes: the nearest by type, in any order of declaration."""

import itertools

import pytest

KINDS = ("x: db.Json", "x: float", "x: int", "x: bool")
MODEL = """
class A(Base, name="a"):
    b: db.Bool
    n: db.Int
    f: db.Float
    j: db.Json
    s: db.String
    maybe: db.Int | None
"""


def declared(*signatures):
    """Source of a function `kind` with these parameters, in this order; each returns its own source text."""
    lines = []
    for number, parameters in enumerate(signatures):
        mark, name = ("db.udf", "kind") if number == 0 else ("kind.overload", f"kind{number}")
        lines += [f"@{mark}", f"def {name}({parameters}) -> str: return {parameters!r}"]
    return "\n" + "\n".join(lines)


def taken(project, signatures, calls, model=MODEL):
    """The signature of each call."""
    columns = "".join(f"    call{number} = {call}\n" for number, call in enumerate(calls))
    found = project.columns(declared(*signatures) + model + columns)
    ids = [found[f"call{number}"]["computed"]["expr"]["function"] for number in range(len(calls))]
    return [signatures[int(id.partition("#")[2] or 0)] for id in ids]


@pytest.mark.parametrize("order", [*itertools.permutations(KINDS)][::5], ids="-".join)
def test_the_exact_type_wins_over_a_wider_one_in_any_order(project, order):
    called = taken(project, order, [f"kind({x})" for x in ("b", "n", "f", "j", "s", "1", "[1]")])
    assert called == ["x: bool", "x: int", "x: float", "x: db.Json", "x: db.Json", "x: int", "x: db.Json"]


@pytest.mark.parametrize("order", [KINDS, KINDS[::-1]], ids="-".join)
def test_plain_values_take_the_same_signature_as_columns(compute, order):
    source = declared(*order) + """
@db.udf
def all_kinds() -> str:
    return " ".join(kind(x).removeprefix("x: ") for x in (True, 1, 1.5, "x", {}))
"""  # fmt: skip
    values, _ = compute(source + MODEL + "    k = all_kinds()\n", [True, 1, 1.5, "{}", "x", None])
    assert values == [{"k": "bool int float db.Json db.Json"}]


def test_what_may_be_null_takes_the_signature_for_null(project):
    assert taken(project, ["x: int", "x: int | None"], ["kind(n)", "kind(maybe)"]) == ["x: int", "x: int | None"]


def test_a_signature_that_leaves_no_default_wins_over_one_that_does(project):
    signatures = ["x: int, by: int = 2", "x: int"]
    called = taken(project, signatures, ["kind(n)", "kind(n, 3)", "kind(n, by=4)"])
    assert called == ["x: int", signatures[0], signatures[0]]


def test_arrays_and_json_with_a_schema_take_the_narrowest(project):
    model = """
class A(Base, name="a"):
    two: db.Array[(2,), db.Float]
    three: db.Array[(3,), db.Float]
    grid: db.Array[(1, 1), db.Float]
    doc: db.Json
    ints: db.Json[list[int]]
"""
    any_shape, any_length, two = "x: db.Array[db.Float]", "x: db.Array[(None,), db.Float]", "x: db.Array[(2,), db.Float]"
    signatures = [any_shape, any_length, two, "x: db.Json", "x: db.Json[list[int]]"]
    calls = [f"kind({name})" for name in ("two", "three", "grid", "doc", "ints")]
    called = taken(project, signatures, calls, model)
    assert called == [two, any_length, any_shape, "x: db.Json", "x: db.Json[list[int]]"]


@pytest.mark.parametrize(
    "pair",
    [
        ("x: int", "y: int"),
        ("x: int, y: float", "x: float, y: int"),
        ("x: db.Json, y: str", "x: str, y: db.Json"),
        ("x: int, y: int = 0", "x: int, y: str = ''"),
        ("x: int, *, by: int", "x: int, *, by: int"),
        ("x: int | None, y: int", "x: int, y: int | None"),
    ],
    ids=" or ".join,
)
def test_a_pair_that_some_call_could_not_tell_apart_is_refused_with_both_lines(project, pair):
    told = project.error(declared("x: str, y: str, z: str", *pair))
    written = (project.root / "app.py").read_text().split("\n")
    lines = [number for number, line in enumerate(written, 1) if line == "@kind.overload"]
    assert "No call could tell kind(" in told["detail"]
    assert [f"in line {line}" in told["detail"] for line in lines] == [True, True]
    assert told["source"]["line"] == lines[1]


def test_substitutions_that_come_to_the_same_type_are_refused(project):
    told = project.error("""
from typing import TypeVar
T = TypeVar("T")
@db.udf(type_substitutions=[{T: db.Int}, {T: int}])
def twice(a: T) -> T:
    return a + a
""")
    assert "No call could tell twice(a: Int)" in told["detail"]


def test_pairs_that_every_column_tells_apart_stand(project):
    pairs = [
        ("x: int", "x: str"),
        ("x: int", "x: int, y: int"),
        ("x: int, *, a: int", "x: int, *, b: int"),
        ("x: datetime", "x: date"),
        ("x: int | None", "x: str | None"),
        ("x: int, y: str", "x: float, y: int"),
    ]
    source = "".join(declared(*pair).replace("kind", f"pair{number}") for number, pair in enumerate(pairs))
    assert project.manifest("\nfrom datetime import date, datetime" + source + MODEL)["tables"]


def test_a_crossed_pair_stands_below_a_signature_for_what_both_take(project):
    signatures = ["x: int, y: int", "x: int, y: float", "x: float, y: int"]
    assert taken(project, signatures, ["kind(n, n)", "kind(n, f)", "kind(f, n)"]) == signatures


@pytest.mark.parametrize("call", ["kind(j)", "kind(None)"])
def test_a_call_that_fits_two_equally_is_refused_with_both(project, call):
    told = project.error(declared("x: int | None", "x: str | None") + MODEL + f"    a = {call}\n")
    assert "fits 2 of its signatures equally well: kind(x: Int | None) in line" in told["detail"]
    assert "kind(x: String | None) in line" in told["detail"]
    assert ".astype(" in told["hint"]
