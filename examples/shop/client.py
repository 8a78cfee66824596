"""Fills the shop with the rows of data/, reads every route, and compares each answer with what it has to be.

    python client.py http://127.0.0.1:8000        (the address that `cli service run` or `cli service list` prints)

Run it against an empty database: it inserts its rows each time.
"""

import json
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
if len(sys.argv) != 2:
    sys.exit("usage: python client.py ADDRESS    (cli service list main prints it)")
ADDRESS = sys.argv[1].rstrip("/")


def request(method: str, path: str, body: Any = None, **parameters: Any):
    """Sends a request; answers the status and what the body says."""
    url = ADDRESS + path + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
    data = None if body is None else json.dumps(body).encode()
    sent = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(sent, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def check(what: str, found: Any, wanted: Any) -> None:
    """Prints one line for what is as it has to be, and ends the program for what is not."""
    if found != wanted:
        sys.exit(f"WRONG  {what}\n  wanted {wanted}\n  found  {found}")
    print(f"ok     {what}")


def get(path: str, **parameters: Any):
    return request("GET", path, **parameters)


def post(path: str, body: Any):
    return request("POST", path, body)


def lines(name: str):
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def fill_products() -> None:
    computed: dict[str, Any] = {}
    for row in lines("products.jsonl"):
        status, answer = post("/products", row)
        check(f"product {row['sku']} is stored", (status, answer.pop("sku")), (200, row["sku"]))
        computed[row["sku"]] = answer
    check(
        "products have their boxes, with Python's signs, and null where a part is null",
        computed,
        {
            "CUP-01": {"boxes": 3, "loose": 4, "is_low": False, "margin": 57.9},
            "CUP-02": {"boxes": 0, "loose": 9, "is_low": True, "margin": 57.2},
            "PEN-01": {"boxes": 0, "loose": 3, "is_low": True, "margin": 58.2},
            "PEN-02": {"boxes": 50, "loose": 0, "is_low": False, "margin": 75.0},
            "BAG-01": {"boxes": -1, "loose": 7, "is_low": True, "margin": None},
            "BAG-02": {"boxes": 2, "loose": 0, "is_low": None, "margin": 33.3},
            "MAP-01": {"boxes": 1, "loose": 1, "is_low": False, "margin": 50.0},
            "CLK-01": {"boxes": 0, "loose": 0, "is_low": True, "margin": 50.0},
        },
    )


def refuse_products() -> None:
    first = lines("products.jsonl")[0]
    status, problem = post("/products", first)
    check("a second product of one sku is refused", (status, "unique constraint" in problem["detail"]), (409, True))

    status, problem = post("/products", {**first, "sku": "X", "attributes": {"color": "red"}})
    check("attributes without a weight are refused", (status, "weight_g" in problem["detail"]), (422, True))
    status, problem = post("/products", {**first, "sku": "X", "attributes": {"weight_g": 1, "tags": ["a", 2]}})
    check("a tag is text", (status, [error["pointer"] for error in problem["errors"]]), (422, ["/attributes/tags/1"]))

    status, problem = post("/products", {**first, "sku": "X", "price": 0})
    check("a margin of a price of 0 cannot be computed", (status, "division by zero" in problem["detail"]), (400, True))
    check("and nothing was stored", get("/product", sku="X")[0], 404)


def fill_customers():
    ids: dict[str, Any] = {}
    for row in lines("customers.jsonl"):
        status, answer = post("/customers", row)
        check(f"{row['name']} is a customer", status, 200)
        ids[answer["email_lower"]] = answer["id"]
    names = ["ada", "bruno", "chloe", "dmitri"]
    check("addresses are trimmed and lower", [*ids], [f"{name}@example.org" for name in names])
    check("keys sort by time", sorted(ids.values()), [*ids.values()])
    return ids


def fill_orders(customers: Any):
    ids: list[Any] = []
    computed: list[Any] = []
    totals: list[Any] = []
    for row in lines("orders.jsonl"):
        sold, email = row.pop("lines"), row.pop("customer")
        status, answer = post("/orders", {**row, "customer_id": customers[email]})
        check(f"an order of {row['placed']} is stored", status, 200)
        ids.append(answer.pop("id"))
        computed.append(answer)
        for sku, quantity, unit_price, percent_off in sold:
            line = {"order_id": ids[-1], "sku": sku, "quantity": quantity, "unit_price": unit_price}
            status, answer = post("/order-lines", {**line, "percent_off": percent_off})
            check(f"{quantity} of {sku} are sold", status, 200)
            totals.append([answer["gross"], answer["discount"], answer["line_total"]])
    check(
        "days are those of UTC, wherever the customer is",
        computed,
        [
            {"status": "placed 2024-03-01, paid: True", "day": "2024-03-01", "is_open": False},
            {"status": "placed 2024-03-15, paid: True", "day": "2024-03-15", "is_open": True},
            {"status": "placed 2024-04-01, paid: True", "day": "2024-04-01", "is_open": True},
            {"status": "placed 2024-04-10, paid: False", "day": "2024-04-10", "is_open": False},
            {"status": "placed 2024-04-11, paid: True", "day": "2024-04-11", "is_open": False},
        ],
    )
    check(
        "lines have gross, discount and total",
        totals,
        [
            [38.0, 0.0, 38.0],
            [24 * 0.8, 1.92, 17.28],  # a float is a float: 19.200000000000003
            [49.0, 7.35, 41.65],
            [19.0, 2.85, 16.15],
            [43.5, 6.53, 36.97],  # 6.525 rounds as Python rounds it
            [21.9, 0.0, 21.9],
            [98.0, 0.0, 98.0],
            [80.0, 20.0, 60.0],
            [9.5, 0.0, 9.5],
        ],
    )
    return ids


def read_products() -> None:
    found = get("/products/find", text="cup")
    cups = [
        {"sku": "CUP-01", "title": "Coffee cup", "price": 9.5, "color": "red"},
        {"sku": "CUP-02", "title": "Espresso cup", "price": 7.25, "color": "blue"},
    ]
    check("products are found by a part of their title", found, (200, {"rows": cups}))
    cheap = get("/products/find", text="c", max_price="10", limit=1, offset=1)
    check("parameters of a URL have the type of the query's", cheap, (200, {"rows": [cups[1]]}))
    everything = post("/products/find", {})
    order = ["PEN-01", "CLK-01", "BAG-02", "BAG-01", "MAP-01", "CUP-01", "CUP-02", "PEN-02"]
    check("without parameters all are found, the dearest first", [row["sku"] for row in everything[1]["rows"]], order)
    check(
        "a page is part of it",
        post("/products/find", {"limit": 1, "offset": 3}),
        (200, {"rows": [{"sku": "BAG-01", "title": "Canvas bag", "price": 18.0, "color": None}]}),
    )
    check("a limit is a number", get("/products/find", limit="many")[0], 422)

    first = lines("products.jsonl")[0]
    computed = {"color": "red", "boxes": 3, "loose": 4, "is_low": False, "margin": 57.9}
    check("one product is one object", get("/product", sku="CUP-01"), (200, {**first, **computed}))
    check("a product that is not there", get("/product", sku="CUP-03")[0], 404)

    low = [
        {"sku": "BAG-01", "stock": -5, "boxes": -1, "loose": 7},
        {"sku": "CLK-01", "stock": 0, "boxes": 0, "loose": 0},
        {"sku": "PEN-01", "stock": 3, "boxes": 0, "loose": 3},
        {"sku": "CUP-02", "stock": 9, "boxes": 0, "loose": 9},
    ]
    check("what runs low, and not what has no limit", get("/products/reorder"), (200, {"rows": low}))
    colored = [
        {"sku": "CUP-01", "color": "red", "first_tag": "kitchen"},
        {"sku": "CUP-02", "color": "blue", "first_tag": "kitchen"},
        {"sku": "PEN-02", "color": "red", "first_tag": None},
    ]
    check("red and blue ones", get("/products/red-or-blue"), (200, {"rows": colored}))
    others = [
        {"sku": "CLK-01", "color": "white"},
        {"sku": "MAP-01", "color": "green"},
        {"sku": "PEN-01", "color": "black"},
    ]
    check("others, without those of unknown color", get("/products/other-colors"), (200, {"rows": others}))
    unsold = [
        {"sku": "BAG-01", "title": "Canvas bag"},
        {"sku": "CLK-01", "title": "Wall clock"},
        {"sku": "MAP-01", "title": "Map of the Alps"},
    ]
    check("what nobody has bought", get("/products/never-sold"), (200, {"rows": unsold}))


def read_orders(customers: Any, orders: Any) -> None:
    ada = {
        "id": customers["ada@example.org"],
        "name": "Ada",
        "email": " Ada@Example.org",
        "country": "GB",
        "email_lower": "ada@example.org",
    }
    check("a customer is found in any case", get("/customer", email="ADA@example.ORG"), (200, ada))
    check(
        "countries, each once, null last",
        get("/customers/countries"),
        (200, {"rows": [{"country": "GB"}, {"country": "IT"}, {"country": None}]}),
    )
    bruno = {
        "status": "placed 2024-03-15, paid: True",
        "is_open": True,
        "placed": "2024-03-15T21:45:00Z",
        "customer": "Bruno",
        "email": "bruno@example.org",
    }
    check("an order with its customer", get("/order", id=orders[1]), (200, bruno))
    check("an id that is none", get("/order", id="1")[0], 422)
    check(
        "what an order costs", post("/order/total", {"id": orders[2]}), (200, {"lines": 3, "pieces": 9, "total": 75.02})
    )
    check(
        "an order without lines costs null",
        post("/order/total", {"id": customers["ada@example.org"]}),
        (200, {"lines": 0, "pieces": None, "total": None}),
    )
    second = {"placed": "2024-04-01T04:30:00Z", "day": "2024-04-01", "coupon": "SPRING", "is_open": True}
    first = {"placed": "2024-03-01T09:30:00Z", "day": "2024-03-01", "coupon": None, "is_open": False}
    check(
        "orders of a customer, the newest first",
        post("/orders/of", {"email": "ada@example.org"}),
        (200, {"rows": [second, first]}),
    )
    since = {"email": "ada@example.org", "since": "2024-03-31T23:30:00-05:00"}
    check("orders since a moment, in any zone", post("/orders/of", since), (200, {"rows": [second]}))
    check(
        "other coupons, without orders that have none",
        get("/orders/coupons", coupon="SPRING"),
        (200, {"rows": [{"coupon": "FRIEND"}]}),
    )


def read_revenue() -> None:
    page = [
        {"sku": "PEN-01", "title": "Fountain pen", "revenue": 139.65, "pieces": 3, "lines": 2, "mean_quantity": 1.5},
        {"sku": "PEN-02", "title": "Pencil", "revenue": 77.28, "pieces": 124, "lines": 2, "mean_quantity": 62.0},
        {"sku": "CUP-01", "title": "Coffee cup", "revenue": 63.65, "pieces": 7, "lines": 3, "mean_quantity": 7 / 3},
    ]
    check("the three best sellers", get("/revenue/products"), (200, {"rows": page}))
    rest = [
        {"sku": "CUP-02", "title": "Espresso cup", "revenue": 36.97, "pieces": 6, "lines": 1, "mean_quantity": 6.0},
        {"sku": "BAG-02", "title": "Coffee bag, 1 kg", "revenue": 21.9, "pieces": 1, "lines": 1, "mean_quantity": 1.0},
    ]
    check("the next page", get("/revenue/products", offset=3), (200, {"rows": rest}))
    months = [
        {"month": "2024-03", "total": 96.93, "largest": 41.65},
        {"month": "2024-04", "total": 144.52, "largest": 60.0},
    ]
    check("revenue by month, of paid orders", get("/revenue/months"), (200, {"rows": months}))
    quote = {"quantity": 3, "unit_price": 9.99, "percent_off": 5}
    check("a quote is computed", post("/quote", quote), (200, {"line_total": 28.47}))
    check("and not stored", get("/revenue/products")[1]["rows"], page)


fill_products()
refuse_products()
customers = fill_customers()
orders = fill_orders(customers)
read_products()
read_orders(customers, orders)
read_revenue()
print("Every answer is as it has to be.")
