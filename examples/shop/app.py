"""The back office of a small web shop: products, customers, orders, and what the owner wants to know each morning.

No function of ours is needed. `cli query explain app.py main to_reorder` says what of a query PostgreSQL computes; the
little that it would compute otherwise than Python, such as rounding to two digits, is computed in Python.

    cli schema update app.py main
    cli service run app.py main
"""

from datetime import datetime
from uuid import UUID

import appdb as db
import appdb.functions as fn
from appdb.serving import Router

Base = db.model_base()

# What the attributes of a product have to look like. A request that sends others is refused, and told where.
ATTRIBUTES = {
    "type": "object",
    "properties": {
        "color": {"type": "string"},
        "weight_g": {"type": "integer", "minimum": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["weight_g"],
    "additionalProperties": False,
}


class Products(Base, name="products"):
    """What the shop sells. The key is the shop's own article number, so a request sends it."""

    sku = db.Column(type=db.String, primary_key=True)
    title = db.Column(type=db.String)
    price = db.Column(type=db.Float)
    cost = db.Column(type=db.Float | None)
    stock = db.Column(type=db.Int)  # below zero: sold, but not yet delivered to us
    reorder_at = db.Column(type=db.Int | None)
    attributes = db.Column(type=db.Json.schema(ATTRIBUTES))

    # A step into Json is Json; astype makes it a column that can be sorted and compared as text.
    color = attributes.color.astype(db.String)
    # Products leave the warehouse in boxes of 12. // and % have Python's signs: -5 is one box owed and 7 to spare.
    boxes = stock // 12
    loose = stock % 12
    # Null where one side is null: a product without a limit is neither low nor well stocked.
    is_low = stock <= reorder_at
    margin = round((price - cost) / price * 100, 1)

    __indexes__ = [db.BtreeIndex(price), db.BtreeIndex(title)]


class Customers(Base, name="customers"):
    # Made when a row is inserted. Keys of this kind sort by time.
    id = db.Column(value=fn.uuid7(), primary_key=True)
    name: db.String
    email = db.Column(type=db.String)
    country: db.String | None
    # People write their address in any case; we look it up in one.
    email_lower = fn.strip(email).lower()

    __indexes__ = [db.BtreeIndex(email_lower)]


class Orders(Base, name="orders"):
    id = db.Column(value=fn.uuid7(), primary_key=True)
    # The id of another table's row is a plain UUID column; queries join on it.
    customer_id = db.Column(type=db.UUID)
    placed = db.Column(type=db.Timestamp)
    paid = db.Column(type=db.Bool)
    shipped = db.Column(type=db.Timestamp | None)
    coupon: db.String | None

    day = placed.date()
    month = placed.strftime("%Y-%m")
    is_open = paid & (shipped == None)  # noqa: E711
    status = fn.format("placed {0}, paid: {1}", day, paid)

    __indexes__ = [db.BtreeIndex(customer_id), db.BtreeIndex(placed)]


class OrderLines(Base, name="order_lines"):
    id = db.Column(value=fn.uuid7(), primary_key=True)
    order_id = db.Column(type=db.UUID)
    sku = db.Column(type=db.String)
    quantity = db.Column(type=db.Int)
    unit_price = db.Column(type=db.Float)
    percent_off = db.Column(type=db.Int)

    # Computed columns chain: each reads what the one above has stored.
    gross = quantity * unit_price
    discount = round(gross * percent_off / 100, 2)
    line_total = round(gross - discount, 2)

    __indexes__ = [db.BtreeIndex(order_id), db.BtreeIndex(sku)]


@db.query
def product(sku: str):
    return Products.where(Products.sku == sku)


@db.query
def find_products(text: str = "", max_price: float | None = None, limit: int = 20, offset: int = 0):
    """Products with a text in their title. A parameter that is left out narrows nothing."""
    return (
        Products.where((text == "") | Products.title.contains(text, case=False))
        .where((max_price == None) | (Products.price <= max_price))  # noqa: E711
        .order_by(Products.price, asc=False)
        .order_by(Products.sku)
        .limit(limit, offset=offset)
        .select(Products.sku, Products.title, Products.price, Products.color)
    )


@db.query
def to_reorder():
    """What runs low. Rows for which the condition is null are left out, as everywhere."""
    return (
        Products.where(Products.is_low)
        .order_by(Products.stock)
        .select(Products.sku, Products.stock, Products.boxes, Products.loose)
    )


@db.query
def in_colors():
    """Red and blue ones. A product of unknown color is in neither list."""
    return (
        Products.where(Products.color.isin(["red", "blue"]))
        .order_by(Products.sku)
        .select(Products.sku, Products.color, first_tag=Products.attributes.tags[0])
    )


@db.query
def in_other_colors():
    return (
        Products.where(~Products.color.isin(["red", "blue"]))
        .order_by(Products.sku)
        .select(Products.sku, Products.color)
    )


@db.query
def customer(email: str):
    return Customers.where(Customers.email_lower == fn.lower(email))


@db.query
def order(id: UUID):
    """One order with its customer."""
    return (
        Orders.join(Customers, on=Orders.customer_id == Customers.id)
        .where(Orders.id == id)
        .select(Orders.status, Orders.is_open, Orders.placed, customer=Customers.name, email=Customers.email_lower)
    )


@db.query
def order_total(id: UUID):
    """Without group_by all rows are one group: the answer is one row, whatever the order holds."""
    return OrderLines.where(OrderLines.order_id == id).select(
        lines=fn.count(), pieces=fn.sum(OrderLines.quantity), total=fn.sum(OrderLines.line_total)
    )


@db.query
def orders_of(email: str, since: datetime | None = None):
    return (
        Customers.join(Orders, on=Customers.id == Orders.customer_id)
        .where(Customers.email_lower == email)
        .where((since == None) | (Orders.placed >= since))  # noqa: E711
        .order_by(Orders.placed, asc=False)
        .select(Orders.placed, Orders.day, Orders.coupon, Orders.is_open)
    )


@db.query
def revenue_by_product(limit: int = 3, offset: int = 0):
    """Best sellers: an order by an aggregate, and values of both tables."""
    return (
        OrderLines.join(Products, on=OrderLines.sku == Products.sku)
        .group_by(Products.sku, Products.title)
        .select(
            Products.sku,
            Products.title,
            revenue=round(fn.sum(OrderLines.line_total), 2),
            pieces=fn.sum(OrderLines.quantity),
            lines=fn.count(),
            mean_quantity=fn.mean(OrderLines.quantity),
        )
        .order_by(fn.sum(OrderLines.line_total), asc=False)
        .order_by(Products.sku)
        .limit(limit, offset=offset)
    )


@db.query
def revenue_by_month():
    return (
        Orders.join(OrderLines, on=Orders.id == OrderLines.order_id)
        .where(Orders.paid)
        .group_by(Orders.month)
        .select(Orders.month, total=round(fn.sum(OrderLines.line_total), 2), largest=fn.max(OrderLines.line_total))
        .order_by(Orders.month)
    )


@db.query
def never_sold():
    """A left join keeps products without a line; their columns of the other table are null."""
    return (
        Products.join(OrderLines, on=Products.sku == OrderLines.sku, how="left")
        .where(OrderLines.sku == None)  # noqa: E711
        .order_by(Products.sku)
        .select(Products.sku, Products.title)
    )


@db.query
def coupons_other_than(coupon: str):
    """Three-valued logic: of an order without a coupon nobody can say that its coupon is another one."""
    return Orders.where(Orders.coupon != coupon).order_by(Orders.coupon).select(Orders.coupon).distinct()


@db.query
def countries():
    return Customers.select(Customers.country).distinct().order_by(Customers.country)


office = Router()

office.add_insert_route(
    Products, path="/products", outputs=[Products.sku, Products.boxes, Products.loose, Products.is_low, Products.margin]
)
office.add_insert_route(
    Customers,
    path="/customers",
    inputs=[Customers.name, Customers.email, Customers.country],
    outputs=[Customers.id, Customers.email_lower],
)
office.add_insert_route(Orders, path="/orders", outputs=[Orders.id, Orders.status, Orders.day, Orders.is_open])
office.add_insert_route(
    OrderLines, path="/order-lines", outputs=[OrderLines.gross, OrderLines.discount, OrderLines.line_total]
)

# What would a line cost? Computed as for a row, and not stored; only what the output is made of is asked for.
office.add_compute_route(
    OrderLines,
    path="/quote",
    inputs=[OrderLines.quantity, OrderLines.unit_price, OrderLines.percent_off],
    outputs=[OrderLines.line_total],
)

# The same query under both methods: parameters in the URL, or in a body.
office.add_query_route(path="/products/find", query=find_products, method="get")
office.add_query_route(path="/products/find", query=find_products)
office.add_query_route(path="/product", query=product, method="get", one_row=True)
office.add_query_route(path="/products/reorder", query=to_reorder, method="get")
office.add_query_route(path="/products/red-or-blue", query=in_colors, method="get")
office.add_query_route(path="/products/other-colors", query=in_other_colors, method="get")
office.add_query_route(path="/products/never-sold", query=never_sold, method="get")
office.add_query_route(path="/customer", query=customer, method="get", one_row=True)
office.add_query_route(path="/customers/countries", query=countries, method="get")
office.add_query_route(path="/order", query=order, method="get", one_row=True)
office.add_query_route(path="/order/total", query=order_total, one_row=True)
office.add_query_route(path="/orders/of", query=orders_of)
office.add_query_route(path="/orders/coupons", query=coupons_other_than, method="get")
office.add_query_route(path="/revenue/products", query=revenue_by_product, method="get")
office.add_query_route(path="/revenue/months", query=revenue_by_month, method="get")
