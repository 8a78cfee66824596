"""Generates a client for each document with openapi-python-client and calls all its operations: generate_and_call.py FOLDER < services.json

One process for all documents, because the generator takes longer to load than to run.
"""

import contextlib
import importlib
import json
import pkgutil
import sys
import typing
from pathlib import Path
from uuid import UUID

from openapi_python_client import cli


def generate(file, package):
    """Runs the generator's command. Any warning ends this program."""
    flags = ["--meta", "none", "--fail-on-warning", "--output-path", f"{folder}/{package}"]
    with contextlib.redirect_stdout(sys.stderr):
        status = cli.app(["generate", "--path", file, *flags], standalone_mode=False)
    if status:
        sys.exit(f"The client of {file} was made with warnings or not at all.")
    for module in Path(folder, package, "api").rglob("*.py"):
        # The generator (0.29.1) forgets this import where a route takes JSON or a form, and no other parameter.
        text = module.read_text("utf-8")
        module.write_text(text.replace("import httpx\n", "import httpx\n\nfrom ...types import Unset\n", 1), "utf-8")
    importlib.invalidate_caches()


def modules_of(package):
    """The module of each operation by its name."""
    api = importlib.import_module(f"{package}.api")
    walked = pkgutil.walk_packages(api.__path__, f"{package}.api.")
    return {info.name.rsplit(".", 1)[1]: info.name for info in walked if not info.ispkg}


def convert(hint, value):
    """Converts a value for the client: to a model, a date, an id, or unchanged."""
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


def call_all(package, address, calls):
    """Status and parsed type of each call's answer."""
    root = importlib.import_module(package)
    modules = modules_of(package)
    answers = {}
    with root.Client(base_url=address, raise_on_unexpected_status=True, timeout=60) as client:
        for call in calls:
            operation = importlib.import_module(modules[call["id"].lower()]).sync_detailed
            hints = typing.get_type_hints(operation)
            given = {name: value for part in call["parameters"].values() for name, value in part.items()}
            if "body" in call:
                given["body"] = call["body"]
            answer = operation(client=client, **{name: convert(hints[name], value) for name, value in given.items()})
            parsed = type(answer.parsed).__name__
            answers[call["id"]] = {"status": int(answer.status_code), "parsed": parsed}
    return answers


folder = sys.argv[1]
sys.path.insert(0, folder)
answered = {}
for service in json.load(sys.stdin):
    package = f"py_{service['name']}"
    generate(service["file"], package)
    answered[service["name"]] = call_all(package, service["url"], service["calls"])
print(json.dumps(answered))
