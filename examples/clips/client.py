"""Uploads clips, reads their frames, and compares every answer.

    python client.py http://127.0.0.1:8000

Run it against an empty database: it inserts its rows each time.
"""

import json
import struct
import sys
import urllib.error
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


def get(path: str):
    status, body, _ = request("GET", path)
    return status, json.loads(body)


def post(path: str, row: Any):
    status, body, _ = request("POST", path, json.dumps(row).encode(), {"content-type": "application/json"})
    return status, json.loads(body)


def send(path: str, fields: Any, content: bytes):
    """A form with a video, as a browser sends it."""
    parts = [(f'name="{field}"', value.encode()) for field, value in fields.items()]
    parts.append(('name="video"; filename="clip.avi"', content))
    lines = [b"--boundary\r\ncontent-disposition: form-data; %s\r\n\r\n%s\r\n" % (head.encode(), value) for head, value in parts]
    body = b"".join(lines) + b"--boundary--\r\n"
    status, answer, _ = request("POST", path, body, {"content-type": "multipart/form-data; boundary=boundary"})
    return status, json.loads(answer)


def check(what: str, found: Any, wanted: Any) -> None:
    """Prints one line for a correct answer, and ends the program for a wrong one."""
    if found != wanted:
        sys.exit(f"WRONG  {what}\n  wanted {wanted}\n  found  {found}")
    print(f"ok     {what}")


def chunk(name: bytes, *contents: Any):
    content = b"".join(contents)
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def film(*grays: Any, width: int = 64, height: int = 48):
    """An AVI file without compression: two frames in each second, of one gray each."""
    size = width * height * 3
    head = struct.pack("<14I", 500_000, size * 2, 0, 0x10, len(grays), 0, 1, size, width, height, 0, 0, 0, 0)
    stream = b"vids\0\0\0\0" + struct.pack("<10I4H", 0, 0, 0, 1, 2, 0, len(grays), size, 0, 0, 0, 0, width, height)
    picture = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, size, 0, 0, 0, 0)
    lists = chunk(b"LIST", b"strl", chunk(b"strh", stream), chunk(b"strf", picture))
    frames = [chunk(b"00db", bytes([gray]) * size) for gray in grays]
    index = [struct.pack("<4s3I", b"00db", 0x10, 4 + at * (size + 8), size) for at in range(len(grays))]
    parts = chunk(b"LIST", b"hdrl", chunk(b"avih", head), lists), chunk(b"LIST", b"movi", *frames), chunk(b"idx1", *index)
    return chunk(b"RIFF", b"AVI ", *parts)


# two frames in each second: white, gray, black
DOOR = film(255, 255, 128, 128, 0, 0)
YARD = film(128, 128, 128, 128)
DIM = film(26, 26, 26, 26)


def lights(number: int):
    """The light of each frame of a clip."""
    status, answer = get(f"/clips/{number}/frames")
    if status != 200:
        sys.exit(f"WRONG  the frames of a clip are answered {status} {answer}")
    return [row["light"] for row in answer["rows"]]


def add() -> None:
    check("a clip", send("/clips", {"number": "1", "camera": "door"}, DOOR), (200, {"number": 1, "seconds": 3.0}))
    check("another", send("/clips", {"number": "2", "camera": "yard"}, YARD), (200, {"number": 2, "seconds": 2.0}))


def read() -> None:
    status, answer = get("/clips/1/frames")
    found = [(row["pos"], row["at"], row["light"]) for row in answer["rows"]]
    check("a row for each second", (status, found), (200, [(0, 0.0, 100), (1, 1.0, 50), (2, 2.0, 0)]))
    status, content, headers = request("GET", answer["rows"][1]["small"])
    check("the small picture at its address", (status, headers["content-type"].split("/")[0], len(content) > 0), (200, "image", True))
    status, content, headers = request("GET", "/clips/1/frames/1/small")
    check("and at its route", (status, headers["content-type"].split("/")[0]), (200, "image"))
    status, content, headers = request("GET", "/clips/1/frames/2")
    check("a whole frame", (status, headers["content-type"].split("/")[0], len(content) > 0), (200, "image", True))
    status, content, _ = request("GET", "/clips/1/frames/7")
    check("a frame that does not exist", (status, json.loads(content)["code"]), (404, "row_not_found"))
    check("a clip that does not exist has none", lights(9), [])


def group() -> None:
    notice = {"number": 1, "pos": 2, "notice": "door is dark at 2 s"}
    check("dark frames", get("/dark"), (200, {"rows": [notice]}))
    rows = [{"camera": "door", "frames": 3, "light": 100}, {"camera": "yard", "frames": 2, "light": 50}]
    check("frames by camera", get("/cameras"), (200, {"rows": rows}))


def change() -> None:
    status, row = send("/clips/update", {"number": "2"}, DIM)
    check("another video", (status, row["seconds"], lights(2)), (200, 2.0, [10, 10]))
    found = [(row["number"], row["pos"]) for row in get("/dark")[1]["rows"]]
    check("has dark frames", found, [(1, 2), (2, 0), (2, 1)])
    status, row = post("/clips/update", {"number": 2, "camera": "garden"})
    check("another camera", status, 200)
    check("is in their notices", get("/dark")[1]["rows"][1]["notice"], "garden is dark at 0 s")
    check("a clip is deleted", post("/clips/delete", {"number": 2}), (200, {"num_rows": 1}))
    check("with its frames", (lights(2), len(get("/dark")[1]["rows"])), ([], 1))


def refuse() -> None:
    status, problem = send("/clips", {"number": "3", "camera": "x"}, b"not a video")
    check("a text", (status, problem["code"]), (422, "media_invalid"))
    status, problem = send("/clips/update", {"number": "1"}, DOOR[:40])
    check("a part of a clip replaces none", (status, problem["code"], lights(1)), (422, "media_invalid", [100, 50, 0]))
    status, problem = send("/clips", {"number": "1", "camera": "x"}, YARD)
    check("a number that is taken", (status, problem["code"], lights(1)), (409, "unique_violation", [100, 50, 0]))


if len(sys.argv) != 2:
    sys.exit("usage: python client.py ADDRESS    (cli service list main prints it)")
ADDRESS = sys.argv[1].rstrip("/")
add()
read()
group()
change()
refuse()
print("Every answer is as it has to be.")
