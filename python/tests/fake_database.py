"""A server that answers the data API from a dict of definitions, and records what it is sent."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

import msgpack

from column_frames import read_frames


def column(name, kind="string", nullable=False, key=False, computed=None, **type):
    """A column of a definition."""
    return {
        "name": name,
        "type": {"kind": kind, **type},
        "nullable": nullable,
        "primary_key": key,
        "computed": computed,
        "comment": None,
        "custom_metadata": None,
        "renamed_from": None,
        "source": {"file": "app.py", "line": 1},
    }


def definition(name, *columns, **more):
    """The definition of a table."""
    return {
        "name": name,
        "model": name.capitalize(),
        "comment": None,
        "custom_metadata": None,
        "columns": list(columns),
        "primary_key": [one["name"] for one in columns if one["primary_key"]],
        "indexes": [],
        "has_default_idxs": False,
        "renamed_from": None,
        "source": {"file": "app.py", "line": 1},
        **more,
    }


DOCS = definition(
    "docs",
    column("id", "int", key=True),
    column("title"),
    column("n", "int", nullable=True),
    column("score", "float", nullable=True),
    column("made", "timestamp", nullable=True),
    column("tags", "json", nullable=True),
    column("loud", computed={"text": "upper(title)", "expr": {"node": "column", "name": "title", "type": {"kind": "string"}, "nullable": False}}),
)


class FakeDatabase(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.tables = {"docs": DOCS}
        self.requests = []  # (method, path, query, body)
        self.takes_columns = True  # Whether inserts can have frames of columns.
        self.forms = []  # Of each frame, by column; None for a frame of lines.
        self.headers = []
        self.connections = set()
        self.results = []  # Bytes, or lists of messages, of the next queries.
        self.breaks = {}  # What is sent before the connection breaks, by the end of a path, for one request.
        self.answers = {}  # (status, document) by the end of a path, for one request.
        self.events = [{"event": "done", "plan": {"tables": [{"path": "x"}]}}]
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def result(self, columns, *blocks, end=None):
        """Sets the result of the next query: columns as {name: kind or type}."""
        described = [
            {"name": name, "type": {"kind": kind} if isinstance(kind, str) else kind, "nullable": True}
            for name, kind in columns.items()
        ]
        count = sum(map(len, blocks))
        messages = [{"columns": described}, *({"rows": rows} for rows in blocks)]
        self.results.append([*messages, *([{"done": {"count": count}}] if end is None else end)])

    def bodies(self, end):
        """The bodies of the requests whose path has this end."""
        return [body for _, path, _, body in self.requests if path.endswith(end)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def read_body(self):
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        whole = b""
        while True:
            line = self.rfile.readline()
            size = int(line or b"0", 16)
            piece = self.rfile.read(size)
            if not line or len(piece) < size:
                self.server.requests.append(("CUT", self.path, {}, whole))
                return None
            self.rfile.readline()
            if size == 0:
                return whole
            whole += piece

    def send(self, status, data, kind="application/json"):
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.send_header("content-type", kind)
        self.send_header("x-server-version", "0.8.5")
        self.end_headers()
        self.wfile.write(data)

    def document(self, status, document):
        self.send(status, json.dumps(document).encode())

    def answer(self):
        server = self.server
        body = self.read_body()
        if body is None:
            self.close_connection = True
            return None
        url = urlsplit(self.path)
        path, query = unquote(url.path), dict(parse_qsl(url.query))
        server.connections.add(self.client_address)
        server.headers.append(dict(self.headers))
        is_json = self.headers.get("content-type", "").startswith("application/json")
        if self.headers.get("content-type") == "application/vnd.appdb.columns":
            if not server.takes_columns:
                return self.document(415, {"code": "unsupported_media_type", "detail": "Send JSON."})
            frames = list(read_frames(body))
            server.forms += [forms for forms, _ in frames]
            body = b"".join(json.dumps(row).encode() + b"\n" for _, rows in frames for row in rows)
        server.requests.append((self.command, path, query, json.loads(body) if is_json and body else body))
        for end, (status, document) in list(server.answers.items()):
            if path.endswith(end):
                del server.answers[end]
                return self.document(status, document)
        for end, data in list(server.breaks.items()):
            if path.endswith(end):
                del server.breaks[end]
                self.wfile.write(data)
                self.close_connection = True
                return None
        if path.endswith("/definition"):
            name = path.partition("/tables/")[2].removesuffix("/definition")
            if name not in server.tables:
                return self.document(404, {"code": "table_not_found", "detail": f"No table {name}.", "hint": "cli ls main"})
            return self.document(200, {"definition": server.tables[name]})
        if path.endswith("/query"):
            result = server.results.pop(0)
            data = result if isinstance(result, bytes) else b"".join(map(msgpack.packb, result))
            return self.send(200, data, "application/msgpack")
        if path.endswith("/rows") and self.command == "POST":
            lines = [json.loads(line) for line in body.splitlines()]
            if query["return_rows"] == "0":
                return self.document(200, {"inserted": len(lines)})
            stored = ({**line, "loud": line["title"].upper()} for line in lines)
            return self.send(200, b"\n".join(json.dumps(row).encode() for row in stored), "application/x-ndjson")
        if path.endswith("/compute"):
            made = ({**line, "loud": line["title"].upper()} for line in map(json.loads, body.splitlines()))
            failed = {"loud": None, "_errors": {"loud": {"type": "ValueError", "message": "bad text", "function": "app:f"}}}
            rows = [{**row, **failed} if row["title"] == "bad" else row for row in made]
            return self.send(200, b"\n".join(json.dumps(row).encode() for row in rows), "application/x-ndjson")
        if path.endswith("/rows") or path.endswith("/rows/delete"):
            return self.document(200, {"updated": 2} if self.command == "PATCH" else {"deleted": 3})
        if path.endswith("/changes") or path.endswith("/recompute"):
            data = b"\n".join(json.dumps(line).encode() for line in server.events)
            return self.send(200, data, "application/x-ndjson")
        if path.endswith("/tables"):
            tables = [{"path": name, "view_of": (one.get("view") or {}).get("base"), "rows": 1} for name, one in server.tables.items()]
            return self.document(200, {"tables": tables, "folders": ["empty"]})
        if path.startswith("/v1/scratch/"):
            return self.document(200, {"name": json.loads(body)["name"]})
        if path == "/v1/databases/create":
            wanted = json.loads(body)
            if wanted["name"] == "main" and wanted["if_exists"] == "error":
                return self.document(409, {"code": "database_exists", "detail": "The database main exists."})
            return self.document(200, {"created": wanted["name"] != "main"})
        if path == "/v1/databases":
            return self.document(200, {"databases": [{"name": "main"}]})
        return self.document(404, {"code": "not_found", "detail": f"The daemon has no {self.command} {path}."})

    do_GET = do_POST = do_PATCH = answer
