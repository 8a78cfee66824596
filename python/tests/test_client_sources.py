"""Files and frames as sources: names, types, places of errors, and tables that are made whole or not at all."""

import datetime
import decimal

import pytest

import appdb as db
from appdb.client.cells import File
from appdb.client.rows.inferring import inferred
from fake_database import column, definition
from test_client import docs, server  # noqa: F401
from test_client_writes import sent

REFUSED = {"code": "invalid_request", "status": 422, "detail": "Wrong.", "hint": "The route takes: title, n?"}


def changes(server):
    """What each change of definitions did."""
    return [(body["change"]["change"], body["change"]["table"]) for body in server.bodies("/changes")]


def schema(server):
    """The columns of the first table that was created."""
    return {one["name"]: one["type"]["kind"] for one in server.bodies("/changes")[0]["change"]["definition"]["columns"]}


def test_a_new_table_is_dropped_if_its_rows_are_refused(server):
    server.tables["new"] = definition("new", column("a", "float"))
    with pytest.raises(db.Error, match="row 2, column 'a': inf is not a number"):
        db.create_table("main/new", source=[{"a": 1.0}, {"a": float("inf")}])
    assert changes(server) == [("create_table", "new"), ("drop_table", "new")]


def test_a_table_that_is_replaced_stays_until_the_rows_are_there(server):
    class Tables(dict):
        """Knows the table that is filled."""

        def __contains__(self, name):
            return dict.__contains__(self, name) or name.startswith("docs_new_")

        def __missing__(self, name):
            return definition(name, column("title"))

    server.tables = Tables(server.tables)
    db.create_table("main/docs", source=[{"title": "a"}], if_exists="replace")
    first, *rest = server.bodies("/changes")
    assert first["dry_run"] and first["change"]["if_exists"] == "replace"
    (made, name), moved = changes(server)[1], rest[1]["change"]
    assert made == "create_table" and name.startswith("docs_new_")
    assert moved == {"change": "move_table", "table": name, "to": "docs", "if_exists": "replace"}
    server.requests.clear()
    server.answers["/rows"] = (422, {**REFUSED, "errors": [{"pointer": "/0/title", "detail": "Line 1: title: Expected a text, got 1."}]})
    with pytest.raises(db.Error, match="No row was inserted: row 1, column 'title': Expected a text, got 1. Correct them."):
        db.create_table("main/docs", source=[{"title": "a"}], if_exists="replace")
    (_, old), (_, new), last = changes(server)
    assert (old, last) == ("docs", ("drop_table", new)) and new != "docs"


def test_a_column_without_a_value_has_the_type_that_its_table_gives_it(server, docs):
    server.result({"title": "string", "n": "int", "at": "timestamp"}, [["a", None, None], ["b", None, None]])
    server.tables["copy"] = definition("copy", column("title"), column("n", "int"), column("at", "timestamp"))
    db.create_table("main/copy", source=docs)
    assert schema(server) == {"title": "string", "n": "int", "at": "timestamp"}
    with pytest.raises(db.Error, match="The column 'n' is null in the first 1 rows, so its type is unknown"):
        db.create_table("main/copy", source=[{"title": "a", "n": None}])


NAMED = {
    "keywords": lambda docs, _: docs.insert(Title="a", N=1),
    "rows": lambda docs, _: docs.insert([{"TITLE": "a", "n": 1}]),
    "a file": lambda docs, path: docs.insert(path),
    "chosen": lambda docs, path: docs.insert(path, columns={"Title": "TITLE", "n": "n"}),
}


@pytest.mark.parametrize("insert", NAMED.values(), ids=NAMED)
def test_names_have_no_case(server, docs, tmp_path, insert):
    (tmp_path / "a.csv").write_text("Title,N\na,1\n")
    insert(docs, tmp_path / "a.csv")
    assert sent(server) == [{"title": "a", "n": 1}]


