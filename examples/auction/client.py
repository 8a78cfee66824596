"""Holds an auction: bids, watches the boards while others bid, and compares each answer with what it has to be.

    python client.py http://127.0.0.1:8000        (the address that `cli service run` or `cli service list` prints)

Run it against an empty database: it inserts its rows each time.
"""

import json
import sys
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

if len(sys.argv) != 2:
    sys.exit("usage: python client.py ADDRESS    (cli service list main prints it)")
ADDRESS = sys.argv[1].rstrip("/")


def send(method: str, path: str, body: Any = None, headers: Any = (), **parameters: Any):
    """Opens a request; its answer is yet to be read."""
    url = f"{ADDRESS}/house{path}" + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
    data = None if body is None else json.dumps(body).encode()
    sent = urllib.request.Request(url, data, {"content-type": "application/json", **dict(headers)}, method=method)
    return urllib.request.urlopen(sent, timeout=30)


def request(method: str, path: str, body: Any = None, **parameters: Any):
    """Sends a request; answers the status and what the body says."""
    try:
        with send(method, path, body, **parameters) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def check(what: str, found: Any, wanted: Any) -> None:
    """Prints one line for what is as it has to be, and ends the program for what is not."""
    if found != wanted:
        sys.exit(f"WRONG  {what}\n  wanted {wanted}\n  found  {found}")
    print(f"ok     {what}")


def get(path: str, **parameters: Any):
    return request("GET", path, **parameters)


def post(path: str, body: Any):
    return request("POST", path, body)


class Board:
    """A live query: the rows as the service's events say they are."""

    def __init__(self, path: str, last: Any = None, method: str = "GET", body: Any = None, **parameters: Any):
        headers = {"accept": "text/event-stream"}
        if last is not None:
            headers["last-event-id"] = last
        self.answer = send(method, path, body, headers, **parameters)
        self.rows: list[Any] = []
        self.ids: list[Any] = []
        self.names: list[str] = []
        self.last = last

    def take(self) -> None:
        """Reads one event, and does to the rows what it says."""
        said: dict[str, Any] = {}
        for line in self.answer:  # an event ends with an empty line; a line that begins with a colon says nothing
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name != "":
                said[name] = value
            elif "event" in said:
                break
        else:
            sys.exit("WRONG  the stream ended")
        self.names.append(said["event"])
        self.last = said.get("id")
        data = json.loads(said["data"])
        if said["event"] == "result":
            self.rows, self.ids = data["rows"], data.get("ids", [])
        elif said["event"] == "change":
            self._change(**data)
        else:
            sys.exit(f"WRONG  a {said['event']}: {data}")

    def _change(self, added: Any, removed: Any, changed: Any) -> None:
        gone = {*removed, *(one["id"] for one in changed)}
        kept = [(key, row) for key, row in zip(self.ids, self.rows, strict=True) if key not in gone]
        for one in sorted(added + changed, key=lambda one: one["at"]):  # `at` is the place that a row has now
            kept.insert(one["at"], (one["id"], one["row"]))
        self.ids = [key for key, _ in kept]
        self.rows = [row for _, row in kept]

    def until(self, rows: Any):
        """Reads events until the rows are these."""
        while self.rows != rows:
            self.take()
        return self.rows

    def close(self) -> None:
        self.answer.close()


def bid(lot: Any, paddle: str, cents: int):
    status, answer = post("/bids", {"lot": lot, "paddle": paddle, "cents": cents})
    if status != 200 or answer["shown"] != f"{paddle} bids {cents / 100:.2f}":
        sys.exit(f"WRONG  a bid is answered {status} {answer}")
    return answer["id"]


def row(paddle: str, cents: int, note: Any = None):
    return {"paddle": paddle, "cents": cents, "note": note}


def open_lots() -> None:
    for number, title, reserve in [(1, "A walnut desk", 40_000), (2, "Six spoons", None), (3, "A painted door", 9_900)]:
        status, answer = post("/lots", {"number": number, "title": title, "reserve": reserve})
        found = (status, answer["is_open"], answer["invoice"])
        check(f"{title.lower()} is offered", found, (200, True, None))
    quote = {"premium": 2401, "invoice": 12_406}
    check("what 100.05 will cost", post("/calculator", {"hammer": 10_005}), (200, quote))
    check("and nothing, nothing", post("/calculator", {}), (200, {"premium": None, "invoice": None}))
    check("that was no lot", get("/lot", number=4)[0], 404)


