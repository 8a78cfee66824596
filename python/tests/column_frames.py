"""Reads frames of columns, as a server does."""

import base64
import json
import struct
import uuid
from datetime import date, datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
WIDTHS = {"i64": ("q", 8), "f64": ("d", 8), "u8": ("?", 1), "micros": ("q", 8), "days": ("i", 4), "b16": ("16s", 16)}
JSON = {
    "micros": lambda value: (EPOCH + timedelta(microseconds=value)).isoformat()[:-6] + "Z",
    "days": lambda value: date.fromordinal(value + date(1970, 1, 1).toordinal()).isoformat(),
    "b16": lambda value: str(uuid.UUID(bytes=value)),
    "utf8": bytes.decode,
    "bytes": lambda value: base64.b64encode(value).decode(),
    "source": json.loads,
}


def read_frames(body):
    """Yields (forms by name or None, rows) of each frame: rows as a JSON object has them."""
    at = 0
    while at < len(body):
        length, size = struct.unpack_from("<II", body, at)
        header = body[at + 8 : at + 8 + size]
        data = memoryview(body)[at + 8 + size : at + 4 + length]
        at += 4 + length
        if not header:
            yield None, [json.loads(line) for line in bytes(data).split(b"\n")]
            continue
        header = json.loads(header)
        columns = {}
        for column in header["columns"]:
            values, data = _column(column, header["rows"], data)
            columns[column["name"]] = values
        assert not data, "bytes follow the last column"
        forms = {column["name"]: column["form"] for column in header["columns"]}
        yield forms, [dict(zip(columns, values)) for values in zip(*columns.values())]


def _column(column, rows, data):
    form, nulls = column["form"], bytes(rows)
    if column["nulls"]:
        nulls, data = bytes(data[:rows]), data[rows:]
    if form in WIDTHS:
        code, width = WIDTHS[form]
        values = [value for (value,) in struct.iter_unpack(f"<{code}", data[: rows * width])]
        data = data[rows * width :]
    else:
        lengths, data = struct.unpack_from(f"<{rows}I", data), data[4 * rows :]
        values = []
        for length in lengths:
            values.append(bytes(data[:length]))
            data = data[length:]
    decode = JSON.get(form, lambda value: value)
    return [None if null else decode(value) for value, null in zip(values, nulls)], data
