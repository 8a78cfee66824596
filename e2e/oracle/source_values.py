"""Values of Parquet and Arrow, inserted by the library and by the command: both store the same, or both refuse.

Prints the cases whose ways differ from what is expected, as JSON. `REFUSED` begins the reason of a refusal.
"""

import datetime as dt
import decimal
import json
import os
import subprocess
import sys
import uuid

import pyarrow as pa
import pyarrow.parquet as pq

import appdb as db

NAN, INF, UTC = float("nan"), float("inf"), dt.timezone.utc
BYTES, INSIDE = "REFUSED bytes are stored in Binary columns only", "REFUSED the value has bytes inside"
# The server says it in its own words if many values come as columns.
YEARS, TIME = "REFUSED ", "REFUSED a time"
DAY, TEXT_ID = dt.date(2024, 1, 2), "00000000-0000-0000-0000-000000000001"
ONE = uuid.UUID(int=1)
LONG = decimal.Decimal("12345678901234567890.123456789")


def map_of(values, item=pa.int64(), key=pa.string()):
    return pa.array(values, pa.map_(key, item))


def inside(values, type):
    """An object with one member of an Arrow type."""
    return pa.StructArray.from_arrays([pa.array(values, type)], ["a"])


BAD_TEXT = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
FAR = pa.array([2**60], pa.timestamp("us", "UTC"))
#: By type: the values of a column, and what is stored of each, or the refusal. Text of a Binary column is base64 in files.
CASES = {
    db.String: [
        (pa.array([b"ok"]), BYTES),
        (pa.array([b"\xff"], pa.large_binary()), BYTES),
        (pa.array([b"ok"], pa.binary(2)), BYTES),
        (pa.array([b"ok"]).dictionary_encode(), BYTES),
        (BAD_TEXT, "REFUSED not UTF-8"),
        (pa.array([1]), "REFUSED Expected a string"),
        (pa.array([{"a": 1}]), "REFUSED Expected a string"),
        (pa.array([dt.timedelta(seconds=3)]), "REFUSED a "),
        (pa.array([dt.time(1, 2, 3)]), TIME),
        (pa.array([DAY]), ["2024-01-02"]),
        (pa.array([dt.datetime(2024, 1, 2, 3)]), ["2024-01-02T03:00:00Z"]),
        (pa.array([ONE], pa.uuid()), [TEXT_ID]),
        (pa.array(["x", None], pa.large_string()), ["x", None]),
        (pa.array(["x"]).dictionary_encode(), ["x"]),
    ],
    db.Int: [
        (pa.array([b"12"]), BYTES),
        (pa.array(["12"]), "REFUSED Expected an integer"),
        (pa.array([12.0, NAN]), [12, None]),
        (pa.array([12.5]), "REFUSED Expected an integer"),
        (pa.array([INF]), "REFUSED "),
        (pa.array([decimal.Decimal("9007199254740993.00")]), [9007199254740993]),
        (pa.array([2**63], pa.uint64()), "REFUSED 9223372036854775808"),
        (pa.array([2**32 - 1], pa.uint32()), [2**32 - 1]),
        (pa.array([dt.timedelta(seconds=3)]), "REFUSED a "),
    ],
    db.Float: [
        (pa.array([b"1.5"]), BYTES),
        (pa.array(["1.5"]), "REFUSED Expected a number"),
        (pa.array([LONG]), f"REFUSED {LONG} has more digits than a Float keeps"),
        (pa.array([decimal.Decimal("12345678901234567.0")]), "REFUSED 12345678901234567 has more digits"),
        (pa.array([decimal.Decimal("0.10"), decimal.Decimal("-2.5")]), [0.1, -2.5]),
        (pa.array([0.5], pa.float16()), [0.5]),
        (pa.array([-0.0, NAN]), [-0.0, None]),
        (pa.array([INF]), "REFUSED "),
    ],
    db.Bool: [(pa.array(["true"]), "REFUSED Expected a boolean"), (pa.array([True]), [True])],
    db.Timestamp: [
        (pa.array([b"2024-01-02T00:00:00Z"]), BYTES),
        (pa.array([-1], pa.timestamp("ns", "UTC")), ["1969-12-31T23:59:59.999999Z"]),
        (pa.array([5], pa.timestamp("us", "Europe/Berlin")), ["1970-01-01T00:00:00.000005Z"]),
        (FAR, YEARS),
        (pa.array([DAY], pa.date64()), ["2024-01-02T00:00:00Z"]),
    ],
    db.Date: [
        (pa.array([dt.datetime(2024, 1, 2)]), ["2024-01-02"]),
        (pa.array([dt.datetime(2024, 1, 2, 3)]), "REFUSED Expected a date"),
        (pa.array([dt.datetime(2024, 1, 2, tzinfo=UTC)]), "REFUSED Expected a date"),
        (pa.array([2**30], pa.date32()), YEARS),
    ],
    db.UUID: [(pa.array([ONE.bytes], pa.binary(16)), BYTES), (pa.array([ONE], pa.uuid()), [TEXT_ID])],
    db.Binary: [
        (pa.array([b"\x00\xff", None, b""]), ["AP8=", None, ""]),
        (pa.array([b"ok"], pa.binary(2)), ["b2s="]),
        (pa.array(["AP8="]), {"values": "REFUSED expected bytes, got str", "files": ["AP8="]}),
        (pa.array(["x!"]), {"values": "REFUSED expected bytes, got str", "files": "REFUSED Expected base64"}),
    ],
    db.Json: [
        (pa.array([b'{"a":1}']), BYTES),
        (pa.array(['{"a":1}', "5", "null", ""]), ['{"a":1}', "5", "null", ""]),
        (pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1}', '"5"', None])), [{"a": 1}, "5", None]),
        (pa.array([1.0, NAN]), [1.0, None]),
        (pa.array([INF]), "REFUSED "),
        (pa.array([{"a": NAN}]), "REFUSED "),
        (pa.array([[1.0, INF]]), "REFUSED "),
        (map_of([[("a", 1), ("b", None)], [], None]), [{"a": 1, "b": None}, {}, None]),
        (map_of([[(1, 1)]], key=pa.int64()), "REFUSED a map has the key 1, and JSON has texts as keys"),
        (map_of([[("a", 1), ("a", 2)]]), "REFUSED a map has the key"),
        (map_of([[("x", [("a", None)]), ("y", None)]], pa.map_(pa.string(), pa.int64())), [{"x": {"a": None}, "y": None}]),
        (map_of([[("x", [1, None]), ("y", [])]], pa.list_(pa.int64())), [{"x": [1, None], "y": []}]),
        (pa.array([[[("a", 1)], None, []], []], pa.list_(pa.map_(pa.string(), pa.int64()))), [[{"a": 1}, None, {}], []]),
        (map_of([[("a", NAN)]], pa.float64()), "REFUSED "),
        (pa.array([{"a": b"ok"}]), INSIDE),
        (pa.array([[b"\xff"]]), INSIDE),
        (inside([dt.datetime(2024, 1, 2, 3)], pa.timestamp("us")), [{"a": "2024-01-02T03:00:00Z"}]),
        (inside([2**60], pa.timestamp("us")), YEARS),
        (inside([DAY], pa.date32()), [{"a": "2024-01-02"}]),
        (inside([decimal.Decimal("1.50")], pa.decimal128(5, 2)), [{"a": 1.5}]),
        (inside([LONG], pa.decimal128(38, 9)), [{"a": LONG}]),
        (pa.array([LONG, decimal.Decimal("1.5")]), [LONG, 1.5]),
        (inside([dt.time(1, 2, 3)], pa.time64("us")), TIME),
        (inside([3], pa.duration("us")), "REFUSED a "),
        (inside([ONE], pa.uuid()), [{"a": TEXT_ID}]),
        (inside([2**64 - 1], pa.uint64()), [{"a": 2**64 - 1}]),
        (inside(["5"], pa.string()), [{"a": "5"}]),
        (pa.array([{"a": 1e16, "b": 1e-5, "c": -0.0, "d": 0.1}]), [{"a": 1e16, "b": 1e-5, "c": -0.0, "d": 0.1}]),
    ],
    db.Array[(None,), "float64"]: [
        (pa.array([[1.0, NAN]]), "REFUSED "),
        (pa.array(["[1,2]"]), "REFUSED Expected a list"),
        (pa.array([b"[1,2]"]), BYTES),
        (pa.array([[1, 2], None]), [[1.0, 2.0], None]),
        (pa.array([[decimal.Decimal("0.5")]]), [[0.5]]),
        (pa.array([[LONG]]), f"REFUSED {LONG} has more digits"),
    ],
}


