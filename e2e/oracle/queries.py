"""Random queries: their text, and their rows by loops of plain Python, as docs/queries.md describes them."""

from trees import COLUMNS, KINDS, Tree, Trees, checked, random_value

#: Kinds that sort, group and have no two equal values that look different.
SORTED = ("int", "string", "bool", "timestamp", "date", "uuid")
HOW = ("inner", "left", "right", "full", "cross")


class Undefined(Exception):
    """A row raises. Whether a query reads this row depends on how it runs, so it fails or has rows."""


class RandomQuery:
    """A query: `text`, `parameters`, the kinds of its values by name, and `rows(tables)`."""

    def __init__(self, dice, number):
        self.dice = dice
        self.name = f"q{number}"
        self.tables = ["T", "U"] if dice.random() < 0.25 else [dice.choice(("T", "U"))]
        self.trees = Trees(dice, self.tables)
        self.calls = []
        self.steps = []
        self.kinds = {}
        self._join()
        for _ in range(dice.choice((0, 1, 1, 2))):
            self._where()
        kind = dice.choice(("rows", "rows", "rows", "windows", "groups", "groups", "distinct", "total"))
        getattr(self, f"_{kind}")()
        self.text = self.tables[0] + "".join(self.calls)
        self.parameters = [(parameter.name, kind, parameter.value) for parameter, kind in self.trees.parameters]

    def rows(self, tables):
        """The rows of the result, as lists of values. Raises Undefined."""
        rows = [{self.tables[0]: row} for row in tables[self.tables[0]]]
        self.stored = tables
        try:
            for step in self.steps:
                rows = step(rows)
        except (ArithmeticError, ValueError, TypeError) as error:
            raise Undefined(f"{type(error).__name__}: {error}") from error
        return [list(row) for row in rows]

    def _join(self):
        if len(self.tables) == 1:
            return
        how = self.dice.choice(HOW)
        kind = self.dice.choice(("int", "string", "date", "uuid"))
        column = self.dice.choice(COLUMNS[kind])
        same = Tree(f"T.{column} == U.{column}", "bool", lambda row: equal(row["T"][column], row["U"][column]))
        on = self.dice.choice((same, same, Tree(f"T.{column}", "bool", same.of), self.trees.join_condition()))
        self.calls.append(".join(U, how='cross')" if how == "cross" else f".join(U, on={on.text}, how='{how}')")

        def joined(rows):
            found, used = [], set()
            for row in rows:
                matches = [
                    at for at, other in enumerate(self.stored["U"]) if how == "cross" or on.of({**row, "U": other}) is True
                ]
                used.update(matches)
                found += [{**row, "U": self.stored["U"][at]} for at in matches]
                if not matches and how in ("left", "full"):
                    found.append({**row, "U": None})
            if how in ("right", "full"):
                found += [{"T": None, "U": other} for at, other in enumerate(self.stored["U"]) if at not in used]
            return found

        self.steps.append(joined)

    def _where(self):
        condition = self.trees.tree("bool", 3)
        self.calls.append(f".where({condition.text})")
        self.steps.append(lambda rows: [row for row in rows if condition.of(row) is True])

    def _rows(self):
        dice = self.dice
        named = {f"v{at}": self.trees.tree(dice.choice(KINDS), dice.randint(0, 3)) for at in range(dice.randint(1, 4))}
        self.kinds = {name: tree.kind for name, tree in named.items()}
        sorts = []
        for _ in range(dice.choice((0, 1, 2))):
            values = [self.trees.tree(dice.choice((*SORTED, "float")), dice.randint(0, 2)) for _ in range(dice.randint(1, 2))]
            sorts.append((values, dice.random() < 0.6))
        if sorts or len(self.tables) > 1 or dice.random() < 0.5:
            sorts.append((self._keys(), dice.random() < 0.7))
        self.steps.append(lambda rows: [(row, [tree.of(row) for tree in named.values()]) for row in rows])
        self._sort(sorts)
        self.steps.append(lambda pairs: [values for _, values in pairs])
        self.calls.append(f".select({', '.join(f'{name}={tree.text}' for name, tree in named.items())})")
        self._cut()

    def _sort(self, sorts, of=lambda pair: pair[0]):
        for values, ascending in sorts:
            asc = "" if ascending else ", asc=False"
            self.calls.append(f".order_by({', '.join(tree.text for tree in values)}{asc})")

        def sort(pairs):
            decorated = [
                ([[sort_key(tree.of(of(pair))) for tree in values] for values, _ in sorts], pair) for pair in pairs
            ]
            for at in reversed(range(len(sorts))):  # Python's sort is stable, also with reverse=True.
                decorated.sort(key=lambda item, at=at: item[0][at], reverse=not sorts[at][1])
            return [pair for _, pair in decorated]

        self.steps.append(sort)

    def _cut(self):
        dice = self.dice
        n, offset = dice.randint(0, 12), dice.choice((None, 0, 1, 3, 50))
        form = dice.choice(("none", "none", "limit", "limit", "tail", "head"))
        if form == "limit":
            self.calls.append(f".limit({n}{'' if offset is None else f', offset={offset}'})")
            self.steps.append(lambda rows: rows[offset or 0 :][:n])
        elif form in ("head", "tail"):
            n = max(n, 1)
            # Of a table these two run at once, so the library writes the limit.
            self.calls.append(f".{form}({n})")
            self.steps.append(lambda rows: rows[:n] if form == "head" else rows[-n:])

    def _groups(self):
        dice = self.dice
        keys = {f"g{at}": self.trees.tree(dice.choice(SORTED), dice.randint(0, 2)) for at in range(dice.randint(0, 2))}
        made = {f"a{at}": self._aggregate() for at in range(dice.randint(1, 3))}
        self.kinds = {name: value.kind for name, value in {**keys, **made}.items()}

        def group(rows):
            groups = {} if keys else {(): []}
            for row in rows:
                groups.setdefault(tuple(tree.of(row) for tree in keys.values()), []).append(row)
            return [(values, [*values, *(tree.of(rows) for tree in made.values())]) for values, rows in groups.items()]

        self.steps.append(group)
        if keys:
            self.calls.append(f".group_by({', '.join(tree.text for tree in keys.values())})")
            places = [Tree(tree.text, tree.kind, lambda values, at=at: values[at]) for at, tree in enumerate(keys.values())]
            self._sort([(places, dice.random() < 0.7)])
        self.steps.append(lambda pairs: [values for _, values in pairs])
        self.calls.append(f".select({', '.join(f'{name}={tree.text}' for name, tree in {**keys, **made}.items())})")
        if keys:
            self._cut()

    def _aggregate(self):
        """An aggregate; its `of` takes the rows of a group."""
        dice, trees = self.dice, self.trees
        name = dice.choice(("count", "count_of", "sum", "mean", "min", "max", "make_list"))
        if name == "count":
            return Tree("count()", "int", len)
        if name == "make_list":
            kind = dice.choice(("int", "string", "bool"))
            tree, order = trees.tree(kind, 1), [f"{table}.k" for table in self.tables]
            by = order[0] if len(order) == 1 else f"[{', '.join(order)}]"

            def listed(rows):
                keyed = sorted(rows, key=lambda row: [sort_key(row[table] and row[table]["k"]) for table in self.tables])
                return [value for value in map(tree.of, keyed) if value is not None]

            return Tree(f"make_list({tree.text}, order_by={by})", "json", listed)
        kind = dice.choice(("int", "float") if name in ("sum", "mean") else KINDS if name == "count_of" else SORTED[:-1])
        tree = trees.quarters() if kind == "float" else trees.tree(kind, dice.randint(0, 2))
        function = AGGREGATES[name]

        def of(rows):
            return function([value for value in map(tree.of, rows) if value is not None])

        return Tree(f"{name.partition('_')[0]}({tree.text})", {"count_of": "int", "mean": "float"}.get(name, kind), of)

    def _windows(self):
        dice = self.dice
        keys = self._keys()
        named = {f"k{at}": key for at, key in enumerate(keys)}
        windows = {f"w{at}": self._window(keys) for at in range(dice.randint(1, 3))}
        self.kinds = {name: value.kind for name, value in {**named, **windows}.items()}

        def run(rows):
            columns = [window.of(rows) for window in windows.values()]
            return [
                (row, [*(key.of(row) for key in keys), *(column[at] for column in columns)]) for at, row in enumerate(rows)
            ]

        self.steps.append(run)
        self._sort([(keys, dice.random() < 0.7)])
        self.steps.append(lambda pairs: [values for _, values in pairs])
        self.calls.append(f".select({', '.join(f'{name}={tree.text}' for name, tree in {**named, **windows}.items())})")
        self._cut()

    def _window(self, keys):
        """A window; its `of` takes all rows and returns the value of each."""
        dice = self.dice
        while (value := self._aggregate()).text.startswith("make_list"):
            pass
        groups = [self.trees.column(dice.choice(SORTED)) for _ in range(dice.choice((0, 1, 1, 2)))]
        sorts = [self._window_order() for _ in range(dice.choice((0, 1, 1, 2)) if groups else dice.randint(1, 2))]
        if len(self.tables) > 1:
            sorts += keys  # Joined rows have no order of their own.

        def of(rows):
            ordered = sorted(enumerate(rows), key=lambda item: [sort_key(tree.of(item[1])) for tree in sorts])
            before, values = {}, [None] * len(rows)
            for at, row in ordered:
                so_far = before.setdefault(tuple(tree.of(row) for tree in groups), [])
                so_far.append(row)
                values[at] = value.of(so_far)
            return values

        named = {"order_by": sorts, "group_by": groups}
        options = [f"{name}=[{', '.join(tree.text for tree in trees)}]" for name, trees in named.items() if trees]
        inside = value.text.removesuffix(")")
        return Tree(f"{inside}{'' if inside.endswith('(') else ', '}{', '.join(options)})", value.kind, of)

    def _window_order(self):
        tree = self.trees.column(self.dice.choice((*SORTED, "float")))
        if tree.kind not in ("int", "float") or self.dice.random() < 0.5:
            return tree
        return Tree(f"-{tree.text}", tree.kind, lambda row: None if tree.of(row) is None else -tree.of(row))

    def _keys(self):
        """The primary keys of the tables of a row."""
        return [Tree(f"{table}.k", "int", lambda row, table=table: row[table] and row[table]["k"]) for table in self.tables]

    def _distinct(self):
        dice = self.dice
        named = {f"v{at}": self.trees.tree(dice.choice(SORTED), dice.randint(0, 2)) for at in range(dice.randint(1, 3))}
        self.kinds = {name: tree.kind for name, tree in named.items()}
        self.steps.append(lambda rows: list(dict.fromkeys(tuple(tree.of(row) for tree in named.values()) for row in rows)))
        self.calls.append(f".select({', '.join(f'{name}={tree.text}' for name, tree in named.items())}).distinct()")
        places = [Tree(tree.text, tree.kind, lambda row, at=at: row[at]) for at, tree in enumerate(named.values())]
        self._sort([(places, dice.random() < 0.7)], of=lambda row: row)
        self._cut()

    def _total(self):
        self.kinds = {"count": "int"}
        self.calls.append(".count()")
        self.steps.append(lambda rows: [[len(rows)]])


def equal(one, other):
    return None if one is None or other is None else one == other


def sort_key(value):
    """Nulls come last."""
    return (value is None, 0 if value is None else value.encode("utf-32-be") if isinstance(value, str) else value)


AGGREGATES = {
    "count_of": len,
    "sum": lambda values: checked(sum(values)) if values else None,
    "mean": lambda values: sum(values) / len(values) if values else None,
    "min": lambda values: min(values) if values else None,
    "max": lambda values: max(values) if values else None,
}


def random_rows(dice, count):
    """Rows of a table with some nulls."""
    rows = []
    for k in dice.sample(range(1000), count):
        row = {"k": k}
        for kind, names in COLUMNS.items():
            for name in names:
                if name != "k":
                    values = "quarters" if name.startswith("q") else kind
                    row[name] = None if name.endswith("2") and dice.random() < 0.4 else random_value(dice, values)
        rows.append(row)
    return rows
