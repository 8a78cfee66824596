"""Fills the library with data/ and checks every answer: python3 client.py <address of catalogue> <of front-desk>"""

import json
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

DATA = Path(__file__).parent / "data"


def main(catalogue_service: str, desk_service: str) -> None:
    """The addresses of both services, in the order in which `cli service list` has them."""
    catalogue, desk = catalogue_service + "/catalogue", desk_service + "/desk"
    books, members = load("books"), load("members")
    check_books(desk, books)
    ids = check_members(desk, members)
    check_loans(desk, [{**loan, "member": ids[loan["member"]]} for loan in load("loans")])
    check_catalogue(catalogue, books[4])
    check_desk(desk, ids)
    check_refusals(catalogue, desk, books[0])


def check_books(desk: Any, books: Any) -> None:
    stored = [post(f"{desk}/books", book) for book in books]
    expect("each book is stored", [status for status, _ in stored], [200] * len(books))
    expect(
        "a book comes with what is computed from it",
        stored[1][1],
        {
            "isbn": "978-0-00-000002-4",
            "agency": "978",
            "by": "Åsa Lind",
            "full_title": "Field Guide to Rust, A: Lichens of the North",
            "mark": "M0112-LIN",
            "topics": ["lichens", "field guides", "botany"],
            "topic_count": 3,
        },
    )
    expect("splitting takes words apart at the mark alone", stored[2][1]["by"], "Jo van der Brandt")
    expect("a book without a place has no mark", stored[3][1]["mark"], None)
    expect("zfill cuts nothing off", [stored[6][1]["mark"], stored[7][1]["mark"]], ["M9999-LIN", "H12345-QUI"])
    expect("one topic is a list of one", stored[5][1]["topics"], ["philosophy"])
    expect("slices count characters", stored[6][1]["agency"], "000")


def check_members(desk: Any, members: Any):
    stored = [post(f"{desk}/members", member)[1] for member in members]
    ids = [member.pop("id") for member in stored]
    expect("keys made by the database sort by time", ids, sorted(set(ids)))
    expect(
        "a member of the leap day; times are in UTC",
        stored[0],
        {
            "name": "Ida Quist",
            "email": "Ida.Quist@Example.org",
            "joined": "2020-02-29T08:30:00Z",
            "born": "1961-08-02",
            "email_key": "ida.quist@example.org",
            "short": "IQ",
            "joined_year": 2020,
            "joined_on": "2020-02-29",
            "joined_text": "2020-02-29 08:30+00:00",
            "joined_weekday": 5,
            "first_year_ends": "2021-02-28",
            "age_joining": 59,
        },
    )
    expect("microseconds are kept", stored[1]["joined"], "2021-06-30T23:59:59.999999Z")
    expect("a birthday that nobody knows gives no age", stored[1]["age_joining"], None)
    expect("just after midnight there is still June here", stored[2]["joined_on"], "2021-06-30")
    expect("words may begin with any letter", stored[2]["short"], "ŁŻ")
    expect("a time without a zone is UTC", stored[3]["joined"], "2023-01-01T12:00:00Z")
    return dict(zip([member["name"] for member in members], ids))


def check_loans(desk: Any, loans: Any) -> None:
    stored = [post(f"{desk}/loans", loan)[1] for loan in loans]
    expect(
        "a loan that is out, its last day three weeks later",
        stored[0],
        {
            "last_day": "2024-03-21",
            "is_out": True,
            "days": None,
            "is_late": None,
            "taken_on": "29.02.2024",
            "is_weekend": False,
        },
    )
    expect(
        "a loan that came back on its last day",
        stored[2],
        {
            "last_day": "2024-01-27",
            "is_out": False,
            "days": 21,
            "is_late": False,
            "taken_on": "06.01.2024",
            "is_weekend": True,
        },
    )
    expect("what the librarian wrote, but no Sunday", stored[1]["last_day"], "2024-04-01")
    expect("days over the turn of a year", [stored[3]["days"], stored[3]["is_late"]], [30, True])
    expect("null is the same as left out", [stored[4]["last_day"], stored[4]["is_out"]], ["2024-03-25", True])
    expect("a loan of a book in no list", stored[6]["last_day"], "2024-03-09")


