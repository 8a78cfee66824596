import { expect, test } from "vitest";
import type { UdfError } from "../ports.ts";
import { describeUdfError } from "./run-graph.ts";

function raised(fn: string): UdfError {
  return { kind: "raised", function: fn, type: "ZeroDivisionError", message: "division by zero", at: null };
}

test("names a raising operator by its column's expression, or by its sign", () => {
  expect(describeUdfError(raised("op.truediv"), "a / b")).toBe("a / b raised ZeroDivisionError: division by zero");
  expect(describeUdfError(raised("op.truediv"))).toBe("the operator / raised ZeroDivisionError: division by zero");
  const long = `n // m + ${"n + ".repeat(30)}1`;
  expect(describeUdfError(raised("op.floordiv"), long)).toBe(
    `// in ${long.slice(0, 77)}... raised ZeroDivisionError: division by zero`,
  );
});

test("names a raising function by its own name, wherever it is used", () => {
  expect(describeUdfError(raised("udfs:share"), "share(a) / b")).toMatch(/^udfs:share raised /);
  expect(describeUdfError(raised("string.index"), "title.index('x')")).toMatch(/^string\.index raised /);
});
