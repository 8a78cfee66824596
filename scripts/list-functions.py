"""Prints the library's functions as JSON, for the documentation page and the test of their SQL forms.

A list of {id, namespace, name, parameters: [{name, type, nullable, is_named, default?}], takes_more, type, nullable, is_method, is_property}. A type is a kind (`string`). A parameter may have several. A result's null means the type of the argument.
"""

import importlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))


MORE = 0x04 | 0x08  # *args or **kwargs.


def main():
    from appdb.declare.types import DISPLAY
    from appdb.functions import _NAMESPACES
    from appdb.functions._aggregates import AGGREGATES
    from appdb.functions.lists import FUNCTIONS as LISTS

    listed = []
    for namespace in _NAMESPACES:
        functions = importlib.import_module(f"appdb.functions.{namespace}").FUNCTIONS
        for one in functions.values():
            listed.append(described(one.id, namespace, one, takes_more=bool(one.python.__code__.co_flags & MORE)))
    for name, aggregate in AGGREGATES.items():
        expr = {"name": "expr", "type": list(aggregate.kinds or DISPLAY), "nullable": True, "is_named": False}
        listed.append(entry(name, "aggregates", [expr], aggregate.result, aggregate.nullable, is_method=False))
    for namespace in _NAMESPACES:
        module = importlib.import_module(f"appdb.functions.{namespace}")
        for name in module.function.__self__.aggregates:
            one = getattr(module, name)
            kind, nullable = one.result
            parameters = [parameter(each) for each in one.parameters]
            listed.append(entry(f"{namespace}.{name}", "aggregates", parameters, kind, nullable, is_method=False))
    listed += [described(name, "lists", one) for name, one in LISTS.items()]
    json.dump(listed, sys.stdout)


def described(id, namespace, function, takes_more=False):
    return entry(
        id,
        namespace,
        [parameter(one) for one in function.parameters],
        function.kind,
        function.nullable,
        takes_more=takes_more,
        is_method=function.is_method,
        is_property=function.is_property,
    )


def entry(id, namespace, parameters, type, nullable, takes_more=False, is_method=True, is_property=False):
    return {
        "id": id,
        "namespace": namespace,
        "name": id.rpartition(".")[2],
        "parameters": parameters,
        "takes_more": takes_more,
        "type": type,
        "nullable": nullable,
        "is_method": is_method,
        "is_property": is_property,
    }


def parameter(one):
    from appdb.udfs.calls import NO_DEFAULT

    described = {"name": one.name, "type": [] if one.kind is None else one.kind, "nullable": one.nullable}
    described["is_named"] = one.mode == "keyword_only"
    return described if one.default is NO_DEFAULT else {**described, "default": repr(one.default)}


main()
