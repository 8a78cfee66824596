"""`collect()`: the rows of a query as a sequence that prints well and becomes a frame of other libraries."""

import shutil
from collections.abc import Sequence

from appdb.client.cells import File, row_maker
from appdb.client.rows.frames import arrow_table, marked_table, pandas_frame, pandas_table, polars_frame, table_rows
from appdb.declare.arguments import checked_methods
from appdb.declare.errors import Error, did_you_mean, listed

#: Rows that are printed.
_SHOWN = 20
_CELL_WIDTH = 60


@checked_methods
class ResultSet(Sequence):
    """The rows of a query: `result[0]`, `result["title"]`, `for row in result`, `result.to_pandas()`."""

    def __init__(self, columns, rows, table=None):
        self._columns = columns
        self._rows = rows  # Lists of values; None until a result that came as Arrow is looked at by rows.
        self._table = table  # A pyarrow.Table; None for a result that came as rows.
        self._made = row_maker(columns)

    @property
    def _values(self):
        if self._rows is None:
            self._rows = table_rows(self._columns, self._table)
        return self._rows

    def _first(self):
        """The rows that are printed."""
        if self._rows is None:
            return table_rows(self._columns, self._table.slice(0, _SHOWN))
        return self._rows[:_SHOWN]

    @property
    def schema(self):
        """The types by name: `{"n": "Int | None"}`."""
        return {column.name: column.shown_type() for column in self._columns}

    def __len__(self):
        return self._table.num_rows if self._rows is None else len(self._rows)

    def __getitem__(self, place):
        """A row by its number, rows of a slice, the list of a column's values by its name, a value by (number, name)."""
        if isinstance(place, str):
            at = self._place(place)
            return [value.value() if type(value) is File else value for value in (row[at] for row in self._values)]
        if isinstance(place, slice):
            return ResultSet(self._columns, self._values[place])
        if isinstance(place, tuple) and len(place) == 2:
            row, column = place
            value = self._values[row][self._place(column) if isinstance(column, str) else column]
            return value.value() if type(value) is File else value
        return self._made(self._values[place])

    def __iter__(self):
        return map(self._made, self._values)

    def __eq__(self, other):
        if isinstance(other, ResultSet):
            return self.schema == other.schema and self._values == other._values
        return isinstance(other, list) and list(self) == other

    __hash__ = None

    def _place(self, name):
        names = [column.name for column in self._columns]
        if name not in names:
            raise Error(
                f"The result has no column '{name}'.",
                did_you_mean(name, names, f"Its columns are {listed(names)}."),
                "column_not_found",
            )
        return names.index(name)

    def columns(self):
        """The names of the columns."""
        return [column.name for column in self._columns]

    def to_pandas(self):
        """A pandas.DataFrame. Needs `appdb[data]`."""
        return pandas_frame(self._columns, self._values) if self._table is None else pandas_table(self._columns, self._table)

    def to_arrow(self):
        """A pyarrow.Table. Needs `appdb[data]`."""
        table = arrow_table(self._columns, self._values) if self._table is None else self._table
        return marked_table(self._columns, table)

    def to_polars(self):
        """A polars.DataFrame. Needs polars."""
        return polars_frame(self.to_arrow())

    def to_pydantic(self, model):
        """Yields an object of the pydantic model for each row; its fields have the names of columns."""
        for row in self:
            yield model(**row)

    def __repr__(self):
        return _text(self._columns, self._first()) + self._end()

    def _end(self):
        return f"\n... {len(self) - _SHOWN:,} more rows" if len(self) > _SHOWN else ""

    def _repr_html_(self):
        from html import escape

        head = "".join(f"<th>{escape(column.name)}</th>" for column in self._columns)
        body = "".join(
            f"<tr>{''.join(f'<td>{_html(value)}</td>' for value in row)}</tr>" for row in self._first()
        )
        end = f"<p>{escape(self._end().strip())}</p>" if self._end() else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{end}"


@checked_methods
class Cursor:
    """The rows of a query one by one, in constant memory. It ends the query when it is closed or dropped."""

    def __init__(self, columns, blocks, close):
        self._columns = columns
        self._blocks = blocks
        self._close = close
        self._made = row_maker(columns)
        self._rows = iter(())

    def __iter__(self):
        return self

    def __next__(self):
        while True:
            values = next(self._rows, None)
            if values is not None:
                return self._made(values)
            block = next(self._blocks, None)
            if block is None:
                self.close()
                raise StopIteration
            self._rows = iter(block)

    def values(self):
        """Yields each row as a list of values, with files unread."""
        yield from self._rows
        for block in self._blocks:
            yield from block

    def columns(self):
        """The names of the columns."""
        return [column.name for column in self._columns]

    def close(self):
        """Ends the query."""
        self._rows = iter(())
        self._blocks.close()
        self._close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()


def text_table(heads, rows):
    """Rows of texts below their heads, in columns that fit the terminal."""
    widths = [max([len(head), *(len(row[n]) for row in rows)]) for n, head in enumerate(heads)]
    room = shutil.get_terminal_size((120, 24)).columns
    widths = [min(width, _CELL_WIDTH) for width in widths]
    while sum(widths) + 2 * len(widths) > room and max(widths) > 8:
        widths[widths.index(max(widths))] -= 1
    lines = [heads, *rows]
    return "\n".join("  ".join(_cut(text, w).ljust(w) for text, w in zip(line, widths)).rstrip() for line in lines)


def _text(columns, values):
    if not columns:
        return "(no columns)"
    rows = [[_shown(value) for value in row] for row in values]
    table = text_table([column.name for column in columns], rows)
    return table if rows else f"{table}\n(no rows)"


def _shown(value):
    if value is None:
        return "None"
    if type(value) is File:
        return value.shown()
    text = value if isinstance(value, str) else repr(value) if isinstance(value, (dict, list, bytes)) else str(value)
    return " ".join(text.split()) if "\n" in text else text


def _cut(text, width):
    return text if len(text) <= width else text[: width - 1] + "…"


def _html(value):
    from html import escape

    if type(value) is File and value.kind == "image":
        return _thumbnail(value)
    return escape(_cut(_shown(value), 500))


def _thumbnail(file):
    """The image in a size that pages of notebooks show, as part of the page."""
    import base64
    import io

    image = file.value()
    image.thumbnail((160, 160))
    out = io.BytesIO()
    image.convert("RGBA" if "A" in image.mode or image.mode == "P" else "RGB").save(out, "png")
    return f'<img src="data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}" alt="{file.shown()[1:-1]}">'


