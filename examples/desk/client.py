"""Works at the reception desk of the museum: asks its handlers, and compares each answer with what it has to be.

    python client.py http://127.0.0.1:8000        (the address that `cli service run` or `cli service list` prints)

Run it against an empty database: it inserts its rows each time.
"""

import json
import sys
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

if len(sys.argv) != 2:
    sys.exit("usage: python client.py ADDRESS    (cli service list main prints it)")
ADDRESS = sys.argv[1].rstrip("/")
OWN_PAGES = "https://museum.example"


class Unfollowed(urllib.request.HTTPRedirectHandler):
    """Shows where an answer sends its reader, and does not go there."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: Any, headers: Any, newurl: Any):
        return None


OPENER = urllib.request.build_opener(Unfollowed)


def request(method: str, path: str, data: Any = None, headers: Any = (), **parameters: Any):
    """Sends a request; answers the status, the body's bytes, and the headers."""
    url = ADDRESS + "/desk" + path + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
    sent = urllib.request.Request(url, data, dict(headers), method=method)
    try:
        with OPENER.open(sent, timeout=30) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def send(method: str, path: str, value: Any, **parameters: Any):
    """Sends a JSON value; answers the status and the JSON that came back."""
    body = None if value is None else json.dumps(value).encode()
    headers = {} if value is None else {"content-type": "application/json"}
    status, text, _ = request(method, path, body, headers, **parameters)
    return status, json.loads(text)


def get(path: str, **parameters: Any):
    return send("GET", path, None, **parameters)


def check(what: str, found: Any, wanted: Any) -> None:
    """Prints one line for what is as it has to be, and ends the program for what is not."""
    if found != wanted:
        sys.exit(f"WRONG  {what}\n  wanted {wanted}\n  found  {found}")
    print(f"ok     {what}")


def pointers(problem: Any):
    return [error["pointer"] for error in problem["errors"]]


def ask() -> None:
    open_late = {"day": "2024-05-02", "hours": "10:00-21:00"}
    check("a day in the path", get("/hours/2024-05-02"), (200, open_late))
    found = get("/hours/2024-05-06", language="de")
    check("and a language in the URL", found, (200, {"day": "2024-05-06", "hours": "geschlossen"}))
    status, regular = get("/hours/regular")
    check("a path that is written out comes first", (status, regular["monday"]), (200, None))
    status, problem = get("/hours/tomorrow", language="fr", lang="de")
    found = (status, pointers(problem), "language" in problem["errors"][2]["detail"])
    check("what does not fit is refused, all of it", found, (422, ["/day", "/language", "/lang"], True))
    status, problem = get("/hours/2200-01-01")
    check("a handler refuses by itself", (status, problem["detail"]), (404, "Nobody knows that yet."))
    status, _, headers = request("HEAD", "/hours/2024-05-02")
    check("HEAD is GET without the body", (status, headers["content-type"]), (200, "application/json"))
    status, _, headers = request("DELETE", "/hours/2024-05-02")
    found = (status, headers["allow"])
    check("nobody deletes hours", found, (405, "GET, HEAD, OPTIONS"))
    status, body, headers = request("GET", "/map", floor=2)
    check("another place", (status, headers["location"], body), (303, "/desk/lockers?first=200&count=1", b""))


def lockers() -> None:
    status, body, headers = request("GET", "/lockers", first=7, count=3)
    found = (status, headers["content-type"], [json.loads(line)["wing"] for line in body.splitlines()])
    check("objects that are yielded are lines", found, (200, "application/x-ndjson", ["east", "west", "east"]))
    status, body, headers = request("GET", "/closing", minutes=2)
    found = (status, headers["content-type"], body)
    wanted = (200, "text/plain; charset=utf-8", b"2 minutes\n1 minutes\nGood night!\n")
    check("texts that are yielded are text", found, wanted)

    status, problem = get("/closing", minutes=90)
    check("a refusal comes before the first piece", (status, problem["detail"]), (422, "Nobody waits that long."))

    found = send("PUT", "/lockers/8", {"owner": "Jo", "key": "b"}, loud="true")
    check("a body, a path and a URL", found, (200, {"number": 8, "label": {"owner": "JO", "key": "B"}}))
    status, problem = send("PUT", "/lockers/8", {"owner": 5})
    check("labels are text", (status, pointers(problem)), (422, ["/owner"]))
    status, _, _ = request("PUT", "/lockers/8", b"owner=Jo", {"content-type": "application/x-www-form-urlencoded"})
    check("and JSON", status, 415)
    status, problem = send("PUT", "/lockers/100", {})
    found = (status, problem["code"], "LookupError: there is no locker 100" in problem["detail"])
    check("an error that nobody was to see is told by name", found, (400, "function_failed", True))
    check("without where in the code", "Traceback" in str(problem), False)
    check("nothing is null", send("DELETE", "/lockers/8", None), (202, None))
    status, problem = send("PATCH", "/lockers/8", None)
    check("a handler has its time", (status, problem["code"]), (400, "function_timeout"))
    with ThreadPoolExecutor(20) as threads:
        asked = [threads.submit(get, "/hours/2024-05-02", language="en") for _ in range(20)]
    check("twenty ask at once", [one.result()[0] for one in asked], [200] * 20)


