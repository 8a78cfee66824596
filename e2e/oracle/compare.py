"""Random queries three ways: the library's collect() and cursor(), a query route over HTTP, and loops of plain Python.

`compare.py write SEED CASES` writes app.py and helpers.py. `compare.py run SEED CASES ADDRESS TARGET` fills the tables,
runs the queries and prints the differences as JSON.
"""

import json
import random
import sys
import urllib.error
import urllib.request
from datetime import date, datetime, timezone
from pathlib import Path
from uuid import UUID

from queries import RandomQuery, Undefined, random_rows
from trees import COLUMNS, TYPES

HELPERS = """import appdb as db


@db.udf
def kept_int(value: int) -> int:
    return value


@db.udf
def kept_float(value: float) -> float:
    return value


@db.udf
def kept_text(value: str) -> str:
    return value
"""
HEAD = """from datetime import date, datetime, timezone
from uuid import UUID

import appdb as db
from appdb.functions import count, make_list, max, mean, min, sum
from appdb.serving import Router
from helpers import kept_float, kept_int, kept_text

Base = db.model_base()
r = Router()
"""
RUNS_AT_ONCE = (".count()", ".head(", ".tail(")


def cases(seed, count):
    """The rows of the tables, and the queries."""
    dice = random.Random(seed)
    tables = {"T": random_rows(dice, 40), "U": random_rows(dice, 15)}
    return tables, [RandomQuery(random.Random(f"{seed}/{number}"), number) for number in range(count)]


def write(seed, count):
    lines = [HEAD]
    for table in "TU":
        lines.append(f"\nclass {table}(Base, name='{table.lower()}'):\n    k = db.Column(db.Int, primary_key=True)")
        for kind, names in COLUMNS.items():
            lines += [f"    {name}: db.{TYPES[kind]}{' | None' * name.endswith('2')}" for name in names if name != "k"]
    for query in cases(seed, count)[1]:
        hints = ", ".join(f"{name}: db.{TYPES[kind]}" for name, kind, _ in query.parameters)
        lines.append(f"\n\n@db.query\ndef {query.name}({hints}):\n    return {query.text}\n")
        lines.append(f"r.add_query_route(path='/{query.name}', query={query.name})")
    Path("app.py").write_text("\n".join(lines), encoding="utf-8")
    Path("helpers.py").write_text(HELPERS, encoding="utf-8")


def run(seed, count, address, target):
    import appdb as db

    sys.path.insert(0, ".")  # The functions of helpers.py.
    tables, queries = cases(seed, count)
    opened = {name: db.get_table(f"{target}/{name.lower()}") for name in tables}
    for name, rows in tables.items():
        opened[name].insert(rows)
    space = {}
    exec(HEAD, space)
    space |= opened
    tally = {"compared": 0, "undefined": 0, "failed": 0}
    found = []
    for query in queries:
        try:
            expected = query.rows(tables)
        except Undefined as error:
            expected = error
        ways = {
            "collect": attempt(lambda: by_library(query, space, lambda made: made.collect())),
            "cursor": attempt(lambda: by_library(query, space, lambda made: made.cursor())),
            "route": attempt(lambda: by_route(query, address)),
        }
        shown = {way: repr(rows) for way, rows in ways.items()}
        if isinstance(expected, Undefined):
            failed = {way: rows.startswith("Failed") for way, rows in shown.items()}
            alike = len(set(failed.values())) == 1 and (all(failed.values()) or len(set(shown.values())) == 1)
            tally["failed" if failed["route"] else "undefined"] += 1
        else:
            alike = set(shown.values()) == {repr(expected)}
            tally["compared"] += 1
        if not alike:
            parameters = {name: repr(value) for name, _, value in query.parameters}
            found.append({"query": query.text, "parameters": parameters, "python": repr(expected), **shown})
    print(json.dumps({"tally": tally, "differences": found}))


class Failed(Exception):
    """A query that was refused or failed."""

    def __repr__(self):
        return f"Failed({self})"


def attempt(function):
    try:
        return function()
    except Failed as error:
        return error


def by_library(query, space, read):
    import appdb as db

    values = {name: value for name, _, value in query.parameters}
    try:
        if query.text.endswith(RUNS_AT_ONCE[0]):
            return [[eval(query.text, {**space, **values})]]
        made = eval(query.text, {**space, **values})
        rows = read(made) if hasattr(made, "collect") else made
        return [list(row.values()) for row in rows]
    except db.Error as error:
        raise Failed(f"{error.code}: {error.detail}") from error


def by_route(query, address):
    values = {name: value.isoformat() if isinstance(value, date) else value for name, _, value in query.parameters}
    request = urllib.request.Request(
        f"{address}/{query.name}", json.dumps(values).encode(), {"content-type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            rows = json.load(answer)["rows"]
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        raise Failed(f"{problem['code']}: {problem['detail']}") from error
    decode = {"timestamp": moment, "date": date.fromisoformat, "uuid": UUID}
    return [
        [
            decode[kind](row[name]) if kind in decode and row[name] is not None else row[name]
            for name, kind in query.kinds.items()
        ]
        for row in rows
    ]


def moment(text):
    return datetime.fromisoformat(text).astimezone(timezone.utc)


if __name__ == "__main__":
    verb, seed, count, *rest = sys.argv[1:]
    {"write": write, "run": run}[verb](int(seed), int(count), *rest)
