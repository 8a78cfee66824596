"""Requests to a server: connections that stay open, streams in both directions, and problems as errors."""

import http.client
import json
import os
import select
import socket
import threading
import urllib.parse
from contextlib import nullcontext

from appdb import __version__
from appdb.client.broken import broken, ended, not_opened
from appdb.client.errors import UnavailableError, error_of, read_problem
from appdb.client.servers import SERVER_VERSION_HEADER, start_daemon
from appdb.declare.errors import Error

_CONNECT_S = 10
#: Idle connections that are kept for the next request.
_KEPT = 4
#: Maximum size of a problem document.
_PROBLEM_BYTES = 1 << 20
_BLOCK = 1 << 16


class Connection:
    """The connections to the server that `find` gives. Threads may share it, and a forked process opens its own."""

    def __init__(self, find):
        self._find = find
        self._pool = _Pool()
        self.lease = lambda: None  # Functions of the program in a hosted database, if there are some.
        self.takes_columns = None  # Whether the server knows frames of columns; None: it was not asked.

    def call(self, method, path, document=None, query=None, headers=None):
        """Sends a JSON document and returns the one of the response. Raises Error."""
        body = None if document is None else json.dumps(document, allow_nan=False).encode()
        kind = {} if body is None else {"content-type": "application/json"}  # Servers refuse an empty body of that type.
        with self.send(method, path, body, query, {**kind, **(headers or {})}) as answer:
            return answer.json()

    def events(self, path, document, progress=None, write=None):
        """Sends a document, calls `progress` for each progress line, and returns the last line. Raises Error."""
        body = json.dumps(document, allow_nan=False).encode()
        with self.send("POST", path, body, None, {"content-type": "application/json"}, write) as answer:
            for line in answer.lines():
                if line.get("event") == "progress":
                    if progress is not None:
                        progress(line)
                elif line.get("event") == "error":
                    raise ended(error_of(line.get("problem")), write)
                elif line.get("event") == "done":
                    return line
            raise broken(answer.server, None, write)

    def send(self, method, path, body=None, query=None, headers=None, write=None):
        """Sends a request and returns its streamed Answer, which must be closed. Raises Error for a problem.

        `path` is below the data routes of the database; one that begins with `//` is a path of the server. `body` is
        bytes, or an iterator of bytes, which is sent as it is made. `write` is what the request may have changed when its
        connection breaks; None for a read.
        """
        lease = None if path.startswith("/programs") else self.lease()
        stored = None if lease is None else lease.times_stored
        server, raw = self._reach()
        if lease is not None:
            lease.renew_soon()
        full = path[1:] if path.startswith("//") else server.base + path
        if query:
            full += "?" + urllib.parse.urlencode(query)
        is_stream = body is not None and not isinstance(body, bytes)
        if is_stream:
            body = _UntilAnswered(raw.sock, body)
        with nullcontext() if lease is None else lease.waiting():
            response = self._exchange(server, raw, (method, full, body, {**server.headers, **(headers or {})}), write)
        answer = Answer(self, server, raw, response, write)
        if is_stream and not body.is_sent:
            response.will_close = True
        if response.status >= 300:
            with answer:
                error = _refused(server, full, response, write)
            is_lost = lease is not None and error.code in ("function_missing", "program_not_found")
            if is_lost and lease.restore(stored) and not is_stream:
                return self.send(method, path, body, query, headers, write)
            raise error
        return answer

    @staticmethod
    def _exchange(server, raw, request, write):
        """Sends a request and returns the response, whose body is not read yet. Raises Error."""
        method, full, body, headers = request
        try:
            raw.request(method, full, body, headers, encode_chunked=body is not None and not isinstance(body, bytes))
        except (BrokenPipeError, ConnectionResetError):
            pass  # The server has answered before it had read everything, or it has gone: getresponse() says which.
        except OSError as error:
            raw.close()
            raise broken(server, error, write) from error
        except BaseException:
            raw.close()  # Of the caller's iterator. The server discards a body that is cut off.
            raise
        try:
            response = raw.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raw.close()
            raise broken(server, error, write) from error
        except BaseException:
            raw.close()
            raise
        return response

    def _reach(self):
        server = self._find()
        try:
            return server, self._open(server)
        except UnavailableError as error:
            if error.code != "daemon_not_running":
                raise
        # The files of a daemon that was killed are still there.
        start_daemon()
        server = self._find()
        return server, self._open(server)

    def _open(self, server):
        raw = self._own_pool().take(server)
        if raw is not None:
            raw.sock.settimeout(None)
            return raw
        parts = urllib.parse.urlsplit(server.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        raw = kind(parts.hostname or "", parts.port, timeout=_CONNECT_S)
        try:
            raw.connect()
        except OSError as error:
            raise not_opened(server, error) from error
        raw.sock.settimeout(None)  # A query may think for long; its limit is the server's.
        raw.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        raw.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return raw

    def _own_pool(self):
        if self._pool.pid != os.getpid():
            # A thread of the parent may have held the lock of its pool during the fork.
            self._pool = _Pool()
        return self._pool

    def _give_back(self, server, raw):
        self._own_pool().keep(server, raw)


class _Pool:
    """The idle connections of one process. After a fork the child has copies of them, which it must not use."""

    def __init__(self):
        self.pid = os.getpid()
        self._lock = threading.Lock()
        self._idle = []  # (server, connection)

    def take(self, server):
        """A connection to a server that still works; None without one."""
        with self._lock:
            while self._idle:
                known, raw = self._idle.pop()
                if known.url == server.url and not _is_dropped(raw):
                    return raw
                raw.close()
        return None

    def keep(self, server, raw):
        """Keeps a connection for the next request, or closes it."""
        with self._lock:
            if len(self._idle) < _KEPT:
                self._idle.append((server, raw))
                return
        raw.close()


class Answer:
    """A response that is read as it arrives. Closing it before its end ends the connection, and so the server's work."""

    def __init__(self, owner, server, raw, response, write):
        self._owner = owner
        self.server = server
        self._write = write
        self._raw = raw
        self._response = response
        self._is_read = False
        self._pid = os.getpid()
        self.headers = response.headers

    def blocks(self):
        """Yields the bytes of the body as they arrive. Raises Error if it is cut off."""
        while True:
            self._refuse_child()
            try:
                block = self._response.read1(_BLOCK)
            except (OSError, http.client.HTTPException) as error:
                raise broken(self.server, error, self._write) from error
            if not block:
                if self._response.length:
                    raise broken(self.server, http.client.IncompleteRead(b"", self._response.length), self._write)
                self._is_read = True
                return
            yield block

    def lines(self):
        """Yields the JSON documents of the lines."""
        rest = b""
        for block in self.blocks():
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                if line:
                    yield self._parsed(line)
        if rest.strip():
            yield self._parsed(rest)

    def json(self):
        """The document of the whole body; None without one."""
        text = b"".join(self.blocks())
        return self._parsed(text) if text.strip() else None

    def _refuse_child(self):
        if self._pid != os.getpid():
            raise Error(
                f"The request was sent by process {self._pid}, and process {os.getpid()} reads its response.",
                "Run the query in the process that reads its rows.",
                "invalid_request",
            )

    def _parsed(self, text):
        try:
            return json.loads(text)
        except ValueError as error:
            raise UnavailableError(
                f"The response of {self.server.url} is not JSON.", "Check its address.", "server_failed"
            ) from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the response. The connection is kept if it was read to its end."""
        if self._raw is None:
            return
        raw, self._raw = self._raw, None
        will_close = self._response.will_close
        self._response.close()
        if self._is_read and not will_close and raw.sock is not None and self._pid == os.getpid():
            self._owner._give_back(self.server, raw)
        else:
            raw.close()


class _UntilAnswered:
    """The pieces of a body, until the server answers. It does so before the end only to refuse the request."""

    def __init__(self, sock, pieces):
        self._sock = sock
        self._pieces = iter(pieces)
        self.is_sent = False

    def __iter__(self):
        # Bytes of TLS are not always those of an answer.
        is_plain = type(self._sock) is socket.socket
        for piece in self._pieces:
            if is_plain and select.select([self._sock], [], [], 0)[0]:
                raise BrokenPipeError
            yield piece
        self.is_sent = True


def _is_dropped(raw):
    """Whether the server has closed an idle connection, or sent what was not asked for."""
    return raw.sock is None or bool(select.select([raw.sock], [], [], 0)[0])


def _refused(server, path, response, write):
    try:
        text = response.read(_PROBLEM_BYTES)
    except (OSError, http.client.HTTPException) as error:
        return broken(server, error, write)
    problem = read_problem(text)
    version = response.headers.get(SERVER_VERSION_HEADER)
    code = problem.get("code") if isinstance(problem, dict) else None
    if version is not None and code in ("not_found", "method_not_allowed"):
        return _unknown_route(server, path.partition("?")[0], version)
    return error_of(problem, response.status)


def _unknown_route(server, route, version):
    """The error of a route that this library asks for and the server lacks: one of them is older."""
    name = "daemon" if server.is_local else "server"
    if _numbers(version) > _numbers(__version__):
        return Error(
            f"The library ({__version__}) is older than the {name} at {server.url} ({version}), which no longer has {route}.",
            "Upgrade the library: pip install --upgrade appdb",
            "client_too_old",
        )
    build = f" It is another build of version {version}." if _numbers(version) == _numbers(__version__) else ""
    return Error(
        f"The {name} at {server.url} has the version {version} and does not know {route}, "
        f"which the library {__version__} asks for.{build}",
        "Restart it: cli daemon restart" if server.is_local else f"Install appdb=={version}, or ask its operator for an update.",
        "server_too_old",
    )


def _numbers(version):
    return [int(part) if part.isdigit() else 0 for part in version.partition("-")[0].split(".")]
