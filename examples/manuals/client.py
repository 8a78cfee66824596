"""Uploads manuals, searches their parts, and compares every answer.

    python client.py http://127.0.0.1:8000

Run it against an empty database: it inserts its rows each time.
"""

import json
import sys
import urllib.error
import urllib.parse
import urllib.request
from typing import Any


def request(method: str, path: str, body: Any = None, headers: Any = ()):
    """Sends a request; answers the status, the bytes, and the headers."""
    url = path if path.startswith("http") else ADDRESS + path
    sent = urllib.request.Request(url, body, dict(headers), method=method)
    try:
        with urllib.request.urlopen(sent, timeout=60) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def get(path: str, **parameters: Any):
    status, body, _ = request("GET", path + ("?" + urllib.parse.urlencode(parameters) if parameters else ""))
    return status, json.loads(body)


def post(path: str, row: Any):
    status, body, _ = request("POST", path, json.dumps(row).encode(), {"content-type": "application/json"})
    return status, json.loads(body)


def send(path: str, fields: Any, name: str, content: bytes):
    """A form with a file, as a browser sends it."""
    parts = [(f'name="{field}"', value.encode()) for field, value in fields.items()]
    parts.append((f'name="file"; filename="{name}"', content))
    lines = [b"--boundary\r\ncontent-disposition: form-data; %s\r\n\r\n%s\r\n" % (head.encode(), value) for head, value in parts]
    body = b"".join(lines) + b"--boundary--\r\n"
    status, answer, _ = request("POST", path, body, {"content-type": "multipart/form-data; boundary=boundary"})
    return status, json.loads(answer)


def check(what: str, found: Any, wanted: Any) -> None:
    """Prints one line for a correct answer, and ends the program for a wrong one."""
    if found != wanted:
        sys.exit(f"WRONG  {what}\n  wanted {wanted}\n  found  {found}")
    print(f"ok     {what}")


def pdf(*pages: Any):
    """A PDF file with a line of text on each page."""
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for at, text in enumerate(pages):
        shown = f"BT /F 12 Tf 40 150 Td ({text}) Tj ET"
        page = f"/MediaBox[0 0 600 200]/Resources<</Font<</F 3 0 R>>>>/Contents {5 + 2 * at} 0 R"
        objects += [f"<</Type/Page/Parent 2 0 R{page}>>", f"<</Length {len(shown)}>>stream\n{shown}\nendstream"]
    file = "%PDF-1.4\n"
    places: list[int] = []
    for number, text in enumerate(objects, 1):
        places.append(len(file))
        file += f"{number} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    count = len(objects) + 1
    end = f"xref\n0 {count}\n0000000000 65535 f \n{table}trailer<</Size {count}/Root 1 0 R>>\nstartxref\n{len(file)}\n%%EOF\n"
    return (file + end).encode()


SAW = b"# Band saw\n\nWear goggles.\n\n## Blade\n\nLoosen the wheel, then lift the blade out.\n\nClean both tires.\n"
LATHE = b"""<!doctype html><title>Lathe</title><nav>Home</nav><h1>Lathe</h1><p>Oil the spindle every week.</p>
<h2>Belt</h2><p>Slide the motor back to release the belt.</p>"""
PAGES = ["Charge the battery of the drill overnight.", "Tighten the chuck with its key."]
DRILL = pdf(*PAGES)
DRYING = b"Glue dries in an hour.\n\n" + b"Varnish is dry after a night in a warm room. " * 12 + b"\n"
BELT = "Slide the motor back to release the belt."


def texts(number: int):
    """The texts of a manual's parts."""
    status, answer = get(f"/manuals/{number}/parts")
    if status != 200:
        sys.exit(f"WRONG  the parts of a manual are answered {status} {answer}")
    return [row["text"] for row in answer["rows"]]


def numbers(path: str):
    """The numbers of the manuals of a board."""
    return [row["number"] for row in get(path)[1]["rows"]]


def add() -> None:
    status, saw = send("/manuals", {"number": "1", "title": "Saw"}, "saw.md", SAW)
    found = (status, saw["title"], saw["is_read"], saw["size"])
    check("Markdown", found, (200, "Saw", False, len(SAW)))
    files = [("Lathe", "lathe.html", LATHE), ("Drill", "drill.pdf", DRILL), ("Drying", "drying.txt", DRYING)]
    for number, (title, name, content) in enumerate(files, 2):
        status, row = send("/manuals", {"number": str(number), "title": title}, name, content)
        check(f"a file {name}", (status, row["number"]), (200, number))


