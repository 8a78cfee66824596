"""The library's functions: `from appdb.functions import upper`, or `import appdb.functions as fn` and `fn.upper`."""

_LATER = frozenset(
    "json math timestamp date image video audio document net array vision globals openai anthropic gemini huggingface"
    " whisper count sum min max mean make_list document_splitter string_splitter list_iterator frame_iterator"
    " video_splitter audio_splitter tile_iterator cast map filter sort".split()
)


def __getattr__(name):
    import importlib

    if name in ("string", "uuid"):
        return importlib.import_module(f"appdb.functions.{name}")
    if name.startswith("__"):
        raise AttributeError(name)
    from appdb.functions import string, uuid

    for module in (string, uuid):
        if name in module.FUNCTIONS:
            return module.FUNCTIONS[name]
    from appdb._errors import UnknownAttribute, did_you_mean, later

    if name in _LATER:
        raise later(f"appdb.functions.{name}", "Compute it in a function marked @udf.")
    known = [*string.FUNCTIONS, *uuid.FUNCTIONS, "string", "uuid"]
    raise UnknownAttribute(
        f"appdb.functions has no '{name}'.", did_you_mean(name, known, "See the list of functions in the docs.")
    )
