"""Keeps a ledger, then changes it: python3 client.py http://127.0.0.1:<port>

Run it in a copy of this folder, because it puts v2/app.py in the place of app.py, as a person edits a file. The command
that it applies the change with is `cli`, or what the variable CLI names.
"""

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

HERE = Path(__file__).parent
MOST, LEAST = 2**63 - 1, -(2**63)


def main(address: str) -> None:
    url = address + "/v1"
    accounts, entries = load("accounts"), load("entries")
    check_first_version(url, accounts, entries)
    check_refusals(url, entries[0])
    check_first_queries(url)
    change(url)
    check_second_version(url, accounts, entries)
    check_second_queries(url)


def check_first_version(url: str, accounts: Any, entries: Any) -> None:
    stored = [post(f"{url}/accounts", account) for account in accounts]
    expect("each account is stored", stored, [[200, account] for account in accounts])
    for entry in entries:
        row = first_version(entry)
        expect(f"entry {key_of(entry)} is what Python makes of it", post(f"{url}/entries", entry), [200, row])
        expect(f"entry {key_of(entry)} is stored so", get(f"{url}/entry", **key(entry)), [200, row])
    # The same, written out, lest both sides make the same mistake.
    rows = {key_of(entry): get(f"{url}/entry", **key(entry))[1] for entry in entries}
    stamps, most, least, odd = rows["2024/2"], rows["64/1"], rows["64/2"], rows["64/3"]
    expect("-250 // 100 rounds down", [stamps["euros"], stamps["rest"]], [-3, 50])
    expect("-199 between two", [rows["2024/3"]["share"], rows["2024/3"]["left_over"]], [-100, 1])
    expect("7 between -2", [rows["2024/6"]["share"], rows["2024/6"]["left_over"]], [-4, -1])
    expect("half to even", [rows[line]["about"] for line in ("2024/1", "2024/2", "2024/4", "2024/7")], [126.0, -2.0, 0.0, -4.0])
    expect("half to even in a tax", [stamps["tax"], rows["2024/4"]["tax"]], [-52, 10])
    expect("the most that an Int holds", [most["cents"], most["share"], most["euros"]], [MOST, MOST, 92233720368547758])
    expect("and the least", [least["cents"], least["share"], least["left_over"]], [LEAST, -1317624576693539402, 6])
    expect("a number that no double has", [odd["cents"], odd["net"], odd["share"]], [2**53 + 1, 2**53 + 1, -(2**53) - 1])
    expect("a Float beside it is one", odd["amount"], 90071992547409.94)
    floats = [rows[line]["foreign"] for line in ("2024/9", "64/4", "64/5", "-1/-9223372036854775808")]
    expect("Floats are exact", floats, [805980.0, 5e-324, -1.7976931348623157e308, -0.0])
    expect("what was computed four deep", rows["2024/9"]["note"], "paid out: large (666099)")


def check_refusals(url: str, entry: Any) -> None:
    status, problem = post(f"{url}/entries", entry)
    expect("an entry that is there", [status, problem["code"]], [409, "unique_violation"])
    expect("told by its key", '("2024", 1)' in problem["detail"] and "unique constraint" in problem["detail"], True)
    new = {**entry, "line": 99}
    for what, fields, wanted in [
        ("nobody to share with", {"people": 0}, ["share", "op.floordiv", "ZeroDivisionError"]),
        ("a share beyond 64 bits", {"cents": LEAST, "people": -1}, ["share", "op.floordiv", "OverflowError"]),
        ("a product beyond 64 bits", {"cents": MOST, "percent": 2}, ["tax", "op.mul", "OverflowError"]),
        ("no finite Float", {"cents": 10, "rate": 1.7976931348623157e308}, ["foreign", "op.mul", "OverflowError"]),
        ("no tax of a hundred less", {"percent": -100}, ["net", "udfs:net_of", "ZeroDivisionError"]),
        ("what a function refuses", {"cents": 66_600}, ["kept", "udfs:reserve", "ValueError"]),
    ]:
        status, problem = post(f"{url}/entries", {**new, **fields})
        meta = problem["meta"]
        expect(f"{what} is refused", [status, problem["code"]], [400, "function_failed"])
        expect(f"{what}: which column, function and error", [meta["column"], meta["function"], meta["type"]], wanted)
        expect(f"{what}: nothing was stored", get(f"{url}/entry", **key(new))[0], 404)
    for what, fields, pointers in [
        ("more than an Int", {"cents": MOST + 1}, ["/cents"]),
        ("half a cent", {"cents": 0.5}, ["/cents"]),
        ("an entry without a memo", {"memo": None}, ["/memo"]),
        ("half a percent, yet", {"percent": 0.5}, ["/percent"]),
    ]:
        status, problem = post(f"{url}/entries", {**new, **fields})
        expect(f"{what} is refused", [status, [error["pointer"] for error in problem["errors"]]], [422, pointers])


