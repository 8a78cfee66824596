"""The findings of an editor: pyright, as installed with the checkout, on the example and on the idioms."""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


def pyright(folder, files=1):
    (folder / "pyrightconfig.json").write_text(
        json.dumps({"include": ["."], "extraPaths": [str(CHECKOUT / "python")], "pythonVersion": "3.11"})
    )
    done = subprocess.run(
        [CHECKOUT / "node_modules" / ".bin" / "pyright", "--outputjson", "-p", folder], capture_output=True, timeout=120
    )
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == files
    return [f"{found['range']['start']['line'] + 1}: {found['message']}" for found in report["generalDiagnostics"]]


def test_pyright_reports_nothing_on_the_examples_that_commands_print(tmp_path):
    examples = "quickstart/app.py", "tables/app.py", "tables/brief.py"
    for number, example in enumerate(examples):
        (tmp_path / f"app{number}.py").write_text((CHECKOUT / "examples" / example).read_text())
    assert pyright(tmp_path, len(examples)) == []


def test_pyright_knows_the_library(tmp_path):
    (tmp_path / "app.py").write_text(
        textwrap.dedent(
            """
            # pyright: reportUnboundVariable=false
            import appdb as db
            import appdb.functions as fn
            from appdb.functions.string import lower
            from appdb.functions.uuid import uuid4
            from appdb.serving import FastAPIRouter

            Base = db.model_base()

            class A(Base, name="a", comment="x", has_default_idxs=True):
                id = db.Column(value=uuid4(), primary_key=True)
                n: db.Int
                doc = db.Column(db.Json | None)
                v: db.Array[(768,), db.Float]
                m: db.Array[(None, 3), "int32"] | None
                b: db.Binary
                tags: db.Json[list[db.String]]
                point: db.Json[{"x": db.Float, "y": db.Float | None}] | None
                more_json = db.Column(db.Json.schema({"type": "object"}))
                s = db.Column(db.String, comment="text")
                low = lower(s)
                more = fn.string.find(s, "x", end=3) + n * 2
                path = doc.a["b"][0].astype(db.Float)
                cond = (n > 1) & ~(n == None) | fn.contains(s, "x")
                part = abs(n) + round(doc.k, 2) - -doc.k
                list = doc.a["*"].b[1:]
                pair = {"a": n, "b": [s, doc.x, None]}
                known = doc.k.isin([1, 2]) & s.isin(doc.names)
                why = low.errormsg

            r = FastAPIRouter(prefix="/v1")
            r.add_insert_route(A, path="/a", inputs=[A.n, A.doc, "s"], outputs=[A.id])
            r.add_insert_route(A, path="/b", input=[A.n])
            fn.upper(1)
            db.model_bas()
            """
        )
    )
    found = pyright(tmp_path)
    assert [message.split(":")[0] for message in found] == ["34", "35", "36"], found


def test_pyright_takes_queries_with_parameters_and_columns_called_like_verbs(tmp_path):
    (tmp_path / "app.py").write_text(
        textwrap.dedent(
            """
            import appdb as db
            from appdb.serving import Router

            Base = db.model_base()

            class Books(Base, name="books"):
                count = db.Column(db.Int)
                limit: db.Int
                where: db.String

            class Plain(Base, name="plain"):
                n = db.Column(db.Int)

            @db.query
            def few(least: int, *, n: int = 3):
                return Books.select(Books.count, Books.limit).order_by(Books.count.astype(db.Float)).limit(n)

            @db.query(return_scalar=True)
            def every():
                return Plain.where(Plain.n > 1).select(Plain.n)

            r = Router()
            r.add_query_route(path="/few", query=few, method="get")
            r.add_query_route(path="/every", query=every)
            r.add_query_route(path="/none", query=len)
            Plain.where(Plain.n > 1).selct(Plain.n)
            """
        )
    )
    found = pyright(tmp_path)
    assert [message.split(":")[0] for message in found] == ["26", "27"], found


# What a typed test writes after the names of fixtures and parameters that the pages leave without types.
TYPED = {
    "(database)": '(database: "ScratchDatabase")',
    "(shelf)": '(shelf: "type[Books]")',
    "average(path)": "average(path: str) -> float",
}
IMPORT = "from appdb.testing import ScratchDatabase\n"


