"""Stubs of Router's methods that declare routes, for appdb.serving: with the parameters and docs of each method."""

import inspect
import textwrap

from appdb import serving
from appdb.http import handler_checks
from appdb.udfs.calls import NO_DEFAULT
from stub_text import GENERATED, definition

BEGIN, END = f"    # {GENERATED}\n", "    # End of what `npm run docs` makes.\n"
DECORATOR = "Callable[[_F], _F]"
# Type of each parameter and option; "kind.name" where one kind of route differs.
TYPES = {
    "model": "type[TableModel]",
    "path": "str",
    "inputs": "Sequence[Any] | None",
    "query.inputs": "Sequence[str] | None",
    "outputs": "Sequence[Any] | None",
    "match_columns": "Sequence[Any] | None",
    "on_error": 'Literal["abort", "ignore"]',
    "uploadfile_inputs": "Sequence[Any] | None",
    "return_fileresponse": "bool | None",
    "export_sql": "SqlExport | None",
    "background": "bool | Background",
    "query": "NamedQuery[...]",
    "one_row": "bool",
    "method": 'Literal["post", "get"]',
    "tags": "Sequence[str] | None",
    "summary": "str | None",
    "description": "str | None",
    "deprecated": "bool | None",
    "include_in_schema": "bool",
    "status_code": "int | None",
    "response_model": "Any",
    "response_description": "str | None",
    "timeout": "float | None",
    "name": "str | None",
}
DEFAULTS = {"background": False, "include_in_schema": True}  # defaults of options; all others are None
REQUIRED = ("path", "query")  # their defaults exist only to refuse calls without them


def with_routes(stub):
    """Returns the stub of appdb.serving with Router's methods between the two marks."""
    if BEGIN not in stub or END not in stub:
        raise ValueError(f"The stub of appdb.serving has no line {BEGIN.strip()!r} or no line {END.strip()!r}.")
    before, _, rest = stub.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "".join([*route_methods(), *handler_methods()]) + END + after


def route_methods():
    for name, function in vars(serving.Router).items():
        kind = name.removeprefix("add_").removesuffix("_route")
        declared = getattr(inspect.getmodule(function), f"{kind.title()}Route", None)
        if name.startswith("_") or declared is None:
            continue
        given = inspect.signature(function).parameters.values()
        parameters = [("self", None, NO_DEFAULT, "positional")]
        for one in given:
            if one.name != "self" and one.kind != one.VAR_KEYWORD:
                default = NO_DEFAULT if one.default is one.empty or one.name in REQUIRED else one.default
                parameters.append((one.name, type_of(kind, one.name), default, "positional"))
        taken = {parameter[0] for parameter in parameters}
        for option in declared.option_names:
            if option not in taken:
                parameters.append((option, type_of(kind, option), DEFAULTS.get(option), "positional"))
        doc = textwrap.indent(inspect.cleandoc(function.__doc__), "        ").strip()
        doc += "\n        " if "\n" in doc else ""
        yield definition(name, parameters, "None" if name.startswith("add_") else DECORATOR, doc, "    ")


def handler_methods():
    for verb in serving._VERBS:
        options = [(name, TYPES[name], DEFAULTS.get(name), "keyword_only") for name in handler_checks._OPTIONS]
        parameters = [("self", None, NO_DEFAULT, "positional"), ("path", "str", NO_DEFAULT, "positional"), *options]
        places = "path and URL" if verb == "get" else "path, URL and body"
        doc = f"Serves {verb.upper()} `path` by the function: its arguments come from {places}. `timeout` is in seconds."
        yield definition(verb, parameters, DECORATOR, doc, "    ")


def type_of(kind, name):
    return TYPES.get(f"{kind}.{name}") or TYPES[name]
