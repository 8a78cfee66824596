"""Names in files for other systems: planned ones, and modules that this library does not have."""

from appdb.declare.errors import AppFileError, did_you_mean, later

_PROVIDERS = frozenset(
    "openai anthropic gemini huggingface whisper whisperx ollama llama_cpp mistralai bedrock fireworks together replicate"
    " deepseek groq openrouter twelvelabs yolox voyageai jina bfl reve runwayml fal fabric".split()
)
_MODULES = frozenset("ext mcp".split())


def later_function(name, namespace="appdb.functions"):
    """The error for a missing namespace of appdb.functions; None for other names."""
    if name in _PROVIDERS:
        hint = "Call the provider in a function marked @db.udf; its resource_pool= keeps to the provider's limits."
    elif name == "globals":
        hint = "Compute it in a function marked @db.udf."
    else:
        return None
    return later(f"{namespace}.{name}", hint)


def missing_module(name):
    """The error for a module below appdb that does not exist."""
    first, _, rest = name.removeprefix("appdb.").partition(".")
    if first == "functions" and rest:
        return later_function(rest.partition(".")[0]) or _no_namespace(rest.partition(".")[0])
    if first == "iterators":
        from appdb.iterators.deprecated import missing_module as missing_iterators

        return missing_iterators(rest)
    if first in _MODULES:
        return later(f"appdb.{first}")
    return AppFileError(
        f"appdb has no module '{first}'.", "An application imports from appdb, appdb.functions and appdb.serving."
    )


def _no_namespace(name):
    from appdb.functions import _NAMESPACES

    otherwise = f"It has {', '.join(_NAMESPACES)}."
    return AppFileError(f"appdb.functions has no namespace '{name}'.", did_you_mean(name, _NAMESPACES, otherwise))
