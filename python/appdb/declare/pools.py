"""Resource pools: limits that the calls of several functions share."""

from appdb.declare.arguments import checked
from appdb.declare.errors import AppFileError


class ResourcePool:
    """Limits for calls to a provider: `openai = db.ResourcePool("openai", max_concurrent=20, per_minute=500,
    retries=3)`.

    Functions name it: `@udf(resource_pool="openai")`. The limits apply across all workers of a service. A call that
    the provider refuses (429, 503, a timeout) is retried `retries` times, with growing pauses or the pause that the
    provider names. Raises AppFileError for limits that allow no call, and for a second pool with the same name.
    """

    declared = {}  # By name: what the worker reports to the engine.

    @checked
    def __init__(self, name, *, max_concurrent=None, per_minute=None, retries=3):
        if not isinstance(name, str) or not 1 <= len(name) <= 100 or not name.isprintable():
            raise AppFileError(f"{name!r} is not a name of a resource pool.", 'Write db.ResourcePool("openai", ...)')
        for option, value, least in (
            ("max_concurrent", max_concurrent, 1),
            ("per_minute", per_minute, 1),
            ("retries", retries, 0),
        ):
            missing = value is None and option != "retries"
            if not missing and (type(value) is not int or not least <= value <= 1_000_000):
                raise AppFileError(
                    f"The resource pool '{name}' has {option}={value!r}.",
                    f"Give a whole number from {least} to 1000000" + ("." if least == 0 else ", or leave it out."),
                )
        self.name = name
        self.max_concurrent = max_concurrent
        self.per_minute = per_minute
        self.retries = retries
        before = ResourcePool.declared.setdefault(name, self)
        if before is not self and before.document() != self.document():
            raise AppFileError(
                f"Two resource pools have the name '{name}' and different limits.",
                "Declare it once, and import it where it is used.",
            )

    def document(self):
        """The pool in the manifest and in the worker protocol."""
        return {
            "name": self.name,
            "max_concurrent": self.max_concurrent,
            "per_minute": self.per_minute,
            "retries": self.retries,
        }

    def __repr__(self):
        return f"<resource pool {self.name}>"
