"""Writes the notes of data/ into the notebook, searches them, and compares each answer with what it has to be.

    python client.py http://127.0.0.1:8000        (the address that `cli service run` or `cli service list` prints)

Run it against an empty database: it inserts its rows each time. What is near it works out by itself, by looking at
every note; the service has an index for that.
"""

import json
import math
import sys
import urllib.error
import urllib.parse
import urllib.request
import zlib
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
if len(sys.argv) != 2:
    sys.exit("usage: python client.py ADDRESS    (cli service list main prints it)")
ADDRESS = sys.argv[1].rstrip("/")


def request(method: str, path: str, body: Any = None, **parameters: Any):
    """Sends a request; answers the status and what the body says."""
    url = ADDRESS + path + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
    data = None if body is None else json.dumps(body).encode()
    sent = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(sent, timeout=30) as answer:
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


def vector_of(text: str):
    """What embedding.py makes of a text."""
    plain = {*"a an and at by for from in is it of on or the to with".split()}
    numbers = [0.0] * 64
    for word in "".join(mark if mark.isalnum() else " " for mark in text.lower()).split():
        if word not in plain:
            place = zlib.crc32(word.removesuffix("s").encode())
            numbers[place % 64] += 1.0 if place & 64 else -1.0
    length = math.sqrt(sum(number * number for number in numbers))
    return [number / length for number in numbers]


def likeness(one: Any, other: Any):
    return sum(a * b for a, b in zip(one, other, strict=True))


def check_nearest(what: str, words: Any, found: Any, notes: Any, count: int) -> None:
    """The numbers found are the `count` notes nearest to the words, the nearest first; equal ones in any order."""
    asked = vector_of(words)
    true = {note["number"]: likeness(asked, vector_of(note["body"])) for note in notes}
    best = sorted(true.values(), reverse=True)[:count]
    # An index holds numbers of 16 bits: what differs by less than they show is equal.
    same = [abs(true.get(number, 9.0) - value) < 0.005 for number, value in zip(found, best, strict=True)]
    check(what, (len({*found}), same), (count, [True] * count))


def numbers(answer: Any):
    status, body = answer
    if status != 200:
        sys.exit(f"WRONG  a search is answered {status} {body}")
    return [row["number"] for row in body["rows"]]


def fill():
    notes = [json.loads(line) for line in (DATA / "notes.jsonl").read_text().splitlines()]
    found = post("/notes", notes)
    check("forty notes, with their vectors", found, (200, [{"number": note["number"]} for note in notes]))
    found = post("/notes", {"number": 41, "title": "Empty", "body": None, "shelf": "travel", "written": "2024-06-01"})
    check("a note without a body has none", found, (200, {"number": 41}))
    silent = {"number": 42, "title": "Nothing", "body": "to be or ...", "shelf": "travel", "written": "2024-06-01"}
    check("a body with words", post("/notes", silent)[0], 200)
    status, problem = post("/notes", {**silent, "number": 43, "body": "..."})
    found = (status, problem["code"], "has no words" in problem["detail"])
    check("a vector that cannot be made refuses its row", found, (400, "function_failed", True))
    check("which is not there", 43 in numbers(get("/shelf", shelf="travel")), False)
    return [*notes, silent]


