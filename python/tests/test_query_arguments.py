"""Arguments of queries in a handler: values of the parameter's type, and JSON text."""

from types import SimpleNamespace

import pytest

from appdb.udfs.calls import Parameter
from appdb.worker.asking import Refused, _argument

QUERY = SimpleNamespace(__name__="ticket")
ID = "01a21398-6d98-774f-ad18-57c9cdd405f4"


def given(kind, value):
    return _argument(QUERY, Parameter("id", kind), kind, value)


@pytest.mark.parametrize(
    "kind, value, wire",
    [
        ("uuid", ID, ID),
        ("date", "2024-02-29", "2024-02-29"),
        ("timestamp", "2024-02-29T10:00:00+02:00", "2024-02-29T08:00:00Z"),
        ("string", "abc", "abc"),
        ("int", None, None),
    ],
)
def test_text_is_taken_where_json_carries_one(kind, value, wire):
    assert given(kind, value) == wire


@pytest.mark.parametrize("kind, value, type", [("uuid", "abc", "UUID"), ("int", "7", "Int"), ("date", 5, "Date")])
def test_a_value_that_does_not_fit_is_refused_by_query_and_parameter(kind, value, type):
    with pytest.raises(Refused) as caught:
        given(kind, value)
    assert (caught.value.problem["status"], caught.value.code) == (422, "invalid_request")
    for word in ("ticket()", type, "'id'", repr(value)):
        assert word in caught.value.problem["detail"]
