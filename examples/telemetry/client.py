"""Sends the readings of data/ all at once, reads every route, and compares each answer with what it has to be.

    python provider.py                            (prints CALIBRATION_URL=..., which the service was started with, too)
    python client.py http://127.0.0.1:8000        (the address that `cli service run` or `cli service list` prints)

Run it against an empty database and a new provider: it inserts its rows each time.
"""

import base64
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
if len(sys.argv) != 2:
    sys.exit("usage: python client.py ADDRESS    (cli service list main prints it)")
ADDRESS = sys.argv[1].rstrip("/")


def request(method: str, path: str, body: Any = None, address: str = ADDRESS, **parameters: Any):
    """Sends a request; answers the status and what the body says."""
    url = address + path + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
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


def lines(name: str):
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


PROVIDER = os.environ["CALIBRATION_URL"]

FIELDS = ("day", "hour", "weekday", "week", "in_oslo", "keep_until", "seconds", "mean", "swing", "smooth", "checksum")
SHOWN = ("celsius", "shown", "errors_shown")
COMPUTED = [
    (
        "2024-06-01",
        6,
        "Saturday",
        22,
        "2024-06-01 08:00+02:00",
        "2024-07-01",
        0.0,
        20.0,
        0.0,
        20.0,
        "8467dcef",
        20.5,
        "20.5 °C",
        "0 errors",
    ),
    (
        "2024-06-01",
        8,
        "Saturday",
        22,
        "2024-06-01 10:00+02:00",
        "2024-07-01",
        30.25,
        11.5,
        2.0,
        11.5284423828125,
        "36f1b355",
        10.25,
        "10.2 °C",
        "0 errors",
    ),
    (
        "2024-06-01",
        22,
        "Saturday",
        22,
        "2024-06-02 00:30+02:00",
        "2024-07-01",
        0.0,
        15.25,
        1.0,
        15.43359375,
        "67f6939f",
        15.25,
        "15.2 °C",
        "1 errors",
    ),
    (
        "2024-06-02",
        4,
        "Sunday",
        22,
        "2024-06-02 06:30+02:00",
        "2024-07-02",
        0.0,
        21.125,
        8.0,
        20.971923828125,
        None,
        21.625,
        "21.6 °C",
        "1 errors",
    ),
    (
        "2024-06-02",
        9,
        "Sunday",
        22,
        "2024-06-02 11:15+02:00",
        "2024-07-02",
        0.0,
        12.0,
        2.0,
        12.0284423828125,
        "3486f87e",
        10.75,
        "10.8 °C",
        "2 errors",
    ),
    # a microsecond behind the minute, as precise as a number of seconds since 1970 can be
    (
        "2024-06-02",
        12,
        "Sunday",
        22,
        "2024-06-02 14:00+02:00",
        "2024-07-02",
        2**-20,
        30.0,
        1.0,
        30.18359375,
        "bf549da9",
        30.0,
        "30.0 °C !",
        "2 errors",
    ),
    (
        "2024-06-02",
        18,
        "Sunday",
        22,
        "2024-06-02 20:45+02:00",
        "2024-07-02",
        10.0,
        26.5,
        8.0,
        26.346923828125,
        "21d8e052",
        27.0,
        "27.0 °C !",
        "3 errors",
    ),
    (
        "2024-06-03",
        0,
        "Monday",
        23,
        "2024-06-03 02:00+02:00",
        "2024-07-03",
        0.0,
        11.75,
        0.0,
        11.75,
        None,
        10.5,
        "10.5 °C",
        "3 errors",
    ),
    (
        "2024-06-03",
        7,
        "Monday",
        23,
        "2024-06-03 09:30+02:00",
        "2024-07-03",
        0.0,
        29.5,
        1.0,
        29.68359375,
        "621defb7",
        29.5,
        "29.5 °C !",
        "4 errors !",
    ),
    # the last days of a year may be of the next year's first week
    (
        "2024-12-30",
        7,
        "Monday",
        1,
        "2024-12-30 08:59+01:00",
        "2025-01-29",
        60 - 2**-20,
        18.0,
        8.0,
        17.846923828125,
        "0eb08217",
        18.5,
        "18.5 °C",
        "4 errors !",
    ),
    (
        "2024-12-31",
        23,
        "Tuesday",
        1,
        "2025-01-01 00:59+01:00",
        "2025-01-30",
        0.0,
        9.5,
        0.0,
        9.5,
        "e9ce31de",
        8.25,
        "8.2 °C",
        "5 errors !",
    ),
    (
        "2024-12-31",
        23,
        "Tuesday",
        1,
        "2025-01-01 00:00+01:00",
        "2025-01-30",
        0.0,
        -2.25,
        2.0,
        -2.2215576171875,
        None,
        -2.25,
        "-2.2 °C",
        "5 errors !",
    ),
]


def fill():
    rows = lines("readings.jsonl")
    with ThreadPoolExecutor(len(rows)) as threads:  # as sensors do: nobody waits for the others
        answers = [*threads.map(partial(post, "/readings"), rows)]
    ids: list[Any] = []
    for row, computed, (status, answer) in zip(rows, COMPUTED, answers, strict=True):
        ids.append(answer.pop("id", None))
        wanted = dict(zip(FIELDS + SHOWN, computed, strict=True))
        check(f"{row['sensor']} at {row['taken']} is stored, and computed", (status, answer), (200, wanted))
    check("each has a key", len({*ids}), len(rows))
    status, log = request("GET", "/log", address=PROVIDER)
    found = {name: log[name] for name in ("answered", "turned_away")}
    check(
        "calls that the provider turned away were made again",
        (status, found),
        (200, {"answered": 12, "turned_away": 4}),
    )
    check("several were made at once, and no more than the pool allows", 2 <= log["most_at_once"] <= 4, True)
    return ids