# The pages declare columns by annotations alone, which pyright takes for unbound names and for values that may be None.
RELAXED = {"reportUnboundVariable": False, "reportOptionalOperand": False, "reportUnusedImport": False}


def strict(folder, relaxed=RELAXED):
    """pyright's findings in strict mode: the text of the line, and the message."""
    config = {"include": ["."], "extraPaths": [str(CHECKOUT / "python")], "pythonVersion": "3.11"}
    config |= {"typeCheckingMode": "strict", **relaxed}
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    program = CHECKOUT / "node_modules" / ".bin" / "pyright"
    done = subprocess.run(
        [program, "--outputjson", "--pythonpath", sys.executable, "-p", folder], capture_output=True, timeout=120
    )
    found = json.loads(done.stdout)["generalDiagnostics"]
    lines = [Path(one["file"]).read_text().splitlines()[one["range"]["start"]["line"]].strip() for one in found]
    return [f"{line}  # {one['message']}" for line, one in zip(lines, found)]


def test_pyright_is_strict_on_the_page_of_the_library(tmp_path):
    page = (CHECKOUT / "docs" / "library.md").read_text()
    # Its cells define a function again, which a module does not.
    page = re.sub(r"^## Use functions of a notebook\n.*?^## ", "## ", page, flags=re.S | re.M)
    (tmp_path / "page.py").write_text("\n".join(re.findall(r"```python\n(.*?)```", page, re.S)))
    assert [one for one in strict(tmp_path) if not one.startswith("initial = upper(name)")] == []


def test_pyright_is_strict_on_the_page_of_tests(tmp_path):
    page = (CHECKOUT / "docs" / "testing.md").read_text()
    files = re.findall(r"<!-- file: (\S+\.py) -->\n```python\n(.*?)```", page, re.S)
    assert len(files) > 3
    for name, text in files:
        typed = text
        for plain, with_type in TYPED.items():
            typed = typed.replace(plain, with_type)
        (tmp_path / name).write_text(typed if typed == text else IMPORT + typed)
    columns = ("loud = upper(title)", "short = initials(title)")
    found = [one for one in strict(tmp_path) if not one.startswith(columns)]
    assert found == [], "\n".join(found)


def test_pyright_is_strict_on_columns_that_are_assigned_and_on_views(tmp_path):
    (tmp_path / "app.py").write_text(
        textwrap.dedent(
            """
            from datetime import date, timedelta
            from decimal import Decimal

            import appdb as db
            from appdb.functions import count, upper, uuid7
            from appdb.functions.string import string_splitter

            Base = db.model_base()

            class Docs(Base, name="docs"):
                id = db.Column(value=uuid7(), primary_key=True)
                title = db.Column(type=db.String)
                body = db.Column(type=db.String | None)
                day = db.Column(type=db.Date)
                price = db.Column(type=db.Float)
                loud = upper(title)
                share = 2 * price * Decimal("0.5") - price
                later = day + timedelta(days=1)
                old = day < date(2024, 1, 1)
                text = round(price, 1).astype(db.String)

            class Parts(Base, name="parts", base=Docs, iterator=string_splitter(Docs.body, separators="sentence")):
                pass

            @db.query
            def parts(least: int):
                found = Parts.where((Parts.pos >= least) & (Docs.old == False)).order_by(Parts.pos)
                return found.select(Parts.title, Parts.text, n=count(Parts.pos))

            Base.create_all("main")
            Docs.insert(title="x")
            docs = db.get_table("main/docs")
            rs = docs.where(docs.title == "x").order_by(docs.score, asc=False).limit(3).collect()
            frame = rs.to_pandas()
            docs.insert([{"title": "x"}])
            for row in docs.cursor():
                print(row["title"], frame.shape, rs[0]["title"])
            made = db.create_table("t", {"n": db.Int, "m": db.Int | None})
            print(made.count(), docs.title.upper())
            """
        )
    )
    assert strict(tmp_path, {}) == []