def check_first_queries(url: str) -> None:
    for day, bank, gifts in [
        ("2023-12-31", [None, 0], [None, 0]),
        ("2024-01-31", [12300, 2], [None, 0]),
        ("2024-02-29", [12151, 4], [None, 0]),
        ("2024-03-31", [12151, 4], [350, 1]),
        ("2024-05-31", [12151, 7], [1000349, 2]),
        ("2024-06-30", [12151, 7], [-7059451, 3]),
        ("9999-12-31", [12151, 7], [-7059451, 3]),
    ]:
        rows = get(f"{url}/balances", until=day)[1]["rows"]
        wanted = {"bank": bank, "gifts": gifts, "unused": [None, 0]}
        got = {row["code"]: [row["balance"], row["entries"]] for row in rows if row["code"] != "limits"}
        expect(f"balances on {day}", got, wanted)
    status, problem = get(f"{url}/balances", until="2024-07-01")
    expect("a balance beyond 64 bits, on that day alone", [status, problem["code"]], [400, "function_failed"])
    months = [
        [2024, 1, 12300, -250, 12550, "2024-01-31"],
        [2024, 2, -149, -199, 50, "2024-02-29"],
        [2024, 4, 0, -7, 7, "2024-04-01"],
        [2024, 5, 0, 0, 0, "2024-05-05"],
    ]
    got = get(f"{url}/months", account="bank")[1]["rows"]
    expect("month by month", [list(row.values()) for row in got], months)
    expect("a sum of extremes is exact", get(f"{url}/total", journal="64"), [200, {"total": 2**53}])
    expect("no entries, no sum", get(f"{url}/total", journal="nowhere"), [200, {"total": None}])
    worse = [{"cents": -999999, "each": -500000, "rest": 1}, {"cents": -199, "each": -100, "rest": 1}]
    expect("// and % in a query", get(f"{url}/overspent")[1], {"rows": worse})
    status, problem = get(f"{url}/overspent", people=0)
    wanted = [400, "function_failed", "ZeroDivisionError"]
    expect("division by zero in a query", [status, problem["code"], problem["meta"]["type"]], wanted)
    split = post(f"{url}/split", {"cents": -7, "people": 2})
    expect("a share that is not stored", split, [200, {"share": -4, "left_over": 1}])
    expect("of nobody", post(f"{url}/split", {"cents": -7, "people": 0})[1]["meta"]["type"], "ZeroDivisionError")
    expect("a tax that is not stored", post(f"{url}/tax", {"cents": 250, "percent": 1}), [200, {"tax": 2, "net": 248}])


def change(url: str) -> None:
    """The file changes, then the tables, then the service."""
    (HERE / "app.py").write_text((HERE / "v2" / "app.py").read_text("utf-8"), "utf-8")
    plan = run(2, "schema", "diff", "app.py", "main")
    for said in [
        "the table will be renamed from 'entries'",
        "column 'text' will be renamed from 'memo'",
        "column 'text': null will be allowed",
        "column 'percent': its type will change from Int to Float",
        "computed column 'quarter' will be added",
        "column 'tax': its expression will change",
        'journal = "2024", line = 2: -52 -> -53',
        "index 'by_account' on (account, booked) will be built",
        "main: 0 to create, 2 to update, 0 unchanged",
    ]:
        expect(f"the plan says: {said}", said in plan, True)
    expect("nothing in it destroys data", "DESTRUCTIVE" in plan, False)
    run(0, "schema", "update", "app.py", "main", "-f")
    run(0, "schema", "diff", "app.py", "main")
    status, problem = get(f"{url}/total", journal="2024")
    expect("the service of before says so", [status, problem["code"]], [409, "schema_changed"])
    # Callers who send `memo` will be refused: that is a change to be confirmed.
    run(3, "service", "update", "app.py", "main", "-f")
    run(0, "service", "update", "app.py", "main", "-f", "--allow-destructive")