def check_catalogue(catalogue: Any, bridges: Any) -> None:
    found = [
        {"isbn": "978-0-00-000002-4", "title": "A Field Guide to Rust", "by": "Åsa Lind", "mark": "M0112-LIN"},
        {"isbn": "0-00-000007-X", "title": "Crusty Loaves", "by": "Åsa Lind", "mark": "M9999-LIN"},
        {"isbn": "978-0-00-000004-8", "title": "THE RUSTLING REEDS", "by": "Ngozi Okafor", "mark": None},
    ]
    # By full_title: "Crusty ...", "Field Guide ...", "THE RUSTLING ..."; text is sorted by code point.
    in_order = [found[1], found[0], found[2]]
    expect("search in any case", get(f"{catalogue}/search", text="rust")[1], {"rows": in_order})
    expect("the same under POST", post(f"{catalogue}/search", {"text": "RUST"})[1], {"rows": in_order})
    expect("search in a branch", get(f"{catalogue}/search", text="rust", branch="mill")[1], {"rows": in_order[:2]})
    expect("nothing found is not an error", get(f"{catalogue}/search", text="nowhere"), (200, {"rows": []}))
    exact = [get(f"{catalogue}/exact", text=text)[1]["rows"] for text in ("Rust", "rust", "%", "l_P", "l.P")]
    expect(
        "search as it is written; no letter stands for others",
        [[row["isbn"][-3:] for row in rows] for rows in exact],
        [["2-4"], ["7-X"], ["9-3"], ["8-6"], []],
    )
    expect(
        "a whole book by its key, all columns in declared order",
        get(f"{catalogue}/book", isbn=bridges["isbn"])[1],
        {
            **bridges,
            "digits": "9780000000055",
            "agency": "978",
            "names": ["Meyer", "Tom"],
            "by": "Tom Meyer",
            "heading": "Counting Bridges (Arithmetic for Walkers)",
            "full_title": "Counting Bridges: Arithmetic for Walkers",
            "place": "0003",
            "mark": "H0003-MEY",
            "topics": ["mathematics", "walking"],
            "topic_count": 2,
            "is_placed": True,
        },
    )
    expect(
        "published in 1974, as exactly as it is known",
        get(f"{catalogue}/published", since="1974", before="1975")[1],
        {
            "rows": [
                {"published": "1974", "title": "The Tide Clock"},
                {"published": "1974-05", "title": "Élan Vital"},
                {"published": "1974-05-01", "title": "Salt"},
            ]
        },
    )
    names = ["Brandt, Jo van der", "Dubois, Marc", "Lind, Åsa", "Meyer, Tom", "Okafor, Ngozi", "Quist, Ida", "Zhao, Wei"]
    expect("each author once", get(f"{catalogue}/authors")[1], {"rows": [{"author": name} for name in names]})
    longest = ["Crusty Loaves", "The Tide Clock", "THE RUSTLING REEDS", "A Field Guide to Rust", "Salt", "An Owl_Pellet"]
    pages = [get(f"{catalogue}/branches")[1], get(f"{catalogue}/branches", n=9, skip=3)[1]]
    expect("longest first, a null before all; defaults of parameters", titles(pages[0]), longest[:3])
    expect("the next page", titles(pages[1]), longest[3:])
    expect("no page at all", get(f"{catalogue}/branches", n=0)[1], {"rows": []})
    first = {"rows": [{"isbn": "0-00-000007-X"}, {"isbn": "978-0-00-000001-7"}]}
    last = {"rows": [{"isbn": "978-0-00-000008-6"}, {"isbn": "978-0-00-000009-3"}]}
    expect("the first books by key", get(f"{catalogue}/first")[1], first)
    expect("the last books by key, in the same order", get(f"{catalogue}/last")[1], last)
    expect("as many of the last as asked for", get(f"{catalogue}/last", n=1)[1], {"rows": last["rows"][1:]})
    expect("how many", get(f"{catalogue}/count", branch="mill")[1], {"count": 4})
    expect("how many of none", get(f"{catalogue}/count", branch="moon")[1], {"count": 0})
    label = {"title": "Moss", "isbn": "978-1"}
    expect(
        "a label: an input that may be null counts as null, and format() writes None",
        post(f"{catalogue}/label", label)[1],
        {"heading": "Moss (None)", "digits": "9781"},
    )
    expect(
        "a byline from one input",
        post(f"{catalogue}/byline", {"author": "Le Guin, Ursula K."})[1],
        {"names": ["Le Guin", "Ursula K."], "by": "Ursula K. Le Guin"},
    )


