"""Functions of a file: overloads, fixed parameters, batches, pools, aggregates, expressions."""

import pytest

OVERLOADS = """
from typing import TypeVar
T = TypeVar("T")
@db.udf
def shown(x: int) -> int:
    return x + 1
@shown.overload
def _(x: str, mark: str = "!") -> str:
    return x + mark
@shown.overload
def _(x: float, y: float) -> float:
    return x * y
@db.udf(type_substitutions=[{T: db.Int}, {T: db.String}])
def twice(a: T, b: T | None = None) -> T:
    return a + a
class A(Base, name="a"):
    n: db.Int
    s: db.String
    f: db.Float | None
"""


def functions(document):
    return {function["id"]: function for function in document["functions"]}


def test_a_call_takes_the_signature_that_fits(project):
    document = project.manifest(
        OVERLOADS + "    a = shown(n)\n    b = shown(s, mark='?')\n    c = shown(n, f)\n    d = twice(s)\n    e = shown(s)\n"
    )
    columns = {column["name"]: column for column in document["tables"][0]["columns"]}
    called = {name: columns[name]["computed"]["expr"]["function"] for name in "abcde"}
    assert called == {
        "a": "app:shown", "b": "app:shown#1", "c": "app:shown#2", "d": "app:twice#1", "e": "app:shown#1",
    }  # fmt: skip
    assert [columns[name]["type"]["kind"] for name in "abcd"] == ["int", "string", "float", "string"]
    assert columns["c"]["nullable"] and columns["b"]["computed"]["text"] == "shown(s, mark='?')"
    found = functions(document)
    assert [found[id]["overload"] for id in sorted(found)] == [0, 1, 2, 1]
    assert {found[id]["name"] for id in found} == {"shown", "twice"}
    assert len({found[f"app:shown{number}"]["digest"] for number in ("", "#1", "#2")}) == 3


def test_overloads_compute(compute):
    source = OVERLOADS + "    a = shown(n)\n    b = shown(s)\n    c = shown(f, 2.0)\n    d = twice(s)\n    e = twice(n)\n"
    values, errors = compute(source, [1, "x", 1.5], [2, "y", None])
    assert errors == [None, None]
    assert values[0] == {"a": 2, "b": "x!", "c": 3.0, "d": "xx", "e": 2}
    assert values[1]["c"] is None


def test_a_call_that_fits_no_signature_is_told_all_of_them(project):
    told = project.error(OVERLOADS + "    a = shown(n == 1, n == 2, n)\n")
    assert "matches none" in told["detail"] and "shown(x: Int); shown(x: String, mark: String)" in told["hint"]


USING = """
@db.udf
def clip(text: str, length: int = 10, *, tail: str = "", loud: bool = False) -> str:
    return (text[:length] + tail).upper() if loud else text[:length] + tail
short = clip.using(length=2)
class A(Base, name="a"):
    s: db.String
    n: db.Int
"""


def test_using_fixes_parameters_and_prints_the_whole_call(project, compute):
    columns = project.columns(USING + "    a = short(s)\n    b = clip(s, 2)\n    c = short.using(loud=True)(s, tail='~')\n")
    texts = [columns[name]["computed"]["text"] for name in "abc"]
    assert texts == ["clip(s, length=2)", "clip(s, length=2)", "clip(s, length=2, tail='~', loud=True)"]
    values, _ = compute(USING + "    a = short(s)\n    c = clip.using(text='abc')(n)\n", ["xyz", 1])
    assert values == [{"a": "xy", "c": "a"}]


AGGREGATE = """
@db.uda
class total(db.Aggregator):
    def __init__(self, start: int = 0): self.sum = start
    def update(self, n: int) -> None: self.sum += n
    def value(self) -> int: return self.sum
@db.uda(allows_window=True)
class longest(db.Aggregator):
    def __init__(self): self.text = None
    def update(self, text: str) -> None: self.text = max(self.text or "", text, key=len)
    def value(self) -> str | None: return self.text
class A(Base, name="a"):
    n: db.Int
    s: db.String
@db.query
def sums(start: int):
    return A.group_by(A.s).select(A.s, sum=total(A.n, start=5), long=longest(A.s))
"""


