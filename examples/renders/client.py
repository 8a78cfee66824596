"""Orders pictures from the studio, loses patience, orders again, and compares each answer with what it has to be.

    python client.py http://127.0.0.1:8000        (the address that `cli service run` or `cli service list` prints)

Run it against an empty database: it inserts its rows each time.
"""

import gzip
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

if len(sys.argv) != 2:
    sys.exit("usage: python client.py ADDRESS    (cli service list main prints it)")
ADDRESS = sys.argv[1].rstrip("/")

# The set itself, 9 rows of it.
WHOLE = {"title": "whole", "re": -0.5, "im": 0.0, "zoom": 0.6, "rows": 9, "pause_ms": 0}
INSIDE = {"title": "inside", "re": 0.0, "im": 0.0, "zoom": 10.0, "rows": 4, "pause_ms": 20}


def request(method: str, path: str, data: Any = None, timeout: float = 30.0, headers: Any = (), **parameters: Any):
    """Sends a request; answers the status, what the body says, and the headers."""
    url = f"{ADDRESS}/studio{path}" + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
    named = {"content-type": "application/json", **dict(headers)}
    sent = urllib.request.Request(url, data, named, method=method)
    try:
        with urllib.request.urlopen(sent, timeout=timeout) as answer:
            return answer.status, json.load(answer), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, json.load(error), error.headers


def check(what: str, found: Any, wanted: Any) -> None:
    """Prints one line for what is as it has to be, and ends the program for what is not."""
    if found != wanted:
        sys.exit(f"WRONG  {what}\n  wanted {wanted}\n  found  {found}")
    print(f"ok     {what}")


def get(path: str, **parameters: Any):
    return request("GET", path, **parameters)[:2]


def post(path: str, value: Any, **headers: str):
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return request("POST", path, json.dumps(value).encode(), headers=named)[:2]


def order() -> None:
    status, answer = post("/renders", WHOLE)
    lines = answer["picture"].split("\n")
    check("a picture is drawn", (status, len(lines), lines[4].count("@")), (200, 9, 8))
    check("a part that is all dark", post("/preview", INSIDE), (200, {"picture": "\n".join(["@" * 8] * 4), "dark": 32}))
    orders = [{**INSIDE, "title": f"one of {n}", "rows": n} for n in range(1, 13)]
    with ThreadPoolExecutor(len(orders)) as threads:
        answers = [*threads.map(partial(post, "/renders"), orders)]
    found = [(status, answer["caption"]) for status, answer in answers]
    wanted = [(200, f"one of {n}: {n} rows, {2 * n * n} dark") for n in range(1, 13)]
    check("twelve that wait at the same time", found, wanted)
    wanted = [{"title": f"one of {n}", "dark": 2 * n * n} for n in (12, 11, 10)]
    check("the darkest", get("/darkest"), (200, {"rows": wanted}))


def lose_patience() -> None:
    """A client that hangs up does not know what became of its order. It sends it again with its key."""
    data = json.dumps({**INSIDE, "title": "impatient", "pause_ms": 300}).encode()
    headers = {"idempotency-key": str(uuid.uuid4())}
    hung_up = 0
    for _ in range(3):
        try:
            request("POST", "/renders", data, 0.05, headers)
        except (TimeoutError, urllib.error.URLError):
            hung_up += 1
    check("it hangs up three times", hung_up, 3)
    status, first, _ = request("POST", "/renders", data, headers=headers)
    status_again, again, answered = request("POST", "/renders", data, headers=headers)
    found = (status, status_again, answered["idempotency-replayed"], again == first)
    check("then it waits, and may ask once more", found, (200, 200, "true", True))
    rows = [{"caption": "impatient: 4 rows, 32 dark"}]
    check("there is one picture", get("/titled", title="impatient"), (200, {"rows": rows}))


def give_up() -> None:
    status, problem = post("/renders", {**INSIDE, "title": "endless", "pause_ms": 60_000})
    found = (status, problem["code"], problem["meta"]["column"])
    check("what takes too long is given up", found, (400, "function_timeout", "picture"))
    status, problem = post("/renders", {**INSIDE, "title": "endless", "zoom": 0})
    found = (status, problem["code"], "shows nothing" in problem["detail"])
    check("what cannot be drawn is refused", found, (400, "function_failed", True))
    check("nothing of it is stored", get("/titled", title="endless"), (200, {"rows": []}))


