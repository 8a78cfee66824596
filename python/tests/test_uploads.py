"""Uploads against a server that answers as the control plane and the gateway do."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from appdb import uploads
from appdb.uploads import Progress, Store, UploadError, find_store, upload

WRITE = "/v1/orgs/acme/databases/main/media/write"


class Service(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.contents = {}
        self.puts = []
        self.headers = []
        self.failures = []
        #: Sent in place of the answer to a put.
        self.hostile = None
        #: The server of the addresses, if it is another one.
        self.elsewhere = None
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, document):
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def body(self):
        return self.rfile.read(int(self.headers["content-length"]))

    def key_of(self, digest):
        return f"{digest[:2]}/{digest}.bin"

    def do_POST(self):
        body = json.loads(self.body())
        self.server.headers.append(dict(self.headers))
        if self.path != WRITE:
            problem = {"code": "organization_not_found", "detail": "You do not belong to it.", "hint": "cli org list"}
            return self.answer(404, problem)
        files = []
        for file in body["files"]:
            assert file["name"] is None
            known = file["sha256"] in self.server.contents
            stored = {"key": self.key_of(file["sha256"])} if known else None
            address = None if known else f"{self.server.elsewhere or self.server.url}/_media/file?{file['sha256']}"
            files.append({"stored": stored, "is_same": False, "address": address})
        return self.answer(200, {"files": files})

    def do_PUT(self):
        content = self.body()
        if self.server.hostile is not None:
            self.wfile.write(self.server.hostile)
            self.close_connection = True
            return None
        if self.server.failures:
            return self.answer(self.server.failures.pop(), {})
        digest = hashlib.sha256(content).hexdigest()
        self.server.contents[digest] = content
        self.server.puts.append(len(content))
        return self.answer(201, {"key": self.key_of(digest)})


@pytest.fixture
def service(monkeypatch):
    server = Service()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setattr(uploads, "_RETRY_S", (0, 0))
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def store(service):
    return Store(url=service.url, path=WRITE.removesuffix("/write"), headers={"x-api-key": "sk_1"}, uri="mediafs://acme:main/home")


def files(folder, **contents):
    paths = []
    for name, content in contents.items():
        path = folder / name
        path.write_bytes(content)
        paths.append(path)
    return paths


def test_addresses_come_in_the_order_of_the_paths_and_equal_content_is_sent_once(service, store, tmp_path):
    paths = files(tmp_path, a=b"sea", b=b"hill", c=b"sea")
    seen = []
    found = upload("cloud://acme:main", paths, store=store, progress=seen.append)
    digests = [hashlib.sha256(content).hexdigest() for content in (b"sea", b"hill", b"sea")]
    assert found == [f"mediafs://acme:main/home/{digest[:2]}/{digest}.bin" for digest in digests]
    assert sorted(service.puts) == [3, 4]
    assert seen[-1] == Progress(files_done=3, files=3, bytes_done=7)
    assert service.headers[0]["x-api-key"] == "sk_1"


def test_a_second_upload_sends_nothing(service, store, tmp_path):
    paths = files(tmp_path, a=b"sea", b=b"")
    first = upload("cloud://acme:main", map(str, paths), store=store)
    sent = len(service.puts)
    assert upload("cloud://acme:main", paths, store=store) == first
    assert len(service.puts) == sent


def test_many_files_go_in_groups(service, store, tmp_path):
    paths = files(tmp_path, **{f"n{n}": str(n).encode() for n in range(120)})
    assert len(set(upload("cloud://acme:main", paths, store=store))) == 120
    assert len(service.headers) == 3


def test_a_busy_server_is_asked_again_and_one_that_stays_busy_gives_its_status(service, store, tmp_path):
    paths = files(tmp_path, a=b"sea")
    service.failures = [503]
    assert len(upload("cloud://acme:main", paths, store=store)) == 1
    service.failures = [503] * 3
    with pytest.raises(UploadError, match="status 503"):
        upload("cloud://acme:main", files(tmp_path, b=b"hill"), store=store)


def test_refusals_have_the_code_and_the_hint_of_the_service(store, tmp_path):
    foreign = Store(url=store.url, path="/v1/orgs/other/databases/main/media", headers={}, uri="mediafs://other:main/home")
    with pytest.raises(UploadError, match="You do not belong to it. cli org list") as caught:
        upload("cloud://other:main", files(tmp_path, a=b"sea"), store=foreign)
    assert caught.value.code == "organization_not_found"


@pytest.mark.parametrize(
    ("hostile", "message"),
    [
        (b"HTTP/1.1 422 No\r\n\r\n" + b"a" * (3 << 20), "longer than 1048576 bytes"),
        (b"HTTP/1.1 201 Yes\r\ncontent-length: 999999999999999\r\n\r\n{}", "does not answer: IncompleteRead"),
        (b'HTTP/1.1 201 Yes\r\n\r\n{"key": "../../etc/x"}', r"stored .*a as '../../etc/x', not by its content"),
        (b'HTTP/1.1 201 Yes\r\n\r\n{"key": "5f/5f.bin"}', "not by its content"),
    ],
)
def test_a_hostile_answer_is_refused(service, store, tmp_path, hostile, message):
    service.hostile = hostile
    with pytest.raises(UploadError, match=message) as caught:
        upload("cloud://acme:main", files(tmp_path, a=b"sea"), store=store)
    assert caught.value.code in ("server_failed", "server_unreachable")


def test_a_missing_file_is_named_before_anything_is_sent(service, store, tmp_path):
    with pytest.raises(UploadError, match="There is no file .*none"):
        upload("cloud://acme:main", [*files(tmp_path, a=b"sea"), tmp_path / "none"], store=store)
    assert service.headers == []


@pytest.mark.parametrize("kind", [str, Path])
def test_one_path_is_refused_with_the_list_to_type(service, store, tmp_path, kind):
    path = tmp_path / "robin.jpg"
    path.write_bytes(b"robin")
    with pytest.raises(UploadError, match="takes a list of paths") as refused:
        upload("main", kind(path), store=store)
    assert refused.value.hint == f"Give a list: upload('main', ['{path}'])"
    assert service.headers == []


def test_a_server_that_is_gone_says_what_to_do(store, tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "_RETRY_S", ())
    gone = Store(url="http://127.0.0.1:9", path=store.path, headers={}, uri=store.uri)
    with pytest.raises(UploadError, match="Run it again: files that were sent are not sent again"):
        upload("cloud://acme:main", files(tmp_path, a=b"sea"), store=gone)


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("SERVICE_API_KEY", "SERVICE_API_URL", "SERVICE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_hosted_store_is_found_with_the_precedence_of_the_command(home, monkeypatch):
    (home / "config.toml").write_text('[service]\napi_url = "https://cloud.example.com/"\n')
    session = {"version": 1, "sessions": {"https://cloud.example.com": {"token": "t1"}}}
    (home / "sessions.json").write_text(json.dumps(session))
    found = find_store("cloud://acme:main", home=home)
    assert (found.url, found.path, found.uri) == ("https://cloud.example.com", WRITE.removesuffix("/write"), "mediafs://acme:main/home")
    assert found.headers["authorization"] == "Bearer t1"
    (home / "service.toml").write_text('[service]\napi_key = "sk_project"\n')
    assert find_store("cloud://acme:main", home=home).headers["x-api-key"] == "sk_project"
    monkeypatch.setenv("SERVICE_API_KEY", "sk_env")
    assert find_store("cloud://acme:main", home=home).headers["x-api-key"] == "sk_env"


def test_a_local_store_is_the_daemons(home):
    (home / "daemon.json").write_text('{"port": 4711}')
    (home / "daemon.token").write_text("secret\n")
    found = find_store("main", home=home)
    assert (found.url, found.path, found.uri) == ("http://127.0.0.1:4711", "/v1/media/main", "mediafs://main/home")
    assert found.headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("cloud://acme", "Write: cloud://acme:main"),
        ("cloud://acme:main", "cli login --server"),
        ("main", "cli daemon start"),
    ],
)
def test_what_is_missing_is_named_with_the_next_step(home, target, message):
    with pytest.raises(UploadError, match=message):
        find_store(target, home=home)


def test_without_a_sign_in_the_error_says_so(home, monkeypatch):
    monkeypatch.setenv("SERVICE_API_URL", "https://cloud.example.com")
    with pytest.raises(UploadError, match="You are not signed in at https://cloud.example.com"):
        find_store("cloud://acme:main", home=home)


@pytest.fixture
def hosts(monkeypatch):
    """Where names of hosts lead, in place of DNS."""
    known = {"cloud.example.com": "93.184.216.34", "d0.apps.example.net": "2606:2800:220:1::1", "intranet.example.com": "10.1.2.3"}

    def found(host, *_, **__):
        return [(2, 1, 6, "", (known.get(host, host), 0))]

    monkeypatch.setattr(uploads.socket, "getaddrinfo", found)


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ("https://cloud.example.com", "https://d0.apps.example.net/_media/a?t"),
        ("https://cloud.example.com", "https://cloud.example.com:8443/_media/a?t"),
        ("http://127.0.0.1:4000", "http://127.0.0.1:41234/_media/a?t"),
        ("http://127.0.0.1:4000", "https://d0.apps.example.net/_media/a?t"),
        ("https://10.1.2.4", "https://intranet.example.com/_media/a?t"),
    ],
)
def test_an_address_is_at_the_server_or_at_a_host_of_the_database(hosts, server, address):
    store = Store(url=server, path="", headers={}, uri="")
    assert uploads._checked(store, address) == address


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ("https://cloud.example.com", "http://127.0.0.1:24952/x"),
        ("https://cloud.example.com", "https://127.0.0.1:24952/x"),
        ("https://cloud.example.com", "https://[::1]/x"),
        ("https://cloud.example.com", "https://169.254.169.254/latest"),
        ("https://cloud.example.com", "https://intranet.example.com/x"),
        ("https://cloud.example.com", "http://d0.apps.example.net/x"),
        ("https://cloud.example.com", "http://cloud.example.com/x"),
        ("http://127.0.0.1:4000", "http://10.0.0.1/x"),
        ("https://cloud.example.com", "ftp://cloud.example.com/x"),
    ],
)
def test_an_address_of_the_clients_own_network_is_refused(hosts, server, address):
    store = Store(url=server, path="", headers={}, uri="")
    with pytest.raises(UploadError, match="where it must not send files") as caught:
        uploads._checked(store, address)
    assert caught.value.code == "server_failed"


def test_a_file_is_not_sent_to_an_address_that_is_refused(service, store, tmp_path):
    service.elsewhere = service.url.replace("127.0.0.1", "127.0.0.2")
    with pytest.raises(UploadError, match="gave an address at http://127.0.0.2"):
        upload("cloud://acme:main", files(tmp_path, a=b"sea"), store=store)
    assert service.puts == []