def test_an_aggregate_is_a_function_of_the_manifest(project):
    document = project.manifest(AGGREGATE)
    found = functions(document)
    assert {id: found[id]["kind"] for id in found} == {"app:longest": "aggregate", "app:total": "aggregate"}
    assert found["app:total"]["source"] == {"file": "app.py", "line": 9}
    assert [(p["name"], p["kind"]) for p in found["app:total"]["parameters"]] == [
        ("n", "positional"), ("start", "keyword_only"),
    ]  # fmt: skip
    selected = {one["name"]: one["expr"] for one in document["queries"][0]["query"]["select"]}
    assert (selected["sum"]["node"], selected["sum"]["fn"], selected["sum"]["is_udf"]) == ("aggregate", "app:total", True)
    assert selected["sum"]["kwargs"]["start"]["value"] == "5"
    assert selected["long"]["nullable"] and not selected["sum"]["nullable"]


EXPRESSIONS = """
@db.expr_udf
def area(w: float, h: float = 2.0) -> float:
    return w * h
@db.expr_udf
def label(text: str):
    return upper(text) + "!"
class A(Base, name="a"):
    w: db.Float
    s: db.String
"""


def test_an_expression_function_stands_for_its_expression(project, compute):
    source = EXPRESSIONS + "    a = area(w) + 1\n    b = label(s)\n    c = area(w, h=w)\n"
    columns = project.columns(source)
    texts = [columns[name]["computed"]["text"] for name in "abc"]
    assert texts == ["w * 2.0 + 1", "upper(s) + '!'", "w * w"]
    assert compute(source, [3.0, "x"])[0] == [{"a": 7.0, "b": "X!", "c": 9.0}]


BATCHED = """
pool = db.ResourcePool("openai", max_concurrent=20, per_minute=500, retries=4)
@db.udf(batch_size=8, timeout=5, resource_pool=pool)
async def embed(texts: db.Batch[str], model: str = "small") -> db.Batch[float]:
    return [1.0] * len(texts)
class A(Base, name="a"):
    s: db.String
"""


def test_batches_limits_and_pools_are_in_the_manifest(project):
    document = project.manifest(BATCHED + "    e = embed(s, model='large')\n")
    function = document["functions"][0]
    assert {key: function[key] for key in ("is_async", "batch_size", "timeout_s", "resource_pool")} == {
        "is_async": True, "batch_size": 8, "timeout_s": 5.0, "resource_pool": "openai",
    }  # fmt: skip
    assert [p.get("is_batched", False) for p in function["parameters"]] == [True, False]
    assert document["resource_pools"] == [
        {"name": "openai", "max_concurrent": 20, "per_minute": 500, "retries": 4}
    ]  # fmt: skip


