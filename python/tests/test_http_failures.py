"""Failures of handlers that are hard to tell: they are told all the same, for somebody waits."""

import threading

import msgpack
import pytest
from appdb._http_answers import failure_of
from appdb._http_types import HTTPError
from appdb._threads import Threads


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (HTTPError(404, {"message": "gone", "by": object()}), "HTTPError 404, which cannot be sent: what it returned is no"),
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
