"""Sends in the tickets of data/, reads every route of the help desk, and compares each answer with what it has to be.

    python client.py http://127.0.0.1:8000        (the address that `cli service run` or `cli service list` prints)

Run it against an empty database: it inserts its rows each time.
"""

import json
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
if len(sys.argv) != 2:
    sys.exit("usage: python client.py ADDRESS    (cli service list main prints it)")
ADDRESS = sys.argv[1].rstrip("/")


def request(method: str, path: str, body: Any = None, **parameters: Any):
    """Sends a request; answers the status, what the body says, and the headers."""
    url = ADDRESS + path + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
    data = None if body is None else json.dumps(body).encode()
    sent = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(sent, timeout=30) as answer:
            return answer.status, json.load(answer), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, json.load(error), error.headers


def check(what: str, found: Any, wanted: Any) -> None:
    """Prints one line for what is as it has to be, and ends the program for what is not."""
    if found != wanted:
        sys.exit(f"WRONG  {what}\n  wanted {wanted}\n  found  {found}")
    print(f"ok     {what}")


def get(path: str, **parameters: Any):
    return request("GET", "/desk" + path, **parameters)[:2]


def post(path: str, body: Any):
    return request("POST", "/desk" + path, body)[:2]


def lines(name: str):
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


# What each ticket becomes, beside what was sent.
COMPUTED = [
    {
        "title": "Export is DOWN!!",
        "is_reply": True,
        "domain": "example.org",
        "slug": "export-is-down",
        "head": "mia@example.org: Re: Export is DOWN!!",
        "first_text": "The export is down since noon. #export #outage",
        "last_author": "mia",
        "first_authors": ["mia", "lee"],
        "lengths": [46, 10, 24, 6],
        "by_author": ["lee", "lee", "mia", "mia"],
        "count": 4,
        "topics": ["export", "outage"],
        "urgency": 12,  # down 3, down 3, outage 3, !! 2, and 4 // 3
        "greeting": "Guten Tag Mia,",
        "hello": "Guten Tag Mia,\n\nabout 'Export is DOWN!!' ...",
        "amount": 1200.5,
        "fee": 125.05,
        "is_readable": True,
        "earlier": 4,
        "worst": [{"number": 102, "hours": 30.0}, {"number": 105, "hours": 26.5}],
    },
    {
        "title": "Where is my invoice?",
        "is_reply": False,
        "domain": "example.net",
        "slug": "where-is-my-invoice",
        "head": "noah@example.net: Where is my invoice?",
        "first_text": "I do not find it. #billing",
        "last_author": "noah",
        "first_authors": ["noah"],
        "lengths": [26],
        "by_author": ["noah"],
        "count": 1,
        "topics": ["billing"],
        "urgency": 0,
        "greeting": "Dear Noah,",
        "hello": "Dear Noah,\n\nabout 'Where is my invoice?' ...",
        "amount": None,  # no claim is not an error
        "fee": None,
        "is_readable": True,
        "earlier": 1,
        "worst": [{"number": 103, "hours": 72.25}],
    },
    {
        "title": "Refund, urgent",
        "is_reply": False,
        "domain": "example.com",
        "slug": "refund-urgent",
        "head": "olga@example.com: Refund, urgent",
        "first_text": "Broken on arrival",
        "last_author": "kim",
        "first_authors": ["olga", "kim"],
        "lengths": [17, 12],
        "by_author": ["kim", "olga"],
        "count": 2,
        "topics": [],
        "urgency": 4,
        "greeting": "Guten Tag Olga,",
        "hello": "Guten Tag Olga,\n\nabout 'Refund, urgent' ...",
        "amount": None,
        "fee": None,
        "is_readable": False,
        "earlier": 0,
        "worst": [],
    },
    {
        "title": "Refund?? Why not?",
        "is_reply": False,
        "domain": "example.net",
        "slug": "refund-why-not",
        "head": "noah@example.net: Refund?? Why not?",
        "first_text": "See my other ticket",
        "last_author": "kim",
        "first_authors": ["noah", "kim"],
        "lengths": [19, 7, 26],
        "by_author": ["kim", "kim", "noah"],
        "count": 3,
        "topics": ["billing", "refund"],
        "urgency": 2,
        "greeting": "Dear Noah,",
        "hello": "Dear Noah,\n\nabout 'Refund?? Why not?' ...",
        "amount": None,
        "fee": None,
        "is_readable": False,
        "earlier": 1,
        "worst": [{"number": 103, "hours": 72.25}],
    },
    {
        "title": "Thank you",
        "is_reply": False,
        "domain": "example.org",
        "slug": "thank-you",
        "head": "pia@example.org: Thank you",
        "first_text": "All works again.",
        "last_author": "pia",
        "first_authors": ["pia"],
        "lengths": [16],
        "by_author": ["pia"],
        "count": 1,
        "topics": [],
        "urgency": 0,
        "greeting": "Dear Pia,",
        "hello": "Dear Pia,\n\nabout 'Thank you' ...",
        "amount": 0.0,
        "fee": 5.0,
        "is_readable": True,
        "earlier": 0,
        "worst": [],
    },
]
FAILED = {
    "a lot": 'amount;type="ValueError", fee;type="CellError"',
    " EUR": 'amount;type="LookupError", fee;type="CellError"',
}
OPENED_IN_UTC = {"2024-05-02T09:30:00+02:00": "2024-05-02T07:30:00Z"}