def put_right() -> None:
    orders = [{**INSIDE, "title": "fine"}, {**INSIDE, "title": "too high", "rows": 99}]
    body = gzip.compress(json.dumps(orders).encode())
    status, answers, headers = request("POST", "/orders", body, headers={"content-encoding": "gzip"})
    dark = [answer["dark"] for answer in answers]
    check("two orders, packed; one cannot be drawn, and both are kept", (status, dark), (200, [32, None]))
    cells = headers["x-cell-errors"]
    check("the answer says which cells are empty", "picture" in cells and "dark" in cells, True)
    broken = {"title": "too high", "kind": "ValueError", "why": "a picture has 1 to 40 rows, not 99"}
    check("why", get("/failed"), (200, {"rows": [broken]}))
    key = answers[1]["id"]
    status, changed = post("/orders/change", {"id": key, "rows": 3})
    found = (status, changed["caption"])
    check("it is put right", found, (200, "too high: 3 rows, 18 dark"))
    check("and nothing is wrong any more", get("/failed"), (200, {"rows": []}))

    status, renamed = post("/orders/change", {"id": key, "title": "small"})
    check("another title", (status, renamed["caption"]), (200, "small: 3 rows, 18 dark"))
    check("needs no other picture", renamed["made"], changed["made"])
    status, redrawn = post("/orders/change", {"id": key, "zoom": 20.0})
    check("another zoom does", (status, redrawn["made"] != changed["made"]), (200, True))
    status, row = get("/render", id=key)
    check("all of it is stored", (status, row["zoom"], row["made"]), (200, 20.0, redrawn["made"]))
    check("an order is cancelled", post("/orders/cancel", {"title": "small"}), (200, {"num_rows": 1}))
    check("and gone", get("/render", id=key)[0], 404)


def job_at(address: str, method: str = "GET"):
    """What the address of a job says."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method=method), timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def ended(sent: Any):
    """Where a job is told of, and what is told when it has ended."""
    address = urllib.parse.urljoin(f"{ADDRESS}/studio/prints", sent["job_url"])
    job: dict[str, Any] = {}
    for _ in range(1200):
        status, job = job_at(address)
        if status != 200 or job["status"] != "pending":
            return address, job
        time.sleep(0.05)
    sys.exit(f"WRONG  a job does not end: {job}")


def print_later() -> None:
    """What takes its time is a job: it is answered at once, and done behind the answer."""
    sheet = {"title": "matt", "copies": 3}
    status, sent = post("/prints", sheet)
    check("an order for paper is answered by a job", (status, sorted(sent)), (200, ["id", "job_url"]))
    address, job = ended(sent)
    found = (address.endswith(f"/_jobs/{sent['id']}"), job["status"], job["error"], job["result"])
    check("which is done, with what the route answers", found, (True, "done", None, {"sheet": "3 x matt"}))
    check("and the row is there", get("/printed", title="matt"), (200, {"rows": [{"sheet": "3 x matt"}]}))
    status, problem = job_at(address, "DELETE")
    check("what is done cannot be cancelled", (status, problem["code"]), (409, "job_not_cancellable"))

    status, problem = post("/prints", {"title": "matt"})
    check("an order that does not fit is not a job", (status, problem["errors"][0]["pointer"]), (422, "/copies"))
    glossy = f"glossy {uuid.uuid4().hex}"
    headers = {"idempotency_key": str(uuid.uuid4())}
    sent = [post("/prints", {"title": glossy, "copies": 1}, **headers)[1]["id"] for _ in range(3)]
    check("an order that is sent thrice with its key is one job", len(set(sent)), 1)
    _, job = ended({"job_url": f"{ADDRESS}/_jobs/{sent[0]}"})
    found = (job["status"], job["result"])
    check("a press that jammed is tried again", found, ("done", {"sheet": f"1 x {glossy}"}))
    check("and prints once", len(get("/printed", title=glossy)[1]["rows"]), 1)
    _, job = ended(post("/prints", {"title": "too many", "copies": 5000})[1])
    found = (job["status"], job["error_detail"]["code"], "5000 copies" in job["error"], job["result"])
    check("what fails every time says why", found, ("error", "function_failed", True, None))
    check("and stores nothing", get("/printed", title="too many"), (200, {"rows": []}))
    _, job = ended(get("/inventory", limit=1)[1])
    check("a query may be a job", (job["status"], len(job["result"]["rows"])), ("done", 1))
    status, problem = job_at(f"{ADDRESS}/_jobs/{uuid.uuid4()}")
    check("a job that nobody knows", (status, problem["code"]), (404, "job_not_found"))


order()
lose_patience()
give_up()
put_right()
print_later()
print("Every answer is as it has to be.")