MODEL = "class A(Base, name='a'):\n    n: db.Int\n    s: db.String\n"
REFUSED = {
    "a batch without a size": ("@db.udf\ndef f(x: db.Batch[int]) -> int:\n    return 1\n", ["batch_size"]),
    "a size without a batch": ("@db.udf(batch_size=2)\ndef f(x: int) -> db.Batch[int]:\n    return 1\n", ["no parameter"]),
    "a batch of rows, one result": ("@db.udf(batch_size=2)\ndef f(x: db.Batch[int]) -> int:\n    return 1\n", ["result"]),
    "a batch that may be None": ("@db.udf(batch_size=2)\ndef f(x: db.Batch[int] | None) -> db.Batch[int]:\n    pass\n", ["None"]),
    "no rows in a batch": ("@db.udf(batch_size=0)\ndef f(x: db.Batch[int]) -> db.Batch[int]:\n    pass\n", ["batch_size=0"]),
    "no time": ("@db.udf(timeout=0)\ndef f(x: int) -> int:\n    return 1\n", ["timeout=0"]),
    "a pool that nobody declares": (
        "@db.udf(resource_pool='nope')\ndef f(x: int) -> int:\n    return 1\n" + MODEL + "    y = f(n)\n", ["'nope'", "db.ResourcePool"],
    ),
    "two pools of one name": ("db.ResourcePool('p', retries=1)\ndb.ResourcePool('p', retries=2)\n", ["'p'", "Declare it once"]),
    "a pool without room": ("db.ResourcePool('p', max_concurrent=0)\n", ["max_concurrent=0"]),
    "a constant that differs by row": (
        "@db.udf(batch_size=2)\ndef f(x: db.Batch[int], y: int) -> db.Batch[int]:\n    pass\n" + MODEL + "    y = f(n, n)\n", ["'y'", "db.Batch"],
    ),
    "a fixed parameter that is not there": (
        "@db.udf\ndef f(x: int, length: int = 1) -> int:\n    return 1\ng = f.using(lenght=1)\n", ["'lenght'", "'length'"],
    ),
    "a fixed parameter that is given": (
        "@db.udf\ndef f(x: int, y: int = 1) -> int:\n    return 1\n" + MODEL + "    y = f.using(y=2)(n, y=3)\n", ["fixed"],
    ),
    "a fixed column": (
        "@db.udf\ndef f(x: int, y: int = 1) -> int:\n    return 1\n" + MODEL + "    y = f.using(y=n)(n)\n", ["constant"],
    ),
    "an aggregate in a column": (AGGREGATE + "class B(Base, name='b'):\n    n: db.Int\n    t = total(n)\n", ["total", "query"]),
    "an aggregate without update": ("@db.uda\nclass t(db.Aggregator):\n    def value(self) -> int: return 1\n", ["update"]),
    "an aggregate in a function": (
        "def g():\n    @db.uda\n    class t(db.Aggregator):\n        def update(self, x: int): pass\n        def value(self) -> int: return 1\ng()\n",
        ["inside a function"],
    ),
    "an aggregate over plain values": (AGGREGATE + "total(4)\n", ["plain values"]),
    "a setting that differs by row": (AGGREGATE + "q = A.select(total(A.n, start=A.n))\n", ["'start'", "constant"]),
    "an expression that is none": ("@db.expr_udf\ndef f(x: int):\n    return None\n", ["returns None"]),
    "an expression of another type": ("@db.expr_udf\ndef f(x: db.Json) -> db.Bool:\n    return upper('a')\n", ["hint says Bool"]),
    "a closure": ("def g():\n    @db.udf\n    def f(x: int) -> int:\n        return 1\ng()\n", ["inside a function", "top of its module"]),
    "a method": ("class C:\n    @db.udf\n    def f(self, x: int) -> int:\n        return 1\n", ["method"]),
    "an async generator": ("@db.udf\nasync def f(x: int) -> int:\n    yield 1\n", ["yields"]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(project, name):
    source, words = REFUSED[name]
    told = project.error(source if "class A" in source else source + MODEL)
    text = told["detail"] + " " + told["hint"]
    assert all(word in text for word in words), told
    assert told["source"] is not None


def test_a_function_uses_the_modules_that_its_own_imports_however_far(project):
    project.write(
        pkg__rates="from . import tables\nRATE = 2\n",
        pkg__tables="import lonely\nTABLE = {}\n",
        pkg__udfs="import appdb as db\nfrom .rates import RATE\n@db.udf\ndef fare(km: int) -> int:\n    return km * RATE\n",
        lonely="X = 1\n",
        apart="Y = 1\n",
        app="import appdb as db\nimport apart\nfrom pkg.udfs import fare\nBase = db.model_base()\n"
        "class A(Base, name='a'):\n    n: db.Int\n    f = fare(n)\n",
    )
    (project.root / "pkg" / "__init__.py").write_text("")
    document = project.manifest()
    assert document["functions"][0]["uses"] == [
        "lonely.py", "pkg/__init__.py", "pkg/rates.py", "pkg/tables.py", "pkg/udfs.py",
    ]  # fmt: skip
    assert {module["path"] for module in document["modules"]} >= set(document["functions"][0]["uses"]) | {"apart.py"}


BAD_MODULES = {
    "raises": ("1 / 0\n", ["ZeroDivisionError"]),
    "has a slip of the pen": ("def f(:\n", ["udfs.py"]),
    "imports what is not there": ("import no_such_thing\n", ["no_such_thing"]),
    "imports a name that is not there": ("from helpers import nope\n", ["nope"]),
    "imports in a circle": ("from app import A\n", ["circle", "third module"]),
    "reaches above the project": ("from .. import helpers\n", ["import"]),
}


@pytest.mark.parametrize("name", BAD_MODULES)
def test_a_module_of_functions(project, name):
    source, words = BAD_MODULES[name]
    project.write(helpers="x = 1\n", udfs=source + "import appdb as db\n@db.udf\ndef f(n: int) -> int:\n    return n\n")
    told = project.error("from udfs import f\nclass A(Base, name='a'):\n    n: db.Int\n    y = f(n)\n")
    assert all(word in str(told) for word in words), told
    assert told["code"] == "app_invalid"