def watch():
    """Three boards are open while bids come in."""
    desk, spoons = Board("/board", lot=1), Board("/board", method="POST", body={"lot": 2})
    for board in (desk, spoons):
        board.take()
    check("a board shows what there is, first of all", (desk.names, desk.rows), (["result"], []))

    first = bid(1, "p-7", 30_000)
    check("a bid comes up by itself", desk.until([row("p-7", 30_000)]), [row("p-7", 30_000)])
    bid(1, "p-9", 35_000)
    high = bid(1, "p-7", 42_000)
    bid(1, "p-4", 42_000)
    rows = [row("p-7", 42_000), row("p-4", 42_000), row("p-9", 35_000), row("p-7", 30_000)]
    check("the highest on top, of equal ones the earlier", desk.until(rows), rows)
    post("/bids/note", {"id": high, "note": "by telephone"})
    rows[0] = row("p-7", 42_000, "by telephone")
    check("a changed row changes on the board", desk.until(rows), rows)
    check("to withdraw", post("/bids/withdraw", {"id": first}), (200, {"num_rows": 1}))
    rows.pop()
    check("takes it off the board", desk.until(rows), rows)
    check("which said only what had changed", {*desk.names}, {"result", "change"})

    bid(2, "p-9", 500)
    spoons.take()
    found = (spoons.names[1:], spoons.rows)
    check("a board of another lot heard of its own first bid next", (len(found[0]), found[1]), (1, [row("p-9", 500)]))
    spoons.close()
    return desk, rows


def come_back(desk: Any, rows: Any) -> None:
    """A reader that lost the connection names the last event that it had."""
    desk.close()
    bid(1, "p-4", 45_000)
    again = Board("/board", desk.last, lot=1)
    again.take()
    rows = [row("p-4", 45_000), *rows]
    check("it hears what it has missed", (again.names, again.rows), (["result"], rows))
    again.close()
    third = Board("/board", again.last, lot=1)
    third.rows, third.ids = again.rows, again.ids
    bid(1, "p-9", 46_000)
    third.take()
    rows = [row("p-9", 46_000), *rows]
    check("when it has missed nothing, only the next news", (third.names, third.rows), (["change"], rows))
    third.close()
    check("a request without a stream says the same", get("/board", lot=1), (200, {"rows": rows}))
    status, problem = get("/board", lot="one")
    check("what does not fit is refused as ever", (status, problem["errors"][0]["pointer"]), (422, "/lot"))


def bid_at_once() -> None:
    """Twenty bid for the door, and two boards see all of them, each in at most so many steps."""
    standing, evening = Board("/standing", lot=3), Board("/evening")
    standing.take()
    check("no bids are a row as well", standing.rows, [{"bids": 0, "highest": None}])
    with ThreadPoolExecutor(20) as threads:
        ids = [*threads.map(bid, [3] * 20, [f"p-{n}" for n in range(20)], range(10_000, 12_000, 100))]
    check("twenty bids at once, each with its key", len({*ids}), 20)
    found = standing.until([{"bids": 20, "highest": 11_900}])
    check("the standing follows", found, [{"bids": 20, "highest": 11_900}])
    check("commits that come close are one event", len(standing.names) <= 21, True)
    rows = [
        {"lot": 1, "bids": 5, "highest": 46_000},
        {"lot": 2, "bids": 1, "highest": 500},
        {"lot": 3, "bids": 20, "highest": 11_900},
    ]
    check("so does the evening", evening.until(rows), rows)
    for board in (standing, evening):
        board.close()


def knock_down() -> None:
    """Twenty clerks write down the same lot at once: they go one after the other, and each is answered their own."""
    sold = [{"number": 3, "hammer": 11_900 + n, "buyer": f"p-{n}"} for n in range(20)]
    with ThreadPoolExecutor(len(sold)) as threads:
        answers = [*threads.map(partial(post, "/lots/knock-down"), sold)]
    wanted: list[Any] = []
    for n in range(20):
        invoice = 11_900 + n + (11_900 + n) * 24 // 100
        wanted.append((200, {"line": f"lot 3: A painted door to p-{n}", "invoice": invoice}))
    check("each is answered what they have written", answers, wanted)
    status, last = get("/lot", number=3)
    told = (status, {"line": last["line"], "invoice": last["invoice"]})
    check("the last one stays, whole", told in wanted, True)
    check("and the lot is closed", (last["is_open"], last["title"]), (False, "A painted door"))
    check("the highest is the buyer", get("/bids/of", lot=3, cents=11_900)[1]["paddle"], "p-19")
    status, problem = get("/bids/of", lot=1, cents=42_000)
    check("two have bid the same", (status, problem["code"]), (409, "several_rows"))
    status, problem = get("/bids/of", lot=1, cents=1)
    check("and nobody that little", (status, problem["code"]), (404, "row_not_found"))


open_lots()
come_back(*watch())
bid_at_once()
knock_down()
print("Every answer is as it has to be.")