def fill():
    for row in lines("closed.jsonl"):
        check(f"closed ticket {row['number']} is stored as it was sent", post("/closed", row), (200, row))
    ids: list[Any] = []
    for row, computed in zip(lines("tickets.jsonl"), COMPUTED, strict=True):
        status, answer, headers = request("POST", "/desk/tickets", row)
        ids.append(answer.pop("id", None))
        opened = OPENED_IN_UTC.get(row["opened"], row["opened"])
        public = [message for message in row["messages"] if not message["internal"]]
        check(f"the ticket '{computed['title']}' is stored", status, 200)
        check("with all that is made of it", answer, {**row, "opened": opened, "public": public, **computed})
        check("and its failing cells are named", headers["x-cell-errors"], FAILED.get(row["claim"]))
    return ids


def refuse() -> None:
    broken = lines("tickets.jsonl")[2]
    status, problem = post("/tickets/strict", broken)
    check("the strict route refuses a claim that cannot be read", (status, problem["code"]), (400, "function_failed"))
    check("and says why", "could not convert string to float: 'a lot'" in problem["detail"], True)
    status, problem = post("/tickets", {**broken, "messages": [{"author": "olga", "text": 7, "internal": False}]})
    check("a message has a text", (status, problem["errors"][0]["pointer"]), (422, "/messages/0/text"))
    fine: dict[str, Any] = {**broken, "claim": "30", "subject": "Another", "opened": "2024-05-05T00:00:00Z", "messages": []}
    status, answer = post("/tickets/strict", fine)
    check(
        "without messages there is no first text, and so no urgency",
        (status, answer["amount"], answer["fee"]),
        (200, 30.0, 8.0),
    )


def read(ids: Any) -> None:
    queue = [
        {"customer": "mia@example.org", "title": "Export is DOWN!!", "urgency": 12, "earlier": 4},
        {"customer": "Olga@example.com", "title": "Refund, urgent", "urgency": 4, "earlier": 0},
        {"customer": "noah@example.net", "title": "Refund?? Why not?", "urgency": 2, "earlier": 1},
        {"customer": "noah@example.net", "title": "Where is my invoice?", "urgency": 0, "earlier": 1},
        {"customer": "pia@example.org", "title": "Thank you", "urgency": 0, "earlier": 0},
        # nulls come first where the order descends: whoever has no urgency is looked at by a person
    ]
    nobody = {"customer": "Olga@example.com", "title": "Another", "urgency": None, "earlier": 0}
    check("the queue", get("/queue"), (200, {"rows": [nobody, *queue]}))
    check("its head", get("/queue", limit=2), (200, {"rows": [nobody, queue[0]]}))
    failed = [
        {"claim": "a lot", "why": "ValueError", "message": "could not convert string to float: 'a lot'"},
        {"claim": " EUR", "why": "LookupError", "message": "the claim is empty"},
    ]
    rows = [{**row, "fee": None, "fee_error": "CellError"} for row in failed]
    check("claims that could not be read, with the reason", get("/failed-claims"), (200, {"rows": rows}))
    billing = [
        {"slug": "where-is-my-invoice", "topics": ["billing"]},
        {"slug": "refund-why-not", "topics": ["billing", "refund"]},
    ]
    check("tickets about a topic", get("/about", topic="billing"), (200, {"rows": billing}))
    loud = [{"subject": " Re: Export is DOWN!!", "score": 3}, {"subject": "Refund, urgent", "score": 3}]
    loud += [{"subject": "Refund?? Why not?", "score": 4}, {"subject": "Where is my invoice?", "score": 1}]
    check("a function in a condition", post("/louder", {"least": 1}), (200, {"rows": loud}))
    check(
        "and with another mark", post("/louder", {"least": 4, "mark": "!"}), (200, {"rows": [{**loud[0], "score": 5}]})
    )
    shown = {
        "hello": COMPUTED[3]["hello"],
        "shown": ["See my other ticket", "Paid out. #billing #refund"],
        "first": {"by": "noah", "words": 4},
    }
    check("a conversation, without internal messages", get("/conversation", id=ids[3]), (200, shown))
    languages = [
        {"language": "de", "tickets": 3, "urgent": 12, "claims": 1230.5},
        {"language": "en", "tickets": 1, "urgent": 2, "claims": None},
        {"language": None, "tickets": 2, "urgent": 0, "claims": 0.0},
    ]
    check("sums leave failing cells out", get("/languages"), (200, {"rows": languages}))
    check("a scalar query answers its values", get("/earlier", customer="mia@example.org"), (200, [4]))
    worst = [{"number": 102, "hours": 30.0}, {"number": 105, "hours": 26.5}]
    check("a default of a parameter", post("/worst", {"customer": "mia@example.org"}), (200, {"rows": worst}))
    none = post("/worst", {"customer": "mia@example.org", "at_least": 100})
    check("and another value", none, (200, {"rows": []}))


def preview() -> None:
    row = lines("tickets.jsonl")[0]
    form = {name: row[name] for name in ("customer", "subject", "messages")}
    wanted = {"slug": "export-is-down", "urgency": 12, "earlier": 4}
    check("a preview is computed, queries included", post("/preview", form), (200, wanted))
    check("and not stored", len(get("/queue")[1]["rows"]), 6)


ids = fill()
refuse()
read(ids)
preview()
print("Every answer is as it has to be.")
