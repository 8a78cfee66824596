"""Batched functions: rows that wait for the same step are passed together. In the event loop's thread."""

from appdb.values import WrongType
from appdb.worker.calling import CellError
from appdb.worker.failures import TooLate

# Maximum concurrent batches of one step, if the function is async.
_BATCHES = 4


class _Waiting:
    """Rows that wait for one step."""

    __slots__ = ("rows", "running", "is_due")

    def __init__(self):
        self.rows = []
        self.running = 0
        self.is_due = False


class Batches:
    """Collects rows by step. A batch starts when it is full, or when none of the step runs."""

    def __init__(self, loop, awaiting, settle, spawn):
        self._loop = loop
        self._awaiting = awaiting
        self._settle = settle
        self._spawn = spawn
        self._steps = {}

    def add(self, row, step, arguments):
        """Takes a row with its arguments."""
        waiting = self._steps.get(step)
        if waiting is None:
            waiting = self._steps[step] = _Waiting()
        waiting.rows.append((row, arguments))
        if not waiting.is_due:
            # Rows that arrive in this turn of the loop start together.
            waiting.is_due = True
            self._loop.call_soon(self._leave, step, waiting)

    def _leave(self, step, waiting):
        waiting.is_due = False
        size = step.run.overload.batch_size
        most = _BATCHES if step.run.overload.is_async or step.run.overload.resource_pool is not None else 1
        while waiting.rows and waiting.running < most and (waiting.running == 0 or len(waiting.rows) >= size):
            rows, waiting.rows = waiting.rows[:size], waiting.rows[size:]
            waiting.running += 1
            self._spawn(self._run(step, waiting, rows))

    async def _run(self, step, waiting, rows):
        await self._compute(step, rows)
        waiting.running -= 1
        self._leave(step, waiting)

    async def _compute(self, step, rows):
        call = step.run
        args, kwargs = together(call, [arguments for _, arguments in rows])
        first = rows[0][0]
        try:
            results = await self._awaiting.run(call, args, kwargs, (first.call.id, first.number), len(rows))
        except CellError as error:
            if len(rows) > 1 and call.overload.resource_pool is None and not isinstance(error.cause, TooLate):
                # One bad row must not fail the others. Provider calls are too expensive to be split.
                half = len(rows) // 2
                await self._compute(step, rows[:half])
                await self._compute(step, rows[half:])
            else:
                self._fail(step, rows, error)
            return
        try:
            results = checked(call, results, len(rows))
        except CellError as error:
            self._fail(step, rows, error)
            return
        for (row, _), result in zip(rows, results):
            try:
                self._settle(row, step, call.finish(result), None)
            except CellError as error:
                self._settle(row, step, None, error)

    def _fail(self, step, rows, error):
        for row, _ in rows:
            self._settle(row, step, None, error)


def together(call, rows):
    """Arguments of one call for many rows: lists for the batches, the first row's value for the others."""
    batched = call.overload.signature.batched
    names = [parameter.name for parameter in call.overload.parameters if parameter.mode != "keyword_only"]
    first_args, first_kwargs = rows[0]
    args = [
        [row[place] for row, _ in rows] if names[place] in batched else value for place, value in enumerate(first_args)
    ]
    kwargs = {
        name: [row[name] for _, row in rows] if name in batched else value for name, value in first_kwargs.items()
    }
    return args, kwargs


def checked(call, results, count):
    """The results as a list. Raises CellError unless there is one for each row."""
    try:
        given = list(results) if not isinstance(results, (str, bytes, dict)) else None
    except TypeError:
        given = None
    if given is None:
        told = WrongType(f"expected a list of {count} values, got {type(results).__name__}")
    elif len(given) != count:
        told = WrongType(f"expected a list of {count} values, got {len(given)} values")
    else:
        return given
    call.counts.errors += 1
    raise CellError(call.id, told)
