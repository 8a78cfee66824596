"""Interprets exceptions of provider libraries: whether a call was refused, and how long to wait."""

# Longer pauses are not waited for: the sender of the row has disconnected by then.
LONGEST_PAUSE_S = 120.0


def turned_away(error):
    """None when the call failed permanently; else the provider's pause in seconds, 0.0 when it names none.

    Refused calls are those with status 429 or 503, with a `retry_after`, or with a timeout.
    """
    response = getattr(error, "response", None)
    pause = _seconds(getattr(error, "retry_after", None))
    if pause is None:
        pause = _header(getattr(response, "headers", None) or getattr(error, "headers", None))
    statuses = (getattr(error, "status_code", None), getattr(error, "status", None), getattr(error, "code", None),
                getattr(response, "status_code", None), getattr(response, "status", None))  # fmt: skip
    is_refused = any(status in (429, 503) for status in statuses if type(status) is int)
    says_when = _seconds(getattr(error, "retry_after", None)) is not None
    is_late = isinstance(error, TimeoutError) or "Timeout" in type(error).__name__
    if not (is_refused or says_when or is_late):
        return None
    return pause or 0.0


def _header(headers):
    get = getattr(headers, "get", None)
    if get is None:
        return None
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0), ("Retry-After", 1.0)):
        value = get(name)
        seconds = _seconds(value)
        if seconds is not None:
            return seconds * scale
        if isinstance(value, str):
            return _until(value)
    return None


def _seconds(value):
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            seconds = float(value)
        except ValueError:
            return None
        return seconds if 0 <= seconds < float("inf") else None
    total = getattr(value, "total_seconds", None)  # A timedelta.
    return None if total is None else max(0.0, total())


def _until(text):
    """Seconds until an HTTP date; None when the text is not one."""
    from datetime import datetime, timezone
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())
