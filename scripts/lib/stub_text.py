"""Formats a function for a stub."""

import json

from appdb.udfs.calls import NO_DEFAULT

GENERATED = "Made by `npm run docs` from the code it describes; a test compares the two."
WIDTH = 120


def definition(name, parameters, result, doc=None, indent=""):
    """Formats a function as stub lines. `parameters` are (name, hint, default, mode): see Parameter."""
    texts = []
    for place, (parameter, hint, default, mode) in enumerate(parameters):
        before = parameters[place - 1][3] if place else None
        if before == "positional_only" and mode != before:
            texts.append("/")
        if mode == "keyword_only" and mode != before:
            texts.append("*")
        text = parameter if hint is None else f"{parameter}: {hint}"
        texts.append(text if default is NO_DEFAULT else f"{text} = {default_text(default)}")
    if parameters and parameters[-1][3] == "positional_only":
        texts.append("/")
    end = f") -> {result}:" + ("" if doc else " ...")
    line = f"{indent}def {name}({', '.join(texts)}{end}"
    if len(line) > WIDTH:
        inner = [f"{indent}    {text}," for text in texts]
        line = "\n".join([f"{indent}def {name}(", *inner, f"{indent}{end}"])
    return line + "\n" + ("" if doc is None else f'{indent}    """{doc}"""\n')


def default_text(value):
    if value is ...:
        return "..."
    return json.dumps(value) if isinstance(value, str) else repr(value)
