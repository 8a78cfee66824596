"""Keeps an address book: adds people and groups, changes and removes them, and compares every answer.

    python client.py http://127.0.0.1:8000 http://127.0.0.1:8001        (the addresses of both services, in any order)

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


def request(method: str, path: str, body: Any = None, headers: Any = (), **parameters: Any):
    """Sends a request to the service that has such routes; answers the status, what the body says, and the headers."""
    address = SERVICES[path.split("/")[1]]
    url = address + path + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
    data = None if body is None else json.dumps(body).encode()
    sent = urllib.request.Request(url, data, {"content-type": "application/json", **dict(headers)}, method=method)
    try:
        with urllib.request.urlopen(sent, timeout=30) as answer:
            return answer.status, json.loads(answer.read() or "null"), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, json.load(error), error.headers


def check(what: str, found: Any, wanted: Any) -> None:
    """Prints one line for what is as it has to be, and ends the program for what is not."""
    if found != wanted:
        sys.exit(f"WRONG  {what}\n  wanted {wanted}\n  found  {found}")
    print(f"ok     {what}")


def get(path: str, **parameters: Any):
    return request("GET", path, **parameters)[:2]


def post(path: str, body: Any, **headers: str):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return request("POST", path, body, named)[:2]


def pointers(problem: Any):
    return [error["pointer"] for error in problem["errors"]]


def services(addresses: list[str]):
    """Which service is at which address: each says its name in its OpenAPI document."""
    found: dict[str, Any] = {}
    for address in addresses:
        with urllib.request.urlopen(address + "/openapi.json", timeout=30) as answer:
            document = json.load(answer)
        name = document["info"]["title"]
        tags = {tag for path in document["paths"].values() for operation in path.values() for tag in operation["tags"]}
        check(f"the routes of {name} have its tag", name in tags, True)
        found[name] = address
    return found


PEOPLE: list[Any] = [
    {"name": "Ada Berg", "email": "Ada@Example.org", "phone": "030 12345", "city": "Berlin", "born": "1990-05-01"},
    {"name": "Cem Demir", "email": None, "phone": "+43 1 5555", "city": "Wien"},
    {"name": "Eva Maria Falk", "email": "eva@example.org"},
]


def add():
    ids: dict[str, Any] = {}
    added = [
        {"heading": "Ada Berg (AB)", "dial": "+493012345", "mailbox": "ada@example.org"},
        {"heading": "Cem Demir (CD)", "dial": "+4315555", "mailbox": None},
        {"heading": "Eva Maria Falk (EMF)", "dial": None, "mailbox": "eva@example.org"},
    ]
    for row, wanted in zip(PEOPLE, added, strict=True):
        status, answer = post("/people/add", row)
        ids[row["name"].split()[0]] = answer.pop("id", None)
        check(f"{row['name']} is added", (status, answer), (200, wanted))
    status, problem = post("/people/add", {"name": "X", "phone": "12"})
    check("who has no real phone number is not", (status, problem["meta"]["column"]), (400, "dial"))
    return ids


def change(ids: Any) -> None:
    ada = {"id": ids["Ada"], **PEOPLE[0], "monogram": "AB", "dial": "+493012345"}
    ada |= {"mailbox": "ada@example.org", "heading": "Ada Berg (AB)"}
    check("one person", get("/people/get", id=ids["Ada"]), (200, ada))

    ada |= {"phone": "0170 998877", "dial": "+49170998877"}
    found = post("/people/change", {"id": ids["Ada"], "phone": "0170 998877"})
    check("what an update leaves out keeps its value", found, (200, ada))
    ada |= {"email": None, "mailbox": None}
    check("null clears", post("/people/change", {"id": ids["Ada"], "email": None}), (200, ada))
    ada |= {"name": "Ada Berg-Wolf", "monogram": "AB", "heading": "Ada Berg-Wolf (AB)", "city": "Bonn"}
    found = post("/people/change", {"id": ids["Ada"], "name": "Ada Berg-Wolf", "city": "Bonn"})
    check("several at once, and what is computed from them", found, (200, ada))
    check("a key alone changes nothing", post("/people/change", {"id": ids["Ada"]}), (200, ada))

    status, problem = post("/people/change", {"id": ids["Ada"], "name": None})
    check("a name cannot be cleared", (status, pointers(problem)), (422, ["/name"]))
    status, problem = post("/people/change", {"id": ids["Ada"], "phon": "030 1"})
    told = problem["errors"][0]
    found = (status, told["pointer"], 'mean "phone"' in told["detail"])
    check("a field that is not there", found, (422, "/phon", True))
    status, problem = post("/people/change", {"id": ids["Ada"], "dial": "+1"})
    check("what is computed cannot be sent", (status, pointers(problem)), (422, ["/dial"]))
    status, problem = post("/people/change", {"city": "Bonn"})
    check("whose?", (status, pointers(problem)), (422, ["/id"]))
    nobody = "01890000-0000-7000-8000-000000000000"
    status, problem = post("/people/change", {"id": nobody, "city": "Bonn"})
    check("nobody has that id", (status, problem["code"]), (404, "row_not_found"))
    status, problem = post("/people/change", {"id": ids["Ada"], "phone": "none", "city": "Köln"})
    found = (status, problem["code"], problem["meta"]["column"])
    check("a function that raises refuses the update", found, (400, "function_failed", "dial"))
    check("and the row is as it was", get("/people/get", id=ids["Ada"]), (200, ada))

    found = post("/people/move", {"id": ids["Ada"], "city": "Bern"})
    check("a route for the city alone", found, (200, {"name": "Ada Berg-Wolf", "city": "Bern"}))
    status, problem = post("/people/move", {"id": ids["Ada"], "name": "Ada"})
    check("takes no name", (status, pointers(problem)), (422, ["/name"]))


def cards():
    status, answer = post("/people/cards", {"name": "Gil Hahn", "phone": "040 7777"})
    vcard = "BEGIN:VCARD\nVERSION:4.0\nFN:Gil Hahn\nTEL:+49407777\nEND:VCARD"
    check("a function makes the answer of an insert", (status, answer["vcard"]), (200, vcard))
    gil = answer["id"]
    status, person = get("/people/get", id=gil)
    check("and the row is stored", (status, person["heading"]), (200, "Gil Hahn (GH)"))
    status, problem = post("/people/cards", {"name": "Ida Jung"})
    found = (status, problem["code"], "would say nothing" in problem["detail"])
    check("no card", found, (400, "function_failed", True))
    names = ["Ada Berg-Wolf", "Cem Demir", "Eva Maria Falk", "Gil Hahn"]
    check("no person", [row["name"] for row in get("/people/list")[1]["rows"]], names)

    found = post("/people/birthday", {"id": gil, "born": "2001-02-03"})
    check("a function makes the answer of an update", found, (200, "Gil Hahn has a birthday on 03 February."))
    found = post("/people/birthday", {"id": gil})
    check("it gets what the row has", found, (200, "Gil Hahn has a birthday on 03 February."))
    check("it refuses what it does not believe", post("/people/birthday", {"id": gil, "born": "1801-01-01"})[0], 400)
    check("the birthday is still there", get("/people/get", id=gil)[1]["born"], "2001-02-03")
    found = post("/people/birthday", {"id": gil, "born": None})
    check("null clears here, too", found, (200, "Gil Hahn keeps it secret."))
    return gil


def minimal(ids: Any) -> None:
    body = {"id": ids["Eva"], "city": "Graz"}
    status, answer, headers = request("POST", "/people/change", body, {"prefer": "return=minimal"})
    found = (status, answer, headers["preference-applied"])
    check("an answer without a body, for who does not read it", found, (204, None, "return=minimal"))
    check("the row has changed", get("/people/get", id=ids["Eva"])[1]["city"], "Graz")
    status, answer = post("/groups/join", {"group": "choir", "person": ids["Eva"]}, prefer="return=minimal")
    check("so have inserts", (status, answer), (204, None))


def join(ids: Any, gil: Any) -> None:
    choir = {"group": "choir", "person": ids["Ada"], "role": "alto", "until": None}
    found = post("/groups/join", {"group": "choir", "person": ids["Ada"], "role": "alto"})
    check("Ada sings", found, (200, {**choir, "badge": "choir: ALTO"}))
    status, problem = post("/groups/join", {"group": "choir", "person": ids["Ada"], "role": "bass"})
    found = (status, "unique constraint" in problem["detail"])
    check("nobody is in a group twice", found, (409, True))
    for group, name, role in [("chess", "Ada", None), ("chess", "Cem", "captain"), ("choir", "Cem", "bass")]:
        status, _ = post("/groups/join", {"group": group, "person": ids[name], "role": role})
        check(f"{name} is in {group}", status, 200)
    check("Gil, too", post("/groups/join", {"group": "chess", "person": gil, "until": "2030-12-31"})[0], 200)

    changed = {"role": "tenor", "until": None, "badge": "choir: TENOR"}
    found = post("/groups/change", {"group": "choir", "person": ids["Cem"], "role": "tenor"})
    check("a row is found by both columns of its key", found, (200, changed))
    status, problem = post("/groups/change", {"group": "choir", "role": "tenor"})
    check("not by one", (status, pointers(problem)), (422, ["/person"]))
    rows = [
        {"name": "Ada Berg-Wolf", "role": "alto", "until": None, "badge": "choir: ALTO"},
        {"name": "Cem Demir", "role": "tenor", "until": None, "badge": "choir: TENOR"},
        {"name": "Eva Maria Falk", "role": None, "until": None, "badge": "choir: None"},
    ]
    check("the choir", get("/groups/members", group="choir"), (200, {"rows": rows}))
    sizes = [{"group": "chess", "size": 3}, {"group": "choir", "size": 3}]
    check("both groups", get("/groups/sizes"), (200, {"rows": sizes}))


def change_at_once(ids: Any) -> None:
    """Twenty changes of one row: they take effect one after the other, each as a whole."""
    towns = [{"id": ids["Cem"], "city": f"town {n}", "phone": f"0800 {1000 + n}"} for n in range(20)]
    with ThreadPoolExecutor(len(towns)) as threads:
        answers = [*threads.map(partial(post, "/people/change"), towns)]
    found = [(status, row["city"], row["dial"]) for status, row in answers]
    wanted = [(200, f"town {n}", f"+49800{1000 + n}") for n in range(20)]
    check("twenty people change one row, and each sees their own change", found, wanted)
    row = get("/people/get", id=ids["Cem"])[1]
    last = int(row["city"].split()[1])
    found = (row["phone"], row["dial"])
    check("one was the last, and all of it is there", found, (f"0800 {1000 + last}", f"+49800{1000 + last}"))


def remove(ids: Any, gil: Any) -> None:
    body = {"group": "choir", "person": ids["Eva"]}
    check("Eva leaves", post("/groups/leave", body), (200, {"num_rows": 1}))
    check("to leave twice is not an error", post("/groups/leave", body), (200, {"num_rows": 0}))
    body = {"group": "chess", "role": None}
    check("null finds those without a role", post("/groups/leave-as", body), (200, {"num_rows": 2}))
    status, problem = post("/groups/leave-as", {"group": "chess"})
    check("to leave it out is not to say null", (status, pointers(problem)), (422, ["/role"]))
    check("the choir closes", post("/groups/close", {"group": "choir"}), (200, {"num_rows": 2}))
    check("one is left", get("/groups/sizes"), (200, {"rows": [{"group": "chess", "size": 1}]}))

    check("Ada is removed", post("/people/remove", {"id": ids["Ada"]}), (200, {"num_rows": 1}))
    status, problem = get("/people/get", id=ids["Ada"])
    check("she is gone", (status, problem["code"]), (404, "row_not_found"))
    check("those who live nowhere", post("/people/remove-city", {"city": None}), (200, {"num_rows": 1}))
    check("Gil was the one", get("/people/get", id=gil)[0], 404)
    rest = [{"name": "Eva Maria Falk", "dial": None, "mailbox": "eva@example.org"}]
    check("who is in Graz", get("/people/list", city="Graz"), (200, {"rows": rest}))


if len(sys.argv) != 3:
    sys.exit("usage: python client.py ADDRESS ADDRESS    (cli service list main prints both)")
SERVICES = services([address.rstrip("/") for address in sys.argv[1:]])
ids = add()
change(ids)
gil = cards()
minimal(ids)
join(ids, gil)
change_at_once(ids)
remove(ids, gil)
print("Every answer is as it has to be.")
