"""Calls every operation of a client that openapi-python-client made: call_all.py FOLDER PACKAGE ADDRESS < calls.json"""

import importlib
import json
import pkgutil
import sys
import typing
from uuid import UUID

folder, package, address = sys.argv[1:]
sys.path.insert(0, folder)
root = importlib.import_module(package)
api = importlib.import_module(f"{package}.api")
modules = {}
for info in pkgutil.walk_packages(api.__path__, f"{package}.api."):
    if not info.ispkg:
        modules[info.name.rsplit(".", 1)[1]] = info.name


def convert(hint, value):
    """A value as the client takes it: a model, a date, an id, or the value itself."""
    kinds = typing.get_args(hint) or (hint,)
    for kind in kinds:
        if isinstance(value, dict) and hasattr(kind, "from_dict"):
            return kind.from_dict(value)
    for kind in kinds:
        if isinstance(value, str) and kind is UUID:
            return UUID(value)
        if isinstance(value, str) and hasattr(kind, "fromisoformat"):
            return kind.fromisoformat(value)
    return value


answers = {}
with root.Client(base_url=address, raise_on_unexpected_status=True, timeout=60) as client:
    for call in json.load(sys.stdin):
        operation = importlib.import_module(modules[call["id"].lower()]).sync_detailed
        hints = typing.get_type_hints(operation)
        given = {name: value for part in call["parameters"].values() for name, value in part.items()}
        if "body" in call:
            given["body"] = call["body"]
        answer = operation(client=client, **{name: convert(hints[name], value) for name, value in given.items()})
        parsed = type(answer.parsed).__name__
        answers[call["id"]] = {"status": int(answer.status_code), "parsed": parsed}
print(json.dumps(answers))
