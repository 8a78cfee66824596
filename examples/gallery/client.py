"""Uploads photos, reads them back, and compares every answer.

    python client.py http://127.0.0.1:8000

Run it against an empty database: it inserts its rows each time.
"""

import json
import struct
import sys
import urllib.error
import urllib.parse
import urllib.request
import zlib
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


def send_form(path: str, fields: Any, files: Any):
    """A form with fields and files, as a browser sends it."""
    parts = [(f'name="{name}"', value.encode()) for name, value in fields.items()]
    parts += [(f'name="{field}"; filename="{name}"', content) for field, (name, content) in files.items()]
    lines = [b"--boundary\r\ncontent-disposition: form-data; %s\r\n\r\n%s\r\n" % (head.encode(), value) for head, value in parts]
    body = b"".join(lines) + b"--boundary--\r\n"
    return request("POST", path, body, {"content-type": "multipart/form-data; boundary=boundary"})


def upload(title: str, name: str, content: bytes):
    status, body, _ = send_form("/photos", {"title": title}, {"picture": (name, content)})
    return status, json.loads(body)


def check(what: str, found: Any, wanted: Any) -> None:
    """Prints one line for a correct answer, and ends the program for a wrong one."""
    if found != wanted:
        sys.exit(f"WRONG  {what}\n  wanted {wanted}\n  found  {found}")
    print(f"ok     {what}")


def png(width: int, height: int, color: Any):
    """A PNG file of one color."""

    def chunk(kind: bytes, content: bytes):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    lines = (b"\0" + bytes(color) * width) * height
    head = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


SEA, NIGHT, SNOW = png(640, 480, (0, 90, 200)), png(320, 320, (5, 5, 20)), png(200, 400, (250, 250, 250))


def add():
    status, sea = upload("Sea", "Blåvand 1.png", SEA)
    found = (status, sea["title"], sea["width"], sea["height"], sea["light"])
    check("a photo is stored with what is computed from it", found, (200, "Sea", 640, 480, 0.3))
    for title, content, size in [("Night", NIGHT, (320, 320)), ("Snow", SNOW, (200, 400))]:
        status, row = upload(title, "photo", content)
        check(f"{title}, under any name", (status, row["width"], row["height"]), (200, *size))
    status, row = post("/photos", {"title": "Sea again", "picture": sea["picture"]})
    check("a photo by its address", (status, row["picture"] == sea["picture"], row["width"]), (200, True, 640))
    return sea


def read(sea: Any) -> None:
    status, content, headers = request("GET", sea["picture"])
    found = (status, headers["content-type"], content == SEA)
    check("the address in the answer leads to the file", found, (200, "image/png", True))
    check("it has the name of the upload", "Bl%C3%A5vand%201.png" in headers["content-disposition"], True)
    status, part, headers = request("GET", sea["picture"], headers={"range": "bytes=0-7"})
    check("or to a part of it", (status, part, headers["content-range"]), (206, SEA[:8], f"bytes 0-7/{len(SEA)}"))
    status, _, _ = request("GET", sea["picture"], headers={"if-none-match": headers["etag"]})
    check("once", status, 304)
    status, problem = get(sea["picture"].replace("/_media/", "/_media/A"))
    check("an address that the service did not make", (status, problem["code"]), (403, "media_address_invalid"))

    status, thumb, headers = request("GET", f"/photos/{sea['id']}/thumb")
    found = (status, headers["content-type"], thumb[:2], thumb == request("GET", sea["thumb"])[1])
    check("a route answers with the thumbnail", found, (200, "image/jpeg", b"\xff\xd8", True))
    status, problem = get("/photos/01890000-0000-7000-8000-000000000000/thumb")
    check("of a photo that is there", (status, problem["code"]), (404, "row_not_found"))
    status, problem = get("/photos/sea/thumb")
    check("by its id", (status, problem["errors"][0]["pointer"]), (422, "/id"))


def look() -> None:
    status, answer = get("/wide", least=300)
    found = [(row["title"], row["width"]) for row in answer["rows"]]
    check("wide photos", (status, found), (200, [("Sea", 640), ("Sea again", 640), ("Night", 320)]))
    check("the dark ones", get("/dark", limit=1), (200, {"rows": [{"title": "Night", "light": 0.03}]}))


def refuse():
    def refusal(found: Any):
        status, problem = found
        return status, problem["code"]

    check("half of a photo", refusal(upload("Half", "half.png", SEA[: len(SEA) // 2])), (422, "media_invalid"))
    check("a text with the name of a photo", refusal(upload("Text", "sea.png", b"The sea.")), (422, "media_invalid"))
    check("nothing at all", refusal(upload("Empty", "sea.png", b"")), (422, "media_invalid"))
    check("a title alone", refusal(post("/photos", {"title": "x"})), (422, "invalid_request"))
    check("a file of the server", refusal(post("/photos", {"title": "x", "picture": "file:///etc/passwd"})), (422, "invalid_request"))
    unreachable = {"title": "x", "picture": "http://127.0.0.1:1/sea.png"}
    check("an address that leads nowhere", refusal(post("/photos", unreachable)), (502, "media_unreachable"))
    check("none of them is there", len(get("/wide")[1]["rows"]), 4)


def preview() -> None:
    status, content, headers = send_form("/preview", {}, {"picture": ("snow.png", SNOW)})
    check("a thumbnail, and no row", (status, headers["content-type"], content[:2]), (200, "image/jpeg", b"\xff\xd8"))
    check("four photos, as before", len(get("/wide")[1]["rows"]), 4)


def remove(sea: Any) -> None:
    check("a photo is deleted", post("/photos/delete", {"id": sea["id"]}), (200, {"num_rows": 1}))
    check("its thumbnail, too", get(f"/photos/{sea['id']}/thumb")[0], 404)


if len(sys.argv) != 2:
    sys.exit("usage: python client.py ADDRESS    (cli service list main prints it)")
ADDRESS = sys.argv[1].rstrip("/")
sea = add()
read(sea)
look()
refuse()
preview()
remove(sea)
print("Every answer is as it has to be.")
