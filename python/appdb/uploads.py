"""Uploads of local files into the media store of a database, for rows that refer to them.

    addresses = upload("cloud://acme:main", ["holiday.jpg", "sea.jpg"])

Each address (`mediafs://acme:main/home/5f/5f2d....jpg`) goes into a media column of a row. Content that the store has is
not sent again, so that an interrupted upload continues where it ended. Without a row, a file is deleted after two days.
"""

import hashlib
import http.client
import ipaddress
import json
import os
import re
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from appdb.client.servers import find_server, quoted
from appdb.declare.errors import Error

#: Files of one request for addresses.
_GROUP = 50
_BLOCK_BYTES = 1 << 20
#: Maximum size of an answer.
_ANSWER_BYTES = 1 << 20
_SILENCE_S = 60
#: An address is valid for so long, also for the last file of a group.
_EXPIRES_S = 14_400
#: Pauses before a request is sent again.
_RETRY_S = (1, 2, 4, 8, 16)
_PASSING = (429, 502, 503, 504)


class UploadError(Error):
    """An upload that cannot continue. `code` and `hint` are those of the service's error."""

    def __init__(self, message: str, *, code: str = "upload_failed", hint: str | None = None):
        super().__init__(message, hint, code)


@dataclass(frozen=True)
class Progress:
    """How far an upload is."""

    files_done: int
    files: int
    #: Of files that were sent, or that the store had already.
    bytes_done: int


@dataclass(frozen=True)
class Store:
    """A media store as its client reaches it."""

    #: Of the daemon or of the control plane: `https://cloud.example.com`.
    url: str
    #: The path of its routes: `/v1/orgs/acme/databases/main/media`.
    path: str
    #: With the credential.
    headers: dict[str, str]
    #: `mediafs://acme:main/home`
    uri: str


def upload(
    target: str,
    paths: Iterable[str | os.PathLike],
    *,
    at_once: int = 4,
    progress: Callable[[Progress], None] | None = None,
    store: Store | None = None,
) -> list[str]:
    """Uploads files, several at once, and gives their addresses in the same order.

    `target` is `cloud://acme:main`, or the name of a local database. Files of equal content are sent once. `progress` is
    called after each file, by one thread at a time. `store` replaces the search for the server and the credential.
    """
    if isinstance(paths, str | bytes | os.PathLike):
        given = os.fsdecode(paths)
        hint = f"Give a list: upload({target!r}, [{given!r}])"
        raise UploadError(f"upload takes a list of paths, got the path {given}.", code="invalid_request", hint=hint)
    place = store if store is not None else find_store(target)
    files = [Path(path) for path in paths]
    for path in files:
        if not path.is_file():
            raise UploadError(f"There is no file {path}.", code="media_not_found", hint="Check its path.")
    done = _Done(len(files), progress)
    addresses: list[str] = []
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        for group in _groups(files):
            contents = list(pool.map(_content_of, group))
            keys = _send_group(pool, place, contents, done)
            addresses.extend(f"{place.uri}/{keys[content.sha256]}" for content in contents)
    return addresses


@dataclass(frozen=True)
class _Content:
    path: Path
    bytes: int
    sha256: str


def _content_of(path: Path) -> _Content:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return _Content(path, file.tell(), digest.hexdigest())


def _send_group(pool: ThreadPoolExecutor, store: Store, contents: list[_Content], done: "_Done") -> dict[str, str]:
    unique = {content.sha256: content for content in contents}
    wanted = [{"name": None, "bytes": one.bytes, "sha256": one.sha256} for one in unique.values()]
    body = json.dumps({"files": wanted, "expires_s": _EXPIRES_S}).encode()
    answer = _ask(store, "POST", f"{store.path}/write", body)
    counts = {sha256: [content.sha256 for content in contents].count(sha256) for sha256 in unique}

    def send(pair: tuple[_Content, dict]) -> tuple[str, str]:
        content, found = pair
        stored = found["stored"]
        if stored is None:
            stored = _put(store, found["address"], content)
        done.count(counts[content.sha256], content.bytes)
        return content.sha256, _key_of(stored, content)

    return dict(pool.map(send, zip(unique.values(), answer["files"], strict=True)))


def _key_of(stored: dict, content: _Content) -> str:
    """The server's name of a content, which goes into an address: it is the content's hash, with an extension."""
    key = str(stored.get("key"))
    if re.fullmatch(rf"{content.sha256[:2]}/{content.sha256}\.[0-9a-z]+", key) is None:
        raise UploadError(f"The server stored {content.path} as {key[:200]!r}, not by its content.", code="server_failed")
    return key


