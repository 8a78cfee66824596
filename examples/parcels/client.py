"""Sends parcels and scans as depots and scanners do, reads lists in pages, and compares every answer.

    python client.py http://127.0.0.1:8000        (the address that `cli service run` or `cli service list` prints)

Run it against an empty database: it inserts its rows each time.
"""

import json
import sys
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
JSON = "application/json"
LINES = "application/x-ndjson"


def request(method: str, url: str, data: Any = None, **headers: str):
    """Sends a request; answers the status, the body's bytes, and the headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = urllib.request.Request(url, data, named, method=method)
    try:
        with urllib.request.urlopen(sent, timeout=60) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def check(what: str, found: Any, wanted: Any) -> None:
    """Prints one line for what is as it has to be, and ends the program for what is not."""
    if found != wanted:
        sys.exit(f"WRONG  {what}\n  wanted {wanted}\n  found  {found}")
    print(f"ok     {what}")


def address(path: str, **parameters: Any):
    return ADDRESS + path + ("?" + urllib.parse.urlencode(parameters) if parameters else "")


def get(path: str, **parameters: Any):
    status, body, _ = request("GET", address(path, **parameters))
    return status, json.loads(body)


def post(path: str, value: Any, **headers: str):
    status, body, _ = request("POST", address(path), json.dumps(value).encode(), content_type=JSON, **headers)
    return status, json.loads(body)


def as_line(row: Any):
    return json.dumps(row).encode() + b"\n"


def parcel(number: int, depot: Any, **more: Any):
    row = {"code": f"RR{number:08}DE", "depot": depot, "grams": number % 7 * 250, "recipient": f"recipient {number}"}
    return {**row, **more}


def answered(row: Any):
    weights = zip(row["code"][2:10], (8, 6, 4, 2, 3, 5, 9, 7), strict=True)
    rest = 11 - sum(int(digit) * weight for digit, weight in weights) % 11
    return {"code": row["code"], "check": {10: 0, 11: 5}.get(rest, rest), "postage": 380 + row["grams"] // 500 * 95}


def send_one() -> None:
    row = {"code": "RR47312482DE", "depot": "Hof", "grams": 1999, "recipient": "Jo", "booked": "2024-05-01T08:00:00Z"}
    found = post("/parcels", row)
    check("one parcel", found, (200, {"code": "RR47312482DE", "check": 9, "postage": 665}))
    status, problem = post("/parcels", row)
    check("its number is taken now", (status, "unique constraint" in problem["detail"]), (409, True))
    status, problem = post("/parcels", {**row, "code": "parcel 1"})
    check("a number is like others", (status, problem["meta"]["column"]), (400, "check"))


def send_arrays() -> None:
    rows = [parcel(number, "Ulm") for number in range(100, 140)]
    check("forty in an array, answered in their order", post("/parcels", rows), (200, [answered(row) for row in rows]))
    check("none at all", post("/parcels", []), (200, []))

    rows = [parcel(number, "Hof") for number in range(200, 240)]
    broken = [*rows[:5], {**rows[5], "grams": "heavy"}, *rows[6:9], {"code": "RR00000209DE"}, *rows[10:]]
    status, problem = post("/parcels", broken)
    pointers = ["/5/grams", "/9/depot", "/9/grams", "/9/recipient"]
    found = (status, sorted(error["pointer"] for error in problem["errors"]))
    check("all that does not fit is named", found, (422, pointers))
    status, problem = post("/parcels", [*rows, parcel(139, "Hof")])
    check("a number of Ulm's among Hof's", (status, problem["errors"][0]["pointer"]), (409, "/40"))
    status, problem = post("/parcels", [*rows, rows[7]])
    check("a number twice in one array", (status, problem["errors"][0]["pointer"]), (409, "/40"))
    status, problem = post("/parcels", [*rows, {**rows[0], "code": "RR1DE"}])
    found = (status, problem["code"], problem["meta"]["row"])
    check("a function refuses the last", found, (400, "function_failed", 40))
    totals = [
        {"depot": "Hof", "parcels": 1, "grams": 1999, "postage": 665},
        {"depot": "Ulm", "parcels": 40, "grams": 31_250, "postage": 40 * 380 + 54 * 95},
    ]
    check("nothing of all that was stored", get("/totals"), (200, {"rows": totals}))


def send_lines() -> None:
    """A body that is made while it is sent: neither side ever has all of it."""
    numbers = range(10_000, 13_000)
    body = (as_line(parcel(number, "Kiel")) for number in numbers)
    status, lines, headers = request("POST", address("/parcels"), body, content_type=LINES)
    check("three thousand lines", (status, headers["content-type"]), (200, LINES))
    found = [json.loads(line) for line in lines.splitlines()]
    check("as many come back, in their order", found, [answered(parcel(number, "Kiel")) for number in numbers])

    key = str(uuid.uuid4())
    rows = b"".join(as_line(parcel(number, "Jena")) for number in range(20_000, 20_500))
    minimal = {"content_type": LINES, "prefer": "return=minimal", "idempotency_key": key}
    status, first, _ = request("POST", address("/parcels"), rows, **minimal)
    check("who needs no answers is told their number", (status, json.loads(first)), (200, {"num_rows": 500}))
    status, again, headers = request("POST", address("/parcels"), rows, **minimal)
    found = (status, again, headers["idempotency-replayed"])
    check("the whole file once more, by its key", found, (200, first, "true"))

    rows = [as_line(parcel(number, "Trier")) for number in range(30_000, 30_020)]
    rows[12] = b'{"code": "RR\n'
    status, body, _ = request("POST", address("/parcels"), b"".join(rows), content_type=LINES)
    problem = json.loads(body)
    found = (status, problem["errors"][0]["pointer"], "Line 13" in problem["errors"][0]["detail"])
    check("a line that was cut off", found, (422, "/12", True))
    counts = {row["depot"]: row["parcels"] for row in get("/totals")[1]["rows"]}
    check("what was stored, and what was not", counts, {"Hof": 1, "Jena": 500, "Kiel": 3000, "Ulm": 40})


def scan() -> None:
    """A scanner sends the same scan until it has an answer."""
    row = {"code": "RR47312482DE", "place": "Hof", "seen": "2024-05-01T10:00:00Z"}
    data = json.dumps(row).encode()
    key = {"content_type": JSON, "idempotency_key": str(uuid.uuid4())}
    status, first, headers = request("POST", address("/scans"), data, **key)
    check("a scan", (status, headers["idempotency-replayed"]), (200, None))
    status, second, headers = request("POST", address("/scans"), data, **key)
    check("sent again", (status, headers["idempotency-replayed"]), (200, "true"))
    check("is answered the same, its key too", json.loads(second), json.loads(first))
    other = json.dumps({**row, "place": "Bonn"}).encode()
    status, body, _ = request("POST", address("/scans"), other, **key)
    check("another one by its key is refused", (status, json.loads(body)["code"]), (422, "idempotency_mismatch"))
    status, body, _ = request("POST", address("/scans"), data, content_type=JSON, idempotency_key="two words")
    check("a key has no spaces", (status, json.loads(body)["code"]), (400, "invalid_idempotency_key"))

    for hour, place in [(12, "Plauen"), (11, "Zwickau"), (15, "Gera")]:
        key = str(uuid.uuid4())
        sent = {**row, "place": place, "seen": f"2024-05-01T{hour}:00:00Z"}
        with ThreadPoolExecutor(4) as threads:
            answers = [*threads.map(partial(post, "/scans", idempotency_key=key), [sent] * 4)]
        found = ({status for status, _ in answers}, len({answer["id"] for _, answer in answers}))
        check(f"{place}, four times at once, is one scan", found, ({200}, 1))
    places = ["Hof", "Zwickau", "Plauen", "Gera"]
    check("each is stored once", get("/trace", code="RR47312482DE"), (200, places))


def pages(method: str, path: str, data: Any = None, **parameters: Any):
    """Reads a list as long as each page says where the next one is."""
    url = address(path, **parameters)
    while url is not None:
        status, body, headers = request(method, url, data, content_type=JSON)
        if status != 200:
            sys.exit(f"WRONG  a page is answered {status} {body}")
        yield json.loads(body)["rows"]
        link = headers["link"]
        url = None if link is None else urllib.parse.urljoin(url, link[link.index("<") + 1 : link.index(">")])


def read_pages() -> None:
    found = [*pages("GET", "/depot", depot="Jena", page_size=120)]
    check("pages have their size", [len(page) for page in found], [120, 120, 120, 120, 20])
    codes = [row["code"] for page in found for row in page]
    check("together they are the list", codes, [f"RR{number:08}DE" for number in range(20_000, 20_500)])
    whole = post("/heaviest", {})[1]["rows"]
    paged = [row for page in pages("POST", "/heaviest", b"{}", page_size=900) for row in page]
    check("many weigh the same, and none comes twice", paged, whole)

    read: list[Any] = []
    for number, page in enumerate(pages("GET", "/depot", depot="Ulm", page_size=10)):
        read.append(page[0]["code"])
        # one that sorts before what was read, and the row at which the next page begins to be looked for
        post("/parcels", parcel(number, "Ulm"))
        post("/parcels/remove", {"code": page[-1]["code"]})
    firsts = [f"RR{number:08}DE" for number in (100, 110, 120, 130)]
    check("rows that come and go meanwhile double and hide none", read, firsts)

    link = request("GET", address("/depot", depot="Kiel", page_size=2))[2]["link"]
    cursor = link[link.index("cursor=") + 7 : link.index(">")]
    status, problem = get("/depot", depot="Jena", cursor=cursor)
    check("a cursor of another depot is refused", (status, problem["code"]), (422, "invalid_cursor"))
    status, problem = get("/depot", depot="Kiel", cursor=cursor[:-1] + ("A" if cursor[-1] != "A" else "B"))
    check("so is one that somebody changed", (status, problem["code"]), (422, "invalid_cursor"))
    status, problem = get("/depot", depot="Kiel", page_size=0)
    check("a page has a row", (status, problem["errors"][0]["pointer"]), (422, "/page_size"))


def read_once() -> None:
    """Who has an answer already is told that it is still true."""
    url = address("/parcel", code="RR47312482DE")
    status, body, headers = request("GET", url)
    tag = headers["etag"]
    check("an answer has a tag", (status, tag[0], json.loads(body)["country"]), (200, '"', "DE"))
    status, body, headers = request("GET", url, if_none_match=tag)
    check("nothing has changed", (status, body, headers["etag"]), (304, b"", tag))
    found = post("/parcels/weigh", {"code": "RR47312482DE", "grams": 2000})
    check("it is weighed again", found, (200, {"grams": 2000, "postage": 760}))
    status, body, headers = request("GET", url, if_none_match=tag)
    check("now something has", (status, json.loads(body)["grams"], headers["etag"] != tag), (200, 2000, True))
    status, body, headers = request("HEAD", url)
    check("HEAD says the same without a body", (status, body, "etag" in headers), (200, b"", True))
    status, _, headers = request("OPTIONS", address("/depot"))
    check("what a path takes", {"GET", "HEAD", "OPTIONS"} <= {*headers["allow"].split(", ")}, True)
    headers = request("GET", url, prefer="timing")[2]
    check("where the time went, for who asks", "dur=" in headers["server-timing"], True)


send_one()
send_arrays()
send_lines()
scan()
read_pages()
read_once()
print("Every answer is as it has to be.")