def test_frames_of_any_case_are_sent_as_columns(server, docs):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"TITLE": [str(n) for n in range(600)], "N": range(600)})
    docs.insert(frame)
    assert sent(server)[-1] == {"title": "599", "n": 599}
    assert docs.batch_update([{"ID": 1, "Title": "x"}]).num_rows == 2
    assert server.bodies("/rows")[-1]["rows"] == [{"id": 1, "title": "x"}]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda docs: db.create_table("main/x", {"a": db.Int, "A": db.String}), "The schema has the columns 'a', 'A', which are one: 'a'"),
        (lambda docs: docs.insert({"n": 1, "N": 2}), "Row 1 has several values for the column 'n'"),
        (lambda docs: docs.update({"n": 1, "N": 2}), r"update\(\) has the columns 'n', 'N'"),
        (lambda docs: docs.insert([{"a": 1}], columns=["a"]), r"columns=\) is a dict"),
        (lambda docs: db.create_table("main/x", {"a": db.Int}, columns={"A": "a"}), "there is no source="),
    ],
)
def test_names_that_are_one_are_refused(docs, make, message):
    with pytest.raises(db.Error, match=message):
        make(docs)


def test_files_of_a_result_are_of_their_kind():
    types, _ = inferred([{"n": 1, "cover": None}, {"n": 2, "cover": File({}, "image", None)}])
    assert types == {"n": db.Int | None, "cover": db.Image | None}


def test_types_of_a_csv_file_are_inferred(server, tmp_path):
    (tmp_path / "a.csv").write_text(
        "id,big,f,b,d,t,zip,nothing,mixed\n"
        "1,99999999999999999999,1.5,true,2024-01-02,2024-01-02 10:00,007,,2024-02-31\n"
        "-2,3,2,FALSE,2024-01-03,2024-01-02T10:00:01.5+02:00,008,,x\n"
    )
    server.tables["a"] = definition("a", column("id", "int"))
    db.create_table("main/a", source=tmp_path / "a.csv")
    kinds = {"id": "int", "big": "string", "f": "float", "b": "bool", "d": "date", "t": "timestamp"}
    assert schema(server) == {**kinds, "zip": "string", "nothing": "string", "mixed": "string"}
    first = sent(server)[0]
    assert (first["id"], first["big"], first["b"], first["zip"], first["nothing"]) == (1, "9" * 20, True, "007", None)


def test_a_later_text_that_does_not_fit_asks_for_a_schema(server, tmp_path):
    (tmp_path / "a.csv").write_text("id\n" + "".join(f"{n}\n" for n in range(1500)) + "x\n")
    server.tables["a"] = definition("a", column("id", "int"))
    server.answers["/rows"] = (422, {**REFUSED, "errors": [{"pointer": "/1500/id", "detail": 'Line 1501: id: Expected an integer, got "x".'}]})
    with pytest.raises(db.Error, match=r"line 1502 of .*a.csv, column 'id': Expected an integer, .* schema=\{\"id\": db.String"):
        db.create_table("main/a", source=tmp_path / "a.csv")
    assert changes(server) == [("create_table", "a"), ("drop_table", "a")]


def test_a_later_row_that_does_not_fit_says_what_gave_the_columns(server):
    server.tables["a"] = definition("a", column("a", "int"))
    errors = [{"pointer": f"/{row}/b", "detail": f'Line {row + 1}: b: The route takes no field "b".'} for row in (5000, 5001)]
    server.answers["/rows"] = (422, {**REFUSED, "errors": errors})
    with pytest.raises(db.Error) as caught:
        db.create_table("main/a", source=({"a": n} for n in range(1200)))
    assert "row 5001, column 'b': main/a has no such column." in caught.value.detail
    assert caught.value.hint == "The first 1,000 rows gave the columns. Write them: schema={...}"


def test_names_that_no_column_can_have_are_chosen(server, tmp_path):
    (tmp_path / "a.csv").write_text("First Name,größe,other\nx,1,2\n", encoding="utf-8")
    with pytest.raises(db.Error, match=r"of .*a.csv needs another name.*columns=\{\"first name\": \"first_name\""):
        db.create_table("main/a", source=tmp_path / "a.csv")
    server.tables["a"] = definition("a", column("first_name"), column("groesse", "int"))
    chosen = {"First Name": "first_name", "größe": "groesse"}
    db.create_table("main/a", source=tmp_path / "a.csv", columns=chosen)
    assert schema(server) == {"first_name": "string", "groesse": "int"}
    assert sent(server) == [{"first_name": "x", "groesse": 1}]
    with pytest.raises(db.Error, match="has no column 'First Nam', which columns= names. Did you mean 'First Name'?"):
        db.create_table("main/a", source=tmp_path / "a.csv", columns={"First Nam": "a"})


