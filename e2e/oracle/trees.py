"""Random expressions: the text that an application or a notebook has, and their meaning in plain Python.

The meaning is that of docs/expressions.md: Python's, null if an operand is null, and three values of `&` and `|`.
"""

import operator
from datetime import date, datetime, timedelta, timezone
from uuid import UUID

KINDS = ("int", "float", "string", "bool", "timestamp", "date", "uuid", "json")
#: Columns of the tables `T` and `U` by kind. Those with a 2 may be null; `q` and `q2` have sums without rounding.
COLUMNS = {
    "int": ("k", "i", "i2"),
    "float": ("f", "f2", "q", "q2"),
    "string": ("s", "s2"),
    "bool": ("b", "b2"),
    "timestamp": ("t", "t2"),
    "date": ("d", "d2"),
    "uuid": ("u", "u2"),
    "json": ("j", "j2"),
}
TYPES = {"int": "Int", "float": "Float", "string": "String", "bool": "Bool", "timestamp": "Timestamp", "date": "Date"}
TYPES |= {"uuid": "UUID", "json": "Json"}
LEAST, MOST = -(2**63), 2**63 - 1


class Tree:
    """An expression: `text` in Python, `of(row)` its value in a row, a dict of rows by table."""

    def __init__(self, text, kind, of):
        self.text = text
        self.kind = kind
        self.of = of

    def __repr__(self):
        return self.text


def checked(value):
    """A value that a cell can hold. Raises OverflowError."""
    if type(value) is int and not LEAST <= value <= MOST:
        raise OverflowError("beyond 64 bits")
    if type(value) is float and not abs(value) <= 1.7976931348623157e308:
        raise OverflowError("not finite")
    if type(value) is complex:
        raise ValueError("complex")
    return value


def strict(kind, text, function, *operands):
    """A tree that is null if an operand is null. Operands that are no trees are constants."""

    def of(row):
        values = [operand.of(row) if isinstance(operand, Tree) else operand for operand in operands]
        return None if any(value is None for value in values) else checked(function(*values))

    shown = [operand.text if isinstance(operand, Tree) else literal(operand) for operand in operands]
    return Tree(text.format(*shown), kind, of)


def literal(value):
    """The text of a constant; the names of the generated files."""
    if isinstance(value, Parameter):
        return value.name
    return repr(value).replace("datetime.timezone.", "timezone.").replace("datetime.", "")


class Parameter:
    """A constant that a request of the route sends."""

    def __init__(self, name, value):
        self.name = name
        self.value = value


