"""Checks of a handler route: its path with parameters, its options. Raises AppFileError."""

from appdb.declare.errors import AppFileError, did_you_mean, listed

_OPTIONS = (
    "tags summary description deprecated include_in_schema status_code response_model response_description timeout name"
).split()
_ELSEWHERE = "dependencies responses response_class operation_id callbacks openapi_extra route_class_override".split()


def check_options(method, options):
    """Raises AppFileError for an unknown option of a handler route, or an invalid value."""
    for name in options:
        if name in _ELSEWHERE:
            raise AppFileError(
                f"A handler of a router has no {name}=.",
                "Write app = fastapi.FastAPI() and include such routes there, or omit it.",
            )
        if name not in _OPTIONS:
            raise AppFileError(
                f"@router.{method} has no option '{name}'.",
                did_you_mean(name, _OPTIONS, f"Its options are {', '.join(_OPTIONS)}."),
            )
    status, limit = options.get("status_code"), options.get("timeout")
    if status is not None and (not hasattr(status, "__index__") or not 200 <= int(status) <= 299):
        raise AppFileError(f"status_code= is a number from 200 to 299, not {status!r}.", "Raise HTTPError for others.")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 < limit < 86400):
        raise AppFileError(f"timeout= is a number of seconds, not {limit!r}.", "Write for example timeout=5")
    for name in ("summary", "description", "response_description", "name"):
        if options.get(name) is not None and not isinstance(options[name], str):
            raise AppFileError(f"{name}= is text.", f'Write {name}="..."')
    for name in ("deprecated", "include_in_schema"):
        if options.get(name) not in (None, True, False):
            raise AppFileError(f"{name}= is True or False, not {options[name]!r}.", f"Write {name}=True")
    check_tags(options.get("tags"))


def check_tags(tags):
    """Raises AppFileError unless tags are a list of texts."""
    if tags is None:
        return
    if not isinstance(tags, (list, tuple, set)) or not all(isinstance(tag, str) and tag for tag in tags):
        raise AppFileError("tags= is a list of texts.", 'Write tags=["items"]')


def without_parameters(path):
    """The path with a letter instead of each parameter. Raises AppFileError for an invalid part."""
    names, parts = [], []
    for part in path.split("/"):
        if "{" not in part and "}" not in part:
            parts.append(part)
            continue
        name = part[1:-1]
        if ":" in name:
            raise AppFileError(
                f"The path '{path}' says how '{name.partition(':')[0]}' is written.",
                "Remove the ':' and the text after it; the parameter's type hint declares the type.",
            )
        if not (part.startswith("{") and part.endswith("}") and name.isidentifier() and name.isascii()):
            raise AppFileError(f"The path '{path}' has the part '{part}'.", "A parameter is a whole part: /items/{item_id}")
        names.append(name)
        parts.append("x")
    doubled = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if doubled:
        raise AppFileError(f"The path '{path}' has {listed(doubled)} twice.", "Give each parameter its own name.")
    return "/".join(parts)