def search(notes: Any) -> None:
    status, answer = get("/search", q="prune the apple tree in winter")
    first = answer["rows"][0]
    check("a note is found by its words", (status, first["title"]), (200, "Apple tree"))
    for words in ["prune roses in winter", "bread with cheese", "boats and ferries", "bicycle", "cold and warm nights"]:
        found = numbers(get("/search", q=words))
        check_nearest(f"five notes about {words!r}", words, found, notes, 5)
    words = "knead the dough, bake bread"
    found = post("/search", {"q": words, "limit": 3})
    check("under POST the same", found, get("/search", q=words, limit=3))
    asked = vector_of(words)
    true = [likeness(asked, vector_of(notes[row["number"] - 1]["body"])) for row in found[1]["rows"]]
    near = [abs(row["likeness"] - value) < 0.005 for row, value in zip(found[1]["rows"], true, strict=True)]
    check("how near they are", near, [True] * 3)
    check("a title", get("/search/titles", q="soup of onions")[1]["rows"], [{"number": 5, "title": "Onion soup"}])
    found = sorted(numbers(get("/search", q="water", limit=100)))
    check("all are more or less alike, but one without words", found, [note["number"] for note in notes])
    status, problem = get("/search", q="of the")
    found = (status, problem["code"], "has no words" in problem["detail"])
    check("words that say nothing", found, (400, "function_failed", True))
    status, problem = get("/search")
    check("what is looked for?", (status, problem["errors"][0]["pointer"]), (422, "/q"))


def filter_by(notes: Any) -> None:
    """Most notes about baking are in the kitchen; the workshop's five nearest come all the same."""
    words = "bake bread in a hot oven"
    for shelf in ("workshop", "travel", "kitchen"):
        on_it = [note for note in notes if note["shelf"] == shelf]
        found = numbers(get("/search/shelf", q=words, shelf=shelf))
        check_nearest(f"five of the {shelf} shelf", words, found, on_it, 5)
    late = [note for note in notes if note["written"] >= "2024-10-01"]
    found = numbers(get("/search/since", q=words, since="2024-10-01"))
    check_nearest("three that were written late", words, found, late, 3)
    check("a shelf that nobody has", get("/search/shelf", q=words, shelf="attic"), (200, {"rows": []}))
    asked = vector_of("plant garlic")
    near = [note["number"] for note in notes if likeness(asked, vector_of(note["body"])) >= 0.4]
    check("all that are alike enough", numbers(get("/about", q="plant garlic", least=0.4)), near)
    check("there are some, and not all", 0 < len(near) < 20, True)
    by_day = sorted((note for note in notes if note["shelf"] == "garden"), key=lambda note: note["written"])
    wanted = [{"number": note["number"], "written": note["written"]} for note in by_day]
    check("a shelf by its days", get("/shelf", shelf="garden"), (200, {"rows": wanted}))


def by_vector(notes: Any) -> None:
    words = "Sharpen a chisel on the stone"
    found = post("/search/vector", {"vector": vector_of(words)})
    check_nearest("a vector from elsewhere", words, numbers(found), notes, 5)
    own = vector_of(notes[32]["body"])
    status, answer = post("/search/vector", {"vector": own, "limit": 1})
    row = answer["rows"][0]
    check("a note's own vector", (status, row["number"], abs(row["likeness"]) < 0.001), (200, 33, True))
    status, problem = post("/search/vector", {"vector": own[:63]})
    check("one number is missing", (status, problem["errors"][0]["pointer"]), (422, "/vector"))
    status, problem = post("/search/vector", {"vector": [*own[:63], "x"]})
    check("one is none", (status, problem["errors"][0]["pointer"]), (422, "/vector/63"))


def rewrite(notes: Any) -> None:
    words = "a telescope shows the rings of Saturn"
    body = {"number": 40, "body": "Point the telescope at Saturn to see its rings."}
    check("a note is rewritten", post("/notes/rewrite", body)[0], 200)
    notes[39]["body"] = body["body"]
    check("and found by its new words", numbers(get("/search", q=words, limit=1)), [40])
    check_nearest("no more by its old ones", "solder the wire", numbers(get("/search", q="solder the wire")), notes, 5)
    check("its title is what it was", get("/search/titles", q="radio")[1]["rows"], [{"number": 40, "title": "Radio"}])
    check("it is torn out", post("/notes/tear-out", {"number": 40}), (200, {"num_rows": 1}))
    check("and gone", 40 in numbers(get("/search", q=words, limit=100)), False)


notes = fill()
search(notes)
filter_by(notes)
by_vector(notes)
rewrite(notes)
print("Every answer is as it has to be.")
