"""A calibration service for the example, as providers on the internet are: slow, and it turns calls away now and then.

The first line that it prints is the variable with its address. GET /calibrate answers a value, GET /log what was asked.
"""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

OFFSETS = {"attic": 0.5, "cellar": -1.25, "roof": 0.0}
LOCK = threading.Lock()
SEEN: dict[str, int] = {}
LOG = {"answered": 0, "turned_away": 0, "at_once": 0, "most_at_once": 0}


class Calibration(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == "/log":
            return self.answer(200, LOG)
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        with LOCK:
            LOG["at_once"] += 1
            LOG["most_at_once"] = max(LOG["most_at_once"], LOG["at_once"])
            tries = SEEN[url.query] = SEEN.get(url.query, 0) + 1
        time.sleep(0.1)
        # Whole numbers are turned away at their first try: a client that does not come again has no value for them.
        is_turned_away = float(asked["value"]).is_integer() and tries == 1
        with LOCK:
            LOG["at_once"] -= 1
            LOG["turned_away" if is_turned_away else "answered"] += 1
        if is_turned_away:
            return self.answer(429, {"error": "too many requests"}, {"Retry-After": "1"})
        if asked["sensor"] not in OFFSETS:
            return self.answer(404, {"error": "no such sensor"})
        self.answer(200, {"value": float(asked["value"]) + OFFSETS[asked["sensor"]]})

    def answer(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(data), **(headers or {})}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing of each request."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Calibration)
print(f"CALIBRATION_URL=http://127.0.0.1:{server.server_address[1]}", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    sys.exit(130)
