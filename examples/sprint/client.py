"""Adds tasks to the board, moves them, and compares every answer.

    python client.py http://127.0.0.1:8000

Run it against an empty database: it inserts its rows each time.
"""

import json
import sys
import urllib.error
import urllib.request
from typing import Any


def request(method: str, path: str, body: Any = None):
    """Sends JSON; answers the status and the JSON of the response."""
    content = None if body is None else json.dumps(body).encode()
    sent = urllib.request.Request(ADDRESS + path, content, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(sent, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def get(path: str):
    return request("GET", path)


def post(path: str, row: Any):
    return request("POST", path, row)


def check(what: str, found: Any, wanted: Any) -> None:
    """Prints one line for a correct answer, and ends the program for a wrong one."""
    if found != wanted:
        sys.exit(f"WRONG  {what}\n  wanted {wanted}\n  found  {found}")
    print(f"ok     {what}")


def keys(path: str):
    """The keys of the tasks of a view."""
    status, answer = get(path)
    if status != 200:
        sys.exit(f"WRONG  {path} is answered {status} {answer}")
    return [row["key"] for row in answer["rows"]]


def lines(path: str):
    """The lines of steps."""
    return [row["line"] for row in get(path)[1]["rows"]]


TASKS = [
    {"key": "a", "title": "Paint the #shed #garden", "points": 5, "owner": "Ida", "steps": [
        {"text": "Buy paint", "hours": 1},
        {"text": "Paint", "hours": 6},
    ]},
    {"key": "b", "title": "Mend the gate #garden", "points": 2, "steps": [{"text": "Weld", "hours": 4}]},
    {"key": "c", "title": "Rest", "owner": "Bo"},
]


def add() -> None:
    status, first = post("/tasks", TASKS[0])
    check("a task", (status, first), (200, {"key": "a", "state": "open", "points": 5}))
    status, answer = post("/tasks", TASKS[1:])
    check("several tasks", (status, [row["points"] for row in answer]), (200, [2, 1]))


def read() -> None:
    wanted = [{"line": "a.0 Buy paint", "hours": 1}, {"line": "a.1 Paint", "hours": 6}]
    check("the steps of a task", get("/tasks/a/steps"), (200, {"rows": wanted}))
    check("an empty list has none", lines("/tasks/c/steps"), [])
    check("long steps, the longest first", lines("/steps/long"), ["a.1 Paint", "b.0 Weld"])
    check("hours by owner", get("/load"), (200, {"rows": [{"owner": "Ida", "steps": 2, "hours": 7}]}))
    check("tasks by label", keys("/labels/garden"), ["a", "b"])
    check("by another", get("/labels/shed"), (200, {"rows": [{"key": "a", "title": "Paint the #shed #garden"}]}))
    check("open tasks", get("/open")[1]["rows"][2], {"key": "c", "card": "Rest (1)"})
    check("urgent ones", get("/urgent"), (200, {"rows": [{"key": "a", "card": "Paint the #shed #garden (5)", "points": 5}]}))
    check("ones without an owner", get("/unowned"), (200, {"rows": [{"key": "b", "card": "Mend the gate #garden (2)"}]}))


def preview() -> None:
    row = {"title": "Sweep", "points": 4}
    check("a task that would be open", post("/open/preview", {**row, "state": "open"}), (200, {"card": "Sweep (4)"}))
    check("one that would not", post("/open/preview", {**row, "state": "done"}), (200, None))


def move() -> None:
    check("a task is done", post("/tasks/update", {"key": "a", "state": "done"})[0], 200)
    check("it leaves the board", (keys("/open"), keys("/urgent")), (["b", "c"], []))
    check("and long steps", lines("/steps/long"), ["b.0 Weld"])
    check("a task grows", post("/tasks/update", {"key": "b", "points": 3, "owner": "Ida"})[0], 200)
    check("it is urgent, and has an owner", (keys("/urgent"), keys("/unowned")), (["b"], []))
    steps = [{"text": "Measure", "hours": 2}, {"text": "Weld", "hours": 5}]
    check("other steps", post("/tasks/update", {"key": "b", "steps": steps})[0], 200)
    check("are its rows", lines("/tasks/b/steps"), ["b.0 Measure", "b.1 Weld"])
    check("another title", post("/tasks/update", {"key": "b", "title": "Mend the gate #iron"})[0], 200)
    check("has other labels", (keys("/labels/garden"), keys("/labels/iron")), (["a"], ["b"]))
    check("a task is deleted", post("/tasks/delete", {"key": "b"}), (200, {"num_rows": 1}))
    check("with its rows", (lines("/tasks/b/steps"), keys("/labels/iron"), keys("/open")), ([], [], ["c"]))


def refuse() -> None:
    status, problem = post("/tasks", {"key": "d", "title": "x", "steps": [{"text": "y"}]})
    check("a step without hours", (status, problem["errors"][0]["pointer"]), (422, "/steps/0"))
    status, problem = post("/tasks/update", {"key": "a", "steps": [{"text": "y", "hours": "long"}]})
    check("hours that are no number", (status, lines("/tasks/a/steps")), (422, ["a.0 Buy paint", "a.1 Paint"]))
    status, problem = post("/tasks", {"key": "a", "title": "x"})
    check("a key that is taken", (status, problem["code"]), (409, "unique_violation"))


if len(sys.argv) != 2:
    sys.exit("usage: python client.py ADDRESS    (cli service list main prints it)")
ADDRESS = sys.argv[1].rstrip("/")
add()
read()
preview()
move()
refuse()
print("Every answer is as it has to be.")