def _put(store: Store, address: str, content: _Content) -> dict:
    """Streams a file to its signed address, which needs no credential."""
    url = _checked(store, urllib.parse.urljoin(store.url, address))
    headers = {"content-type": "application/octet-stream", "content-length": str(content.bytes)}

    def once() -> tuple[int, bytes]:
        with content.path.open("rb") as file:
            return _request("PUT", url, file, headers)

    return _retried(once)


def _checked(store: Store, url: str) -> str:
    """The signed address, unless a server uses it to reach what its client alone can reach: programs of this machine, and of
    its private network. A database has the server's host or one of its own, which is reached by https."""
    own, given = urllib.parse.urlsplit(store.url), urllib.parse.urlsplit(url)
    is_own = given.hostname == own.hostname and given.scheme in (own.scheme, "https")
    if is_own or (given.scheme == "https" and (_is_public(given.hostname) or not _is_public(own.hostname))):
        return url
    raise UploadError(
        f"The server {store.url} gave an address at {given.scheme}://{given.netloc}, where it must not send files.",
        code="server_failed",
        hint="Ask the operator of the server: its SERVICE_DOMAIN must lead to a public address, by https.",
    )


def _is_public(host: str | None) -> bool:
    try:
        found = socket.getaddrinfo(host or "", None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        # the request says that the host does not exist
        return True
    return all(ipaddress.ip_address(place[0].partition("%")[0]).is_global for *_, place in found)


def _ask(store: Store, method: str, path: str, body: bytes) -> dict:
    headers = {**store.headers, "content-type": "application/json"}
    return _retried(lambda: _request(method, store.url.rstrip("/") + path, body, headers))


def _retried(once: Callable[[], tuple[int, bytes]]) -> dict:
    for pause in (*_RETRY_S, None):
        try:
            status, text = once()
        except (OSError, http.client.HTTPException) as error:
            if pause is None:
                raise UploadError(
                    f"The server does not answer: {error}.",
                    code="server_unreachable",
                    hint="Run it again: files that were sent are not sent again.",
                ) from error
        else:
            if status < 300:
                return json.loads(text)
            if status not in _PASSING or pause is None:
                raise _refusal(status, text)
        time.sleep(pause)
    raise AssertionError


def _refusal(status: int, text: bytes) -> UploadError:
    try:
        problem = json.loads(text)
        return UploadError(problem["detail"], code=problem["code"], hint=problem.get("hint"))
    except (ValueError, KeyError, TypeError):
        return UploadError(f"The server answered with the status {status}.", code="server_failed")


def _request(method: str, url: str, body, headers: dict[str, str]) -> tuple[int, bytes]:
    parts = urllib.parse.urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_SILENCE_S, blocksize=_BLOCK_BYTES)
    path = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
    try:
        try:
            connection.request(method, path, body, headers)
        except BrokenPipeError:
            # the server answered before it had read everything
            pass
        answer = connection.getresponse()
        return answer.status, _read(answer)
    finally:
        connection.close()


def _read(answer: http.client.HTTPResponse) -> bytes:
    text = answer.read(_ANSWER_BYTES + 1)
    if len(text) > _ANSWER_BYTES:
        raise UploadError(f"The server's answer is longer than {_ANSWER_BYTES} bytes.", code="server_failed")
    if answer.length:
        raise http.client.IncompleteRead(text, answer.length)
    return text


class _Done:
    def __init__(self, files: int, progress: Callable[[Progress], None] | None):
        self._files = files
        self._progress = progress
        self._lock = threading.Lock()
        self._done = 0
        self._bytes = 0

    def count(self, files: int, size: int) -> None:
        with self._lock:
            self._done += files
            self._bytes += size
            if self._progress is not None:
                self._progress(Progress(self._done, self._files, self._bytes))


def _groups(files: list[Path]) -> Iterator[list[Path]]:
    for at in range(0, len(files), _GROUP):
        yield files[at : at + _GROUP]


def find_store(target: str, *, home: str | os.PathLike | None = None) -> Store:
    """Finds the store of a target as the command does: the server and the credential of a hosted database, or the daemon
    of the home."""
    is_hosted = target.startswith("cloud://")
    organization, _, database = target.removeprefix("cloud://").partition(":") if is_hosted else (None, "", target)
    if is_hosted and (not organization or not database or "/" in database):
        raise UploadError(f"{target!r} is not a hosted database.", code="invalid_target", hint="Write: cloud://acme:main")
    database = database if is_hosted else database.split("/")[0].lower()
    try:
        server = find_server(organization, database, home)
    except Error as error:
        raise UploadError(error.detail, code=error.code, hint=error.hint) from error
    path = f"{server.base}/media" if is_hosted else f"/v1/media/{quoted(database)}"
    place = f"{organization}:{database}" if is_hosted else database
    return Store(url=server.url, path=path, headers=server.headers, uri=f"mediafs://{place}/home")
