"""Graphs of a worker: computed columns compiled to one function from a row to its results."""

import sys

from appdb._evaluate import CellError, columns_read, compile_step
from appdb._failures import skipped, worker_error
from appdb._udf import Udf


class Graph:
    """`run_row(row)` returns (results, errors by step name or None); the row's list grows by the results."""

    def __init__(self, frame, project_root):
        self.inputs = frame["inputs"]
        self.names = [step["name"] for step in frame["steps"]]
        self.floats = [n for n, column in enumerate(self.inputs) if column["type"]["kind"] == "float"]
        self._root = project_root
        functions = {function["id"]: _imported(function) for function in frame["functions"]}
        places = {column["name"]: n for n, column in enumerate(self.inputs)}
        self._steps, self._reads = [], []
        for step in frame["steps"]:
            self._steps.append(compile_step(step["expr"], places, functions))
            self._reads.append(columns_read(step["expr"]))
            places[step["name"]] = len(self.inputs) + len(self._steps) - 1
        self.single = self._steps[0] if len(self._steps) == 1 else None

    def run_row(self, row):
        """Computes all steps of a row in place. Returns None, or the errors by step name."""
        errors = None
        for number, step in enumerate(self._steps):
            if errors is not None:
                failed = self._reads[number].intersection(errors)
                if failed:
                    errors[self.names[number]] = skipped(errors[min(failed, key=self.names.index)])
                    row.append(None)
                    continue
            try:
                row.append(step(row))
            except BaseException as error:
                errors = errors or {}
                errors[self.names[number]] = self.failure(error, number)
                row.append(None)
        return errors

    def failure(self, error, number=0):
        """Words what a step raised."""
        if isinstance(error, CellError):
            return worker_error(error.function, error.cause, self._root)
        return worker_error(self.names[number], error, self._root)


def _imported(function):
    import importlib

    module = sys.modules.get(function["module"]) or importlib.import_module(function["module"])
    found = getattr(module, function["name"], None)
    if not isinstance(found, Udf):
        raise ImportError(f"module {function['module']} has no function '{function['name']}' marked @udf")
    return found
