"""Prints the library's functions as JSON, for the page of the docs and for the test of their SQL forms.

A list of {id, namespace, name, parameters: [{name, type, nullable, default?}], type, nullable, is_property}: `type` is a
kind (`string`) or null for any. Aggregates have the namespace `aggregates`, those of the top level `""`.
"""

import importlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))


def main():
    from appdb.functions import _NAMESPACES
    from appdb.functions._aggregates import AGGREGATES

    listed = []
    for namespace in _NAMESPACES:
        functions = importlib.import_module(f"appdb.functions.{namespace}").FUNCTIONS
        listed += [described(namespace, function) for function in functions.values()]
    for name, aggregate in AGGREGATES.items():
        kinds = aggregate.kinds
        listed.append(
            {
                "id": name,
                "namespace": "aggregates",
                "name": name,
                "parameters": [{"name": "expr", "type": list(kinds) if kinds else None, "nullable": True}],
                "type": aggregate.result,
                "nullable": aggregate.nullable,
                "is_property": False,
            }
        )
    json.dump(listed, sys.stdout)


def described(namespace, function):
    return {
        "id": function.id,
        "namespace": namespace,
        "name": function.name,
        "parameters": [parameter(one) for one in function.parameters],
        "takes_more": function.bind is not None,
        "type": function.kind,
        "nullable": function.nullable,
        "is_property": function.is_property,
    }


def parameter(one):
    from appdb._calls import NO_DEFAULT

    described = {"name": one.name, "type": one.kind, "nullable": one.nullable}
    return described if one.default is NO_DEFAULT else {**described, "default": repr(one.default)}


main()
