"""Functions of addresses."""

from __future__ import annotations

from appdb.functions._builtin import Namespace

_net = Namespace("net")
function, FUNCTIONS = _net.function, _net.functions
__getattr__ = _net.unknown


@function(
    [("https://example.com/a.png", 60, "https://example.com/a.png"), ("file:///a.png", 60, ValueError)]
    + [("s3://bucket/a.png", 0, ValueError), ("s3://bucket/a.png", 604801, ValueError), ("s3://bucket", 60, ValueError)]
    + [("mediafs://org:db/home/a.png", 60, ValueError), ("", 60, ValueError)],
    is_method=False,
)
def presigned_url(uri: str, expiration_seconds: int, /) -> str:
    """The address by which anyone reads an object of s3://, gs:// or wasbs:// for some seconds, at most seven days."""
    from appdb.media.signing import signed_url

    return signed_url(uri, expiration_seconds)