def test_a_value_without_a_type_is_named_by_column_and_row(server):
    with pytest.raises(db.Error, match="The column 'd' has a Decimal in row 2"):
        db.create_table("main/x", source=[{"d": None}, {"d": decimal.Decimal("1.1")}])


FORMS = {"utf-16": "title,n\na,3\n".encode("utf-16"), "semicolons": b"title;n\na;3\n", "tabs": b"title\tn\na\t3\n"}


@pytest.mark.parametrize("content", FORMS.values(), ids=FORMS)
def test_encodings_and_separators_are_those_of_the_command(server, docs, tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    docs.insert(tmp_path / "a.csv")
    assert sent(server) == [{"title": "a", "n": 3}]


def test_errors_of_a_file_name_its_lines(server, docs, tmp_path):
    (tmp_path / "a.csv").write_text('title,n\na,1\n\n"b\nc",2\nd,3\n')
    errors = [{"pointer": f"/{row}/title", "detail": f"Line {row + 1}: title: Too long."} for row in range(3)]
    server.answers["/rows"] = (422, {**REFUSED, "errors": errors})
    with pytest.raises(db.Error) as caught:
        docs.insert(tmp_path / "a.csv")
    assert [text.partition(" of ")[0].strip() for text in caught.value.detail.splitlines()[1:]] == ["line 2", "line 4", "line 6"]
    assert "route" not in str(caught.value)


def test_nulls_of_pandas_are_null_in_dicts_too(server, docs):
    pandas = pytest.importorskip("pandas")
    docs.insert([{"title": "a", "n": pandas.NA, "made": pandas.NaT}])
    assert sent(server) == [{"title": "a", "n": None, "made": None}]
    with pytest.raises(db.Error, match="nan is not a number that a column can store. Write None for null."):
        docs.insert([{"title": "a", "score": float("nan")}])


def test_midnights_are_days(server):
    server.tables["days"] = definition("days", column("day", "date", nullable=True))
    days = db.get_table("main/days")
    days.insert([{"day": datetime.datetime(2024, 1, 2)}, {"day": datetime.datetime(2024, 1, 2, 3)}])
    assert [row["day"] for row in sent(server)] == ["2024-01-02", "2024-01-02T03:00:00Z"]
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    server.forms.clear()
    days.insert(pandas.DataFrame({"day": pandas.to_datetime(["2024-01-02"] * 600)}))
    assert sent(server)[-1] == {"day": "2024-01-02"} and server.forms[-1] == {"day": "days"}


def test_failed_cells_are_counted_with_returned_rows(server, docs, monkeypatch):
    from appdb.client.writing import _failed_cells

    assert _failed_cells('fare;rows=3, tax;type="CellError, a";rows=2, x;type="E"') == 6
    assert _failed_cells("") == 0


LONG = decimal.Decimal("12345678901234567890.1234567890")


def test_json_columns_keep_all_digits(server, docs, tmp_path):
    text = '{"title":"a","tags":{"a":0.12345678901234567890,"b":[1.50,1e2]}}'
    (tmp_path / "a.jsonl").write_text(text)
    docs.insert(tmp_path / "a.jsonl")
    assert server.bodies("/rows")[-1].decode().strip() == '{"title":"a","tags":{"a":0.12345678901234567890,"b":[1.5,100.0]}}'
    docs.insert([{"title": "a", "tags": [LONG, decimal.Decimal("1.50"), decimal.Decimal(10**20)]}])
    assert server.bodies("/rows")[-1].decode().strip() == '{"title":"a","tags":[12345678901234567890.123456789,1.5,100000000000000000000]}'
    server.forms.clear()
    docs.insert({"title": "a", "tags": LONG} for _ in range(600))
    assert server.forms[-1]["tags"] == "source"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (LONG, "row 2, column 'score': 12345678901234567890.123456789 has more digits than a Float keeps. Round it"),
        (decimal.Decimal(2**53 + 1), "row 2, column 'score': 9007199254740993 has more digits"),
        (decimal.Decimal("1e400"), "row 2, column 'score': 1000.* has more digits"),
        (decimal.Decimal("1e5000"), r"row 2, column 'score': 1e\+5000 has more digits"),
        (decimal.Decimal("NaN"), "row 2, column 'score': .*NaN"),
        (decimal.Decimal("sNaN"), "row 2, column 'score': .*NaN"),
        (decimal.Decimal("-Infinity"), "row 2, column 'score': .*infinite"),
    ],
)
def test_a_decimal_that_a_float_would_change_is_refused(server, value, message):
    server.tables["scores"] = definition("scores", column("score", "float"))
    scores = db.get_table("main/scores")
    scores.insert([{"score": decimal.Decimal("0.1")}, {"score": decimal.Decimal("1.50")}])
    assert [row["score"] for row in sent(server)] == [0.1, 1.5]
    with pytest.raises(db.Error, match=message):
        scores.insert([{"score": 1.5}, {"score": value}])