IS_LONG = os.environ.get("APPDB_FAULTS") == "long"


def command(*args):
    ran = subprocess.run(["cli", *args], capture_output=True, text=True)
    if ran.returncode:
        raise db.Error(ran.stderr)
    return ran.stdout


def outcome(path, table, insert):
    """The stored values, in any order, or the error."""
    try:
        insert()
    except db.Error as error:
        return str(error)
    # The command prints all digits.
    lines = command("export", path, "--format", "jsonl", "--columns", "v").splitlines()
    table.delete()
    return sorted(text_of(json.loads(line, parse_float=number)["v"]) for line in lines)


def number(text):
    """A Float, or the digits that one does not have."""
    return float(text) if decimal.Decimal(repr(float(text))) == decimal.Decimal(text) else decimal.Decimal(text)


def text_of(value):
    return json.dumps(value, default=lambda one: f"decimal {one}")


def is_expected(expected, found, times):
    if isinstance(expected, str):
        return isinstance(found, str) and expected.removeprefix("REFUSED ") in found
    return found == sorted(text_of(value) for value in expected * times)


def main():
    wrong = []
    for number, (type, cases) in enumerate(CASES.items()):
        path = f"main/values_{number}"
        table = db.create_table(path, {"v": type | None})
        for place, (array, expected) in enumerate(cases):
            source = pa.table({"v": array})
            pq.write_table(source, "values.parquet")
            many = pa.concat_tables([source] * 600)
            ways = {
                "table": (lambda: table.insert(source), 1),
                "many": (lambda: table.insert(many), 600),
                "file": (lambda: table.insert("values.parquet"), 1),
                "command": (lambda: command("insert", path, "values.parquet"), 1),
            }
            # The library goes all cases itself. Some cases show that the other ways lead to the same rules.
            if not IS_LONG and place % 4:
                ways = {"table": ways["table"]}
            for name, (insert, times) in ways.items():
                found = outcome(path, table, insert)
                of_way = expected
                if isinstance(expected, dict):
                    of_way = expected["values" if name in ("table", "many") else "files"]
                if not is_expected(of_way, found, times):
                    wrong.append([repr(type), place, str(array.type), name, str(found)[:300]])
    print(json.dumps(wrong))


main()