def check_desk(desk: Any, ids: Any) -> None:
    clock = {"title": "The Tide Clock", "member": "Ida Quist", "since": "2024-03-21", "weekday": 4, "remind": "2024-04-04"}
    bridges = {
        "title": "Counting Bridges",
        "member": "Łucja Żak",
        "since": "2024-02-29",
        "weekday": 4,
        "remind": "2024-03-14",
    }
    expect("overdue on a day, the longest first", get(f"{desk}/overdue", on="2024-03-22")[1], {"rows": [bridges, clock]})
    expect("due on that day is not overdue", post(f"{desk}/overdue", {"on": "2024-03-21"})[1], {"rows": [bridges]})
    expect("nothing overdue", post(f"{desk}/overdue", {"on": "2024-02-29"})[1], {"rows": []})
    unlent = ["0-00-000007-X", *(f"978-0-00-00000{n}" for n in ("4-8", "6-2", "8-6", "9-3"))]
    rows = get(f"{desk}/never-lent")[1]["rows"]
    expect("books that nobody took", [row["isbn"] for row in rows], unlent)
    expect("have no loan beside them", rows[1], {"isbn": unlent[1], "title": "THE RUSTLING REEDS", "taken": None})
    expect(
        "a stocktaking sees both sides",
        get(f"{desk}/stocktaking")[1]["rows"],
        [
            *({"listed": isbn, "lent": None, "last_day": None} for isbn in unlent),
            {"listed": None, "lent": "978-9-99-999999-9", "last_day": "2024-03-09"},
        ],
    )
    expect(
        "books without a place",
        get(f"{desk}/unplaced")[1],
        {"rows": [{"isbn": "978-0-00-000004-8", "mark": None, "is_placed": False}]},
    )
    expect(
        "readers, those without a loan too",
        get(f"{desk}/readers")[1]["rows"],
        [
            {"name": "Sam de Wit", "loans": 3, "latest": "2024-03-04"},
            {"name": "Ida Quist", "loans": 2, "latest": "2024-03-01"},
            {"name": "Łucja Żak", "loans": 2, "latest": "2024-03-02"},
            {"name": "Bo", "loans": 0, "latest": None},
        ],
    )
    key = {"isbn": "978-0-00-000003-1", "member": ids["Sam de Wit"], "taken": "2023-12-03"}
    expect(
        "one loan by the three parts of its key",
        post(f"{desk}/loan", key)[1],
        {"last_day": "2023-12-25", "days": 30, "is_late": True, "is_out": False},
    )
    expect("a loan of another day", post(f"{desk}/loan", {**key, "taken": "2023-12-04"})[0], 404)
    found = get(f"{desk}/member", email="LUCJA@EXAMPLE.org")[1]
    expect("a member by address, in any case", found["id"], ids["Łucja Żak"])
    expect(
        "a list of bare values",
        get(f"{desk}/emails", joined_since="2021-01-01")[1],
        ["bo@example.org", "LUCJA@example.org", "sam@example.org"],
    )


def check_refusals(catalogue: Any, desk: Any, book: Any) -> None:
    status, problem = post(f"{desk}/books", book)
    expect("a key that is taken", [status, problem["code"]], [409, "unique_violation"])
    status, problem = post(f"{desk}/books", {**book, "isbn": "x", "shelf": "high"})
    expect("a field of another type", [status, problem["errors"][0]["pointer"]], [422, "/shelf"])
    status, problem = post(f"{desk}/loans", {"isbn": "x", "taken": "2023-02-29"})
    pointers = sorted(error["pointer"] for error in problem["errors"])
    expect("a day that does not exist, a field that lacks", [status, pointers], [422, ["/member", "/taken"]])
    status, problem = get(f"{desk}/overdue", on="tomorrow")
    expect("a parameter that is not a date", [status, problem["code"]], [422, "invalid_request"])
    status, problem = get(f"{catalogue}/book", isbn="nowhere")
    expect("no such book", [status, problem["code"]], [404, "row_not_found"])
    expect("what was refused is not stored", get(f"{catalogue}/count", branch="harbour")[1], {"count": 3})


def titles(answer: Any):
    return [row["title"] for row in answer["rows"]]


def load(name: str):
    return json.loads((DATA / f"{name}.json").read_text("utf-8"))


def get(url: str, **parameters: Any):
    return ask(Request(f"{url}?{urlencode(parameters)}" if parameters else url))


def post(url: str, body: Any):
    return ask(Request(url, json.dumps(body).encode(), {"content-type": "application/json"}))


def ask(request: Any):
    """The status and the JSON of an answer, whatever its status is."""
    try:
        with urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except HTTPError as refused:
        return refused.code, json.load(refused)


def expect(what: str, got: Any, wanted: Any) -> None:
    # As JSON, because 1, 1.0 and true are equal in Python, and so are dicts with their keys in another order.
    got, wanted = json.dumps(got, ensure_ascii=False), json.dumps(wanted, ensure_ascii=False)
    if got != wanted:
        sys.exit(f"FAILED {what}\n  got    {got}\n  wanted {wanted}")
    print(f"ok {what}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python client.py ADDRESS ADDRESS    (cli service list main prints both: catalogue, then front-desk)")
    main(*sys.argv[1:])
