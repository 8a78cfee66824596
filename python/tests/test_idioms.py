"""Idioms of real application files, which an implementation must support."""

from conftest import HEAD, texts


def test_annotated_names_are_columns_on_the_lines_below(project):
    table = project.table("class A(Base, name='a'):\n    tag: db.String\n    loud = upper(tag)\n")
    assert texts(table) == {"tag": None, "loud": "upper(tag)"}


def test_annotations_may_all_be_strings(project):
    body = "class A(Base, name='a'):\n    tag: db.String | None\n    loud = upper(tag)\n"
    table = project.manifest("from __future__ import annotations\n" + HEAD + body, head="")["tables"][0]
    assert table["columns"][0]["nullable"] is True
    assert table["columns"][1]["nullable"] is True
    assert texts(table)["loud"] == "upper(tag)"


def test_an_optional_column_may_be_written_with_typing(project):
    columns = project.columns("from typing import Optional\nclass A(Base, name='a'):\n    tag: Optional[db.Int]\n")
    assert (columns["tag"]["type"], columns["tag"]["nullable"]) == ({"kind": "int"}, True)


def test_a_column_may_be_named_like_the_function_that_computes_it(project):
    table = project.table(
        """
        @db.udf
        def blurb(text: str) -> str:
            return text[:3]
        class A(Base, name='a'):
            body: db.String
            blurb = blurb(body)
            upper = upper(blurb)
        """
    )
    assert texts(table) == {"body": None, "blurb": "blurb(body)", "upper": "upper(blurb)"}


def test_column_names_collide_with_builtins_and_our_own_words(project):
    names = "id name open year type size count text timestamp label status notes table len format string mro keys upper".split()
    body = "".join(f"    {name}: db.String\n" for name in names)
    document = project.manifest(
        f"class A(Base, name='a'):\n{body}    loud = upper.upper()\n"
        f"r = Router()\nr.add_compute_route(A, path='/x', inputs=[A.upper, A.mro, A.name, A.count], outputs=[A.loud, A.type])\n".replace(
            "inputs=[A.upper,", "inputs=[A.type, A.upper,"
        )
    )
    assert [column["name"] for column in document["tables"][0]["columns"]] == [*names, "loud"]
    assert document["services"][0]["routes"][0]["inputs"] == ["type", "upper", "mro", "name", "count"]


def test_the_key_may_come_last_and_indexes_before_later_columns(project):
    table = project.table(
        """
        class A(Base, name='a'):
            email: db.String
            __indexes__ = [db.BtreeIndex(email)]
            age: db.Int
            id = db.Column(value=uuid7(), primary_key=True)
        """
    )
    assert table["primary_key"] == ["id"]
    assert table["indexes"] == [
        {"kind": "btree", "name": None, "columns": ["email"], "source": {"file": "app.py", "line": 11}}
    ]
    assert list(texts(table)) == ["email", "age", "id"]


def test_a_uuid7_key_is_no_input(project):
    document = project.manifest(
        """
        class A(Base, name='a'):
            id = db.Column(value=uuid7(), primary_key=True)
            n: db.Int
        r = Router()
        r.add_insert_route(A, path='/a')
        """
    )
    route = document["services"][0]["routes"][0]
    assert (route["inputs"], route["outputs"]) == (["n"], ["id", "n"])


def test_importing_twice_gives_the_same_and_touches_nothing(project):
    first = project.manifest("class A(Base, name='a'):\n    n: db.Int\n")
    assert project.manifest() == first
    assert sorted(path.name for path in project.root.iterdir()) == ["app.py"]


def test_a_function_is_known_by_its_module_from_the_project_root(project):
    project.write(
        udfs="import appdb as db\n@db.udf\ndef fare(km: float, *, rate: float = 2.0) -> float:\n    return km * rate\n",
        pkg__deep="import appdb as db\n@db.udf\ndef twice(n: int) -> int:\n    return 2 * n\n",
    )
    document = project.manifest(
        """
        from udfs import fare
        from pkg import deep
        class A(Base, name='a'):
            km: db.Int
            cost = fare(km, rate=3)
            more = deep.twice(km)
        """
    )
    assert [f["id"] for f in document["functions"]] == ["pkg.deep:twice", "udfs:fare"]
    assert document["functions"][1]["source"] == {"file": "udfs.py", "line": 2}
    assert document["functions"][1]["parameters"] == [
        {"name": "km", "type": {"kind": "float"}, "nullable": False, "kind": "positional"},
        {"name": "rate", "type": {"kind": "float"}, "nullable": False, "kind": "keyword_only", "default": 2.0},
    ]
    assert [m["path"] for m in document["modules"]] == ["app.py", "pkg/deep.py", "udfs.py"]
    assert texts(document["tables"][0])["cost"] == "fare(km, rate=3.0)"