class Trees:
    """Random trees over the columns of tables. `parameters` collects the constants that are parameters."""

    def __init__(self, dice, tables):
        self.dice = dice
        self.tables = tables
        self.parameters = []

    def column(self, kind):
        table, name = self.dice.choice(self.tables), self.dice.choice(COLUMNS[kind])
        return Tree(f"{table}.{name}", kind, lambda row: None if row[table] is None else row[table][name])

    def quarters(self):
        """A column of Floats whose sums are exact: the rows of a group add in any order."""
        table, name = self.dice.choice(self.tables), self.dice.choice(("q", "q2"))
        return Tree(f"{table}.{name}", "float", lambda row: None if row[table] is None else row[table][name])

    def constant(self, kind):
        """A constant of a kind, sometimes as a parameter of the query."""
        value = random_value(self.dice, kind)
        if kind in ("int", "float", "string", "bool", "date") and self.dice.random() < 0.2:
            found = Parameter(f"p{len(self.parameters)}", value)
            self.parameters.append((found, kind))
            return Tree(found.name, kind, lambda row: value)
        return Tree(literal(value), kind, lambda row: value)

    def tree(self, kind, depth):
        """A random tree with a column in it."""
        if depth == 0 or self.dice.random() < 0.15:
            return self.column(kind)
        return getattr(self, f"_{kind}")(depth - 1)

    def join_condition(self):
        """A condition of columns only: PostgreSQL computes all conditions of joins."""
        kind = self.dice.choice(("int", "float", "string", "timestamp", "date", "uuid"))
        sign = self.dice.choice(("==", "!=", "<", "<=", ">", ">="))
        condition = strict("bool", "({} %s {})" % sign, SIGNS[sign], self.column(kind), self.column(kind))
        return self.dice.choice((both, either))(condition, self.column("bool")) if self.dice.random() < 0.5 else condition

    def _other(self, kind, depth):
        return self.constant(kind) if self.dice.random() < 0.4 else self.tree(kind, depth)

    def _number(self, depth):
        return self.tree(self.dice.choice(("int", "float")), depth)

    def _int(self, depth):
        dice = self.dice
        sign = dice.choice(("+", "-", "*", "//", "%"))
        return dice.choice(
            (
                lambda: strict("int", "({} %s {})" % sign, SIGNS[sign], self.tree("int", depth), self._other("int", depth)),
                lambda: strict("int", "({} %s {})" % sign, SIGNS[sign], self.tree("int", depth), self._other("int", depth)),
                lambda: strict("int", "(-{})", operator.neg, self.tree("int", depth)),
                lambda: strict("int", "abs({})", abs, self.tree("int", depth)),
                lambda: strict("int", "{}.len()", len, self.tree("string", depth)),
                lambda: strict("int", "{}.astype(db.Int)", int, self.tree(dice.choice(("float", "bool")), depth)),
                lambda: strict("int", "{}.year", lambda when: when.year, self.tree(dice.choice(("date", "timestamp")), depth)),
                lambda: strict("int", "{}.weekday()", lambda when: when.weekday(), self.tree("date", depth)),
                lambda: strict("int", "kept_int({})", lambda value: value, self.tree("int", depth)),
                lambda: strict("int", "{}.find({})", str.find, self.tree("string", depth), self.constant("string")),
            )
        )()

    def _float(self, depth):
        dice = self.dice
        sign = dice.choice(("+", "-", "*", "//", "%"))
        return dice.choice(
            (
                lambda: strict("float", "({} %s {})" % sign, SIGNS[sign], self.tree("float", depth), self._other("int", depth)),
                lambda: strict("float", "({} %s {})" % sign, SIGNS[sign], self.tree("int", depth), self._other("float", depth)),
                lambda: strict("float", "({} / {})", operator.truediv, self._number(depth), self._other("int", depth)),
                lambda: strict("float", "(-{})", operator.neg, self.tree("float", depth)),
                lambda: strict("float", "abs({})", abs, self.tree("float", depth)),
                lambda: strict("float", "round({}, 1)", lambda value: round(value, 1), self.tree("float", depth)),
                lambda: strict("float", "({} + 0.5)", lambda value: value + 0.5, self.tree("int", depth)),
                lambda: strict("float", "kept_float({})", lambda value: value, self.tree("float", depth)),
            )
        )()

    def _string(self, depth):
        dice = self.dice
        times = dice.choice((-1, 0, 2))
        castable = self.tree(dice.choice(("int", "float", "bool", "date", "uuid")), depth)
        return dice.choice(
            (
                lambda: strict("string", "({} + {})", operator.add, self.tree("string", depth), self._other("string", depth)),
                lambda: strict("string", "({} * %d)" % times, lambda text: text * times, self.tree("string", depth)),
                lambda: strict("string", "{}.upper()", str.upper, self.tree("string", depth)),
                lambda: strict("string", "{}.lower()", str.lower, self.tree("string", depth)),
                lambda: strict("string", "{}.strip()", str.strip, self.tree("string", depth)),
                lambda: strict("string", "{}.title()", str.title, self.tree("string", depth)),
                lambda: strict("string", "{}.slice(1, 3)", lambda text: text[1:3], self.tree("string", depth)),
                lambda: strict("string", "{}.replace('a', 'bb')", lambda text: text.replace("a", "bb"), self.tree("string", depth)),
                lambda: strict("string", "{}.astype(db.String)", as_text, castable),
                lambda: strict("string", "{}.isoformat()", as_text, self.tree("date", depth)),
                lambda: strict("string", "kept_text({})", lambda value: value, self.tree("string", depth)),
            )
        )()

    def _bool(self, depth):
        dice = self.dice
        kind = dice.choice(("int", "int", "float", "string", "timestamp", "date", "uuid", "bool"))
        sign = dice.choice(("==", "!=") if kind == "bool" else ("==", "!=", "<", "<=", ">", ">="))
        choices = [random_value(dice, kind) for _ in range(3)]
        listed = f"[{', '.join(map(literal, choices))}]"
        return dice.choice(
            (
                lambda: strict("bool", "({} %s {})" % sign, SIGNS[sign], self.tree(kind, depth), self._other(kind, depth)),
                lambda: strict("bool", "({} %s {})" % sign, SIGNS[sign], self.tree(kind, depth), self._other(kind, depth)),
                lambda: strict("bool", "({} < {})", operator.lt, self._number(depth), self._number(depth)),
                lambda: strict("bool", "({} == {})", operator.eq, self._number(depth), self._number(depth)),
                lambda: null_test("==", self.tree(dice.choice(KINDS), depth)),
                lambda: null_test("!=", self.tree(dice.choice(KINDS), depth)),
                lambda: both(self.tree("bool", depth), self.tree("bool", depth)),
                lambda: either(self.tree("bool", depth), self.tree("bool", depth)),
                lambda: strict("bool", "(~{})", operator.not_, self.tree("bool", depth)),
                lambda: strict("bool", "{}.isin(%s)" % listed, lambda value: value in choices, self.tree(kind, depth)),
                lambda: strict("bool", "{}.contains({})", operator.contains, self.tree("string", depth), self.constant("string")),
                lambda: strict("bool", "{}.startswith({})", str.startswith, self.tree("string", depth), self.constant("string")),
            )
        )()

    def _timestamp(self, depth):
        return self.column("timestamp")

    def _date(self, depth):
        days = self.dice.randint(-40, 40)
        return self.dice.choice(
            (
                lambda: self.column("date"),
                lambda: strict("date", "{}.date()", datetime.date, self.column("timestamp")),
                lambda: strict("date", "{}.add_days(%d)" % days, lambda day: day + timedelta(days), self.tree("date", depth)),
            )
        )()

    def _uuid(self, depth):
        return self.column("uuid")

    def _json(self, depth):
        return self.dice.choice(
            (
                lambda: self.column("json"),
                lambda: strict("json", "{}.a", lambda value: part(value, "a"), self.column("json")),
                lambda: strict("json", "{}['b'][0]", lambda value: part(part(value, "b"), 0), self.column("json")),
                lambda: strict("json", "{}.b[-1]", lambda value: part(part(value, "b"), -1), self.column("json")),
                lambda: strict("json", "{}.b[1:]", lambda value: tail_of(part(value, "b")), self.column("json")),
            )
        )()


