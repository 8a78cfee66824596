"""Stores the surveys of data/ and checks every answer: python3 client.py http://127.0.0.1:<port>"""

import json
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

DATA = Path(__file__).parent / "data"


def main(address: str) -> None:
    url = address + "/v1"
    responses = load("responses")
    check_surveys(url, load("surveys"))
    ids = check_responses(url, responses)
    check_parts(url, responses)
    check_queries(url, responses, ids)
    check_refusals(url)


def check_surveys(url: str, surveys: Any) -> None:
    stored = [post(f"{url}/surveys", survey) for survey in surveys]
    expect("each survey is stored", [status for status, _ in stored], [200, 200])
    expect(
        "a survey comes with what is computed from it",
        stored[0][1],
        {
            **surveys[0],
            "address": "the-bus-line-7-2024",
            "question_count": 3,
            "first": "On time?",
            "last": "Friendly?",
            "middle": ["Clean?"],
            "is_open": True,
            "setting_names": ["OPEN", "LANG", "LIMITS"],
            "about_title": "a text of 22",
            "about_count": "the number 3",
            "about_open": "yes",
        },
    )
    expect("a function sees the keys as they were sent", stored[1][1]["setting_names"], ["LANG", "LIMITS", "OPEN"])
    expect("the first is the last of one", [stored[1][1][name] for name in ("first", "last")], ["Green enough?"] * 2)
    expect("and between them is nothing", stored[1][1]["middle"], [])


def check_responses(url: str, responses: Any):
    stored = [post(f"{url}/responses", response)[1] for response in responses]
    ids = [row.pop("id") for row in stored]
    zoe = responses[0]
    expect(
        "a response with everything, the columns in declared order",
        stored[0],
        {
            **zoe,
            "title": "The Bus, Line 7 (2024)",
            "stars": [3, 5, 5],
            "city": "Gent",
            "street": "Kade 1",
            "second_note": "very",
            "size": "M",
            "phone": None,
            "asked": 3,
            "total": 13.0,
            "average": 13 / 3,
            "best": 5.0,
            "worst": 3.0,
            "fives": 2,
            "speaks_dutch": True,
            "fields": ["name", "city", "age", "langs", "address", "nested", "len"],
            "is_blank": False,
            "all_langs": ["nl", "fr", ["de"]],
            "profile": {**zoe["person"], "survey": "bus", "consent": True},
            "text": json.dumps(zoe["person"]),
            "notes": ["very", "mostly"],
            "ranked": ["Clean?", "Friendly?", "On time?"],
            "cards": [{"q": answer["question"], "ok": True, "of": 5} for answer in zoe["answers"]],
            "low": [],
            "langs": ["de", "fr", "nl"],
            "age": 34,
            "age_text": "34",
            "age_exact": 34.0,
            "in_ten_years": 44,
            "older": 44.0,
            "card": {
                "survey": "bus",
                "average": 13 / 3,
                "by": {"city": "Gent", "age": 34},
                "tags": ["answer", "bus", None],
            },
            "pair": ["bus", 3],
            "version": 2,
            "school_grade": "good",
            "stars_grade": "**",
            "agrees": True,
            "loud": True,
            "greeting": "Guten Tag, Gent!",
            "cry": "BUS!BUS!",
        },
    )
    young, old, blank, park = stored[1:]
    expect("a part that is not there is null", [young["street"], old["second_note"], blank["best"]], [None] * 3)
    expect("get() gives its default where the key lacks", blank["city"], "unknown")
    expect("and null where the key is there with null", young["city"], None)
    expect("a key that is not a name", young["phone"], "0123")
    expect("sorting is stable", young["ranked"], ["Clean?", "On time?"])
    expect("filter and map in a row", young["low"], ["On time?", "Clean?"])
    expect("notes that are not null", [young["notes"], old["notes"], park["notes"]], [["never"], ["ça va"], []])
    expect("what is not a list has no elements and no language", [young["langs"], young["speaks_dutch"]], [None, None])
    expect("an empty list has no language either", [park["langs"], park["speaks_dutch"]], [[], False])
    expect("71.0 is 71 as an Int, a Float stays one", [old["age"], old["age_text"], old["age_exact"], old["older"]], [71, "71", 71.0, 81.0])
    expect("numbers of nothing", [blank[name] for name in ("asked", "total", "average", "fives")], [0, 0.0, None, 0])
    expect("nobody's age", [blank[name] for name in ("age", "age_text", "in_ten_years", "older")], [None] * 4)
    expect("is there anything in it", [row["is_blank"] for row in stored], [False, False, False, True, False])
    expect("a function that takes None is called", blank["school_grade"], "none")
    expect("grades", [row["school_grade"] for row in stored], ["good", "fail", "good", "none", "good"])
    expect("stars", [row["stars_grade"] for row in stored], ["**", "-", "**", "none", "***"])
    expect("a Bool is compared with True", [row["agrees"] for row in stored], [True, False, True, False, True])
    expect("false and null is false", [row["loud"] for row in stored], [True, False, False, False, True])
    expect("greetings", [row["greeting"] for row in stored][1:3], ["Hello, nobody!", "Hello, Gent!"])
    return ids