def check_second_version(url: str, accounts: Any, entries: Any) -> None:
    for entry in entries:
        row = second_version(entry)
        expect(f"entry {key_of(entry)} was kept and computed again", get(f"{url}/entry", **key(entry)), [200, row])
    rows = {key_of(entry): get(f"{url}/entry", **key(entry))[1] for entry in entries}
    expect("the tax by the new rule", [rows[line]["tax"] for line in ("2024/2", "2024/4", "64/1")], [-53, 10, 0])
    expect("what reads a changed column", rows["2024/2"]["after_tax"], -197)
    expect("an Int that became a Float", rows["2024/2"]["percent"], 21.0)
    expect("a class with a new limit", [rows["2024/1"]["size"], rows["2024/1"]["note"]], ["large", "opening: large (1255)"])
    new = {"journal": "2025", "line": 1, "account": "bank", "cents": 1000, "booked": "2025-10-01", "percent": 2.5}
    expect("a new entry, its text left out", post(f"{url}/entries", new), [200, second_version({**new, "memo": None})])
    status, problem = post(f"{url}/entries", {**new, "line": 2, "memo": "x"})
    expect("the old name is refused", [status, problem["errors"][0]["pointer"]], [422, "/memo"])
    status, problem = post(f"{url}/entries", {**new, "account": "gifts"})
    expect("keys are kept", [status, problem["meta"]["table"]], [409, "postings"])
    account = {"code": "bank", "name": "Bank", "sign": 1, "opened": "2023-01-01", "iban": None}
    expect("a key of the other table", post(f"{url}/accounts", account)[0], 409)
    new_account = {**account, "code": "cash", "iban": "BE00"}
    expect("a column that is new", post(f"{url}/accounts", new_account), [200, new_account])


def check_second_queries(url: str) -> None:
    rows = get(f"{url}/balances", until="9999-12-31")[1]["rows"]
    wanted = [["bank", 13151, 8], ["cash", None, 0], ["gifts", -7059451, 3], ["limits", 2**53, 5], ["unused", None, 0]]
    expect("balances", [list(row.values()) for row in rows], wanted)
    quarters = [["2024-Q1", 12206], ["2024-Q2", 0], ["2025-Q4", 975]]
    rows = get(f"{url}/quarters", account="bank")[1]["rows"]
    expect("quarters", [list(row.values()) for row in rows], quarters)
    expect("a percentage that is not a whole number", post(f"{url}/tax", {"cents": 250, "percent": 0.5})[1], {"tax": 1, "net": 249})


def first_version(entry: Any):
    """What Python gives for an entry, in the order of the columns."""
    cents, percent, people, rate = entry["cents"], entry["percent"], entry.get("people"), entry.get("rate")
    net = round(Fraction(cents) * 100 / (100 + Fraction(percent)))
    kept = max(net, 0) // 10
    size = "none" if kept == 0 else "small" if kept < 1000 else "large"
    return {
        **{name: entry[name] for name in ("journal", "line", "account", "cents", "memo", "booked", "percent")},
        "people": people,
        "rate": rate,
        "euros": cents // 100,
        "rest": cents % 100,
        "amount": cents / 100,
        "about": round(cents / 100, 0),
        "share": None if people is None else cents // people,
        "left_over": None if people is None else cents % people,
        "tax": round(cents * percent / 100),
        "foreign": None if rate is None else cents * rate,
        "shown": f"{cents / 100:+.2f} {entry['memo']}",
        "net": net,
        "kept": kept,
        "size": size,
        "note": f"{entry['memo'] or '-'}: {size} ({kept})",
    }


def second_version(entry: Any):
    old: dict[str, Any] = first_version(entry)
    cents, percent, kept = entry["cents"], float(entry["percent"]), old["kept"]
    tax = int(cents * percent // 100)
    size = "none" if kept == 0 else "small" if kept < 500 else "large"
    changed = {"percent": percent, "tax": tax, "size": size, "note": f"{entry['memo'] or '-'}: {size} ({kept})"}
    new: dict[str, Any] = {}
    for name, value in old.items():
        new["text" if name == "memo" else name] = changed.get(name, value)
        if name == "about":
            year, month = int(entry["booked"][:4]), int(entry["booked"][5:7])
            new["quarter"] = f"{year}-Q{(month + 2) // 3}"
        if name == "tax":
            new["after_tax"] = cents - tax
    return new


def key(entry: Any):
    return {"journal": entry["journal"], "line": entry["line"]}


def key_of(entry: Any):
    return f"{entry['journal']}/{entry['line']}"


def run(status: int, *arguments: Any):
    """Runs the command as a person does; it must end with this status."""
    done = subprocess.run([os.environ.get("CLI", "cli"), *arguments], cwd=HERE, capture_output=True, text=True, timeout=120)
    shown = f"cli {' '.join(arguments)}"
    if done.returncode != status:
        sys.exit(f"FAILED {shown}\n  ended with {done.returncode}, wanted {status}\n{done.stdout}{done.stderr}")
    print(f"ok {shown} ends with {status}")
    return done.stdout


def load(name: str):
    return json.loads((HERE / "data" / f"{name}.json").read_text("utf-8"))


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
