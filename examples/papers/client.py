"""Uploads papers, reads them back, and compares every answer.

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


def send(fields: Any, files: Any):
    """A form with fields and files, as a browser sends it."""
    parts = [(f'name="{name}"', value) for name, value in fields.items()]
    parts += [(f'name="{field}"; filename="{name}"', text) for field, (name, text) in files.items()]
    lines = [f"--boundary\r\ncontent-disposition: form-data; {head}\r\n\r\n{value}\r\n" for head, value in parts]
    body = ("".join(lines) + "--boundary--\r\n").encode()
    status, answer, _ = request("POST", "/papers", body, {"content-type": "multipart/form-data; boundary=boundary"})
    return status, json.loads(answer)


def check(what: str, found: Any, wanted: Any) -> None:
    """Prints one line for a correct answer, and ends the program for a wrong one."""
    if found != wanted:
        sys.exit(f"WRONG  {what}\n  wanted {wanted}\n  found  {found}")
    print(f"ok     {what}")


BEES = "# On bees\n\nBees dance.\n\n## Why they dance\n\nTo show the way.\n"
BIENEN = "# \u00dcber Bienen\n\nBienen tanzen.\n"
PAGE = "<!doctype html><html><body><h1>On ants</h1><script>alert(1)</script></body></html>"


def add():
    files = {"text": ("bees.md", BEES), "translation": ("b\u00fccher/bienen.md", BIENEN)}
    status, bees = send({"number": "1", "title": "On bees"}, files)
    found = (status, bees["words"], bees["headings"])
    check("two files in one form", found, (200, 13, ["On bees", "Why they dance"]))
    status, ants = send({"number": "2", "title": "On ants"}, {"text": ("ants.html", PAGE)})
    check("a translation can be left out", (status, ants["translation"], ants["headings"]), (200, None, []))
    status, again = send({"number": "3", "title": "Bees, copied"}, {"text": ("copy.md", BEES)})
    check("one text in two papers", (status, again["words"]), (200, 13))
    return bees


def read(bees: Any) -> None:
    files = [("text", "/papers/1/text", BEES), ("translation", "/papers/1/translation", BIENEN)]
    for what, path, text in [*files, ("address in the answer", bees["text"], BEES)]:
        status, content, headers = request("GET", path)
        found = (status, content.decode(), headers["content-type"])
        check(f"the {what} is the file", found, (200, text, "text/markdown; charset=utf-8"))
        check("a browser shows it", headers["content-disposition"].split(";")[0], "inline")
    status, content, headers = request("GET", "/papers/2/text")
    found = (status, content.decode(), headers["content-disposition"])
    check("a page is downloaded: it could run scripts", found, (200, PAGE, 'attachment; filename="ants.html"'))
    status, outline, _ = request("GET", bees["outline"])
    check("an outline was written", (status, outline.decode()), (200, "# On bees\n\n- On bees\n- Why they dance\n"))
    status, problem = get("/papers/2/translation")
    check("a paper without a translation", (status, problem["code"]), (404, "media_not_found"))
    status, problem = get("/papers/9/text")
    check("a paper that does not exist", (status, problem["code"]), (404, "row_not_found"))
    status, problem = get("/papers/one/text")
    check("papers have numbers", (status, problem["errors"][0]["pointer"]), (422, "/number"))


def search() -> None:
    status, answer = get("/search", title="BEES")
    found = [(row["number"], row["words"], row["is_translated"]) for row in answer["rows"]]
    check("papers on bees", (status, found), (200, [(1, 13, True), (3, 13, False)]))
    check("none is long", get("/search", least=1000), (200, {"rows": []}))


def rename() -> None:
    body = json.dumps({"number": 1, "title": "How bees dance"}).encode()
    status, outline, headers = request("POST", "/papers/rename", body, {"content-type": "application/json"})
    found = (status, outline.decode().splitlines()[0], headers["content-type"])
    check("another title, another outline", found, (200, "# How bees dance", "text/markdown; charset=utf-8"))
    check("the text stays", request("GET", "/papers/1/text")[1].decode(), BEES)


def refuse() -> None:
    status, problem = send({"number": "4", "title": "x"}, {"text": ("x.md", "")})
    check("an empty file", (status, problem["code"]), (422, "media_invalid"))
    status, problem = send({"number": "4", "title": "x"}, {"text": ("x.md", "\0\1\2\3")})
    check("bytes of an unknown kind", (status, problem["code"]), (422, "media_invalid"))
    status, problem = send({"number": "four", "title": "x"}, {"text": ("x.md", BEES)})
    check("a number in letters", (status, problem["errors"][0]["pointer"]), (422, "/number"))
    status, problem = send({"number": "4"}, {"text": ("x.md", BEES), "title": ("x.md", BEES)})
    check("a title is not a file", (status, problem["errors"][0]["pointer"]), (422, "/title"))
    status, problem = send({"number": "1", "title": "x"}, {"text": ("x.md", BEES)})
    check("a number that is taken", (status, problem["code"]), (409, "unique_violation"))
    check("three papers", len(get("/search")[1]["rows"]), 3)


if len(sys.argv) != 2:
    sys.exit("usage: python client.py ADDRESS    (cli service list main prints it)")
ADDRESS = sys.argv[1].rstrip("/")
bees = add()
read(bees)
search()
rename()
refuse()
print("Every answer is as it has to be.")