def check_parts(url: str, responses: Any) -> None:
    """Values whose keys and numbers must come back as they were sent."""
    old = responses[2]["person"]
    profile = post(f"{url}/profiles", {"city": "Gent"})[1]["rows"][1]["profile"]
    expect("keys in the order of the sender", list(profile), ["city", "langs", "age", "b", "a", "survey", "consent"])
    expect("in values inside of values too", json.dumps(profile["a"]), json.dumps(old["a"]))
    expect("71.0 is no 71", json.dumps(profile["age"]), "71.0")
    preview = post(f"{url}/preview", {"answers": [{"question": "Nice?", "stars": 2, "note": None}]})
    expect(
        "a preview computes and stores nothing",
        preview,
        (
            200,
            {
                "average": 2.0,
                "ranked": ["Nice?"],
                "cards": [{"q": "Nice?", "ok": False, "of": 5}],
                "school_grade": "fail",
            },
        ),
    )


def check_queries(url: str, responses: Any, ids: Any) -> None:
    expect("ids sort by time", ids, sorted(set(ids)))
    expect(
        "who agreed, the best average first",
        get(f"{url}/agreed", survey="bus")[1],
        {"rows": [{"city": "Gent", "average": 13 / 3, "loud": True}, {"city": "Gent", "average": 4.0, "loud": False}]},
    )
    expect(
        "a summary of each survey; aggregates leave nulls out",
        get(f"{url}/summary")[1]["rows"],
        [
            {
                "survey": "bus",
                "responses": 3,
                "ages": 3,
                "average": (13 / 3 + 1.5 + 4) / 3,
                "youngest": 17,
                "last_city": "Gent",
                "cities": ["Gent", "Gent"],
            },
            {
                "survey": "park",
                "responses": 2,
                "ages": 1,
                "average": 5.0,
                "youngest": 18,
                "last_city": "unknown",
                "cities": ["unknown", "Brugge"],
            },
        ],
    )
    expect(
        "groups of two columns, null a group of its own, lists of lists",
        [list(row.values()) for row in get(f"{url}/by-consent")[1]["rows"]],
        [
            [False, "paper", 1, [[]]],
            [False, "web", 1, [[1, 2]]],
            [True, "paper", 1, [[5]]],
            [True, "web", 1, [[3, 5, 5]]],
            [True, None, 1, [[4]]],
        ],
    )
    rows = post(f"{url}/profiles", {"city": "Gent"})[1]["rows"]
    expect("Json results", [row["person"] for row in rows], [responses[0]["person"], responses[2]["person"]])
    expect("a wildcard path in a query", rows[0]["questions"], ["On time?", "Clean?", "Friendly?"])
    expect("an element in a query", rows[1]["first"], responses[2]["answers"][0])
    expect("a bare list of numbers", get(f"{url}/averages", survey="bus")[1], [1.5, 4.0, 13 / 3])
    expect("with a parameter that has a default", get(f"{url}/averages", survey="bus", least=4)[1], [4.0, 13 / 3])
    expect(
        "a bare list of objects",
        post(f"{url}/cards", {"survey": "park"})[1],
        [
            {"survey": "park", "average": None, "by": {"city": "unknown", "age": None}, "tags": ["answer", "park", None]},
            {"survey": "park", "average": 5.0, "by": {"city": "Brugge", "age": 18}, "tags": ["answer", "park", None]},
        ],
    )
    grown_up = get(f"{url}/by-age", grown_up="true")[1]["rows"]
    expect("sorted by a part of a value", grown_up, [{"age": age, "ok": True} for age in (18, 34, 71.0)])
    expect("a Bool parameter", get(f"{url}/by-age", grown_up="false")[1]["rows"], [{"age": 17, "ok": False}])


def check_refusals(url: str) -> None:
    response: dict[str, Any] = {"survey": "x", "person": {}, "consent": True}
    answer = {"question": "?", "stars": 1, "note": None}
    wrong = [
        ("a text for a number", {**answer, "stars": "1"}, "/answers/0/stars"),
        ("true for a number", {**answer, "stars": True}, "/answers/0/stars"),
        ("a key that lacks", {"question": "?", "note": None}, "/answers/0"),
        ("null where none may be", {**answer, "question": None}, "/answers/0/question"),
    ]
    for what, value, pointer in wrong:
        status, problem = post(f"{url}/responses", {**response, "answers": [value]})
        expect(f"{what} is refused", [status, [error["pointer"] for error in problem["errors"]]], [422, [pointer]])
    status, problem = post(f"{url}/surveys", {"code": "x", "title": "x", "settings": {"lang": "x"}, "questions": []})
    missing = [{"pointer": "/settings", "detail": 'The keys "open" and "limits" are missing.'}]
    expect("a key that a dict form wants", [status, problem["errors"]], [422, missing])
    stored = post(f"{url}/responses", {**response, "answers": []})[1]
    expect("a survey that nobody knows has no title", [stored["title"], stored["survey"]], [None, "x"])
    rows = get(f"{url}/summary")[1]["rows"]
    expect("what was refused is not stored", [row["responses"] for row in rows], [3, 2, 1])


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
    if len(sys.argv) != 2:
        sys.exit("usage: python client.py ADDRESS    (cli service list main prints it)")
    main(*sys.argv[1:])
