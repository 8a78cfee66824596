"""Leaves messages, listens to them, and compares every answer.

    python client.py http://127.0.0.1:8000

Run it against an empty database: it inserts its rows each time.
"""

import io
import json
import math
import sys
import urllib.error
import urllib.request
import wave
from array import array
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


def send(path: str, content: bytes, **fields: Any):
    """A form with fields and a recording, as a browser sends it."""
    parts = [(f'name="{name}"', value.encode()) for name, value in fields.items()]
    parts.append(('name="recording"; filename="message"', content))
    lines = [b"--boundary\r\ncontent-disposition: form-data; %s\r\n\r\n%s\r\n" % (head.encode(), value) for head, value in parts]
    body = b"".join(lines) + b"--boundary--\r\n"
    status, body, _ = request("POST", path, body, {"content-type": "multipart/form-data; boundary=boundary"})
    return status, json.loads(body)


def check(what: str, found: Any, wanted: Any) -> None:
    """Prints one line for a correct answer, and ends the program for a wrong one."""
    if found != wanted:
        sys.exit(f"WRONG  {what}\n  wanted {wanted}\n  found  {found}")
    print(f"ok     {what}")


def recording(seconds: float, loudness: Any, rate: int = 8_000):
    """A WAV file of a tone."""
    tone = (round(32_000 * loudness * math.sin(2 * math.pi * 440 * n / rate)) for n in range(int(seconds * rate)))
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((1, 2, rate, 0, "NONE", ""))
        writer.writeframes(array("h", tone).tobytes())
    return file.getvalue()


def read_wave(content: bytes):
    """The seconds of a WAV file, and its loudest sample."""
    with wave.open(io.BytesIO(content)) as reader:
        samples = array("h", reader.readframes(reader.getnframes()))
        return reader.getnframes() / reader.getframerate(), round(max(map(abs, samples)) / 32_768, 1)


def leave():
    ids: dict[str, Any] = {}
    for caller, seconds, loudness in [("Ada", 1.5, 0.5), ("Ben", 0.5, 0.1), ("Ada", 2.0, 0.2)]:
        status, row = send("/messages", recording(seconds, loudness), caller=caller)
        found = (status, row["seconds"], round(row["volume"], 1))
        check(f"{caller} talks for {seconds} seconds", found, (200, seconds, loudness))
        ids.setdefault(caller, row["id"])
    return ids


def listen(ids: Any) -> None:
    status, answer = get("/messages?caller=Ada")
    found = [(row["caller"], row["seconds"]) for row in answer["rows"]]
    check("the messages of a caller", (status, found), (200, [("Ada", 1.5), ("Ada", 2.0)]))
    check("all messages", len(get("/messages")[1]["rows"]), 3)
    status, content, headers = request("GET", answer["rows"][0]["clear"])
    found = (status, headers["content-type"], *read_wave(content))
    check("each has a louder copy", found, (200, "audio/wav", 1.5, 1.0))

    status, content, headers = request("GET", f"/messages/{ids['Ben']}")
    found = (status, headers["content-type"], *read_wave(content))
    check("a route plays one", found, (200, "audio/wav", 0.5, 1.0))
    status, part, headers = request("GET", f"/messages/{ids['Ben']}", headers={"range": "bytes=100-199"})
    check("from the middle", (status, part), (206, content[100:200]))
    status, _, headers = request("GET", f"/messages/{ids['Ben']}", headers={"range": f"bytes={len(content)}-"})
    check("not after its end", (status, headers["content-range"]), (416, f"bytes */{len(content)}"))
    status, problem = get("/messages/01890000-0000-7000-8000-000000000000")
    check("a message that does not exist", (status, problem["code"]), (404, "row_not_found"))


def measure() -> None:
    check("a measurement", send("/measure", recording(0.25, 0.5)), (200, {"seconds": 0.25, "volume": 0.49}))
    check("stores nothing", len(get("/messages")[1]["rows"]), 3)


def refuse() -> None:
    head = recording(1, 0.5)[:44]
    for what, content in [("no sound", head), ("a text", b"Hello, are you there?"), ("an empty file", b"")]:
        status, problem = send("/messages", content, caller="Cem")
        check(f"{what} is refused", (status, problem["code"]), (422, "media_invalid"))
    status, problem = send("/messages", recording(0.1, 0.5))
    check("a message without a caller", (status, problem["errors"][0]["pointer"]), (422, "/caller"))
    check("none of them is there", len(get("/messages")[1]["rows"]), 3)


if len(sys.argv) != 2:
    sys.exit("usage: python client.py ADDRESS    (cli service list main prints it)")
ADDRESS = sys.argv[1].rstrip("/")
ids = leave()
listen(ids)
measure()
refuse()
print("Every answer is as it has to be.")
