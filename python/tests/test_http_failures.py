"""Failures of handlers that are hard to report, and requests that are hard to refuse."""

import threading

import msgpack
import pytest
from appdb.http.answers import failure_of
from appdb.http.handlers import Handler, Refused
from appdb.http.types import HTTPError, Request
from appdb.worker.threads import Threads


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (HTTPError(404, {"message": "gone", "by": object()}), "HTTPError 404, which cannot be sent: its result is not"),
        (HTTPError(403, "no", {"location": "/a\r\nset-cookie: b"}), "HTTPError 403, which cannot be sent: the header"),
        (HTTPError(404, "There is no file \udcff."), "There is no file ?."),
        (ValueError("\ud800"), r"ValueError: \ud800"),
    ],
)
def test_an_error_that_cannot_be_sent_as_it_is_is_told(error, told):
    failure, _ = failure_of(error, "app:show", "/nowhere")
    assert told in failure["detail"]
    assert msgpack.unpackb(msgpack.packb(failure)) == failure


def test_work_for_which_there_is_no_further_thread_is_done_by_those_that_are_there(monkeypatch):
    threads, done, go = Threads(4, "test"), threading.Semaphore(0), threading.Event()
    threads.submit(lambda: (go.wait(10), done.release()))

    def refused(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    for _ in range(3):
        threads.submit(done.release)
    go.set()
    assert all(done.acquire(timeout=10) for _ in range(4))
    with pytest.raises(RuntimeError, match="new thread"):
        Threads(4, "none").submit(done.release)


# Content of a request that no handler could use.


def show(left: dict, n: int = 1):
    """Takes two values."""


def two(left: dict, right: dict):
    """Takes a body of two members."""


def asked(body, search="", of=show):
    head = {"method": "POST", "path": "/", "params": {}, "search": search, "client": None, "id": "1"}
    request = Request({**head, "headers": [("content-type", "application/json")]}, body)
    return Handler(of, "/", "post").read(request)


@pytest.mark.parametrize(
    ("body", "code", "detail"),
    [
        (b'{"\\ud800": 1}', "invalid_request", "The body contains a lone surrogate, which is not a valid character."),
        (b'{"a": ' + b"9" * 5000 + b"}", "invalid_json", "5000 digits."),
        (b'{"a": NaN}', "invalid_json", "NaN is not valid JSON."),
        (b"\xff", "invalid_json", "The body is not UTF-8."),
        (b"[" * 100_000, "invalid_json", "The body is nested too deep."),
        (b"[1]", "invalid_request", "Expected an object, got a list."),
    ],
)
def test_a_body_that_does_not_fit_is_refused_with_a_next_step(body, code, detail):
    with pytest.raises(Refused) as refused:
        asked(body)
    assert (refused.value.code, refused.value.detail[-len(detail) :]) == (code, detail)
    failure, is_logged = failure_of(refused.value, "app:show", "/nowhere")
    assert (failure["hint"], is_logged) == (refused.value.hint, False)
    assert failure["hint"] and "sys." not in failure["detail"]


def test_pairs_of_surrogates_are_characters():
    assert asked(b'{"a": "\\ud83d\\ude00"}') == {"left": {"a": "\U0001f600"}}


def test_a_url_may_have_thousands_of_parameters():
    with pytest.raises(Refused) as refused:
        asked(b"{}", "&".join(f"n{i}=1" for i in range(2000)))
    assert refused.value.detail == "2000 values are invalid; `errors` lists the first 20."
    assert [len(refused.value.errors), refused.value.errors[0]["pointer"]] == [20, "/n0"]


def test_a_name_as_long_as_a_body_is_told_in_part():
    with pytest.raises(Refused) as refused:
        asked(b'{"left": {}, "right": {}, "' + b"k" * 900_000 + b'": 1}', of=two)
    assert len(refused.value.detail) == 1000


def test_a_handler_that_returns_a_query_is_told_how_it_is_asked():
    import appdb as db
    from appdb.http.answers import BadAnswer, answer_of

    class Notes(db.model_base(), name="notes"):
        n: db.Int

    for value in (Notes.where(Notes.n > 1), {"rows": Notes.limit(3)}, [Notes.n], Notes):
        with pytest.raises(BadAnswer, match="a query that was not asked; a call of a function marked @db.query"):
            answer_of(value)