def visits() -> None:
    text = "Mia Moss; Dr. Ott\nBen <b>; Registry\n\u00c5sa Lind; Dr. Ott\n".encode()
    status, body, _ = request("POST", "/lists/read", text, {"content-type": "text/plain"}, day="2024-05-02")
    rows = json.loads(body)
    first = {"name": "Mia Moss", "host": "Dr. Ott", "day": "2024-05-02"}
    check("a list of any type becomes rows", (status, len(rows), rows[0]), (200, 3, first))
    status, body, _ = request("POST", "/lists/read", b"Mia; Ott\nBen\n", day="2024-05-02")
    found = (status, json.loads(body)["detail"])
    check("a line without a host", found, (422, "line 2 is not like 'name; host'"))
    status, body, _ = request("POST", "/lists/read", b"a; b")
    check("a list is of a day", (status, pointers(json.loads(body))), (422, ["/day"]))

    greetings = [{"greeting": f"{row['name']} to see {row['host']}"} for row in rows]
    check("an insert route of the same router stores them", send("POST", "/visits", rows), (200, greetings))
    status, answer = get("/visits", day="2024-05-02")
    names = [row["name"] for row in answer["rows"]]
    check("a query route lists them", (status, names), (200, ["Ben <b>", "Mia Moss", "\u00c5sa Lind"]))
    status, body, headers = request("GET", "/lists/2024-05-02/page")
    lines = ["Ben &lt;b&gt; to see Registry", "Mia Moss to see Dr. Ott", "\u00c5sa Lind to see Dr. Ott"]
    items = "".join(f"<li>{line}</li>" for line in lines)
    found = (status, headers["content-type"], body.decode())
    wanted = (200, "text/html; charset=utf-8", f"<h1>02 May 2024</h1><ul>{items}</ul>")
    check("and a handler makes a page of them", found, wanted)

    guest = {"name": "Ida Jung", "host": "Registry", "day": "2024-05-02"}
    status, stored = send("POST", "/welcome", None, **guest)
    check("a handler stores a row", (status, stored["greeting"]), (201, "Ida Jung to see Registry"))
    status, problem = send("POST", "/welcome", None, **guest)
    check("once", (status, problem["detail"]), (409, "Ida Jung is here already."))
    place = f"/visits/{stored['id']}"
    found = send("PUT", place, None, host="Dr. Ott")
    check("changes it", found, (200, {"greeting": "Ida Jung to see Dr. Ott"}))
    check("deletes it", send("DELETE", place, None), (200, {"gone": True}))
    check("that is all", send("DELETE", place, None), (200, {"gone": False}))
    status, problem = send("PUT", place, None, host="Registry")
    check("nobody is left to be changed", status, 404)
    names = [row["name"] for row in get("/visits", day="2024-05-02")[1]["rows"]]
    check("the others are still there", names, ["Ben <b>", "Mia Moss", "\u00c5sa Lind"])


def badges() -> None:
    body = json.dumps({"name": "Mia & Co", "level": "staff", "rooms": [2, 4]}).encode()
    status, image, headers = request("POST", "/badges/print", body, {"content-type": "application/json"})
    found = (status, headers["content-type"], headers["x-level"])
    check("a badge is printed", found, (201, "image/svg+xml", "staff"))
    drawn = b'<svg xmlns="http://www.w3.org/2000/svg"><text fill="red">Mia &amp; Co 2 4</text></svg>'
    check("as a picture", image, drawn)
    status, problem = send("POST", "/badges/print", {"level": "boss", "rooms": [1, "two"], "nam": "Mia"})
    check("of what a badge has", (status, sorted(pointers(problem))), (422, ["/level", "/nam", "/name", "/rooms/1"]))
    found = send("POST", "/badges/sizes", ["Mia", "Ben Moss"], points=10)
    check("a list for a body", found, (200, {"Mia": 18.0, "Ben Moss": 48.0}))


def browse() -> None:
    """What a browser asks before it lets a page read an answer."""
    status, _, headers = request("GET", "/hours/regular", headers={"origin": OWN_PAGES})
    check("the museum's own pages may read", (status, headers["access-control-allow-origin"]), (200, OWN_PAGES))
    status, _, headers = request("GET", "/hours/regular", headers={"origin": "https://other.example"})
    check("others may not", headers["access-control-allow-origin"], None)
    asked = {"origin": OWN_PAGES, "access-control-request-method": "PUT"}
    status, _, headers = request("OPTIONS", "/lockers/8", headers=asked)
    found = (status, "PUT" in headers["access-control-allow-methods"], headers["access-control-max-age"])
    check("a page asks before it changes something", found, (204, True, "60"))

    with urllib.request.urlopen(ADDRESS + "/openapi.json", timeout=30) as answer:
        paths = json.load(answer)["paths"]
    found = (paths["/desk/badges/print"]["post"]["tags"], paths["/desk/hours/{day}"]["get"]["summary"])
    check("the service describes them", found, (["desk", "badges"], "When the museum is open on a day"))


ask()
lockers()
visits()
badges()
browse()
print("Every answer is as it has to be.")
