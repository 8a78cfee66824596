"""Prints the library's functions as JSON, for the documentation page and the test of their SQL forms.

A list of {id, namespace, name, parameters: [{name, type, nullable, is_named, default?}], takes_more, type, nullable, is_method, is_property}. A type is a kind (`string`). A parameter may have several. A result's null means the type of the argument.
Iterators also have outputs: [{name, type, nullable, is_stored, is_asked}] and packages: [{name, is_asked}]. `is_asked`: only with certain arguments.
"""

import importlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))


MORE = 0x04 | 0x08  # *args or **kwargs.
# Arguments of iterators with which they have all outputs and need all packages.
ALL = {
    "document_splitter": {
        "separators": "token_limit",
        "elements": ["text", "image"],
        "metadata": "title,heading,sourceline,page,bounding_box",
    },
    "string_splitter": {"separators": "token_limit"},
    "audio_splitter": {"min_silence_len": 1.0},
}


def main():
    from appdb.declare.types import DISPLAY
    from appdb.functions import _NAMESPACES
    from appdb.functions._aggregates import AGGREGATES
    from appdb.functions.lists import FUNCTIONS as LISTS
    from appdb.iterators.library import ITERATORS

    listed = []
    for namespace in _NAMESPACES:
        functions = importlib.import_module(f"appdb.functions.{namespace}").FUNCTIONS
        for one in functions.values():
            listed.append(described(one.id, namespace, one, takes_more=bool(one.python.__code__.co_flags & MORE)))
    for name, aggregate in AGGREGATES.items():
        expr = {"name": "expr", "type": list(aggregate.kinds or DISPLAY), "nullable": True, "is_named": False}
        keys = [key("order_by")] if aggregate.is_list else [key("order_by"), key("group_by")]
        listed.append(entry(name, "aggregates", [expr, *keys], aggregate.result, aggregate.nullable, is_method=False))
    for namespace in _NAMESPACES:
        module = importlib.import_module(f"appdb.functions.{namespace}")
        for name in module.function.__self__.aggregates:
            one = getattr(module, name)
            kind, nullable = one.result
            first = [{**key("order_key"), "is_named": False}] if one.requires_order_by else []
            for each in first:
                del each["default"]
            parameters = first + [parameter(each) for each in one.parameters]
            listed.append(entry(f"{namespace}.{name}", "aggregates", parameters, kind, nullable, is_method=False))
    listed += [described(name, "lists", one) for name, one in LISTS.items()]
    listed += [iterator(one) for one in ITERATORS.values()]
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


def key(name):
    """A column to sort or group by."""
    return {"name": name, "type": [], "nullable": True, "is_named": True, "default": "None"}


def iterator(one):
    from appdb.udfs.calls import NO_DEFAULT

    values = {each.name: None if each.default is NO_DEFAULT else each.default for each in one.parameters}
    least = {**values, "separators": ""} if "separators" in values else values
    (outputs, packages), (all_outputs, all_packages) = one.parts(least), one.parts({**values, **ALL.get(one.name, {})})
    known = {output.name for output in outputs}
    takes_more = bool(one.python.__code__.co_flags & MORE)
    listed = entry(one.id, "iterators", [parameter(each) for each in one.parameters], None, False, takes_more=takes_more)
    listed["outputs"] = [
        {
            "name": output.name,
            "type": output.kind,
            "nullable": output.nullable,
            "is_stored": output.stored,
            "is_asked": output.name not in known,
        }
        for output in all_outputs
    ]
    listed["packages"] = [{"name": name, "is_asked": name not in packages} for name in all_packages]
    return listed


def parameter(one):
    from appdb.udfs.calls import NO_DEFAULT

    described = {"name": one.name, "type": [] if one.kind is None else one.kind, "nullable": one.nullable}
    described["is_named"] = one.mode == "keyword_only"
    return described if one.default is NO_DEFAULT else {**described, "default": repr(one.default)}


main()