def test_four_modules_with_routes_alone_in_the_app(project):
    project.write(
        models="""
            import appdb as db
            from appdb.functions import uuid7
            import udfs
            Base = db.model_base()
            class Rides(Base, name='rides'):
                id = db.Column(value=uuid7(), primary_key=True)
                km: db.Float
                cost = udfs.fare(km)
            class Hidden(Base, name='hidden'):
                n: db.Int
            """,
        udfs="import appdb as db\n@db.udf\ndef fare(km: float) -> float:\n    return km\n",
        other="from appdb.serving import Router\nback = Router(name='back')\n",
    )
    document = project.manifest(
        """
        from appdb.serving import FastAPIRouter
        from models import Rides
        import other
        front = FastAPIRouter(prefix='/v1')
        front.add_insert_route(Rides, path='/rides', inputs=['km'], outputs=[Rides.id, 'cost'])
        other.back.add_compute_route(Rides, path='/cost')
        again = front
        """,
        head="",
    )
    assert [t["name"] for t in document["tables"]] == ["hidden", "rides"]
    assert [s["name"] for s in document["services"]] == ["back", "front"]
    assert document["services"][1]["prefix"] == "/v1"


def test_calls_mix_columns_constants_defaults_and_keywords(project):
    table = project.table(
        """
        @db.udf
        def f(a: int, b: str, c: float = 0.5, d: bool = False, *, e: str | None = None) -> str:
            return ''
        class A(Base, name='a'):
            n: db.Int
            s: db.String
            one = f(n, 'x')
            two = f(n, s, 2)
            three = f(n, b=s, d=True)
            four = f(7, s, e=None, c=1.5)
            five = f(a=n, b=s, e=s)
        """
    )
    assert list(texts(table).values())[2:] == [
        "f(n, 'x')", "f(n, s, c=2.0)", "f(n, s, d=True)", "f(7, s, c=1.5, e=None)", "f(n, s, e=s)",
    ]  # fmt: skip
    kwargs = table["columns"][5]["computed"]["expr"]["kwargs"]
    assert kwargs == {
        "c": {"node": "literal", "value": 1.5, "type": {"kind": "float"}, "nullable": False},
        "e": {"node": "literal", "value": None, "type": {"kind": "string"}, "nullable": True},
    }


def test_computed_columns_chain(compute):
    values, _ = compute(
        """
        class A(Base, name='a'):
            n: db.Int
            a = n + 1
            b = a * 2
            c = b - n
            d = c // 3
            e = -d
        """,
        [10],
    )
    assert values == [{"a": 11, "b": 22, "c": 12, "d": 4, "e": -4}]


def test_null_skips_a_call_unless_the_parameter_takes_it(compute):
    source = """
        @db.udf
        def strict(x: int) -> str:
            return 'called'
        @db.udf
        def loose(x: int | None) -> str:
            return f'got {x}'
        class A(Base, name='a'):
            n: db.Int | None
            s = strict(n)
            l = loose(n)
        """
    assert compute(source, [None], [1]) == (
        [{"s": None, "l": "got None"}, {"s": "called", "l": "got 1"}], [None, None]
    )  # fmt: skip


def test_two_compute_routes_on_one_table(project):
    document = project.manifest(
        """
        class A(Base, name='a'):
            x: db.String
            y: db.String
            ux = upper(x)
            uy = upper(y)
        s = Router(name='svc')
        s.add_compute_route(A, path='/x', inputs=[A.x], outputs=[A.ux])
        s.add_compute_route(A, path='/y', inputs=['y'], outputs=['uy'])
        """
    )
    assert [r["inputs"] for r in document["services"][0]["routes"]] == [["x"], ["y"]]


def test_the_environment_is_read_when_the_function_runs(project, workers, monkeypatch):
    document = project.manifest(
        """
        import os
        @db.udf
        def greeting(name: str) -> str:
            return os.environ['GREETING'] + name
        class A(Base, name='a'):
            name: db.String
            hello = greeting(name)
        """
    )
    monkeypatch.setenv("GREETING", "hi ")
    worker = workers(project.root)
    worker.define(document["tables"][0], document["functions"])
    assert worker.run([["you"]])[0] == {0: {"hello": "hi you"}}


def test_models_are_built_inside_functions_with_conditions(project):
    document = project.manifest(
        """
        def build(wide, kind=db.Int):
            class A(Base, name='a'):
                n: kind
                if wide:
                    m: db.Float | None
                    total = n + m
                else:
                    total = n + 0
            return A
        A = build(True)
        """
    )
    assert texts(document["tables"][0]) == {"n": None, "m": None, "total": "n + m"}


def test_a_function_sees_json_in_the_order_that_the_caller_sent(compute):
    source = """
        @db.udf
        def keys(doc: dict) -> list:
            return list(doc)
        class A(Base, name='a'):
            doc: db.Json
            k = keys(doc)
        """
    assert compute(source, ['{"b":1,"a":2}'])[0] == [{"k": '["b","a"]'}]


def test_is_none_is_left_alone_where_no_column_stands(project):
    document = project.manifest(
        """
        LIMIT = None
        @db.udf
        def size(opt: str | None) -> int:
            return 0 if opt is None else len(opt)
        class A(Base, name="a"):
            opt: db.String | None
            most = db.Column(value=1 if LIMIT is None else 2)
            n = size(opt)
        @db.query
        def q(k: int | None):
            if LIMIT is None:
                return A.where(A.n == k)
            return A.where(A.n > 1)
        """
    )
    assert [column["name"] for column in document["tables"][0]["columns"]] == ["opt", "most", "n"]
