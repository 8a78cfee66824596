"""Names of columns in a source: any case is the table's lower case, or what `columns=` says."""

from appdb.client.refusals import row_number
from appdb.declare.errors import Error, did_you_mean, listed


def folded(name):
    """The name as a table has it."""
    return name.lower() if isinstance(name, str) else name


class StoredColumns(dict):
    """References of the stored columns of a table by name. Another program may add columns."""

    def __init__(self, table):
        self._table = table
        self._take()

    def _take(self):
        columns = self._table.__appdb_table__.columns
        self.update({name: column.ref for name, column in columns.items() if column.is_stored})

    def read_again(self):
        """Takes over changes of the table. A class keeps the columns that it declares."""
        if not isinstance(self._table, type):
            self._table.__appdb_database__.refresh(self._table.__appdb_table__)
            self._take()


class Naming:
    """Which column a name of a source means. `given` is `columns=`: {name in the source: column}; others are left out."""

    def __init__(self, given=None):
        if given is not None and not (isinstance(given, dict) and all(isinstance(name, str) for name in given.values())):
            raise Error(
                f"columns= is a dict of names in the source and columns, not {given!r:.60}.",
                'Write columns={"First Name": "first_name"}.',
            )
        self.given = given
        self._by_lower = {folded(name): column for name, column in (given or {}).items()}

    @property
    def is_plain(self):
        """Whether all columns of the source keep their names."""
        return self.given is None

    def column(self, name):
        """The column of a name; None if it is left out."""
        if self.given is None:
            return folded(name)
        found = self.given[name] if name in self.given else self._by_lower.get(folded(name))
        return folded(found)

    def columns(self, names, where, known=None):
        """The columns of the names of a source, None for those left out. Raises Error that begins with `where`.

        `known`: the columns of the table; empty for a new one."""
        names = list(names)
        found = [self.column(name) for name in names]
        self._refuse_unknown(names, where)
        lacking = _lacking(found, known)
        if lacking is not None and isinstance(known, StoredColumns):
            known.read_again()
            lacking = _lacking(found, known)
        if lacking is not None:
            hint = did_you_mean(str(lacking), known, f"The columns of the table are {listed(known)}.")
            raise Error(f"{where} has the column '{lacking}', which the table lacks.", hint, "column_not_found")
        twice = next((name for at, name in enumerate(found) if name is not None and name in found[:at]), None)
        if twice is not None:
            same = [name for name, column in zip(names, found) if column == twice]
            if len(set(same)) == 1:
                raise Error(f"{where} has several columns named '{same[0]}'.", "Rename or drop all but one of each.")
            raise Error(
                f"{where} has the columns {listed(same)}, which are one: '{twice}'. Names of columns have no case.",
                "Rename one of them.",
            )
        return found

    def _refuse_unknown(self, names, where):
        lower = {folded(name) for name in names}
        missing = next((name for name in self.given or () if name not in names and folded(name) not in lower), None)
        if missing is not None:
            raise Error(
                f"{where} has no column '{missing}', which columns= names.",
                did_you_mean(missing, [name for name in names if isinstance(name, str)], f"It has {listed(names)}."),
            )

    def rows(self, rows, known, place=row_number):
        """Rows with the names of columns. `known`: names that need no look. `place`: a row's place for people."""
        known = known.keys()
        before = None  # Most rows have the names of the row before them.
        for number, row in enumerate(rows, 1):
            if tuple(row) == before:
                yield row
            elif self.given is None and dict.keys(row) <= known:
                before = tuple(row)
                yield row
            else:
                yield self._row(row, number, place)

    def _row(self, row, number, place):
        found = {}
        for name, value in dict.items(row):
            column = self.column(name)
            if column is None:
                continue
            if column in found:
                raise Error(f"{_begun(place(number))} has several values for the column '{column}'.", "Names of columns have no case. Give one.")
            found[column] = value
        return found


def _begun(place):
    return place[0].upper() + place[1:]


def _lacking(names, known):
    return next((name for name in names if name is not None and known and name not in known), None)