def read_parts() -> None:
    head = {"h1": "Band saw"}
    blade = {**head, "h2": "Blade"}
    wanted = [("Band saw", head), ("Wear goggles.", head), ("Blade", blade)]
    wanted += [("Loosen the wheel, then lift the blade out.", blade), ("Clean both tires.", blade)]
    status, answer = get("/manuals/1/parts")
    found = [(row["text"], row["heading"]) for row in answer["rows"]]
    check("the parts of Markdown with their headings", (status, found), (200, wanted))
    check("the menu of a page is left out", texts(2), ["Lathe", "Oil the spindle every week.", "Belt", BELT])
    status, answer = get("/manuals/3/parts")
    wanted = [{"pos": at, "text": text, "heading": None, "page": at} for at, text in enumerate(PAGES)]
    check("the parts of a PDF file with their pages", (status, answer), (200, {"rows": wanted}))
    parts = texts(4)
    check("a long paragraph is cut", (parts[0], len(parts), max(map(len, parts)) <= 160), ("Glue dries in an hour.", 5, True))
    check("a manual that does not exist has none", texts(9), [])


def search() -> None:
    status, answer = get("/search", q="release the belt of the motor")
    first = answer["rows"][0]
    found = (status, first["number"], first["pos"], first["text"], first["source"])
    check("a part is found by its words", found, (200, 2, 3, BELT, "Lathe, part 3"))
    check("the nearest come first", [row["pos"] for row in answer["rows"]], [3, 2, 1])
    found = [row["source"] for row in get("/search", q="overnight battery", limit=1)[1]["rows"]]
    check("as many as requested", found, ["Drill, part 0"])
    status, problem = get("/search")
    check("the words are required", (status, problem["errors"][0]["pointer"]), (422, "/q"))


def board() -> None:
    status, answer = get("/unread")
    wanted = [{"number": number, "reminder": reminder} for number, reminder in [
        (1, "Read Saw: 99 characters"),
        (2, "Read Lathe: 89 characters"),
        (3, "Read Drill: 75 characters"),
        (4, "Read Drying: 565 characters"),
    ]]
    check("all manuals are unread", (status, answer), (200, {"rows": wanted}))
    check("one is long", get("/long"), (200, {"rows": [{"number": 4, "title": "Drying"}]}))
    status, row = post("/manuals/update", {"number": 2, "is_read": True})
    check("one was read", (status, row["is_read"]), (200, True))
    check("it leaves the board", numbers("/unread"), [1, 3, 4])
    words = "release the belt of the motor"
    check("and the search in unread manuals", get("/search/unread", q=words)[1]["rows"][0]["number"] != 2, True)
    check("its parts stay", texts(2)[3], BELT)


def change() -> None:
    status, row = post("/manuals/update", {"number": 1, "title": "Band saw"})
    check("another title", (status, row["title"]), (200, "Band saw"))
    found = get("/search", q="lift the blade out", limit=1)[1]["rows"]
    check("is in each part", found[0]["source"], "Band saw, part 3")
    status, row = send("/manuals/update", {"number": "1"}, "saw.txt", b"Sold to the museum.")
    check("another file", (status, row["size"]), (200, 19))
    check("has other parts", texts(1), ["Sold to the museum."])
    found = get("/search", q="loosen the wheel, lift the blade out", limit=100)[1]["rows"]
    check("the former ones are not found", [row["text"] for row in found if row["number"] == 1], ["Sold to the museum."])
    status, content, headers = request("GET", "/manuals/1/file")
    found = (status, content, headers["content-type"])
    check("the file itself", found, (200, b"Sold to the museum.", "text/plain; charset=utf-8"))
    check("a manual is deleted", post("/manuals/delete", {"number": 4}), (200, {"num_rows": 1}))
    check("with its parts", texts(4), [])
    check("from all boards", (numbers("/unread"), numbers("/long")), ([1, 3], []))


def refuse() -> None:
    status, problem = send("/manuals", {"number": "5", "title": "Cut"}, "cut.pdf", DRILL[:200])
    check("a part of a PDF file", (status, problem["code"]), (422, "media_invalid"))
    status, problem = send("/manuals", {"number": "5", "title": "Empty"}, "empty.md", b"")
    check("an empty file", (status, problem["code"]), (422, "media_invalid"))
    status, problem = send("/manuals/update", {"number": "3"}, "cut.pdf", DRILL[:200])
    check("a broken file replaces none", (status, problem["code"], texts(3)), (422, "media_invalid", PAGES))
    status, problem = send("/manuals", {"number": "3", "title": "x"}, "x.md", SAW)
    check("a number that is taken", (status, problem["code"]), (409, "unique_violation"))
    check("which leaves no parts", texts(3), PAGES)
    status, problem = post("/manuals/update", {"number": 9, "title": "x"})
    check("a manual that does not exist", (status, problem["code"]), (404, "row_not_found"))


if len(sys.argv) != 2:
    sys.exit("usage: python client.py ADDRESS    (cli service list main prints it)")
ADDRESS = sys.argv[1].rstrip("/")
add()
read_parts()
search()
board()
change()
refuse()
print("Every answer is as it has to be.")
