"""The watch over the worker's event loop, with fake time."""

from types import SimpleNamespace


class Loop:
    """An event loop that only takes a turn on demand."""

    def __init__(self):
        self.due = []
        self.call_soon_threadsafe = self.due.append

    def turn(self):
        while self.due:
            self.due.pop()()


def watching(flow, limit_s):
    """A watch without its thread, and its reports to the engine."""
    from appdb.worker.watching import Watch

    watch = Watch.__new__(Watch)
    watch.flow, watch._limit_s = flow, limit_s
    watch._turn, watch._overdue, watch._looked_at = None, None, 0.0
    told = []
    watch._outbox = SimpleNamespace(write=told.append)
    return watch, told


def look(watch, first, last):
    """Checks the loop every 50 ms of fake time."""
    for step in range(round((last - first) / 0.05) + 1):
        watch._look_at_loop(first + step * 0.05)


def test_a_loop_that_takes_no_turn_while_the_interpreter_is_free_is_told():
    loop = Loop()
    watch, told = watching(SimpleNamespace(loop=loop, rows=1), 2.0)
    look(watch, 10.0, 11.9)
    loop.turn()
    look(watch, 11.95, 13.9)
    assert told == []  # It was late, and was asked again.
    look(watch, 13.95, 15.0)
    assert told == [{"t": "overdue", "call": None, "row": 0, "function": "worker", "timeout_s": 2.0}]


def test_a_loop_that_had_no_chance_to_take_a_turn_is_not_blamed():
    loop = Loop()
    flow = SimpleNamespace(loop=loop, rows=1)
    watch, told = watching(flow, 2.0)
    look(watch, 10.0, 11.0)
    look(watch, 60.0, 61.9)  # Between them something blocked the interpreter, including this thread.
    assert told == []
    flow.rows = 0
    look(watch, 62.0, 70.0)
    assert told == []