def refuse() -> None:
    row = lines("readings.jsonl")[0]
    status, problem = post("/readings", {**row, "samples": row["samples"][:7]})
    check("seven samples are refused", (status, problem["errors"][0]["pointer"]), (422, "/samples"))
    status, problem = post("/readings", {**row, "samples": [*row["samples"][:7], "warm"]})
    check("and a word among them", (status, problem["errors"][0]["pointer"]), (422, "/samples/7"))
    status, problem = post("/readings", {**row, "frame": "no base64!"})
    check("a frame is base64", (status, problem["errors"][0]["pointer"]), (422, "/frame"))
    status, problem = post("/readings", {**row, "taken": "2024-02-30T00:00:00Z"})
    check("there is no 30th of February", (status, problem["errors"][0]["pointer"]), (422, "/taken"))
    status, problem = post("/readings", {**row, "sensor": "garage"})
    found = (status, problem["code"], problem["meta"]["column"], problem["meta"]["type"])
    check("a sensor that the provider does not know", found, (400, "function_failed", "celsius", "HTTPError"))
    check("nothing of that was stored", post("/since", {"moment": "0001-01-01T00:00:00Z"}), (200, {"count": 12}))


def read(ids: Any) -> None:
    first = lines("readings.jsonl")[0]
    stored = {
        "samples": first["samples"],
        "frame": first["frame"],
        "taken": "2024-06-01T06:00:00Z",
        "checksum": "8467dcef",
    }
    check("arrays and bytes come back as they were sent", get("/reading", id=ids[0]), (200, stored))
    check("the bytes are the sensor's", base64.b64decode(first["frame"]), b"\x00\xff\x00attic")

    status, answer = get("/days", sensor="attic")
    for row in answer["rows"]:
        row["hours"].sort()  # a list is in the order in which the rows came in
    days: list[dict[str, Any]] = [
        {"day": "2024-06-01", "readings": 1, "mean": 20.5, "highest": 20.5, "largest_swing": 0.0},
        {"day": "2024-06-02", "readings": 2, "mean": 24.312, "highest": 27.0, "largest_swing": 8.0},
        {"day": "2024-12-30", "readings": 1, "mean": 18.5, "highest": 18.5, "largest_swing": 8.0},
    ]
    # one reading has no slope; two are a line: from 21.625 degrees at 4 to 27 degrees at 18 o'clock
    for day, trend, hours in zip(days, (None, 0.38, None), ([6], [4, 18], [7]), strict=True):
        day.update(trend=trend, hours=hours)
    check("days of a sensor, with an aggregate of the application's own", (status, answer), (200, {"rows": days}))
    between = [
        {"sensor": "attic", "taken": "2024-06-02T04:30:00Z", "keep_until": "2024-07-02"},
        {"sensor": "cellar", "taken": "2024-06-02T09:15:00Z", "keep_until": "2024-07-02"},
        {"sensor": "roof", "taken": "2024-06-02T12:00:00.000001Z", "keep_until": "2024-07-02"},
        {"sensor": "attic", "taken": "2024-06-02T18:45:10Z", "keep_until": "2024-07-02"},
    ]
    check("readings of a day", get("/between", first="2024-06-02", last="2024-06-03"), (200, {"rows": between}))
    moment = {"moment": "2024-06-03T02:00:00+02:00"}
    check("readings since a moment, in any zone", post("/since", moment), (200, {"count": 5}))
    newest = [
        {"sensor": "attic", "taken": "2024-12-30T07:59:59.999999Z"},
        {"sensor": "roof", "taken": "2024-12-31T23:00:00Z"},
        {"sensor": "cellar", "taken": "2024-12-31T23:59:00Z"},
    ]
    check("the newest, the last of them last", get("/newest"), (200, {"rows": newest}))
    check("the very newest", get("/newest", n=1), (200, {"rows": newest[2:]}))
    drawn = get("/spot-check")
    check("a seed draws the same rows again", get("/spot-check"), drawn)
    check("five different ones of those that are there", len({row["id"] for row in drawn[1]["rows"]} & {*ids}), 5)
    known = [("attic", "Monday Saturday Sunday"), ("cellar", "Monday Saturday Sunday Tuesday")]
    known.append(("roof", "Monday Saturday Sunday Tuesday"))
    days_of = [{"sensor": sensor, "weekday": day} for sensor, days in known for day in days.split()]
    check("weekdays of each sensor, each once", get("/sensors"), (200, {"rows": days_of}))
    restless = [
        {"sensor": "attic", "day": "2024-06-02", "swing": 8.0},
        {"sensor": "attic", "day": "2024-06-02", "swing": 8.0},
        {"sensor": "attic", "day": "2024-12-30", "swing": 8.0},
        {"sensor": "cellar", "day": "2024-06-01", "swing": 2.0},
        {"sensor": "cellar", "day": "2024-06-02", "swing": 2.0},
        {"sensor": "roof", "day": "2024-12-31", "swing": 2.0},
    ]
    check("those that swing by more than 1.5", get("/restless", least="1.5"), (200, {"rows": restless}))


def compute() -> None:
    samples = [0, 1, 2, 3, 4, 5, 6, 7]
    smooth = 0.0
    for sample in samples:
        smooth += 0.25 * (sample - smooth)
    check(
        "samples are smoothed, and not stored",
        post("/smooth", {"samples": samples}),
        (200, {"smooth": smooth, "mean": 3.5}),
    )
    check(
        "there are as many readings as before", post("/since", {"moment": "2024-06-01T06:00:00Z"}), (200, {"count": 12})
    )


ids = fill()
refuse()
read(ids)
compute()
print("Every answer is as it has to be.")