SIGNS = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod},
    **{"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
}


def part(value, key):
    """The value of a key or the element of a list; null if there is none."""
    has = isinstance(value, dict) if isinstance(key, str) else isinstance(value, list)
    try:
        return value[key] if has else None
    except (KeyError, IndexError):
        return None


def tail_of(value):
    """The elements after the first one; null if it is no list."""
    return value[1:] if isinstance(value, list) else None


def null_test(sign, tree):
    return Tree(f"({tree.text} {sign} None)", "bool", lambda row: (tree.of(row) is None) == (sign == "=="))


def both(one, other):
    def of(row):
        values = (one.of(row), other.of(row))
        return False if False in values else None if None in values else True

    return Tree(f"({one.text} & {other.text})", "bool", of)


def either(one, other):
    def of(row):
        values = (one.of(row), other.of(row))
        return True if True in values else None if None in values else False

    return Tree(f"({one.text} | {other.text})", "bool", of)


def as_text(value):
    return value.isoformat() if isinstance(value, date) else str(value)


def random_value(dice, kind):
    """A value of a kind; few different ones, so that rows are equal and joins find some."""
    return dice.choice(VALUES[kind])


VALUES = {
    "int": (0, 1, -1, 2, 3, 7, -12, 100, 2**53 + 1, -(2**62), 5, 4, 1970),
    "float": (0.0, 1.0, -1.5, 2.5, 0.1, 0.25, 100.0, -7.75, 1e15, 3.0, 123456.789, 1e-7),
    "quarters": (0.0, 1.0, -1.5, 2.5, 0.25, 100.0, -7.75, 3.0),
    "string": ("", "a", "b", "ab", " a ", "A b", "Ä", "ß", "naïve text", "日本", "a%_b", "it's", "z\\n", "😀x"),
    "bool": (True, False),
    "timestamp": (
        datetime(2024, 2, 29, 23, 59, 59, 999999, timezone.utc),
        datetime(1970, 1, 1, tzinfo=timezone.utc),
        datetime(1969, 12, 31, 23, 59, 59, 500000, timezone.utc),
        datetime(2026, 7, 1, 12, 30, tzinfo=timezone.utc),
        datetime(1, 1, 2, tzinfo=timezone.utc),
    ),
    "date": (date(2024, 2, 29), date(1970, 1, 1), date(1969, 12, 31), date(2026, 7, 1), date(1900, 3, 1)),
    "uuid": (UUID(int=0), UUID(int=1), UUID(int=2**127), UUID("0198c0de-0000-7000-8000-00000000abcd")),
    "json": (
        {"a": 1, "b": [1, 2, 3]},
        {"a": None, "b": []},
        {"b": ["x"], "a": {"c": 1.5}},
        [],
        "text",
        7,
        True,
        {"a": "ü", "b": [None, {"x": 1}]},
    ),
}
