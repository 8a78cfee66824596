"""`Background`: a route that answers at once with a job, which does the work later."""

from appdb.declare.errors import AppFileError, did_you_mean

_DAY = 86_400


class Background:
    """Settings of a route's jobs: maximum `attempts`, and the time in seconds for which a result is available."""

    __slots__ = ("attempts", "expires")

    def __init__(self, attempts=1, expires=_DAY, **unknown):
        if unknown:
            option = next(iter(unknown))
            raise AppFileError(
                f"Background has no option '{option}'.",
                did_you_mean(option, ("attempts", "expires"), "It has attempts= and expires=."),
            )
        self.attempts = _whole("attempts", attempts, 100)
        self.expires = _whole("expires", expires, 365 * _DAY)

    def document(self):
        """In manifest form."""
        return {"attempts": self.attempts, "expires_s": self.expires}


def background_of(value):
    """The Background for a route's `background=`; None without one. Raises AppFileError."""
    if value is None or value is False:
        return None
    if value is True:
        return Background()
    if isinstance(value, Background):
        return value
    raise AppFileError(
        f"background= is True or a Background, not {value!r}.", "Write background=Background(attempts=3, expires=3600)"
    )


def _whole(name, value, most):
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise AppFileError(f"{name}= is a whole number from 1 to {most:,}, not {value!r}.", f"Write {name}=3")
    return value