@pytest.mark.parametrize("value", [{1: "a"}, [{"a": {None: 1}}], {"a": [({True: 1},)]}])
def test_keys_that_are_not_text_are_refused(docs, value):
    for rows in ([{"title": "a", "tags": value}], [{"title": "a", "tags": value}] * 600):
        with pytest.raises(db.Error, match=r"row 1, column 'tags': a dict has the key .* JSON has texts as keys. Write str\(key\)"):
            docs.insert(rows)


def test_a_plan_of_the_command_is_a_table_of_the_program():
    from appdb.client.hints import for_program

    hint = for_program("See the new plan: cli schema diff app.py cloud://acme:main")
    assert hint == "Open the table again with db.get_table(), then try again."


@pytest.fixture
def openpyxl():
    return pytest.importorskip("openpyxl")


def book(openpyxl, path, *rows):
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    made.save(path)
    return path


def test_sheets_are_read_by_their_names(server, docs, tmp_path, openpyxl):
    path = book(openpyxl, tmp_path / "a.xlsx", [None, "Title", "n"], [None, "a", 1], [None, None, None], [None, "b", 2])
    docs.insert(path)
    assert sent(server) == [{"title": "a", "n": 1}, {"title": "b", "n": 2}]


@pytest.mark.parametrize("name", ["book", "book.dat"])
def test_sheets_are_found_by_their_content(server, docs, tmp_path, openpyxl, name):
    book(openpyxl, tmp_path / "a.xlsx", ["title"], ["a"]).rename(tmp_path / name)
    docs.insert(tmp_path / name)
    assert sent(server) == [{"title": "a"}]


WRONG_SHEETS = {
    "an index of pandas": ([[None, "title"], [0, "a"]], "A2 of .* has 0 in a column without a name"),
    "a comment": ([["title"], ["a", "note"]], "B2 of .* has 'note' in a column without a name"),
    "a formula": ([["title"], ["=1+1"]], "A2 of .* has a formula without its value"),
    "nothing": ([], "The first row of .* is empty"),
}


@pytest.mark.parametrize(("rows", "message"), WRONG_SHEETS.values(), ids=WRONG_SHEETS)
def test_a_wrong_sheet_is_refused(docs, tmp_path, openpyxl, rows, message):
    with pytest.raises(db.Error, match=message):
        docs.insert(book(openpyxl, tmp_path / "a.xlsx", *rows))


@pytest.mark.parametrize(("name", "package"), [("a.xlsx", "openpyxl"), ("a.parquet", "pyarrow")])
def test_a_file_of_another_format_is_named(docs, tmp_path, name, package):
    pytest.importorskip(package)
    (tmp_path / name).write_text("not")
    with pytest.raises(db.Error, match=f"{name} cannot be read as"):
        docs.insert(tmp_path / name)


def test_json_comes_back_from_arrow(server, docs):
    pyarrow = pytest.importorskip("pyarrow")
    server.result({"title": "string", "tags": "json"}, [["a", '"5"'], ["b", "[1]"], ["c", None]])
    table = docs.select(docs.title, docs.tags).collect().to_arrow()
    assert table.column("tags").to_pylist() == ['"5"', "[1]", None]
    docs.insert(table)
    assert [row["tags"] for row in sent(server)] == ["5", [1], None]
    docs.insert(pyarrow.concat_tables([table] * 300))
    assert [row["tags"] for row in sent(server)[-3:]] == ["5", [1], None]
    docs.insert(pyarrow.table({"title": ["a"], "tags": ["5"]}))
    assert sent(server) == [{"title": "a", "tags": "5"}]
